// SPDX-License-Identifier: BSD-3-Clause
// Step length along a direction dv of an island.
#ifndef SAP_SOLVERS_PRIMAL_LINE_SEARCH_H
#define SAP_SOLVERS_PRIMAL_LINE_SEARCH_H

#include "solvers/primal/island.h"

typedef struct sap_step {
  double alpha;
  int32_t evaluations;
} sap_step;

// Minimises l(v + alpha dv): ends where |l'| <= tolerance |slope| or l' is round-off.
// slope = l'(0) < 0, curvature = dv' A dv; J dv must be computed.
sap_step sap_newton_exact_search(const sap_newton* newton, double slope, double curvature,
                                 double tolerance);
// Shortens alpha until Armijo's rule holds and l rises again.
sap_step sap_newton_backtracking_search(const sap_newton* newton, const sap_solver_options* options,
                                        double slope, double curvature);

#endif
