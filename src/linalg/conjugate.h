// SPDX-License-Identifier: BSD-3-Clause
// Preconditioned conjugate gradients on a symmetric positive definite block matrix.
#pragma once

#include "linalg/block_pattern.h"

typedef struct sap_conjugate {
  const sap_pattern_copy* pattern;
  const double* values;
  const double* weight;  // of the residual r: it is measured as sqrt(sum r_i^2/weight_i)  (n)
  double residual;       // goal, relative to that of b
  int32_t iterations;    // most
  double* work;          // (SAP_CONJUGATE_WORK n)
  // Computes z = M^-1 r, M symmetric positive definite; may overwrite r.
  void (*precondition)(void* context, double* r, double* z);
  void* context;
} sap_conjugate;

enum { SAP_CONJUGATE_WORK = 5 };

// Solves A x = b in place. Returns false if the residual has not fallen to the goal; x is b then.
// cost: a product with A and a preconditioning per iteration.
bool sap_conjugate_solve(const sap_conjugate* c, double* x);
