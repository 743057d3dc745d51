// SPDX-License-Identifier: BSD-3-Clause
// Refilling a problem and solving it again makes no heap call, whichever problem of those seen
// before comes; analyses are kept by pattern.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/heap_count.h"
#include "support/pile.h"

typedef struct fixture {
  sap_problem* problem;
  sap_solver* solver;
  sap_solution solution;
  sap_report report;
} fixture;

static void step(fixture* f, uint32_t seed, int32_t contacts) {
  pile_options pile = pile_options_default();
  pile.seed = seed;
  pile.contacts = contacts;
  pile.keyed = seed % 2 == 0;
  assert_int_equal(pile_fill(&pile, f->problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(f->solver, f->problem, &f->solution, &f->report, NULL),
                   SAP_STATUS_OK);
  sap_residual residual;
  assert_int_equal(sap_residuals(f->problem, f->solution.v, f->solution.gamma, &residual, NULL),
                   SAP_STATUS_OK);
}

static void check(sap_linear_solver linear_solver) {
  fixture f = {0};
  sap_solver_options options = sap_solver_options_default();
  options.linear_solver = linear_solver;
  assert_int_equal(sap_problem_create(&f.problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_create("sap", &options, &f.solver, NULL), SAP_STATUS_OK);
  for (uint32_t round = 0; round < 4; ++round) {
    const int64_t calls = heap_calls();
    int32_t analyses = 0;
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      step(&f, seed, 4 + 6 * (int32_t)(seed % 3));
      analyses += f.report.symbolic_analyses;
    }
    if (round > 0) {
      assert_int_equal(heap_calls() - calls, 0);
      assert_int_equal(analyses, 0);
    } else {
      assert_true(analyses > 0);
    }
  }
  sap_problem_destroy(f.problem);
  sap_solver_destroy(f.solver);
  sap_solution_clear(&f.solution);
  sap_report_clear(&f.report);
}

static void test_no_heap_calls(void** state) {
  (void)state;
  const int64_t live = heap_live();
  check(SAP_LINEAR_AUTO);
  check(SAP_LINEAR_DENSE);
  check(SAP_LINEAR_BLOCK);
  assert_int_equal(heap_live(), live);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_heap_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
