// SPDX-License-Identifier: BSD-3-Clause
// MJCF: what <flag> switches off, pairs listed twice, mocap bodies.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

static sap_model* read_flags(const char* flags) {
  char text[2048];
  (void)snprintf(
      text, sizeof text,
      "<mujoco><compiler angle='radian' autolimits='true'/><option><flag %s/></option><worldbody>"
      "<geom name='floor' type='plane' size='1 1 1'/><body name='b'><joint name='j' range='-1 1' "
      "frictionloss='0.5'/><geom name='g' type='sphere' size='0.1' mass='2' pos='1 0 0'/></body>"
      "<body name='c' pos='0 0 1'><joint name='k' frictionloss='0.25'/><geom name='h' "
      "type='sphere' size='0.1' pos='1 0 0'/></body></worldbody><contact><pair geom1='g' "
      "geom2='h'/></contact><tendon><fixed name='t' range='-1 1' frictionloss='3'><joint "
      "joint='j' coef='1'/></fixed></tendon><equality><joint joint1='j' joint2='k'/></equality>"
      "</mujoco>",
      flags);
  return scene_text_model("a.xml", text, NULL);
}

typedef struct expected {
  const char* flags;
  bool contact, equality, limit, friction;
} expected;

static void test_flags(void** state) {
  (void)state;
  static const expected cases[] = {
      {"contact='enable'", true, true, true, true},
      {"contact='disable'", false, true, true, true},
      {"equality='disable'", true, false, true, true},
      {"limit='disable'", true, true, false, true},
      {"frictionloss='disable'", true, true, true, false},
      {"constraint='disable'", false, false, false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_model* m = read_flags(cases[i].flags);
    const expected* e = &cases[i];
    for (int k = 0; k < 3; ++k) {
      assert_int_equal(m->shapes[k].contact_type, e->contact ? 1 : 0);
      assert_int_equal(m->shapes[k].contact_affinity, e->contact ? 1 : 0);
    }
    assert_int_equal(m->sizes.pairs, e->contact ? 1 : 0);
    assert_true(m->equalities[0].active == e->equality);
    assert_true((isinf(m->joints[0].upper) != 0) == !e->limit);
    assert_true((isinf(m->tendons[0].lower) != 0) == !e->limit);
    ASSERT_NEAR(m->joints[0].friction_loss, e->friction ? 0.5 : 0.0, 0.0);
    ASSERT_NEAR(m->tendons[0].friction_loss, e->friction ? 3.0 : 0.0, 0.0);
    ASSERT_NEAR(m->bodies[1].mass, 2.0, 0.0);  // shapes that do not collide have mass
    sap_model_destroy(m);
  }
}

// The first of two pairs of the same geoms counts.
static void test_repeated_pair(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><geom name='a' type='sphere' size='1'/><body><freejoint/><geom name='b' "
      "type='sphere' size='1' mass='1'/></body></worldbody><contact><pair geom1='a' geom2='b' "
      "friction='0.3'/><pair geom1='b' geom2='a' friction='0.7'/></contact></mujoco>",
      NULL);
  assert_int_equal(m->sizes.pairs, 1);
  ASSERT_NEAR(m->pairs[0].material.friction, 0.3, 0.0);
  sap_model_destroy(m);
}

// Where nobody moves it, a mocap body is a static one.
static void test_mocap(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><body name='m' mocap='true' pos='0 0 2'><geom type='sphere' size='1'/>"
      "</body><body><freejoint/><geom type='sphere' size='1' mass='1'/></body></worldbody>"
      "</mujoco>",
      NULL);
  assert_int_equal(m->sizes.nv, 6);
  assert_int_equal(m->bodies[1].tree, -1);
  sap_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flags),
      cmocka_unit_test(test_repeated_pair),
      cmocka_unit_test(test_mocap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
