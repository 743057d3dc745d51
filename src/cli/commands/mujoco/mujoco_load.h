// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_LOAD_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_LOAD_H

#include "cli/commands/mujoco/mujoco_options.h"

typedef struct mujoco_loaded {
  mjModel* model;
  mjData* data;
  sap_mj* adapter;
} mujoco_loaded;

// Start with {0}; what is there after a failure is for mujoco_unload too.
sap_status mujoco_load(const mujoco_options* options, mujoco_loaded* out, sap_error* error);
void mujoco_unload(mujoco_loaded* loaded);

#endif
