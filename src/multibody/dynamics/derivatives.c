// SPDX-License-Identifier: BSD-3-Clause
// Workspaces of derivatives; the passes are in derivatives.inc and mass_gradients.inc.
#include "multibody/dynamics/derivatives.h"

#include <string.h>

#include "core/error.h"
#include "multibody/dynamics/dynamics_data.h"

sap_status sap_derivatives_create(sap_dynamics* d, sap_pool* pool, sap_derivatives** out,
                                  sap_error* error) {
  const int32_t nv = d->model->sizes.nv;
  sap_derivatives* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&w->links, d->nlinks), SAP_ARRAY(&w->S, nv),
                           SAP_ARRAY(&w->S0, nv), SAP_ARRAY(&w->Pd, nv), SAP_ARRAY(&w->Pdd, nv),
                           SAP_ARRAY(&w->PS, nv), SAP_ARRAY(&w->Pd0, nv)));
  *out = w;
  return SAP_STATUS_OK;
}

void sap_derivatives_direction(const sap_kinematics* kin, int32_t dof, double S[6]) {
  const sap_dynamics* d = kin->dynamics;
  const int32_t tree = d->model->dof_tree[dof], k = dof - d->model->tree_dofs[tree];
  if (!d->tree_lone[tree]) {
    memcpy(S, kin->S[dof], sizeof kin->S[dof]);
    return;
  }
  memset(S, 0, 6 * sizeof *S);
  if (k < 3) {
    S[3 + k] = 1.0;
  } else {
    sap_v3_copy(S, kin->R_WB + 9 * (size_t)d->tree_root[tree] + 3 * (k - 3));
  }
}

void sap_derivatives_inertia(const sap_kinematics* kin, int32_t l, sap_inertia* out) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  const sap_link* link = &kin->dynamics->links[l];
  if (link->lone) {
    sap_inertia_move(out, &link->body_inertia, kin->R_WB + 9 * link->body, zero);
  } else {
    *out = kin->inertia[l];
  }
}

// --- products with M ---

sap_status sap_mass_work_create(sap_dynamics* d, sap_pool* pool, sap_mass_work** out,
                                sap_error* error) {
  const sap_model* model = d->model;
  sap_mass_work* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  size_t entries = 0;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    entries += (size_t)model->tree_sizes[t] * SAP_MASS_ROW(model->tree_sizes[t]);
  }
  SAP_TRY(SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&w->dofs, model->sizes.nv), SAP_ARRAY(&w->inertia, d->nlinks),
      SAP_ARRAY(&w->tree_link, model->sizes.trees + 1), SAP_ARRAY(&w->sums, model->sizes.trees + 1),
      SAP_ARRAY(&w->used, model->sizes.trees)));
  SAP_TRY(SAP_POOL_ADD(pool, &w->sums[0], entries, error));
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    w->sums[t + 1] = w->sums[t] + (size_t)model->tree_sizes[t] * SAP_MASS_ROW(model->tree_sizes[t]);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {  // the links of a tree follow one another
    w->tree_link[d->links[l].tree] = l;
  }
  w->tree_link[model->sizes.trees] = d->nlinks;
  *out = w;
  return SAP_STATUS_OK;
}
