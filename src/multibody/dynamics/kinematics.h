// SPDX-License-Identifier: BSD-3-Clause
// Kinematics of a model at one configuration q: poses, joint directions and link inertias, and the
// Jacobians that follow from them. Functions that evaluate at a configuration take a
// `const sap_kinematics*`; its owner decides for how long the configuration is kept.
//
// All spatial vectors of a tree are in world axes about its point O, the origin of the tree's first
// body in this configuration: trees far from the world's origin lose no digits.
#pragma once

#include <sapstep/system.h>

#include "core/memory.h"
#include "multibody/dynamics/spatial.h"
#include "multibody/model/model_data.h"

// --- rows of a Jacobian ---
// Up to 6 rows of a Jacobian, zero except on the trees they touch.

enum { SAP_ROWS_MAX = 6 };

typedef struct sap_rows {
  const sap_model* model;
  int32_t nrows;
  int32_t ntrees;  // number of trees touched
  int32_t* trees;  // their ids                                        (trees)
  bool* touched;   //                                                  (trees)
  double* values;  // row r is at values + r nv                    (SAP_ROWS_MAX nv)
  // Set by sap_rows_pack.
  int32_t nparts;
  int32_t* part_trees;   //                                                  (trees)
  const double** parts;  // J on part_trees[i], column-major                 (trees)
  double* packed;        // their memory                                     (SAP_ROWS_MAX nv)
  int32_t column;        // of a row made by sap_rows_unit, in its tree; else -1
} sap_rows;

// Allocates the arrays in the pool.
sap_status sap_rows_create(const sap_model* model, sap_pool* pool, sap_rows* rows,
                           sap_error* error);

// Starts `nrows` empty rows.
void sap_rows_begin(sap_rows* rows, int32_t nrows);
// Must be called before entries on a tree's velocities are written.
void sap_rows_touch(sap_rows* rows, int32_t tree);
static inline double* sap_rows_at(const sap_rows* rows, int32_t r) {
  return rows->values + (size_t)r * (size_t)rows->model->sizes.nv;
}
// Row r times v (nv).
double sap_rows_times(const sap_rows* rows, int32_t r, const double* v);
// out += s times row r, on the touched trees (nv).
void sap_rows_add_scaled(const sap_rows* rows, int32_t r, double s, double* out);
// Makes one row, s on a velocity, and packs it.
void sap_rows_unit(sap_rows* rows, int32_t dof, double s);
// Packs rows first ... first + count - 1 into parts; trees on which all entries are zero have none.
void sap_rows_pack(sap_rows* rows, int32_t first, int32_t count);

// --- kinematics ---

typedef struct sap_dynamics sap_dynamics;

typedef struct sap_kinematics {
  const sap_dynamics* dynamics;
  double* q;             // the configuration                                       (nq)
  double* p_WB;          // world poses by body id                                  (3 bodies)
  double* R_WB;          // column-major                                            (9 bodies)
  double* q_WB;          //                                                         (4 bodies)
  double (*S)[6];        // [omega; v] of each dof about O; unused in lone links    (nv)
  sap_inertia* inertia;  // of each link about O; unused in lone links              (nlinks)
  sap_pool pool;         // holds these arrays
  bool* tree_moved;      // scratch: trees whose coordinates changed                (trees)
} sap_kinematics;

// Allocates the arrays and sets the default configuration. The dynamics must outlive it. On failure
// (MEMORY) *kin is {0}.
sap_status sap_kinematics_create(sap_kinematics* kin, const sap_dynamics* dynamics,
                                 sap_error* error);
// Releases the arrays; {0} is allowed.
SAP_DEFINE_CLEAR(sap_kinematics, sap_kinematics)
// Forward kinematics at q. Trees whose coordinates are bitwise the same as before are skipped.
void sap_kinematics_set(sap_kinematics* kin, const double* q);
// True if `kin` belongs to q, compared bit by bit.
bool sap_kinematics_is_at(const sap_kinematics* kin, const double* q);

// p_W of the point p_BP of a body.
void sap_kinematics_point(const sap_kinematics* kin, int32_t body, const double p_BP[3],
                          double p_W[3]);
// Adds sign R_WC' (velocity of the point p_W of `body`) to J (3 x tree size, column-major, ld 3)
// over the dofs of the body's tree. Adds nothing for a static body or a locked dof.
void sap_kinematics_add_point_jacobian(const sap_kinematics* kin, int32_t body, const double p_W[3],
                                       const double R_WC[9], double sign, double* J);
// Adds the first `rows` (1 or 3) of sign [n; t1; t2] . omega of the body to J (rows x tree size).
void sap_kinematics_add_angular_jacobian(const sap_kinematics* kin, int32_t body,
                                         const double R_WC[9], double sign, int32_t rows,
                                         double* J);
// Turns the moments of the rows that the function above has added back by the rotation `turn` of a
// free body until it is hit: T' (r x f) for r x f, r from its centre of mass. A blow then changes no rotation about the axis
// of a thin rod, and J A^-1 J' is that of the body as it has turned. A ball keeps T = 1: its
// momentum in the world after the step is that of the blow.
void sap_kinematics_turn_point_jacobian(const sap_kinematics* kin, int32_t body,
                                        const double p_W[3], const double turn[3],
                                        const double R_WC[9], double sign, double* J);

// Computes [omega; velocity of the origin] of all bodies in the world at v (nv).     (bodies)
void sap_kinematics_velocities(const sap_kinematics* kin, const double* v, double (*V_WB)[6]);

// Adds the generalized force of a force f at p_W and a moment m (NULL: none) on a body to tau (nv):
//   tau_i += S_i . [m + (p - O) x f; f]   for the dofs i on the path from the body to its root that
//                                         are after `stop`; -1: all
void sap_kinematics_add_wrench(const sap_kinematics* kin, int32_t body, int32_t stop,
                               const double p_W[3], const double f[3], const double m[3],
                               double* tau);
// Adds the same to row r, which then gives f . pdot_W + m . omega in addition.
void sap_kinematics_add_wrench_row(const sap_kinematics* kin, int32_t body, const double p_W[3],
                                   const double f[3], const double m[3], sap_rows* rows, int32_t r);
// Adds u . (velocity of the point p[1] of bodies[1] - velocity of the point p[0] of bodies[0]) to
// row r; with p NULL u . (difference of the angular velocities).
void sap_kinematics_add_relative_row(const sap_kinematics* kin, const int32_t bodies[2],
                                     double p[2][3], const double u[3], sap_rows* rows, int32_t r);
// Adds s to row r at the velocity of a hinge or slide joint.
void sap_kinematics_add_joint_row(const sap_kinematics* kin, int32_t joint, double s,
                                  sap_rows* rows, int32_t r);

// --- steps of the configuration ---
// Steps on the manifold of configurations: q (+) dt v, and back.

// The last rotation of a joint: q = q0 (+) r, r != 0; {0}: none yet.
typedef struct sap_rotation_memory {
  double q0[4], r[3], q[4];
} sap_rotation_memory;

// q = q0 (+) dt v: exponential map on rotations, quaternions unit to 1e-15.
void sap_manifold_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q);
// Same; a rotation that equals the joint's last one is copied from memory (joints), unless NULL.
void sap_manifold_integrate_again(const sap_model* model, const double* q0, const double* v,
                                  double dt, sap_rotation_memory* memory, double* q);
// delta with q1 = q0 (+) delta.
void sap_manifold_difference(const sap_model* model, const double* q0, const double* q1,
                             double* delta);

// Rotations of a step q = q0 (+) w: dq = T dq0 + J dw. T and J are the unit matrix but for the
// three velocities from `first` on:
//   T = Exp(-w),  J = 1 - (1 - cos a)/a^2 [w] + (a - sin a)/a^3 [w]^2,  a = |w|
// Sets `rotations` for w = dt v; returns their number.
int32_t sap_manifold_derivatives(const sap_model* model, const double* v, double dt,
                                 sap_step_rotation* rotations);
