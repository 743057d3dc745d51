// SPDX-License-Identifier: BSD-3-Clause
// SAP over all islands of a problem. Results are collected in the workspace and handed over after
// the last island is solved: a failure leaves solution and report unchanged.
#include "solvers/primal/sap.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/platform.h"
#include "problem/factor.h"
#include "problem/problem_data.h"

// A solve in progress.
typedef struct primal_call {
  sap_primal* primal;
  const sap_solver_options* options;
  const sap_problem* problem;
  bool keep_history;
  double deadline;  // clock of the time limit [s]
} primal_call;

// More than one, so that a late thread does not delay the others.
enum { BATCHES_PER_THREAD = 4 };
// Islands keep what is gathered of them, and their factors, for a repeated solve if their first tree
// is a robot and one of so many first trees of the problem; so does an only island.
enum { KEPT = 32 };

static void clear_batches(sap_primal* s) {
  sap_threads_destroy(s->threads);
  s->threads = NULL;
  for (int32_t i = 0; i < s->nbatches; ++i) {
    sap_cholesky_pool_clear(&s->batches[i].pool);
    sap_history_clear(&s->batches[i].iterates);
  }
  for (int32_t i = 0; s->newtons != NULL && i < KEPT + s->nbatches; ++i) {
    sap_newton_clear(&s->newtons[i]);
  }
  sap_free(s->batches);
  sap_free(s->newtons);
  s->batches = NULL;
  s->newtons = NULL;
  s->nbatches = 0;
}

// Creates the threads and their batches.  fails: MEMORY
static sap_status set_batches(sap_primal* s, int32_t threads, sap_error* error) {
  const int32_t count = threads == 1 ? 1 : BATCHES_PER_THREAD * threads;
  if (s->nbatches != count) {
    clear_batches(s);
    SAP_TRY(SAP_NEW(&s->batches, count, "solver", error));
    SAP_TRY(SAP_NEW(&s->newtons, KEPT + count, "solver", error));
    s->nbatches = count;
    for (int32_t i = 0; i < KEPT + count; ++i) {
      sap_newton_init(&s->newtons[i]);
    }
  }
  return sap_threads_set_count(&s->threads, threads, error);
}

// Copies the island's results to the problem's rows and velocities.
static void scatter_results(const sap_primal* s, const sap_newton* n, const sap_problem* p) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const size_t size = (size_t)n->size[t] * sizeof(double);
    memcpy(s->answer.v + p->tree_start[n->trees[t]], n->v + n->start[t], size);
    memcpy(s->answer.impulse + p->tree_start[n->trees[t]], n->impulse + n->start[t], size);
  }
  for (int32_t c = 0; c < n->ncones; ++c) {
    for (int32_t r = 0; r < 3; ++r) {
      s->answer.gamma[n->cone_row[c] + r] = n->cone_gamma[r * n->ncones + c];
      s->answer.vc[n->cone_row[c] + r] = n->cone_vc[r * n->ncones + c];
      s->lambda[n->cone_row[c] + r] = n->cone_lambda[r * n->ncones + c];
    }
  }
  for (int32_t k = 0; k < n->nrows; ++k) {
    s->answer.gamma[n->problem_row[k]] = n->row_gamma[k];
    s->answer.vc[n->problem_row[k]] = n->row_vc[k];
    s->lambda[n->problem_row[k]] = n->row_lambda[k];
  }
}

// A pause comes after so many iterations on islands with at least so many velocities, where one
// takes longer than all else in a step. Measured over falling heaps.
enum { ITERATIONS_TO_PAUSE = 4, LARGE_ISLAND = 6000 };

// Returns true if the island's last solve converged and its v_star and v_hat are as they were then.
static bool keeps_answer(const primal_call* call, const sap_island* island, int32_t index) {
  const sap_primal* s = call->primal;
  const sap_problem* p = call->problem;
  bool same = p->solved && s->results[index].result.outcome <= SAP_OUTCOME_ROUNDOFF &&
              s->tolerance <= call->options->relative_tolerance;
  for (int32_t t = 0; same && t < island->ntrees; ++t) {
    const int32_t tree = island->trees[t], from = p->tree_start[tree];
    const size_t size = (size_t)p->tree_size[tree] * sizeof(double);
    same = memcmp(p->v_star + from, s->v_star + from, size) == 0;
  }
  for (int32_t b = 0; same && b < island->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[island->blocks[b]];
    same = memcmp(p->v_hat_shifted + block->first_row, s->v_hat + block->first_row,
                  (size_t)block->nrows * sizeof(double)) == 0;
  }
  return same;
}

// Takes the last result for one that converged at its start.
static sap_status keep_result(sap_island_result* out, sap_history* history, sap_error* error) {
  sap_report* r = &out->result;
  r->iterations = r->total_iterations = r->factorizations = r->evaluations = 0;
  r->symbolic_analyses = 0;
  out->end_row += history != NULL ? 1 : 0;
  return history != NULL ? sap_history_add(history, &out->last, error) : SAP_STATUS_OK;
}

static sap_status solve_island(const primal_call* call, int32_t job, int32_t index,
                               sap_error* error) {
  const sap_primal* s = call->primal;
  sap_island_batch* batch = &s->batches[job];
  const sap_island island = sap_islands_get(&s->islands, index);
  const int32_t first = island.trees[0];
  const bool own = first < KEPT && call->problem->tree_size[first] > SAP_SMALL_TREE;
  sap_newton* n = &s->newtons[own ? first : KEPT + job];
  sap_island_result* out = &s->results[index];
  sap_solver_options options = *call->options;
  sap_history* history = call->keep_history ? &batch->iterates : NULL;
  bool analysed = false;
  out->first_row = out->end_row = batch->iterates.next;
  if (keeps_answer(call, &island, index)) {
    return keep_result(out, history, error);
  }
  n->recalled = s->lambda;
  n->deadline = call->deadline;
  n->again = call->problem->solved && (own || s->islands.count == 1) && n->npotentials == 0;
  if (n->again) {
    sap_newton_refresh(n, call->problem);
  } else {
    SAP_TRY(sap_newton_gather(n, call->problem, &s->islands, index, error));
    batch->pool.keeps = own && n->npotentials == 0;
    SAP_TRY(sap_cholesky_pool_get(&batch->pool, &n->pattern.view, call->options->linear_solver,
                                  &n->cholesky, &analysed, error));
  }
  if (call->problem->pauses && n->nv >= LARGE_ISLAND && options.newton == SAP_NEWTON_PRIMAL_DUAL &&
      options.max_iterations > ITERATIONS_TO_PAUSE) {
    options.max_iterations = ITERATIONS_TO_PAUSE;
  }
  SAP_TRY(sap_newton_iterate(n, &options, history, &out->result, error));
  out->end_row = batch->iterates.next;
  out->last = sap_newton_row(&n->state);
  out->result.island_error = sap_newton_momentum_error(&n->state);
  if (s->keeps_errors) {
    out->error = fmax(out->result.island_error,
                      sap_newton_tree_error(n, call->options->absolute_tolerance, 0.0, NULL));
  }
  out->result.symbolic_analyses = analysed ? 1 : 0;
  scatter_results(s, n, call->problem);
  return SAP_STATUS_OK;
}

static void run_batch(void* context, int32_t job) {
  const primal_call* call = context;
  const sap_primal* s = call->primal;
  sap_island_batch* batch = &s->batches[job];
  const int32_t ntrees = call->problem->ntrees;
  const int32_t share = s->nbatches == 1 ? ntrees : 2 * (ntrees / s->nbatches);
  const int32_t rows = call->options->max_iterations < SAP_HISTORY_RESERVE
                           ? call->options->max_iterations
                           : SAP_HISTORY_RESERVE;
  batch->pool.solve += call->problem->solved ? 0 : 1;
  batch->status = sap_history_begin(&batch->iterates, rows + SAP_ITERATES_RESERVE * share + 1, 0.0,
                                    &batch->error);
  for (int32_t i = batch->first; batch->status == SAP_STATUS_OK && i < batch->end; ++i) {
    batch->status = solve_island(call, job, i, &batch->error);
  }
}

// Deals out runs of islands with about the same number of blocks.
static void deal_islands(sap_primal* s) {
  const int32_t* start = s->islands.block_start;
  const int32_t blocks = s->islands.count > 0 ? start[s->islands.count] : 0;
  int32_t next = 0;
  for (int32_t l = 0; l < s->nbatches; ++l) {
    const int64_t until = (int64_t)blocks * (l + 1) / s->nbatches;
    s->batches[l].first = next;
    while (next < s->islands.count && (l + 1 == s->nbatches || start[next + 1] <= until)) {
      ++next;
    }
    s->batches[l].end = next;
  }
}

// Sums over islands in their order, whatever their batch.  fails: MEMORY
static sap_status sum_islands(sap_primal* s, bool keep_history, sap_report* sum, sap_error* error) {
  *sum = (sap_report){.outcome = SAP_OUTCOME_CONVERGED};
  for (int32_t l = 0; l < s->nbatches; ++l) {
    const sap_history* iterates = &s->batches[l].iterates;
    for (int32_t i = s->batches[l].first; i < s->batches[l].end; ++i) {
      const sap_island_result* r = &s->results[i];
      for (int32_t k = r->first_row; keep_history && k < r->end_row; ++k) {
        SAP_TRY(sap_history_add(&s->history, &iterates->rows[k], error));
      }
      if (keep_history) {
        sap_history_end_island(&s->history);
      }
      sap_report_add(sum, &r->result);
    }
  }
  return SAP_STATUS_OK;
}

// Solves all islands: v, gamma, vc, impulse and lambda of the workspace, its history, the totals.
static sap_status solve_islands(const primal_call* call, sap_report* sum, sap_error* error) {
  sap_primal* s = call->primal;
  deal_islands(s);
  sap_threads_run(s->threads, s->nbatches, run_batch, (void*)call);
  for (int32_t l = 0; l < s->nbatches; ++l) {
    if (s->batches[l].status != SAP_STATUS_OK) {  // the first failure in the order of islands
      if (error != NULL) {
        *error = s->batches[l].error;
      }
      return s->batches[l].status;
    }
  }
  return sum_islands(s, call->keep_history, sum, error);
}

sap_status sap_primal_create(void** workspace, sap_error* error) {
  return sap_new(workspace, 1, sizeof(sap_primal), "solver", error);
}

void sap_primal_destroy(void* workspace) {
  sap_primal* s = workspace;
  if (s == NULL) {
    return;
  }
  sap_islands_clear(&s->islands);
  clear_batches(s);
  sap_history_clear(&s->history);
  sap_solution_clear(&s->answer);
  sap_pool_free(&s->pool);
  sap_warm_start_clear(&s->warm);
  sap_free(s);
}

sap_status sap_primal_archive(void* workspace, sap_archive* archive, sap_error* error) {
  return sap_warm_start_archive(&((sap_primal*)workspace)->warm, archive, error);
}

// Returns sum + |D A v|^2 of a tree; a constant n lets the compiler unroll.
static inline double add_momentum(double sum, const double* A, const double* v, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double momentum = 0.0;
    for (size_t j = 0; j < n; ++j) {
      momentum += A[i * n + j] * v[j];
    }
    const double mass = A[i * (n + 1)];
    sum += mass > 0.0 ? momentum * momentum / mass : 0.0;
  }
  return sum;
}

// Answers v* for the trees in no island; returns their |D A v*|^2.
static double answer_free(const sap_primal* s, const sap_problem* p) {
  double sum = 0.0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    const double *A = p->diagonal + p->diagonal_start[t], *v = p->v_star + p->tree_start[t];
    if (s->islands.local[t] < 0) {
      memcpy(s->answer.v + p->tree_start[t], v, (size_t)n * sizeof *v);
      memset(s->answer.impulse + p->tree_start[t], 0, (size_t)n * sizeof *v);
      sum = n == SAP_SMALL_TREE ? add_momentum(sum, A, v, SAP_SMALL_TREE)
                                : add_momentum(sum, A, v, (size_t)n);
    }
  }
  return sum;
}

// Returns the momentum error of the whole problem at the last evaluation of each island. castro
// (32) free_2 = |D A v*|^2 of the trees in no island.
static double momentum_error(const sap_primal* s, double free_2) {
  sap_history_row sum = {.momentum_2 = free_2};
  for (int32_t i = 0; i < s->islands.count; ++i) {
    const sap_history_row* last = &s->results[i].last;
    sum.gradient_2 += last->gradient_2;
    sum.momentum_2 += last->momentum_2;
    sum.impulse_2 += last->impulse_2;
  }
  return sap_history_error(&sum);
}

double sap_primal_worst_error(const sap_primal* s) {
  double worst = 0.0;
  for (int32_t i = 0; i < s->islands.count; ++i) {
    worst = fmax(worst, s->results[i].error);
  }
  return worst;
}

sap_status sap_primal_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                            sap_error* error) {
  (void)row;
  sap_primal* s = workspace;
  const sap_problem* p = call->problem;
  const sap_solver_options* options = call->options;
  SAP_TRY(sap_solution_resize(&s->answer, p->nv, p->nrows, error));
  SAP_TRY(set_batches(s, options->threads, error));
  SAP_TRY(SAP_ROOM_ALL(&s->pool, error, SAP_ARRAY(&s->lambda, p->nrows),
                       SAP_ARRAY(&s->v_hat, p->nrows), SAP_ARRAY(&s->v_star, p->nv),
                       SAP_ARRAY(&s->results, p->ntrees)));
  SAP_TRY(sap_warm_start_reserve(&s->warm, p, error));
  if (!p->solved) {
    SAP_TRY(sap_islands_find(&s->islands, p, !options->islands, error));
    sap_warm_start_recall(&s->warm, p, s->lambda);
  }
  const double free_2 = answer_free(s, p);
  if (call->report != NULL) {
    const int32_t rows = options->max_iterations < SAP_HISTORY_RESERVE ? options->max_iterations + 1
                                                                       : SAP_HISTORY_RESERVE;
    SAP_TRY(sap_history_begin(&s->history, rows, free_2, error));
  }
  const primal_call work = {.primal = s,
                            .options = options,
                            .problem = p,
                            .keep_history = call->report != NULL,
                            .deadline = options->time_limit > 0.0
                                            ? sap_clock_seconds() + options->time_limit
                                            : (double)INFINITY};
  sap_report sum;
  SAP_TRY(solve_islands(&work, &sum, error));
  s->tolerance = options->relative_tolerance;
  if (p->nrows > 0) {
    memcpy(s->v_star, p->v_star, (size_t)p->nv * sizeof(double));
    memcpy(s->v_hat, p->v_hat_shifted, (size_t)p->nrows * sizeof(double));
  }
  SAP_TRY(sap_report_reserve(call, s->history.capacity, error));
  sum.momentum_error = momentum_error(s, free_2);
  sap_report_write(call, &s->answer, &sum, &s->history);
  if (options->newton == SAP_NEWTON_PRIMAL_DUAL) {
    sap_warm_start_store(&s->warm, p, s->lambda);
  }
  return SAP_STATUS_OK;
}
