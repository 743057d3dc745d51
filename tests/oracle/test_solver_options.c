// SPDX-License-Identifier: BSD-3-Clause
// Options of solvers off their defaults, against small implementations of the published methods on
// rows of numbers, and every field of a report against the same islands solved one by one.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/point_masses.h"
#include "support/solve.h"

enum { N = 3 };

// N nonnegative rows on one tree of N unit masses: D = J J', q = J v* - v_hat.
typedef struct rows {
  double J[N * N], v_star[N], v_hat[N];  // J column-major
  double D[N][N], q[N], scale[N];        // scaled as every dual solver scales: D_ii = 1
} rows;

static rows make_rows(void) {
  rows r = {.J = {1.0, 0.9, 0.8, 0.2, 0.5, 0.1, -0.1, 0.3, 0.4},
            .v_star = {-1.0, 0.5, -0.8},
            .v_hat = {0.1, 0.3, -1.4}};
  for (int i = 0; i < N; ++i) {
    double own = 0.0;
    for (int c = 0; c < N; ++c) {
      own += r.J[c * N + i] * r.J[c * N + i];
    }
    r.scale[i] = 1.0 / sqrt(own);
  }
  for (int i = 0; i < N; ++i) {
    r.q[i] = -r.scale[i] * r.v_hat[i];
    for (int c = 0; c < N; ++c) {
      r.q[i] += r.scale[i] * r.J[c * N + i] * r.v_star[c];
    }
    for (int j = 0; j < N; ++j) {
      r.D[i][j] = 0.0;
      for (int c = 0; c < N; ++c) {
        r.D[i][j] += r.scale[i] * r.scale[j] * r.J[c * N + i] * r.J[c * N + j];
      }
    }
  }
  return r;
}

static sap_problem* make_problem(const rows* r) {
  static const double A[N * N] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, ZERO[N] = {0};
  const int32_t size = N, tree = 0;
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 1e-3, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, N, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, r->v_star, NULL), SAP_STATUS_OK);
  const double* J = r->J;
  const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                           .nrows = N,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = &J,
                           .R = ZERO,
                           .v_hat = r->v_hat};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  return p;
}

// |z - max(0, z - D z - q)|^2
static double map_2(const rows* r, const double* z) {
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    double g = r->q[i];
    for (int j = 0; j < N; ++j) {
      g += r->D[i][j] * z[j];
    }
    const double map = z[i] - fmax(0.0, z[i] - g);
    sum += map * map;
  }
  return sum;
}

// One sweep of projected Gauss-Seidel.                                            tsounis Alg. 5
static void sweep(const rows* r, double omega, double* z) {
  for (int i = 0; i < N; ++i) {
    double g = r->q[i];
    for (int j = 0; j < N; ++j) {
      g += r->D[i][j] * z[j];
    }
    const double target = fmax(0.0, z[i] - g);
    z[i] = fmax(0.0, (1.0 - omega) * z[i] + omega * target);
  }
}

// Solves M x = b, M symmetric, by elimination.
static void eliminate(double M[N][N], double* x) {
  for (int k = 0; k < N; ++k) {
    for (int i = k + 1; i < N; ++i) {
      const double f = M[i][k] / M[k][k];
      for (int j = k; j < N; ++j) {
        M[i][j] -= f * M[k][j];
      }
      x[i] -= f * x[k];
    }
  }
  for (int k = N - 1; k >= 0; --k) {
    for (int j = k + 1; j < N; ++j) {
      x[k] -= M[k][j] * x[j];
    }
    x[k] /= M[k][k];
  }
}

typedef struct admm {
  double x[N], y[N], w[N], rho;
  int changes;
} admm;

// One iteration of proximal ADMM; every tenth may change rho.    tsounis Alg. 6, (171)
static void iterate_admm(const rows* r, admm* a, double omega, bool linear, int iteration) {
  static const double ETA = 1e-6;
  double M[N][N], x[N], y[N], primal_2 = 0.0, dual_2 = 0.0;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      M[i][j] = r->D[i][j] + (i == j ? ETA + a->rho : 0.0);
    }
    x[i] = ETA * a->x[i] + a->rho * a->y[i] + a->w[i] - r->q[i];
  }
  eliminate(M, x);
  for (int i = 0; i < N; ++i) {
    const double relaxed = omega * x[i] + (1.0 - omega) * a->y[i];
    y[i] = fmax(0.0, relaxed - a->w[i] / a->rho);
    a->w[i] += a->rho * (y[i] - relaxed);
    const double dual = ETA * (x[i] - a->x[i]) + a->rho * (y[i] - a->y[i]);
    primal_2 += (x[i] - y[i]) * (x[i] - y[i]);
    dual_2 += dual * dual;
    a->x[i] = x[i];
    a->y[i] = y[i];
  }
  if (linear && iteration % 10 == 0) {
    const double factor = primal_2 > 100.0 * dual_2 ? 1.5 : dual_2 > 100.0 * primal_2 ? 1 / 1.5 : 1;
    a->changes += factor != 1.0 ? 1 : 0;
    a->rho *= factor;
  }
}

// The solver's impulses after `count` iterations from zero: the iterate with the least map.
static void check_iterates(const char* name, const sap_solver_options* options, int32_t count,
                           const double z[N]) {
  const rows r = make_rows();
  sap_problem* p = make_problem(&r);
  sap_solution s = {0};
  sap_report report = {0};
  sap_solver_options limited = *options;
  limited.max_sweeps = count;
  limited.relative_tolerance = 0.0;
  limited.absolute_tolerance = 0.0;
  const sap_outcome outcome = solve_problem(name, &limited, p, &s, &report);
  assert_int_equal(outcome, SAP_OUTCOME_ITERATION_LIMIT);
  assert_int_equal(report.iterations, count);
  assert_int_equal(report.history_count, count + 1);
  for (int i = 0; i < N; ++i) {
    ASSERT_NEAR(s.gamma[i], r.scale[i] * z[i], 1e-12);
  }
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

static void keep_better(const rows* r, const double* z, double best[N], double* best_2) {
  const double now = map_2(r, z);
  if (now < *best_2) {
    *best_2 = now;
    memcpy(best, z, N * sizeof *best);
  }
}

// omega > 1 overshoots: the last iterate is not the best, and leaves the set unless it is projected.
static void test_over_relaxed_sweeps(void** state) {
  (void)state;
  static const double OMEGAS[] = {0.3, 1.0, 1.7, 1.95};
  static const char* const names[] = {"pgs-ccp", "pgs-ncp", "nbgs",
                                      "pgs-lcp", "raisim",  "raisim-ds"};
  const rows r = make_rows();
  int worse = 0;
  for (int k = 0; k < 4; ++k) {
    double z[N] = {0}, best[N] = {0}, best_2 = map_2(&r, z);
    for (int32_t count = 1; count <= 8; ++count) {
      sap_solver_options options = sap_solver_options_default();
      options.over_relaxation = OMEGAS[k];
      sweep(&r, OMEGAS[k], z);
      keep_better(&r, z, best, &best_2);
      worse += map_2(&r, z) > best_2 ? 1 : 0;
      if (best_2 > 1e-24) {  // else round-off decides which is the best
        check_iterates(names[count % 6], &options, count, best);
      }
    }
  }
  assert_true(worse > 3);
}

static void check_admm(const char* name, sap_penalty penalty, double value, double omega) {
  const rows r = make_rows();
  sap_solver_options options = sap_solver_options_default();
  options.penalty = penalty;
  options.penalty_value = value;
  options.over_relaxation = omega;
  admm a = {.rho = value > 0.0 ? value : 1.0};
  double best[N] = {0}, best_2 = map_2(&r, best);
  for (int i = 0; i < N; ++i) {
    a.w[i] = fmax(0.0, r.q[i]);  // P(z - g) - (z - g) at z = 0
  }
  for (int32_t count = 1; count <= 35; ++count) {
    iterate_admm(&r, &a, omega, penalty == SAP_PENALTY_LINEAR, count);
    keep_better(&r, a.y, best, &best_2);
    if (best_2 > 1e-24) {  // else round-off decides which is the best
      check_iterates(name, &options, count, best);
    }
  }
  print_message("%s, penalty %d from %g: rho changed %d times\n", name, (int)penalty, value,
                a.changes);
  assert_true(a.changes > 0 || penalty == SAP_PENALTY_FIXED);
}

// Interval rows are in both stages of staggered projections, each of which solves them: an iteration
// of weight omega leaves 1 - omega of the way.
static void test_relaxed_stages(void** state) {
  (void)state;
  const rows r = make_rows();
  double z[N] = {0};
  for (int i = 0; i < 10000; ++i) {
    sweep(&r, 1.0, z);
  }
  sap_problem* p = make_problem(&r);
  for (int32_t count = 1; count <= 3; ++count) {
    sap_solver_options options = sap_solver_options_default();
    sap_solution s = {0};
    options.max_sweeps = count;
    options.over_relaxation = 0.5;
    (void)solve_problem("staggered", &options, p, &s, NULL);
    for (int i = 0; i < N; ++i) {
      const double whole = r.scale[i] * z[i];
      ASSERT_NEAR(s.gamma[i], whole * (1.0 - pow(0.5, count)), 0.03 * fabs(whole) + 1e-12);
    }
    sap_solution_clear(&s);
  }
  sap_problem_destroy(p);
}

// The first rho of the spectral penalty, sqrt(L eta) (L/eta)^0.2 with L the largest eigenvalue of D,
// which the solver knows to 1 %: the iterates before rho changes.                     tsounis (172)
static void test_spectral_start(void** state) {
  (void)state;
  const rows r = make_rows();
  double u[N] = {1.0, 0.7, 0.4}, L = 0.0;
  for (int k = 0; k < 200; ++k) {
    double next[N] = {0}, size = 0.0;
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        next[i] += r.D[i][j] * u[j];
      }
      size += next[i] * next[i];
    }
    L = sqrt(size);
    for (int i = 0; i < N; ++i) {
      u[i] = next[i] / L;
    }
  }
  admm a = {.rho = sqrt(L * 1e-6) * pow(L / 1e-6, 0.2)};
  for (int i = 0; i < N; ++i) {
    a.w[i] = fmax(0.0, r.q[i]);
  }
  double best[N] = {0}, best_2 = map_2(&r, best);
  for (int32_t count = 1; count <= 9; ++count) {
    iterate_admm(&r, &a, 1.0, false, count);
    keep_better(&r, a.y, best, &best_2);
  }
  sap_problem* p = make_problem(&r);
  sap_solver_options options = sap_solver_options_default();
  sap_solution s = {0};
  options.max_sweeps = 9;
  options.relative_tolerance = options.absolute_tolerance = 0.0;
  (void)solve_problem("admm-ccp", &options, p, &s, NULL);
  double change = 0.0;
  for (int i = 0; i < N; ++i) {
    change = fmax(change, fabs(s.gamma[i] - r.scale[i] * best[i]));
  }
  print_message("rho %g: impulses differ by %g, residual %g\n", a.rho, change, sqrt(best_2));
  assert_true(change <= 0.05 * sqrt(best_2) + 1e-12 && best_2 > 1e-12);
  sap_solution_clear(&s);
  sap_problem_destroy(p);
}

// Without warm start a solver repeats itself; with it, it starts from what it found.
static void test_warm_start(void** state) {
  (void)state;
  static const double A[N * N] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, R[N] = {0.1, 0.1, 0.1};
  const rows r = make_rows();
  const int32_t size = N, tree = 0;
  const double* J = r.J;
  for (int warm = 0; warm < 2; ++warm) {
    sap_problem* p;
    sap_solver* solver;
    sap_solution s = {0};
    sap_report report = {0};
    sap_solver_options options = sap_solver_options_default();
    options.warm_start = warm == 1;
    assert_int_equal(sap_solver_create("pgs-ccp", &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reset(p, 1e-3, 1, &size, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, N, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_v_star(p, r.v_star, NULL), SAP_STATUS_OK);
    const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                             .nrows = N,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = &J,
                             .R = R,
                             .v_hat = r.v_hat,
                             .key = 7};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
    const int32_t cold = report.iterations;
    assert_true(cold > 3);
    assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.iterations, warm == 1 ? 0 : cold);
    sap_solver_destroy(solver);
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

static void test_penalties(void** state) {
  (void)state;
  check_admm("admm-ccp", SAP_PENALTY_FIXED, 0.0, 1.0);
  check_admm("admm-ncp", SAP_PENALTY_FIXED, 0.07, 1.0);
  check_admm("admm-ccp", SAP_PENALTY_FIXED, 0.3, 1.6);
  check_admm("admm-ccp", SAP_PENALTY_LINEAR, 30.0, 1.0);
  check_admm("admm-ncp", SAP_PENALTY_LINEAR, 1e-3, 0.7);
}

// A mass that lands on the ground and slides: SAP's answer by hand, castro (28).
typedef struct body {
  double mass, v_star[3], mu, R;
} body;

enum { BODIES = 6 };
static const body ISLANDS[BODIES] = {
    {1.0, {3.0, 0.2, -1.0}, 0.3, 0.1},  {2.0, {0.1, 0.0, -2.0}, 0.8, 0.2},
    {0.5, {-1.0, 0.5, -0.5}, 0.5, 0.3}, {4.0, {1.0, -0.7, -3.0}, 0.4, 0.05},
    {3.0, {0.6, 0.3, -0.2}, 0.6, 0.4},  {1.5, {-2.0, 1.5, -1.2}, 0.2, 0.2}};

// Islands: bodies 0; 1 and 2; 3, 4 and 5, in a row each; only: that island alone, -1: all.
static sap_problem* make_islands(int only) {
  static const int first[4] = {0, 1, 3, 6};
  const int from = only < 0 ? 0 : first[only], to = only < 0 ? BODIES : first[only + 1];
  double mass[BODIES] = {0}, v_star[BODIES][3] = {{0}};
  for (int32_t i = from; i < to; ++i) {
    mass[i - from] = ISLANDS[i].mass;
    memcpy(v_star[i - from], ISLANDS[i].v_star, sizeof v_star[0]);
  }
  sap_problem* p = point_masses_create(mass, (const double(*)[3])v_star, to - from);
  for (int32_t i = from; i < to; ++i) {
    const bool starts = i == 0 || i == 1 || i == 3;
    point_masses_add_contact(p, i - from, starts ? -1 : i - from - 1, ISLANDS[i].mu, ISLANDS[i].R,
                             0);
  }
  if (to == BODIES) {  // as many rows as velocities would hide which of them is counted
    point_masses_add_contact(p, to - from - 1, -1, 0.1, 0.7, 0);
  }
  return p;
}

static void check_report(const char* name, bool islands) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-10;
  options.islands = islands;
  sap_report sum = {0}, all = {0};
  sap_solution s = {0};
  sap_problem* p;
  for (int k = 0; k < (islands ? 3 : 1); ++k) {
    sap_report one = {0};
    p = make_islands(islands ? k : -1);
    assert_int_equal(solve_problem(name, &options, p, &s, &one), SAP_OUTCOME_CONVERGED);
    assert_int_equal(one.islands, 1);
    assert_int_equal(one.largest_island, islands ? 3 * (k + 1) : 3 * BODIES);
    // ipm counts its end once more when Newton's method on the natural map takes over
    assert_true(one.history_count == one.iterations + 1 || strcmp(name, "ipm") == 0);
    assert_int_equal(one.total_iterations, one.iterations);
    int32_t evaluations = 0;
    for (int32_t i = 0; i < one.history_count; ++i) {
      evaluations += one.history[i].evaluations;
      assert_true(((one.history[i].step_length == 0.0) == (i == 0)) || strcmp(name, "ipm") == 0);
    }
    if (strncmp(name, "sap", 3) == 0) {
      assert_int_equal(evaluations, one.evaluations);
    }
    sum.iterations = one.iterations > sum.iterations ? one.iterations : sum.iterations;
    sum.total_iterations += one.total_iterations;
    sum.factorizations += one.factorizations;
    sum.evaluations += one.evaluations;
    sum.cost += one.cost;
    sap_problem_destroy(p);
    sap_report_clear(&one);
  }
  p = make_islands(-1);
  assert_int_equal(solve_problem(name, &options, p, &s, &all), SAP_OUTCOME_CONVERGED);
  sap_residual residual;
  assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
  assert_int_equal(all.islands, islands ? 3 : 1);
  assert_int_equal(all.largest_island, islands ? 9 : 3 * BODIES);
  assert_int_equal(all.iterations, sum.iterations);
  assert_int_equal(all.total_iterations, sum.total_iterations);
  assert_int_equal(all.factorizations, sum.factorizations);
  assert_int_equal(all.evaluations, sum.evaluations);
  assert_true(all.history_count == all.iterations + 1 || strcmp(name, "ipm") == 0);
  ASSERT_NEAR(all.cost, sum.cost, 1e-13 * sum.cost);
  ASSERT_NEAR(all.cost, residual.cost, 1e-13 * sum.cost);
  ASSERT_NEAR(s.cost, all.cost, 0.0);
  ASSERT_NEAR(all.momentum_error, residual.momentum, 1e-13);
  assert_true(all.time > 0.0 && all.time < 10.0);
  if (strcmp(name, "sap") == 0) {
    ASSERT_NEAR(all.history[all.iterations].cost, all.cost, 1e-13 * sum.cost);
  }
  sap_solution_clear(&s);
  sap_report_clear(&all);
  sap_problem_destroy(p);
}

static void test_reports(void** state) {
  (void)state;
  sap_problem* p = make_islands(2);
  sap_solution s = {0};
  sap_report report = {0};
  (void)solve_problem("lemke", NULL, p, &s, &report);
  assert_true(report.history_count >= 2);
  for (int32_t i = 0; i < report.history_count; ++i) {  // an attempt is a whole step
    ASSERT_NEAR(report.history[i].step_length, i == 0 ? 0.0 : 1.0, 0.0);
  }
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
  static const char* const names[] = {"sap", "pgs-ccp", "admm-ccp", "ipm", "proximal-newton"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    check_report(names[i], true);
    check_report(names[i], false);
  }
}

// The patterns of three islands are analysed once.
static void test_analyses(void** state) {
  (void)state;
  sap_problem* p = make_islands(-1);
  sap_solver* solver;
  sap_solution s = {0};
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.linear_solver = SAP_LINEAR_BLOCK;
  assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.symbolic_analyses, 3);
  assert_int_equal(sap_solver_solve(solver, p, &s, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.symbolic_analyses, 0);
  sap_solver_destroy(solver);
  sap_solution_clear(&s);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

// Backtracking takes Newton's whole step, whatever its factor: quadratic convergence.
static void test_backtracking_factors(void** state) {
  (void)state;
  static const double FACTORS[] = {0.8, 0.5, 0.3, 0.1, 0.03};
  for (int k = 0; k < 5; ++k) {
    for (int newton = 0; newton < 2; ++newton) {
      sap_problem* p = make_islands(-1);
      sap_solver_options options = sap_solver_options_default();
      sap_solution s = {0};
      sap_report report = {0};
      options.line_search = SAP_LINE_SEARCH_BACKTRACKING;
      options.newton = (sap_newton_method)newton;
      options.backtracking_factor = FACTORS[k];
      options.relative_tolerance = 1e-10;
      assert_int_equal(solve_problem("sap", &options, p, &s, &report), SAP_OUTCOME_CONVERGED);
      if (report.iterations > 7) {
        fail_msg("factor %g: %d iterations", FACTORS[k], (int)report.iterations);
      }
      sap_solution_clear(&s);
      sap_report_clear(&report);
      sap_problem_destroy(p);
    }
  }
}

// A limit of k iterations ends the same iterations after k of them.
static void test_limits(void** state) {
  (void)state;
  static const char* const names[] = {"sap", "ipm", "newton-ncp"};
  for (int n = 0; n < 3; ++n) {
    sap_problem* p = make_islands(2);
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-10;
    sap_solution s = {0};
    sap_report whole = {0}, part = {0};
    (void)solve_problem(names[n], &options, p, &s, &whole);
    assert_true(whole.iterations >= (n == 2 ? 1 : 2));
    for (int32_t k = 0; k < whole.iterations; ++k) {
      options.max_iterations = k;
      const sap_outcome outcome = solve_problem(names[n], &options, p, &s, &part);
      assert_int_equal(outcome, SAP_OUTCOME_ITERATION_LIMIT);
      assert_int_equal(part.iterations, k);
      assert_int_equal(part.history_count, k + 1);
      for (int32_t i = 0; i <= k; ++i) {
        assert_true(part.history[i].cost == whole.history[i].cost);
        assert_true(part.history[i].momentum_error == whole.history[i].momentum_error);
      }
    }
    // the judge's error after one iteration, as the absolute tolerance, ends after one
    sap_residual residual;
    options.max_iterations = 1;
    (void)solve_problem("sap", &options, p, &s, &part);
    assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
    options.max_iterations = 300;
    options.relative_tolerance = 0.0;
    options.absolute_tolerance = 1.001 * residual.momentum_absolute;
    assert_int_equal(solve_problem("sap", &options, p, &s, &part), SAP_OUTCOME_CONVERGED);
    assert_int_equal(part.iterations, 1);
    options.absolute_tolerance = 0.999 * residual.momentum_absolute;
    assert_int_equal(solve_problem("sap", &options, p, &s, &part), SAP_OUTCOME_CONVERGED);
    assert_int_equal(part.iterations, 2);
    sap_solution_clear(&s);
    sap_report_clear(&whole);
    sap_report_clear(&part);
    sap_problem_destroy(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_over_relaxed_sweeps),
      cmocka_unit_test(test_penalties),
      cmocka_unit_test(test_spectral_start),
      cmocka_unit_test(test_warm_start),
      cmocka_unit_test(test_relaxed_stages),
      cmocka_unit_test(test_reports),
      cmocka_unit_test(test_analyses),
      cmocka_unit_test(test_backtracking_factors),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
