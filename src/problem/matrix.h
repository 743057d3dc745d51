// SPDX-License-Identifier: BSD-3-Clause
// A problem's A, or B = A^-1: blocks of trees and their couplings.
#pragma once

#include "problem/problem_data.h"

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
