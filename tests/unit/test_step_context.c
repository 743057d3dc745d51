// SPDX-License-Identifier: BSD-3-Clause
// The step as callbacks see it: the scheme, the stage and law in force, states.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "support/toy_system.h"

typedef struct spy {
  toy_linear toy;
  bool locked[TOY_MAX];
  sap_step_context began, seen;  // in begin_step and in the first call of constraints
  double v0[2], v0_free[2], v_guess[2];
  int32_t begin_calls, constraint_calls;
} spy;

static int begin_step(void* context, const sap_step_context* step) {
  spy* s = context;
  s->began = *step;
  s->begin_calls += 1;
  s->locked[1] = true;
  return 0;
}

static int constraints(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  spy* s = context;
  (void)error;
  if (s->constraint_calls++ == 0) {
    s->seen = *step;
    for (int i = 0; i < 2; ++i) {
      s->v0[i] = step->v0[i];
      s->v0_free[i] = step->v0_free[i];
      s->v_guess[i] = step->v_guess[i];
      assert_true(sap_problem_v_guess(problem)[i] == step->v_guess[i]);
    }
    assert_true(sap_problem_dt(problem) == step->dt);
  }
  return 0;
}

// The functions of the toy take the spy for the toy: it is its first member.
static sap_system make_system(spy* s) {
  toy_linear_init(&s->toy, 1, 2);
  sap_system system = s->toy.system;
  system.context = s;
  system.begin_step = begin_step;
  system.constraints = constraints;
  system.locked = s->locked;
  return system;
}

// One step of 0.01 s from t = 2 s with v0 = (3, 5), whose beginning locks the second velocity.
static void make_step(spy* s, sap_scheme scheme, sap_stage stage, sap_law law) {
  const sap_system system = make_system(s);
  sap_stepper_options options = sap_stepper_options_default();
  sap_stepper* stepper = NULL;
  sap_error error = {0};
  options.dt = 0.01;
  options.contact_stage = stage;
  options.contact_law = law;
  options.solver = law == SAP_LAW_RIGID ? "nbgs" : "sap";
  options.regularization.beta = 0.25;
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(&system, &options, &stepper, &error), SAP_STATUS_OK);
  sap_state state = toy_state(&system);
  state.t = 2.0;
  state.v[0] = 3.0;
  state.v[1] = 5.0;
  assert_int_equal(sap_stepper_step(stepper, &state, NULL, &error), SAP_STATUS_OK);
  assert_int_equal(s->begin_calls, 1);
  assert_true(s->constraint_calls >= 1);
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
}

static void test_fields(void** state) {
  (void)state;
  spy s = {.begin_calls = 0};
  make_step(&s, SAP_SCHEME_MIDPOINT, SAP_STAGE_AUTO, SAP_LAW_AUTO);
  assert_true(s.began.v_guess == NULL && s.began.t == 2.0);
  assert_true(s.seen.t == 2.0 && s.seen.dt == 0.01);
  assert_true(s.seen.theta == 0.5 && s.seen.theta_vq == 0.5);
  assert_true(s.seen.stage_theta == 0.5 && s.seen.stage_theta_vq == 0.5 && !s.seen.rigid);
  assert_true(s.v0[0] == 3.0 && s.v0[1] == 5.0);
  assert_true(s.v0_free[0] == 3.0 && s.v0_free[1] == 0.0);
  assert_true(s.v_guess[0] == 3.0 && s.v_guess[1] == 0.0);
  assert_true(s.seen.regularization.beta == 0.25);
}

static void test_stage_and_law(void** state) {
  (void)state;
  static const struct {
    sap_scheme scheme;
    sap_stage stage;
    sap_law law;
    double theta;
    bool rigid;
  } cases[] = {{SAP_SCHEME_MIDPOINT, SAP_STAGE_THETA, SAP_LAW_COMPLIANT, 0.5, false},
               {SAP_SCHEME_MIDPOINT, SAP_STAGE_END, SAP_LAW_COMPLIANT, 1.0, false},
               {SAP_SCHEME_MIDPOINT, SAP_STAGE_AUTO, SAP_LAW_RIGID, 1.0, true},
               {SAP_SCHEME_IMPLICIT_EULER, SAP_STAGE_AUTO, SAP_LAW_AUTO, 1.0, false},
               {SAP_SCHEME_SYMPLECTIC_EULER, SAP_STAGE_AUTO, SAP_LAW_AUTO, 1.0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    spy s = {.begin_calls = 0};
    make_step(&s, cases[i].scheme, cases[i].stage, cases[i].law);
    assert_true(s.seen.stage_theta == cases[i].theta && s.seen.stage_theta_vq == cases[i].theta);
    assert_int_equal(s.seen.rigid, cases[i].rigid);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_stage_and_law),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
