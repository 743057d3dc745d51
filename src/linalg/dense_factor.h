// SPDX-License-Identifier: BSD-3-Clause
// Cholesky A = L L' of one dense matrix through LAPACK, lower triangle, column-major, ld n.
// cost: n^3/3 flops, in place.
#ifndef SAP_LINALG_DENSE_FACTOR_H
#define SAP_LINALG_DENSE_FACTOR_H

#include <stdint.h>

// The column whose pivot is not positive and finite, -1: none, L is there.  n may be 0.
int32_t sap_dense_factorize(int32_t n, double* A);
// x = A^-1 x
void sap_dense_factor_solve(int32_t n, const double* L, double* x);

#endif
