// SPDX-License-Identifier: BSD-3-Clause
// The Newton iterations, castro Algorithm 2.
//   stop    |D grad| < eps_a + eps_r max(|D A v|, |D J' gamma|)                        castro (26)
//   step    v += alpha dv, alpha by line search on l
// Primal: dv = -H^-1 grad always. Primal-dual (dual.c): semismooth steps while they are good, then
// dual-direction steps while these are. The cost never rises and SAP's own step comes again and
// again, from any point on its way down: so the iterations converge globally as SAP's do (the
// spacer step theorem; Luenberger, Ye, Linear and Nonlinear Programming).
// In floating point the decrease of l drowns in round-off before the gradient stops falling: then
// the gradient decides, and when it no longer falls either, or its parts cancel to the last bit,
// the best iterate is what this precision can give.
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
// about 1/50 of the decrease. The full Newton step is right there.
static const double COST_BLUR = 1000.0 * DBL_EPSILON;
// The gradient has fallen when it is below this part of what it was at the last progress. Noise
// halves itself ever more rarely, so that this ends.
static const double GRADIENT_FALL = 0.5;
// A primal-dual step shorter than this does not fit its linearisation; most are far longer.
static const double GOOD_STEP = 0.05;
// Below this momentum error at the start P_C(y(v)) is a better dual than what is known of the last
// solve. Measured: 0.1 is as good, 0.5 is not.
static const double NEAR_MOMENTUM_ERROR = 0.01;
// Where the cost no longer falls although the momentum error is above this, R is too small for
// double precision: J v's round-off over R is seen.
static const double ROUNDOFF_MOMENTUM_ERROR = 1e-5;
enum {
  ROUNDOFF_PATIENCE = 3,  // steps without progress that end the iterations
  SPACER_INTERVAL = 16    // primal-dual: at least every so many steps one is SAP's own
};

// What the gradient must be below.
static double tolerance_of(const sap_newton_state* s, const sap_solver_options* options) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return options->absolute_tolerance + options->relative_tolerance * scale;
}

static bool is_converged(const sap_newton_state* s, const sap_solver_options* options) {
  return s->gradient < tolerance_of(s, options) || s->gradient == 0.0;
}

static double momentum_error(const sap_newton_state* s) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return s->gradient > 0.0 ? s->gradient / scale : 0.0;
}

static bool is_finite(const sap_newton_state* s) {
  return isfinite(s->cost) && isfinite(s->gradient) && isfinite(s->cost_scale);
}

static sap_status overflow(const sap_newton* n, const char* when, sap_error* error) {
  return sap_fail(error, SAP_STATUS_NOT_FINITE,
                  "cost overflows %s in the island of tree %d: v_star, v_guess, v_hat, 1/R or A "
                  "is too large",
                  when, n->trees[0]);
}

// The island's part of velocities of the problem.
static void gather_velocity(const sap_newton* n, const double* from, double* to) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    memcpy(to + n->start[t], from + n->problem->tree_start[n->trees[t]],
           (size_t)n->size[t] * sizeof(double));
  }
}

static double cost_at(sap_newton* n, const double* v) {
  double* step = n->dv;
  for (int32_t i = 0; i < n->nv; ++i) {
    step[i] = v[i] - n->v_star[i];
  }
  memset(n->product, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, step, n->product);
  return 0.5 * sap_row_dot(step, n->product, n->nv) + sap_newton_contact_cost(n, v);
}

// A guess that is good enough and whose momentum is within the tolerance gives way to v = 0 where
// that is no worse. A body at rest would else drift within the tolerance, with what is left of its
// last blow, until an iteration turns it round, for ever.
static void come_to_rest(sap_newton* n, const sap_solver_options* options) {
  static const double NEARLY = 2.0;
  const double gradient = n->state.gradient;
  if (!(n->state.momentum > 0.0 &&
        n->state.momentum <= NEARLY * tolerance_of(&n->state, options))) {
    return;
  }
  memcpy(n->v_best, n->v, (size_t)n->nv * sizeof(double));
  memset(n->v, 0, (size_t)n->nv * sizeof(double));
  sap_newton_evaluate(n);
  if (!(n->state.gradient <= gradient && is_converged(&n->state, options))) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
}

// The guess if that will do, else the cheapest of the guess, v* and what the stepper expects.
static sap_status start(sap_newton* n, const sap_solver_options* options, sap_error* error) {
  const sap_problem* p = n->problem;
  const double* guess = sap_problem_v_guess(p);
  gather_velocity(n, guess, n->v);
  sap_newton_evaluate(n);
  if (is_finite(&n->state) && is_converged(&n->state, options)) {
    come_to_rest(n, options);
    return SAP_STATUS_OK;
  }
  const double* best = n->v;
  double cost = n->state.cost;
  if (guess != sap_problem_v_star(p)) {
    const double cost_star = sap_newton_contact_cost(n, n->v_star);
    best = cost <= cost_star ? best : n->v_star;
    cost = cost <= cost_star ? cost : cost_star;
  }
  if (p->v_expected != NULL) {
    gather_velocity(n, p->v_expected, n->v_best);
    best = cost_at(n, n->v_best) < cost ? n->v_best : best;
  }
  if (best != n->v) {
    memcpy(n->v, best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
  return is_finite(&n->state) ? SAP_STATUS_OK : overflow(n, "at the start", error);
}

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

static sap_step search(sap_newton* n, const sap_solver_options* options,
                       const sap_direction* direction) {
  const double slope = direction->slope;
  if (options->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_newton_exact_search(n, slope, direction->curvature);
  }
  if (-slope <= COST_BLUR * n->state.cost_scale) {
    return (sap_step){1.0, 0};
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

static void return_to_best(sap_newton* n, const floor_watch* watch) {
  if (n->state.gradient > watch->gradient) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
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
  sap_status status = start(n, options, error);
  sap_step step = {0.0, 0};
  if (status == SAP_STATUS_OK) {
    status = record(n, &step, history, error);
  }
  floor_watch watch = {.cost = n->state.cost, .mark = n->state.gradient};
  keep_best(n, &watch);
  const bool primal_dual = options->newton == SAP_NEWTON_PRIMAL_DUAL;
  sap_direction direction = {.kind = primal_dual ? SAP_STEP_SEMISMOOTH : SAP_STEP_PRIMAL};
  if (status == SAP_STATUS_OK && primal_dual) {
    sap_newton_start_dual(n, !(momentum_error(&n->state) < NEAR_MOMENTUM_ERROR));
  }
  while (status == SAP_STATUS_OK) {
    if (is_converged(&n->state, options)) {
      result->outcome = SAP_OUTCOME_CONVERGED;
      break;
    }
    if (watch.idle >= ROUNDOFF_PATIENCE || momentum_error(&n->state) <= DBL_EPSILON) {
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
    status = sap_newton_find_direction(n, &direction, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    if (!(direction.slope < 0.0)) {
      result->outcome = SAP_OUTCOME_STALLED;
      break;
    }
    step = search(n, options, &direction);
    result->iterations += 1;
    result->evaluations += step.evaluations;
    if (!move(n, step.alpha) && direction.kind == SAP_STEP_PRIMAL) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      break;
    }
    sap_newton_evaluate(n);
    if (!is_finite(&n->state)) {
      status = overflow(n, "after a step", error);
      break;
    }
    if (primal_dual) {
      sap_newton_move_dual(n, direction.kind, step.alpha);
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
    if (!(momentum_error(&n->state) <= ROUNDOFF_MOMENTUM_ERROR)) {
      result->outcome = SAP_OUTCOME_STALLED;
    }
  }
  return status;
}
