// SPDX-License-Identifier: BSD-3-Clause
// The same sequence of poses gives the same contacts bit by bit, feature numbers included: run to
// run, and whatever was looked at before.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/collision_scene.h"

enum { BODIES = 120, STEPS = 40 };

static void begin(collision_scene* run) {
  static const sap_shape_type types[5] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                          SAP_SHAPE_CYLINDER, SAP_SHAPE_ELLIPSOID};
  scene_begin(run);
  scene_add_shape(run, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  for (int b = 0; b < BODIES; ++b) {
    scene_add_shape(run, scene_add_body(run, 0), types[b % 5], 0.2, 0.15, 0.1);
  }
  scene_compile(run);
}

static void pose(collision_scene* run, int step) {
  for (int b = 1; b <= BODIES; ++b) {
    scene_place(run, b, sin(1.7 * b + 0.03 * step), cos(2.3 * b - 0.02 * step), 0.05 + 0.01 * b);
    scene_turn(run, b, 0.3 * b, 0.02 * step, 0.1 * b);
  }
}

static void expect_same(const collision_scene* a, const collision_scene* b) {
  scene_expect_same_contacts(a->contacts, a->count, b->contacts, b->count);
}

// Directions along which pairs were apart are remembered and change nothing: one looks at each pose
// from far away, the other comes from the pose before.
static void past_poses_do_not_matter(void** state) {
  (void)state;
  collision_scene fresh, used;
  begin(&used);
  for (int step = 0; step < STEPS; ++step) {
    begin(&fresh);
    pose(&fresh, step);
    pose(&used, step);
    const sap_contact *of_fresh, *of_used;
    int32_t count = 0, used_count = 0;
    const sap_collision_query look = {.p_WB = fresh.p_WB, .R_WB = fresh.R_WB};
    const sap_collision_query same = {.p_WB = used.p_WB, .R_WB = used.R_WB};
    assert_int_equal(sap_collision_detect(fresh.collision, &look, &of_fresh, &count, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_collision_detect(used.collision, &same, &of_used, &used_count, NULL),
                     SAP_STATUS_OK);
    scene_expect_same_contacts(of_fresh, count, of_used, used_count);
    scene_end(&fresh);
  }
  scene_end(&used);
}

static void runs_agree_bitwise(void** state) {
  (void)state;
  collision_scene runs[2];
  for (int k = 0; k < 2; ++k) {
    begin(&runs[k]);
  }
  int32_t contacts = 0;
  for (int step = 0; step < STEPS; ++step) {
    for (int k = 0; k < 2; ++k) {
      pose(&runs[k], step);
      scene_detect(&runs[k]);
    }
    expect_same(&runs[0], &runs[1]);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_agree_bitwise),
                                     cmocka_unit_test(past_poses_do_not_matter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
