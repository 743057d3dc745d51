// SPDX-License-Identifier: BSD-3-Clause
// The solvers of friction pyramids against each other: a pyramid that touches the cone with m
// facets is one whose edges lie on a cone of mu/cos(pi/m), turned by pi/m: staggered-lcp and
// pgs-lcp against Lemke's direct method. And staggered projections of the cone against
// proximal-newton.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/solve.h"

static const double PI = 3.14159265358979323846;

static uint32_t next_random(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static double uniform(uint32_t* seed) {
  return (double)next_random(seed) / 16777216.0 * 2.0 - 1.0;
}

// Two bodies, three contacts with the ground or between them and a limit, R > 0: the tangents
// turned by `angle` and mu widened by `wide`.
static sap_problem* make(uint32_t seed, double angle, double wide) {
  static const int32_t sizes[2] = {4, 5};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  double v_star[9];
  for (int32_t t = 0; t < 2; ++t) {
    double A[25] = {0};
    for (int32_t i = 0; i < sizes[t]; ++i) {
      A[i * (sizes[t] + 1)] = 2.0 + uniform(&seed);
    }
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, sizes[t], NULL), SAP_STATUS_OK);
  }
  for (int i = 0; i < 9; ++i) {
    v_star[i] = uniform(&seed);
  }
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int k = 0; k < 4; ++k) {
    const int32_t trees[2] = {k % 2, 1 - k % 2};
    const int32_t ntrees = k == 2 ? 2 : 1, nrows = k == 3 ? 1 : 3;
    double parts[2][15];
    const double* jacobians[2] = {parts[0], parts[1]};
    for (int32_t t = 0; t < ntrees; ++t) {
      for (int32_t i = 0; i < sizes[trees[t]]; ++i) {
        double row[3] = {uniform(&seed), uniform(&seed), uniform(&seed)};
        const double c = cos(angle), s = sin(angle), x = row[0], y = row[1];
        row[0] = c * x + s * y;
        row[1] = c * y - s * x;
        for (int32_t r = 0; r < nrows; ++r) {
          parts[t][i * nrows + r] = row[nrows == 1 ? 2 : r];
        }
      }
    }
    const double R[3] = {0.05, 0.05, 0.05}, v_hat[3] = {0.0, 0.0, nrows == 1 ? 0.0 : 0.6};
    const sap_block block = {.set = nrows == 1 ? SAP_SET_NONNEGATIVE : SAP_SET_FRICTION_CONE,
                             .nrows = nrows,
                             .ntrees = ntrees,
                             .trees = trees,
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = 0.4 * wide};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  return p;
}

static sap_outcome solve(const char* name, const sap_problem* p, int32_t directions,
                         sap_solution* s) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-12;
  options.friction_directions = directions;
  return solve_problem(name, &options, p, s, NULL);
}

// How many of the solver's answers converged; those must agree.
static int agree(const char* name, const sap_problem* p, int32_t directions,
                 const sap_solution* truth, int* sliding) {
  sap_solution s = {0};
  const bool converged = solve(name, p, directions, &s) == SAP_OUTCOME_CONVERGED;
  for (int32_t i = 0; converged && i < s.nv; ++i) {
    ASSERT_NEAR(s.v[i], truth->v[i], 1e-9);
  }
  for (int k = 0; k < 3; ++k) {
    *sliding += hypot(s.gamma[3 * k], s.gamma[3 * k + 1]) > 0.3999 * s.gamma[3 * k + 2] &&
                s.gamma[3 * k + 2] > 0.0;
  }
  sap_solution_clear(&s);
  return converged ? 1 : 0;
}

static void test_pyramids(void** state) {
  (void)state;
  static const int32_t directions[4] = {3, 4, 5, 8};
  enum { SEEDS = 10 };
  int found[2] = {0}, sliding = 0;
  for (uint32_t seed = 1; seed <= SEEDS; ++seed) {
    for (int k = 0; k < 4; ++k) {
      const int32_t m = directions[k];
      sap_problem* p = make(seed, 0.0, 1.0);
      sap_problem* turned = make(seed, PI / m, 1.0 / cos(PI / m));
      sap_solution truth = {0};
      assert_int_equal(solve("lemke", turned, m, &truth), SAP_OUTCOME_CONVERGED);
      found[0] += agree("staggered-lcp", p, m, &truth, &sliding);
      found[1] += agree("pgs-lcp", p, m, &truth, &sliding);
      sap_solution_clear(&truth);
      sap_problem_destroy(turned);
      sap_problem_destroy(p);
    }
  }
  print_message("of %d: staggered-lcp %d, pgs-lcp %d; %d sliding contacts\n", 4 * SEEDS, found[0],
                found[1], sliding);
  assert_true(found[0] >= 38 && found[1] >= 38);
  assert_true(sliding > SEEDS);
}

static void test_cone(void** state) {
  (void)state;
  int found = 0, sliding = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    sap_problem* p = make(seed, 0.0, 1.0);
    sap_solution truth = {0};
    assert_int_equal(solve("proximal-newton", p, 4, &truth), SAP_OUTCOME_CONVERGED);
    found += agree("staggered", p, 4, &truth, &sliding);
    found += agree("raisim-ds", p, 4, &truth, &sliding);
    sap_solution_clear(&truth);
    sap_problem_destroy(p);
  }
  assert_true(found >= 38 && sliding > 20);
}

// tsounis (160): the first sweep that changes the dual cost by at most 1e-8 of the inertia is the
// last, which the history of costs says. Such an end is none of the outcomes of a solved problem,
// unless the natural map fell to the tolerance before.
static void test_early_stop(void** state) {
  (void)state;
  int32_t sweeps = 0, early = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    sap_problem* p = make(seed, 0.0, 1.0);
    sap_solution s = {0}, truth = {0};
    sap_report report = {0};
    sap_residual residual;
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-8;
    sap_solver* solver;
    assert_int_equal(sap_solver_create("raisim-ds-es", &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
    const bool solved = report.outcome == SAP_OUTCOME_CONVERGED;
    early += solved ? 0 : 1;
    if (solved) {
      assert_true(residual.ncp_natural_map_scaled <= 1.0001e-8);
    } else {
      assert_int_equal(report.outcome, SAP_OUTCOME_EARLY_STOP);
      assert_string_equal(sap_outcome_text(report.outcome), "early_stop");
    }
    double inertia = 0.0;
    for (int32_t t = 0; t < 2; ++t) {
      const int32_t n = sap_problem_tree_size(p, t);
      for (int32_t i = 0; i < n; ++i) {
        inertia += sap_problem_momentum_block(p, t, t)[i * (n + 1)];
      }
    }
    for (int32_t i = 1; i < report.history_count; ++i) {
      const double change = report.history[i].cost - report.history[i - 1].cost;
      const bool small = fabs(change) <= 1e-8 * inertia;
      assert_true(small == (!solved && i == report.history_count - 1) || solved);
    }
    sweeps += report.iterations;
    (void)solve("proximal-newton", p, 4, &truth);
    for (int32_t i = 0; i < s.nv; ++i) {
      ASSERT_NEAR(s.v[i], truth.v[i], 1e-2);  // sqrt(1e-8), times what is left of a linear descent
    }
    sap_solver_destroy(solver);
    sap_report_clear(&report);
    sap_solution_clear(&truth);
    sap_solution_clear(&s);
    sap_problem_destroy(p);
  }
  assert_true(sweeps > 100 && early > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pyramids),
      cmocka_unit_test(test_cone),
      cmocka_unit_test(test_early_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
