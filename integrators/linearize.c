// SPDX-License-Identifier: BSD-3-Clause
// The linear momentum balance that the contact stage works with, A (v - v*) = p, touches
//   m(v) = p
// at the velocity where A was taken. Near there it misses what bends m, gyroscopic forces and the
// turning of M foremost: by (dt dk/dv)(v - v_near), a share dt |omega| of what the constraints add
// to the impulses expected. Left alone, that is work from nothing in links that spin while
// constraints guide them. So A is taken where m(v) = p for the expected p, and when a step's v
// turns out to miss the balance by more than a tolerance,
//   v* = v - A^-1 m(v)
// makes the linear balance meet m at v, and the contact stage is solved again. A is kept: only the
// contraction suffers.
#include "integrators/free_motion_data.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { SOLVE_WORK = 50, CHECK_WORK = 25 };  // instructions of a velocity, about
// What is known of the contraction grows by this in each step that does not measure it.
#define DOUBT 2.0

sap_status sap_linearization_create(const sap_system* system, int32_t ngroups, sap_linearization* l,
                                    sap_error* error) {
  l->contraction = sap_allocate((size_t)ngroups, sizeof *l->contraction);
  l->v_near = sap_allocate((size_t)system->nv, sizeof(double));
  l->p = sap_allocate((size_t)system->nv, sizeof(double));
  l->around = sap_allocate((size_t)system->nv, sizeof(double));
  l->best = sap_allocate((size_t)system->nv, sizeof(double));
  l->back = sap_allocate((size_t)system->nv, sizeof(double));
  const bool complete = l->contraction != NULL && l->v_near != NULL && l->p != NULL &&
                        l->around != NULL && l->best != NULL && l->back != NULL;
  return complete
             ? sap_expected_impulse_create(system, &l->expected, error)
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: linearization of %d", system->nv);
}

void sap_linearization_clear(sap_linearization* l) {
  sap_free(l->contraction);
  sap_free(l->v_near);
  sap_free(l->p);
  sap_free(l->around);
  sap_free(l->best);
  sap_free(l->back);
  sap_expected_impulse_clear(&l->expected);
}

// v* of a group: v - A^-1 x, A the one at the linearization.
static sap_status step_back(sap_free_motion* fm, int32_t group, const double* v, const double* x,
                            sap_error* error) {
  const sap_status status = sap_momentum_factor_group(&fm->factor, group, &fm->balance.A, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  SAP_FOR_GROUP(fm, group, i, fm->dv[i] = x[i])
  sap_momentum_factor_solve(&fm->factor, group, fm->dv);
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] = v[i] - fm->dv[i])
  return SAP_STATUS_OK;
}

bool sap_free_motion_is_pushed(const sap_free_motion* fm, int32_t group) {
  const double* p = fm->balance.impulse;
  bool pushed = false;
  SAP_FOR_GROUP(fm, group, i, pushed = pushed || (p != NULL && p[i] != 0.0))
  return pushed;
}

// What is left of m where the iteration has stopped: one more of its steps, which needs no other m.
static sap_status finish_solve(sap_free_motion* fm, int32_t group, sap_error* error) {
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
  if (sap_free_motion_is_pushed(fm, g)) {
    fm->group_status[g] = finish_solve(fm, g, NULL);
    if (fm->group_status[g] == SAP_STATUS_OK) {
      fm->group_status[g] = step_back(fm, g, l->v_near, fm->balance.impulse, NULL);
    }
  }
}

sap_status sap_free_motion_linearize(sap_free_motion* fm, sap_error* error) {
  sap_free_motion_each_group(fm, SOLVE_WORK, linearize_group, NULL);
  return sap_free_motion_factor_status(fm, error);
}

// p = A (v - v*), what the constraints gave.
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

sap_status sap_free_motion_check(sap_free_motion* fm, const double* v, double* error_share,
                                 sap_error* error) {
  sap_linearization* l = &fm->linearization;
  find_impulses(fm, v);
  fm->balance.impulse = l->p;
  sap_status status = sap_balance_set_velocity(&fm->balance, v, error);
  if (status == SAP_STATUS_OK) {
    status = sap_balance_residual(&fm->balance, fm->factor.tree_dof, v, fm->m, error);
  }
  *error_share = 0.0;
  if (status == SAP_STATUS_OK) {
    sap_free_motion_each_group(fm, CHECK_WORK, check_group, NULL);
  }
  for (int32_t g = 0; status == SAP_STATUS_OK && g < fm->factor.ngroups; ++g) {
    if (!(fm->alpha[g] <= *error_share)) {
      *error_share = fm->alpha[g];
    }
  }
  return status;
}

typedef struct correction {
  const double* v;
  double tolerance;
} correction;

static void correct_group(sap_free_motion* fm, int32_t g, const void* context) {
  const correction* of = context;
  sap_linearization* l = &fm->linearization;
  fm->group_status[g] = SAP_STATUS_OK;
  if (fm->alpha[g] > of->tolerance) {
    // m(v) without p = what is missing and p
    SAP_FOR_GROUP(fm, g, i, l->p[i] += fm->m[i])
    fm->group_status[g] = step_back(fm, g, of->v, l->p, NULL);
  }
}

sap_status sap_free_motion_correct(sap_free_motion* fm, const double* v, double tolerance,
                                   sap_error* error) {
  const correction of = {v, tolerance};
  sap_free_motion_each_group(fm, SOLVE_WORK, correct_group, &of);
  return sap_free_motion_factor_status(fm, error);
}

void sap_free_motion_choose(sap_free_motion* fm, bool first, double error_share) {
  sap_linearization* l = &fm->linearization;
  const int32_t nv = fm->system->nv;
  if (first || error_share < l->best_error) {
    for (int32_t i = 0; i < nv; ++i) {
      l->best[i] = first ? 0.0 : l->around[i];
    }
    memcpy(l->back, l->p, (size_t)nv * sizeof(double));
    l->best_error = error_share;
    l->share = first ? 1.0 : fmin(1.0, 2.0 * l->share);
  } else {
    l->share *= 0.5;
  }
  for (int32_t i = 0; i < nv; ++i) {
    l->around[i] = l->best[i] + l->share * (l->back[i] - l->best[i]);
  }
}

// Only an iteration tells how a step with A contracts: without one it is trusted less and less.
static void record_contraction(sap_free_motion* fm) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    double* contraction = &fm->linearization.contraction[g];
    *contraction = p->second > 0.0 ? p->second / p->first : fmin(DOUBT * *contraction, 1.0);
  }
}

void sap_free_motion_record(sap_free_motion* fm, const double* v) {
  const sap_theta* scheme = &fm->balance.scheme;
  sap_prediction_record(&fm->prediction, scheme, fm->balance.step.v0, fm->linearization.v_near);
  if (scheme->theta > 0.0) {
    record_contraction(fm);
    if (fm->balance.impulse != fm->linearization.p) {  // no check has been made at v
      find_impulses(fm, v);
    }
    sap_expected_impulse_record(&fm->linearization.expected, scheme, fm->linearization.p,
                                fm->weight);
  }
}
