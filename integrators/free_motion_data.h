// SPDX-License-Identifier: BSD-3-Clause
// What the two iterations of stage 1, free_motion.c and true_newton.c, share.
#ifndef SAP_INTEGRATORS_FREE_MOTION_DATA_H
#define SAP_INTEGRATORS_FREE_MOTION_DATA_H

#include "integrators/free_motion.h"

// |D m| relative to the group's scale that counts as round-off.
#define SAP_ROUNDOFF 1e-13
// Below this one whose contraction has broken down counts so too.
#define SAP_ROUNDOFF_NEAR 1e-12
// Below this a residual that no longer falls counts as round-off too.
#define SAP_ROUNDOFF_STALLED 1e-10
// Accelerations that count as round-off when they no longer fall [m/s^2, rad/s^2]: a hundred eps of
// gravity.
#define SAP_NOISE 1e-13
// A momentum is itself known to a few eps only: its share in the scale, SAP_ROUNDOFF * 0.01 =
// 1e-15.
#define SAP_MOMENTUM_SHARE 0.01
// A residual that falls by less per iteration is poorly contracted.
#define SAP_POOR_CONTRACTION 0.5

enum { SAP_DAMPED_TRIALS = 2 };  // of damped Newton in one step

// The velocities of a group, tree by tree: calls `body` with `i` as the velocity.
#define SAP_FOR_GROUP(fm, group, i, body)                                                    \
  for (int32_t k_ = 0; k_ < (fm)->factor.groups[group].ntrees; ++k_) {                       \
    const int32_t t_ = (fm)->factor.group_trees[(fm)->factor.groups[group].first_tree + k_]; \
    const int32_t end_ = (fm)->factor.tree_dof[t_ + 1];                                      \
    for (int32_t i = (fm)->factor.tree_dof[t_]; i < end_; ++i) {                             \
      body;                                                                                  \
    }                                                                                        \
  }

sap_status sap_linearization_create(const sap_system* system, int32_t ngroups,
                                    sap_linearization* linearization, sap_error* error);
void sap_linearization_clear(sap_linearization* linearization);
// What is done for one group, and touches nothing of another.
typedef void sap_group_task(sap_free_motion* free_motion, int32_t group, const void* context);
// Does it for all groups in the threads there are; `work`: instructions of each velocity, about.
void sap_free_motion_each_group(sap_free_motion* free_motion, int32_t work, sap_group_task* task,
                                const void* context);
// What group_status says of factors of A that groups wanted: of the first group that had none it is
// made again, for the message.
sap_status sap_free_motion_factor_status(sap_free_motion* free_motion, sap_error* error);
// Makes v* of the v_star at which m(v) = p.
sap_status sap_free_motion_linearize(sap_free_motion* free_motion, sap_error* error);
// Are constraints expected to give a group impulses?
bool sap_free_motion_is_pushed(const sap_free_motion* free_motion, int32_t group);
// Norm of D x over a group's velocities.
double sap_free_motion_norm(const sap_free_motion* free_motion, int32_t group, const double* x);
// Moves to v_star and evaluates m and every group's residual there.
sap_status sap_free_motion_evaluate(sap_free_motion* free_motion, sap_error* error);
// Factors of A for the groups that are not done.
sap_status sap_free_motion_factor(sap_free_motion* free_motion, sap_error* error);
// Up to this many iterations of the groups in the quasi-Newton phase.
sap_status sap_free_motion_iterate(sap_free_motion* free_motion, int32_t max_iterations,
                                   sap_error* error);
// Groups that came to the iteration limit go on to the next phase. Does any ask for damped Newton?
bool sap_free_motion_wants_damping(sap_free_motion* free_motion);
// Newton with line search on the groups that ask for it, from v_best; afterwards they ask for
// another iteration.
sap_status sap_free_motion_damped_newton(sap_free_motion* free_motion, int32_t max_iterations,
                                         sap_error* error);
// Newton with the true Jacobian on the groups that ask for it, from v_best.
sap_status sap_free_motion_true_newton(sap_free_motion* free_motion, int32_t max_iterations,
                                       sap_error* error);

#endif
