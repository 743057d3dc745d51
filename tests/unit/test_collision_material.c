// SPDX-License-Identifier: BSD-3-Clause
// Detection on a model: contact points between compliant shapes, friction and condim of a pair.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/collision_scene.h"
#include "support/near.h"

// Poses are given to some 1e-16; a few operations later 1e-14 holds.
static const double exact = 1e-14;

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(point_lies_between_by_compliance),
      cmocka_unit_test(priority_rules_friction_and_condim),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
