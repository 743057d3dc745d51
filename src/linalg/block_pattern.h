// SPDX-License-Identifier: BSD-3-Clause
// The pattern of an analysis (an owned copy), and the fill-reducing elimination order of its
// blocks: AMD on the block graph.
#ifndef SAP_LINALG_BLOCK_PATTERN_H
#define SAP_LINALG_BLOCK_PATTERN_H

#include "core/memory.h"
#include "linalg/cholesky.h"

typedef struct sap_pattern_copy {
  sap_pool pool;           // of all arrays
  sap_block_pattern view;  // points into the arrays below
  int32_t n;               // scalar size, the sum of the block sizes
  int32_t* offset;         // first scalar of a block                    (nblocks + 1)
  int32_t* sizes;
  int32_t* column_start;
  int32_t* row;
  size_t* value_start;
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

// Elimination order of the blocks, and the pattern in that order.
typedef struct sap_block_order {
  sap_pool pool;  // of all arrays
  int32_t nblocks;
  int32_t* block_at;     // block eliminated at a position            (nblocks)
  int32_t* position_of;  // position at which a block is eliminated   (nblocks)

  // Lower triangle of the permuted pattern: rows of a column ascend, the diagonal comes first.
  int32_t* column_start;  // (nblocks + 1)
  int32_t* row;           // position of the row                      (entries)
  int32_t* entry;         // entry of the caller's pattern            (entries)

  int32_t* by_row_start;  // the same by rows                        (nblocks + 1)
  int32_t* by_row_column;
  int32_t* by_row_entry;
} sap_block_order;

void sap_block_order_clear(sap_block_order* order);
// Computes the order of the pattern. fails: MEMORY, INTERNAL.
sap_status sap_block_order_compute(sap_block_order* order, const sap_block_pattern* pattern,
                                   sap_error* error);

#endif
