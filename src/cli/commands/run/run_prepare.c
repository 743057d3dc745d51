// SPDX-License-Identifier: BSD-3-Clause
// A run from its options to the first row.
#include "cli/commands/run/run.h"

#include <stdlib.h>

// Fills the state, and the controls, from the keyframe or the default pose.
static sap_status set_start(run* r, sap_error* error) {
  r->control = calloc((size_t)sap_model_get_sizes(r->model).nu + 1, sizeof *r->control);
  if (r->control == NULL) {
    return cli_no_memory(error);
  }
  return cli_scene_start(&r->options.scene, r->model, &r->state, r->control, error);
}

static sap_status set_controls(run* r, sap_error* error) {
  const char* from = r->options.controls;
  sap_status status = SAP_STATUS_OK;
  bool over_time = false;
  if (from != NULL && !run_controls_of_keyframe(from, r->model, r->control, &status, error)) {
    over_time = true;
    status = run_controls_read(from, r->model, &r->controls, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_set_control(r->multibody, r->control, error);
  }
  return status == SAP_STATUS_OK && over_time
             ? sap_multibody_set_control_function(r->multibody, run_controls_apply, &r->controls,
                                                  error)
             : status;
}

static sap_status create_stepper(run* r, sap_error* error) {
  sap_stepper_options* options = &r->options.stepper;
  cli_scene_stepper(&r->options.scene, r->model, options);
  sap_status status = sap_multibody_create(r->model, &r->multibody, error);
  if (status == SAP_STATUS_OK) {
    status = set_controls(r, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  return sap_stepper_create(sap_multibody_system(r->multibody), options, &r->stepper, error);
}

static sap_status resume(run* r, sap_error* error) {
  if (r->options.resume == NULL) {
    return SAP_STATUS_OK;
  }
  return sap_checkpoint_read(r->options.resume, r->stepper, &r->state, &r->statistics.before,
                             error);
}

sap_status run_measure_energy(run* r, run_energy* out, sap_error* error) {
  sap_diagnostics diagnostics;
  const sap_status status = sap_multibody_diagnose(r->multibody, &r->state, &diagnostics, error);
  if (status == SAP_STATUS_OK) {
    out->kinetic = diagnostics.kinetic;
    out->potential = diagnostics.potential_gravity + diagnostics.potential_springs;
  }
  return status;
}

sap_status run_write_row(run* r, const sap_step_report* report, sap_error* error) {
  if (r->recorder != NULL) {
    const sap_status status =
        sap_recorder_write(r->recorder, r->multibody, &r->state, report, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  if (r->trajectory == NULL) {
    return SAP_STATUS_OK;
  }
  run_energy energy;
  const sap_status status = run_measure_energy(r, &energy, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t contacts = sap_multibody_contact_count(r->multibody);
  const sap_trajectory_row row = {
      .state = &r->state,
      .contacts = contacts,
      .newton_iterations = report != NULL ? run_newton_iterations(report) : 0,
      .kinetic = energy.kinetic,
      .potential = energy.potential,
      .penetration = run_penetration(sap_multibody_contacts(r->multibody), contacts),
  };
  return sap_trajectory_write(r->trajectory, &row, error);
}

sap_status run_prepare(run* r, sap_error* error) {
  r->statistics.memory_begin = run_peak_memory();
  sap_status status = cli_scene_read(&r->options.scene, NULL, NULL, &r->model, error);
  if (status == SAP_STATUS_OK) {
    status = set_start(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = create_stepper(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = resume(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = run_measure_energy(r, &r->statistics.start, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_detect(r->multibody, r->state.q, error);
  }
  if (status == SAP_STATUS_OK && r->options.output != NULL) {
    status = sap_trajectory_create(r->options.output, r->model, &r->trajectory, error);
  }
  if (status == SAP_STATUS_OK && r->options.record != NULL) {
    status =
        sap_recorder_create(r->options.record, r->model, &r->options.recorder, &r->recorder, error);
  }
  if (status == SAP_STATUS_OK) {
    status = run_write_row(r, NULL, error);
  }
  r->statistics.bodies = status == SAP_STATUS_OK ? sap_model_get_sizes(r->model).bodies - 1 : 0;
  r->statistics.dt = r->options.stepper.dt;
  r->statistics.end = r->statistics.start;
  return status;
}
