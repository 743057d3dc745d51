// SPDX-License-Identifier: BSD-3-Clause
// How well (gamma, g) of blocks satisfy C contains gamma _|_ g in C*, as CCP and as NCP.
#ifndef SAP_SOLVERS_COMPLEMENTARITY_H
#define SAP_SOLVERS_COMPLEMENTARITY_H

#include <sapstep/problem.h>

#include "core/error.h"

typedef struct sap_model_sums {
  double map_2, scaled_map_2;  // sums of squares [(N s)^2 in SI numbers]
  double dual, complementarity;
} sap_model_sums;

typedef struct sap_complementarity {
  sap_model_sums ccp, ncp;
  double gamma_2;
  double signorini;
  double dissipation;
} sap_complementarity;

// rho = 1/lambda_max(W_ii + R_ii) of a friction cone, in each of its rows; 1/(W_rr + R_r) of the
// rows of an interval set. W by the diagonal tree blocks of A. work: 6 times the velocities of the
// block's largest tree.  fails: NOT_SPD names a tree.
sap_status sap_complementarity_steps(const sap_problem* problem, int32_t index, double* work,
                                     double* rho, sap_error* error);
// Adds one block. vc, gamma, rho: its rows.
void sap_complementarity_add(const sap_problem* problem, int32_t index, const double* vc,
                             const double* gamma, const double* rho, sap_complementarity* sums);
// |map|/|gamma| from sums of squares; 0 when the map is.
double sap_relative_map(double map_2, double gamma_2);

#endif
