// SPDX-License-Identifier: BSD-3-Clause
// What the files of `sapstep run` share: run_prepare.c until the first step, run.c from there.
#ifndef SAP_CLI_COMMANDS_RUN_RUN_H
#define SAP_CLI_COMMANDS_RUN_RUN_H

#include <sapstep/sapstep.h>

#include "cli/commands/run/run_controls.h"
#include "cli/commands/run/run_options.h"
#include "cli/commands/run/run_statistics.h"

// Everything that a run owns.
typedef struct run {
  run_options options;
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_trajectory* trajectory;  // NULL: none
  sap_recorder* recorder;      // NULL: none
  sap_state state;
  double* control;  // of the keyframe, (nu)
  run_controls controls;
  run_statistics statistics;
} run;

// Reads the scene, makes all that steps and records it, and writes the first row.
sap_status run_prepare(run* r, sap_error* error);
sap_status run_measure_energy(run* r, run_energy* out, sap_error* error);
// A row of the trajectory and of the recording. Contacts are those of the step that led to the
// state; at the start (report NULL) those found there.
sap_status run_write_row(run* r, const sap_step_report* report, sap_error* error);

#endif
