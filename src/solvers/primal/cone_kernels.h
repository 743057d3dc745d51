// SPDX-License-Identifier: BSD-3-Clause
// The laws of all cones of 3 rows of an island (contact/cone.h), without branches so that compilers
// vectorise them; compiled for several instruction sets and chosen at run time. All sets do the
// same operations in the same order and give the same bits. Potentials are ignored: the caller
// replaces the results of their cones.
#pragma once

#include <stdint.h>

// Structure of arrays: three rows t1, t2, n of `count` each; law has five, those of sap_cone.
typedef struct sap_cone_rows {
  int32_t count;
  const double* law;  // mu, 1/Rt, 1/Rn, k, stick_2
} sap_cone_rows;

// Sums over the cones.
typedef struct sap_cone_slope {
  double slope;      // gamma . d
  double magnitude;  // |gamma . d|
  double curvature;  // d . G d
} sap_cone_slope;

typedef struct sap_cone_kernels {
  const char* name;  // instruction set
  // u = v_hat - vc, gamma and each cone's cost at u.
  void (*impulses)(const sap_cone_rows* cones, const double* v_hat, const double* vc, double* u,
                   double* gamma, double* cost);
  // Each cone's gamma . d and d . G d at u - alpha d.
  void (*slopes)(const sap_cone_rows* cones, const double* u, const double* d, double alpha,
                 double* slope, double* curvature);
  sap_cone_slope (*sum_slopes)(int32_t count, const double* slope, const double* curvature);
  double (*sum)(int32_t count, const double* x);
} sap_cone_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_cone_kernels* sap_cone_kernels_get(int32_t index);
