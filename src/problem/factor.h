// SPDX-License-Identifier: BSD-3-Clause
// Factors of the diagonal blocks of A, tree by tree, and Delassus scales of blocks.
#pragma once

#include "linalg/dense.h"
#include "problem/problem_data.h"

enum {
  SAP_SMALL_TREE = SAP_SMALL
};  // up to a free body: our own loops; larger trees: along branches

// Returns the factor of the tree's diagonal block of A, from the cache if it is there: of a small
// tree L (lower, ld n, reciprocals on the diagonal) without runs, of a large one along its
// branches. Fails with NOT_SPD, naming the tree.
sap_status sap_problem_tree_factor(const sap_problem* problem, int32_t tree,
                                   sap_branch_factor* factor, sap_error* error);
// Factorizes A into the arrays of `factor`: along branches if it has runs, else of a small tree.
// Returns false unless A is positive definite.
bool sap_tree_factorize(const double* A, const sap_branch_factor* factor);
// x = A_tt^-1 x. work: SAP_BRANCH_ROW(n).
void sap_tree_solve(const sap_branch_factor* factor, double* x, double* work);
// Computes x (SAP_BRANCH_ROW(n)) of a row of J with x . x = J A_tt^-1 J'.
void sap_tree_solve_row(const sap_branch_factor* factor, const double* J, int32_t nrows, double* x);
// X = A_tt^-1 X of a tree alone, up to four columns.
sap_status sap_problem_solve_columns(sap_problem* problem, int32_t tree, int count, double* X,
                                     size_t ld, sap_error* error);
// Borrows the caller's factor of the tree's block of A; valid until the block is set again, the
// problem is reset or factors are returned. Trees larger than a free body only.
void sap_problem_lend_factor(sap_problem* problem, int32_t tree, const sap_branch_factor* factor);
void sap_problem_return_factors(sap_problem* problem);
// Drops the factor of the tree.
void sap_problem_drop_factor(sap_problem* problem, int32_t tree);
// Makes the factor of the tree stale if its state is `known`, else drops it. STALE: its block of A
// changed; VALID: a reset moved the block to diagonal_before.
void sap_problem_keep_factor(sap_problem* problem, int32_t tree, sap_factor_state known);
// Factorizes A with its couplings into cache->whole. The caller holds the mutex until it has solved.
sap_status sap_problem_factor_whole(const sap_problem* problem, sap_error* error);
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

// Sets a tree's block of A, known to be finite: lower triangle, ld its size.
void sap_problem_put_diagonal(sap_problem* problem, int32_t tree, const double* block);

// Computes rows [row, row + count) of a block's J B J', count x count. work: velocities of its
// largest tree.
void sap_mobility_delassus(const sap_problem* problem, const sap_block* block, int32_t row,
                           int32_t count, double* work, double* W);
// y += B_ab x
void sap_mobility_multiply(const sap_problem* problem, int32_t tree_a, int32_t tree_b,
                           const double* x, double* y);
// Fails with NOT_SPD if a diagonal entry of B is negative.
sap_status sap_mobility_check(const sap_problem* problem, sap_error* error);
