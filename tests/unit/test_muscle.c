// SPDX-License-Identifier: BSD-3-Clause
// Slopes of a muscle's curves, which make its force implicit, against differences of its force; the
// curves meet where their pieces do.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

// L0 = 0.5 m and L = 0.75 + (length - 0.2)/L0, so that L runs from 0.35 to 1.95 over the lengths.
static sap_model_actuator make(void) {
  sap_model_actuator a = {.length_lower = 0.2, .length_upper = 0.35};
  a.muscle = sap_muscle_default();
  a.muscle.force = 300.0;
  a.muscle.range[0] = 0.75;
  a.muscle.range[1] = 1.05;
  return a;
}

static const double first = 0.0, last = 0.8;  // [m]
enum { POINTS = 97 };

static double at(int i, double lower, double upper) {
  return lower + (upper - lower) * (i + 0.31) / POINTS;
}

static void test_slopes(void** state) {
  (void)state;
  const sap_model_actuator a = make();
  // where pieces meet, differences miss by h/2 times the jump of the second derivative, some 6e4
  const double h = 1e-6, tolerance = 0.03;
  for (int i = 0; i < POINTS; ++i) {
    const double length = at(i, first, last);
    const sap_muscle_force passive = sap_muscle_passive(&a, length);
    ASSERT_NEAR(
        passive.length_slope,
        (sap_muscle_passive(&a, length + h).value - sap_muscle_passive(&a, length - h).value) /
            (2.0 * h),
        tolerance);
    assert_true(passive.value <= 0.0 && passive.rate_slope == 0.0);
    for (int j = 0; j < POINTS; ++j) {
      const double rate = at(j, -1.0, 1.0);
      const sap_muscle_force active = sap_muscle_active(&a, length, rate);
      const double by_length = (sap_muscle_active(&a, length + h, rate).value -
                                sap_muscle_active(&a, length - h, rate).value) /
                               (2.0 * h);
      const double by_rate = (sap_muscle_active(&a, length, rate + h).value -
                              sap_muscle_active(&a, length, rate - h).value) /
                             (2.0 * h);
      ASSERT_NEAR(active.length_slope, by_length, tolerance);
      ASSERT_NEAR(active.rate_slope, by_rate, tolerance);
      assert_true(active.value <= 0.0);
    }
  }
}

// MuJoCo's documentation: FL 0 at lmin and lmax, 1 at L = 1; FV 0, 1 and fvmax at V = -1, 0 and
// fvmax - 1; FP fpmax/2 at the middle of 1 and lmax, from where on it is straight.
static void test_values(void** state) {
  (void)state;
  const sap_model_actuator a = make();
  const sap_muscle* m = &a.muscle;
  const double L0 = 0.5, force = m->force, rate = L0 * m->vmax, middle = 0.5 * (1.0 + m->lmax);
  const double one = 0.2 + (1.0 - 0.75) * L0, end = 0.2 + (m->lmax - 0.75) * L0;
  ASSERT_NEAR(sap_muscle_active(&a, one, 0.0).value, -force, 1e-12 * force);
  ASSERT_NEAR(sap_muscle_active(&a, end, 0.0).value, 0.0, 1e-12 * force);
  ASSERT_NEAR(sap_muscle_active(&a, 0.2 + (m->lmin - 0.75) * L0, 0.0).value, 0.0, 1e-12 * force);
  ASSERT_NEAR(sap_muscle_active(&a, one, -rate).value, 0.0, 1e-12 * force);
  ASSERT_NEAR(sap_muscle_active(&a, one, (m->fvmax - 1.0) * rate).value, -m->fvmax * force,
              1e-12 * force);
  ASSERT_NEAR(sap_muscle_passive(&a, one).value, 0.0, 1e-12 * force);
  ASSERT_NEAR(sap_muscle_passive(&a, 0.2 + (middle - 0.75) * L0).value, -0.5 * m->fpmax * force,
              1e-12 * force);
  ASSERT_NEAR(sap_muscle_passive(&a, end).value, -1.5 * m->fpmax * force, 1e-12 * force);
}

// Ranges of lengths that a muscle takes from its joints, in closed form.
#define ARM(joint, rest)                                                                         \
  "<mujoco><compiler angle='radian' autolimits='true'/><worldbody><site name='o' pos='0 0 -1'/>" \
  "<body name='b'>" joint                                                                        \
  "<geom type='sphere' size='.05' mass='1'/><site name='p' pos='0 0 1'/><body name='c'>"         \
  "<joint name='k' axis='0 1 0'/><geom type='sphere' size='.05' mass='1'/>"                      \
  "<site name='s' pos='0.5 0 0'/></body></body></worldbody>" rest "</mujoco>"
#define HINGE "<joint name='j' axis='0 1 0' range='-1 0.5'/>"

static void test_ranges(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double lower, upper;
  } cases[] = {
      // along x of the world, of a site at a distance of 1 above a hinge: sin of its angle, times 3
      {ARM(HINGE, "<actuator><muscle site='p' refsite='o' gear='3 0 0 0 0 0'/></actuator>"),
       -3.0 * 0.8414709848078965, 3.0 * 0.479425538604203},
      // a hinge without a range turns all around: 0.5 sin less 1, along z
      {ARM("", "<actuator><muscle site='s' refsite='o' gear='0 0 1 0 0 0'/></actuator>"), 0.5, 1.5},
      // k = 0.1 + 2 j leads nothing and follows j
      {ARM(HINGE,
           "<equality><joint joint1='k' joint2='j' polycoef='0.1 2 0 0 0'/></equality>"
           "<tendon><fixed name='t'><joint joint='k' coef='1'/></fixed></tendon>"
           "<actuator><muscle tendon='t'/></actuator>"),
       -1.9, 1.1},
      // a string from below a ball joint to above it, which turns by at most 0.5: 2 cos(angle/2)
      {ARM("<joint name='j' type='ball' range='0 0.5'/>",
           "<tendon><spatial name='t'><site site='o'/><site site='p'/></spatial></tendon>"
           "<actuator><muscle tendon='t' force='9'/></actuator>"),
       2.0 * 0.9689124217106447, 2.0},
      // a crank of 0.5 that turns all around, 1 above the slider, with a rod of 3
      {ARM("", "<actuator><muscle cranksite='s' slidersite='o' cranklength='3'/></actuator>"), -2.5,
       -1.5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_model* model = scene_text_model("a.xml", cases[i].text, NULL);
    const sap_model_actuator* a = &model->actuators[0];
    ASSERT_NEAR(a->length_lower, cases[i].lower, 1e-7);
    ASSERT_NEAR(a->length_upper, cases[i].upper, 1e-7);
    sap_model_destroy(model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_slopes),
                                     cmocka_unit_test(test_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
