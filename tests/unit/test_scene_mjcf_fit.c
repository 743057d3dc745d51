// SPDX-License-Identifier: BSD-3-Clause
// MJCF: primitives fitted to a mesh; sizes and poses are those that MuJoCo 4.0.0 compiles (whose
// vertices are floats: these are exact in both).
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
#include "support/near.h"
#include "support/scene_text.h"

#define MESH                                                                                    \
  "<asset><mesh name='m' vertex='-.125 -.25 -.25 .25 -.25 -.25 -.125 .375 -.25 0 0 .5 .25 .25 " \
  ".125' "                                                                                      \
  "inertia='convex'/></asset>"
#define FITTED(type) \
  "<geom type='" type "' mesh='m' pos='1 2 3' euler='10 20 30' fitscale='1.25' size='9'/>"

// MuJoCo's moments come of an iteration that stops at 1e-12, its spans of floats.
static const double fine = 1e-11, coarse = 2e-7;

static void compare(bool span, const double sizes[5][3], const double p[3]) {
  static const double turned[4] = {0.910994699597458, -0.05496809622156765, 0.13516983313394376,
                                   0.38574121106469306};
  char text[2048];
  (void)snprintf(text, sizeof text,
                 "<mujoco><compiler fitaabb='%s'/>" MESH "<worldbody>" FITTED("sphere")
                     FITTED("capsule") FITTED("cylinder") FITTED("box") FITTED(
                         "ellipsoid") "<body><joint/><geom size='.1'/></body></worldbody></mujoco>",
                 span ? "true" : "false");
  sap_model* model = scene_text_model("a.xml", text, NULL);
  const double tolerance = span ? coarse : fine;
  double theirs[9];
  sap_quaternion_to_matrix(theirs, turned);
  for (int32_t i = 0; i < 5; ++i) {
    sap_shape_def shape;
    double ours[9];
    assert_int_equal(sap_model_get_shape(model, i, &shape, NULL), SAP_STATUS_OK);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(shape.size[k], sizes[i][k], tolerance);
      ASSERT_NEAR(shape.p_BS[k], p[k], tolerance);
    }
    sap_quaternion_to_matrix(ours, shape.q_BS);
    for (int k = 0; k < 3; ++k) {  // axes but for their signs
      ASSERT_NEAR(fabs(sap_v3_dot(ours + 3 * k, theirs + 3 * k)), 1.0, fine);
    }
  }
  sap_model_destroy(model);
}

static void test_to_inertia(void** state) {
  (void)state;
  static const double sizes[5][3] = {{0.2596921782692818, 0.0, 0.0},
                                     {0.22204912645270622, 0.22395371867607988, 0.0},
                                     {0.22204912645270622, 0.334978281902433, 0.0},
                                     {0.1770835465053225, 0.26701470640008995, 0.334978281902433},
                                     {0.1770835465053225, 0.26701470640008995, 0.334978281902433}};
  static const double p[3] = {1.0172643641625574, 2.0513768168839985, 2.984047529456067};
  compare(false, sizes, p);
}

static void test_to_span(void** state) {
  (void)state;
  static const double sizes[5][3] = {
      {0.4977057545189163, 0.0, 0.0},
      {0.40447288482754185, 0.09323286969137451, 0.0},
      {0.40447288482754185, 0.4977057545189163, 0.0},
      {0.24344921296728356, 0.40447288482754185, 0.4977057545189163},
      {0.24344921296728356, 0.40447288482754185, 0.4977057545189163}};
  static const double p[3] = {0.9643540716683277, 2.153891955069667, 3.0405579695240657};
  compare(true, sizes, p);
}

// Boxes that stand in all six ways are fitted by themselves, whichever way their axes turn.
static void test_boxes(void** state) {
  (void)state;
  static const double half[6][3] = {{.125, .25, .5}, {.125, .5, .25}, {.25, .125, .5},
                                    {.25, .5, .125}, {.5, .125, .25}, {.5, .25, .125}};
  for (int i = 0; i < 6; ++i) {
    char text[1024] = "<mujoco><asset><mesh name='m' vertex='";
    for (int k = 0; k < 8; ++k) {
      const size_t used = strlen(text);
      (void)snprintf(text + used, sizeof text - used, " %g %g %g", (k & 1 ? 1 : -1) * half[i][0],
                     (k & 2 ? 1 : -1) * half[i][1], (k & 4 ? 1 : -1) * half[i][2]);
    }
    (void)strcat(text, "'/></asset><worldbody><geom type='box' mesh='m'/></worldbody></mujoco>");
    sap_model* model = scene_text_model("a.xml", text, NULL);
    sap_shape_def shape;
    double R[9];
    assert_int_equal(sap_model_get_shape(model, 0, &shape, NULL), SAP_STATUS_OK);
    sap_quaternion_to_matrix(R, shape.q_BS);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(shape.size[k], 0.125 * (1 << k), fine);
      ASSERT_NEAR(fabs(R[k]) * shape.size[0] + fabs(R[3 + k]) * shape.size[1] +
                      fabs(R[6 + k]) * shape.size[2],
                  half[i][k], fine);
    }
    sap_model_destroy(model);
  }
}

// Mass, of the primitive; what cannot be fitted, and files that are missing.
static void test_use(void** state) {
  (void)state;
  sap_model* model = scene_text_model(
      "a.xml",
      "<mujoco>" MESH "<worldbody><body><freejoint/>" FITTED("box") "</body></worldbody></mujoco>",
      NULL);
  sap_body_def body;
  assert_int_equal(sap_model_get_body(model, 1, &body, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(body.mass, 8e3 * 0.1770835465053225 * 0.26701470640008995 * 0.334978281902433, 1e-8);
  sap_model_destroy(model);
  static const struct {
    const char *text, *says;
    sap_status status;
  } wrong[] = {
      {"<mujoco>" MESH "<worldbody><geom type='plane' mesh='m'/></worldbody></mujoco>",
       "a plane cannot be fitted", SAP_STATUS_SYNTAX},
      {"<mujoco>" MESH "<worldbody><geom type='box' mesh='n'/></worldbody></mujoco>",
       "no <asset><mesh>", SAP_STATUS_SYNTAX},
      {"<mujoco>" MESH "<worldbody><geom type='box' mesh='m' fitscale='0'/></worldbody></mujoco>",
       "must be > 0", SAP_STATUS_SYNTAX},
      {"<mujoco><asset><mesh name='m' file='none.stl'/></asset><worldbody><geom type='box' "
       "mesh='m'/></worldbody></mujoco>",
       "none.stl", SAP_STATUS_IO},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    sap_error error = {0};
    assert_int_equal(scene_text_read("a.xml", wrong[i].text, NULL, NULL, &model, &error),
                     wrong[i].status);
    if (strstr(error.message, wrong[i].says) == NULL) {
      fail_msg("%s\nexpected: %s", error.message, wrong[i].says);
    }
  }
  sap_scene_options lenient = sap_scene_options_default();
  lenient.lenient = true;
  model = scene_text_model(
      "a.xml",
      "<mujoco><asset><mesh name='m' file='none.stl'/></asset><worldbody><body><joint/><geom "
      "size='.1'/><geom type='box' mesh='m' contype='0' conaffinity='0' mass='0'/></body>"
      "</worldbody></mujoco>",
      &lenient);
  assert_int_equal(sap_model_get_sizes(model).shapes, 1);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_to_inertia),
      cmocka_unit_test(test_to_span),
      cmocka_unit_test(test_boxes),
      cmocka_unit_test(test_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
