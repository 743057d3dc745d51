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
  bool (*factorize)(const double* A, double* L, int32_t* runs, int32_t n);
  bool (*factorize_lu)(const double* B, const sap_branch_factor factors[2]);
  void (*solve)(const sap_branch_factor* left, const sap_branch_factor* right, double* x,
                double* work);
  void (*solve_four)(const sap_branch_factor* left, const sap_branch_factor* right, int count,
                     double* X, size_t ld, double* work);
  void (*add_three_rows)(const sap_branch_factor* factor, const double* J, double* work,
                         double W[9]);
  void (*solve_row)(const sap_branch_factor* factor, const double* J, size_t nrows, double* x);
  double (*row_square)(const sap_branch_factor* factor, const double* J, double* work);
  void (*add_square)(const sap_packed_rows* J, const double* G, int32_t ld, double* B, int32_t n);
} sap_branch_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_branch_kernels* sap_branch_kernels_get(int32_t index);

// Factorizes A (n x n, ld n, column-major; its lower triangle is read). Returns false unless A is
// positive definite (NaN included); L is then undefined.
static inline bool sap_branch_factorize(const double* A, double* L, int32_t* runs, int32_t n) {
  return sap_branch_kernels_get(0)->factorize(A, L, runs, n);
}

// Solves A x = b in place. work: a row.
static inline void sap_branch_solve(const sap_branch_factor* factor, double* x, double* work) {
  sap_branch_kernels_get(0)->solve(factor, factor, x, work);
}

// The same of up to four columns of X. work: four rows.
static inline void sap_branch_solve_four(const sap_branch_factor* factor, int count, double* X,
                                         size_t ld, double* work) {
  sap_branch_kernels_get(0)->solve_four(factor, factor, count, X, ld, work);
}

// Factorizes B = U D L, unsymmetric but near an SPD matrix, into L and U' with the same runs. Returns
// false where pivots have signs or sizes that no SPD matrix gives (NaN included).
static inline bool sap_branch_factorize_lu(const double* B, const sap_branch_factor factors[2]) {
  return sap_branch_kernels_get(0)->factorize_lu(B, factors);
}

// Solves B X = C, or B' X = C, of up to four columns (n x count) in place. work: four rows.
static inline void sap_branch_solve_lu(const sap_branch_factor factors[2], bool transposed,
                                       int count, double* X, double* work) {
  const sap_branch_factor *left = &factors[!transposed], *right = &factors[transposed];
  if (count == 1) {
    sap_branch_kernels_get(0)->solve(left, right, X, work);
  } else {
    sap_branch_kernels_get(0)->solve_four(left, right, count, X, (size_t)left->n, work);
  }
}

// Adds J' G J to B (n x n); G: rows x rows with leading dimension ld, rows <= 6.
static inline void sap_branch_add_square(const sap_packed_rows* J, const double* G, int32_t ld,
                                         double* B, int32_t n) {
  sap_branch_kernels_get(0)->add_square(J, G, ld, B, n);
}

// Adds J A^-1 J' of three rows to W (3 x 3, lower, column-major). work: four rows.
static inline void sap_branch_add_three_rows(const sap_branch_factor* factor, const double* J,
                                             double* work, double W[9]) {
  sap_branch_kernels_get(0)->add_three_rows(factor, J, work, W);
}

// Computes x (a row) = D^-1/2 L'^-1 J' of one row J, with stride nrows: x . x = J A^-1 J'.
static inline void sap_branch_solve_row(const sap_branch_factor* factor, const double* J,
                                        size_t nrows, double* x) {
  sap_branch_kernels_get(0)->solve_row(factor, J, nrows, x);
}

// Returns J A^-1 J' of one row. work: a row.
static inline double sap_branch_row_square(const sap_branch_factor* factor, const double* J,
                                           double* work) {
  return sap_branch_kernels_get(0)->row_square(factor, J, work);
}
