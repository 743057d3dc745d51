// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/block_pattern.h"

#include <string.h>

#include <amd.h>

#include "math/scalar.h"

bool sap_pattern_equal(const sap_pattern_copy* copy, const sap_block_pattern* pattern) {
  const sap_block_pattern* mine = &copy->view;
  if (mine->nblocks == 0 || mine->nblocks != pattern->nblocks) {
    return false;
  }
  const size_t nblocks = (size_t)mine->nblocks;
  const size_t entries = (size_t)mine->column_start[nblocks];
  return memcmp(mine->column_start, pattern->column_start, (nblocks + 1) * sizeof(int32_t)) == 0 &&
         memcmp(mine->sizes, pattern->sizes, nblocks * sizeof(int32_t)) == 0 &&
         memcmp(mine->row, pattern->row, entries * sizeof(int32_t)) == 0 &&
         memcmp(mine->value_start, pattern->value_start, entries * sizeof(size_t)) == 0;
}

static sap_status check_column(const sap_block_pattern* pattern, int32_t column, sap_error* error) {
  const int32_t first = pattern->column_start[column];
  const int32_t end = pattern->column_start[column + 1];
  SAP_FAIL_IF(end <= first || pattern->row[first] != column, error, SAP_STATUS_ARGUMENT,
              "block column %d must start with its diagonal block", (int)column);
  for (int32_t k = first + 1; k < end; ++k) {
    SAP_FAIL_IF(pattern->row[k] <= pattern->row[k - 1] || pattern->row[k] >= pattern->nblocks,
                error, SAP_STATUS_ARGUMENT, "block column %d: row %d must ascend and be < %d",
                (int)column, (int)pattern->row[k], (int)pattern->nblocks);
  }
  return SAP_STATUS_OK;
}

static sap_status check_pattern(const sap_block_pattern* pattern, sap_error* error) {
  SAP_FAIL_IF(pattern->nblocks < 1 || pattern->column_start[0] != 0, error, SAP_STATUS_ARGUMENT,
              "a block pattern needs at least one block and column_start[0] = 0");
  int64_t n = 0;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    SAP_FAIL_IF(pattern->sizes[j] < 1, error, SAP_STATUS_ARGUMENT, "block %d: size %d must be >= 1",
                (int)j, (int)pattern->sizes[j]);
    n += pattern->sizes[j];
    SAP_TRY(check_column(pattern, j, error));
  }
  // so that indices of the permuted and padded forms fit too
  SAP_FAIL_IF(n > INT32_MAX / 16, error, SAP_STATUS_ARGUMENT,
              "block pattern: %lld scalar rows are too many", (long long)n);
  return SAP_STATUS_OK;
}

sap_status sap_pattern_assign(sap_pattern_copy* copy, const sap_block_pattern* pattern,
                              sap_error* error) {
  copy->view.nblocks = 0;
  SAP_TRY(check_pattern(pattern, error));
  const int32_t nblocks = pattern->nblocks;
  const int32_t entries = pattern->column_start[nblocks];
  SAP_TRY(SAP_ROOM_ALL(&copy->pool, error, SAP_ARRAY(&copy->offset, nblocks + 1),
                       SAP_ARRAY(&copy->sizes, nblocks),
                       SAP_ARRAY(&copy->column_start, nblocks + 1), SAP_ARRAY(&copy->row, entries),
                       SAP_ARRAY(&copy->value_start, entries)));
  memcpy(copy->sizes, pattern->sizes, (size_t)nblocks * sizeof(int32_t));
  memcpy(copy->column_start, pattern->column_start, ((size_t)nblocks + 1) * sizeof(int32_t));
  memcpy(copy->row, pattern->row, (size_t)entries * sizeof(int32_t));
  memcpy(copy->value_start, pattern->value_start, (size_t)entries * sizeof(size_t));
  copy->offset[0] = 0;
  for (int32_t j = 0; j < nblocks; ++j) {
    copy->offset[j + 1] = copy->offset[j] + copy->sizes[j];
  }
  copy->n = copy->offset[nblocks];
  copy->view =
      (sap_block_pattern){nblocks, copy->sizes, copy->column_start, copy->row, copy->value_start};
  return SAP_STATUS_OK;
}

sap_status sap_pattern_check_finite(const sap_pattern_copy* copy, const double* values,
                                    int32_t* failed_block, sap_error* error) {
  const sap_block_pattern* pattern = &copy->view;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
      const int32_t i = pattern->row[k];
      const size_t rows = (size_t)pattern->sizes[i], columns = (size_t)pattern->sizes[j];
      const double* block = values + pattern->value_start[k];
      if (!(i == j ? sap_lower_finite(block, rows, rows) : sap_all_finite(block, rows * columns))) {
        if (failed_block != NULL) {
          *failed_block = i;
        }
        return sap_fail(error, SAP_STATUS_NOT_FINITE,
                        "matrix block (%d, %d) holds a value that is "
                        "not finite",
                        (int)i, (int)j);
      }
    }
  }
  return SAP_STATUS_OK;
}

int32_t sap_pattern_block_of(const sap_pattern_copy* copy, int32_t scalar) {
  int32_t low = 0;
  int32_t high = copy->view.nblocks;
  while (high - low > 1) {  // offset[low] <= scalar < offset[high]
    const int32_t middle = low + (high - low) / 2;
    if (copy->offset[middle] <= scalar) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

sap_status sap_pair_pattern_reserve(sap_pair_pattern* p, sap_pool* pool, int32_t nblocks,
                                    int64_t count, sap_error* error) {
  SAP_TRY(SAP_ROOM(pool, &p->pairs, 2 * count, error));
  SAP_TRY(SAP_ROOM(pool, &p->pair_values, count, error));
  SAP_TRY(SAP_ROOM(pool, &p->row, count, error));
  SAP_TRY(SAP_ROOM(pool, &p->value_start, count, error));
  return SAP_ROOM(pool, &p->column_start, (int64_t)nblocks + 2, error);
}

void sap_sort_pairs(const sap_block_pair* from, sap_block_pair* to, int32_t count, bool by_column,
                    int32_t nblocks, int32_t* start) {
  memset(start, 0, ((size_t)nblocks + 2) * sizeof *start);
  for (int32_t i = 0; i < count; ++i) {
    start[(by_column ? from[i].column : from[i].row) + 2] += 1;
  }
  for (int32_t k = 0; k < nblocks; ++k) {
    start[k + 2] += start[k + 1];
  }
  for (int32_t i = 0; i < count; ++i) {  // start[k + 1] moves from the start of k to its end
    to[start[(by_column ? from[i].column : from[i].row) + 1]++] = from[i];
  }
}

void sap_pair_pattern_build(sap_pair_pattern* p, int32_t nblocks, const int32_t* sizes,
                            int32_t count) {
  sap_block_pair *pairs = p->pairs, *other = p->pairs + count;
  sap_sort_pairs(pairs, other, count, false, nblocks, p->column_start);
  sap_sort_pairs(other, pairs, count, true, nblocks, p->column_start);
  int32_t entries = 0, column = -1;
  size_t values = 0;
  p->nvalues = 0;
  SAP_EACH(const sap_block_pair, pair, pairs, count) {
    if (pair->column != column || pair->row != p->row[entries - 1]) {
      if (pair->column != column) {
        column = pair->column;
        p->column_start[column] = entries;
      }
      values = p->nvalues;
      p->nvalues += (size_t)sizes[pair->row] * (size_t)sizes[column];
      p->row[entries] = pair->row;
      p->value_start[entries++] = values;
    }
    p->pair_values[pair->index] = values;
  }
  p->column_start[nblocks] = entries;
  p->view = (sap_block_pattern){nblocks, sizes, p->column_start, p->row, p->value_start};
}

void sap_pair_copy(int32_t a, int32_t b, const double* C, int32_t rows, int32_t columns,
                   double* values) {
  for (int32_t j = 0; j < columns; ++j) {
    for (int32_t i = 0; i < rows; ++i) {
      values[a > b ? j * rows + i : i * columns + j] = *C++;
    }
  }
}

// Permutes the pattern, first by rows, then by columns: the second sort meets the rows in ascending
// order.
static void permute_pattern(sap_block_order* order, const sap_block_pattern* pattern) {
  const int32_t n = pattern->nblocks, entries = pattern->column_start[n];
  sap_block_pair *pairs = order->pairs, *by_row = pairs + entries;
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
      pairs[k] = sap_block_pair_of(order->position_of[pattern->row[k]], order->position_of[j], k);
    }
  }
  sap_sort_pairs(pairs, by_row, entries, false, n, order->by_row_start);
  sap_sort_pairs(by_row, pairs, entries, true, n, order->column_start);
  for (int32_t k = 0; k < entries; ++k) {
    order->by_row_column[k] = by_row[k].column;
    order->row[k] = pairs[k].row;
    order->entry[k] = pairs[k].index;
  }
}

sap_status sap_block_order_compute(sap_block_order* order, const sap_block_pattern* pattern,
                                   sap_error* error) {
  const int32_t n = pattern->nblocks, entries = pattern->column_start[n];
  SAP_TRY(SAP_ROOM_ALL(
      &order->pool, error, SAP_ARRAY(&order->block_at, n), SAP_ARRAY(&order->position_of, n),
      SAP_ARRAY(&order->column_start, n + 2), SAP_ARRAY(&order->row, entries),
      SAP_ARRAY(&order->entry, entries), SAP_ARRAY(&order->by_row_start, n + 2),
      SAP_ARRAY(&order->by_row_column, entries), SAP_ARRAY(&order->pairs, 2 * (int64_t)entries)));
  const int result =
      amd_order(pattern->nblocks, pattern->column_start, pattern->row, order->block_at, NULL, NULL);
  SAP_FAIL_IF(result != AMD_OK, error,
              result == AMD_OUT_OF_MEMORY ? SAP_STATUS_MEMORY : SAP_STATUS_INTERNAL,
              "ordering of %d blocks failed (AMD %d)", (int)pattern->nblocks, result);
  for (int32_t k = 0; k < pattern->nblocks; ++k) {
    order->position_of[order->block_at[k]] = k;
  }
  permute_pattern(order, pattern);
  order->nblocks = pattern->nblocks;
  return SAP_STATUS_OK;
}
