// SPDX-License-Identifier: BSD-3-Clause
// The Newton system of the interior point method: residual, scalings, right-hand sides, step. See
// ipm.c. Items are second-order cones, or rows with bounds (a cone of mu = 0: its normal).
#ifndef SAP_SOLVERS_DUAL_IPM_SYSTEM_H
#define SAP_SOLVERS_DUAL_IPM_SYSTEM_H

#include <math.h>

#include "contact/second_order_cone.h"
#include "solvers/dual/dual.h"

typedef struct sap_ipm {
  double *D, *K;           // (n n)
  double *x, *dx, *rd;     // (n)
  double *s, *ds;          // cones: s^ (head first); rows: multiplier of the lower bound   (n)
  double *b, *db;          // rows: multiplier of the upper bound                           (n)
  double* r;               // complementarity: cones lambda \ r; rows r of the lower bound  (n)
  double* rb;              // rows: r of the upper bound                                    (n)
  sap_soc_scaling* cones;  // of the items; rows do not use theirs
  int32_t* pivots;         // of the polish                                            (n)
  double mu;               // mean complementarity
  double rank;
} sap_ipm;

static inline bool sap_ipm_is_soc(const sap_delassus_item* item) {
  return item->is_cone && item->mu > 0.0;
}
static inline bool sap_ipm_is_fixed(const sap_delassus_item* item) {
  return !item->is_cone && item->lower == item->upper;
}
static inline bool sap_ipm_has_lower(const sap_delassus_item* item) {
  return (item->is_cone || isfinite(item->lower)) && !sap_ipm_is_fixed(item);
}
static inline bool sap_ipm_has_upper(const sap_delassus_item* item) {
  return !item->is_cone && isfinite(item->upper) && !sap_ipm_is_fixed(item);
}
// Row of an item that has bounds: the only one, or the normal of a cone without friction.
static inline int32_t sap_ipm_bounded_row(const sap_delassus_item* item) {
  return item->first + (item->is_cone ? SAP_NORMAL_ROW : 0);
}
static inline double sap_ipm_lower(const sap_delassus_item* item) {
  return item->is_cone ? 0.0 : item->lower;
}

// Dual residual, scalings, mean complementarity at m->x with d->g.
void sap_ipm_evaluate(sap_dual* d, sap_ipm* m);
// K = D + scalings, factorized; false when it is not positive definite.
bool sap_ipm_factorize(sap_dual* d, sap_ipm* m);
// Right-hand sides of complementarity: sigma mu - products, less the predictor's second order.
void sap_ipm_aim(sap_dual* d, sap_ipm* m, double sigma, bool corrector);
// dx, ds, db for them.
void sap_ipm_find_step(sap_dual* d, sap_ipm* m);
// Largest step <= 1 that stays in all cones.
double sap_ipm_longest_step(const sap_dual* d, const sap_ipm* m);

#endif
