// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of a step and its matrix A:
//   m(v) = M(q^theta)(v - v0) - dt k(t^theta, q^theta, v^theta) - p    [N s, N m s]  castro (14)
//   A(v) = M + dt^2 theta theta_vq K + dt theta D   at the same point                castro (15)
// p: impulses J' gamma of the constraints, given or expected.
#pragma once

#include <sapstep/system.h>

#include "integrators/tree_store.h"

// The numbers of a scheme on which memory of earlier steps depends.
typedef struct sap_theta {
  double dt, theta, theta_vq;
} sap_theta;

static inline sap_theta sap_theta_of(const sap_step_context* step) {
  return (sap_theta){step->dt, step->theta, step->theta_vq};
}

static inline bool sap_theta_is_same(const sap_theta* a, const sap_theta* b) {
  return a->dt == b->dt && a->theta == b->theta && a->theta_vq == b->theta_vq;
}

typedef struct sap_momentum_balance {
  const sap_system* system;
  // the step
  sap_step_context step;
  sap_theta scheme;
  const double* impulse;  // p, NULL: zero                               (nv)
  // the theta point
  const double *q, *v;         // q^theta, v^theta: q0, v0_free or the arrays below
  double *q_theta, *v_theta;   // (nq), (nv)
  double *v_vq, *k1, *k2, *a;  // (nv)
  double* v_matrix;            // v_vq of the theta point of A           (nv)
  sap_tree_store A;
  sap_tree_store K, D;  // only if the system has no add_stiffness_damping
  sap_tree_store M;     // only if the system has no inverse_dynamics
} sap_momentum_balance;

// Allocates in the pool; start from {0}.
sap_status sap_momentum_balance_create(const sap_system* system, sap_pool* pool,
                                       sap_momentum_balance* balance, sap_error* error);

// Starts a step at its theta point of v = v0_free, with p = 0.
void sap_momentum_balance_begin(sap_momentum_balance* balance, const sap_step_context* step);
// Sets locked velocities of v (nv) to zero.
void sap_momentum_balance_release(const sap_momentum_balance* balance, double* v);
// Moves the theta point to that of the end velocity v (nv).
sap_status sap_momentum_balance_set_velocity(sap_momentum_balance* balance, const double* v,
                                             sap_error* error);
// Computes m(v) (nv) at the theta point. v: the velocity set last. The row of a locked velocity is
// the velocity itself.
sap_status sap_momentum_balance_residual(sap_momentum_balance* balance, const double* v, double* m,
                                         sap_error* error);
// Moves to v and computes m, A and the load dt (|k1| + |k2|) + |p| there, with which the round-off
// of m scales. NOT_FINITE names the velocity or the tree.
sap_status sap_momentum_balance_start(sap_momentum_balance* balance, const double* v, double* m,
                                      double* load, sap_error* error);
// Computes A at the theta point. Rows and columns of locked velocities are those of the unit
// matrix. NOT_FINITE names the tree.
sap_status sap_momentum_balance_matrix(sap_momentum_balance* balance, sap_error* error);
// Returns true if A of this step is still accurate at the theta point, which has moved since.
bool sap_momentum_balance_matrix_is_near(const sap_momentum_balance* balance);
// fails: CALLBACK, naming the callback, unless code is 0.
sap_status sap_callback_check(const char* callback, int code, sap_error* error);
