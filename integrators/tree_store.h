// SPDX-License-Identifier: BSD-3-Clause
// Memory for a symmetric matrix in a system's pattern: one lower triangle per tree, one full block
// per coupling.
#ifndef SAP_INTEGRATORS_TREE_STORE_H
#define SAP_INTEGRATORS_TREE_STORE_H

#include <sapstep/system.h>

#include "core/threads.h"

typedef struct sap_tree_store {
  sap_tree_matrix view;  // what callbacks fill; points into the arrays below
  double** pointers;     // diagonal blocks, then couplings             (ntrees + ncouplings)
  double* values;        // all entries
  size_t count;          // of them
  uint64_t made;         // how often they were begun anew
} sap_tree_store;

// Start from {0}. The clearing function may be called on any of the two.
sap_status sap_tree_store_create(const sap_system* system, sap_tree_store* store, sap_error* error);
void sap_tree_store_clear(sap_tree_store* store);

void sap_tree_store_zero(sap_tree_store* store);
// a += s b
void sap_tree_store_add_scaled(sap_tree_store* a, double s, const sap_tree_store* b);
// y = S x, both (nv); tree_dof[t]: first velocity of tree t. threads NULL: one.
void sap_tree_store_multiply(const sap_system* system, sap_threads* threads,
                             const int32_t* tree_dof, const sap_tree_store* store, const double* x,
                             double* y);
// Is every entry of the lower triangles and the couplings finite? If not, *tree is one it is in.
bool sap_tree_store_is_finite(const sap_system* system, sap_threads* threads,
                              const sap_tree_store* store, int32_t* tree);

#endif
