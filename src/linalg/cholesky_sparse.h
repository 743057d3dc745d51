// SPDX-License-Identifier: BSD-3-Clause
// Sparse back-end: CHOLMOD.
#ifndef SAP_LINALG_CHOLESKY_SPARSE_H
#define SAP_LINALG_CHOLESKY_SPARSE_H

#include "linalg/block_order.h"

typedef struct sap_cholesky_sparse sap_cholesky_sparse;

// Returns NULL if memory is lacking.
sap_cholesky_sparse* sap_cholesky_sparse_create(void);
void sap_cholesky_sparse_destroy(sap_cholesky_sparse* sparse);
sap_status sap_cholesky_sparse_analyze(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
                                       const sap_block_order* order, sap_error* error);
// Factorizes finite values. *broken is the block row where the factorization broke, or -1. fails:
// MEMORY.
sap_status sap_cholesky_sparse_factorize(sap_cholesky_sparse* sparse,
                                         const sap_pattern_copy* pattern, const double* values,
                                         int32_t* broken, sap_error* error);
void sap_cholesky_sparse_solve(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
                               double* x);

#endif
