// SPDX-License-Identifier: BSD-3-Clause
// Every solver of the table when any one allocation fails: MEMORY, nothing leaks, what the caller
// had stays, and the next try succeeds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/heap_count.h"
#include "support/pile.h"

static void fill(sap_problem* problem, bool mixed) {
  pile_options pile = pile_options_default();
  pile.trees = 4;
  pile.contacts = 4;
  pile.mixed = mixed;
  pile.keyed = true;
  assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);
}

static void check(const sap_solver_info* info) {
  sap_solver_options options = sap_solver_options_default();
  options.max_sweeps = 30;
  options.max_iterations = 30;
  int64_t failures = 0;
  for (bool failed = true; failed; ++failures) {
    const int64_t live = heap_live();
    sap_problem* problem;
    sap_solver* solver = NULL;
    sap_solution solution = {0};
    sap_report report = {0};
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    fill(problem, strstr(info->blocks, "box") != NULL);
    heap_fail_at(failures);
    sap_status status = sap_solver_create(info->name, &options, &solver, &error);
    assert_int_equal(solver != NULL, status == SAP_STATUS_OK);
    if (status == SAP_STATUS_OK) {
      status = sap_solver_solve(solver, problem, &solution, &report, &error);
    }
    failed = heap_failed();
    heap_fail_at(-1);
    if (status != (failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK)) {
      fail_msg("%s, allocation %lld: status %d, %s", info->name, (long long)failures, (int)status,
               error.message);
    }
    if (failed) {
      assert_int_equal(error.status, SAP_STATUS_MEMORY);
      assert_true(solution.nv == 0 && report.history_count == 0 && report.iterations == 0);
      if (solver != NULL) {
        assert_int_equal(sap_solver_solve(solver, problem, &solution, &report, NULL),
                         SAP_STATUS_OK);
      }
    }
    sap_solver_destroy(solver);
    sap_problem_destroy(problem);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    assert_int_equal(heap_live(), live);
  }
  assert_true(failures > 5);
}

static void test_every_allocation(void** state) {
  (void)state;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    if (strstr(info->blocks, "cone") != NULL) {
      check(info);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
