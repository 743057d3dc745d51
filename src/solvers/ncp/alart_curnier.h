// SPDX-License-Identifier: BSD-3-Clause
// Newton steps on the Alart-Curnier equations of an island, proximal or not.
//   g   = D z + q + sigma (z - z_ref),  p = z - g
//   F_n = z_n - max(0, p_n)
//   F_t = z_t - P_disk(mu max(0, p_n))(p_t);  interval rows: F = z - clamp(p)
//   (I - T + T (D + sigma I)) dz = -F,  T = dP/dp
// Where T = 0 (open contacts) dz = -F. The other items give a sparse system: contacts meet few
// others.
#ifndef SAP_SOLVERS_NCP_ALART_CURNIER_H
#define SAP_SOLVERS_NCP_ALART_CURNIER_H

#include "solvers/dual/dual.h"

enum { SAP_ALART_CURNIER_MERITS = 5 };  // values that the nonmonotone line search compares with

typedef struct sap_alart_curnier {
  double *F, *dz;  // (n)
  double *g, *dg;  // g of the proximal problem, and its change along dz
  double *z_ref, *trial, *g_trial;
  double* z_mark;             // iterate to which the watchdog returns
  double* right;              // right-hand side of the reduced system
  double *lower, *upper;      // its matrix                             (values of D)
  double* T;                  // dP/dp, item after item                   (6 n)
  sap_block_pattern pattern;  // of the reduced system
  int32_t *sizes, *column_start, *row, *reduced;  // reduced: index of an item, -1: T = 0
  double sigma;
  double merits[SAP_ALART_CURNIER_MERITS];
  int32_t nmerits;
} sap_alart_curnier;

// Assembles D; sets z_ref = d->z and sigma = 0.  fails: MEMORY
sap_status sap_alart_curnier_start(sap_dual* d, sap_alart_curnier* s, sap_error* error);
// Sets s->g from d->z and d->g = D z + q, and s->F; returns |F|^2/2.
double sap_alart_curnier_merit(const sap_dual* d, sap_alart_curnier* s);
// Moves d->z by a whole step, or by an Armijo search on |F|^2 against the largest of the last
// values. The diagonal of a singular matrix is raised as little as possible. *alpha: the step
// length, 0 if no raise made the matrix regular.
sap_status sap_alart_curnier_step(sap_dual* d, sap_alart_curnier* s, bool whole, double* alpha,
                                  sap_error* error);

#endif
