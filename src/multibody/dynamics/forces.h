// SPDX-License-Identifier: BSD-3-Clause
// Generalized forces of a model: inertia, gravity, joint springs and dampers, force elements, and
// forces that a user applies; momenta and energies.
#pragma once

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
// Rotation vector of a ball joint's coordinates, which need not be unit.
void sap_ball_rotation(double phi[3], const double* q);
// Adds the lower triangle of its spring's K, k (e 1 + (1 - e) phi^ phi^'), e = |phi|/2 cot |phi|/2.
void sap_ball_stiffness(double stiffness, const double phi[3], size_t ld, double* K);
double sap_dynamics_spring_energy(const sap_dynamics* dynamics, const double* q);

// Adds sign times all forces but inertia, gravity, dampers and the medium: springs and force elements
// to `elastic`, actuators, gravity compensation and applied forces to `other`. (nv)
void sap_dynamics_add_forces(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                             double* elastic, double* other);

// A force at a point of a body and a moment, in world axes, held until changed.
typedef struct sap_applied_wrench {
  bool used;
  double p_BP[3], force[3], moment[3];
} sap_applied_wrench;

// True if `body` is `top` or a descendant of it.
bool sap_model_is_below(const sap_model* model, int32_t body, int32_t top);
// [omega; velocity of the origin] of a body in the world, and their rates less gravity.
typedef struct sap_body_motion {
  double V[6], A[6];
} sap_body_motion;
// Sets the motions of all bodies with at->v and the accelerations a.                (bodies)
void sap_dynamics_motions(sap_dynamics* dynamics, const sap_dynamics_state* at, const double* a,
                          sap_body_motion* motions);
// Sets the velocity of the point p_W of a body and, unless NULL, its acceleration less gravity.
void sap_motion_of_point(const sap_kinematics* kin, const sap_body_motion* motions, int32_t body,
                         const double p_W[3], double velocity[3], double acceleration[3]);
// The force, and the moment about p_W, that the subtree of `body` needs from others for these
// motions: I a + v x I v - m g, less gravity compensation and applied wrenches. World axes.
void sap_dynamics_subtree_needs(sap_dynamics* dynamics, const sap_kinematics* kin,
                                const sap_body_motion* motions, int32_t body, const double p_W[3],
                                double force[3], double moment[3]);

// --- force elements ---
// Force elements between any bodies and trees: two-point springs, bushings, springs and dampers of
// tendons, muscles and other actuators whose force depends on length and rate. Each has up to 6
// rates J v, forces -s - D J v along them, and a stiffness K:
//   tau       = J' (-s - D J v)
//   -dtau/dq ~= J' K J
//   -dtau/dv  = J' D J

typedef enum sap_element_force_kind {
  SAP_FORCE_SPRING,
  SAP_FORCE_BUSHING,
  SAP_FORCE_TENDON,
  SAP_FORCE_ACTUATOR,
  SAP_FORCE_KINDS,
} sap_element_force_kind;

// Jl^-1(phi) of the exponential map, column-major.
void sap_inverse_left_jacobian(const double phi[3], double J[9]);
// k += sign times the elements' forces.
void sap_dynamics_add_elements(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                               double* k);
// Adds K_scale K + D_scale D of the elements to A, K and D positive semidefinite: lower triangles
// of the trees, and couplings in the order of dynamics->couplings.
void sap_dynamics_add_element_matrices(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                       double K_scale, double D_scale, const sap_tree_matrix* A);
// Returns the force of a tendon's spring and damper that lengthens it [N]; sets the length's rate.
double sap_dynamics_tendon_force(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                 int32_t tendon, double* rate);
double sap_dynamics_element_energy(sap_dynamics* dynamics, const sap_kinematics* kin);

// --- momenta and energies ---

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
