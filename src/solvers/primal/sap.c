// SPDX-License-Identifier: BSD-3-Clause
// SAP over all islands of a problem. Results are collected in the workspace and handed over only
// when every island has been solved, so that a failure leaves solution and report as they were.
#include "solvers/primal/sap.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/primal/lanes.h"

sap_status sap_primal_create(void** workspace, sap_error* error) {
  *workspace = NULL;
  sap_primal* s = sap_allocate(1, sizeof *s);
  if (s == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
  }
  const sap_status status = sap_lanes_set(s, 1, true, error);
  if (status != SAP_STATUS_OK) {
    sap_free(s);
    return status;
  }
  *workspace = s;
  return SAP_STATUS_OK;
}

void sap_primal_destroy(void* workspace) {
  sap_primal* s = workspace;
  if (s == NULL) {
    return;
  }
  sap_islands_clear(&s->islands);
  sap_lanes_clear(s);
  sap_free(s->results);
  sap_history_clear(&s->history);
  sap_free(s->v);
  sap_free(s->impulse);
  sap_free(s->gamma);
  sap_free(s->vc);
  sap_free(s->dual);
  sap_warm_start_clear(&s->last);
  sap_free(s);
}

sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error) {
  sap_primal* s = workspace;
  return sap_warm_start_archive(&s->last, archive, error);
}

static sap_status reserve_solve(sap_primal* s, const sap_problem* p, sap_error* error) {
  SAP_TRY(SAP_GROW(&s->v, &s->v_capacity, p->nv, error));
  SAP_TRY(SAP_GROW(&s->impulse, &s->impulse_capacity, p->nv, error));
  SAP_TRY(SAP_GROW(&s->gamma, &s->gamma_capacity, p->nrows, error));
  SAP_TRY(SAP_GROW(&s->vc, &s->vc_capacity, p->nrows, error));
  SAP_TRY(SAP_GROW(&s->dual, &s->dual_capacity, p->nrows, error));
  SAP_TRY(SAP_GROW(&s->results, &s->result_capacity, p->ntrees, error));
  return sap_warm_start_reserve(&s->last, p, error);
}

// |D A v*|^2 of the trees in no island.
static double free_momentum(const sap_primal* s, const sap_problem* p) {
  double sum = 0.0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const size_t n = (size_t)p->tree_size[t];
    const double* A = p->diagonal + p->diagonal_start[t];
    const double* v = p->v_star + p->tree_start[t];
    for (size_t i = 0; s->islands.local[t] < 0 && i < n; ++i) {
      double momentum = 0.0;
      for (size_t j = 0; j < n; ++j) {
        momentum += A[i * n + j] * v[j];
      }
      const double mass = A[i * (n + 1)];
      sum += mass > 0.0 ? momentum * momentum / mass : 0.0;
    }
  }
  return sum;
}

// castro (32) of the whole problem at the last evaluation of each island; free_2 = |D A v*|^2 of
// the trees in none.
static double momentum_error(const sap_primal* s, double free_2) {
  sap_history_row sum = {.momentum_2 = free_2};
  for (int32_t i = 0; i < s->islands.count; ++i) {
    const sap_newton_state* state = &s->results[i].state;
    sum.gradient_2 += state->gradient * state->gradient;
    sum.momentum_2 += state->momentum * state->momentum;
    sum.impulse_2 += state->impulse * state->impulse;
  }
  return sap_history_error(&sum);
}

sap_status sap_primal_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                            sap_error* error) {
  (void)row;
  sap_primal* s = workspace;
  const sap_problem* p = call->problem;
  const sap_solver_options* options = call->options;
  double free_2 = 0.0;
  SAP_TRY(reserve_solve(s, p, error));
  SAP_TRY(sap_islands_find(&s->islands, p, !options->islands, error));
  SAP_TRY(sap_lanes_set(s, options->threads, p->threads == NULL, error));
  if (call->report != NULL) {
    const int32_t rows = options->max_iterations < SAP_HISTORY_RESERVE ? options->max_iterations + 1
                                                                       : SAP_HISTORY_RESERVE;
    free_2 = free_momentum(s, p);
    SAP_TRY(sap_history_begin(&s->history, rows, free_2, error));
  }
  if (p->nv > 0) {
    memcpy(s->v, p->v_star, (size_t)p->nv * sizeof(double));
    memset(s->impulse, 0, (size_t)p->nv * sizeof(double));
  }
  sap_warm_start_recall(&s->last, p, s->dual);
  const sap_primal_call of = {.primal = s,
                              .options = options,
                              .problem = p,
                              .keep_history = call->report != NULL,
                              .deadline = options->time_limit > 0.0
                                              ? sap_clock_seconds() + options->time_limit
                                              : (double)INFINITY};
  sap_totals sum;
  SAP_TRY(sap_lanes_solve(&of, &sum, error));
  SAP_TRY(sap_report_reserve(call, s->history.capacity, error));
  const sap_answer answer = {s->v, s->gamma, s->vc, s->impulse, momentum_error(s, free_2)};
  sap_report_write(call, &answer, &sum, &s->history);
  if (options->newton == SAP_NEWTON_PRIMAL_DUAL) {
    sap_warm_start_store(&s->last, p, s->dual);
  }
  return SAP_STATUS_OK;
}
