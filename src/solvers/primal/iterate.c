// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations of one island.                                         castro Algorithm 2
//   stop       |D grad| < eps_a + eps_r max(|D A v|, |D J' gamma|)               castro (26)
//   direction  (A + J' G J) dv = -(A (v - v*) - J' q),  q = gamma in SAP's own step
//   step       v += alpha dv, alpha by line search on l
//
// Primal: SAP's own step always. Primal-dual (linearise.c): semismooth steps while they are good,
// then slip-direction steps while these are. Near the minimum the first step is SAP's own: the same
// there, without metrics. A direction that does not descend gives way to the next kind of step.
//
// The cost never rises, and SAP's own step comes back regularly: the iterations converge globally
// as SAP's do (spacer step theorem; Luenberger, Ye, Linear and Nonlinear Programming). Where
// quadratic convergence promises more than the tolerance, the last step reuses the factors of the
// one before.
//
// Round-off. H may lose A when R is tiny: if H does not factorize although A does, its diagonal is
// raised; dv still descends then. The decrease of l drowns in round-off before the gradient stops
// falling: then the gradient decides. If it no longer falls either, or its parts cancel to the last
// bit, the best iterate is the limit of this precision in v; the impulses, which R tiny makes
// change by much within the last bits of v, are then refined by themselves.
#include "solvers/primal/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/platform.h"
#include "problem/problem_data.h"
#include "solvers/primal/line_search.h"
#include "solvers/primal/patch_vector.h"

// A decrease of the cost below this part of its scale is round-off: a few eps per sum.
static const double COST_ROUNDOFF = 16.0 * DBL_EPSILON;
// Below this part, costs at different step lengths cannot be compared: their differences are about
// 1/50 of the decrease. Slopes can be compared.
static const double COST_BLUR = 1000.0 * DBL_EPSILON;
// The gradient has fallen if it is below this part of its value at the last progress. Noise halves
// ever more rarely.
static const double GRADIENT_FALL = 0.5;
// A primal-dual step shorter than this is bad: its linearisation does not fit.
static const double GOOD_STEP = 0.05;
// If the cost no longer falls above this momentum error, R is too small for double precision: J v's
// round-off over R dominates.
static const double ROUNDOFF_MOMENTUM_ERROR = 1e-5;
// Primal-dual: a search ends where |l'| is below the first part of |l'(0)| and l has fallen by the
// second part of the slope (strong Wolfe conditions). Measured: as many iterations as with searches
// to round-off, which primal steps need.
static const double SLOPE_TOLERANCE = 0.3;
static const double LEAST_DECREASE = 1e-4;
// Weight of the metrics (linearise.c) in the first step, its growth by steps and its bound. A small
// weight finds what new contacts do, a large one ends cycles of contacts that hold each other.
// Measured over piles and robots; 2 to 4, 1.3 to 2 and 20 to 80 differ little.
static const double FIRST_WEIGHT = 3.0, WEIGHT_GROWTH = 1.5, LAST_WEIGHT = 40.0;
// A step is full if its length differs from 1 by less.
static const double FULL_STEP = 0.1;
// A step with old factors must promise this part of the tolerance.
static const double REUSE_MARGIN = 0.3;
// Steps with old factors go on while each leaves at most this part of the gradient.
static const double CHORD_CONTRACTION = 0.2;
enum {
  CHORDS_MAX = 6,         // such steps
  ROUNDOFF_PATIENCE = 3,  // steps without progress that end the iterations
  STALL_PATIENCE = 200,   // the same above that momentum error: corners may still be crossed
  LAST_STEPS = 8,         // steps in the last bits of u
  SPACER_INTERVAL = 16    // primal-dual: every so many steps one is SAP's own
};
// Raises of H's diagonal, relative to it, when H does not factorize: the first, the factor of the
// next.
static const double FIRST_RAISE = 1e-14;
static const double NEXT_RAISE = 100.0;
// SAP's own step has -slope = dv' H dv >= dv' A dv; other steps must have this part of dv' A dv.
static const double SUFFICIENT_SLOPE = 0.1;
// A part of v this small is its last bits; impulses are refined by a step this small.
static const double LAST_BITS = 1e-12, REFINED_STEP = 1e-4;
// Largest H_ii relative to A_ii, of which A is not lost entirely.
static const double MOST_STIFF = 1e17;
enum { MAXIMUM_RAISES = 12 };  // the last raise makes dv the scaled gradient

// A direction dv of search.
typedef struct step_direction {
  sap_step_kind kind;      // wanted; afterwards: found
  double slope;            // l'(0); >= 0: no direction of descent was found
  double curvature;        // dv' A dv
  int32_t factorizations;  // summed over all steps
} step_direction;

// Raises H's diagonal by a part of itself.
static void raise_diagonal(sap_newton* n, double raise) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    double* block = n->values + n->pattern.value_start[n->pattern.column_start[t]];
    for (int32_t i = 0; i < n->size[t]; ++i) {
      block[(size_t)i * (size_t)(n->size[t] + 1)] *= 1.0 + raise;
    }
  }
}

// Returns OK if A factorizes: H failed by round-off. Else fails with NOT_SPD and names the tree.
static sap_status check_momentum(sap_newton* n, sap_error* error) {
  int32_t failed = -1;
  sap_newton_assemble(n, false);
  const sap_status status = sap_cholesky_factorize(n->cholesky, n->values, &failed, error);
  if (status == SAP_STATUS_NOT_SPD) {
    const int32_t tree = failed >= 0 && failed < n->ntrees ? n->trees[failed] : n->trees[0];
    return sap_fail(error, SAP_STATUS_NOT_SPD, "A is not positive definite (found at tree %d)",
                    tree);
  }
  return status;
}

// Solves the assembled system for dv, by more and more exact factors until one serves, and computes
// J dv. *descends: dv is a direction of descent.
static sap_status solve_step(sap_newton* n, step_direction* direction, bool* descends,
                             sap_error* error) {
  *descends = false;
  do {
    int32_t failed;
    const sap_status status = sap_cholesky_factorize(n->cholesky, n->values, &failed, error);
    n->factored = status == SAP_STATUS_OK;
    direction->factorizations += 1;
    SAP_TRY(status);
    if (direction->kind == SAP_STEP_SEMISMOOTH) {
      sap_newton_target_side(n, n->dv);
    } else {
      for (int32_t i = 0; i < n->nv; ++i) {
        n->dv[i] = -n->gradient[i];
      }
    }
  } while (!sap_cholesky_solve(n->cholesky, n->dv));
  direction->slope = sap_row_dot(n->dv, n->gradient, n->nv);
  if (!(direction->slope < 0.0) || !isfinite(direction->slope)) {
    direction->slope = 0.0;
    return SAP_STATUS_OK;
  }
  direction->curvature = sap_newton_apply_direction(n);
  *descends = direction->kind == SAP_STEP_PRIMAL ||
              -direction->slope >= SUFFICIENT_SLOPE * direction->curvature;
  return SAP_STATUS_OK;
}

// Finds the direction of SAP's own step.
static sap_status find_primal_direction(sap_newton* n, step_direction* direction,
                                        sap_error* error) {
  double raise = 0.0;
  for (int attempt = 0; attempt < MAXIMUM_RAISES; ++attempt) {
    sap_newton_assemble(n, true);
    if (raise > 0.0) {
      raise_diagonal(n, raise);
    }
    bool descends;
    const sap_status status = solve_step(n, direction, &descends, error);
    if (descends || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_SPD)) {
      return status;
    }
    if (status == SAP_STATUS_NOT_SPD && attempt == 0) {
      SAP_TRY(check_momentum(n, error));
    }
    raise = raise > 0.0 ? raise * NEXT_RAISE : FIRST_RAISE;
  }
  direction->slope = 0.0;
  return SAP_STATUS_OK;
}

// Finds a direction of descent, starting with direction->kind.  fails: NOT_SPD names a tree; MEMORY
static sap_status find_direction(sap_newton* n, step_direction* direction, sap_error* error) {
  for (; direction->kind != SAP_STEP_PRIMAL; --direction->kind) {
    bool descends;
    sap_newton_linearise(n, direction->kind);
    sap_newton_assemble(n, true);
    const sap_status status = solve_step(n, direction, &descends, error);
    if (descends || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_SPD)) {
      return status;
    }
  }
  sap_newton_linearise(n, SAP_STEP_PRIMAL);
  return find_primal_direction(n, direction, error);
}

// Returns the kind of the next step: after a good step the same, after a bad step the other.
static sap_step_kind plan_step(sap_step_kind last, double alpha, int32_t iterations) {
  if (iterations % SPACER_INTERVAL == 0) {
    return SAP_STEP_PRIMAL;
  }
  const bool good = alpha > GOOD_STEP;
  const bool semismooth = last == SAP_STEP_SLIP_DIRECTION ? !good : good;
  return semismooth || last == SAP_STEP_PRIMAL ? SAP_STEP_SEMISMOOTH : SAP_STEP_SLIP_DIRECTION;
}

static sap_step search_along(const sap_newton* n, const sap_solver_options* options,
                             const step_direction* direction, double tolerance) {
  const double slope = direction->slope;
  const bool blurred = -slope <= COST_BLUR * n->state.cost_scale;
  if (options->line_search == SAP_LINE_SEARCH_EXACT || blurred) {
    return sap_newton_exact_search(n, slope, direction->curvature, tolerance);
  }
  return sap_newton_backtracking_search(n, options, slope, direction->curvature);
}

// v += alpha dv; returns false if no velocity changed.
static bool move_velocities(sap_newton* n, double alpha) {
  bool moved = false;
  for (int32_t i = 0; i < n->nv; ++i) {
    const double next = n->v[i] + alpha * n->dv[i];
    moved = moved || next != n->v[i];
    n->v[i] = next;
  }
  return moved;
}

static void mark_start(sap_newton* n) {
  memcpy(n->v_start, n->v, (size_t)n->nv * sizeof(double));
}

static void return_to_start(sap_newton* n) {
  memcpy(n->v, n->v_start, (size_t)n->nv * sizeof(double));
  sap_newton_evaluate(n);
}

// Steps along the direction to the end of the search. A search that ends early may end at a higher
// l if corners of cones were crossed: then the minimum is searched from the start. Returns false if
// no velocity changed.
static bool step_along(sap_newton* n, const sap_solver_options* options,
                       const step_direction* direction, sap_step* step) {
  const bool exact = options->line_search == SAP_LINE_SEARCH_EXACT;
  const bool early = exact && options->newton != SAP_NEWTON_PRIMAL;
  const double cost = n->state.cost;
  mark_start(n);
  *step = search_along(n, options, direction, exact && !early ? 0.0 : SLOPE_TOLERANCE);
  bool moved = move_velocities(n, step->alpha);
  sap_newton_evaluate(n);
  const double bound = cost + LEAST_DECREASE * step->alpha * direction->slope;
  if (early && n->state.cost > bound + COST_BLUR * n->state.cost_scale) {
    const int32_t evaluations = step->evaluations;
    return_to_start(n);
    *step = search_along(n, options, direction, 0.0);
    step->evaluations += evaluations;
    moved = move_velocities(n, step->alpha);
    sap_newton_evaluate(n);
  }
  return moved;
}

// Progress above the floor of round-off.
typedef struct floor_watch {
  double cost;      // the least so far
  double gradient;  // of v_best
  double mark;      // gradient at the last progress
  int32_t idle;     // steps in a row without progress
} floor_watch;

static void keep_best(sap_newton* n, floor_watch* watch) {
  watch->gradient = n->state.gradient;
  memcpy(n->v_best, n->v, (size_t)n->nv * sizeof(double));
}

static void watch_floor(sap_newton* n, floor_watch* watch) {
  const bool descends = watch->cost - n->state.cost > COST_ROUNDOFF * n->state.cost_scale;
  const bool falls = n->state.gradient < GRADIENT_FALL * watch->mark;
  watch->idle += 1;
  if (descends || falls) {
    watch->cost = descends ? n->state.cost : watch->cost;
    watch->idle = 0;
    watch->mark = n->state.gradient;
  }
  if (descends || n->state.gradient < watch->gradient) {
    keep_best(n, watch);
  }
}

// Returns true if the stopping test holds at least with the tolerance of round-off.
static bool is_small(const sap_newton* n, const sap_solver_options* options) {
  sap_solver_options loose = *options;
  loose.relative_tolerance = fmax(options->relative_tolerance, ROUNDOFF_MOMENTUM_ERROR);
  return sap_newton_is_converged(n, &loose);
}

static bool is_at_floor(const sap_newton* n, const sap_solver_options* options,
                        const floor_watch* watch) {
  if (watch->idle < ROUNDOFF_PATIENCE && sap_newton_momentum_error(&n->state) > DBL_EPSILON) {
    return false;
  }
  return watch->idle >= STALL_PATIENCE || is_small(n, options);
}

// Returns true if a step with the factors of the last one promises convergence: it falls short of
// Newton's step as the last one did, which reduced the gradient from `before`.
static bool can_reuse_factors(const sap_newton* n, const sap_solver_options* options,
                              const sap_step* last, double before) {
  const double gradient = n->state.gradient;
  const double left = fmax(gradient / before, sap_cholesky_residual(n->cholesky));
  return fabs(last->alpha - 1.0) < FULL_STEP &&
         left * gradient < REUSE_MARGIN * sap_newton_tolerance(&n->state, options);
}

// Takes that step, in SAP's own direction and of length 1; undoes it unless it converges or leaves
// at most the part `accepted` of the gradient.
static bool step_with_old_factors(sap_newton* n, const sap_solver_options* options,
                                  double accepted) {
  const double before = n->state.gradient;
  mark_start(n);
  for (int32_t i = 0; i < n->nv; ++i) {
    n->dv[i] = -n->gradient[i];
  }
  if (!sap_cholesky_solve(n->cholesky, n->dv)) {
    n->factored = false;
    return false;
  }
  (void)move_velocities(n, 1.0);
  sap_newton_evaluate(n);
  if (sap_newton_is_finite(&n->state) &&
      (n->state.gradient <= accepted * before || sap_newton_is_converged(n, options))) {
    sap_newton_start_multipliers(n, false);
    return true;
  }
  return_to_start(n);
  return false;
}

// Where other v_hat and v_star move the solution a little: such steps while they contract. Returns
// their number.
static int32_t continue_with_old_factors(sap_newton* n, const sap_solver_options* options) {
  int32_t steps = 0;
  while (n->again && n->factored && n->starts_near && steps < options->max_iterations &&
         steps < CHORDS_MAX && !sap_newton_is_converged(n, options) &&
         step_with_old_factors(n, options, CHORD_CONTRACTION)) {
    ++steps;
  }
  return steps;
}

// v += dv; gamma -= G J dv. Where G jumps that may leave the set: contacts do not pull, friction is
// at most mu gamma_n, and rows stay within their bounds.
static void refine_step(sap_newton* n) {
  const size_t cones = 3 * (size_t)n->ncones * sizeof(double);
  const size_t rows = (size_t)n->nrows * sizeof(double);
  memcpy(n->cone_target, n->cone_gamma, cones);
  memcpy(n->row_target, n->row_gamma, rows);
  memset(n->cone_gamma, 0, cones);
  memset(n->row_gamma, 0, rows);
  sap_newton_move_multipliers(n, SAP_STEP_SEMISMOOTH, 1.0);
  sap_newton_move(n, 1.0);
  memcpy(n->cone_gamma, n->cone_lambda, cones);
  memcpy(n->row_gamma, n->row_lambda, rows);
  for (int32_t c = 2 * n->ncones; c < 3 * n->ncones; ++c) {
    n->cone_gamma[c] = fmax(n->cone_gamma[c], 0.0);
  }
  for (int32_t k = 0; k < n->ncones_n; ++k) {
    double* normal = &n->row_gamma[n->cones_n[k].first + SAP_NORMAL_ROW];
    *normal = fmax(*normal, 0.0);
  }
  for (int32_t k = 0; k < n->nintervals; ++k) {
    n->row_gamma[k] = fmin(n->intervals[k].upper, fmax(n->intervals[k].lower, n->row_gamma[k]));
  }
  sap_newton_balance(n, 0.0, 0.0);
}

// Returns true if A is not lost in the numbers of H.
static bool keeps_mass(const sap_newton* n) {
  double most = 0.0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const double* block = n->values + n->pattern.value_start[n->pattern.column_start[t]];
    for (int32_t i = 0; i < n->size[t]; ++i) {
      most = fmax(most, block[(size_t)i * (size_t)(n->size[t] + 1)] / n->mass[n->start[t] + i]);
    }
  }
  return most < MOST_STIFF;
}

// Where v can no longer improve in its last bits, u and the impulses still can: SAP's own steps go
// on with u carried along. If they do not converge, the rest of the balance goes to the impulses.
// Where G jumps they then miss the law by at most J dv. Sets the outcome if v + dv balances and dv
// is within the tolerance; else all is as before.
static sap_status refine_impulses(sap_newton* n, const sap_solver_options* options,
                                  step_direction* direction, sap_report* result, sap_error* error) {
  mark_start(n);
  for (int32_t k = 0;; ++k) {
    direction->kind = SAP_STEP_PRIMAL;
    SAP_TRY(find_direction(n, direction, error));
    if (k == LAST_STEPS || !(direction->slope < 0.0)) {
      break;
    }
    sap_newton_move(n, search_along(n, options, direction, 0.0).alpha);
    if (sap_newton_is_finite(&n->state) && sap_newton_is_converged(n, options)) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      return SAP_STATUS_OK;
    }
  }
  const sap_newton_state state = n->state;
  const bool exact = keeps_mass(n) && sap_newton_is_negligible(n, options, LAST_BITS);
  if (sap_newton_is_negligible(n, options, fmax(options->relative_tolerance, REFINED_STEP))) {
    refine_step(n);
    n->state.cost = state.cost;
    n->state.cost_scale = state.cost_scale;
    if (sap_newton_is_finite(&n->state) && (exact || sap_newton_is_converged(n, options))) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      return SAP_STATUS_OK;
    }
  }
  return_to_start(n);
  return SAP_STATUS_OK;
}

// Where progress has ended: ends the iterations at the best iterate. At a first pause, only if the
// impulses can be refined.
static sap_status end_at_floor(sap_newton* n, const sap_solver_options* options,
                               const floor_watch* watch, step_direction* direction, bool ends,
                               sap_report* result, sap_error* error) {
  SAP_TRY(sap_cholesky_allow_inexact(n->cholesky, NULL, error));
  if (ends && n->state.gradient > watch->gradient) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
  SAP_TRY(refine_impulses(n, options, direction, result, error));
  if (ends && result->outcome != SAP_OUTCOME_ROUNDOFF) {
    result->outcome = is_small(n, options) ? SAP_OUTCOME_ROUNDOFF : SAP_OUTCOME_STALLED;
  }
  return SAP_STATUS_OK;
}

static sap_status record_iterate(const sap_newton* n, const sap_step* step, sap_history* history,
                                 sap_error* error) {
  SAP_RETURN_IF(history == NULL, SAP_STATUS_OK);
  sap_history_row row = sap_newton_row(&n->state);
  row.step_length = step->alpha;
  row.evaluations = step->evaluations;
  return sap_history_add(history, &row, error);
}

sap_status sap_newton_iterate(sap_newton* n, const sap_solver_options* options,
                              sap_history* history, sap_report* result, sap_error* error) {
  *result =
      (sap_report){.outcome = SAP_OUTCOME_ITERATION_LIMIT, .islands = 1, .largest_island = n->nv};
  const bool primal_dual = options->newton == SAP_NEWTON_PRIMAL_DUAL;
  n->weight = FIRST_WEIGHT;
  SAP_TRY(sap_newton_begin(n, options, error));
  SAP_TRY(sap_cholesky_allow_inexact(n->cholesky, primal_dual ? n->mass : NULL, error));
  sap_step step = {0.0, 0};
  const int32_t chords = continue_with_old_factors(n, options);
  SAP_TRY(record_iterate(n, &step, history, error));
  floor_watch watch = {.cost = n->state.cost, .mark = n->state.gradient};
  keep_best(n, &watch);
  step_direction direction = {.kind = primal_dual && !n->starts_near ? SAP_STEP_SEMISMOOTH
                                                                     : SAP_STEP_PRIMAL};
  double before = n->state.gradient;
  bool stuck = false;  // no velocity changed
  for (;;) {
    if (sap_newton_is_converged(n, options)) {
      result->outcome = SAP_OUTCOME_CONVERGED;
      break;
    }
    const bool ends = stuck || is_at_floor(n, options, &watch);
    if (ends || watch.idle == ROUNDOFF_PATIENCE) {
      SAP_TRY(end_at_floor(n, options, &watch, &direction, ends, result, error));
      if (result->outcome != SAP_OUTCOME_ITERATION_LIMIT) {
        break;
      }
    }
    if (result->iterations >= options->max_iterations) {
      break;
    }
    if (isfinite(n->deadline) && sap_clock_seconds() >= n->deadline) {
      result->outcome = SAP_OUTCOME_TIME_LIMIT;
      break;
    }
    if (primal_dual && result->iterations > 0 && can_reuse_factors(n, options, &step, before) &&
        step_with_old_factors(n, options, 0.0)) {
      result->iterations += 1;
      result->outcome = SAP_OUTCOME_CONVERGED;
      SAP_TRY(record_iterate(n, &(sap_step){1.0, 0}, history, error));
      break;
    }
    if (n->starts_near && result->iterations == 1) {
      sap_newton_choose_metrics(n);
    }
    before = n->state.gradient;
    SAP_TRY(find_direction(n, &direction, error));
    if (!(direction.slope < 0.0)) {
      result->outcome = SAP_OUTCOME_STALLED;
      break;
    }
    const bool moved = step_along(n, options, &direction, &step);
    result->iterations += 1;
    result->evaluations += step.evaluations;
    stuck = !moved && direction.kind == SAP_STEP_PRIMAL;
    if (stuck) {
      continue;
    }
    if (!sap_newton_is_finite(&n->state)) {
      return sap_newton_overflow(n, "after a step", error);
    }
    if (primal_dual) {
      n->weight = fmin(WEIGHT_GROWTH * n->weight, LAST_WEIGHT);
      if (n->starts_near && result->iterations == 1) {  // near the minimum: carries none along
        sap_newton_start_multipliers(n, false);
      } else {
        sap_newton_move_multipliers(n, direction.kind, step.alpha);
      }
    }
    watch_floor(n, &watch);
    if (primal_dual) {
      // SAP's own step comes last before the patience ends; in a row, these zigzag between corners.
      const bool last = watch.idle == ROUNDOFF_PATIENCE - 1;
      direction.kind =
          last ? SAP_STEP_PRIMAL : plan_step(direction.kind, step.alpha, result->iterations);
    }
    SAP_TRY(record_iterate(n, &step, history, error));
  }
  result->factorizations = direction.factorizations;
  result->total_iterations = result->iterations += chords;
  result->cost = n->state.cost;
  return SAP_STATUS_OK;
}
