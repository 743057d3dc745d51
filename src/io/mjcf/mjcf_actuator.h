// SPDX-License-Identifier: BSD-3-Clause
// The law of an actuator as MJCF gives it.
#ifndef SAP_IO_MJCF_MJCF_ACTUATOR_H
#define SAP_IO_MJCF_MJCF_ACTUATOR_H

#include "io/mjcf/mjcf.h"

// gaintype; biastype with none in the place of fixed.
enum { SAP_MJCF_FIXED, SAP_MJCF_AFFINE, SAP_MJCF_MUSCLE, SAP_MJCF_USER };

typedef struct sap_mjcf_actuator_law {
  int32_t gain_type, bias_type;
  double gain[10], bias[10];  // bias[2] > 0 in MuJoCo's files: a damping ratio
  double time[3];             // dynprm
  sap_activation activation;
  bool user_dynamics;
  int32_t activation_count;  // actdim, -1: as many as it needs
  double damping_ratio, inherit_range;
  bool inherit_activation;  // what is inherited is the activation's range, not the control's
  double motor_constant, motor_resistance;  // of a DC motor; 0: not given yet
  double force_limit;                       // of either sign; 0: none
} sap_mjcf_actuator_law;

// mjcf_actuator_class.c: what the element and its defaults make of the law, outermost first.
sap_status sap_mjcf_read_law(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                             sap_mjcf_actuator_law* law);
// What one element makes of the law that those before it left.
sap_status sap_mjcf_apply_element(sap_mjcf_reader* r, const sap_xml_node* node,
                                  sap_mjcf_actuator_law* law);
// mjcf_dcmotor.c: the same of <dcmotor>.
sap_status sap_mjcf_apply_dcmotor(sap_mjcf_reader* r, const sap_xml_node* node,
                                  sap_mjcf_actuator_law* law);
// NULL, or why the law is beyond this engine.
const char* sap_mjcf_law_unsupported(const sap_mjcf_actuator_law* law);
void sap_mjcf_apply_law(const sap_mjcf_actuator_law* law, sap_actuator_def* def);

#endif
