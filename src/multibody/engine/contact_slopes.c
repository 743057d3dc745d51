// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/engine/contact_slopes.h"

#include <string.h>

#include "multibody/dynamics/dynamics_data.h"

sap_status sap_contact_slopes_create(int32_t nv, int32_t nq, sap_pool* pool,
                                     sap_contact_slopes** out, sap_error* error) {
  sap_contact_slopes* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  int32_t** const numbers[] = {&w->dofs,     &w->group, &w->place[0],
                               &w->place[1], &w->path,  &w->column_dof};
  double(** const triples[])[3] = {&w->Dp, &w->rho, &w->scale};
  double(** const sixes[])[6] = {&w->S, &w->J};
  double** const vectors[] = {&w->dphi, &w->X[0], &w->X[1], &w->X[2], &w->row_way};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, numbers[i], nv, error));
  }
  for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, triples[i], nv, error));
  }
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], nv, error));
  }
  for (size_t i = 0; i < sizeof sixes / sizeof *sixes; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, sixes[i], nv, error));
  }
  SAP_TRY(SAP_POOL_ADD(pool, &w->before[0], nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->before[1], nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->C, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->row_change, 6 * nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->row_q, nq, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->row_q_end, nq, error));
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
        w->group[k] = sap_derivatives_group(model, dof);
        w->place[0][k] = w->place[1][k] = -1;
        sap_derivatives_direction(w->kin, dof, w->S[k]);
      }
      w->place[side][k] = place;
    }
    w->moves[side] = n > 0;
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

// Sets V and U of the fields on a side; adds V o p and the angular velocity, signed, to slip.
static void find_side(const sap_contact_slopes* w, int side, const double* const y[SAP_LANES],
                      sap_lanes V[6], sap_lanes slip[6]) {
  const double sign = w->sign[side];
  int32_t last = -1;
  memset(V, 0, 6 * sizeof *V);
  for (int32_t k = 0; k < w->count; ++k) {
    if (w->place[side][k] < 0) {
      continue;
    }
    if (last >= 0 && w->group[last] == w->group[k]) {
      memcpy(w->before[side][k], w->before[side][last], sizeof **w->before);
    } else {
      memcpy(w->before[side][k], V, sizeof **w->before);
    }
    for (int f = 0; f < SAP_LANES; ++f) {
      const double rate = y[f] != NULL ? y[f][w->dofs[k]] : 0.0;
      for (int i = 0; i < 6; ++i) {
        V[i][f] += w->S[k][i] * rate;
      }
    }
    last = k;
  }
  sap_lanes_add_cross(slip, V, w->arm[side], sign);
  sap_lanes_add(slip, V + 3, sign, 3);
  sap_lanes_add(slip + 3, V, sign, 3);
}

// Adds what a side gives to C, in world axes.
static void add_side(const sap_contact_slopes* w, int side, sap_lanes V[6], int32_t k,
                     sap_lanes C[6]) {
  const double sign = w->sign[side], *S = w->S[k];
  sap_lanes_add_cross(C, V, w->Dp[k], sign);
  if (w->place[side][k] >= 0) {
    sap_lanes D[6], turned[6] = {{0.0}};
    memcpy(D, V, sizeof D);
    sap_lanes_add(D, w->before[side][k], -1.0, 6);
    sap_lanes_add_cross(turned, D, S, -sign);
    sap_lanes_add_cross(turned + 3, D + 3, S, -sign);
    sap_lanes_add_cross(turned + 3, D, S + 3, -sign);
    sap_lanes_add_cross(turned + 3, turned, w->arm[side], 1.0);
    sap_lanes_add(C, turned + 3, 1.0, 3);
    sap_lanes_add(C + 3, turned, 1.0, 3);
  }
}

void sap_contact_slopes_fields(const sap_contact_slopes* w, const double* const y[SAP_LANES],
                               int first, bool angular) {
  static const int row_of[6] = {0, 1, 2, 4, 5, 3};  // along t1, t2, n, about t1, t2, n
  sap_lanes slip[6] = {{0.0}}, V[SAP_CONTACT_SIDES][6];
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    if (w->moves[side]) {
      find_side(w, side, y, V[side], slip);
    }
  }
  for (int32_t k = 0; k < w->count; ++k) {
    sap_lanes C[6] = {{0.0}};
    for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
      if (w->moves[side]) {
        add_side(w, side, V[side], k, C);
      }
    }
    sap_lanes_add_cross(C, slip, w->rho[k], 1.0);
    sap_lanes_add_cross(C + 3, slip + 3, w->rho[k], 1.0);
    for (int r = 0; r < (angular ? 6 : 3); ++r) {
      const double* axis = w->R + 3 * (r % 3);
      double* out = w->C[k][row_of[r]] + first;
      sap_lanes* from = r < 3 ? C : C + 3;
      for (int f = 0; f < SAP_LANES; ++f) {
        out[f] = axis[0] * from[0][f] + axis[1] * from[1][f] + axis[2] * from[2][f];
      }
    }
  }
}

void sap_contact_slopes_add_stiffness(const sap_contact_slopes* w, const double* gamma,
                                      bool angular, double* dq0) {
  const size_t n = (size_t)w->kin->dynamics->model->sizes.nv;
  const double turning[3] = {angular ? gamma[4] : 0.0, angular ? gamma[5] : 0.0,
                             angular ? gamma[3] : 0.0};
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    if (!w->moves[side]) {
      continue;
    }
    double wrench[6], *f = wrench + 3, moment[3], x[3];
    sap_m3_mul_v3(f, w->R, gamma);
    sap_v3_scale(f, f, w->sign[side]);
    sap_m3_mul_v3(moment, w->R, turning);
    sap_v3_scale(moment, moment, w->sign[side]);
    sap_v3_cross(wrench, w->arm[side], f);
    sap_v3_add(wrench, wrench, moment);
    for (int32_t k = 0; k < w->count; ++k) {
      double moved[6], behind[6] = {0.0};
      const int32_t before = w->place[side][k];
      sap_v3_cross(moved, w->Dp[k], f);
      sap_v3_cross(moved + 3, w->rho[k], f);
      sap_v3_cross(x, w->arm[side], moved + 3);
      sap_v3_add(moved, moved, x);
      sap_v3_cross(x, w->rho[k], moment);
      sap_v3_add(moved, moved, x);
      sap_spatial_add_force_cross(behind, w->S[k], wrench);  // (S_k x S_j) . f = -S_j . (S_k x* f)
      for (int i = 0; i < 6; ++i) {
        behind[i] = moved[i] - behind[i];
      }
      double* column = dq0 + n * (size_t)w->dofs[k];
      for (int32_t j = 0; j < w->count; ++j) {
        if (w->place[side][j] >= 0) {
          const bool turns =
              before >= 0 && (before < w->place[side][j] || w->group[j] == w->group[k]);
          column[w->dofs[j]] += sap_spatial_dot(w->S[j], turns ? behind : moved);
        }
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
