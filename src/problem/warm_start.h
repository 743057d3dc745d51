// SPDX-License-Identifier: BSD-3-Clause
// Memory between solves and steps: values of the rows of blocks, found by the blocks' keys.
#pragma once

#include <sapstep/problem.h>

#include "core/hash_map.h"

typedef struct sap_warm_rows {
  int32_t first;  // in values
  int32_t count;
} sap_warm_rows;

// Start with {0}.
typedef struct sap_warm_start {
  sap_hash_map keys;
  sap_warm_rows* rows;  // of each key  (nrows)
  double* values;       //              (nvalues)
  int32_t nrows, rows_capacity;
  int32_t nvalues, values_capacity;
} sap_warm_start;

// Makes room to store a problem's values. Stored values stay readable.
sap_status sap_warm_start_reserve(sap_warm_start* memory, const sap_problem* problem,
                                  sap_error* error);
// Replaces the stored values by `values` (rows of the problem). Blocks of key 0 are not stored; of
// blocks with the same key the first is. Needs the room.
void sap_warm_start_store(sap_warm_start* memory, const sap_problem* problem, const double* values);
// Returns the values of the block that had this key and this number of rows, NULL: none.
const double* sap_warm_start_find(const sap_warm_start* memory, uint64_t key, int32_t nrows);
// Sets `values` (rows of the problem) from the stored values of all blocks, NaN: none.
void sap_warm_start_recall(const sap_warm_start* memory, const sap_problem* problem,
                           double* values);
sap_status sap_warm_start_archive(sap_warm_start* memory, sap_archive* archive, sap_error* error);
// Removes the values and keeps the room.
void sap_warm_start_forget(sap_warm_start* memory);
void sap_warm_start_clear(sap_warm_start* memory);
