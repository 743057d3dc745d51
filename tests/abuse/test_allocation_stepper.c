// SPDX-License-Identifier: BSD-3-Clause
// Every allocation of creating and of the first step fails once: MEMORY, nothing leaks, the state
// is untouched, and the same stepper steps when memory is back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap_count.h"
#include "support/simulation.h"
#include "support/toy_system.h"

static void make(toy_linear* toy) {
  toy_linear_init(toy, 3, 2);
  toy_linear_connect(toy, 0, 3, 100.0, 1.0);
  toy_linear_connect(toy, 2, 5, 1e5, 1.0);
  toy->f[0] = -1.0;
  toy->limit = true;
}

static void test_create(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  const int64_t live = heap_live();
  for (int64_t n = 0;; ++n) {
    sap_stepper* stepper = NULL;
    sap_error error = {0};
    heap_fail_at(n);
    const sap_status status = sap_stepper_create(&toy.system, NULL, &stepper, &error);
    const bool failed = heap_failed();
    heap_fail_at(-1);
    if (!failed) {
      assert_int_equal(status, SAP_STATUS_OK);
      assert_true(n > 10);
      sap_stepper_destroy(stepper);
      break;
    }
    assert_int_equal(status, SAP_STATUS_MEMORY);
    assert_int_equal(error.status, SAP_STATUS_MEMORY);
    assert_null(stepper);
    assert_int_equal(heap_live(), live);
  }
}

static void test_first_step(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  const int64_t live = heap_live();
  for (int64_t n = 0;; ++n) {
    sap_stepper* stepper = NULL;
    sap_state state = toy_state(&toy.system);
    state.v[0] = -1.0;
    double v[6];
    memcpy(v, state.v, sizeof v);
    assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
    heap_fail_at(n);
    const sap_status status = sap_stepper_step(stepper, &state, NULL, NULL);
    const bool failed = heap_failed();
    heap_fail_at(-1);
    if (failed) {
      assert_true(status == SAP_STATUS_MEMORY || status == SAP_STATUS_CALLBACK);
      assert_memory_equal(v, state.v, sizeof v);
      assert_int_equal(sap_stepper_step(stepper, &state, NULL, NULL), SAP_STATUS_OK);
    } else {
      assert_int_equal(status, SAP_STATUS_OK);
    }
    sap_stepper_destroy(stepper);
    sap_state_clear(&state);
    assert_int_equal(heap_live(), live);
    if (!failed) {
      assert_true(n > 5);
      break;
    }
  }
}

static void test_multibody_create(void** unused) {
  (void)unused;
  const double p[3] = {0.0, 0.0, 1.0}, half[3] = {0.1, 0.1, 0.1};
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  sap_model* model = NULL;
  const int32_t body = simulation_body(builder, 0, 1.0, 0.1, p);
  simulation_joint(builder, body, SAP_JOINT_HINGE, 0.0, 1.0, 0.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, half, sap_material_default());
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  const int64_t live = heap_live();
  for (int64_t n = 0;; ++n) {
    sap_multibody* multibody = NULL;
    heap_fail_at(n);
    const sap_status status = sap_multibody_create(model, &multibody, NULL);
    const bool failed = heap_failed();
    heap_fail_at(-1);
    if (!failed) {
      assert_int_equal(status, SAP_STATUS_OK);
      assert_true(n > 5);
      sap_multibody_destroy(multibody);
      break;
    }
    assert_int_equal(status, SAP_STATUS_MEMORY);
    assert_null(multibody);
    assert_int_equal(heap_live(), live);
  }
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create),
      cmocka_unit_test(test_first_step),
      cmocka_unit_test(test_multibody_create),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
