// SPDX-License-Identifier: BSD-3-Clause
// Cost, impulses, gradient and Hessian of an island's problem.
#ifndef SAP_SOLVERS_PRIMAL_EVALUATE_H
#define SAP_SOLVERS_PRIMAL_EVALUATE_H

#include "solvers/primal/island.h"

// Computes vc, u, gamma, cost, gradient and the sums of `state` at newton->v.
void sap_newton_evaluate(sap_newton* newton);
// Returns sum l_i at v, without the energy. Overwrites the direction's rows and G.
double sap_newton_contact_cost(const sap_newton* newton, const double* v);
// Computes J dv (cone_d, interval_d); returns dv' A dv.
double sap_newton_apply_direction(sap_newton* newton);
// y += A x
void sap_newton_add_momentum(const sap_newton* newton, const double* x, double* y);
// side = J' target - A (v - v*), the right-hand side of a semismooth step.
void sap_newton_target_side(sap_newton* newton, double* side);

// hessian.c: values = A + J' G J with the G of sap_newton_linearise, or A alone.
void sap_newton_assemble(sap_newton* newton, bool with_constraints);

#endif
