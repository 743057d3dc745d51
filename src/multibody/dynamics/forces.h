// SPDX-License-Identifier: BSD-3-Clause
// Generalized forces of a model: inertia, gravity, joint springs and dampers, and forces that a
// user applies.
#ifndef SAP_MULTIBODY_DYNAMICS_FORCES_H
#define SAP_MULTIBODY_DYNAMICS_FORCES_H

#include "multibody/dynamics/dynamics.h"

// k1: springs, dampers, force elements, the medium. k2: gravity, Coriolis and gyroscopic forces,
// actuators. (nv) each.
void sap_dynamics_forces(sap_dynamics* dynamics, const sap_dynamics_state* at, double* k1,
                         double* k2);
// M a - k1 - k2 in one Newton-Euler pass.
void sap_dynamics_inverse(sap_dynamics* dynamics, const sap_dynamics_state* at, const double* a,
                          double* residual);
// Adds K_scale K and D_scale D of the joint springs and dampers to the lower triangles of tree
// blocks; K and D may be the same blocks. Diagonal for hinge and slide; a ball spring's K is the
// positive semidefinite projection of the exact one.
void sap_dynamics_add_joint_matrices(const sap_dynamics* dynamics, const double* q, double K_scale,
                                     double D_scale, double* const* K, double* const* D);
double sap_dynamics_spring_energy(const sap_dynamics* dynamics, const double* q);

// Adds sign times all forces but inertia, gravity and dampers: springs, force elements and the
// medium to `elastic`, actuators, gravity compensation and applied forces to `other`. (nv)
void sap_dynamics_add_forces(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                             double* elastic, double* other);

// A force at a point of a body and a moment, in world axes, held until changed.
typedef struct sap_applied_wrench {
  bool used;
  double p_BP[3], force[3], moment[3];
} sap_applied_wrench;
// tau NULL: zero. (nv)
void sap_dynamics_set_applied_forces(sap_dynamics* dynamics, const double* tau);
void sap_dynamics_set_applied_wrench(sap_dynamics* dynamics, int32_t body,
                                     const sap_applied_wrench* wrench);

// True if `body` is `top` or a descendant of it.
bool sap_model_is_below(const sap_model* model, int32_t body, int32_t top);
// The force, and the moment about p_W, that the subtree of `body` (moved by joints, not by a free
// one) needs from others to move with at->v and a against gravity: I a + v x I v - m g, less
// gravity compensation and applied wrenches. World axes.
void sap_dynamics_subtree_needs(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                const double* a, int32_t body, const double p_W[3], double force[3],
                                double moment[3]);

#endif
