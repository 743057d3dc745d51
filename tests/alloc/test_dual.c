// SPDX-License-Identifier: BSD-3-Clause
// Every solver of the table: solving problems of sizes seen before again makes no heap call.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/heap_count.h"
#include "support/pile.h"

static void check(const sap_solver_info* info, sap_problem* problem) {
  sap_solver* solver;
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.max_sweeps = 100;
  options.max_iterations = 60;
  assert_int_equal(sap_solver_create(info->name, &options, &solver, NULL), SAP_STATUS_OK);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      pile_options pile = pile_options_default();
      pile.seed = seed;
      pile.contacts = 4 + 3 * (int32_t)(seed % 3);
      pile.mixed = strstr(info->blocks, "box") != NULL;
      pile.keyed = true;
      assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);
      const int64_t calls = heap_calls();
      const sap_status status = sap_solver_solve(solver, problem, &solution, &report, NULL);
      if (strstr(info->blocks, "cone") == NULL) {
        assert_int_equal(status, SAP_STATUS_UNSUPPORTED);
      } else {
        assert_int_equal(status, SAP_STATUS_OK);
      }
      if (round > 0 && heap_calls() != calls) {
        fail_msg("%s: %lld heap calls", info->name, (long long)(heap_calls() - calls));
      }
    }
  }
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_report_clear(&report);
}

static void test_no_heap_calls(void** state) {
  (void)state;
  const int64_t live = heap_live();
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    check(sap_solver_get_info(i), problem);
  }
  sap_problem_destroy(problem);
  assert_int_equal(heap_live(), live);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_heap_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
