// SPDX-License-Identifier: BSD-3-Clause
// Delassus scale of a block.
//   W_ii = sum_t J_t A_tt^-1 J_t' = sum_t X_t' X_t,  X_t = L_t^-1 J_t',  A_tt = L_t L_t'
//   w = |W_ii|_F / nrows                                               castro (29)-(30)
// Factors of the tree blocks are kept while the block is the same, over the problems that one
// object holds one after the other. Those of trees larger than a free body follow the tree's
// branches (branch_factor.h).
// fails: NOT_SPD names the tree.
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

enum { SMALL_TREE = 6 };  // up to a free body: loops of our own, LAPACK beyond

// Lower Cholesky in place of an n x n matrix with ld n, reciprocals on the diagonal; false when a
// pivot is not positive.
static inline bool factor_small(double* L, int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    double* Lj = L + j * n;
    for (int32_t k = 0; k < j; ++k) {
      const double* Lk = L + k * n;
      for (int32_t i = j; i < n; ++i) {
        Lj[i] -= Lk[i] * Lk[j];
      }
    }
    if (!(Lj[j] > 0.0)) {
      return false;
    }
    const double inverse = 1.0 / sqrt(Lj[j]);
    for (int32_t i = j + 1; i < n; ++i) {
      Lj[i] *= inverse;
    }
    Lj[j] = inverse;
  }
  return true;
}

static bool factor_large(double* L, int32_t n) {
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, L, n) != 0) {
    return false;
  }
  for (int32_t j = 0; j < n; ++j) {
    double* diagonal = L + (size_t)j * (size_t)n + (size_t)j;
    if (!(*diagonal > 0.0)) {
      return false;
    }
    *diagonal = 1.0 / *diagonal;
  }
  return true;
}

static sap_status check_set(const sap_problem* p, int32_t tree, sap_error* error) {
  return p->diagonal_set[tree] ? SAP_STATUS_OK
                               : sap_fail(error, SAP_STATUS_NOT_SPD,
                                          "tree %d: its diagonal block of A is not set", tree);
}

static sap_status not_positive(int32_t tree, sap_error* error) {
  return sap_fail(error, SAP_STATUS_NOT_SPD,
                  "tree %d: its diagonal block of A is not positive definite", tree);
}

sap_status sap_problem_tree_factor(const sap_problem* p, int32_t tree, const double** factor,
                                   sap_error* error) {
  const int32_t start = p->diagonal_start[tree], n = p->tree_size[tree];
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  const double* A = p->diagonal + start;
  double* L = p->cache->factor + start;
  sap_factor_state* state = &p->cache->factor_state[tree];
  *factor = L;
  if (*state == SAP_FACTOR_VALID) {
    return SAP_STATUS_OK;
  }
  const sap_status status = check_set(p, tree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (*state == SAP_FACTOR_STALE && memcmp(A, p->cache->factor_of + start, bytes) == 0) {
    *state = SAP_FACTOR_VALID;
    return SAP_STATUS_OK;
  }
  *state = SAP_FACTOR_NONE;
  memcpy(L, A, bytes);
  const bool good = n == SMALL_TREE  ? factor_small(L, SMALL_TREE)
                    : n < SMALL_TREE ? factor_small(L, n)
                                     : factor_large(L, n);
  if (!good) {
    return not_positive(tree, error);
  }
  memcpy(p->cache->factor_of + start, A, bytes);
  *state = SAP_FACTOR_VALID;
  return SAP_STATUS_OK;
}

static double* branch_memory(const sap_problem* p, int32_t tree) {
  return p->cache->branch + p->diagonal_start[tree] + 4 * (size_t)p->tree_start[tree];
}

static int32_t* branch_runs(const sap_problem* p, int32_t tree) {
  return p->cache->branch_runs + p->diagonal_start[tree] + 3 * (size_t)p->tree_start[tree];
}

static sap_branch_factor branch_of(const sap_problem* p, int32_t tree) {
  return (sap_branch_factor){
      .n = p->tree_size[tree], .L = branch_memory(p, tree), .runs = branch_runs(p, tree)};
}

static sap_status branch_factor(const sap_problem* p, int32_t tree, sap_branch_factor* factor,
                                sap_error* error) {
  sap_problem_cache* cache = p->cache;
  sap_factor_state* state = &cache->branch_state[tree];
  *factor = branch_of(p, tree);
  if (*state == SAP_FACTOR_VALID) {
    return SAP_STATUS_OK;
  }
  const sap_status status = check_set(p, tree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const size_t start = (size_t)p->diagonal_start[tree];
  const size_t n = (size_t)factor->n;
  const double* A = p->diagonal + start;
  if (*state == SAP_FACTOR_STALE &&
      memcmp(A, cache->branch_of + start, n * n * sizeof(double)) == 0) {
    *state = SAP_FACTOR_VALID;
    return SAP_STATUS_OK;
  }
  *state = SAP_FACTOR_NONE;
  if (!sap_branch_factorize(A, branch_memory(p, tree), branch_runs(p, tree), factor->n)) {
    return not_positive(tree, error);
  }
  memcpy(cache->branch_of + start, A, n * n * sizeof(double));
  *state = SAP_FACTOR_VALID;
  return SAP_STATUS_OK;
}

void sap_problem_lend_factor(const sap_problem* p, int32_t tree, const sap_branch_factor* factor) {
  const size_t start = (size_t)p->diagonal_start[tree];
  const size_t n = (size_t)factor->n;
  sap_problem_cache* cache = p->cache;
  memcpy(branch_memory(p, tree), factor->L, SAP_BRANCH_SIZE(n) * sizeof(double));
  memcpy(branch_runs(p, tree), factor->runs, SAP_BRANCH_RUNS(n) * sizeof(int32_t));
  memcpy(cache->branch_of + start, p->diagonal + start, n * n * sizeof(double));
  cache->branch_state[tree] = SAP_FACTOR_VALID;
}

// x = L^-1 (row `row` of J)', n entries.
static inline void forward_solve(const double* L, int32_t n, const double* J, int32_t nrows,
                                 double* x) {
  for (int32_t i = 0; i < n; ++i) {
    x[i] = J[(size_t)i * (size_t)nrows];
  }
  for (int32_t j = 0; j < n; ++j) {
    const double* Lj = L + (size_t)j * (size_t)n;
    const double xj = x[j] * Lj[j];
    x[j] = xj;
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= Lj[i] * xj;
    }
  }
}

sap_status sap_problem_solve_tree(const sap_problem* p, int32_t tree, const double* b, double* x,
                                  sap_error* error) {
  const int32_t n = p->tree_size[tree];
  const double* L = NULL;
  if (n > SMALL_TREE) {
    sap_branch_factor factor;
    sap_status status = branch_factor(p, tree, &factor, error);
    if (status == SAP_STATUS_OK) {
      status =
          SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, SAP_BRANCH_ROW(n), error);
    }
    if (status == SAP_STATUS_OK) {
      memmove(x, b, (size_t)n * sizeof(double));
      sap_branch_solve(&factor, x, p->cache->scratch);
    }
    return status;
  }
  const sap_status status = sap_problem_tree_factor(p, tree, &L, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double y[SMALL_TREE];
  forward_solve(L, n, b, 1, y);
  for (int32_t j = n; j-- > 0;) {
    const double* Lj = L + j * n;
    for (int32_t i = j + 1; i < n; ++i) {
      y[j] -= Lj[i] * x[i];
    }
    x[j] = y[j] * Lj[j];
  }
  return SAP_STATUS_OK;
}

enum { PADDED = 4 };  // three rows side by side and a zero: loops over them fill vector registers

// w += X' X of the velocities [first, end), which L does not link to others.
static inline void add_range(const double* L, int32_t first, int32_t end,
                             double X[SMALL_TREE][PADDED], double w[3][PADDED]) {
  for (int32_t j = first; j < end; ++j) {
    const double* Lj = L + j * SMALL_TREE;
    for (int32_t r = 0; r < PADDED; ++r) {
      X[j][r] *= Lj[j];
    }
    for (int32_t i = j + 1; i < end; ++i) {
      for (int32_t r = 0; r < PADDED; ++r) {
        X[i][r] -= Lj[i] * X[j][r];
      }
    }
    for (int32_t c = 0; c < 3; ++c) {
      for (int32_t r = 0; r < PADDED; ++r) {
        w[c][r] += X[j][r] * X[j][c];
      }
    }
  }
}

// Does L leave translation and rotation apart? So it is for bodies whose origin is their centre of
// mass.
static inline bool is_split(const double* L) {
  bool split = true;
  for (int32_t j = 0; j < 3; ++j) {
    for (int32_t i = 3; i < SMALL_TREE; ++i) {
      split &= L[j * SMALL_TREE + i] == 0.0;
    }
  }
  return split;
}

// W += X' X with three rows on a tree of six velocities.
static void add_free_body(const double* L, const double* J, double W[9]) {
  double X[SMALL_TREE][PADDED];
  for (int32_t i = 0; i < SMALL_TREE; ++i) {
    X[i][0] = J[3 * i];
    X[i][1] = J[3 * i + 1];
    X[i][2] = J[3 * i + 2];
    X[i][3] = 0.0;
  }
  double w[3][PADDED] = {{0.0}};
  if (is_split(L)) {
    add_range(L, 0, 3, X, w);
    add_range(L, 3, SMALL_TREE, X, w);
  } else {
    add_range(L, 0, SMALL_TREE, X, w);
  }
  for (int32_t c = 0; c < 3; ++c) {
    for (int32_t r = c; r < 3; ++r) {
      W[3 * c + r] += w[c][r];
    }
  }
}

// W += X' X of any number of rows of a tree; X holds nrows vectors of its size.
static void add_tree(const sap_problem* p, int32_t tree, const double* J, int32_t nrows, double* X,
                     double* W) {
  const sap_branch_factor factor = branch_of(p, tree);
  const int32_t n = factor.n;
  const size_t ld = SAP_BRANCH_ROW((size_t)n);
  if (n > SMALL_TREE && nrows == 3) {
    sap_branch_add_three_rows(&factor, J, X, W);
    return;
  }
  for (int32_t r = 0; r < nrows; ++r) {
    double* x = X + (size_t)r * ld;
    if (n > SMALL_TREE) {
      sap_branch_solve_row(&factor, J + r, (size_t)nrows, x);
    } else {
      forward_solve(p->cache->factor + p->diagonal_start[tree], n, J + r, nrows, x);
    }
  }
  for (int32_t c = 0; c < nrows; ++c) {
    const double* Xc = X + (size_t)c * ld;
    for (int32_t r = c; r < nrows; ++r) {
      const double* Xr = X + (size_t)r * ld;
      double sum = 0.0;
      for (int32_t i = 0; i < n; ++i) {
        sum += Xr[i] * Xc[i];
      }
      W[(size_t)c * (size_t)nrows + (size_t)r] += sum;
    }
  }
}

sap_status sap_problem_block_scale(const sap_problem* p, const sap_block* b, double* w,
                                   sap_error* error) {
  int32_t largest = 0;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const int32_t n = p->tree_size[b->trees[t]];
    largest = n > largest ? n : largest;
  }
  const size_t nrows = (size_t)b->nrows;
  const int64_t needed =
      (int64_t)b->nrows * b->nrows + ((int64_t)b->nrows + 1) * SAP_BRANCH_ROW((int64_t)largest);
  sap_status status = SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, needed, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double* W = p->cache->scratch;
  double* X = W + nrows * nrows;
  memset(W, 0, nrows * nrows * sizeof(double));
  if (p->has_mobility) {
    sap_mobility_delassus(p, b, 0, b->nrows, X, W);
  }
  for (int32_t t = 0; t < b->ntrees && !p->has_mobility; ++t) {
    const int32_t tree = b->trees[t];
    const double* L = NULL;
    sap_branch_factor factor;
    status = p->tree_size[tree] > SMALL_TREE ? branch_factor(p, tree, &factor, error)
                                             : sap_problem_tree_factor(p, tree, &L, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (b->nrows == 3 && p->tree_size[tree] == SMALL_TREE) {
      add_free_body(L, b->jacobians[t], W);
    } else {
      add_tree(p, tree, b->jacobians[t], b->nrows, X, W);
    }
  }
  double sum = 0.0;
  for (size_t c = 0; c < nrows; ++c) {
    const double* Wc = W + c * nrows;
    sum += Wc[c] * Wc[c];
    for (size_t r = c + 1; r < nrows; ++r) {
      sum += 2.0 * Wc[r] * Wc[r];
    }
  }
  const double scale = sqrt(sum) / (double)b->nrows;
  if (!isfinite(scale)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d: its Delassus block overflows",
                    p->nblocks);
  }
  *w = scale;
  return SAP_STATUS_OK;
}

sap_status sap_problem_delassus_scale(sap_problem* problem, int32_t nrows, int32_t ntrees,
                                      const int32_t* trees, const double* const* jacobians,
                                      double* w, sap_error* error) {
  if (problem == NULL || w == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_delassus_scale: %s is NULL",
                    problem == NULL ? "problem" : "w");
  }
  const sap_block block = {
      .nrows = nrows, .ntrees = ntrees, .trees = trees, .jacobians = jacobians};
  const sap_status status = sap_problem_check_jacobians(problem, &block, error);
  return status == SAP_STATUS_OK ? sap_problem_block_scale(problem, &block, w, error) : status;
}
