// SPDX-License-Identifier: BSD-3-Clause
// Rows of contacts ahead: each body has its own point, and moments follow the turn of a free body
// until it is hit.
#include "math/vector3.h"
#include "mujoco/adapter.h"
#include "multibody/dynamics/spatial.h"

// See sap_kinematics_turn_point_jacobian; 0 of bodies that are not free or have joints.
static double turning_share(const mjModel* m, const mjData* d, int32_t root) {
  double I[6] = {0.0};
  int32_t dofs = 0;
  for (int32_t b = root; b < (int32_t)m->nbody && m->body_rootid[b] == root && root > 0; ++b) {
    dofs += (int32_t)m->body_dofnum[b];
    for (int32_t i = 0; i < 6; ++i) {
      I[i] += d->cinert[10 * b + i];
    }
  }
  const bool free = dofs == 6 && m->body_jntnum[root] == 1;
  return free ? sap_inertia_turning_share(I) : 0.0;
}

sap_status sap_mj_ahead_keep_part(sap_mj* a, const mjData* d, double t, const mjContact* c,
                                  const double part[3], sap_error* error) {
  SAP_TRY(SAP_ROOM(&a->pool, &a->ahead.parts, a->ahead.part_count + 1, error));
  sap_mj_part* to = &a->ahead.parts[a->ahead.part_count];
  to->contact = (int32_t)d->ncon;
  sap_v3_copy(to->part, part);
  double all = sap_v3_dot(part, part);
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t body = a->model->geom_bodyid[side == 0 ? c->geom1 : c->geom2];
    sap_v3_scale(to->turn[side], a->ahead.motion + 6 * body,
                 t * turning_share(a->model, d, a->model->body_rootid[body]));
    all += sap_v3_dot(to->turn[side], to->turn[side]);
  }
  a->ahead.part_count += all > 0.0 ? 1 : 0;
  return SAP_STATUS_OK;
}

void sap_mj_ahead_add_part(sap_mj* a, mjData* d, const sap_mj_part* of) {
  const mjModel* m = a->model;
  const mjContact* c = &d->contact[of->contact];
  const bool pyramidal = c->dim > 1 && mj_isPyramidal(m);
  const int32_t nv = a->nv, rows = sap_mj_contact_row_count(m, c);
  double *jacobians[2] = {a->ahead.turn, a->ahead.turn + 3 * nv}, arm[2][3];
  if (c->efc_address < 0) {
    return;
  }
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t body = m->geom_bodyid[side == 0 ? c->geom1 : c->geom2];
    mj_jac(m, d, NULL, jacobians[side], c->pos, body);
    sap_v3_sub(arm[side], c->pos, d->subtree_com + 3 * m->body_rootid[body]);
    sap_v3_add_scaled(arm[side], of->part, side == 0 ? 1.0 : -1.0);
  }
  for (int32_t r = 0; r < (pyramidal ? rows : rows < 3 ? rows : 3); ++r) {
    double along[3], across[3], moment[2][3];
    sap_v3_copy(along, c->frame + (pyramidal ? 0 : 3 * r));
    if (pyramidal && r < 4) {
      sap_v3_add_scaled(along, c->frame + 3 * (r / 2 + 1),
                        (r % 2 == 0 ? 1.0 : -1.0) * c->friction[r / 2]);
    }
    sap_v3_cross(across, along, of->part);
    for (int32_t side = 0; side < 2; ++side) {
      sap_spatial_turn_moment(moment[side], of->turn[side], arm[side], along);
      sap_v3_scale(moment[side], moment[side], side == 0 ? -1.0 : 1.0);
      sap_v3_add(moment[side], moment[side], across);
    }
    const sap_mj_row row = sap_mj_constraint_row(&a->shadow, d, c->efc_address + r);
    mjtNum* values = d->efc_J + (row.values - d->efc_J);
    for (int32_t k = 0; k < row.count; ++k) {
      const int32_t i = row.columns != NULL ? row.columns[k] : k;
      for (int32_t x = 0; x < 3; ++x) {
        values[k] +=
            moment[0][x] * jacobians[0][x * nv + i] + moment[1][x] * jacobians[1][x * nv + i];
      }
    }
  }
}
