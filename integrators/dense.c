// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/dense.h"

#include <math.h>
#include <string.h>

#include <lapacke.h>

#include "linalg/dense_factor.h"

// Trees up to here are factorized by plain loops; LAPACK's overhead pays beyond.
enum { SMALL = 64 };

static void subtract_scaled(int32_t n, double s, const double* restrict x, double* restrict y) {
  for (int32_t i = 0; i < n; ++i) {
    y[i] -= s * x[i];
  }
}

// Four sums that do not wait for each other.
static double dot(int32_t n, const double* x, const double* y) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  int32_t i = 0;
  for (; i + 3 < n; i += 4) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
    s2 += x[i + 2] * y[i + 2];
    s3 += x[i + 3] * y[i + 3];
  }
  for (; i < n; ++i) {
    s0 += x[i] * y[i];
  }
  return (s0 + s1) + (s2 + s3);
}

bool sap_dense_cholesky(int32_t n, const double* A, double* L) {
  const size_t ld = (size_t)n;
  memcpy(L, A, ld * ld * sizeof(double));
  if (n > SMALL) {
    return sap_dense_factorize(n, L) < 0;
  }
  for (int32_t j = 0; j < n; ++j) {
    double* column = L + (size_t)j * ld;
    const double pivot = sqrt(column[j]);
    if (!(pivot > 0.0) || !isfinite(pivot)) {
      return false;
    }
    column[j] = pivot;
    const double inverse = 1.0 / pivot;
    for (int32_t i = j + 1; i < n; ++i) {
      column[i] *= inverse;
    }
    for (int32_t k = j + 1; k < n; ++k) {
      subtract_scaled(n - k, column[k], column + k, L + (size_t)k * ld + k);
    }
  }
  return true;
}

// A free body: loops of fixed length, divisions that do not wait for each other, columns instead of
// sums.
static void solve_six(const double* restrict L, double* restrict x) {
  enum { SIX = 6 };
  double inverse[SIX], y[SIX];
  for (int j = 0; j < SIX; ++j) {
    inverse[j] = 1.0 / L[j * SIX + j];
    y[j] = x[j];
  }
  for (int j = 0; j < SIX; ++j) {
    y[j] *= inverse[j];
    for (int i = j + 1; i < SIX; ++i) {
      y[i] -= L[j * SIX + i] * y[j];
    }
  }
  for (int j = SIX - 1; j >= 0; --j) {
    y[j] *= inverse[j];
    for (int i = 0; i < j; ++i) {
      y[i] -= L[i * SIX + j] * y[j];
    }
  }
  memcpy(x, y, sizeof y);
}

void sap_dense_cholesky_solve(int32_t n, const double* L, double* x) {
  const size_t ld = (size_t)n;
  if (n == 6) {
    solve_six(L, x);
    return;
  }
  for (int32_t j = 0; j < n; ++j) {
    const double* column = L + (size_t)j * ld;
    x[j] /= column[j];
    subtract_scaled(n - j - 1, x[j], column + j + 1, x + j + 1);
  }
  for (int32_t j = n - 1; j >= 0; --j) {
    const double* column = L + (size_t)j * ld;
    x[j] = (x[j] - dot(n - j - 1, column + j + 1, x + j + 1)) / column[j];
  }
}

bool sap_dense_lu_solve(int32_t n, double* B, int32_t* pivots, double* x) {
  double sum = 0.0;
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) {
    sum += 0.0 * B[i];
  }
  if (!(sum == 0.0) || LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, B, n, pivots) != 0) {
    return false;
  }
  return LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, B, n, pivots, x, n) == 0;
}
