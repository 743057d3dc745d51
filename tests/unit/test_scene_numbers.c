// SPDX-License-Identifier: BSD-3-Clause
// Attributes of scenes off their defaults, each against a number found by hand: sensors, effort
// ranges of tendons, margins of what adhesion holds, constants of equalities.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/sensor.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static simulation begin(const char* text, double dt) {
  simulation s = {.model = scene_text_model("scene.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  return s;
}

static const double* values_of(simulation* s, double* values, const char* name) {
  int32_t first = 0;
  assert_int_equal(sap_multibody_sensors(s->multibody, &s->report, &s->state, values, NULL),
                   SAP_STATUS_OK);
  assert_true(sap_model_sensor_values(s->model, sap_model_find(s->model, SAP_ELEMENT_SENSOR, name),
                                      &first) >= 1);
  return values + first;
}

// A ball lies on a box, which is the first body of their contact: its zone is above the lid.
static void test_touch_of_either_body(void** unused) {
  (void)unused;
  double x[32];
  simulation s = begin(
      "<mujoco><worldbody><geom type='plane' size='0 0 1'/><body name='box' pos='0 0 .1'>"
      "<freejoint/><geom type='box' size='.2 .2 .1' mass='5'/><site name='lid' type='box' "
      "size='.1 .1 .01' pos='0 0 .2'/><site name='bottom' type='box' size='.3 .3 .01' "
      "pos='0 0 -.2'/></body><body pos='0 0 .25'><freejoint/><geom size='.05' mass='.5'/>"
      "<site name='ball' type='box' size='.1 .1 .01' pos='0 0 -.1'/></body></worldbody><sensor>"
      "<touch name='lid' site='lid'/><touch name='bottom' site='bottom'/>"
      "<touch name='ball' site='ball'/></sensor></mujoco>",
      0.01);
  simulation_step(&s, 300);
  ASSERT_NEAR(values_of(&s, x, "lid")[0], 0.5 * 9.81, 1e-3);
  ASSERT_NEAR(values_of(&s, x, "ball")[0], 0.5 * 9.81, 1e-3);
  ASSERT_NEAR(values_of(&s, x, "bottom")[0], 5.5 * 9.81, 1e-3);
  simulation_end(&s);
}

// Cutoffs leave directions alone; the force on a tendon is that of its own actuators; potential
// energy is that of gravity and springs.
static void test_sensors(void** unused) {
  (void)unused;
  double x[32];
  simulation s = begin(
      "<mujoco><option gravity='0 0 -10'/><worldbody><body name='b' pos='0 0 2'>"
      "<joint name='j' type='slide' axis='1 0 0' stiffness='30'/><geom size='.1' mass='2'/>"
      "<site name='s'/></body></worldbody><tendon><fixed name='t'><joint joint='j' coef='1'/>"
      "</fixed><fixed name='u'><joint joint='j' coef='2'/></fixed></tendon><actuator>"
      "<motor tendon='t'/><motor joint='j'/><motor tendon='u'/></actuator><sensor>"
      "<framequat name='quat' objtype='body' objname='b' cutoff='.25'/>"
      "<framezaxis name='axis' objtype='body' objname='b' cutoff='.25'/>"
      "<framepos name='pos' objtype='body' objname='b' cutoff='.25'/>"
      "<tendonactuatorfrc name='pull' tendon='t'/><e_potential name='energy'/></sensor></mujoco>",
      0.01);
  const double control[3] = {3.0, 5.0, 7.0};
  assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  s.state.q[0] = 0.4;
  simulation_step(&s, 1);
  ASSERT_NEAR(values_of(&s, x, "quat")[0], 1.0, 0.0);
  ASSERT_NEAR(values_of(&s, x, "axis")[2], 1.0, 0.0);
  ASSERT_NEAR(values_of(&s, x, "pos")[2], 0.25, 0.0);
  ASSERT_NEAR(values_of(&s, x, "pull")[0], 3.0, 0.0);
  const double q = s.state.q[0];
  ASSERT_NEAR(values_of(&s, x, "energy")[0], 2.0 * 10.0 * 2.0 + 0.5 * 30.0 * q * q, 1e-12);
  simulation_end(&s);
}

// The effort range of a tendon bounds the sum of its servos' forces, before their gear.
static void test_effort_range_of_a_tendon(void** unused) {
  (void)unused;
  simulation s = begin(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide'/>"
      "<geom size='.1' mass='2'/></body></worldbody><tendon><fixed name='t' "
      "actuatorfrcrange='-3 1.5'><joint joint='j' coef='1'/></fixed></tendon><actuator>"
      "<position tendon='t' gear='4' kp='1e4'/></actuator></mujoco>",
      0.01);
  for (int side = 0; side < 2; ++side) {
    const double control = side == 0 ? 100.0 : -100.0, v0 = s.state.v[0];
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    ASSERT_NEAR(2.0 * (s.state.v[0] - v0) / 0.01, 4.0 * (side == 0 ? 1.5 : -3.0), 1e-9);
  }
  simulation_end(&s);
}

// What touches by its margin is held, too: a ball under a ceiling, 5 mm from it.
static void test_margin_of_adhesion(void** unused) {
  (void)unused;
  for (int far = 0; far < 2; ++far) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const double size[3] = {0.1, 0.0, 0.0}, slab[3] = {1.0, 1.0, 0.1}, p[3] = {0.0, 0.0, 0.895};
    sap_shape_def ceiling = sap_shape_def_default(), ball = sap_shape_def_default();
    sap_actuator_def glue = sap_actuator_def_default();
    ceiling.type = SAP_SHAPE_BOX;
    memcpy(ceiling.size, slab, sizeof slab);
    ceiling.p_BS[2] = 1.1;
    ball.type = SAP_SHAPE_SPHERE;
    memcpy(ball.size, size, sizeof size);
    ball.margin = far == 1 ? 0.004 : 0.006;
    assert_int_equal(sap_builder_add_shape(builder, &ceiling, NULL, NULL), SAP_STATUS_OK);
    ball.body = simulation_body(builder, 0, 1.0, 0.01, p);
    (void)simulation_joint(builder, ball.body, SAP_JOINT_FREE, 0.0, 0.0, 0.0);
    assert_int_equal(sap_builder_add_shape(builder, &ball, NULL, NULL), SAP_STATUS_OK);
    glue.transmission = SAP_TRANSMISSION_ADHESION;
    glue.target = ball.body;
    glue.gain = 20.0;
    assert_int_equal(sap_builder_add_actuator(builder, &glue, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.005);
    const double control = 1.0;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);  // with 20 N up, or without
    ASSERT_NEAR(s.state.v[2], 0.005 * (far == 1 ? -9.81 : 20.0 - 9.81), 1e-9);
    simulation_end(&s);
  }
}

// A joint or tendon that an equality ties to nothing else has the polynomial's constant.
static void test_constant_of_an_equality(void** unused) {
  (void)unused;
  simulation s = begin(
      "<mujoco><option gravity='0 0 -10'/><worldbody><body><joint name='a' type='slide' "
      "axis='0 0 1'/><geom size='.1' mass='1'/></body><body pos='1 0 0'><joint name='b' "
      "type='slide' axis='0 0 1'/><geom size='.1' mass='1'/></body></worldbody><tendon>"
      "<fixed name='t'><joint joint='b' coef='2'/></fixed></tendon><equality>"
      "<joint joint1='a' polycoef='.3 1 0 0 0'/><tendon tendon1='t' polycoef='-.5 1 0 0 0'/>"
      "</equality></mujoco>",
      0.005);
  simulation_step(&s, 1000);
  ASSERT_NEAR(s.state.q[0], 0.3, 1e-4);
  ASSERT_NEAR(2.0 * s.state.q[1], -0.5, 1e-4);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_touch_of_either_body),     cmocka_unit_test(test_sensors),
      cmocka_unit_test(test_effort_range_of_a_tendon), cmocka_unit_test(test_margin_of_adhesion),
      cmocka_unit_test(test_constant_of_an_equality),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
