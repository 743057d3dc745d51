// SPDX-License-Identifier: BSD-3-Clause
// A model of MuJoCo as a recording has it.
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_DESCRIBE_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_DESCRIBE_H

#include <sapstep/mujoco.h>
#include <sapstep/recorder.h>

typedef struct mujoco_description {
  sap_recorded_model model;  // points into the arrays below and into MuJoCo's
  sap_recorded_body* bodies;
  sap_recorded_joint* joints;
  sap_recorded_shape* shapes;
  int32_t (*meshes)[4];
  float (*vertices)[3];
  int32_t (*triangles)[3];
} mujoco_description;

// False: no memory.
bool mujoco_describe(const mjModel* model, mujoco_description* out);
void mujoco_description_clear(mujoco_description* description);

#endif
