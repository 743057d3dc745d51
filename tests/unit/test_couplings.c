// SPDX-License-Identifier: BSD-3-Clause
// Linear couplings of any number of trees, from C and from MJCF; velocity servos; what a weld
// gives.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};
static const double g = 10.0;

enum { TREES = 4 };
static const double masses[TREES] = {1.0, 2.0, 0.5, 3.0};
static const double coefficients[TREES] = {1.0, -2.0, 0.5, 3.0};

// c . q = 0 with forces -m_i g:  a = -g + c_i/m_i l,  c . a = 0. The start fulfils it.
static void check_coupling(simulation* s) {
  double above = 0.0, below = 0.0;
  for (int i = 0; i < TREES; ++i) {
    above += g * coefficients[i];
    below += coefficients[i] * coefficients[i] / masses[i];
  }
  assert_int_equal(sap_model_get_sizes(s->model).trees, TREES);
  const int32_t steps = 100;
  const double dt = 0.01;
  simulation_step(s, steps);
  double sum = 0.0;
  for (int i = 0; i < TREES; ++i) {
    const double a = -g + coefficients[i] / masses[i] * above / below;
    ASSERT_NEAR(s->state.v[i], a * dt * steps, 1e-4);  // R = 1e-6 w
    sum += coefficients[i] * s->state.q[i];
  }
  ASSERT_NEAR(sum, 0.0, 1e-6);
  double force[6];
  assert_int_equal(sap_multibody_equality_force(s->multibody, &s->report, 0, force, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(force[0], above / below, 1e-3);
}

static void test_from_c(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  int32_t joints[TREES];
  for (int i = 0; i < TREES; ++i) {
    const int32_t body = simulation_body(builder, 0, masses[i], 1.0, origin);
    joints[i] = simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  }
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.njoints = TREES;
  tendon.joints = joints;
  tendon.coefficients = coefficients;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
  sap_equality_def equality = sap_equality_def_default();
  equality.type = SAP_EQUALITY_TENDON;
  equality.polynomial[1] = 0.0;
  assert_int_equal(sap_builder_add_equality(builder, &equality, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  check_coupling(&s);
  simulation_end(&s);
}

#define SLIDER(name, mass)                                                                    \
  "<body><joint name='" name "' type='slide' axis='0 0 1'/><inertial pos='0 0 0' mass='" mass \
  "' diaginertia='1 1 1'/></body>"

static void test_from_mjcf(void** unused) {
  (void)unused;
  static const char text[] =
      "<mujoco><option gravity='0 0 -10'/><worldbody>" SLIDER("a", "1") SLIDER("b", "2")
          SLIDER("c", ".5") SLIDER("d", "3") "</worldbody><tendon><fixed name='t'>"
      "<joint joint='a' coef='1'/><joint joint='b' coef='-2'/><joint joint='c' coef='.5'/>"
      "<joint joint='d' coef='3'/></fixed></tendon>"
      "<equality><tendon tendon1='t' polycoef='0 0 0 0 0'/></equality></mujoco>";
  scratch files;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&files);
  (void)scratch_write(&files, "scene.xml", text, sizeof text - 1, path);
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, 0.01, &error)) {
    fail_msg("%s", error.message);
  }
  scratch_end(&files);
  check_coupling(&s);
  simulation_end(&s);
}

// force = kd (target - v), at its bound where the load is larger: under m g it runs m g/kd slow.
static void test_velocity_servo(void** unused) {
  (void)unused;
  const double kd = 50.0, mass = 2.0, target = 0.7;
  for (int limited = 0; limited < 2; ++limited) {
    const double bound = limited ? 15.0 : (double)INFINITY;  // of 20 N of weight
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    const int32_t body = simulation_body(builder, 0, mass, 1.0, origin);
    sap_actuator_def servo = sap_actuator_def_default();
    servo.target = simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
    servo.gain = kd;
    servo.bias[2] = -kd;
    servo.force_lower = -bound;
    servo.force_upper = bound;
    assert_int_equal(sap_builder_add_actuator(builder, &servo, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    assert_int_equal(sap_multibody_set_control(s.multibody, &target, NULL), SAP_STATUS_OK);
    simulation_step(&s, 500);
    double force;
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, &force, NULL),
                     SAP_STATUS_OK);
    if (limited) {
      assert_true(force == bound);
      ASSERT_NEAR(s.state.v[0], -5.0 * (g - bound / mass), 1e-9);
    } else {
      ASSERT_NEAR(s.state.v[0], target - mass * g / kd, 1e-9);
      ASSERT_NEAR(force, mass * g, 1e-9);
    }
    simulation_end(&s);
  }
}

// A beam welded to the world at its end: force m g, moment m g L about the weld. The same through
// a chain of two welds: the inner one carries both.
static void test_weld_reaction(void** unused) {
  (void)unused;
  const double length = 0.5, mass[2] = {2.0, 3.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  int32_t last = 0;
  for (int i = 0; i < 2; ++i) {
    const double p[3] = {length + 2.0 * length * i, 0.0, 0.0};
    const int32_t body = simulation_body(builder, 0, mass[i], 0.2, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_equality_def weld = sap_equality_def_default();
    weld.type = SAP_EQUALITY_WELD;
    weld.a = last;
    weld.b = body;
    weld.anchor_A[0] = i == 0 ? 0.0 : length;
    weld.anchor_B[0] = -length;
    assert_int_equal(sap_builder_add_equality(builder, &weld, NULL, NULL), SAP_STATUS_OK);
    last = body;
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  simulation_step(&s, 300);
  const double outer = mass[1] * g * length;
  const double expected[2][2] = {
      {(mass[0] + mass[1]) * g, mass[0] * g * length + mass[1] * g * 3.0 * length},
      {mass[1] * g, outer}};
  for (int32_t i = 0; i < 2; ++i) {
    double force[6];
    assert_int_equal(sap_multibody_equality_force(s.multibody, &s.report, i, force, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(force[2], expected[i][0], 1e-4);
    ASSERT_NEAR(force[4], -expected[i][1], 1e-4);  // about y, holding up what is at +x
    for (int k = 0; k < 6; ++k) {
      ASSERT_NEAR(k == 2 || k == 4 ? 0.0 : force[k], 0.0, 1e-4);
    }
  }
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_from_c),
      cmocka_unit_test(test_from_mjcf),
      cmocka_unit_test(test_velocity_servo),
      cmocka_unit_test(test_weld_reaction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
