// SPDX-License-Identifier: BSD-3-Clause
// Parts of sap_residuals that a solver's report needs.
#ifndef SAP_SOLVERS_RESIDUALS_H
#define SAP_SOLVERS_RESIDUALS_H

#include <sapstep/solver.h>

typedef struct sap_momentum {
  double absolute;  // |D (A (v - v*) - J' gamma)| [sqrt(J)]
  double relative;  // divided by max(|D A v|, |D J' gamma|), castro (32); 0 when absolute is 0
  double energy;    // 1/2 |v - v*|_A^2 [J]
} sap_momentum;

sap_status sap_momentum_residual(const sap_problem* problem, const double* v, const double* gamma,
                                 sap_momentum* out, sap_error* error);
// impulse = J' gamma (nv).
void sap_generalized_impulse(const sap_problem* problem, const double* gamma, double* impulse);
// vc = J v of all blocks (nrows).
void sap_contact_velocity(const sap_problem* problem, const double* v, double* vc);

#endif
