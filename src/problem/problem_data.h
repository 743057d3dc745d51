// SPDX-License-Identifier: BSD-3-Clause
// What a contact problem is made of: flat arrays that grow and keep their memory. Solvers read them
// directly; all else goes through sapstep/problem.h.
#ifndef SAP_PROBLEM_PROBLEM_DATA_H
#define SAP_PROBLEM_PROBLEM_DATA_H

#include <sapstep/problem.h>

#include "contact/contact_law.h"
#include "core/threads.h"
#include "linalg/branch_factor.h"
#include "linalg/cholesky.h"

// A_ab of two trees, a != b; n_a x n_b, ld n_a. Of a mobility B_ba follows, n_b x n_a.
typedef struct sap_coupling {
  int32_t tree_a, tree_b;
  int32_t values;  // start in coupling_values
  int32_t next;    // next coupling with the same smaller tree, -1: none
  bool both;       // mobility: B_ba has been set, too
} sap_coupling;

typedef struct sap_block_data {
  sap_set set;
  int32_t nrows, ntrees;
  int32_t first_row;                               // in R, v_hat, lower, upper and gamma
  int32_t first_tree;                              // in block_trees and jacobians
  double friction;                                 // of a contact
  double dissipation, slip_speed, lagged_impulse;  // of a potential
  double w;      // Delassus scale of a contact with a potential; 0: not known
  bool guarded;  // must not glide: gliding.c
  double shift;  // that v_hat of its normal has got [m/s]
  // Of a contact whose law acts at the end of the step: what the speed of its normal there has
  // beyond J v [m/s], and whether it begins open.
  bool ends, end_open;
  double end_change;
  uint64_t key;
} sap_block_data;

// What is known of a factor: a stale one is that of the problem before, of the same trees, and is
// valid again when their A is what it was.
typedef enum sap_factor_state {
  SAP_FACTOR_NONE,
  SAP_FACTOR_STALE,
  SAP_FACTOR_VALID
} sap_factor_state;

// What is derived from A when asked for, and scratch memory. Not part of the problem's value: it
// changes behind a const problem.
typedef struct sap_problem_cache {
  double* diagonal_before;  // the diagonal of the problem before: a reset changes the two
  double* factor;  // L of each diagonal block, reciprocal diagonal; same starts as diagonal
  sap_factor_state* factor_state;  // (ntrees)
  double* branch;        // factors of large trees, branch_factor.h: n^2 + 4 n of each tree
  int32_t* branch_runs;  // n^2 + 3 n of each
  sap_factor_state* branch_state;
  sap_branch_factor* lent;  // factors that others have, L NULL: none       (ntrees)
  double* scratch;          // Delassus products, residual vectors, scaled rows
  const double** views;     // Jacobians of a block in scratch
  // sap_problem_add_contacts: of each job, and the trees whose factors are wanted.
  struct sap_contact_job* jobs;
  int32_t* wanted;
  bool* is_wanted;      //                                                         (ntrees)
  sap_cholesky* whole;  // of A with couplings; made when first needed
  int32_t* pair_order;  // couplings sorted by column, then row
  int32_t* column_start;
  int32_t* row;
  size_t* value_start;
  double* values;
  int32_t diagonal_before_capacity, factor_capacity, factor_state_capacity, scratch_capacity;
  int32_t branch_capacity, branch_runs_capacity, branch_state_capacity;
  int32_t lent_capacity;
  int32_t views_capacity, job_capacity, wanted_capacity, is_wanted_capacity;
  int32_t pair_order_capacity, column_start_capacity, row_capacity, value_start_capacity;
  int32_t values_capacity;
} sap_problem_cache;

struct sap_problem {
  double dt;
  sap_threads* threads;  // NULL: one
  int32_t ntrees, nv, nrows, nblocks, ncouplings;
  bool has_guess, has_v0;
  bool has_momentum;                // a block of A has been set
  bool has_mobility;                // diagonal and couplings are B = A^-1
  sap_contact_model contact_model;  // of contacts, or as their materials say
  // trees
  int32_t* tree_size;       // (ntrees)
  int32_t* tree_start;      // first velocity (ntrees + 1)
  int32_t* diagonal_start;  // start in diagonal (ntrees + 1)
  bool* diagonal_set;       // (ntrees)
  int32_t* coupling_head;   // first coupling whose smaller tree this is, -1: none (ntrees)
  double* diagonal;         // full squares of A's diagonal blocks
  double* v_star;           // (nv)
  double* v_guess;          // (nv)
  // Another guess, not a point that constraints are evaluated at; the caller's until the next reset
  // or v_guess. NULL: none.                                                              (nv)
  const double* v_expected;
  double* gamma_guess;  // (guess_rows), of no use unless these are all rows
  int32_t guess_rows;   // -1: none
  // where soft laws are evaluated
  double theta, theta_vq;  // 1, 1: the end of the step
  double* v0;              // start of the step (nv); only where has_v0
  sap_lag_memory lag;      // outlives a reset
  bool no_gliding;         // of contacts that slide within the step
  bool rigid;              // R = 0 and biases instead of compliance: sap_problem_set_rigid
  double restitution, baumgarte;
  // couplings
  sap_coupling* couplings;  // (ncouplings)
  double* coupling_values;
  int32_t ncoupling_values;
  // blocks
  sap_block_data* blocks;    // (nblocks)
  int32_t* block_trees;      // (nblock_trees)
  const double** jacobians;  // into jacobian_values (nblock_trees)
  double* jacobian_values;
  int32_t nblock_trees, njacobian_values;
  double* R;      // rows (nrows)
  double* v_hat;  // (nrows)
  double* lower;  // bounds of gamma's rows; those of a cone are not used (nrows)
  double* upper;
  sap_problem_cache* cache;

  int32_t gamma_guess_capacity;
  int32_t tree_size_capacity, tree_start_capacity, diagonal_start_capacity, diagonal_set_capacity;
  int32_t coupling_head_capacity, diagonal_capacity, v_star_capacity, v_guess_capacity;
  int32_t coupling_capacity, coupling_value_capacity, block_capacity, block_tree_capacity;
  int32_t jacobian_capacity, jacobian_value_capacity;
  int32_t v0_capacity, R_capacity, v_hat_capacity, lower_capacity, upper_capacity;
};

// sap_grow for a count that may be beyond int32_t: MEMORY then.
sap_status sap_problem_reserve(void* array, int32_t* capacity, int64_t needed, size_t size,
                               sap_error* error);
#define SAP_RESERVE(array, capacity, needed, error) \
  (*(array) != NULL && (needed) <= *(capacity)      \
       ? SAP_STATUS_OK                              \
       : sap_problem_reserve((array), (capacity), (needed), sizeof(**(array)), (error)))

// Trees in range and distinct, Jacobians given.
sap_status sap_problem_check_shape(const sap_problem* problem, const sap_block* block,
                                   sap_error* error);
// The same, and Jacobians finite. Messages begin with "block `index`: ".
sap_status sap_problem_check_jacobians(const sap_problem* problem, const sap_block* block,
                                       sap_error* error);
// All but the Jacobians: set, R, v_hat, mu, bounds.
sap_status sap_problem_check_rows(const sap_problem* problem, const sap_block* block,
                                  sap_error* error);
// Index of the coupling of two trees in either order, or -1.
int32_t sap_problem_find_coupling(const sap_problem* problem, int32_t tree_a, int32_t tree_b);
// Finite, and trees and leading dimension in range; `symmetric`: only the lower triangle counts.
sap_status sap_problem_check_matrix(const sap_problem* problem, int32_t tree_a, int32_t tree_b,
                                    const double* block, int32_t leading_dimension, bool symmetric,
                                    sap_error* error);
// A new coupling with room for `nvalues` at its values.
sap_status sap_problem_add_coupling(sap_problem* problem, int32_t tree_a, int32_t tree_b,
                                    int64_t nvalues, int32_t* out, sap_error* error);
// Rows [row, row + count) of a block's J B J', count x count. work: velocities of its largest tree.
void sap_mobility_delassus(const sap_problem* problem, const sap_block* block, int32_t row,
                           int32_t count, double* work, double* W);
// y += B_ab x
void sap_mobility_multiply(const sap_problem* problem, int32_t tree_a, int32_t tree_b,
                           const double* x, double* y);
// Diagonal of B not negative.
sap_status sap_mobility_check(const sap_problem* problem, sap_error* error);
// Copies the velocities at the start of the step (nv); NOT_FINITE.
sap_status sap_problem_keep_v0(sap_problem* problem, const double* v0, sap_error* error);
// Copies a block that has been checked.
sap_status sap_problem_append_block(sap_problem* problem, const sap_block* block, sap_error* error);

// Where a block goes: what stands before it. Counts may be too large until room is made for them.
typedef struct sap_block_place {
  int64_t block, row, tree, value;
} sap_block_place;
sap_block_place sap_problem_end(const sap_problem* problem);
void sap_problem_set_end(sap_problem* problem, const sap_block_place* end);
// Goes on to behind a block of that shape.
void sap_problem_pass_block(const sap_problem* problem, int32_t nrows, int32_t ntrees,
                            const int32_t* trees, sap_block_place* at);
sap_status sap_problem_reserve_blocks(sap_problem* problem, const sap_block_place* end,
                                      sap_error* error);
// Copies a block that has been checked to its place, for which there is room. Blocks of different
// places may be put by different threads.
void sap_problem_put_block(sap_problem* problem, const sap_block* block, const sap_block_place* at);

// Threads that others have, or NULL, instead of those that there are.
void sap_problem_lend_threads(sap_problem* problem, sap_threads* threads);
// Memory of who makes a contact's rows: sap_contact_room doubles, views for as many trees.
typedef struct sap_contact_work {
  double* scratch;
  const double** views;
} sap_contact_work;
int64_t sap_contact_room(const sap_problem* problem, int32_t nrows, int32_t ntrees,
                         const int32_t* trees);
int32_t sap_contact_rows(const sap_contact_block* contact);
// The block of its rows [t1 t2 n].
sap_block sap_contact_linear_part(const sap_contact_block* contact);
// All but the linear Jacobians, of which sap_problem_put_contact finds whether they are finite.
sap_status sap_problem_check_contact(const sap_problem* problem, const sap_contact_block* contact,
                                     sap_error* error);
// Makes the block of a contact that has been checked and puts it to its place, for which there is
// room: by several threads, each with work of its own, where the factors of its trees are there.
sap_status sap_problem_put_contact(sap_problem* problem, const sap_contact_block* contact,
                                   const sap_regularization* regularization,
                                   const sap_contact_work* work, const sap_block_place* at,
                                   sap_error* error);

// vc = J v of a block (its nrows).
void sap_problem_block_velocity(const sap_problem* problem, const sap_block_data* block,
                                const double* v, double* vc);

// L of the tree's diagonal block of A (lower, ld n, reciprocals on the diagonal), from the cache if
// it is there.
sap_status sap_problem_tree_factor(const sap_problem* problem, int32_t tree, const double** factor,
                                   sap_error* error);
// x (n) = A_tt^-1 b of a tree alone, with the factor that its size calls for; x may be b.
sap_status sap_problem_solve_tree(const sap_problem* problem, int32_t tree, const double* b,
                                  double* x, sap_error* error);
// Sets a tree's block of A, known to be finite: lower triangle, ld its size. By one who says
// has_momentum, and by several threads.
void sap_problem_put_diagonal(sap_problem* problem, int32_t tree, const double* block);
// Gives the factor of a tree's diagonal block, if there is one to lend.
typedef bool sap_find_factor(const void* context, int32_t tree, sap_branch_factor* factor);
// Sets the diagonal blocks of A of all trees, known to be finite, in the problem's threads: lower
// triangles, ld the tree's size. find_factor: called for each tree, by several threads.
void sap_problem_put_diagonals(sap_problem* problem, double* const* blocks,
                               sap_find_factor* find_factor, const void* context);
// Sets another guess of v for the solver (nv), at which constraints are not evaluated. The array is
// the caller's and stays valid until the next reset or sap_problem_set_v_guess.
void sap_problem_set_v_expected(sap_problem* problem, const double* v_expected);
// The factor of a tree's block of A, as it is set, from one who has it and keeps it until the block
// is set anew, the problem is reset or factors are returned. Trees larger than a free body only.
void sap_problem_lend_factor(const sap_problem* problem, int32_t tree,
                             const sap_branch_factor* factor);
void sap_problem_return_factors(const sap_problem* problem);
// sap_problem_reset for one who sets all of A: it is not zero before.
sap_status sap_problem_begin(sap_problem* problem, double dt, int32_t ntrees,
                             const int32_t* tree_sizes, sap_error* error);
// The tree's block is another one than what was known of its factors is of.
void sap_problem_forget_factors(const sap_problem* problem, int32_t tree);
// The same at a reset: the block is in diagonal_before.
void sap_problem_age_factors(const sap_problem* problem, int32_t tree);
// w of a block whose trees have been checked, and whether its Jacobians are finite: |W_ii|_F/nrows.
sap_status sap_problem_checked_scale(const sap_problem* problem, const sap_block* block, double* w,
                                     sap_error* error);
// The same with scratch memory of the caller's, with so much room: by several threads where the
// factors of the block's trees are there already. Looks at the Jacobians where w is not finite.
int64_t sap_problem_scale_room(const sap_problem* problem, const sap_block* block);
sap_status sap_problem_find_checked_scale(const sap_problem* problem, const sap_block* block,
                                          double* scratch, double* w, sap_error* error);
// Where the impulses of lagged contacts, gamma of a solve of this problem, are far from their n0
// and that matters, all get theirs as n0. Whether it was so.
bool sap_problem_relag(sap_problem* problem, const double* gamma);
// For convex solvers at a stage within the step: contacts added afterwards that slide there get a
// shift of v_hat_n; a reset undoes it.
void sap_problem_forbid_gliding(sap_problem* problem, bool forbidden);
// A contact is evaluated within the step, and |g_t| about `slip`.
void sap_problem_shift_contact(sap_problem* problem, int64_t index, double slip);
// Shifts of a solution's g_t. Whether another solution would differ.
bool sap_problem_shift_again(sap_problem* problem, const double* vc, const double* gamma);
// Do rows depend on the velocity at the start of the step?
bool sap_stage_needs_start(const sap_problem* problem);
// J v0 of a block, zero where v0 is not known.
void sap_stage_velocity(const sap_problem* problem, const sap_block* block, double* velocity);
// J v* of a block.
void sap_stage_free_velocity(const sap_problem* problem, const sap_block* block, double* velocity);
// R and v_hat at the problem's stage; false, and nothing changed, where the end is right.
bool sap_stage_normal(const sap_problem* problem, const sap_soft_row* row, double beta, double* R,
                      double* v_hat);
// A servo: force = offset - kp l - kd dl/dt of a length l, between bounds.
typedef struct sap_stage_servo {
  double offset, kp, kd;
  double length0, rate0;  // l at the start of the step, J v0
  double w;               // Delassus scale of the row
} sap_stage_servo;
// R and v_hat at the problem's stage; nothing is changed where the end is right.
void sap_stage_servo_row(const sap_problem* problem, const sap_stage_servo* servo, double beta,
                         double* R, double* v_hat);
// The same for all `nrows` rows of a friction cone, which hold those of the end; its velocity was
// vc0.
typedef struct sap_stage_cone {
  sap_soft_row normal;
  int32_t nrows;
  double friction, beta;
  const double* vc0;          // (nrows)
  double velocity_change[3];  // from J v to the end of the step
} sap_stage_cone;
// slip: about |g_t| of gliding.c, 0 where it sticks. False where the end is right for all rows.
bool sap_stage_contact(const sap_problem* problem, const sap_stage_cone* cone, double* R,
                       double* v_hat, double* slip);
// R and v_hat of the rigid laws, where sap_problem_set_rigid asked for them: of a limit's or
// bilateral row, and of a contact's rows.
void sap_rigid_row(const sap_problem* problem, const sap_soft_row* row, double* R, double* v_hat);
void sap_rigid_contact(const sap_problem* problem, const sap_stage_cone* cone, double* R,
                       double* v_hat);
// Frees what the cache holds, NULL allowed.
void sap_problem_cache_destroy(sap_problem_cache* cache);

#endif
