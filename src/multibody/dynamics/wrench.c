// SPDX-License-Identifier: BSD-3-Clause
// Forces on bodies as generalized forces, and so the rows of velocities they do work on.
//   tau_i = S_i . [m + (p - O) x f; f]  for the dofs i on the path from the body to its root
#include "multibody/dynamics/dynamics_data.h"

void sap_dynamics_point(const sap_dynamics* d, int32_t body, const double p_BP[3], double p_W[3]) {
  sap_v3_place(p_W, d->now.p_WB + 3 * (size_t)body, d->now.R_WB + 9 * (size_t)body, p_BP);
}

void sap_dynamics_add_wrench_behind(const sap_dynamics* d, int32_t body, int32_t stop,
                                    const double p_W[3], const double f[3], const double m[3],
                                    double* tau) {
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  double arm[3], n[3];
  sap_v3_sub(arm, p_W, d->now.p_WB + 3 * (size_t)root);
  sap_v3_cross(n, arm, f);
  if (m != NULL) {
    sap_v3_add(n, n, m);
  }
  for (int32_t i = model->bodies[body].last_dof; i >= end && i > stop; i = model->dof_parent[i]) {
    if (!d->locked[i]) {
      tau[i] += sap_v3_dot(d->now.S[i], n) + sap_v3_dot(d->now.S[i] + 3, f);
    }
  }
  // The six of a free root move as one.
  for (int32_t k = 0; k < 3 && end > first && stop < first && !d->locked[first]; ++k) {
    tau[first + k] += f[k];
    tau[first + 3 + k] += sap_v3_dot(d->now.R_WB + 9 * (size_t)root + 3 * k, n);
  }
}

void sap_dynamics_add_wrench(const sap_dynamics* d, int32_t body, const double p_W[3],
                             const double f[3], const double m[3], double* tau) {
  sap_dynamics_add_wrench_behind(d, body, -1, p_W, f, m, tau);
}

void sap_dynamics_add_wrench_row(const sap_dynamics* d, int32_t body, const double p_W[3],
                                 const double f[3], const double m[3], sap_rows* rows, int32_t r) {
  const int32_t tree = d->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
    sap_dynamics_add_wrench(d, body, p_W, f, m, sap_rows_at(rows, r));
  }
}

void sap_dynamics_add_joint_row(const sap_dynamics* d, int32_t joint, double s, sap_rows* rows,
                                int32_t r) {
  const sap_model_joint_data* data = &d->model->joints[joint];
  sap_rows_touch(rows, data->tree);
  sap_rows_at(rows, r)[data->v_start] += d->locked[data->v_start] ? 0.0 : s;
}

void sap_dynamics_point_jacobian(sap_dynamics* d, int32_t body, const double p_BP[3], double* J) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  static const double zero[3] = {0.0, 0.0, 0.0};
  double p_W[3];
  sap_dynamics_point(d, body, p_BP, p_W);
  sap_rows_begin(&d->rows, 6);
  for (int32_t i = 0; i < 3; ++i) {
    sap_dynamics_add_wrench_row(d, body, p_W, zero, axes[i], &d->rows, i);
    sap_dynamics_add_wrench_row(d, body, p_W, axes[i], NULL, &d->rows, 3 + i);
  }
  for (int32_t j = 0; j < d->model->sizes.nv; ++j) {
    for (int32_t r = 0; r < 6; ++r) {
      J[6 * (size_t)j + (size_t)r] = sap_rows_at(&d->rows, r)[j];
    }
  }
}
