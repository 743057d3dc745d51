// SPDX-License-Identifier: BSD-3-Clause
// Stage 1 of a step: where it starts, the phases that it goes through, and its end. The first
// iterate comes from the steps before, where they help (prediction.h).
#include "integrators/free_motion_data.h"

#include <math.h>
#include <string.h>

enum { BEGIN_WORK = 50, NORM_WORK = 10 };  // instructions of a velocity, about
// No step is trusted to contract better than this.
#define BEST_CONTRACTION 0.01

double sap_free_motion_norm(const sap_free_motion* fm, int32_t group, const double* x) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * x[i] / fm->weight[i])
  return sqrt(sum);
}

// |D m| of forces in balance that leave SAP_NOISE of acceleration: where all loads cancel (an arm
// that hangs straight down), the scale, made of what is left of them, is round-off itself.
static double noise_of(const sap_free_motion* fm, int32_t group) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += fm->weight[i])
  return SAP_NOISE * fm->balance.scheme.dt * sqrt(sum);
}

// Residual/scale at which a group is done.
// Where it is a linearization's, a last step follows without another m: what that leaves must be
// within the tolerance by the contraction of the steps before.
static double tolerance_of(const sap_free_motion* fm, int32_t group) {
  const sap_linearization* l = &fm->linearization;
  if (!sap_free_motion_is_pushed(fm, group)) {
    return SAP_ROUNDOFF;
  }
  const double contraction = l->contraction[group];
  const bool known = contraction > 0.0 && contraction < 1.0;
  return fmax(SAP_ROUNDOFF, l->tolerance / (known ? fmax(contraction, BEST_CONTRACTION) : 1.0));
}

// A group's weights and where it begins.
static void begin_group(sap_free_motion* fm, int32_t g, const void* context) {
  const sap_group* group = &fm->factor.groups[g];
  (void)context;
  for (int32_t k = 0; k < group->ntrees; ++k) {
    const int32_t t = fm->factor.group_trees[group->first_tree + k];
    const size_t n = (size_t)fm->system->tree_sizes[t];
    const double* A = fm->balance.A.view.diagonal[t];
    for (size_t i = 0; i < n; ++i) {
      fm->weight[(size_t)fm->factor.tree_dof[t] + i] = A[i * n + i];
    }
  }
  SAP_FOR_GROUP(fm, g, i, fm->v_best[i] = fm->v_star[i])
  SAP_FOR_GROUP(fm, g, i, fm->dv[i] = fm->weight[i] * fm->balance.step.v0[i])  // may cancel in m
  const double residual = sap_free_motion_norm(fm, g, fm->m);
  const double scale = sap_free_motion_norm(fm, g, fm->load) +
                       SAP_MOMENTUM_SHARE * sap_free_motion_norm(fm, g, fm->dv);
  fm->progress[g] = (sap_group_progress){.phase = SAP_GROUP_QUASI_NEWTON,
                                         .residual = residual,
                                         .first = residual,
                                         .previous = HUGE_VAL,
                                         .best = residual,
                                         .noise = noise_of(fm, g),
                                         .scale = scale,
                                         .tolerance = tolerance_of(fm, g)};
}

static sap_status check_weights(const sap_free_motion* fm, sap_error* error) {
  bool positive = true;
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    positive &= fm->weight[i] > 0.0;
  }
  for (int32_t t = 0; !positive && t < fm->system->ntrees; ++t) {
    const int32_t first = fm->factor.tree_dof[t];
    for (int32_t i = 0; i < fm->system->tree_sizes[t]; ++i) {
      if (!(fm->weight[first + i] > 0.0)) {
        return sap_fail(error, SAP_STATUS_NOT_SPD, "A of tree %d: its entry (%d, %d) is %g", t, i,
                        i, fm->weight[first + i]);
      }
    }
  }
  return SAP_STATUS_OK;
}

// m, A and the residuals at v_star, where the iteration starts.
static sap_status start_here(sap_free_motion* fm, sap_error* error) {
  sap_balance* balance = &fm->balance;
  sap_balance_release(balance, fm->v_star);
  const int32_t* tree_dof = fm->factor.tree_dof;
  sap_status status = sap_balance_start(balance, tree_dof, fm->v_star, fm->m, fm->load, error);
  if (status == SAP_STATUS_OK) {
    sap_free_motion_each_group(fm, BEGIN_WORK, begin_group, NULL);
    status = check_weights(fm, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const double residual = fm->progress[g].residual, scale = fm->progress[g].scale;
    if (!isfinite(residual) || !isfinite(scale)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "momentum of tree %d overflows: |D dt k| = %g",
                      fm->factor.group_trees[fm->factor.groups[g].first_tree], scale);
    }
  }
  fm->matrix_is_current = true;
  return SAP_STATUS_OK;
}

// Starts at the prediction; groups for which it is worse than v0 (the state was changed between
// steps) start at v0.
static sap_status start(sap_free_motion* fm, sap_error* error) {
  const double* v0 = fm->balance.step.v0;
  const bool predicted = sap_prediction_guess(&fm->prediction, &fm->balance.scheme, v0, fm->v_star);
  const sap_status status = start_here(fm, error);
  if (!predicted || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_FINITE)) {
    return status;
  }
  int32_t bad = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    if (status != SAP_STATUS_OK || p->residual > p->scale) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = v0[i])
      ++bad;
    }
  }
  return bad > 0 ? start_here(fm, error) : status;
}

static void measure_group(sap_free_motion* fm, int32_t g, const void* context) {
  (void)context;
  fm->progress[g].previous = fm->progress[g].residual;
  fm->progress[g].residual = sap_free_motion_norm(fm, g, fm->m);
}

sap_status sap_free_motion_evaluate(sap_free_motion* fm, sap_error* error) {
  sap_status status = sap_balance_set_velocity(&fm->balance, fm->v_star, error);
  if (status == SAP_STATUS_OK) {
    status = sap_balance_residual(&fm->balance, fm->factor.tree_dof, fm->v_star, fm->m, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_free_motion_each_group(fm, NORM_WORK, measure_group, NULL);
  }
  return status;
}

// theta = 0: m is linear in v and A = M(q0).
static sap_status solve_linear(sap_free_motion* fm, sap_error* error) {
  const int32_t nv = fm->system->nv;
  const sap_status status = sap_free_motion_factor(fm, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < nv; ++i) {
    fm->dv[i] = -fm->m[i];
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    sap_momentum_factor_solve(&fm->factor, g, fm->dv);
    fm->progress[g].phase = SAP_GROUP_DONE;
  }
  double* product = fm->v_best;
  sap_tree_store_multiply(fm->system, fm->balance.threads, fm->factor.tree_dof, &fm->balance.A,
                          fm->dv, product);
  for (int32_t i = 0; i < nv; ++i) {
    fm->v_star[i] += fm->dv[i];
    fm->m[i] += product[i];
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    fm->progress[g].residual = sap_free_motion_norm(fm, g, fm->m);
  }
  fm->iterations = 1;
  return SAP_STATUS_OK;
}

static sap_status solve_implicit(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
  sap_status status = sap_free_motion_iterate(fm, max_iterations, error);
  for (int32_t k = 0;
       status == SAP_STATUS_OK && k < SAP_DAMPED_TRIALS && sap_free_motion_wants_damping(fm); ++k) {
    status = sap_free_motion_damped_newton(fm, max_iterations, error);
    if (status == SAP_STATUS_OK) {
      status = sap_free_motion_iterate(fm, max_iterations, error);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = sap_free_motion_true_newton(fm, max_iterations, error);
  }
  if (status == SAP_STATUS_OK && fm->moved) {
    status = sap_balance_set_velocity(&fm->balance, fm->v_star, error);
  }
  if (status != SAP_STATUS_OK || fm->matrix_is_current ||
      sap_balance_matrix_is_near(&fm->balance)) {
    return status;
  }
  return sap_balance_matrix(&fm->balance, fm->factor.tree_dof, error);
}

sap_status sap_free_motion_solve(sap_free_motion* fm, const sap_step_context* step,
                                 int32_t max_iterations, sap_impulse_guess guess,
                                 sap_error* error) {
  fm->iterations = 0;
  fm->moved = false;
  sap_balance_begin(&fm->balance, step);
  if (guess == SAP_IMPULSE_CHOSEN) {
    fm->balance.impulse = fm->linearization.around;
  } else if (guess == SAP_IMPULSE_EXPECTED) {
    fm->balance.impulse =
        sap_expected_impulse_guess(&fm->linearization.expected, &fm->balance.scheme);
  }
  sap_status status = start(fm, error);
  if (status == SAP_STATUS_OK) {
    status =
        step->theta > 0.0 ? solve_implicit(fm, max_iterations, error) : solve_linear(fm, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  fm->residual = 0.0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    const double relative = p->residual > 0.0 ? p->residual / p->scale : p->residual;
    if (!(relative <= fm->residual)) {
      fm->residual = relative;
    }
  }
  return sap_free_motion_linearize(fm, error);
}
