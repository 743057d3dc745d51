// SPDX-License-Identifier: BSD-3-Clause
// Every allocation of building, compiling and the dynamics workspace fails once: the call says so,
// nothing leaks, and the builder is as usable as before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/dynamics.h"
#include "support/heap_count.h"
#include "support/mixed_model.h"

enum { MANY = 100000 };

static void building(void** state) {
  (void)state;
  const int64_t live = heap_live();
  int64_t n = 0;
  for (; n < MANY; ++n) {
    heap_fail_at(n);
    sap_builder* builder = mixed_builder();
    const bool failed = heap_failed();
    heap_fail_at(-1);
    assert_true(failed == (builder == NULL));
    sap_builder_destroy(builder);
    assert_int_equal(heap_live(), live);
    if (!failed) {
      break;
    }
  }
  assert_in_range(n, 20, MANY - 1);
}

// Each kind of element: the failed call adds nothing and the same call works afterwards.
static void adding(void** state) {
  (void)state;
  static const int32_t joints[] = {0, 1};
  static const double coefficients[] = {1.0, 2.0};
  sap_body_def body = sap_body_def_default();
  sap_joint_def joint = sap_joint_def_default();
  sap_shape_def shape = sap_shape_def_default();
  sap_tendon_def tendon = sap_tendon_def_default();
  sap_actuator_def actuator = sap_actuator_def_default();
  const sap_keyframe_def key = {.cookie = sap_keyframe_def_default().cookie,
                                .name = "k",
                                .q = mixed_q,
                                .v = mixed_v,
                                .control = mixed_control};
  body.name = joint.name = shape.name = tendon.name = actuator.name = "x";
  joint.body = 2;
  shape.size[0] = 1.0;
  tendon.joints = joints;
  tendon.coefficients = coefficients;
  tendon.njoints = 2;
  sap_equality_def equality = sap_equality_def_default();
  sap_spring_def spring = sap_spring_def_default();
  sap_bushing_def bushing = sap_bushing_def_default();
  sap_pair_def pair = sap_pair_def_default();
  const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  const sap_mesh_def mesh = {
      .cookie = sap_mesh_def_default().cookie, .name = "x", .vertex_count = 5, .vertices = corners};
  equality.name = spring.name = bushing.name = "x";
  equality.a = spring.body_b = bushing.body_b = 1;
  pair.shape_b = 1;
  for (int kind = 0; kind < 12; ++kind) {
    sap_builder* builder = mixed_builder();
    for (int32_t b = 1; kind == 11 && b < 3; ++b) {
      sap_shape_def of_pair = sap_shape_def_default();
      of_pair.body = b;
      of_pair.size[0] = 1.0;
      assert_int_equal(sap_builder_add_shape(builder, &of_pair, NULL, NULL), SAP_STATUS_OK);
    }
    int64_t n = 0;
    sap_status status = SAP_STATUS_MEMORY;
    for (; n < MANY && status != SAP_STATUS_OK; ++n) {
      sap_error error = {0};
      heap_fail_at(n);
      switch (kind) {
        case 0:
          status = sap_builder_add_body(builder, &body, NULL, &error);
          break;
        case 1:
          status = sap_builder_add_joint(builder, &joint, NULL, &error);
          break;
        case 2:
          status = sap_builder_add_shape(builder, &shape, NULL, &error);
          break;
        case 3:
          status = sap_builder_add_tendon(builder, &tendon, NULL, &error);
          break;
        case 4:
          status = sap_builder_add_actuator(builder, &actuator, NULL, &error);
          break;
        case 5:
          status = sap_builder_add_keyframe(builder, &key, NULL, &error);
          break;
        case 6:
          status = sap_builder_add_mesh(builder, &mesh, NULL, &error);
          break;
        case 7:
          status = sap_builder_add_equality(builder, &equality, NULL, &error);
          break;
        case 8:
          status = sap_builder_add_spring(builder, &spring, NULL, &error);
          break;
        case 9:
          status = sap_builder_add_bushing(builder, &bushing, NULL, &error);
          break;
        case 11:
          status = sap_builder_add_pair(builder, &pair, NULL, &error);
          break;
        default:
          status = sap_builder_exclude(builder, 1, 2, &error);
          break;
      }
      const bool failed = heap_failed();
      heap_fail_at(-1);
      assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
      assert_int_equal(error.status, status);
    }
    assert_in_range(n, 2, MANY - 1);
    sap_builder_destroy(builder);
  }
}

static void compiling(void** state) {
  (void)state;
  sap_builder* builder = mixed_builder();
  const sap_keyframe_def key = {
      .cookie = sap_keyframe_def_default().cookie, .name = "k", .q = mixed_q};
  assert_int_equal(sap_builder_add_keyframe(builder, &key, NULL, NULL), SAP_STATUS_OK);
  const int64_t live = heap_live();
  int64_t n = 0;
  sap_status status = SAP_STATUS_MEMORY;
  for (; n < MANY && status != SAP_STATUS_OK; ++n) {
    sap_model* model = NULL;
    heap_fail_at(n);
    status = sap_builder_compile(builder, &model, NULL);
    const bool failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_true(failed == (model == NULL));
    sap_model_destroy(model);
    assert_int_equal(heap_live(), live);
  }
  assert_in_range(n, 20, MANY - 1);
  sap_builder_destroy(builder);
}

static void workspaces_and_states(void** state) {
  (void)state;
  const int64_t before = heap_live();
  sap_model* model = mixed_model();
  sap_state x = {0};
  const int64_t live = heap_live();
  sap_status status = SAP_STATUS_MEMORY;
  for (int64_t n = 0; n < MANY && status != SAP_STATUS_OK; ++n) {
    sap_dynamics* dynamics = NULL;
    heap_fail_at(n);
    status = sap_dynamics_create(model, &dynamics, NULL);
    const bool failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_true(failed == (dynamics == NULL));
    sap_dynamics_destroy(dynamics);
    assert_int_equal(heap_live(), live);
  }
  for (int64_t n = 0; n < 2; ++n) {
    heap_fail_at(n);
    assert_int_equal(sap_model_get_default_state(model, &x, NULL), SAP_STATUS_MEMORY);
    heap_fail_at(-1);
    assert_int_equal(heap_live(), live);
    assert_null(x.q);
  }
  assert_int_equal(sap_model_get_default_state(model, &x, NULL), SAP_STATUS_OK);
  sap_state_clear(&x);
  sap_model_destroy(model);
  assert_int_equal(heap_live(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(building),
      cmocka_unit_test(adding),
      cmocka_unit_test(compiling),
      cmocka_unit_test(workspaces_and_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
