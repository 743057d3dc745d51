// SPDX-License-Identifier: BSD-3-Clause
// With R > 0 the convex problem has one solution: every convex solver must find the velocities of
// the independent dense reference; NCP solvers are judged by the natural map.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/near.h"

// Bits of the solvers below that must converge; the others may say that they did not.
enum { PGS = 1, APGD = 2, ADMM = 4, IPM = 8, FIRST = PGS | APGD | ADMM | IPM };

typedef struct data_file {
  const char* name;
  int must;
} data_file;

static const data_file FILES[] = {
    {"pizza_nofriction", FIRST},
    {"pizza_stiction", APGD | ADMM | IPM},
    {"pizza_sliding", FIRST},
    {"pizza_rigid", APGD | ADMM | IPM},
    {"stack_1", APGD | ADMM | IPM},
    {"stack_4", APGD | ADMM | IPM},
    {"stack_10", ADMM | IPM},
    {"stack_10_push", APGD | ADMM | IPM},
    {"rnd_8_24", FIRST},
    {"rnd_40_160", ADMM | IPM},
    {"clutter40_a", ADMM | IPM},
    {"articulated", ADMM | IPM},
};
enum { NFILES = sizeof FILES / sizeof FILES[0] };

typedef struct contender {
  const char* name;
  int bit;
} contender;
static const contender CONVEX[] = {{"pgs-ccp", PGS}, {"apgd", APGD}, {"admm-ccp", ADMM}};
static const char* const NONLINEAR[] = {"admm-ncp", "proximal-newton"};

static double difference(const double* a, const double* b, int32_t n) {
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return sqrt(sum / norm);
}

static sap_outcome solve(const char* name, const sap_problem* p, double tolerance,
                         sap_solution* solution, sap_residual* residual) {
  sap_solver* solver;
  sap_report report = {0};
  sap_error error = {0};
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = tolerance;
  options.max_sweeps = strstr(name, "pgs") != NULL ? 1000 : 20000;
  assert_int_equal(sap_solver_create(name, &options, &solver, &error), SAP_STATUS_OK);
  if (sap_solver_solve(solver, p, solution, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  assert_int_equal(sap_residuals(p, solution->v, solution->gamma, residual, NULL), SAP_STATUS_OK);
  assert_true(residual->momentum <= 1e-12);  // v follows from gamma
  assert_true(report.history_count >= report.iterations + 1);
  const sap_outcome outcome = report.outcome;
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  return outcome;
}

static void check_convex(const data_file* file, const sap_problem* p,
                         const sap_solution* reference) {
  for (size_t i = 0; i < sizeof CONVEX / sizeof CONVEX[0]; ++i) {
    sap_solution s = {0};
    sap_residual residual;
    const sap_outcome outcome = solve(CONVEX[i].name, p, 1e-13, &s, &residual);
    const double error = difference(s.v, reference->v, s.nv);
    const bool converged = outcome == SAP_OUTCOME_CONVERGED || outcome == SAP_OUTCOME_ROUNDOFF;
    print_message("%-16s %-9s %-16s v error %.1e, natural map %.1e\n", file->name, CONVEX[i].name,
                  sap_outcome_text(outcome), error, residual.ccp_natural_map_scaled);
    if ((file->must & CONVEX[i].bit) != 0) {
      assert_true(converged);
    }
    if (converged) {
      assert_true(error <= 1e-8);
      ASSERT_NEAR(s.cost, reference->cost, 1e-7 * fabs(reference->cost));
    }
    sap_solution_clear(&s);
  }
}

static void check_nonlinear(const data_file* file, const sap_problem* p,
                            const sap_solution* reference) {
  (void)reference;
  for (size_t i = 0; i < sizeof NONLINEAR / sizeof NONLINEAR[0]; ++i) {
    sap_solution s = {0};
    sap_residual residual;
    const sap_outcome outcome = solve(NONLINEAR[i], p, 1e-6, &s, &residual);
    print_message("%-16s %-15s %-16s natural map %.1e, Signorini %.1e J\n", file->name,
                  NONLINEAR[i], sap_outcome_text(outcome), residual.ncp_natural_map_scaled,
                  residual.signorini);
    assert_int_equal(outcome, SAP_OUTCOME_CONVERGED);
    assert_true(residual.ncp_natural_map_scaled <= 1.0001e-6);
    sap_solution_clear(&s);
  }
}

static void for_each(void (*check)(const data_file*, const sap_problem*, const sap_solution*)) {
  for (int i = 0; i < NFILES; ++i) {
    char path[1024];
    sap_error error = {0};
    sap_problem_reader* problems;
    sap_solution_reader* solutions;
    (void)snprintf(path, sizeof path, "%s/data/contact-problems/%s.problem", SAPSTEP_SHARED,
                   FILES[i].name);
    if (sap_problem_reader_open(path, &problems, &error) != SAP_STATUS_OK) {
      print_message("skipped: %s\n", error.message);
      skip();
    }
    (void)snprintf(path, sizeof path, "%s/data/contact-problems/%s.solution", SAPSTEP_SHARED,
                   FILES[i].name);
    assert_int_equal(sap_solution_reader_open(path, &solutions, &error), SAP_STATUS_OK);
    sap_problem* problem;
    sap_solution reference = {0};
    assert_int_equal(sap_problem_create(&problem, &error), SAP_STATUS_OK);
    bool found = true;
    while (sap_problem_reader_next(problems, problem, &found, &error) == SAP_STATUS_OK && found) {
      assert_int_equal(sap_solution_reader_next(solutions, &reference, &found, &error),
                       SAP_STATUS_OK);
      check(&FILES[i], problem, &reference);
    }
    assert_false(found);
    sap_solution_clear(&reference);
    sap_problem_destroy(problem);
    sap_problem_reader_close(problems);
    sap_solution_reader_close(solutions);
  }
}

static void test_convex(void** state) {
  (void)state;
  for_each(check_convex);
}

static void test_nonlinear(void** state) {
  (void)state;
  for_each(check_nonlinear);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_convex),
      cmocka_unit_test(test_nonlinear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
