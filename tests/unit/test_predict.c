// SPDX-License-Identifier: BSD-3-Clause
// The free motion's first guess, and that it changes where the iteration starts, not where it ends.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "integrators/predict.h"
#include "support/near.h"
#include "support/toy_system.h"

static const sap_theta scheme = {0.01, 1.0, 1.0};

static void test_predictors(void** state) {
  (void)state;
  sap_pool pool = {.owner = "test"};
  sap_prediction p = {0};
  assert_int_equal(sap_prediction_create(2, SAP_PREDICTION_DEPTH, &pool, &p, NULL), SAP_STATUS_OK);
  double v[2];
  const double zero[2] = {0.0, 0.0}, v0[2] = {10.0, 20.0};
  assert_false(sap_prediction_guess(&p, &scheme, v0, v));
  assert_true(v[0] == 10.0 && v[1] == 20.0);
  // The first velocity's d grows by 1 a step, the second's jumps to and fro about 5.
  for (int i = 0; i < 5; ++i) {
    const double d[2] = {1.0 + i, 5.0 + (i % 2)};
    sap_prediction_record(&p, &scheme, zero, d);
  }
  assert_true(sap_prediction_guess(&p, &scheme, v0, v));
  assert_true(v[0] == 10.0 + 6.0);  // the line
  assert_true(v[1] == 20.0 + 5.0);  // the last
  const sap_theta other = {0.02, 1.0, 1.0};
  assert_false(sap_prediction_guess(&p, &other, v0, v));
  sap_prediction_record(&p, &other, zero, v0);
  assert_true(sap_prediction_guess(&p, &other, zero, v));
  assert_true(v[0] == 10.0);  // nothing is left of the old scheme's steps
  // Constant accelerations move twice as much in steps of twice the length; a fresh prediction of
  // such steps would know that.
  sap_prediction_record(&p, &other, zero, v0);
  const sap_theta twice = {0.04, 1.0, 1.0};
  sap_prediction_rescale(&p, 1, twice.dt);
  assert_false(sap_prediction_guess(&p, &other, zero, v));
  assert_true(sap_prediction_guess(&p, &twice, zero, v));
  assert_true(v[0] == 20.0 && v[1] == 40.0);
  sap_prediction_rescale(&p, 2, 0.5 * twice.dt);
  assert_true(sap_prediction_guess(&p, &other, zero, v));
  assert_true(v[0] == 5.0 && v[1] == 10.0);  // what changes with the square
  sap_pool_free(&pool);
}

// A stepper whose state is replaced between steps agrees with a fresh one to round-off.
static void test_state_replaced(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state a = toy_state(&toy.system), b = toy_state(&toy.system);
  sap_stepper *old = NULL, *fresh = NULL;
  sap_step_report report, report_fresh;
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &old, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &fresh, NULL), SAP_STATUS_OK);
  a.q[0] = 1.0;
  a.v[0] = 3.0;
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(sap_stepper_step(old, &a, &report, NULL), SAP_STATUS_OK);
  }
  a.q[0] = b.q[0] = -2.0;
  a.q[1] = b.q[1] = 0.4;
  a.v[0] = b.v[0] = -6.0;
  a.v[1] = b.v[1] = 9.0;
  assert_int_equal(sap_stepper_step(old, &a, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(fresh, &b, &report_fresh, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NEAR(a.v[i], b.v[i], 1e-12);
    ASSERT_NEAR(a.q[i], b.q[i], 1e-14);
  }
  assert_true(report.free_motion_residual <= 1e-13);
  // At rest the guess is the answer.
  memset(a.q, 0, 2 * sizeof(double));
  memset(a.v, 0, 2 * sizeof(double));
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(sap_stepper_step(old, &a, &report, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(report.free_motion_iterations, 0);
  assert_true(a.v[0] == 0.0 && a.q[0] == 0.0);
  sap_stepper_destroy(old);
  sap_stepper_destroy(fresh);
  sap_state_clear(&a);
  sap_state_clear(&b);
}

// Without memory a step is, bit for bit, that of a fresh stepper; with memory it is not.
static void test_without_memory(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  for (int remember = 0; remember < 2; ++remember) {
    sap_stepper_options options = sap_stepper_options_default();
    options.remember = remember == 1;
    sap_state a = toy_state(&toy.system), b = toy_state(&toy.system);
    sap_stepper *old = NULL, *fresh = NULL;
    assert_int_equal(sap_stepper_create(&toy.system, &options, &old, NULL), SAP_STATUS_OK);
    a.q[0] = 1.0;
    a.v[0] = 3.0;
    int equal = 0;
    for (int i = 0; i < 20; ++i) {
      memcpy(b.q, a.q, 2 * sizeof(double));
      memcpy(b.v, a.v, 2 * sizeof(double));
      b.t = a.t;
      assert_int_equal(sap_stepper_create(&toy.system, &options, &fresh, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_stepper_step(old, &a, NULL, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_stepper_step(fresh, &b, NULL, NULL), SAP_STATUS_OK);
      equal += memcmp(a.v, b.v, 2 * sizeof(double)) == 0 ? 1 : 0;
      sap_stepper_destroy(fresh);
    }
    assert_true(remember == 0 ? equal == 20 : equal < 20);
    sap_stepper_destroy(old);
    sap_state_clear(&a);
    sap_state_clear(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_predictors),
      cmocka_unit_test(test_state_replaced),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
