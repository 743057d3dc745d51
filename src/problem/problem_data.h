// SPDX-License-Identifier: BSD-3-Clause
// The data of a contact problem: flat arrays that grow and keep their memory. Solvers read them
// directly, so that most of their files include this. Functions: problem.c (below), matrix.h (A,
// mobility), factor.h (factors of A), blocks.h, law.h.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <sapstep/problem.h>

#include "core/memory.h"
#include "linalg/block_pattern.h"
#include "linalg/branch_factor.h"
#include "linalg/cholesky.h"
#include "problem/warm_start.h"

// A_ab of two trees, a != b; n_a x n_b, ld n_a. In a mobility B_ba follows, n_b x n_a.
typedef struct sap_coupling {
  int32_t tree_a, tree_b;
  int32_t values;  // start in coupling_values
  int32_t next;    // next coupling with the same smaller tree, -1: none
  bool both;       // mobility: B_ba has been set, too
} sap_coupling;

// A contact, or a block of one row, at the start of the step, for estimates of the step's error.
// Its normal force is force - stiffness x - damping dx/dt after the way x; dry friction has none.
typedef struct sap_contact_start {
  double force, stiffness, damping;  // [N], [N/m], [N s/m]
  double phi0;                       // gap [m]; of a box, the dead band of a spring: its distance
  double vc0[3], belt[2];            // slip and normal speed, velocity of a belt: scaled [m/s]
  double turn[3];                    // slip and normal speed at the end less J v: scaled [m/s]
  double spin;                       // of the rows of spin and rolling: scaled [m/s]
  double vn_star;                    // normal speed without contacts at the end [m/s]
  double wn, wt;                     // W_nn, tr(W_tt)/2 [1/kg]; wn = 0: unknown
} sap_contact_start;

typedef struct sap_block_data {
  sap_set set;
  int32_t nrows, ntrees;
  int32_t first_row;   // in R, v_hat, lower, upper and gamma
  int32_t first_tree;  // in block_trees and jacobians
  int32_t column;      // of a row of one tree: the only one that is not zero; -1: unknown, or more
  double friction;     // contact: mu
  double dissipation, slip_speed, lagged_impulse;  // potential
  double w;                                        // potential: Delassus scale; 0: unknown
  bool no_gliding;                                 // contact: v_hat_n is shifted, law.c
  double wrong_depth;       // contact, limit: more than an impact explains; else 0 [m], [rad]
  double shift;             // v_hat_law - v_hat_shifted of its normal row [m/s]
  double shift_excess;      // what it may be too large by at the end of the step [m/s]
  double shift_change;      // its last change [m/s]
  double end;               // contact: share of the end of the step at which its law acts
  double realised;          // contact: stiffness, as a part of the material's; 0: unknown
  double end_change;        // contact: the normal speed at the end less J v [m/s]
  sap_contact_start start;  // where the scheme has a theta point
  // Scratch memory of integrators/end_positions.c, which derivatives of its result read too.
  double end_move, end_rate, end_path;     // [m/s]
  double end_impulse, end_pull, end_push;  // mu, s, t
  double end_bound;                        // J_n d of a share of 1 that is at its bound; else 0
  uint64_t key;
} sap_block_data;

// Values of a block that change when a problem is solved again with other shifts or normal forces.
typedef struct sap_repeat {
  double shift, lagged_impulse, v_hat;  // v_hat of a contact's normal, shifted
} sap_repeat;

// A stale factor belongs to the previous problem of the same trees; it is valid again if their
// block of A has not changed.
typedef enum sap_factor_state {
  SAP_FACTOR_NONE,
  SAP_FACTOR_STALE,
  SAP_FACTOR_CLAIMED,  // a thread computes it
  SAP_FACTOR_VALID
} sap_factor_state;
typedef _Atomic int32_t sap_factor_mark;  // a sap_factor_state

// Factors of A and scratch memory. Not part of the problem's value: functions that take a const
// problem fill it, also in several threads. It is no argument of theirs, because factors outlive
// the problem that they were computed for, are shared by the law, the solver and the judge, and
// callers of the public functions have none to give. A thread claims a factor before computing it,
// and holds `mutex` while it uses the arrays behind `mutex`.
typedef struct sap_problem_cache {
  sap_pool pool;                  // of all arrays of the problem and of this
  double* diagonal_before;        // diagonal of the previous problem; a reset exchanges the two
  double* factor;                 // of each diagonal block, factor.h: n^2 + 4 n each
  int32_t* runs;                  // of large trees: n^2 + 3 n each
  sap_factor_mark* factor_state;  // (ntrees)
  sap_branch_factor* lent;        // borrowed factors, L NULL: none       (ntrees)
  const double** views;           // Jacobians of a block in scratch
  pthread_mutex_t mutex;
  double* scratch;  // Delassus products, residual vectors, scaled rows
  // A with couplings
  sap_cholesky* whole;  // created when first needed
  sap_pair_pattern pattern;
  double* values;
} sap_problem_cache;

// Arrays that grow together; arrays of a group have one capacity.
typedef enum sap_problem_group {
  SAP_GROUP_TREES,            // ntrees + 1
  SAP_GROUP_VELOCITIES,       // nv
  SAP_GROUP_SQUARES,          // sum of n^2
  SAP_GROUP_BRANCHES,         // sum of n^2 + 4 n
  SAP_GROUP_COUPLINGS,        // ncouplings
  SAP_GROUP_COUPLING_VALUES,  // ncoupling_values
  SAP_GROUP_BLOCKS,           // nblocks
  SAP_GROUP_BLOCK_TREES,      // nblock_trees
  SAP_GROUP_JACOBIANS,        // njacobian_values
  SAP_GROUP_ROWS,             // nrows
  SAP_GROUP_COUNT
} sap_problem_group;

struct sap_problem {
  double dt;
  int32_t ntrees, nv, nrows, nblocks, ncouplings;
  int32_t capacity[SAP_GROUP_COUNT];
  // matrix A
  bool has_momentum;        // a block of A has been set
  bool has_mobility;        // diagonal and couplings are B = A^-1
  int32_t* tree_size;       // (ntrees)
  int32_t* tree_start;      // first velocity (ntrees + 1)
  int32_t* diagonal_start;  // start in diagonal (ntrees + 1)
  bool* diagonal_set;       // (ntrees)
  int32_t* coupling_head;   // first coupling whose smaller tree this is, -1: none (ntrees)
  double* diagonal;         // full squares of A's diagonal blocks
  sap_coupling* couplings;  // (ncouplings)
  double* coupling_values;
  int32_t ncoupling_values;
  // velocities and guesses
  bool has_guess;
  double* v_star;   // (nv)
  double* v_guess;  // (nv)
  // Another guess of v, at which constraints are not evaluated. Borrowed until the next reset or
  // sap_problem_set_v_guess; NULL: none.                                                      (nv)
  const double* v_expected;
  double* gamma_guess;  // (guess_rows), used only if guess_rows == nrows
  int32_t guess_rows;   // -1: none
  // law
  sap_contact_scheme scheme;  // its v0: NULL or v0 below
  bool law_is_set;            // since the last reset
  double closure_share;       // of `missed` in the last shift, 0: none since the last reset
  bool solved;                // by the same solver, but for other v_hat, v_star and v_guess
  bool pauses;                // SAP pauses after a few iterations on large islands
  double* v0;                 // start of the step (nv)
  sap_warm_start lag;    // impulses of the step before, if contacts were lagged; outlives a reset
  double lag_dt;         // its length [s]
  const double* end[4];  // d, e, v - v*, y of derivatives of d; NULL: none                 (nv)
  // blocks
  sap_block_data* blocks;  // (nblocks)
  sap_repeat* repeats;     // stored of the first repeat_count blocks                     (nblocks)
  int32_t repeat_count;
  int32_t* block_trees;      // (nblock_trees)
  const double** jacobians;  // into jacobian_values (nblock_trees)
  double* jacobian_values;
  int32_t nblock_trees, njacobian_values;
  double* R;              // rows (nrows)
  double* v_hat_law;      // as the law gives it; written once, with its block (nrows)
  double* v_hat_shifted;  // v_hat_law plus what solvers and the stepper shift; solvers and
                          // residuals read this (nrows)
  double* missed;  // by bilateral rows at the end of the step, closure_error [m, rad] (nrows)
  double* missed_before;  // by the solution before (nrows)
  double* lower;          // bounds of gamma's rows; unused for cones (nrows)
  double* upper;
  sap_problem_cache* cache;
};

// Makes room for `needed` elements in the arrays of a group; moves views of Jacobians.
sap_status sap_problem_grow_group(sap_problem* problem, sap_problem_group group, int64_t needed,
                                  sap_error* error);
static inline sap_status sap_problem_reserve_group(sap_problem* problem, sap_problem_group group,
                                                   int64_t needed, sap_error* error) {
  return needed <= problem->capacity[group] && problem->capacity[group] > 0
             ? SAP_STATUS_OK
             : sap_problem_grow_group(problem, group, needed, error);
}

// Copies the velocities of some trees to adjacent places.
static inline void sap_problem_gather_trees(const sap_problem* problem, const int32_t* trees,
                                            int32_t count, const double* from, double* to) {
  for (int32_t t = 0; t < count; ++t) {
    const int32_t size = problem->tree_size[trees[t]];
    memcpy(to, from + problem->tree_start[trees[t]], (size_t)size * sizeof(double));
    to += size;
  }
}

// sap_problem_reset for a caller that sets all of A: A is not zeroed.
sap_status sap_problem_begin(sap_problem* problem, double dt, int32_t ntrees,
                             const int32_t* tree_sizes, sap_error* error);
