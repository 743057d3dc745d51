// SPDX-License-Identifier: BSD-3-Clause
// Schemes and options of the stepper: names, defaults, and the field that is wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "integrators/step_options.h"
#include "support/option_tables.h"
#include "support/toy_system.h"

static void expect_status(const sap_stepper_options* options, sap_status status, const char* text) {
  sap_error error = {0};
  assert_int_equal(sap_stepper_options_check(options, &error), status);
  if (strstr(error.message, text) == NULL) {
    fail_msg("\"%s\" does not mention \"%s\"", error.message, text);
  }
  // The same check guards the stepper.
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, options, &stepper, NULL), status);
  assert_null(stepper);
}

static void expect(const sap_stepper_options* options, const char* text) {
  expect_status(options, SAP_STATUS_ARGUMENT, text);
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
  expect_status(&bad, SAP_STATUS_NOT_FINITE, "dt = ");
  bad = good;
  bad.dt = (double)INFINITY;
  expect_status(&bad, SAP_STATUS_NOT_FINITE, "dt = inf");
  bad = good;
  bad.theta = 1.5;
  expect(&bad, "theta = 1.5 must be in [0, 1]");
  bad = good;
  bad.theta_vq = (double)NAN;
  expect_status(&bad, SAP_STATUS_NOT_FINITE, "theta_vq");
  bad = good;
  bad.regularization.beta = -1.0;
  expect(&bad, "beta = -1 must be finite and >= 0");
  bad = good;
  bad.regularization.sigma = 0.0;
  expect(&bad, "sigma = 0 must be finite and > 0");
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

static void test_tables(void** state) {
  (void)state;
  static const char* const off[] = {"check_input", NULL};
  const sap_stepper_options defaults = sap_stepper_options_default();
  sap_stepper_options changed;
  assert_false(defaults.solver_options.check_input);
  assert_table_is_whole(sap_stepper_option_table(), &defaults, sizeof defaults, 0, off);
  assert_table_is_compared(sap_stepper_option_table(), &defaults, &changed, sizeof changed);
  const sap_adaptive_options adaptive = sap_adaptive_options_default();
  sap_adaptive_options other;
  assert_table_is_whole(sap_adaptive_option_table(), &adaptive, sizeof adaptive, 0, off + 1);
  assert_table_is_compared(sap_adaptive_option_table(), &adaptive, &other, sizeof other);
}

static void test_cookie(void** state) {
  (void)state;
  sap_stepper_options made_by_hand = {.dt = 0.01, .solver = "sap"};
  expect(&made_by_hand,
         "sap_stepper_options is not initialized: use sap_stepper_options_default()");
  made_by_hand = sap_stepper_options_default();
  made_by_hand.solver_options = (sap_solver_options){.max_iterations = 3};
  expect(&made_by_hand, "sap_solver_options is not initialized: use sap_solver_options_default()");
  sap_solver* solver = NULL;
  assert_int_equal(sap_solver_create("sap", &made_by_hand.solver_options, &solver, NULL),
                   SAP_STATUS_ARGUMENT);
}

// Each preset sets what its paper or program does, from whatever was there; "default" nothing.
static void test_presets(void** state) {
  (void)state;
  sap_error error = {0};
  for (int start = 0; start < 2; ++start) {
    sap_stepper_options o = sap_stepper_options_default();
    const sap_option_table table = sap_stepper_option_table();
    for (int32_t i = 0; start == 1 && i < table.count; ++i) {
      sap_option_set(&table.options[i], &o, other_value(&table.options[i]));
    }
    o.solver = "ipm";
    const sap_stepper_options before = o;
    assert_int_equal(sap_stepper_options_preset("default", &o, &error), SAP_STATUS_OK);
    assert_memory_equal(&o, &before, sizeof o);
    assert_int_equal(sap_stepper_options_preset("castro", &o, &error), SAP_STATUS_OK);
    sap_stepper_options spelled = before;
    spelled.solver = "sap";
    spelled.contact_law = SAP_LAW_CASTRO;
    spelled.contact_model = SAP_CONTACT_SAP;
    spelled.contact_stage = SAP_STAGE_END;
    spelled.regularization.impact_speed = 0.0;
    spelled.balance_tolerance = (double)INFINITY;
    spelled.remember = false;
    spelled.solver_options.islands = false;
    spelled.solver_options.newton = SAP_NEWTON_PRIMAL;
    spelled.solver_options.line_search = SAP_LINE_SEARCH_EXACT;
    spelled.solver_options.linear_solver = SAP_LINEAR_SPARSE;
    assert_string_equal(o.solver, "sap");
    o.solver = spelled.solver;
    assert_memory_equal(&o, &spelled, sizeof o);
    assert_int_equal(sap_stepper_options_preset("drake", &o, &error), SAP_STATUS_OK);
    spelled.theta = 0.0;
    spelled.theta_vq = 1.0;
    spelled.regularization.beta = 1.0;
    spelled.regularization.sigma = 1e-3;
    spelled.solver_options.relative_tolerance = 1e-6;
    spelled.solver_options.absolute_tolerance = 1e-14;
    spelled.solver_options.max_iterations = 100;
    spelled.solver_options.linear_solver = SAP_LINEAR_BLOCK;
    o.solver = spelled.solver;
    assert_memory_equal(&o, &spelled, sizeof o);
    assert_int_equal(sap_stepper_options_preset("Castro", &o, &error), SAP_STATUS_ARGUMENT);
    assert_string_equal(error.message,
                        "unknown preset 'Castro'; available: default, castro, drake");
    assert_int_equal(sap_stepper_options_preset(NULL, &o, &error), SAP_STATUS_ARGUMENT);
    assert_int_equal(sap_stepper_options_preset("castro", NULL, &error), SAP_STATUS_ARGUMENT);
    assert_memory_equal(&o, &spelled, sizeof o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schemes), cmocka_unit_test(test_tables),  cmocka_unit_test(test_cookie),
      cmocka_unit_test(test_check),   cmocka_unit_test(test_presets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
