// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of one step, and its matrix A:
//   m(v) = M(q^theta)(v - v0) - dt k(t^theta, q^theta, v^theta) - p   [N s, N m s]   castro (14)
// with p the impulses J' gamma that the constraints give or are expected to give
//   A(v) = M + dt^2 theta theta_vq K + dt theta D   at the same point                castro (15)
#ifndef SAP_INTEGRATORS_BALANCE_H
#define SAP_INTEGRATORS_BALANCE_H

#include <sapstep/system.h>

#include "integrators/tree_store.h"

typedef struct sap_theta {
  double dt, theta, theta_vq;
} sap_theta;

static inline sap_theta sap_theta_of(const sap_step_context* step) {
  return (sap_theta){step->dt, step->theta, step->theta_vq};
}

static inline bool sap_theta_is_same(const sap_theta* a, const sap_theta* b) {
  return a->dt == b->dt && a->theta == b->theta && a->theta_vq == b->theta_vq;
}

typedef struct sap_balance {
  const sap_system* system;
  sap_threads* threads;  // of the caller's, NULL: one
  // the step
  sap_step_context step;
  sap_theta scheme;
  const double* impulse;  // p, NULL: zero                               (nv)
  // the theta point
  const double *q, *v;         // q^theta, v^theta: q0, v0 or the arrays below
  double *q_theta, *v_theta;   // (nq), (nv)
  double *v_vq, *k1, *k2, *a;  // (nv)
  double* v_matrix;            // v_vq of the theta point that A is of  (nv)
  sap_tree_store A, K, D;      // K and D only where the system fills them
  sap_tree_store M;            // only where the system has no inverse dynamics
} sap_balance;

// Start from {0}.
sap_status sap_balance_create(const sap_system* system, sap_balance* balance, sap_error* error);
void sap_balance_clear(sap_balance* balance);

void sap_balance_begin(sap_balance* balance, const sap_step_context* step);
// v (nv) without what is locked.
void sap_balance_release(const sap_balance* balance, double* v);
// A locked velocity's row of m is the velocity itself,
void sap_balance_lock_residual(const sap_balance* balance, const double* v, double* m);
// and its row and column of A are those of the unit matrix.
void sap_balance_lock_matrix(sap_balance* balance, const int32_t* tree_dof);
// Moves the theta point to that of the end velocity v (nv).
sap_status sap_balance_set_velocity(sap_balance* balance, const double* v, sap_error* error);
// m(v) at the velocity set last.
sap_status sap_balance_residual(sap_balance* balance, const int32_t* tree_dof, const double* v,
                                double* m, sap_error* error);
// Moves to v, and m and A there; the load dt (|k1| + |k2|) + |p| that the round-off of m scales
// with.
sap_status sap_balance_start(sap_balance* balance, const int32_t* tree_dof, const double* v,
                             double* m, double* load, sap_error* error);
// A at the velocity set last. NOT_FINITE names the tree.
sap_status sap_balance_matrix(sap_balance* balance, const int32_t* tree_dof, sap_error* error);
// Is A, last evaluated in this step, as good as that of the velocity set last?
bool sap_balance_matrix_is_near(const sap_balance* balance);

#endif
