// SPDX-License-Identifier: BSD-3-Clause
// Where the solver begins: a scene at rest costs no factorization, and steady motion few, since
// what the steps before let expect is the answer. A change costs iterations again.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double dt = 0.01, radius = 0.05, slope = 0.2, g = 9.81;

typedef struct cost {
  int32_t iterations_max, factorizations, islands;
} cost;

// Cost of the next n steps.
static cost step(simulation* s, int32_t n) {
  cost sum = {0, 0, 0};
  for (int32_t i = 0; i < n; ++i) {
    simulation_step(s, 1);
    const sap_report* report = s->report.solver;
    assert_non_null(report);
    assert_int_equal(report->outcome, SAP_OUTCOME_CONVERGED);
    sum.iterations_max =
        report->iterations > sum.iterations_max ? report->iterations : sum.iterations_max;
    sum.factorizations += report->factorizations;
    sum.islands = report->islands;
  }
  return sum;
}

static void add_free_body(sap_builder* builder, sap_shape_type type, double mass,
                          const double p[3]) {
  const double size[3] = {radius, radius, radius};
  const sap_material material = {.stiffness = 1e6, .relaxation_time = dt, .friction = 0.8};
  const int32_t body = simulation_body(builder, 0, mass, 0.4 * mass * radius * radius, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, type, size, material);
}

static sap_builder* ground(double angle) {
  sap_builder* builder = simulation_builder(g * sin(angle), 0.0, -g * cos(angle));
  const double size[3] = {1.0, 1.0, 1.0};
  const sap_material rigid = {
      .stiffness = (double)INFINITY, .relaxation_time = dt, .friction = 0.8};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, size, rigid);
  return builder;
}

// With the options that users get.
static simulation begin(sap_builder* builder) {
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  simulation_use(&s, &options);
  return s;
}

// A stack of three boxes and a ball beside it.
static void test_rest(void** state) {
  (void)state;
  sap_builder* builder = ground(0.0);
  for (int i = 0; i < 3; ++i) {
    add_free_body(builder, SAP_SHAPE_BOX, 1.0,
                  (const double[3]){0.0, 0.0, radius * (1 + 2 * i) - 1e-6 * (i + 1)});
  }
  add_free_body(builder, SAP_SHAPE_SPHERE, 1.0, (const double[3]){0.5, 0.0, radius - 1e-6});
  simulation s = begin(builder);
  assert_true(step(&s, 100).factorizations > 0);
  const cost rest = step(&s, 200);
  assert_int_equal(rest.islands, 2);
  assert_int_equal(rest.iterations_max, 0);
  assert_int_equal(rest.factorizations, 0);
  s.state.v[0] = 0.1;  // somebody knocks
  assert_true(step(&s, 1).factorizations > 0);
  simulation_end(&s);
}

// A box that friction holds on a slope creeps; it does so without a factorization.
static void test_creep(void** state) {
  (void)state;
  sap_builder* builder = ground(slope);
  add_free_body(builder, SAP_SHAPE_BOX, 1.0, (const double[3]){0.0, 0.0, radius - 1e-6});
  simulation s = begin(builder);
  (void)step(&s, 100);
  assert_int_equal(step(&s, 200).factorizations, 0);
  assert_true(s.state.v[0] > 1e-6);
  simulation_end(&s);
}

// A ball rolls down a slope, faster by the same every step: the velocity before is no guess, the
// line through the last two is.
static void test_rolling(void** state) {
  (void)state;
  sap_builder* builder = ground(slope);
  add_free_body(builder, SAP_SHAPE_SPHERE, 1.0, (const double[3]){0.0, 0.0, radius - 1e-6});
  simulation s = begin(builder);
  (void)step(&s, 100);
  const double before = s.state.v[0];
  const cost rolling = step(&s, 100);
  // I = 2/5 m r^2; the arm is the height of the centre over the contact, which lies on the ground
  const double arm = s.state.q[2] / radius;
  ASSERT_NEAR((s.state.v[0] - before) / (100.0 * dt), g * sin(slope) / (1.0 + 0.4 / (arm * arm)),
              1e-6);
  // Errors within the tolerance add up in the position until an iteration takes them out: every
  // third step, measured. Without memory it takes one a step.
  assert_in_range(rolling.factorizations, 0, 50);
  for (int i = 0; i < 10; ++i) {
    sap_stepper_forget(s.stepper);
    assert_int_equal(step(&s, 1).factorizations, 1);
  }
  simulation_end(&s);
}

// Wrong predictions cost time, but do not change the solution.
static void test_surprise(void** state) {
  (void)state;
  sap_builder* builders[2] = {ground(slope), ground(slope)};
  simulation s[2];
  for (int k = 0; k < 2; ++k) {
    add_free_body(builders[k], SAP_SHAPE_SPHERE, 1.0, (const double[3]){0.0, 0.0, radius - 1e-6});
    s[k] = begin(builders[k]);
  }
  (void)step(&s[0], 100);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 6; ++i) {
      s[k].state.v[i] = i == 0 ? -3.0 : 0.5 * i;
    }
    for (int i = 0; i < 7; ++i) {
      s[k].state.q[i] = s[0].state.q[i];
    }
  }
  (void)step(&s[0], 1);
  (void)step(&s[1], 1);
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(s[0].state.v[i], s[1].state.v[i], 1e-5);
  }
  simulation_end(&s[0]);
  simulation_end(&s[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rest),
      cmocka_unit_test(test_creep),
      cmocka_unit_test(test_rolling),
      cmocka_unit_test(test_surprise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
