// SPDX-License-Identifier: BSD-3-Clause
// Rigid contact at the level of velocities: restitution, Coulomb friction, Baumgarte's correction
// and limits against closed forms, with every solver that steps that way by default.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double DT = 0.01, GRAVITY = 10.0, RADIUS = 0.1, MU = 0.5;

typedef struct setting {
  const char* solver;
  sap_law law;
  double restitution, baumgarte;
} setting;

// 2 kg that do not turn on three slides above the plane z = 0; the joints are x, y, z.
static simulation begin(const setting* with, double height, double gx, bool limited) {
  static const double none[3] = {0.0, 0.0, 0.0};
  const double p[3] = {0.0, 0.0, RADIUS + height}, size[3] = {RADIUS, 0.0, 0.0};
  const sap_material material = {.stiffness = 1e6, .relaxation_time = 0.01, .friction = MU};
  sap_builder* builder = simulation_builder(gx, 0.0, -GRAVITY);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, material);
  const int32_t body = simulation_body(builder, 0, 2.0, 1.0, p);
  sap_joint_def slide = sap_joint_def_default();
  slide.type = SAP_JOINT_SLIDE;
  slide.body = body;
  slide.axis[0] = 1.0;
  slide.axis[2] = 0.0;
  if (limited) {
    slide.lower = -1.0;
    slide.upper = 0.1;
  }
  assert_int_equal(sap_builder_add_joint(builder, &slide, NULL, NULL), SAP_STATUS_OK);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 1.0, 0.0);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, DT);
  sap_stepper_options options = sap_stepper_options_default();
  sap_error error = {0};
  options.dt = DT;
  options.solver = with->solver;
  options.contact_law = with->law;
  options.restitution = with->restitution;
  options.baumgarte = with->baumgarte;
  options.solver_options.relative_tolerance = 1e-12;
  sap_stepper_destroy(s.stepper);
  if (sap_stepper_create(sap_multibody_system(s.multibody), &options, &s.stepper, &error) !=
      SAP_STATUS_OK) {
    fail_msg("%s: %s", with->solver, error.message);
  }
  return s;
}

// Calls check for every solver that Moreau-Jean's law is the default of.
static void for_each(void (*check)(const char* name)) {
  int count = 0;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    if (info->rigid) {
      check(info->name);
      ++count;
    }
  }
  assert_true(count >= 12);
}

// A ball comes down at 1 m/s and leaves at e m/s; one at rest stays.
static void check_bounce(const char* name) {
  const setting with = {name, SAP_LAW_AUTO, 0.6, 0.2};
  simulation s = begin(&with, 0.0, 0.0, false);
  s.state.v[2] = -1.0;
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[2], 0.6, 1e-10);
  ASSERT_NEAR(s.state.q[2], 0.6 * DT, 1e-10);
  simulation_end(&s);
  s = begin(&with, 0.0, 0.0, false);
  simulation_step(&s, 20);
  ASSERT_NEAR(s.state.v[2], 0.0, 1e-10);
  ASSERT_NEAR(s.state.q[2], 0.0, 1e-10);
  simulation_end(&s);
}

// From a gap g, a ball at 1 m/s turns within the step and then has the rest of it: it ends at
// e (dt - g) above the plane.
static void check_turn(const char* name) {
  const setting with = {name, SAP_LAW_AUTO, 0.6, 0.2};
  const double gap = 0.004;
  simulation s = begin(&with, gap, 0.0, false);
  s.state.v[2] = -1.0;
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[2], 0.6, 1e-10);
  ASSERT_NEAR(s.state.q[2], 0.6 * (DT - gap) - gap, 1e-10);
  simulation_end(&s);
}

static void test_bounce(void** state) {
  (void)state;
  for_each(check_bounce);
  for_each(check_turn);
}

// v_k = v0 - mu g dt k until rest, the normal velocity zero, from a start at 3 m/s that throws
// plain SAP up. A pyramid with facets along the tangents is exact for slip along one of them.
static void check_deceleration(const char* name) {
  const setting with = {name, SAP_LAW_AUTO, 0.0, 0.2};
  simulation s = begin(&with, 0.0, 0.0, false);
  s.state.v[0] = 3.0;
  for (int k = 1; k <= 70; ++k) {
    simulation_step(&s, 1);
    const double v = 3.0 - MU * GRAVITY * DT * k;
    // raisim-ds-es ends early
    const double tolerance = strcmp(name, "raisim-ds-es") == 0 ? 1e-6 : 1e-9;
    ASSERT_NEAR(s.state.v[0], v > 0.0 ? v : 0.0, tolerance);
    ASSERT_NEAR(s.state.v[2], 0.0, tolerance);
    ASSERT_NEAR(s.state.q[2], 0.0, tolerance);
  }
  simulation_end(&s);
}

static void test_deceleration(void** state) {
  (void)state;
  for_each(check_deceleration);
}

// Below the plane by 1 mm: (1 - b)^k of it is left after k steps. Above it by less than a step's
// way: the gap closes exactly, no more.
static void test_gaps(void** state) {
  (void)state;
  const setting with = {"nbgs", SAP_LAW_AUTO, 0.0, 0.25};
  simulation s = begin(&with, -1e-3, 0.0, false);
  for (int k = 1; k <= 10; ++k) {
    simulation_step(&s, 1);
    ASSERT_NEAR(s.state.q[2], 1e-3 * (1.0 - pow(0.75, k)), 1e-12);
  }
  simulation_end(&s);
  // rigid contact of a solver whose default is compliant; force it, in the CCP's model at rest too
  const setting forced = {"admm-ccp", SAP_LAW_RIGID, 0.0, 0.25};
  s = begin(&forced, -1e-3, 0.0, false);
  simulation_step(&s, 3);
  ASSERT_NEAR(s.state.q[2], 1e-3 * (1.0 - pow(0.75, 3)), 1e-12);
  simulation_end(&s);
}

// Pushed against a joint limit at 0.1 m: stops there, exactly.
static void check_limit(const char* name) {
  const setting with = {name, SAP_LAW_AUTO, 0.5, 0.2};
  simulation s = begin(&with, 1.0, 20.0, true);
  simulation_step(&s, 40);
  ASSERT_NEAR(s.state.q[0], 0.1, 1e-9);
  ASSERT_NEAR(s.state.v[0], 0.0, 1e-9);
  simulation_end(&s);
}

static void test_limit(void** state) {
  (void)state;
  for_each(check_limit);
}

static void test_refused(void** state) {
  (void)state;
  simulation s = begin(&(setting){"sap", SAP_LAW_AUTO, 0.0, 0.2}, 0.0, 0.0, false);
  sap_stepper_options options = sap_stepper_options_default();
  sap_stepper* stepper;
  sap_error error = {0};
  options.contact_law = SAP_LAW_RIGID;
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(s.multibody), &options, &stepper, &error),
      SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "'sap' needs R > 0"));
  const double bad[3] = {-0.1, 1.5, (double)NAN};
  for (int i = 0; i < 3; ++i) {
    options = sap_stepper_options_default();
    const sap_status expected = isnan(bad[i]) ? SAP_STATUS_NOT_FINITE : SAP_STATUS_ARGUMENT;
    options.restitution = bad[i];
    assert_int_equal(sap_stepper_options_check(&options, &error), expected);
    assert_non_null(strstr(error.message, "restitution"));
    options.restitution = 0.0;
    options.baumgarte = bad[i];
    assert_int_equal(sap_stepper_options_check(&options, &error), expected);
    assert_non_null(strstr(error.message, "baumgarte"));
  }
  options = sap_stepper_options_default();
  options.contact_law = (sap_law)7;
  assert_int_equal(sap_stepper_options_check(&options, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "contact_law = 7"));
  simulation_end(&s);

  sap_problem* problem;
  const int32_t size = 1;
  const double v0 = -1.0, nan = (double)NAN;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, DT, 1, &size, NULL), SAP_STATUS_OK);
  sap_contact_scheme scheme = sap_contact_scheme_default();
  scheme.rigid = true;
  scheme.v0 = &v0;
  scheme.restitution = 2.0;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_ARGUMENT);
  scheme.restitution = 0.0;
  scheme.baumgarte = nan;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_ARGUMENT);
  scheme.baumgarte = 0.0;
  scheme.v0 = &nan;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_NOT_FINITE);
  scheme.v0 = NULL;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_set_law(NULL, &scheme, NULL), SAP_STATUS_ARGUMENT);
  sap_problem_destroy(problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounce),  cmocka_unit_test(test_deceleration),
      cmocka_unit_test(test_gaps),    cmocka_unit_test(test_limit),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
