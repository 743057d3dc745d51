// SPDX-License-Identifier: BSD-3-Clause
// Filling and solving a problem when any one allocation fails: MEMORY, nothing leaks, what was
// there stays, and the next try succeeds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/heap_count.h"
#include "support/pile.h"

static pile_options small_pile(void) {
  pile_options pile = pile_options_default();
  pile.trees = 7;
  pile.contacts = 8;
  return pile;
}

static void test_create(void** state) {
  (void)state;
  bool failed = true;
  for (int64_t i = 0; failed; ++i) {
    const int64_t live = heap_live();
    sap_error error = {0};
    sap_problem* problem = (sap_problem*)&error;
    sap_solver* solver = (sap_solver*)&error;
    heap_fail_at(i);
    sap_status status = sap_problem_create(&problem, &error);
    assert_int_equal(problem != NULL, status == SAP_STATUS_OK);
    if (status == SAP_STATUS_OK) {
      status = sap_solver_create("sap", NULL, &solver, &error);
      assert_int_equal(solver != NULL, status == SAP_STATUS_OK);
      sap_solver_destroy(solver);
    }
    failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_int_equal(error.status, status);
    sap_problem_destroy(problem);
    assert_int_equal(heap_live(), live);
  }
}

static void test_fill(void** state) {
  (void)state;
  const pile_options pile = small_pile();
  bool failed = true;
  for (int64_t i = 0; failed; ++i) {
    const int64_t live = heap_live();
    sap_problem* problem;
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    heap_fail_at(i);
    const sap_status status = pile_fill(&pile, problem, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    if (failed) {
      assert_non_null(strstr(error.message, "memory"));
    }
    assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);  // the same object again
    assert_int_equal(sap_problem_check(problem, NULL), SAP_STATUS_OK);
    sap_problem_destroy(problem);
    assert_int_equal(heap_live(), live);
  }
}

static void check_solve(sap_linear_solver linear_solver) {
  const pile_options pile = small_pile();
  sap_solver_options options = sap_solver_options_default();
  options.linear_solver = linear_solver;
  bool failed = true;
  for (int64_t i = 0; failed; ++i) {
    const int64_t live = heap_live();
    sap_problem* problem;
    sap_solver* solver;
    double v[2] = {1, 2};
    sap_solution solution = {0};
    sap_report report = {.iterations = 77};
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solution_resize(&solution, 2, 1, NULL), SAP_STATUS_OK);
    memcpy(solution.v, v, sizeof v);
    heap_fail_at(i);
    const sap_status status = sap_solver_solve(solver, problem, &solution, &report, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    if (failed) {
      assert_int_equal(error.status, SAP_STATUS_MEMORY);
      assert_int_equal(solution.nv, 2);
      assert_int_equal(solution.nrows, 1);
      assert_memory_equal(solution.v, v, sizeof v);
      assert_int_equal(report.iterations, 77);
      assert_int_equal(report.history_count, 0);
    }
    assert_int_equal(sap_solver_solve(solver, problem, &solution, &report, &error), SAP_STATUS_OK);
    assert_in_range(report.outcome, SAP_OUTCOME_CONVERGED, SAP_OUTCOME_ROUNDOFF);
    sap_problem_destroy(problem);
    sap_solver_destroy(solver);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    assert_int_equal(heap_live(), live);
  }
}

static void test_solve(void** state) {
  (void)state;
  check_solve(SAP_LINEAR_DENSE);
  check_solve(SAP_LINEAR_BLOCK);
  check_solve(SAP_LINEAR_SPARSE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create),
      cmocka_unit_test(test_fill),
      cmocka_unit_test(test_solve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
