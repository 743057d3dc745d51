// SPDX-License-Identifier: BSD-3-Clause
// Actuators of the builder.
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

static sap_model_actuator law_of(const sap_actuator_def* def) {
  sap_model_actuator actuator = {.gear = def->gear,
                                 .control_lower = def->control_lower,
                                 .control_upper = def->control_upper,
                                 .force_lower = def->force_lower,
                                 .force_upper = def->force_upper,
                                 .gain = def->gain,
                                 .damping_ratio = def->damping_ratio,
                                 .act = -1,
                                 .activation = def->activation,
                                 .activation_lower = def->activation_lower,
                                 .activation_upper = def->activation_upper,
                                 .activation_early = def->activation_early,
                                 .muscle_gain = def->muscle_gain,
                                 .muscle_bias = def->muscle_bias,
                                 .muscle = def->muscle,
                                 .length_lower = def->length_lower,
                                 .length_upper = def->length_upper};
  memcpy(actuator.gain_slope, def->gain_slope, sizeof actuator.gain_slope);
  memcpy(actuator.bias, def->bias, sizeof actuator.bias);
  memcpy(actuator.activation_time, def->activation_time, sizeof actuator.activation_time);
  return actuator;
}

// What it acts on; the definition has been checked.
static void set_target(const sap_checker* checker, const sap_actuator_def* def,
                       sap_model_actuator* actuator) {
  actuator->transmission = def->transmission;
  actuator->target = def->target;
  actuator->in_parent = def->in_parent;
  memcpy(actuator->direction, def->direction, sizeof actuator->direction);
  if (def->transmission == SAP_TRANSMISSION_SLIDER_CRANK) {
    actuator->crank_body = def->crank_body;
    actuator->slider_body = def->slider_body;
    actuator->crank_length = def->crank_length;
    memcpy(actuator->crank_point, def->crank_point, sizeof actuator->crank_point);
    memcpy(actuator->slider_point, def->slider_point, sizeof actuator->slider_point);
    (void)sap_check_axis(checker, "slider_axis", def->slider_axis, actuator->slider_axis);
  }
  if (def->transmission == SAP_TRANSMISSION_SITE) {
    actuator->site_body = def->site_body;
    actuator->reference_body = def->reference_body;
    memcpy(actuator->site_point, def->site_point, sizeof actuator->site_point);
    memcpy(actuator->reference_point, def->reference_point, sizeof actuator->reference_point);
    (void)sap_check_quaternion(checker, "site_q", def->site_q, actuator->site_q);
    (void)sap_check_quaternion(checker, "reference_q", def->reference_q, actuator->reference_q);
  }
}

sap_status sap_builder_add_actuator(sap_builder* builder, const sap_actuator_def* def, int32_t* id,
                                    sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "actuator: builder or definition is NULL");
  }
  const sap_checker checker = {"actuator", def->name, builder->nactuators, error};
  sap_status status = sap_builder_check_actuator(&checker, builder, def);
  if (status == SAP_STATUS_OK) {
    status =
        SAP_GROW(&builder->actuators, &builder->actuator_capacity, builder->nactuators + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_ACTUATOR, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_model_actuator actuator = law_of(def);
  set_target(&checker, def, &actuator);
  if (def->activation != SAP_ACTIVATION_NONE) {
    actuator.act = builder->na++;
  }
  builder->actuators[builder->nactuators] = actuator;
  if (id != NULL) {
    *id = builder->nactuators;
  }
  ++builder->nactuators;
  return SAP_STATUS_OK;
}
