// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/free_motion.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "integrators/newton.h"

sap_status sap_free_motion_create(const sap_system* system, sap_pool* pool, sap_free_motion* fm,
                                  sap_error* error) {
  fm->system = system;
  fm->pool = pool;
  fm->tolerance = SAP_ROUNDOFF;
  SAP_TRY(sap_momentum_factor_create(system, pool, &fm->factor, error));
  SAP_TRY(sap_momentum_balance_create(system, pool, &fm->balance, error));
  const int32_t ngroups = fm->factor.ngroups;
  SAP_TRY(sap_prediction_create(system->nv, SAP_PREDICTION_DEPTH, pool, &fm->prediction, error));
  SAP_TRY(sap_linearization_create(system, ngroups, pool, &fm->linearization, error));
  for (int32_t i = 0; i < SAP_BROYDEN_DEPTH; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, &fm->steps[i], system->nv, error));
  }
  return SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&fm->v_star, system->nv),
                          SAP_ARRAY(&fm->m, system->nv), SAP_ARRAY(&fm->v_best, system->nv),
                          SAP_ARRAY(&fm->load, system->nv), SAP_ARRAY(&fm->dv, system->nv),
                          SAP_ARRAY(&fm->weight, system->nv), SAP_ARRAY(&fm->inverse, system->nv),
                          SAP_ARRAY(&fm->direction, system->nv), SAP_ARRAY(&fm->progress, ngroups),
                          SAP_ARRAY(&fm->alpha, ngroups));
}

void sap_free_motion_clear(sap_free_motion* fm) {
  sap_momentum_factor_clear(&fm->factor);
  memset(fm, 0, sizeof *fm);
}

bool sap_free_motion_has_impulse(const sap_free_motion* fm, int32_t group) {
  const double* p = fm->balance.impulse;
  bool any = false;
  if (p != NULL) {
    SAP_FOR_GROUP(fm, group, i, any = any || p[i] != 0.0)
  }
  return any;
}

double sap_free_motion_norm(const sap_free_motion* fm, int32_t group, const double* x) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * x[i] * fm->inverse[i])
  return sqrt(sum);
}

// Sets the weights and the initial progress of a group. noise: |D m| of balanced forces that leave
// an acceleration of SAP_NOISE. Where all loads cancel (an arm hanging straight down), the scale,
// the rest of these loads, is round-off itself.
static sap_status start_group(sap_free_motion* fm, int32_t g, sap_error* error) {
  const sap_group* group = &fm->factor.groups[g];
  const double* v0 = fm->balance.step.v0;
  double mass = 0.0, residual_2 = 0.0, load_2 = 0.0, momentum_2 = 0.0;
  for (int32_t k = 0; k < group->ntrees; ++k) {
    const int32_t t = fm->factor.group_trees[group->first_tree + k];
    const size_t n = (size_t)fm->system->tree_sizes[t], first = (size_t)fm->balance.A.tree_dof[t];
    const double* A = fm->balance.A.view.diagonal[t];
    for (size_t i = first; i < first + n; ++i, A += n + 1) {
      const double momentum = *A * v0[i];  // may cancel in m
      SAP_FAIL_IF(!(*A > 0.0), error, SAP_STATUS_NOT_SPD, "A of tree %d: its entry (%d, %d) is %g",
                  t, (int)(i - first), (int)(i - first), *A);
      const double inverse = fm->inverse[i] = 1.0 / *A;
      fm->weight[i] = *A;
      fm->v_best[i] = fm->v_star[i];
      mass += *A;
      residual_2 += fm->m[i] * fm->m[i] * inverse;
      load_2 += fm->load[i] * fm->load[i] * inverse;
      momentum_2 += momentum * momentum * inverse;
    }
  }
  const double residual = sqrt(residual_2), load = sqrt(load_2);
  const double scale = load + SAP_MOMENTUM_SHARE * sqrt(momentum_2);
  SAP_FAIL_IF(!isfinite(residual) || !isfinite(scale), error, SAP_STATUS_NOT_FINITE,
              "momentum of tree %d overflows: |D dt k| = %g",
              fm->factor.group_trees[group->first_tree], scale);
  // Finite, as the scale of a body at rest that no force pulls is 0.
  const sap_linearization* l = &fm->linearization;
  const double tolerance = l->starts[g]                                        ? DBL_MAX
                           : l->known[g] || sap_free_motion_has_impulse(fm, g) ? l->tolerance
                                                                               : fm->tolerance;
  fm->progress[g] = (sap_group_progress){.phase = SAP_GROUP_QUASI,
                                         .residual = residual,
                                         .first = residual,
                                         .previous = HUGE_VAL,
                                         .best = residual,
                                         .noise = SAP_NOISE * fm->balance.scheme.dt * sqrt(mass),
                                         .load = load,
                                         .scale = scale,
                                         .tolerance = tolerance};
  return SAP_STATUS_OK;
}

// Computes m, A and the residuals at v_star, where the iteration starts.
static sap_status start_here(sap_free_motion* fm, sap_error* error) {
  sap_momentum_balance* balance = &fm->balance;
  sap_momentum_balance_release(balance, fm->v_star);
  SAP_TRY(sap_momentum_balance_start(balance, fm->v_star, fm->m, fm->load, error));
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    SAP_TRY(start_group(fm, g, error));
  }
  fm->matrix_is_current = true;
  return SAP_STATUS_OK;
}

// Starts at the prediction; groups for which v0 is better (the state was changed between steps),
// and those linearized there, start at v0.
static sap_status start_iteration(sap_free_motion* fm, sap_error* error) {
  const double* v0 = fm->balance.step.v0;
  const bool predicted = sap_prediction_guess(&fm->prediction, &fm->balance.scheme, v0, fm->v_star);
  for (int32_t g = 0; predicted && g < fm->factor.ngroups; ++g) {
    if (fm->linearization.starts[g]) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = v0[i])
    }
  }
  const sap_status status = start_here(fm, error);
  if (!predicted || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_FINITE)) {
    return status;
  }
  int32_t bad = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    if (status != SAP_STATUS_OK || (p->residual > p->scale && !fm->linearization.starts[g])) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = v0[i])
      ++bad;
    }
  }
  return bad > 0 ? start_here(fm, error) : status;
}

sap_status sap_free_motion_evaluate(sap_free_motion* fm, sap_error* error) {
  SAP_TRY(sap_momentum_balance_set_velocity(&fm->balance, fm->v_star, error));
  SAP_TRY(sap_momentum_balance_residual(&fm->balance, fm->v_star, fm->m, error));
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    fm->progress[g].previous = fm->progress[g].residual;
    fm->progress[g].residual = sap_free_motion_norm(fm, g, fm->m);
  }
  return SAP_STATUS_OK;
}

sap_status sap_free_motion_solve_linear(sap_free_motion* fm, sap_error* error) {
  const int32_t nv = fm->system->nv;
  SAP_TRY(sap_newton_quasi_factor(fm, error));
  for (int32_t i = 0; i < nv; ++i) {
    fm->dv[i] = -fm->m[i];
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    sap_momentum_factor_solve(&fm->factor, g, fm->dv);
    fm->progress[g].phase = SAP_GROUP_DONE;
  }
  double* product = fm->v_best;
  sap_tree_store_multiply(fm->system, &fm->balance.A, fm->dv, product);
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

// Iterates with A, then with exact Jacobians if `exact` is true. STEP_FAILED: not converged.
static sap_status solve_implicit(sap_free_motion* fm, int32_t max_iterations, bool exact,
                                 sap_error* error) {
  SAP_TRY(sap_newton_quasi_iterate(fm, max_iterations, error));
  for (int32_t k = 0; k < SAP_DAMPED_TRIALS && sap_newton_quasi_wants_damping(fm); ++k) {
    SAP_TRY(sap_newton_damped_iterate(fm, max_iterations, error));
    SAP_TRY(sap_newton_quasi_iterate(fm, max_iterations, error));
  }
  SAP_TRY(sap_newton_exact_iterate(fm, exact ? max_iterations : 0, error));
  if (fm->moved) {
    SAP_TRY(sap_momentum_balance_set_velocity(&fm->balance, fm->v_star, error));
  }
  return fm->matrix_is_current || sap_momentum_balance_matrix_is_near(&fm->balance)
             ? SAP_STATUS_OK
             : sap_momentum_balance_matrix(&fm->balance, error);
}

static void begin(sap_free_motion* fm, const sap_step_context* step) {
  fm->iterations = 0;
  fm->moved = false;
  sap_momentum_balance_begin(&fm->balance, step);
}

sap_status sap_free_motion_solve_part(sap_free_motion* fm, const sap_step_context* part,
                                      int32_t max_iterations, sap_error* error) {
  begin(fm, part);
  SAP_TRY(start_iteration(fm, error));
  return solve_implicit(fm, max_iterations, false, error);
}

sap_status sap_free_motion_start_at(sap_free_motion* fm, const sap_step_context* part,
                                    const double* v, sap_error* error) {
  begin(fm, part);
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    fm->v_star[i] = v != NULL ? v[i] : 0.0;
  }
  return start_here(fm, error);
}

// Solves as one step, or, if that does not converge, in parts.
static sap_status solve_step(sap_free_motion* fm, const sap_step_context* step,
                             int32_t max_iterations, bool free, sap_error* error) {
  SAP_TRY(start_iteration(fm, error));
  if (!(step->theta > 0.0)) {
    return sap_free_motion_solve_linear(fm, error);
  }
  sap_error attempt;
  const sap_status status = solve_implicit(fm, max_iterations, true, &attempt);
  if (status != SAP_STATUS_STEP_FAILED || !free) {
    if (status != SAP_STATUS_OK && error != NULL) {
      *error = attempt;
    }
    return status;
  }
  const int32_t iterations = fm->iterations;
  SAP_TRY(sap_free_motion_in_parts(fm, step, max_iterations, error));
  fm->iterations += iterations;
  return SAP_STATUS_OK;
}

sap_status sap_free_motion_solve(sap_free_motion* fm, const sap_step_context* step,
                                 int32_t max_iterations, sap_linearize_at at, sap_error* error) {
  begin(fm, step);
  fm->substeps = fm->linearized = 0;
  fm->balance.impulse = at == SAP_LINEARIZE_CHOSEN ? fm->linearization.trial : NULL;
  sap_linearization_begin(fm, at == SAP_LINEARIZE_START);
  const bool free = at != SAP_LINEARIZE_CHOSEN && !fm->linearization.any_known;
  SAP_TRY(solve_step(fm, step, max_iterations, free, error));
  fm->residual = 0.0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    const double relative = p->residual > 0.0 ? p->residual / p->scale : p->residual;
    if (!(relative <= fm->residual) && !fm->linearization.starts[g]) {
      fm->residual = relative;
    }
  }
  return sap_linearization_finish(fm, error);
}
