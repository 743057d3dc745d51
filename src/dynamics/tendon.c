// SPDX-License-Identifier: BSD-3-Clause
#include "dynamics/tendon.h"

#include "dynamics/dynamics_data.h"

// From point `first` to the next: u (unit) and both points; returns the length, 0 with u = 0 where
// they coincide.
static double segment(const sap_dynamics* d, int32_t first, double u[3], double p[2][3]) {
  const sap_model* model = d->model;
  for (int32_t i = 0; i < 2; ++i) {
    sap_dynamics_point(d, model->tendon_point_bodies[first + i],
                       model->tendon_points + 3 * (size_t)(first + i), p[i]);
  }
  sap_v3_sub(u, p[1], p[0]);
  const double length = sap_v3_norm(u);
  sap_v3_scale(u, u, length > 0.0 ? 1.0 / length : 0.0);
  return length;
}

double sap_dynamics_tendon_length(const sap_dynamics* d, const double* q, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  double length = 0.0;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    length += model->tendon_coefficients[k] * q[model->joints[model->tendon_joints[k]].q_start];
  }
  for (int32_t i = 0; i + 1 < tendon->npoints; ++i) {
    double u[3], p[2][3];
    length += segment(d, tendon->first_point + i, u, p);
  }
  return length;
}

void sap_dynamics_add_tendon_force(const sap_dynamics* d, int32_t id, double s, double* tau) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    const int32_t i = model->joints[model->tendon_joints[k]].v_start;
    tau[i] += d->locked[i] ? 0.0 : s * model->tendon_coefficients[k];
  }
  for (int32_t i = 0; i + 1 < tendon->npoints; ++i) {
    const int32_t first = tendon->first_point + i;
    double u[3], p[2][3];
    (void)segment(d, first, u, p);
    sap_v3_scale(u, u, s);
    sap_dynamics_add_wrench(d, model->tendon_point_bodies[first + 1], p[1], u, NULL, tau);
    sap_v3_scale(u, u, -1.0);
    sap_dynamics_add_wrench(d, model->tendon_point_bodies[first], p[0], u, NULL, tau);
  }
}

void sap_dynamics_add_tendon_row(const sap_dynamics* d, int32_t id, double s, sap_rows* rows,
                                 int32_t r) {
  const sap_model* model = d->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    sap_rows_touch(rows, model->joints[model->tendon_joints[k]].tree);
  }
  for (int32_t i = tendon->first_point; i < tendon->first_point + tendon->npoints; ++i) {
    const int32_t tree = model->bodies[model->tendon_point_bodies[i]].tree;
    if (tree >= 0) {
      sap_rows_touch(rows, tree);
    }
  }
  sap_dynamics_add_tendon_force(d, id, s, sap_rows_at(rows, r));
}
