// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files that differentiate a step: the work of a stepper, and the derivatives of the
// momentum balance m at some velocities.
#pragma once

#include <sapstep/linearize.h>

#include "integrators/stepper.h"
#include "linalg/dense.h"

// The derivatives of m at some velocities; r_q, r_v, r_a: those of r.
typedef struct sap_balance_slopes {
  double *r_q, *r_v, *r_a;       // (nv x nv)
  sap_near_spd v;                // m_v; of `at` then that of F
  int32_t count;                 // of rotations
  sap_step_rotation* rotations;  // of the way to q^theta                    (nv/3)
} sap_balance_slopes;

struct sap_differentiation {
  bool current;  // of the last step
  sap_linearize_report report;
  bool corrected, bound;         // positions at the end, and by a bound, end_positions.h
  int32_t count, end_count;      // of rotations
  sap_step_rotation* rotations;  // of the way of blocks to a theta point  (nv/3)
  sap_step_rotation* end;        // of the step                            (nv/3)
  double *v, *v_vq, *v_theta, *a, *residual, *impulse, *x, *near_v;  // (nv)
  bool stale;                      // factors are those at v before its last correction
  bool constant;                   // dp/dv is
  bool smooth;                     // the last correction of v was small
  double* smooth_v;                // where m and its slopes were found last                (nv)
  double* q;                       // (nq)
  sap_matrix_parts parts;          // trees that blocks or couplings link
  int32_t *roots, *part;           // of a tree (ntrees)
  int32_t *first, *end_row;        // rows of m on which a velocity acts: of its tree, or all (nv)
  double* r_q0;                    // (nv x nv)
  double *p_star, *p_A, *p_theta;  // of p (nv x nv), or lambda' p (nv)
  bool reads_near;                 // p depends on v_near
  bool has_near;                   // `near` is that of the last step
  double* near_p;                  // dp/dv_near, or lambda' of it                    (nv x nv)
  double* near_rest;               // m_v - A of trees with v* from v0                (nv x nv)
  sap_balance_slopes at, near;     // m at v with factors of F's, m at v_near
  double *turned, *turned_v;       // (nv x (nv + 3)), (nv x nv)
  double *solution, *row;          // (nv x (2 nv + nu)); row of m alone
  double *lambda, *end_unit, *end_x;  // (nv), of corrected positions (2 nv + nu)
};

static inline size_t sap_balance_inputs(const sap_stepper* stepper) {
  return stepper->system.nu > 0 ? (size_t)stepper->system.nu : 0;
}
sap_status sap_balance_slopes_create(size_t nv, sap_pool* pool, sap_balance_slopes* out,
                                     sap_error* error);
// Sets the rows of m on which the velocities of trees act.
void sap_balance_find_rows(const sap_stepper* stepper);
// Sets the parts of the last step.
sap_status sap_balance_find_parts(sap_stepper* stepper, sap_error* error);
sap_step_context sap_balance_context(const sap_stepper* stepper);
// Moves to v: d->q, d->v_theta, d->v_vq, d->a.
sap_status sap_balance_move(sap_stepper* stepper, const double* v, sap_error* error);
// Makes the entries of a matrix that may not be zero zero.
void sap_balance_clear(const sap_differentiation* d, size_t nv, size_t rows, double* X);
// out = z' X of such a matrix.
void sap_balance_multiply(const sap_differentiation* d, size_t nv, const double* z, const double* X,
                          double* out);
// Finds m at v in d->residual, with r_q, r_v, r_a.
sap_status sap_balance_find(sap_stepper* stepper, const double* v, sap_balance_slopes* m,
                            sap_error* error);
// Adds m_v to the matrix that is to be factorized.
void sap_balance_add_slopes(const sap_stepper* stepper, sap_balance_slopes* m);
// Finds x = [m_q0 m_v0 m_u] (nv x (2 nv + nu)) at v, where sap_balance_find has been; of z' m
// (2 nv + nu) if z is given.
sap_status sap_balance_find_start(sap_stepper* stepper, const double* v,
                                  const sap_balance_slopes* m, const double* z, double* x,
                                  sap_error* error);
// True if v* of the tree is from v0.
bool sap_balance_is_explicit(const sap_stepper* stepper, int32_t tree);
// Finds the derivatives of the equation for v* in d->near: of m at v*, or of its linearization at v0.
sap_status sap_balance_find_near(sap_stepper* stepper, sap_error* error);
