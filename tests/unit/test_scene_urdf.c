// SPDX-License-Identifier: BSD-3-Clause
// URDF: what becomes of links, joints, inertias, shapes and materials. Expected numbers are worked
// out by hand from the text.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "math/quaternion.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/scratch.h"
#include "support/skip.h"

static const double eps = 1e-15;  // a few roundings of numbers of size one

static const char robot[] =
    "<robot name='arm' xmlns:drake='http://drake.mit.edu'>\n"
    "<material name='x'><color rgba='1 0 0 1'/></material>\n"
    "<link name='tip'/>\n"
    "<link name='base'><inertial><mass value='2'/></inertial></link>\n"
    "<link name='upper'>\n"
    "  <inertial><origin xyz='0.1 0.2 0.3' rpy='0 0 1.5707963267948966'/><mass value='3'/>\n"
    "    <inertia ixx='1' iyy='2' izz='2.5' ixy='0.1' ixz='0' iyz='0'/></inertial>\n"
    "  <visual><geometry><mesh filename='x.stl'/></geometry></visual>\n"
    "  <collision name='c'><origin xyz='0 0 0.5'/><geometry><cylinder radius='0.1' length='1'/>\n"
    "    </geometry><drake:proximity_properties><drake:point_contact_stiffness value='5e4'/>\n"
    "    <drake:relaxation_time value='0.03'/><drake:mu_static value='0.9'/>\n"
    "    <drake:mu_dynamic value='0.8'/></drake:proximity_properties></collision>\n"
    "  <collision><geometry><box size='0.2 0.4 0.6'/></geometry></collision>\n"
    "  <contact><lateral_friction value='0.3'/></contact></link>\n"
    "<link name='slider'><inertial><mass value='1'/></inertial>\n"
    "  <collision><geometry><sphere radius='0.2'/></geometry></collision>\n"
    "  <collision><geometry><drake:capsule radius='0.1' length='0.5'/></geometry></collision>\n"
    "  <collision><geometry><drake:ellipsoid a='1' b='2' c='3'/></geometry></collision></link>\n"
    "<link name='wheel'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>\n"
    "  </link>\n"
    "<transmission name='t'/><gazebo reference='base'><anything/></gazebo>\n"
    "<joint name='shoulder' type='revolute'><parent link='base'/><child link='upper'/>\n"
    "  <origin xyz='0 0 1' rpy='0.1 0.2 0.3'/><axis xyz='0 0 2'/>\n"
    "  <limit lower='-1' upper='0.5' effort='10' velocity='3'/>\n"
    "  <dynamics damping='0.4' friction='0.2'/>\n"
    "  <drake:rotor_inertia value='1e-3'/><drake:gear_ratio value='10'/></joint>\n"
    "<joint name='rail' type='prismatic'><parent link='upper'/><child link='slider'/>\n"
    "  <limit upper='0.7' effort='1' velocity='1'/></joint>\n"
    "<joint name='glue' type='fixed'><parent link='slider'/><child link='tip'/></joint>\n"
    "<joint name='spin' type='continuous'><parent link='upper'/><child link='wheel'/>\n"
    "  <axis xyz='0 1 0'/><limit lower='0' upper='0' effort='0' velocity='0'/></joint>\n"
    "</robot>";

static void test_tree(void** state) {
  (void)state;
  sap_model* m = scene_text_model("a.urdf", robot, NULL);
  const sap_model_sizes n = sap_model_get_sizes(m);
  assert_int_equal(n.bodies, 6);
  assert_int_equal(n.joints, 3);
  assert_int_equal(n.nq, 3);
  assert_int_equal(n.nu, 0);
  assert_string_equal(sap_model_get_options(m)->name, "arm");
  assert_int_equal(sap_model_get_options(m)->friction_rule, SAP_FRICTION_HARMONIC);
  static const char* const names[] = {"world", "base", "upper", "slider", "tip", "wheel"};
  static const int32_t parents[] = {-1, 0, 1, 2, 3, 2};
  for (int32_t i = 0; i < 6; ++i) {
    assert_string_equal(sap_model_get_name(m, SAP_ELEMENT_BODY, i), names[i]);
    assert_int_equal(m->bodies[i].parent, parents[i]);
  }
  assert_int_equal(m->bodies[1].tree, -1);  // welded to the world
  assert_int_equal(m->bodies[4].weld, 3);
  sap_model_destroy(m);
}

static void test_joints(void** state) {
  (void)state;
  sap_model* m = scene_text_model("a.urdf", robot, NULL);
  const sap_model_joint_data* j = m->joints;
  assert_int_equal(j[0].type, SAP_JOINT_HINGE);
  ASSERT_NEAR(j[0].axis[2], 1.0, 0.0);
  ASSERT_NEAR(j[0].lower, -1.0, 0.0);
  ASSERT_NEAR(j[0].upper, 0.5, 0.0);
  ASSERT_NEAR(j[0].damping, 0.4, 0.0);
  ASSERT_NEAR(j[0].friction_loss, 0.2, 0.0);
  ASSERT_NEAR(j[0].armature, 0.1, eps);  // 10^2 1e-3
  ASSERT_NEAR(j[0].effort_lower, -10.0, 0.0);
  ASSERT_NEAR(j[0].effort_upper, 10.0, 0.0);
  ASSERT_NEAR(j[0].motor_speed, 3.0, 0.0);
  assert_int_equal(j[1].type, SAP_JOINT_SLIDE);
  ASSERT_NEAR(j[1].axis[0], 1.0, 0.0);  // URDF's default axis
  ASSERT_NEAR(j[1].lower, 0.0, 0.0);
  ASSERT_NEAR(j[1].upper, 0.7, 0.0);
  assert_int_equal(j[2].type, SAP_JOINT_HINGE);
  assert_true(isinf(j[2].lower) && isinf(j[2].upper));  // continuous: <limit> means nothing
  assert_true(isinf(j[2].effort_lower) && isinf(j[2].effort_upper));  // 0: none
  // rpy: R = Rz(yaw) Ry(pitch) Rx(roll); its first column is (cy cp, sy cp, -sp).
  double r[9];
  sap_quaternion_to_matrix(r, m->bodies[2].q_PB);
  ASSERT_NEAR(r[0], cos(0.3) * cos(0.2), eps);
  ASSERT_NEAR(r[1], sin(0.3) * cos(0.2), eps);
  ASSERT_NEAR(r[2], -sin(0.2), eps);
  ASSERT_NEAR(r[5], cos(0.2) * sin(0.1), eps);
  ASSERT_NEAR(m->bodies[2].p_PB[2], 1.0, 0.0);
  sap_model_destroy(m);
}

static void test_inertia(void** state) {
  (void)state;
  sap_model* m = scene_text_model("a.urdf", robot, NULL);
  const sap_model_body* b = &m->bodies[2];
  ASSERT_NEAR(b->mass, 3.0, 0.0);
  ASSERT_NEAR(b->p_BCo[1], 0.2, 0.0);
  // A quarter turn about z swaps xx and yy and the sign of xy.
  const double expected[6] = {2.0, 1.0, 2.5, -0.1, 0.0, 0.0};
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(b->I_BCo_B[i], expected[i], 1e-15);
  }
  sap_model_destroy(m);
}

static void test_shapes(void** state) {
  (void)state;
  sap_model* m = scene_text_model("a.urdf", robot, NULL);
  assert_int_equal(m->sizes.shapes, 5);
  const sap_shape_def* s = m->shapes;
  assert_string_equal(sap_model_get_name(m, SAP_ELEMENT_SHAPE, 0), "upper/c");
  assert_int_equal(s[0].type, SAP_SHAPE_CYLINDER);
  ASSERT_NEAR(s[0].size[0], 0.1, 0.0);
  ASSERT_NEAR(s[0].size[1], 0.5, 0.0);  // half of the length
  ASSERT_NEAR(s[0].p_BS[2], 0.5, 0.0);
  ASSERT_NEAR(s[0].material.stiffness, 5e4, 0.0);
  ASSERT_NEAR(s[0].material.relaxation_time, 0.03, 0.0);
  ASSERT_NEAR(s[0].material.friction, 0.8, 0.0);
  assert_int_equal(s[1].type, SAP_SHAPE_BOX);
  ASSERT_NEAR(s[1].size[2], 0.3, 0.0);
  ASSERT_NEAR(s[1].material.friction, 0.3, 0.0);  // of the link
  ASSERT_NEAR(s[1].material.stiffness, sap_material_default().stiffness, 0.0);
  assert_int_equal(s[2].type, SAP_SHAPE_SPHERE);
  assert_int_equal(s[3].type, SAP_SHAPE_CAPSULE);
  ASSERT_NEAR(s[3].size[1], 0.25, 0.0);
  assert_int_equal(s[4].type, SAP_SHAPE_ELLIPSOID);
  ASSERT_NEAR(s[4].size[2], 3.0, 0.0);
  sap_model_destroy(m);
}

static void test_options(void** state) {
  (void)state;
  sap_scene_options options = sap_scene_options_default();
  options.floating_base = true;
  options.default_material.friction = 0.25;
  const sap_material override = {
      .stiffness = 7e3, .relaxation_time = (double)NAN, .friction = (double)NAN};
  options.override_material = &override;
  static const char text[] =
      "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
      "izz='1'/></inertial><collision><geometry><sphere radius='1'/></geometry></collision>"
      "</link></robot>";
  sap_model* m = scene_text_model("a.urdf", text, &options);
  assert_int_equal(m->sizes.nq, 7);
  ASSERT_NEAR(m->shapes[0].material.friction, 0.25, 0.0);
  ASSERT_NEAR(m->shapes[0].material.stiffness, 7e3, 0.0);
  ASSERT_NEAR(m->shapes[0].material.relaxation_time, sap_material_default().relaxation_time, 0.0);
  sap_model_destroy(m);
}

static const char obj[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

static void test_world_link(void** state) {
  (void)state;
  static const char text[] =
      "<robot name='r'><link name='world'><collision><geometry><box size='1 1 1'/></geometry>"
      "</collision></link><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
      "izz='1'/></inertial></link><joint name='f' type='floating'><parent link='world'/>"
      "<child link='a'/><origin xyz='0 0 3'/></joint></robot>";
  sap_model* m = scene_text_model("a.urdf", text, NULL);
  assert_int_equal(m->sizes.bodies, 2);
  assert_int_equal(m->shapes[0].body, 0);
  assert_int_equal(m->joints[0].type, SAP_JOINT_FREE);
  ASSERT_NEAR(m->q_default[2], 3.0, 0.0);
  sap_model_destroy(m);
}

// Limits of zero width are read unchanged; the same robot with continuous joints moves.
static void test_double_pendulum(void** state) {
  (void)state;
  static const char folder[] =
      SAPSTEP_SHARED "/models/urdf/robots/double_pendulum_description/urdf";
  char path[1024];
  sap_model* m = NULL;
  sap_error error = {0};
  (void)snprintf(path, sizeof path, "%s/double_pendulum_simple.urdf", folder);
  SKIP_WITHOUT(path);
  assert_int_equal(sap_scene_read(path, NULL, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.nv, 2);
  ASSERT_NEAR(m->joints[0].lower, 0.0, 0.0);
  ASSERT_NEAR(m->joints[0].upper, 0.0, 0.0);
  ASSERT_NEAR(sap_model_get_body_mass(m, sap_model_find(m, SAP_ELEMENT_BODY, "link2")), 0.3, 0.0);
  ASSERT_NEAR(sap_model_get_body_mass(m, sap_model_find(m, SAP_ELEMENT_BODY, "link3")), 0.0, 0.0);
  sap_model_destroy(m);
  (void)snprintf(path, sizeof path, "%s/double_pendulum_continuous.urdf", folder);
  assert_int_equal(sap_scene_read(path, NULL, &m, &error), SAP_STATUS_OK);
  assert_true(isinf(m->joints[0].upper));
  assert_int_equal(m->sizes.shapes, 3);  // package://.../meshes/*.stl
  assert_int_equal(m->sizes.meshes, 3);
  assert_int_equal(m->exclusion_count, 1);  // the base, which does not move, and the first link
  assert_string_equal(sap_model_get_name(m, SAP_ELEMENT_BODY, m->exclusions[0][0]), "base_link");
  assert_string_equal(sap_model_get_name(m, SAP_ELEMENT_BODY, m->exclusions[0][1]), "link1");
  sap_model_destroy(m);
}

// 12 joints, 4 feet of meshes; its friction and restitution are those of Bullet.
static void test_solo12(void** state) {
  (void)state;
  static const char path[] =
      SAPSTEP_SHARED "/models/urdf/robots/solo_description/robots/solo12.urdf";
  SKIP_WITHOUT(path);
  sap_scene_options options = sap_scene_options_default();
  options.floating_base = true;
  sap_model* m = NULL;
  sap_error error = {0};
  if (sap_scene_read(path, &options, &m, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  double mass = 0.0;
  for (int32_t b = 0; b < m->sizes.bodies; ++b) {
    mass += m->bodies[b].mass;
  }
  assert_int_equal(m->sizes.nv, 18);
  ASSERT_NEAR(mass, 2.50000279, 1e-12);  // the sum of its <mass> elements
  sap_model_destroy(m);
}

#define LINK(name) \
  "<link name='" name "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
#define MIMIC(attributes) \
  "<robot name='r'>" LINK("a") "</link>" LINK("b") "</link>" LINK("c") "</link>"            \
  "<joint name='i' type='continuous'><parent link='a'/><child link='b'/>\n"                 \
  "<mimic " attributes "/></joint><joint name='j' type='continuous'><parent link='b'/>"     \
  "<child link='c'/></joint></robot>"

// <mimic> becomes a coupling, whichever of the joints comes first.
static void test_mimic(void** state) {
  (void)state;
  static const char* const bad[][2] = {{"joint='k'", "a:2: <mimic joint=\"k\">"},
                                       {"multiplier='2'", "a:2: <mimic>"},
                                       {"joint='i'", "two different"}};
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  static const char good[] = MIMIC("joint='j' multiplier='-2' offset='0.25'");
  scratch_write(&s, "a", good, sizeof good - 1, path);
  sap_model* m = NULL;
  sap_error error = {0};
  assert_int_equal(sap_scene_read(path, NULL, &m, &error), SAP_STATUS_OK);
  assert_int_equal(m->sizes.equalities, 1);
  const sap_equality_def* e = &m->equalities[0];
  assert_int_equal(e->type, SAP_EQUALITY_JOINT);
  assert_int_equal(e->a, sap_model_find(m, SAP_ELEMENT_JOINT, "i"));
  assert_int_equal(e->b, sap_model_find(m, SAP_ELEMENT_JOINT, "j"));
  ASSERT_NEAR(e->polynomial[0], 0.0, 0.0);  // of the joint's way from the offset, where it starts
  ASSERT_NEAR(m->joints[e->a].reference, 0.25, 0.0);
  ASSERT_NEAR(e->polynomial[1], -2.0, 0.0);
  sap_model_destroy(m);
  for (int i = 0; i < 3; ++i) {
    static const char* const texts[] = {MIMIC("joint='k'"), MIMIC("multiplier='2'"),
                                        MIMIC("joint='i'")};
    scratch_write(&s, "a", texts[i], strlen(texts[i]), path);
    assert_true(sap_scene_read(path, NULL, &m, &error) != SAP_STATUS_OK);
    if (strstr(error.message, bad[i][1]) == NULL) {
      fail_msg("%s: not '%s'", error.message, bad[i][1]);
    }
  }
  scratch_end(&s);
}

// A tetrahedron as OBJ, in a package three folders up, in the folder of the file, scaled; and what
// is wrong with meshes.
static void test_meshes(void** state) {
  (void)state;
  static const char flat[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";
#define MESH(attributes)                                                                           \
  "<robot name='r'>" LINK("a") "<collision><geometry>\n<mesh " attributes                          \
                               "/></geometry></collision><collision><geometry>\n<mesh " attributes \
                               "/></geometry></collision></link></robot>"
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE];
  scratch_write(&s, "t.obj", obj, sizeof obj - 1, other);
  scratch_write(&s, "flat.obj", flat, sizeof flat - 1, other);
  scratch_write(&s, "t.stl", "solid\nnonsense", 14, other);
  static const char* const good[] = {MESH("filename='t.obj' scale='1 2 -3'"),
                                     MESH("filename='package://any-name/t.obj' scale='1 2 -3'")};
  sap_model* m = NULL;
  sap_error error = {0};
  for (int i = 0; i < 2; ++i) {
    scratch_write(&s, "a", good[i], strlen(good[i]), path);
    if (sap_scene_read(path, NULL, &m, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    assert_int_equal(m->sizes.shapes, 2);
    assert_int_equal(m->sizes.meshes, 1);  // the same file with the same scale
    assert_int_equal(m->meshes[0].nvertices, 4);
    assert_int_equal(m->meshes[0].nfaces, 4);
    double lower[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, upper[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (int k = 0; k < 12; ++k) {
      lower[k % 3] = fmin(lower[k % 3], m->meshes[0].vertices[k]);
      upper[k % 3] = fmax(upper[k % 3], m->meshes[0].vertices[k]);
    }
    ASSERT_NEAR(0.5 * (upper[1] - lower[1]), 1.0, 0.0);
    ASSERT_NEAR(0.5 * (upper[2] + lower[2]), -1.5, 0.0);
    sap_model_destroy(m);
  }
  static const struct {
    const char* text;
    sap_status status;
    const char* where;
  } bad[] = {
      {MESH("filename='none.obj'"), SAP_STATUS_IO, "a:2: <mesh>: cannot read"},
      {MESH("filename='package://p/none.obj'"), SAP_STATUS_IO, "a:2: <mesh filename="},
      {MESH("filename='flat.obj'"), SAP_STATUS_ARGUMENT, "in a plane"},
      {MESH("filename='t.stl'"), SAP_STATUS_SYNTAX,
       "t.stl:2: 'nonsense' must be 'facet' or 'endsolid'"},
      {MESH("filename='a'"), SAP_STATUS_UNSUPPORTED, "must be one of: stl obj msh"},
      {MESH("filename='t.obj' scale='0 1 1'"), SAP_STATUS_SYNTAX, "a:2: <mesh scale="},
      {MESH("filename='t.obj' scale='nan 1 1'"), SAP_STATUS_NOT_FINITE, "a:2: <mesh scale="},
      {MESH("scale='1 1 1'"), SAP_STATUS_SYNTAX, "a:2: <mesh>: attribute 'filename'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    scratch_write(&s, "a", bad[i].text, strlen(bad[i].text), path);
    const sap_status status = sap_scene_read(path, NULL, &m, &error);
    if (status != bad[i].status || strstr(error.message, bad[i].where) == NULL) {
      fail_msg("%s: %s", sap_status_text(status), error.message);
    }
  }
  scratch_end(&s);
}

// Recordings show <visual>; what cannot be read of it is left out, strict or not.
static void test_visuals(void** state) {
  (void)state;
#define LOOK(geometry, material) \
  "<visual><origin xyz='0 0 1'/><geometry>" geometry "</geometry>" material "</visual>\n"
  static const char text[] =
      "<robot name='r'><material name='red'><color rgba='1 0 0 1'/></material>\n"
      "<link name='base'><inertial><mass value='1'/></inertial>\n" LOOK("<box size='2 4 6'/>",
                                                                        "<material name='red'/>")
          LOOK("<mesh filename='t.obj' scale='1 2 3'/>",
               "<material><color rgba='0 1 0 .5'/></material>")
              LOOK("<mesh filename='t.obj' scale='1 2 3'/>", "")
                  LOOK("<mesh filename='no.obj'/>", "") LOOK("<mesh filename='t.dae'/>", "")
                      LOOK("<cone/>", "") "</link></robot>";
#undef LOOK
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "t.obj", obj, sizeof obj - 1, path);
  scratch_write(&s, "a", text, sizeof text - 1, path);
  for (int lenient = 0; lenient < 2; ++lenient) {
    sap_scene_options options = sap_scene_options_default();
    options.lenient = lenient;
    options.visuals = true;
    sap_model* m = NULL;
    assert_int_equal(sap_scene_read(path, &options, &m, NULL), SAP_STATUS_OK);
    assert_int_equal(m->sizes.shapes, 0);
    assert_int_equal(m->visual_counts[SAP_VISUALS], 3);
    assert_int_equal(m->visual_counts[SAP_VISUAL_MESHES], 1);  // one for a file and its scale
    const sap_shape_def* visual = m->visuals;
    ASSERT_NEAR(visual[0].size[2], 3.0, 0.0);
    ASSERT_NEAR(visual[0].p_BS[2], 1.0, 0.0);
    ASSERT_NEAR(visual[0].color[0], 1.0, 0.0);
    ASSERT_NEAR(visual[1].color[3], 0.5, 0.0);
    assert_true(isnan(visual[2].color[0]));
    assert_int_equal(visual[2].mesh, 0);
    float largest = 0.0F;
    for (int i = 0; i < m->visual_counts[SAP_VISUAL_VERTICES]; ++i) {
      largest = fmaxf(largest, m->visual_vertices[i][1]);
    }
    ASSERT_NEAR((double)largest, 2.0, 0.0);  // scaled
    sap_model_destroy(m);
  }
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree),
      cmocka_unit_test(test_joints),
      cmocka_unit_test(test_inertia),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_world_link),
      cmocka_unit_test(test_double_pendulum),
      cmocka_unit_test(test_solo12),
      cmocka_unit_test(test_mimic),
      cmocka_unit_test(test_meshes),
      cmocka_unit_test(test_visuals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
