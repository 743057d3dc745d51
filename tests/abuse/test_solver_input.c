// SPDX-License-Identifier: BSD-3-Clause
// Wrong options, wrong matrices, numbers that overflow: a status and a message, and nothing of
// solution and report changed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

static void expect(sap_status status, sap_status wanted, const sap_error* error,
                   const char* words) {
  if (status != wanted || error->status != wanted || strstr(error->message, words) == NULL) {
    fail_msg("status %d (wanted %d): '%s' (wanted '%s')", status, wanted, error->message, words);
  }
}

static void test_options(void** state) {
  (void)state;
  sap_error error = {0};
  sap_solver_options o;
#define CASE(change, wanted, words) \
  o = sap_solver_options_default(); \
  o.change;                         \
  expect(sap_solver_options_check(&o, &error), SAP_STATUS_##wanted, &error, words)
  CASE(relative_tolerance = -1e-9, ARGUMENT, "relative_tolerance = -1e-09");
  CASE(relative_tolerance = (double)NAN, NOT_FINITE, "relative_tolerance");
  CASE(absolute_tolerance = -1.0, ARGUMENT, "absolute_tolerance");
  CASE(max_iterations = -1, ARGUMENT, "max_iterations = -1");
  CASE(line_search = (sap_line_search)2, ARGUMENT, "line_search = 2");
  CASE(backtracking_factor = 1.0, ARGUMENT, "backtracking_factor");
  CASE(backtracking_decrease = 0.0, ARGUMENT, "backtracking_decrease");
  CASE(backtracking_maximum = 0.5, ARGUMENT, "backtracking_maximum");
  CASE(linear_solver = (sap_linear_solver)4, ARGUMENT, "linear_solver = 4");
#undef CASE
  o = sap_solver_options_default();
  assert_int_equal(sap_solver_options_check(&o, NULL), SAP_STATUS_OK);
  expect(sap_solver_options_check(NULL, &error), SAP_STATUS_ARGUMENT, &error, "options");
}

static void test_registry(void** state) {
  (void)state;
  sap_error error = {0};
  sap_solver* solver = (sap_solver*)&error;
  expect(sap_solver_create("simplex", NULL, &solver, &error), SAP_STATUS_ARGUMENT, &error,
         "'simplex'");
  assert_null(solver);
  expect(sap_solver_create(NULL, NULL, &solver, &error), SAP_STATUS_ARGUMENT, &error, "solver");
  expect(sap_solver_create("sap", NULL, NULL, &error), SAP_STATUS_ARGUMENT, &error, "out");
  sap_solver_options bad = sap_solver_options_default();
  bad.max_iterations = -7;
  solver = (sap_solver*)&error;
  expect(sap_solver_create("sap", &bad, &solver, &error), SAP_STATUS_ARGUMENT, &error, "-7");
  assert_null(solver);
  assert_true(sap_solver_count() > 1);
  assert_string_equal(sap_solver_get_info(0)->name, "sap");
  assert_null(sap_solver_get_info(sap_solver_count()));
  assert_null(sap_solver_get_info(-1));
  assert_string_equal(sap_outcome_text(SAP_OUTCOME_STALLED), "stalled");
  assert_string_equal(sap_outcome_text((sap_outcome)99), "unknown outcome");
  sap_solver_destroy(NULL);
  sap_report_clear(NULL);
  sap_solution_clear(NULL);
  sap_solution solution = {0};
  expect(sap_solution_resize(&solution, -1, 0, &error), SAP_STATUS_ARGUMENT, &error, "nv = -1");
}

// Two trees of two, a bilateral row on each.
static sap_problem* make(const double A_1[4], const double v_star[4], double R) {
  const int32_t sizes[2] = {2, 2};
  const double one[4] = {1, 0, 0, 1}, J[2] = {1, 0.5}, v_hat[1] = {0.3};
  const double* jacobians[1] = {J};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, one, 2, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 1, A_1, 2, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 2; ++t) {
    const sap_block block = {.set = SAP_SET_FREE,
                             .nrows = 1,
                             .ntrees = 1,
                             .trees = &t,
                             .jacobians = jacobians,
                             .R = &R,
                             .v_hat = v_hat};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  return p;
}

static void expect_solve(sap_problem* p, bool check_input, sap_status wanted, const char* words) {
  sap_solver_options options = sap_solver_options_default();
  options.check_input = check_input;
  sap_solver* solver;
  sap_error error = {0};
  sap_solution solution = {0};
  sap_report report = {.iterations = 5};
  assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solution_resize(&solution, 1, 1, NULL), SAP_STATUS_OK);
  solution.v[0] = 42.0;
  solution.gamma[0] = 43.0;
  expect(sap_solver_solve(solver, p, &solution, &report, &error), wanted, &error, words);
  assert_true(solution.nv == 1 && solution.v[0] == 42.0 && solution.gamma[0] == 43.0);
  assert_true(report.iterations == 5 && report.history_count == 0);
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

static void test_matrices(void** state) {
  (void)state;
  const double indefinite[4] = {1, 2, 2, 1}, negative[4] = {1, 0, 0, -1}, v[4] = {1, -1, 1, -1};
  expect_solve(make(indefinite, v, 0.1), true, SAP_STATUS_NOT_SPD, "tree 1");
  expect_solve(make(indefinite, v, 0.1), false, SAP_STATUS_NOT_SPD, "tree 1");
  expect_solve(make(negative, v, 0.1), true, SAP_STATUS_NOT_SPD, "tree 1");
  expect_solve(make(negative, v, 0.1), false, SAP_STATUS_NOT_SPD, "tree 1");
}

static void test_overflow(void** state) {
  (void)state;
  const double one[4] = {1, 0, 0, 1}, huge[4] = {1, -1, 1e300, -1e300}, v[4] = {1, -1, 1, -1};
  expect_solve(make(one, huge, 0.1), true, SAP_STATUS_NOT_FINITE, "tree 1");
  expect_solve(make(one, v, 3e-308), true, SAP_STATUS_NOT_FINITE, "overflows");
}

static void test_null(void** state) {
  (void)state;
  const double one[4] = {1, 0, 0, 1}, v[4] = {1, -1, 1, -1};
  sap_problem* p = make(one, v, 0.1);
  sap_solver* solver;
  sap_error error = {0};
  sap_solution solution = {0};
  sap_residual residual;
  assert_int_equal(sap_solver_create("sap", NULL, &solver, NULL), SAP_STATUS_OK);
  expect(sap_solver_solve(NULL, p, &solution, NULL, &error), SAP_STATUS_ARGUMENT, &error, "solver");
  expect(sap_solver_solve(solver, NULL, &solution, NULL, &error), SAP_STATUS_ARGUMENT, &error,
         "problem");
  expect(sap_solver_solve(solver, p, NULL, NULL, &error), SAP_STATUS_ARGUMENT, &error, "solution");
  assert_int_equal(sap_solver_solve(solver, p, &solution, NULL, NULL), SAP_STATUS_OK);
  expect(sap_residuals(p, NULL, solution.gamma, &residual, &error), SAP_STATUS_ARGUMENT, &error,
         "v is NULL");
  expect(sap_residuals(p, solution.v, NULL, &residual, &error), SAP_STATUS_ARGUMENT, &error,
         "gamma is NULL");
  expect(sap_residuals(NULL, solution.v, solution.gamma, &residual, &error), SAP_STATUS_ARGUMENT,
         &error, "problem");
  solution.v[3] = (double)NAN;
  expect(sap_residuals(p, solution.v, solution.gamma, &residual, &error), SAP_STATUS_NOT_FINITE,
         &error, "v[3]");
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_problem_destroy(p);
}

// Too few iterations are no error: the best iterate and its numbers come back.
static void test_iteration_limit(void** state) {
  (void)state;
  const double one[4] = {1, 0, 0, 1}, v[4] = {1, -1, 1, -1};
  sap_problem* p = make(one, v, 0.1);
  sap_solver_options options = sap_solver_options_default();
  options.max_iterations = 0;
  sap_solver* solver;
  sap_solution solution = {0};
  sap_report report = {0};
  assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.outcome, SAP_OUTCOME_ITERATION_LIMIT);
  assert_memory_equal(solution.v, v, sizeof v);
  assert_true(report.momentum_error > 0.1);
  sap_residual residual;
  assert_int_equal(sap_residuals(p, solution.v, solution.gamma, &residual, NULL), SAP_STATUS_OK);
  assert_true(residual.momentum == report.momentum_error);
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),  cmocka_unit_test(test_registry),
      cmocka_unit_test(test_matrices), cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_null),     cmocka_unit_test(test_iteration_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
