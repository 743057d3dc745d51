// SPDX-License-Identifier: BSD-3-Clause
// Impulses and velocities to start from far from the solution, of islands of small trees.
#ifndef SAP_SOLVERS_PRIMAL_SWEEP_H
#define SAP_SOLVERS_PRIMAL_SWEEP_H

#include "solvers/primal/newton.h"

// A cone as the sweeps see it: the projection in the norm of D = diag(Dt, Dt, Dn).
struct sap_sweep_cone {
  double v_hat[3], gamma[3];
  double own_t, own_n;  // D - R: what an impulse adds to its own rows
  double Dt, Dn;
  sap_cone metric;
};

// False for an island with few cones, a tree of more than six velocities, couplings between trees,
// wide cones or potentials.
bool sap_newton_is_sweepable(const sap_newton* newton);
// Sweeps from the last impulses (zero where none are known) over all blocks: the impulses are then
// the duals, and the velocities that they lead to are in v_best. False, and no dual set, where a
// block of A is not positive definite. Only where it is sweepable.
bool sap_newton_sweep(sap_newton* newton);

#endif
