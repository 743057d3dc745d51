// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of an implicit Euler step, link by link.
#ifndef SAP_MULTIBODY_DYNAMICS_MOMENTUM_H
#define SAP_MULTIBODY_DYNAMICS_MOMENTUM_H

#include "multibody/dynamics/dynamics.h"

// Of each link [L about its centre of mass; P] in world axes, at the configuration set last.
// (links)
void sap_dynamics_momenta(sap_dynamics* dynamics, const double* v, double (*momenta)[6]);

// A step that ends at the configuration set last.
typedef struct sap_momentum_step {
  double dt;
  const double* v0;    // velocities at its start                         (nv)
  double (*start)[6];  // momenta at its start                            (links)
  double (*end)[6];    // output: those at its end                        (links)
  // The trees that are asked for: what stands for the others in end, and in inertial, stays.
  const bool* trees;
  // Output: what the momenta have changed by per time, less weight, on each velocity (nv).
  double* inertial;
  const double* input;  // see multibody/dynamics/actuators.h (nu)
} sap_momentum_step;

// What the change of momentum exceeds the forces by: M (v - v0)/dt - k1 - k2 up to O(dt). load,
// unless NULL: |k1| + |k2| without Coriolis forces (nv).
void sap_dynamics_momentum_balance(sap_dynamics* dynamics, const double* q, const double* v,
                                   const sap_momentum_step* step, double* residual, double* load);

#endif
