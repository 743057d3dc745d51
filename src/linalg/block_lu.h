// SPDX-License-Identifier: BSD-3-Clause
// LU factorization of an unsymmetric block-sparse matrix whose pattern is symmetric. Pivots are
// chosen among the rows of a supernode only; sap_block_lu_solve refines, and says how well it did.
#ifndef SAP_LINALG_BLOCK_LU_H
#define SAP_LINALG_BLOCK_LU_H

#include "linalg/ordering/block_order.h"

// Start from {0}. A supernode is some consecutive columns in elimination order and the rows below
// that they fill. Its panels: L over it, (width + below) x width; U beside it, transposed,
// below x width.
typedef struct sap_block_lu {
  sap_pattern_copy pattern;  // what was analysed last
  bool whole;                // as one supernode
  sap_block_order order;
  int32_t nsuper;
  double work_estimate;   // multiply-adds of a factorization
  int32_t* super_first;   // first position of a supernode                 (nsuper + 1)
  int32_t* super_of;      // supernode of a position                       (nblocks)
  int32_t* scalar_start;  // first scalar of a position                    (nblocks + 1)
  int32_t* row_start;     // a supernode's first row below                 (nsuper + 1)
  int32_t* row;           // scalars below, ascending                      (row_start[nsuper])
  int32_t *parent, *count, *mark;  // elimination tree, rows below, work   (nblocks)
  int32_t* place;                  // of a scalar in a supernode's rows    (n)
  int32_t* pivot;                  // (n)
  size_t *lower_start, *upper_start;
  double *lower, *upper, *product, *x, *residual, *part;
  int32_t capacity[17];
} sap_block_lu;

// The lower blocks of A are `lower`; upper is laid out alike and holds the transposed blocks of the
// upper triangle. Diagonal blocks are full squares in lower.
typedef struct sap_block_matrix {
  const double *lower, *upper;
} sap_block_matrix;

void sap_block_lu_clear(sap_block_lu* lu);
// whole: one supernode, with partial pivoting throughout. Nothing is done for the pattern before.
sap_status sap_block_lu_analyze(sap_block_lu* lu, const sap_block_pattern* pattern, bool whole,
                                sap_error* error);
// false: singular to working precision or not finite. No heap calls.
bool sap_block_lu_factorize(sap_block_lu* lu, const sap_block_matrix* matrix);
// x <- A^-1 x, in the pattern's order, refined. Returns |b - A x| / |b|, which may be infinite.
double sap_block_lu_solve(sap_block_lu* lu, const sap_block_matrix* matrix, double* x);

#endif
