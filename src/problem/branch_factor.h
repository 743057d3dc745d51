// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factor of a tree's block of A from the leaves to the root. Parents come before children
// in a tree, so that in reverse order L has no fill between branches (Featherstone, Int. J.
// Robotics Research 24, 2005), and the row of a contact or a limit stays zero outside its path to
// the root. Nothing is assumed about A: zeros are looked for.
#ifndef SAP_PROBLEM_BRANCH_FACTOR_H
#define SAP_PROBLEM_BRANCH_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A: n x n, full square. L (n x n) and rows (n x n), column j in reverse order from j n on: the
// pivot's reciprocal, then the nonzeros below; their count, then their rows. False: not positive.
bool sap_branch_factor(const double* A, double* L, int32_t* rows, int32_t size);
// W (3 x 3, lower) += J A^-1 J' of three rows, column-major with ld 3. X: 4 n numbers of scratch.
void sap_branch_add_three_rows(const double* L, const int32_t* rows, size_t n, const double* J,
                               double* X, double W[9]);
// x (n) = L^-1 J' of one row, in reverse order; J with stride nrows.
void sap_branch_solve_row(const double* L, const int32_t* rows, size_t n, const double* J,
                          size_t nrows, double* x);
// x (n) = A^-1 b in the tree's own order; y: n numbers of scratch. x may be b.
void sap_branch_solve(const double* L, const int32_t* rows, size_t n, const double* b, double* y,
                      double* x);

#endif
