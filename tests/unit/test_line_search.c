// SPDX-License-Identifier: BSD-3-Clause
// Searches along a line whose slope has two straight pieces. Exact: with the right curvature one
// Newton step from the far end finds the minimum. Backtracking: steps of a table made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/primal/line_search.h"
#include "solvers/primal/newton.h"
#include "support/near.h"

// From v along Newton's step dv: a mass of 1 kg on a row of the set, or a cone's normal, with
// v_hat = 0 and R = 1. options: of backtracking; NULL: the exact search.
static sap_step search_by(const sap_solver_options* options, sap_set set, int32_t nrows,
                          double v_star, double v, double dv) {
  const int32_t size[1] = {1}, trees[1] = {0};
  const double one[1] = {1.0}, zero[3] = {0.0}, R[3] = {1.0, 1.0, 1.0};
  const double J[3] = {nrows == 1 ? 1.0 : 0.0, 0.0, 1.0};
  const double* jacobians[1] = {J};
  const sap_block block = {.set = set,
                           .nrows = nrows,
                           .ntrees = 1,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = zero};
  sap_problem* problem;
  sap_islands islands = {0};
  sap_newton newton;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, 1, size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(problem, &v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_block(problem, &block, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_islands_find(&islands, problem, false, NULL), SAP_STATUS_OK);
  sap_newton_init(&newton);
  assert_int_equal(sap_newton_gather(&newton, problem, &islands, 0, NULL), SAP_STATUS_OK);
  newton.v[0] = v;
  sap_newton_evaluate(&newton);
  newton.dv[0] = dv;
  const double curvature = sap_newton_apply_direction(&newton);
  const double slope = dv * newton.gradient[0];
  const sap_step step = options == NULL
                            ? sap_newton_exact_search(&newton, slope, curvature, 0.0)
                            : sap_newton_backtracking_search(&newton, options, slope, curvature);
  sap_newton_clear(&newton);
  sap_islands_clear(&islands);
  sap_problem_destroy(problem);
  return step;
}

static sap_step search(sap_set set, int32_t nrows, double v_star, double v, double dv) {
  return search_by(NULL, set, nrows, v_star, v, dv);
}

// From 1, where the row is open, to v* = -1: l' = -4 + 4 a, and 4 (a - 1/2) more beyond a = 1/2.
static void test_closing(void** state) {
  (void)state;
  const sap_step row = search(SAP_SET_NONNEGATIVE, 1, -1.0, 1.0, -2.0);
  ASSERT_NEAR(row.alpha, 0.75, 1e-15);
  assert_int_equal(row.evaluations, 2);  // at 1, at the minimum
  const sap_step cone = search(SAP_SET_FRICTION_CONE, 3, -1.0, 1.0, -2.0);
  ASSERT_NEAR(cone.alpha, 0.75, 1e-15);
  assert_int_equal(cone.evaluations, 2);
}

// From -1, where it bears, to v* = 1: as one piece the minimum would be at 0, and lies at 1.
static void test_opening(void** state) {
  (void)state;
  const sap_step row = search(SAP_SET_NONNEGATIVE, 1, 1.0, -1.0, 1.5);
  ASSERT_NEAR(row.alpha, 4.0 / 3.0, 1e-15);
  assert_int_equal(row.evaluations, 2);
}

// l' = -4.5 + 4.5 a up to v = 0 at a = 2/3, then 2.25 a - 3: l(4/3) = -2.5, l(16/15) = -2.42. Armijo's
// rule admits the minimum at 4/3 where c < 2.5/(4.5 4/3) = 0.4167.
static void test_backtracking(void** state) {
  (void)state;
  static const struct {
    double maximum, factor, decrease, alpha;
    int32_t evaluations;
  } cases[] = {
      {4.0 / 3.0, 0.8, 0.41, 4.0 / 3.0, 3},    // 0; 4/3, 1.07
      {4.0 / 3.0, 0.8, 0.42, 16.0 / 15.0, 4},  // 0; 4/3, 16/15, 1
      {8.0 / 3.0, 0.5, 0.41, 4.0 / 3.0, 4},    // 0; 8/3, 4/3, 1
      {1.25, 0.5, 1e-4, 1.25, 3},              // 0; 1.25, 1
      {1.0, 0.9, 1e-4, 1.0, 3},                // 0; 1, 0.9
  };
  sap_solver_options options = sap_solver_options_default();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    options.backtracking_maximum = cases[i].maximum;
    options.backtracking_factor = cases[i].factor;
    options.backtracking_decrease = cases[i].decrease;
    for (int cone = 0; cone < 2; ++cone) {
      const sap_step step = search_by(&options, cone ? SAP_SET_FRICTION_CONE : SAP_SET_NONNEGATIVE,
                                      cone ? 3 : 1, 1.0, -1.0, 1.5);
      ASSERT_NEAR(step.alpha, cases[i].alpha, 1e-15);
      assert_int_equal(step.evaluations, cases[i].evaluations);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closing),
      cmocka_unit_test(test_opening),
      cmocka_unit_test(test_backtracking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
