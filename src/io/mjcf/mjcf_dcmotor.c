// SPDX-License-Identifier: BSD-3-Clause
// <dcmotor>, driven by its voltage u, with constant K [N m/A] = [V s/rad] and resistance R [ohm]:
//   force = K (u - K rate)/R
// K is the mean of the torque's and the voltage's constants (motorconst, the second also as nominal
// voltage over speed), if both are given the geometric one; R by itself or from the torque that
// stands still at the nominal voltage. saturation bounds the force, directly and by the current;
// its third number is of motors with inductance, which are not read, nor are cogging and what else
// has a state.
#include <math.h>

#include "io/mjcf/mjcf_actuator.h"
#include "io/xml/number.h"

typedef struct motor {
  double constants[2], resistance, nominal[3], saturation[3];
} motor;

// What is given must not be negative.
static sap_status read_values(sap_mjcf_reader* r, const sap_xml_node* node, motor* m) {
  const struct {
    const char* attribute;
    int32_t most;
    double* values;
  } fields[] = {{"motorconst", 2, m->constants},
                {"resistance", 1, &m->resistance},
                {"nominal", 3, m->nominal},
                {"saturation", 3, m->saturation}};
  for (int i = 0; i < 4; ++i) {
    const sap_status status =
        sap_xml_optional(node, fields[i].attribute, 1, fields[i].most, fields[i].values, r->error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    for (int32_t k = 0; k < fields[i].most; ++k) {
      if (!(fields[i].values[k] >= 0.0)) {
        return sap_xml_fail(node, fields[i].attribute, SAP_STATUS_SYNTAX, r->error, "must be >= 0");
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_apply_dcmotor(sap_mjcf_reader* r, const sap_xml_node* node,
                                  sap_mjcf_actuator_law* l) {
  motor m = {.resistance = l->motor_resistance};
  const sap_status status = read_values(r, node, &m);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double voltage = m.nominal[0], torque = m.nominal[1], speed = m.nominal[2];
  const double of_torque = m.constants[0];
  const double of_voltage =
      m.constants[1] > 0.0 || !(speed > 0.0) ? m.constants[1] : voltage / speed;
  const double K = of_torque > 0.0 && of_voltage > 0.0 ? sqrt(of_torque * of_voltage)
                   : of_torque + of_voltage > 0.0      ? of_torque + of_voltage
                                                       : l->motor_constant;
  const double R = m.resistance > 0.0 || !(torque > 0.0) ? m.resistance : K * voltage / torque;
  if (!(K > 0.0) || !(R > 0.0) || !isfinite(K / R) || !isfinite(K * K / R)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "its constant (motorconst or nominal) = %g and resistance = %g must be > 0",
                        K, R);
  }
  l->motor_constant = K;
  l->motor_resistance = R;
  l->gain_type = SAP_MJCF_FIXED;
  l->bias_type = SAP_MJCF_AFFINE;
  l->gain[0] = K / R;
  l->bias[0] = l->bias[1] = 0.0;
  l->bias[2] = -K * K / R;
  l->activation = SAP_ACTIVATION_NONE;
  for (int i = 0; i < 2; ++i) {
    const double bound = i == 0 ? m.saturation[0] : K * m.saturation[1];
    if (bound > 0.0) {
      l->force_limit = l->force_limit > 0.0 ? fmin(l->force_limit, bound) : bound;
    }
  }
  return SAP_STATUS_OK;
}
