// SPDX-License-Identifier: BSD-3-Clause
// Gathers one island of a problem: its trees, and its blocks in an order that makes patches.
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/newton_memory.h"
#include "solvers/primal/patch_vector.h"

// Sizes that are known from the blocks alone.
static sap_status count(sap_newton* n, sap_error* error) {
  const sap_problem* p = n->problem;
  n->nv = n->ncones = n->nwide = n->npotentials = n->nintervals = n->npatch_trees = 0;
  n->ncouplings = 0;
  n->njacobian = n->nwhitened = 0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    n->nv += p->tree_size[n->trees[t]];
    for (int32_t c = p->coupling_head[n->trees[t]]; c >= 0; c = p->couplings[c].next) {
      n->ncouplings += 1;
    }
  }
  n->largest_patch = 0;
  n->nruns = 0;
  int64_t pairs = 0;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[n->blocks[b]];
    int32_t ncols = 0;
    bool large = false, bodies = block->ntrees <= 2;
    for (int32_t t = 0; t < block->ntrees; ++t) {
      const int32_t size = p->tree_size[p->block_trees[block->first_tree + t]];
      ncols += size;
      large = large || size > SAP_ONE_FREE_BODY;
      bodies = bodies && size == SAP_ONE_FREE_BODY;
    }
    n->nruns += large ? (ncols + block->ntrees) / 2 : 0;  // with a gap behind each
    const sap_patch_kind kind = sap_newton_patch_kind(block);
    if (kind == SAP_PATCH_CONES && !bodies) {
      ncols = sap_patch_fill_up(ncols);
    }
    n->ncones += kind == SAP_PATCH_CONES ? 1 : 0;
    n->nwide += kind == SAP_PATCH_WIDE ? 1 : 0;
    n->npotentials += sap_set_is_potential(block->set) ? 1 : 0;
    n->nintervals += kind == SAP_PATCH_INTERVALS ? block->nrows : 0;
    n->npatch_trees += block->ntrees;
    pairs += (int64_t)block->ntrees * (block->ntrees + 1) / 2;
    n->njacobian += (size_t)block->nrows * (size_t)ncols;
    n->nwhitened += large ? 0 : (size_t)(block->nrows * block->ntrees) * SAP_ONE_FREE_BODY;
    n->largest_patch = ncols > n->largest_patch ? ncols : n->largest_patch;
  }
  return pairs <= INT32_MAX ? SAP_STATUS_OK
                            : sap_fail(error, SAP_STATUS_MEMORY,
                                       "blocks link too many tree pairs: %lld", (long long)pairs);
}

static sap_status gather_trees(sap_newton* n, sap_error* error) {
  const sap_problem* p = n->problem;
  n->start[0] = 0;
  int32_t ncouplings = 0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const int32_t tree = n->trees[t];
    const int32_t size = p->tree_size[tree];
    const double* A = p->diagonal + p->diagonal_start[tree];
    n->size[t] = size;
    n->start[t + 1] = n->start[t] + size;
    memcpy(n->v_star + n->start[t], p->v_star + p->tree_start[tree], (size_t)size * sizeof(double));
    for (int32_t i = 0; i < size; ++i) {
      const double mass = A[(size_t)i * (size_t)(size + 1)];
      if (!(mass > 0.0)) {
        return sap_fail(error, SAP_STATUS_NOT_SPD,
                        "tree %d: diagonal entry %d of A = %g must be > 0", tree, i, mass);
      }
      n->mass[n->start[t] + i] = mass;
    }
    for (int32_t c = p->coupling_head[tree]; c >= 0; c = p->couplings[c].next) {
      n->couplings[ncouplings++] = c;
    }
  }
  return SAP_STATUS_OK;
}

// A block's place in the order: by its kind of patch, then by its first two trees in ascending
// order.
static uint64_t sort_key(const sap_newton* n, const sap_block_data* block, const int32_t* order) {
  const int32_t* trees = n->problem->block_trees + block->first_tree;
  const uint64_t first = (uint64_t)n->local[trees[order[0]]];
  const uint64_t second = block->ntrees > 1 ? (uint64_t)n->local[trees[order[1]]] + 1 : 0;
  return (uint64_t)sap_newton_patch_kind(block) << 62 | first << 31 | second;
}

// Sorts each block's trees, then the blocks.
static void sort_blocks(sap_newton* n) {
  const sap_problem* p = n->problem;
  int32_t* order = n->tree_order;
  for (int32_t b = 0; b < n->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[n->blocks[b]];
    const int32_t* trees = p->block_trees + block->first_tree;
    for (int32_t i = 0; i < block->ntrees; ++i) {
      int32_t k = i;
      for (; k > 0 && trees[order[k - 1]] > trees[i]; --k) {
        order[k] = order[k - 1];
      }
      order[k] = i;
    }
    n->memory->keys[b] =
        (sap_sort_key){sort_key(n, block, order), n->blocks[b], (int32_t)(order - n->tree_order)};
    order += block->ntrees;
  }
  sap_merge_sort(n->memory->keys, n->memory->keys + n->nblocks, n->nblocks);
}

sap_status sap_newton_gather(sap_newton* n, const sap_problem* problem, const sap_islands* islands,
                             int32_t index, sap_error* error) {
  n->problem = problem;
  n->trees = islands->trees + islands->tree_start[index];
  n->ntrees = islands->tree_start[index + 1] - islands->tree_start[index];
  n->blocks = islands->blocks + islands->block_start[index];
  n->nblocks = islands->block_start[index + 1] - islands->block_start[index];
  n->local = islands->local;
  sap_status status = count(n, error);
  if (status == SAP_STATUS_OK) {
    status = sap_newton_reserve(n, error);
  }
  if (status == SAP_STATUS_OK) {
    status = gather_trees(n, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sort_blocks(n);
  sap_newton_gather_blocks(n);
  memset(n->momentum_star, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, n->v_star, n->momentum_star);
  return sap_newton_build_pattern(n, error);
}
