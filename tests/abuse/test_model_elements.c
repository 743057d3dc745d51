// SPDX-License-Identifier: BSD-3-Clause
// Wrong tendons through points, equalities, springs, bushings and pairs are refused by name, field
// and value, and leave the builder as it was.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/model/builder.h"
#include "support/mixed_model.h"
#include "support/refused.h"

static sap_builder* builder;  // the mixed model: bodies 1 to 8, joints 0 to 7; two shapes
static const double nan_value = (double)NAN;

static int setup(void** state) {
  (void)state;
  builder = mixed_builder();
  for (int32_t b = 1; b < 3; ++b) {
    sap_shape_def shape = sap_shape_def_default();
    shape.body = b;
    shape.size[0] = 1.0;
    if (sap_builder_add_shape(builder, &shape, NULL, NULL) != SAP_STATUS_OK) {
      return -1;
    }
  }
  return 0;
}

static int teardown(void** state) {
  (void)state;
  sap_builder_destroy(builder);
  return 0;
}

static const int32_t point_bodies[] = {0, 3, 5};
static double points[9];

static sap_tendon_def good_tendon(void) {
  sap_tendon_def def = sap_tendon_def_default();
  def.name = "new";
  def.npoints = 3;
  def.point_bodies = point_bodies;
  def.points = points;
  return def;
}

static sap_equality_def good_equality(void) {
  sap_equality_def def = sap_equality_def_default();
  def.name = "new";
  def.a = 3;
  return def;
}

static sap_spring_def good_spring(void) {
  sap_spring_def def = sap_spring_def_default();
  def.name = "new";
  def.body_b = 2;
  return def;
}

static sap_bushing_def good_bushing(void) {
  sap_bushing_def def = sap_bushing_def_default();
  def.name = "new";
  def.body_b = 2;
  return def;
}

static sap_pair_def good_pair(void) {
  sap_pair_def def = sap_pair_def_default();
  def.shape_a = 1;
  return def;
}

// Refuses the good definition of `kind` after `change` (of def).
#define REJECT(kind, change, expected, text) REJECT_DEF(builder, kind, change, expected, " " text)

#define ACCEPT(kind, change)                                                            \
  do {                                                                                  \
    sap_##kind##_def def = good_##kind();                                               \
    change;                                                                             \
    assert_int_equal(sap_builder_add_##kind(builder, &def, NULL, NULL), SAP_STATUS_OK); \
  } while (0)

static void tendons(void** state) {
  (void)state;
  REJECT(tendon, def.npoints = 1, ARGUMENT, "'new': npoints = 1 must be >= 2");
  REJECT(tendon, def.npoints = -1, ARGUMENT, "'new': npoints = -1 must be >= 2");
  REJECT(tendon, def.points = NULL, ARGUMENT, "'new': npoints = 3 must be >= 2, with point_bodies");
  REJECT(tendon, def.njoints = 2, ARGUMENT, "'new': njoints = 2 must be 0");
  points[4] = nan_value;
  REJECT(tendon, (void)0, NOT_FINITE, "'new': points[4] = ");
  points[4] = 0.0;
  const int32_t bodies[] = {0, 9, 1};
  REJECT(tendon, def.point_bodies = bodies, ARGUMENT, "'new': point_bodies = 9 must be in [0, 8]");
  REJECT(tendon, def.stiffness = -1.0, ARGUMENT, "'new': stiffness = -1 must be >= 0");
  REJECT(tendon, def.damping = nan_value, NOT_FINITE, "'new': damping = ");
  REJECT(tendon, def.friction_loss = -2.0, ARGUMENT, "'new': friction_loss = -2 must be >= 0");
  REJECT(tendon, def.spring_lower = 1.0, NOT_FINITE, "'new': spring_lower = 1, spring_upper = ");
  REJECT(tendon, (def.spring_lower = 1.0, def.spring_upper = 0.5), ARGUMENT,
         "'new': spring_lower = 1 must be <= spring_upper = 0.5");
  ACCEPT(tendon, def.spring_lower = def.spring_upper = 1.0);
}

// Every field of an obstacle between two points, and of a pulley.
static void wraps(void** state) {
  (void)state;
  sap_tendon_wrap way[4] = {{.side_body = -1}, {.side_body = -1}, {.side_body = -1}};
  static const int32_t four[4] = {0, 3, 5, 1};
  double more[12] = {0.0};
  sap_tendon_wrap* w = &way[1];
#define WRONG(change, status, text) \
  REJECT(tendon, (*w = good, change, def.wraps = way), status, "'new': " text)
  sap_tendon_wrap good = {SAP_TENDON_SPHERE, .radius = 0.1, .side_body = -1};
  WRONG(w->radius = 0.0, ARGUMENT, "radius = 0 must be > 0");
  WRONG(w->side_body = -2, ARGUMENT, "side_body = -2 must be in [-1, 8]");
  WRONG(w->side_body = 9, ARGUMENT, "side_body = 9 must be in [-1, 8]");
  WRONG((w->side_body = 0, w->side_point[2] = nan_value), NOT_FINITE, "side_point[2] = ");
  WRONG((w->side_body = 8, w->side_point[0] = nan_value), NOT_FINITE, "side_point[0] = ");
  WRONG(w->way = (sap_tendon_way)4, ARGUMENT, "way = 4 must be point (0), sphere (1)");
  ACCEPT(tendon, (*w = good, w->side_body = 0, def.name = "sphere", def.wraps = way));
  good.way = SAP_TENDON_CYLINDER;
  WRONG((void)0, ARGUMENT, "axis");
  WRONG(w->axis[1] = nan_value, NOT_FINITE, "axis[1] = ");
  good.axis[2] = 2.0;
  WRONG(w->radius = -1.0, ARGUMENT, "radius = -1 must be > 0");
  ACCEPT(tendon, (*w = good, def.name = "cylinder", def.wraps = way));
  good = (sap_tendon_wrap){SAP_TENDON_PULLEY, .side_body = -1};
  WRONG((void)0, ARGUMENT, "divisor = 0 must be > 0");
  WRONG(w->divisor = 2.0, ARGUMENT, "the part of its path that ends at element 1 has 1 points");
  way[0] = good;  // first
  way[0].divisor = 2.0;
  way[3].side_body = -1;
  *w = (sap_tendon_wrap){SAP_TENDON_POINT, .side_body = -1};
  ACCEPT(tendon, (def.name = "pulley", def.wraps = way, def.npoints = 4, def.point_bodies = four,
                  def.points = more));
#undef WRONG
}

static void equalities(void** state) {
  (void)state;
  REJECT(equality, def.type = (sap_equality_type)5, ARGUMENT, "'new': type = 5 must be connect");
  REJECT(equality, def.a = 9, ARGUMENT, "'new': a = 9 must be in [0, 8]");
  REJECT(equality, def.b = -2, ARGUMENT, "'new': b = -2 must be in [0, 8]");
  REJECT(equality, def.b = 3, ARGUMENT, "'new': a = b = 3 must be two different ones");
  REJECT(equality, def.a = 0, ARGUMENT, "'new': a = b = 0 must be two different ones");
  REJECT(equality, (def.type = SAP_EQUALITY_JOINT, def.a = 8), ARGUMENT,
         "'new': a = 8 must be in [0, 7]");
  REJECT(equality, (def.type = SAP_EQUALITY_JOINT, def.a = 5), ARGUMENT,
         "'new': a = 5 must be a hinge or slide joint");
  REJECT(equality, (def.type = SAP_EQUALITY_JOINT, def.a = 0, def.b = 5), ARGUMENT,
         "'new': b = 5 must be a hinge or slide joint");
  REJECT(equality, (def.type = SAP_EQUALITY_TENDON, def.a = 77), ARGUMENT, "'new': a = 77");
  REJECT(equality, def.anchor_A[1] = nan_value, NOT_FINITE, "'new': anchor_A[1] = ");
  REJECT(equality, def.anchor_B[2] = nan_value, NOT_FINITE, "'new': anchor_B[2] = ");
  REJECT(equality, def.q_AB[0] = 0.0, ARGUMENT, "'new': q_AB = 0 must not be zero");
  REJECT(equality, def.polynomial[4] = nan_value, NOT_FINITE, "'new': polynomial[4] = ");
  REJECT(equality, def.distance = 0.0, ARGUMENT, "'new': distance = 0 must be > 0");
  REJECT(equality, def.torque_scale = -1.0, ARGUMENT, "'new': torque_scale = -1 must be > 0");
  REJECT(equality, def.stiffness = 0.0, ARGUMENT, "'new': stiffness = 0 must be > 0");
  REJECT(equality, def.relaxation_time = -1.0, ARGUMENT, "'new': relaxation_time = -1 must be");
  ACCEPT(equality, def.type = SAP_EQUALITY_WELD);
  assert_int_equal(builder->equalities[builder->nequalities - 1].b, 0);
  sap_error error = {0};
  const sap_equality_def again = good_equality();
  const builder_counts before = builder_count_all(builder);
  builder_expect_refused(builder, before, sap_builder_add_equality(builder, &again, NULL, &error),
                         &error, SAP_STATUS_ARGUMENT, "equality: name 'new' is already that of 0");
}

static void springs_and_bushings(void** state) {
  (void)state;
  REJECT(spring, def.body_b = 9, ARGUMENT, "'new': body_b = 9 must be in [0, 8]");
  REJECT(spring, def.body_a = 2, ARGUMENT, "'new': body_a = body_b = 2 must be two different");
  REJECT(spring, def.point_A[0] = nan_value, NOT_FINITE, "'new': point_A[0] = ");
  REJECT(spring, def.point_B[0] = nan_value, NOT_FINITE, "'new': point_B[0] = ");
  REJECT(spring, def.stiffness = -1.0, ARGUMENT, "'new': stiffness = -1 must be >= 0");
  REJECT(spring, def.damping = -1.0, ARGUMENT, "'new': damping = -1 must be >= 0");
  REJECT(spring, def.rest_length = -1.0, ARGUMENT, "'new': rest_length = -1 must be >= 0");
  ACCEPT(spring, def.stiffness = 1.0);
  REJECT(bushing, def.body_a = -1, ARGUMENT, "'new': body_a = -1 must be in [0, 8]");
  REJECT(bushing, def.p_AF[0] = nan_value, NOT_FINITE, "'new': p_AF[0] = ");
  REJECT(bushing, def.q_AF[0] = 0.0, ARGUMENT, "'new': q_AF = 0 must not be zero");
  REJECT(bushing, def.p_BG[0] = nan_value, NOT_FINITE, "'new': p_BG[0] = ");
  REJECT(bushing, def.q_BG[0] = 0.0, ARGUMENT, "'new': q_BG = 0 must not be zero");
  REJECT(bushing, def.stiffness[5] = -1.0, ARGUMENT, "'new': stiffness[5] = -1 must be >= 0");
  REJECT(bushing, def.damping[3] = nan_value, NOT_FINITE, "'new': damping[3] = ");
  ACCEPT(bushing, def.q_AF[0] = 2.0);
  assert_true(builder->bushings[0].q_AF[0] == 1.0);
}

static void pairs(void** state) {
  (void)state;
  REJECT(pair, def.shape_a = 2, ARGUMENT, "0: shape_a = 2 must be in [0, 1]");
  REJECT(pair, def.shape_a = 0, ARGUMENT, "0: shape_a = 0, shape_b = 0 must be of two different");
  REJECT(pair, def.condim = 2, ARGUMENT, "0: condim = 2 must be 1, 3, 4 or 6");
  REJECT(pair, def.margin = -1.0, ARGUMENT, "0: margin = -1 must be >= 0");
  REJECT(pair, def.rest_distance = nan_value, NOT_FINITE, "0: rest_distance = ");
  REJECT(pair, def.friction_torsional = nan_value, NOT_FINITE, "0: friction_torsional = ");
  REJECT(pair, def.friction_rolling = -1.0, ARGUMENT, "0: friction_rolling = -1 must be >= 0");
  REJECT(pair, def.material.friction = -1.0, ARGUMENT, "0: material.friction = -1 must be >= 0");
  ACCEPT(pair, def.condim = 6);
  assert_int_equal(builder->pairs[0].shape_a, 0);
  REJECT(pair, (def.shape_a = 0, def.shape_b = 1), ARGUMENT,
         "1: shape_a = 0, shape_b = 1 are already in");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tendons, setup, teardown),
      cmocka_unit_test_setup_teardown(wraps, setup, teardown),
      cmocka_unit_test_setup_teardown(equalities, setup, teardown),
      cmocka_unit_test_setup_teardown(springs_and_bushings, setup, teardown),
      cmocka_unit_test_setup_teardown(pairs, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
