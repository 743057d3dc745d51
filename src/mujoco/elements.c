// SPDX-License-Identifier: BSD-3-Clause
// Stiffness and damping of joints and tendons where they are: k = -dF/dq and b = -dF/dv of MuJoCo's
// passive forces, which are linear or polynomials (3.7), none where they would push, and of tendons
// none within their dead band.
#include "mujoco/adapter.h"

static void find_joint_elements(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const bool springs = sap_mj_springs_are_on(m), dampers = sap_mj_dampers_are_on(m);
  for (int32_t i = 0; i < a->nv; ++i) {
    a->dof_stiffness[i] = 0.0;
    a->dof_damping[i] = dampers ? sap_mj_damping(m->dof_damping[i],
                                                 SAP_MJ_HIGHER(m->dof_dampingpoly, i), d->qvel[i])
                                : 0.0;
  }
  for (int32_t j = 0; springs && j < (int32_t)m->njnt; ++j) {
    const int32_t first = m->jnt_dofadr[j], address = m->jnt_qposadr[j], type = m->jnt_type[j];
    const bool scalar = type == mjJNT_HINGE || type == mjJNT_SLIDE;
    const double x = scalar ? d->qpos[address] - m->qpos_spring[address] : 0.0;
    const double k =
        sap_mj_stiffness(m->jnt_stiffness[j], SAP_MJ_HIGHER(m->jnt_stiffnesspoly, j), x);
    const int32_t count = scalar ? 1 : type == mjJNT_BALL ? 3 : 6;
    for (int32_t i = first; i < first + count; ++i) {
      a->dof_stiffness[i] = k;
    }
  }
}

static void find_tendon_elements(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const bool springs = sap_mj_springs_are_on(m), dampers = sap_mj_dampers_are_on(m);
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    const double length = d->ten_length[t];
#if SAP_MJ_SINCE(3, 0, 0)
    const mjtNum* rest = m->tendon_lengthspring + 2 * t;  // nothing pulls in between
    const double x = length > rest[1]   ? length - rest[1]
                     : length < rest[0] ? length - rest[0]
                                        : 0.0;
    const bool slack = rest[0] < rest[1] && x == 0.0;
#else
    const double x = length - m->tendon_lengthspring[t];
    const bool slack = false;
#endif
    a->tendon_stiffness[t] =
        springs && !slack
            ? sap_mj_stiffness(m->tendon_stiffness[t], SAP_MJ_HIGHER(m->tendon_stiffnesspoly, t), x)
            : 0.0;
    a->tendon_damping[t] =
        dampers ? sap_mj_damping(m->tendon_damping[t], SAP_MJ_HIGHER(m->tendon_dampingpoly, t),
                                 d->ten_velocity[t])
                : 0.0;
  }
}

void sap_mj_find_elements(sap_mj* a, mjData* d) {
  if (a->options.implicit) {
    find_joint_elements(a, d);
    find_tendon_elements(a, d);
    sap_mj_set_elastics(a, d);
  }
}
