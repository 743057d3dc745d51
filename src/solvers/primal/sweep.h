// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel sweeps that find multipliers and velocities to start from, far from the solution, on
// islands of small trees.
#ifndef SAP_SOLVERS_PRIMAL_SWEEP_H
#define SAP_SOLVERS_PRIMAL_SWEEP_H

#include "solvers/primal/island.h"

// A cone in a sweep: the projection in the norm of D = diag(Dt, Dt, Dn).
struct sap_sweep_cone {
  double v_hat[3], gamma[3];
  double own_t, own_n;  // D - R: effect of an impulse on its own rows
  double Dt, Dn;
  sap_cone metric;
};

// Returns false for an island with few cones, a tree of more than six velocities, couplings between
// trees, cones of n rows or potentials.
bool sap_newton_is_sweepable(const sap_newton* newton);
// Sweeps over all blocks from the recalled multipliers (zero where there are none): sets the
// multipliers, and v_best to the velocities of these impulses. Returns false, without changing
// them, if a block of A is not positive definite. Only for sweepable islands.
bool sap_newton_sweep(sap_newton* newton);

#endif
