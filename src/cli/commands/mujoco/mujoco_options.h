// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sapstep mujoco`.
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_OPTIONS_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_OPTIONS_H

#include <sapstep/mujoco.h>
#include <sapstep/recorder.h>

#include "cli/command.h"
#include "cli/table.h"

typedef struct mujoco_options {
  const char *path, *keyframe, *output, *record;
  const char* plugins;                              // folder of MuJoCo's, NULL: none
  double duration, dt, stiffness, relaxation_time;  // NaN: not given
  const char *checkpoint, *resume;                  // paths, NULL: none
  int32_t checkpoint_every;                         // steps per checkpoint; 0: only at the end
  int32_t every;
  bool stats;
  cli_format format;
  sap_mj_options adapter;
  sap_recorder_options recorder;
} mujoco_options;

extern const cli_option mujoco_option_list[];

// True: all is read. False: *exit_code is what the program must return.
bool mujoco_options_read(const cli_command* command, int argc, char** argv, mujoco_options* options,
                         int* exit_code);

#endif
