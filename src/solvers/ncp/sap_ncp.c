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

#include "core/clock.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/answer.h"
#include "solvers/dual/dual.h"
#include "solvers/ncp/newton_ncp.h"
#include "solvers/ncp/sap_ncp_shift.h"
#include "solvers/primal/sap.h"
#include "solvers/solver_table.h"

static const double LOOSEST = 0.1;   // inner tolerance of the first solve
static const double TIGHTER = 0.2;   // inner tolerance as a part of the natural map
static const double TOO_FAR = 10.0;  // natural map over the best one that restarts

// Totals over the solves, and how far the best solution is.
typedef struct progress {
  sap_totals totals;
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

sap_status sap_ncp_archive(void* workspace, sap_archive* archive, sap_error* error) {
  sap_ncp* w = workspace;
  sap_status status = sap_primal_archive(w->primal, archive, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_archive(w->polish, archive, error);
  }
  return status == SAP_STATUS_OK ? sap_key_map_archive(&w->last, archive, error) : status;
}

// What is left of the time limit [s]: a solve whose time is over still ends after its start.
static double time_left(const sap_solver_options* options, double deadline) {
  return options->time_limit > 0.0 ? fmax(deadline - sap_clock_seconds(), 1e-9) : 0.0;
}

// SAP on the shifted problem from velocities `guess`.
static sap_status solve_shifted(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                                const double* guess, double tolerance, sap_error* error) {
  sap_problem shifted = *p;  // a view: all but v_hat and the guess is the caller's
  sap_solver_options inner = *options;
  inner.relative_tolerance = tolerance;
  inner.time_limit = time_left(options, w->deadline);
  if (p->nrows > 0) {
    memcpy(w->rows, p->v_hat, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    w->rows[p->blocks[w->cone[k]].first_row + SAP_NORMAL_ROW] -= sap_ncp_shift(w)[k];
  }
  shifted.v_hat = w->rows;
  if (guess != NULL) {
    shifted.v_guess = w->inner.v;
    shifted.has_guess = true;
  }
  return sap_primal_solve(w->primal, &inner, &shifted, &w->inner, &w->report, error);
}

static void record(sap_ncp* w, double map) {
  w->history.rows[w->history.count++] = (sap_iteration){.cost = w->inner.cost,
                                                        .momentum_error = map,
                                                        .step_length = 1.0,
                                                        .evaluations = w->report.evaluations};
}

// Solves follow one another: their iterations add up, their islands are the same.
static void add_totals(sap_totals* sum, const sap_report* report) {
  const sap_totals one = {.iterations = sum->iterations + report->iterations,
                          .total_iterations = report->total_iterations,
                          .factorizations = report->factorizations,
                          .analyses = report->symbolic_analyses,
                          .evaluations = report->evaluations,
                          .largest = report->largest_island};
  sap_totals_add(sum, &one);
  sum->islands = report->islands;
}

static sap_status fixed_point(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                              progress* sum, sap_error* error) {
  const double wanted = options->relative_tolerance;
  double tolerance = w->ncones > 0 ? fmax(wanted, LOOSEST) : wanted;
  for (int k = 0; k < SAP_NCP_SOLVES; ++k) {
    sap_status status = solve_shifted(w, options, p, k > 0 ? w->inner.v : NULL, tolerance, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    const double map = sap_ncp_natural_map(w, p), momentum = w->report.momentum_error;
    const double error_now = fmax(map, momentum);
    add_totals(&sum->totals, &w->report);
    record(w, map);
    sap_ncp_find_image(w, p);
    if (k == 0 || error_now < sum->error) {
      sum->error = error_now;
      status = sap_ncp_keep_best(w, p, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
    if (map <= wanted && (momentum <= wanted || tolerance <= wanted)) {
      sum->totals.outcome = momentum <= wanted ? SAP_OUTCOME_CONVERGED : w->report.outcome;
      return SAP_STATUS_OK;
    }
    if (options->time_limit > 0.0 && sap_clock_seconds() >= w->deadline) {
      sum->totals.outcome = SAP_OUTCOME_TIME_LIMIT;
      return SAP_STATUS_OK;
    }
    const bool idle = k > 0 && w->report.total_iterations == 0;
    tolerance = fmax(wanted, fmin(idle ? 0.1 * tolerance : tolerance, TIGHTER * error_now));
    if (map > wanted) {
      sap_ncp_next_shift(w, error_now > TOO_FAR * sum->error);
    }
  }
  sum->totals.outcome = SAP_OUTCOME_ITERATION_LIMIT;
  return SAP_STATUS_OK;
}

// Proximal Newton on the NCP from the best impulses.
static sap_status polish(sap_ncp* w, const sap_solver_options* options, const sap_problem* p,
                         progress* sum, sap_error* error) {
  sap_solver_options inner = *options;
  inner.time_limit = time_left(options, w->deadline);
  const sap_dual_call call = {&inner, p, &w->inner, &w->report, w->best.gamma};
  const sap_status status =
      sap_dual_solve(w->polish, &call, true, sap_proximal_newton_method, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double map = sap_ncp_natural_map(w, p);
  add_totals(&sum->totals, &w->report);
  record(w, map);
  sum->totals.outcome = w->report.outcome;
  if (fmax(map, w->report.momentum_error) < sum->error) {
    sap_ncp_find_image(w, p);
    memcpy(sap_ncp_shift(w), sap_ncp_image(w), (size_t)w->ncones * sizeof(double));
    return sap_ncp_keep_best(w, p, error);
  }
  return SAP_STATUS_OK;
}

// Fails before it writes anything that the caller sees.
static sap_status hand_over(sap_ncp* w, const sap_problem* p, progress* sum, sap_solution* solution,
                            sap_report* report, sap_error* error) {
  double* rows = w->rows + p->nrows;
  for (int32_t i = 0; i < p->nrows; ++i) {
    rows[i] = 0.0;
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    rows[p->blocks[w->cone[k]].first_row + SAP_NORMAL_ROW] = sap_ncp_best_image(w)[k];
  }
  sap_residual residual;
  sap_status status = sap_residuals(p, w->best.v, w->best.gamma, &residual, error);
  if (status == SAP_STATUS_OK) {
    status = sap_answer_reserve(p, w->history.capacity, solution, report, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_key_map_reserve(&w->last, p, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_key_map_store(&w->last, p, rows);
  const sap_answer answer = {p, w->best.v, w->best.gamma, w->best.vc, NULL, residual.momentum};
  sum->totals.cost = residual.cost;
  sap_answer_hand_over(&answer, &sum->totals, solution, report);
  if (report != NULL) {
    report->history_count = w->history.count;
    memcpy(report->history, w->history.rows, (size_t)w->history.count * sizeof(sap_iteration));
  }
  return SAP_STATUS_OK;
}

sap_status sap_ncp_solve(void* workspace, const sap_solver_options* options, const sap_problem* p,
                         sap_solution* solution, sap_report* report, sap_error* error) {
  sap_ncp* w = workspace;
  progress sum = {0};
  w->deadline = sap_clock_seconds() + options->time_limit;
  sap_status status = sap_ncp_start(w, p, options->warm_start, error);
  if (status == SAP_STATUS_OK) {
    status = fixed_point(w, options, p, &sum, error);
  }
  if (status == SAP_STATUS_OK && sum.totals.outcome == SAP_OUTCOME_ITERATION_LIMIT) {
    status = polish(w, options, p, &sum, error);
  }
  return status == SAP_STATUS_OK ? hand_over(w, p, &sum, solution, report, error) : status;
}
