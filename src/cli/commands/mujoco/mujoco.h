// SPDX-License-Identifier: BSD-3-Clause
// Recordings of `sapstep mujoco`.
#pragma once

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>
#include <sapstep/recorder.h>

#include "cli/command.h"

typedef struct mujoco_record mujoco_record;

// Creates the recording, which appears when it is closed.
sap_status mujoco_record_open(const char* path, const mjModel* model,
                              const sap_recorder_options* options, mujoco_record** out,
                              sap_error* error);
// Adds the state; report NULL: the start.
sap_status mujoco_record_row(mujoco_record* record, const mjData* data, const sap_mj_report* report,
                             sap_error* error);
// NULL allowed.
sap_status mujoco_record_close(mujoco_record* record, sap_error* error);

// Arrays of a sap_recorded_model that describes a MuJoCo model.
typedef struct mujoco_description {
  sap_recorded_model model;
  sap_recorded_body* bodies;
  sap_recorded_joint* joints;
  sap_recorded_shape* shapes;
  int32_t (*meshes)[4];
  float (*vertices)[3];
  int32_t (*triangles)[3];
} mujoco_description;

extern const sap_joint_type mujoco_joint_types[];  // by mjtJoint
void mujoco_describe(const mjModel* model, mujoco_description* out);
