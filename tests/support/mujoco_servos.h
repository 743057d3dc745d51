// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_TESTS_SUPPORT_MUJOCO_SERVOS_H
#define SAP_TESTS_SUPPORT_MUJOCO_SERVOS_H

#include <string.h>

#include <mujoco/mujoco.h>

// Makes all actuators position servos of gain kp on their hinges, that hold the default pose.
static inline void mujoco_stiffen(mjModel* m, double kp) {
  for (int i = 0; i < (int)m->nu; ++i) {
    memset(m->actuator_gear + 6 * i, 0, 6 * sizeof(mjtNum));
    m->actuator_gear[6 * i] = 1.0;
    m->actuator_gaintype[i] = mjGAIN_FIXED;
    m->actuator_biastype[i] = mjBIAS_AFFINE;
    m->actuator_gainprm[mjNGAIN * i] = kp;
    m->actuator_biasprm[mjNBIAS * i + 1] = -kp;
    m->actuator_ctrllimited[i] = 0;
    m->actuator_forcelimited[i] = 0;
  }
}

#endif
