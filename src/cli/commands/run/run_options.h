// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sapstep run`.
#ifndef SAP_CLI_COMMANDS_RUN_RUN_OPTIONS_H
#define SAP_CLI_COMMANDS_RUN_RUN_OPTIONS_H

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/scene_options.h"
#include "cli/table.h"

typedef struct run_options {
  cli_scene scene;
  const char* controls;      // path of a CSV file, NULL: those of the keyframe
  const char* output;        // path of the trajectory, NULL: none
  const char* record;        // path of the recording, NULL: none
  const char* checkpoint;    // path, NULL: none
  const char* resume;        // path of a checkpoint, NULL: start anew
  int32_t checkpoint_every;  // steps per checkpoint; 0: only at the end
  int32_t every;             // steps per row of trajectory and recording
  const char* dump;          // folder of contact problems, NULL: none
  int32_t dump_every;        // steps per problem
  sap_recorder_options recorder;
  double duration;  // [s]
  bool stats;
  cli_format format;
  sap_stepper_options stepper;  // dt, regularization and contact model: see scene
} run_options;

extern const cli_option run_option_list[];

// True: all is read. False: *exit_code is what the program must return.
bool run_options_read(const cli_command* command, int argc, char** argv, run_options* options,
                      int* exit_code);

#endif
