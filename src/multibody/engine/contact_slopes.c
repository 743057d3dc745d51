// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/engine/contact_slopes.h"

#include <string.h>

#include "multibody/dynamics/dynamics_data.h"

sap_status sap_contact_slopes_create(int32_t nv, sap_pool* pool, sap_contact_slopes** out,
                                     sap_error* error) {
  sap_contact_slopes* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  int32_t** const numbers[] = {&w->dofs, &w->place[0], &w->place[1], &w->path};
  double(** const triples[])[3] = {&w->Dp,   &w->rho,  &w->C[0], &w->C[1], &w->C[2],
                                   &w->C[3], &w->C[4], &w->C[5], &w->scale};
  double** const vectors[] = {&w->dphi, &w->X[0], &w->X[1], &w->X[2]};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, numbers[i], nv, error));
  }
  for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, triples[i], nv, error));
  }
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], nv, error));
  }
  SAP_TRY(SAP_POOL_ADD(pool, &w->S, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->gradients, nv, error));
  *out = w;
  return SAP_STATUS_OK;
}

// Finds the dofs and their S.
static void find_paths(sap_contact_slopes* w, const int32_t bodies[SAP_CONTACT_SIDES]) {
  const sap_model* model = w->kin->dynamics->model;
  w->count = 0;
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    int32_t n = 0;
    for (int32_t i = model->bodies[bodies[side]].last_dof; i >= 0; i = model->dof_parent[i]) {
      w->path[n++] = i;
    }
    for (int32_t place = 0; place < n; ++place) {
      const int32_t dof = w->path[n - 1 - place];
      int32_t k = 0;
      while (k < w->count && w->dofs[k] != dof) {
        ++k;
      }
      if (k == w->count) {
        w->dofs[w->count++] = dof;
        w->place[0][k] = w->place[1][k] = -1;
        sap_derivatives_direction(w->kin, dof, w->S[k]);
      }
      w->place[side][k] = place;
    }
  }
}

static void motion_at(const double V[6], const double arm[3], double out[3]) {
  sap_v3_cross(out, V, arm);
  sap_v3_add(out, out, V + 3);
}

// Dp, rho and dphi.
static void find_motions(sap_contact_slopes* w, const sap_contact_variation* vary) {
  const double* n = w->R + 6;
  for (int32_t k = 0; k < w->count; ++k) {
    double way[3] = {0.0}, turn[3] = {0.0}, x[3], dn[3] = {0.0};
    sap_v3_set(w->Dp[k], 0.0, 0.0, 0.0);
    sap_v3_set(w->rho[k], 0.0, 0.0, 0.0);
    for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
      if (w->place[side][k] >= 0) {
        motion_at(w->S[k], w->arm[side], x);
        sap_v3_add_scaled(way, x, w->sign[side]);
        sap_v3_add_scaled(turn, w->S[k], w->sign[side]);
        if (side == 0) {
          sap_v3_copy(w->Dp[k], x);
          sap_v3_copy(w->rho[k], w->S[k]);
        }
      }
    }
    for (int i = 0; i < 3; ++i) {
      sap_v3_add_scaled(w->Dp[k], vary->point + 3 * i, turn[i]);
      sap_v3_add_scaled(w->Dp[k], vary->point + 9 + 3 * i, way[i]);
      sap_v3_add_scaled(dn, vary->normal + 3 * i, turn[i]);
      sap_v3_add_scaled(dn, vary->normal + 9 + 3 * i, way[i]);
    }
    sap_v3_cross(x, n, dn);
    sap_v3_add(w->rho[k], w->rho[k], x);
    w->dphi[k] = sap_v3_dot(n, way);
  }
}

void sap_contact_slopes_field(const sap_contact_slopes* w, const double* y, double (*C)[3]) {
  const sap_model* model = w->kin->dynamics->model;
  double slip[3] = {0.0}, x[3];
  memset(C, 0, (size_t)w->count * sizeof *C);
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    double V[6] = {0.0}, group[6] = {0.0}, at[3];
    int32_t first = -1;
    for (int32_t k = 0; k < w->count; ++k) {
      if (w->place[side][k] < 0) {
        continue;
      }
      double Pd[6] = {0.0};
      if (sap_derivatives_group(model, w->dofs[k]) != first) {
        first = sap_derivatives_group(model, w->dofs[k]);
        memcpy(group, V, sizeof group);
      }
      sap_spatial_add_motion_cross(Pd, group, w->S[k]);
      motion_at(Pd, w->arm[side], x);
      sap_v3_add_scaled(C[k], x, w->sign[side]);
      sap_spatial_add_scaled(V, w->S[k], y[w->dofs[k]]);
    }
    motion_at(V, w->arm[side], at);
    sap_v3_add_scaled(slip, at, w->sign[side]);
    for (int32_t k = 0; k < w->count; ++k) {
      double turned[6] = {0.0};
      if (w->place[side][k] >= 0) {
        sap_spatial_add_motion_cross(turned, w->S[k], V);
        motion_at(turned, w->arm[side], x);
        sap_v3_add_scaled(C[k], x, w->sign[side]);
      }
      sap_v3_cross(x, V, w->Dp[k]);
      sap_v3_add_scaled(C[k], x, w->sign[side]);
    }
  }
  for (int32_t k = 0; k < w->count; ++k) {
    sap_v3_cross(x, w->rho[k], slip);
    sap_v3_sub(x, C[k], x);
    sap_m3_tmul_v3(C[k], w->R, x);
  }
}

void sap_contact_slopes_add_stiffness(const sap_contact_slopes* w, const double gamma[3],
                                      double* dq0) {
  const sap_model* model = w->kin->dynamics->model;
  const size_t n = (size_t)model->sizes.nv;
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    double f[3], arm_f[3];
    sap_m3_mul_v3(f, w->R, gamma);
    sap_v3_scale(f, f, w->sign[side]);
    sap_v3_cross(arm_f, w->arm[side], f);
    const double wrench[6] = {arm_f[0], arm_f[1], arm_f[2], f[0], f[1], f[2]};
    for (int32_t k = 0; k < w->count; ++k) {
      double moved[3], turned[6] = {0.0}, lever[3], turned_f[3];
      const int32_t before = w->place[side][k];
      sap_v3_cross(moved, w->Dp[k], f);
      sap_v3_cross(turned_f, w->rho[k], f);
      sap_v3_cross(lever, w->arm[side], turned_f);
      sap_v3_add(moved, moved, lever);
      sap_spatial_add_force_cross(turned, w->S[k], wrench);  // (S_k x S_j) . f = -S_j . (S_k x* f)
      double* column = dq0 + n * (size_t)w->dofs[k];
      for (int32_t j = 0; j < w->count; ++j) {
        if (w->place[side][j] < 0) {
          continue;
        }
        double entry = sap_v3_dot(w->S[j], moved) + sap_v3_dot(w->S[j] + 3, turned_f);
        if (before >= 0 &&
            (before < w->place[side][j] || sap_derivatives_group(model, w->dofs[j]) ==
                                               sap_derivatives_group(model, w->dofs[k]))) {
          entry -= sap_spatial_dot(w->S[j], turned);
        }
        column[w->dofs[j]] += entry;
      }
    }
  }
}

void sap_contact_slopes_set(sap_contact_slopes* w, const sap_kinematics* kin,
                            const sap_contact* contact, const sap_contact_variation* vary) {
  const int32_t bodies[SAP_CONTACT_SIDES] = {contact->body_A, contact->body_B};
  w->kin = kin;
  memcpy(w->R, contact->R_WC, sizeof w->R);
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    const int32_t tree = kin->dynamics->model->bodies[bodies[side]].tree;
    w->sign[side] = side == 0 ? -1.0 : 1.0;
    sap_v3_sub(w->arm[side], contact->point, side == 0 ? contact->ahead_A : contact->ahead_B);
    if (tree >= 0) {
      sap_v3_sub(w->arm[side], w->arm[side],
                 kin->p_WB + 3 * (size_t)kin->dynamics->tree_root[tree]);
    }
  }
  find_paths(w, bodies);
  find_motions(w, vary);
}
