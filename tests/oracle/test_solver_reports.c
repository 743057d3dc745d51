// SPDX-License-Identifier: BSD-3-Clause
// What solvers say about a solve, each number against what it must be, and options that only
// limits, guesses and stored inverses of A act on.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solvers/dual/dual.h"
#include "support/near.h"
#include "support/point_masses.h"
#include "support/solve.h"
#include "support/wild_problem.h"

enum { MASSES = 4 };
static const double MASS[MASSES] = {1.0, 2.0, 0.5, 40.0};
static const double V_STAR[MASSES][3] = {
    {3.0, 0.2, -1.0}, {0.1, 0.0, -2.0}, {-1.0, 0.5, -0.5}, {5.0, -7.0, 3.0}};

// Two islands: mass 0 on the ground; 2 on 1 on the ground. Mass 3 flies.
static sap_problem* make_problem(void) {
  sap_problem* p = point_masses_create(MASS, V_STAR, MASSES);
  point_masses_add_contact(p, 0, -1, 0.3, 0.1, 0);
  point_masses_add_contact(p, 1, -1, 0.8, 0.2, 0);
  point_masses_add_contact(p, 2, 1, 0.5, 0.3, 0);
  return p;
}

static bool says_solved(sap_outcome outcome) {
  return outcome == SAP_OUTCOME_CONVERGED || outcome == SAP_OUTCOME_ROUNDOFF;
}

// Solvers of impulses start from the problem's guess: from the solution they make no iteration.
static void test_guessed_impulses(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-ccp", "apgd", "nbgs", "raisim-ds", "proximal-newton"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    sap_problem* p = make_problem();
    sap_solver_options tight = sap_solver_options_default();
    sap_solution s = {0};
    sap_report report = {0};
    tight.relative_tolerance = 1e-12;
    assert_true(says_solved(solve_problem(names[i], &tight, p, &s, &report)));
    assert_true(report.iterations > 0);
    assert_int_equal(sap_problem_set_gamma_guess(p, s.gamma, NULL), SAP_STATUS_OK);
    assert_int_equal(solve_problem(names[i], NULL, p, &s, &report), SAP_OUTCOME_CONVERGED);
    assert_int_equal(report.iterations, 0);
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

// ADMM factors D once for each island and penalty; others factor in each iteration. Staggered
// projections count the iterations of both stages.
static void test_counts(void** state) {
  (void)state;
  sap_problem* p = make_problem();
  sap_solver_options options = sap_solver_options_default();
  sap_solution s = {0};
  sap_report report = {0};
  options.penalty = SAP_PENALTY_FIXED;
  (void)solve_problem("admm-ccp", &options, p, &s, &report);
  assert_int_equal(report.factorizations, 2);
  (void)solve_problem("proximal-newton", NULL, p, &s, &report);
  assert_true(report.total_iterations > 0 && report.factorizations >= report.total_iterations);
  (void)solve_problem("sap-ncp", NULL, p, &s, &report);  // more than one solve of each island
  assert_true(report.evaluations > 2 && report.islands == 2);
  (void)solve_problem("staggered", NULL, p, &s, &report);
  assert_true(report.total_iterations > 0 && report.evaluations >= 2 * report.total_iterations);
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

// The momentum of trees without blocks is part of the scale of castro (32), from the guess on.
static void test_free_tree(void** state) {
  (void)state;
  sap_problem* p = make_problem();
  sap_solver_options options = sap_solver_options_default();
  sap_solution s = {0};
  sap_report report = {0};
  sap_residual residual;
  options.max_iterations = 0;
  (void)solve_problem("sap", &options, p, &s, &report);
  assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
  assert_true(residual.momentum > 1e-6);
  ASSERT_NEAR(report.momentum_error, residual.momentum, 1e-12 * residual.momentum);
  ASSERT_NEAR(report.history[report.history_count - 1].momentum_error, residual.momentum,
              1e-12 * residual.momentum);
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

// Solves two smooth walls that squeeze a mass of 16 kg by raisim-ds-es; stored is A or its inverse.
static sap_report end_early(bool inverse, double tolerance) {
  static const double J[2][9] = {{1, 0, 0.2, 0, 1, 0, 0, 0, 1}, {1, 0, -0.2, 0, 1, 0, 0, 0, 1}};
  static const double R[3] = {0, 0, 0}, v_star[3] = {0.01, 0.5, -1.0};
  const double* jacobian = J[0];
  const int32_t size = 3, tree = 0;
  const double m = inverse ? 1.0 / 16.0 : 16.0, M[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = 3,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = &jacobian,  // of each contact
                           .R = R,
                           .v_hat = R};
  sap_solver_options options = sap_solver_options_default();
  sap_solution s = {0};
  sap_report report = {0};
  sap_problem* p;
  options.relative_tolerance = tolerance;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal((inverse ? sap_problem_set_mobility_block : sap_problem_set_momentum_block)(
                       p, 0, 0, M, 3, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int k = 0; k < 2; ++k) {
    jacobian = J[k];
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  (void)solve_problem("raisim-ds-es", &options, p, &s, &report);
  const sap_report found = {.iterations = report.iterations, .outcome = report.outcome};
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
  return found;
}

// The early end of raisim-ds-es has the inertia of the bodies, whichever of A and A^-1 is stored.
static void test_inertia_of_mobility(void** state) {
  (void)state;
  int32_t early = 0;
  for (double tolerance = 1e-1; tolerance > 1e-9; tolerance *= 0.1) {
    const sap_report A = end_early(false, tolerance), B = end_early(true, tolerance);
    assert_int_equal(A.iterations, B.iterations);
    assert_int_equal(A.outcome, B.outcome);
    early += A.outcome == SAP_OUTCOME_EARLY_STOP;
  }
  assert_true(early > 0);
}

// One sticking contact: l is a parabola along Newton's direction, with its minimum at the step 1.
// Backtracking evaluates l at 0 and at its steps, from the largest on and always at 1, until the
// next one is no lower.
static void test_backtracking(void** state) {
  (void)state;
  static const struct {
    double maximum, factor;
    int32_t evaluations;
  } cases[] = {
      {1.25, 0.8, 4},  // 0; 1.25, 1, 0.8
      {2.0, 0.8, 7},   // 0; 2, 1.6, 1.28, 1.024, 1, 0.8
      {10.0, 0.5, 7},  // 0; 10, 5, 2.5, 1.25, 1, 0.5
      {1.0, 0.5, 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const double v_star[1][3] = {{0.01, 0.0, -1.0}};
    sap_problem* p = point_masses_create(MASS, v_star, 1);
    sap_solver_options options = sap_solver_options_default();
    sap_solution s = {0};
    sap_report report = {0};
    point_masses_add_contact(p, 0, -1, 0.8, 0.1, 0);
    options.newton = SAP_NEWTON_PRIMAL;
    options.line_search = SAP_LINE_SEARCH_BACKTRACKING;
    options.backtracking_maximum = cases[i].maximum;
    options.backtracking_factor = cases[i].factor;
    // closed already: the start is in the mode of the solution
    assert_int_equal(sap_problem_set_v_guess(p, (double[]){0.0, 0.0, -0.5}, NULL), SAP_STATUS_OK);
    assert_int_equal(solve_problem("sap", &options, p, &s, &report), SAP_OUTCOME_CONVERGED);
    assert_int_equal(report.iterations, 1);
    assert_int_equal(report.evaluations, cases[i].evaluations);
    ASSERT_NEAR(report.history[1].step_length, 1.0, 0.0);
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

// A limit that is far away changes nothing; one that has passed ends the solve, and says so.
static void test_time_limits(void** state) {
  (void)state;
  static const char* const names[] = {"sap", "sap-ncp", "ipm", "pgs-ccp", "newton-ncp"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    sap_problem* p = make_problem();
    sap_solver_options options = sap_solver_options_default();
    sap_solution s = {0};
    sap_report report = {0};
    options.time_limit = 1000.0;
    assert_true(says_solved(solve_problem(names[i], &options, p, &s, &report)));
    options.time_limit = 1e-9;
    assert_int_equal(solve_problem(names[i], &options, p, &s, &report), SAP_OUTCOME_TIME_LIMIT);
    assert_true(report.iterations <= 1 && report.history_count <= 2);
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

// An island that takes all of the time, a stack under a mass 1e9 times as large, does not keep a
// small one behind it from being solved.
static void test_small_island_in_time(void** state) {
  (void)state;
  enum { STACK = 7 };
  double mass[STACK + 1], speeds[3 * (STACK + 1)];
  for (int32_t i = 0; i <= STACK; ++i) {
    mass[i] = i == STACK - 1 ? 1e9 : 1.0;
    memcpy(speeds + 3 * i, V_STAR[0], sizeof V_STAR[0]);
  }
  sap_problem* alone = point_masses_create(mass + STACK, V_STAR, 1);
  sap_problem* both = point_masses_create(mass, (const double(*)[3])speeds, STACK + 1);
  point_masses_add_contact(alone, 0, -1, 0.3, 1e-3, 0);
  for (int32_t i = 0; i <= STACK; ++i) {
    point_masses_add_contact(both, i, i == STACK ? -1 : i - 1, 0.3, i == STACK ? 1e-3 : 1e-9, 0);
  }
  sap_solver_options options = sap_solver_options_default();
  sap_solution one = {0}, two = {0};
  sap_report report = {0};
  options.max_sweeps = 1000000000;
  assert_true(says_solved(solve_problem("pgs-ccp", &options, alone, &one, &report)));
  options.time_limit = 1.0;
  assert_int_equal(solve_problem("pgs-ccp", &options, both, &two, &report), SAP_OUTCOME_TIME_LIMIT);
  for (int32_t i = 0; i < 3; ++i) {
    ASSERT_NEAR(two.v[3 * STACK + i], one.v[i], 1e-12);
  }
  sap_solution_clear(&one);
  sap_solution_clear(&two);
  sap_report_clear(&report);
  sap_problem_destroy(alone);
  sap_problem_destroy(both);
}

// sap-ncp returns the best of its solves where none is good enough.
static void test_best_of_many(void** state) {
  (void)state;
  const wild_problem w = wild_make(212, (wild_limits){1e6, 1.0, 1e-8, 1e6, false});
  sap_solver_options options = sap_solver_options_default();
  sap_solution s = {0};
  sap_report report = {0};
  options.max_sweeps = 2000;
  assert_int_equal(solve_problem("sap-ncp", &options, w.problem, &s, &report),
                   SAP_OUTCOME_ITERATION_LIMIT);
  double least = (double)INFINITY;
  for (int32_t i = 1; i < report.history_count; ++i) {
    least = fmin(least, report.history[i].momentum_error);  // of this solver: the natural map
  }
  assert_true(report.island_error <= 2.0 * least);
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(w.problem);
}

// sap-ncp says that it solved where the natural maps of islands, rows and trees say so, not where
// some do not: rows and trees alone refuse some of these problems, islands others.
static void test_claims(void** state) {
  (void)state;
  int32_t claimed = 0, refused = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const wild_problem w = wild_make(seed, (wild_limits){1e6, 1.0, 1e-8, 1e6, false});
    sap_solver_options options = sap_solver_options_default();
    sap_solution s = {0};
    sap_report report = {0};
    sap_residual residual;
    options.max_sweeps = 300;
    const sap_outcome outcome = solve_problem("sap-ncp", &options, w.problem, &s, &report);
    assert_int_equal(sap_residuals(w.problem, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
    if (says_solved(outcome)) {
      claimed += 1;
      assert_true(fmax(residual.ncp_row, residual.tree) <= sqrt(options.relative_tolerance));
      assert_true(outcome == SAP_OUTCOME_ROUNDOFF ||
                  report.island_error <= options.relative_tolerance);
    } else {
      refused += 1;
    }
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(w.problem);
  }
  assert_true(claimed > 50 && refused > 5);
}

// The largest eigenvalue of the tangents' 2 x 2 or 5 x 5 block.
static void test_tangent_eigenvalue(void** state) {
  (void)state;
  const double D3[9] = {2, 1, 9, 1, 3, 9, 9, 9, 9};
  ASSERT_NEAR(sap_tangent_eigenvalue(D3, 3), 0.5 * (5.0 + sqrt(5.0)), 1e-15);
  double D6[36] = {0};
  for (int i = 0; i < 6; ++i) {
    D6[7 * i] = i == 2 ? 100.0 : 1.0;  // the normal's does not count
  }
  D6[1] = D6[6] = 0.5;  // t1 with t2, spin with a roll
  D6[3 * 6 + 4] = D6[4 * 6 + 3] = -0.75;
  ASSERT_NEAR(sap_tangent_eigenvalue(D6, 6), 1.75, 1e-14);
}

// Two equal contacts without R on one mass: the matrix of Newton's step is singular. Its diagonal
// is raised, and every step is one of Newton's.
static void test_singular_steps(void** state) {
  (void)state;
  sap_problem* p = point_masses_create(MASS, V_STAR, 1);
  sap_solution s = {0};
  sap_report report = {0};
  for (uint64_t key = 0; key < 2; ++key) {
    point_masses_add_contact(p, 0, -1, 10.0, 0.0, key);
  }
  assert_true(says_solved(solve_problem("newton-ncp", NULL, p, &s, &report)));
  assert_true(report.iterations > 0);
  for (int32_t i = 1; i < report.history_count; ++i) {
    assert_true(report.history[i].step_length == 1.0);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(s.v[i], 0.0, 1e-6);
  }
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_guessed_impulses),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_free_tree),
      cmocka_unit_test(test_inertia_of_mobility),
      cmocka_unit_test(test_small_island_in_time),
      cmocka_unit_test(test_time_limits),
      cmocka_unit_test(test_best_of_many),
      cmocka_unit_test(test_tangent_eigenvalue),
      cmocka_unit_test(test_backtracking),
      cmocka_unit_test(test_singular_steps),
      cmocka_unit_test(test_claims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
