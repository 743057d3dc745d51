// SPDX-License-Identifier: BSD-3-Clause
// Newton's method of SAP on one island: the island's data gathered into contiguous arrays, and the
// steps of an iteration. The same object serves one island after the other and keeps its memory.
// The impulses that the primal-dual steps carry along are in cone_dual and interval_dual.
//
// A patch is what acts on the same set of velocities: its cones, its cones of more rows, or its
// interval rows (limits, boxes, bilateral rows). Its Jacobian is one dense matrix, row by row over
// its velocities in ascending order, so that J x, J' gamma and J' G J run over contiguous rows.
#ifndef SAP_SOLVERS_PRIMAL_NEWTON_H
#define SAP_SOLVERS_PRIMAL_NEWTON_H

#include <sapstep/solver.h>

#include "contact/cone.h"
#include "linalg/cholesky.h"
#include "problem/problem_data.h"
#include "solvers/islands.h"
#include "solvers/primal/cone_kernels.h"
#include "solvers/primal/patch_kernels.h"

typedef enum sap_patch_kind {
  SAP_PATCH_CONES,      // of 3 rows
  SAP_PATCH_WIDE,       // cones of 4 and 6 rows: wide.h
  SAP_PATCH_INTERVALS,  // rows
} sap_patch_kind;

// Velocities one after the other, of one tree.
typedef struct sap_run {
  int32_t tree;  // of the patch's trees
  int32_t velocity, count;
} sap_run;

typedef struct sap_patch {
  sap_patch_kind kind;
  int32_t first, count;  // cones, or interval rows
  int32_t ntrees;
  int32_t first_tree;        // in patch_trees: island's tree indices, ascending
  int32_t first_pair;        // in pair_values: (0,0) (1,0) .. (1,1) (2,1) ..
  int32_t ncols;             // velocities; of cones, but for bodies', filled up to fours
  int32_t first_run, nruns;  // in runs: its velocities; none: all of its trees
  int32_t bodies[2];  // first velocities of the free bodies that it is on; -1: not on such alone
  size_t jacobian;    // start of its rows, ncols each
} sap_patch;

typedef struct sap_wide_cone sap_wide_cone;
typedef struct sap_sweep_cone sap_sweep_cone;

// One row of an interval set.
typedef struct sap_interval {
  double inverse_R, R, lower, upper;
} sap_interval;

// Sums that the stopping tests need, all of them of the current v.
typedef struct sap_newton_state {
  double cost;        // l(v) [J]
  double cost_scale;  // what l(v)'s round-off is relative to [J]
  double gradient;    // |D grad l| [sqrt(J)]
  double momentum;    // |D A v|
  double impulse;     // |D J' gamma|
} sap_newton_state;

typedef struct sap_newton {
  // the island
  const sap_problem* problem;
  const int32_t* trees;  // the problem's indices
  const int32_t* blocks;
  const int32_t* local;  // island's index of a problem's tree
  int32_t ntrees, nblocks, nv, ncones, nwide, npotentials, nintervals, npatches, npatch_trees;
  int32_t ncone_patches;  // they come first
  int32_t npairs, ncouplings;
  int32_t largest_patch;  // ncols
  int64_t nruns;          // room for runs
  size_t njacobian, nwhitened, nvalues;

  // integers
  int32_t* size;           // of trees (ntrees)
  int32_t* start;          // first velocity (ntrees + 1)
  int32_t* couplings;      // the problem's indices (ncouplings)
  int32_t* coupling_pair;  // where they stand in pair_values (ncouplings)
  int32_t* patch_trees;    // (npatch_trees)
  int32_t* tree_order;     // of each block: its trees in ascending order, block by block
  int32_t* cone_row;       // the problem's row of a cone's first row (ncones)
  int32_t* interval_row;   // (nintervals)
  sap_patch* patches;      // (npatches)
  sap_run* runs;           // of patches on large trees (nruns)
  // block pattern of H
  int32_t* column_start;  // (ntrees + 1)
  int32_t* row;           // (entries)
  size_t* value_start;    // (entries)
  size_t* pair_values;    // of patches' tree pairs, then of couplings: start in values
  double* values;         // H (nvalues)

  // reals
  double* jacobian;           // (njacobian)
  sap_cone* cones;            // (ncones)
  sap_potential* potentials;  // that cones point to (npotentials)
  sap_wide_cone* wide;        // (nwide)
  sap_interval* intervals;    // (nintervals)
  double* cone_law;           // of cone_kernels.h (5 ncones)
  double* cone_v_hat;         // 3 arrays of ncones: t1, t2, n; likewise below
  double* cone_vc;
  double* cone_u;
  double* cone_d;  // J dv
  double* cone_gamma;
  double* cone_dual;            // gamma of its own, in cone_gamma's layout
  double* cone_target;          // the impulse that dv = 0 leads to: gamma of the linearised problem
  double* cone_rho;             // metric of the semismooth law (ncones)
  sap_sweep_cone* sweep_cones;  // sweep.h (ncones)
  double* cone_G;               // 6 per cone: {t1t1, t1t2, t2t2, t1n, t2n, nn}
  double* cone_parts;           // of sums over the cones: 2 arrays
  double* interval_v_hat;       // (nintervals)
  double* interval_vc;
  double* interval_u;
  double* interval_d;
  double* interval_gamma;
  double* interval_dual;
  double* interval_target;
  double* interval_rho;
  double* interval_G;
  double* sweep_row;     // sweep.c: inverse metrics (nintervals)
  double* sweep_w;       // sweep.c: L' v of A = L L', six of each tree
  double* sweep_factor;  // sweep.c: L^-1, 6 x 6 of each tree
  double* whitened;      // sweep.c: J L'^-1, six of each tree of a row (nwhitened)
  double *v, *v_star, *v_best, *v_start, *dv, *gradient;  // (nv)
  double* momentum;                                       // A (v - v*)
  double* momentum_star;                                  // A v*
  double* impulse;                                        // J' gamma
  double* mass;                                           // diag(A)
  double* product;                                        // A dv; v - v* in sap_newton_evaluate
  double* scratch;                                        // patch vectors and J' G J of a patch

  bool starts_near;     // sap_newton_begin: SAP's own step is first, metrics are not chosen yet
  double deadline;      // by sap_clock_seconds, infinite: none
  const double* known;  // duals to start from by the problem's rows, NaN: none

  sap_newton_state state;
  sap_cholesky* cholesky;  // of this island's pattern
  const sap_patch_kernels* kernels;
  const sap_cone_kernels* cone_kernels;

  // memory that the pointers above are carved from
  struct sap_newton_memory* memory;
} sap_newton;

sap_status sap_newton_create(sap_newton* newton, sap_error* error);
void sap_newton_clear(sap_newton* newton);

// Gathers island `index`. fails: MEMORY; NOT_SPD names a tree whose diagonal of A is not positive.
sap_status sap_newton_gather(sap_newton* newton, const sap_problem* problem,
                             const sap_islands* islands, int32_t index, sap_error* error);
// Patches of the blocks in their order, with all that belongs to rows.
void sap_newton_gather_blocks(sap_newton* newton);
// The block's potential among newton->potentials; NULL: a cone.
const sap_potential* sap_newton_gather_potential(sap_newton* newton, const sap_block_data* block);
// Pattern of H from patches and couplings.
sap_status sap_newton_build_pattern(sap_newton* newton, sap_error* error);
// The kind of patch that a block belongs to.
sap_patch_kind sap_newton_patch_kind(const sap_block_data* block);
sap_block_pattern sap_newton_pattern(const sap_newton* newton);

// vc, u, gamma, cost, gradient and the sums of `state` at newton->v.
void sap_newton_evaluate(sap_newton* newton);
// sum l_i at v (the energy is not in it), to be asked before there is a direction.
double sap_newton_contact_cost(const sap_newton* newton, const double* v);
// cone_d, interval_d = J dv; returns dv' A dv.
double sap_newton_apply_direction(sap_newton* newton);
// y += A x
void sap_newton_add_momentum(const sap_newton* newton, const double* x, double* y);
// values = A + J' G J with the G of sap_newton_linearise, or A alone.
void sap_newton_assemble(sap_newton* newton, bool with_constraints);
// side = J' target - A (v - v*), the right-hand side of a semismooth step.
void sap_newton_target_side(sap_newton* newton, double* side);

// How a step's system comes about; each falls back on the one before it.
typedef enum sap_step_kind {
  SAP_STEP_PRIMAL,          // SAP's own
  SAP_STEP_DUAL_DIRECTION,  // SAP's, with the slip direction relaxed by the dual
  SAP_STEP_SEMISMOOTH       // v and gamma together
} sap_step_kind;
// cone_G, interval_G and the targets at the evaluated point.
void sap_newton_linearise(sap_newton* newton, sap_step_kind kind);
// The duals after a step of length alpha along dv, at the new v.
void sap_newton_move_dual(sap_newton* newton, sap_step_kind kind, double alpha);
// Metrics of the semismooth law.
void sap_newton_choose_metrics(sap_newton* newton);
// Duals to begin with at the evaluated point: P_C(y(v)), or what is known if `recall`.
void sap_newton_start_dual(sap_newton* newton, bool recall);
// Whether the semismooth law at the evaluated point and the recalled duals asks for quite other
// ones, or a contact acts that has none.
bool sap_newton_is_dual_far(const sap_newton* newton);

// A direction dv to search along.
typedef struct sap_direction {
  sap_step_kind kind;      // asked for, then: what it is
  double slope;            // l'(0); >= 0: no direction of descent was found
  double curvature;        // dv' A dv
  int32_t factorizations;  // summed
} sap_direction;
// dv, J dv and the rest of `direction`. fails: NOT_SPD names a tree; MEMORY.
sap_status sap_newton_find_direction(sap_newton* newton, sap_direction* direction,
                                     sap_error* error);

// One step length along dv.
typedef struct sap_step {
  double alpha;
  int32_t evaluations;
} sap_step;
// slope = l'(0) < 0, curvature = dv' A dv. Ends where |l'| <= tolerance |slope| or is round-off.
sap_step sap_newton_exact_search(const sap_newton* newton, double slope, double curvature,
                                 double tolerance);
sap_step sap_newton_backtracking_search(const sap_newton* newton, const sap_solver_options* options,
                                        double slope, double curvature);

#endif
