// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/broadphase.h"

#include "multibody/geometry/shape.h"

sap_status sap_broadphase_create(sap_broadphase* bp, sap_pool* pool, int32_t count,
                                 sap_error* error) {
  *bp = (sap_broadphase){.pool = pool, .count = count};
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&bp->boxes, count), SAP_ARRAY(&bp->order, count),
                           SAP_ARRAY(&bp->lower_x, count)));
  for (int32_t i = 0; i < count; ++i) {
    bp->order[i] = i;
  }
  return SAP_STATUS_OK;
}

// Ciura's gaps for Shell sort.
enum { GAPS = 9 };
static const int32_t gaps[GAPS] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};

// Sorts the ranks `gap` apart by insertion; returns false, with part of them sorted, if that takes
// more than `moves`.
static bool sort_gap(sap_broadphase* bp, int32_t gap, int64_t moves) {
  for (int32_t r = gap; r < bp->count && moves >= 0; ++r) {
    const int32_t index = bp->order[r];
    const double x = bp->lower_x[r];
    int32_t at = r;
    for (; at >= gap && (bp->lower_x[at - gap] > x ||
                         (bp->lower_x[at - gap] == x && bp->order[at - gap] > index));
         at -= gap) {
      bp->order[at] = bp->order[at - gap];
      bp->lower_x[at] = bp->lower_x[at - gap];
      --moves;
    }
    bp->order[at] = index;
    bp->lower_x[at] = x;
  }
  return moves >= 0;
}

// Sorts by lower x, ties by index: the result depends only on the boxes. The order of the last call
// is mostly almost sorted; else Shell sort.
static void sort_boxes(sap_broadphase* bp) {
  for (int32_t r = 0; r < bp->count; ++r) {
    bp->lower_x[r] = bp->boxes[bp->order[r]].lower[0];
  }
  bool sorted = sort_gap(bp, 1, 16 * (int64_t)bp->count);
  for (size_t k = 0; !sorted && k < GAPS; ++k) {
    sorted = sort_gap(bp, gaps[k], INT64_MAX) && gaps[k] == 1;
  }
}

sap_status sap_broadphase_find(sap_broadphase* bp, sap_broadphase_accept* accept,
                               const void* context, sap_error* error) {
  bp->pair_count = 0;
  sort_boxes(bp);
  for (int32_t i = 0; i < bp->count; ++i) {
    const int32_t a = bp->order[i];
    for (int32_t j = i + 1; j < bp->count && bp->lower_x[j] <= bp->boxes[a].upper[0]; ++j) {
      const int32_t b = bp->order[j];
      if (!sap_aabb_overlap(&bp->boxes[a], &bp->boxes[b]) || !accept(context, a, b)) {
        continue;
      }
      const int32_t needed = bp->pair_count < INT32_MAX ? bp->pair_count + 1 : -1;
      SAP_TRY(SAP_ROOM(bp->pool, &bp->pairs, needed, error));
      const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
      bp->pairs[bp->pair_count++] = low << 32 | high;
    }
  }
  return SAP_STATUS_OK;
}

void sap_sort_keys(uint64_t* keys, int32_t count) {
  for (int k = 0; k < GAPS; ++k) {
    for (int32_t i = gaps[k]; i < count; ++i) {
      const uint64_t key = keys[i];
      int32_t j = i;
      for (; j >= gaps[k] && keys[j - gaps[k]] > key; j -= gaps[k]) {
        keys[j] = keys[j - gaps[k]];
      }
      keys[j] = key;
    }
  }
}
