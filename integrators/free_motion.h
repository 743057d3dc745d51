// SPDX-License-Identifier: BSD-3-Clause
// Stage 1 of a step: the free motion m(v*) = 0, castro (14), or, of trees that constraints hold, a
// linear balance A (v - v*) = p in place of m(v) = p (linearization.h). Trees coupled by stiffness
// or damping form a group; groups iterate independently and finish in their own phases.
#pragma once

#include "integrators/linearization.h"
#include "integrators/momentum_balance.h"
#include "integrators/momentum_factor.h"
#include "integrators/predict.h"

enum { SAP_BROYDEN_DEPTH = 8 };  // steps remembered before the history starts again

struct sap_group_progress;

struct sap_free_motion {
  const sap_system* system;
  sap_pool* pool;
  sap_momentum_balance balance;
  sap_momentum_factor factor;
  sap_prediction prediction;
  sap_linearization linearization;
  struct sap_group_progress* progress;  // (ngroups)
  double* v_star;                       // the iterate, then the result   (nv)
  double *m, *v_best, *load, *dv;       // (nv)
  double *weight, *inverse;             // diag(A) of the first iterate, 1/diag(A)   (nv)
  double* steps[SAP_BROYDEN_DEPTH];     // Broyden steps                  (nv) each
  double* direction;                    // of damped and exact Newton     (nv)
  double* alpha;                        // its step length                (ngroups)
  double tolerance;                     // accepted |D m|/scale without impulses
  // for exact Jacobians, allocated when first needed
  double *jacobian, *m_plus;
  int32_t* pivots;
  // for parts of a step, allocated when first needed
  double *part_positions, *part_velocities;  // (2 nq), (nv)
  double* part_speeds;                       // limits of |D^-1 v|       (ngroups)
  // results of the solve
  int32_t iterations;
  int32_t substeps;        // parts in which the motion was computed, 0: as one step
  int32_t linearized;      // of these, made by one linear step
  double residual;         // the largest |D m|/scale of all groups
  bool moved;              // the theta point is no longer that of v_star
  bool matrix_is_current;  // balance.A is that of v_star
};

// Allocates in the pool, also later; start from {0}. To be cleared before the pool, also after a
// failure.
sap_status sap_free_motion_create(const sap_system* system, sap_pool* pool,
                                  sap_free_motion* free_motion, sap_error* error);
void sap_free_motion_clear(sap_free_motion* free_motion);

// Where m is linearized.
typedef enum sap_linearize_at {
  SAP_LINEARIZE_FREE,   // the free motion
  SAP_LINEARIZE_START,  // v0, of groups that constraints held in the last step; others: free motion
  SAP_LINEARIZE_CHOSEN,  // the v with m(v) = p, p of sap_linearization_choose
} sap_linearize_at;

// Computes v* in v_star and A in balance.A; the free motion of all groups in parts (substeps.c)
// where the iteration does not converge. STEP_FAILED: it does not converge with impulses p, or with
// groups linearized at v0; NOT_FINITE: forces or matrices; NOT_SPD: A; CALLBACK.
sap_status sap_free_motion_solve(sap_free_motion* free_motion, const sap_step_context* step,
                                 int32_t max_iterations, sap_linearize_at at, sap_error* error);

// --- shared by the iterations of stage 1 ---

// Runs `body` for each velocity `i` of a group, tree by tree.
#define SAP_FOR_GROUP(fm, group, i, body)                                                    \
  for (int32_t k_ = 0; k_ < (fm)->factor.groups[group].ntrees; ++k_) {                       \
    const int32_t t_ = (fm)->factor.group_trees[(fm)->factor.groups[group].first_tree + k_]; \
    const int32_t end_ = (fm)->balance.A.tree_dof[t_ + 1];                                   \
    for (int32_t i = (fm)->balance.A.tree_dof[t_]; i < end_; ++i) {                          \
      body;                                                                                  \
    }                                                                                        \
  }

// Returns true if m of the group contains chosen impulses p.
bool sap_free_motion_has_impulse(const sap_free_motion* free_motion, int32_t group);
// Returns |D x| over the velocities of a group, D = diag(A)^-1/2.
double sap_free_motion_norm(const sap_free_motion* free_motion, int32_t group, const double* x);
// Solves m = 0 of a part of a step without exact Jacobians. STEP_FAILED: not converged.
sap_status sap_free_motion_solve_part(sap_free_motion* free_motion, const sap_step_context* part,
                                      int32_t max_iterations, sap_error* error);
// Computes m, A and the residuals at v (nv), NULL: zero, of a step or a part of one.
sap_status sap_free_motion_start_at(sap_free_motion* free_motion, const sap_step_context* part,
                                    const double* v, sap_error* error);
// Makes one step v_star -= A^-1 m from there: exact with theta = 0, where m is linear in v.
sap_status sap_free_motion_solve_linear(sap_free_motion* free_motion, sap_error* error);
// Computes v_star at the end of a step in parts. Fails as callbacks and matrices do.
sap_status sap_free_motion_in_parts(sap_free_motion* free_motion, const sap_step_context* step,
                                    int32_t max_iterations, sap_error* error);
// Returns the positions at the end of the parts (nq); substeps > 0.
double* sap_free_motion_end_of_parts(const sap_free_motion* free_motion);
// Moves the theta point to v_star and computes m and the residual of every group.
sap_status sap_free_motion_evaluate(sap_free_motion* free_motion, sap_error* error);
