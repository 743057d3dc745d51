// SPDX-License-Identifier: BSD-3-Clause
// Islands: sets of trees linked by constraint blocks or by couplings in A, with at least one block.
#ifndef SAP_SOLVERS_ISLANDS_H
#define SAP_SOLVERS_ISLANDS_H

#include <sapstep/problem.h>

// Islands are ordered by their smallest tree; trees and blocks inside one ascend.
typedef struct sap_islands {
  int32_t count;
  const int32_t* tree_start;   // (count + 1)
  const int32_t* trees;        // those of island i: trees[tree_start[i] ...]
  const int32_t* block_start;  // (count + 1)
  const int32_t* blocks;       // likewise
  const int32_t* local;        // index of a tree inside its island, -1: in none      (ntrees)
  int32_t* memory;
  int32_t memory_capacity;
} sap_islands;

// merge: all islands are made one. Start with {0}.
sap_status sap_islands_find(sap_islands* islands, const sap_problem* problem, bool merge,
                            sap_error* error);
void sap_islands_clear(sap_islands* islands);

#endif
