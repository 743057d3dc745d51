// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations, castro Algorithm 2.
//   stop    |D grad| < eps_a + eps_r max(|D A v|, |D J' gamma|)                        castro (26)
//   step    v += alpha dv, alpha by line search on l
// Primal: dv = -H^-1 grad always. Primal-dual (dual.c): semismooth steps while they are good, then
// dual-direction steps while these are; from near the minimum the first is SAP's own, which is the
// same there and needs no metrics. The cost never rises and SAP's own step comes again and
// again, from any point on its way down: so the iterations converge globally as SAP's do (the
// spacer step theorem; Luenberger, Ye, Linear and Nonlinear Programming). Where quadratic
// convergence promises more than is asked for, the last step takes the factors of the one before
// it. In floating point the decrease of l drowns in round-off before the gradient stops falling:
// then the gradient decides, and when it no longer falls either, or its parts cancel to the last
// bit, the best iterate is what this precision can give.
#include "solvers/primal/iterate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

// A decrease of the cost below this part of its scale is round-off: a few eps per sum.
static const double COST_ROUNDOFF = 16.0 * DBL_EPSILON;
// Below this part, costs at different step lengths cannot be told apart: their differences are
// about 1/50 of the decrease. Slopes can.
static const double COST_BLUR = 1000.0 * DBL_EPSILON;
// The gradient has fallen when it is below this part of what it was at the last progress. Noise
// halves itself ever more rarely, so that this ends.
static const double GRADIENT_FALL = 0.5;
// A primal-dual step shorter than this does not fit its linearisation; most are far longer.
static const double GOOD_STEP = 0.05;
// Where the cost no longer falls although the momentum error is above this, R is too small for
// double precision: J v's round-off over R is seen.
static const double ROUNDOFF_MOMENTUM_ERROR = 1e-5;
// Primal-dual: a search ends where l' is below this part of what it was and l has fallen by that
// part of the line's slope (the strong Wolfe conditions). Measured: as many iterations as with
// searches to round-off, which the primal method's steps want.
static const double SLOPE_TOLERANCE = 0.1;
static const double LEAST_DECREASE = 1e-4;
// A step of this length but for that part of it is a full one.
static const double FULL_STEP = 0.1;
// Part of the tolerance that a step with old factors has to promise.
static const double REUSE_MARGIN = 0.3;
enum {
  ROUNDOFF_PATIENCE = 3,  // steps without progress that end the iterations
  STALL_PATIENCE = 30,    // the same above that momentum error: corner after corner may be crossed
  SPACER_INTERVAL = 16    // primal-dual: at least every so many steps one is SAP's own
};

// The kind of the step that follows one of length alpha: the same after a good one, the other after
// a bad one.
static sap_step_kind plan(sap_step_kind last, double alpha, int32_t iterations) {
  if (iterations % SPACER_INTERVAL == 0) {
    return SAP_STEP_PRIMAL;
  }
  const bool good = alpha > GOOD_STEP;
  const bool semismooth = last == SAP_STEP_DUAL_DIRECTION ? !good : good;
  return semismooth || last == SAP_STEP_PRIMAL ? SAP_STEP_SEMISMOOTH : SAP_STEP_DUAL_DIRECTION;
}

static sap_step search(const sap_newton* n, const sap_solver_options* options,
                       const sap_direction* direction, double tolerance) {
  const double slope = direction->slope;
  const bool blurred = -slope <= COST_BLUR * n->state.cost_scale;
  if (options->line_search == SAP_LINE_SEARCH_EXACT || blurred) {
    return sap_newton_exact_search(n, slope, direction->curvature, tolerance);
  }
  return sap_newton_backtracking_search(n, options, slope, direction->curvature);
}

// v += alpha dv; false when no velocity changed.
static bool move(sap_newton* n, double alpha) {
  bool moved = false;
  for (int32_t i = 0; i < n->nv; ++i) {
    const double next = n->v[i] + alpha * n->dv[i];
    moved = moved || next != n->v[i];
    n->v[i] = next;
  }
  return moved;
}

// Keeps v, and goes back to it.
static void mark_start(sap_newton* n) {
  memcpy(n->v_start, n->v, (size_t)n->nv * sizeof(double));
}

static void return_to_start(sap_newton* n) {
  memcpy(n->v, n->v_start, (size_t)n->nv * sizeof(double));
  sap_newton_evaluate(n);
}

// One step along the direction, to where the search ends. Where it ends early l may be higher, if
// cones' corners were crossed: then the minimum itself is looked for, from where it began. False
// when no velocity changed.
static bool step_along(sap_newton* n, const sap_solver_options* options,
                       const sap_direction* direction, sap_step* step) {
  const bool exact = options->line_search == SAP_LINE_SEARCH_EXACT;
  const bool early = exact && options->newton != SAP_NEWTON_PRIMAL;
  const double cost = n->state.cost;
  mark_start(n);
  *step = search(n, options, direction, exact && !early ? 0.0 : SLOPE_TOLERANCE);
  bool moved = move(n, step->alpha);
  sap_newton_evaluate(n);
  const double bound = cost + LEAST_DECREASE * step->alpha * direction->slope;
  if (early && n->state.cost > bound + COST_BLUR * n->state.cost_scale) {
    const int32_t evaluations = step->evaluations;
    return_to_start(n);
    *step = search(n, options, direction, 0.0);
    step->evaluations += evaluations;
    moved = move(n, step->alpha);
    sap_newton_evaluate(n);
  }
  return moved;
}

// Watches for the floor of round-off.
typedef struct floor_watch {
  double cost;      // the lowest so far
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

static bool is_at_floor(const sap_newton* n, const floor_watch* watch) {
  const double error = sap_newton_momentum_error(&n->state);
  const bool small = error <= ROUNDOFF_MOMENTUM_ERROR;
  return watch->idle >= (small ? ROUNDOFF_PATIENCE : STALL_PATIENCE) || error <= DBL_EPSILON;
}

static void return_to_best(sap_newton* n, const floor_watch* watch) {
  if (n->state.gradient > watch->gradient) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
}

// Whether another step with the factors of the last one is enough: it falls short of Newton's by as
// much as the last step did, which took the gradient from `before` to what it is.
static bool can_reuse_factors(const sap_newton* n, const sap_solver_options* options,
                              const sap_step* last, double before) {
  const double gradient = n->state.gradient;
  return fabs(last->alpha - 1.0) < FULL_STEP &&
         gradient / before * gradient < REUSE_MARGIN * sap_newton_tolerance(&n->state, options);
}

// That step, in SAP's own direction and of length 1; undone unless the iterations end there.
static bool end_with_old_factors(sap_newton* n, const sap_solver_options* options) {
  mark_start(n);
  for (int32_t i = 0; i < n->nv; ++i) {
    n->dv[i] = -n->gradient[i];
  }
  sap_cholesky_solve(n->cholesky, n->dv);
  (void)move(n, 1.0);
  sap_newton_evaluate(n);
  if (sap_newton_is_finite(&n->state) && sap_newton_is_converged(&n->state, options)) {
    sap_newton_start_dual(n, false);
    return true;
  }
  return_to_start(n);
  return false;
}

// The duals after a step: SAP's own from near the minimum carries none along.
static void follow(sap_newton* n, sap_step_kind kind, const sap_step* step, int32_t iterations) {
  if (n->starts_near && iterations == 1) {
    sap_newton_start_dual(n, false);
  } else {
    sap_newton_move_dual(n, kind, step->alpha);
  }
}

static sap_status record(const sap_newton* n, const sap_step* step, sap_history* history,
                         sap_error* error) {
  if (history == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_newton_state* s = &n->state;
  const sap_history_row row = {.cost = s->cost,
                               .gradient_2 = s->gradient * s->gradient,
                               .momentum_2 = s->momentum * s->momentum,
                               .impulse_2 = s->impulse * s->impulse,
                               .step_length = step->alpha,
                               .evaluations = step->evaluations};
  return sap_history_add(history, &row, error);
}

sap_status sap_newton_iterate(sap_newton* n, const sap_solver_options* options,
                              sap_history* history, sap_iterate_result* result, sap_error* error) {
  *result = (sap_iterate_result){.outcome = SAP_OUTCOME_ITERATION_LIMIT};
  sap_status status = sap_newton_begin(n, options, error);
  sap_step step = {0.0, 0};
  if (status == SAP_STATUS_OK) {
    status = record(n, &step, history, error);
  }
  floor_watch watch = {.cost = n->state.cost, .mark = n->state.gradient};
  keep_best(n, &watch);
  const bool primal_dual = options->newton == SAP_NEWTON_PRIMAL_DUAL;
  sap_direction direction = {.kind = primal_dual && !n->starts_near ? SAP_STEP_SEMISMOOTH
                                                                    : SAP_STEP_PRIMAL};
  double before = n->state.gradient;
  while (status == SAP_STATUS_OK) {
    if (sap_newton_is_converged(&n->state, options)) {
      result->outcome = SAP_OUTCOME_CONVERGED;
      break;
    }
    if (is_at_floor(n, &watch)) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      break;
    }
    if (result->iterations >= options->max_iterations) {
      break;
    }
    if (isfinite(n->deadline) && sap_clock_seconds() >= n->deadline) {
      result->outcome = SAP_OUTCOME_TIME_LIMIT;
      break;
    }
    if (primal_dual && result->iterations > 0 && can_reuse_factors(n, options, &step, before) &&
        end_with_old_factors(n, options)) {
      result->iterations += 1;
      result->outcome = SAP_OUTCOME_CONVERGED;
      status = record(n, &(sap_step){1.0, 0}, history, error);
      break;
    }
    if (n->starts_near && result->iterations == 1) {
      sap_newton_choose_metrics(n);
    }
    before = n->state.gradient;
    status = sap_newton_find_direction(n, &direction, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    if (!(direction.slope < 0.0)) {
      result->outcome = SAP_OUTCOME_STALLED;
      break;
    }
    const bool moved = step_along(n, options, &direction, &step);
    result->iterations += 1;
    result->evaluations += step.evaluations;
    if (!moved && direction.kind == SAP_STEP_PRIMAL) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      break;
    }
    if (!sap_newton_is_finite(&n->state)) {
      status = sap_newton_overflow(n, "after a step", error);
      break;
    }
    if (primal_dual) {
      follow(n, direction.kind, &step, result->iterations);
    }
    watch_floor(n, &watch);
    if (primal_dual) {
      direction.kind =
          watch.idle > 0 ? SAP_STEP_PRIMAL : plan(direction.kind, step.alpha, result->iterations);
    }
    status = record(n, &step, history, error);
  }
  result->factorizations = direction.factorizations;
  if (status == SAP_STATUS_OK && result->outcome == SAP_OUTCOME_ROUNDOFF) {
    return_to_best(n, &watch);
    if (!(sap_newton_momentum_error(&n->state) <= ROUNDOFF_MOMENTUM_ERROR)) {
      result->outcome = SAP_OUTCOME_STALLED;
    }
  }
  return status;
}
