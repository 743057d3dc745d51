// SPDX-License-Identifier: BSD-3-Clause
// Stage 1 of a step: the free motion m(v*) = 0, or where constraints are expected to give impulses
// p the linearization A (v - v*) of m around the v that m(v) = p gives.
#ifndef SAP_INTEGRATORS_FREE_MOTION_H
#define SAP_INTEGRATORS_FREE_MOTION_H

#include "integrators/balance.h"
#include "integrators/expected_impulse.h"
#include "integrators/momentum_factor.h"
#include "integrators/prediction.h"

enum { SAP_BROYDEN_DEPTH = 8 };  // steps remembered before the history starts anew

typedef enum sap_group_phase {
  SAP_GROUP_QUASI_NEWTON,   // A with Broyden's updates
  SAP_GROUP_DAMPED_NEWTON,  // A anew at every iterate, with a line search
  SAP_GROUP_TRUE_NEWTON,    // A does not contract: differences of m
  SAP_GROUP_DONE,
} sap_group_phase;

// How far a group of trees has come. Norms: |D m|, D = diag(A)^-1/2, [sqrt(J)].
typedef struct sap_group_progress {
  sap_group_phase phase;
  double residual, previous, best;  // now, one iterate before, smallest so far
  double contraction;               // of residual by the last step but one, 0: not known
  double scale;                     // what round-off is measured against
  double noise;                     // a residual that no longer falls may be this large at any rate
  int32_t depth;                    // steps in the Broyden history
  int32_t poor;                     // iterates with poor contraction in a row
  double tolerance;  // residual/scale that will do: round-off's, or that of a linearization
  double floor;      // residual found to be round-off of ill-conditioned forces, or 0
  int32_t damped;    // times that damped Newton was asked
  double first;      // residual where the iteration began
  double second;     // and after its first step, 0: none was evaluated
} sap_group_progress;

// Where and how m is linearised.
typedef struct sap_linearization {
  sap_expected_impulse expected;
  double* v_near;  // where m(v) = p                                    (nv)
  double* p;       // impulses that the constraints gave                (nv)
  // What the last steps left of a residual in one iteration, 0: not known.
  double* contraction;  //                                              (ngroups)
  // Search for p that constraints give back when A is taken where m(v) = p.
  double* around;       // p of the round                               (nv)
  double *best, *back;  // p of the best round, and what it gave back   (nv)
  double best_error, share;
  // Residual/scale within which m(v) = p is solved where p is expected: what is left stands in the
  // linear balance, and the solution is checked by m itself.
  double tolerance;
} sap_linearization;

typedef struct sap_free_motion {
  const sap_system* system;
  sap_balance balance;
  sap_momentum_factor factor;
  sap_prediction prediction;
  sap_linearization linearization;
  sap_group_progress* progress;      // (ngroups)
  sap_status* group_status;          // of what was done last that can fail (ngroups)
  double* v_star;                    // the iterate, then the result   (nv)
  double *m, *v_best, *load, *dv;    // (nv)
  double* weight;                    // diag(A) of the first iterate   (nv)
  double* steps[SAP_BROYDEN_DEPTH];  // Broyden steps                  (nv) each
  double* direction;                 // of damped and true Newton      (nv)
  double* alpha;                     // its step length                (ngroups)
  // for true Jacobians, allocated when first needed
  double *jacobian, *m_plus;
  int32_t* pivots;
  // what the solve did
  int32_t iterations;
  double residual;         // the largest of |D m|/scale over the groups
  bool moved;              // v_star is no longer where the theta point is
  bool matrix_is_current;  // balance.A is that of v_star
} sap_free_motion;

// Start from {0}.
sap_status sap_free_motion_create(const sap_system* system, sap_free_motion* free_motion,
                                  sap_error* error);
void sap_free_motion_clear(sap_free_motion* free_motion);

// The impulses p about which m is linearised.
typedef enum sap_impulse_guess {
  SAP_IMPULSE_NONE,      // none: the free motion itself
  SAP_IMPULSE_EXPECTED,  // those of the last step
  SAP_IMPULSE_CHOSEN,    // those that sap_free_motion_choose has made
} sap_impulse_guess;

// Leaves v* in v_star and A in balance.A. STEP_FAILED when the iteration does not
// converge, NOT_FINITE for forces or matrices, NOT_SPD for A, CALLBACK.
sap_status sap_free_motion_solve(sap_free_motion* free_motion, const sap_step_context* step,
                                 int32_t max_iterations, sap_impulse_guess guess, sap_error* error);
// The largest share of a group's impulses by which v (nv), with what constraints gave it, misses m.
sap_status sap_free_motion_check(sap_free_motion* free_motion, const double* v, double* error_share,
                                 sap_error* error);
// After the check: v* anew for the groups that miss more than the tolerance.
sap_status sap_free_motion_correct(sap_free_motion* free_motion, const double* v, double tolerance,
                                   sap_error* error);
// After the check of a round that missed by error_share, the p of the next: part of the way from
// that of the best round to what constraints gave back; all of it at first. first: of this step.
void sap_free_motion_choose(sap_free_motion* free_motion, bool first, double error_share);
// The step whose free motion was solved last ends with v: remembers it for the next guess. The
// state that it began from must still be there.
void sap_free_motion_record(sap_free_motion* free_motion, const double* v);

#endif
