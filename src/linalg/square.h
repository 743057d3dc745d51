// SPDX-License-Identifier: BSD-3-Clause
// Products with a symmetric matrix of a tree, or its inverse, n x n with ld n, too small for BLAS.
// Compiled for several instruction sets and chosen at run time; a set always does the same
// operations in the same order.
#ifndef SAP_LINALG_SQUARE_H
#define SAP_LINALG_SQUARE_H

#include <stdint.h>

// y += A x, A with both triangles.
void sap_square_add(int32_t n, const double* A, const double* x, double* y);
// y += A x, A's lower triangle (column-major); what stands above is not read.
void sap_square_add_lower(int32_t n, const double* A, const double* x, double* y);

// out (ld n): both triangles from the lower one of A.
void sap_square_mirror(int32_t n, const double* A, int32_t ld, double* out);

// W (3 x 3, lower) += J A^-1 J' of three rows (ld 3) on six velocities. L: A's Cholesky factor, ld
// 6, with reciprocals on its diagonal.
void sap_square_add_three_rows(const double L[36], const double J[18], double W[9]);

typedef struct sap_square_kernels {
  const char* name;  // instruction set
  void (*add)(int32_t n, const double* A, const double* x, double* y);
  void (*add_lower)(int32_t n, const double* A, const double* x, double* y);
  void (*add_three_rows)(const double L[36], const double J[18], double W[9]);
  void (*mirror)(int32_t n, const double* A, int32_t ld, double* out);
} sap_square_kernels;

// `index` from 0, fastest first; NULL past the last that this processor can run.
const sap_square_kernels* sap_square_kernels_get(int32_t index);

extern const sap_square_kernels sap_square_kernels_baseline;
#if defined(SAP_KERNELS_X86)
extern const sap_square_kernels sap_square_kernels_avx2;
#endif

#endif
