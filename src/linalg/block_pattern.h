// SPDX-License-Identifier: BSD-3-Clause
// An owned copy of a block pattern: the pattern of an analysis.
#ifndef SAP_LINALG_BLOCK_PATTERN_H
#define SAP_LINALG_BLOCK_PATTERN_H

#include "linalg/cholesky.h"

typedef struct sap_pattern_copy {
  sap_block_pattern view;  // points into the arrays below
  int32_t n;               // scalar size, the sum of the block sizes
  int32_t* offset;         // first scalar of a block                    (nblocks + 1)
  int32_t* sizes;
  int32_t* column_start;
  int32_t* row;
  size_t* value_start;
  int32_t offset_capacity, sizes_capacity, column_capacity, row_capacity, value_capacity;
} sap_pattern_copy;

void sap_pattern_clear(sap_pattern_copy* copy);
bool sap_pattern_equal(const sap_pattern_copy* copy, const sap_block_pattern* pattern);

// Copies the pattern. fails: ARGUMENT naming the block column that violates cholesky.h, MEMORY; the
// copy then equals no pattern.
sap_status sap_pattern_assign(sap_pattern_copy* copy, const sap_block_pattern* pattern,
                              sap_error* error);

// fails: NOT_FINITE naming the first block with a NaN or an infinity.
sap_status sap_pattern_check_finite(const sap_pattern_copy* copy, const double* values,
                                    int32_t* failed_block, sap_error* error);

// Returns the block with scalar row `scalar` (0 <= scalar < n).
int32_t sap_pattern_block_of(const sap_pattern_copy* copy, int32_t scalar);

#endif
