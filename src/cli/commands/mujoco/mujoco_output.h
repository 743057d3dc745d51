// SPDX-License-Identifier: BSD-3-Clause
// The trajectory of `sapstep mujoco` as CSV: t_s, q and v by joint name, contacts, Newton
// iterations, penetration.
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_OUTPUT_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_OUTPUT_H

#include <sapstep/mujoco.h>

#include "core/file.h"

// The file and its header; it appears when it is committed.
sap_status mujoco_output_open(const char* path, const mjModel* model, sap_file** out,
                              sap_error* error);
// report NULL: the start.
sap_status mujoco_output_row(sap_file* out, const mjModel* model, const mjData* data,
                             const sap_mj_report* report, sap_error* error);

#endif
