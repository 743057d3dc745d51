// SPDX-License-Identifier: BSD-3-Clause
// The contact problem: A, v*, and constraint blocks. Every solver reads this and nothing else.
//
//   min over v of  l(v) = 1/2 |v - v*|_A^2 + sum_i l_i(J_i v)                       castro (24)
//   gamma_i = P_C(y_i) in the R norm,  y_i = -R_i^-1 (J_i v - v_hat_i),
//   l_i = 1/2 |gamma_i|_R^2 for cones;  in general the Moreau envelope whose gradient is -gamma_i.
//
// R = 0 (rigid) is allowed; solvers that need R > 0 refuse it (UNSUPPORTED).
// Velocities are ordered tree by tree. A has one SPD diagonal block per tree and, where a spring,
// damper or bushing couples two trees, off-diagonal blocks.
#ifndef SAPSTEP_PROBLEM_H
#define SAPSTEP_PROBLEM_H

#include <sapstep/base.h>
#include <sapstep/contact.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_problem sap_problem;

// The convex set C of a block's impulse.
typedef enum sap_set {
  // 3, 4 or 6 rows [t1 t2 n spin roll1 roll2]: |gamma_t| <= mu gamma_n, gamma_t all but n. One R
  // for all of them: other coefficients by scaled rows, see sap_friction_scales.
  SAP_SET_FRICTION_CONE,
  SAP_SET_NONNEGATIVE,  // each row >= 0: limits, unilateral cables, frictionless contact
  SAP_SET_BOX,          // lower <= gamma <= upper: joint dry friction, limited actuators
  SAP_SET_FREE,         // bilateral
  // No set but a potential, whose gradient the impulse is; rows as a cone's, laws in
  // sapstep/contact.h. v_hat shifts all velocities; R is Rn in n, in the others it only measures
  // residuals.
  SAP_SET_SIMILAR,
  SAP_SET_LAGGED,
} sap_set;

// One constraint block as the caller gives it; everything is copied.
typedef struct sap_block {
  sap_set set;
  int32_t nrows;                   // rows of the block, >= 1; 3, 4 or 6 for a friction cone
  int32_t ntrees;                  // trees it acts on, >= 1
  const int32_t* trees;            // distinct tree indices                              (ntrees)
  const double* const* jacobians;  // J on trees[i]: nrows x tree size, column-major, ld nrows
  const double* R;                 // regularization, >= 0 [velocity/impulse]              (nrows)
  const double* v_hat;             // stabilization velocity (bias)                       (nrows)
  double friction;                 // mu of a friction cone or a potential, >= 0
  double dissipation;              // potentials: d [s/m], >= 0
  double slip_speed;               // potentials: v_s [m/s], > 0
  double lagged_impulse;           // lagged: n0 [N s], >= 0
  const double* lower;             // box only: bounds, lower <= upper, may be infinite   (nrows)
  const double* upper;
  uint64_t key;  // identity across steps for warm starts, 0: none
} sap_block;

// A contact in physical terms; R and v_hat follow from it and from A (castro (29)-(30)).
typedef struct sap_contact_block {
  int32_t ntrees;                  // 1 or more
  const int32_t* trees;            //                                                    (ntrees)
  const double* const* jacobians;  // 3 x tree size, column-major, rows [t1 t2 n]
  sap_material material;           // of the pair
  double phi0;                     // signed distance at the start of the step [m]
  uint64_t key;
  // Zero or NULL where there is sliding friction alone.
  int32_t nrows;                 // 0 or 3: sliding; 4: and spin; 6: and rolling friction
  const double* const* angular;  // (nrows - 3) x tree size: rows [spin roll1 roll2] about n, t1, t2
  const double* friction;        // mu of [t1 t2 spin roll1 roll2]; NULL (3 rows only): the
                                 // material's along both tangents               (nrows - 1)
  double surface_velocity[3];    // by belts: of B's surface relative to A's, [t1 t2 spin] [m/s],
                                 // [rad/s]
  // Where J is that of a point within the step, for what is evaluated at its end:
  double velocity_change[3];  // what vc there has beyond J v, [t1 t2 n] [m/s]
  double gap_change;          // phi of that point less J times the way there, less phi0 [m]
} sap_contact_block;

// An empty problem; dt 0 and no trees until sap_problem_reset.
SAP_API sap_status sap_problem_create(sap_problem** out, sap_error* error);
SAP_API void sap_problem_destroy(sap_problem* problem);

// Starts a new problem in the same memory: `ntrees` trees of the given sizes (>= 1), time step
// dt > 0 [s]; A, v* and the guess are zero until set, there are no blocks. Memory is kept, so
// that refilling a problem of a size seen before allocates nothing.
SAP_API sap_status sap_problem_reset(sap_problem* problem, double dt, int32_t ntrees,
                                     const int32_t* tree_sizes, sap_error* error);

// Sets A's block (a, b). a == b: the lower triangle of an SPD matrix (n_a x n_a). a != b: the
// coupling block A_ab (n_a x n_b); A_ba is its transpose and must not be set as well.
SAP_API sap_status sap_problem_set_momentum_block(sap_problem* problem, int32_t tree_a,
                                                  int32_t tree_b, const double* block,
                                                  int32_t leading_dimension, sap_error* error);
// Instead of A its inverse may be given, block by block: the mobility B, so that v = v* + B J'
// gamma. That is how a problem known only by its Delassus operator is stated: a tree of the rows'
// size per block, J the identity, v* = q, B = W. B may be singular (then A does not exist), a block
// that is not set is zero. a == b: the full block. a != b: the block (a, b), and, unless that is
// set as well, its transpose as (b, a); an unsymmetric B is taken as it is. A problem has A or B:
// the first call after sap_problem_reset decides. Solvers that need A refuse B (UNSUPPORTED).
SAP_API sap_status sap_problem_set_mobility_block(sap_problem* problem, int32_t tree_a,
                                                  int32_t tree_b, const double* block,
                                                  int32_t leading_dimension, sap_error* error);
// Both (nv). A guess that is not set is v*.
SAP_API sap_status sap_problem_set_v_star(sap_problem* problem, const double* v_star,
                                          sap_error* error);
SAP_API sap_status sap_problem_set_v_guess(sap_problem* problem, const double* v_guess,
                                           sap_error* error);
// Impulses (nrows) that dual solvers start from, before those of the same blocks last time; those
// that iterate on velocities take v_guess. Of the blocks there are: one that is added drops it.
SAP_API sap_status sap_problem_set_gamma_guess(sap_problem* problem, const double* gamma_guess,
                                               sap_error* error);

// x = A^-1 b, both (nv), x may be b: v* = v0 + A^-1 (dt times the forces at the start of the step).
// Needs all diagonal blocks and couplings; NOT_SPD names the tree.
SAP_API sap_status sap_problem_solve_momentum(sap_problem* problem, const double* b, double* x,
                                              sap_error* error);

// Where within the step the laws of contacts and soft rows are evaluated: at the end (theta =
// theta_vq = 1, which sap_problem_reset restores) or, for a scheme with both in [1/2, 1], at its
// theta point, second order for the midpoint rule. Stiff rows that the step does not resolve, new
// impacts and sticking friction are evaluated at the end all the same. v0 (nv): the velocities at
// the start of the step; static friction, and the impulses that lagged contacts begin with, want
// it at any stage. Similar and lagged contacts are always evaluated at the end. Concerns what is
// added afterwards by sap_problem_add_contact and sap_problem_soften_row; sap_problem_add_block
// takes R and v_hat as they are.
SAP_API sap_status sap_problem_set_stage(sap_problem* problem, double theta, double theta_vq,
                                         const double* v0, sap_error* error);

// The model of contacts that are added afterwards; SAP_CONTACT_BY_MATERIAL, what sap_problem_reset
// restores: that of their material.
SAP_API sap_status sap_problem_set_contact_model(sap_problem* problem, sap_contact_model model,
                                                 sap_error* error);

// Rigid laws at the level of velocities instead of compliance, as Moreau-Jean time stepping has
// them; sap_problem_reset restores compliance. What sap_problem_add_contact and
// sap_problem_soften_row make afterwards has R = 0 and, with the gap (or error) g0 and its rate at
// the start of the step,
//   contacts        v_n >= -e min(v_n0, 0) + b (-g0)/dt once they touch; before, v_n >= -g0/dt,
//                   or v_n >= -e v_n0 where e > 0 and v_n0 closes the gap within the step
//   limits          the same with e = 0
//   bilateral rows  v = -b g0/dt
// restitution e and Baumgarte's b, both in [0, 1]. v0 (nv): velocities at the start of the step.
// Needs a solver that takes R = 0.
SAP_API sap_status sap_problem_set_rigid(sap_problem* problem, double restitution, double baumgarte,
                                         const double* v0, sap_error* error);

// Adds a block; its index is the number of blocks before. A call that fails adds nothing.
SAP_API sap_status sap_problem_add_block(sap_problem* problem, const sap_block* block,
                                         sap_error* error);
// Adds a friction cone or, as the material says, a similar or lagged contact (mu > 0 or not: one
// with mu = 0 is frictionless and keeps its rows). Needs the diagonal blocks of A of its trees: w =
// |sum_t J_t A_tt^-1 J_t'|_F/3 of [t1 t2 n]. Rows of a contact whose coefficients differ are scaled
// by sap_friction_scales, in the block as in its part of gamma and vc.
SAP_API sap_status sap_problem_add_contact(sap_problem* problem, const sap_contact_block* contact,
                                           const sap_regularization* regularization,
                                           sap_error* error);
// `count` of them in their order, to the same blocks, bit by bit, as one after the other: what
// sap_problem_use_threads is for. Those before one that is refused have been added.
SAP_API sap_status sap_problem_add_contacts(sap_problem* problem, const sap_contact_block* contacts,
                                            int32_t count, const sap_regularization* regularization,
                                            sap_error* error);
// Threads, 1 to 256, 1 at first, the caller's among them, that sap_problem_add_contacts may use and
// that a solver told to use threads then takes instead of its own. The problem that a stepper hands
// to its system's constraints has those of the solver's options. MEMORY where they cannot be
// started: all stays as it was.
SAP_API sap_status sap_problem_use_threads(sap_problem* problem, int32_t count, sap_error* error);
// Keeps the normal forces of the lagged contacts with a key, of this problem's solution (gamma, all
// rows), for contacts of the same keys that are added after the next sap_problem_reset. NULL: none;
// n0 is then what the contact's law says at the start of the step.
SAP_API sap_status sap_problem_keep_impulses(sap_problem* problem, const double* gamma,
                                             sap_error* error);
// What is kept so, as bytes of this machine and back, as sap_solver_save_memory and
// sap_solver_load_memory have it.
SAP_API sap_status sap_problem_save_memory(sap_problem* problem, void* bytes, size_t capacity,
                                           size_t* size, sap_error* error);
SAP_API sap_status sap_problem_load_memory(sap_problem* problem, const void* bytes, size_t size,
                                           sap_error* error);
// w of given Jacobians, the Frobenius norm of W_ii divided by nrows [1/kg for a contact]; from
// the diagonal tree blocks of A only.
SAP_API sap_status sap_problem_delassus_scale(sap_problem* problem, int32_t nrows, int32_t ntrees,
                                              const int32_t* trees, const double* const* jacobians,
                                              double* w, sap_error* error);

// One row of a limit or a bilateral constraint in physical terms:
// force = -k (g + tau_d dg/dt), never negative where unilateral.
typedef struct sap_soft_row {
  double stiffness;        // k [N/m, N m/rad], > 0, may be infinite
  double relaxation_time;  // tau_d [s], >= 0
  double g0;               // distance to the limit, or error, at the start of the step [m, rad]
  double rate0;            // its rate J v0 [m/s, rad/s]
  double curvature;        // g at q0 (+) dt v0 less g0 + dt rate0 [m, rad]; 0: J is constant
  double w;                // Delassus scale of the row's block, > 0
  double recovery_speed;   // v_hat makes up for the error no faster [m/s, rad/s], >= 0; 0: no bound
  bool unilateral;
} sap_soft_row;

// The recovery speed of what is near rigid or rigid in models: an initial pose far beyond a limit
// or with a loop open is brought back in about a second instead of within (dt + tau_d). [m/s,
// rad/s]
#define SAP_RECOVERY_SPEED 1.0

// R and v_hat of the row: castro (29)-(30), or at the stage that sap_problem_set_stage named.
SAP_API sap_status sap_problem_soften_row(const sap_problem* problem,
                                          const sap_regularization* regularization,
                                          const sap_soft_row* row, double* R, double* v_hat,
                                          sap_error* error);

// A joint, a limit, a stop: rows of like units (the three translations of a ball joint in one, two
// rotations in another) with one stiffness; everything is copied. For dry friction and brakes of
// strength f add a SAP_SET_BOX block with v_hat = 0, R = sigma w (sap_problem_delassus_scale) and
// bounds -dt f, dt f.
typedef struct sap_soft_block {
  int32_t nrows;                   // >= 1
  int32_t ntrees;                  // >= 1
  const int32_t* trees;            // distinct tree indices                              (ntrees)
  const double* const* jacobians;  // dg/dt = J v: nrows x tree size, column-major, ld nrows
  const double* g0;                // errors, or distances to the limit, now [m, rad]     (nrows)
  double stiffness;        // k [N/m, N m/rad], > 0; infinite: R = 1e-6 w of bilateral rows, the
                           // near-rigid limit of castro (29) of unilateral ones
  double relaxation_time;  // tau_d [s], >= 0: what is open closes within dt + tau_d
  bool unilateral;         // g >= 0 is wanted instead of g = 0
  uint64_t key;
} sap_soft_block;
// Adds a free or, unilateral, a nonnegative block with w of all its rows and what
// sap_problem_soften_row says of each. Nothing is added where the call fails, or where all rows are
// zero (w = 0: nothing of it can move), which is no failure.
SAP_API sap_status sap_problem_add_soft(sap_problem* problem, const sap_soft_block* block,
                                        const sap_regularization* regularization, sap_error* error);

// Whole-problem check: every tree has an SPD diagonal block and A as a whole is SPD, all finite.
// Costs a factorization; sap_solver_solve does it when options.check_input says so. Of a mobility
// only the diagonal is checked: no entry < 0.
SAP_API sap_status sap_problem_check(const sap_problem* problem, sap_error* error);

// What the problem, which must not be NULL, holds.
SAP_API double sap_problem_dt(const sap_problem* problem);  // [s]
SAP_API int32_t sap_problem_tree_count(const sap_problem* problem);
SAP_API int32_t sap_problem_tree_size(const sap_problem* problem, int32_t tree);  // 0: no such
SAP_API int32_t sap_problem_velocity_count(const sap_problem* problem);           // nv
SAP_API int32_t sap_problem_row_count(const sap_problem* problem);  // rows of all blocks
SAP_API int32_t sap_problem_block_count(const sap_problem* problem);
// Views into the problem, valid until it is changed.
SAP_API const double* sap_problem_v_star(const sap_problem* problem);   // (nv)
SAP_API const double* sap_problem_v_guess(const sap_problem* problem);  // (nv)
// The diagonal (a == b: full square, both triangles, ld n_a) or coupling block of A, ld n_a; NULL
// where A has none. For (b, a) of a stored coupling (a, b) NULL is returned.
SAP_API const double* sap_problem_momentum_block(const sap_problem* problem, int32_t tree_a,
                                                 int32_t tree_b);
// Whether B stands for A.
SAP_API bool sap_problem_has_mobility(const sap_problem* problem);
// The block of B, ld n_a, in either order; NULL where there is none.
SAP_API const double* sap_problem_mobility_block(const sap_problem* problem, int32_t tree_a,
                                                 int32_t tree_b);
// Describes block `index`; pointers are views. `first_row` (may be NULL): its first row in gamma.
SAP_API sap_status sap_problem_block(const sap_problem* problem, int32_t index, sap_block* out,
                                     int32_t* first_row, sap_error* error);
// Condition number, in the 2-norm, of SAP's Hessian A + J' G J at v (nv): of castro Fig. 15. Dense,
// O(nv^3). ARGUMENT: an empty problem, or one with a mobility; NOT_SPD; NOT_FINITE: v, or a block
// with R = 0; MEMORY.
SAP_API sap_status sap_problem_condition(const sap_problem* problem, const double* v,
                                         double* condition, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
