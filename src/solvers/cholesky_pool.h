// SPDX-License-Identifier: BSD-3-Clause
// Symbolic analyses kept by pattern. Islands appear, vanish and change places between steps, but
// their patterns come back: equal patterns share one object whatever trees they stand for, since
// islands are solved one after the other. What was not used for some solves is reused first.
#ifndef SAP_SOLVERS_CHOLESKY_POOL_H
#define SAP_SOLVERS_CHOLESKY_POOL_H

#include "linalg/cholesky.h"

typedef struct sap_pool_entry {
  sap_cholesky* cholesky;
  uint64_t hash;       // of the pattern
  uint64_t last_used;  // solve that used it last
} sap_pool_entry;

typedef struct sap_cholesky_pool {
  sap_pool_entry* entries;
  int32_t count, capacity;
  uint64_t solve;  // counts solves
} sap_cholesky_pool;

void sap_cholesky_pool_begin_solve(sap_cholesky_pool* pool);
// An object analysed for the pattern; *analysed tells whether work was done.
sap_status sap_cholesky_pool_get(sap_cholesky_pool* pool, const sap_block_pattern* pattern,
                                 sap_linear_solver choice, sap_cholesky** out, bool* analysed,
                                 sap_error* error);
void sap_cholesky_pool_clear(sap_cholesky_pool* pool);

#endif
