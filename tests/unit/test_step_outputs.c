// SPDX-License-Identifier: BSD-3-Clause
// Outputs of a step against closed forms; Jacobians against differences of poses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics.h"
#include "support/mixed_model.h"
#include "support/near.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};
static const double dt = 0.01;
static const double g = 10.0;

// A box at rest on the floor: m g in all; pushed by its own acceleration before.
static void test_contact_forces(void** unused) {
  (void)unused;
  const double mass = 3.0, size[3] = {0.1, 0.2, 0.3}, p[3] = {0.0, 0.0, 0.31};
  const sap_material material = {.stiffness = 1e4, .relaxation_time = 0.01, .friction = 0.5};
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  const int32_t body = simulation_body(builder, 0, mass, 0.1, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, size, material);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, size, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  double tau[6], all[6], a[6];
  for (int32_t n = 0; n < 200; ++n) {
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_contact_forces(s.multibody, &s.report, tau, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_multibody_constraint_forces(s.multibody, &s.report, all, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_multibody_accelerations(s.multibody, &s.report, s.state.v, a, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(mass * a[2], tau[2] - mass * g, 1e-9 * mass * g / dt);  // Newton's law
    assert_memory_equal(tau, all, sizeof tau);
  }
  ASSERT_NEAR(tau[2], mass * g, 1e-6);
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(i == 2 ? 0.0 : tau[i], 0.0, 1e-6);
  }
  sap_error error = {0};
  assert_int_equal(sap_multibody_contact_forces(s.multibody, NULL, tau, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "report is NULL");
  // Contacts of a detection are no contacts of the step.
  assert_int_equal(sap_multibody_collect(s.multibody, &s.report, NULL), SAP_STATUS_OK);
  assert_true(sap_multibody_contacts(s.multibody)[0].gamma[2] > 0.0);
  assert_int_equal(sap_multibody_detect(s.multibody, s.state.q, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_collect(s.multibody, &s.report, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "the contacts are not those of the last step: collect them before "
                      "sap_multibody_detect and before the next step");
  simulation_end(&s);
}

// A mass on a slide pressed against its limit, and one that hangs from a connect.
static void test_constraint_forces(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  sap_joint_def slide = sap_joint_def_default();
  slide.type = SAP_JOINT_SLIDE;
  slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
  slide.lower = 0.0;
  slide.upper = 0.5;
  int32_t joint = -1;
  assert_int_equal(sap_builder_add_joint(builder, &slide, &joint, NULL), SAP_STATUS_OK);
  const double low[3] = {1.0, 0.0, -0.4};
  sap_equality_def connect = sap_equality_def_default();
  connect.a = 0;
  connect.b = simulation_body(builder, 0, 3.0, 0.1, low);
  simulation_joint(builder, connect.b, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  sap_v3_set(connect.anchor_A, 1.0, 0.0, 0.0);
  sap_v3_set(connect.anchor_B, 0.0, 0.0, 0.4);
  assert_int_equal(sap_builder_add_equality(builder, &connect, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 300);
  double force[6], limit = 0.0;
  assert_int_equal(sap_multibody_limit_force(s.multibody, &s.report, joint, &limit, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(limit, 2.0 * g, 1e-6);
  assert_int_equal(sap_multibody_equality_force(s.multibody, &s.report, 0, force, NULL),
                   SAP_STATUS_OK);
  const double expected[6] = {0.0, 0.0, 3.0 * g, 0.0, 0.0, 0.0};
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(force[i], expected[i], 1e-6);
  }
  sap_error error = {0};
  assert_int_equal(sap_multibody_equality_force(s.multibody, &s.report, 1, force, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "equality = 1 must be 0 to 0");
  simulation_end(&s);
}

// At an upper limit: down the slide's axis is up its coordinate.
static void test_upper_limit(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  sap_joint_def slide = sap_joint_def_default();
  slide.type = SAP_JOINT_SLIDE;
  slide.axis[2] = -1.0;
  slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
  slide.lower = -0.5;
  slide.upper = 0.0;
  int32_t joint = -1;
  assert_int_equal(sap_builder_add_joint(builder, &slide, &joint, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 300);
  double limit = 0.0;
  assert_int_equal(sap_multibody_limit_force(s.multibody, &s.report, joint, &limit, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(limit, -2.0 * g, 1e-6);
  simulation_end(&s);
}

// A motor, a servo alone, and a motor with two servos that share a range of 10.
static void test_actuator_forces(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const struct {
    int32_t joint;
    double gear, offset, kd;
  } rows[] = {{0, 2.0, 3.0, 0.0},
              {1, -2.0, 4.0, 0.5},
              {2, 2.0, 1.0, 0.0},
              {2, 4.0, 2.0, 1e-9},
              {2, 1.0, 8.0, 1e-9}};
  for (int i = 0; i < 3; ++i) {
    sap_joint_def slide = sap_joint_def_default();
    slide.type = SAP_JOINT_SLIDE;
    slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
    slide.effort_upper = i == 2 ? 10.0 : (double)INFINITY;
    assert_int_equal(sap_builder_add_joint(builder, &slide, NULL, NULL), SAP_STATUS_OK);
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_actuator_def def = sap_actuator_def_default();
    def.target = rows[i].joint;
    def.gear = rows[i].gear;
    def.bias[0] = rows[i].offset;
    def.bias[2] = -rows[i].kd;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 1);
  double force[5], a[3];
  assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, force, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_multibody_accelerations(s.multibody, &s.report, s.state.v, a, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(force[0], 3.0, 1e-15);
  ASSERT_NEAR(force[1], 4.0 - 0.5 * -2.0 * s.state.v[1], 1e-9);
  ASSERT_NEAR(2.0 * a[1], -2.0 * force[1], 1e-9);
  ASSERT_NEAR(force[2], 1.0, 1e-15);  // 2 of 10; the servos' 8 + 8 have 8
  ASSERT_NEAR(force[3], 1.0, 1e-8);
  ASSERT_NEAR(force[4], 4.0, 1e-8);
  ASSERT_NEAR(2.0 * a[2], 10.0, 1e-9);
  simulation_end(&s);
}

// A servo with a negative gear within a range of the joint: its own bounds change sides.
static void test_negative_gear(void** unused) {
  (void)unused;
  for (int side = 0; side < 2; ++side) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    sap_joint_def slide = sap_joint_def_default();
    slide.type = SAP_JOINT_SLIDE;
    slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
    slide.effort_lower = -100.0;
    slide.effort_upper = 100.0;
    assert_int_equal(sap_builder_add_joint(builder, &slide, NULL, NULL), SAP_STATUS_OK);
    sap_actuator_def def = sap_actuator_def_default();
    def.gear = -2.0;
    def.bias[0] = side == 0 ? 50.0 : -50.0;
    def.bias[2] = -1e-9;
    def.force_lower = -1.0;
    def.force_upper = 3.0;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, 1);
    double force, a;
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, &force, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_multibody_accelerations(s.multibody, &s.report, s.state.v, &a, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(force, side == 0 ? 3.0 : -1.0, 1e-9);
    ASSERT_NEAR(2.0 * a, side == 0 ? -6.0 : 2.0, 1e-9);
    simulation_end(&s);
  }
}

// A range that leaves out zero has what asks for next to nothing push all the same: dampers, each
// by its share of what they ask, which is as their gears; motors, which ask for nothing, all alike.
static void test_least_effort(void** unused) {
  (void)unused;
  static const double gears[] = {2.0, 5.0};
  for (int motors = 0; motors < 2; ++motors) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    sap_joint_def slide = sap_joint_def_default();
    slide.type = SAP_JOINT_SLIDE;
    slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
    slide.effort_lower = 6.0;
    slide.effort_upper = 10.0;
    assert_int_equal(sap_builder_add_joint(builder, &slide, NULL, NULL), SAP_STATUS_OK);
    for (int i = 0; i < 2; ++i) {
      sap_actuator_def def = sap_actuator_def_default();
      def.gear = gears[i];
      def.bias[2] = motors ? 0.0 : -1e-9;
      assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, 1);
    double force[2];
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, force, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(2.0 * s.state.v[0], 6.0 * dt, 1e-9);
    for (int i = 0; i < 2; ++i) {
      ASSERT_NEAR(force[i], motors ? 3.0 / gears[i] : 6.0 * gears[i] / 29.0, 1e-8);
    }
    simulation_end(&s);
  }
}

static void test_jacobian(void** unused) {
  (void)unused;
  sap_builder* builder = mixed_builder();
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  const double p_BP[3] = {0.1, -0.2, 0.3};
  double v[64], q0[64], q[64], J[6 * 64];
  for (int32_t i = 0; i < s.state.nv; ++i) {
    v[i] = sin(12.9898 * (double)(i + 1));
  }
  sap_manifold_integrate(s.model, s.model->q_default, v, 0.7, q0);
  for (int32_t body = 0; body < s.model->sizes.bodies; ++body) {
    assert_int_equal(sap_multibody_point_jacobian(s.multibody, q0, body, p_BP, J, NULL),
                     SAP_STATUS_OK);
    double p[2][3], turn[2][4], rate[6] = {0.0};
    const double h = 1e-6;
    for (int side = 0; side < 2; ++side) {
      double arm[3];
      sap_manifold_integrate(s.model, q0, v, side == 0 ? -h : h, q);
      assert_int_equal(sap_multibody_body_pose(s.multibody, q, body, p[side], turn[side], NULL),
                       SAP_STATUS_OK);
      sap_quaternion_rotate(arm, turn[side], p_BP);
      sap_v3_add(p[side], p[side], arm);
    }
    double relative[4], omega[3];
    sap_quaternion_conjugate(turn[0], turn[0]);
    sap_quaternion_multiply(relative, turn[1], turn[0]);
    sap_quaternion_log(omega, relative);
    for (int32_t j = 0; j < s.state.nv; ++j) {
      for (int r = 0; r < 6; ++r) {
        rate[r] += J[6 * j + r] * v[j];
      }
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(rate[i], omega[i] / (2.0 * h), 1e-8);
      ASSERT_NEAR(rate[3 + i], (p[1][i] - p[0][i]) / (2.0 * h), 1e-8);
    }
  }
  simulation_end(&s);
}

typedef struct script {
  int32_t calls;
  double last_t;
} script;

static int push(void* context, double t, const double* q, const double* v, double* control) {
  script* x = context;
  (void)q;
  (void)v;
  ++x->calls;
  x->last_t = t;
  control[0] = 10.0 * t;
  return t > 0.045 ? 7 : 0;
}

// Asked once a step; when it says no the state stays.
static void test_control_function(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const int32_t body = simulation_body(builder, 0, 1.0, 1.0, origin);
  sap_actuator_def motor = sap_actuator_def_default();
  motor.target = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  script x = {0};
  assert_int_equal(sap_multibody_set_control_function(s.multibody, push, &x, NULL), SAP_STATUS_OK);
  simulation_step(&s, 5);
  assert_int_equal(x.calls, 5);
  ASSERT_NEAR(x.last_t, 0.04, 1e-15);
  ASSERT_NEAR(s.state.v[0], dt * 10.0 * (0.01 + 0.02 + 0.03 + 0.04), 1e-14);
  const double v = s.state.v[0];
  sap_error error = {0};
  assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, &error), SAP_STATUS_CALLBACK);
  assert_string_equal(error.message, "the system's begin_step returned 7");
  assert_true(s.state.v[0] == v);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contact_forces), cmocka_unit_test(test_constraint_forces),
      cmocka_unit_test(test_upper_limit),    cmocka_unit_test(test_actuator_forces),
      cmocka_unit_test(test_negative_gear),  cmocka_unit_test(test_least_effort),
      cmocka_unit_test(test_jacobian),       cmocka_unit_test(test_control_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
