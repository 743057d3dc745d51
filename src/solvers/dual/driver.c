// SPDX-License-Identifier: BSD-3-Clause
// Solves all islands of a problem in impulse space. Results are collected in the workspace and
// handed over only when every island has been solved.
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/answer.h"
#include "solvers/dual/dual.h"
#include "solvers/islands.h"
#include "solvers/key_map.h"
#include "solvers/residuals.h"

enum { HISTORY_RESERVE = 512 };

typedef struct dual_workspace {
  sap_islands islands;
  sap_dual dual;
  sap_history history;
  sap_key_map last;  // impulses of the solve before, by block identity
  int32_t* order;    // of islands
  double *v, *gamma, *vc;
  int32_t v_capacity, gamma_capacity, vc_capacity, order_capacity;
} dual_workspace;

sap_status sap_dual_create(void** workspace, sap_error* error) {
  *workspace = NULL;
  dual_workspace* w = sap_allocate(1, sizeof *w);
  if (w == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
  }
  const sap_status status = sap_delassus_create(&w->dual.op, error);
  if (status != SAP_STATUS_OK) {
    sap_free(w);
    return status;
  }
  *workspace = w;
  return SAP_STATUS_OK;
}

void sap_dual_destroy(void* workspace) {
  dual_workspace* w = workspace;
  if (w == NULL) {
    return;
  }
  sap_islands_clear(&w->islands);
  sap_delassus_clear(&w->dual.op);
  sap_delassus_sparse_clear(&w->dual.sparse);
  sap_block_lu_clear(&w->dual.lu);
  sap_free(w->dual.reduced_start);
  sap_free(w->dual.vectors);
  sap_free(w->dual.work);
  sap_free(w->dual.integers);
  sap_history_clear(&w->history);
  sap_key_map_clear(&w->last);
  sap_free(w->order);
  sap_free(w->v);
  sap_free(w->gamma);
  sap_free(w->vc);
  sap_free(w);
}

sap_status sap_dual_archive(void* workspace, sap_archive* archive, sap_error* error) {
  dual_workspace* w = workspace;
  return sap_key_map_archive(&w->last, archive, error);
}

static sap_status reserve(dual_workspace* w, const sap_problem* p, sap_error* error) {
  sap_status status = SAP_GROW(&w->v, &w->v_capacity, p->nv, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&w->gamma, &w->gamma_capacity, p->nrows, error);
  }
  return status == SAP_STATUS_OK ? SAP_GROW(&w->vc, &w->vc_capacity, p->nrows, error) : status;
}

// The guess: given, the problem's, or the impulses of the same blocks last time, else zero.
static void guess(dual_workspace* w, const double* given) {
  sap_dual* d = &w->dual;
  const sap_problem* p = d->op.problem;
  given = given == NULL && p->guess_rows == p->nrows ? p->gamma_guess : given;
  memset(d->z, 0, (size_t)d->op.n * sizeof(double));
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const sap_block_data* block = &d->op.problem->blocks[item->block];
    const double* gamma = given != NULL ? given + block->first_row
                          : d->options->warm_start
                              ? sap_key_map_find(&w->last, block->key, block->nrows)
                              : NULL;
    for (int32_t r = 0; gamma != NULL && r < item->nrows; ++r) {
      d->z[item->first + r] = gamma[item->problem_row - block->first_row + r] / item->scale;
    }
  }
  sap_dual_project_all(d, d->z, d->z);
}

// Vectors of the island and their start.
static sap_status start_island(dual_workspace* w, const double* given, sap_error* error) {
  sap_dual* d = &w->dual;
  const int64_t n = d->op.n;
  const sap_status status = SAP_RESERVE(&d->vectors, &d->vectors_capacity, 4 * n + d->op.nv, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  d->z = d->vectors;
  d->g = d->z + n;
  d->z_best = d->g + n;
  d->map = d->z_best + n;
  d->v = d->map + n;
  guess(w, given);
  d->outcome = SAP_OUTCOME_ITERATION_LIMIT;
  d->iterations = d->factorizations = d->evaluations = 0;
  d->best = d->mark = (double)INFINITY;
  d->idle = 0;
  d->fixed_point = false;
  d->q_2 = 0.0;
  for (int32_t i = 0; i < d->op.n; ++i) {
    d->q_2 += d->op.q[i] * d->op.q[i];
  }
  return SAP_STATUS_OK;
}

// The best impulses, their velocities and row velocities, to the problem's places.
static void finish_island(dual_workspace* w, const sap_problem* p) {
  sap_dual* d = &w->dual;
  sap_delassus_velocity(&d->op, d->z_best, d->v);
  for (int32_t t = 0; t < d->op.ntrees; ++t) {
    const int32_t tree = d->op.trees[t];
    memcpy(w->v + p->tree_start[tree], d->v + d->op.start[t],
           (size_t)p->tree_size[tree] * sizeof(double));
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t r = 0; r < item->nrows; ++r) {
      w->gamma[item->problem_row + r] = item->scale * d->z_best[item->first + r];
    }
  }
}

static sap_status solve_island(dual_workspace* w, const sap_dual_call* call, int32_t index,
                               sap_dual_method method, sap_totals* sum, sap_error* error) {
  const sap_problem* p = call->problem;
  const sap_islands* islands = &w->islands;
  const int32_t first_tree = islands->tree_start[index], first_block = islands->block_start[index];
  const sap_delassus_island island = {.trees = islands->trees + first_tree,
                                      .blocks = islands->blocks + first_block,
                                      .local = islands->local,
                                      .ntrees = islands->tree_start[index + 1] - first_tree,
                                      .nblocks = islands->block_start[index + 1] - first_block};
  sap_dual* d = &w->dual;
  sap_status status = sap_delassus_gather(&d->op, p, &island, error);
  if (status == SAP_STATUS_OK) {
    status = start_island(w, call->gamma_guess, error);
  }
  if (status == SAP_STATUS_OK) {
    status = method(d, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (!isfinite(d->best)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE,
                    "impulses overflow in the island of tree %d: v_star, v_hat or A is too large",
                    islands->trees[first_tree]);
  }
  if (d->history != NULL) {
    sap_history_end_island(d->history);
  }
  finish_island(w, p);
  const sap_totals one = {.outcome = d->outcome,
                          .iterations = d->iterations,
                          .total_iterations = d->iterations,
                          .factorizations = d->factorizations,
                          .evaluations = d->evaluations,
                          .islands = 1,
                          .largest = d->op.nv};
  sap_totals_add(sum, &one);
  return SAP_STATUS_OK;
}

// Fails before it writes anything that the caller sees.
static sap_status hand_over(dual_workspace* w, const sap_dual_call* call, sap_totals* sum,
                            sap_error* error) {
  const sap_problem* p = call->problem;
  sap_residual residual;
  sap_status status = sap_residuals(p, w->v, w->gamma, &residual, error);
  if (status == SAP_STATUS_OK) {
    status = sap_key_map_reserve(&w->last, p, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_answer_reserve(p, w->history.capacity, call->solution, call->report, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_contact_velocity(p, w->v, w->vc);
  sap_key_map_store(&w->last, p, w->gamma);
  const sap_answer answer = {p, w->v, w->gamma, w->vc, NULL, residual.momentum};
  sum->cost = residual.cost;
  sap_answer_hand_over(&answer, sum, call->solution, call->report);
  if (call->report != NULL) {
    sap_answer_history(&w->history, call->report);
  }
  return SAP_STATUS_OK;
}

static int32_t island_blocks(const sap_islands* islands, int32_t index) {
  return islands->block_start[index + 1] - islands->block_start[index];
}

// Small islands first where time is limited, so that a large one does not keep them from being
// solved; islands of one size as they come. Merge sort by halves, the second of `order` is scratch.
static sap_status order_islands(dual_workspace* w, bool by_size, sap_error* error) {
  const int32_t count = w->islands.count;
  const sap_status status =
      SAP_RESERVE(&w->order, &w->order_capacity, 2 * (int64_t)count + 1, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t *from = w->order, *to = w->order + count;
  for (int32_t i = 0; i < count; ++i) {
    from[i] = i;
  }
  for (int64_t width = 1; by_size && width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = begin + width < count ? begin + width : count;
      const int64_t end = middle + width < count ? middle + width : count;
      int64_t a = begin, b = middle;
      for (int64_t k = begin; k < end; ++k) {
        const bool first = a < middle && (b == end || island_blocks(&w->islands, from[a]) <=
                                                          island_blocks(&w->islands, from[b]));
        to[k] = first ? from[a++] : from[b++];
      }
    }
    int32_t* swap = from;
    from = to;
    to = swap;
  }
  memmove(w->order, from, (size_t)count * sizeof *from);
  return SAP_STATUS_OK;
}

sap_status sap_dual_solve(void* workspace, const sap_dual_call* call, bool ncp,
                          sap_dual_method method, sap_error* error) {
  dual_workspace* w = workspace;
  const sap_problem* p = call->problem;
  sap_dual* d = &w->dual;
  sap_status status = reserve(w, p, error);
  if (status == SAP_STATUS_OK) {
    status = sap_islands_find(&w->islands, p, !call->options->islands, error);
  }
  if (status == SAP_STATUS_OK && call->report != NULL) {
    status = sap_history_begin(&w->history, HISTORY_RESERVE, 0.0, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  d->options = call->options;
  d->ncp = ncp;
  d->history = call->report != NULL ? &w->history : NULL;
  const double limit = call->options->time_limit;
  d->deadline = limit > 0.0 ? sap_clock_seconds() + limit : (double)INFINITY;
  if (p->nv > 0) {
    memcpy(w->v, p->v_star, (size_t)p->nv * sizeof(double));
  }
  sap_totals sum = {.outcome = SAP_OUTCOME_CONVERGED};
  status = order_islands(w, limit > 0.0, error);
  for (int32_t i = 0; i < w->islands.count && status == SAP_STATUS_OK; ++i) {
    status = solve_island(w, call, w->order[i], method, &sum, error);
  }
  return status == SAP_STATUS_OK ? hand_over(w, call, &sum, error) : status;
}
