// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/block_pattern.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

void sap_pattern_clear(sap_pattern_copy* copy) {
  sap_free(copy->offset);
  sap_free(copy->sizes);
  sap_free(copy->column_start);
  sap_free(copy->row);
  sap_free(copy->value_start);
  *copy = (sap_pattern_copy){0};
}

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
  if (end <= first || pattern->row[first] != column) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "block column %d must start with its diagonal block", (int)column);
  }
  for (int32_t k = first + 1; k < end; ++k) {
    if (pattern->row[k] <= pattern->row[k - 1] || pattern->row[k] >= pattern->nblocks) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "block column %d: row %d must ascend and be < %d",
                      (int)column, (int)pattern->row[k], (int)pattern->nblocks);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check(const sap_block_pattern* pattern, sap_error* error) {
  if (pattern->nblocks < 1 || pattern->column_start[0] != 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "a block pattern needs at least one block and column_start[0] = 0");
  }
  int64_t n = 0;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    if (pattern->sizes[j] < 1) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: size %d must be >= 1", (int)j,
                      (int)pattern->sizes[j]);
    }
    n += pattern->sizes[j];
    const sap_status status = check_column(pattern, j, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  if (n > INT32_MAX / 16) {  // so that indices of the permuted and padded forms fit too
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block pattern: %lld scalar rows are too many",
                    (long long)n);
  }
  return SAP_STATUS_OK;
}

sap_status sap_pattern_assign(sap_pattern_copy* copy, const sap_block_pattern* pattern,
                              sap_error* error) {
  copy->view.nblocks = 0;
  sap_status status = check(pattern, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t nblocks = pattern->nblocks;
  const int32_t entries = pattern->column_start[nblocks];
  if ((status = SAP_GROW(&copy->offset, &copy->offset_capacity, nblocks + 1, error)) ||
      (status = SAP_GROW(&copy->sizes, &copy->sizes_capacity, nblocks, error)) ||
      (status = SAP_GROW(&copy->column_start, &copy->column_capacity, nblocks + 1, error)) ||
      (status = SAP_GROW(&copy->row, &copy->row_capacity, entries, error)) ||
      (status = SAP_GROW(&copy->value_start, &copy->value_capacity, entries, error))) {
    return status;
  }
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

// Only the lower triangle of a diagonal block is checked.
static bool block_is_finite(const double* block, int32_t rows, int32_t columns, bool diagonal) {
  for (int32_t c = 0; c < columns; ++c) {
    for (int32_t r = diagonal ? c : 0; r < rows; ++r) {
      if (!isfinite(block[(size_t)c * (size_t)rows + (size_t)r])) {
        return false;
      }
    }
  }
  return true;
}

sap_status sap_pattern_check_finite(const sap_pattern_copy* copy, const double* values,
                                    int32_t* failed_block, sap_error* error) {
  const sap_block_pattern* pattern = &copy->view;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
      const int32_t i = pattern->row[k];
      if (!block_is_finite(values + pattern->value_start[k], pattern->sizes[i], pattern->sizes[j],
                           i == j)) {
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
