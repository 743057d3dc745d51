// SPDX-License-Identifier: BSD-3-Clause
// The pattern of an analysis (an owned copy), and the fill-reducing elimination order of its
// blocks: AMD on the block graph.
#pragma once

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

SAP_DEFINE_CLEAR(sap_pattern, sap_pattern_copy)
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

// A pattern from pairs of blocks, several of which may be the same.
typedef struct sap_block_pair {
  int32_t row, column;  // row >= column
  int32_t index;        // in pair_values
} sap_block_pair;

// Its arrays are in the pool of its owner. Start from {0}.
typedef struct sap_pair_pattern {
  sap_block_pair* pairs;   // twice, for sorting
  size_t* pair_values;     // start of each pair's values, by index
  int32_t* column_start;   // (nblocks + 1), and one of work
  int32_t* row;            // (entries)
  size_t* value_start;     // (entries)
  sap_block_pattern view;  // of these arrays
  size_t nvalues;
} sap_pair_pattern;

// Makes room for `count` pairs.  fails: MEMORY
sap_status sap_pair_pattern_reserve(sap_pair_pattern* pattern, sap_pool* pool, int32_t nblocks,
                                    int64_t count, sap_error* error);
static inline sap_block_pair sap_block_pair_of(int32_t a, int32_t b, int32_t index) {
  return (sap_block_pair){a > b ? a : b, a > b ? b : a, index};
}
// Sorts pairs by row or column, stable: a counting sort. start (nblocks + 2): start[k] to
// start[k + 1] are those of k.
void sap_sort_pairs(const sap_block_pair* from, sap_block_pair* to, int32_t count, bool by_column,
                    int32_t nblocks, int32_t* start);
// Sets all else from the first `count` pairs, which include all diagonal blocks. The view keeps the
// caller's sizes.
void sap_pair_pattern_build(sap_pair_pattern* pattern, int32_t nblocks, const int32_t* sizes,
                            int32_t count);
// Copies C (rows x columns) of the blocks a and b to the values of their pair.
void sap_pair_copy(int32_t a, int32_t b, const double* C, int32_t rows, int32_t columns,
                   double* values);

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

  int32_t* by_row_start;   // the same by rows                       (nblocks + 1)
  int32_t* by_row_column;  //                                        (entries)
  sap_block_pair* pairs;   // work                                   (2 entries)
} sap_block_order;

SAP_DEFINE_CLEAR(sap_block_order, sap_block_order)
// Computes the order of the pattern. fails: MEMORY, INTERNAL.
sap_status sap_block_order_compute(sap_block_order* order, const sap_block_pattern* pattern,
                                   sap_error* error);
