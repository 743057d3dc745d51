// SPDX-License-Identifier: BSD-3-Clause
// Where the Newton iterations begin.
#include <math.h>
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/iterate.h"
#include "solvers/primal/patch_vector.h"
#include "solvers/primal/sweep.h"

// Below this momentum error at the start P_C(y(v)) is a better dual than what is known of the last
// solve. Measured: 0.1 is as good, 0.5 is not.
static const double NEAR_MOMENTUM_ERROR = 0.01;

sap_status sap_newton_overflow(const sap_newton* n, const char* when, sap_error* error) {
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
        n->state.momentum <= NEARLY * sap_newton_tolerance(&n->state, options))) {
    return;
  }
  memcpy(n->v_best, n->v, (size_t)n->nv * sizeof(double));
  memset(n->v, 0, (size_t)n->nv * sizeof(double));
  sap_newton_evaluate(n);
  if (!(n->state.gradient <= gradient && sap_newton_is_converged(&n->state, options))) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
}

// Far from the duals that are known: goes to what sweeps find, and to their duals. False where they
// do not help: v is then the guess again, `evaluated` whether it is the last that was.
static bool start_swept(sap_newton* n, bool* evaluated) {
  const double cost = n->state.cost;
  if (!sap_newton_is_sweepable(n) || sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR) {
    return false;
  }
  sap_newton_start_dual(n, true);
  if ((sap_newton_is_finite(&n->state) && !sap_newton_is_dual_far(n)) || !sap_newton_sweep(n)) {
    return false;
  }
  for (int32_t i = 0; i < n->nv; ++i) {
    const double v = n->v[i];
    n->v[i] = n->v_best[i];
    n->v_best[i] = v;
  }
  sap_newton_evaluate(n);
  if (isfinite(n->state.cost) && n->state.cost < cost) {
    return true;
  }
  memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
  *evaluated = false;
  return false;
}

// The cheapest of the guess in v, which costs `cost`, v* unless the guess is near the minimum, and
// what the stepper expects.
static void choose_start(sap_newton* n, double cost, bool evaluated) {
  const sap_problem* p = n->problem;
  const double* best = n->v;
  if (!n->starts_near && sap_problem_v_guess(p) != sap_problem_v_star(p)) {
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
  }
  if (best != n->v || !evaluated) {
    sap_newton_evaluate(n);
  }
}

// Where to begin, and the duals there: the guess if that will do.
sap_status sap_newton_begin(sap_newton* n, const sap_solver_options* options, sap_error* error) {
  const bool primal_dual = options->newton == SAP_NEWTON_PRIMAL_DUAL;
  n->starts_near = false;
  gather_velocity(n, sap_problem_v_guess(n->problem), n->v);
  sap_newton_evaluate(n);
  if (sap_newton_is_finite(&n->state) && sap_newton_is_converged(&n->state, options)) {
    come_to_rest(n, options);
    sap_newton_start_dual(n, false);
    return SAP_STATUS_OK;
  }
  n->starts_near = primal_dual && sap_newton_is_finite(&n->state) &&
                   sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR;
  const bool far = primal_dual && !n->starts_near;
  if (far) {
    sap_newton_choose_metrics(n);
  }
  const double cost = n->state.cost;
  bool evaluated = true;
  if (!(far && start_swept(n, &evaluated))) {
    choose_start(n, cost, evaluated);
    sap_newton_start_dual(n, !(sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR));
  }
  return sap_newton_is_finite(&n->state) ? SAP_STATUS_OK
                                         : sap_newton_overflow(n, "at the start", error);
}
