// SPDX-License-Identifier: BSD-3-Clause
#include "support/mixed_model.h"

#include <string.h>

const double mixed_q[MIXED_NQ] = {0.25,  0.794,  0.551,  0.5,  0.1, -0.7, 0.5,  0.642,
                                  0.594, -0.064, -0.394, 0.1,  0.7, 0.5,  -0.5, 0.107,
                                  0.991, 0.585,  0.244,  -0.1, 0.5, 0.7,  0.5};
const double mixed_v[MIXED_NV] = {-1.824, -1.857, 0.06,   -0.135, 1.669, 0.517,  0.056,
                                  -0.013, -1.01,  -1.953, -1.23,  0.768, -1.198, -0.522,
                                  -1.985, 1.32,   -1.382, -0.93,  1.521, 0.039};
const double mixed_a[MIXED_NV] = {2.083,  0.838, 1.451,  -2.451, 0.247,  0.047,  2.228,
                                  -0.832, 0.589, -2.644, -0.674, -1.062, -2.099, 1.898,
                                  -0.723, 2.872, 0.54,   0.63,   0.828,  1.059};
const double mixed_control[MIXED_NU] = {1.5, 2.0, -0.4};

static bool add_bodies(sap_builder* b) {
  sap_body_def bodies[] = {
      {.name = "base", .parent = 0, .p_PB = {0.1, 0.2, 0.3}, .q_PB = {0.9, 0.1, -0.2, 0.3}},
      {.name = "arm",
       .parent = 1,
       .p_PB = {0.3, -0.1, 0.2},
       .q_PB = {0.8, 0.2, 0.4, -0.1},
       .mass = 2.0,
       .p_BCo = {0.05, -0.02, 0.1},
       .I_BCo_B = {0.03, 0.04, 0.05, 0.002, -0.003, 0.001}},
      {.name = "hand",
       .parent = 2,
       .p_PB = {0.1, 0.2, -0.1},
       .q_PB = {0.5, -0.5, 0.5, 0.5},
       .mass = 0.7,
       .p_BCo = {0.0, 0.03, 0.0},
       .I_BCo_B = {0.004, 0.003, 0.005, 0.0002, 0.0001, -0.0003}},
      {.name = "finger",
       .parent = 3,
       .p_PB = {0.0, 0.1, 0.1},
       .q_PB = {1.0, 0.3, -0.2, 0.1},
       .mass = 0.5,
       .p_BCo = {0.02, 0.01, -0.06},
       .I_BCo_B = {0.002, 0.003, 0.0025, 0.0001, -0.0002, 0.0003}},
      {.name = "tip",
       .parent = 4,
       .p_PB = {0.05, 0.04, -0.1},
       .q_PB = {1.0, 0.0, 0.0, 0.0},
       .mass = 0.2,
       .p_BCo = {0.0, 0.0, -0.03},
       .I_BCo_B = {0.0005, 0.0006, 0.0004, 0.0, 0.00005, 0.0}},
      {.name = "drone",
       .parent = 0,
       .p_PB = {1.0, 2.0, 3.0},
       .q_PB = {0.7, 0.1, 0.5, -0.2},
       .mass = 3.0,
       .p_BCo = {0.03, -0.05, 0.02},
       .I_BCo_B = {0.06, 0.08, 0.09, 0.01, -0.005, 0.004}},
      {.name = "rotor",
       .parent = 6,
       .p_PB = {0.2, 0.0, 0.1},
       .q_PB = {0.9, 0.0, 0.3, 0.1},
       .mass = 0.3,
       .p_BCo = {0.01, 0.02, 0.0},
       .I_BCo_B = {0.001, 0.0012, 0.002, 0.0001, 0.0, 0.0}},
      {.name = "box",
       .parent = 0,
       .p_PB = {-1.0, 0.5, 2.0},
       .q_PB = {1.0, 0.0, 0.0, 0.0},
       .mass = 1.3,
       .p_BCo = {0.04, 0.03, -0.02},
       .I_BCo_B = {0.02, 0.03, 0.025, 0.002, 0.001, -0.003}},
  };
  bool done = true;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; ++i) {
    bodies[i].cookie = sap_body_def_default().cookie;
    done = done && sap_builder_add_body(b, &bodies[i], NULL, NULL) == SAP_STATUS_OK;
  }
  return done;
}

typedef struct row {
  const char* name;
  sap_joint_type type;
  int32_t body;
  double axis[3], anchor[3];
  double reference, stiffness, spring_reference, damping, armature;
} row;

static bool add_joints(sap_builder* b) {
  static const row rows[] = {
      {"shoulder", SAP_JOINT_HINGE, 2, {1, 2, 3}, {0.02, 0.03, -0.04}, 0.2, 3.0, 0.1, 0.4, 0.01},
      {"rail", SAP_JOINT_SLIDE, 2, {0, 1, -1}, {0, 0, 0}, -0.1, 50.0, 0.05, 2.0, 0.2},
      {"roll", SAP_JOINT_HINGE, 2, {-1, 0.5, 0}, {-0.1, 0, 0.05}, 0, 0, 0, 0.1, 0},
      {"wrist", SAP_JOINT_BALL, 4, {0, 0, 1}, {0.01, -0.02, 0.03}, 0, 1.5, 0, 0.3, 0.005},
      {"bend", SAP_JOINT_HINGE, 5, {0, 1, 0}, {0, 0, 0.02}, 0, 0.2, 0, 0, 0},
      {"flight", SAP_JOINT_FREE, 6, {0, 0, 1}, {0, 0, 0}, 0, 0, 0, 0.25, 0.03},
      {"spin", SAP_JOINT_HINGE, 7, {0, 0.2, 1}, {0, 0, 0}, 0, 0, 0, 0, 0},
      {"loose", SAP_JOINT_FREE, 8, {0, 0, 1}, {0, 0, 0}, 0, 0, 0, 0, 0},
  };
  bool done = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_joint_def def = sap_joint_def_default();
    def.name = rows[i].name;
    def.type = rows[i].type;
    def.body = rows[i].body;
    memcpy(def.axis, rows[i].axis, sizeof def.axis);
    memcpy(def.p_BJ, rows[i].anchor, sizeof def.p_BJ);
    def.reference = rows[i].reference;
    def.stiffness = rows[i].stiffness;
    def.spring_reference = rows[i].spring_reference;
    def.damping = rows[i].damping;
    def.armature = rows[i].armature;
    done = done && sap_builder_add_joint(b, &def, NULL, NULL) == SAP_STATUS_OK;
  }
  return done;
}

static bool add_actuators(sap_builder* b) {
  static const struct {
    int32_t joint;
    double gear, limit;
  } rows[] = {{0, 2.5, 1.0}, {1, -3.0, 10.0}, {6, 1.0, 10.0}};
  bool done = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_actuator_def def = sap_actuator_def_default();
    def.target = rows[i].joint;
    def.gear = rows[i].gear;
    def.control_lower = -rows[i].limit;
    def.control_upper = rows[i].limit;
    done = done && sap_builder_add_actuator(b, &def, NULL, NULL) == SAP_STATUS_OK;
  }
  return done;
}

sap_builder* mixed_builder(void) {
  sap_model_options options = sap_model_options_default();
  options.gravity[0] = 0.3;
  options.gravity[1] = -0.2;
  options.gravity[2] = -9.7;
  sap_builder* b = NULL;
  if (sap_builder_create(&options, &b, NULL) != SAP_STATUS_OK || !add_bodies(b) || !add_joints(b) ||
      !add_actuators(b)) {
    sap_builder_destroy(b);
    return NULL;
  }
  return b;
}

sap_model* mixed_model(void) {
  sap_model* model = NULL;
  sap_builder* b = mixed_builder();
  if (b != NULL) {
    (void)sap_builder_compile(b, &model, NULL);
  }
  sap_builder_destroy(b);
  return model;
}
