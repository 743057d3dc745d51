// SPDX-License-Identifier: BSD-3-Clause
// Newton with a new A at every iterate and a line search, for groups with stiff and strongly
// nonlinear forces (springs between points that turn by much within a step):
//   A(v) s = -m(v),  v += alpha s
// If m is the gradient of a potential, as for springs and dampers at rest, s is a descent direction
// of the potential because A is SPD, and the slope along s is
//   s . m(v + alpha s)
// alpha is reduced until that slope is no longer steeply uphill, or |D m| falls. The search needs
// no energy and is not caught in valleys of |D m|. A group returns to the quasi-Newton iteration
// when it contracts well, and goes on to exact Newton, from where it began if it got away, when this
// iteration does not help.
// cost: one A, its factor, and one or a few inverse dynamics per iteration.
#include <math.h>

#include "integrators/newton.h"

enum { CUTS = 12 };  // reductions of alpha
// A step is taken when the slope at its end is uphill by less than this share of that at its start.
#define UPHILL 0.5
// A full step that leaves no more than this share of the residual ends the phase.
#define GOOD_CONTRACTION 0.1
// A step that leaves more than NO_PROGRESS of a residual below ROUNDOFF_ILL_CONDITIONED of the
// scale has met the round-off of m: forces of stiff springs at large q (k = 1e8, q = 2) are known
// to 1e-8 only.
#define NO_PROGRESS 0.9
#define ROUNDOFF_ILL_CONDITIONED 1e-6

static double slope(const sap_free_motion* fm, int32_t group) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += fm->direction[i] * fm->m[i])
  return sum;
}

static sap_status find_directions(sap_free_motion* fm, double* start, sap_error* error) {
  SAP_TRY(sap_momentum_balance_matrix(&fm->balance, error));
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    SAP_TRY(sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, error));
    SAP_FOR_GROUP(fm, g, i, fm->direction[i] = -fm->m[i])
    sap_momentum_factor_solve(&fm->factor, g, fm->direction);
    start[g] = slope(fm, g);
    fm->alpha[g] = 1.0;
  }
  return SAP_STATUS_OK;
}

// Reduces alpha of the pending groups whose trial was refused. Returns true if there is none.
static bool accept_trial(sap_free_motion* fm, const double* start, bool last) {
  bool all = true;
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    const sap_group_progress* p = &fm->progress[g];
    const double end = slope(fm, g);
    const double limit = UPHILL * fabs(start[g]);
    if (last || (isfinite(p->residual) && (end <= limit || p->residual < p->best))) {
      continue;
    }
    // alpha where the chord of the slope vanishes, between a tenth and a half of the trial
    const double zero = fabs(start[g]) / (fabs(start[g]) + end);
    fm->alpha[g] *= isfinite(zero) ? fmin(fmax(zero, 0.1), 0.5) : 0.1;
    all = false;
  }
  return all;
}

sap_status sap_newton_try_step(sap_free_motion* fm, sap_group_phase phase, sap_error* error) {
  SAP_EACH_GROUP(fm, phase, g) {
    const double alpha = fm->alpha[g];
    SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = fm->v_best[i] + alpha * fm->direction[i])
  }
  return sap_free_motion_evaluate(fm, error);
}

static sap_status line_search(sap_free_motion* fm, const double* start, sap_error* error) {
  for (int32_t trial = 0;; ++trial) {
    SAP_TRY(sap_newton_try_step(fm, SAP_GROUP_DAMPED, error));
    if (accept_trial(fm, start, trial == CUTS)) {
      return SAP_STATUS_OK;
    }
  }
}

// Accepts the step and decides which groups leave this phase.
static void conclude_iteration(sap_free_motion* fm) {
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    sap_group_progress* p = &fm->progress[g];
    if (p->best <= ROUNDOFF_ILL_CONDITIONED * p->scale && p->residual > NO_PROGRESS * p->best) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = fm->v_best[i])
      p->residual = p->floor = p->best;
      p->phase = SAP_GROUP_DONE;
      continue;
    }
    const bool well = fm->alpha[g] == 1.0 && p->residual <= GOOD_CONTRACTION * p->best;
    p->best = p->residual;  // |D m| may rise on the way down
    SAP_FOR_GROUP(fm, g, i, fm->v_best[i] = fm->v_star[i])
    if (well || p->residual <= SAP_ROUNDOFF_STALLED * p->scale) {
      p->phase = SAP_GROUP_QUASI;
      p->depth = p->poor = 0;
      p->previous = HUGE_VAL;
      p->contraction = 0.0;
    }
  }
}

static bool any_pending(const sap_free_motion* fm) {
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    return true;
  }
  return false;
}

static sap_status iterate(sap_free_motion* fm, sap_error* error) {
  SAP_TRY(find_directions(fm, fm->dv, error));
  SAP_TRY(line_search(fm, fm->dv, error));
  conclude_iteration(fm);
  fm->iterations += 1;
  return SAP_STATUS_OK;
}

sap_status sap_newton_damped_iterate(sap_free_motion* fm, int32_t max_iterations,
                                     sap_error* error) {
  double* begin = fm->steps[0];
  sap_error far = {0};
  sap_status status = SAP_STATUS_OK;
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    fm->progress[g].entered = fm->progress[g].best;
    SAP_FOR_GROUP(fm, g, i, begin[i] = fm->v_best[i])
  }
  fm->moved = true;
  fm->matrix_is_current = false;
  SAP_TRY(sap_free_motion_evaluate(fm, error));
  for (int32_t k = 0; status == SAP_STATUS_OK && any_pending(fm) && k < max_iterations; ++k) {
    status = iterate(fm, &far);
  }
  if (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_FINITE && status != SAP_STATUS_NOT_SPD) {
    *error = far;
    return status;
  }
  // Gyroscopic forces have no potential: s may lead ever farther away.
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    sap_group_progress* p = &fm->progress[g];
    if (!(p->best <= p->entered)) {
      p->best = p->residual = p->entered;
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = fm->v_best[i] = begin[i])
    }
    p->phase = SAP_GROUP_EXACT;
  }
  return SAP_STATUS_OK;
}
