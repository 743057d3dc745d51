// SPDX-License-Identifier: BSD-3-Clause
// The contact problem: A, v*, and constraint blocks. It is the only input of the solvers.
//
//   min over v of  l(v) = 1/2 |v - v*|_A^2 + sum_i l_i(J_i v)                       castro (24)
//   gamma_i = P_C(y_i) in the R norm,  y_i = -R_i^-1 (J_i v - v_hat_i)
//   l_i     = 1/2 |gamma_i|_R^2 for cones; in general the Moreau envelope with gradient -gamma_i
//
// R = 0 (rigid) is allowed; solvers that need R > 0 refuse it (UNSUPPORTED).
// Velocities are ordered tree by tree. A has one SPD diagonal block per tree and, where a spring,
// damper or bushing couples two trees, off-diagonal blocks.
//
// Threads: several threads may call the functions of a const problem at once, sap_residuals and
// sap_solver_solve (with a solver of each thread) included; threads that need the same factor of A
// wait for the thread that computes the factor. One thread at a time may change a problem.
#pragma once

#include <sapstep/base.h>
#include <sapstep/contact.h>

SAP_C_BEGIN

typedef struct sap_problem sap_problem;

// The convex set C of a block's impulse.
typedef enum sap_set {
  // 3, 4 or 6 rows [t1 t2 n spin roll1 roll2]: |gamma_t| <= mu gamma_n, gamma_t all rows but n. One
  // R for all of gamma_t: other coefficients by scaled rows, see sap_friction_scales.
  SAP_SET_FRICTION_CONE,
  SAP_SET_NONNEGATIVE,  // each row >= 0: limits, unilateral cables, frictionless contact
  SAP_SET_BOX,          // lower <= gamma <= upper: joint dry friction, limited actuators
  SAP_SET_FREE,         // bilateral
  // No set but a potential with the impulse as its gradient; rows as a cone's, laws in
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
  double shift;                    // similar: v_hat_n is lowered by it against gliding [m/s]
  double realised;      // from sap_problem_block: part of a contact's stiffness that R has
  const double* lower;  // box only: bounds, lower <= upper, may be infinite   (nrows)
  const double* upper;
  uint64_t key;  // identity across steps for warm starts, 0: none
} sap_block;

// A contact in physical terms; R and v_hat follow from these, from A and from the scheme of
// sap_problem_set_law.
typedef struct sap_contact_block {
  int32_t ntrees;                  // 1 or more
  const int32_t* trees;            //                                                    (ntrees)
  const double* const* jacobians;  // 3 x tree size, column-major, rows [t1 t2 n]
  sap_material material;           // of the pair
  double phi0;                     // signed distance at the start of the step [m]
  double overlap;                  // depth of the surfaces, where phi0 is not their distance, as at
                                   // points of patches; 0: -phi0 [m]
  uint64_t key;
  // Zero or NULL for sliding friction alone.
  int32_t nrows;                 // 0 or 3: sliding; 4: and spin; 6: and rolling friction
  const double* const* angular;  // (nrows - 3) x tree size: rows [spin roll1 roll2] about n, t1, t2
  const double* friction;        // mu of [t1 t2 spin roll1 roll2]; NULL (3 rows only): the
                                 // material's along both tangents               (nrows - 1)
  double surface_velocity[3];    // by belts: of B's surface relative to A's, [t1 t2 spin] [m/s],
                                 // [rad/s]
  // If J is that of a point within the step, for laws that act at its end; see
  // sap_contact_block_move in sapstep/system.h:
  double velocity_change[3];  // vc at the end less J v, [t1 t2 n] [m/s]
  double gap_change;          // phi of that point less J times the way there, less phi0 [m]
  // Mass of all bodies that move. An impact of this mass at the impact speed of sap_regularization
  // explains a depth; deeper contacts are undone slowly. 0: unknown, any depth is explained.
  double mass;  // [kg], >= 0
  // Force that may undo these, such as lifts all bodies, beside what brings the contact's own ones to
  // speed. 0: no bound.
  double lift;  // [N], >= 0
  // Thickness of the thinner shape along the normal. In a step, a contact alone sinks in by at most
  // a quarter of it, however soft or fast it is. INFINITY: two half spaces; 0: unknown, no bound.
  double thickness;  // [m], >= 0
  // Mass that may rest on the contact, that of the heaviest tree which contacts hold up there: the
  // near-rigid limit makes it no softer than R_n = 8 beta^2/load. 0: unknown, the limit knows the
  // mass of the contact's own bodies.
  double load;  // [kg], >= 0
  // Of B and A towards each other along n, in v*, as by adhesion: the cone is as wide as if the
  // material pushed by that much more, and the contact rests where it would rest without.
  double pull;  // [N]
} sap_contact_block;

// Creates an empty problem: dt 0 and no trees until sap_problem_reset.
SAP_API sap_status sap_problem_create(sap_problem** out, sap_error* error);
SAP_API void sap_problem_destroy(sap_problem* problem);

// Starts a new problem in the same memory: `ntrees` trees of the given sizes (>= 1), time step
// dt > 0 [s]. A, v* and the guess are zero until set, the law is the default scheme, there are no
// blocks. Refilling a problem of a size seen before allocates nothing.
SAP_API sap_status sap_problem_reset(sap_problem* problem, double dt, int32_t ntrees,
                                     const int32_t* tree_sizes, sap_error* error);

// Sets A's block (a, b). a == b: the lower triangle of an SPD matrix (n_a x n_a). a != b: the
// coupling block A_ab (n_a x n_b); A_ba is its transpose and must not be set as well.
SAP_API sap_status sap_problem_set_momentum_block(sap_problem* problem, int32_t tree_a,
                                                  int32_t tree_b, const double* block,
                                                  int32_t leading_dimension, sap_error* error);
// Sets a block of the mobility B = A^-1 instead of A: v = v* + B J' gamma. A problem known only by
// its Delassus operator W is posed so: one tree of the rows' size per block, J the identity, v* =
// q, B = W. B may be singular (then A does not exist); a block that is not set is zero. a == b: the
// full block. a != b: the block (a, b) and, unless (b, a) is set as well, its transpose as (b, a);
// an unsymmetric B is used as given. A problem has A or B: the first call after sap_problem_reset
// decides. Solvers that need A refuse B (UNSUPPORTED).
SAP_API sap_status sap_problem_set_mobility_block(sap_problem* problem, int32_t tree_a,
                                                  int32_t tree_b, const double* block,
                                                  int32_t leading_dimension, sap_error* error);
// Set v* and the guess, both (nv). The guess is v* until set.
SAP_API sap_status sap_problem_set_v_star(sap_problem* problem, const double* v_star,
                                          sap_error* error);
SAP_API sap_status sap_problem_set_v_guess(sap_problem* problem, const double* v_guess,
                                           sap_error* error);
// Sets the impulses (nrows) that dual solvers start from, before those of their memory; solvers
// that iterate on velocities use v_guess. Holds for the blocks added so far: adding a block drops
// it.
SAP_API sap_status sap_problem_set_gamma_guess(sap_problem* problem, const double* gamma_guess,
                                               sap_error* error);

// Computes x = A^-1 b, both (nv), x may be b: v* = v0 + A^-1 (dt times the forces at the start of
// the step). Needs all diagonal blocks and couplings; NOT_SPD names the tree.
SAP_API sap_status sap_problem_solve_momentum(sap_problem* problem, const double* b, double* x,
                                              sap_error* error);

// Sets the law of what sap_problem_add_contact, sap_problem_add_compliant and
// sap_problem_compliant_law make afterwards; sap_problem_add_block takes R and v_hat as given. v0
// is copied. Fails with ARGUMENT for settings out of range or settings that contradict each other
// (rigid with a theta point or a contact model, restitution of a compliant scheme, no v0 where the
// law reads it), and where the law has been set since sap_problem_reset; with NOT_FINITE for v0.
SAP_API sap_status sap_problem_set_law(sap_problem* problem, const sap_contact_scheme* scheme,
                                       sap_error* error);

// Adds a block; its index is the number of blocks before. A call that fails adds nothing.
SAP_API sap_status sap_problem_add_block(sap_problem* problem, const sap_block* block,
                                         sap_error* error);
// Adds a friction cone or, by the contact's model, a similar or lagged contact (a contact with
// mu = 0 is frictionless and keeps its rows). Needs the diagonal blocks of A of its trees:
// w = |sum_t J_t A_tt^-1 J_t'|_F/3 of [t1 t2 n]. Rows of a contact with several coefficients are
// scaled by sap_friction_scales, in the block and in its part of gamma and vc.
SAP_API sap_status sap_problem_add_contact(sap_problem* problem, const sap_contact_block* contact,
                                           const sap_regularization* regularization,
                                           sap_error* error);
// Keeps the normal forces of lagged contacts with a key from this problem's solution (gamma, all
// rows), for contacts of the same keys added after the next sap_problem_reset. NULL: keeps none; n0
// is then the law's impulse at the start of the step.
SAP_API sap_status sap_problem_keep_impulses(sap_problem* problem, const double* gamma,
                                             sap_error* error);
// Save and load these forces as bytes of this machine, like sap_solver_save_memory and
// sap_solver_load_memory.
SAP_API sap_status sap_problem_save_memory(sap_problem* problem, void* bytes, size_t capacity,
                                           size_t* size, sap_error* error);
SAP_API sap_status sap_problem_load_memory(sap_problem* problem, const void* bytes, size_t size,
                                           sap_error* error);
// Computes w of the given Jacobians, the Frobenius norm of W_ii divided by nrows [1/kg for a
// contact], from the diagonal tree blocks of A only.
SAP_API sap_status sap_problem_delassus_scale(sap_problem* problem, int32_t nrows, int32_t ntrees,
                                              const int32_t* trees, const double* const* jacobians,
                                              double* w, sap_error* error);

// One row of a limit or a bilateral constraint in physical terms:
// force = -k (g + tau_d dg/dt), never negative if unilateral.
typedef struct sap_compliant_row {
  double stiffness;        // k [N/m, N m/rad], > 0, may be infinite
  double relaxation_time;  // tau_d [s], >= 0
  double g0;               // distance to the limit, or error, at the start of the step [m, rad]
  double rate0;            // its rate J v0 [m/s, rad/s]
  double curvature;        // g at q0 (+) dt v0 less g0 + dt rate0 [m, rad]; 0: J is constant
  double w;                // Delassus scale of the row's block, > 0
  double load, pull;       // as of sap_contact_block [kg], [N, N m]
  double mass, lift;       // as of sap_contact_block, of contacts [kg], [N]
  double overlap;          // likewise [m]
  double damper;           // what a damper along the row adds to 1/w, >= 0 [kg, kg m^2]
  double recovery_speed;   // bound of v_hat's correction of the error [m/s, rad/s], >= 0; 0: none
  bool unilateral;
} sap_compliant_row;

// Recovery speed of near-rigid and rigid rows in models: an initial pose far beyond a limit, or
// with an open loop, is corrected in about a second instead of within (dt + tau_d). [m/s, rad/s]
#define SAP_RECOVERY_SPEED 1.0

// Computes R and v_hat of the row by the problem's law, see sap_contact_scheme; bilateral rows have
// v_hat = -g0/(dt + tau_d) for g0 > 0, too.
SAP_API sap_status sap_problem_compliant_law(const sap_problem* problem,
                                             const sap_regularization* regularization,
                                             const sap_compliant_row* row, double* R, double* v_hat,
                                             sap_error* error);

// A joint, a limit, a stop: rows of like units (the three translations of a ball joint in one, two
// rotations in another) with one stiffness; everything is copied. For dry friction and brakes of
// strength f add a SAP_SET_BOX block with v_hat = 0, R = sigma w (sap_problem_delassus_scale) and
// bounds -dt f, dt f.
typedef struct sap_compliant_block {
  int32_t nrows;                   // >= 1
  int32_t ntrees;                  // >= 1
  const int32_t* trees;            // distinct tree indices                              (ntrees)
  const double* const* jacobians;  // dg/dt = J v: nrows x tree size, column-major, ld nrows
  const double* g0;                // errors, or distances to the limit, now [m, rad]     (nrows)
  double stiffness;        // k [N/m, N m/rad], > 0; infinite: R = 1e-6 w of bilateral rows, the
                           // near-rigid limit of castro (29) of unilateral ones
  double relaxation_time;  // tau_d [s], >= 0
  bool unilateral;         // the constraint is g >= 0 instead of g = 0
  double recovery_speed;   // of the rows, see sap_compliant_row; 0: none
  uint64_t key;
} sap_compliant_block;
// Adds a free or, if unilateral, a nonnegative block with w of all its rows and R and v_hat of
// sap_problem_compliant_law. Adds nothing where the call fails, or, without an error, where all
// rows are zero (w = 0: they can move nothing).
SAP_API sap_status sap_problem_add_compliant(sap_problem* problem, const sap_compliant_block* block,
                                             const sap_regularization* regularization,
                                             sap_error* error);

// Checks the whole problem: every tree has an SPD diagonal block, A as a whole is SPD, all finite.
// Costs a factorization; sap_solver_solve does it if options.check_input is set. A mobility is
// checked for entries < 0 on its diagonal only.
SAP_API sap_status sap_problem_check(const sap_problem* problem, sap_error* error);

// Getters; the problem must not be NULL.
SAP_API double sap_problem_dt(const sap_problem* problem);  // [s]
SAP_API int32_t sap_problem_tree_count(const sap_problem* problem);
SAP_API int32_t sap_problem_tree_size(const sap_problem* problem, int32_t tree);  // 0: no such
SAP_API int32_t sap_problem_velocity_count(const sap_problem* problem);           // nv
SAP_API int32_t sap_problem_row_count(const sap_problem* problem);  // rows of all blocks
SAP_API int32_t sap_problem_block_count(const sap_problem* problem);
// Views into the problem, valid until it is changed.
SAP_API const double* sap_problem_v_star(const sap_problem* problem);   // (nv)
SAP_API const double* sap_problem_v_guess(const sap_problem* problem);  // (nv)
// Returns the diagonal (a == b: full square, both triangles, ld n_a) or coupling block of A, ld
// n_a; NULL where A has none. For (b, a) of a stored coupling (a, b) NULL is returned.
SAP_API const double* sap_problem_momentum_block(const sap_problem* problem, int32_t tree_a,
                                                 int32_t tree_b);
// Returns true if the problem stores the mobility B = A^-1 instead of A.
SAP_API bool sap_problem_has_mobility(const sap_problem* problem);
// Returns the block of B, ld n_a, in either order; NULL where there is none.
SAP_API const double* sap_problem_mobility_block(const sap_problem* problem, int32_t tree_a,
                                                 int32_t tree_b);
// Describes block `index`; pointers are views. `first_row` (may be NULL): its first row in gamma.
SAP_API sap_status sap_problem_block(const sap_problem* problem, int32_t index, sap_block* out,
                                     int32_t* first_row, sap_error* error);
// Computes the condition number, in the 2-norm, of SAP's Hessian A + J' G J at v (nv), castro
// Fig. 15. Dense, O(nv^3). Fails with ARGUMENT for an empty problem or one with a mobility,
// NOT_SPD, NOT_FINITE (v, or a block with R = 0), MEMORY.
SAP_API sap_status sap_problem_condition(const sap_problem* problem, const double* v,
                                         double* condition, sap_error* error);

SAP_C_END
