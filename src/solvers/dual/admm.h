// SPDX-License-Identifier: BSD-3-Clause
// Proximal ADMM for min 1/2 x' D x + q' x, x in a set: the iteration that sap_admm_solve and both
// stages of staggered projections run.                                           tsounis Alg. 6
//   (D + (eta + rho) I) x = eta x- + rho y- + w- - q
//   y = P(x^ - w-/rho),  w = w- + rho (y - x^),  x^ = omega x + (1 - omega) y-
// rho is fixed, or changes where |x - y| and |eta (x - x-) + rho (y - y-)| differ tenfold: by 1.5
// (171) or by a power of the condition number (172).
// cost: two triangular solves with a dense factor per iteration, a factorization per change of rho.
#ifndef SAP_SOLVERS_DUAL_ADMM_H
#define SAP_SOLVERS_DUAL_ADMM_H

#include "solvers/dual/dual.h"

typedef struct sap_admm {
  int32_t n;
  double *D, *factor;       // factor: Cholesky of D's symmetric part + (rho + eta) I     (n n)
  double *q, *x, *y, *w;    // (n)
  double *x_last, *y_last;  // x-, y- (n)
  double rho, change;       // penalty, factor by which it changes
} sap_admm;

// Projects y on the set, in place.
typedef void (*sap_admm_project)(const void* context, double* y);

// Returns the numbers that an ADMM of n rows needs.
int64_t sap_admm_reals(int32_t n);
// Sets the pointers into `reals`. x and y are adjacent.
void sap_admm_carve(sap_admm* a, int32_t n, double* reals);
// Chooses the first rho and factorizes D. largest: eigenvalue of D.  fails: NOT_SPD.
sap_status sap_admm_begin(sap_admm* a, sap_dual* d, double largest, sap_error* error);
// Starts an iteration: x = eta x- + rho y- + w- - q, to which the caller may add before the end.
void sap_admm_start_iteration(sap_admm* a);
void sap_admm_end_iteration(sap_admm* a, double omega, sap_admm_project project,
                            const void* context);
// Returns squares: *primal_2 = |x - y|^2, *dual_2 = |eta (x - x-) + rho (y - y-)|^2.
void sap_admm_residuals(const sap_admm* a, double* primal_2, double* dual_2);
// Changes rho and factorizes again if the residuals differ tenfold.  fails: NOT_SPD.
sap_status sap_admm_adapt(sap_admm* a, sap_dual* d, double primal_2, double dual_2,
                          sap_error* error);
// True every so many iterations, unless rho is fixed.
bool sap_admm_may_adapt(const sap_dual* d, int32_t iteration);

#endif
