// SPDX-License-Identifier: BSD-3-Clause
// The exact search along a line whose slope has two straight pieces: with the right curvature one
// Newton step from the far end finds the minimum.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/primal/line_search.h"
#include "solvers/primal/newton.h"
#include "support/near.h"

// From v along Newton's step dv: a mass of 1 kg on a row of the set, or a cone's normal, with
// v_hat = 0 and R = 1.
static sap_step search(sap_set set, int32_t nrows, double v_star, double v, double dv) {
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
  const sap_step step = sap_newton_exact_search(&newton, dv * newton.gradient[0], curvature, 0.0);
  sap_newton_clear(&newton);
  sap_islands_clear(&islands);
  sap_problem_destroy(problem);
  return step;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closing),
      cmocka_unit_test(test_opening),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
