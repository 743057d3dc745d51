// SPDX-License-Identifier: BSD-3-Clause
// URDF as exporters and other simulators write it: extensions, odd inertias, planar joints, mimics
// of fixed joints, XML versions that do not exist.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/multibody.h>
#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

static sap_status read_text(const char* text, bool lenient, scene_warnings* w, sap_model** model,
                            sap_error* error) {
  sap_scene_options options = sap_scene_options_default();
  options.lenient = lenient;
  return scene_text_read("a.urdf", text, &options, w, model, error);
}

#define INERTIAL(moments) \
  "<inertial><mass value='2'/><inertia " moments " ixy='0' ixz='0' iyz='0'/></inertial>"
#define BODY INERTIAL("ixx='1' iyy='1' izz='1'")
#define ARM(attributes, inside)                            \
  "<robot name='r'>\n<link name='a'/><link name='b'>" BODY \
  "</link>\n<joint name='j' type='continuous' " attributes \
  "><parent link='a'/><child "                             \
  "link='b'/>\n" inside "</joint></robot>"

// Expressions that xacro has not expanded.
static void test_xacro(void** state) {
  (void)state;
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text("<robot name='r' xmlns:xacro='http://ros.org/wiki/xacro'>\n"
                             "<xacro:macro name='a'><link name='a'/></xacro:macro></robot>",
                             false, &w, &m, &error),
                   SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "a.urdf:2: <xacro:macro>: unknown element"));
  assert_non_null(strstr(error.message, "xacro FILE > robot.urdf"));
  assert_int_equal(read_text("<robot name='r'><link name='a'><inertial>\n<mass value='${m}'/>"
                             "<inertia ixx='1' iyy='1' izz='1'/></inertial></link></robot>",
                             false, &w, &m, &error),
                   SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "a.urdf:2: <mass value=\"${m}\">"));
}

// An unknown element is an error with its line; ignored with a warning if lenient.
static void test_extensions(void** state) {
  (void)state;
  static const struct {
    const char *text, *where;
  } cases[] = {
      {ARM("colour='red'", ""), "a.urdf:3: <joint colour=\"red\">"},
      {ARM("", "<joint_properties damping='1'/>"), "a.urdf:4: <joint_properties>"},
      {ARM("", "<dynamics damping='0.5' D='1'/>"), "a.urdf:4: <dynamics D=\"1\">"},
      {ARM("", "<limit effort='3' command_effort='1'/>"), "a.urdf:4: <limit command_effort="},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    scene_warnings w;
    sap_model* m = NULL;
    sap_error error = {0};
    assert_int_equal(read_text(cases[i].text, false, &w, &m, &error), SAP_STATUS_SYNTAX);
    assert_null(m);
    assert_non_null(strstr(error.message, cases[i].where));
    assert_non_null(strstr(error.message, "unknown"));
    assert_int_equal(read_text(cases[i].text, true, &w, &m, &error), SAP_STATUS_OK);
    assert_int_equal(w.count, 1);
    assert_non_null(strstr(w.last, cases[i].where));
    assert_int_equal(m->sizes.nv, 1);
    if (i == 2) {
      ASSERT_NEAR(m->joints[0].damping, 0.5, 0.0);  // what is known beside it is read
    }
    sap_model_destroy(m);
  }
}

// Extensions without influence on the motion are not spoken of.
static void test_known_extensions(void** state) {
  (void)state;
  static const char text[] =
      "<?xml version=\"0.0\" ?>\n"
      "<robot name='r'><link name='a'/><link name='b'>" BODY
      "<self_filter/><collision_checking><x/></collision_checking></link>\n<joint name='j' "
      "type='continuous' dont_collapse='true'><parent link='a'/><child link='b'/><axis xyz='0 0 "
      "1' rpy='0 0 0'/></joint></robot>";
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(text, false, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(w.count, 0);
  sap_model_destroy(m);
  static const char broken[] = "<?xml version=\"0.0\" ?>\n<robot name='r'><link name='a'></robot>";
  assert_int_equal(read_text(broken, false, &w, &m, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "a.urdf:2: XML"));
}

static void expect_moments(const char* text, bool lenient, int32_t warned, const double* moments) {
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  const sap_status status = read_text(text, lenient, &w, &m, &error);
  if (moments == NULL) {
    assert_int_equal(status, SAP_STATUS_NOT_SPD);
    assert_non_null(strstr(error.message, "a.urdf:2: <inertia>"));
    return;
  }
  assert_int_equal(status, SAP_STATUS_OK);
  assert_int_equal(w.count, warned);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(m->bodies[1].I_BCo_B[i], moments[i], 1e-15);
  }
  sap_model_destroy(m);
}

// A largest moment above the sum of the others is accepted with a warning; moments below
// zero are refused, raised if lenient, and taken for zero where they are round-off.
static void test_inertias(void** state) {
  (void)state;
  static const char wide[] =
      "<robot name='r'>\n<link name='a'>" INERTIAL("ixx='1' iyy='1' izz='2.1'") "</link></robot>";
  static const char negative[] =
      "<robot name='r'>\n<link name='a'>" INERTIAL("ixx='-0.5' iyy='1' izz='1'") "</link></robot>";
  static const char rounded[] = "<robot name='r'>\n<link name='a'>" INERTIAL(
      "ixx='-1e-20' iyy='0' izz='0'") "</link></robot>";
  expect_moments(wide, false, 1, (const double[]){1.0, 1.0, 2.1});
  expect_moments(wide, true, 1, (const double[]){1.0, 1.0, 2.1});
  expect_moments(negative, false, 0, NULL);
  expect_moments(negative, true, 1, (const double[]){0.0, 1.0, 1.0});
  expect_moments(rounded, false, 0, (const double[]){0.0, 0.0, 0.0});
}

// Two slides across the axis and a hinge about it.
static void test_planar(void** state) {
  (void)state;
  static const char text[] =
      "<robot name='r'><link name='a'/><link name='b'>" BODY
      "</link><joint name='j' type='planar'><parent link='a'/><child link='b'/><axis xyz='0 2 0'/>"
      "<dynamics damping='0.5'/></joint></robot>";
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(text, false, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.joints, 3);
  const sap_model_joint_data* j = m->joints;
  assert_int_equal(j[0].type, SAP_JOINT_SLIDE);
  assert_int_equal(j[1].type, SAP_JOINT_SLIDE);
  assert_int_equal(j[2].type, SAP_JOINT_HINGE);
  assert_int_equal(sap_model_find(m, SAP_ELEMENT_JOINT, "j/x"), 0);
  assert_int_equal(sap_model_find(m, SAP_ELEMENT_JOINT, "j"), 2);
  ASSERT_NEAR(j[2].axis[1], 1.0, 0.0);
  double cross = j[0].axis[2] * j[1].axis[0] - j[0].axis[0] * j[1].axis[2];
  ASSERT_NEAR(cross, 1.0, 1e-15);  // x, y and the axis are right-handed
  ASSERT_NEAR(j[0].damping, 0.5, 0.0);
  sap_model_destroy(m);
}

// Reduced models: the follower is fixed, or the leader is.
static void test_fixed_mimics(void** state) {
  (void)state;
#define PAIR(first, second)                                                            \
  "<robot name='r'><link name='a'/><link name='b'>" BODY "</link><link name='c'>" BODY \
  "</link><joint name='i' type='" first                                                \
  "'><parent link='a'/><child link='b'/></joint>"                                      \
  "<joint name='k' type='" second                                                      \
  "'><parent link='b'/><child link='c'/>"                                              \
  "<mimic joint='i' multiplier='2' offset='0.25'/></joint></robot>"
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(PAIR("continuous", "fixed"), false, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.equalities, 0);
  assert_int_equal(w.count, 1);
  sap_model_destroy(m);
  assert_int_equal(read_text(PAIR("fixed", "continuous"), false, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.equalities, 1);
  assert_int_equal(m->equalities[0].b, -1);
  ASSERT_NEAR(m->equalities[0].polynomial[0], 0.0, 0.0);
  ASSERT_NEAR(m->q_default[0], 0.25, 0.0);
  assert_int_equal(w.count, 0);
  sap_model_destroy(m);
}

// Followers of followers start where their equations hold, and their links where those coordinates
// put them: nothing moves in the first step without gravity. A circle of followers starts at 0.
static void test_mimic_start(void** state) {
  (void)state;
#define CHAIN(i_inside)                                                                        \
  "<robot name='r'><link name='a'/><link name='b'>" BODY "</link><link name='c'>" BODY         \
  "</link><link name='d'>" BODY                                                                \
  "</link><joint name='k' type='prismatic'><parent link='b'/><child "                          \
  "link='c'/><origin xyz='0 0 1'/><axis xyz='0 3 4'/><limit lower='-9' upper='9'/><mimic "     \
  "joint='j' multiplier='-2' offset='0.5'/></joint><joint name='j' type='continuous'><parent " \
  "link='c'/><child link='d'/><axis xyz='0 0 2'/><mimic joint='i' multiplier='3' "             \
  "offset='0.25'/></joint><joint name='i' type='continuous'><parent link='a'/><child "         \
  "link='b'/>" i_inside "</joint></robot>"
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(CHAIN(""), false, &w, &m, &error), SAP_STATUS_OK);
  const double* q = m->q_default;  // i, k, j: depth first
  ASSERT_NEAR(q[0], 0.0, 0.0);
  ASSERT_NEAR(q[1], 0.5 - 2.0 * 0.25, 0.0);
  ASSERT_NEAR(q[2], 0.25, 0.0);
  sap_multibody* multibody = NULL;
  double gap = 1.0, p[3], turn[4];
  assert_int_equal(sap_multibody_create(m, &multibody, &error), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_closure(multibody, q, &gap, &error), SAP_STATUS_OK);
  ASSERT_NEAR(gap, 0.0, 1e-16);
  const double open[3] = {q[0], q[1] - 0.3, q[2]};
  assert_int_equal(sap_multibody_closure(multibody, open, &gap, &error), SAP_STATUS_OK);
  ASSERT_NEAR(gap, 0.3, 1e-15);
  const double other[3] = {0.0, 1.5,
                           -0.4};  // absolute coordinates: 1.5 along the axis, -0.4 about z
  assert_int_equal(sap_multibody_body_pose(multibody, other, 4, p, turn, &error), SAP_STATUS_OK);
  ASSERT_NEAR(p[1], 0.6 * 1.5, 1e-15);
  ASSERT_NEAR(p[2], 1.0 + 0.8 * 1.5, 1e-15);
  ASSERT_NEAR(2.0 * atan2(turn[3], turn[0]), -0.4, 1e-15);
  sap_multibody_destroy(multibody);
  sap_model_destroy(m);
  assert_int_equal(read_text(CHAIN("<mimic joint='k' offset='1'/>"), false, &w, &m, &error),
                   SAP_STATUS_OK);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(m->q_default[i], 0.0, 0.0);
  }
  sap_model_destroy(m);
}

// A parent "world" without a link of that name is the world; a child is not.
static void test_implicit_world(void** state) {
  (void)state;
#define TO(parent, child)                               \
  "<robot name='r'><link name='b'>" BODY                \
  "</link>\n<joint name='j' type='continuous'><parent " \
  "link='" parent "'/><child link='" child "'/></joint></robot>"
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(TO("world", "b"), false, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.bodies, 2);
  assert_int_equal(m->sizes.joints, 1);
  assert_int_equal(m->bodies[1].parent, 0);
  sap_model_destroy(m);
  assert_int_equal(read_text(TO("b", "world"), false, &w, &m, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "a.urdf:2: <child link=\"world\">: unknown link"));
}

// Drake's points are small spheres, and shapes whose mesh is missing are left out: if lenient, with
// a warning each.
static void test_lenient_shapes(void** state) {
  (void)state;
#define SHAPE(shape)                                             \
  "<robot name='r'>\n<link name='b'><collision><geometry>" shape \
  "</geometry></collision></link></robot>"
  static const struct {
    const char* text;
    sap_status status;
    int shapes;
    const char *refusal, *warning;
  } cases[] = {{SHAPE("<sphere radius='0'/>"), SAP_STATUS_SYNTAX, 1, "must be > 0", "0.1 mm"},
               {SHAPE("<mesh filename='n.stl'/>"), SAP_STATUS_IO, 0, "n.stl", "is missing"},
               {SHAPE("<mesh filename='package://p/n.stl'/>"), SAP_STATUS_IO, 0,
                "no folder from that of the URDF upwards", "is missing"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    scene_warnings w;
    sap_model* m = NULL;
    sap_error error = {0};
    assert_int_equal(read_text(cases[i].text, false, &w, &m, &error), cases[i].status);
    assert_non_null(strstr(error.message, cases[i].refusal));
    assert_int_equal(read_text(cases[i].text, true, &w, &m, &error), SAP_STATUS_OK);
    assert_int_equal(w.count, 1);
    assert_non_null(strstr(w.last, cases[i].warning));
    assert_int_equal(m->sizes.shapes, cases[i].shapes);
    if (cases[i].shapes == 1) {
      ASSERT_NEAR(m->shapes[0].size[0], 1e-4, 0.0);
    }
    sap_model_destroy(m);
  }
}

// A last link without inertia: refused; if lenient, its joint has an armature, with a warning. What
// moves freely and has no mass is refused in any case; a moment of zero is not.
static void test_no_inertia(void** state) {
  (void)state;
  static const char tip[] =
      "<robot name='r'><link name='a'/><link name='b'>" BODY
      "</link><link name='c'/>"
      "<joint name='i' type='continuous'><parent link='a'/><child link='b'/></joint>\n"
      "<joint name='k' type='continuous'><parent link='b'/><child link='c'/></joint></robot>";
  static const char free_body[] =
      "<robot name='r'><link name='a'/><link name='b'>%s</link>\n<joint name='i' "
      "type='floating'><parent link='a'/><child link='b'/></joint></robot>";
  scene_warnings w;
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(read_text(tip, false, &w, &m, &error), SAP_STATUS_NOT_SPD);
  assert_non_null(strstr(error.message, "joint 'k'"));
  assert_int_equal(read_text(tip, true, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(w.count, 1);
  assert_non_null(strstr(w.last, "a.urdf:2: <joint name=\"k\">"));
  ASSERT_NEAR(m->joints[0].armature, 0.0, 0.0);
  ASSERT_NEAR(m->joints[1].armature, 1e-4, 0.0);
  sap_model_destroy(m);
  m = NULL;
  char text[1024];
  (void)snprintf(text, sizeof text, free_body, "");
  assert_int_equal(read_text(text, true, &w, &m, &error), SAP_STATUS_NOT_SPD);
  (void)snprintf(text, sizeof text, free_body, INERTIAL("ixx='1' iyy='1' izz='0'"));
  assert_int_equal(read_text(text, false, &w, &m, &error), SAP_STATUS_NOT_SPD);
  assert_int_equal(read_text(text, true, &w, &m, &error), SAP_STATUS_OK);
  assert_int_equal(w.count, 1);
  sap_model_destroy(m);
}

typedef struct spared {
  int32_t count;
  char names[8][8];
} spared;

static void note_spared(void* context, const char* message) {
  spared* s = context;
  const char* name = strstr(message, "<joint name=\"");
  assert_non_null(strstr(message, "moves no inertia in its direction: an armature of 1e-4"));
  assert_non_null(name);
  (void)snprintf(s->names[s->count++], 8, "%.1s", name + 13);
}

// Joints that move no mass get an armature, and a warning each, if lenient; they are refused
// otherwise. A joint with mass behind it keeps what it has.
static void test_spare_armature(void** state) {
  (void)state;
#define JOINT(name, type, parent, child, more)                                           \
  "<link name='" child "'/><joint name='" name "' type='" type "'><parent link='" parent \
  "'/><child link='" child "'/><axis xyz='0 1 0'/>" more "</joint>"
  static const char text[] =
      "<robot name='r'><link name='a'>" BODY "</link>" JOINT("p", "continuous", "a", "b", "")
          JOINT("q", "prismatic", "a", "c",
                "<limit lower='-1' upper='1' effort='1' velocity='1'/>") "<link name='d'>" BODY
                                                                         "</link><joint name='s' "
                                                                         "type='continuous'><"
                                                                         "parent link='a'/><child "
                                                                         "link='d'/></joint>"
                                                                         "</robot>";
  spared s = {0};
  sap_scene_options options = sap_scene_options_default();
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_not_equal(scene_text_read("a.urdf", text, &options, NULL, &m, &error), SAP_STATUS_OK);
  options.lenient = true;
  options.warning = note_spared;
  options.warning_context = &s;
  assert_int_equal(scene_text_read("a.urdf", text, &options, NULL, &m, &error), SAP_STATUS_OK);
  assert_int_equal(s.count, 2);
  assert_string_equal(s.names[0], "p");
  assert_string_equal(s.names[1], "q");
  ASSERT_NEAR(m->joints[0].armature, 1e-4, 0.0);
  ASSERT_NEAR(m->joints[1].armature, 1e-4, 0.0);
  ASSERT_NEAR(m->joints[2].armature, 0.0, 0.0);
  sap_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spare_armature), cmocka_unit_test(test_xacro),
      cmocka_unit_test(test_extensions),     cmocka_unit_test(test_known_extensions),
      cmocka_unit_test(test_inertias),       cmocka_unit_test(test_planar),
      cmocka_unit_test(test_fixed_mimics),   cmocka_unit_test(test_mimic_start),
      cmocka_unit_test(test_implicit_world), cmocka_unit_test(test_lenient_shapes),
      cmocka_unit_test(test_no_inertia),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
