// SPDX-License-Identifier: BSD-3-Clause
// A scene ready to be stepped, with the step and the regularization that it asks for.
#ifndef SAP_BENCH_SCENE_RUN_H
#define SAP_BENCH_SCENE_RUN_H

#include <sapstep/sapstep.h>

typedef struct scene_run {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
} scene_run;

// Closed by close, also after a failure.
sap_status scene_run_open(const char* path, scene_run* run, sap_error* error);
void scene_run_close(scene_run* run);

#endif
