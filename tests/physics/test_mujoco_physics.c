// SPDX-License-Identifier: BSD-3-Clause
// Strengths of the adapter: physical stiffness, tight stiction, large stable steps; on closed forms
// and where stock MuJoCo does something else.
#include "support/mujoco_run.h"

// Rest: m g/k whatever the mass; with k in <custom>, by a call, and as a negative solref.
static void test_rest_penetration(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><custom><numeric name='sapstep:stiffness:a' data='1e5'/>"
      "<numeric name='sapstep:relaxation_time' data='0.02'/></custom><worldbody>"
      "<geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom name='a' type='sphere' size='.1' mass='1'/></body>"
      "<body pos='1 0 .1'><freejoint/><geom name='b' type='sphere' size='.1' mass='30'/></body>"
      "<body pos='2 0 .1'><freejoint/><geom name='c' type='sphere' size='.1' mass='7'"
      " solref='-20000 -400'/></body></worldbody></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  assert_int_equal(sap_mj_set_geom(run.adapter, 2, 4e5, 0.02, NULL), SAP_STATUS_OK);
  mujoco_run_step(&run, 2000);
  ASSERT_NEAR(0.1 - run.data->qpos[2], 1.0 * 9.81 / 1e5, 1e-8);
  ASSERT_NEAR(0.1 - run.data->qpos[9], 30.0 * 9.81 / 4e5, 1e-8);
  ASSERT_NEAR(0.1 - run.data->qpos[16], 7.0 * 9.81 / 2e4, 1e-8);
  mujoco_run_end(&run);
}

// A box on a slope of 10 degrees with mu = 1 creeps at sigma w dt m g sin, four corners share it:
// proportional to sigma, and far below stock MuJoCo's 444 um/s (elliptic, impratio 1).
static void test_creep(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='1.70349 0 -9.66096'/><worldbody>"
      "<geom type='plane' size='5 5 1' friction='1'/><body pos='0 0 .1'><freejoint/>"
      "<geom type='box' size='.1 .1 .1' friction='1'/></body></worldbody></mujoco>";
  double speed[2];
  for (int i = 0; i < 2; ++i) {
    sap_mj_options options = sap_mj_options_default();
    options.regularization.sigma = i == 0 ? 1e-3 : 1e-4;
    options.solver_options.relative_tolerance = 1e-9;
    mujoco_run run = mujoco_run_text(text, &options);
    mujoco_run_step(&run, 400);
    const double x = run.data->qpos[0];
    mujoco_run_step(&run, 200);
    speed[i] = run.data->qpos[0] - x;
    mujoco_run_end(&run);
  }
  assert_true(speed[0] < 1e-5 && speed[0] > 1e-7);
  ASSERT_NEAR(speed[1], 0.1 * speed[0], 1e-3 * speed[0]);
}

// A pendulum with a servo far beyond the stability limit of explicit forces: linearly implicit
// Euler of
//   I a = -kp q - kd v - ...  without gravity:  v' = (v - h kp q/I)/(1 + h kd/I + h^2 kp/I)
static void test_stiff_servo(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body>"
      "<joint name='j' type='hinge' axis='0 1 0' damping='2'/>"
      "<geom type='sphere' size='.1' pos='0 0 -1' mass='1' contype='0' conaffinity='0'/>"
      "</body></worldbody><actuator><general joint='j' gainprm='1e7' biastype='affine'"
      " biasprm='0 -1e7 -50'/></actuator></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  const double h = 0.01, I = 1.0 + 0.4 * 0.01, kp = 1e7, kd = 52.0;
  double q = 0.3, v = 0.0;
  run.data->qpos[0] = q;
  for (int i = 0; i < 50; ++i) {
    mujoco_run_step(&run, 1);
    v = (v - h * kp * q / I) / (1.0 + h * (kd - 0.0) / I + h * h * kp / I);
    q += h * v;
    ASSERT_NEAR(run.data->qvel[0], v, 1e-9);
    ASSERT_NEAR(run.data->qpos[0], q, 1e-11);
    // the servo alone, at the end of the step
    ASSERT_NEAR(run.data->actuator_force[0], -1e7 * q - 50.0 * v, 1e-4);
  }
  mujoco_run_end(&run);
}

// A servo at its force range pushes with that force, no more, and leaves it again on its way: the
// motion is that of a box block at every step (mass m on a slide).
static void test_limited_servo(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body>"
      "<joint name='j' type='slide' axis='1 0 0'/>"
      "<geom type='sphere' size='.1' mass='2' contype='0' conaffinity='0'/>"
      "</body></worldbody><actuator><position joint='j' kp='300' forcelimited='true'"
      " forcerange='-3 3'/></actuator></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->ctrl[0] = 0.5;
  const double h = 0.01, m = 2.0, kp = 300.0;
  double q = 0.0, v = 0.0;
  int inside = 0;
  for (int i = 0; i < 300; ++i) {
    mujoco_run_step(&run, 1);
    const double free = (m * v + h * kp * (0.5 - q)) / (m + h * h * kp);
    double force = kp * (0.5 - q - h * free);
    if (fabs(force) > 3.0) {
      force = copysign(3.0, force);
    } else {
      ++inside;
    }
    v += h * force / m;
    q += h * v;
    ASSERT_NEAR(run.data->qvel[0], v, 2e-6);
    ASSERT_NEAR(run.data->actuator_force[0], force, 1e-3);
    q = run.data->qpos[0];  // chattering about the target must not add up differences
    v = run.data->qvel[0];
  }
  assert_true(inside >= 1);
  mujoco_run_end(&run);
}

#if mjVERSION_HEADER >= 300
// The same bound as an effort range of the joint, with a motor beside the servo.
static void test_effort_range(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body>"
      "<joint name='j' type='slide' axis='1 0 0' actuatorfrclimited='true' actuatorfrcrange='-3 "
      "3'/>"
      "<geom type='sphere' size='.1' mass='2' contype='0' conaffinity='0'/>"
      "</body></worldbody><actuator><position joint='j' kp='300'/><motor joint='j'/></actuator>"
      "</mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->ctrl[0] = 0.5;
  run.data->ctrl[1] = 1.0;
  const double h = 0.01, m = 2.0, kp = 300.0;
  double q = 0.0, v = 0.0;
  for (int i = 0; i < 300; ++i) {
    mujoco_run_step(&run, 1);
    const double free = (m * v + h * (kp * (0.5 - q) + 1.0)) / (m + h * h * kp);
    double force = kp * (0.5 - q - h * free) + 1.0;
    force = fmin(fmax(force, -3.0), 3.0);
    v += h * force / m;
    ASSERT_NEAR(run.data->qvel[0], v, 2e-6);
    ASSERT_NEAR(run.data->qfrc_actuator[0], force, 1e-3);
    q = run.data->qpos[0];
    v = run.data->qvel[0];
  }
  mujoco_run_end(&run);
}
#endif

// A joint that runs into its limit stops there within the step, but for the 1/40.5 of its way beyond
// that the near-rigid limit leaves, which pushes it back; stock MuJoCo sees the limit only behind it.
// A ball joint and a tendon too.
static void test_limits(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><option timestep='0.01' gravity='0 0 0'/><worldbody>"
      "<body><joint name='j' type='slide' axis='1 0 0' range='-1 1'/>"
      "<geom type='sphere' size='.1' contype='0' conaffinity='0'/></body>"
      "<body pos='0 1 0'><joint type='ball' range='0 40'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 .5' size='.05' contype='0' conaffinity='0'/></body>"
      "</worldbody></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->qvel[0] = 3.0;
  run.data->qvel[1] = 2.0;
  double farthest = 0.0, widest = 0.0;
  for (int i = 0; i < 200; ++i) {
    mujoco_run_step(&run, 1);
    farthest = fmax(farthest, run.data->qpos[0]);
    widest = fmax(widest, 2.0 * acos(fmin(1.0, fabs(run.data->qpos[1]))));
  }
  ASSERT_NEAR(farthest, 1.0, 2e-3);
  const double rebound = 3.0 / 40.5;
  assert_true(run.data->qvel[0] <= 1e-9 && run.data->qvel[0] > -rebound);
  ASSERT_NEAR(run.data->qpos[0], 1.0 - rebound, rebound + 2e-3);
  assert_true(widest < 40.0 * 3.14159265358979 / 180.0 + 5e-3);
  assert_true(widest > 35.0 * 3.14159265358979 / 180.0);
  mujoco_run_end(&run);
}

// A hinge 0.3 rad beyond its limit returns at a fiftieth of the impact speed of 5 rad/s or slower,
// for every step size; without the bound it would leave at its recovery speed of 1 rad/s.
static void test_wrong_start(void** state) {
  (void)state;
  static const double steps[] = {0.0005, 0.002, 0.01};
  for (int k = 0; k < 3; ++k) {
    char text[600];
    (void)snprintf(text, sizeof text,
                   "<mujoco><compiler angle='radian' autolimits='true'/><option timestep='%g' "
                   "gravity='0 0 0'/><worldbody><body><joint type='hinge' axis='0 1 0' "
                   "range='.3 1'/><geom type='capsule' fromto='0 0 0 .4 0 0' size='.04'/></body>"
                   "</worldbody></mujoco>",
                   steps[k]);
    mujoco_run run = mujoco_run_text(text, NULL);
    double fastest = 0.0;
    for (double t = 0.0; t < 20.0; t += steps[k]) {
      mujoco_run_step(&run, 1);
      fastest = fmax(fastest, run.data->qvel[0]);
    }
    assert_true(fastest <= 0.1 * (1.0 + 1e-3));
    assert_true(run.data->qpos[0] > 0.3 - 0.1);  // it does return
    mujoco_run_end(&run);
  }
}

// A violated limit beside a stiff damper returns slowly too, without a force that only the damper
// balances: 8e6 N at first without a bound.
static void test_damped_limit(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      "<mujoco><compiler autolimits='true'/><option gravity='0 0 0'/><worldbody><body><joint "
      "type='slide' axis='0 0 1' range='.04 1' damping='1e7'/><geom size='.1' mass='20'/></body>"
      "</worldbody></mujoco>",
      NULL);
  for (int i = 0; i < 100; ++i) {
    mujoco_run_step(&run, 1);
    assert_true(run.data->qvel[0] * 1e7 < 5e4);
  }
  assert_true(run.data->qpos[0] > 1e-4);
  mujoco_run_end(&run);
}

// Pushed by more than mu m g a box slides on the ground and does not glide above it.
static void test_gliding(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='0 0 -10'/><worldbody>"
      "<geom type='plane' size='50 50 1' friction='.5'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .2 .1' mass='2' "
      "friction='.5'/></body>"
      "</worldbody></mujoco>";
  const double mu = 0.5, g = 10.0, excess = 0.3, h = 0.005, mass = 2.0;
  mujoco_run run = mujoco_run_text(text, NULL);
  mujoco_run_step(&run, 200);
  run.data->qfrc_applied[0] = (mu + excess) * mass * g;
  for (int i = 0; i < 200; ++i) {
    mujoco_run_step(&run, 1);
    assert_int_equal(run.report.contacts, 4);
  }
  const double speed = excess * g * 200 * h;
  ASSERT_NEAR(run.data->qvel[0], speed, 1e-4 * speed);
  ASSERT_NEAR(run.data->qpos[2], 0.1, 2e-4);
  mujoco_run_end(&run);
}

// A loop closed by connect stays closed while it swings; stock MuJoCo opens it by solver softness.
static void test_loop(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01'/><default><geom contype='0' conaffinity='0'/></default>"
      "<worldbody><body name='a'><joint type='hinge' axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 -.5' size='.03'/><body name='b' pos='0 0 -.5'>"
      "<joint type='hinge' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .7 0 0' size='.03'/>"
      "</body></body><body name='c' pos='.7 0 0'><joint type='hinge' axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 -.5' size='.03'/></body></worldbody>"
      "<equality><connect body1='b' body2='c' anchor='.7 0 0'/></equality></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->qvel[0] = run.data->qvel[2] = 5.0;
  run.data->qvel[1] = -5.0;
  double gap = 0.0;
  for (int i = 0; i < 300; ++i) {
    mujoco_run_step(&run, 1);
    for (int r = 0; i > 2 && r < 3; ++r) {
      gap = fmax(gap, fabs(run.data->efc_pos[r]));
    }
  }
  // without the curvature's share the gap is h a (h + tau_d)/2, a = 12.5 m/s^2: 1.2 mm
  assert_true(gap < 3e-4);
  mujoco_run_end(&run);
}

// A box on a mocap plate that the user moves is carried along; without its velocity it would slip.
static void test_mocap(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><body name='plate' mocap='true'>"
      "<geom type='box' size='1 1 .1'/></body><body pos='0 0 .2'><freejoint/>"
      "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  mujoco_run_step(&run, 50);
  for (int i = 0; i < 200; ++i) {
    run.data->mocap_pos[0] += 0.005 * 0.3;
    mujoco_run_step(&run, 1);
  }
  ASSERT_NEAR(run.data->qvel[0], 0.3, 1e-3);
  mujoco_run_end(&run);
}

// Bodies at 10 m/s do not pass a slab within steps of 10 ms, whatever MuJoCo's collision says at a
// distance. `depth`: of the centre, which would be at .03 m or more above the surface. (MuJoCo has
// one point for a cylinder on a box: it tips over that point, and its far side sinks in.)
static void drop(const char* geom, double depth) {
  for (int phase = 0; phase < 10; ++phase) {
    char text[600];
    (void)snprintf(text, sizeof text,
                   "<mujoco><option timestep='.01'/><worldbody><geom type='box' size='1 1 .02'/>"
                   "<body pos='0 0 %.17g' euler='%d 0 10'><freejoint/><geom %s mass='1'/></body>"
                   "</worldbody></mujoco>",
                   0.12 + 0.01 * phase, 2 * phase, geom);
    mujoco_run run = mujoco_run_text(text, NULL);
    run.data->qvel[2] = -10.0;
    for (int i = 0; i < 20; ++i) {
      mujoco_run_step(&run, 1);
      if (!(run.data->qpos[2] > 0.02 + 0.03 - depth)) {
        fail_msg("%s, phase %d, step %d: z = %g", geom, phase, i, run.data->qpos[2]);
      }
    }
    mujoco_run_end(&run);
  }
}

static void test_fast(void** state) {
  (void)state;
  drop("type='sphere' size='.05'", 0.0);
  drop("type='capsule' size='.03 .05'", 0.01);
  drop("type='box' size='.05 .04 .03'", 0.01);
  drop("type='ellipsoid' size='.05 .04 .03'", 0.01);
}

// A ball that passes the edge of a box by 1 mm flies on as if nothing were there.
static void test_passing(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><geom type='box' size='.1 .1 "
      ".1'/>"
      "<geom type='ellipsoid' size='.1 .1 .1' pos='0 1 0'/><geom size='.1' pos='0 2 0'/>"
      "<body pos='-.5 0 .151'><freejoint/><geom size='.05'/></body>"
      "<body pos='-.5 1 .151'><freejoint/><geom size='.05'/></body>"
      "<body pos='-.5 2 .151'><freejoint/><geom size='.05'/></body></worldbody></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  for (int i = 0; i < 3; ++i) {
    run.data->qvel[6 * i] = 30.0 + 7.0 * i;
  }
  for (int step = 0; step < 5; ++step) {
    mujoco_run_step(&run, 1);
    assert_int_equal(run.report.contacts, 0);
    assert_int_equal((int)run.data->ncon, 0);
    for (int i = 0; i < 18; ++i) {
      ASSERT_NEAR(run.data->qvel[i], i % 6 == 0 ? 30.0 + 7.0 * (i / 6) : 0.0, 0.0);
    }
  }
  mujoco_run_end(&run);
}

// A body on four feet has no contact at a fifth, 0.3 mm above the ground, though a step's fall is
// 1 mm. Let go at that height, a ball meets the ground in the first step.
static void test_gaps_at_rest(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .05'><freejoint/><geom pos='.2 .2 0' size='.05'/><geom pos='.2 -.2 0' "
      "size='.05'/><geom pos='-.2 .2 0' size='.05'/><geom pos='-.2 -.2 0' size='.05'/>"
      "<geom pos='0 0 .0003' size='.05'/></body></worldbody></mujoco>",
      NULL);
  for (int i = 0; i < 100; ++i) {
    mujoco_run_step(&run, 1);
    if (i > 20) {
      assert_int_equal(run.report.contacts, 4);
      assert_int_equal(run.report.solves, 1);
    }
  }
  mujoco_run_end(&run);
  static const char* const options[] = {"", "<flag override='enable'/>"};  // margins for all geoms
  for (int i = 0; i < 2; ++i) {
    char text[500];
    (void)snprintf(text, sizeof text,
                   "<mujoco><option timestep='.01'>%s</option><worldbody><geom type='plane' "
                   "size='5 5 1'/><body pos='0 0 .0503'><freejoint/><geom size='.05'/></body>"
                   "</worldbody></mujoco>",
                   options[i]);
    run = mujoco_run_text(text, NULL);
    mujoco_run_step(&run, 1);
    ASSERT_NEAR(run.data->qpos[2], 0.05, 5e-5);  // without contact 0.7 mm lower
    mujoco_run_end(&run);
  }
}

// Round ellipsoids, whose first touch is searched for, bounce off each other in the middle of a
// step as spheres do, whose touch is computed.
static void test_touch_of_ellipsoids(void** state) {
  (void)state;
  double v[2][2];
  for (int round = 0; round < 2; ++round) {
    char text[600];
    const char* type = round ? "ellipsoid" : "sphere";
    (void)snprintf(text, sizeof text,
                   "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><geom type='%s' "
                   "size='.1 .1 .1' friction='0'/><body pos='-.3 .05 0'><freejoint/><geom "
                   "type='%s' size='.1 .1 .1' friction='0'/></body></worldbody></mujoco>",
                   type, type);
    mujoco_run run = mujoco_run_text(text, NULL);
    run.data->qvel[0] = 40.0;
    mujoco_run_step(&run, 1);
    v[round][0] = run.data->qvel[0];
    v[round][1] = run.data->qvel[1];
    mujoco_run_end(&run);
  }
  assert_true(v[0][1] > 5.0);
  ASSERT_NEAR(v[1][0], v[0][0], 0.2);
  ASSERT_NEAR(v[1][1], v[0][1], 0.2);
}

// Every number of a report: a ball slides by 1 m/s and spins, one rests deeper, one flies, and a
// servo is at its force range.
static void test_report(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='9 9 1' friction='.4'/>"
      "<body pos='0 0 .099'><freejoint/><geom size='.1' mass='1' friction='.4'/></body>"
      "<body pos='1 0 .098'><freejoint/><geom size='.1' mass='1' friction='.4'/></body>"
      "<body pos='2 0 5'><freejoint/><geom size='.1' mass='1'/></body><body pos='3 0 5'><joint "
      "name='j' axis='0 1 0'/><geom size='.1' pos='.2 0 0'/></body></worldbody><actuator>"
      "<position joint='j' kp='100' forcelimited='true' forcerange='-.1 .1'/></actuator></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->qvel[0] = 1.0;
  run.data->qvel[4] = 3.0;
  run.data->qvel[7] = 0.02;
  run.data->ctrl[0] = 1.0;
  mujoco_run_step(&run, 1);
  const sap_mj_report* r = &run.report;
  double slip[2];
  for (int i = 0; i < 2; ++i) {  // of the point below the centre
    const double* v = run.data->qvel + 6 * i;
    slip[i] = hypot(v[0] - 0.0985 * v[4], v[1] + 0.0985 * v[3]);
  }
  assert_true(slip[0] > 0.5 && slip[1] < 0.02);
  ASSERT_NEAR(r->slip, slip[0], 1e-2 * slip[0]);  // the point is between the surfaces
  ASSERT_NEAR(r->mean_slip, 0.5 * (slip[0] + slip[1]), 1e-2 * slip[0]);
  ASSERT_NEAR(r->penetration, 0.002, 1e-12);
  assert_int_equal(r->velocities, 19);
  assert_int_equal(r->trees, 4);
  assert_int_equal(r->contacts, 2);
  assert_int_equal(r->servo_blocks, 1);
  assert_int_equal(r->blocks, 3);
  assert_int_equal(r->rows, 7);
  assert_int_equal(r->solves, 2);  // the servo reached its range in the first
  assert_true(r->time_position > 0.0 && r->time_assembly > 0.0 && r->time_solver > 0.0);
  assert_true(r->time_position + r->time_assembly + r->time_solver <= r->time_total);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_touch_of_ellipsoids),
    cmocka_unit_test(test_report),
    cmocka_unit_test(test_rest_penetration),
    cmocka_unit_test(test_creep),
    cmocka_unit_test(test_stiff_servo),
    cmocka_unit_test(test_limited_servo),
#if mjVERSION_HEADER >= 300
    cmocka_unit_test(test_effort_range),
#endif
    cmocka_unit_test(test_limits),
    cmocka_unit_test(test_wrong_start),
    cmocka_unit_test(test_damped_limit),
    cmocka_unit_test(test_gliding),
    cmocka_unit_test(test_loop),
    cmocka_unit_test(test_mocap),
    cmocka_unit_test(test_fast),
    cmocka_unit_test(test_passing),
    cmocka_unit_test(test_gaps_at_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
