// SPDX-License-Identifier: BSD-3-Clause
// Default-filled definitions.
#include <math.h>

#include <sapstep/model.h>

sap_body_def sap_body_def_default(void) {
  return (sap_body_def){.q_PB = {1.0, 0.0, 0.0, 0.0}};
}

sap_joint_def sap_joint_def_default(void) {
  return (sap_joint_def){.type = SAP_JOINT_HINGE,
                         .axis = {0.0, 0.0, 1.0},
                         .lower = -(double)INFINITY,
                         .upper = (double)INFINITY,
                         .limit_stiffness = (double)INFINITY,
                         .limit_relaxation_time = 0.01,
                         .motor_speed = (double)INFINITY,
                         .effort_lower = -(double)INFINITY,
                         .effort_upper = (double)INFINITY};
}

sap_shape_def sap_shape_def_default(void) {
  return (sap_shape_def){.type = SAP_SHAPE_SPHERE,
                         .q_BS = {1.0, 0.0, 0.0, 0.0},
                         .material = {.relaxation_time = 0.01, .friction = 0.5},
                         .condim = 3,
                         .contact_type = 1,
                         .contact_affinity = 1,
                         .mesh = -1,
                         .fluid_coefficients = {0.5, 0.25, 1.5, 1.0, 1.0},
                         .color = {(double)NAN, (double)NAN, (double)NAN, (double)NAN}};
}

sap_tendon_def sap_tendon_def_default(void) {
  return (sap_tendon_def){.lower = -(double)INFINITY,
                          .upper = (double)INFINITY,
                          .limit_stiffness = (double)INFINITY,
                          .limit_relaxation_time = 0.01,
                          .spring_lower = (double)NAN,
                          .spring_upper = (double)NAN,
                          .effort_lower = -(double)INFINITY,
                          .effort_upper = (double)INFINITY};
}

sap_muscle sap_muscle_default(void) {
  return (sap_muscle){.range = {0.75, 1.05},
                      .force = -1.0,
                      .scale = 200.0,
                      .lmin = 0.5,
                      .lmax = 1.6,
                      .vmax = 1.5,
                      .fpmax = 1.3,
                      .fvmax = 1.2};
}

sap_actuator_def sap_actuator_def_default(void) {
  return (sap_actuator_def){.gear = 1.0,
                            .reference_body = -1,
                            .site_q = {1.0, 0.0, 0.0, 0.0},
                            .reference_q = {1.0, 0.0, 0.0, 0.0},
                            .control_lower = -(double)INFINITY,
                            .control_upper = (double)INFINITY,
                            .force_lower = -(double)INFINITY,
                            .force_upper = (double)INFINITY,
                            .gain = 1.0,
                            .activation_lower = -(double)INFINITY,
                            .activation_upper = (double)INFINITY,
                            .muscle = sap_muscle_default(),
                            .length_lower = (double)NAN,
                            .length_upper = (double)NAN,
                            .slider_axis = {0.0, 0.0, 1.0},
                            .crank_length = 1.0};
}

sap_equality_def sap_equality_def_default(void) {
  return (sap_equality_def){.type = SAP_EQUALITY_CONNECT,
                            .b = -1,
                            .q_AB = {1.0, 0.0, 0.0, 0.0},
                            .polynomial = {0.0, 1.0, 0.0, 0.0, 0.0},
                            .distance = 1.0,
                            .torque_scale = 1.0,
                            .stiffness = (double)INFINITY,
                            .relaxation_time = 0.01,
                            .active = true};
}

sap_spring_def sap_spring_def_default(void) {
  return (sap_spring_def){.body_a = 0};
}

sap_bushing_def sap_bushing_def_default(void) {
  return (sap_bushing_def){.q_AF = {1.0, 0.0, 0.0, 0.0}, .q_BG = {1.0, 0.0, 0.0, 0.0}};
}

sap_pair_def sap_pair_def_default(void) {
  return (sap_pair_def){.material = sap_material_default(),
                        .condim = 3,
                        .friction_t2 = -1.0,
                        .friction_rolling_2 = -1.0};
}

sap_model_options sap_model_options_default(void) {
  return (sap_model_options){.gravity = {0.0, 0.0, -9.81},
                             .timestep = 0.002,
                             .friction_rule = SAP_FRICTION_HARMONIC,
                             .regularization = sap_regularization_default()};
}
