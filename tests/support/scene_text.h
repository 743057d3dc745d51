// SPDX-License-Identifier: BSD-3-Clause
// Scenes given as text.
#ifndef SAP_TESTS_SUPPORT_SCENE_TEXT_H
#define SAP_TESTS_SUPPORT_SCENE_TEXT_H

#include <sapstep/scene.h>

typedef struct scene_warnings {
  int32_t count;
  char last[512];
} scene_warnings;

// Reads the text as a file of that name. options NULL: the defaults; warnings NULL: those of the
// options, else they are kept there.
sap_status scene_text_read(const char* name, const char* text, const sap_scene_options* options,
                           scene_warnings* warnings, sap_model** out, sap_error* error);
// The test fails unless it can be read.
sap_model* scene_text_model(const char* name, const char* text, const sap_scene_options* options);

// Elements between the links a and b and on the joint j of a robot, one of each kind.
#define SCENE_TEXT_BETWEEN_LINKS                                                                \
  "<frame name='f' link='b' xyz='0 1 0'/><drake:linear_bushing_rpy><drake:bushing_frameA "      \
  "name='a'/><drake:bushing_frameC name='f'/><drake:bushing_torque_stiffness value='1 1 1'/>"   \
  "<drake:bushing_torque_damping value='1 1 1'/><drake:bushing_force_stiffness value='1 1 1'/>" \
  "<drake:bushing_force_damping value='1 1 1'/></drake:linear_bushing_rpy><loop_joint "         \
  "type='revolute'><link1 link='a'/><link2 link='b' xyz='1 0 0'/></loop_joint>"                 \
  "<drake:collision_filter_group name='g'><drake:member link='a'/><drake:member link='b'/>"     \
  "<drake:ignored_collision_filter_group name='g'/></drake:collision_filter_group>"             \
  "<transmission><joint name='j'/><actuator name='m'><drake:controller_gains p='1' d='1'/>"     \
  "</actuator></transmission>"

#endif
