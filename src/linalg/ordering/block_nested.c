// SPDX-License-Identifier: BSD-3-Clause
// Nested dissection as the order of elimination: parts before the separators that cut them off, and
// within each the order of CAMD, which is AMD with that constraint. Its work and AMD's are counted
// from the columns of L, and the lesser one is taken.
// cost: O(blocks of L) and sap_dissect.
#include <camd.h>
#include <string.h>

#include "core/memory.h"
#include "linalg/ordering/block_order.h"
#include "linalg/ordering/dissection.h"

// Parts of order->nested_work.
typedef struct nested {
  int32_t *start, *neighbour;  // the block graph, both ways
  int32_t* member;             // as in sap_dissect
  int32_t* block_at;           // CAMD's order
  int32_t* rest;               // for sap_dissect; 4 nblocks for counting
} nested;

static bool carve(sap_block_order* order, const sap_block_pattern* pattern, nested* w,
                  sap_status* status, sap_error* error) {
  const int64_t n = pattern->nblocks;
  const int64_t ends = 2 * (pattern->column_start[n] - n);
  const int64_t total = 3 * n + 1 + ends + SAP_DISSECTION_WORK(n, ends);
  *status = SAP_STATUS_OK;
  if (total > INT32_MAX / 2) {
    return false;  // AMD's order is good enough
  }
  *status = SAP_GROW(&order->nested_work, &order->nested_capacity, (int32_t)total, error);
  if (*status != SAP_STATUS_OK) {
    return false;
  }
  w->start = order->nested_work;
  w->member = w->start + n + 1;
  w->block_at = w->member + n;
  w->neighbour = w->block_at + n;
  w->rest = w->neighbour + ends;
  return true;
}

// Neighbours of a block are those of its column and of its row.
static void make_graph(const sap_block_pattern* pattern, nested* w) {
  const int32_t n = pattern->nblocks;
  memset(w->start, 0, ((size_t)n + 1) * sizeof *w->start);
  for (int32_t pass = 0; pass < 2; ++pass) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = pattern->column_start[j] + 1; k < pattern->column_start[j + 1]; ++k) {
        const int32_t i = pattern->row[k];
        if (pass == 0) {
          ++w->start[i];
          ++w->start[j];
        } else {
          w->neighbour[--w->start[i]] = j;
          w->neighbour[--w->start[j]] = i;
        }
      }
    }
    for (int32_t k = 0; pass == 0 && k < n; ++k) {
      w->start[k + 1] += w->start[k];
    }
  }
}

// Sum over the columns of L of the squares of their scalars, by the tree paths of block_factor.c.
static double count_work(const sap_graph* g, const int32_t* block_at, int32_t* work) {
  const int32_t n = g->count;
  const size_t room = (size_t)n;
  int32_t *parent = work, *mark = work + room, *below = work + 2 * room,
          *position_of = work + 3 * room;
  for (int32_t p = 0; p < n; ++p) {
    parent[p] = mark[p] = -1;
    below[p] = 0;
    position_of[block_at[p]] = p;
  }
  for (int32_t p = 0; p < n; ++p) {
    const int32_t block = block_at[p];
    for (int32_t k = g->start[block]; k < g->start[block + 1]; ++k) {
      for (int32_t c = position_of[g->neighbour[k]]; c < p && mark[c] != p; c = parent[c]) {
        mark[c] = p;
        below[c] += g->weight[block];
        parent[c] = parent[c] < 0 ? p : parent[c];
      }
    }
  }
  double sum = 0.0;
  for (int32_t p = 0; p < n; ++p) {
    const double size = g->weight[block_at[p]], height = size + below[p];
    sum += size * height * height;
  }
  return sum;
}

static sap_status fail(int32_t nblocks, int result, sap_error* error) {
  if (result == CAMD_OUT_OF_MEMORY) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: ordering of %d blocks", (int)nblocks);
  }
  return sap_fail(error, SAP_STATUS_INTERNAL, "ordering of %d blocks failed (CAMD %d)",
                  (int)nblocks, result);
}

sap_status sap_block_order_try_nested(sap_block_order* order, const sap_block_pattern* pattern,
                                      sap_error* error) {
  nested w;
  sap_status status;
  if (!carve(order, pattern, &w, &status, error)) {
    return status;
  }
  const int32_t n = pattern->nblocks;
  make_graph(pattern, &w);
  const sap_graph graph = {n, w.start, w.neighbour, NULL, pattern->sizes};
  (void)sap_dissect(&graph, w.member, w.rest);
  const int result = camd_order(n, w.start, w.neighbour, w.block_at, NULL, NULL, w.member);
  if (result < CAMD_OK) {
    return fail(n, result, error);
  }
  const double amd = count_work(&graph, order->block_at, w.rest);
  return count_work(&graph, w.block_at, w.rest) < amd
             ? sap_block_order_assign(order, pattern, w.block_at, error)
             : SAP_STATUS_OK;
}
