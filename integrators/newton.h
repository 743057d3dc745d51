// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations of stage 1. A group starts with the quasi-Newton iteration
// (newton_quasi.c), goes on to damped Newton with a new A at every iterate (newton_damped.c) if
// that does not contract and forces are stiff, and ends with exact Jacobians (newton_exact.c).
#pragma once

#include "integrators/free_motion.h"

// |D m| relative to the scale of the group that counts as round-off.
#define SAP_ROUNDOFF 1e-13
// Counts as round-off once the contraction breaks down.
#define SAP_ROUNDOFF_NEAR 1e-12
// Counts as round-off once the residual no longer falls.
#define SAP_ROUNDOFF_STALLED 1e-10
// Accelerations that count as round-off once they no longer fall [m/s^2, rad/s^2]: a hundred eps of
// gravity.
#define SAP_NOISE 1e-13
// Share of the momenta in the scale, since a momentum is known to a few eps only: SAP_ROUNDOFF *
// 0.01 = 1e-15.
#define SAP_MOMENTUM_SHARE 0.01
// A residual that falls by less per iteration is poorly contracted.
#define SAP_POOR_CONTRACTION 0.5

enum { SAP_DAMPED_TRIALS = 2 };  // visits of a group to damped Newton in one step

typedef enum sap_group_phase {
  SAP_GROUP_QUASI,   // A with Broyden's updates
  SAP_GROUP_DAMPED,  // A anew at every iterate, with a line search
  SAP_GROUP_EXACT,   // A does not contract: differences of m
  SAP_GROUP_DONE,
} sap_group_phase;

// Progress of a group of trees. Norms: |D m|, D = diag(A)^-1/2, [sqrt(J)].
typedef struct sap_group_progress {
  sap_group_phase phase;
  double residual, previous, best;  // now, one iterate before, smallest so far
  double contraction;               // of the residual by the step before the last, 0: unknown
  double load;                      // of all forces, also those that cancel
  double scale;                     // reference of round-off
  double noise;                     // a residual that no longer falls may always be this large
  int32_t depth;                    // steps in the Broyden history
  int32_t poor;                     // iterates with poor contraction in a row
  double tolerance;  // accepted residual/scale: that of round-off or of a linearization
  double floor;      // residual found to be round-off of ill-conditioned forces, or 0
  int32_t damped;    // visits to damped Newton
  double first;      // residual where the iteration began
  double entered;    // residual where damped or exact Newton began
} sap_group_progress;

// Loops over the groups `g` in a phase.
#define SAP_EACH_GROUP(fm, wanted, g)                \
  for (int32_t g = 0; g < (fm)->factor.ngroups; ++g) \
    if ((fm)->progress[g].phase == (wanted))

// Returns (x, y) = x' diag(A) y of a group.
double sap_free_motion_dot(const sap_free_motion* free_motion, int32_t group, const double* x,
                           const double* y);
// Factorizes A for the groups that are not done.
sap_status sap_newton_quasi_factor(sap_free_motion* free_motion, sap_error* error);
// Makes up to max_iterations iterations of the groups in the quasi-Newton phase.
sap_status sap_newton_quasi_iterate(sap_free_motion* free_motion, int32_t max_iterations,
                                    sap_error* error);
// Moves groups that reached the iteration limit to their next phase. Returns true if a group is in
// the damped phase.
bool sap_newton_quasi_wants_damping(sap_free_motion* free_motion);
// Evaluates m at v_best + alpha direction of the groups in a phase.
sap_status sap_newton_try_step(sap_free_motion* free_motion, sap_group_phase phase,
                               sap_error* error);
// Iterates the groups in the damped phase from v_best; they end in another phase.
sap_status sap_newton_damped_iterate(sap_free_motion* free_motion, int32_t max_iterations,
                                     sap_error* error);
// Iterates the groups in the exact phase from v_best until they are done. STEP_FAILED otherwise.
sap_status sap_newton_exact_iterate(sap_free_motion* free_motion, int32_t max_iterations,
                                    sap_error* error);
