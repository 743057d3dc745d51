// SPDX-License-Identifier: BSD-3-Clause
// Row values of blocks kept from one solve to the next, found by the blocks' identities.
#ifndef SAP_SOLVERS_DUAL_KEY_MAP_H
#define SAP_SOLVERS_DUAL_KEY_MAP_H

#include <sapstep/problem.h>

#include "core/archive.h"

typedef struct sap_key_entry {
  uint64_t key;  // 0: empty
  int32_t first, nrows;
} sap_key_entry;

typedef struct sap_key_map {
  sap_key_entry* entries;  // open addressing, a power of two
  double* values;
  int32_t size;  // of entries in use by the hash, 0: nothing stored
  int32_t nvalues, entries_capacity, values_capacity;
} sap_key_map;

// Replaces what is stored by `values` (nrows of the problem). Blocks of key 0 are not found again;
// of blocks with equal keys the first is.
sap_status sap_key_map_store(sap_key_map* map, const sap_problem* problem, const double* values,
                             sap_error* error);
// Values of the block that had this key and this number of rows, NULL: none.
const double* sap_key_map_find(const sap_key_map* map, uint64_t key, int32_t nrows);
sap_status sap_key_map_archive(sap_key_map* map, sap_archive* archive, sap_error* error);
void sap_key_map_clear(sap_key_map* map);

#endif
