// SPDX-License-Identifier: BSD-3-Clause
#include "support/solve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// J' gamma of one block; sizes: of what is summed.
static void add_impulse(const sap_problem* problem, const sap_block* block, const double* gamma,
                        const int32_t* start, double* sum, double* sizes) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t n = sap_problem_tree_size(problem, block->trees[t]);
    const int32_t first = start[block->trees[t]];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        const double product = block->jacobians[t][i * block->nrows + r] * gamma[r];
        sum[first + i] += product;
        sizes[first + i] += fabs(product);
      }
    }
  }
}

// The solution's impulse is J' gamma, and the report's momentum error is the judge's.
static void check_answer(const sap_problem* problem, const sap_solution* solution,
                         const sap_report* report) {
  sap_error error = {0};
  const int32_t ntrees = sap_problem_tree_count(problem);
  int32_t* start = calloc((size_t)ntrees + 1, sizeof *start);
  double* sum = calloc(2 * (size_t)solution->nv + 1, sizeof *sum);
  assert_true(start != NULL && sum != NULL);
  for (int32_t t = 0; t < ntrees; ++t) {
    start[t + 1] = start[t] + sap_problem_tree_size(problem, t);
  }
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    int32_t row = 0;
    assert_int_equal(sap_problem_block(problem, b, &block, &row, &error), SAP_STATUS_OK);
    add_impulse(problem, &block, solution->gamma + row, start, sum, sum + solution->nv);
  }
  for (int32_t i = 0; i < solution->nv; ++i) {
    assert_true(fabs(solution->impulse[i] - sum[i]) <= 1e-13 * sum[solution->nv + i]);
  }
  sap_residual residual;
  assert_int_equal(sap_residuals(problem, solution->v, solution->gamma, &residual, &error),
                   SAP_STATUS_OK);
  // Sums over redundant contacts cancel: round-off.
  assert_true(fabs(report->momentum_error - residual.momentum) <= 1e-11 + 1e-6 * residual.momentum);
  free(start);
  free(sum);
}

sap_outcome solve_problem(const char* name, const sap_solver_options* options,
                          const sap_problem* problem, sap_solution* solution, sap_report* report) {
  sap_solver* solver;
  sap_error error = {0};
  sap_report own = {0};
  sap_report* told = report != NULL ? report : &own;
  if (sap_solver_create(name, options, &solver, &error) != SAP_STATUS_OK ||
      sap_solver_solve(solver, problem, solution, told, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  const sap_outcome outcome = told->outcome;
  check_answer(problem, solution, told);
  sap_solver_destroy(solver);
  sap_report_clear(&own);
  return outcome;
}
