// SPDX-License-Identifier: BSD-3-Clause
// Error control: errors against exact motion and small fixed steps, orders, what attempts leave.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>

#include "support/scene_text.h"
#include "support/simulation.h"

static const double gravity = 9.81;

typedef struct travel {
  int32_t steps, solves, rejected;
} travel;

// Steps to t_end; the simulation's stepper must be a midpoint's.
static travel go_with(simulation* s, double accuracy, bool extrapolate, double t_end) {
  sap_error error = {0};
  sap_adaptive_options options = sap_adaptive_options_default();
  options.extrapolate = extrapolate;
  sap_adaptive* adaptive = NULL;
  travel all = {0};
  options.accuracy = accuracy;
  if (sap_adaptive_create(s->stepper, &options, NULL, &adaptive, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  while (s->state.t < t_end) {
    sap_adaptive_report report;
    if (sap_adaptive_step(adaptive, &s->state, t_end, &report, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    all.steps += 1;
    all.solves += report.solves;
    all.rejected += report.rejected;
  }
  assert_true(s->state.t == t_end);
  assert_string_equal(error.message, "");
  sap_adaptive_destroy(adaptive);
  return all;
}

static travel go(simulation* s, double accuracy, double t_end) {
  return go_with(s, accuracy, true, t_end);
}

// A ball of 1 kg and 0.1 m that can only move along x and z, above a floor.
static simulation ball(double height, double speed, double friction) {
  const double radius[3] = {0.1, 0.0, 0.0}, up[3] = {0.0, 0.0, height};
  const sap_material material = {.stiffness = 1e4, .friction = friction};
  sap_builder* builder = simulation_builder(0.0, 0.0, -gravity);
  const int32_t body = simulation_body(builder, 0, 1.0, 0.004, up);
  (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, radius, material);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, radius, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 0.01);
  s.state.v[0] = speed;
  return s;
}

// An undamped ball bounces 14 times, from 15 heights; the exact energy is constant. One height tells
// little: what a bounce loses depends on where in its steps it begins.
static void check_bounces(double accuracy, double loss, int32_t solves) {
  enum { HEIGHTS = 15 };
  double square = 0.0, all = 0.0;
  for (int i = 0; i < HEIGHTS; ++i) {
    const double height = 0.6 + 0.007 * i, start = gravity * (height - 0.1);
    simulation s = ball(height, 0.0, 0.0);
    const travel t = go(&s, accuracy, 10.0);
    const double z = height - 0.1 + s.state.q[1], depth = fmax(0.0, -z);
    const double end = simulation_diagnose(&s).kinetic + gravity * z + 0.5 * 5e3 * depth * depth;
    square += (end / start - 1.0) * (end / start - 1.0) / HEIGHTS;
    all += (double)t.solves / HEIGHTS;
    simulation_end(&s);
  }
  if (!(sqrt(square) <= loss && all <= solves)) {
    fail_msg("accuracy %g: lost %g of the energy (rms), %g solves", accuracy, sqrt(square), all);
  }
}

// A pendulum falls on a rigid limit, whose law the step does not resolve: at the shortest step, not
// ever shorter ones.
static void test_shortest(void** unused) {
  (void)unused;
  static const char text[] =
      "<mujoco><compiler angle='radian'/><worldbody><body><joint axis='0 1 0' range='-3 0.5' "
      "limited='true'/><geom type='sphere' size='.05' pos='.5 0 0' mass='1'/></body></worldbody>"
      "</mujoco>";
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_MIDPOINT, 0.01);
  sap_adaptive_options options = sap_adaptive_options_default();
  sap_adaptive* adaptive = NULL;
  sap_adaptive_report report;
  double shortest = 1.0;
  options.accuracy = 1e-6;
  assert_int_equal(sap_adaptive_create(s.stepper, &options, NULL, &adaptive, NULL), SAP_STATUS_OK);
  while (s.state.t < 1.0) {
    assert_int_equal(sap_adaptive_step(adaptive, &s.state, 2.0, &report, NULL), SAP_STATUS_OK);
    shortest = fmin(shortest, report.dt);
  }
  assert_true(shortest >= options.least_dt);
  assert_true(fabs(s.state.q[0] - 0.5) < 1e-3);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

static void test_energy_of_bounces(void** unused) {
  (void)unused;
  check_bounces(6e-5, 0.01, 540);
  check_bounces(1e-5, 0.001, 760);
  check_bounces(1e-6, 1e-4, 1020);
}

// A point at rest on two springs of 1e4 N/m slides until friction stops it: x = v^2/(2 mu g).
static void test_stop(void** unused) {
  (void)unused;
  for (int k = 0; k < 3; ++k) {
    const double accuracy = pow(10.0, -3.0 - k), height = 0.1 - gravity / 5e3;
    simulation s = ball(height, 1.0, 0.3);
    (void)go(&s, accuracy, 0.6);
    const double error = fabs(s.state.q[0] - 1.0 / (2.0 * 0.3 * gravity));
    if (!(error <= 10.0 * accuracy && fabs(s.state.v[0]) <= 1e-4)) {
      fail_msg("accuracy %g: error %g m, still %g m/s", accuracy, error, s.state.v[0]);
    }
    simulation_end(&s);
  }
}

// Slope of the error of q over the number of solves, in powers of ten of the accuracy.
static void check_slope(const char* scene, double duration, bool extrapolate, double slope) {
  double q[3], errors[3], solves[3];
  for (int k = 0; k < 4; ++k) {
    simulation s;
    sap_error error = {0};
    assert_true(simulation_read(&s, scene, SAP_SCHEME_MIDPOINT, 2e-5, &error));
    assert_true(s.state.nq <= 3);
    if (k == 0) {
      simulation_step(&s, (int32_t)lround(duration / 2e-5));
      memcpy(q, s.state.q, (size_t)s.state.nq * sizeof(double));
    } else {
      const travel t = go_with(&s, pow(10.0, -3.0 - k), extrapolate, duration);
      solves[k - 1] = t.solves;
      errors[k - 1] = fabs(s.state.q[0] - q[0]);
    }
    simulation_end(&s);
  }
  const double found = log(errors[2] / errors[0]) / log(solves[2] / solves[0]);
  if (!(found <= slope)) {
    fail_msg("%s: slope %g, errors %g, %g, %g, solves %g, %g, %g", scene, found, errors[0],
             errors[1], errors[2], solves[0], solves[1], solves[2]);
  }
}

static void test_second_order(void** unused) {
  (void)unused;
  check_slope(SAPSTEP_SOURCE_DIR "/examples/scenes/double_pendulum.xml", 2.0, false, -1.8);
  check_slope(SAPSTEP_SOURCE_DIR "/examples/scenes/spring_cylinder.xml", 1.0, false, -1.8);
}

static void test_fourth_order(void** unused) {
  (void)unused;
  check_slope(SAPSTEP_SOURCE_DIR "/examples/scenes/double_pendulum.xml", 2.0, true, -3.8);
}

// Steps to t_end and returns the error of q[0].
static double error_of(const char* scene, double accuracy, double t_end, double exact, travel* t) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, scene, SAP_SCHEME_MIDPOINT, 0.01, &error)) {
    fail_msg("%s", error.message);
  }
  *t = go(&s, accuracy, t_end);
  const double missed = fabs(s.state.q[0] - exact);
  simulation_end(&s);
  return missed;
}

// A cylinder that rolls back and forth on a contact which carries it all the time: the exact motion
// is harmonic. The fixed midpoint takes 351 steps for 1e-4 m.
static void test_extrapolated_contact(void** unused) {
  (void)unused;
  const char* const scene = SAPSTEP_SOURCE_DIR "/examples/scenes/spring_cylinder.xml";
  const double exact = 0.1 * cos(sqrt(100.0 / 0.75));
  travel t;
  double missed = error_of(scene, 1e-4, 1.0, exact, &t);
  if (!(missed <= 1e-3 && t.solves <= 100)) {
    fail_msg("error %g m, %d solves", missed, (int)t.solves);
  }
  missed = error_of(scene, 1e-5, 1.0, exact, &t);
  if (!(missed <= 1e-4 && t.solves <= 170)) {
    fail_msg("error %g m, %d solves", missed, (int)t.solves);
  }
}

// A double pendulum whose elbow is a spring of 1e6 N m/rad swings as one rod. Extrapolation without a
// filter of stiff components took 22 000 solves.
static void test_stiff_components(void** unused) {
  (void)unused;
  static const char scene[] = "stiff_pendulum.xml";
  FILE* file = fopen(scene, "w");
  assert_non_null(file);
  (void)fputs(
      "<mujoco><default><joint type='hinge' axis='0 1 0'/><geom type='capsule' size='0.03'"
      " contype='0' conaffinity='0' mass='1'/></default><worldbody><body><joint/><geom"
      " fromto='0 0 0 1 0 0'/><body pos='1 0 0'><joint stiffness='1e6'/><geom"
      " fromto='0 0 0 1 0 0'/></body></body></worldbody></mujoco>",
      file);
  assert_int_equal(fclose(file), 0);
  simulation rod;
  sap_error error = {0};
  assert_true(simulation_read(&rod, scene, SAP_SCHEME_MIDPOINT, 2e-5, &error));
  simulation_step(&rod, 100000);
  travel t;
  const double missed = error_of(scene, 1e-3, 2.0, rod.state.q[0], &t);
  simulation_end(&rod);
  assert_int_equal(remove(scene), 0);
  if (!(missed <= 1e-2 && t.solves <= 100)) {
    fail_msg("error %g rad, %d solves", missed, (int)t.solves);
  }
}

// A rod of 1 kg on one joint, at q0.
static simulation one_joint(const char* joint, const char* actuator, double dt, double q0) {
  static const char path[] = "one_joint.xml";
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  (void)fprintf(file,
                "<mujoco><compiler angle='radian'/><worldbody><body><joint name='j' %s/>"
                "<geom type='capsule' size='0.03' fromto='0 0 0 0 0 -1' mass='1' contype='0'"
                " conaffinity='0'/></body></worldbody><actuator>%s</actuator></mujoco>",
                joint, actuator);
  simulation s = simulation_take(file, path, SAP_SCHEME_MIDPOINT, dt);
  s.state.q[0] = q0;
  return s;
}

// A body falls on the limit of its slide, a spring without damper, again and again for 10 s: the energy
// is constant. Limits whose kinks are not seen lose 12 % at 1e-5 m, and 66 % at 1e-4 m.
static void test_limits(void** unused) {
  (void)unused;
  static const double accuracies[] = {1e-4, 1e-5}, losses[] = {0.12, 0.01};
  for (int k = 0; k < 2; ++k) {
    simulation s = one_joint(
        "type='slide' axis='0 0 1' limited='true' range='0 10'"
        " solreflimit='-10000 0'",
        "", 0.01, 0.5);
    const sap_diagnostics before = simulation_diagnose(&s);
    const travel t = go(&s, accuracies[k], 10.0);
    const sap_diagnostics after = simulation_diagnose(&s);
    const double start = gravity * 0.5, spring = fmin(s.state.q[0], 0.0);
    const double lost = before.kinetic + before.potential_gravity - after.kinetic -
                        after.potential_gravity - 0.5 * 1e4 * spring * spring;
    if (!(fabs(lost) <= losses[k] * start && t.solves <= 1000)) {
      fail_msg("accuracy %g: lost %g of %g J, %d solves", accuracies[k], lost, start,
               (int)t.solves);
    }
    simulation_end(&s);
  }
}

// A double pendulum falls onto a rigid limit and presses against it. Where the depth of the limit changes
// with dt, each new dt looks like an error: 26 661 solves.
static void test_pressed_limit(void** unused) {
  (void)unused;
  static const char path[] = "pressed_limit.xml";
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  (void)fprintf(file,
                "<mujoco><option timestep='0.002'/><worldbody><body><joint axis='0 1 0'"
                " limited='true' range='-30 30' damping='0.05'/><geom type='capsule' size='0.03'"
                " fromto='0 0 0 0.5 0 0' mass='1'/><body pos='0.5 0 0'><joint axis='0 1 0'/><geom"
                " type='capsule' size='0.03' fromto='0 0 0 0.4 0 0' mass='0.5'/></body></body>"
                "</worldbody></mujoco>");
  simulation s = simulation_take(file, path, SAP_SCHEME_MIDPOINT, 0.002);
  const travel t = go(&s, 1e-7, 2.0);
  const double beyond = s.state.q[0] - acos(-1.0) / 6.0;
  if (!(t.solves <= 800 && fabs(beyond) <= 1e-6)) {
    fail_msg("%d solves, %g rad beyond the limit", (int)t.solves, beyond);
  }
  simulation_end(&s);
}

// Error of a pendulum after 2 s against 1e5 fixed steps.
static void check_pendulum(const char* joint, const char* actuator, double control, double q0,
                           double accuracy, double most, int32_t solves) {
  simulation fixed = one_joint(joint, actuator, 2e-5, q0), s = one_joint(joint, actuator, 0.01, q0);
  simulation* both[] = {&fixed, &s};
  for (int k = 0; k < 2; ++k) {
    if (actuator[0] != '\0') {
      assert_int_equal(sap_multibody_set_control(both[k]->multibody, &control, NULL),
                       SAP_STATUS_OK);
    }
  }
  simulation_step(&fixed, 100000);
  const travel t = go(&s, accuracy, 2.0);
  const double error = fabs(s.state.q[0] - fixed.state.q[0]);
  if (!(error <= most && t.solves <= solves)) {
    fail_msg("accuracy %g: error %g rad, %d solves", accuracy, error, (int)t.solves);
  }
  simulation_end(&fixed);
  simulation_end(&s);
}

// Dry friction stops the joint twice. Unseen, the error is 1.5e-3 rad at 1e-5 m.
static void test_dry_friction(void** unused) {
  (void)unused;
  check_pendulum("axis='0 1 0' frictionloss='1'", "", 0.0, 2.0, 1e-5, 1e-4, 180);
  // It is found for both signs of the motion: the steps are the same.
  simulation there = one_joint("axis='0 1 0' frictionloss='1'", "", 0.01, 2.0);
  simulation back = one_joint("axis='0 -1 0' frictionloss='1'", "", 0.01, -2.0);
  const travel to = go(&there, 1e-5, 2.0), from = go(&back, 1e-5, 2.0);
  assert_int_equal(to.solves, from.solves);
  assert_true(fabs(there.state.q[0] + back.state.q[0]) <= 1e-9);
  simulation_end(&there);
  simulation_end(&back);
}

// A servo leaves its bounds and reaches them again. Unseen, the error is 8.7e-4 rad at 1e-5 m.
static void test_saturated_servo(void** unused) {
  (void)unused;
  static const char servo[] = "<position joint='j' kp='200' kv='5' forcerange='-12 12'/>";
  check_pendulum("axis='0 1 0'", servo, -0.5, 1.5, 1e-5, 2e-4, 400);
  check_pendulum("axis='0 1 0'", servo, -0.5, 1.5, 1e-7, 2e-6, 1000);
}

// A cylinder on a spring slips, rolls and slips again. The contact's vibration is not resolved. One
// run tells little: what is left of a slip depends on the step that it ends in. Errors of the way and
// of the surface, each at the end; without the error of contacts at the end of steps 4.3e-3 m.
static void test_slipping(void** unused) {
  (void)unused;
  enum { RUNS = 9 };
  static const double r = 0.05;
  double q[2] = {0.0, 0.0}, square = 0.0;
  int32_t solves = 0;
  for (int k = 0; k <= RUNS; ++k) {
    const double radius[3] = {r, 0.0, 0.0}, start[3] = {0.1, 0.0, r - 0.5 * gravity / 1e4};
    const sap_material ground = {.stiffness = 1e4, .friction = 0.3};
    const sap_material rigid = {.stiffness = 1e30, .friction = 0.3};
    sap_builder* builder = simulation_builder(0.0, 0.0, -gravity);
    const int32_t body = simulation_body(builder, 0, 0.5, 6.25e-4, start);
    sap_joint_def x = sap_joint_def_default();
    x.type = SAP_JOINT_SLIDE;
    x.body = body;
    x.axis[0] = 1.0;
    x.axis[2] = 0.0;
    x.stiffness = 100.0;
    x.spring_reference = -0.1;
    assert_int_equal(sap_builder_add_joint(builder, &x, NULL, NULL), SAP_STATUS_OK);
    (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
    (void)simulation_joint(builder, body, SAP_JOINT_HINGE, 0.0, 1.0, 0.0);
    simulation_shape(builder, body, SAP_SHAPE_SPHERE, radius, rigid);
    simulation_shape(builder, 0, SAP_SHAPE_PLANE, radius, ground);
    simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 2e-5);
    if (k == 0) {
      simulation_step(&s, 75000);
      q[0] = s.state.q[0];
      q[1] = s.state.q[2];
    } else {
      solves += go(&s, 2e-4 * pow(0.85, k - 1), 1.5).solves;
      const double error = fmax(fabs(s.state.q[0] - q[0]), r * fabs(s.state.q[2] - q[1]));
      square += error * error / RUNS;
    }
    simulation_end(&s);
  }
  if (!(sqrt(square) <= 3e-3 && solves <= RUNS * 160)) {
    fail_msg("error %g m, %d solves", sqrt(square), (int)solves);
  }
}

// Attempts that were rejected leave nothing behind: the accepted steps, made alone by a stepper,
// give the same bits.
static void test_rejected_attempts(void** unused) {
  (void)unused;
  enum { MOST = 400 };
  static double lengths[MOST];
  int count = 0, rejected = 0, reasons[SAP_ADAPTIVE_REASON_COUNT] = {0};
  simulation a = ball(0.6, 1.0, 0.3), b = ball(0.6, 1.0, 0.3);
  sap_adaptive *adaptive = NULL, *idle = NULL;  // idle: makes b's solutions as exact
  sap_adaptive_options options = sap_adaptive_options_default();
  options.extrapolate = false;  // a step of one or two of the stepper's
  assert_int_equal(sap_adaptive_create(a.stepper, &options, NULL, &adaptive, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_adaptive_create(b.stepper, &options, NULL, &idle, NULL), SAP_STATUS_OK);
  while (a.state.t < 3.0) {
    sap_adaptive_report report;
    assert_int_equal(sap_adaptive_step(adaptive, &a.state, 3.0, &report, NULL), SAP_STATUS_OK);
    for (int k = 0; k < report.parts; ++k) {
      assert_true(count < MOST);
      lengths[count++] = report.dt / report.parts;
    }
    rejected += report.rejected;
    if (report.reason == SAP_ADAPTIVE_KINK) {
      assert_int_equal(report.velocity, 1);  // the slide along z
    }
    ++reasons[report.reason];
  }
  assert_true(rejected > 10);
  assert_true(reasons[SAP_ADAPTIVE_SMOOTH] > 0 && reasons[SAP_ADAPTIVE_KINK] > 0);
  assert_true(reasons[SAP_ADAPTIVE_LIMIT] > 0 && reasons[SAP_ADAPTIVE_FAILED] == 0);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(sap_stepper_set_dt(b.stepper, lengths[i], NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(b.stepper, &b.state, NULL, NULL), SAP_STATUS_OK);
  }
  assert_memory_equal(a.state.q, b.state.q, (size_t)a.state.nq * sizeof(double));
  assert_memory_equal(a.state.v, b.state.v, (size_t)a.state.nv * sizeof(double));
  sap_adaptive_destroy(adaptive);
  sap_adaptive_destroy(idle);
  simulation_end(&a);
  simulation_end(&b);
}

// A humanoid falls, at three accuracies: its balance is linearized anew in at most a fifth of the
// solves. One accuracy tells little: when its limbs hit what depends on all impacts before.
static void test_relinearizations(void** unused) {
  (void)unused;
  int32_t solves = 0, again = 0;
  for (int k = 0; k < 3; ++k) {
    simulation s;
    sap_error error = {0};
    sap_adaptive_options options = sap_adaptive_options_default();
    options.accuracy = pow(10.0, -3.0 - k);
    if (!simulation_read(&s, SAPSTEP_SHARED "/models/mujoco/humanoid/humanoid.xml",
                         SAP_SCHEME_MIDPOINT, 0.01, &error)) {
      simulation_skip_absent(&error);
    }
    sap_adaptive* a = NULL;
    assert_int_equal(sap_adaptive_create(s.stepper, &options, NULL, &a, NULL), SAP_STATUS_OK);
    while (s.state.t < 1.5) {
      sap_adaptive_report report;
      assert_int_equal(sap_adaptive_step(a, &s.state, 1.5, &report, NULL), SAP_STATUS_OK);
      solves += report.solves;
      again += report.step.relinearizations;
    }
    sap_adaptive_destroy(a);
    simulation_end(&s);
  }
  if (!(again <= 0.2 * solves && solves <= 3200)) {  // 2788; builds scatter by a tenth
    fail_msg("%d relinearizations, %d solves", (int)again, (int)solves);
  }
}

// Within a step a falling ball is where gravity takes it; outside there is nothing to interpolate.
static void test_interpolation(void** unused) {
  (void)unused;
  simulation s = ball(0.6, 1.0, 0.0);
  sap_adaptive* adaptive = NULL;
  sap_state between = {0};
  assert_int_equal(sap_state_resize(&between, s.state.nq, s.state.nv, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_adaptive_create(s.stepper, NULL, NULL, &adaptive, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, 0.0, &between, NULL),
                   SAP_STATUS_ARGUMENT);
  s.state.t = 1.0;  // not stepped to: there is no step before it
  assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, 0.5, &between, NULL),
                   SAP_STATUS_ARGUMENT);
  double start = s.state.t = 0.0;
  for (int k = 0; k < 4; ++k) {
    start = s.state.t;
    assert_int_equal(sap_adaptive_step(adaptive, &s.state, 1.0, NULL, NULL), SAP_STATUS_OK);
    for (int i = 0; i <= 4; ++i) {
      const double t = i == 4 ? s.state.t : start + 0.25 * i * (s.state.t - start);
      assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, t, &between, NULL),
                       SAP_STATUS_OK);
      assert_true(between.t == t && fabs(between.q[0] - t) < 1e-13);
      assert_true(fabs(between.q[1] + 0.5 * gravity * t * t) < 1e-12);
      assert_true(fabs(between.v[1] + gravity * t) < 1e-11);
    }
  }
  assert_true(s.state.t < 0.3);  // above the floor
  sap_error error = {0};
  assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, 0.5 * start, &between, &error),
                   SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "must be in the last step"));
  const double t = s.state.t, middle = 0.5 * (start + t);
  const sap_state small = {.t = t};
  assert_int_equal(sap_adaptive_interpolate(adaptive, &small, middle, &between, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, middle, &s.state, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_true(s.state.t == t);
  sap_state_clear(&between);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

static void refuse(sap_stepper* stepper, const sap_adaptive_options* options, const double* lengths,
                   const char* part) {
  sap_error error = {0};
  sap_adaptive* adaptive = NULL;
  assert_int_equal(sap_adaptive_create(stepper, options, lengths, &adaptive, &error),
                   SAP_STATUS_ARGUMENT);
  assert_null(adaptive);
  if (strstr(error.message, part) == NULL) {
    fail_msg("'%s' has no '%s'", error.message, part);
  }
}

static void test_memory_is_for_the_same_lengths(void** unused) {
  (void)unused;
  static const double lengths[2][2] = {{1.0, 0.5}, {1.0, 0.25}};
  static char bytes[100000];
  simulation s = ball(0.6, 0.0, 0.0);
  sap_adaptive* a = NULL;
  size_t size = 0;
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(sap_adaptive_create(s.stepper, NULL, lengths[k == 1], &a, NULL), 0);
    assert_true(k > 0 || sap_adaptive_step(a, &s.state, 1.0, NULL, NULL) == 0);
    assert_true(k > 0 || sap_stepper_save_memory(s.stepper, bytes, sizeof bytes, &size, NULL) == 0);
    assert_int_equal(sap_stepper_load_memory(s.stepper, bytes, size, NULL) != 0, k == 1);
    sap_adaptive_destroy(a);
  }
  simulation_end(&s);
}

static int fail_above(void* context, double t, const double* q, const double* v, double* control) {
  (void)t;
  (void)v;
  (void)control;
  return q[1] < *(const double*)context ? 0 : 7;
}

static void test_wrong_input(void** unused) {
  (void)unused;
  simulation s = ball(0.6, 0.0, 0.0);
  sap_adaptive_options options = sap_adaptive_options_default();
  sap_error error = {0};
  double lengths[2] = {1.0, 0.0};
  refuse(s.stepper, &options, lengths, "lengths[1] = 0");
  options.accuracy = 0.0;
  refuse(s.stepper, &options, NULL, "accuracy = 0");
  options = (sap_adaptive_options){0};
  refuse(s.stepper, &options, NULL, "sap_adaptive_options_default()");
  simulation euler = ball(0.6, 0.0, 0.0);
  sap_stepper_options stepping = sap_stepper_options_default();
  simulation_use(&euler, &stepping);
  refuse(euler.stepper, NULL, NULL, "theta 1, theta_vq 1");
  simulation_end(&euler);

  sap_adaptive* adaptive = NULL;
  assert_int_equal(sap_adaptive_create(s.stepper, NULL, NULL, &adaptive, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_adaptive_step(adaptive, &s.state, 0.0, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "t_end = 0"));
  assert_int_equal(sap_adaptive_step(adaptive, &s.state, (double)NAN, NULL, NULL),
                   SAP_STATUS_ARGUMENT);
  sap_state bare = s.state;
  bare.v = NULL;
  assert_int_equal(sap_adaptive_step(adaptive, &bare, 1.0, NULL, &error), SAP_STATUS_ARGUMENT);
  // A callback that fails leaves state and memory as they were.
  double ceiling = -1.0;
  assert_int_equal(sap_adaptive_step(adaptive, &s.state, 1.0, NULL, NULL), SAP_STATUS_OK);
  const double t = s.state.t, q = s.state.q[1], v = s.state.v[1];
  sap_adaptive_report report;
  assert_int_equal(sap_multibody_set_control_function(s.multibody, fail_above, &ceiling, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_adaptive_step(adaptive, &s.state, 1.0, &report, &error),
                   SAP_STATUS_CALLBACK);
  assert_true(s.state.t == t && s.state.q[1] == q && s.state.v[1] == v);
  assert_string_equal(sap_adaptive_reason_text(SAP_ADAPTIVE_SMOOTH), "smooth motion");
  assert_string_equal(sap_adaptive_reason_text((sap_adaptive_reason)-1), "unknown reason");
  sap_adaptive_forget(NULL);
  sap_adaptive_forget(adaptive);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_energy_of_bounces),
      cmocka_unit_test(test_shortest),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_second_order),
      cmocka_unit_test(test_fourth_order),
      cmocka_unit_test(test_stiff_components),
      cmocka_unit_test(test_extrapolated_contact),
      cmocka_unit_test(test_rejected_attempts),
      cmocka_unit_test(test_wrong_input),
      cmocka_unit_test(test_memory_is_for_the_same_lengths),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_pressed_limit),
      cmocka_unit_test(test_dry_friction),
      cmocka_unit_test(test_saturated_servo),
      cmocka_unit_test(test_slipping),
      cmocka_unit_test(test_relinearizations),
      cmocka_unit_test(test_interpolation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
