// SPDX-License-Identifier: BSD-3-Clause
// Forces that a user applies from outside, against closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "support/near.h"
#include "support/simulation.h"

static simulation free_body(double gravity) {
  const double origin[3] = {0.0, 0.0, 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, gravity);
  const int32_t body = simulation_body(builder, 0, 2.0, 0.5, origin);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
}

static void test_wrench(void** unused) {
  (void)unused;
  simulation s = free_body(-10.0);
  const double weight[3] = {0.0, 0.0, 20.0}, moment[3] = {0.0, 0.5, 0.0};
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 1, NULL, weight, moment, NULL),
                   SAP_STATUS_OK);
  simulation_step(&s, 10);
  ASSERT_NEAR(s.state.v[2], 0.0, 1e-14);
  ASSERT_NEAR(s.state.v[4], 0.1 * 0.5 / 0.5, 1e-14);
  // Off the centre: the moment of the arm, at the end of the first step. Then none.
  simulation_end(&s);
  s = free_body(0.0);
  const double p[3] = {0.3, 0.0, 0.0}, push[3] = {0.0, 4.0, 0.0};
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 1, p, push, NULL, NULL),
                   SAP_STATUS_OK);
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[1], 0.01 * 4.0 / 2.0, 1e-14);
  const double turned = 0.01 * s.state.v[5];
  ASSERT_NEAR(s.state.v[5], 0.01 * 0.3 * 4.0 * cos(turned) / 0.5, 1e-14);
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 1, NULL, NULL, NULL, NULL),
                   SAP_STATUS_OK);
  const double v = s.state.v[1];
  simulation_step(&s, 5);
  ASSERT_NEAR(s.state.v[1], v, 1e-14);
  simulation_end(&s);
}

// A wrench is of the world's axes, a free body's angular velocity of its own.
static void test_turned_body(void** unused) {
  (void)unused;
  simulation s = free_body(0.0);
  const double turn[3] = {0.3, -1.1, 0.7}, moment[3] = {0.2, 0.5, -0.4}, push[3] = {1.0, 2.0, 3.0};
  double R[9], expected[3];
  sap_quaternion_exp(s.state.q + 3, turn);
  sap_quaternion_to_matrix(R, s.state.q + 3);
  sap_m3_tmul_v3(expected, R, moment);
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 1, NULL, push, moment, NULL),
                   SAP_STATUS_OK);
  simulation_step(&s, 1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(s.state.v[i], 0.01 * push[i] / 2.0, 1e-14);
    ASSERT_NEAR(s.state.v[3 + i], 0.01 * expected[i] / 0.5, 1e-5);  // turns on within the step
  }
  simulation_end(&s);
}

// Set anew in every step by the control function: a spring of one's own, x'' = -4 x, explicit.
static int pull_back(void* context, double t, const double* q, const double* v, double* control) {
  (void)t;
  (void)v;
  (void)control;
  const double tau[6] = {-8.0 * q[0], 0.0, 0.0, 0.0, 0.0, 0.0};
  return (int)sap_multibody_set_applied_forces(context, tau, NULL);
}

static void test_generalized(void** unused) {
  (void)unused;
  simulation s = free_body(0.0);
  s.state.q[0] = 1.0;
  assert_int_equal(sap_multibody_set_control_function(s.multibody, pull_back, s.multibody, NULL),
                   SAP_STATUS_OK);
  double x = 1.0, v = 0.0;
  for (int n = 0; n < 100; ++n) {
    v -= 0.01 * 4.0 * x;
    x += 0.01 * v;
    simulation_step(&s, 1);
  }
  ASSERT_NEAR(s.state.q[0], x, 1e-12);
  simulation_end(&s);
}

static void test_input(void** unused) {
  (void)unused;
  simulation s = free_body(0.0);
  sap_error error = {0};
  const double bad[6] = {0.0, (double)NAN, 0.0, 0.0, 0.0, 0.0};
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 2, NULL, bad, NULL, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "body = 2 must be 0 to 1");
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, 1, NULL, bad, NULL, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_int_equal(sap_multibody_set_applied_forces(s.multibody, bad, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_int_equal(sap_multibody_set_applied_forces(NULL, bad, &error), SAP_STATUS_ARGUMENT);
  simulation_step(&s, 3);
  assert_true(s.state.v[1] == 0.0);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrench),
      cmocka_unit_test(test_turned_body),
      cmocka_unit_test(test_generalized),
      cmocka_unit_test(test_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
