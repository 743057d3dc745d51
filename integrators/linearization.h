// SPDX-License-Identifier: BSD-3-Clause
// Where stage 1 linearizes the momentum balance.
//
// The contact stage works with the linear balance A (v - v*) = p in place of m(v) = p. Free bodies
// and groups of trees without blocks have m(v*) = 0, and A there. Others have A at v0; with
//   e = m(v) - m(v0) - A (v - v0)     what A misses: gyroscopic forces, the rotation of M
//   v* = v0 - A^-1 (m(v0) + e)
// the linear balance agrees with m at the v of e, which is predicted from the steps before: it is
// dt |omega| of a change of momentum, and changes slowly. Free bodies that it mattered for have
// v* less A^-1 e likewise. If the v of a step misses the balance by
// more than a tolerance,
//   v* = v - A^-1 m(v)
// makes the linear balance agree with m at v, and the contact stage is solved again.
// The law of contacts sees v0 - A^-1 m(v0) instead of v*: with it, and A, it is a function of the
// state (q0, v0) alone, whatever the memory; memory brings e, and saves solutions.
#pragma once

#include "core/archive.h"
#include "integrators/predict.h"

typedef struct sap_free_motion sap_free_motion;

typedef struct sap_linearization {
  // memory of the last steps
  sap_prediction missed;  // of e
  bool* held;  // constraints gave impulses to the tree, whose m is not linear      (ntrees)
  // of this step
  bool* starts;    // groups linearized at v0, and those whose v* was corrected       (ngroups)
  bool* known;     // groups whose e is known                                         (ngroups)
  bool any_known;  // from the steps before
  bool* far;       // groups not linearized at v0, as they would miss too much         (ngroups)
  double* zero;    // (nv)
  double* e;       // (nv)
  double* v_law;   // free motion that the law of contacts sees                      (nv)
  double* v_near;  // where m(v) = p, or v0 - A^-1 m(v0)                             (nv)
  double* p;       // impulses that the constraints gave                             (nv)
  // Fixed-point search for the p that constraints give back if A is taken where m(v) = p.
  double* trial;        // p of the solution                                (nv)
  double *best, *back;  // p of the best solution, and the impulses that it gave back (nv)
  double best_error;    // balance error of the best solution
  double share;         // of the way from best to back
  double tolerance;  // |D (m - p)| / scale to which m(v) = p is solved; the remainder becomes part
                     // of the linear balance, and the solution is checked by m itself
} sap_linearization;

// Returns true if a tree is a free body, which each step linearizes about its free motion.
static inline bool sap_linearization_is_free(const sap_system* system, int32_t tree) {
  return system->free_bodies != NULL && system->free_bodies[tree];
}

// Allocates in the pool; start from {0}.
sap_status sap_linearization_create(const sap_system* system, int32_t ngroups, sap_pool* pool,
                                    sap_linearization* linearization, sap_error* error);
// Sizes, saves, loads or forgets the memory of steps made.
sap_status sap_linearization_archive(sap_free_motion* free_motion, sap_archive* archive,
                                     sap_error* error);

// Chooses the groups that are linearized at v0: those that constraints held in the last step and
// that are not far, or none. Not free bodies.
void sap_linearization_begin(sap_free_motion* free_motion, bool may_start);
// Replaces v_star, where m(v_star) = p or v0, by v* of the linear balance there.
sap_status sap_linearization_finish(sap_free_motion* free_motion, sap_error* error);
// Linearizes the groups of more trees (ntrees) at v0, keeping their v*, where m(v*) = 0. A changes.
sap_status sap_linearization_move_to_start(sap_free_motion* free_motion, const bool* trees,
                                           sap_error* error);
// Computes the largest share of a group's impulses by which v (nv), with the impulses that the
// constraints gave it, misses m.
sap_status sap_linearization_check(sap_free_motion* free_motion, const double* v,
                                   double* error_share, sap_error* error);
// After the check: makes the groups linearized at v0 far that miss m by more than a share, except
// free bodies, which corrections take there as fast. Returns true if there are some.
bool sap_linearization_retreat(sap_free_motion* free_motion, double share);
// After the check at v: takes the share of the momentum A v instead where it is the smaller, as
// solvers measure theirs. Returns true if a group still misses more than the tolerance.
bool sap_linearization_misses(sap_free_motion* free_motion, const double* v, double tolerance);
// Corrects v* of the groups that miss m by more than the tolerance; after a measurement at v. The
// corrected groups miss nothing (m = 0) until the next check.
sap_status sap_linearization_correct(sap_free_motion* free_motion, const double* v,
                                     double tolerance, sap_error* error);
// Chooses the next p after the check of a solution that missed m by error_share: part of the way
// from p of the best solution to the impulses that it gave back; all of it if first is true.
void sap_linearization_choose(sap_free_motion* free_motion, bool first, double error_share);
// Remembers a step that ends with v. The arrays of its step context must still be valid.
void sap_linearization_record(sap_free_motion* free_motion, const double* v);
