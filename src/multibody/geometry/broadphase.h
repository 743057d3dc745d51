// SPDX-License-Identifier: BSD-3-Clause
// Pairs of overlapping bounding boxes, by sweep and prune: boxes are sorted by their lower x. The
// order is kept, so that insertion sort takes near-linear time in the next call.
// cost: O(n + pairs that overlap along x)
#pragma once

#include "core/memory.h"

typedef struct sap_aabb {
  double lower[3], upper[3];
} sap_aabb;

static inline bool sap_aabb_overlap(const sap_aabb* a, const sap_aabb* b) {
  return a->lower[1] <= b->upper[1] && b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] &&
         b->lower[2] <= a->upper[2] && a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0];
}

typedef struct sap_broadphase {
  sap_pool* pool;   // of the arrays, the owner's
  int32_t count;    // boxes
  sap_aabb* boxes;  // by index, filled by the caller                        (count)
  int32_t* order;   // indices sorted by lower x                             (count)
  double* lower_x;  // in this order                                         (count)
  uint64_t* pairs;  // lower index << 32 | higher index, unsorted            (pair_count)
  int32_t pair_count;
} sap_broadphase;

// Freed with the pool.
sap_status sap_broadphase_create(sap_broadphase* bp, sap_pool* pool, int32_t count,
                                 sap_error* error);

// Finds the pairs that overlap and that `accept` accepts.
typedef bool sap_broadphase_accept(const void* context, int32_t a, int32_t b);
sap_status sap_broadphase_find(sap_broadphase* bp, sap_broadphase_accept* accept,
                               const void* context, sap_error* error);

// Sorts the keys in place.
void sap_sort_keys(uint64_t* keys, int32_t count);
