// SPDX-License-Identifier: BSD-3-Clause
// Contacts that are found before shapes touch: margins, contact pairs, motion.
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

// Detects with the velocity v and the angular velocity w of body 1, 10 ms ahead.
static void detect_ahead(collision_scene* s, const double v[3], const double w[3], bool more) {
  double V[2][6] = {{0.0}};
  sap_v3_copy(V[1], w);
  sap_v3_copy(V[1] + 3, v);
  const sap_collision_query query = {
      .p_WB = s->p_WB, .R_WB = s->R_WB, .remember = !more, .V_WB = V[0], .dt = 0.01, .more = more};
  sap_error error;
  assert_int_equal(sap_collision_detect(s->collision, &query, &s->contacts, &s->count, &error),
                   SAP_STATUS_OK);
}

// A ball of 0.1 m above a box of 2 m: found if its motion closes the gap, by a second call in a step
// if and only if.
static void motion_is_looked_ahead(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_BOX, 1.0, 1.0, 1.0);
  (void)add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  scene_compile(&s);
  scene_place(&s, 0, 0.0, 0.0, -1.0);
  static const double spin[3] = {0.0, 300.0, 0.0}, none[3] = {0.0, 0.0, 0.0};
  static const struct {
    double x, gap, v[3];
    int32_t count;
  } cases[] = {
      {0.0, 0.05, {0.0, 0.0, -5.01}, 1},    {0.0, 0.05, {0.0, 0.0, -4.99}, 0},
      {0.0, 0.05, {900.0, 0.0, 5.01}, 0},   {0.0, 9.0, {0.0, 0.0, -2000.0}, 1},
      {1.05, 0.05, {0.0, 0.0, -5.6}, 0},  // past the edge, where the ball is rounder:
      {1.05, 0.05, {0.0, 0.0, -6.4}, 1},  // sqrt(0.1^2 - 0.05^2) = 0.1 - 13.4 mm
      {-3.0, 2.0, {300.0, 0.0, -250.0}, 1}, {-3.0, 2.0, {300.0, 0.0, -190.0}, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    scene_place(&s, 1, cases[i].x, 0.0, 0.1 + cases[i].gap);
    const double* w = i % 2 == 0 ? spin : none;
    detect_ahead(&s, cases[i].v, w, false);
    assert_true(s.count >= cases[i].count);
    detect_ahead(&s, none, none, false);
    assert_int_equal(s.count, 0);
    detect_ahead(&s, cases[i].v, w, true);
    assert_int_equal(s.count, cases[i].count);
    for (int32_t k = 0; k < s.count; ++k) {
      // the gap that J v closes: J v dt + phi is what is left at the end of the step
      const sap_contact* c = &s.contacts[k];
      ASSERT_NEAR(c->R_WC[8], cases[i].x > 1.0 ? c->R_WC[8] : 1.0, 1e-14);
      ASSERT_NEAR(c->phi, cases[i].x > 1.0 ? c->phi : cases[i].gap, 1e-12);
      assert_true(c->ahead_A[2] == 0.0 && c->ahead_B[2] < 0.0);
    }
  }
  scene_end(&s);
}

// Balls of 0.1 m that fall together, side by side and one over the other: impulses may close gaps of
// 0.3 and of one fall from rest in the step, 1 mm.
static void a_fall_closes(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  (void)add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  (void)add_sphere(&s, scene_add_body(&s, 0), 0.0, 1);
  scene_compile(&s);
  static const double places[4][2] = {{0.2002, 0.0}, {0.2004, 0.0}, {0.0, 0.2004}, {0.0, 0.2012}};
  static const double V[18] = {[11] = -0.1, [17] = -0.1};
  const sap_collision_query query = {.p_WB = s.p_WB, .R_WB = s.R_WB, .V_WB = V, .dt = 0.01};
  for (int i = 0; i < 4; ++i) {
    scene_place(&s, 2, places[i][0], 0.0, places[i][1]);
    assert_int_equal(sap_collision_detect(s.collision, &query, &s.contacts, &s.count, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(s.count, i % 2 == 0);
  }
  scene_end(&s);
}

// A rod of 0.4 m turns its tip into a box beside it, whose face a motion without rotation would not
// reach; the contact is at the tip when it touches.
static void rotation_is_looked_ahead(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_BOX, 0.5, 0.5, 0.5);
  scene_add_shape(&s, scene_add_body(&s, 0), SAP_SHAPE_CAPSULE, 0.01, 0.19, 0.0);
  scene_compile(&s);
  scene_place(&s, 0, 0.0, 0.0, -0.5);
  scene_place(&s, 1, 0.0, 0.0, 0.05);
  scene_turn(&s, 1, 0.0, 0.5 * 3.14159265358979, 0.0);  // along x
  static const double rest[3] = {0.0, 0.0, 0.0}, turning[3] = {0.0, 30.0, 0.0};
  detect_ahead(&s, rest, rest, false);
  assert_int_equal(s.count, 0);
  detect_ahead(&s, rest, turning, true);
  assert_true(s.count >= 1);
  const sap_contact* c = &s.contacts[0];
  // 0.05 - 0.19 sin(a) - 0.01 = 0
  const double angle = asin(0.04 / 0.19), x = 0.19 * cos(angle);
  ASSERT_NEAR(c->point[0], x, 5e-3);  // found a hundredth of the rod's length before the touch
  ASSERT_NEAR(c->point[2], 0.0, 2e-2);
  ASSERT_NEAR(c->R_WC[8], 1.0, 1e-12);
  ASSERT_NEAR(c->phi, angle * x, 1e-3);
  // Known by now; but the motion goes on into the box: 3/8 of the rod's thickness at
  // 0.05 - 0.19 sin(a) - 0.01 = -0.0075, found at 31/32 of that or deeper.
  detect_ahead(&s, rest, turning, true);
  assert_true(s.count >= 1);
  const double deep = asin(0.0475 / 0.19), deep_x = 0.19 * cos(deep);
  ASSERT_NEAR(s.contacts[0].point[0], deep_x, 2e-3);
  ASSERT_NEAR(s.contacts[0].phi, -0.0075 + deep * deep_x, 2e-3);
  const double slow[3] = {0.0, 20.0, 0.0};  // not as far
  detect_ahead(&s, rest, slow, true);
  assert_int_equal(s.count, 0);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_larger_margin_counts),
      cmocka_unit_test(pairs_override),
      cmocka_unit_test(pairs_have_their_margin),
      cmocka_unit_test(motion_is_looked_ahead),
      cmocka_unit_test(a_fall_closes),
      cmocka_unit_test(rotation_is_looked_ahead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
