// SPDX-License-Identifier: BSD-3-Clause
// pi, bounds, products and tests for finite numbers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAP_PI 3.14159265358979323846

// Returns true if all numbers are finite. 0 x is 0 for finite x and NaN otherwise: no branches,
// independent sums.
static inline bool sap_all_finite(const double* x, size_t count) {
  enum { SUMS = 8 };
  double s[SUMS] = {0.0};
  size_t i = 0;
  for (; i + SUMS <= count; i += SUMS) {
    for (size_t k = 0; k < SUMS; ++k) {
      s[k] += 0.0 * x[i + k];
    }
  }
  for (; i < count; ++i) {
    s[0] += 0.0 * x[i];
  }
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) == 0.0;
}

// The same for the lower triangle of an n x n matrix, column-major.
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

static inline bool sap_all_zero(const double* x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (x[i] != 0.0) {
      return false;
    }
  }
  return true;
}

// fmin and fmax without their handling of NaN, which costs a call; of finite numbers.
static inline double sap_least(double a, double b) {
  return a < b ? a : b;
}

static inline double sap_most(double a, double b) {
  return a > b ? a : b;
}

// Returns the nearest value in [lower, upper]; NaN for NaN.
static inline double sap_clamp(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

// x . y of n numbers
static inline double sap_dot(int32_t n, const double* x, const double* y) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}
