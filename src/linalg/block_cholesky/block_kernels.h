// SPDX-License-Identifier: BSD-3-Clause
// Numeric block Cholesky, compiled for several instruction sets and chosen at run time.
// The sets differ in the last bits (fused multiply-add); one machine always takes the same for the
// same pattern.
#ifndef SAP_LINALG_BLOCK_CHOLESKY_BLOCK_KERNELS_H
#define SAP_LINALG_BLOCK_CHOLESKY_BLOCK_KERNELS_H

#include "linalg/block_cholesky/block_factor.h"

typedef struct sap_block_kernels {
  const char* name;  // instruction set
  double rate;       // multiply-adds of a whole lane per second on large patterns, measured  [1/s]
  // The caller's block row whose pivot is not positive and finite, -1 when there is none.
  int32_t (*factorize)(sap_block_factor* factor, const double* values);
  void (*solve)(const sap_block_factor* factor, double* x);
} sap_block_kernels;

// With which a program is fastest that factorizes patterns of so much work, and does other things
// between; never NULL.
const sap_block_kernels* sap_block_kernels_for(double lane_work);
// All that this processor can run, `index` from 0, fastest first; NULL past the last.
const sap_block_kernels* sap_block_kernels_get(int32_t index);

#endif
