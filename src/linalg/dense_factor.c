// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/dense_factor.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stddef.h>

int32_t sap_dense_factorize(int32_t n, double* A) {
  const lapack_int info = n > 0 ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, A, n) : 0;
  if (info != 0) {
    return info > 0 ? info - 1 : 0;
  }
  // Not every LAPACK stops at a NaN or an infinite pivot.
  for (int32_t i = 0; i < n; ++i) {
    const double pivot = A[(size_t)i * (size_t)n + (size_t)i];
    if (!(pivot > 0.0 && isfinite(pivot))) {
      return i;
    }
  }
  return -1;
}

void sap_dense_factor_solve(int32_t n, const double* L, double* x) {
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, n, x, 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, n, x, 1);
}
