// SPDX-License-Identifier: BSD-3-Clause
// LU factorization of an unsymmetric block-sparse matrix with a symmetric pattern, by KLU (Davis,
// Palamadai Natarajan, ACM Trans. Math. Softw. 37, 2010): AMD order, partial pivoting.
// cost: that of the fill; KLU itself allocates memory in the analysis and in each factorization
// with new pivots.
#pragma once

#include "linalg/block_pattern.h"

// Lower blocks of A are in `lower`, diagonal blocks are full squares there. `upper` has the same
// layout and holds the transposed blocks of the upper triangle.
typedef struct sap_block_matrix {
  const double *lower, *upper;
} sap_block_matrix;

// Start with {0}; sap_sparse_lu_clear frees.
typedef struct sap_sparse_lu {
  sap_pattern_copy pattern;  // analysed last
  void* symbolic;            // KLU's analysis of the pattern, NULL: none
  void* numeric;             // KLU's factors and pivots, NULL: none
  sap_pool pool;             // of the arrays below
  int32_t* start;            // first entry of a scalar column                  (n + 1)
  int32_t* row;              // ascending                                       (start[n])
  double* value;             //                                                 (start[n])
  int32_t* filled;           // work: next place of a scalar column             (n)
  double* work;              // right-hand side, residual, correction           (3 n)
} sap_sparse_lu;

typedef enum sap_lu_pivots {
  SAP_LU_LAST_PIVOTS,      // those of the last factorization of this pattern; no heap call
  SAP_LU_DIAGONAL_PIVOTS,  // new ones: the diagonal where it is not too small
  SAP_LU_LARGEST_PIVOTS,   // new ones: the largest entry of a column
} sap_lu_pivots;

void sap_sparse_lu_clear(sap_sparse_lu* lu);
// Drops the pivots, so that the next factors do not depend on earlier matrices.
void sap_sparse_lu_forget(sap_sparse_lu* lu);
// Analyses the pattern, unless it was analysed last. fails: ARGUMENT, MEMORY.
sap_status sap_sparse_lu_analyze(sap_sparse_lu* lu, const sap_block_pattern* pattern,
                                 sap_error* error);
// Factorizes. *done = false: singular to working precision, not finite, or no pivots to reuse.
// fails: MEMORY.
sap_status sap_sparse_lu_factorize(sap_sparse_lu* lu, const sap_block_matrix* matrix,
                                   sap_lu_pivots pivots, bool* done, sap_error* error);
// Solves A x = b, or A' x = b, in place, in the pattern's order, and refines x. Returns
// |b - A x| / |b|, which may be infinite.
double sap_sparse_lu_solve(sap_sparse_lu* lu, double* x, bool transposed);
