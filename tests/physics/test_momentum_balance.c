// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of a step: taken body by body it gives no energy away, and it holds at the
// velocities that the constraints leave, at rest and in blows.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static double scatter(int32_t i) {
  return sin(12.9898 * (i + 1)) * cos(4.1414 * (i + 3));
}

// A floating chain: ball, hinge and slide joints with offsets, a light link between heavy ones;
// armature of the hinge [kg m^2].
static simulation whirling_chain(double gravity, double armature) {
  static const double masses[4] = {0.1, 10.0, 0.2, 5.0};
  static const sap_joint_type types[4] = {SAP_JOINT_FREE, SAP_JOINT_BALL, SAP_JOINT_HINGE,
                                          SAP_JOINT_SLIDE};
  sap_builder* builder = simulation_builder(0.0, 0.0, gravity);
  int32_t body = 0;
  for (int i = 0; i < 4; ++i) {
    const double p[3] = {0.05, 0.02 * i, 0.1};
    body = simulation_body(builder, body, masses[i], 1e-3 * masses[i], p);
    sap_joint_def joint = sap_joint_def_default();
    joint.type = types[i];
    joint.body = body;
    joint.axis[0] = 0.3;
    joint.axis[1] = 1.0;
    joint.axis[2] = -0.2;
    joint.armature = types[i] == SAP_JOINT_HINGE ? armature : 0.0;
    assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
  }
  const double size[3] = {0.05, 0.05, 0.05};
  sap_material material = sap_material_default();
  material.stiffness = 1e6;
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
  sap_shape_def floor_shape = sap_shape_def_default();
  floor_shape.type = SAP_SHAPE_PLANE;
  floor_shape.p_BS[2] = gravity < 0.0 ? 0.2 : -100.0;
  assert_int_equal(sap_builder_add_shape(builder, &floor_shape, NULL, NULL), SAP_STATUS_OK);
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
}

// Bodies alike all around, no forces: the work along v is never less than the kinetic energy
// gained, whatever the two states are; and it is M a and Coriolis forces to first order in dt.
static void test_body_by_body(void** unused) {
  (void)unused;
  simulation s = whirling_chain(0.0, 10.0);
  const sap_system* system = sap_multibody_system(s.multibody);
  const int32_t nv = s.state.nv;
  double q0[32], v0[32], q[32], v[32], a[32], m[32], ma[32], worst[2] = {0.0, 0.0};
  for (int32_t round = 0; round < 20; ++round) {
    for (int halving = 0; halving < 2; ++halving) {
      const double dt = halving == 0 ? 1e-3 : 5e-4;
      for (int32_t i = 0; i < nv; ++i) {
        v0[i] = 20.0 * scatter(round * 100 + i);
        a[i] = 500.0 * scatter(round * 100 + i + 50);
        v[i] = v0[i] + dt * a[i];
      }
      assert_int_equal(system->integrate_positions(system->context, s.state.q, v0, 0.05, q0), 0);
      assert_int_equal(system->integrate_positions(system->context, q0, v, dt, q), 0);
      double before, after, potential, work = 0.0, difference = 0.0;
      assert_int_equal(system->energies(system->context, 0.0, q0, v0, &before, &potential), 0);
      assert_int_equal(system->energies(system->context, 0.0, q, v, &after, &potential), 0);
      const sap_step_context step = {.dt = dt, .q0 = q0, .v0 = v0};
      assert_int_equal(system->momentum_balance(system->context, &step, q, v, m, NULL), 0);
      assert_int_equal(system->inverse_dynamics(system->context, 0.0, q, v, a, ma), 0);
      for (int32_t i = 0; i < nv; ++i) {
        work += dt * v[i] * m[i];
        difference = fmax(difference, fabs(m[i] - ma[i]));
      }
      assert_true(after - before <= work + 1e-12 * before);
      worst[halving] = fmax(worst[halving], difference);
    }
  }
  assert_true(worst[0] > 1.0);                 // [N, N m]: the two are not the same
  ASSERT_NEAR(worst[0] / worst[1], 2.0, 0.3);  // O(dt)
  simulation_end(&s);
}

// A whirling chain that keeps to itself keeps its momenta, and loses energy only.
static void test_free_flight(void** unused) {
  (void)unused;
  simulation s = whirling_chain(0.0, 0.0);
  for (int32_t i = 0; i < s.state.nv; ++i) {
    s.state.v[i] = (i < 6 ? 3.0 : 30.0) * scatter(i);
  }
  sap_diagnostics before = simulation_diagnose(&s);
  const sap_diagnostics start = before;
  for (int32_t n = 0; n < 300; ++n) {
    simulation_step(&s, 1);
    const sap_diagnostics now = simulation_diagnose(&s);
    assert_true(now.kinetic <= before.kinetic * (1.0 + 1e-12));
    before = now;
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(before.linear_momentum[i], start.linear_momentum[i], 1e-9);
  }
  simulation_end(&s);
}

// An arm of two links held at an angle by its servos, at rest: their forces are the weight's
// moments to round-off, whatever dt; a balance about the free fall missed them by dt^2 g/l.
static void test_forces_at_rest(void** unused) {
  (void)unused;
  const double origin[3] = {0.0, 0.0, 0.0}, half[3] = {0.5, 0.0, 0.0}, whole[3] = {1.0, 0.0, 0.0};
  for (int k = 0; k < 3; ++k) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
    int32_t body = 0;
    for (int i = 0; i < 2; ++i) {
      sap_body_def link = sap_body_def_default();
      int32_t joint = -1;
      link.parent = body;
      link.mass = 2.0 + i;
      memcpy(link.p_BCo, half, sizeof half);
      memcpy(link.p_PB, i == 0 ? origin : whole, sizeof half);
      link.I_BCo_B[0] = link.I_BCo_B[1] = link.I_BCo_B[2] = 0.1;
      assert_int_equal(sap_builder_add_body(builder, &link, &body, NULL), SAP_STATUS_OK);
      joint = simulation_joint(builder, body, SAP_JOINT_HINGE, 0.0, -1.0, 0.0);
      sap_actuator_def servo = sap_actuator_def_default();
      servo.target = joint;
      servo.gain = 1e3;
      servo.bias[1] = -1e3;
      servo.bias[2] = -200.0;
      assert_int_equal(sap_builder_add_actuator(builder, &servo, NULL, NULL), SAP_STATUS_OK);
    }
    static const double steps[3] = {0.002, 0.01, 0.04};
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, steps[k]);
    const double control[2] = {0.7, 0.4};
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, (int32_t)lround(20.0 / steps[k]));
    double force[2];
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, force, NULL),
                     SAP_STATUS_OK);
    const double outer = 3.0 * 10.0 * 0.5 * cos(s.state.q[0] + s.state.q[1]);
    const double inner = outer + (2.0 * 0.5 + 3.0) * 10.0 * cos(s.state.q[0]);
    ASSERT_NEAR(force[1], outer, 1e-8 * outer);
    ASSERT_NEAR(force[0], inner, 1e-8 * inner);
    simulation_end(&s);
  }
}

// A whirling chain falls on the floor: the steps of blows are solved again until the balance holds.
static void test_blow(void** unused) {
  (void)unused;
  double left[2] = {0.0, 0.0};
  int32_t relinearizations[2] = {0, 0};
  for (int repeated = 0; repeated < 2; ++repeated) {
    simulation s = whirling_chain(-9.81, 0.0);
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = 2e-3;
    options.balance_tolerance = repeated == 1 ? 1e-3 : (double)INFINITY;
    simulation_use(&s, &options);
    for (int32_t i = 0; i < s.state.nv; ++i) {
      s.state.v[i] = i < 6 ? 0.0 : 8.0 * scatter(i);
    }
    for (int32_t n = 0; n < 200; ++n) {
      simulation_step(&s, 1);
      left[repeated] = fmax(left[repeated], s.report.balance_error);
      relinearizations[repeated] += s.report.relinearizations;
    }
    simulation_end(&s);
  }
  assert_true(left[0] > 0.02 && relinearizations[0] == 0);
  assert_true(left[1] < 5e-3 &&
              relinearizations[1] > 0);  // the hardest blow uses up its relinearizations
}

// A tilted coin rolls: its gyroscopic moments, which v* lacks, are expected after the first step that
// missed them, and steps are not solved again for them.
static void test_rolling_coin(void** unused) {
  (void)unused;
  static const char text[] =
      "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='9 9 1'/>"
      "<body pos='0 0 .042' euler='25 0 0'><freejoint/><geom type='cylinder' size='.04 .002'/>"
      "</body></worldbody></mujoco>";
  simulation s = {.model = scene_text_model("coin.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.002);
  s.state.v[3] = 20.0;
  s.state.v[5] = 40.0;
  int32_t relinearizations = 0;
  for (int32_t n = 0; n < 300; ++n) {
    simulation_step(&s, 1);
    relinearizations += s.report.relinearizations;
    assert_true(s.report.balance_error <= 1e-3);
  }
  assert_true(relinearizations < 50);  // 158 if they are not expected
  simulation_end(&s);
}

// Without gravity a limit lifts a link and the robot comes to rest: where all impulses have become
// round-off, the balance misses by as much, and steps are not solved again for it.
static void test_rest_without_loads(void** unused) {
  (void)unused;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body pos='0 0 1'><freejoint/>"
      "<geom type='box' size='.2 .1 .05' mass='10'/><body pos='.2 .1 0'><joint axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 .1 0 -.2' size='.03' mass='1' contype='0'/>"
      "<body pos='.1 0 -.2'><joint axis='0 1 0' range='-60 0'/>"
      "<geom type='capsule' fromto='0 0 0 .1 0 -.2' size='.03' mass='.5' contype='0'/>"
      "</body></body></body></worldbody></mujoco>";
  simulation s = {.model = scene_text_model("float.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.002);
  s.state.q[7] = 0.3;
  s.state.q[8] = 0.2;
  for (int32_t n = 0; n < 2000; ++n) {
    simulation_step(&s, 1);
    assert_int_equal(s.report.relinearizations, 0);  // 747 in all if round-off counts
    assert_true(s.report.balance_error <= 1e-3);     // 263
  }
  simulation_end(&s);
}

// An arm of ten links with limits, folding and unfolding as it flies.
static simulation folding_arm(double dt) {
  char text[8192] =
      "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><worldbody><body pos='0 0 3'>"
      "<freejoint/><inertial pos='0 0 0' mass='3' diaginertia='.02 .02 .01'/>";
  enum { LINKS = 10 };
  size_t at = strlen(text);
  for (int i = 0; i < LINKS; ++i) {
    at += (size_t)snprintf(
        text + at, sizeof text - at,
        "<body pos='%g %g 0'><joint axis='%d %d %d' limited='true' range='-.6 .8'/><inertial "
        "pos='.02 0 0' mass='%g' diaginertia='1e-4 2e-4 2e-4'/>",
        i == 0 ? 0.1 : 0.06, 0.01 * (i % 2), i % 3 == 0, i % 3 == 1, i % 3 == 2, 0.3 / (i + 1));
  }
  for (int i = 0; i < LINKS + 1; ++i) {
    at += (size_t)snprintf(text + at, sizeof text - at, "</body>");
  }
  (void)snprintf(text + at, sizeof text - at, "</worldbody></mujoco>");
  simulation s = {.model = scene_text_model("arm.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  for (int32_t i = 0; i < s.state.nv; ++i) {
    s.state.v[i] = i < 3 ? 1.0 : (i < 6 ? scatter(i) : 8.0 * scatter(i));
  }
  return s;
}

// Impulses of limits are internal: what the solver's tolerance lets them change the momentum in two
// seconds hardly grows as steps become shorter and more. With the same tolerance in each step it was
// 8e-6, 2.8e-4 and 6.5e-4 N s.
static void test_shorter_steps(void** unused) {
  (void)unused;
  static const double steps[3] = {4e-3, 1e-3, 2.5e-4};
  double drift[3];
  for (int k = 0; k < 3; ++k) {
    simulation s = folding_arm(steps[k]);
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = steps[k];
    options.balance_tolerance = 1e-6;
    // Smooths blows on limits, whose linearization would miss more than solvers do at 4 ms.
    options.contact_law = SAP_LAW_CASTRO;
    simulation_use(&s, &options);
    const sap_diagnostics first = simulation_diagnose(&s);
    simulation_step(&s, (int32_t)lround(2.0 / steps[k]));
    const sap_diagnostics last = simulation_diagnose(&s);
    drift[k] = 0.0;
    for (int i = 0; i < 3; ++i) {
      drift[k] += pow(last.linear_momentum[i] - first.linear_momentum[i], 2.0);
    }
    drift[k] = sqrt(drift[k]);
    simulation_end(&s);
  }
  assert_true(drift[0] < 5e-5 && drift[1] < 5e-5 && drift[2] < 2e-4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_body_by_body),       cmocka_unit_test(test_free_flight),
      cmocka_unit_test(test_forces_at_rest),     cmocka_unit_test(test_blow),
      cmocka_unit_test(test_shorter_steps),      cmocka_unit_test(test_rolling_coin),
      cmocka_unit_test(test_rest_without_loads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
