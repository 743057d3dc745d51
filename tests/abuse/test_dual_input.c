// SPDX-License-Identifier: BSD-3-Clause
// What a solver does not take is refused by name, and nothing is lost; problems without solution or
// with overflow end.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

static const double ONE[1] = {1};

static sap_problem* make(double v_star) {
  const int32_t size = 1;
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, ONE, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, &v_star, NULL), SAP_STATUS_OK);
  return p;
}

static void add_row(sap_problem* p, sap_set set, double J, double R, double v_hat) {
  const int32_t tree = 0;
  const double* jacobians[1] = {&J};
  const sap_block block = {.set = set,
                           .nrows = 1,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = jacobians,
                           .R = &R,
                           .v_hat = &v_hat};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
}

static void test_refused(void** state) {
  (void)state;
  sap_problem* p = make(-1.0);
  sap_solver* solver;
  sap_error error;
  add_row(p, SAP_SET_FREE, 1.0, 0.1, 0.0);
  add_row(p, SAP_SET_NONNEGATIVE, 1.0, 0.0, 0.0);
  double kept[1] = {42.0};
  sap_solution solution = {.nv = 1, .v = kept};
  sap_report report = {.iterations = 7};
  assert_int_equal(sap_solver_create("sap", NULL, &solver, &error), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "block 1, row 0: R = 0"));
  assert_non_null(strstr(error.message, "'sap'"));
  sap_solver_destroy(solver);
  assert_int_equal(sap_solver_create("proximal", NULL, &solver, &error), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "block 1: solver 'proximal' takes free, not nonnegative"));
  sap_solver_destroy(solver);
  assert_true(kept[0] == 42.0 && solution.nv == 1 && report.iterations == 7);
  sap_problem_destroy(p);
}

static void test_names(void** state) {
  (void)state;
  sap_solver* solver;
  sap_error error;
  assert_int_equal(sap_solver_create("sapp", NULL, &solver, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "sap, "));
  assert_non_null(strstr(error.message, "admm-ncp"));
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    assert_int_equal(sap_solver_create(info->name, NULL, &solver, &error), SAP_STATUS_OK);
    sap_solver_destroy(solver);
    assert_true(info->model[0] != '\0' && info->reference[0] != '\0' && info->blocks[0] != '\0');
    assert_non_null(info->principles);
  }
}

// Two rigid limits that contradict each other: no solution; every solver ends and says so.
static void test_infeasible(void** state) {
  (void)state;
  for (int32_t i = 1; i < sap_solver_count(); ++i) {
    const char* name = sap_solver_get_info(i)->name;
    sap_problem* p = make(0.0);
    sap_solution solution = {0};
    sap_report report = {0};
    sap_solver* solver;
    sap_error error;
    sap_solver_options options = sap_solver_options_default();
    options.max_sweeps = 200;
    options.max_iterations = 50;
    add_row(p, SAP_SET_FREE, 1.0, 0.0, 1.0);
    add_row(p, SAP_SET_FREE, -1.0, 0.0, 1.0);
    assert_int_equal(sap_solver_create(name, &options, &solver, NULL), SAP_STATUS_OK);
    const sap_status status = sap_solver_solve(solver, p, &solution, &report, &error);
    if (status == SAP_STATUS_OK) {
      if (report.outcome == SAP_OUTCOME_CONVERGED) {
        fail_msg("%s says that it converged", name);
      }
      assert_true(isfinite(solution.v[0]));
      sap_residual residual;
      assert_int_equal(sap_residuals(p, solution.v, solution.gamma, &residual, NULL),
                       SAP_STATUS_OK);
      assert_true(residual.ccp_dual >= 0.999);  // the rows cannot both be satisfied
    } else {
      assert_int_equal(status, SAP_STATUS_UNSUPPORTED);  // needs R > 0
    }
    sap_solver_destroy(solver);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

static void test_overflow(void** state) {
  (void)state;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    if (strstr(sap_solver_get_info(i)->blocks, "free") == NULL) {
      continue;
    }
    sap_problem* p = make(-1e308);
    sap_solution solution = {0};
    sap_report report = {0};
    sap_solver* solver;
    sap_error error = {0};
    add_row(p, SAP_SET_FREE, 1e10, 1e-3, 0.0);
    assert_int_equal(sap_solver_create(sap_solver_get_info(i)->name, NULL, &solver, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error),
                     SAP_STATUS_NOT_FINITE);
    assert_true(error.message[0] != '\0' && solution.nv == 0 && report.history_count == 0);
    sap_solver_destroy(solver);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

// A time limit of next to nothing: the outcome says so, the guess comes back.
static void test_time_limit(void** state) {
  (void)state;
  sap_problem* p = make(-1.0);
  add_row(p, SAP_SET_NONNEGATIVE, 1.0, 0.1, 0.0);
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver* solver;
  sap_solver_options options = sap_solver_options_default();
  options.time_limit = 1e-12;
  assert_int_equal(sap_solver_create("pgs-ccp", &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.outcome, SAP_OUTCOME_TIME_LIMIT);
  assert_true(solution.v[0] == -1.0 && solution.gamma[0] == 0.0);
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),    cmocka_unit_test(test_names),
      cmocka_unit_test(test_infeasible), cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_time_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
