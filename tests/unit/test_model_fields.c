// SPDX-License-Identifier: BSD-3-Clause
// Every field of the lists in sapstep/model.h and sapstep/contact.h goes through builder, model and
// getter unchanged. A field added to a list with the range OWN must be set here to a value that is
// not its default; the other ranges are set by the list.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/model.h>

static double last_value;

static double next_value(void) {
  return last_value += 0.0625;
}

// Sets a field of `def` to a value of its own.
#define SET(type, name, value, range) SET_##range(name)
#define SET_OWN(name)
#define SET_FINITE(name) def.name = next_value();
#define SET_NOT_NEGATIVE(name) def.name = next_value();
#define SET_STIFFNESS(name) def.name = next_value();
#define SET_ARRAY(type, name, count, value, range) SET_ARRAY_##range(name, count)
#define SET_ARRAY_OWN(name, count)
#define SET_ARRAY_FINITE(name, count) \
  for (int i = 0; i < (count); ++i) { \
    def.name[i] = next_value();       \
  }
#define SET_ARRAY_NOT_NEGATIVE(name, count) SET_ARRAY_FINITE(name, count)

#define CHANGED(type, name, ...) \
  expect_changed(#name, memcmp(&def.name, &standard.name, sizeof def.name));
#define SAME(type, name, ...) expect_same(#name, memcmp(&def.name, &out.name, sizeof def.name));

static void expect_changed(const char* name, int difference) {
  if (difference == 0 && strcmp(name, "mesh") != 0) {
    fail_msg("%s has its default: set it in this test", name);
  }
}

static void expect_same(const char* name, int difference) {
  if (difference != 0 && strcmp(name, "material") != 0) {
    fail_msg("%s does not come back", name);
  }
}

static sap_builder* builder_with(int32_t bodies) {
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < bodies; ++i) {
    sap_body_def body = sap_body_def_default();
    body.mass = body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 1.0;
    assert_int_equal(sap_builder_add_body(builder, &body, NULL, NULL), SAP_STATUS_OK);
  }
  return builder;
}

static void add_hinge(sap_builder* builder, int32_t body) {
  sap_joint_def joint = sap_joint_def_default();
  joint.body = body;
  assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
}

static sap_model* compiled(sap_builder* builder) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_builder_compile(builder, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  sap_builder_destroy(builder);
  return model;
}

static void expect_added(sap_status status, const sap_error* error) {
  if (status != SAP_STATUS_OK) {
    fail_msg("%s", error->message);
  }
}

static void bodies(void** state) {
  (void)state;
  sap_builder* builder = builder_with(1);
  const sap_body_def standard = sap_body_def_default();
  sap_body_def def = standard, out;
  sap_error error = {0};
  SAP_BODY_FIELDS(SET, SET_ARRAY)
  def.parent = 1;
  memcpy(def.q_PB, (double[]){0.0, 1.0, 0.0, 0.0}, sizeof def.q_PB);
  memcpy(def.q_BI, (double[]){0.0, 0.0, 1.0, 0.0}, sizeof def.q_BI);
  memcpy(def.I_BCo_B, (double[]){0.5, 0.6, 0.7, 0.01, 0.02, 0.03}, sizeof def.I_BCo_B);
  def.any_inertia = true;
  SAP_BODY_FIELDS(CHANGED, CHANGED)
  expect_added(sap_builder_add_body(builder, &def, NULL, &error), &error);
  sap_model* model = compiled(builder);
  assert_int_equal(sap_model_get_body(model, 2, &out, NULL), SAP_STATUS_OK);
  assert_int_equal(out.cookie, def.cookie);  // what is got can be added again
  SAP_BODY_FIELDS(SAME, SAME)
  sap_model_destroy(model);
}

static void joints(void** state) {
  (void)state;
  sap_builder* builder = builder_with(1);
  const sap_joint_def standard = sap_joint_def_default();
  sap_joint_def def = standard, out;
  sap_error error = {0};
  SAP_JOINT_FIELDS(SET, SET_ARRAY)
  def.type = SAP_JOINT_SLIDE;
  def.body = 1;
  sap_joint_def* d = &def;
  memcpy(d->axis, (double[]){1.0, 0.0, 0.0}, sizeof d->axis);
  d->lower = -1.0;
  d->upper = 1.5;
  d->effort_lower = -3.0;
  d->effort_upper = 4.0;
  d->motor_speed = 5.0;
  d->locked = true;
  SAP_JOINT_FIELDS(CHANGED, CHANGED)
  def.spring_damping_ratio = 0.0;  // with both, compiling sets stiffness and damping
  expect_added(sap_builder_add_joint(builder, &def, NULL, &error), &error);
  sap_model* model = compiled(builder);
  assert_int_equal(sap_model_get_joint(model, 0, &out, NULL), SAP_STATUS_OK);
  assert_int_equal(out.cookie, def.cookie);  // what is got can be added again
  SAP_JOINT_FIELDS(SAME, SAME)
  sap_model_destroy(model);
}

static void shapes(void** state) {
  (void)state;
  sap_builder* builder = builder_with(1);
  const sap_shape_def standard = sap_shape_def_default();
  sap_shape_def def = standard, out;
  sap_error error = {0};
  SAP_SHAPE_FIELDS(SET, SET_ARRAY) {
    const sap_material none = {0};
    sap_shape_def* shape = &def;
    sap_material* m = &shape->material;
    *m = none;
    m->model = SAP_CONTACT_SIMILAR;
    m->stiffness = next_value();
    m->relaxation_time = next_value();
    m->friction = next_value();
    m->dissipation = next_value();
    m->stiction_tolerance = next_value();
    m->static_friction = next_value();
    m->modulus = next_value();
    m->field_depth = next_value();
  }
  def.type = SAP_SHAPE_BOX;
  def.body = 1;
  memcpy(def.q_BS, (double[]){0.0, 0.0, 1.0, 0.0}, sizeof def.q_BS);
  memcpy(def.size, (double[]){0.1, 0.2, 0.3}, sizeof def.size);
  def.condim = 4;
  def.contact_type = 2;
  def.contact_affinity = 4;
  def.priority = 3;
  def.fluid_ellipsoid = true;
  memcpy(def.color, (double[]){0.1, 0.2, 0.3, 0.4}, sizeof def.color);
  SAP_SHAPE_FIELDS(CHANGED, CHANGED)
  expect_added(sap_builder_add_shape(builder, &def, NULL, &error), &error);
  sap_model* model = compiled(builder);
  assert_int_equal(sap_model_get_shape(model, 0, &out, NULL), SAP_STATUS_OK);
  assert_int_equal(out.cookie, def.cookie);  // what is got can be added again
  SAP_SHAPE_FIELDS(SAME, SAME)
  const sap_material zero = {0};
#define SAME_MATERIAL(type, name, value, range)                      \
  expect_changed("material." #name, def.material.name != zero.name); \
  expect_same("material." #name, def.material.name != out.material.name);
  SAP_MATERIAL_FIELDS(SAME_MATERIAL)
  sap_model_destroy(model);
}

static void tendons(void** state) {
  (void)state;
  sap_builder* builder = builder_with(1);
  add_hinge(builder, 1);
  const sap_tendon_def standard = sap_tendon_def_default();
  sap_tendon_def def = standard, out;
  sap_error error = {0};
  SAP_TENDON_FIELDS(SET, SET_ARRAY)
  def.njoints = 1;
  def.joints = (int32_t[]){0};
  def.coefficients = (double[]){2.0};
  def.lower = -1.0;
  def.upper = 2.0;
  def.spring_lower = 0.1;
  def.spring_upper = 0.2;
  def.effort_lower = -3.0;
  def.effort_upper = 4.0;
  SAP_TENDON_FIELDS(CHANGED, CHANGED)
  expect_added(sap_builder_add_tendon(builder, &def, NULL, &error), &error);
  sap_model* model = compiled(builder);
  assert_int_equal(sap_model_get_tendon(model, 0, &out, NULL), SAP_STATUS_OK);
  assert_int_equal(out.cookie, def.cookie);  // what is got can be added again
  SAP_TENDON_FIELDS(SAME, SAME)
  assert_true(out.njoints == 1 && out.joints[0] == 0 && out.coefficients[0] == 2.0);
  sap_model_destroy(model);
}

static void actuators(void** state) {
  (void)state;
  sap_builder* builder = builder_with(2);
  add_hinge(builder, 1);
  add_hinge(builder, 2);
  const sap_actuator_def standard = sap_actuator_def_default();
  sap_actuator_def def = standard, out;
  sap_error error = {0};
  SAP_ACTUATOR_FIELDS(SET, SET_ARRAY)
  sap_actuator_def* d = &def;
  d->transmission = SAP_TRANSMISSION_SITE;
  d->target = d->crank_body = d->slider_body = d->site_body = 1;
  d->reference_body = 2;
  for (int i = 0; i < 3; ++i) {
    d->crank_point[i] = next_value();
    d->slider_point[i] = next_value();
    d->site_point[i] = next_value();
    d->reference_point[i] = next_value();
    d->activation_time[i] = next_value();
    d->direction[i] = next_value();
  }
  memcpy(d->slider_axis, (double[]){1.0, 0.0, 0.0}, sizeof d->slider_axis);
  memcpy(d->site_q, (double[]){0.0, 1.0, 0.0, 0.0}, sizeof d->site_q);
  memcpy(d->reference_q, (double[]){0.0, 0.0, 1.0, 0.0}, sizeof d->reference_q);
  d->crank_length = 2.0;
  d->in_parent = true;
  d->gear = 3.0;
  d->control_lower = d->force_lower = d->activation_lower = -1.0;
  d->control_upper = d->force_upper = d->activation_upper = 2.0;
  memcpy(d->bias, (double[]){0.1, -0.2, -0.3}, sizeof d->bias);
  memcpy(d->gain_slope, (double[]){-0.1, -0.2}, sizeof d->gain_slope);
  d->activation = SAP_ACTIVATION_MUSCLE;
  d->activation_early = d->muscle_gain = d->muscle_bias = true;
  d->muscle.force = 7.0;
  d->length_lower = -0.5;
  d->length_upper = 0.5;
  SAP_ACTUATOR_FIELDS(CHANGED, CHANGED)
  def.damping_ratio = 0.0;  // otherwise compiling sets bias[2]
  expect_added(sap_builder_add_actuator(builder, &def, NULL, &error), &error);
  sap_model* model = compiled(builder);
  assert_int_equal(sap_model_get_actuator(model, 0, &out, NULL), SAP_STATUS_OK);
  assert_int_equal(out.cookie, def.cookie);  // what is got can be added again
  SAP_ACTUATOR_FIELDS(SAME, SAME)
  sap_model_destroy(model);
}

static void hand_made_definitions_are_refused(void** state) {
  (void)state;
  sap_builder* builder = builder_with(1);
  sap_error error = {0};
  const sap_joint_def joint = {.name = "j", .body = 1};
  assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "sap_joint_def is not initialized: use sap_joint_def_default()");
  const sap_keyframe_def key = {0};
  assert_int_equal(sap_builder_add_keyframe(builder, &key, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "sap_keyframe_def is not initialized: use sap_keyframe_def_default()");
  const sap_model_options options = {.timestep = 0.001};
  sap_builder* none = builder;
  assert_int_equal(sap_builder_create(&options, &none, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "sap_model_options is not initialized: use sap_model_options_default()");
  assert_null(none);
  sap_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies),    cmocka_unit_test(joints),
      cmocka_unit_test(shapes),    cmocka_unit_test(tendons),
      cmocka_unit_test(actuators), cmocka_unit_test(hand_made_definitions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
