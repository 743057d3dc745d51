// SPDX-License-Identifier: BSD-3-Clause
// The start of the Newton iterations: metrics of the semismooth law, multipliers, velocities.
// Metric rho (linearise.c): 1/w, w the mean of W_ii's diagonal, W estimated from the diagonal of A.
#include "solvers/primal/newton.h"

#include <math.h>
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

// Below this momentum error at the start P_C(y(v)) is a better multiplier than that of the previous
// solve. Measured: 0.1 is as good, 0.5 is not.
static const double NEAR_MOMENTUM_ERROR = 0.01;
// Returns J M^-1 J' of a row, by two independent sums.
static inline double row_weight(const double* restrict J, const double* restrict inverse_mass,
                                int32_t ncols) {
  double even = 0.0, odd = 0.0;
  int32_t i = 0;
  for (; i + 2 <= ncols; i += 2) {
    even += J[i] * J[i] * inverse_mass[i];
    odd += J[i + 1] * J[i + 1] * inverse_mass[i + 1];
  }
  return i < ncols ? even + odd + J[i] * J[i] * inverse_mass[i] : even + odd;
}

void sap_newton_choose_metrics(sap_newton* n) {
  double* inverse_mass = n->product;
  for (int32_t i = 0; i < n->nv; ++i) {
    inverse_mass[i] = 1.0 / n->mass[i];
  }
  for (int32_t p = 0; p < n->npatches; ++p) {
    const sap_patch* patch = &n->patches[p];
    const double* J = n->jacobian + patch->jacobian;
    sap_patch_gather(n, patch, inverse_mass, n->scratch);
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
      const bool cones = patch->kind == SAP_PATCH_CONES, cones_n = patch->kind == SAP_PATCH_CONES_N;
      const int32_t rows = cones ? 3 : (cones_n ? n->cones_n[k].nrows : 1);
      double* rho = cones ? &n->cone_rho[k] : cones_n ? &n->cones_n[k].rho : &n->interval_rho[k];
      double trace = 0.0;  // of W_ii
      for (int32_t r = 0; r < rows; ++r, J += patch->ncols) {
        trace += row_weight(J, n->scratch, patch->ncols);
      }
      *rho = rows / trace;
    }
  }
}

void sap_newton_start_multipliers(sap_newton* n, bool recall) {
  const size_t nc = (size_t)n->ncones;
  memcpy(n->cone_lambda, n->cone_gamma, 3 * nc * sizeof(double));
  memcpy(n->row_lambda, n->row_gamma, (size_t)n->nrows * sizeof(double));
  for (size_t c = 0; recall && c < nc; ++c) {
    const double* gamma = n->recalled + n->cone_row[c];
    const bool known = !isnan(gamma[0]);
    sap_triple_store(n->cone_lambda, nc, c,
                     known ? (sap_triple){gamma[0], gamma[1], gamma[2]} : (sap_triple){0});
  }
  for (int32_t k = 0; recall && k < n->nrows; ++k) {
    const double gamma = n->recalled[n->problem_row[k]];
    n->row_lambda[k] = isnan(gamma) ? 0.0 : gamma;
  }
}

sap_status sap_newton_overflow(const sap_newton* n, const char* when, sap_error* error) {
  return sap_fail(error, SAP_STATUS_NOT_FINITE,
                  "cost overflows %s in the island of tree %d: v_star, v_guess, v_hat, 1/R or A "
                  "is too large",
                  when, n->trees[0]);
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

// Replaces a converged guess whose momentum is within the tolerance by v = 0 if that is no worse.
// Else a body at rest would drift within the tolerance, with the rest of its last impact.
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
  if (!(n->state.gradient <= gradient && sap_newton_is_converged(n, options))) {
    memcpy(n->v, n->v_best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
}

// Moves to the cheapest of: the guess in v, which costs `cost`; v*, unless the guess is near the
// minimum; the velocities that the stepper expects, which cost `expected`; NAN: unknown.
static void choose_start(sap_newton* n, double cost, double expected) {
  const sap_problem* p = n->problem;
  const double* best = n->v;
  if (!n->starts_near && sap_problem_v_guess(p) != sap_problem_v_star(p)) {
    const double cost_star = sap_newton_contact_cost(n, n->v_star);
    best = cost <= cost_star ? best : n->v_star;
    cost = cost <= cost_star ? cost : cost_star;
  }
  if (p->v_expected != NULL) {
    sap_problem_gather_trees(n->problem, n->trees, n->ntrees, p->v_expected, n->v_best);
    expected = isnan(expected) ? cost_at(n, n->v_best) : expected;
    best = expected < cost ? n->v_best : best;
  }
  if (best != n->v) {
    memcpy(n->v, best, (size_t)n->nv * sizeof(double));
    sap_newton_evaluate(n);
  }
}

// Where cones are few, which rarely come to rest: moves to the velocities that the stepper expects.
// Returns false if their momentum error is large. *cost: theirs, if they were evaluated.
static bool start_expected(sap_newton* n, double* cost) {
  if (n->problem->v_expected == NULL || 2 * n->ncones > n->nrows) {
    return false;
  }
  sap_problem_gather_trees(n->problem, n->trees, n->ntrees, n->problem->v_expected, n->v);
  sap_newton_evaluate(n);
  *cost = n->state.cost;
  return sap_newton_is_finite(&n->state) &&
         sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR;
}

sap_status sap_newton_begin(sap_newton* n, const sap_solver_options* options, sap_error* error) {
  const bool primal_dual = options->newton == SAP_NEWTON_PRIMAL_DUAL;
  double expected = (double)NAN;
  n->starts_near = primal_dual && !n->again && start_expected(n, &expected);
  if (n->starts_near) {
    sap_newton_start_multipliers(n, false);
    return SAP_STATUS_OK;
  }
  sap_problem_gather_trees(n->problem, n->trees, n->ntrees, sap_problem_v_guess(n->problem), n->v);
  sap_newton_evaluate(n);
  if (sap_newton_is_finite(&n->state) && sap_newton_is_converged(n, options)) {
    come_to_rest(n, options);
    sap_newton_start_multipliers(n, false);
    return SAP_STATUS_OK;
  }
  if (n->again && n->factored && primal_dual && sap_newton_is_finite(&n->state)) {
    n->starts_near = true;
    sap_newton_start_multipliers(n, false);
    return SAP_STATUS_OK;
  }
  n->starts_near = primal_dual && sap_newton_is_finite(&n->state) &&
                   sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR;
  if (primal_dual && !n->starts_near) {
    sap_newton_choose_metrics(n);
  }
  choose_start(n, n->state.cost, expected);
  sap_newton_start_multipliers(n, !(sap_newton_momentum_error(&n->state) < NEAR_MOMENTUM_ERROR));
  return sap_newton_is_finite(&n->state) ? SAP_STATUS_OK
                                         : sap_newton_overflow(n, "at the start", error);
}
