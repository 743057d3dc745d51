// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_MATH_CLAMP_H
#define SAP_MATH_CLAMP_H

// Returns the nearest value in [lower, upper]; NaN for NaN.
static inline double sap_clamp(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

#endif
