// SPDX-License-Identifier: BSD-3-Clause
// Rigid problems (R = 0) with answers by hand: stacked masses up to a ratio of 1e6, redundant
// bilateral rows; and warm starts by block identity.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/point_masses.h"

static const double ZERO[3] = {0, 0, 0}, FALL = 0.01;  // g dt [m/s]

// Two point masses, one on the other, the first on the ground.
static sap_problem* make_stack(const double* mass) {
  const double v_star[2][3] = {{0.0, 0.0, -FALL}, {0.0, 0.0, -FALL}};
  sap_problem* p = point_masses_create(mass, v_star, 2);
  for (int32_t i = 0; i < 2; ++i) {
    point_masses_add_contact(p, i, i - 1, 0.5, 0.0, (uint64_t)i + 1);
  }
  return p;
}

static void check_stack(const char* name, const double* mass, double tolerance) {
  sap_problem* p = make_stack(mass);
  sap_solver* solver;
  sap_solution s = {0};
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-12;
  options.max_sweeps = 100000;
  assert_int_equal(sap_solver_create(name, &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
  print_message("%-16s mass ratio %g: %d iterations, %s\n", name, mass[1] / mass[0],
                report.iterations, sap_outcome_text(report.outcome));
  const double ground = (mass[0] + mass[1]) * FALL, between = mass[1] * FALL;
  if (!(fabs(s.gamma[2] - ground) <= tolerance * ground) ||
      !(fabs(s.gamma[5] - between) <= tolerance * between)) {
    fail_msg("%s: impulses %.12g (%.12g), %.12g (%.12g)", name, s.gamma[2], ground, s.gamma[5],
             between);
  }
  // again, from the impulses of the same blocks
  const int32_t cold = report.iterations;
  assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
  assert_true(report.iterations <= cold);
  if (report.outcome == SAP_OUTCOME_CONVERGED && cold > 2) {
    assert_true(report.iterations < cold);
  }
  sap_solver_destroy(solver);
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

static void test_mass_ratio_100(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-ccp",
                                      "apgd",
                                      "admm-ccp",
                                      "pgs-ncp",
                                      "nbgs",
                                      "admm-ncp",
                                      "newton-ncp",
                                      "proximal-newton",
                                      "staggered",
                                      "raisim-ds",
                                      "implicit-complementarity"};
  const double mass[2] = {1, 100};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    check_stack(names[i], mass, 1e-8);
  }
}

static void test_mass_ratio_million(void** state) {
  (void)state;
  static const char* const names[] = {"admm-ncp", "newton-ncp", "proximal-newton",
                                      "admm-ccp", "staggered",  "implicit-complementarity"};
  const double mass[2] = {1e-3, 1e3};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    check_stack(names[i], mass, 1e-5);
  }
}

// v_1 + v_2 = 0, said three times, masses 1 and 2, v* = (1, 0): v = (1/3, -1/3), each row a third.
static void test_redundant_bilateral(void** state) {
  (void)state;
  static const char* const names[] = {"proximal", "admm-ccp", "apgd", "proximal-newton"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const int32_t size = 2, tree = 0;
    const double A[4] = {1, 0, 0, 2}, v_star[2] = {1, 0}, J[6] = {1, 1, 1, 1, 1, 1};
    const double* jacobians[1] = {J};
    const sap_block block = {.set = SAP_SET_FREE,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = jacobians,
                             .R = ZERO,
                             .v_hat = ZERO};
    sap_problem* p;
    sap_solver* solver;
    sap_solution s = {0};
    sap_report report = {0};
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-12;
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reset(p, 1e-3, 1, &size, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 2, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_create(names[i], &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.outcome, SAP_OUTCOME_CONVERGED);
    ASSERT_NEAR(s.v[0], 1.0 / 3.0, 1e-10);
    ASSERT_NEAR(s.v[1], -1.0 / 3.0, 1e-10);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(s.gamma[k], -2.0 / 9.0, 1e-9);  // from zero: the smallest of all solutions
    }
    sap_solver_destroy(solver);
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mass_ratio_100),
      cmocka_unit_test(test_mass_ratio_million),
      cmocka_unit_test(test_redundant_bilateral),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
