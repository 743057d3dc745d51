// SPDX-License-Identifier: BSD-3-Clause
// Controls over time from a CSV file: a header t_s,NAME,... that names actuators, then rows by
// ascending time. A row holds from its time until the next; before the first one and for actuators
// that the file does not name, controls stay as they are.
#ifndef SAP_CLI_COMMANDS_RUN_RUN_CONTROLS_H
#define SAP_CLI_COMMANDS_RUN_RUN_CONTROLS_H

#include <sapstep/sapstep.h>

typedef struct run_controls {
  int32_t columns;    // actuators named
  int32_t* actuator;  // their ids                                       (columns)
  int32_t rows, row_capacity;
  double* values;  // t, then a control per column, row by row           ((1 + columns) rows)
} run_controls;

// Fills the controls (nu) of the keyframe `name`, unless a file has that name. False: there is no
// such keyframe, and `control` is unchanged.
bool run_controls_of_keyframe(const char* name, const sap_model* model, double* control,
                              sap_status* status, sap_error* error);
// Start from {0}; errors name file and line.
sap_status run_controls_read(const char* path, const sap_model* model, run_controls* out,
                             sap_error* error);
void run_controls_clear(run_controls* controls);
// A sap_control_function whose context is a run_controls.
int run_controls_apply(void* context, double t, const double* q, const double* v, double* control);

#endif
