// SPDX-License-Identifier: BSD-3-Clause
// A problem's A, or B = A^-1: blocks of trees and their couplings.
#ifndef SAP_PROBLEM_MATRIX_H
#define SAP_PROBLEM_MATRIX_H

#include "problem/problem_data.h"

// Sets a tree's block of A, known to be finite: lower triangle, ld its size. Several threads may
// call it for different trees; the caller sets has_momentum.
void sap_problem_put_diagonal(sap_problem* problem, int32_t tree, const double* block);
// Gives the factor of a tree's diagonal block, if there is one to lend.
typedef bool sap_find_factor(const void* context, int32_t tree, sap_branch_factor* factor);
// Sets the diagonal blocks of A of all trees, known to be finite, in the problem's threads: lower
// triangles, ld the tree's size. find_factor: called for each tree, by several threads.
void sap_problem_put_diagonals(sap_problem* problem, double* const* blocks,
                               sap_find_factor* find_factor, const void* context);

// Computes rows [row, row + count) of a block's J B J', count x count. work: velocities of its
// largest tree.
void sap_mobility_delassus(const sap_problem* problem, const sap_block* block, int32_t row,
                           int32_t count, double* work, double* W);
// y += B_ab x
void sap_mobility_multiply(const sap_problem* problem, int32_t tree_a, int32_t tree_b,
                           const double* x, double* y);
// Fails with NOT_SPD if a diagonal entry of B is negative.
sap_status sap_mobility_check(const sap_problem* problem, sap_error* error);

#endif
