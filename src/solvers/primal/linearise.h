// SPDX-License-Identifier: BSD-3-Clause
// Linearisation of the impulses, and the multipliers lambda: impulses that primal-dual steps carry
// along beside gamma, in cone_lambda, interval_lambda and sap_cone_n.lambda.
#ifndef SAP_SOLVERS_PRIMAL_LINEARISE_H
#define SAP_SOLVERS_PRIMAL_LINEARISE_H

#include "solvers/primal/island.h"

// How the system of a step is linearised. A kind that gives no descent falls back on the one
// before.
typedef enum sap_step_kind {
  SAP_STEP_PRIMAL,          // SAP's own
  SAP_STEP_SLIP_DIRECTION,  // SAP's, with the slip direction relaxed by the multipliers
  SAP_STEP_SEMISMOOTH       // v and gamma together
} sap_step_kind;

// Sets cone_G, interval_G and, for semismooth steps, the targets at the evaluated point.
void sap_newton_linearise(sap_newton* newton, sap_step_kind kind);
// Moves the multipliers after a step of length alpha along dv, at the new v.
void sap_newton_move_multipliers(sap_newton* newton, sap_step_kind kind, double alpha);

#endif
