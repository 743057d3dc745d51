// SPDX-License-Identifier: BSD-3-Clause
// Where stage 1 linearizes the momentum balance.
//
// The contact stage works with the linear balance A (v - v*) = p, the tangent of m(v) = p at the
// velocity v_near of A. Away from v_near it misses the curvature of m, mainly gyroscopic forces and
// the rotation of M: (dt dk/dv)(v - v_near), a share dt |omega| of the change from the expected
// impulses. Left alone, that does work on links that spin while constraints guide them. Therefore A
// is taken where m(v) = p for the expected p, and if the v of a step misses the balance by more
// than a tolerance,
//   v* = v - A^-1 m(v)
// makes the linear balance agree with m at v, and the contact stage is solved again. A stays: only
// the contraction suffers.
#ifndef SAP_INTEGRATORS_LINEARIZATION_H
#define SAP_INTEGRATORS_LINEARIZATION_H

#include "core/archive.h"
#include "core/error.h"
#include "integrators/momentum_balance.h"

typedef struct sap_free_motion sap_free_motion;

// Expected impulses p = J' gamma of the next step: tree by tree those of the last step, if they
// were a better guess than zero in the last step; none of trees that may be free bodies.
typedef struct sap_expected_impulse {
  sap_theta scheme;  // of the step that gave `memory`
  double* memory;    // p of the last step, zero at first          (nv)
  double* guess;     // p expected in the next step                (nv)
  bool has_guess;    // some of it is not zero
} sap_expected_impulse;

typedef struct sap_linearization {
  sap_expected_impulse expected;
  double* v_near;       // where m(v) = p                                    (nv)
  double* p;            // impulses that the constraints gave                (nv)
  double* contraction;  // of a residual by one iteration with A in the last steps, 0: unknown
                        //                                                   (ngroups)
  // Fixed-point search for the p that constraints give back if A is taken where m(v) = p.
  double* trial;        // p of the solution                                (nv)
  double *best, *back;  // p of the best solution, and the impulses that it gave back (nv)
  double best_error;    // balance error of the best solution
  double share;         // of the way from best to back
  double tolerance;  // |D (m - p)| / scale to which m(v) = p is solved; the remainder becomes part
                     // of the linear balance, and the solution is checked by m itself
} sap_linearization;

// Allocates in the pool; start from {0}.
sap_status sap_linearization_create(const sap_system* system, int32_t ngroups, sap_pool* pool,
                                    sap_linearization* linearization, sap_error* error);
// Sizes, saves, loads or forgets the memory of steps made.
sap_status sap_linearization_archive(sap_free_motion* free_motion, sap_archive* archive,
                                     sap_error* error);

// Returns the expected impulses (nv), NULL if they are all zero or of another scheme or dt.
const double* sap_linearization_expected(const sap_linearization* linearization,
                                         const sap_theta* scheme);
// Makes the expected impulses those of a step of dt.
void sap_linearization_rescale(sap_linearization* linearization, int32_t nv, double dt);
// Replaces v_star, where m(v_star) = p, by v* of the linear balance there.
sap_status sap_linearization_finish(sap_free_motion* free_motion, sap_error* error);
// Computes the largest share of a group's impulses by which v (nv), with the impulses that the
// constraints gave it, misses m.
sap_status sap_linearization_check(sap_free_motion* free_motion, const double* v,
                                   double* error_share, sap_error* error);
// Corrects v* of the groups that miss m by more than the tolerance; after the check at v.
sap_status sap_linearization_correct(sap_free_motion* free_motion, const double* v,
                                     double tolerance, sap_error* error);
// Chooses the next p after the check of a solution that missed m by error_share: part of the way
// from p of the best solution to the impulses that it gave back; all of it if first is true.
void sap_linearization_choose(sap_free_motion* free_motion, bool first, double error_share);
// Remembers a step that ends with v. The arrays of its step context must still be valid.
void sap_linearization_record(sap_free_motion* free_motion, const double* v);

#endif
