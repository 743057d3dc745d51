// SPDX-License-Identifier: BSD-3-Clause
// Random symmetric block matrices and a brute-force dense Cholesky to judge factorizations by.
#ifndef SAP_TEST_SUPPORT_BLOCK_MATRIX_H
#define SAP_TEST_SUPPORT_BLOCK_MATRIX_H

#include "linalg/cholesky.h"

typedef struct block_matrix {
  sap_block_pattern pattern;  // points into the arrays below
  int32_t n;
  size_t nvalues;
  int32_t* sizes;
  int32_t* column_start;
  int32_t* row;
  size_t* value_start;
  double* values;
  int32_t* offset;  // (nblocks + 1)
} block_matrix;

// Deterministic numbers in [-1, 1).
double test_random(uint64_t* state);

// linked(i, j, context), i > j, tells whether block (i, j) exists. Values are zero. Entries of the
// upper triangle of diagonal blocks are NaN: nobody may read them.
typedef bool block_linked(int32_t i, int32_t j, const void* context);
block_matrix block_matrix_create(int32_t nblocks, const int32_t* sizes, block_linked* linked,
                                 const void* context);
void block_matrix_destroy(block_matrix* matrix);

// Adds d_i G G^T d_j for a random G per link and d_i I to every diagonal: SPD, as a contact
// Hessian. scale[i] multiplies rows and columns of block i (NULL: ones).
void block_matrix_fill_spd(block_matrix* matrix, const double* scale, uint64_t seed);

double* block_matrix_entry(block_matrix* matrix, int32_t i, int32_t j);  // NULL when absent, i >= j
void block_matrix_dense(const block_matrix* matrix, double* a);          // full n x n

// y = A x
void block_matrix_multiply(const block_matrix* matrix, const double* x, double* y);
// x = A^-1 b by the textbook's Cholesky in long double; false when A is not positive definite.
bool block_matrix_solve(const block_matrix* matrix, double* x);

#endif
