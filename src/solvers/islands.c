// SPDX-License-Identifier: BSD-3-Clause
// Union-find over trees; the root of a set is its smallest tree.  cost: near O(trees + blocks)
#include "solvers/islands.h"

#include "core/memory.h"
#include "problem/problem_data.h"

static int32_t find(int32_t* parent, int32_t tree) {
  while (parent[tree] != tree) {
    parent[tree] = parent[parent[tree]];
    tree = parent[tree];
  }
  return tree;
}

static void join(int32_t* parent, int32_t a, int32_t b) {
  const int32_t root_a = find(parent, a), root_b = find(parent, b);
  if (root_a < root_b) {
    parent[root_b] = root_a;
  } else {
    parent[root_a] = root_b;
  }
}

static void join_all(const sap_problem* p, bool merge, int32_t* parent) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    parent[t] = t;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const int32_t* trees = p->block_trees + p->blocks[b].first_tree;
    for (int32_t i = 1; i < p->blocks[b].ntrees; ++i) {
      join(parent, trees[0], trees[i]);
    }
    if (merge) {
      join(parent, trees[0], p->block_trees[0]);
    }
  }
  for (int32_t c = 0; c < p->ncouplings; ++c) {
    join(parent, p->couplings[c].tree_a, p->couplings[c].tree_b);
  }
}

// start[i + 1] holds counts; afterwards start[i] is where group i begins.
static void accumulate(int32_t* start, int32_t count) {
  start[0] = 0;
  for (int32_t i = 0; i < count; ++i) {
    start[i + 1] += start[i];
  }
}

sap_status sap_islands_find(sap_islands* islands, const sap_problem* p, bool merge,
                            sap_error* error) {
  const int32_t n = p->ntrees;
  const sap_status status = SAP_RESERVE(&islands->memory, &islands->memory_capacity,
                                        6 * (int64_t)n + p->nblocks + 2, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t* parent = islands->memory;
  int32_t* island = parent + n;  // of a tree, -1: none
  int32_t* local = island + n;
  int32_t* trees = local + n;
  int32_t* tree_start = trees + n;
  int32_t* block_start = tree_start + n + 1;
  int32_t* blocks = block_start + n + 1;
  join_all(p, merge, parent);
  for (int32_t t = 0; t < n; ++t) {
    island[t] = -1;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    island[find(parent, p->block_trees[p->blocks[b].first_tree])] = 0;
  }
  int32_t count = 0;
  for (int32_t t = 0; t < n; ++t) {  // a root comes before the other trees of its set
    const int32_t root = find(parent, t);
    if (root == t && island[t] == 0) {
      tree_start[count + 1] = 0;
      block_start[count + 1] = 0;
      island[t] = count++;
    } else if (root != t) {
      island[t] = island[root];
    }
    local[t] = island[t] >= 0 ? tree_start[island[t] + 1]++ : -1;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    block_start[island[p->block_trees[p->blocks[b].first_tree]] + 1] += 1;
  }
  accumulate(tree_start, count);
  accumulate(block_start, count);
  for (int32_t t = 0; t < n; ++t) {
    if (island[t] >= 0) {
      trees[tree_start[island[t]] + local[t]] = t;
    }
  }
  int32_t* next = parent;  // the sets are known: reuse as fill positions of the islands
  for (int32_t i = 0; i < count; ++i) {
    next[i] = block_start[i];
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    blocks[next[island[p->block_trees[p->blocks[b].first_tree]]]++] = b;
  }
  islands->count = count;
  islands->tree_start = tree_start;
  islands->trees = trees;
  islands->block_start = block_start;
  islands->blocks = blocks;
  islands->local = local;
  return SAP_STATUS_OK;
}

void sap_islands_clear(sap_islands* islands) {
  sap_free(islands->memory);
  *islands = (sap_islands){0};
}
