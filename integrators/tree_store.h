// SPDX-License-Identifier: BSD-3-Clause
// Memory of a symmetric matrix with the pattern of a system: one lower triangle per tree, one full
// block per coupling.
#pragma once

#include <sapstep/system.h>

#include "core/memory.h"

typedef struct sap_tree_store {
  sap_tree_matrix view;  // filled by callbacks; points into the arrays below
  double** pointers;     // diagonal blocks, then couplings             (ntrees + ncouplings)
  int32_t* tree_dof;     // first velocity of each tree                 (ntrees + 1)
  double* values;        // all entries
  size_t count;          // of all entries
  uint64_t generation;   // of the entries: how often they were set to zero
} sap_tree_store;

// Allocates in the pool; start from {0}.
sap_status sap_tree_store_create(const sap_system* system, sap_pool* pool, sap_tree_store* store,
                                 sap_error* error);

// Sets all entries to zero and starts a new generation.
void sap_tree_store_zero(sap_tree_store* store);
// Adds s b to a.
void sap_tree_store_add_scaled(sap_tree_store* a, double s, const sap_tree_store* b);
// Computes y = S x, both (nv).
void sap_tree_store_multiply(const sap_system* system, const sap_tree_store* store, const double* x,
                             double* y);
// Returns true if all entries of lower triangles and couplings are finite; else *tree is the tree
// of one that is not.
bool sap_tree_store_is_finite(const sap_system* system, const sap_tree_store* store, int32_t* tree);
