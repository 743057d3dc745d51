// SPDX-License-Identifier: BSD-3-Clause
// Factors of the tree blocks of A, kept while the block is the same, also over the successive
// problems of one object; of A as a whole where trees are coupled; Delassus scales.
//   W_ii = sum_t J_t A_tt^-1 J_t' = sum_t X_t' X_t
//   X_t  = L_t^-1 J_t',  A_tt = L_t L_t'
//   w    = |W_ii|_F/nrows                                               castro (29)-(30)
// Trees larger than a free body are factored along their branches (branch_factor.h).
// fails: NOT_SPD names the tree.
#include "problem/factor.h"

#include <math.h>
#include <sched.h>
#include <string.h>

#include "core/memory.h"
#include "linalg/square.h"
#include "math/scalar.h"
#include "problem/blocks.h"

bool sap_tree_factorize(const double* A, const sap_branch_factor* factor) {
  const int32_t n = factor->n;
  if (factor->runs != NULL) {
    return sap_branch_kernels_get(0)->factorize(A, factor->L, factor->runs, n);
  }
  memcpy(factor->L, A, (size_t)n * (size_t)n * sizeof(double));
  const bool done = n == SAP_SMALL_TREE ? sap_small_cholesky(SAP_SMALL_TREE, factor->L)
                                        : sap_small_cholesky(n, factor->L);
  for (int32_t j = 0; done && j < n; ++j) {
    factor->L[j * (n + 1)] = 1.0 / factor->L[j * (n + 1)];
  }
  return done;
}

// Returns false if the caller must compute the factor and end the claim in `mark`; other threads
// wait until then. A stale factor becomes valid if its block has not changed.
static bool is_valid(const sap_problem* p, int32_t tree, sap_factor_mark* mark) {
  const size_t start = (size_t)p->diagonal_start[tree], n = (size_t)p->tree_size[tree];
  int32_t state = atomic_load_explicit(mark, memory_order_acquire);
  while (state != SAP_FACTOR_VALID) {
    if (state == SAP_FACTOR_CLAIMED) {
      (void)sched_yield();
      state = atomic_load_explicit(mark, memory_order_acquire);
    } else if (atomic_compare_exchange_strong(mark, &state, SAP_FACTOR_CLAIMED)) {
      if (state == SAP_FACTOR_NONE || !p->diagonal_set[tree] ||
          memcmp(p->diagonal + start, p->cache->diagonal_before + start, n * n * sizeof(double)) !=
              0) {
        return false;
      }
      state = SAP_FACTOR_VALID;
      atomic_store_explicit(mark, state, memory_order_release);
    }
  }
  return true;
}

sap_status sap_problem_tree_factor(const sap_problem* p, int32_t tree, sap_branch_factor* factor,
                                   sap_error* error) {
  sap_problem_cache* cache = p->cache;
  const int32_t n = p->tree_size[tree];
  const size_t start = (size_t)p->diagonal_start[tree], first = (size_t)p->tree_start[tree];
  double* L = cache->factor + start + 4 * first;
  int32_t* runs = n > SAP_SMALL_TREE ? cache->runs + start + 3 * first : NULL;
  *factor = cache->lent[tree].L != NULL ? cache->lent[tree] : (sap_branch_factor){n, L, runs};
  sap_factor_mark* mark = &cache->factor_state[tree];
  if (is_valid(p, tree, mark)) {
    return SAP_STATUS_OK;
  }
  const bool done = p->diagonal_set[tree] && sap_tree_factorize(p->diagonal + start, factor);
  atomic_store_explicit(mark, done ? SAP_FACTOR_VALID : SAP_FACTOR_NONE, memory_order_release);
  SAP_FAIL_IF(!done, error, SAP_STATUS_NOT_SPD, "tree %d: its diagonal block of A is not %s", tree,
              p->diagonal_set[tree] ? "positive definite" : "set");
  return SAP_STATUS_OK;
}

// x = L^-1 x of a small tree; a constant n lets the compiler unroll.
static inline void solve_forward(const double* L, int32_t n, double* x) {
  for (int32_t i = 0; i < n; ++i) {
    double sum = x[i];
    for (int32_t j = 0; j < i; ++j) {
      sum -= L[j * n + i] * x[j];
    }
    x[i] = sum * L[i * n + i];
  }
}

// x = L'^-1 x
static inline void solve_backward(const double* L, int32_t n, double* x) {
  for (int32_t j = n; j-- > 0;) {
    const double* Lj = L + j * n;
    double sum = x[j];
    for (int32_t i = j + 1; i < n; ++i) {
      sum -= Lj[i] * x[i];
    }
    x[j] = sum * Lj[j];
  }
}

void sap_tree_solve(const sap_branch_factor* factor, double* x, double* work) {
  if (factor->runs != NULL) {
    sap_branch_kernels_get(0)->solve(factor, factor, x, work);
  } else if (factor->n == SAP_SMALL_TREE) {
    solve_forward(factor->L, SAP_SMALL_TREE, x);
    solve_backward(factor->L, SAP_SMALL_TREE, x);
  } else {
    solve_forward(factor->L, factor->n, x);
    solve_backward(factor->L, factor->n, x);
  }
}

void sap_tree_solve_row(const sap_branch_factor* factor, const double* J, int32_t nrows,
                        double* x) {
  if (factor->runs != NULL) {
    sap_branch_kernels_get(0)->solve_row(factor, J, (size_t)nrows, x);
    return;
  }
  for (int32_t i = 0; i < factor->n; ++i) {
    x[i] = J[(size_t)i * (size_t)nrows];
  }
  if (factor->n == SAP_SMALL_TREE) {
    solve_forward(factor->L, SAP_SMALL_TREE, x);
  } else {
    solve_forward(factor->L, factor->n, x);
  }
}

static void return_factor(sap_problem* p, int32_t tree) {
  if (p->cache->lent[tree].L != NULL) {
    sap_problem_drop_factor(p, tree);
  }
}

void sap_problem_keep_factor(sap_problem* p, int32_t tree, sap_factor_state known) {
  return_factor(p, tree);
  sap_factor_mark* mark = &p->cache->factor_state[tree];
  const int32_t state = *mark == (int32_t)known ? SAP_FACTOR_STALE : SAP_FACTOR_NONE;
  atomic_store_explicit(mark, state, memory_order_relaxed);
}

void sap_problem_drop_factor(sap_problem* p, int32_t tree) {
  atomic_store_explicit(&p->cache->factor_state[tree], SAP_FACTOR_NONE, memory_order_relaxed);
  p->cache->lent[tree] = (sap_branch_factor){0};
}

void sap_problem_lend_factor(sap_problem* p, int32_t tree, const sap_branch_factor* factor) {
  p->cache->lent[tree] = *factor;
  p->cache->factor_state[tree] = SAP_FACTOR_VALID;
}

void sap_problem_return_factors(sap_problem* p) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    return_factor(p, t);
  }
}

sap_status sap_problem_solve_columns(sap_problem* p, int32_t tree, int count, double* X, size_t ld,
                                     sap_error* error) {
  const int32_t n = p->tree_size[tree];
  sap_branch_factor factor;
  SAP_TRY(sap_problem_tree_factor(p, tree, &factor, error));
  SAP_TRY(SAP_ROOM(&p->cache->pool, &p->cache->scratch, SAP_QUAD * SAP_BRANCH_ROW(n), error));
  if (factor.runs != NULL && count > 1) {
    sap_branch_kernels_get(0)->solve_four(&factor, &factor, count, X, ld, p->cache->scratch);
    return SAP_STATUS_OK;
  }
  for (int c = 0; c < count; ++c) {
    sap_tree_solve(&factor, X + ld * (size_t)c, p->cache->scratch);
  }
  return SAP_STATUS_OK;
}

// A as a whole.

void sap_problem_cache_destroy(sap_problem_cache* cache) {
  if (cache == NULL) {
    return;
  }
  (void)pthread_mutex_destroy(&cache->mutex);
  sap_cholesky_destroy(cache->whole);
  sap_pool_free(&cache->pool);
  sap_free(cache);
}

// Assembles A's lower triangle by block columns.
static sap_status assemble_whole(sap_problem_cache* cache, const sap_problem* p, sap_error* error) {
  sap_pair_pattern* pattern = &cache->pattern;
  const int32_t count = p->ntrees + p->ncouplings;
  SAP_TRY(sap_pair_pattern_reserve(pattern, &cache->pool, p->ntrees, count, error));
  for (int32_t t = 0; t < p->ntrees; ++t) {
    pattern->pairs[t] = (sap_block_pair){t, t, t};
  }
  for (int32_t i = p->ntrees; i < count; ++i) {
    const sap_coupling* c = &p->couplings[i - p->ntrees];
    pattern->pairs[i] = sap_block_pair_of(c->tree_a, c->tree_b, i);
  }
  sap_pair_pattern_build(pattern, p->ntrees, p->tree_size, count);
  SAP_TRY(SAP_ROOM(&cache->pool, &cache->values, (int64_t)pattern->nvalues, error));
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const size_t n = (size_t)p->tree_size[t];
    memcpy(cache->values + pattern->pair_values[t], p->diagonal + p->diagonal_start[t],
           n * n * sizeof(double));
  }
  for (int32_t i = p->ntrees; i < count; ++i) {
    const sap_coupling* c = &p->couplings[i - p->ntrees];
    sap_pair_copy(c->tree_a, c->tree_b, p->coupling_values + c->values, p->tree_size[c->tree_a],
                  p->tree_size[c->tree_b], cache->values + pattern->pair_values[i]);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_factor_whole(const sap_problem* p, sap_error* error) {
  sap_problem_cache* cache = p->cache;
  if (cache->whole == NULL) {
    SAP_TRY(sap_cholesky_create(&cache->whole, error));
  }
  SAP_TRY(assemble_whole(cache, p, error));
  SAP_TRY(sap_cholesky_analyze(cache->whole, &cache->pattern.view, SAP_LINEAR_AUTO, NULL, error));
  int32_t tree = -1;
  const sap_status status = sap_cholesky_factorize(cache->whole, cache->values, &tree, error);
  SAP_FAIL_IF(status == SAP_STATUS_NOT_SPD, error, SAP_STATUS_NOT_SPD,
              "A with its coupling blocks is not positive definite (found at tree %d)", tree);
  return status;
}

void sap_problem_lock(const sap_problem* p) {
  (void)pthread_mutex_lock(&p->cache->mutex);
}

void sap_problem_unlock(const sap_problem* p) {
  (void)pthread_mutex_unlock(&p->cache->mutex);
}

sap_status sap_problem_check(const sap_problem* problem, sap_error* error) {
  SAP_NOT_NULL(error, problem);
  if (problem->has_mobility) {
    return sap_mobility_check(problem, error);
  }
  for (int32_t t = 0; t < problem->ntrees; ++t) {
    sap_branch_factor factor;
    SAP_TRY(sap_problem_tree_factor(problem, t, &factor, error));
  }
  if (problem->ncouplings == 0) {
    return SAP_STATUS_OK;
  }
  sap_problem_lock(problem);
  const sap_status status = sap_problem_factor_whole(problem, error);
  sap_problem_unlock(problem);
  return status;
}

sap_status sap_problem_solve_momentum(sap_problem* problem, const double* b, double* x,
                                      sap_error* error) {
  SAP_NOT_NULL(error, problem, b, x);
  SAP_FAIL_IF(problem->has_mobility, error, SAP_STATUS_UNSUPPORTED,
              "the problem gives the inverse of A");
  SAP_TRY(sap_check_numbers("b", b, problem->nv, error));
  if (problem->ncouplings > 0) {
    SAP_TRY(sap_problem_factor_whole(problem, error));
    memmove(x, b, (size_t)problem->nv * sizeof(double));
    sap_cholesky_solve(problem->cache->whole, x);
    return SAP_STATUS_OK;
  }
  for (int32_t t = 0; t < problem->ntrees; ++t) {
    const int32_t n = problem->tree_size[t];
    double* part = x + problem->tree_start[t];
    sap_branch_factor factor;
    SAP_TRY(sap_problem_tree_factor(problem, t, &factor, error));
    SAP_TRY(SAP_ROOM(&problem->cache->pool, &problem->cache->scratch, SAP_BRANCH_ROW(n), error));
    memmove(part, b + problem->tree_start[t], (size_t)n * sizeof(double));
    sap_tree_solve(&factor, part, problem->cache->scratch);
  }
  return SAP_STATUS_OK;
}

// Delassus scales.

// W += X' X of any number of rows of a tree; X holds nrows vectors of its size.
static void add_tree(const sap_branch_factor* factor, const double* J, int32_t nrows, double* X,
                     double* W) {
  const size_t ld = SAP_BRANCH_ROW((size_t)factor->n);
  if (nrows == 3 && factor->runs != NULL) {
    sap_branch_kernels_get(0)->add_three_rows(factor, J, X, W);
    return;
  }
  if (nrows == 1 && factor->runs != NULL) {
    W[0] += sap_branch_kernels_get(0)->row_square(factor, J, X);
    return;
  }
  if (nrows == 3 && factor->n == SAP_SMALL_TREE) {
    sap_square_kernels_get(0)->add_three_rows(factor->L, J, W);
    return;
  }
  for (int32_t r = 0; r < nrows; ++r) {
    sap_tree_solve_row(factor, J + r, nrows, X + (size_t)r * ld);
  }
  for (int32_t c = 0; c < nrows; ++c) {
    const double* Xc = X + (size_t)c * ld;
    for (int32_t r = c; r < nrows; ++r) {
      W[(size_t)c * (size_t)nrows + (size_t)r] += sap_dot(factor->n, X + (size_t)r * ld, Xc);
    }
  }
}

static double scale_of(const double* W, size_t nrows) {
  double sum = 0.0;
  for (size_t c = 0; c < nrows; ++c) {
    const double* Wc = W + c * nrows;
    sum += Wc[c] * Wc[c];
    for (size_t r = c + 1; r < nrows; ++r) {
      sum += 2.0 * Wc[r] * Wc[r];
    }
  }
  return sqrt(sum) / (double)nrows;
}

// Doubles of scratch memory for find_scale.
static int64_t scale_room(const sap_problem* p, const sap_block* b) {
  int32_t largest = 0;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const int32_t n = p->tree_size[b->trees[t]];
    largest = n > largest ? n : largest;
  }
  const int64_t rows = b->nrows > 3 ? b->nrows : 3;  // as much as three take for fewer
  return rows * rows + (rows + 1) * SAP_BRANCH_ROW((int64_t)largest);
}

static sap_status find_scale(const sap_problem* p, const sap_block* b, double* scratch, double w[3],
                             sap_error* error) {
  const size_t nrows = (size_t)b->nrows;
  double* W = scratch;
  double* X = W + nrows * nrows;
  memset(W, 0, nrows * nrows * sizeof(double));
  if (p->has_mobility) {
    sap_mobility_delassus(p, b, 0, b->nrows, X, W);
  }
  for (int32_t t = 0; t < b->ntrees && !p->has_mobility; ++t) {
    sap_branch_factor factor;
    SAP_TRY(sap_problem_tree_factor(p, b->trees[t], &factor, error));
    add_tree(&factor, b->jacobians[t], b->nrows, X, W);
  }
  if (nrows == 3) {
    const double below = W[1] * W[1] + W[2] * W[2] + W[5] * W[5];
    w[0] = sqrt(W[0] * W[0] + W[4] * W[4] + W[8] * W[8] + 2.0 * below) / 3.0;
    w[1] = 0.5 * (W[0] + W[4]);
    w[2] = W[8];
  } else {
    w[0] = scale_of(W, nrows);
  }
  SAP_FAIL_IF(!isfinite(w[0]), error, SAP_STATUS_NOT_FINITE,
              "block %d: its Delassus block overflows", p->nblocks);
  return SAP_STATUS_OK;
}

// Every entry of J enters the scale, except those that a zero of a mobility hides: a finite scale
// proves that they are finite.
sap_status sap_problem_checked_scale(sap_problem* p, const sap_block* b, double w[3],
                                     sap_error* error) {
  SAP_TRY(SAP_ROOM(&p->cache->pool, &p->cache->scratch, scale_room(p, b), error));
  const sap_status status =
      p->has_mobility ? SAP_STATUS_NOT_FINITE : find_scale(p, b, p->cache->scratch, w, error);
  if (status != SAP_STATUS_NOT_FINITE) {
    return status;
  }
  SAP_TRY(sap_problem_check_jacobians(p, b, error));
  return find_scale(p, b, p->cache->scratch, w, error);
}

sap_status sap_problem_delassus_scale(sap_problem* problem, int32_t nrows, int32_t ntrees,
                                      const int32_t* trees, const double* const* jacobians,
                                      double* w, sap_error* error) {
  SAP_NOT_NULL(error, problem, w);
  const sap_block block = {
      .nrows = nrows, .ntrees = ntrees, .trees = trees, .jacobians = jacobians};
  double scales[3];
  SAP_TRY(sap_problem_check_shape(problem, &block, error));
  SAP_TRY(sap_problem_checked_scale(problem, &block, scales, error));
  *w = scales[0];
  return SAP_STATUS_OK;
}
