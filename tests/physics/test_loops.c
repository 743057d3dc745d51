// SPDX-License-Identifier: BSD-3-Clause
// Bilateral constraints on Tsounis' primitives (SI units): errors over 10 s stay below 1e-6 m.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/simulation.h"

static const sap_material floor_material = {
    .stiffness = 1e6, .relaxation_time = 0.01, .friction = 0.5};

static int32_t add_box(sap_builder* builder, double mass, const double size[3], const double p[3],
                       bool free) {
  sap_body_def body = sap_body_def_default();
  body.mass = mass;
  memcpy(body.p_PB, p, sizeof body.p_PB);
  for (int i = 0; i < 3; ++i) {
    const double a = size[(i + 1) % 3], b = size[(i + 2) % 3];
    body.I_BCo_B[i] = mass * (a * a + b * b) / 12.0;
  }
  int32_t id = -1;
  assert_int_equal(sap_builder_add_body(builder, &body, &id, NULL), SAP_STATUS_OK);
  if (free) {
    simulation_joint(builder, id, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  }
  const double half[3] = {0.5 * size[0], 0.5 * size[1], 0.5 * size[2]};
  simulation_shape(builder, id, SAP_SHAPE_BOX, half, floor_material);
  return id;
}

static void add_connect(sap_builder* builder, int32_t a, int32_t b, const double p_A[3],
                        const double p_B[3]) {
  sap_equality_def def = sap_equality_def_default();
  def.a = a;
  def.b = b;
  memcpy(def.anchor_A, p_A, sizeof def.anchor_A);
  memcpy(def.anchor_B, p_B, sizeof def.anchor_B);
  def.relaxation_time = 0.0;
  assert_int_equal(sap_builder_add_equality(builder, &def, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_exclude(builder, a, b, NULL), SAP_STATUS_OK);
}

static void add_floor(sap_builder* builder) {
  const double size[3] = {1.0, 1.0, 1.0};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, size, floor_material);
}

// The largest error in 10 s.
static double run(sap_builder* builder, double dt, const double* v) {
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  if (v != NULL) {
    memcpy(s.state.v, v, (size_t)s.state.nv * sizeof(double));
  }
  double largest = simulation_loop_error(&s);
  const int32_t steps = (int32_t)lround(10.0 / dt);
  for (int32_t n = 0; n < steps; ++n) {
    simulation_step(&s, 1);
    largest = fmax(largest, simulation_loop_error(&s));
  }
  simulation_end(&s);
  print_message("constraint error in 10 s at dt %g: %.2g m\n", dt, largest);
  return largest;
}

static const double bar[3] = {0.5, 0.1, 0.1};

static sap_builder* hinged_boxes(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double p[2][3] = {{-0.25, 0.0, 0.5}, {0.25, 0.0, 0.5}};
  const int32_t a = add_box(builder, 1.0, bar, p[0], true);
  const int32_t b = add_box(builder, 1.0, bar, p[1], true);
  for (int side = -1; side <= 1; side += 2) {  // two points on the axis: a hinge, one row too many
    const double p_A[3] = {0.25, 0.05 * side, 0.0}, p_B[3] = {-0.25, 0.05 * side, 0.0};
    add_connect(builder, a, b, p_A, p_B);
  }
  add_floor(builder);
  return builder;
}

static sap_builder* nunchaku(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double p[2][3] = {{-0.3, 0.0, 0.5}, {0.3, 0.0, 0.5}}, middle[3] = {0.0, 0.0, 0.5};
  const int32_t a = add_box(builder, 1.0, bar, p[0], true);
  const int32_t b = add_box(builder, 1.0, bar, p[1], true);
  const int32_t ball = simulation_body(builder, 0, 1.0, 0.4 * 0.05 * 0.05, middle);
  simulation_joint(builder, ball, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  const double radius[3] = {0.05, 0.0, 0.0};
  simulation_shape(builder, ball, SAP_SHAPE_SPHERE, radius, floor_material);
  const double right[3] = {0.25, 0.0, 0.0}, left[3] = {-0.25, 0.0, 0.0};
  const double ball_left[3] = {-0.05, 0.0, 0.0}, ball_right[3] = {0.05, 0.0, 0.0};
  add_connect(builder, a, ball, right, ball_left);
  add_connect(builder, ball, b, ball_right, left);
  add_floor(builder);
  return builder;
}

static sap_builder* fixed_boxes(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double size[3] = {0.2, 0.2, 0.2};
  const double p[2][3] = {{0.0, 0.0, 0.5}, {0.0, 0.0, 0.7}};
  sap_equality_def def = sap_equality_def_default();
  def.type = SAP_EQUALITY_WELD;
  def.a = add_box(builder, 1.0, size, p[0], true);
  def.b = add_box(builder, 1000.0, size, p[1], true);
  def.anchor_A[2] = 0.1;
  def.anchor_B[2] = -0.1;
  def.relaxation_time = 0.0;
  assert_int_equal(sap_builder_add_equality(builder, &def, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_exclude(builder, def.a, def.b, NULL), SAP_STATUS_OK);
  add_floor(builder);
  return builder;
}

// Links along the sides of a square in the xz plane; joints 1 to 3 are joints, 4 closes the loop.
static sap_builder* fourbar(bool floating, bool servos) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double pi = 3.14159265358979323846;
  const double half = 0.05;
  const double start[4][3] = {
      {0.0, 0.0, 0.3}, {-half, 0.0, 0.0}, {0.0, 0.0, 2.0 * half}, {2.0 * half, 0.0, 0.0}};
  const double centre[4][3] = {
      {0.0, 0.0, 0.0}, {0.0, 0.0, half}, {half, 0.0, 0.0}, {0.0, 0.0, -half}};
  const double size[4][3] = {
      {0.1, 0.01, 0.01}, {0.01, 0.01, 0.1}, {0.1, 0.01, 0.01}, {0.01, 0.01, 0.1}};
  int32_t links[4] = {0};
  for (int i = 0; i < 4; ++i) {
    sap_body_def body = sap_body_def_default();
    body.parent = i == 0 ? 0 : links[i - 1];
    body.mass = 1.0;
    memcpy(body.p_PB, start[i], sizeof body.p_PB);
    memcpy(body.p_BCo, centre[i], sizeof body.p_BCo);
    for (int k = 0; k < 3; ++k) {
      const double a = size[i][(k + 1) % 3], b = size[i][(k + 2) % 3];
      body.I_BCo_B[k] = (a * a + b * b) / 12.0;
    }
    assert_int_equal(sap_builder_add_body(builder, &body, &links[i], NULL), SAP_STATUS_OK);
    sap_joint_def joint = sap_joint_def_default();
    joint.body = links[i];
    if (i == 0) {
      joint.type = SAP_JOINT_FREE;
    } else {
      joint.axis[1] = 1.0;
      joint.axis[2] = 0.0;
      joint.lower = -0.25 * pi;
      joint.upper = 0.25 * pi;
      joint.armature = servos && i != 2 ? 0.1 : 0.0;
      joint.damping = servos && i != 2 ? 0.001 : 0.0;
    }
    if (i > 0 || floating) {
      int32_t id = -1;
      assert_int_equal(sap_builder_add_joint(builder, &joint, &id, NULL), SAP_STATUS_OK);
      sap_actuator_def servo = sap_actuator_def_default();
      servo.target = id;
      servo.gain = 1000.0;
      servo.bias[1] = -1000.0;
      servo.bias[2] = -20.0;
      if (servos && (i == 1 || i == 3)) {
        assert_int_equal(sap_builder_add_actuator(builder, &servo, NULL, NULL), SAP_STATUS_OK);
      }
    }
    sap_shape_def shape = sap_shape_def_default();
    shape.type = SAP_SHAPE_BOX;
    shape.body = links[i];
    memcpy(shape.p_BS, centre[i], sizeof shape.p_BS);
    for (int k = 0; k < 3; ++k) {
      shape.size[k] = 0.5 * size[i][k];
    }
    shape.material = floor_material;
    assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
    for (int k = 0; k < i; ++k) {
      assert_int_equal(sap_builder_exclude(builder, links[i], links[k], NULL), SAP_STATUS_OK);
    }
  }
  for (int side = -1; side <= 1; side += 2) {
    const double p_A[3] = {half, 0.005 * side, 0.0};
    const double p_B[3] = {0.0, 0.005 * side, -2.0 * half};
    sap_equality_def def = sap_equality_def_default();
    def.a = links[0];
    def.b = links[3];
    memcpy(def.anchor_A, p_A, sizeof p_A);
    memcpy(def.anchor_B, p_B, sizeof p_B);
    def.relaxation_time = 0.0;
    assert_int_equal(sap_builder_add_equality(builder, &def, NULL, NULL), SAP_STATUS_OK);
  }
  add_floor(builder);
  return builder;
}

static const double bound = 1e-6;  // [m]

static void test_boxes(void** unused) {
  (void)unused;
  ASSERT_NEAR(run(hinged_boxes(), 1e-3, NULL), 0.0, bound);
  ASSERT_NEAR(run(nunchaku(), 1e-3, NULL), 0.0, bound);
  ASSERT_NEAR(run(fixed_boxes(), 1e-3, NULL), 0.0, bound);
}

static void test_fourbar(void** unused) {
  (void)unused;
  for (int i = 0; i < 4; ++i) {
    ASSERT_NEAR(run(fourbar((i & 1) != 0, (i & 2) != 0), 5e-3, NULL), 0.0, bound);
  }
}

// Falls turning: the blow on the floor changes the velocities along which the constraints'
// curvature is taken, by dv = 8 rad/s at an arm of 0.1 m: dt^2/2 0.1 dv^2 = 3e-6 m, if the step
// were not solved again along those that it ends with.
static void test_blow(void** unused) {
  (void)unused;
  const double spin[12] = {0.3, 0.1, 0.0, 1.0, 4.0, 2.0, -0.3, 0.1, 0.0, 1.0, -4.0, 2.0};
  ASSERT_NEAR(run(hinged_boxes(), 1e-3, spin), 0.0, bound);
  ASSERT_NEAR(run(fixed_boxes(), 1e-3, spin), 0.0, bound);
  ASSERT_NEAR(run(hinged_boxes(), 5e-3, spin), 0.0, bound);
}

// A slide at rest, far from its limit, is carried along by one that moves: it stops at the limit in
// the step in which it starts to move, which neither v0 nor v* foretell.
static void test_limit_within_step(void** unused) {
  (void)unused;
  const double origin[3] = {0.0, 0.0, 0.0}, upper = 0.04, dt = 0.01;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  sap_equality_def same = sap_equality_def_default();
  same.type = SAP_EQUALITY_JOINT;
  int32_t* const ids[2] = {&same.a, &same.b};
  for (int i = 0; i < 2; ++i) {
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_SLIDE;
    joint.body = simulation_body(builder, 0, 1.0, 1.0, origin);
    joint.upper = i == 0 ? (double)INFINITY : upper;
    joint.lower = i == 0 ? -(double)INFINITY : -1.0;
    assert_int_equal(sap_builder_add_joint(builder, &joint, ids[i], NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_builder_add_equality(builder, &same, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  s.state.v[0] = 10.0;
  simulation_step(&s, 1);
  double force = 0.0;
  assert_int_equal(sap_multibody_limit_force(s.multibody, &s.report, same.b, &force, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(s.report.blocks, 2);
  assert_true(force < 0.0);
  assert_true(s.state.q[1] < 1.05 * upper && s.state.q[1] > 0.95 * upper);
  simulation_end(&s);
}

// y = 2 x^2 of two slides, which nothing else moves: the step is solved again where the constraint
// is rigid, since its end misses the curve. A soft one has no end to meet.
static void test_soft_curve(void** state) {
  (void)state;
  for (int soft = 0; soft < 2; ++soft) {
    const double origin[3] = {0.0, 0.0, 0.0};
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    const int32_t body = simulation_body(builder, 0, 1.0, 1.0, origin);
    sap_equality_def curve = sap_equality_def_default();
    curve.type = SAP_EQUALITY_JOINT;
    curve.b = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
    curve.a = simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 1.0, 0.0);
    curve.polynomial[1] = 0.0;
    curve.polynomial[2] = 2.0;
    curve.stiffness = soft ? 1e3 : (double)INFINITY;
    assert_int_equal(sap_builder_add_equality(builder, &curve, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    s.state.v[0] = 4.0;
    int32_t again = 0;
    for (int i = 0; i < 20; ++i) {
      simulation_step(&s, 1);
      again += s.report.relinearizations;
    }
    assert_true(soft ? again == 0 : again > 0);
    assert_true(s.state.q[1] > 0.1);
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limit_within_step), cmocka_unit_test(test_boxes),
      cmocka_unit_test(test_fourbar),           cmocka_unit_test(test_blow),
      cmocka_unit_test(test_soft_curve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
