// SPDX-License-Identifier: BSD-3-Clause
// Hessians of the steps of a scene, caught on their way into the factorization by the linker's
// --wrap of sap_cholesky_pool_get and sap_cholesky_factorize.
#ifndef SAP_BENCH_CAPTURED_HESSIAN_H
#define SAP_BENCH_CAPTURED_HESSIAN_H

#include "linalg/block_pattern.h"

typedef struct captured_hessian {
  sap_pattern_copy pattern;
  double* values;
  // For islands of at least this many blocks, over the observed steps:
  int32_t least_blocks;
  long solves, patterns, factorizations;  // patterns: symbolic analyses
} captured_hessian;

// Steps a scene `skip` times, then `steps` times; keeps the last Hessian of the largest island of
// these. False with a message on stderr.
bool captured_hessian_take(captured_hessian* hessian, const char* scene, long skip, long steps);
void captured_hessian_clear(captured_hessian* hessian);

#endif
