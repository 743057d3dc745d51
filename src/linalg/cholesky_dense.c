// SPDX-License-Identifier: BSD-3-Clause
// Dense Cholesky A = L L^T through LAPACK.
// cost: n^3/3 flops, n^2 memory.  fails: a pivot that is not positive and finite.
#include "linalg/cholesky_dense.h"

#include <string.h>

#include "core/memory.h"
#include "linalg/dense.h"

void sap_cholesky_dense_clear(sap_cholesky_dense* dense) {
  sap_free(dense->factor);
  *dense = (sap_cholesky_dense){0};
}

sap_status sap_cholesky_dense_analyze(sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                                      sap_error* error) {
  const size_t n = (size_t)pattern->n;
  const size_t needed = n * n;  // n < 2^27: no overflow
  if (needed <= dense->capacity) {
    return SAP_STATUS_OK;
  }
  double* factor = sap_allocate(needed, sizeof *factor);
  if (factor == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: dense %zu x %zu factor", n, n);
  }
  sap_free(dense->factor);
  dense->factor = factor;
  dense->capacity = needed;
  return SAP_STATUS_OK;
}

static void gather(double* a, const sap_pattern_copy* pattern, const double* values) {
  const sap_block_pattern* blocks = &pattern->view;
  const size_t n = (size_t)pattern->n;
  for (int32_t j = 0; j < blocks->nblocks; ++j) {
    const size_t column = (size_t)pattern->offset[j];
    for (size_t c = 0; c < (size_t)blocks->sizes[j]; ++c) {
      memset(a + (column + c) * n + column, 0, (n - column) * sizeof *a);
    }
    for (int32_t k = blocks->column_start[j]; k < blocks->column_start[j + 1]; ++k) {
      const size_t rows = (size_t)blocks->sizes[blocks->row[k]];
      const double* source = values + blocks->value_start[k];
      double* target = a + column * n + (size_t)pattern->offset[blocks->row[k]];
      for (size_t c = 0; c < (size_t)blocks->sizes[j]; ++c) {
        memcpy(target + c * n, source + c * rows, rows * sizeof *a);
      }
    }
  }
}

int32_t sap_cholesky_dense_factorize(sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                                     const double* values) {
  const int32_t n = pattern->n;
  gather(dense->factor, pattern, values);
  const int32_t broken = sap_dense_factorize(n, dense->factor);
  return broken < 0 ? -1 : sap_pattern_block_of(pattern, broken);
}

void sap_cholesky_dense_solve(const sap_cholesky_dense* dense, const sap_pattern_copy* pattern,
                              double* x) {
  sap_dense_factor_solve(pattern->n, dense->factor, x);
}
