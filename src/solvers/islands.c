// SPDX-License-Identifier: BSD-3-Clause
// Islands by union-find over trees; the root of a set is its smallest tree.
// cost: near O(trees + blocks)
#include "solvers/islands.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

int32_t sap_tree_root(int32_t* parent, int32_t tree) {
  while (parent[tree] != tree) {
    parent[tree] = parent[parent[tree]];
    tree = parent[tree];
  }
  return tree;
}

void sap_join_trees(int32_t* parent, int32_t a, int32_t b) {
  const int32_t root_a = sap_tree_root(parent, a), root_b = sap_tree_root(parent, b);
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
      sap_join_trees(parent, trees[0], trees[i]);
    }
    if (merge) {
      sap_join_trees(parent, trees[0], p->block_trees[0]);
    }
  }
  for (int32_t c = 0; c < p->ncouplings; ++c) {
    sap_join_trees(parent, p->couplings[c].tree_a, p->couplings[c].tree_b);
  }
}

// Turns counts in start[i + 1] into starts: group i begins at start[i].
static void accumulate(int32_t* start, int32_t count) {
  start[0] = 0;
  for (int32_t i = 0; i < count; ++i) {
    start[i + 1] += start[i];
  }
}

sap_status sap_islands_find(sap_islands* islands, const sap_problem* p, bool merge,
                            sap_error* error) {
  const int32_t n = p->ntrees;
  SAP_TRY(SAP_ROOM(&islands->pool, &islands->memory, 6 * (int64_t)n + p->nblocks + 2, error));
  int32_t* parent = islands->memory;
  int32_t* island = parent + n;  // of each tree, -1: none
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
    island[sap_tree_root(parent, p->block_trees[p->blocks[b].first_tree])] = 0;
  }
  int32_t count = 0;
  for (int32_t t = 0; t < n; ++t) {  // a root comes before the other trees of its set
    const int32_t root = sap_tree_root(parent, t);
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
  int32_t* next = parent;  // no longer needed: fill positions of the islands
  memcpy(next, block_start, (size_t)count * sizeof *next);
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

sap_island sap_islands_get(const sap_islands* s, int32_t index) {
  const int32_t tree = s->tree_start[index], block = s->block_start[index];
  return (sap_island){.trees = s->trees + tree,
                      .blocks = s->blocks + block,
                      .local = s->local,
                      .ntrees = s->tree_start[index + 1] - tree,
                      .nblocks = s->block_start[index + 1] - block};
}

void sap_merge_sort(sap_sort_key* keys, sap_sort_key* scratch, int32_t count) {
  bool sorted = true;
  for (int32_t i = 1; i < count; ++i) {
    sorted = sorted && keys[i - 1].key <= keys[i].key;
  }
  sap_sort_key *from = keys, *to = scratch;
  for (int64_t width = 1; !sorted && width < count; width *= 2) {
    for (int64_t low = 0; low < count; low += 2 * width) {
      const int64_t middle = low + width < count ? low + width : count;
      const int64_t high = middle + width < count ? middle + width : count;
      int64_t i = low, j = middle;
      for (int64_t k = low; k < high; ++k) {
        const bool left = j >= high || (i < middle && from[i].key <= from[j].key);
        to[k] = left ? from[i++] : from[j++];
      }
    }
    sap_sort_key* swap = from;
    from = to;
    to = swap;
  }
  if (from != keys) {
    memcpy(keys, from, (size_t)count * sizeof *keys);
  }
}
