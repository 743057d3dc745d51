// SPDX-License-Identifier: BSD-3-Clause
// Balance of momentum, and products with J over all blocks of a problem.
#ifndef SAP_SOLVERS_MOMENTUM_RESIDUAL_H
#define SAP_SOLVERS_MOMENTUM_RESIDUAL_H

#include <sapstep/solver.h>

typedef struct sap_momentum {
  double absolute;  // |D (A (v - v*) - J' gamma)| [sqrt(J)]
  double relative;  // divided by max(|D A v|, |D J' gamma|), castro (32); 0 when absolute is 0
  double energy;    // 1/2 |v - v*|_A^2 [J]
} sap_momentum;

// Computes the residual of the balance of momentum.  fails: NOT_SPD, MEMORY
sap_status sap_momentum_residual(const sap_problem* problem, const double* v, const double* gamma,
                                 sap_momentum* out, sap_error* error);
// Sets impulse = J' gamma (nv).
void sap_generalized_impulse(const sap_problem* problem, const double* gamma, double* impulse);
// Sets vc = J v of all blocks (nrows).
void sap_contact_velocity(const sap_problem* problem, const double* v, double* vc);

#endif
