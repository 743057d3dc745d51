// SPDX-License-Identifier: BSD-3-Clause
// Structure and storage of our block Cholesky factor P A P^T = L L^T.
//
// Chunk      at most SAP_CHUNK scalar rows of one block, in elimination order; the unit of
//            everything below. A 6-dof body is one chunk, a 27-dof tree is four.
// Supernode  consecutive chunk columns that share their rows below. Its rows are its own chunks,
//            then the chunks below, ascending.
// Panel      a supernode's values: row by row of chunks, each SAP_CHUNK x width, column-major with
//            leading dimension SAP_CHUNK. Lanes beyond a chunk's size are zero, so that kernels
//            work on whole vector registers.
#pragma once

#include "linalg/block_pattern.h"

enum { SAP_CHUNK = 8 };  // doubles of a cache line and of the widest vector register

// Supernode `source` updates the panel of this supernode through its rows [first, end).
typedef struct sap_block_update {
  int32_t source;
  int32_t first, end;
} sap_block_update;

// Copies a tile of A to a panel: panel[target + LANES c + r] = values[source + rs r + cs c].
typedef struct sap_block_load {
  size_t source, target;
  int32_t row_stride, column_stride;
  int16_t rows, columns;
} sap_block_load;

typedef struct sap_block_factor {
  sap_pool pool;  // of all arrays
  int32_t nchunks, nsuper;
  double lane_work;  // multiply-adds of whole chunk columns (LANES doubles) per factorization

  int32_t* chunk_first;   // first chunk of an eliminated block           (nblocks + 1)
  int32_t* chunk_size;    // scalar rows                                  (nchunks)
  int32_t* chunk_block;   // the caller's block                           (nchunks)
  int32_t* chunk_scalar;  // the caller's first scalar row                (nchunks)
  int32_t* chunk_column;  // first scalar column in its supernode's panel (nchunks)
  int32_t* super_of;      // supernode of a chunk column                  (nchunks)
  int32_t* parent;        // elimination tree, -1 at a root               (nchunks)
  int32_t* count;         // chunks below the diagonal in a column of L   (nchunks)
  int32_t* mark;          // work: last row that visited a column; then a chunk's place in a panel

  int32_t* super_first;  // first chunk of a supernode     (nsuper + 1)
  int32_t* super_width;  // scalar columns                 (nsuper)
  int32_t* row_start;    // first of a supernode's rows    (nsuper + 1)
  size_t* panel_start;   // first value of a panel         (nsuper + 1)
  int32_t* row;          // chunks                         (row_start[nsuper])

  int32_t* update_start;  // (nsuper + 1)
  sap_block_update* update;
  int32_t* load_start;  // (nsuper + 1)
  sap_block_load* load;

  double* panel;    // (panel_start[nsuper])
  double* inverse;  // 1 / L_ii, chunk by chunk in SAP_CHUNK lanes     (LANES nchunks)
  double* work;     // right-hand side in lanes, then packed solution  (2 LANES nchunks)
} sap_block_factor;

SAP_DEFINE_CLEAR(sap_block_factor, sap_block_factor)
// Computes the structure of L.
sap_status sap_block_factor_analyze(sap_block_factor* factor, const sap_pattern_copy* pattern,
                                    const sap_block_order* order, sap_error* error);
// Makes room for the numeric factorization, if there is none.  fails: MEMORY
static inline sap_status sap_block_factor_reserve(sap_block_factor* factor, sap_error* error) {
  const int64_t values = (int64_t)factor->panel_start[factor->nsuper];
  return SAP_ROOM(&factor->pool, &factor->panel, values, error);
}

// Numeric factorization and solve, compiled for several instruction sets and chosen at run time.
// The sets differ in the last bits (fused multiply-add); one machine always takes the same set for
// the same pattern.
typedef struct sap_block_kernels {
  const char* name;  // instruction set
  double rate;       // multiply-adds of a whole lane per second on large patterns, measured  [1/s]
  // Returns the caller's block row whose pivot is not positive and finite, or -1.
  int32_t (*factorize)(sap_block_factor* factor, const double* values);
  void (*solve)(const sap_block_factor* factor, double* x);
} sap_block_kernels;

// Returns the fastest set for a program that factorizes patterns of this lane_work and computes
// other things in between.
const sap_block_kernels* sap_block_kernels_for(double lane_work);
// Returns all sets that this processor can run, the widest at index 0; NULL past the last.
const sap_block_kernels* sap_block_kernels_get(int32_t index);

// The same in single precision, in the first half of the same arrays: solves to about 1e-6 of the
// condition number, fails where a number leaves the range of floats.
typedef sap_block_kernels sap_block_kernels_single;
const sap_block_kernels_single* sap_block_kernels_single_get(int32_t index);
