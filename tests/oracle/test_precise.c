// SPDX-License-Identifier: BSD-3-Clause
// The library against the independent judge and solver of support/precise.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/precise_of.h"
#include "support/precise_set.h"
#include "support/wild_problem.h"

#define DATA SAPSTEP_SOURCE_DIR "/tests/data/"

static void open_case(const char* name, const char* law, precise_case* out) {
  char problem[512], solution[512];
  (void)snprintf(problem, sizeof problem, DATA "%s.problem", name);
  (void)snprintf(solution, sizeof solution, DATA "%s.%s", name, law);
  assert_true(precise_case_open(problem, solution, out));
}

// Solutions are exact but for the rounding of their numbers; one that is changed is not.
static void test_judge(void** state) {
  (void)state;
  for (int i = 0; precise_set_names[i] != NULL; ++i) {
    for (int law = 0; law <= PRECISE_COULOMB; ++law) {
      precise_case one;
      precise_verdict verdict;
      open_case(precise_set_names[i], law == PRECISE_CONVEX ? "convex" : "coulomb", &one);
      assert_true(precise_judge(&one.problem, (precise_law)law, one.v, one.gamma, &verdict));
      assert_true(verdict.row.relative <= 1e-15 && verdict.tree.relative <= 1e-14);
      for (int r = 0; r < one.problem.nrows; ++r) {
        const double kept = one.gamma[r];
        one.gamma[r] *= 1.01;
        assert_true(precise_judge(&one.problem, (precise_law)law, one.v, one.gamma, &verdict));
        // an impulse that is small beside the others of its cone may hide a percent of itself
        if (kept != 0.0 && !(fmax(verdict.row.relative, verdict.tree.relative) >= 1e-12)) {
          fail_msg("%s, row %d, %g: %g, %g", precise_set_names[i], r, kept, verdict.row.relative,
                   verdict.tree.relative);
        }
        one.gamma[r] = kept;
      }
      for (int k = 0; k < one.problem.nv; ++k) {
        const double kept = one.v[k];
        one.v[k] += 0.01;
        assert_true(precise_judge(&one.problem, (precise_law)law, one.v, one.gamma, &verdict));
        if (!(verdict.tree.relative >= 1e-5)) {
          fail_msg("%s, velocity %d, %g: %g", precise_set_names[i], k, kept, verdict.tree.relative);
        }
        one.v[k] = kept;
      }
      precise_case_close(&one);
    }
  }
}

// A row and a tree of the library's judge are those of the independent one.
static void compare_judges(const precise_problem* p, const sap_problem* problem, const double* v,
                           const double* gamma) {
  sap_residual r;
  precise_verdict convex, coulomb;
  assert_int_equal(sap_residuals(problem, v, gamma, &r, NULL), SAP_STATUS_OK);
  assert_true(precise_judge(p, PRECISE_CONVEX, v, gamma, &convex));
  assert_true(precise_judge(p, PRECISE_COULOMB, v, gamma, &coulomb));
  const double pairs[][2] = {{r.ccp_row, convex.row.relative},
                             {r.ccp_row_velocity, convex.row.velocity},
                             {r.ccp_row_impulse, convex.row.impulse},
                             {r.ncp_row, coulomb.row.relative},
                             {r.ncp_row_velocity, coulomb.row.velocity},
                             {r.ncp_row_impulse, coulomb.row.impulse},
                             {r.tree, convex.tree.relative},
                             {r.tree_velocity, convex.tree.velocity},
                             {r.tree_impulse, convex.tree.impulse}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    if (!(fabs(pairs[i][0] - pairs[i][1]) <= 1e-6 * pairs[i][1])) {
      fail_msg("measure %d: %.17g, not %.17g", (int)i, pairs[i][0], pairs[i][1]);
    }
  }
}

static void test_residuals(void** state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const wild_limits of = {1e3, seed % 2 == 0 ? 1.0 : 10.0, 1e-6, seed % 3 == 0 ? 1.0 : 1e4,
                            false};
    wild_problem s = wild_make(seed, of);
    precise_problem p;
    assert_true(precise_of(s.problem, &p));
    double* v = calloc((size_t)(p.nv + p.nrows) + 1, sizeof *v);
    assert_non_null(v);
    for (int i = 0; i < p.nv + p.nrows; ++i) {
      s.seed = s.seed * 6364136223846793005u + 1442695040888963407u;
      const double x = (double)(s.seed >> 11) * 0x1p-53;
      v[i] = s.seed % 5 == 0 ? 0.0 : (x - 0.3) * (i < p.nv ? 1.0 : exp(10.0 * x - 8.0));
    }
    compare_judges(&p, s.problem, v, v + p.nv);
    free(v);
    precise_clear(&p);
    sap_problem_destroy(s.problem);
  }
}

// Returns the largest difference of a tree's velocities, relative to its own, in the norm of A's
// diagonal.
static double difference(const precise_problem* p, const double* a, const double* b) {
  double worst = 0.0;
  for (int t = 0; t < p->ntrees; ++t) {
    double sum = 0.0, scale = 0.0;
    for (int i = p->tree_start[t]; i < p->tree_start[t + 1]; ++i) {
      const double mass = p->A[i * p->nv + i], size = fabs(b[i]) + fabs(p->v_star[i]);
      sum += mass * (a[i] - b[i]) * (a[i] - b[i]);
      scale += mass * size * size;
    }
    worst = fmax(worst, sqrt(sum / scale));
  }
  return worst;
}

// Returns true if the solver converged; then its solution is that of the independent solver
// (convex), or one that the independent judge accepts (Coulomb's law may have several).
static bool check_solver(const sap_solver_info* info, const precise_case* one,
                         sap_problem* problem) {
  sap_solver_options options = sap_solver_options_default();
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver* solver = NULL;
  precise_verdict verdict;
  options.relative_tolerance = 1e-8;
  options.max_sweeps = 3000;
  assert_int_equal(sap_solver_create(info->name, &options, &solver, NULL), SAP_STATUS_OK);
  const sap_status status = sap_solver_solve(solver, problem, &solution, &report, NULL);
  assert_true(status == SAP_STATUS_OK || status == SAP_STATUS_UNSUPPORTED);
  const bool converged = status == SAP_STATUS_OK && (report.outcome == SAP_OUTCOME_CONVERGED ||
                                                     report.outcome == SAP_OUTCOME_ROUNDOFF);
  if (converged) {
    const precise_law law = precise_law_of(info);
    assert_true(precise_judge(&one->problem, law, solution.v, solution.gamma, &verdict));
    const double error =
        law == PRECISE_CONVEX ? difference(&one->problem, solution.v, one->v) : 0.0;
    // sqrt of the tolerance, what every row is held to
    if (!(verdict.row.relative <= 1.1e-4 && verdict.tree.relative <= 1.1e-4 && error <= 1e-3)) {
      fail_msg("%s: row %g, tree %g, v %g", info->name, verdict.row.relative, verdict.tree.relative,
               error);
    }
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  return converged;
}

static void test_set(void** state) {
  (void)state;
  static const char* const always[] = {"sap", "ipm", "newton-ncp", "implicit-complementarity"};
  for (int i = 0; precise_set_names[i] != NULL; ++i) {
    precise_case one;
    open_case(precise_set_names[i], "convex", &one);
    sap_problem* problem = precise_to(&one.problem);
    for (int32_t k = 0; k < sap_solver_count(); ++k) {
      const sap_solver_info* info = sap_solver_get_info(k);
      const bool converged = check_solver(info, &one, problem);
      print_message("%-18s %-25s %s\n", precise_set_names[i], info->name,
                    converged ? "converged" : "-");
      for (size_t a = 0; a < sizeof always / sizeof always[0]; ++a) {
        assert_true(converged || strcmp(info->name, always[a]) != 0);
      }
    }
    sap_problem_destroy(problem);
    precise_case_close(&one);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_judge),
      cmocka_unit_test(test_residuals),
      cmocka_unit_test(test_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
