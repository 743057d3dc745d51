// SPDX-License-Identifier: BSD-3-Clause
// Mesh files in formats that cannot be read: an error that names the format and a way to convert
// it, a warning if lenient. The file need not exist.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

#define SPHERE "<geom size='1' mass='2'/>"
#define MJCF(file, geom)                        \
  "<mujoco><asset>\n<mesh name='m' file='" file \
  "'/></asset>\n<worldbody><body><freejoint/>" SPHERE geom "</body></worldbody></mujoco>"
#define URDF(file)                                                                         \
  "<robot name='r'><link name='a'><inertial><mass value='2'/><inertia ixx='1' iyy='1' "    \
  "izz='1'/></inertial><collision>\n<geometry><sphere radius='1'/></geometry></collision>" \
  "<collision>\n<geometry><mesh filename='" file "'/></geometry></collision></link></robot>"

static const char convert[] =
    "mesh files must be one of: stl obj msh; others can be converted, for instance with: assimp "
    "export mesh.dae mesh.obj";

static const struct {
  const char *name, *text, *where, *what;
} scenes[] = {
    {"a.xml", MJCF("m.dae", "<geom type='mesh' mesh='m'/>"), "a.xml:2: <mesh file=\"m.dae\">",
     convert},
    {"a.xml", MJCF("m.DAE", "<geom type='box' mesh='m'/>"), "a.xml:2: <mesh file=\"m.DAE\">",
     convert},
    {"a.xml", MJCF("m.x3d", "<geom type='mesh' mesh='m'/>"), "a.xml:2: <mesh file=\"m.x3d\">",
     convert},
    {"a.urdf", URDF("package://p/m.dae"), "a.urdf:3: <mesh filename=\"package://p/m.dae\">",
     convert},
    {"a.urdf", URDF("m.ply"), "a.urdf:3: <mesh filename=\"m.ply\">", convert},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static void expect_text(const char* message, const char* text) {
  if (strstr(message, text) == NULL) {
    fail_msg("%s\nexpected: %s", message, text);
  }
}

static void test_strict(void** state) {
  (void)state;
  for (size_t i = 0; i < SCENES; ++i) {
    sap_model* m = NULL;
    sap_error error = {0};
    assert_int_equal(scene_text_read(scenes[i].name, scenes[i].text, NULL, NULL, &m, &error),
                     SAP_STATUS_UNSUPPORTED);
    assert_null(m);
    expect_text(error.message, scenes[i].where);
    expect_text(error.message, scenes[i].what);
  }
}

typedef struct first_warning {
  int count;
  char text[512];
} first_warning;

static void keep_first(void* context, const char* message) {
  first_warning* first = context;
  if (first->count++ == 0) {
    (void)snprintf(first->text, sizeof first->text, "%s", message);
  }
}

// The rest of the scene is there: the sphere, and the mass without the mesh.
static void test_lenient(void** state) {
  (void)state;
  for (size_t i = 0; i < SCENES; ++i) {
    first_warning first = {0};
    sap_scene_options options = sap_scene_options_default();
    options.lenient = true;
    options.warning = keep_first;
    options.warning_context = &first;
    sap_model* m = NULL;
    sap_error error = {0};
    if (scene_text_read(scenes[i].name, scenes[i].text, &options, NULL, &m, &error) !=
        SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    assert_int_equal(error.status, SAP_STATUS_OK);
    assert_int_equal(m->sizes.shapes, 1);
    assert_int_equal(m->sizes.meshes, 0);
    ASSERT_NEAR(m->bodies[1].mass, 2.0, 0.0);
    expect_text(first.text, scenes[i].where);
    expect_text(first.text, scenes[i].what);
    sap_model_destroy(m);
  }
}

// A mesh that is only seen is not read.
static void test_visual(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml", MJCF("m.dae", "<geom type='mesh' mesh='m' contype='0' conaffinity='0' mass='0'/>"),
      NULL);
  assert_int_equal(m->sizes.shapes, 1);
  sap_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strict),
      cmocka_unit_test(test_lenient),
      cmocka_unit_test(test_visual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
