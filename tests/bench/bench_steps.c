// SPDX-License-Identifier: BSD-3-Clause
// Steps a scene: bench_steps SCENE SKIP STEPS. Under callgrind with --toggle-collect=counted_steps
// the instructions of STEPS steps are counted, which other work on the machine does not change.
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/sapstep.h>

#include "scene_run.h"

sap_status counted_steps(sap_stepper* stepper, sap_state* state, long count, sap_error* error);
sap_status counted_steps(sap_stepper* stepper, sap_state* state, long count, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (long i = 0; status == SAP_STATUS_OK && i < count; ++i) {
    sap_step_report report;
    status = sap_stepper_step(stepper, state, &report, error);
  }
  return status;
}

// A way past counted_steps.
static sap_status skip(sap_stepper* stepper, sap_state* state, long count, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (long i = 0; status == SAP_STATUS_OK && i < count; ++i) {
    status = sap_stepper_step(stepper, state, NULL, error);
  }
  return status;
}

// Through a pointer, so that the compiler does not dissolve the function.
static sap_status (*volatile counted)(sap_stepper*, sap_state*, long, sap_error*) = counted_steps;

int main(int argc, char** argv) {
  if (argc != 4) {
    (void)fprintf(stderr, "usage: bench_steps SCENE SKIP STEPS\n");
    return 2;
  }
  sap_error error = {0};
  scene_run run;
  sap_status status = scene_run_open(argv[1], &run, &error);
  if (status == SAP_STATUS_OK) {
    status = skip(run.stepper, &run.state, strtol(argv[2], NULL, 10), &error);
  }
  if (status == SAP_STATUS_OK) {
    status = counted(run.stepper, &run.state, strtol(argv[3], NULL, 10), &error);
  }
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
  }
  scene_run_close(&run);
  return status == SAP_STATUS_OK ? 0 : 1;
}
