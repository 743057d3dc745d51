// SPDX-License-Identifier: BSD-3-Clause
// Delassus scale of a block.
//   W_ii = sum_t J_t A_tt^-1 J_t' = sum_t X_t' X_t,  X_t = L_t^-1 J_t',  A_tt = L_t L_t'
//   w = |W_ii|_F / nrows                                               castro (29)-(30)
// fails: NOT_SPD names the tree.
#include <math.h>
#include <string.h>

#include "linalg/square.h"
#include "problem/tree_factor.h"

// W += X' X of any number of rows of a tree; X holds nrows vectors of its size. factor: of a large
// one.
static void add_tree(const sap_problem* p, int32_t tree, const sap_branch_factor* factor,
                     const double* J, int32_t nrows, double* X, double* W) {
  const int32_t n = p->tree_size[tree];
  const size_t ld = SAP_BRANCH_ROW((size_t)n);
  if (n > SAP_SMALL_TREE && nrows == 3) {
    sap_branch_add_three_rows(factor, J, X, W);
    return;
  }
  for (int32_t r = 0; r < nrows; ++r) {
    double* x = X + (size_t)r * ld;
    if (n > SAP_SMALL_TREE) {
      sap_branch_solve_row(factor, J + r, (size_t)nrows, x);
    } else {
      sap_tree_forward_solve(p->cache->factor + p->diagonal_start[tree], n, J + r, nrows, x);
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

static sap_status check_scale(const sap_problem* p, double scale, sap_error* error) {
  return isfinite(scale) ? SAP_STATUS_OK
                         : sap_fail(error, SAP_STATUS_NOT_FINITE,
                                    "block %d: its Delassus block overflows", p->nblocks);
}

// |W|_F/3 of W's lower triangle.
static double scale_of_three(const double W[9]) {
  const double below = W[1] * W[1] + W[2] * W[2] + W[5] * W[5];
  return sqrt(W[0] * W[0] + W[4] * W[4] + W[8] * W[8] + 2.0 * below) / 3.0;
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

// One row or three on one large tree.
static sap_status scale_on_large(const sap_problem* p, const sap_block* b, double* x, double* w,
                                 sap_error* error) {
  sap_branch_factor factor;
  const sap_status status = sap_problem_branch_factor(p, b->trees[0], &factor, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double W[9] = {0.0}, sum = 0.0;
  if (b->nrows == 3) {
    sap_branch_add_three_rows(&factor, b->jacobians[0], x, W);
    sum = scale_of_three(W);
  } else {
    sum = sap_branch_row_square(&factor, b->jacobians[0], x);
  }
  *w = sum;
  return check_scale(p, sum, error);
}

int64_t sap_problem_scale_room(const sap_problem* p, const sap_block* b) {
  int32_t largest = 0;
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const int32_t n = p->tree_size[b->trees[t]];
    largest = n > largest ? n : largest;
  }
  const int64_t rows = b->nrows > 3 ? b->nrows : 3;  // as much as three take for fewer
  return rows * rows + (rows + 1) * SAP_BRANCH_ROW((int64_t)largest);
}

static sap_status find_scale(const sap_problem* p, const sap_block* b, double* scratch, double* w,
                             sap_error* error) {
  if ((b->nrows == 1 || b->nrows == 3) && b->ntrees == 1 && !p->has_mobility &&
      p->tree_size[b->trees[0]] > SAP_SMALL_TREE) {
    return scale_on_large(p, b, scratch, w, error);
  }
  const size_t nrows = (size_t)b->nrows;
  sap_status status = SAP_STATUS_OK;
  double* W = scratch;
  double* X = W + nrows * nrows;
  memset(W, 0, nrows * nrows * sizeof(double));
  if (p->has_mobility) {
    sap_mobility_delassus(p, b, 0, b->nrows, X, W);
  }
  for (int32_t t = 0; t < b->ntrees && !p->has_mobility; ++t) {
    const int32_t tree = b->trees[t];
    const double* L = NULL;
    sap_branch_factor factor;
    status = p->tree_size[tree] > SAP_SMALL_TREE
                 ? sap_problem_branch_factor(p, tree, &factor, error)
                 : sap_problem_tree_factor(p, tree, &L, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (b->nrows == 3 && p->tree_size[tree] == SAP_SMALL_TREE) {
      sap_square_add_three_rows(L, b->jacobians[t], W);
    } else {
      add_tree(p, tree, &factor, b->jacobians[t], b->nrows, X, W);
    }
  }
  *w = nrows == 3 ? scale_of_three(W) : scale_of(W, nrows);
  return check_scale(p, *w, error);
}

// Every entry of J goes into the scale, but for what a mobility of zero hides: if that is finite,
// so are they.
sap_status sap_problem_find_checked_scale(const sap_problem* p, const sap_block* b, double* scratch,
                                          double* w, sap_error* error) {
  sap_status status = p->has_mobility ? SAP_STATUS_NOT_FINITE : find_scale(p, b, scratch, w, error);
  if (status == SAP_STATUS_NOT_FINITE) {
    status = sap_problem_check_jacobians(p, b, error);
    status = status == SAP_STATUS_OK ? find_scale(p, b, scratch, w, error) : status;
  }
  return status;
}

sap_status sap_problem_checked_scale(const sap_problem* p, const sap_block* b, double* w,
                                     sap_error* error) {
  const sap_status status = SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity,
                                        sap_problem_scale_room(p, b), error);
  return status == SAP_STATUS_OK ? sap_problem_find_checked_scale(p, b, p->cache->scratch, w, error)
                                 : status;
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
  const sap_status status = sap_problem_check_shape(problem, &block, error);
  return status == SAP_STATUS_OK ? sap_problem_checked_scale(problem, &block, w, error) : status;
}
