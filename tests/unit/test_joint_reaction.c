// SPDX-License-Identifier: BSD-3-Clause
// Forces transmitted by joints, against closed forms: arms held by servos, a swinging pendulum, a
// rod that leans on a contact, a connect or a string, loads beside the axis, wrenches from outside.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/simulation.h"

static const double g = 9.81;

static void expect(simulation* s, int32_t joint, const double force[3], const double moment[3],
                   double tolerance) {
  double f[3], m[3];
  sap_error error = {0};
  if (sap_multibody_joint_reaction(s->multibody, &s->report, &s->state, joint, f, m, &error) !=
      SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(f[i], force[i], tolerance);
    ASSERT_NEAR(m[i], moment[i], tolerance);
  }
}

// A body whose centre of mass is at `centre`, on a joint about y at p of its parent.
static int32_t add_link(sap_builder* builder, int32_t parent, double mass, double x_centre,
                        double x, int32_t* joint) {
  sap_body_def body = sap_body_def_default();
  body.parent = parent;
  body.mass = mass;
  body.p_PB[0] = x;
  body.p_BCo[0] = x_centre;
  body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 0.01;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_body(builder, &body, &id, NULL), SAP_STATUS_OK);
  *joint = simulation_joint(builder, id, SAP_JOINT_HINGE, 0.0, 1.0, 0.0);
  return id;
}

static void add_servo(sap_builder* builder, int32_t joint, double kp) {
  sap_actuator_def servo = sap_actuator_def_default();
  servo.target = joint;
  servo.gain = kp;
  servo.bias[1] = -kp;
  servo.bias[2] = -0.1 * kp;
  assert_int_equal(sap_builder_add_actuator(builder, &servo, NULL, NULL), SAP_STATUS_OK);
}

// Two links held out level; a wrench from outside on the second.
static void test_arm(void** state) {
  (void)state;
  const double m[2] = {2.0, 3.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  int32_t joints[2];
  const int32_t first = add_link(builder, 0, m[0], 0.5, 0.0, &joints[0]);
  const int32_t second = add_link(builder, first, m[1], 0.5, 1.0, &joints[1]);
  add_servo(builder, joints[0], 1e6);
  add_servo(builder, joints[1], 1e6);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  simulation_step(&s, 500);
  const double outer[3] = {0.0, 0.0, m[1] * g}, outer_moment[3] = {0.0, -0.5 * m[1] * g, 0.0};
  const double inner[3] = {0.0, 0.0, (m[0] + m[1]) * g};
  const double inner_moment[3] = {0.0, -(0.5 * m[0] + 1.5 * m[1]) * g, 0.0};
  expect(&s, joints[1], outer, outer_moment, 0.02);  // sinks by the near-rigid servos' R
  expect(&s, joints[0], inner, inner_moment, 0.02);
  const double p[3] = {1.0, 0.0, 0.0}, push[3] = {0.0, 5.0, 0.0}, twist[3] = {0.3, 0.0, 0.0};
  assert_int_equal(sap_multibody_set_applied_wrench(s.multibody, second, p, push, twist, NULL),
                   SAP_STATUS_OK);
  simulation_step(&s, 500);
  const double z = -sin(s.state.q[0]) - sin(s.state.q[0] + s.state.q[1]);
  const double pushed[3] = {0.0, -5.0, (m[0] + m[1]) * g};
  const double pushed_moment[3] = {5.0 * z - 0.3, inner_moment[1], -10.0};
  expect(&s, joints[0], pushed, pushed_moment, 0.03);
  simulation_end(&s);
}

// A point mass on a rod: the tension m (g cos a + L w^2) along it, nothing across it.
static void test_pendulum(void** state) {
  (void)state;
  const double m = 2.0, length = 0.7;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  sap_body_def body = sap_body_def_default();
  body.mass = m;
  body.p_BCo[2] = -length;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_body(builder, &body, &id, NULL), SAP_STATUS_OK);
  const int32_t joint = simulation_joint(builder, id, SAP_JOINT_HINGE, 0.0, 1.0, 0.0);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-6);
  s.state.q[0] = 0.6;
  s.state.v[0] = 3.0;
  simulation_step(&s, 3);
  const double a = s.state.q[0], w = s.state.v[0];
  const double pull = m * (g * cos(a) + length * w * w);
  const double force[3] = {pull * sin(a), 0.0, pull * cos(a)}, none[3] = {0.0, 0.0, 0.0};
  expect(&s, joint, force, none, 2e-4);  // dt m L w^3 and alike
  simulation_end(&s);
}

// A level rod on a hinge, its end on a floor, tied there, or hung by a string: half of its weight
// is the hinge's.
static void test_supported_rod(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    int32_t joint = -1;
    const double m = 2.0;
    const int32_t rod = add_link(builder, 0, m, 0.5, 0.0, &joint);
    if (kind == 0) {
      sap_shape_def floor = sap_shape_def_default(), ball = sap_shape_def_default();
      floor.type = SAP_SHAPE_PLANE;
      floor.p_BS[2] = -0.1;
      ball.type = SAP_SHAPE_SPHERE;
      ball.body = rod;
      ball.size[0] = 0.1;
      ball.p_BS[0] = 1.0;
      assert_int_equal(sap_builder_add_shape(builder, &floor, NULL, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_builder_add_shape(builder, &ball, NULL, NULL), SAP_STATUS_OK);
    } else {
      sap_equality_def tie = sap_equality_def_default();
      tie.type = kind == 1 ? SAP_EQUALITY_CONNECT : SAP_EQUALITY_DISTANCE;
      tie.a = rod;
      tie.b = 0;
      tie.anchor_A[0] = tie.anchor_B[0] = 1.0;
      tie.anchor_B[2] = kind == 1 ? 0.0 : 2.0;
      tie.distance = 2.0;
      assert_int_equal(sap_builder_add_equality(builder, &tie, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    simulation_step(&s, 500);
    const double force[3] = {0.0, 0.0, 0.5 * m * g}, none[3] = {0.0, 0.0, 0.0};
    expect(&s, joint, force, none, 1e-3);
    simulation_end(&s);
  }
}

typedef enum rope_force {
  ROPE_LIMIT,
  ROPE_SPRING,
  ROPE_MOTOR,
  ROPE_FRICTION,
  ROPE_EQUALITY,
  ROPE_SECOND,  // of an equality
  ROPE_FORCES
} rope_force;

// A rope through a pulley that halves its length, from `above` to the rod's end at x = 1.
static int32_t add_rope(sap_builder* builder, int32_t rod, rope_force kind, double above) {
  const int32_t bodies[3] = {0, 0, rod};
  const double points[9] = {0.0, 0.0, 0.0, 1.0, 0.0, above, 1.0, 0.0, 0.0};
  const sap_tendon_wrap wraps[3] = {{.way = SAP_TENDON_PULLEY, .divisor = 2.0, .side_body = -1},
                                    {.way = SAP_TENDON_POINT, .side_body = -1},
                                    {.way = SAP_TENDON_POINT, .side_body = -1}};
  sap_tendon_def rope = sap_tendon_def_default();
  rope.npoints = 3;
  rope.point_bodies = bodies;
  rope.points = points;
  rope.wraps = wraps;
  rope.stiffness = kind == ROPE_SPRING ? 1e6 : 0.0;
  rope.friction_loss = kind == ROPE_FRICTION ? 100.0 : 0.0;
  rope.upper = kind == ROPE_LIMIT ? 0.5 * above : (double)INFINITY;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_tendon(builder, &rope, &id, NULL), SAP_STATUS_OK);
  return id;
}

// The rod hangs at its end by a force of a rope: half of its weight is the hinge's.
static void test_ropes(void** state) {
  (void)state;
  const double m = 2.0;
  for (int kind = 0; kind < ROPE_FORCES; ++kind) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    int32_t joint = -1;
    const int32_t rod = add_link(builder, 0, m, 0.5, 0.0, &joint);
    const int32_t rope = add_rope(builder, rod, (rope_force)kind, 2.0);
    sap_equality_def tie = sap_equality_def_default();
    tie.type = SAP_EQUALITY_TENDON;
    tie.a = rope;
    tie.b = -1;
    if (kind == ROPE_SECOND) {  // the first is of no length that changes
      tie.a = add_rope(builder, 0, ROPE_FORCES, 3.0);
      tie.b = rope;
      tie.polynomial[1] = 1.7;
    }
    if (kind >= ROPE_EQUALITY) {
      assert_int_equal(sap_builder_add_equality(builder, &tie, NULL, NULL), SAP_STATUS_OK);
    }
    sap_actuator_def motor = sap_actuator_def_default();
    motor.transmission = SAP_TRANSMISSION_TENDON;
    motor.target = rope;
    motor.gear = 3.0;
    assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    const double control = kind == ROPE_MOTOR ? -m * g / 3.0 : 0.0;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 200);
    const double force[3] = {0.0, 0.0, 0.5 * m * g}, none[3] = {0.0, 0.0, 0.0};
    // The spring is stretched by 2e-5 m, friction creeps.
    expect(&s, joint, force, none, 2e-3);
    simulation_end(&s);
  }
}

// A slide holds what hangs beside its axis by a moment; the servo's effort is part of the force.
static void test_beside_the_axis(void** state) {
  (void)state;
  const double m = 3.0, x = 0.3;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  sap_body_def body = sap_body_def_default();
  body.mass = m;
  body.p_BCo[0] = x;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_body(builder, &body, &id, NULL), SAP_STATUS_OK);
  const int32_t joint = simulation_joint(builder, id, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  add_servo(builder, joint, 1e4);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  simulation_step(&s, 1000);
  const double force[3] = {0.0, 0.0, m * g}, moment[3] = {0.0, -x * m * g, 0.0};
  expect(&s, joint, force, moment, 1e-6);
  simulation_end(&s);
}

// A ball on a slide rests on a table that turns about the ball's normal or about a tangent: the
// slide holds the moment of spin or of rolling friction, mu N along the table's turning.
static void test_turned_by_contact(void** state) {
  (void)state;
  const double m = 2.0, spin = 0.03, roll = 0.02;
  for (int axis = 0; axis < 3; ++axis) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    const double origin[3] = {0.0, 0.0, 0.0}, top[3] = {0.0, 0.0, 0.1};
    const int32_t table = simulation_body(builder, 0, 1e6, 1e6, origin);
    const int32_t hinge =
        simulation_joint(builder, table, SAP_JOINT_HINGE, axis == 0, axis == 1, axis == 2);
    const int32_t body = simulation_body(builder, 0, m, 1.0, top);
    const int32_t slide = simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
    sap_shape_def shape = sap_shape_def_default();
    shape.condim = 6;
    shape.friction_torsional = spin;
    shape.friction_rolling = roll;
    shape.body = table;
    shape.type = SAP_SHAPE_BOX;
    sap_v3_set(shape.size, 1.0, 1.0, 0.5);
    shape.p_BS[2] = -0.5;
    assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
    shape.body = body;
    shape.type = SAP_SHAPE_SPHERE;
    sap_v3_set(shape.size, 0.1, 0.0, 0.0);
    shape.p_BS[2] = 0.0;
    assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
    s.state.v[s.model->joints[hinge].v_start] = 1e-3;
    simulation_step(&s, 200);
    double moment[3] = {0.0, 0.0, 0.0};
    moment[axis] = -(axis == 2 ? spin : roll) * m * g;
    const double none[3] = {0.0, 0.0, 0.0};
    expect(&s, slide, none, moment, 0.01);  // m g times 2e-4, by which the table has turned
    simulation_end(&s);
  }
}

static void test_refused(void** state) {
  (void)state;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  int32_t joint = -1;
  sap_spring_def spring = sap_spring_def_default();
  spring.body_a = add_link(builder, 0, 1.0, 0.5, 0.0, &joint);
  spring.stiffness = 1.0;
  assert_int_equal(sap_builder_add_spring(builder, &spring, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  simulation_step(&s, 1);
  double f[3], m[3];
  assert_int_equal(
      sap_multibody_joint_reaction(s.multibody, &s.report, &s.state, joint, f, m, NULL),
      SAP_STATUS_UNSUPPORTED);
  assert_int_equal(sap_multibody_joint_reaction(s.multibody, &s.report, &s.state, 5, f, m, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_multibody_joint_reaction(s.multibody, &s.report, NULL, 0, f, m, NULL),
                   SAP_STATUS_ARGUMENT);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arm),
      cmocka_unit_test(test_pendulum),
      cmocka_unit_test(test_supported_rod),
      cmocka_unit_test(test_ropes),
      cmocka_unit_test(test_beside_the_axis),
      cmocka_unit_test(test_turned_by_contact),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
