// SPDX-License-Identifier: BSD-3-Clause
// Products with a symmetric matrix of a tree, or its inverse, n x n with ld n, too small for BLAS.
// Compiled for several instruction sets and chosen at run time. The sets differ in the last bits
// (fused multiply-add); a set always does the same operations in the same order.
#pragma once

#include <stdint.h>

typedef struct sap_square_kernels {
  const char* name;  // instruction set
  // Adds A x to y; A has both triangles.
  void (*add)(int32_t n, const double* A, const double* x, double* y);
  void (*add_lower)(int32_t n, const double* A, const double* x, double* y);
  // Adds J A^-1 J' of three rows (ld 3) on six velocities to W (3 x 3, lower). L: Cholesky factor of
  // A, ld 6, with reciprocals on its diagonal.
  void (*add_three_rows)(const double L[36], const double J[18], double W[9]);
  void (*mirror)(int32_t n, const double* A, int32_t ld, double* out);
} sap_square_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_square_kernels* sap_square_kernels_get(int32_t index);

// Adds A x to y, from the lower triangle of A (column-major); the upper one is not read.
static inline void sap_square_add_lower(int32_t n, const double* A, const double* x, double* y) {
  sap_square_kernels_get(0)->add_lower(n, A, x, y);
}

// Writes both triangles to out (ld n) from the lower one of A.
static inline void sap_square_mirror(int32_t n, const double* A, int32_t ld, double* out) {
  sap_square_kernels_get(0)->mirror(n, A, ld, out);
}

// Adds C x_b to y_a and C' x_a to y_b; C: rows x columns, of two trees.
static inline void sap_square_add_coupling(int32_t rows, int32_t columns, const double* C,
                                           const double* xa, const double* xb, double* ya,
                                           double* yb) {
  for (int32_t j = 0; j < columns; ++j, C += rows) {
    double sum = 0.0;
    for (int32_t i = 0; i < rows; ++i) {
      ya[i] += C[i] * xb[j];
      sum += C[i] * xa[i];
    }
    yb[j] += sum;
  }
}
