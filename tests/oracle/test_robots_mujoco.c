// SPDX-License-Identifier: BSD-3-Clause
// Robots as MuJoCo 4.0.0 (Python) compiles them: sizes and sums that a wrong mass, frame, gain or
// range would change. All numbers were printed by a script around it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "math/quaternion.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/skip.h"

typedef struct robot {
  const char* file;
  int32_t sizes[6];  // bodies nq nv actuators tendons equalities
  // mass of the moving bodies; sum of the mass matrix's diagonal in the default pose; sums over
  // actuators of gain gear, of bias[1] + bias[2], of control ranges, of force ranges; of the
  // anchors of connects; of tendon lengths; of tendon ranges; of joint effort ranges
  double sums[10];
} robot;

static const robot robots[] = {
    {"menagerie/agility_cassie/scene.xml",
     {26, 35, 32, 10, 0, 4},
     {33.312, 113.925796688, 264, 0, 137.2, 0, 2.0464203738, 0, 0, 0}},
    {"menagerie/kuka_iiwa_14/scene.xml",
     {9, 7, 7, 7, 0, 0},
     {25.61, 6.185783801, 14000, -15400, 36.47742, 0, 0, 0, 0, 0}},
    {"menagerie/robotiq_2f85/scene.xml",
     {16, 15, 14, 1, 2, 3},
     {0.152164483679, 0.0913318061903, 0.3137255, -110, 255, 10, 0.1073898, 0.0409267638594, 0.02,
      0}},
    {"menagerie/shadow_hand/scene_left.xml",
     {27, 31, 30, 20, 4, 0},
     {0.894530964915, 0.32671230738, 33.4, -33.4, 32.323151, 72, 0, 0, 0, 0}},
    {"menagerie/shadow_hand/scene_right.xml",
     {27, 31, 30, 20, 4, 0},
     {0.894530964915, 0.32671230738, 33.4, -33.4, 32.323151, 72, 0, 0, 0, 0}},
    {"menagerie/wonik_allegro/scene_left.xml",
     {23, 23, 22, 16, 0, 0},
     {0.395499811002, 0.303608667477, 16, -16, 25.537, 0, 0, 0, 0, 0}},
    {"menagerie/wonik_allegro/scene_right.xml",
     {23, 23, 22, 16, 0, 0},
     {0.393670062093, 0.303608615214, 16, -16, 25.537, 0, 0, 0, 0, 0}},
    {"mujoco/car/car.xml",
     {4, 9, 8, 2, 2, 0},
     {0.54303450247, 1.63433036888, 2, 0, 4, 0, 0, 0, 0, 2}},
    {"mujoco/cube/cube_3x3x3.xml",
     {28, 86, 66, 6, 0, 0},
     {0.06596304, 0.00669763818905, 6, 0, 0.6, 0, 0, 0, 0, 0}},
    {"mujoco/humanoid/humanoid100.xml",
     {117, 728, 627, 21, 2, 0},
     {542.023929857, 1689.89352839, 920, 0, 42, 0, 0, 0, 4.6, 0}},
    {"mujoco/replicate/newton_cradle.xml",
     {8, 49, 42, 0, 14, 0},
     {1.87657801174, 5.63063479268, 0, 0, 0, 0, 0, 2.0395279201, 2.044, 0}},
    {"mujoco/stacked_boxes.xml", {19, 126, 108, 0, 0, 0}, {18, 54.09, 0, 0, 0, 0, 0, 0, 0, 0}},
};

static double width(double lower, double upper) {
  return isfinite(lower) && isfinite(upper) ? upper - lower : 0.0;
}

static void add_actuators(const sap_model* m, double sums[10]) {
  for (int32_t i = 0; i < m->sizes.actuators; ++i) {
    const sap_model_actuator* a = &m->actuators[i];
    sums[2] += a->gain * a->gear;
    sums[3] += a->bias[1] + a->bias[2];
    sums[4] += width(a->control_lower, a->control_upper);
    sums[5] += width(a->force_lower, a->force_upper);
  }
}

static void add_all(const sap_model* m, double sums[10]) {
  for (int32_t b = 0; b < m->sizes.bodies; ++b) {
    sums[0] += m->bodies[b].tree >= 0 ? m->bodies[b].mass : 0.0;
  }
  for (int32_t i = 0; i < m->sizes.nv; ++i) {
    sums[1] += m->dof_inertia[i];
  }
  add_actuators(m, sums);
  for (int32_t e = 0; e < m->sizes.equalities; ++e) {
    for (int k = 0; k < 3 && m->equalities[e].type == SAP_EQUALITY_CONNECT; ++k) {
      sums[6] += m->equalities[e].anchor_A[k] + m->equalities[e].anchor_B[k];
    }
  }
  for (int32_t t = 0; t < m->sizes.tendons; ++t) {
    sums[7] += m->tendons[t].length0;
    sums[8] += width(m->tendons[t].lower, m->tendons[t].upper);
  }
  for (int32_t j = 0; j < m->sizes.joints; ++j) {
    sums[9] += width(m->joints[j].effort_lower, m->joints[j].effort_upper);
  }
}

static sap_model* read_scene(const char* path) {
  sap_scene_options options = sap_scene_options_default();
  options.lenient = true;
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_scene_read(path, &options, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return model;
}

static void check_robot(const robot* expected, const char* path) {
  sap_model* m = read_scene(path);
  const int32_t sizes[6] = {m->sizes.bodies, m->sizes.nq,      m->sizes.nv,
                            m->sizes.nu,     m->sizes.tendons, m->sizes.equalities};
  double sums[10] = {0.0};
  add_all(m, sums);
  for (int i = 0; i < 6; ++i) {
    if (sizes[i] != expected->sizes[i]) {
      fail_msg("%s: size %d is %d, MuJoCo has %d", path, i, (int)sizes[i], (int)expected->sizes[i]);
    }
  }
  for (int i = 0; i < 10; ++i) {
    // 12 digits are printed; MuJoCo's principal inertias and single-precision meshes lose more.
    if (!(fabs(sums[i] - expected->sums[i]) <= 1e-6 * fmax(1e-3, fabs(expected->sums[i])))) {
      fail_msg("%s: sum %d is %.12g, MuJoCo has %.12g", path, i, sums[i], expected->sums[i]);
    }
  }
  sap_model_destroy(m);
}

static void test_robots(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof robots / sizeof *robots; ++i) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/models/%s", SAPSTEP_SHARED, robots[i].file);
    SKIP_WITHOUT(path);
    check_robot(&robots[i], path);
  }
}

static void expect_all(const double* values, const double* expected, int count, double tolerance) {
  for (int i = 0; i < count; ++i) {
    ASSERT_NEAR(values[i], expected[i], tolerance);
  }
}

// Meshes with scale, mirror and reference pose; damping ratios; inherited ranges.
static void test_servos(void** state) {
  (void)state;
  sap_model* m = read_scene(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/servos.xml");
  static const double center[3] = {0.2044886867575251, 0.2034637298031853, 0.0642033291393308};
  static const double inertia[6] = {0.5106361677650741,   0.5902011284459038,
                                    0.21019584779427963,  -0.00202120471480232,
                                    -0.05935757176896805, 0.05536916695904039};
  // Single precision of MuJoCo's mesh vertices.
  ASSERT_NEAR(m->bodies[1].mass, 17.0, 1e-5);
  expect_all(m->bodies[1].p_BCo, center, 3, 1e-6);
  expect_all(m->bodies[1].I_BCo_B, inertia, 6, 1e-6);
  static const double dof[2] = {2.6606865941559383, 2.0};
  expect_all(m->dof_inertia, dof, 2, 1e-6);
  const double bias[4][3] = {{0.0, -50.0, -5.341619690304137},
                             {0.0, -20.0, -3.590057646891186},
                             {0.0, 0.0, -7.0},
                             {1.0, -2.0, -4.0}};
  static const double gains[4] = {50.0, 20.0, 7.0, 3.0};
  for (int i = 0; i < 4; ++i) {
    ASSERT_NEAR(m->actuators[i].gain, gains[i], 0.0);
    expect_all(m->actuators[i].bias, bias[i], 3, 1e-5);
  }
  ASSERT_NEAR(m->actuators[0].control_lower, -0.25, 1e-15);
  ASSERT_NEAR(m->actuators[0].control_upper, 1.25, 1e-15);
  ASSERT_NEAR(m->actuators[1].control_lower, -2.0, 1e-15);
  ASSERT_NEAR(m->actuators[1].control_upper, 1.0, 1e-15);
  ASSERT_NEAR(m->tendons[1].length0, 0.450257978835061, 1e-15);
  ASSERT_NEAR(m->tendons[1].spring_lower, 0.1, 0.0);
  ASSERT_NEAR(m->tendons[1].spring_upper, 0.2, 0.0);
  sap_model_destroy(m);
}

static void test_equalities(void** state) {
  (void)state;
  sap_model* m = read_scene(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/servos.xml");
  static const struct {
    int32_t a, b;
    double anchor_A[3], anchor_B[3], q_AB[4];
  } expected[] = {
      {1,
       2,
       {0.7089316020928834, 0.2, 0.43737646397},
       {0.1, 0.2, 0.3},
       {0.98006657784124163, 0.0, 0.19866933079506122, 0.0}},
      {2, 0, {1.0, 2.0, 3.0}, {0.3, 0.2, 0.1}, {0.5, 0.5, 0.5, 0.5}},
      {2,
       0,
       {0.1, 0.0, 0.0},
       {0.8863823294186504, 0.3695658913775145, 0.1627099508439352},
       {1.0, 0.0, 0.0, 0.0}},
  };
  assert_int_equal(m->sizes.equalities, 5);
  for (int i = 0; i < 3; ++i) {
    const sap_equality_def* e = &m->equalities[i];
    assert_int_equal(e->a, expected[i].a);
    assert_int_equal(e->b, expected[i].b);
    expect_all(e->anchor_A, expected[i].anchor_A, 3, 1e-12);
    expect_all(e->anchor_B, expected[i].anchor_B, 3, 1e-12);
    expect_all(e->q_AB, expected[i].q_AB, 4, 1e-12);
  }
  ASSERT_NEAR(m->equalities[0].torque_scale, 0.3, 0.0);
  // Between sites: their points, and a rotation that brings their frames together.
  static const double site_a[3] = {0.1, 0.2, 0.3}, site_b[3] = {0.0, 0.1, 0.1};
  for (int i = 3; i < 5; ++i) {
    expect_all(m->equalities[i].anchor_A, site_a, 3, 1e-15);
    expect_all(m->equalities[i].anchor_B, site_b, 3, 1e-15);
  }
  // The second site's z axis, in body 2 from its first end to the second turned round, is in
  // body 1 along the first site's.
  const double z_b[3] = {0.0, -sqrt(0.5), -sqrt(0.5)}, ez[3] = {0.0, 0.0, 1.0};
  const double q_site[4] = {0.5, 0.5, 0.5, 0.5};
  double turned[3], wanted[3];
  sap_quaternion_rotate(turned, m->equalities[4].q_AB, z_b);
  sap_quaternion_rotate(wanted, q_site, ez);
  expect_all(turned, wanted, 3, 1e-15);
  sap_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_robots),
      cmocka_unit_test(test_servos),
      cmocka_unit_test(test_equalities),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
