// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factors of A, group by group. A group is a set of trees connected by couplings; without
// couplings every tree is a group. Factors of one tree are dense or follow its branches; those of
// several trees are block sparse.
#pragma once

#include <sapstep/system.h>

#include "integrators/tree_store.h"
#include "linalg/block_pattern.h"
#include "linalg/branch_factor.h"
#include "linalg/cholesky.h"

typedef struct sap_sparse_group {
  sap_cholesky* cholesky;
  sap_pair_pattern pattern;  // of the group's trees, then of its couplings
  int32_t* sizes;            // of the trees
  int32_t ncouplings;
  int32_t* couplings;  // the system's indices
  double* values;      // the pattern's values
  double* x;           // right-hand side in the pattern's order
} sap_sparse_group;

typedef struct sap_group {
  int32_t first_tree, ntrees;  // its trees are group_trees[first_tree ...], ascending
  int32_t ndofs;
  sap_sparse_group* sparse;  // NULL: one tree
} sap_group;

typedef struct sap_momentum_factor {
  const sap_system* system;
  int32_t ngroups;
  sap_group* groups;
  int32_t* group_trees;  //                                         (ntrees)
  int32_t* tree_group;   //                                         (ntrees)
  // of single trees; without runs L is dense, with reciprocals on the diagonal if small
  sap_branch_factor* factors;  //                                   (ntrees)
  sap_tree_store source;       // A of the factors of single trees
  uint64_t* generation;        // of A of each factor, 0: no factor           (ngroups)
} sap_momentum_factor;

// Allocates in the pool; start from {0}. To be cleared before the pool, also after a failure.
sap_status sap_momentum_factor_create(const sap_system* system, sap_pool* pool,
                                      sap_momentum_factor* factor, sap_error* error);
void sap_momentum_factor_clear(sap_momentum_factor* factor);

// Factorizes A of a group, unless its factor is of the same generation of A, or of a single tree
// with bitwise the same A. NOT_SPD and NOT_FINITE name the tree.
sap_status sap_momentum_factor_group(sap_momentum_factor* factor, int32_t group,
                                     const sap_tree_store* A, sap_error* error);
// Returns the factor along branches of a single tree with this A, NULL if it has none.
const sap_branch_factor* sap_momentum_factor_branch(const sap_momentum_factor* factor, int32_t tree,
                                                    const sap_tree_store* A);
// Solves A x = b in place for the group's part of x (nv). Different threads may factorize and solve
// different groups.
void sap_momentum_factor_solve(sap_momentum_factor* factor, int32_t group, double* x);
