// SPDX-License-Identifier: BSD-3-Clause
// Analysis for the block LU: elimination tree and counts by walking up the tree from every entry of
// a row, supernodes from the counts, then their rows.
// cost: O(blocks of L).
#include "linalg/block_lu.h"

#include <string.h>

#include "core/memory.h"

void sap_block_lu_clear(sap_block_lu* lu) {
  void* const arrays[] = {lu->super_first, lu->super_of, lu->scalar_start, lu->row_start,
                          lu->row,         lu->parent,   lu->count,        lu->mark,
                          lu->place,       lu->pivot,    lu->lower_start,  lu->upper_start,
                          lu->lower,       lu->upper,    lu->product,      lu->x,
                          lu->residual};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
    sap_free(arrays[k]);
  }
  sap_pattern_clear(&lu->pattern);
  sap_block_order_clear(&lu->order);
  *lu = (sap_block_lu){0};
}

static sap_status reserve_structure(sap_block_lu* lu, int32_t nblocks, int32_t n,
                                    sap_error* error) {
  int32_t* c = lu->capacity;
  sap_status status;
  if ((status = SAP_GROW(&lu->super_first, &c[0], nblocks + 1, error)) ||
      (status = SAP_GROW(&lu->super_of, &c[1], nblocks, error)) ||
      (status = SAP_GROW(&lu->scalar_start, &c[2], nblocks + 1, error)) ||
      (status = SAP_GROW(&lu->row_start, &c[3], nblocks + 2, error)) ||
      (status = SAP_GROW(&lu->parent, &c[4], nblocks, error)) ||
      (status = SAP_GROW(&lu->count, &c[5], nblocks, error)) ||
      (status = SAP_GROW(&lu->mark, &c[6], nblocks, error)) ||
      (status = SAP_GROW(&lu->place, &c[7], n, error)) ||
      (status = SAP_GROW(&lu->pivot, &c[8], n, error)) ||
      (status = SAP_GROW(&lu->lower_start, &c[9], nblocks + 1, error)) ||
      (status = SAP_GROW(&lu->upper_start, &c[10], nblocks + 1, error)) ||
      (status = SAP_GROW(&lu->x, &c[11], 2 * n, error)) ||
      (status = SAP_GROW(&lu->residual, &c[12], 2 * n, error))) {
    return status;
  }
  return SAP_STATUS_OK;
}

static int32_t size_at(const sap_block_lu* lu, int32_t position) {
  return lu->pattern.sizes[lu->order.block_at[position]];
}

// The order as it is, without looking for a better one.
static sap_status order_whole(sap_block_lu* lu, sap_error* error) {
  sap_block_order* order = &lu->order;
  const int32_t nblocks = lu->pattern.view.nblocks;
  sap_status status = SAP_GROW(&order->block_at, &order->block_capacity, nblocks, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&order->position_of, &order->position_capacity, nblocks, error);
  }
  for (int32_t k = 0; k < nblocks && status == SAP_STATUS_OK; ++k) {
    order->block_at[k] = order->position_of[k] = k;
  }
  order->nblocks = nblocks;
  return status;
}

// Row `row` of L holds the tree paths from its entries in A up to itself. Counting: sets parent and
// count (scalars below). Otherwise: appends the row to supernodes whose last position it meets.
static void walk(sap_block_lu* lu, int32_t start, int32_t row, bool counting) {
  const int32_t size = size_at(lu, row);
  for (int32_t k = start; lu->mark[k] != row; k = lu->parent[k]) {
    lu->mark[k] = row;
    if (counting) {
      lu->parent[k] = lu->parent[k] < 0 ? row : lu->parent[k];
      lu->count[k] += size;
      continue;
    }
    const int32_t s = lu->super_of[k];
    if (k == lu->super_first[s + 1] - 1) {
      for (int32_t r = 0; r < size; ++r) {
        lu->row[lu->row_start[s + 1]++] = lu->scalar_start[row] + r;
      }
    }
  }
}

static void walk_rows(sap_block_lu* lu, bool counting) {
  const sap_block_order* order = &lu->order;
  for (int32_t k = 0; k < order->nblocks; ++k) {
    lu->mark[k] = -1;
    if (counting) {
      lu->parent[k] = -1;
      lu->count[k] = 0;
    }
  }
  for (int32_t row = 0; row < order->nblocks; ++row) {
    lu->mark[row] = row;
    for (int32_t k = order->by_row_start[row]; k < order->by_row_start[row + 1]; ++k) {
      walk(lu, order->by_row_column[k], row, counting);
    }
  }
}

// A position joins the supernode before it when it is that one's parent and not too many zeros are
// stored for it: large panels make good use of dense products.
static void find_supernodes(sap_block_lu* lu) {
  static const double MOST_ZEROS = 0.15, MOST_ZEROS_NARROW = 0.4;
  enum { NARROW = 24 };
  const int32_t nblocks = lu->order.nblocks;
  int32_t count = 0, width = 0;
  double entries = 0.0;  // without the zeros
  for (int32_t k = 0; k < nblocks; ++k) {
    const int32_t size = size_at(lu, k);
    const double own = (double)size * (0.5 * size + lu->count[k]);
    const double joined = (double)(width + size) * (0.5 * (width + size) + lu->count[k]);
    const double bound = width + size <= NARROW ? MOST_ZEROS_NARROW : MOST_ZEROS;
    if (k > 0 && lu->parent[k - 1] == k && joined - entries - own <= bound * joined) {
      width += size;
      entries += own;
    } else {
      lu->super_first[count++] = k;
      width = size;
      entries = own;
    }
    lu->super_of[k] = count - 1;
  }
  lu->super_first[count] = nblocks;
  lu->nsuper = count;
}

static sap_status make_rows(sap_block_lu* lu, sap_error* error) {
  int64_t rows = 0, most_below = 0;
  size_t lower = 0, upper = 0;
  lu->work_estimate = 0.0;
  for (int32_t s = 0; s < lu->nsuper; ++s) {
    const int32_t first = lu->super_first[s], end = lu->super_first[s + 1];
    const int64_t width = lu->scalar_start[end] - lu->scalar_start[first];
    const int64_t below = lu->whole ? 0 : lu->count[end - 1];
    const double w = (double)width, b = (double)below;
    lu->row_start[s + 1] = (int32_t)rows;  // where walk appends; ends as the end of the rows
    lu->lower_start[s] = lower;
    lu->upper_start[s] = upper;
    lu->work_estimate += w * w * w / 3.0 + w * w * b + w * b * b;
    rows += below;
    lower += (size_t)((width + below) * width);
    upper += (size_t)(below * width);
    most_below = below > most_below ? below : most_below;
    if (rows > INT32_MAX / 2 || lower > INT32_MAX / 2) {
      return sap_fail(error, SAP_STATUS_MEMORY, "LU factor of %d blocks is too large",
                      (int)lu->order.nblocks);
    }
  }
  lu->row_start[0] = 0;
  const int64_t product = most_below * most_below, part = most_below;
  if (product > INT32_MAX / 2) {
    return sap_fail(error, SAP_STATUS_MEMORY, "LU factor of %d blocks is too large",
                    (int)lu->order.nblocks);
  }
  int32_t* c = lu->capacity;
  sap_status status;
  if ((status = SAP_GROW(&lu->row, &c[13], (int32_t)rows + 1, error)) ||
      (status = SAP_GROW(&lu->lower, &c[14], (int32_t)lower + 1, error)) ||
      (status = SAP_GROW(&lu->upper, &c[15], (int32_t)upper + 1, error)) ||
      (status = SAP_GROW(&lu->product, &c[16], (int32_t)(product + part) + 1, error))) {
    return status;
  }
  lu->part = lu->product + product;
  if (!lu->whole) {
    walk_rows(lu, false);
  }
  return SAP_STATUS_OK;
}

static sap_status analyze(sap_block_lu* lu, sap_error* error) {
  const int32_t nblocks = lu->pattern.view.nblocks;
  sap_status status = lu->whole ? order_whole(lu, error)
                                : sap_block_order_compute(&lu->order, &lu->pattern.view, error);
  if (status == SAP_STATUS_OK) {
    status = reserve_structure(lu, nblocks, lu->pattern.n, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  lu->scalar_start[0] = 0;
  for (int32_t k = 0; k < nblocks; ++k) {
    lu->scalar_start[k + 1] = lu->scalar_start[k] + size_at(lu, k);
  }
  if (lu->whole) {
    lu->nsuper = 1;
    lu->super_first[0] = 0;
    lu->super_first[1] = nblocks;
    memset(lu->super_of, 0, (size_t)nblocks * sizeof *lu->super_of);
  } else {
    walk_rows(lu, true);
    find_supernodes(lu);
  }
  return make_rows(lu, error);
}

sap_status sap_block_lu_analyze(sap_block_lu* lu, const sap_block_pattern* pattern, bool whole,
                                sap_error* error) {
  if (whole == lu->whole && sap_pattern_equal(&lu->pattern, pattern)) {
    return SAP_STATUS_OK;
  }
  sap_status status = sap_pattern_assign(&lu->pattern, pattern, error);
  if (status == SAP_STATUS_OK) {
    lu->whole = whole;
    status = analyze(lu, error);
    if (status != SAP_STATUS_OK) {
      lu->pattern.view.nblocks = 0;
    }
  }
  return status;
}
