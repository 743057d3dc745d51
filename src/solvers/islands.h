// SPDX-License-Identifier: BSD-3-Clause
// Islands: sets of trees linked by constraint blocks or by couplings in A, with at least one block.
#pragma once

#include "problem/delassus.h"

// All islands of a problem, ordered by their smallest tree. Trees and blocks of one island ascend.
typedef struct sap_islands {
  int32_t count;
  const int32_t* tree_start;   // (count + 1)
  const int32_t* trees;        // trees of island i: trees[tree_start[i] ...]
  const int32_t* block_start;  // (count + 1)
  const int32_t* blocks;       // blocks of island i: blocks[block_start[i] ...]
  const int32_t* local;        // index of a tree inside its island, -1: in no island  (ntrees)
  sap_pool pool;
  int32_t* memory;
} sap_islands;

// One island; the indices in `trees` and `blocks` are the problem's, `local` as in sap_islands.
typedef sap_delassus_island sap_island;

// Finds the islands. merge: all of them count as one. Start with {0}.  fails: MEMORY
sap_status sap_islands_find(sap_islands* islands, const sap_problem* problem, bool merge,
                            sap_error* error);
sap_island sap_islands_get(const sap_islands* islands, int32_t index);
SAP_DEFINE_CLEAR(sap_islands, sap_islands)

// An index with the number to sort it by.
typedef struct sap_sort_key {
  uint64_t key;
  int32_t index, data;
} sap_sort_key;

// Sorts by key, stable: merge sort without a heap call. Sorted keys cost one pass. scratch: (count)
void sap_merge_sort(sap_sort_key* keys, sap_sort_key* scratch, int32_t count);

// Union-find over trees, which start as their own parents: the root of a set is its smallest tree.
int32_t sap_tree_root(int32_t* parent, int32_t tree);
void sap_join_trees(int32_t* parent, int32_t a, int32_t b);
