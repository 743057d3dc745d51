// SPDX-License-Identifier: BSD-3-Clause
// Newton on the natural map of the convex problem, F(z) = z - P(z - D z - q) = 0, from a point near
// the solution. Semismooth: converges quadratically where I - T + T D is regular, T = dP; which it
// is for D > 0.
#ifndef SAP_SOLVERS_DUAL_CCP_POLISH_H
#define SAP_SOLVERS_DUAL_CCP_POLISH_H

#include "solvers/dual/dual.h"

typedef struct sap_ccp_polish {
  const double* D;  // (n n)
  double* J;        // work (n n)
  double* dz;       // work (n)
  int32_t* pivots;  // work (n)
} sap_ccp_polish;

// From d->z, and if that leads nowhere from d->z_best, while the natural map falls; the stopping
// test ends it as it ends any method. Else the outcome is STALLED. cost: 2/3 n^3 per step.
sap_status sap_ccp_polish_run(const sap_ccp_polish* s, sap_dual* d, sap_error* error);

#endif
