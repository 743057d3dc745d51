// SPDX-License-Identifier: BSD-3-Clause
// Every warning of a scene read leniently: once, with its element. The same scene is refused with
// the same words, or read with the same warning, if the reading is strict.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/scene_text.h"

typedef struct warning_case {
  const char *file, *text, *where, *message;
  sap_status strict;  // of a strict reading
} warning_case;

#define BODY(inside) "<mujoco><worldbody><body>" inside "</body></worldbody></mujoco>"
#define HINGE "<joint name='j'/><geom name='g' size='.1'/>"
#define LINK(name, inside)                                          \
  "<link name='" name                                               \
  "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/>" \
  "</inertial>" inside "</link>"
#define JOINT(type, inside) \
  "<joint name='j' type='" type "'><parent link='a'/><child link='b'/>" inside "</joint>"
#define ROBOT(inside) "<robot name='r'>" LINK("a", "") LINK("b", "") inside "</robot>"
#define GEOMETRY(shape) \
  "<robot name='r'>" LINK("a", "<collision><geometry>" shape "</geometry></collision>") "</robot>"

#define CONTACT(inside) "<robot name='r'>" LINK("a", "<contact>" inside "</contact>") "</robot>"

static const warning_case cases[] = {
    {"a.xml", BODY("<freejoint/><geom size='.1'/>"), "", NULL, SAP_STATUS_OK},
    {"a.xml", BODY("<joint range='5 5'/><geom size='.1'/>"), "", NULL, SAP_STATUS_OK},
    {"a.xml", BODY("<joint type='free' stiffness='3'/><geom size='.1'/>"),
     "<joint stiffness=", "not supported for a free joint", SAP_STATUS_UNSUPPORTED},
    {"a.xml", BODY("<joint actuatorgravcomp='true' actuatorfrcrange='-1 1'/><geom size='.1'/>"),
     "<joint actuatorgravcomp=", "not supported together with actuatorfrcrange",
     SAP_STATUS_UNSUPPORTED},
    {"a.xml", BODY("<freejoint/><geom size='.1'/><geom name='p' type='plane' size='1 1 1'/>"),
     "<geom>", "a plane on a moving body is not supported", SAP_STATUS_UNSUPPORTED},
    {"a.xml",
     "<mujoco><worldbody><geom name='p' type='plane' size='1 1 1' fluidshape='ellipsoid'/>"
     "</worldbody></mujoco>",
     "<geom fluidshape=", "supported for primitives only", SAP_STATUS_UNSUPPORTED},
    {"a.xml",
     "<mujoco><option o_friction='1 .5 .1 .1 .1'><flag override='enable'/></option><worldbody>"
     "<body><freejoint/><geom name='g' size='.1'/></body></worldbody></mujoco>",
     "<geom>", "o_friction that differs between directions", SAP_STATUS_UNSUPPORTED},
    {"a.xml",
     "<mujoco><worldbody><geom name='f' size='.1'/><body>" HINGE
     "</body></worldbody><contact><pair geom1='f' geom2='g'/><pair geom1='g' geom2='f'/></contact>"
     "</mujoco>",
     "<pair", "repeated pair: the first is used", SAP_STATUS_OK},
    {"a.xml",
     "<mujoco><worldbody><body>" HINGE "<site name='s'/></body></worldbody><equality>"
     "<flex flex='f'/></equality></mujoco>",
     "<flex", "this equality is not supported", SAP_STATUS_UNSUPPORTED},
    {"a.urdf",
     ROBOT(LINK("c", "")
               JOINT("fixed", "<mimic joint='k'/>") "<joint name='k' type='continuous'><parent "
                                                    "link='a'/><child link='c'/></joint>"),
     "<mimic joint=", "a fixed joint cannot follow: ignored", SAP_STATUS_OK},
    {"a.urdf",
     ROBOT(JOINT("fixed", "") "<transmission name='t'><joint name='j'/><actuator name='m'/>"
                              "</transmission>"),
     "<", "drives no hinge or slide: its transmission is ignored", SAP_STATUS_OK},
    {"a.urdf",
     "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='3'/>"
     "</inertial></link></robot>",
     "<inertia", "no body has this inertia: the largest principal moment exceeds", SAP_STATUS_OK},
    {"a.urdf", GEOMETRY("<mesh filename='nowhere.obj'/>"),
     "<mesh filename=", "the file is missing: the shape is left out", SAP_STATUS_IO},
    {"a.urdf", GEOMETRY("<sphere radius='0'/>"),
     "<sphere radius=", "a point: becomes a sphere of 0.1 mm", SAP_STATUS_SYNTAX},
    // Each list of a schema.
    {"a.urdf", CONTACT("<restitution value='0'/><rolling_friction value='0'/>"), "", NULL,
     SAP_STATUS_OK},
    {"a.urdf", CONTACT("<restitution value='.5'/>"),
     "<restitution value=", "its influence is neglected", SAP_STATUS_OK},
    {"a.urdf", CONTACT("<spinning_friction value='.5'/>"),
     "<spinning_friction value=", "not supported, only zero", SAP_STATUS_UNSUPPORTED},
    {"a.urdf", CONTACT("<stiffness value='5'/>"), "<stiffness>",
     "this extension of Bullet is not supported", SAP_STATUS_UNSUPPORTED},
    {"a.urdf", CONTACT("<friction_anchor><whatever/></friction_anchor>"), "", NULL, SAP_STATUS_OK},
    {"a.urdf", ROBOT(JOINT("continuous", "<dynamics damping='1' drake:coulomb_friction='1'/>")),
     "<dynamics drake:coulomb_friction=", "not supported", SAP_STATUS_UNSUPPORTED},
    {"a.urdf", ROBOT(JOINT("continuous", "<limit effort='1' drake:acceleration='1'/>")), "", NULL,
     SAP_STATUS_OK},
    {"a.urdf", ROBOT(JOINT("continuous", "<axis xyz='0 0 1' rpy='0 0 1'/>")),
     "<axis rpy=", "not supported, only zero", SAP_STATUS_UNSUPPORTED},
    {"a.urdf",
     ROBOT(JOINT("continuous", "") "<transmission name='t' odd='1'><odder/><joint name='j'/>"
                                   "<actuator name='m'/></transmission>"),
     "", NULL, SAP_STATUS_OK},
    {"a.xml", "<mujoco><worldbody/><option actuatorgroupdisable='1'/></mujoco>",
     "<option actuatorgroupdisable=", "not supported", SAP_STATUS_UNSUPPORTED},
};

static void test_each(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const warning_case* c = &cases[i];
    for (int lenient = 0; lenient < 2; ++lenient) {
      scene_warnings w = {0};
      sap_model* model = NULL;
      sap_error error = {0};
      sap_scene_options options = sap_scene_options_default();
      options.lenient = lenient != 0;
      const sap_status status = scene_text_read(c->file, c->text, &options, &w, &model, &error);
      const char* told = status == SAP_STATUS_OK ? w.last : error.message;
      if (status != (lenient ? SAP_STATUS_OK : c->strict) ||
          (status == SAP_STATUS_OK && w.count != (c->message != NULL ? 1 : 0))) {
        fail_msg("%d, lenient %d: status %d, %d warnings, %s", (int)i, lenient, (int)status,
                 w.count, told);
      }
      if (c->message != NULL && (lenient || status == SAP_STATUS_UNSUPPORTED) &&
          (strstr(told, c->message) == NULL || strstr(told, c->where) == NULL)) {
        fail_msg("'%s' lacks '%s' or '%s'", told, c->message, c->where);
      }
      sap_model_destroy(model);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
