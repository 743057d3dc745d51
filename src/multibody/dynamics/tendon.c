// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/tendon.h"

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/model/path.h"

double sap_dynamics_tendon_length(const sap_dynamics* d, const double* q, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  double length = 0.0;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    length += model->tendon_coefficients[k] * q[model->joints[model->tendon_joints[k]].q_start];
  }
  return tendon->npoints > 0 ? sap_path_length(model, id, d->now.p_WB, d->now.R_WB) : length;
}

void sap_dynamics_add_tendon_force(const sap_dynamics* d, int32_t id, double s, double* tau) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    const int32_t i = model->joints[model->tendon_joints[k]].v_start;
    tau[i] += d->locked[i] ? 0.0 : s * model->tendon_coefficients[k];
  }
  sap_path path;
  sap_piece piece;
  sap_path_begin(&path, model, id, d->now.p_WB, d->now.R_WB);
  while (sap_path_next(&path, &piece)) {
    double pull[3];
    if (piece.body[0] == piece.body[1]) {
      continue;
    }
    sap_v3_scale(pull, piece.u, s * piece.share);
    sap_dynamics_add_wrench(d, piece.body[1], piece.p[1], pull, NULL, tau);
    sap_v3_scale(pull, pull, -1.0);
    sap_dynamics_add_wrench(d, piece.body[0], piece.p[0], pull, NULL, tau);
  }
}

void sap_dynamics_add_tendon_row(const sap_dynamics* d, int32_t id, double s, sap_rows* rows,
                                 int32_t r) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    sap_rows_touch(rows, model->joints[model->tendon_joints[k]].tree);
  }
  // Also the trees of obstacles that are not in its way now: the pattern stays.
  for (int32_t i = tendon->first_point; i < tendon->first_point + tendon->npoints; ++i) {
    const int32_t tree = model->tendon_wraps[i].way == SAP_TENDON_PULLEY
                             ? -1
                             : model->bodies[model->tendon_point_bodies[i]].tree;
    if (tree >= 0) {
      sap_rows_touch(rows, tree);
    }
  }
  sap_dynamics_add_tendon_force(d, id, s, sap_rows_at(rows, r));
}
