// SPDX-License-Identifier: BSD-3-Clause
// Several threads check, judge and solve one const problem: the bits are those of one thread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "core/threads.h"
#include "support/wild_problem.h"

enum { THREADS = 4, JOBS = 12, SEEDS = 6 };

static const char* const SOLVERS[] = {"sap", "pgs-ccp", "newton-ncp"};
enum { SOLVER_COUNT = 3 };

typedef struct answer {
  sap_status status;
  sap_residual before, after;
  double first;
} answer;

typedef struct shared {
  const sap_problem* problem;
  answer answers[JOBS];
} shared;

// Judges v* with no impulses, then solves and judges the solution.
static sap_status find_answer(const sap_problem* problem, const char* name, answer* out) {
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  sap_report report = {0};
  const sap_solver_options options = sap_solver_options_default();
  sap_status status = sap_solver_create(name, &options, &solver, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_solution_resize(&solution, sap_problem_velocity_count(problem),
                                 sap_problem_row_count(problem), NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_check(problem, NULL);
  }
  if (status == SAP_STATUS_OK) {
    memset(solution.gamma, 0, (size_t)solution.nrows * sizeof(double));
    status =
        sap_residuals(problem, sap_problem_v_star(problem), solution.gamma, &out->before, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_solver_solve(solver, problem, &solution, &report, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_residuals(problem, solution.v, solution.gamma, &out->after, NULL);
    out->first = solution.v[0];
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  return status;
}

static void answer_job(void* context, int32_t job) {
  shared* s = context;
  s->answers[job].status = find_answer(s->problem, SOLVERS[job % SOLVER_COUNT], &s->answers[job]);
}

static void couple(sap_problem* problem) {
  double C[WILD_SIZE * WILD_SIZE] = {0.0};
  C[0] = 1e-3;
  assert_int_equal(
      sap_problem_set_momentum_block(problem, 0, 1, C, sap_problem_tree_size(problem, 0), NULL),
      SAP_STATUS_OK);
}

// Fresh problems, so that all threads meet factors that are missing.
static void test_answers(void** state) {
  (void)state;
  const wild_limits limits = {.masses = 10.0, .spread = 10.0, .sigma = 1e-3};
  sap_threads* threads;
  assert_int_equal(sap_threads_create(THREADS, &threads, NULL), SAP_STATUS_OK);
  for (uint64_t seed = 0; seed < 2 * SEEDS; ++seed) {
    wild_problem alone = wild_make(seed / 2 + 1, limits),
                 together = wild_make(seed / 2 + 1, limits);
    if (seed % 2 == 1 && alone.ntrees > 1) {  // A is factored as a whole
      couple(alone.problem);
      couple(together.problem);
    }
    static shared s, one;
    memset(&s, 0, sizeof s);
    memset(&one, 0, sizeof one);
    s.problem = together.problem;
    one.problem = alone.problem;
    sap_threads_run(threads, JOBS, answer_job, &s);
    sap_threads_run(NULL, SOLVER_COUNT, answer_job, &one);
    for (int32_t job = 0; job < JOBS; ++job) {
      assert_memory_equal(&s.answers[job], &one.answers[job % SOLVER_COUNT], sizeof s.answers[job]);
    }
    assert_int_equal(one.answers[0].status, SAP_STATUS_OK);
    sap_problem_destroy(alone.problem);
    sap_problem_destroy(together.problem);
  }
  sap_threads_destroy(threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
