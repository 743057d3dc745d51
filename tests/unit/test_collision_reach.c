// SPDX-License-Identifier: BSD-3-Clause
// Contacts that are found before shapes touch: margins, contact pairs, gliding.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/collision_scene.h"
#include "support/near.h"

static int32_t add_sphere(collision_scene* s, int32_t body, double margin, int32_t masks) {
  sap_shape_def def = sap_shape_def_default();
  def.type = SAP_SHAPE_SPHERE;
  def.body = body;
  def.size[0] = 0.1;
  def.margin = margin;
  def.contact_type = def.contact_affinity = masks;
  def.material.stiffness = 1e5;
  return scene_add_shape_def(s, &def);
}

// The larger margin of the two counts, against planes and through the broadphase.
static void the_larger_margin_counts(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_PLANE, 0.0, 0.0, 0.0);
  for (int i = 0; i < 2; ++i) {
    (void)add_sphere(&s, scene_add_body(&s, 0), i == 0 ? 0.05 : 0.02, 1);
  }
  scene_compile(&s);
  // Heights of the gaps: ground to the first, the first to the second.
  static const double gaps[4][2] = {{0.049, 0.06}, {0.051, 0.06}, {0.06, 0.049}, {0.049, 0.049}};
  static const int32_t counts[4] = {1, 0, 1, 2};
  for (int k = 0; k < 4; ++k) {
    scene_place(&s, 1, 0.0, 0.0, 0.1 + gaps[k][0]);
    scene_place(&s, 2, 0.0, 0.0, 0.3 + gaps[k][0] + gaps[k][1]);
    scene_detect(&s);
    assert_int_equal(s.count, counts[k]);
    for (int32_t i = 0; i < s.count; ++i) {
      ASSERT_NEAR(s.contacts[i].phi, 0.049, 1e-14);
      ASSERT_NEAR(s.contacts[i].R_WC[8], 1.0, 1e-14);
    }
  }
  scene_end(&s);
}

static void add_pair(collision_scene* s, int32_t a, int32_t b, double margin) {
  sap_pair_def pair = sap_pair_def_default();
  pair.shape_a = b;  // in either order
  pair.shape_b = a;
  pair.material = (sap_material){.stiffness = 3e4, .relaxation_time = 0.07, .friction = 0.9};
  pair.condim = 1;
  pair.margin = margin;
  sap_error error;
  assert_int_equal(sap_builder_add_pair(s->builder, &pair, NULL, &error), SAP_STATUS_OK);
}

// Spheres in a row, 0.5 mm deep in each other: masks off, parent and child, excluded, as usual.
static void pairs_override(void** state) {
  (void)state;
  for (int with_pairs = 0; with_pairs < 2; ++with_pairs) {
    collision_scene s;
    scene_begin(&s);
    int32_t shapes[5], bodies[5];
    for (int i = 0; i < 5; ++i) {
      bodies[i] = scene_add_body(&s, i == 2 ? bodies[1] : 0);
      shapes[i] = add_sphere(&s, bodies[i], 0.0, i == 0 ? 0 : 1);
    }
    sap_error error;
    assert_int_equal(sap_builder_exclude(s.builder, bodies[2], bodies[3], &error), SAP_STATUS_OK);
    for (int i = 0; i < 3 && with_pairs; ++i) {
      add_pair(&s, shapes[i], shapes[i + 1], 0.0);
    }
    scene_compile(&s);
    for (int i = 0; i < 5; ++i) {
      scene_place(&s, bodies[i], 0.1995 * i, 0.0, 0.0);
    }
    scene_detect(&s);
    assert_int_equal(s.count, with_pairs ? 4 : 1);
    for (int32_t i = 0; i < s.count; ++i) {
      const sap_contact* c = &s.contacts[i];
      const bool own = c->shape_B < 4;
      ASSERT_NEAR(c->phi, -5e-4, 1e-14);
      assert_int_equal(c->condim, own ? 1 : 3);
      ASSERT_NEAR(c->material.stiffness, own ? 3e4 : 5e4, 1e-9);
      ASSERT_NEAR(c->material.relaxation_time, own ? 0.07 : 0.01, 1e-15);
      ASSERT_NEAR(c->material.friction, own ? 0.9 : 0.5, 1e-15);
    }
    scene_end(&s);
  }
}

// A pair's margin is its own, be it larger or smaller than those of the shapes.
static void pairs_have_their_margin(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  const int32_t a = add_sphere(&s, scene_add_body(&s, 0), 0.05, 1);
  const int32_t b = add_sphere(&s, scene_add_body(&s, 0), 0.05, 1);
  const int32_t c = add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  const int32_t d = add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  add_pair(&s, a, b, 0.01);
  add_pair(&s, c, d, 0.03);
  scene_compile(&s);
  for (int k = 0; k < 2; ++k) {
    const double gap = k == 0 ? 0.02 : 0.009;
    scene_place(&s, 2, 0.2 + gap, 0.0, 0.0);
    scene_place(&s, 3, 0.0, 5.0, 0.0);
    scene_place(&s, 4, 0.2 + gap, 5.0, 0.0);
    scene_detect(&s);
    assert_int_equal(s.count, k == 0 ? 1 : 2);
    assert_int_equal(s.contacts[s.count - 1].shape_B, d);
    ASSERT_NEAR(s.contacts[s.count - 1].phi, gap, 1e-14);
  }
  scene_end(&s);
}

static const double mu = 0.5, tau_d = 0.01, dt = 0.01;

static int32_t count_after_slip(collision_scene* s, double slip, double rise) {
  s->dt = 0.0;
  scene_place(s, 1, 0.0, 0.0, 0.1 - 1e-4);
  scene_detect(s);
  assert_int_equal(s->count, 1);
  s->dt = dt;
  scene_place(s, 1, slip, 0.0, 0.1 + rise);
  scene_detect(s);
  return s->count;
}

// A contact that slid by v_t dt is found up to (dt + tau_d) mu v_t, and only then.
static void gliding_contacts_stay(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_BOX, 1.0, 1.0, 1.0);
  (void)add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  scene_compile(&s);
  scene_place(&s, 0, 0.0, 0.0, -1.0);
  const double speed = 1.0, height = (dt + tau_d) * mu * speed;  // 10 mm
  assert_int_equal(count_after_slip(&s, dt * speed, 0.999 * height), 1);
  ASSERT_NEAR(s.contacts[0].phi, 0.999 * height, 1e-12);
  assert_int_equal(s.contacts[0].feature, 0);
  assert_int_equal(count_after_slip(&s, dt * speed, 1.001 * height), 0);
  assert_int_equal(count_after_slip(&s, 0.0, 1e-3), 0);   // rises without sliding
  assert_int_equal(count_after_slip(&s, 1e-7, 5e-8), 0);  // creeps: rests
  // A look in between that is not remembered changes nothing.
  s.dt = 0.0;
  scene_place(&s, 1, 0.0, 0.0, 0.1 - 1e-4);
  scene_detect(&s);
  scene_place(&s, 1, dt * speed, 0.0, 0.105);
  const sap_collision_query look = {.p_WB = s.p_WB, .R_WB = s.R_WB};
  sap_error error;
  assert_int_equal(sap_collision_detect(s.collision, &look, &s.contacts, &s.count, &error),
                   SAP_STATUS_OK);
  assert_int_equal(s.count, 0);
  s.dt = dt;
  scene_detect(&s);
  assert_int_equal(s.count, 1);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_larger_margin_counts),
      cmocka_unit_test(pairs_override),
      cmocka_unit_test(pairs_have_their_margin),
      cmocka_unit_test(gliding_contacts_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
