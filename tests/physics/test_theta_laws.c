// SPDX-License-Identifier: BSD-3-Clause
// Laws at the theta point of the midpoint rule against the rule written out: a servo with a bound,
// which is a block of the contact problem, and limits, where a ball joint that turns about one axis
// is a hinge.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/near.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};

// m (v1 - v0) = -dt (kp (x - target) + kd v)  at the middle of x and v of the step.
static void test_bounded_servo(void** state) {
  (void)state;
  const double m = 2.0, kp = 300.0, kd = 4.0, target = 0.1, dt = 0.01;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const int32_t body = simulation_body(builder, 0, m, 1.0, origin);
  sap_actuator_def servo = sap_actuator_def_default();
  servo.target = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  servo.gain = kp;
  servo.bias[1] = -kp;
  servo.bias[2] = -kd;
  servo.force_lower = -1e4;
  servo.force_upper = 1e4;
  assert_int_equal(sap_builder_add_actuator(builder, &servo, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, dt);
  assert_int_equal(sap_multibody_set_control(s.multibody, &target, NULL), SAP_STATUS_OK);
  double x = 0.0, v = 0.7;
  s.state.v[0] = v;
  for (int i = 0; i < 200; ++i) {
    const double ahead = m + dt * (0.25 * dt * kp + 0.5 * kd);
    const double v1 = (m * v - dt * (kp * (x - target + 0.25 * dt * v) + 0.5 * kd * v)) / ahead;
    x += 0.5 * dt * (v + v1);
    v = v1;
    simulation_step(&s, 1);
    assert_int_equal(s.report.blocks, 1);
    ASSERT_NEAR(s.state.v[0], v, 1e-9);
    ASSERT_NEAR(s.state.q[0], x, 1e-9);
  }
  simulation_end(&s);
}

// Turns into a soft limit at 0.5 rad, and back. Before and after it nothing acts.
static simulation limited(sap_joint_type type, sap_scheme scheme) {
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  sap_joint_def joint = sap_joint_def_default();
  joint.type = type;
  joint.body = simulation_body(builder, 0, 1.0, 0.8, origin);
  sap_v3_set(joint.axis, 1.0, 0.0, 0.0);
  joint.lower = type == SAP_JOINT_HINGE ? -(double)INFINITY : 0.0;
  joint.upper = 0.5;
  joint.limit_stiffness = 200.0;
  joint.limit_relaxation_time = 0.01;
  assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, scheme, 0.01);
  s.state.v[0] = 1.3;
  return s;
}

static void test_ball_limit(void** state) {
  (void)state;
  static const sap_scheme schemes[] = {SAP_SCHEME_MIDPOINT, SAP_SCHEME_IMPLICIT_EULER};
  for (int k = 0; k < 2; ++k) {
    simulation hinge = limited(SAP_JOINT_HINGE, schemes[k]);
    simulation ball = limited(SAP_JOINT_BALL, schemes[k]);
    double deepest = 0.0;
    for (int i = 0; i < 90; ++i) {
      simulation_step(&hinge, 1);
      simulation_step(&ball, 1);
      const double angle = 2.0 * atan2(ball.state.q[1], ball.state.q[0]);
      deepest = fmax(deepest, angle - 0.5);
      ASSERT_NEAR(ball.state.v[0], hinge.state.v[0], 1e-9);
      ASSERT_NEAR(angle, hinge.state.q[0], 1e-9);
    }
    assert_true(deepest > 0.05 && hinge.state.v[0] < -0.5);
    simulation_end(&hinge);
    simulation_end(&ball);
  }
}

// A contact halfway between the theta point and the end of the step, z = 1.5, moves positions
// halfway: the end has the weight 1/2 of the midpoint rule and 1/4 more.
static void test_positions_between(void** state) {
  (void)state;
  const double m = 2.0, dt = 0.01, r = 0.1, depth = 1e-4, size[3] = {r, 0.0, 0.0};
  const double p[3] = {0.0, 0.0, r - depth};
  const double k = 1.5 * m * sqrt(3.0) / (dt * dt);  // |I/m|_F/3 = 1/(sqrt(3) m)
  const sap_material material = {.stiffness = 2.0 * k, .friction = 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, origin, material);
  const int32_t body = simulation_body(builder, 0, m, 1.0, p);
  for (int i = 0; i < 3; ++i) {
    simulation_joint(builder, body, SAP_JOINT_SLIDE, i == 0, i == 1, i == 2);
  }
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, dt);
  const double v0 = -0.02;
  s.state.v[2] = v0;
  simulation_step(&s, 1);
  assert_int_equal(s.report.blocks, 1);
  const double v = s.state.v[2];
  assert_true(v > v0 + 1e-3);
  ASSERT_NEAR(s.state.q[2], dt * (0.75 * v + 0.25 * v0), 1e-12);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounded_servo),
                                     cmocka_unit_test(test_ball_limit),
                                     cmocka_unit_test(test_positions_between)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
