// SPDX-License-Identifier: BSD-3-Clause
// The same sequence of poses gives the same contacts bit by bit, feature numbers included.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/collision_scene.h"

enum { BODIES = 120, STEPS = 40 };

static void runs_agree_bitwise(void** state) {
  (void)state;
  static const sap_shape_type types[5] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                          SAP_SHAPE_CYLINDER, SAP_SHAPE_ELLIPSOID};
  collision_scene runs[2];
  for (int k = 0; k < 2; ++k) {
    scene_begin(&runs[k]);
    scene_add_shape(&runs[k], 0, SAP_SHAPE_PLANE, 1, 1, 1);
    for (int b = 0; b < BODIES; ++b) {
      scene_add_shape(&runs[k], scene_add_body(&runs[k], 0), types[b % 5], 0.2, 0.15, 0.1);
    }
    scene_compile(&runs[k]);
  }
  int32_t contacts = 0;
  for (int step = 0; step < STEPS; ++step) {
    for (int k = 0; k < 2; ++k) {
      for (int b = 1; b <= BODIES; ++b) {
        scene_place(&runs[k], b, sin(1.7 * b + 0.03 * step), cos(2.3 * b - 0.02 * step),
                    0.05 + 0.01 * b);
        scene_turn(&runs[k], b, 0.3 * b, 0.02 * step, 0.1 * b);
      }
      scene_detect(&runs[k]);
    }
    assert_int_equal(runs[0].count, runs[1].count);
    assert_memory_equal(runs[0].contacts, runs[1].contacts,
                        (size_t)runs[0].count * sizeof(sap_contact));
    contacts += runs[0].count;
    for (int32_t i = 1; i < runs[0].count; ++i) {
      const sap_contact *p = &runs[0].contacts[i - 1], *c = &runs[0].contacts[i];
      assert_true(
          p->shape_A < c->shape_A ||
          (p->shape_A == c->shape_A &&
           (p->shape_B < c->shape_B || (p->shape_B == c->shape_B && p->feature < c->feature))));
    }
  }
  assert_true(contacts > 100 * STEPS);
  scene_end(&runs[0]);
  scene_end(&runs[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_agree_bitwise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
