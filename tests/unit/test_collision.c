// SPDX-License-Identifier: BSD-3-Clause
// Detection on a model: manifolds of faces, contact points and materials, filters, identities.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
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

// The point lies where two springs in series meet.
static void point_lies_between_by_compliance(void** state) {
  (void)state;
  static const struct {
    double k_plane, k_sphere, height;  // of the point over the plane for a depth of 1 mm
  } rows[] = {
      {1e6, 1e6, -0.5e-3},           {HUGE_VAL, 1e6, 0.0}, {1e6, HUGE_VAL, -1e-3},
      {HUGE_VAL, HUGE_VAL, -0.5e-3}, {3e6, 1e6, -0.25e-3}, {1e300, 1e300, -0.5e-3},
  };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    collision_scene s;
    scene_begin(&s);
    sap_shape_def def = sap_shape_def_default();
    def.type = SAP_SHAPE_PLANE;
    def.material.stiffness = rows[r].k_plane;
    def.size[0] = def.size[1] = def.size[2] = 1.0;
    scene_add_shape_def(&s, &def);
    def.type = SAP_SHAPE_SPHERE;
    def.body = scene_add_body(&s, 0);
    def.material.stiffness = rows[r].k_sphere;
    scene_add_shape_def(&s, &def);
    scene_compile(&s);
    scene_place(&s, def.body, 0.0, 0.0, 0.999);
    scene_detect(&s);
    assert_int_equal(s.count, 1);
    ASSERT_NEAR(s.contacts[0].point[2], rows[r].height, exact);
    scene_end(&s);
  }
}

static void priority_rules_friction_and_condim(void** state) {
  (void)state;
  for (int row = 0; row < 3; ++row) {
    collision_scene s;
    scene_begin(&s);
    sap_shape_def def = sap_shape_def_default();
    def.type = SAP_SHAPE_SPHERE;
    def.size[0] = 1.0;
    def.body = scene_add_body(&s, 0);
    def.material.friction = 0.25;
    def.friction_torsional = 0.01;
    def.friction_rolling = 0.003;
    def.condim = 1;
    def.priority = row;
    scene_add_shape_def(&s, &def);
    def.body = scene_add_body(&s, 0);
    def.material.friction = 0.75;
    def.friction_torsional = 0.03;
    def.friction_rolling = 0.001;
    def.condim = 6;
    def.priority = 1;
    scene_add_shape_def(&s, &def);
    scene_compile(&s);
    scene_place(&s, def.body, 1.9, 0.0, 0.0);
    scene_detect(&s);
    assert_int_equal(s.count, 1);
    const double rule = sap_model_get_options(s.model)->friction_rule == SAP_FRICTION_MAXIMUM
                            ? 0.75
                            : 2.0 * 0.25 * 0.75 / (0.25 + 0.75);
    const double friction[3] = {0.75, rule, 0.25};
    const int32_t condim[3] = {6, 6, 1};
    // priority of the second, harmonic mean, priority of the first, which is frictionless
    const double torsional[3] = {0.03, 0.015, 0.0}, rolling[3] = {0.001, 0.0015, 0.0};
    ASSERT_NEAR(s.contacts[0].material.friction, friction[row], exact);
    assert_int_equal(s.contacts[0].condim, condim[row]);
    ASSERT_NEAR(s.contacts[0].friction[1], row == 2 ? 0.0 : friction[row], exact);
    ASSERT_NEAR(s.contacts[0].friction[2], torsional[row], exact);
    ASSERT_NEAR(s.contacts[0].friction[3], rolling[row], exact);
    ASSERT_NEAR(s.contacts[0].friction[4], rolling[row], exact);
    ASSERT_NEAR(s.contacts[0].R_WC[6], 1.0, exact);
    scene_end(&s);
  }
}

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

// A box slides, turns and rocks on a plane: each corner keeps its number as long as it touches, and
// takes none that another has; where it lifts and returns, it may have a new one.
static void identities_follow_the_corners(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  const int32_t box = scene_add_body(&s, 0);
  scene_add_shape(&s, box, SAP_SHAPE_BOX, 0.3, 0.2, 0.1);
  scene_compile(&s);
  int32_t last[4] = {-1, -1, -1, -1};
  for (int step = 0; step < 200; ++step) {
    scene_place(&s, box, 0.03 * step, -0.01 * step, 0.098);
    scene_turn(&s, box, 0.012 * sin(0.1 * step), 0.0, 0.2 * sin(0.07 * step));
    scene_detect(&s);
    int32_t now[4] = {-1, -1, -1, -1};
    for (int32_t i = 0; i < s.count; ++i) {
      double d[3], local[3];
      sap_v3_sub(d, s.contacts[i].point, s.p_WB + 3 * box);
      sap_m3_tmul_v3(local, s.R_WB + 9 * box, d);
      const int corner = (local[0] > 0.0 ? 1 : 0) + (local[1] > 0.0 ? 2 : 0);
      assert_int_equal(now[corner], -1);
      now[corner] = s.contacts[i].feature;
      assert_true(i == 0 || s.contacts[i].feature > s.contacts[i - 1].feature);
    }
    for (int k = 0; k < 4; ++k) {
      if (now[k] >= 0 && last[k] >= 0) {
        assert_int_equal(now[k], last[k]);
      }
      last[k] = now[k];
    }
  }
  scene_end(&s);
}

// The same poses give the same contacts but for feature numbers, whatever came before.
static void detection_has_no_memory_but_identity(void** state) {
  (void)state;
  collision_scene s, fresh;
  collision_scene* both[2] = {&s, &fresh};
  for (int k = 0; k < 2; ++k) {
    scene_begin(both[k]);
    scene_add_shape(both[k], 0, SAP_SHAPE_PLANE, 1, 1, 1);
    for (int b = 0; b < 60; ++b) {
      static const sap_shape_type types[4] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                              SAP_SHAPE_CYLINDER};
      scene_add_shape(both[k], scene_add_body(both[k], 0), types[b % 4], 0.3, 0.3, 0.3);
    }
    scene_compile(both[k]);
  }
  for (int step = 30; step >= 0; --step) {
    for (int b = 1; b <= 60; ++b) {
      for (int k = step == 0 ? 1 : 0; k >= 0; --k) {
        scene_place(both[k], b, sin(1.3 * b + 0.1 * step), cos(2.1 * b), 0.02 * b);
        scene_turn(both[k], b, 0.1 * b, 0.05 * step, 0.3);
      }
    }
    scene_detect(&s);
  }
  scene_detect(&fresh);
  assert_true(s.count > 50);
  assert_int_equal(s.count, fresh.count);
  for (int32_t i = 0; i < s.count; ++i) {
    bool found = false;
    for (int32_t j = 0; j < fresh.count; ++j) {
      sap_contact c = s.contacts[i];
      c.feature = fresh.contacts[j].feature;
      found = found || memcmp(&c, &fresh.contacts[j], sizeof c) == 0;
    }
    assert_true(found);
  }
  scene_end(&s);
  scene_end(&fresh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(box_on_plane_has_four_corners),
      cmocka_unit_test(offset_boxes_touch_at_the_overlap),
      cmocka_unit_test(flat_manifolds),
      cmocka_unit_test(point_lies_between_by_compliance),
      cmocka_unit_test(priority_rules_friction_and_condim),
      cmocka_unit_test(filters),
      cmocka_unit_test(masks),
      cmocka_unit_test(identities_follow_the_corners),
      cmocka_unit_test(detection_has_no_memory_but_identity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
