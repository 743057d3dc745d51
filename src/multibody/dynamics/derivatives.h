// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of inertial forces to positions and velocities, in one pass outwards and one inwards.
// Positions vary in the tangent space: q (+) dx. Matrices are dense, nv x nv, column-major; entries of
// different trees are zero.
#ifndef SAP_MULTIBODY_DYNAMICS_DERIVATIVES_H
#define SAP_MULTIBODY_DYNAMICS_DERIVATIVES_H

#include "multibody/dynamics/dynamics.h"

typedef struct sap_derivatives sap_derivatives;  // workspace

// Allocates the workspace in the pool. The dynamics must outlive it.
sap_status sap_derivatives_create(sap_dynamics* dynamics, sap_pool* pool, sap_derivatives** out,
                                  sap_error* error);

// tau = inverse dynamics at (q, v, a) with armature and gravity, without other forces:
// dtau/dq, dtau/dv and dtau/da = M. The arrays must be zero.
void sap_derivatives_inverse(sap_derivatives* work, const sap_kinematics* kin, const double* v,
                             const double* a, double* dq, double* dv, double* da);

// A step from (q0, v0) to (q, v) as the momentum balance takes it (momentum.c): the change of
// momentum per time less the weight. The arrays must be zero.
typedef struct sap_momentum_derivatives {
  const sap_kinematics *kin0, *kin;
  const double *v0, *v;
  double dt;
  double *dq, *dv, *dq0, *dv0;
} sap_momentum_derivatives;
// No link may be locked to its parent.
void sap_derivatives_momentum(sap_derivatives* work, const sap_momentum_derivatives* step);

// Adds scale times the gradient to q of x' M(q) y to out (nv), for vectors on one tree.
void sap_derivatives_add_mass_product(sap_derivatives* work, const sap_kinematics* kin,
                                      int32_t tree, const double* x, const double* y, double scale,
                                      double* out);

// Sets S (6) of a dof about its tree's O, of lone links too.
void sap_derivatives_direction(const sap_kinematics* kin, int32_t dof, double S[6]);

// Rotations of a step q = q0 (+) w: dq = T dq0 + J dw. T and J are the unit matrix but for the three
// velocities from `first` on:
//   T = Exp(-w),  J = 1 - (1 - cos a)/a^2 [w] + (a - sin a)/a^3 [w]^2,  a = |w|
// Sets `rotations` for w = dt v; returns their number.
int32_t sap_manifold_derivatives(const sap_model* model, const double* v, double dt,
                                 sap_step_rotation* rotations);

#endif
