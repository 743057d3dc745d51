// SPDX-License-Identifier: BSD-3-Clause
// The NCP with compliance as a fixed point around SAP's convex problem.
//   s_i = mu |g_t|,  g = J v - v_hat + R gamma        De Saxce's shift of contact i, >= 0 [m/s]
//   (v, gamma) = SAP with v_hat_n - s_i: its g_n + s_i is complementary to gamma, which is the NCP
// when s is its own image T(s). Anderson acceleration of s; the inner tolerance follows the natural
// map; s is kept between solves by block identity. Two safeguards: a natural map far above the best
// restarts from there with half a plain step, and when the solves run out a proximal Newton on the
// NCP polishes the best impulses.
#include "solvers/ncp/sap_ncp.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/dual/dual.h"
#include "solvers/dual/key_map.h"
#include "solvers/ncp/anderson.h"
#include "solvers/ncp/newton_ncp.h"
#include "solvers/primal/sap.h"
#include "solvers/solver_table.h"

enum { MAXIMUM_SOLVES = 40 };
static const double LOOSEST = 0.1;   // inner tolerance of the first solve
static const double TIGHTER = 0.2;   // inner tolerance as a part of the natural map
static const double TOO_FAR = 10.0;  // natural map over the best one that restarts

typedef struct ncp_history {
  sap_iteration* rows;
  int32_t count, capacity;
} ncp_history;

typedef struct sap_ncp {
  void *primal, *polish;
  sap_anderson anderson;
  sap_key_map last;  // shifts of the solve before, in the rows of normals
  sap_solution inner, best;
  sap_report report;  // of the inner solve
  ncp_history history;
  int32_t ncones;
  int32_t* cone;  // block of each cone
  double* cones;  // s, T, s and T of the best, weights                          (5 ncones)
  double* rows;   // shifted v_hat; shifts by rows                              (2 nrows)
  int32_t cone_capacity, cones_capacity, rows_capacity;
} sap_ncp;

// Totals, and how far the best solution is.
typedef struct progress {
  sap_outcome outcome;
  int32_t iterations, total_iterations, factorizations, analyses, evaluations;
  sap_residual best;
  double error;  // of the best: the larger of natural map and momentum error
} progress;

sap_status sap_ncp_create(void** workspace, sap_error* error) {
  *workspace = NULL;
  sap_ncp* w = sap_allocate(1, sizeof *w);
  if (w == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
  }
  sap_status status = sap_primal_create(&w->primal, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_create(&w->polish, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_ncp_destroy(w);
    return status;
  }
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
  sap_anderson_clear(&w->anderson);
  sap_key_map_clear(&w->last);
  sap_solution_clear(&w->inner);
  sap_solution_clear(&w->best);
  sap_report_clear(&w->report);
  sap_free(w->history.rows);
  sap_free(w->cone);
  sap_free(w->cones);
  sap_free(w->rows);
  sap_free(w);
}

static double* shift(const sap_ncp* w) {
  return w->cones;
}
static double* image(const sap_ncp* w) {
  return w->cones + w->ncones;
}
static double* best_shift(const sap_ncp* w) {
  return w->cones + 2 * w->ncones;
}
static double* best_image(const sap_ncp* w) {
  return w->cones + 3 * w->ncones;
}
static double* weight(const sap_ncp* w) {
  return w->cones + 4 * w->ncones;
}

// Memory, the cones, and the shifts that their blocks had last time.
static sap_status start(sap_ncp* w, const sap_problem* p, bool warm, sap_error* error) {
  sap_status status = SAP_GROW(&w->cone, &w->cone_capacity, p->nblocks, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&w->cones, &w->cones_capacity, 5 * (int64_t)p->nblocks, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&w->rows, &w->rows_capacity, 2 * (int64_t)p->nrows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&w->history.rows, &w->history.capacity, MAXIMUM_SOLVES + 1, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  w->history.count = 0;
  w->ncones = 0;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    if (p->blocks[b].set == SAP_SET_FRICTION_CONE && p->blocks[b].friction > 0.0) {
      w->cone[w->ncones++] = b;
    }
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    const double* kept = warm ? sap_key_map_find(&w->last, p->blocks[w->cone[k]].key, 3) : NULL;
    shift(w)[k] = kept != NULL ? kept[2] : 0.0;
  }
  return sap_anderson_begin(&w->anderson, w->ncones, error);
}

// SAP on the shifted problem from velocities `guess`.
static sap_status solve_shifted(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                                const double* guess, double tolerance, sap_error* error) {
  sap_problem shifted = *p;  // a view: all but v_hat and the guess is the caller's
  sap_solver_options inner = *options;
  inner.relative_tolerance = tolerance;
  if (p->nrows > 0) {
    memcpy(w->rows, p->v_hat, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    w->rows[p->blocks[w->cone[k]].first_row + 2] -= shift(w)[k];
  }
  shifted.v_hat = w->rows;
  if (guess != NULL) {
    shifted.v_guess = w->inner.v;
    shifted.has_guess = true;
  }
  return sap_primal_solve(w->primal, &inner, &shifted, &w->inner, &w->report, error);
}

// T and the weights: a shift matters where the contact presses, as much as it changes the impulse.
static void find_image(sap_ncp* w, const sap_problem* p) {
  for (int32_t k = 0; k < w->ncones; ++k) {
    const sap_block_data* block = &p->blocks[w->cone[k]];
    const int32_t row = block->first_row;
    double g[2];
    for (int32_t r = 0; r < 2; ++r) {
      g[r] = w->inner.vc[row + r] - p->v_hat[row + r] + p->R[row + r] * w->inner.gamma[row + r];
    }
    image(w)[k] = block->friction * sqrt(g[0] * g[0] + g[1] * g[1]);
    weight(w)[k] = w->inner.gamma[row + 2] > 0.0 ? 1.0 : 0.0;
  }
}

static sap_status keep_best(sap_ncp* w, const sap_problem* p, sap_error* error) {
  const size_t nv = (size_t)p->nv, nrows = (size_t)p->nrows, nc = (size_t)w->ncones;
  const sap_status status = sap_solution_resize(&w->best, p->nv, p->nrows, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (nv > 0) {
    memcpy(w->best.v, w->inner.v, nv * sizeof(double));
  }
  if (nrows > 0) {
    memcpy(w->best.gamma, w->inner.gamma, nrows * sizeof(double));
    memcpy(w->best.vc, w->inner.vc, nrows * sizeof(double));
  }
  if (nc > 0) {
    memcpy(best_shift(w), shift(w), nc * sizeof(double));
    memcpy(best_image(w), image(w), nc * sizeof(double));
  }
  return SAP_STATUS_OK;
}

// The next s: accelerated, or back to the best and half a plain step.
static void next_shift(sap_ncp* w, bool too_far) {
  if (too_far) {
    sap_anderson_restart(&w->anderson);
    for (int32_t k = 0; k < w->ncones; ++k) {
      shift(w)[k] = 0.5 * (best_shift(w)[k] + best_image(w)[k]);
      best_shift(w)[k] = shift(w)[k];  // again too far: another half
    }
    return;
  }
  sap_anderson_next(&w->anderson, shift(w), image(w), weight(w), shift(w));
  for (int32_t k = 0; k < w->ncones; ++k) {
    const double s = weight(w)[k] > 0.0 ? shift(w)[k] : image(w)[k];
    shift(w)[k] = s > 0.0 ? s : 0.0;
  }
}

static void record(sap_ncp* w, const sap_residual* residual) {
  w->history.rows[w->history.count++] =
      (sap_iteration){.cost = residual->cost,
                      .momentum_error = residual->ncp_natural_map_scaled,
                      .step_length = 1.0,
                      .evaluations = w->report.evaluations};
}

static void add_totals(progress* sum, const sap_report* report) {
  sum->iterations += report->iterations;
  sum->total_iterations += report->total_iterations;
  sum->factorizations += report->factorizations;
  sum->analyses += report->symbolic_analyses;
  sum->evaluations += report->evaluations;
}

static sap_status fixed_point(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                              progress* sum, sap_error* error) {
  const double wanted = options->relative_tolerance;
  double tolerance = w->ncones > 0 ? fmax(wanted, LOOSEST) : wanted;
  for (int k = 0; k < MAXIMUM_SOLVES; ++k) {
    sap_residual residual;
    sap_status status = solve_shifted(w, options, p, k > 0 ? w->inner.v : NULL, tolerance, error);
    if (status == SAP_STATUS_OK) {
      status = sap_residuals(p, w->inner.v, w->inner.gamma, &residual, error);
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
    add_totals(sum, &w->report);
    record(w, &residual);
    find_image(w, p);
    const double map = residual.ncp_natural_map_scaled, error_now = fmax(map, residual.momentum);
    if (k == 0 || error_now < sum->error) {
      sum->best = residual;
      sum->error = error_now;
      status = keep_best(w, p, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
    if (map <= wanted && (residual.momentum <= wanted || tolerance <= wanted)) {
      sum->outcome = residual.momentum <= wanted ? SAP_OUTCOME_CONVERGED : w->report.outcome;
      return SAP_STATUS_OK;
    }
    const bool idle = k > 0 && w->report.total_iterations == 0;
    tolerance = fmax(wanted, fmin(idle ? 0.1 * tolerance : tolerance, TIGHTER * error_now));
    if (map > wanted) {
      next_shift(w, error_now > TOO_FAR * sum->error);
    }
  }
  sum->outcome = SAP_OUTCOME_ITERATION_LIMIT;
  return SAP_STATUS_OK;
}

// Proximal Newton on the NCP from the best impulses.
static sap_status polish(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                         progress* sum, sap_error* error) {
  sap_residual residual;
  const sap_dual_call call = {options, p, &w->inner, &w->report, w->best.gamma};
  sap_status status = sap_dual_solve(w->polish, &call, true, sap_proximal_newton_method, error);
  if (status == SAP_STATUS_OK) {
    status = sap_residuals(p, w->inner.v, w->inner.gamma, &residual, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  add_totals(sum, &w->report);
  record(w, &residual);
  sum->outcome = w->report.outcome;
  if (fmax(residual.ncp_natural_map_scaled, residual.momentum) < sum->error) {
    sum->best = residual;
    find_image(w, p);
    memcpy(shift(w), image(w), (size_t)w->ncones * sizeof(double));
    return keep_best(w, p, error);
  }
  return SAP_STATUS_OK;
}

// Fails before it writes anything that the caller sees.
static sap_status hand_over(sap_ncp* w, const sap_problem* p, const progress* sum,
                            sap_solution* solution, sap_report* report, sap_error* error) {
  double* rows = w->rows + p->nrows;
  for (int32_t i = 0; i < p->nrows; ++i) {
    rows[i] = 0.0;
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    rows[p->blocks[w->cone[k]].first_row + 2] = best_image(w)[k];
  }
  sap_status status = sap_solution_reserve(solution, p->nv, p->nrows, error);
  if (status == SAP_STATUS_OK && report != NULL) {
    status = SAP_GROW(&report->history, &report->history_capacity, w->history.capacity, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_key_map_store(&w->last, p, rows, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  solution->nv = p->nv;
  solution->nrows = p->nrows;
  solution->cost = sum->best.cost;
  if (p->nv > 0) {
    memcpy(solution->v, w->best.v, (size_t)p->nv * sizeof(double));
  }
  if (p->nrows > 0) {
    memcpy(solution->gamma, w->best.gamma, (size_t)p->nrows * sizeof(double));
    memcpy(solution->vc, w->best.vc, (size_t)p->nrows * sizeof(double));
  }
  if (report == NULL) {
    return SAP_STATUS_OK;
  }
  report->outcome = sum->outcome;
  report->iterations = sum->iterations;
  report->total_iterations = sum->total_iterations;
  report->factorizations = sum->factorizations;
  report->symbolic_analyses = sum->analyses;
  report->evaluations = sum->evaluations;
  report->islands = w->report.islands;
  report->largest_island = w->report.largest_island;
  report->cost = sum->best.cost;
  report->momentum_error = sum->best.momentum;
  report->history_count = w->history.count;
  memcpy(report->history, w->history.rows, (size_t)w->history.count * sizeof(sap_iteration));
  return SAP_STATUS_OK;
}

sap_status sap_ncp_solve(void* workspace, const sap_solver_options* options, const sap_problem* p,
                         sap_solution* solution, sap_report* report, sap_error* error) {
  sap_ncp* w = workspace;
  progress sum = {0};
  sap_status status = start(w, p, options->warm_start, error);
  if (status == SAP_STATUS_OK) {
    status = fixed_point(w, options, p, &sum, error);
  }
  if (status == SAP_STATUS_OK && sum.outcome == SAP_OUTCOME_ITERATION_LIMIT) {
    status = polish(w, options, p, &sum, error);
  }
  return status == SAP_STATUS_OK ? hand_over(w, p, &sum, solution, report, error) : status;
}
