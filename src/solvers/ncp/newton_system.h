// SPDX-License-Identifier: BSD-3-Clause
// Newton steps on the Alart-Curnier equations of an island, proximal or not:
//   g = D z + q + sigma (z - z_ref),  p = z - g
//   F_n = z_n - max(0, p_n),  F_t = z_t - P_disk(mu max(0, p_n))(p_t);  rows of intervals likewise
//   (I - T + T (D + sigma I)) dz = -F,  T = dP/dp
#ifndef SAP_SOLVERS_NCP_NEWTON_SYSTEM_H
#define SAP_SOLVERS_NCP_NEWTON_SYSTEM_H

#include "solvers/dual/dual.h"

enum { SAP_NEWTON_MEMORY = 5 };  // values that the nonmonotone search looks back on

typedef struct sap_newton_system {
  double *D, *J;   // (n n)
  double *F, *dz;  // (n)
  double *g, *dg;  // of the proximal problem, and its change along dz
  double *z_ref, *trial, *g_trial;
  double* z_mark;  // what the watchdog goes back to
  int32_t* pivots;
  double sigma;
  double merits[SAP_NEWTON_MEMORY];
  int32_t nmerits;
} sap_newton_system;

// z_ref = d->z, sigma = 0.
sap_status sap_newton_start(sap_dual* d, sap_newton_system* s, sap_error* error);
// g of d->z, of which d->g = D z + q; F and |F|^2 / 2.
double sap_newton_merit(const sap_dual* d, sap_newton_system* s);
// d->z moves by a whole step, or as far as an Armijo search on |F|^2 against the largest of the
// last values lets it. A singular matrix is shifted by as little as mends it. Returns the step
// length, 0 when nothing mends it.
double sap_newton_step(sap_dual* d, sap_newton_system* s, bool whole);
// d->z, d->v, d->g at z.
void sap_newton_return(sap_dual* d, const double* z);

#endif
