// SPDX-License-Identifier: BSD-3-Clause
// Detection makes no heap call once it has seen a scene as dense, and survives every failed one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/collision_scene.h"
#include "support/heap_count.h"

enum { BODIES = 80 };

static void make_scene(collision_scene* s) {
  static const sap_shape_type types[5] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                          SAP_SHAPE_CYLINDER, SAP_SHAPE_ELLIPSOID};
  scene_begin(s);
  scene_add_shape(s, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  for (int b = 0; b < BODIES; ++b) {
    scene_add_shape(s, scene_add_body(s, 0), types[b % 5], 0.2, 0.15, 0.1);
  }
  scene_compile(s);
}

// spread 1: dense.
static void arrange(collision_scene* s, double spread, double phase) {
  for (int b = 1; b <= BODIES; ++b) {
    scene_place(s, b, spread * (b % 5) * 0.25, spread * (b / 5 % 5) * 0.25,
                spread * (0.05 + b / 25 * 0.2));
    scene_turn(s, b, 0.3 * b + phase, 0.1 * b, phase);
  }
}

static void steady_state_makes_no_heap_call(void** state) {
  (void)state;
  collision_scene s;
  make_scene(&s);
  arrange(&s, 0.5, 0.0);
  for (int k = 0; k < 3; ++k) {
    scene_detect(&s);
  }
  const int64_t before = heap_calls();
  int32_t fewest = s.count, most = 0;
  for (int k = 0; k < 30; ++k) {
    arrange(&s, 0.9 + 0.03 * k, 0.02 * k);
    scene_detect(&s);
    fewest = s.count < fewest ? s.count : fewest;
    most = s.count > most ? s.count : most;
  }
  assert_int_equal(heap_calls(), before);
  assert_true(most > 50 && fewest < most);
  scene_end(&s);
}

static void every_failed_allocation_is_reported(void** state) {
  (void)state;
  collision_scene s;
  make_scene(&s);
  arrange(&s, 1.0, 0.0);
  scene_detect(&s);
  const int32_t expected = s.count;
  int failures = 0;
  for (int64_t at = 0; at < 100; ++at) {
    sap_error error = {0};
    sap_collision* collision = NULL;
    const sap_contact* contacts = NULL;
    int32_t count = -1;
    const sap_collision_query query = {.p_WB = s.p_WB, .R_WB = s.R_WB, .remember = true};
    const int64_t live = heap_live();
    heap_fail_at(at);
    sap_status status = sap_collision_create(s.model, &collision, &error);
    if (status == SAP_STATUS_OK) {
      status = sap_collision_detect(collision, &query, &contacts, &count, &error);
    } else {
      assert_null(collision);
    }
    const bool failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    if (failed && collision != NULL) {
      assert_int_equal(count, -1);
      assert_int_equal(sap_collision_detect(collision, &query, &contacts, &count, &error),
                       SAP_STATUS_OK);
    }
    if (collision != NULL) {
      assert_int_equal(count, expected);
    }
    sap_collision_destroy(collision);
    assert_int_equal(heap_live(), live);
    failures += failed ? 1 : 0;
    if (!failed) {
      break;
    }
  }
  assert_true(failures > 10 && failures < 100);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steady_state_makes_no_heap_call),
                                     cmocka_unit_test(every_failed_allocation_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
