// SPDX-License-Identifier: BSD-3-Clause
#include "dynamics/actuators.h"

#include <math.h>
#include <string.h>

#include "dynamics/dynamics_data.h"
#include "dynamics/transmission.h"

static double clamp(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

double sap_dynamics_actuator_offset(const sap_model* model, int32_t id, const double* control) {
  const sap_model_actuator* actuator = &model->actuators[id];
  const double u =
      clamp(control != NULL ? control[id] : 0.0, actuator->control_lower, actuator->control_upper);
  return actuator->gain * u + actuator->bias[0];
}

bool sap_model_has_effort_range(const sap_model* model, int32_t joint) {
  return isfinite(model->joints[joint].effort_lower) || isfinite(model->joints[joint].effort_upper);
}

// gear times the force of an actuator that is not a servo.
static double motor_effort(const sap_model* model, int32_t id, const double* control) {
  const sap_model_actuator* actuator = &model->actuators[id];
  return actuator->gear * clamp(sap_dynamics_actuator_offset(model, id, control),
                                actuator->force_lower, actuator->force_upper);
}

bool* sap_dynamics_actuator_switches(sap_dynamics* d) {
  return d->actuator_active;
}

bool sap_dynamics_actuator_is_on(const sap_dynamics* d, int32_t id) {
  return d->actuator_active[id];
}

static bool is_bounded_motor(const sap_dynamics* d, int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  return d->actuator_active[id] && !actuator->servo &&
         actuator->transmission == SAP_TRANSMISSION_JOINT &&
         sap_model_has_effort_range(model, actuator->target);
}

const double* sap_dynamics_motor_efforts(const sap_dynamics* d, const double* control) {
  const sap_model* model = d->model;
  memset(d->effort, 0, (size_t)model->sizes.joints * sizeof *d->effort);
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    if (is_bounded_motor(d, i)) {
      d->effort[model->actuators[i].target] += motor_effort(model, i, control);
    }
  }
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    if (is_bounded_motor(d, i)) {
      const int32_t joint = model->actuators[i].target;
      d->effort[joint] = clamp(d->effort[joint], model->joints[joint].effort_lower,
                               model->joints[joint].effort_upper);
    }
  }
  return d->effort;
}

void sap_dynamics_add_motors(const sap_dynamics* d, const double* control, double sign, double* k) {
  const sap_model* model = d->model;
  bool bounded = false;
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_model_actuator* actuator = &model->actuators[i];
    if (actuator->servo || !d->actuator_active[i]) {
      continue;
    }
    if (is_bounded_motor(d, i)) {
      bounded = true;
    } else {
      sap_dynamics_add_transmission_force(d, i, sign * motor_effort(model, i, control), k);
    }
  }
  if (bounded) {
    const double* effort = sap_dynamics_motor_efforts(d, control);
    for (int32_t j = 0; j < model->sizes.joints; ++j) {
      if (effort[j] != 0.0) {
        k[model->joints[j].v_start] += sign * effort[j];
      }
    }
  }
}
