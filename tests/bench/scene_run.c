// SPDX-License-Identifier: BSD-3-Clause
#include "scene_run.h"

sap_status scene_run_open(const char* path, scene_run* run, sap_error* error) {
  *run = (scene_run){0};
  sap_scene_options reading = sap_scene_options_default();
  reading.lenient = true;
  sap_stepper_options options = sap_stepper_options_default();
  sap_status status = sap_scene_read(path, &reading, &run->model, error);
  if (status == SAP_STATUS_OK) {
    options.dt = sap_model_get_options(run->model)->timestep;
    options.regularization = sap_model_get_options(run->model)->regularization;
    status = sap_multibody_create(run->model, &run->multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_stepper_create(sap_multibody_system(run->multibody), &options, &run->stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(run->model, &run->state, error);
  }
  return status;
}

void scene_run_close(scene_run* run) {
  sap_state_clear(&run->state);
  sap_stepper_destroy(run->stepper);
  sap_multibody_destroy(run->multibody);
  sap_model_destroy(run->model);
  *run = (scene_run){0};
}
