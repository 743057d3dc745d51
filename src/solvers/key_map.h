// SPDX-License-Identifier: BSD-3-Clause
// Row values of blocks kept from one solve to the next, found by the blocks' keys.
#ifndef SAP_SOLVERS_KEY_MAP_H
#define SAP_SOLVERS_KEY_MAP_H

#include "core/hash_map.h"
#include "problem/problem_data.h"

typedef struct sap_key_rows {
  int32_t first;  // in values
  int32_t count;
} sap_key_rows;

// Start with {0}.
typedef struct sap_key_map {
  sap_hash_map keys;
  sap_key_rows* rows;  // of each key  (nrows)
  double* values;      //              (nvalues)
  int32_t nrows, rows_capacity;
  int32_t nvalues, values_capacity;
} sap_key_map;

// Room to store a problem's values; what is stored stays readable.
sap_status sap_key_map_reserve(sap_key_map* map, const sap_problem* problem, sap_error* error);
// Replaces what is stored by `values` (rows of the problem). Blocks of key 0 are not found again;
// of blocks with the same key the first is. Needs the reserve.
void sap_key_map_store(sap_key_map* map, const sap_problem* problem, const double* values);
// Values of the block that had this key and this number of rows, NULL: none.
const double* sap_key_map_find(const sap_key_map* map, uint64_t key, int32_t nrows);
// The same of all blocks: values (rows of the problem), NaN where there are none.
void sap_key_map_recall(const sap_key_map* map, const sap_problem* problem, double* values);
sap_status sap_key_map_archive(sap_key_map* map, sap_archive* archive, sap_error* error);
void sap_key_map_clear(sap_key_map* map);

#endif
