// SPDX-License-Identifier: BSD-3-Clause
// Symbolic analyses, cached by pattern. Islands appear, vanish and change places between steps, but
// their patterns come back. Islands of equal pattern are solved one after the other and share one
// object, unless they keep theirs for the next solve. The entry unused for longest is reused first.
#pragma once

#include "linalg/cholesky.h"

typedef struct sap_pool_entry {
  sap_cholesky* cholesky;
  uint64_t hash;       // of the pattern, 0: none
  uint64_t last_used;  // number of the solve
  bool is_large;       // has the memory of large patterns, and takes these alone
  bool is_kept;        // not shared until the number of the solve is another
} sap_pool_entry;

typedef struct sap_cholesky_pool {
  sap_pool_entry* entries;
  int32_t count, capacity;
  uint64_t solve;  // number of the current solve; the caller counts
  bool keeps;      // the next object is kept; the caller sets it
} sap_cholesky_pool;

// Returns an object analysed for the pattern. *analysed: false if it was in the cache.
sap_status sap_cholesky_pool_get(sap_cholesky_pool* pool, const sap_block_pattern* pattern,
                                 sap_linear_solver choice, sap_cholesky** out, bool* analysed,
                                 sap_error* error);
void sap_cholesky_pool_clear(sap_cholesky_pool* pool);
