// SPDX-License-Identifier: BSD-3-Clause
// SAP over all islands of a problem. Results are collected in the workspace and handed over only
// when every island has been solved, so that a failure leaves solution and report as they were.
// Islands are dealt out to lanes, as many as threads, in runs of about equal size; what is summed
// over islands is summed afterwards, in their order. So all bits are those of one thread.
#include "solvers/primal/sap.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/threads.h"
#include "problem/problem_data.h"
#include "solvers/primal/cholesky_pool.h"
#include "solvers/primal/impulse_memory.h"
#include "solvers/primal/iterate.h"
#include "solvers/primal/wide.h"
#include "solvers/residuals.h"
#include "solvers/solver_table.h"

enum {
  HISTORY_RESERVE = 512,  // rows kept ready, so that a longer solve allocates nothing
  ITERATES_RESERVE = 4    // for each tree, so that neither do islands that appear
};

// What one island came to.
typedef struct island_result {
  sap_iterate_result result;
  double cost;
  int32_t nv;
  int32_t first_row, end_row;  // of its lane's iterates
  bool analysed;
} island_result;

// What solves a run of islands, one after the other.
typedef struct lane {
  sap_newton newton;
  sap_cholesky_pool pool;
  sap_history iterates;  // of all its islands, not summed
  int32_t first, end;    // its islands
  sap_status status;
  sap_error error;
} lane;

typedef struct sap_primal {
  sap_islands islands;
  lane* lanes;  // (nlanes)
  int32_t nlanes;
  sap_threads* threads;    // NULL: one
  island_result* results;  // of each island; room for one per tree
  sap_history history;
  sap_impulse_memory memory;
  double *v, *gamma, *vc;  // of the whole problem
  double* dual;            // impulses that the primal-dual steps carry along
  int32_t v_capacity, gamma_capacity, vc_capacity, dual_capacity, result_capacity;
} sap_primal;

// A solve that is under way.
typedef struct solve {
  sap_primal* primal;
  const sap_solver_options* options;
  const sap_problem* problem;
  bool keep_history;
  double deadline;  // of the clock
} solve;

// Totals over islands.
typedef struct totals {
  sap_outcome outcome;
  int32_t iterations, total_iterations, factorizations, evaluations, analyses, largest;
  double cost;
} totals;

static void clear_lanes(sap_primal* s) {
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
  return status == SAP_STATUS_OK && count > 1 ? sap_threads_create(count, &s->threads, error)
                                              : status;
}

// As many lanes as threads are asked for; the memory of one is there from the beginning.
static sap_status set_lanes(sap_primal* s, int32_t count, sap_error* error) {
  if (s->nlanes == count) {
    return SAP_STATUS_OK;
  }
  clear_lanes(s);
  const sap_status status = create_lanes(s, count, error);
  if (status != SAP_STATUS_OK) {
    clear_lanes(s);
  }
  return status;
}

sap_status sap_primal_create(void** workspace, sap_error* error) {
  *workspace = NULL;
  sap_primal* s = sap_allocate(1, sizeof *s);
  if (s == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
  }
  const sap_status status = set_lanes(s, 1, error);
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
  clear_lanes(s);
  sap_free(s->results);
  sap_history_clear(&s->history);
  sap_free(s->v);
  sap_free(s->gamma);
  sap_free(s->vc);
  sap_free(s->dual);
  sap_impulse_memory_clear(&s->memory);
  sap_free(s);
}

sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error) {
  sap_primal* s = workspace;
  return sap_impulse_memory_archive(&s->memory, archive, error);
}

static sap_status reserve(sap_primal* s, const sap_problem* p, sap_error* error) {
  sap_status status = SAP_GROW(&s->v, &s->v_capacity, p->nv, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&s->gamma, &s->gamma_capacity, p->nrows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&s->vc, &s->vc_capacity, p->nrows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&s->dual, &s->dual_capacity, p->nrows, error);
  }
  return status == SAP_STATUS_OK ? sap_impulse_memory_reserve(&s->memory, p, error) : status;
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

// Island's velocities, impulses and contact velocities to their places in the problem.
static void scatter(const sap_primal* s, const sap_newton* n, const sap_problem* p) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    memcpy(s->v + p->tree_start[n->trees[t]], n->v + n->start[t],
           (size_t)n->size[t] * sizeof(double));
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

static sap_status solve_island(const solve* of, lane* l, int32_t index, sap_error* error) {
  const sap_primal* s = of->primal;
  sap_newton* n = &l->newton;
  island_result* out = &s->results[index];
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
    out->cost = n->state.cost;
    out->nv = n->nv;
    scatter(s, n, of->problem);
  }
  return status;
}

static void run_lane(void* context, int32_t index) {
  const solve* of = context;
  lane* l = &of->primal->lanes[index];
  const int32_t rows =
      of->options->max_iterations < HISTORY_RESERVE ? of->options->max_iterations : HISTORY_RESERVE;
  l->error = (sap_error){0};
  l->newton.known = of->primal->dual;
  l->newton.deadline = of->deadline;
  l->status = sap_history_begin(&l->iterates, rows + ITERATES_RESERVE * of->problem->ntrees + 1,
                                0.0, &l->error);
  sap_cholesky_pool_begin_solve(&l->pool);
  for (int32_t i = l->first; l->status == SAP_STATUS_OK && i < l->end; ++i) {
    l->status = solve_island(of, l, i, &l->error);
  }
}

// Runs of islands with about the same number of blocks.
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
}

// Sums over islands in their order, whichever lane had them.
static sap_status add_up(sap_primal* s, bool keep_history, totals* sum, sap_error* error) {
  *sum = (totals){.outcome = SAP_OUTCOME_CONVERGED};
  for (int32_t l = 0; l < s->nlanes; ++l) {
    const sap_history* iterates = &s->lanes[l].iterates;
    for (int32_t i = s->lanes[l].first; i < s->lanes[l].end; ++i) {
      const island_result* r = &s->results[i];
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
      sum->outcome = result->outcome > sum->outcome ? result->outcome : sum->outcome;
      sum->iterations = result->iterations > sum->iterations ? result->iterations : sum->iterations;
      sum->total_iterations += result->iterations;
      sum->factorizations += result->factorizations;
      sum->evaluations += result->evaluations;
      sum->analyses += r->analysed ? 1 : 0;
      sum->largest = r->nv > sum->largest ? r->nv : sum->largest;
      sum->cost += r->cost;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status solve_islands(const solve* of, totals* sum, sap_error* error) {
  sap_primal* s = of->primal;
  deal_islands(s);
  sap_threads_run(s->threads, s->nlanes, run_lane, (void*)of);
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

static void copy(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memcpy(to, from, (size_t)count * sizeof(double));
  }
}

// Fails before it writes anything that the caller sees.
static sap_status hand_over(const sap_primal* s, const sap_problem* p, const totals* sum,
                            sap_solution* solution, sap_report* report, sap_error* error) {
  sap_momentum momentum = {0};
  sap_status status = sap_solution_reserve(solution, p->nv, p->nrows, error);
  if (status == SAP_STATUS_OK && report != NULL) {
    status = sap_momentum_residual(p, s->v, s->gamma, &momentum, error);
    if (status == SAP_STATUS_OK) {
      const int32_t wanted = s->history.capacity;
      status = SAP_GROW(&report->history, &report->history_capacity, wanted, error);
    }
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  solution->nv = p->nv;
  solution->nrows = p->nrows;
  solution->cost = sum->cost;
  copy(solution->v, s->v, p->nv);
  copy(solution->gamma, s->gamma, p->nrows);
  copy(solution->vc, s->vc, p->nrows);
  if (report == NULL) {
    return SAP_STATUS_OK;
  }
  report->outcome = sum->outcome;
  report->iterations = sum->iterations;
  report->total_iterations = sum->total_iterations;
  report->factorizations = sum->factorizations;
  report->symbolic_analyses = sum->analyses;
  report->evaluations = sum->evaluations;
  report->islands = s->islands.count;
  report->largest_island = sum->largest;
  report->cost = sum->cost;
  report->momentum_error = momentum.relative;
  report->history_count = s->history.count;
  for (int32_t i = 0; i < s->history.count; ++i) {
    report->history[i] = sap_history_iteration(&s->history, i);
  }
  return SAP_STATUS_OK;
}

sap_status sap_primal_solve(void* workspace, const sap_solver_options* options,
                            const sap_problem* p, sap_solution* solution, sap_report* report,
                            sap_error* error) {
  sap_primal* s = workspace;
  sap_status status = reserve(s, p, error);
  if (status == SAP_STATUS_OK) {
    status = sap_islands_find(&s->islands, p, !options->islands, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&s->results, &s->result_capacity, p->ntrees, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_lanes(s, options->threads, error);
  }
  if (status == SAP_STATUS_OK && report != NULL) {
    const int32_t rows =
        options->max_iterations < HISTORY_RESERVE ? options->max_iterations + 1 : HISTORY_RESERVE;
    status = sap_history_begin(&s->history, rows, free_momentum(s, p), error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  copy(s->v, p->v_star, p->nv);
  sap_impulse_memory_recall(&s->memory, p, s->dual);
  const solve of = {.primal = s,
                    .options = options,
                    .problem = p,
                    .keep_history = report != NULL,
                    .deadline = options->time_limit > 0.0
                                    ? sap_clock_seconds() + options->time_limit
                                    : (double)INFINITY};
  totals sum;
  status = solve_islands(&of, &sum, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = hand_over(s, p, &sum, solution, report, error);
  if (status == SAP_STATUS_OK && options->newton == SAP_NEWTON_PRIMAL_DUAL) {
    sap_impulse_memory_store(&s->memory, p, s->dual);
  }
  return status;
}
