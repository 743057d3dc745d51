// SPDX-License-Identifier: BSD-3-Clause
// What drives the actuators: controls, or the activations that follow them.
#include <string.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

void sap_multibody_set_input(sap_multibody* multibody, const double* act) {
  const sap_model* model = multibody->model;
  for (int32_t i = 0; i < model->sizes.nu; ++i) {
    const int32_t at = model->actuators[i].act;
    multibody->input[i] = at < 0 ? multibody->control[i] : act[at];
  }
}

int sap_multibody_activate(void* context, const sap_step_context* step, const double* a0,
                           double* a) {
  sap_multibody* multibody = context;
  const sap_model* model = multibody->model;
  memcpy(multibody->act, a0, (size_t)model->sizes.na * sizeof *a0);
  sap_model_advance_activations(model, multibody->control, a0, step->dt, a);
  sap_multibody_set_input(multibody, a0);
  for (int32_t i = 0; i < model->sizes.nu; ++i) {
    const sap_model_actuator* actuator = &model->actuators[i];
    if (actuator->act >= 0 && actuator->activation_early) {
      multibody->input[i] = a[actuator->act];
    }
  }
  return 0;
}
