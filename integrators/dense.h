// SPDX-License-Identifier: BSD-3-Clause
// Dense Cholesky of one tree's matrix.
#ifndef SAP_INTEGRATORS_DENSE_H
#define SAP_INTEGRATORS_DENSE_H

#include <stdbool.h>
#include <stdint.h>

// L L' = A from A's lower triangle, both n x n, ld n. False unless A is positive definite (NaN
// included); L is then undefined.
bool sap_dense_cholesky(int32_t n, const double* A, double* L);
// L L' x = b in place.
void sap_dense_cholesky_solve(int32_t n, const double* L, double* x);
// Solves B x = b by LU with partial pivoting; B (n x n, ld n) is overwritten, pivots is (n).
// False when B is singular or not finite.
bool sap_dense_lu_solve(int32_t n, double* B, int32_t* pivots, double* x);

#endif
