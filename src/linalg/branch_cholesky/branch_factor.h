// SPDX-License-Identifier: BSD-3-Clause
// Factor A = L' D L, L unit lower, of a tree's block of A: from the leaves to the root. Parents
// come before children in a tree, so that L has no fill between branches (Featherstone, Int. J.
// Robotics Research 24, 2005), and the row of a contact or a limit stays zero outside its path to
// the root. Nothing is assumed about A: zeros are looked for, four rows and columns at a time.
#ifndef SAP_LINALG_BRANCH_CHOLESKY_BRANCH_FACTOR_H
#define SAP_LINALG_BRANCH_CHOLESKY_BRANCH_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sizes for n velocities: of a row, of L with 1/d_k after it, of the runs of four rows, of all
// runs.
#define SAP_BRANCH_ROW(n) (((n) + 3) / 4 * 4)
#define SAP_BRANCH_SIZE(n) ((n) * (SAP_BRANCH_ROW(n) + 1))
#define SAP_BRANCH_BLOCK_RUNS(n) (((n) + 3) / 4 + 2)
#define SAP_BRANCH_RUNS(n) (((n) + 3) / 4 * SAP_BRANCH_BLOCK_RUNS(n))

typedef struct sap_branch_factor {
  int32_t n;
  const double* L;  // l_kj for j < k, zeros up to the end of a four; after the last row 1/d_k
  // Of four rows: how many runs of four columns with nonzeros left of the diagonal's, then
  // [begin, end) of each.
  const int32_t* runs;
} sap_branch_factor;

// A: n x n, ld n, its lower triangle (column-major). False unless A is positive definite (NaN
// included); L is then undefined.
bool sap_branch_factorize(const double* A, double* L, int32_t* runs, int32_t n);
// A x = b in place. work: a row.
void sap_branch_solve(const sap_branch_factor* factor, double* x, double* work);
// W (3 x 3, lower) += J A^-1 J' of three rows, column-major with ld 3. work: four rows.
void sap_branch_add_three_rows(const sap_branch_factor* factor, const double* J, double* work,
                               double W[9]);
// x (a row) = D^-1/2 L'^-1 J' of one row, whose square is J A^-1 J'; J with stride nrows.
void sap_branch_solve_row(const sap_branch_factor* factor, const double* J, size_t nrows,
                          double* x);
// J A^-1 J' of one row. work: a row.
double sap_branch_row_square(const sap_branch_factor* factor, const double* J, double* work);

#endif
