// SPDX-License-Identifier: BSD-3-Clause
// One island as SAP's Newton iterations see it, and the functions on it. The island's data are
// gathered into contiguous arrays. One object serves one island after the other and keeps its
// memory.
//
// A patch is a set of rows on the same velocities: cones of 3 rows, cones of n rows, or interval
// rows (limits, boxes, bilateral rows). Its Jacobian is one dense matrix, row by row over its
// velocities in ascending order, so that J x, J' gamma and J' G J run over contiguous rows.
//
// A block on a tree with more joints than a free body moves only the joints between its bodies and
// the root: the other columns of its Jacobian are zero. A patch lists the runs of its nonzero
// columns, on smaller trees those of whole trees, and blocks share a patch only if their runs are
// equal. Cones of 3 rows on one or two free bodies have no runs.
#pragma once

#include <sapstep/solver.h>

#include "contact/cone.h"
#include "linalg/block_pattern.h"
#include "linalg/cholesky.h"
#include "problem/problem_data.h"
#include "solvers/islands.h"
#include "solvers/primal/cone_kernels.h"
#include "solvers/primal/patch_kernels.h"
#include "solvers/report.h"

typedef enum sap_patch_kind {
  SAP_PATCH_CONES,      // of 3 rows
  SAP_PATCH_CONES_N,    // of 4 and 6 rows
  SAP_PATCH_INTERVALS,  // rows
} sap_patch_kind;

// Successive velocities of one tree.
typedef struct sap_run {
  int32_t tree;  // index among the patch's trees
  int32_t velocity, count;
} sap_run;

typedef struct sap_patch {
  sap_patch_kind kind;
  int32_t first, count;      // cones, or interval rows
  int32_t first_row, nrows;  // in the row arrays; none of cones of 3 rows
  int32_t ntrees;
  int32_t first_tree;        // in patch_trees
  int32_t first_pair;        // in pair_values: (0,0) (1,0) .. (1,1) (2,1) ..
  int32_t ncols;             // velocities; of cones not on bodies: rounded up to fours
  int32_t first_run, nruns;  // in runs; nruns = 0: the velocities of `bodies`
  int32_t bodies[2];         // first velocities of its one or two free bodies; -1: other trees
  int32_t velocity;          // the only one of interval rows; -1: they have several
  size_t jacobian;           // start of its rows, ncols each
} sap_patch;

// A cone of 4 or 6 rows.
typedef struct sap_cone_n {
  sap_cone cone;
  int32_t nrows;
  int32_t first;                                    // of its rows in the row arrays
  double rho;                                       // as cone_rho
  double G[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX];  // nrows x nrows
} sap_cone_n;

// One row of an interval set.
typedef struct sap_interval {
  double inverse_R, R, lower, upper;
} sap_interval;

// Kernels take other rows on free bodies as cones by threes.
static inline bool sap_patch_has_triples(const sap_patch* patch) {
  return patch->bodies[0] >= 0 && patch->velocity < 0 && patch->nrows % 3 == 0;
}

// Sums of the stopping tests at the current v.
typedef struct sap_newton_state {
  double cost;        // l(v) [J]
  double cost_scale;  // l(v)'s round-off is relative to this [J]
  double gradient;    // |D grad l| [sqrt(J)]
  double momentum;    // |D A v|
  double impulse;     // |D J' gamma|
} sap_newton_state;

enum { SAP_NEWTON_COUNTS = 13 };
typedef struct sap_newton {
  // the island
  const sap_problem* problem;
  const int32_t* trees;  // the problem's indices
  const int32_t* blocks;
  const int32_t* local;  // the island's index of a problem's tree
  int32_t ntrees, nblocks, nv, ncones, ncones_n, npotentials, nintervals, npatches, npatch_trees;
  int32_t nrows;          // of the row arrays: interval rows, then rows of cones of n rows
  int32_t ncone_patches;  // the first patches
  int32_t npairs, ncouplings;
  int32_t largest_patch;  // ncols
  int64_t nruns;          // an upper bound
  size_t njacobian;

  int32_t* size;             // of trees (ntrees)
  int32_t* start;            // first velocity (ntrees + 1)
  int32_t* couplings;        // the problem's indices (ncouplings)
  int32_t* coupling_pair;    // their places in the pattern's pair_values (ncouplings)
  int32_t* patch_trees;      // the island's indices, ascending per patch (npatch_trees)
  int32_t* tree_order;       // of each block: its trees in ascending order, block by block
  int32_t* cone_row;         // the problem's row of a cone's first row (ncones)
  int32_t* problem_row;      // (nrows)
  sap_patch* patches;        // (npatches)
  sap_run* runs;             // of patches (nruns)
  sap_pair_pattern pattern;  // of H: of patches' tree pairs, then of couplings and trees
  double* values;            // H (pattern.nvalues)

  double* jacobian;           // (njacobian)
  sap_cone* cones;            // (ncones)
  sap_potential* potentials;  // of cones of either kind (npotentials)
  sap_cone_n* cones_n;        // (ncones_n)
  sap_interval* intervals;    // (nintervals)
  double* cone_law;           // of cone_kernels.h (5 ncones)
  double* cone_v_hat;         // 3 arrays of ncones: t1, t2, n; likewise below
  double* cone_vc;
  double* cone_u;
  double* cone_d;  // J dv
  double* cone_gamma;
  double* cone_lambda;  // multipliers (linearise.c), layout of cone_gamma
  double* cone_target;  // q: impulses of the linearised law at dv = 0
  double* cone_rho;     // metric of the semismooth law for weight 1 (ncones)
  double* cone_G;       // 6 per cone: {t1t1, t1t2, t2t2, t1n, t2n, nn}
  double* cone_parts;   // summands, one per cone: 2 arrays
  double* row_v_hat;    // row arrays (nrows)
  double* row_vc;
  double* row_u;
  double* row_d;
  double* row_gamma;
  double* row_lambda;
  double* row_target;
  double* row_work;      // two row arrays of scratch
  double* interval_rho;  // as cone_rho (nintervals)
  double* interval_G;
  double *v, *v_star, *v_best, *v_start, *dv, *gradient;  // (nv)
  double* momentum;                                       // A (v - v*)
  double* momentum_star;                                  // A v*
  double* impulse;                                        // J' gamma
  double* mass;                                           // diag(A)
  double* product;                                        // A dv; v - v* in sap_newton_evaluate
  double* scratch;                                        // patch vectors and J' G J of a patch

  bool again;              // solved before, but for other v_hat, v_star and v_guess
  bool factored;           // `cholesky` has factors of its H
  double weight;           // of the metrics in this step
  bool starts_near;        // SAP's own step comes first, without metrics (sap_newton_begin)
  double deadline;         // clock of the time limit [s]; infinite: none
  const double* recalled;  // multipliers of the previous solve by the problem's rows, NaN: none

  sap_newton_state state;
  sap_cholesky* cholesky;  // of this island's pattern
  const sap_patch_kernels* kernels;
  const sap_cone_kernels* cone_kernels;

  // memory of the arrays above
  sap_pool pool;
  double* numbers;
  int64_t room[SAP_NEWTON_COUNTS];  // of each count that sap_newton_reserve reads
  sap_sort_key* keys;  // block and start of its trees in tree_order; twice, for sorting
} sap_newton;

void sap_newton_init(sap_newton* newton);
void sap_newton_clear(sap_newton* newton);

// Gathers island `index`.  fails: MEMORY; NOT_SPD names a tree whose diagonal of A is not positive.
sap_status sap_newton_gather(sap_newton* newton, const sap_problem* problem,
                             const sap_islands* islands, int32_t index, sap_error* error);
// Takes new v_hat and v_star of the island gathered last.
void sap_newton_refresh(sap_newton* newton, const sap_problem* problem);
// Makes room for an island whose counts are set.  fails: MEMORY
sap_status sap_newton_reserve(sap_newton* newton, sap_error* error);
// Builds the block pattern of H from patches and couplings.  fails: MEMORY
sap_status sap_newton_build_pattern(sap_newton* newton, sap_error* error);

// Computes vc, u, gamma, cost, gradient and the sums of `state` at newton->v.
void sap_newton_evaluate(sap_newton* newton);
// The same after a step of length alpha along dv, but u moves by -alpha J dv: this keeps bits of u
// that the round-off of J v hides. Scales the direction's rows; overwrites targets.
void sap_newton_move(sap_newton* newton, double alpha);
// The same of the present gamma, which cost `contact_cost`, `scale` without cancellation.
void sap_newton_balance(sap_newton* newton, double contact_cost, double scale);
// Returns sum l_i at v, without the energy. Overwrites the direction's rows and G.
double sap_newton_contact_cost(const sap_newton* newton, const double* v);
// Computes J dv (cone_d, row_d); returns dv' A dv.
double sap_newton_apply_direction(sap_newton* newton);
// y += A x
void sap_newton_add_momentum(const sap_newton* newton, const double* x, double* y);
// side = J' target - A (v - v*), the right-hand side of a semismooth step.
void sap_newton_target_side(sap_newton* newton, double* side);

// hessian.c: values = A + J' G J with the G of sap_newton_linearise, or A alone.
void sap_newton_assemble(sap_newton* newton, bool with_constraints);

// Linearisation of the impulses, and the multipliers lambda: impulses that primal-dual steps carry
// along beside gamma, in cone_lambda, row_lambda and sap_cone_n.lambda.

// How the system of a step is linearised. A kind that gives no descent falls back on the one
// before.
typedef enum sap_step_kind {
  SAP_STEP_PRIMAL,          // SAP's own
  SAP_STEP_SLIP_DIRECTION,  // SAP's, with the slip direction relaxed by the multipliers
  SAP_STEP_SEMISMOOTH       // v and gamma together
} sap_step_kind;

// Sets cone_G, interval_G and, for semismooth steps, the targets at the evaluated point.
void sap_newton_linearise(sap_newton* newton, sap_step_kind kind);
// Moves the multipliers after a step of length alpha along dv, at the new v.
void sap_newton_move_multipliers(sap_newton* newton, sap_step_kind kind, double alpha);

// Chooses the start, evaluates it and sets the multipliers there.  fails: NOT_FINITE
sap_status sap_newton_begin(sap_newton* newton, const sap_solver_options* options,
                            sap_error* error);
// Chooses the metrics rho of the semismooth law.
void sap_newton_choose_metrics(sap_newton* newton);
// Sets the multipliers to P_C(y(v)) of the evaluated point or, if `recall`, to those of the
// previous solve, 0 where there are none.
void sap_newton_start_multipliers(sap_newton* newton, bool recall);
// Fails with NOT_FINITE and the names of the inputs that may be too large.
sap_status sap_newton_overflow(const sap_newton* newton, const char* when, sap_error* error);

// Returns the bound of the stopping test.                                           castro (26)
static inline double sap_newton_tolerance(const sap_newton_state* s,
                                          const sap_solver_options* options) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return options->absolute_tolerance + options->relative_tolerance * scale;
}

// Returns the largest error of a tree in units of the island's speeds:
//   (|D grad l|_t - absolute) / (sqrt(m_t) V),  m_t = tr A_tt
//   V^2 = sum max(|D A v|_t^2, |D J' gamma|_t^2)/m_t
// Between trees of equal m_t castro (26) implies an error of at most eps_r. *beyond, if not NULL:
// the same of trees with |D grad l|_t above the part `own` of their own
// max(|D A v|_t, |D J' gamma|_t).
double sap_newton_tree_error(const sap_newton* newton, double absolute, double own, double* beyond);
// Returns true if the test holds for the island, whose sums would hide a light tree beside a heavy
// one, and the error of every tree is at most eps_r and a part of its own scale, or rest.
bool sap_newton_is_converged(const sap_newton* newton, const sap_solver_options* options);
// Returns true if a change of v by dv is within a relative tolerance. Overwrites the gradient.
bool sap_newton_is_negligible(sap_newton* newton, const sap_solver_options* options,
                              double tolerance);

static inline double sap_newton_momentum_error(const sap_newton_state* s) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return s->gradient > 0.0 ? s->gradient / scale : 0.0;
}

static inline sap_history_row sap_newton_row(const sap_newton_state* s) {
  return (sap_history_row){.cost = s->cost,
                           .gradient_2 = s->gradient * s->gradient,
                           .momentum_2 = s->momentum * s->momentum,
                           .impulse_2 = s->impulse * s->impulse};
}

static inline bool sap_newton_is_finite(const sap_newton_state* s) {
  return isfinite(s->cost) && isfinite(s->gradient) && isfinite(s->cost_scale);
}

// Iterates from the start that sap_newton_begin chooses to the minimum; newton->v and state are the
// best found. Sets outcome, counts and cost of `result`. history (NULL allowed) gets a row per
// iterate.
// fails: NOT_SPD names a tree; NOT_FINITE when numbers overflow; MEMORY.
sap_status sap_newton_iterate(sap_newton* newton, const sap_solver_options* options,
                              sap_history* history, sap_report* result, sap_error* error);
