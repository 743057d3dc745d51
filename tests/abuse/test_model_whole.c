// SPDX-License-Identifier: BSD-3-Clause
// Missing arguments, wrong model options, and what only the whole model shows to be wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/model.h>

static void null_arguments(void** state) {
  (void)state;
  sap_model* model = NULL;
  const sap_body_def def = sap_body_def_default();
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_create(NULL, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_builder_add_body(NULL, &def, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_builder_add_body(builder, NULL, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_builder_add_joint(builder, NULL, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_builder_compile(NULL, &model, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_builder_compile(builder, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_null(model);
  sap_builder_destroy(builder);
  sap_builder_destroy(NULL);
  sap_model_destroy(NULL);
  assert_string_equal(sap_model_get_name(NULL, SAP_ELEMENT_BODY, 0), "");
  assert_int_equal(sap_model_find(NULL, SAP_ELEMENT_BODY, "x"), -1);
  assert_int_equal(sap_model_get_sizes(NULL).nq, 0);
  assert_true(isnan(sap_model_get_body_mass(NULL, 0)));
}

static void options(void** state) {
  (void)state;
  for (int i = 0; i < 5; ++i) {
    static const char* const texts[] = {"gravity[2] = ", "timestep = 0 must be > 0",
                                        "regularization.beta = -1", "regularization.sigma = 0",
                                        "friction_rule = 7"};
    sap_model_options wrong = sap_model_options_default();
    wrong.name = "robot";
    wrong.gravity[2] = i == 0 ? (double)NAN : -9.81;
    wrong.timestep = i == 1 ? 0.0 : 0.01;
    wrong.regularization.beta = i == 2 ? -1.0 : 1.0;
    wrong.regularization.sigma = i == 3 ? 0.0 : 1e-3;
    wrong.friction_rule = i == 4 ? (sap_friction_rule)7 : SAP_FRICTION_MAXIMUM;
    sap_builder* none = NULL;
    sap_error error = {0};
    const sap_status status = sap_builder_create(&wrong, &none, &error);
    assert_int_equal(status, i == 0 ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT);
    assert_null(none);
    assert_non_null(strstr(error.message, "model 'robot': "));
    assert_non_null(strstr(error.message, texts[i]));
  }
}

// A body 1 on the world and a body 2 on it, static both.
static sap_builder* two_static_bodies(void) {
  sap_builder* b = NULL;
  assert_int_equal(sap_builder_create(NULL, &b, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < 2; ++i) {
    const sap_body_def def = {.cookie = sap_body_def_default().cookie,
                              .parent = i,
                              .mass = 1.0,
                              .q_PB = {1.0},
                              .I_BCo_B = {1.0, 1.0, 1.0}};
    assert_int_equal(sap_builder_add_body(b, &def, NULL, NULL), SAP_STATUS_OK);
  }
  return b;
}

static void add_joint(sap_builder* b, const char* name, int32_t body, sap_joint_type type) {
  sap_joint_def def = sap_joint_def_default();
  def.name = name;
  def.body = body;
  def.type = type;
  assert_int_equal(sap_builder_add_joint(b, &def, NULL, NULL), SAP_STATUS_OK);
}

static void expect_no_model(sap_builder* b, const char* text) {
  sap_model* model = NULL;
  sap_error error = {0};
  assert_int_equal(sap_builder_compile(b, &model, &error), SAP_STATUS_ARGUMENT);
  assert_null(model);
  if (strstr(error.message, text) == NULL) {
    fail_msg("'%s' does not say '%s'", error.message, text);
  }
  sap_builder_destroy(b);
}

static void free_joint_on_what_moves_later(void** state) {
  (void)state;
  sap_builder* b = two_static_bodies();
  add_joint(b, "loose", 2, SAP_JOINT_FREE);
  add_joint(b, "late", 1, SAP_JOINT_HINGE);
  expect_no_model(b, "joint 'loose': body = 2 hangs on a moving body");
}

static void plane_on_what_moves_later(void** state) {
  (void)state;
  sap_builder* b = two_static_bodies();
  sap_shape_def plane = sap_shape_def_default();
  plane.name = "floor";
  plane.type = SAP_SHAPE_PLANE;
  plane.body = 2;
  assert_int_equal(sap_builder_add_shape(b, &plane, NULL, NULL), SAP_STATUS_OK);
  add_joint(b, "late", 1, SAP_JOINT_HINGE);
  expect_no_model(b, "shape 'floor': body = 2 moves");
}

static void keyframe_before_a_joint(void** state) {
  (void)state;
  const double q = 0.5;
  sap_builder* b = two_static_bodies();
  add_joint(b, "turn", 2, SAP_JOINT_HINGE);
  const sap_keyframe_def key = {
      .cookie = sap_keyframe_def_default().cookie, .name = "pose", .q = &q};
  assert_int_equal(sap_builder_add_keyframe(b, &key, NULL, NULL), SAP_STATUS_OK);
  add_joint(b, "late", 1, SAP_JOINT_HINGE);
  expect_no_model(
      b, "keyframe 'pose': has nq = 1, nv = 1, nu = 0, na = 0, but the model has 2, 2, 0, 0");
}

static void keyframe_without_rotation(void** state) {
  (void)state;
  const double zeros[7] = {0.0};
  sap_builder* b = two_static_bodies();
  add_joint(b, "loose", 2, SAP_JOINT_FREE);
  const sap_keyframe_def key = {
      .cookie = sap_keyframe_def_default().cookie, .name = "pose", .q = zeros};
  assert_int_equal(sap_builder_add_keyframe(b, &key, NULL, NULL), SAP_STATUS_OK);
  expect_no_model(b, "keyframe 'pose': q: quaternion = 0 must not be zero");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_arguments),
      cmocka_unit_test(options),
      cmocka_unit_test(free_joint_on_what_moves_later),
      cmocka_unit_test(plane_on_what_moves_later),
      cmocka_unit_test(keyframe_before_a_joint),
      cmocka_unit_test(keyframe_without_rotation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
