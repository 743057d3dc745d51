// SPDX-License-Identifier: BSD-3-Clause
// Anderson acceleration of a fixed point s = T(s), the last differences in a ring.
#ifndef SAP_SOLVERS_NCP_ANDERSON_H
#define SAP_SOLVERS_NCP_ANDERSON_H

#include "core/error.h"

enum { SAP_ANDERSON_DEPTH = 5 };

typedef struct sap_anderson {
  double* memory;  // differences of f and of T, then the last f and T
  int32_t capacity, n;
  int32_t count;  // differences held, at most the depth
  int32_t next;   // where the next goes
  bool has_last;
} sap_anderson;

// Starts anew for n unknowns.
sap_status sap_anderson_begin(sap_anderson* a, int32_t n, sap_error* error);
// Forgets the past, keeps the size.
void sap_anderson_restart(sap_anderson* a);
// next = T - dT theta with theta the least squares solution of f = dF theta, f = T - s. weights
// (n): of the unknowns in the least squares. next may be s.
void sap_anderson_next(sap_anderson* a, const double* s, const double* T, const double* weights,
                       double* next);
void sap_anderson_clear(sap_anderson* a);

#endif
