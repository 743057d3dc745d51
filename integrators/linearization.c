// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/linearization.h"

#include <math.h>
#include <string.h>

#include "integrators/free_motion.h"
#include "integrators/newton.h"

enum { SOLVE_WORK = 50, CHECK_WORK = 25 };  // instructions of a velocity, about
// A remembered contraction grows by this factor in each step that does not measure it.
#define DOUBT 2.0

sap_status sap_linearization_create(const sap_system* system, int32_t ngroups, sap_pool* pool,
                                    sap_linearization* l, sap_error* error) {
  double** const vectors[] = {
      &l->v_near, &l->p, &l->trial, &l->best, &l->back, &l->expected.memory, &l->expected.guess};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], system->nv, error));
  }
  return SAP_POOL_ADD(pool, &l->contraction, ngroups, error);
}

sap_status sap_linearization_archive(sap_free_motion* fm, sap_archive* archive, sap_error* error) {
  sap_linearization* l = &fm->linearization;
  sap_expected_impulse* expected = &l->expected;
  const size_t bytes = (size_t)fm->system->nv * sizeof(double);
  SAP_TRY(sap_archive_value(archive, &expected->has_guess, sizeof expected->has_guess, error));
  SAP_TRY(sap_archive_value(archive, &expected->scheme, sizeof expected->scheme, error));
  SAP_TRY(sap_archive_value(archive, expected->memory, bytes, error));
  SAP_TRY(sap_archive_value(archive, expected->guess, bytes, error));
  return sap_archive_value(archive, l->contraction,
                           (size_t)fm->factor.ngroups * sizeof *l->contraction, error);
}

void sap_linearization_rescale(sap_linearization* l, int32_t nv, double dt) {
  if (!(l->expected.scheme.dt > 0.0)) {
    return;  // no step was made
  }
  const double ratio = dt / l->expected.scheme.dt;
  for (int32_t i = 0; i < nv; ++i) {
    l->expected.memory[i] *= ratio;
    l->expected.guess[i] *= ratio;
  }
  l->expected.scheme.dt = dt;
}

const double* sap_linearization_expected(const sap_linearization* l, const sap_theta* scheme) {
  const sap_expected_impulse* expected = &l->expected;
  return expected->has_guess && sap_theta_is_same(&expected->scheme, scheme) ? expected->guess
                                                                             : NULL;
}

// Computes v* = v - A^-1 x of a group, with A of the linearization.
static sap_status step_back(sap_free_motion* fm, int32_t group, const double* v, const double* x,
                            sap_error* error) {
  SAP_TRY(sap_momentum_factor_group(&fm->factor, group, &fm->balance.A, error));
  SAP_FOR_GROUP(fm, group, i, fm->dv[i] = x[i])
  sap_momentum_factor_solve(&fm->factor, group, fm->dv);
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] = v[i] - fm->dv[i])
  return SAP_STATUS_OK;
}

// Removes the rest of m where the iteration has stopped by one more step, which needs no other m.
static sap_status remove_rest(sap_free_motion* fm, int32_t group, sap_error* error) {
  sap_linearization* l = &fm->linearization;
  const sap_group_progress* p = &fm->progress[group];
  const bool close = p->residual <= p->tolerance * p->scale;
  if (!close || fm->moved || p->residual <= SAP_ROUNDOFF * p->scale) {
    return SAP_STATUS_OK;
  }
  const sap_status status = step_back(fm, group, l->v_near, fm->m, error);
  SAP_FOR_GROUP(fm, group, i, l->v_near[i] = fm->v_star[i])
  return status;
}

static void linearize_group(sap_free_motion* fm, int32_t g, const void* context) {
  sap_linearization* l = &fm->linearization;
  (void)context;
  SAP_FOR_GROUP(fm, g, i, l->v_near[i] = fm->v_star[i])
  fm->group_status[g] = SAP_STATUS_OK;
  if (sap_free_motion_expects_impulse(fm, g)) {
    fm->group_status[g] = remove_rest(fm, g, NULL);
    if (fm->group_status[g] == SAP_STATUS_OK) {
      fm->group_status[g] = step_back(fm, g, l->v_near, fm->balance.impulse, NULL);
    }
  }
}

sap_status sap_linearization_finish(sap_free_motion* fm, sap_error* error) {
  sap_free_motion_each_group(fm, SOLVE_WORK, linearize_group, NULL);
  return sap_free_motion_factor_status(fm, error);
}

// Computes the impulses that the constraints gave: p = A (v - v*).
static void find_impulses(sap_free_motion* fm, const double* v) {
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    fm->dv[i] = v[i] - fm->v_star[i];
  }
  sap_tree_store_multiply(fm->system, fm->balance.threads, fm->factor.tree_dof, &fm->balance.A,
                          fm->dv, fm->linearization.p);
}

static void check_group(sap_free_motion* fm, int32_t g, const void* context) {
  (void)context;
  const double missing = sap_free_motion_norm(fm, g, fm->m);
  const double scale =
      sap_free_motion_norm(fm, g, fm->load) + sap_free_motion_norm(fm, g, fm->linearization.p);
  fm->alpha[g] = missing > 0.0 ? missing / scale : missing;
}

sap_status sap_linearization_check(sap_free_motion* fm, const double* v, double* error_share,
                                   sap_error* error) {
  sap_linearization* l = &fm->linearization;
  find_impulses(fm, v);
  fm->balance.impulse = l->p;
  SAP_TRY(sap_momentum_balance_set_velocity(&fm->balance, v, error));
  SAP_TRY(sap_momentum_balance_residual(&fm->balance, fm->factor.tree_dof, v, fm->m, error));
  sap_free_motion_each_group(fm, CHECK_WORK, check_group, NULL);
  *error_share = 0.0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (!(fm->alpha[g] <= *error_share)) {
      *error_share = fm->alpha[g];
    }
  }
  return SAP_STATUS_OK;
}

typedef struct correction {
  const double* v;
  double tolerance;
} correction;

static void correct_group(sap_free_motion* fm, int32_t g, const void* context) {
  const correction* task = context;
  sap_linearization* l = &fm->linearization;
  fm->group_status[g] = SAP_STATUS_OK;
  if (fm->alpha[g] > task->tolerance) {
    // m(v) without p = the missing part + p
    SAP_FOR_GROUP(fm, g, i, l->p[i] += fm->m[i])
    fm->group_status[g] = step_back(fm, g, task->v, l->p, NULL);
  }
}

sap_status sap_linearization_correct(sap_free_motion* fm, const double* v, double tolerance,
                                     sap_error* error) {
  const correction task = {v, tolerance};
  sap_free_motion_each_group(fm, SOLVE_WORK, correct_group, &task);
  return sap_free_motion_factor_status(fm, error);
}

void sap_linearization_choose(sap_free_motion* fm, bool first, double error_share) {
  sap_linearization* l = &fm->linearization;
  const int32_t nv = fm->system->nv;
  if (first || error_share < l->best_error) {
    for (int32_t i = 0; i < nv; ++i) {
      l->best[i] = first ? 0.0 : l->trial[i];
    }
    memcpy(l->back, l->p, (size_t)nv * sizeof(double));
    l->best_error = error_share;
    l->share = first ? 1.0 : fmin(1.0, 2.0 * l->share);
  } else {
    l->share *= 0.5;
  }
  for (int32_t i = 0; i < nv; ++i) {
    l->trial[i] = l->best[i] + l->share * (l->back[i] - l->best[i]);
  }
}

// Only an iteration measures the contraction of a step with A: without one it is trusted less.
static void record_contraction(sap_free_motion* fm) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    double* contraction = &fm->linearization.contraction[g];
    *contraction = p->second > 0.0 ? p->second / p->first : fmin(DOUBT * *contraction, 1.0);
  }
}

// Remembers p of a step; weight: diag(A). Free bodies expect no impulses: their m is linear but for
// gyroscopic forces, which the check of the balance sees, and their steps do not depend on memory.
static void record_impulse(sap_free_motion* fm, const double* p, const double* weight) {
  const sap_system* system = fm->system;
  sap_expected_impulse* expected = &fm->linearization.expected;
  expected->scheme = fm->balance.scheme;
  expected->has_guess = false;
  int32_t i = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t begin = i, end = i + system->tree_sizes[t];
    const bool expects = system->free_bodies == NULL || !system->free_bodies[t];
    double error_memory = 0.0, error_zero = 0.0;
    for (; i < end; ++i) {
      const double change = p[i] - expected->memory[i];
      error_memory += change * change / weight[i];
      error_zero += p[i] * p[i] / weight[i];
    }
    for (int32_t k = begin; k < end; ++k) {
      expected->memory[k] = p[k];
      expected->guess[k] = expects && error_memory < error_zero ? p[k] : 0.0;
      expected->has_guess = expected->has_guess || expected->guess[k] != 0.0;
    }
  }
}

void sap_linearization_record(sap_free_motion* fm, const double* v) {
  const sap_theta* scheme = &fm->balance.scheme;
  sap_prediction_record(&fm->prediction, scheme, fm->balance.step.v0, fm->linearization.v_near);
  if (scheme->theta > 0.0) {
    record_contraction(fm);
    if (fm->balance.impulse != fm->linearization.p) {  // no check has been made at v
      find_impulses(fm, v);
    }
    record_impulse(fm, fm->linearization.p, fm->weight);
  }
}
