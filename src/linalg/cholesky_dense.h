// SPDX-License-Identifier: BSD-3-Clause
// Dense back-end: the whole lower triangle, LAPACK.
#ifndef SAP_LINALG_CHOLESKY_DENSE_H
#define SAP_LINALG_CHOLESKY_DENSE_H

#include "linalg/block_pattern.h"

typedef struct sap_cholesky_dense {
  double* factor;  // L, lower triangle, column-major, ld n   (n n)
  size_t capacity;
} sap_cholesky_dense;

void sap_cholesky_dense_clear(sap_cholesky_dense* dense);
sap_status sap_cholesky_dense_analyze(sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                                      sap_error* error);
// The block row where the factorization broke, -1 when it succeeded.
int32_t sap_cholesky_dense_factorize(sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                                     const double* values);
void sap_cholesky_dense_solve(const sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                              double* x);

#endif
