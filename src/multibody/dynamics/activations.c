// SPDX-License-Identifier: BSD-3-Clause
// Activations of actuators a step later.
#include <math.h>

#include "math/clamp.h"
#include "multibody/dynamics/actuators.h"

// A passage from 0 at x <= 0 to 1 at x >= 1, of which two derivatives vanish at both ends.
static double passage(double x) {
  const double s = sap_clamp(x, 0.0, 1.0);
  return s * s * s * (10.0 - s * (15.0 - 6.0 * s));
}

static double muscle_time(const double time[3], double act, double difference) {
  const double pace = 0.5 + 1.5 * sap_clamp(act, 0.0, 1.0);
  const double rise = time[0] * pace, fall = time[1] / pace;
  if (time[2] > 0.0) {
    return fall + (rise - fall) * passage(difference / time[2] + 0.5);
  }
  return difference > 0.0 ? rise : fall;
}

static double advance(const sap_model_actuator* a, double control, double act, double dt) {
  double u = sap_clamp(control, a->control_lower, a->control_upper), tau = a->activation_time[0];
  switch (a->activation) {
    case SAP_ACTIVATION_NONE:
      return act;
    case SAP_ACTIVATION_INTEGRATOR:
      return act + dt * u;
    case SAP_ACTIVATION_FILTER_EXACT:
      return tau > 0.0 ? act - (u - act) * expm1(-dt / tau) : u;
    case SAP_ACTIVATION_MUSCLE:
      u = sap_clamp(u, 0.0, 1.0);
      tau = muscle_time(a->activation_time, act, u - act);
      break;
    case SAP_ACTIVATION_FILTER:
      break;
  }
  return dt < tau ? act + (u - act) * (dt / tau) : u;
}

void sap_model_advance_activations(const sap_model* model, const double* control, const double* act,
                                   double dt, double* next) {
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_model_actuator* a = &model->actuators[i];
    if (a->act >= 0) {
      next[a->act] = sap_clamp(advance(a, control[i], act[a->act], dt), a->activation_lower,
                               a->activation_upper);
    }
  }
}
