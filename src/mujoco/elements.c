// SPDX-License-Identifier: BSD-3-Clause
// Stiffness and damping of joints, tendons and actuators: k = -dF/dq and b = -dF/dv of MuJoCo's
// passive forces.
//
// Forces are linear, or polynomials since MuJoCo 3.7. A slope that would push counts as 0, and so
// does that of a tendon within its dead band.
#include <math.h>

#include "mujoco/adapter.h"

static int32_t joint_velocities(const mjModel* m, int32_t joint) {
  return m->jnt_type[joint] == mjJNT_FREE ? 6 : m->jnt_type[joint] == mjJNT_BALL ? 3 : 1;
}

// Returns a joint's distance from its spring's rest; of a free joint in translation or in rotation.
static double displacement_of(const mjModel* m, const mjData* d, int32_t joint, bool translation) {
  const int type = m->jnt_type[joint];
  const int32_t address = m->jnt_qposadr[joint];
  const mjtNum *q = d->qpos + address, *rest = m->qpos_spring + address;
  if (type == mjJNT_HINGE || type == mjJNT_SLIDE) {
    return q[0] - rest[0];
  }
  mjtNum turn[3];
  if (translation) {
    return mju_dist3(q, rest);
  }
  const int32_t quaternion = type == mjJNT_FREE ? 3 : 0;
  mju_subQuat(turn, q + quaternion, rest + quaternion);
  return mju_norm3(turn);
}

// Returns the slope along the displacement x. Springs of three directions have f/x across it: the
// larger of the slopes at 0 and at x bounds both.
static double joint_stiffness(const mjModel* m, const mjData* d, int32_t joint, bool translation) {
  const double k = m->jnt_stiffness[joint];
  const mjtNum* higher = SAP_MJ_HIGHER(m->jnt_stiffnesspoly, joint);
  if (sap_mj_is_linear(higher)) {
    return fmax(k, 0.0);
  }
  const double slope = sap_mj_stiffness(k, higher, displacement_of(m, d, joint, translation));
  return joint_velocities(m, joint) > 1 ? fmax(slope, sap_mj_stiffness(k, higher, 0.0)) : slope;
}

static void update_joints(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  const bool springs = (m->opt.disableflags & SAP_MJ_NO_SPRINGS) == 0;
  const bool dampers = (m->opt.disableflags & SAP_MJ_NO_DAMPERS) == 0;
  for (int32_t i = 0; i < (int32_t)m->nv; ++i) {
    const mjtNum* higher = SAP_MJ_HIGHER(m->dof_dampingpoly, i);
    elements->dof_stiffness[i] = 0.0;
    elements->dof_damping[i] =
        dampers ? sap_mj_damping(m->dof_damping[i], higher, d->qvel[i]) : 0.0;
  }
  for (int32_t j = 0; springs && j < (int32_t)m->njnt; ++j) {
    const int32_t first = m->jnt_dofadr[j], count = joint_velocities(m, j);
    for (int32_t i = first; i < first + count; ++i) {
      elements->dof_stiffness[i] = joint_stiffness(m, d, j, count == 6 && i < first + 3);
    }
  }
}

static void update_tendons(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  const bool springs = (m->opt.disableflags & SAP_MJ_NO_SPRINGS) == 0;
  const bool dampers = (m->opt.disableflags & SAP_MJ_NO_DAMPERS) == 0;
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    const double length = d->ten_length[t];
#if SAP_MJ_SINCE(3, 0, 0)
    const mjtNum* rest = m->tendon_lengthspring + 2 * t;  // no force in between
    const double x = length > rest[1]   ? length - rest[1]
                     : length < rest[0] ? length - rest[0]
                                        : 0.0;
    const bool slack = rest[0] < rest[1] && x == 0.0;
#else
    const double x = length - m->tendon_lengthspring[t];
    const bool slack = false;
#endif
    const mjtNum* stiffer = SAP_MJ_HIGHER(m->tendon_stiffnesspoly, t);
    const mjtNum* damper = SAP_MJ_HIGHER(m->tendon_dampingpoly, t);
    elements->tendon_stiffness[t] =
        springs && !slack ? sap_mj_stiffness(m->tendon_stiffness[t], stiffer, x) : 0.0;
    elements->tendon_damping[t] =
        dampers ? sap_mj_damping(m->tendon_damping[t], damper, d->ten_velocity[t]) : 0.0;
  }
}

#if SAP_MJ_SINCE(3, 9, 0)
// Adds the dampers of actuators to the joint or tendon that they drive, of velocity v:
//   f = -gear^2 (b v + b_2 v |v| + ...)
static void add_actuator_dampers(sap_mj_elements* elements, const mjModel* m, const mjData* d) {
  const bool dampers = (m->opt.disableflags & SAP_MJ_NO_DAMPERS) == 0;
  for (int32_t i = 0; dampers && i < SAP_MJ_ACTUATORS(m); ++i) {
    const mjtNum* higher = SAP_MJ_HIGHER(m->actuator_dampingpoly, i);
    const int type = m->actuator_trntype[i];
    if (type != mjTRN_TENDON && type != mjTRN_JOINT && type != mjTRN_JOINTINPARENT) {
      continue;
    }
    const bool tendon = type == mjTRN_TENDON;
    const int32_t id = m->actuator_trnid[2 * i], first = tendon ? id : m->jnt_dofadr[id];
    const int32_t count = tendon ? 1 : joint_velocities(m, id);
    const double gear = m->actuator_gear[6 * SAP_MJ_FIRST_OUTPUT(m, i)];
    const mjtNum* v = tendon ? d->ten_velocity : d->qvel;
    double* damping = tendon ? elements->tendon_damping : elements->dof_damping;
    for (int32_t k = first; k < first + count; ++k) {
      damping[k] += gear * gear * sap_mj_damping(m->actuator_damping[i], higher, v[k]);
    }
  }
}
#endif

void sap_mj_elements_update(sap_mj* a, const mjData* d) {
  if (!a->options.implicit) {
    return;
  }
  update_joints(&a->elements, a->model, d);
  update_tendons(&a->elements, a->model, d);
#if SAP_MJ_SINCE(3, 9, 0)
  add_actuator_dampers(&a->elements, a->model, d);
#endif
}
