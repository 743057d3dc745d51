// SPDX-License-Identifier: BSD-3-Clause
// The problem of a step before it has blocks: A, the free motion A (v* - v0) = h f - h^2 K v0, and
// where the solver starts.
#include <string.h>

#include "mujoco/adapter.h"

// Where the solver starts: the velocities go on as in the step before, unless someone has set them.
static const double* guess_velocity(sap_mj* a, const mjData* d) {
  const size_t bytes = (size_t)a->nv * sizeof(double);
  if (!a->has_before || memcmp(d->qvel, a->v_after, bytes) != 0) {
    return d->qvel;
  }
  for (int32_t i = 0; i < a->nv; ++i) {
    a->v_guess[i] = 2.0 * d->qvel[i] - a->v_before[i];
  }
  return a->v_guess;
}

void sap_mj_keep_velocity(sap_mj* a, const mjData* d, const double* v) {
  const size_t bytes = (size_t)a->nv * sizeof(double);
  if (a->options.remember && bytes > 0) {
    memcpy(a->v_before, d->qvel, bytes);
    memcpy(a->v_after, v, bytes);
    a->has_before = true;
  }
}

static sap_status find_v_star(sap_mj* a, const mjData* d, sap_error* error) {
  const double h = a->model->opt.timestep;
  if (a->is_free_of_laws) {
    for (int32_t i = 0; i < a->nv; ++i) {
      a->v_star[i] = d->qvel[i] + h * d->qacc_smooth[i];
    }
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_problem_solve_momentum(a->problem, a->rhs, a->v_star, error));
  for (int32_t i = 0; i < a->nv; ++i) {
    a->v_star[i] += d->qvel[i];
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_set_problem(sap_mj* a, const mjData* d, sap_error* error) {
  sap_problem* p = a->problem;
  SAP_TRY(sap_problem_reset(p, a->model->opt.timestep, a->ntrees, a->tree_size, error));
  for (int32_t t = 0; t < a->ntrees; ++t) {
    SAP_TRY(sap_problem_set_momentum_block(p, t, t, a->A + a->A_start[t], a->tree_size[t], error));
  }
  for (int32_t c = 0; c < a->coupling_count; ++c) {
    const sap_mj_coupling* coupling = &a->couplings[c];
    SAP_TRY(sap_problem_set_momentum_block(p, coupling->tree_a, coupling->tree_b,
                                           a->coupling_values + coupling->start,
                                           a->tree_size[coupling->tree_a], error));
  }
  SAP_TRY(find_v_star(a, d, error));
  SAP_TRY(sap_problem_set_v_star(p, a->v_star, error));
  SAP_TRY(sap_problem_set_v_guess(p, guess_velocity(a, d), error));
  if (a->options.contact_model != SAP_CONTACT_SAP) {
    sap_contact_scheme scheme = sap_contact_scheme_default();
    scheme.v0 = d->qvel;
    SAP_TRY(sap_problem_set_law(p, &scheme, error));
  }
  return SAP_STATUS_OK;
}
