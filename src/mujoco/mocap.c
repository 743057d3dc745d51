// SPDX-License-Identifier: BSD-3-Clause
// Motion of mocap bodies, which the user places. Between two steps they move at
//   v     = (p - p_before)/h
//   omega = log(q q_before^-1)/h
// A body faster than options.mocap_speed_limit was placed elsewhere and rests.
#include <string.h>

#include "mujoco/adapter.h"
#include "multibody/dynamics/spatial.h"

void sap_mj_mocap_update(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const double h = a->mocap.interval > 0.0 ? a->mocap.interval : m->opt.timestep;
  memset(a->mocap.velocity, 0, 6 * (size_t)m->nmocap * sizeof(double));
  for (int32_t i = 0; a->mocap.is_known && i < (int32_t)m->nmocap; ++i) {
    double* omega = a->mocap.velocity + 6 * i;
    double* v = omega + 3;
    mjtNum back[4], turn[4];
    mju_negQuat(back, a->mocap.quat + 4 * i);
    mju_mulQuat(turn, d->mocap_quat + 4 * i, back);
    mju_normalize4(turn);
    mju_quat2Vel(omega, turn, h);
    for (int32_t k = 0; k < 3; ++k) {
      v[k] = (d->mocap_pos[3 * i + k] - a->mocap.pos[3 * i + k]) / h;
    }
    if (!(sap_v3_norm(v) <= a->options.mocap_speed_limit)) {
      memset(omega, 0, 6 * sizeof(double));
    }
  }
}

void sap_mj_mocap_save(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  memcpy(a->mocap.pos, d->mocap_pos, 3 * (size_t)m->nmocap * sizeof(double));
  memcpy(a->mocap.quat, d->mocap_quat, 4 * (size_t)m->nmocap * sizeof(double));
  a->mocap.is_known = true;
}

bool sap_mj_mocap_point(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                        double velocity[3], double omega[3]) {
  const mjModel* m = a->model;
  if (m->nmocap == 0 || a->trees.of_body[body] >= 0) {
    return false;
  }
  int32_t root = body;  // mocap bodies are children of the world
  while (root > 0 && m->body_parentid[root] != 0) {
    root = m->body_parentid[root];
  }
  const int32_t id = m->body_mocapid[root];
  if (id < 0) {
    return false;
  }
  const double* motion = a->mocap.velocity + 6 * id;
  const mjtNum* origin = d->mocap_pos + 3 * id;
  double r[3];
  sap_v3_sub(r, p, origin);
  memcpy(omega, motion, 3 * sizeof(double));
  sap_spatial_velocity_at(velocity, motion, r);
  return true;
}
