// SPDX-License-Identifier: BSD-3-Clause
// Memory of a gathered island, and what its items are made of once their rows are there.
#ifndef SAP_PROBLEM_DELASSUS_MEMORY_H
#define SAP_PROBLEM_DELASSUS_MEMORY_H

#include "linalg/cholesky.h"
#include "problem/delassus_mobility.h"
#include "problem/delassus_operator.h"

struct sap_delassus_memory {
  sap_mobility_lift mobility;
  int32_t *start, *item_trees;
  sap_delassus_item* items;
  double *jacobian, *lift, *rows, *velocities, *values;
  int32_t start_capacity, item_trees_capacity, items_capacity;
  int32_t jacobian_capacity, lift_capacity, rows_capacity, velocities_capacity, values_capacity;
  sap_cholesky* cholesky;  // of a coupled island; made when first needed
};

// The island's A as one dense block, factorized: coupled islands are few and small.
sap_status sap_delassus_factorize_coupled(sap_delassus* d, const int32_t* local, sap_error* error);
// Y = A^-1 J' of one item.
sap_status sap_delassus_lift_item(sap_delassus* d, const sap_delassus_item* item, sap_error* error);
// D_ii, the scaling, and q of an item whose Y is there.
sap_status sap_delassus_finish_item(sap_delassus* d, sap_delassus_item* item, sap_error* error);

#endif
