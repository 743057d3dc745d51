// SPDX-License-Identifier: BSD-3-Clause
// The table of functions that a system provides so that sapstep can step it.
//
//   M(q) dv/dt = k(t, q, v) + J' gamma,   k = k1 + k2
// k1: force elements whose stiffness K and damping D are SPD (springs, dampers, PD); they are
// treated implicitly, couplings between trees included. k2: all else (gravity, gyroscopic, ...).
// The built-in multibody engine, an adapter to another engine and a user's own code are all such
// systems. A callback returns 0, or anything else to say that it cannot: the step then ends with
// SAP_STATUS_CALLBACK and the state is untouched.
#ifndef SAPSTEP_SYSTEM_H
#define SAPSTEP_SYSTEM_H

#include <sapstep/base.h>
#include <sapstep/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

// A symmetric matrix in A's pattern that a callback fills. It comes in zeroed.
typedef struct sap_tree_matrix {
  double* const* diagonal;  // diagonal[t]: lower triangle, n_t x n_t, column-major, ld n_t (ntrees)
  double* const* coupling;  // coupling[c]: n_a x n_b, ld n_a, of couplings[c] = {a, b} (ncouplings)
} sap_tree_matrix;

// What is asked of a system's own memory, see sap_system.carried.
typedef enum sap_carry {
  SAP_CARRY_SIZE,    // *size becomes the number of bytes it takes; bytes is NULL
  SAP_CARRY_SAVE,    // write it to bytes, which has room for *size
  SAP_CARRY_CHECK,   // can what stands in bytes (*size of them) be loaded? Nothing else changes
  SAP_CARRY_LOAD,    // take it from bytes; after CHECK this must not fail
  SAP_CARRY_FORGET,  // as if no step had been made; bytes and size are NULL; must not fail
} sap_carry;

typedef struct sap_system {
  void* context;  // handed to every function

  int32_t nq;  // positions
  int32_t nv;  // velocities, the sum of tree_sizes
  int32_t ntrees;
  const int32_t* tree_sizes;      // velocities of each tree, >= 1                        (ntrees)
  int32_t ncouplings;             // pairs of trees that K or D may couple
  const int32_t (*couplings)[2];  // a != b, each pair once                             (ncouplings)
  // Velocities that are held at exactly zero, as if they were no velocities at all: forces on them
  // are ignored, blocks must not act on them, and what moved them before stops as in a blow that
  // conserves the others' momentum. NULL: none. The flags may change between steps.    (nv)
  const bool* locked;

  // --- required ---
  // M(q): the diagonal blocks' lower triangles, which come in zeroed.
  int (*mass_matrix)(void* context, const double* q, const sap_tree_matrix* M);
  // k1 and k2 at (t, q, v), generalized forces [N, N m]. Both (nv), come in zeroed.
  int (*forces)(void* context, double t, const double* q, const double* v, double* k1, double* k2);
  // q = q0 (+) dt v on the manifold (q may not alias q0). Must be exact for v = 0.
  int (*integrate_positions)(void* context, const double* q0, const double* v, double dt,
                             double* q);

  // --- optional: NULL means none ---
  // Called once when a step begins, before anything else, e.g. to choose controls.
  int (*begin_step)(void* context, double t, const double* q0, const double* v0);
  // K = -dk1/dq N and D = -dk1/dv at (t, q, v), SPD or positive semidefinite; castro (16)-(17).
  int (*stiffness_damping)(void* context, double t, const double* q, const double* v,
                           const sap_tree_matrix* K, const sap_tree_matrix* D);
  // Adds K_scale K + D_scale D to A, where that is cheaper than to fill both; beside
  // stiffness_damping only.
  int (*add_stiffness_damping)(void* context, double t, const double* q, const double* v,
                               double K_scale, double D_scale, const sap_tree_matrix* A);
  // M(q) a - k1 - k2 in one pass, where that is cheaper than M times a. (nv)
  int (*inverse_dynamics)(void* context, double t, const double* q, const double* v,
                          const double* a, double* residual);
  // M(q)(v - v0)/dt - k1 - k2, as a system may take it for a step from (q0, v0) to (q, v) with all
  // laws at its end (theta = theta_vq = 1): the change of momentum of each body, projected on the
  // velocities at q, instead of M(q)(v - v0) and Coriolis forces, from which it differs by O(dt^2).
  // (nv)  load, where not NULL: |k1| + |k2|, what round-off is measured by; Coriolis forces may be
  // left out. (nv)
  int (*momentum_balance)(void* context, double t, const double* q0, const double* v0,
                          const double* q, const double* v, double dt, double* residual,
                          double* load);
  // Adds the constraint blocks at the start of the step to a problem that already holds dt, A, v*
  // and the guess. regularization: the stepper's beta and sigma. error: an empty one, never NULL;
  // what it says where this fails stands in the step's message.
  int (*constraints)(void* context, double t, const double* q0, const double* v0,
                     const sap_regularization* regularization, sap_problem* problem,
                     sap_error* error);
  // The largest |g(q)| [m, rad] by which a bilateral constraint at q misses what its rows say, with
  // which it was added: g0 + dt vc + curvature. The problem and the velocities of its rows are
  // those of the step to q. `constraints` finds the velocities expected at the end of the step,
  // from which to take the curvature, as sap_problem_v_guess.
  int (*closure_error)(void* context, const sap_problem* problem, const double* vc, const double* q,
                       double* error);
  // Kinetic and potential energy [J].
  int (*energies)(void* context, double t, const double* q, const double* v, double* kinetic,
                  double* potential);
  // What the system carries from step to step beside q and v and lets steps depend on, contact
  // identities say, so that a stepper's memory can be saved whole. NULL: it carries nothing.
  int (*carried)(void* context, sap_carry what, void* bytes, size_t* size);
  // delta (nv) with q1 = q0 (+) delta: for convergence studies.
  int (*position_difference)(void* context, const double* q0, const double* q1, double* delta);
  // Threads >= 1 that the functions above may use inside, the caller's among them, with the same
  // bits. Called by sap_stepper_create with the threads of the solver's options.
  int (*use_threads)(void* context, int32_t count);

  // --- activations: further state a (na), as that of muscles, of which da/dt = f(a, controls) ---
  int32_t na;  // 0: none, and the function is not needed
  // Called once when a step begins, behind begin_step: from now on the forces are those with a0,
  // and `a` becomes what the step leaves behind. (na) each; a may not alias a0. Also called by
  // sap_stepper_free_motion, which throws `a` away.
  int (*activations)(void* context, double t, const double* a0, double dt, double* a);
} sap_system;

// Checks sizes, pairs and required functions.
SAP_API sap_status sap_system_check(const sap_system* system, sap_error* error);

// Plain data that the caller owns. Start with {0} and sap_state_resize, end with sap_state_clear.
typedef struct sap_state {
  double t;   // [s]
  double* q;  // (nq)
  double* v;  // (nv)
  int32_t nq, nv;
  double* act;  // activations, see sap_system.na (na)
  int32_t na;
} sap_state;

// Without activations: na = 0.
SAP_API sap_status sap_state_resize(sap_state* state, int32_t nq, int32_t nv, sap_error* error);
SAP_API sap_status sap_state_resize_with(sap_state* state, int32_t nq, int32_t nv, int32_t na,
                                         sap_error* error);
SAP_API void sap_state_clear(sap_state* state);
// Same sizes needed: ARGUMENT otherwise.
SAP_API sap_status sap_state_copy(const sap_state* from, sap_state* to, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
