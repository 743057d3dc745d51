// SPDX-License-Identifier: BSD-3-Clause
// Memory behind a sap_newton: grows, never shrinks, so that a size seen before allocates nothing.
#ifndef SAP_SOLVERS_PRIMAL_NEWTON_MEMORY_H
#define SAP_SOLVERS_PRIMAL_NEWTON_MEMORY_H

#include "solvers/primal/newton.h"

// Two trees of the island that H links, and where that was said.
typedef struct sap_tree_pair {
  int32_t row, column;  // row >= column
  int32_t index;        // in pair_values
} sap_tree_pair;

struct sap_newton_memory {
  int32_t* integers;
  double* reals;
  sap_sort_key* keys;  // block and start of its trees in tree_order; twice, for sorting
  sap_patch* patches;
  sap_run* runs;
  sap_cone* cones;
  sap_sweep_cone* sweep_cones;
  sap_potential* potentials;
  sap_wide_cone* wide;
  sap_interval* intervals;
  int32_t* column_start;
  int32_t* row;
  size_t* value_start;
  sap_tree_pair* pairs;  // twice the pairs
  size_t* pair_values;
  double* values;
  int32_t integer_capacity, reals_capacity, keys_capacity, patches_capacity, runs_capacity;
  int32_t cones_capacity;
  int32_t sweep_cones_capacity, potentials_capacity, wide_capacity, intervals_capacity,
      column_start_capacity;
  int32_t row_capacity, value_start_capacity;
  int32_t pairs_capacity, pair_values_capacity, values_capacity;
};

// Room for an island whose counts are known; sets all pointers but those of the pattern.
sap_status sap_newton_reserve(sap_newton* newton, sap_error* error);

#endif
