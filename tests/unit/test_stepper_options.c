// SPDX-License-Identifier: BSD-3-Clause
// Schemes and options of the stepper: names, defaults, and the field that is wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "support/toy_system.h"

static void expect(const sap_stepper_options* options, const char* text) {
  sap_error error = {0};
  assert_int_equal(sap_stepper_options_check(options, &error), SAP_STATUS_ARGUMENT);
  if (strstr(error.message, text) == NULL) {
    fail_msg("\"%s\" does not mention \"%s\"", error.message, text);
  }
  // The same check guards the stepper.
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, options, &stepper, NULL), SAP_STATUS_ARGUMENT);
  assert_null(stepper);
}

static void test_schemes(void** state) {
  (void)state;
  const struct {
    sap_scheme scheme;
    const char* text;
    double theta, theta_vq;
  } expected[] = {{SAP_SCHEME_EXPLICIT_EULER, "explicit-euler", 0.0, 0.0},
                  {SAP_SCHEME_SYMPLECTIC_EULER, "symplectic-euler", 0.0, 1.0},
                  {SAP_SCHEME_IMPLICIT_EULER, "implicit-euler", 1.0, 1.0},
                  {SAP_SCHEME_MIDPOINT, "midpoint", 0.5, 0.5}};
  sap_stepper_options options = sap_stepper_options_default();
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    assert_string_equal(sap_scheme_text(expected[i].scheme), expected[i].text);
    assert_int_equal(sap_stepper_options_set_scheme(&options, expected[i].scheme, NULL),
                     SAP_STATUS_OK);
    assert_true(options.theta == expected[i].theta && options.theta_vq == expected[i].theta_vq);
  }
  assert_string_equal(sap_scheme_text(SAP_SCHEME_COUNT), "unknown scheme");
  assert_int_equal(sap_stepper_options_set_scheme(&options, SAP_SCHEME_COUNT, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_options_set_scheme(NULL, SAP_SCHEME_MIDPOINT, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_true(options.theta == 0.5);
}

static void test_check(void** state) {
  (void)state;
  const sap_stepper_options good = sap_stepper_options_default();
  assert_int_equal(sap_stepper_options_check(&good, NULL), SAP_STATUS_OK);
  sap_stepper_options bad = good;
  bad.dt = -0.01;
  expect(&bad, "dt = -0.01 must be finite and > 0 s");
  bad.dt = (double)NAN;
  expect(&bad, "dt = ");
  bad = good;
  bad.dt = (double)INFINITY;
  expect(&bad, "dt = inf");
  bad = good;
  bad.theta = 1.5;
  expect(&bad, "theta = 1.5 must be in [0, 1]");
  bad = good;
  bad.theta_vq = (double)NAN;
  expect(&bad, "theta_vq");
  bad = good;
  bad.regularization.beta = -1.0;
  expect(&bad, "regularization.beta = -1");
  bad = good;
  bad.regularization.sigma = 0.0;
  expect(&bad, "regularization.sigma = 0");
  bad = good;
  bad.free_motion_max_iterations = 0;
  expect(&bad, "free_motion_max_iterations = 0");
  bad = good;
  bad.contact_stage = (sap_stage)7;
  expect(&bad, "contact_stage = 7 must be auto, end or theta");
  bad = good;
  bad.theta = 0.0;
  bad.contact_stage = SAP_STAGE_THETA;
  expect(&bad, "contact_stage theta needs theta and theta_vq >= 0.5, not 0 and 1");
  bad = good;
  bad.solver = NULL;
  expect(&bad, "solver is NULL");
  bad = good;
  bad.solver = "no such solver";
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, &bad, &stepper, NULL), SAP_STATUS_ARGUMENT);
  bad = good;
  bad.solver_options.max_iterations = -1;
  expect(&bad, "max_iterations");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schemes),
      cmocka_unit_test(test_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
