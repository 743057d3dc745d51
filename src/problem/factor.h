// SPDX-License-Identifier: BSD-3-Clause
// Factors of the diagonal blocks of A, tree by tree, and Delassus scales of blocks.
#ifndef SAP_PROBLEM_FACTOR_H
#define SAP_PROBLEM_FACTOR_H

#include "linalg/dense.h"
#include "problem/problem_data.h"

enum {
  SAP_SMALL_TREE = SAP_SMALL
};  // up to a free body: our own loops; larger trees: along branches

// x = L^-1 (row of J)', n entries; L with reciprocals on the diagonal.
static inline void sap_tree_forward_solve(const double* L, int32_t n, const double* J,
                                          int32_t nrows, double* x) {
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

// x = A^-1 x, n entries, A = L L'.
static inline void sap_tree_solve(const double* L, int32_t n, double* x) {
  for (int32_t j = 0; j < n; ++j) {
    const double* Lj = L + (size_t)j * (size_t)n;
    x[j] *= Lj[j];
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= Lj[i] * x[j];
    }
  }
  for (int32_t j = n; j-- > 0;) {
    const double* Lj = L + (size_t)j * (size_t)n;
    double sum = x[j];
    for (int32_t i = j + 1; i < n; ++i) {
      sum -= Lj[i] * x[i];
    }
    x[j] = sum * Lj[j];
  }
}

// Returns L of the tree's diagonal block of A (lower, ld n, reciprocals on the diagonal), from the
// cache if it is there. Fails with NOT_SPD, naming the tree.
sap_status sap_problem_tree_factor(const sap_problem* problem, int32_t tree, const double** factor,
                                   sap_error* error);
// Returns the factor of a large tree along its branches, from the cache if it is there.
sap_status sap_problem_branch_factor(const sap_problem* problem, int32_t tree,
                                     sap_branch_factor* factor, sap_error* error);
// x (n) = A_tt^-1 b of a tree alone, with the factor for its size; x may be b.
sap_status sap_problem_solve_tree(sap_problem* problem, int32_t tree, const double* b, double* x,
                                  sap_error* error);
// Borrows the caller's factor of the tree's block of A; valid until the block is set again, the
// problem is reset or factors are returned. Trees larger than a free body only.
void sap_problem_lend_factor(sap_problem* problem, int32_t tree, const sap_branch_factor* factor);
void sap_problem_return_factors(sap_problem* problem);
// Drops all factors of the tree.
void sap_problem_drop_factors(sap_problem* problem, int32_t tree);
// Makes factors of the tree in state `known` stale and drops all others. STALE: its block of A
// changed; VALID: a reset moved the block to diagonal_before.
void sap_problem_keep_factors(sap_problem* problem, int32_t tree, sap_factor_state known);
// Holds the mutex of the cache: scratch memory of a const problem.
void sap_problem_lock(const sap_problem* problem);
void sap_problem_unlock(const sap_problem* problem);
// Frees the cache, NULL allowed.
void sap_problem_cache_destroy(sap_problem_cache* cache);

// Computes w of a block whose trees have been checked: |W_ii|_F/nrows and, of three rows,
// (W_11 + W_22)/2 and W_33. Fails with NOT_FINITE where its Jacobians are not finite or W_ii
// overflows, NOT_SPD.
sap_status sap_problem_checked_scale(sap_problem* problem, const sap_block* block, double w[3],
                                     sap_error* error);

#endif
