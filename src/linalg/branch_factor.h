// SPDX-License-Identifier: BSD-3-Clause
// Factors A = L' D L, L unit lower, of a tree's block of A, from the leaves to the root. Parents
// come before children in a tree, so that L has no fill between branches (Featherstone, Int. J.
// Robotics Research 24, 2005), and the row of a contact or a limit stays zero outside its path to
// the root. Zeros are found in the numbers, four rows and columns at a time; no tree structure is
// needed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernels.h"

// Sizes for n velocities: a row; L followed by 1/d_k; the runs of four rows; all runs.
#define SAP_BRANCH_ROW(n) (((n) + 3) / 4 * 4)
#define SAP_BRANCH_SIZE(n) ((n) * (SAP_BRANCH_ROW(n) + 1))
#define SAP_BRANCH_BLOCK_RUNS(n) (((n) + 3) / 4 + 2)
#define SAP_BRANCH_RUNS(n) (((n) + 3) / 4 * SAP_BRANCH_BLOCK_RUNS(n))

typedef struct sap_branch_factor {
  int32_t n;
  double* L;  // l_kj for j < k, zeros up to the end of a four; after the last row 1/d_k
  // For each four rows: number of runs of four columns with nonzeros left of the diagonal, then
  // [begin, end) of each.
  int32_t* runs;
} sap_branch_factor;

// Columns of J that are not zero.
typedef struct sap_packed_rows {
  int32_t rows, columns;
  const int32_t* at;         // ascending                                           (columns)
  const double* const* row;  // read up to the end of a four of columns        (rows)
} sap_packed_rows;

// The functions, compiled for several instruction sets and chosen at run time. The sets differ in
// the last bits (fused multiply-add).
typedef struct sap_branch_kernels {
  const char* name;  // instruction set
  // Factorizes A (n x n, ld n, column-major; its lower triangle is read). Returns false unless A is
  // positive definite (NaN included); L is then undefined.
  bool (*factorize)(const double* A, double* L, int32_t* runs, int32_t n);
  // Factorizes B = U D L, unsymmetric but near an SPD matrix, into L and U' with the same runs; B has
  // the rows and columns `at` (n) of a matrix with leading dimension ld. Returns false where pivots
  // have signs or sizes that no SPD matrix gives (NaN included).
  bool (*factorize_lu)(const double* B, size_t ld, const int32_t* at,
                       const sap_branch_factor factors[2]);
  // Solves A x = b in place: left and right are A's factor. B x = b: L and U'; B' x = b: U' and L.
  // work: a row.
  void (*solve)(const sap_branch_factor* left, const sap_branch_factor* right, double* x,
                double* work);
  // The same of up to four columns of X. work: four rows.
  void (*solve_four)(const sap_branch_factor* left, const sap_branch_factor* right, int count,
                     double* X, size_t ld, double* work);
  // Adds J A^-1 J' of three rows to W (3 x 3, lower, column-major). work: four rows.
  void (*add_three_rows)(const sap_branch_factor* factor, const double* J, double* work,
                         double W[9]);
  // Computes x (a row) = D^-1/2 L'^-1 J' of one row J, with stride nrows: x . x = J A^-1 J'.
  void (*solve_row)(const sap_branch_factor* factor, const double* J, size_t nrows, double* x);
  // Returns J A^-1 J' of one row. work: a row.
  double (*row_square)(const sap_branch_factor* factor, const double* J, double* work);
  // Adds J' G J to B (n x n); G: rows x rows with leading dimension ld, rows <= 6.
  void (*add_square)(const sap_packed_rows* J, const double* G, int32_t ld, double* B, int32_t n);
} sap_branch_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_branch_kernels* sap_branch_kernels_get(int32_t index);
