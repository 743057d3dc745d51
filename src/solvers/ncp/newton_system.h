// SPDX-License-Identifier: BSD-3-Clause
// Newton steps on the Alart-Curnier equations of an island, proximal or not:
//   g = D z + q + sigma (z - z_ref),  p = z - g
//   F_n = z_n - max(0, p_n),  F_t = z_t - P_disk(mu max(0, p_n))(p_t);  rows of intervals likewise
//   (I - T + T (D + sigma I)) dz = -F,  T = dP/dp
// Where T = 0 (open contacts) dz = -F; of the others a sparse LU is made, for contacts meet few
// others.
#ifndef SAP_SOLVERS_NCP_NEWTON_SYSTEM_H
#define SAP_SOLVERS_NCP_NEWTON_SYSTEM_H

#include "solvers/dual/dual.h"

enum { SAP_NEWTON_MEMORY = 5 };  // values that the nonmonotone search looks back on

typedef struct sap_newton_system {
  double *F, *dz;  // (n)
  double *g, *dg;  // of the proximal problem, and its change along dz
  double *z_ref, *trial, *g_trial;
  double* z_mark;             // what the watchdog goes back to
  double* right;              // of the reduced system
  double *lower, *upper;      // its matrix                             (values of D)
  double* T;                  // dP/dp, item after item                   (6 n)
  sap_block_pattern pattern;  // of the reduced system
  int32_t *sizes, *column_start, *row, *reduced;  // reduced: index of an item, -1: T = 0
  double sigma;
  double merits[SAP_NEWTON_MEMORY];
  int32_t nmerits;
} sap_newton_system;

// z_ref = d->z, sigma = 0.
sap_status sap_newton_start(sap_dual* d, sap_newton_system* s, sap_error* error);
// g of d->z, of which d->g = D z + q; F and |F|^2 / 2.
double sap_newton_merit(const sap_dual* d, sap_newton_system* s);
// F of one item and, where T is given, dP/dp (nrows x nrows, column-major).
void sap_newton_item(const sap_delassus_item* item, const double* z, const double* g, double* F,
                     double* T);
// s->dz for s->F, s->g; *found = false when J is singular.
sap_status sap_newton_direction(sap_dual* d, sap_newton_system* s, bool* found, sap_error* error);
// d->z moves by a whole step, or as far as an Armijo search on |F|^2 against the largest of the
// last values lets it. A singular matrix is shifted by as little as mends it. *alpha: the step
// length, 0 when nothing mends it.
sap_status sap_newton_step(sap_dual* d, sap_newton_system* s, bool whole, double* alpha,
                           sap_error* error);
// d->z, d->v, d->g at z.
void sap_newton_return(sap_dual* d, const double* z);

#endif
