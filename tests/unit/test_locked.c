// SPDX-License-Identifier: BSD-3-Clause
// Locked joints: velocities exactly zero, all else as if the bodies were welded; switches.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double dt = 0.01;

enum { WELDED, LOCKED, FREE };

// Pendulum of two links about y, the second hanging bent from the first; `kind` is what its joint
// is.
static sap_builder* double_pendulum(int kind) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  sap_body_def body = sap_body_def_default();
  int32_t upper = -1, lower = -1;
  body.mass = 1.2;
  body.p_BCo[2] = -0.3;
  body.I_BCo_B[0] = body.I_BCo_B[1] = 0.02;
  body.I_BCo_B[2] = 0.01;
  assert_int_equal(sap_builder_add_body(builder, &body, &upper, NULL), SAP_STATUS_OK);
  body.parent = upper;
  body.mass = 0.7;
  body.p_PB[2] = -0.6;
  body.q_PB[2] = 0.4;
  assert_int_equal(sap_builder_add_body(builder, &body, &lower, NULL), SAP_STATUS_OK);
  simulation_joint(builder, upper, SAP_JOINT_HINGE, 0.0, 1.0, 0.0);
  if (kind != WELDED) {
    sap_joint_def joint = sap_joint_def_default();
    joint.body = lower;
    joint.axis[1] = 1.0;
    joint.axis[2] = 0.0;
    joint.damping = 0.1;
    joint.friction_loss = 0.05;
    joint.upper = -0.1;  // beyond it: a limit that would push
    joint.lower = -0.3;
    joint.locked = kind == LOCKED;
    assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
  }
  return builder;
}

static void test_locked_equals_welded(void** unused) {
  (void)unused;
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    simulation a = simulation_begin(double_pendulum(WELDED), (sap_scheme)scheme, dt);
    simulation b = simulation_begin(double_pendulum(LOCKED), (sap_scheme)scheme, dt);
    a.state.q[0] = b.state.q[0] = 1.0;
    a.state.v[0] = b.state.v[0] = -2.0;
    simulation_step(&a, 10);
    simulation_step(&b, 10);
    ASSERT_NEAR(a.state.q[0], b.state.q[0], 100.0 * DBL_EPSILON);
    ASSERT_NEAR(a.state.v[0], b.state.v[0], 100.0 * DBL_EPSILON);
    assert_true(b.state.q[1] == 0.0 && b.state.v[1] == 0.0);
    assert_int_equal(b.report.blocks, 0);
    simulation_end(&a);
    simulation_end(&b);
  }
}

// Locked in motion: the joint stops at once, the others take its momentum as in a blow.
static void test_lock_in_motion(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const double origin[3] = {0.0, 0.0, 0.0}, arm[3] = {0.5, 0.0, 0.0};
  const int32_t base = simulation_body(builder, 0, 2.0, 0.3, origin);
  simulation_joint(builder, base, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  const int32_t spinner = simulation_body(builder, base, 1.0, 0.2, arm);
  const int32_t joint = simulation_joint(builder, spinner, SAP_JOINT_HINGE, 0.0, 0.0, 1.0);
  const double r[3] = {0.2, 0.2, 0.2};
  sap_material material = sap_material_default();
  simulation_shape(builder, base, SAP_SHAPE_BOX, r, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  s.state.v[6] = 3.0;
  simulation_step(&s, 5);
  const sap_diagnostics before = simulation_diagnose(&s);
  assert_int_equal(sap_multibody_lock(s.multibody, joint, true, NULL), SAP_STATUS_OK);
  const double q = s.state.q[7];
  simulation_step(&s, 1);
  assert_true(s.state.v[6] == 0.0 && s.state.q[7] == q);
  const sap_diagnostics after = simulation_diagnose(&s);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(after.linear_momentum[i], before.linear_momentum[i], 0.05);  // O(dt v^2)
    ASSERT_NEAR(after.angular_momentum[i], before.angular_momentum[i], 0.02);
  }
  assert_true(fabs(before.angular_momentum[2]) > 0.5);
  simulation_step(&s, 20);
  assert_true(s.state.v[6] == 0.0 && s.state.q[7] == q);
  assert_int_equal(sap_multibody_lock(s.multibody, joint, false, NULL), SAP_STATUS_OK);
  sap_error error = {0};
  assert_int_equal(sap_multibody_lock(s.multibody, 9, true, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "joint = 9 must be 0 to 1");
  simulation_end(&s);
}

// A locked free body is part of the world: what falls on it rests, and contacts of it with the
// floor are none.
static void test_locked_in_contact(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  const double size[3] = {0.1, 0.1, 0.1}, low[3] = {0.0, 0.0, 0.095}, high[3] = {0.0, 0.0, 0.295};
  const sap_material material = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 0.5};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, size, material);
  const double* places[2] = {low, high};
  int32_t joints[2];
  for (int i = 0; i < 2; ++i) {
    const int32_t body = simulation_body(builder, 0, 1.0, 0.01, places[i]);
    joints[i] = simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    simulation_shape(builder, body, SAP_SHAPE_BOX, size, material);
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  assert_int_equal(sap_multibody_lock(s.multibody, joints[0], true, NULL), SAP_STATUS_OK);
  simulation_step(&s, 300);
  assert_true(s.state.q[2] == 0.095);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
  ASSERT_NEAR(s.state.q[9], 0.295 - 10.0 / (4.0 * 5e4), 1e-6);  // springs in series, four points
  simulation_end(&s);
}

static void test_switches(void** unused) {
  (void)unused;
  const double origin[3] = {0.0, 0.0, 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  const int32_t body = simulation_body(builder, 0, 2.0, 1.0, origin);
  const int32_t joint = simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  sap_actuator_def motor = sap_actuator_def_default();
  motor.target = joint;
  motor.bias[0] = 4.0;
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
  motor.bias[0] = 6.0;
  motor.bias[2] = -1e-12;  // a servo
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
  sap_spring_def spring = sap_spring_def_default();
  spring.body_b = body;
  spring.point_A[2] = 1.0;
  spring.stiffness = 30.0;
  assert_int_equal(sap_builder_add_spring(builder, &spring, NULL, NULL), SAP_STATUS_OK);
  sap_equality_def hold = sap_equality_def_default();
  hold.type = SAP_EQUALITY_JOINT;
  hold.a = joint;
  hold.polynomial[1] = 0.0;
  assert_int_equal(sap_builder_add_equality(builder, &hold, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_EXPLICIT_EULER, dt);
  const struct {
    sap_switch kind;
    int32_t id;
    double force;  // that is left when it is off as well
  } rows[] = {{SAP_SWITCH_EQUALITY, 0, 4.0 + 6.0 + 30.0 - 20.0},
              {SAP_SWITCH_SPRING, 0, 4.0 + 6.0 - 20.0},
              {SAP_SWITCH_ACTUATOR, 0, 6.0 - 20.0},
              {SAP_SWITCH_ACTUATOR, 1, -20.0}};
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[0], 0.0, 1e-5);  // held
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_int_equal(sap_multibody_enable(s.multibody, rows[i].kind, rows[i].id, false, NULL),
                     SAP_STATUS_OK);
    s.state.q[0] = s.state.v[0] = 0.0;
    simulation_step(&s, 1);
    ASSERT_NEAR(2.0 * s.state.v[0] / dt, rows[i].force, 1e-9);
  }
  sap_error error = {0};
  assert_int_equal(sap_multibody_enable(s.multibody, SAP_SWITCH_SPRING, 1, true, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_multibody_enable(s.multibody, (sap_switch)99, 1, true, &error),
                   SAP_STATUS_ARGUMENT);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locked_equals_welded),
      cmocka_unit_test(test_lock_in_motion),
      cmocka_unit_test(test_locked_in_contact),
      cmocka_unit_test(test_switches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
