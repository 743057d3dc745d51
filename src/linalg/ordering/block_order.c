// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/ordering/block_order.h"

#include <amd.h>
#include <string.h>

#include "core/memory.h"

void sap_block_order_clear(sap_block_order* order) {
  sap_free(order->block_at);
  sap_free(order->position_of);
  sap_free(order->column_start);
  sap_free(order->row);
  sap_free(order->entry);
  sap_free(order->by_row_start);
  sap_free(order->by_row_column);
  sap_free(order->by_row_entry);
  sap_free(order->nested_work);
  *order = (sap_block_order){0};
}

static sap_status reserve(sap_block_order* order, int32_t nblocks, int32_t entries,
                          sap_error* error) {
  sap_status status;
  if ((status = SAP_GROW(&order->block_at, &order->block_capacity, nblocks, error)) ||
      (status = SAP_GROW(&order->position_of, &order->position_capacity, nblocks, error)) ||
      (status = SAP_GROW(&order->column_start, &order->column_capacity, nblocks + 2, error)) ||
      (status = SAP_GROW(&order->row, &order->row_capacity, entries, error)) ||
      (status = SAP_GROW(&order->entry, &order->entry_capacity, entries, error)) ||
      (status =
           SAP_GROW(&order->by_row_start, &order->by_row_start_capacity, nblocks + 2, error)) ||
      (status = SAP_GROW(&order->by_row_column, &order->by_row_column_capacity, entries, error)) ||
      (status = SAP_GROW(&order->by_row_entry, &order->by_row_entry_capacity, entries, error))) {
    return status;
  }
  return SAP_STATUS_OK;
}

// Multiplications of a factorization in AMD's order from which on nested dissection is tried. It
// takes some 3 us a block. Of what it was tried on, a pile of 2500 bodies at rest is the smallest
// that gained: 2.6e8.
static const double LARGE_WORK = 2e8;

// AMD takes one triangle; without the diagonal it needs less work. *multiplications: about.
static sap_status order_blocks(sap_block_order* order, const sap_block_pattern* pattern,
                               double* multiplications, sap_error* error) {
  int32_t count = 0;
  double info[AMD_INFO], size = 0.0;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    size += pattern->sizes[j];
    order->by_row_start[j] = count;
    for (int32_t k = pattern->column_start[j] + 1; k < pattern->column_start[j + 1]; ++k) {
      order->by_row_column[count++] = pattern->row[k];
    }
  }
  order->by_row_start[pattern->nblocks] = count;
  const int result = amd_order(pattern->nblocks, order->by_row_start, order->by_row_column,
                               order->block_at, NULL, info);
  if (result == AMD_OUT_OF_MEMORY) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: ordering of %d blocks",
                    (int)pattern->nblocks);
  }
  if (result != AMD_OK) {
    return sap_fail(error, SAP_STATUS_INTERNAL, "ordering of %d blocks failed (AMD %d)",
                    (int)pattern->nblocks, result);
  }
  size /= pattern->nblocks;
  *multiplications = info[AMD_NMULTSUBS_LDL] * size * size * size;
  return SAP_STATUS_OK;
}

static void prefix_sum(int32_t* start, int32_t count) {
  for (int32_t k = 0; k < count; ++k) {
    start[k + 1] += start[k];
  }
}

// First by rows, then by columns: the second pass meets the rows in ascending order. Both passes
// count into start[x + 2], so that placing leaves start[x] and start[x + 1] as first and end.
static void permute(sap_block_order* order, const sap_block_pattern* pattern) {
  const int32_t n = pattern->nblocks;
  int32_t* by_row = order->by_row_start;
  int32_t* by_column = order->column_start;
  memset(by_row, 0, ((size_t)n + 2) * sizeof *by_row);
  memset(by_column, 0, ((size_t)n + 2) * sizeof *by_column);
  for (int32_t pass = 0; pass < 2; ++pass) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
        const int32_t a = order->position_of[pattern->row[k]];
        const int32_t b = order->position_of[j];
        const int32_t row = a > b ? a : b;
        const int32_t column = a > b ? b : a;
        if (pass == 0) {
          ++by_row[row + 2];
          ++by_column[column + 2];
        } else {
          order->by_row_column[by_row[row + 1]] = column;
          order->by_row_entry[by_row[row + 1]++] = k;
        }
      }
    }
    if (pass == 0) {
      prefix_sum(by_row, n + 1);
      prefix_sum(by_column, n + 1);
    }
  }
  for (int32_t row = 0; row < n; ++row) {
    for (int32_t k = by_row[row]; k < by_row[row + 1]; ++k) {
      const int32_t at = by_column[order->by_row_column[k] + 1]++;
      order->row[at] = row;
      order->entry[at] = order->by_row_entry[k];
    }
  }
}

static void assign(sap_block_order* order, const sap_block_pattern* pattern) {
  for (int32_t k = 0; k < pattern->nblocks; ++k) {
    order->position_of[order->block_at[k]] = k;
  }
  permute(order, pattern);
  order->nblocks = pattern->nblocks;
}

sap_status sap_block_order_assign(sap_block_order* order, const sap_block_pattern* pattern,
                                  const int32_t* block_at, sap_error* error) {
  const sap_status status =
      reserve(order, pattern->nblocks, pattern->column_start[pattern->nblocks], error);
  if (status == SAP_STATUS_OK) {
    memmove(order->block_at, block_at, (size_t)pattern->nblocks * sizeof *block_at);
    assign(order, pattern);
  }
  return status;
}

sap_status sap_block_order_compute(sap_block_order* order, const sap_block_pattern* pattern,
                                   sap_error* error) {
  double multiplications = 0.0;
  sap_status status =
      reserve(order, pattern->nblocks, pattern->column_start[pattern->nblocks], error);
  if (status == SAP_STATUS_OK) {
    status = order_blocks(order, pattern, &multiplications, error);
  }
  if (status == SAP_STATUS_OK) {
    assign(order, pattern);
    if (multiplications > LARGE_WORK) {
      status = sap_block_order_try_nested(order, pattern, error);
    }
  }
  return status;
}
