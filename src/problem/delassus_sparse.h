// SPDX-License-Identifier: BSD-3-Clause
// The Delassus operator D of an island as a block-sparse matrix, one block row per item, and
// its damped Cholesky. Items couple if they act on a common tree, through a mobility's blocks, or,
// where A couples trees, all of them.
#pragma once

#include "core/memory.h"
#include "linalg/block_pattern.h"
#include "problem/delassus.h"

// Start from {0}.
typedef struct sap_delassus_sparse {
  sap_pool pool;              // of all arrays
  sap_block_pattern pattern;  // lower triangle by block columns; diagonal blocks full squares
  double* values;
  double* upper;    // blocks of the upper triangle, transposed, in the places of those of the
                    // lower: values, unless a mobility makes D unsymmetric
  double* shifted;  // values plus the shift
  double* upper_values;
  int32_t* row_start;           // of a row in by_row
  sap_block_pair* by_row;       // entries by rows, of unsymmetric D, and work
  sap_pair_pattern pairs;       // of the pattern: items that couple
  sap_block_pair* by_tree;      // items by tree, and work
  int32_t *sizes, *tree_start;  // of items; in by_tree
  sap_cholesky* cholesky;       // made when first needed
  int32_t n;
} sap_delassus_sparse;

void sap_delassus_sparse_clear(sap_delassus_sparse* s);

// Assembles pattern and values of D, scaled like d. cost: blocks times rows times velocities of an
// item.
sap_status sap_delassus_sparse_assemble(sap_delassus_sparse* s, const sap_delassus* d,
                                        sap_error* error);
// y = D x
void sap_delassus_sparse_apply(const sap_delassus_sparse* s, const sap_delassus* d, const double* x,
                               double* y);
// Factorizes D + shift I into s->cholesky, by the dense, block or sparse Cholesky that
// linalg/cholesky.h chooses. Fails with NOT_SPD.
sap_status sap_delassus_sparse_factorize(sap_delassus_sparse* s, double shift, sap_error* error);
