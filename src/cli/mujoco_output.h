// SPDX-License-Identifier: BSD-3-Clause
// The trajectory of `sapstep mujoco` as CSV: t_s, q and v by joint name, contacts, Newton
// iterations, penetration.
#ifndef SAP_CLI_MUJOCO_OUTPUT_H
#define SAP_CLI_MUJOCO_OUTPUT_H

#include <stdio.h>

#include <sapstep/mujoco.h>

typedef struct mujoco_output {
  FILE* file;
} mujoco_output;

// False: it cannot be written.
bool mujoco_output_open(mujoco_output* out, const char* path, const mjModel* model);
// report NULL: the start.
void mujoco_output_row(mujoco_output* out, const mjModel* model, const mjData* data,
                       const sap_mj_report* report);
bool mujoco_output_close(mujoco_output* out);
void mujoco_output_abandon(mujoco_output* out);

#endif
