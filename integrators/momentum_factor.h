// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factors of A, group by group. A group is a set of trees that couplings connect; without
// couplings every tree is one. One tree: dense, or along its branches. Several: block sparse.
#ifndef SAP_INTEGRATORS_MOMENTUM_FACTOR_H
#define SAP_INTEGRATORS_MOMENTUM_FACTOR_H

#include <sapstep/system.h>

#include "integrators/tree_store.h"
#include "linalg/branch_factor.h"
#include "linalg/cholesky.h"

enum { SAP_BRANCH_TREE = 64 };  // the largest tree whose factor follows its branches

typedef struct sap_sparse_group {
  sap_cholesky* cholesky;
  sap_block_pattern pattern;  // blocks in the order of the group's trees; owned
  int32_t* entry_source;      // entry k is tree i's diagonal block: i; coupling c: -1 - c;
                              // transposed coupling c: -1 - ncouplings - c
  double* values;             // the pattern's values
  double* x;                  // gathered right-hand side
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
  int32_t* tree_dof;     // first dof of each tree              (ntrees + 1)
  sap_tree_store L;      // dense factors of single trees
  // or such along their branches, for trees of medium size
  double** branch;        // NULL: dense                            (ntrees)
  int32_t** branch_runs;  //                                        (ntrees)
  double* branch_memory;
  int32_t* runs_memory;
  sap_tree_store of;  // the A that they are of
  uint64_t* made;     // and of which making, 0: there is no factor    (ngroups)
} sap_momentum_factor;

// Start from {0}.
sap_status sap_momentum_factor_create(const sap_system* system, sap_momentum_factor* factor,
                                      sap_error* error);
void sap_momentum_factor_clear(sap_momentum_factor* factor);

// NOT_SPD names the tree, NOT_FINITE too. The factor of the same making of A is kept, and that of a
// tree alone with the same A, to the bit.
sap_status sap_momentum_factor_group(sap_momentum_factor* factor, int32_t group,
                                     const sap_tree_store* A, sap_error* error);
// The branch factor of a tree alone with this A, if that is what the group has.
bool sap_momentum_factor_branch(const sap_momentum_factor* factor, int32_t tree,
                                const sap_tree_store* A, sap_branch_factor* out);
// x (nv): solves the group's part in place and leaves the rest. Groups may be factored and solved
// by different threads.
void sap_momentum_factor_solve(sap_momentum_factor* factor, int32_t group, double* x);

#endif
