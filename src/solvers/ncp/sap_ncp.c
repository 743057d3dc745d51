// SPDX-License-Identifier: BSD-3-Clause
// The NCP with compliance as a fixed point around SAP's convex problem.      De Saxce, Feng 1998
//   s_i = mu |g_t|,  g = J v - v_hat + R gamma        De Saxce's shift of contact i, >= 0 [m/s]
//   (v, gamma) = SAP with v_hat_n - s_i
// Then g_n + s_i is complementary to gamma_n: the NCP, if s is its own image T(s). Anderson
// acceleration finds s; the tolerance of the inner solves follows the natural map. s is kept
// between solves by block key. Two safeguards: an error far above the least one restarts from the
// best shifts with half a plain step; when the solves are used up, proximal Newton on the NCP
// polishes the best impulses.
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "core/platform.h"
#include "problem/problem_data.h"
#include "problem/warm_start.h"
#include "solvers/dual/dual.h"
#include "solvers/islands.h"
#include "solvers/primal/sap.h"
#include "solvers/report.h"
#include "solvers/residuals.h"
#include "solvers/row_violation.h"

enum {
  SOLVES = 40,  // inner solves
  DEPTH = 5     // differences of Anderson's method
};
static const double LOOSEST = 0.1;   // inner tolerance of the first solve
static const double TIGHTER = 0.2;   // inner tolerance relative to the error
static const double TOO_FAR = 10.0;  // ratio to the least error that restarts

// Anderson acceleration, type II (Walker, Ni 2011), of a fixed point s = T(s); f = T - s. The last
// differences are in a ring.
typedef struct anderson {
  double* memory;  // differences of f and of T, then the last f and T
  int32_t n;
  int32_t count;  // differences in the ring, at most DEPTH
  int32_t next;   // place of the next difference
  bool has_last;
} anderson;

typedef struct sap_ncp {
  void *primal, *polish;  // workspaces of the inner solvers
  sap_islands islands;
  anderson anderson;
  sap_warm_start warm;       // shifts of the previous solve, in the rows of normals
  sap_solution inner, best;  // of the last inner solve, of the least error
  sap_report report;         // of the last inner solve
  sap_report totals;         // over the inner solves
  sap_history history;       // one row per inner solve
  double least_error;        // of `best`: the largest of the maps and of the momentum's errors
  double deadline;           // clock of the time limit [s]
  sap_pool pool;             // of the arrays below, and of the acceleration's
  int32_t ncones;
  double* memory;  // of the arrays up to `work`
  int32_t* cone;   // block of each cone                                   (ncones)
  double *shift, *image, *best_shift, *best_image, *weight;  // s, T(s)    (ncones)
  double* rows;        // shifted v_hat                                    (nrows)
  double* shift_rows;  // shifts by rows, for the warm start               (nrows)
  double* rho;         // steps of the natural map                         (nrows)
  double* work;        // of sap_complementarity_steps
  double* speeds;      // largest map of no impulses in an island [m/s]    (islands)
} sap_ncp;

static double* column_f(const anderson* a, int32_t i) {
  return a->memory + (size_t)i * (size_t)a->n;
}

static double* column_T(const anderson* a, int32_t i) {
  return a->memory + (size_t)(DEPTH + i) * (size_t)a->n;
}

// Drops the differences.
static void anderson_restart(anderson* a) {
  a->count = a->next = 0;
  a->has_last = false;
}

// Solves the normal equations for theta by Cholesky. Dependent directions get 0.
static void solve_normal(double N[DEPTH][DEPTH], double* theta, int32_t count) {
  static const double LEAST_PIVOT = 1e-12;  // relative to the diagonal: dependent differences
  bool used[DEPTH];
  for (int32_t j = 0; j < count; ++j) {
    const double diagonal = N[j][j];
    for (int32_t k = 0; k < j; ++k) {
      N[j][j] -= N[j][k] * N[j][k];
    }
    used[j] = N[j][j] > LEAST_PIVOT * diagonal;
    N[j][j] = used[j] ? sqrt(N[j][j]) : 1.0;
    for (int32_t i = j + 1; i < count; ++i) {
      for (int32_t k = 0; k < j; ++k) {
        N[i][j] -= N[i][k] * N[j][k];
      }
      N[i][j] = used[j] ? N[i][j] / N[j][j] : 0.0;
    }
    if (!used[j]) {
      theta[j] = 0.0;
      for (int32_t k = 0; k < j; ++k) {
        N[j][k] = 0.0;
      }
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t k = 0; k < i; ++k) {
      theta[i] -= N[i][k] * theta[k];
    }
    theta[i] /= N[i][i];
  }
  for (int32_t i = count - 1; i >= 0; --i) {
    for (int32_t k = i + 1; k < count; ++k) {
      theta[i] -= N[k][i] * theta[k];
    }
    theta[i] /= N[i][i];
  }
}

// Sets next = T - dT theta, with theta the least squares solution of f = dF theta, f = T - s.
// weights (n): weights of the unknowns in the least squares. next may be s.
static void anderson_next(anderson* a, const double* s, const double* T, const double* weights,
                          double* next) {
  const int32_t n = a->n;
  double *f = a->memory + (size_t)(2 * DEPTH) * (size_t)n, *T_last = f + n;
  if (a->has_last) {
    double *df = column_f(a, a->next), *dT = column_T(a, a->next);
    for (int32_t i = 0; i < n; ++i) {
      df[i] = T[i] - s[i] - f[i];
      dT[i] = T[i] - T_last[i];
    }
    a->next = (a->next + 1) % DEPTH;
    a->count = a->count < DEPTH ? a->count + 1 : a->count;
  }
  for (int32_t i = 0; i < n; ++i) {
    f[i] = T[i] - s[i];
    T_last[i] = T[i];
  }
  a->has_last = true;
  double N[DEPTH][DEPTH] = {{0}}, theta[DEPTH] = {0};
  for (int32_t j = 0; j < a->count; ++j) {
    const double* fj = column_f(a, j);
    for (int32_t k = 0; k < n; ++k) {
      theta[j] += weights[k] * weights[k] * fj[k] * f[k];
    }
    for (int32_t i = j; i < a->count; ++i) {
      const double* fi = column_f(a, i);
      for (int32_t k = 0; k < n; ++k) {
        N[i][j] += weights[k] * weights[k] * fj[k] * fi[k];
      }
    }
  }
  solve_normal(N, theta, a->count);
  for (int32_t k = 0; k < n; ++k) {
    double value = T_last[k];
    for (int32_t j = 0; j < a->count; ++j) {
      value -= theta[j] * column_T(a, j)[k];
    }
    next[k] = value;
  }
}

sap_status sap_ncp_create(void** workspace, sap_error* error) {
  *workspace = NULL;
  sap_ncp* w;
  SAP_TRY(SAP_NEW(&w, 1, "solver", error));
  SAP_TRY_OR(sap_primal_create(&w->primal, error), sap_ncp_destroy(w));
  SAP_TRY_OR(sap_dual_create(&w->polish, error), sap_ncp_destroy(w));
  ((sap_primal*)w->primal)->keeps_errors = true;
  *workspace = w;
  return SAP_STATUS_OK;
}

void sap_ncp_destroy(void* workspace) {
  sap_ncp* w = workspace;
  if (w == NULL) {
    return;
  }
  sap_primal_destroy(w->primal);
  sap_dual_destroy(w->polish);
  sap_warm_start_clear(&w->warm);
  sap_solution_clear(&w->inner);
  sap_solution_clear(&w->best);
  sap_report_clear(&w->report);
  sap_history_clear(&w->history);
  sap_pool_free(&w->pool);
  sap_islands_clear(&w->islands);
  sap_free(w);
}

sap_status sap_ncp_archive(void* workspace, sap_archive* archive, sap_error* error) {
  sap_ncp* w = workspace;
  SAP_TRY(sap_primal_archive(w->primal, archive, error));
  SAP_TRY(sap_dual_archive(w->polish, archive, error));
  return sap_warm_start_archive(&w->warm, archive, error);
}

// Returns the rest of the time limit [s], never 0, which would mean no limit.
static double time_left(const sap_solver_options* options, double deadline) {
  return options->time_limit > 0.0 ? fmax(deadline - sap_clock_seconds(), 1e-9) : 0.0;
}

// Adds up the natural maps of an island's blocks at w->inner, each with its step.
static sap_complementarity island_maps(const sap_ncp* w, const sap_problem* p, int32_t island) {
  const sap_island view = sap_islands_get(&w->islands, island);
  sap_complementarity sums = {0};
  for (int32_t i = 0; i < view.nblocks; ++i) {
    const int32_t b = view.blocks[i], row = p->blocks[b].first_row;
    sap_complementarity_add(p, b, w->inner.vc + row, w->inner.gamma + row, w->rho + row, &sums);
  }
  return sums;
}

// Finds the islands, and in each the speed that its impulses must make up.  fails: MEMORY
static sap_status begin_islands(sap_ncp* w, const sap_problem* p, sap_error* error) {
  SAP_TRY(sap_islands_find(&w->islands, p, false, error));
  SAP_TRY(SAP_ROOM(&w->pool, &w->speeds, w->islands.count, error));
  SAP_TRY(sap_solution_resize(&w->inner, p->nv, p->nrows, error));
  sap_contact_velocity(p, p->v_star, w->inner.vc);
  for (int32_t i = 0; i < p->nrows; ++i) {
    w->inner.gamma[i] = 0.0;
  }
  for (int32_t i = 0; i < w->islands.count; ++i) {
    w->speeds[i] = island_maps(w, p, i).ncp.speed;
  }
  return SAP_STATUS_OK;
}

// Makes room, lists the cones, computes the steps of the natural map, and recalls the shifts that
// the blocks had in the previous solve (warm).  fails: MEMORY, NOT_SPD
static sap_status begin_shifts(sap_ncp* w, const sap_problem* p, bool warm, sap_error* error) {
  const int64_t nrows = p->nrows;
  const int64_t nblocks = p->nblocks;
  SAP_TRY(SAP_CARVE(&w->pool, &w->memory, error, SAP_ARRAY(&w->cone, nblocks),
                    SAP_ARRAY(&w->shift, nblocks), SAP_ARRAY(&w->image, nblocks),
                    SAP_ARRAY(&w->best_shift, nblocks), SAP_ARRAY(&w->best_image, nblocks),
                    SAP_ARRAY(&w->weight, nblocks), SAP_ARRAY(&w->rows, nrows),
                    SAP_ARRAY(&w->shift_rows, nrows), SAP_ARRAY(&w->rho, nrows),
                    SAP_ARRAY(&w->work, sap_complementarity_work(p))));
  SAP_TRY(sap_history_begin(&w->history, SOLVES + 1, 0.0, error));
  w->ncones = 0;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    if (p->blocks[b].set == SAP_SET_FRICTION_CONE && p->blocks[b].friction > 0.0) {
      w->cone[w->ncones++] = b;
    }
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    const sap_block_data* block = &p->blocks[w->cone[k]];
    const double* stored = warm ? sap_warm_start_find(&w->warm, block->key, block->nrows) : NULL;
    w->shift[k] = stored != NULL ? stored[SAP_NORMAL_ROW] : 0.0;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    SAP_TRY(sap_complementarity_steps(p, b, w->work, w->rho + p->blocks[b].first_row, NULL, error));
  }
  SAP_TRY(begin_islands(w, p, error));
  SAP_TRY(SAP_ROOM(&w->pool, &w->anderson.memory, (int64_t)w->ncones * (2 * DEPTH + 2), error));
  w->anderson.n = w->ncones;
  anderson_restart(&w->anderson);
  return SAP_STATUS_OK;
}

// Returns the largest relative natural map of an island's NCP at the inner solution: as impulses
// of the island, or as the velocity of one of its blocks (dual.h). Maps whose work is below eps_a^2
// are round-off.
static double natural_map(const sap_ncp* w, const sap_problem* p, double absolute) {
  double worst = 0.0;
  for (int32_t i = 0; i < w->islands.count; ++i) {
    const sap_complementarity sums = island_maps(w, p, i);
    if (sqrt(sums.ncp.scaled_map_2) * sums.ncp.speed <= absolute * absolute) {
      continue;
    }
    const double miss = w->speeds[i] > 0.0 ? sums.ncp.speed / w->speeds[i] : 0.0;
    worst = fmax(worst, fmax(miss, sap_relative_map(sums.ncp.scaled_map_2, sums.gamma_2)));
  }
  return worst;
}

// The natural map where it is above eps_r; else rows and trees on their own scales, as a part of
// what they may miss by, take its place if they miss.  fails: MEMORY, NOT_SPD
static sap_status find_map(const sap_ncp* w, const sap_solve_call* call, double* map,
                           sap_error* error) {
  const double wanted = call->options->relative_tolerance;
  *map = natural_map(w, call->problem, call->options->absolute_tolerance);
  if (*map <= wanted) {
    sap_residual r;
    SAP_TRY(sap_residuals(call->problem, w->inner.v, w->inner.gamma, &r, error));
    const double miss = fmax(r.ncp_row, r.tree) / sap_row_tolerance(wanted);
    *map = miss > 1.0 ? wanted * miss : *map;
  }
  return SAP_STATUS_OK;
}

// Sets the images T of the inner solution, and weights 1 for contacts that press.
static void find_images(sap_ncp* w, const sap_problem* p) {
  for (int32_t k = 0; k < w->ncones; ++k) {
    const sap_block_data* block = &p->blocks[w->cone[k]];
    const int32_t row = block->first_row;
    double g[SAP_CONE_ROWS_MAX] = {0.0};
    for (int32_t r = 0; r < block->nrows; ++r) {
      g[r] = w->inner.vc[row + r] - p->v_hat_shifted[row + r] +
             p->R[row + r] * w->inner.gamma[row + r];
    }
    w->image[k] = block->friction * sqrt(sap_cone_n_dot(block->nrows, g, g));
    w->weight[k] = w->inner.gamma[row + 2] > 0.0 ? 1.0 : 0.0;
  }
}

// Makes the inner solution, its shifts and images the best.  fails: MEMORY
static sap_status keep_best(sap_ncp* w, const sap_problem* p, sap_error* error) {
  const size_t nc = (size_t)w->ncones;
  SAP_TRY(sap_solution_resize(&w->best, p->nv, p->nrows, error));
  sap_solution_copy(&w->best, &w->inner);
  if (nc > 0) {
    memcpy(w->best_shift, w->shift, nc * sizeof(double));
    memcpy(w->best_image, w->image, nc * sizeof(double));
  }
  return SAP_STATUS_OK;
}

// Sets the next shifts: accelerated or, if too_far, half a plain step from the best.
static void next_shifts(sap_ncp* w, bool too_far) {
  if (too_far) {
    anderson_restart(&w->anderson);
    for (int32_t k = 0; k < w->ncones; ++k) {
      w->shift[k] = 0.5 * (w->best_shift[k] + w->best_image[k]);
      w->best_shift[k] = w->shift[k];  // if again too far: another half
    }
    return;
  }
  anderson_next(&w->anderson, w->shift, w->image, w->weight, w->shift);
  for (int32_t k = 0; k < w->ncones; ++k) {
    const double s = w->weight[k] > 0.0 ? w->shift[k] : w->image[k];
    w->shift[k] = s > 0.0 ? s : 0.0;
  }
}

// Solves SAP on the shifted problem, from the velocities of the previous inner solve if
// `continues`.
static sap_status solve_shifted(sap_ncp* w, const sap_solve_call* call, bool continues,
                                double tolerance, sap_error* error) {
  const sap_problem* p = call->problem;
  sap_problem shifted = *p;  // a view: all but v_hat and the guess is the caller's
  sap_solver_options inner = *call->options;
  inner.relative_tolerance = tolerance;
  inner.time_limit = time_left(call->options, w->deadline);
  if (p->nrows > 0) {
    memcpy(w->rows, p->v_hat_shifted, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    w->rows[p->blocks[w->cone[k]].first_row + SAP_NORMAL_ROW] -= w->shift[k];
  }
  shifted.v_hat_shifted = w->rows;
  if (continues) {
    shifted.v_guess = w->inner.v;
    shifted.has_guess = true;
  }
  const sap_solve_call one = {&inner, &shifted, &w->inner, &w->report, NULL};
  return sap_primal_solve(w->primal, NULL, &one, error);
}

// Adds an inner solve to the totals and to the history: iterations of successive solves add up,
// their islands are the same.
static void add_solve(sap_ncp* w, double map) {
  const sap_report* report = &w->report;
  sap_report one = *report;
  one.outcome = SAP_OUTCOME_CONVERGED;  // that of the last solve counts
  one.iterations += w->totals.iterations;
  sap_report_add(&w->totals, &one);
  w->totals.islands = report->islands;
  // rows were reserved; a relative error has scale 1
  (void)sap_history_add(&w->history,
                        &(sap_history_row){.cost = w->inner.cost,
                                           .gradient_2 = map * map,
                                           .momentum_2 = 1.0,
                                           .step_length = 1.0,
                                           .evaluations = report->evaluations},
                        NULL);
}

static sap_status iterate_shifts(sap_ncp* w, const sap_solve_call* call, sap_error* error) {
  const sap_problem* p = call->problem;
  const double wanted = call->options->relative_tolerance;
  double tolerance = w->ncones > 0 ? fmax(wanted, LOOSEST) : wanted;
  for (int k = 0; k < SOLVES; ++k) {
    SAP_TRY(solve_shifted(w, call, k > 0, tolerance, error));
    double map;
    SAP_TRY(find_map(w, call, &map, error));
    const double momentum = sap_primal_worst_error(w->primal);
    const double error_now = fmax(map, momentum);
    add_solve(w, map);
    find_images(w, p);
    if (k == 0 || error_now < w->least_error) {
      w->least_error = error_now;
      SAP_TRY(keep_best(w, p, error));
    }
    if (map <= wanted && (momentum <= wanted || tolerance <= wanted)) {
      w->totals.outcome = momentum <= wanted ? SAP_OUTCOME_CONVERGED : w->report.outcome;
      return SAP_STATUS_OK;
    }
    if (call->options->time_limit > 0.0 && sap_clock_seconds() >= w->deadline) {
      w->totals.outcome = SAP_OUTCOME_TIME_LIMIT;
      return SAP_STATUS_OK;
    }
    const bool idle = k > 0 && w->report.total_iterations == 0;
    tolerance = fmax(wanted, fmin(idle ? 0.1 * tolerance : tolerance, TIGHTER * error_now));
    if (map > wanted) {
      next_shifts(w, error_now > TOO_FAR * w->least_error);
    }
  }
  w->totals.outcome = SAP_OUTCOME_ITERATION_LIMIT;
  return SAP_STATUS_OK;
}

// Runs proximal Newton on the NCP from the best impulses. Its claims count if find_map agrees.
static sap_status polish(sap_ncp* w, const sap_solve_call* call, sap_error* error) {
  sap_solver_options inner = *call->options;
  inner.time_limit = time_left(call->options, w->deadline);
  const sap_solve_call one = {&inner, call->problem, &w->inner, &w->report, w->best.gamma};
  SAP_TRY(sap_dual_run(w->polish, &one, true, sap_proximal_newton, error));
  double map;
  SAP_TRY(find_map(w, call, &map, error));
  add_solve(w, map);
  const sap_outcome outcome = w->report.outcome;
  const bool claims = outcome == SAP_OUTCOME_CONVERGED || outcome == SAP_OUTCOME_ROUNDOFF;
  const bool solved = claims && map <= inner.relative_tolerance;
  w->totals.outcome = solved || !claims ? outcome : SAP_OUTCOME_ITERATION_LIMIT;
  if (solved || fmax(map, w->report.momentum_error) < w->least_error) {
    find_images(w, call->problem);
    w->least_error = fmax(map, w->report.momentum_error);
    return keep_best(w, call->problem, error);
  }
  return SAP_STATUS_OK;
}

// Writes solution and report. Fails before it writes any of them.
static sap_status hand_over(sap_ncp* w, const sap_solve_call* call, sap_error* error) {
  const sap_problem* p = call->problem;
  for (int32_t i = 0; i < p->nrows; ++i) {
    w->shift_rows[i] = 0.0;
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    w->shift_rows[p->blocks[w->cone[k]].first_row + SAP_NORMAL_ROW] = w->best_image[k];
  }
  w->totals.island_error = w->least_error;
  return sap_report_hand_over(call, &w->warm, w->shift_rows, &w->best, &w->totals, &w->history,
                              error);
}

sap_status sap_ncp_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                         sap_error* error) {
  (void)row;
  sap_ncp* w = workspace;
  w->totals = (sap_report){0};
  w->least_error = 0.0;
  w->deadline = sap_clock_seconds() + call->options->time_limit;
  SAP_TRY(begin_shifts(w, call->problem, call->options->warm_start, error));
  SAP_TRY(iterate_shifts(w, call, error));
  if (w->totals.outcome == SAP_OUTCOME_ITERATION_LIMIT) {
    SAP_TRY(polish(w, call, error));
  }
  return hand_over(w, call, error);
}
