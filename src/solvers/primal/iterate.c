// SPDX-License-Identifier: BSD-3-Clause
// SAP's Newton iterations, castro Algorithm 2.
//   stop    |D grad| < eps_a + eps_r max(|D A v|, |D J' gamma|)                        castro (26)
//   step    dv = -H^-1 grad,  H = A + J' G J,  v += alpha dv
// In floating point two things need care. H may lose A to round-off when R is tiny: if it does not
// factorize although A does, its diagonal is raised, which keeps dv a direction of descent. And the
// decrease of l drowns in round-off before the gradient stops falling: then the gradient decides,
// and when it no longer falls either, the best iterate is what this precision can give.
#include "solvers/primal/iterate.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
// First raise of H's diagonal, relative to it, when H does not factorize; the factor of the next.
static const double FIRST_RAISE = 1e-14;
static const double NEXT_RAISE = 100.0;
enum {
  ROUNDOFF_PATIENCE = 3,  // steps without progress that end the iterations
  MAXIMUM_RAISES = 12     // the last raise makes dv the scaled gradient
};

static bool is_converged(const sap_newton_state* s, const sap_solver_options* options) {
  const double scale = s->momentum > s->impulse ? s->momentum : s->impulse;
  return s->gradient < options->absolute_tolerance + options->relative_tolerance * scale ||
         s->gradient == 0.0;
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

static sap_status start(sap_newton* n, const sap_solver_options* options, sap_error* error) {
  const sap_problem* p = n->problem;
  const double* guess = sap_problem_v_guess(p);
  for (int32_t t = 0; t < n->ntrees; ++t) {
    memcpy(n->v + n->start[t], guess + p->tree_start[n->trees[t]],
           (size_t)n->size[t] * sizeof(double));
  }
  sap_newton_evaluate(n);
  if (guess != sap_problem_v_star(p) &&
      !(is_finite(&n->state) && is_converged(&n->state, options))) {
    const double cost_star = sap_newton_contact_cost(n, n->v_star);
    if (!(n->state.cost <= cost_star)) {
      memcpy(n->v, n->v_star, (size_t)n->nv * sizeof(double));
      sap_newton_evaluate(n);
    }
  }
  return is_finite(&n->state) ? SAP_STATUS_OK : overflow(n, "at the start", error);
}

// Raises H's diagonal by a part of itself.
static void raise_diagonal(sap_newton* n, double raise) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    double* block = n->values + n->value_start[n->column_start[t]];
    for (int32_t i = 0; i < n->size[t]; ++i) {
      block[(size_t)i * (size_t)(n->size[t] + 1)] *= 1.0 + raise;
    }
  }
}

// OK: A is SPD, it is H's round-off. NOT_SPD names the tree.
static sap_status blame_momentum(sap_newton* n, sap_error* error) {
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

// dv and its slope l'(0); slope stays >= 0 when no direction of descent was found.
static sap_status find_direction(sap_newton* n, sap_iterate_result* result, double* slope,
                                 sap_error* error) {
  double raise = 0.0;
  *slope = 0.0;
  for (int attempt = 0; attempt < MAXIMUM_RAISES; ++attempt) {
    sap_newton_assemble(n, true);
    if (raise > 0.0) {
      raise_diagonal(n, raise);
    }
    int32_t failed;
    sap_status status = sap_cholesky_factorize(n->cholesky, n->values, &failed, error);
    result->factorizations += 1;
    if (status == SAP_STATUS_OK) {
      for (int32_t i = 0; i < n->nv; ++i) {
        n->dv[i] = -n->gradient[i];
      }
      sap_cholesky_solve(n->cholesky, n->dv);
      *slope = sap_row_dot(n->dv, n->gradient, n->nv);
      if (*slope < 0.0 && isfinite(*slope)) {
        return SAP_STATUS_OK;
      }
    } else if (status == SAP_STATUS_NOT_SPD && attempt == 0) {
      status = blame_momentum(n, error);
    }
    if (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_SPD) {
      return status;
    }
    if (status == SAP_STATUS_NOT_SPD && attempt == 0) {
      return status;
    }
    raise = raise > 0.0 ? raise * NEXT_RAISE : FIRST_RAISE;
  }
  *slope = 0.0;
  return SAP_STATUS_OK;
}

static sap_step search(sap_newton* n, const sap_solver_options* options, double slope) {
  const double curvature = sap_newton_apply_direction(n);
  if (options->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_newton_exact_search(n, slope, curvature);
  }
  if (-slope <= COST_BLUR * n->state.cost_scale) {
    return (sap_step){1.0, 0};
  }
  return sap_newton_backtracking_search(n, options, slope, curvature);
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
  double cost;      // of the iterate before
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
  watch->cost = n->state.cost;
  if (descends || falls) {
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
  while (status == SAP_STATUS_OK) {
    if (is_converged(&n->state, options)) {
      result->outcome = SAP_OUTCOME_CONVERGED;
      break;
    }
    if (watch.idle >= ROUNDOFF_PATIENCE) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      break;
    }
    if (result->iterations >= options->max_iterations) {
      break;
    }
    double slope;
    status = find_direction(n, result, &slope, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    if (!(slope < 0.0)) {
      result->outcome = SAP_OUTCOME_STALLED;
      break;
    }
    step = search(n, options, slope);
    result->iterations += 1;
    result->evaluations += step.evaluations;
    if (!move(n, step.alpha)) {
      result->outcome = SAP_OUTCOME_ROUNDOFF;
      break;
    }
    sap_newton_evaluate(n);
    if (!is_finite(&n->state)) {
      status = overflow(n, "after a step", error);
      break;
    }
    watch_floor(n, &watch);
    status = record(n, &step, history, error);
  }
  if (status == SAP_STATUS_OK && result->outcome == SAP_OUTCOME_ROUNDOFF) {
    return_to_best(n, &watch);
  }
  return status;
}
