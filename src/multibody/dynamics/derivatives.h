// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of inertial forces to positions and velocities, in one pass outwards and one inwards.
// Positions vary in the tangent space: q (+) dx. Matrices are dense, nv x nv, column-major; entries
// of different trees are zero.
#pragma once

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
  const double* lambda;         // dq0, dv0 of lambda' tau (nv); NULL: matrices
  double *dq, *dv, *dq0, *dv0;  // NULL, the first two or the last two: not wanted
} sap_momentum_derivatives;
// No link may be locked to its parent.
void sap_derivatives_momentum(sap_derivatives* work, const sap_momentum_derivatives* step);

enum { SAP_MASS_FIELDS = 4, SAP_MASS_PAIRS = 9 };
typedef struct sap_mass_link {
  double V[6][SAP_MASS_FIELDS], H[6][SAP_MASS_FIELDS];  // H: momenta, then of all links behind
  sap_inertia I;
} sap_mass_link;
// Workspace of the following.
typedef struct sap_mass_work {
  sap_dynamics* dynamics;
  sap_mass_link* links;                    // (links)
  int32_t* tree_link;                      // first link of each tree, their number    (trees + 1)
  int32_t* group;                          // first dof of the dofs that turn with it         (nv)
  double (*S)[6];                          // (nv)
  double (*field_Pd)[6][SAP_MASS_FIELDS];  // (nv)
} sap_mass_work;
sap_status sap_mass_work_create(sap_dynamics* dynamics, sap_pool* pool, sap_mass_work** out,
                                sap_error* error);
// Products of four vectors with M: in the order 00, 01, 02, 11, 12, 22, 03, 13, 23.
extern const int sap_mass_pairs[SAP_MASS_PAIRS][2];
// Sets the gradients to q of x_r' M(q) x_s for the dofs of a tree: out[dof][pair]. x NULL: 0.
void sap_mass_products(sap_mass_work* work, const sap_kinematics* kin, int32_t tree,
                       const double* const x[SAP_MASS_FIELDS], double (*out)[SAP_MASS_PAIRS]);
// Adds the gradients to q of the sum of A_ij M_ij over a tree, of symmetric A (nv x nv), to out (nv).
void sap_mass_gradient(sap_mass_work* work, const sap_kinematics* kin, int32_t tree,
                       const double* A, double* out);

// Returns the first dof of those that turn together with a dof.
int32_t sap_derivatives_group(const sap_model* model, int32_t dof);
// Sets S (6) of a dof about its tree's O, of lone links too.
void sap_derivatives_direction(const sap_kinematics* kin, int32_t dof, double S[6]);
// Sets the inertia of a link about its tree's O, of lone links about their origin.
void sap_derivatives_inertia(const sap_kinematics* kin, int32_t link, sap_inertia* out);
