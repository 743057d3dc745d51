// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of inertial forces to positions and velocities, in one pass outwards and one inwards.
// Positions vary in the tangent space: q (+) dx. Matrices are dense, nv x nv, column-major; entries
// of different trees are zero.
#pragma once

#include "multibody/dynamics/dynamics.h"

// x -> [K x_w; x_w x p]
typedef struct sap_turn_map {
  double K[9], p[3];
} sap_turn_map;

// A link, and then the sum over it and those behind.
typedef struct sap_link_sums {
  sap_inertia I;
  double T[6];         // wrench
  double F[6];         // part of the wrench that turns with the link: F or H
  double P[3];         // of momenta: W's force
  double N[9];         // of momenta
  sap_turn_map B;      // of inverse dynamics B, of momenta that of Pd and v0 in dW
  sap_turn_map start;  // of momenta: of S in dW
} sap_link_sums;

typedef struct sap_link_state {
  double V[6], A[6];
  double c0[3], L0[3], P0[3];  // of momenta
  sap_inertia I0;              // at the start
  sap_link_sums sums;
} sap_link_state;

// Workspace.
typedef struct sap_derivatives {
  sap_dynamics* dynamics;
  sap_link_state* links;                            // (links)
  double (*S)[6], (*S0)[6];                         // (nv)
  double (*Pd)[6], (*Pdd)[6], (*PS)[6], (*Pd0)[6];  // (nv)
} sap_derivatives;

// Allocates the workspace in the pool. The dynamics must outlive it.
sap_status sap_derivatives_create(sap_dynamics* dynamics, sap_pool* pool, sap_derivatives** out,
                                  sap_error* error);

// tau = inverse dynamics at (q, v, a) with armature and gravity, without other forces:
// dtau/dq, dtau/dv and dtau/da = M. The arrays must be zero.
typedef struct sap_inverse_derivatives {
  double *dq, *dv, *da;
} sap_inverse_derivatives;

// A step from (q0, v0) to (q, v) as the momentum balance takes it (momentum.c): the change of
// momentum per time less the weight. The arrays must be zero.
typedef struct sap_momentum_derivatives {
  const sap_kinematics *kin0, *kin;
  const double *v0, *v;
  double dt;
  double (*momenta0)[6];        // [L about its centre; P] of each link at the start, or NULL
  const double* lambda;         // dq0, dv0 of lambda' tau (nv); NULL: matrices
  double *dq, *dv, *dq0, *dv0;  // NULL, the first two or the last two: not wanted
} sap_momentum_derivatives;

// A symmetric matrix X C X', see mass_gradients.inc.
enum { SAP_MASS_FIELDS = 4 };
typedef struct sap_mass_form {
  const double* x[SAP_MASS_FIELDS];  // (nv), read up to the end of a four; NULL: zero
  double C[SAP_MASS_FIELDS][SAP_MASS_FIELDS];
} sap_mass_form;
#define SAP_MASS_ROW(n) ((size_t)(((n) + 3) / 4 * 4))
typedef struct sap_mass_dof {
  double S[8], U[8], G[8];
  double E[8], Y[6][4];  // of a group, in its first dof
} sap_mass_dof;
// Workspace of the following.
typedef struct sap_mass_work {
  sap_dynamics* dynamics;
  sap_mass_dof* dofs;    // (nv)
  sap_inertia* inertia;  // (links)
  int32_t* tree_link;    // first link of each tree, their number                       (trees + 1)
  double** sums;         // Q of each tree: rows of SAP_MASS_ROW, up to the diagonal    (trees)
  bool* used;            // Q is not zero                                               (trees)
} sap_mass_work;
// Velocities along a path of dofs, each with a wrench.
enum { SAP_PATH_FIELDS = 7 };
typedef struct sap_path_fields {
  int32_t count;
  const double* y[SAP_PATH_FIELDS];                          // (nv)
  double wrench[SAP_PATH_FIELDS][8], V[SAP_PATH_FIELDS][8];  // ending with zeros
} sap_path_fields;
sap_status sap_mass_work_create(sap_dynamics* dynamics, sap_pool* pool, sap_mass_work** out,
                                sap_error* error);

// Sets S (6) of a dof about its tree's O, of lone links too.
void sap_derivatives_direction(const sap_kinematics* kin, int32_t dof, double S[6]);
// Sets the inertia of a link about its tree's O, of lone links about their origin.
void sap_derivatives_inertia(const sap_kinematics* kin, int32_t link, sap_inertia* out);
