// SPDX-License-Identifier: BSD-3-Clause
// Momenta of links, the momentum balance of an implicit Euler step, energies of a state.
#ifndef SAP_MULTIBODY_DYNAMICS_MOMENTUM_H
#define SAP_MULTIBODY_DYNAMICS_MOMENTUM_H

#include "multibody/dynamics/dynamics.h"

// [L about its centre of mass; P] of each link in world axes.                     (links)
void sap_dynamics_momenta(sap_dynamics* dynamics, const sap_dynamics_state* at,
                          double (*momenta)[6]);

typedef struct sap_momentum_step {
  double dt;
  const double* v0;    // velocities at the start of the step                     (nv)
  double (*start)[6];  // momenta at the start                                    (links)
  double (*end)[6];    // output: momenta at the end                              (links)
  const bool* trees;   // trees to update; NULL: all. `end` and `inertial` of other trees are left
                       // unchanged                                               (trees)
  double* inertial;    // output: (change of momentum)/dt - weight, on each velocity (nv)
} sap_momentum_step;

// residual = change of momentum per time - forces, at the end of a step:
//   M (v - v0)/dt - k1 - k2 + O(dt)
// load, unless NULL: |k1| + |k2| without Coriolis forces (nv).
void sap_dynamics_momentum_balance(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                   const sap_momentum_step* step, double* residual, double* load);

// Energies and momenta of the state (kin, v).
void sap_dynamics_diagnose(sap_dynamics* dynamics, const sap_kinematics* kin, const double* v,
                           sap_diagnostics* out);

#endif
