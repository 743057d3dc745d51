// SPDX-License-Identifier: BSD-3-Clause
// Dynamics of a compiled model. One workspace holds the kinematics of one configuration; all
// other functions use the configuration (and velocity) set last.
#ifndef SAP_MULTIBODY_DYNAMICS_DYNAMICS_H
#define SAP_MULTIBODY_DYNAMICS_DYNAMICS_H

#include <sapstep/diagnostics.h>
#include <sapstep/system.h>

#include "core/threads.h"
#include "multibody/dynamics/rows.h"
#include "multibody/model/model_data.h"

typedef struct sap_dynamics sap_dynamics;

sap_status sap_dynamics_create(const sap_model* model, sap_dynamics** out, sap_error* error);
void sap_dynamics_destroy(sap_dynamics* dynamics);
// Threads of the kinematics, mass matrix and inertia forces, NULL at first: one. Same bits.
void sap_dynamics_lend_threads(sap_dynamics* dynamics, sap_threads* threads);

// Forward kinematics at q: poses, dof axes, inertias in the world. Everything below needs it.
void sap_dynamics_set_positions(sap_dynamics* dynamics, const double* q);
// Puts away the kinematics that stand and brings back those put away before.
void sap_dynamics_exchange(sap_dynamics* dynamics);
// Do those that stand, or those put away, belong to q, bit for bit?
bool sap_dynamics_stands_at(const sap_dynamics* dynamics, const double* q);
bool sap_dynamics_has_kept(const sap_dynamics* dynamics, const double* q);

// First coordinate of each tree, and the end of the last one's.          (trees + 1)
const int32_t* sap_dynamics_tree_q(const sap_dynamics* dynamics);

// World poses by body id, valid until the next set_positions or exchange.
const double* sap_dynamics_p_WB(const sap_dynamics* dynamics);  // (3 bodies)
const double* sap_dynamics_R_WB(const sap_dynamics* dynamics);  // (9 bodies), column-major
const double* sap_dynamics_q_WB(const sap_dynamics* dynamics);  // (4 bodies)

// M by the composite-rigid-body algorithm, armature included: lower triangles per tree, ld n_t, all
// of whose entries are written.
void sap_dynamics_mass_matrix(sap_dynamics* dynamics, double* const* diagonal);
// The same into blocks of zeros.
void sap_dynamics_fill_mass_matrix(sap_dynamics* dynamics, double* const* diagonal);
// k1: springs, dampers, force elements, the medium. k2: gravity, Coriolis and gyroscopic,
// actuators. (nv) each. q is the configuration set last; input (nu): see
// multibody/dynamics/actuators.h.
void sap_dynamics_forces(sap_dynamics* dynamics, const double* q, const double* v,
                         const double* input, double* k1, double* k2);
// M a - k1 - k2 in one Newton-Euler pass.
void sap_dynamics_inverse(sap_dynamics* dynamics, const double* q, const double* v,
                          const double* input, const double* a, double* residual);
// Adds the exact K and D of the joint springs and dampers (diagonal for hinge and slide; a ball
// spring's K is the SPD projection of the exact one). Into tree blocks, lower triangles.
void sap_dynamics_stiffness_damping(sap_dynamics* dynamics, const double* q, const double* v,
                                    double* const* K, double* const* D);
// The same, each times its scale; K and D may be the same blocks.
void sap_dynamics_add_joint_matrices(const sap_dynamics* dynamics, const double* q, double K_scale,
                                     double D_scale, double* const* K, double* const* D);
// q = q0 (+) dt v: exponential map on rotations, quaternions unit to 1e-15.
void sap_dynamics_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q);
// A rotation made last: q = q0 (+) r, r not zero. Zeros: none.
typedef struct sap_turn {
  double q0[4], r[3], q[4];
} sap_turn;
// The same in the dynamics' threads, with what is known of each joint (joints): rotations asked
// again are not made again. known may be NULL.
void sap_dynamics_move(const sap_dynamics* dynamics, const double* q0, const double* v, double dt,
                       sap_turn* known, double* q);
// delta with q1 = q0 (+) delta.
void sap_dynamics_difference(const sap_model* model, const double* q0, const double* q1,
                             double* delta);

// Velocities that are held at zero, at first those of the joints that the model locks; rows and
// Jacobians have no entries there. (nv)
bool* sap_dynamics_locked(sap_dynamics* dynamics);
// Adds sign * R_WC' (velocity of the point p_W of `body`) to J (3 x tree size, column-major,
// ld 3) over the dofs of the body's tree. Does nothing for a body that does not move.
void sap_dynamics_add_point_jacobian(const sap_dynamics* dynamics, int32_t body,
                                     const double p_W[3], const double R_WC[9], double sign,
                                     double* J);
// The same of the angular velocity about n, t1, t2 of R_WC, the first `rows` of these (1 or 3):
// J (rows x tree size, ld rows).
void sap_dynamics_add_angular_jacobian(const sap_dynamics* dynamics, int32_t body,
                                       const double R_WC[9], double sign, int32_t rows, double* J);

// p_W of a point of a body.
void sap_dynamics_point(const sap_dynamics* dynamics, int32_t body, const double p_BP[3],
                        double p_W[3]);
// Generalized force of a force f at p_W and a moment m (NULL: none) on a body, added to tau (nv).
void sap_dynamics_add_wrench(const sap_dynamics* dynamics, int32_t body, const double p_W[3],
                             const double f[3], const double m[3], double* tau);
// The same on the dofs behind `stop` on the body's path alone.
void sap_dynamics_add_wrench_behind(const sap_dynamics* dynamics, int32_t body, int32_t stop,
                                    const double p_W[3], const double f[3], const double m[3],
                                    double* tau);
// Of all its dofs added to row r: the row then gives f . pdot_W + m . omega as well.
void sap_dynamics_add_wrench_row(const sap_dynamics* dynamics, int32_t body, const double p_W[3],
                                 const double f[3], const double m[3], sap_rows* rows, int32_t r);
// J (6 x nv, column-major, ld 6): J v = [omega; velocity of the point p_BP] of a body in the world.
void sap_dynamics_point_jacobian(sap_dynamics* dynamics, int32_t body, const double p_BP[3],
                                 double* J);
// Adds s to row r at the velocity of a hinge or slide joint.
void sap_dynamics_add_joint_row(const sap_dynamics* dynamics, int32_t joint, double s,
                                sap_rows* rows, int32_t r);

// Energies and momenta at (q set last, v).
void sap_dynamics_diagnose(sap_dynamics* dynamics, const double* q, const double* v,
                           sap_diagnostics* out);

#endif
