// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/linearization.h"

#include <math.h>
#include <string.h>

#include "integrators/free_motion.h"
#include "integrators/newton.h"

enum { MISSED_DEPTH = 3 };  // degrees of the prediction of e

sap_status sap_linearization_create(const sap_system* system, int32_t ngroups, sap_pool* pool,
                                    sap_linearization* l, sap_error* error) {
  const int32_t nv = system->nv;
  SAP_TRY(sap_prediction_create(nv, MISSED_DEPTH, pool, &l->missed, error));
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&l->v_near, nv), SAP_ARRAY(&l->p, nv), SAP_ARRAY(&l->trial, nv),
      SAP_ARRAY(&l->best, nv), SAP_ARRAY(&l->back, nv), SAP_ARRAY(&l->zero, nv),
      SAP_ARRAY(&l->e, nv), SAP_ARRAY(&l->v_law, nv), SAP_ARRAY(&l->held, system->ntrees),
      SAP_ARRAY(&l->starts, ngroups), SAP_ARRAY(&l->known, ngroups), SAP_ARRAY(&l->far, ngroups));
}

sap_status sap_linearization_archive(sap_free_motion* fm, sap_archive* archive, sap_error* error) {
  sap_linearization* l = &fm->linearization;
  SAP_TRY(sap_prediction_archive(&l->missed, archive, error));
  return sap_archive_value(archive, l->held, (size_t)fm->system->ntrees * sizeof *l->held, error);
}

static bool is_free(const sap_free_motion* fm, int32_t group) {
  const int32_t first = fm->factor.groups[group].first_tree;
  return sap_linearization_is_free(fm->system, fm->factor.group_trees[first]);
}

void sap_linearization_begin(sap_free_motion* fm, bool may_start) {
  sap_linearization* l = &fm->linearization;
  l->any_known = false;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group* group = &fm->factor.groups[g];
    bool held = false;
    for (int32_t k = 0; k < group->ntrees; ++k) {
      held = held || l->held[fm->factor.group_trees[group->first_tree + k]];
    }
    l->known[g] = may_start && held && !l->far[g];
    l->starts[g] = l->known[g] && !is_free(fm, g);
    l->any_known = l->any_known || l->known[g];
  }
  (void)sap_prediction_guess(&l->missed, &fm->balance.scheme, l->zero, l->e);
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

// Linearizes a group at v0, where m has been evaluated: v_law from v0, and v* with e.
static sap_status start_group(sap_free_motion* fm, int32_t group, sap_error* error) {
  sap_linearization* l = &fm->linearization;
  const double* v0 = fm->balance.step.v0_free;
  SAP_TRY(step_back(fm, group, v0, fm->m, error));
  SAP_FOR_GROUP(fm, group, i, l->v_law[i] = l->v_near[i] = fm->v_star[i])
  return step_back(fm, group, l->v_law, l->e, error);
}

static sap_status linearize_group(sap_free_motion* fm, int32_t g, sap_error* error) {
  sap_linearization* l = &fm->linearization;
  if (l->starts[g]) {
    return start_group(fm, g, error);
  }
  SAP_FOR_GROUP(fm, g, i, l->v_near[i] = fm->v_star[i])
  const bool has_impulse = sap_free_motion_has_impulse(fm, g);
  if (!has_impulse) {
    SAP_FOR_GROUP(fm, g, i, l->v_law[i] = fm->v_star[i])
  }
  if (!has_impulse && !l->known[g]) {
    return SAP_STATUS_OK;
  }
  const double* p = has_impulse ? fm->balance.impulse : l->e;  // m: what the iteration has left,
  SAP_FOR_GROUP(fm, g, i, l->p[i] = p[i] + (fm->moved ? 0.0 : fm->m[i]))  // unless it moved on
  return step_back(fm, g, l->v_near, l->p, error);
}

sap_status sap_linearization_finish(sap_free_motion* fm, sap_error* error) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    SAP_TRY(linearize_group(fm, g, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_linearization_move_to_start(sap_free_motion* fm, const bool* trees,
                                           sap_error* error) {
  sap_linearization* l = &fm->linearization;
  const double* v0 = fm->balance.step.v0_free;
  const int32_t nv = fm->system->nv;
  for (int32_t t = 0; t < fm->system->ntrees; ++t) {
    const int32_t g = fm->factor.tree_group[t];
    l->starts[g] = l->starts[g] || trees[t];
  }
  memcpy(fm->v_best, l->v_near, (size_t)nv * sizeof *v0);
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (l->starts[g]) {
      SAP_FOR_GROUP(fm, g, i, fm->v_best[i] = v0[i])
    }
  }
  SAP_TRY(sap_momentum_balance_set_velocity(&fm->balance, fm->v_best, error));
  SAP_TRY(sap_momentum_balance_residual(&fm->balance, fm->v_best, fm->m, error));
  SAP_TRY(sap_momentum_balance_matrix(&fm->balance, error));
  for (int32_t i = 0; i < nv; ++i) {
    fm->v_best[i] = fm->v_star[i];
    fm->dv[i] = fm->v_star[i] - v0[i];
  }
  sap_tree_store_multiply(fm->system, &fm->balance.A, fm->dv, l->p);
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (l->starts[g] && !l->known[g]) {
      SAP_FOR_GROUP(fm, g, i, l->e[i] = -l->p[i] - fm->m[i])
      SAP_TRY(start_group(fm, g, error));
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = fm->v_best[i])
      l->known[g] = true;
    }
  }
  return SAP_STATUS_OK;
}

// Computes the impulses that the constraints gave: p = A (v - v*).
static void find_impulses(sap_free_motion* fm, const double* v) {
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    fm->dv[i] = v[i] - fm->v_star[i];
  }
  sap_tree_store_multiply(fm->system, &fm->balance.A, fm->dv, fm->linearization.p);
}

sap_status sap_linearization_check(sap_free_motion* fm, const double* v, double* error_share,
                                   sap_error* error) {
  sap_linearization* l = &fm->linearization;
  find_impulses(fm, v);
  fm->balance.impulse = l->p;
  SAP_TRY(sap_momentum_balance_set_velocity(&fm->balance, v, error));
  SAP_TRY(sap_momentum_balance_residual(&fm->balance, v, fm->m, error));
  *error_share = 0.0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const double missing = sap_free_motion_norm(fm, g, fm->m);
    const double scale = fm->progress[g].load + sap_free_motion_norm(fm, g, l->p);
    fm->alpha[g] = missing <= fm->progress[g].noise ? 0.0 : missing / scale;
    if (!(fm->alpha[g] <= *error_share)) {
      *error_share = fm->alpha[g];
    }
  }
  return SAP_STATUS_OK;
}

bool sap_linearization_retreat(sap_free_motion* fm, double share) {
  sap_linearization* l = &fm->linearization;
  bool any = false;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    l->far[g] = l->known[g] && !(fm->alpha[g] <= share);
    any = any || l->far[g];
  }
  return any;
}

bool sap_linearization_misses(sap_free_motion* fm, const double* v, double tolerance) {
  bool any = false;
  double* momentum = fm->v_best;
  sap_tree_store_multiply(fm->system, &fm->balance.A, v, momentum);
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (fm->alpha[g] > tolerance) {
      const double scale = sap_free_motion_norm(fm, g, momentum);
      fm->alpha[g] = fmin(fm->alpha[g], sap_free_motion_norm(fm, g, fm->m) / scale);
      any = any || fm->alpha[g] > tolerance;
    }
  }
  return any;
}

sap_status sap_linearization_correct(sap_free_motion* fm, const double* v, double tolerance,
                                     sap_error* error) {
  sap_linearization* l = &fm->linearization;
  double* momentum = fm->v_best;  // m(v) without p = the missing part + p
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (fm->alpha[g] > tolerance) {
      l->starts[g] = true;
      SAP_FOR_GROUP(fm, g, i, momentum[i] = l->p[i] + fm->m[i])
      SAP_FOR_GROUP(fm, g, i, l->e[i] += fm->m[i])
      SAP_FOR_GROUP(fm, g, i, fm->m[i] = 0.0)
      SAP_TRY(step_back(fm, g, v, momentum, error));
    }
  }
  return SAP_STATUS_OK;
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

// Remembers e and the trees that constraints held. Free bodies, whose m is linear but for gyroscopic
// forces, are remembered from a step on whose balance missed that.
static void record_missed(sap_free_motion* fm, bool checked) {
  const sap_system* system = fm->system;
  sap_linearization* l = &fm->linearization;
  bool any = false;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t g = fm->factor.tree_group[t];
    const bool known = l->known[g] && checked;
    const bool linear = is_free(fm, g) && !l->starts[g] && !l->known[g];
    l->held[t] = false;
    for (int32_t i = fm->balance.A.tree_dof[t]; i < fm->balance.A.tree_dof[t + 1]; ++i) {
      l->e[i] = known ? l->e[i] + fm->m[i] : 0.0;
      l->held[t] = l->held[t] || (!linear && l->p[i] != 0.0);
    }
    any = any || known;
  }
  sap_prediction_record(&l->missed, &fm->balance.scheme, l->zero, any ? l->e : l->zero);
}

void sap_linearization_record(sap_free_motion* fm, const double* v) {
  const sap_theta* scheme = &fm->balance.scheme;
  sap_prediction_record(&fm->prediction, scheme, fm->balance.step.v0, fm->linearization.v_near);
  if (scheme->theta > 0.0) {
    const bool checked = fm->balance.impulse == fm->linearization.p;
    if (!checked) {
      find_impulses(fm, v);
    }
    record_missed(fm, checked);
  }
}
