// SPDX-License-Identifier: BSD-3-Clause
// Real contact problems against solutions of an independent dense solver, and against the number of
// iterations that Drake's SAP needs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/problem_files.h"
#include "support/solve.h"

// drake: iterations of Drake's solver where they are known, else -1. It gives up on hard_sigma1e-6;
// we must not need more than 150.
typedef struct data_file {
  const char* name;
  int problems;
  int drake;
  double velocity_tolerance;  // relative, at relative_tolerance 1e-12
} data_file;

static const data_file FILES[] = {
    {"pizza_nofriction", 1, -1, 1e-8}, {"pizza_stiction", 1, 5, 1e-8},
    {"pizza_sliding", 1, -1, 1e-8},    {"pizza_rigid", 1, -1, 1e-8},
    {"stack_1", 1, 1, 1e-8},           {"stack_4", 1, 2, 1e-8},
    {"stack_10", 1, 2, 1e-8},          {"stack_10_push", 1, 7, 1e-8},
    {"rnd_8_24", 1, 13, 1e-8},         {"rnd_40_160", 1, 24, 1e-8},
    {"rnd_100_400", 1, 23, 1e-8},      {"clutter40_a", 6, -1, 1e-8},
    {"articulated", 12, -1, 1e-8},     {"hard_sigma1e-6", 1, 148, 1e-6},
};

enum { NFILES = sizeof FILES / sizeof FILES[0] };

static double distance(const double* a, const double* b, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sqrt(sum);
}

static double norm(const double* a, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += a[i] * a[i];
  }
  return sqrt(sum);
}

static void solve(const sap_solver_options* options, const sap_problem* problem,
                  sap_solution* solution, sap_report* report) {
  (void)solve_problem("sap", options, problem, solution, report);
  if (report->outcome != SAP_OUTCOME_CONVERGED && report->outcome != SAP_OUTCOME_ROUNDOFF) {
    fail_msg("%s after %d iterations", sap_outcome_text(report->outcome), report->iterations);
  }
}

static void check_report(const sap_report* report) {
  assert_int_equal(report->history_count, report->iterations + 1);
  for (int32_t i = 1; i < report->history_count; ++i) {
    // l never rises but by round-off; the scale of round-off is that of the first costs
    const double slack = 1e-12 * (fabs(report->history[0].cost) + report->history[i - 1].cost);
    assert_true(report->history[i].cost <= report->history[i - 1].cost + slack);
  }
}

// Tight tolerance: the velocities of the reference, and what the judge says.
static void check_tight(const data_file* file, const sap_problem* problem,
                        const sap_solution* reference) {
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-12;
  solve(&options, problem, &solution, &report);
  const double error =
      distance(solution.v, reference->v, solution.nv) / norm(reference->v, solution.nv);
  print_message("%-18s tight: %3d iterations, v error %.1e, momentum %.1e, %s\n", file->name,
                report.iterations, error, report.momentum_error, sap_outcome_text(report.outcome));
  assert_true(error <= file->velocity_tolerance);
  ASSERT_NEAR(solution.cost, reference->cost, 1e-9 * fabs(reference->cost));
  sap_residual residual;
  assert_int_equal(sap_residuals(problem, solution.v, solution.gamma, &residual, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(residual.cost, solution.cost, 1e-12 * fabs(solution.cost));
  assert_true(residual.momentum <= 1e-10);   // hard_sigma1e-6's own reference has 8e-11
  assert_true(residual.projection <= 1e-9);  // gamma is the projection, but for vc's round-off
  assert_true(residual.set_violation <= 1e-13 * (1.0 + norm(solution.gamma, solution.nrows)));
  check_report(&report);
  sap_report_clear(&report);
  sap_solution_clear(&solution);
}

static void check_default(const data_file* file, const sap_problem* problem,
                          sap_newton_method newton) {
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.newton = newton;
  solve(&options, problem, &solution, &report);
  print_message("%-18s %s: %d iterations (Drake %d), %d evaluations, %d islands\n", file->name,
                newton == SAP_NEWTON_PRIMAL ? "primal" : "primal-dual", report.iterations,
                file->drake, report.evaluations, report.islands);
  if (file->drake >= 0) {
    assert_true(report.iterations <= file->drake + 2);
  }
  assert_true(report.momentum_error < 1.5e-6);  // tolerance holds per island
  check_report(&report);
  sap_report_clear(&report);
  sap_solution_clear(&solution);
}

// Dense, block and sparse factorizations; islands or not; both line searches.
static void check_variants(const data_file* file, const sap_problem* problem) {
  sap_solver_options options = sap_solver_options_default();
  sap_solution base = {0};
  sap_report report = {0};
  options.relative_tolerance = 1e-14;
  options.linear_solver = SAP_LINEAR_DENSE;
  solve(&options, problem, &base, &report);
  for (int variant = 0; variant < 4; ++variant) {
    sap_solver_options changed = options;
    changed.linear_solver = variant == 0 ? SAP_LINEAR_BLOCK : SAP_LINEAR_SPARSE;
    changed.islands = variant != 2;
    changed.line_search = variant == 3 ? SAP_LINE_SEARCH_BACKTRACKING : SAP_LINE_SEARCH_EXACT;
    sap_solution solution = {0};
    solve(&changed, problem, &solution, &report);
    const double error = distance(solution.v, base.v, base.nv) / norm(base.v, base.nv);
    print_message("%-18s variant %d: %d iterations, difference %.1e\n", file->name, variant,
                  report.iterations, error);
    assert_true(error <= 1e-10);
    sap_solution_clear(&solution);
  }
  sap_report_clear(&report);
  sap_solution_clear(&base);
}

static void for_each(void (*check)(const data_file*, const sap_problem*, const sap_solution*)) {
  for (int i = 0; i < NFILES; ++i) {
    FILE* problems = problem_text_open(SAPSTEP_SHARED, FILES[i].name, "problem");
    FILE* solutions = problem_text_open(SAPSTEP_SHARED, FILES[i].name, "solution");
    sap_problem* problem;
    sap_solution reference = {0};
    int count = 0;
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    while (problem_text_next(problems, problem)) {
      assert_true(solution_text_next(solutions, &reference));
      check(&FILES[i], problem, &reference);
      ++count;
    }
    assert_int_equal(count, FILES[i].problems);
    sap_solution_clear(&reference);
    sap_problem_destroy(problem);
    (void)fclose(problems);
    (void)fclose(solutions);
  }
}

static int32_t iterations[2];  // primal, primal-dual; each problem's slowest island

static void run_tight(const data_file* file, const sap_problem* problem,
                      const sap_solution* reference) {
  check_tight(file, problem, reference);
}

static void run_default(const data_file* file, const sap_problem* problem,
                        const sap_solution* reference) {
  (void)reference;
  check_default(file, problem, SAP_NEWTON_PRIMAL);
  check_default(file, problem, SAP_NEWTON_PRIMAL_DUAL);
}

// Without memory of other problems.
static void run_totals(const data_file* file, const sap_problem* problem,
                       const sap_solution* reference) {
  (void)file;
  (void)reference;
  for (int newton = 0; newton < 2; ++newton) {
    sap_solution solution = {0};
    sap_report report = {0};
    sap_solver_options options = sap_solver_options_default();
    options.newton = (sap_newton_method)newton;
    solve(&options, problem, &solution, &report);
    iterations[newton] += report.iterations;
    sap_report_clear(&report);
    sap_solution_clear(&solution);
  }
}

static void run_variants(const data_file* file, const sap_problem* problem,
                         const sap_solution* reference) {
  (void)reference;
  check_variants(file, problem);
}

static void test_tight(void** state) {
  (void)state;
  for_each(run_tight);
}

static void test_default(void** state) {
  (void)state;
  for_each(run_default);
}

static void test_variants(void** state) {
  (void)state;
  for_each(run_variants);
}

static void test_totals(void** state) {
  (void)state;
  iterations[0] = iterations[1] = 0;
  for_each(run_totals);
  print_message("iterations in all: primal %d, primal-dual %d\n", iterations[0], iterations[1]);
  assert_true(5 * iterations[1] < 3 * iterations[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tight),
      cmocka_unit_test(test_default),
      cmocka_unit_test(test_totals),
      cmocka_unit_test(test_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
