// SPDX-License-Identifier: BSD-3-Clause
// Traits of a model: no field of the lists is left out, and all are the same in every build of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/mixed_model.h"

enum { TRAITS_MAX = 4096 };

typedef struct trait_log {
  int32_t count;
  sap_trait traits[TRAITS_MAX];
} trait_log;

static void take(void* visitor, const sap_trait* trait) {
  trait_log* log = visitor;
  assert_true(log->count < TRAITS_MAX);
  log->traits[log->count++] = *trait;
}

static bool visits(const trait_log* log, const char* element, const char* field, size_t size) {
  for (int32_t i = 0; i < log->count; ++i) {
    const sap_trait* t = &log->traits[i];
    if (strcmp(t->element, element) == 0 && strcmp(t->field, field) == 0 && t->size == size) {
      return true;
    }
  }
  return false;
}

static bool names(const trait_log* log, const char* element, const char* field) {
  for (int32_t i = 0; i < log->count; ++i) {
    if (strcmp(log->traits[i].element, element) == 0 && strcmp(log->traits[i].field, field) == 0) {
      return true;
    }
  }
  return false;
}

static void test_every_field(void** unused) {
  (void)unused;
  static trait_log log, again;
  sap_model* model = NULL;
  sap_model* same = NULL;
  sap_builder* builder = mixed_builder();
  sap_shape_def shape = sap_shape_def_default();
  shape.size[0] = 1.0;
  assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  sap_equality_def equality = sap_equality_def_default();
  sap_spring_def spring = sap_spring_def_default();
  sap_bushing_def bushing = sap_bushing_def_default();
  sap_pair_def pair = sap_pair_def_default();
  int32_t other;
  equality.a = spring.body_a = bushing.body_a = shape.body = 3;
  assert_int_equal(sap_builder_add_shape(builder, &shape, &other, NULL), SAP_STATUS_OK);
  pair.shape_a = other;
  pair.shape_b = other - 1;
  assert_int_equal(sap_builder_add_equality(builder, &equality, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_spring(builder, &spring, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_bushing(builder, &bushing, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_pair(builder, &pair, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_compile(builder, &same, NULL), SAP_STATUS_OK);
  log.count = again.count = 0;
  sap_model_traits(model, take, &log);
  sap_model_traits(same, take, &again);
#define VISITED(element, type, field, size)            \
  if (!visits(&log, element, #field, size)) {          \
    fail_msg("%s of %s is no trait", #field, element); \
  }
#define BODY(type, field, ...) VISITED("body", type, field, sizeof(((sap_body_def*)0)->field))
#define JOINT(type, field, ...) VISITED("joint", type, field, sizeof(((sap_joint_def*)0)->field))
#define MATERIAL(type, field, ...) VISITED("shape", type, field, sizeof(type))
#define SHAPE(type, field, ...)                                          \
  if (strcmp(#field, "material") != 0 && strcmp(#field, "color") != 0) { \
    VISITED("shape", type, field, sizeof(((sap_shape_def*)0)->field))    \
  }
#define ACTUATOR(type, field, ...) \
  VISITED("actuator", type, field, sizeof(((sap_actuator_def*)0)->field))
  SAP_ACTUATOR_FIELDS(ACTUATOR, ACTUATOR)
  SAP_BODY_FIELDS(BODY, BODY)
  SAP_JOINT_FIELDS(JOINT, JOINT)
  SAP_SHAPE_FIELDS(SHAPE, SHAPE)
  SAP_MATERIAL_FIELDS(MATERIAL)
  assert_false(visits(&log, "shape", "color", 4 * sizeof(double)));
#define VISITED_ALL(element, ...)                                 \
  do {                                                            \
    static const char* const fields[] = {__VA_ARGS__};            \
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) { \
      if (!names(&log, element, fields[i])) {                     \
        fail_msg("%s of %s is no trait", fields[i], element);     \
      }                                                           \
    }                                                             \
  } while (0)
  VISITED_ALL("model", "gravity", "fluid_density", "fluid_viscosity", "wind", "friction_rule");
  VISITED_ALL("equality", "type", "a", "b", "anchor_A", "anchor_B", "q_AB", "polynomial",
              "distance", "torque_scale", "stiffness", "relaxation_time", "active");
  VISITED_ALL("spring", "body_a", "body_b", "point_A", "point_B", "stiffness", "damping",
              "rest_length");
  VISITED_ALL("bushing", "body_a", "body_b", "p_AF", "q_AF", "p_BG", "q_BG", "stiffness",
              "damping");
  VISITED_ALL("pair", "shape_a", "shape_b", "condim", "margin", "rest_distance",
              "friction_torsional", "friction_rolling");
  assert_int_equal(log.count, again.count);
  for (int32_t i = 0; i < log.count; ++i) {
    const sap_trait *a = &log.traits[i], *b = &again.traits[i];
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->value, b->value, a->size);
  }
  sap_model_destroy(model);
  sap_model_destroy(same);
  sap_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_field)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
