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
#include "problem/branch_factor.h"
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

static sap_status reversed_factor(const sap_problem* p, int32_t tree, sap_error* error) {
  sap_problem_cache* cache = p->cache;
  sap_factor_state* state = &cache->reversed_state[tree];
  if (*state == SAP_FACTOR_VALID) {
    return SAP_STATUS_OK;
  }
  const sap_status status = check_set(p, tree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t start = p->diagonal_start[tree];
  const size_t n = (size_t)p->tree_size[tree];
  const double* A = p->diagonal + start;
  if (*state == SAP_FACTOR_STALE &&
      memcmp(A, cache->reversed_of + start, n * n * sizeof(double)) == 0) {
    *state = SAP_FACTOR_VALID;
    return SAP_STATUS_OK;
  }
  *state = SAP_FACTOR_NONE;
  if (!sap_branch_factor(A, cache->reversed + start, cache->reversed_row + start, (int32_t)n)) {
    return not_positive(tree, error);
  }
  memcpy(cache->reversed_of + start, A, n * n * sizeof(double));
  *state = SAP_FACTOR_VALID;
  return SAP_STATUS_OK;
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
    sap_status status = reversed_factor(p, tree, error);
    if (status == SAP_STATUS_OK) {
      status = SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, n, error);
    }
    if (status == SAP_STATUS_OK) {
      const int32_t start = p->diagonal_start[tree];
      sap_branch_solve(p->cache->reversed + start, p->cache->reversed_row + start, (size_t)n, b,
                       p->cache->scratch, x);
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

// W += X' X of any number of rows of a tree; X holds nrows + 1 vectors of its size.
static void add_tree(const sap_problem* p, int32_t tree, const double* J, int32_t nrows, double* X,
                     double* W) {
  const int32_t n = p->tree_size[tree], start = p->diagonal_start[tree];
  const double* L = p->cache->reversed + start;
  const int32_t* rows = p->cache->reversed_row + start;
  if (n > SMALL_TREE && nrows == 3) {
    sap_branch_add_three_rows(L, rows, (size_t)n, J, X, W);
    return;
  }
  for (int32_t r = 0; r < nrows; ++r) {
    double* x = X + (size_t)r * (size_t)n;
    if (n > SMALL_TREE) {
      sap_branch_solve_row(L, rows, (size_t)n, J + r, (size_t)nrows, x);
    } else {
      forward_solve(p->cache->factor + start, n, J + r, nrows, x);
    }
  }
  for (int32_t c = 0; c < nrows; ++c) {
    const double* Xc = X + (size_t)c * (size_t)n;
    for (int32_t r = c; r < nrows; ++r) {
      const double* Xr = X + (size_t)r * (size_t)n;
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
  const int64_t needed = (int64_t)b->nrows * b->nrows + ((int64_t)b->nrows + 1) * largest;
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
    status = p->tree_size[tree] > SMALL_TREE ? reversed_factor(p, tree, error)
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
