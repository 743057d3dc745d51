// SPDX-License-Identifier: BSD-3-Clause
// Recordings of MuJoCo's models, in the layout that `sapstep run --record` writes.
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_RECORD_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_RECORD_H

#include <sapstep/mujoco.h>
#include <sapstep/recorder.h>

typedef struct mujoco_record mujoco_record;

sap_status mujoco_record_open(const char* path, const mjModel* model,
                              const sap_recorder_options* options, mujoco_record** out,
                              sap_error* error);
// A row: what data hold, and the step that led there. report NULL: the start.
sap_status mujoco_record_row(mujoco_record* record, const mjData* data, const sap_mj_report* report,
                             sap_error* error);
// NULL allowed.
sap_status mujoco_record_close(mujoco_record* record, sap_error* error);

#endif
