// SPDX-License-Identifier: BSD-3-Clause
// Multiplicative Schwarz preconditioner of a symmetric positive definite block matrix, for large
// systems whose factors fill. Blocks are in parts of neighbours, each with one layer of blocks
// around it; a part has a factor of its own in single precision.
//   z = M^-1 r:  z = 0; parts forwards, then backwards:  z_p += A_pp^-1 (r - A z)_p
// M is symmetric positive definite, as it is block Gauss-Seidel there and back.
// cost: linear in the number of blocks.
#pragma once

#include "linalg/block_factor.h"

// A block of A that joins a block of a part to one outside.
typedef struct sap_schwarz_link {
  int32_t from, to;       // first scalars, of the part's vector and of the whole one
  int32_t columns, rows;  // of `from` and `to`
  bool transposed;        // the stored block is (from, to)
  size_t value;           // start of the block's values
} sap_schwarz_link;

typedef struct sap_schwarz {
  sap_pool pool;  // of all arrays but `factors`
  int32_t nparts;
  sap_block_factor* factors;  // by part                       (capacity)
  int32_t capacity;
  int32_t* part_start;       // first of a part's members       (nparts + 2)
  sap_block_pair* member;    // row: part, index: block, ascending; and work
  int32_t* link_start;       // first of a part's links         (nparts + 1)
  sap_schwarz_link* links;   //                                 (link_start[nparts])
  int32_t* adjacent_start;   // of a block                      (nblocks + 2)
  sap_block_pair* adjacent;  // row: block, column: neighbour, index: entry; and work
  int32_t *owner, *mark;     // part of a block; work           (nblocks)
  int32_t* local;            // work: scalar of a block in its part (nblocks)
  double* part_vector;       // work                            (scalars of the largest part)
  double touched;            // numbers read by an application
} sap_schwarz;

void sap_schwarz_clear(sap_schwarz* schwarz);
// Chooses parts and analyses them.  fails: MEMORY, INTERNAL
sap_status sap_schwarz_analyze(sap_schwarz* schwarz, const sap_pattern_copy* pattern,
                               sap_error* error);
// Factorizes the parts; returns false at a pivot that is not positive and finite.
bool sap_schwarz_factorize(sap_schwarz* schwarz, const double* values);
// Computes z from r, which is overwritten by r - A z.
void sap_schwarz_apply(const sap_schwarz* schwarz, const sap_pattern_copy* pattern,
                       const double* values, double* r, double* z);
