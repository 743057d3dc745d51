// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/primal/lanes.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/primal/wide.h"

// More than threads, so that one that comes late does not hold up the rest.
enum { LANES_PER_THREAD = 4 };

void sap_lanes_clear(sap_primal* s) {
  sap_threads_destroy(s->threads);
  s->threads = NULL;
  for (int32_t i = 0; i < s->nlanes; ++i) {
    sap_newton_clear(&s->lanes[i].newton);
    sap_cholesky_pool_clear(&s->lanes[i].pool);
    sap_history_clear(&s->lanes[i].iterates);
  }
  sap_free(s->lanes);
  s->lanes = NULL;
  s->nlanes = 0;
}

static sap_status create_lanes(sap_primal* s, int32_t count, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  s->lanes = sap_allocate((size_t)count, sizeof *s->lanes);
  if (s->lanes == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
  }
  while (status == SAP_STATUS_OK && s->nlanes < count) {
    status = sap_newton_create(&s->lanes[s->nlanes++].newton, error);
  }
  return status;
}

sap_status sap_lanes_set(sap_primal* s, int32_t threads, bool own, sap_error* error) {
  const int32_t count = threads == 1 ? 1 : LANES_PER_THREAD * threads;
  sap_status status = SAP_STATUS_OK;
  if (s->nlanes != count) {
    sap_lanes_clear(s);
    status = create_lanes(s, count, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_threads_set_count(&s->threads, own ? threads : 1, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_lanes_clear(s);
  }
  return status;
}

// Island's velocities, impulses and contact velocities to their places in the problem.
static void scatter(const sap_primal* s, const sap_newton* n, const sap_problem* p) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const size_t size = (size_t)n->size[t] * sizeof(double);
    memcpy(s->v + p->tree_start[n->trees[t]], n->v + n->start[t], size);
    memcpy(s->impulse + p->tree_start[n->trees[t]], n->impulse + n->start[t], size);
  }
  for (int32_t c = 0; c < n->ncones; ++c) {
    for (int32_t r = 0; r < 3; ++r) {
      s->gamma[n->cone_row[c] + r] = n->cone_gamma[r * n->ncones + c];
      s->vc[n->cone_row[c] + r] = n->cone_vc[r * n->ncones + c];
      s->dual[n->cone_row[c] + r] = n->cone_dual[r * n->ncones + c];
    }
  }
  for (int32_t k = 0; k < n->nwide; ++k) {
    const sap_wide_cone* wide = &n->wide[k];
    const size_t size = (size_t)wide->nrows * sizeof(double);
    memcpy(s->gamma + wide->row, wide->gamma, size);
    memcpy(s->vc + wide->row, wide->vc, size);
    memcpy(s->dual + wide->row, wide->dual, size);
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    s->gamma[n->interval_row[k]] = n->interval_gamma[k];
    s->vc[n->interval_row[k]] = n->interval_vc[k];
    s->dual[n->interval_row[k]] = n->interval_dual[k];
  }
}

static sap_status solve_island(const sap_primal_call* of, sap_lane* l, int32_t index,
                               sap_error* error) {
  const sap_primal* s = of->primal;
  sap_newton* n = &l->newton;
  sap_island_result* out = &s->results[index];
  sap_status status = sap_newton_gather(n, of->problem, &s->islands, index, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_block_pattern pattern = sap_newton_pattern(n);
  out->analysed = false;
  status = sap_cholesky_pool_get(&l->pool, &pattern, of->options->linear_solver, &n->cholesky,
                                 &out->analysed, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  out->first_row = l->iterates.next;
  status = sap_newton_iterate(n, of->options, of->keep_history ? &l->iterates : NULL, &out->result,
                              error);
  if (status == SAP_STATUS_OK) {
    out->end_row = l->iterates.next;
    out->state = n->state;
    out->nv = n->nv;
    scatter(s, n, of->problem);
  }
  return status;
}

// The first and the last jobs are taken first (core/threads.h): they are the longest lanes.
static void run_lane(void* context, int32_t job) {
  const sap_primal_call* of = context;
  const sap_primal* s = of->primal;
  const int32_t rank = 2 * job < s->nlanes ? 2 * job : 2 * (s->nlanes - 1 - job) + 1;
  sap_lane* l = &s->lanes[s->lanes[rank].nth];
  const int32_t ntrees = of->problem->ntrees;
  const int32_t share = s->nlanes == 1 ? ntrees : 2 * (ntrees / s->nlanes);
  const int32_t rows = of->options->max_iterations < SAP_HISTORY_RESERVE
                           ? of->options->max_iterations
                           : SAP_HISTORY_RESERVE;
  l->error = (sap_error){0};
  l->newton.known = of->primal->dual;
  l->newton.deadline = of->deadline;
  l->status =
      sap_history_begin(&l->iterates, rows + SAP_ITERATES_RESERVE * share + 1, 0.0, &l->error);
  sap_cholesky_pool_begin_solve(&l->pool);
  for (int32_t i = l->first; l->status == SAP_STATUS_OK && i < l->end; ++i) {
    l->status = solve_island(of, l, i, &l->error);
  }
}

static int32_t length_of(const sap_primal* s, const sap_lane* l) {
  const int32_t* start = s->islands.block_start;
  return start[l->end] - start[l->first];
}

// By their numbers of blocks, the most first, of equals the first: insertion, for there are few.
static void rank_lanes(sap_primal* s) {
  for (int32_t l = 0; l < s->nlanes; ++l) {
    const int32_t length = length_of(s, &s->lanes[l]);
    int32_t place = l;
    while (place > 0 && length_of(s, &s->lanes[s->lanes[place - 1].nth]) < length) {
      s->lanes[place].nth = s->lanes[place - 1].nth;
      --place;
    }
    s->lanes[place].nth = l;
  }
}

// Runs of islands with about the same number of blocks, ranked by their lengths.
static void deal_islands(sap_primal* s) {
  const int32_t* start = s->islands.block_start;
  const int32_t blocks = s->islands.count > 0 ? start[s->islands.count] : 0;
  int32_t next = 0;
  for (int32_t l = 0; l < s->nlanes; ++l) {
    const int64_t until = (int64_t)blocks * (l + 1) / s->nlanes;
    s->lanes[l].first = next;
    while (next < s->islands.count && (l + 1 == s->nlanes || start[next + 1] <= until)) {
      ++next;
    }
    s->lanes[l].end = next;
  }
  rank_lanes(s);
}

// Sums over islands in their order, whichever lane had them.
static sap_status add_up(sap_primal* s, bool keep_history, sap_totals* sum, sap_error* error) {
  *sum = (sap_totals){.outcome = SAP_OUTCOME_CONVERGED};
  for (int32_t l = 0; l < s->nlanes; ++l) {
    const sap_history* iterates = &s->lanes[l].iterates;
    for (int32_t i = s->lanes[l].first; i < s->lanes[l].end; ++i) {
      const sap_island_result* r = &s->results[i];
      const sap_iterate_result* result = &r->result;
      for (int32_t k = r->first_row; keep_history && k < r->end_row; ++k) {
        const sap_status status = sap_history_add(&s->history, &iterates->rows[k], error);
        if (status != SAP_STATUS_OK) {
          return status;
        }
      }
      if (keep_history) {
        sap_history_end_island(&s->history);
      }
      const sap_totals one = {.outcome = result->outcome,
                              .iterations = result->iterations,
                              .total_iterations = result->iterations,
                              .factorizations = result->factorizations,
                              .evaluations = result->evaluations,
                              .analyses = r->analysed ? 1 : 0,
                              .islands = 1,
                              .largest = r->nv,
                              .cost = r->state.cost};
      sap_totals_add(sum, &one);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_lanes_solve(const sap_primal_call* of, sap_totals* sum, sap_error* error) {
  sap_primal* s = of->primal;
  sap_threads* lent = of->problem->threads;
  deal_islands(s);
  sap_threads_run(lent != NULL ? lent : s->threads, s->nlanes, run_lane, (void*)of);
  for (int32_t l = 0; l < s->nlanes; ++l) {
    if (s->lanes[l].status != SAP_STATUS_OK) {  // the first island's that failed
      if (error != NULL) {
        *error = s->lanes[l].error;
      }
      return s->lanes[l].status;
    }
  }
  return add_up(s, of->keep_history, sum, error);
}
