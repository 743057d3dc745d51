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

#endif
