// SPDX-License-Identifier: BSD-3-Clause
// The law of an actuator:
//   force = gain u + bias,   gain, bias = prm . (1, length, rate) if affine, or a muscle's
#ifndef SAP_IO_MJCF_MJCF_ACTUATOR_LAW_H
#define SAP_IO_MJCF_MJCF_ACTUATOR_LAW_H

#include "io/mjcf/mjcf_attribute.h"

// gaintype; biastype with none in the place of fixed.
enum { SAP_MJCF_FIXED, SAP_MJCF_AFFINE, SAP_MJCF_MUSCLE, SAP_MJCF_USER };

typedef struct sap_mjcf_actuator_law {
  int32_t gain_type, bias_type;
  double gain[10], bias[10];  // bias[2] > 0 in MuJoCo's files: a damping ratio
  double time[3];             // dynprm
  sap_activation activation;
  bool user_dynamics;
  int32_t activation_count;  // actdim, -1: by the law
  double damping_ratio, inherit_range;
  bool inherit_activation;  // inheritrange sets the range of the activation, not of the control
  double motor_constant, motor_resistance;  // of a DC motor; 0: not given yet
  double force_limit;                       // of either sign; 0: none
} sap_mjcf_actuator_law;

// Reads the law from the element and its defaults.
sap_status sap_mjcf_read_law(const sap_mjcf_sources* s, sap_mjcf_actuator_law* law);
// Returns NULL, or why the law is not supported.
const char* sap_mjcf_law_unsupported(const sap_mjcf_actuator_law* law);
void sap_mjcf_apply_law(const sap_mjcf_actuator_law* law, sap_actuator_def* def);

#endif
