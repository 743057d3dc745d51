// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_MATH_FINITE_H
#define SAP_MATH_FINITE_H

#include <stdbool.h>
#include <stddef.h>

// Are all numbers finite? 0 x is 0 for finite x and NaN otherwise: no branches, and four sums that
// do not wait for each other.
static inline bool sap_all_finite(const double* x, size_t count) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  size_t i = 0;
  for (; i + 3 < count; i += 4) {
    s0 += 0.0 * x[i];
    s1 += 0.0 * x[i + 1];
    s2 += 0.0 * x[i + 2];
    s3 += 0.0 * x[i + 3];
  }
  for (; i < count; ++i) {
    s0 += 0.0 * x[i];
  }
  return (s0 + s1) + (s2 + s3) == 0.0;
}

// The same of the lower triangle of an n x n matrix, column-major.
static inline bool sap_lower_finite(const double* A, size_t n, size_t ld) {
  if (n == 6) {  // a free body: unrolled
    double sums[6];
    for (size_t i = 0; i < 6; ++i) {
      sums[i] = 0.0 * A[i * (ld + 1)];
    }
    for (size_t j = 0; j < 5; ++j) {
      for (size_t i = j + 1; i < 6; ++i) {
        sums[i] += 0.0 * A[j * ld + i];
      }
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (sums[4] + sums[5]) == 0.0;
  }
  bool finite = true;
  for (size_t j = 0; finite && j < n; ++j) {
    finite = sap_all_finite(A + j * ld + j, n - j);
  }
  return finite;
}

#endif
