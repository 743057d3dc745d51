// SPDX-License-Identifier: BSD-3-Clause
// Damping of servos that give a damping ratio.
//   m = sum_j M_jj / (gear c_j)^2 over the dofs that it moves, M in the default pose, as MuJoCo has
//   it bias[2] = -2 ratio sqrt(-bias[1] m)
#include <math.h>

#include "model/compile.h"

static double moved_inertia(const sap_model* model, const sap_model_actuator* actuator) {
  const double gear = actuator->gear;
  if (actuator->transmission == SAP_TRANSMISSION_JOINT) {
    return model->dof_inertia[model->joints[actuator->target].v_start] / (gear * gear);
  }
  const sap_model_tendon* tendon = &model->tendons[actuator->target];
  double sum = 0.0;
  for (int32_t i = tendon->first; i < tendon->first + tendon->count; ++i) {
    const double arm = gear * model->tendon_coefficients[i];
    const double inertia = model->dof_inertia[model->joints[model->tendon_joints[i]].v_start];
    sum += arm * arm / inertia;
  }
  return sum > 0.0 ? 1.0 / sum : 0.0;
}

void sap_compile_actuators(sap_model* model) {
  for (int32_t a = 0; a < model->sizes.actuators; ++a) {
    sap_model_actuator* actuator = &model->actuators[a];
    if (actuator->damping_ratio > 0.0) {
      actuator->bias[2] = -2.0 * actuator->damping_ratio *
                          sqrt(-actuator->bias[1] * moved_inertia(model, actuator));
    }
  }
}
