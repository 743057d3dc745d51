// SPDX-License-Identifier: BSD-3-Clause
// Sweeps before the Newton iterations: they keep the momentum balance and the sets, leave the
// solution as it is, and go there from nowhere if there are many.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "problem/blocks.h"
#include "solvers/primal/newton.h"
#include "support/near.h"
#include "support/pile.h"
#include "support/solve.h"

enum { MOST_ROWS = 64, MOST_VELOCITIES = 32 };

typedef struct fixture {
  sap_problem* problem;
  sap_islands islands;
  sap_newton newton;
  double known[MOST_ROWS];
} fixture;

// Two limits that bind and one that does not, on trees of six and three velocities.
static void add_limits(sap_problem* problem) {
  const int32_t trees[2] = {0, 2};
  double J[2][18] = {{0.0}};
  for (int i = 0; i < 3; ++i) {
    J[0][3 * i + i] = 1.0;
    J[1][3 * ((i + 1) % 3) + i] = -0.5;
  }
  const double* jacobians[2] = {J[0], J[1]};
  const double R[3] = {1e-3, 2e-3, 1e-2}, v_hat[3] = {2.0, 1.0, -9.0};
  const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                           .nrows = 3,
                           .ntrees = 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = v_hat};
  assert_int_equal(sap_problem_add_block(problem, &block, NULL), SAP_STATUS_OK);
  // Limits of one velocity, the last but one of each tree; with less R sweeps converge slowly.
  const double soft = 1.0;
  for (int32_t tree = 0; tree < sap_problem_tree_count(problem); ++tree) {
    const int32_t column = sap_problem_tree_size(problem, tree) - 2;
    double row[6] = {0.0};
    row[column] = tree % 2 == 0 ? 1.0 : -1.0;
    const double* single[1] = {row};
    const sap_block limit = {.set = SAP_SET_NONNEGATIVE,
                             .nrows = 1,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = single,
                             .R = &soft,
                             .v_hat = v_hat};
    assert_int_equal(sap_problem_add_scaled(problem, &limit, column, NULL), SAP_STATUS_OK);
  }
}

// A pile of trees of six and three velocities with known impulses, none if NULL.
static void set_up(fixture* f, uint32_t seed, const double* known) {
  pile_options options = pile_options_default();
  options.trees = 5;
  options.contacts = 14;
  options.mixed = false;
  options.seed = seed;
  memset(f, 0, sizeof *f);
  assert_int_equal(sap_problem_create(&f->problem, NULL), SAP_STATUS_OK);
  assert_int_equal(pile_fill(&options, f->problem, NULL), SAP_STATUS_OK);
  add_limits(f->problem);
  assert_int_equal(sap_islands_find(&f->islands, f->problem, true, NULL), SAP_STATUS_OK);
  sap_newton_init(&f->newton);
  assert_int_equal(sap_newton_gather(&f->newton, f->problem, &f->islands, 0, NULL), SAP_STATUS_OK);
  assert_true(sap_problem_row_count(f->problem) <= MOST_ROWS);
  for (int32_t i = 0; i < sap_problem_row_count(f->problem); ++i) {
    f->known[i] = known != NULL ? known[i] : (double)NAN;
  }
  f->newton.recalled = f->known;
}

static void tear_down(fixture* f) {
  sap_newton_clear(&f->newton);
  sap_islands_clear(&f->islands);
  sap_problem_destroy(f->problem);
}

// The duals by the problem's rows.
static void get_duals(const sap_newton* n, double* gamma) {
  for (int32_t c = 0; c < n->ncones; ++c) {
    for (int32_t r = 0; r < 3; ++r) {
      gamma[n->cone_row[c] + r] = n->cone_lambda[r * n->ncones + c];
    }
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    gamma[n->problem_row[k]] = n->row_lambda[k];
  }
}

// A (v - v*) = J' gamma by the problem's own matrices, and every impulse in its set.
static void check_balance(const fixture* f, const double* v, const double* gamma) {
  const sap_problem* p = f->problem;
  double sum[MOST_VELOCITIES] = {0.0};
  int32_t start[8] = {0};
  for (int32_t t = 0; t < sap_problem_tree_count(p); ++t) {
    const int32_t n = sap_problem_tree_size(p, t);
    start[t + 1] = start[t] + n;
    const double* A = p->diagonal + p->diagonal_start[t];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        sum[start[t] + i] += A[j * n + i] * (v[start[t] + j] - p->v_star[start[t] + j]);
      }
    }
  }
  for (int32_t b = 0; b < sap_problem_block_count(p); ++b) {
    sap_block block;
    int32_t row;
    assert_int_equal(sap_problem_block(p, b, &block, &row, NULL), SAP_STATUS_OK);
    const double* g = gamma + row;
    if (block.set == SAP_SET_FRICTION_CONE) {
      assert_true(hypot(g[0], g[1]) <= block.friction * g[2] * (1.0 + 1e-12));
    }
    for (int32_t r = 0; r < block.nrows; ++r) {
      assert_true(block.set == SAP_SET_FRICTION_CONE || g[r] >= 0.0);
      for (int32_t t = 0; t < block.ntrees; ++t) {
        for (int32_t i = 0; i < sap_problem_tree_size(p, block.trees[t]); ++i) {
          sum[start[block.trees[t]] + i] -= block.jacobians[t][i * block.nrows + r] * g[r];
        }
      }
    }
  }
  for (int32_t i = 0; i < start[sap_problem_tree_count(p)]; ++i) {
    ASSERT_NEAR(sum[i], 0.0, 1e-9);  // sums of some hundred terms of at most 1e3
  }
}

static void test_balance(void** state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    fixture f;
    double gamma[MOST_ROWS];
    set_up(&f, seed, NULL);
    assert_true(sap_newton_is_sweepable(&f.newton));
    assert_true(sap_newton_sweep(&f.newton));
    get_duals(&f.newton, gamma);
    check_balance(&f, f.newton.v_best, gamma);
    tear_down(&f);
  }
}

// SAP's own Newton method from v*, to round-off.
static void solve_primal(const sap_problem* problem, sap_solution* solution) {
  sap_solver_options options = sap_solver_options_default();
  options.newton = SAP_NEWTON_PRIMAL;
  options.relative_tolerance = 1e-13;
  const sap_outcome outcome = solve_problem("sap", &options, problem, solution, NULL);
  assert_in_range(outcome, SAP_OUTCOME_CONVERGED, SAP_OUTCOME_ROUNDOFF);
}

static double distance(const double* x, const double* y, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += (x[i] - y[i]) * (x[i] - y[i]);
  }
  return sqrt(sum);
}

static void test_solution(void** state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    fixture f;
    double gamma[MOST_ROWS];
    sap_solution solution = {0};
    set_up(&f, seed, NULL);
    solve_primal(f.problem, &solution);
    const int32_t nv = solution.nv;
    const double size = distance(solution.v, f.problem->v_star, nv);
    double before = HUGE_VAL;
    for (int i = 0; i < 400; ++i) {
      assert_true(sap_newton_sweep(&f.newton));
      get_duals(&f.newton, f.known);
      if (i % 100 == 0) {
        const double now = distance(f.newton.v_best, solution.v, nv);
        assert_true(now < before || now < 1e-8 * size);
        before = now;
      }
    }
    assert_true(distance(f.newton.v_best, solution.v, nv) < 1e-8 * size);
    tear_down(&f);
    // the solution stays
    set_up(&f, seed, solution.gamma);
    assert_true(sap_newton_sweep(&f.newton));
    get_duals(&f.newton, gamma);
    assert_true(distance(f.newton.v_best, solution.v, nv) < 1e-9 * size);
    const double none[MOST_ROWS] = {0.0};
    assert_true(distance(gamma, solution.gamma, solution.nrows) <
                1e-7 * distance(solution.gamma, none, solution.nrows));
    sap_solution_clear(&solution);
    tear_down(&f);
  }
}

// The minimum is the same with and without sweeps.
static void test_same_minimum(void** state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    fixture f;
    sap_solution primal = {0}, dual = {0};
    set_up(&f, seed, NULL);
    solve_primal(f.problem, &primal);
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-12;
    (void)solve_problem("sap", &options, f.problem, &dual, NULL);
    assert_true(distance(primal.v, dual.v, primal.nv) < 1e-8);
    sap_solution_clear(&primal);
    sap_solution_clear(&dual);
    tear_down(&f);
  }
}

static void test_refused(void** state) {
  (void)state;
  pile_options options = pile_options_default();
  fixture f = {0};
  for (int trial = 0; trial < 3; ++trial) {
    options.trees = trial == 0 ? 9 : 5;  // one with eight velocities
    options.mixed = trial == 1;          // couplings
    options.models[0] = trial == 2 ? SAP_CONTACT_LAGGED : SAP_CONTACT_SAP;
    options.dissipation = 20.0;
    options.stiction_tolerance = 1e-4;
    assert_int_equal(sap_problem_create(&f.problem, NULL), SAP_STATUS_OK);
    assert_int_equal(pile_fill(&options, f.problem, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_islands_find(&f.islands, f.problem, true, NULL), SAP_STATUS_OK);
    sap_newton_init(&f.newton);
    assert_int_equal(sap_newton_gather(&f.newton, f.problem, &f.islands, 0, NULL), SAP_STATUS_OK);
    assert_false(sap_newton_is_sweepable(&f.newton));
    tear_down(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_balance),
      cmocka_unit_test(test_solution),
      cmocka_unit_test(test_same_minimum),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
