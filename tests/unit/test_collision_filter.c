// SPDX-License-Identifier: BSD-3-Clause
// Detection on a model: which pairs of shapes collide.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/collision_scene.h"

// Bodies: 1 free, 2 on a hinge of 1, 3 on a hinge of 2, 4 welded to 2, 5 free, 6 welded to the
// world, 7 on a hinge of 6. All spheres lie in one place: contacts are what the filter passes.
static void filters(void** state) {
  (void)state;
  static const int32_t parents[7] = {0, 1, 2, -3, 0, -1, 6};
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_SPHERE, 1, 0, 0);
  for (int b = 1; b <= 7; ++b) {
    assert_int_equal(scene_add_body(&s, parents[b - 1]), b);
    scene_add_shape(&s, b, SAP_SHAPE_SPHERE, 1, 0, 0);
  }
  sap_error error;
  assert_int_equal(sap_builder_exclude(s.builder, 5, 1, &error), SAP_STATUS_OK);
  scene_compile(&s);
  scene_detect(&s);
  // Row a, column b > a.
  static const int expected[8][8] = {
      {0, 1, 1, 1, 1, 1, 0, 1},  // the world: not with 6
      {0, 0, 0, 1, 0, 0, 1, 1},  // 1: not its child 2, nor 4 that is welded to it; 5 is excluded
      {0, 0, 0, 0, 0, 1, 1, 1},  // 2: not its child 3, not 4
      {0, 0, 0, 0, 0, 1, 1, 1},  // 3: its parent's weld group holds 4
      {0, 0, 0, 0, 0, 1, 1, 1},  // 4
      {0, 0, 0, 0, 0, 0, 1, 1},  // 5
      {0, 0, 0, 0, 0, 0, 0, 1},  // 6 is static: its child collides with it
      {0, 0, 0, 0, 0, 0, 0, 0},
  };
  int found[8][8] = {{0}};
  for (int32_t i = 0; i < s.count; ++i) {
    found[s.contacts[i].shape_A][s.contacts[i].shape_B] = 1;
    assert_true(s.contacts[i].shape_A < s.contacts[i].shape_B);
  }
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      if (found[a][b] != expected[a][b]) {
        fail_msg("bodies %d and %d: %d, expected %d", a, b, found[a][b], expected[a][b]);
      }
    }
  }
  scene_end(&s);
}

static void masks(void** state) {
  (void)state;
  static const struct {
    int32_t type_a, affinity_a, type_b, affinity_b, count;
  } rows[] = {{1, 1, 1, 1, 1}, {1, 0, 0, 1, 1}, {0, 1, 1, 0, 1}, {1, 0, 1, 0, 0},
              {0, 1, 0, 1, 0}, {2, 4, 4, 8, 1}, {2, 4, 8, 16, 0}};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    collision_scene s;
    scene_begin(&s);
    sap_shape_def def = sap_shape_def_default();
    def.type = SAP_SHAPE_SPHERE;
    def.size[0] = 1.0;
    def.body = scene_add_body(&s, 0);
    def.contact_type = rows[r].type_a;
    def.contact_affinity = rows[r].affinity_a;
    scene_add_shape_def(&s, &def);
    def.body = scene_add_body(&s, 0);
    def.contact_type = rows[r].type_b;
    def.contact_affinity = rows[r].affinity_b;
    scene_add_shape_def(&s, &def);
    scene_compile(&s);
    scene_place(&s, def.body, 0.5, 0.0, 0.0);
    scene_detect(&s);
    assert_int_equal(s.count, rows[r].count);
    scene_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filters),
      cmocka_unit_test(masks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
