// SPDX-License-Identifier: BSD-3-Clause
// Detection on a model: manifolds of faces.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/collision_scene.h"
#include "support/near.h"

// Poses are given to some 1e-16; a few operations later 1e-14 holds.
static const double exact = 1e-14;

static bool has_point(const collision_scene* s, double x, double y) {
  for (int32_t i = 0; i < s->count; ++i) {
    if (hypot(s->contacts[i].point[0] - x, s->contacts[i].point[1] - y) < 1e-9) {
      return true;
    }
  }
  return false;
}

static void box_on_plane_has_four_corners(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  const int32_t box = scene_add_body(&s, 0);
  scene_add_shape(&s, box, SAP_SHAPE_BOX, 0.3, 0.2, 0.1);
  scene_compile(&s);
  scene_place(&s, box, 1.0, 2.0, 0.099);
  scene_detect(&s);
  assert_int_equal(s.count, 4);
  for (int32_t i = 0; i < 4; ++i) {
    const sap_contact* c = &s.contacts[i];
    ASSERT_NEAR(c->phi, -1e-3, exact);
    ASSERT_NEAR(c->R_WC[8], 1.0, 0.0);
    ASSERT_NEAR(c->point[2], -0.5e-3, exact);  // equal stiffness: midway
    assert_int_equal(c->feature, i);
    assert_int_equal(c->body_A, 0);
    assert_int_equal(c->body_B, box);
  }
  for (int k = 0; k < 4; ++k) {
    assert_true(has_point(&s, 1.0 + (k & 1 ? 0.3 : -0.3), 2.0 + (k & 2 ? 0.2 : -0.2)));
  }
  scene_end(&s);
}

static void offset_boxes_touch_at_the_overlap(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  const int32_t a = scene_add_body(&s, 0), b = scene_add_body(&s, 0);
  scene_add_shape(&s, a, SAP_SHAPE_BOX, 0.5, 0.5, 0.5);
  scene_add_shape(&s, b, SAP_SHAPE_BOX, 0.5, 0.5, 0.5);
  scene_compile(&s);
  scene_place(&s, b, 0.3, 0.4, 0.999);
  scene_detect(&s);
  assert_int_equal(s.count, 4);
  assert_true(has_point(&s, -0.2, -0.1) && has_point(&s, 0.5, -0.1));
  assert_true(has_point(&s, -0.2, 0.5) && has_point(&s, 0.5, 0.5));
  for (int32_t i = 0; i < 4; ++i) {
    ASSERT_NEAR(s.contacts[i].phi, -1e-3, exact);
    ASSERT_NEAR(s.contacts[i].R_WC[8], 1.0, exact);
    ASSERT_NEAR(s.contacts[i].point[2], 0.4995, exact);
  }
  scene_end(&s);
}

// Counts of points for shapes that lie flat on a wide box and on a plane; each depth is 1 mm.
static void flat_manifolds(void** state) {
  (void)state;
  static const struct {
    sap_shape_type type;
    double size[3], turn[3], height;
    int32_t points;
  } rows[] = {
      {SAP_SHAPE_SPHERE, {0.2, 0, 0}, {0, 0, 0}, 0.2, 1},
      {SAP_SHAPE_CAPSULE, {0.1, 0.4, 0}, {0, 1.5707963267948966, 0}, 0.1, 2},
      {SAP_SHAPE_CAPSULE, {0.1, 0.4, 0}, {0, 0, 0}, 0.5, 1},
      {SAP_SHAPE_CYLINDER, {0.2, 0.1, 0}, {0, 0, 0}, 0.1, 4},
      {SAP_SHAPE_CYLINDER, {0.2, 0.1, 0}, {1.5707963267948966, 0, 0}, 0.2, 2},
      {SAP_SHAPE_BOX, {0.3, 0.2, 0.1}, {0, 0, 0.4}, 0.1, 4},
      {SAP_SHAPE_ELLIPSOID, {0.3, 0.2, 0.1}, {0, 0, 0.4}, 0.1, 1},
  };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    for (int on_box = 0; on_box < 2; ++on_box) {
      collision_scene s;
      scene_begin(&s);
      const int32_t ground =
          scene_add_shape(&s, 0, on_box ? SAP_SHAPE_BOX : SAP_SHAPE_PLANE, 5, 5, 1);
      const int32_t body = scene_add_body(&s, 0);
      scene_add_shape(&s, body, rows[r].type, rows[r].size[0], rows[r].size[1], rows[r].size[2]);
      scene_compile(&s);
      assert_int_equal(ground, 0);
      const double top = on_box ? 1.0 : 0.0;
      scene_place(&s, body, 0.1, 0.2, top + rows[r].height - 1e-3);
      scene_turn(&s, body, rows[r].turn[0], rows[r].turn[1], rows[r].turn[2]);
      scene_detect(&s);
      // An upright capsule's lower cap touches; on a plane its upper end does not.
      assert_int_equal(s.count, rows[r].points);
      for (int32_t i = 0; i < s.count; ++i) {
        ASSERT_NEAR(s.contacts[i].phi, -1e-3, 1e-12);
        ASSERT_NEAR(s.contacts[i].R_WC[8], 1.0, 1e-12);
        ASSERT_NEAR(s.contacts[i].point[2], top - 0.5e-3, 1e-12);
      }
      scene_end(&s);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(box_on_plane_has_four_corners),
      cmocka_unit_test(offset_boxes_touch_at_the_overlap),
      cmocka_unit_test(flat_manifolds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
