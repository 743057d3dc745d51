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

// Adds one block. vc, gamma: its rows. work: 3 times the velocities of its largest tree.
// fails: NOT_SPD names a tree.
sap_status sap_complementarity_add(const sap_problem* problem, int32_t index, const double* vc,
                                   const double* gamma, double* work, sap_complementarity* sums,
                                   sap_error* error);

#endif
