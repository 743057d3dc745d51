// SPDX-License-Identifier: BSD-3-Clause
// Servos follow their law at the end of the step, up to their bounds.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "support/near.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};

// A mass on a slide without gravity; inertia is irrelevant.
static int32_t add_slide(sap_builder* builder, double mass, double effort) {
  sap_joint_def joint = sap_joint_def_default();
  joint.type = SAP_JOINT_SLIDE;
  joint.body = simulation_body(builder, 0, mass, 1.0, origin);
  joint.effort_lower = -effort;
  joint.effort_upper = 0.5 * effort;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_joint(builder, &joint, &id, NULL), SAP_STATUS_OK);
  return id;
}

static int32_t add_servo(sap_builder* builder, int32_t target, double offset, double kp,
                         double kd) {
  sap_actuator_def def = sap_actuator_def_default();
  def.target = target;
  def.gain = 0.0;
  def.bias[0] = offset;
  def.bias[1] = -kp;
  def.bias[2] = -kd;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_actuator(builder, &def, &id, NULL), SAP_STATUS_OK);
  return id;
}

static sap_block block_at(const simulation* s, int32_t index) {
  sap_block block;
  assert_int_equal(sap_problem_block(s->report.problem, index, &block, NULL, NULL), SAP_STATUS_OK);
  return block;
}

static const double unlimited = (double)INFINITY;
static const double pi2x4 = 39.47841760435743;

// reference-cases.md, "PD with effort limit": Kp 1.1, Kd 1.2, limit 1.3, q0 .1, qd .2, vd .3, u .4.
static void test_pd_with_effort_limit(void** unused) {
  (void)unused;
  const double kp = 1.1, kd = 1.2, bound = 1.3, qd = 0.2, vd = 0.3, u = 0.4, dt = 0.015, mass = 2.0;
  const double speeds[] = {0.0, 0.4, 5.0, -5.0, 0.31};
  for (size_t i = 0; i < sizeof speeds / sizeof *speeds; ++i) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    sap_actuator_def def = sap_actuator_def_default();
    def.target = add_slide(builder, mass, unlimited);
    def.gain = kp;
    def.bias[0] = kd * vd + u;
    def.bias[1] = -kp;
    def.bias[2] = -kd;
    def.force_lower = -bound;
    def.force_upper = bound;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    assert_int_equal(sap_multibody_set_control(s.multibody, &qd, NULL), SAP_STATUS_OK);
    s.state.q[0] = 0.1;
    s.state.v[0] = speeds[i];
    simulation_step(&s, 1);
    const double v = s.state.v[0];
    ASSERT_NEAR(s.state.q[0], 0.1 + dt * v, 1e-15);
    const double law = -kp * (s.state.q[0] - qd) - kd * (v - vd) + u;
    double force = 0.0, effort = 0.0;
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, &force, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_multibody_constraint_forces(s.multibody, &s.report, &effort, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(effort, force, 1e-12);
    assert_int_equal(s.report.blocks, fabs(speeds[i]) > 2.0 ? 1 : 0);
    if (fabs(speeds[i]) > 2.0) {
      assert_true(force == copysign(bound, -speeds[i]));  // exactly at its limit
    } else {
      ASSERT_NEAR(force, law, 1e-12);
      assert_true(fabs(law) < bound);
    }
    ASSERT_NEAR(mass * (v - speeds[i]), dt * force, 1e-12);
    simulation_end(&s);
  }
}

// Servos of a joint and of a fixed tendon leave their bounds within a step of free fall that begins
// inside them: the step is solved again, with a block that stops at the bound exactly.
static void test_bound_within_step(void** unused) {
  (void)unused;
  const double dt = 0.01, kp = 100.0, kd = 5.0, g = 10.0, mass = 2.0;
  int reached = 0;
  for (int kind = 0; kind < 2; ++kind) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    const int32_t joint = add_slide(builder, mass, unlimited);
    const double two = 2.0;
    sap_tendon_def tendon = sap_tendon_def_default();
    tendon.njoints = 1;
    tendon.joints = &joint;
    tendon.coefficients = &two;
    assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
    sap_actuator_def def = sap_actuator_def_default();
    def.transmission = kind == 0 ? SAP_TRANSMISSION_JOINT : SAP_TRANSMISSION_TENDON;
    def.gear = kind == 0 ? 2.0 : 1.0;
    def.bias[1] = -kp;
    def.bias[2] = -kd;
    def.force_upper = 7.0;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[0] = -0.0345;  // 6.9 at the start of the first step
    for (int n = 0; n < 20; ++n) {
      const double v0 = s.state.v[0];
      const double start = -kp * 2.0 * (s.state.q[0] + dt * v0) - kd * 2.0 * v0;
      simulation_step(&s, 1);
      const double v = s.state.v[0];
      const double law = -kp * 2.0 * s.state.q[0] - kd * 2.0 * v;
      const double force = fmin(law, 7.0);
      reached += start < 7.0 && law > 7.0;
      double given = 0.0;
      assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, &given, NULL),
                       SAP_STATUS_OK);
      ASSERT_NEAR(mass * (v - v0), dt * (2.0 * force - mass * g), 1e-11);
      ASSERT_NEAR(given, force, 1e-10);
      assert_int_equal(s.report.blocks, law > 7.0 ? 1 : 0);
    }
    simulation_end(&s);
  }
  assert_int_equal(reached, 2);
}

// Gains beyond the near-rigid limit: R = beta^2/(4 pi^2) w, Kd/Kp stays, 0 stays 0.
static void test_near_rigid(void** unused) {
  (void)unused;
  const double dt = 0.01, mass = 2.0, q0 = 0.3, target = 0.25;
  const struct { double kp, kd; } rows[] = {{1e9, 1e7}, {1e9, 0.0}, {0.0, 1e9}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const double kp = rows[i].kp, kd = rows[i].kd;
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    // a velocity servo's target is a rate
    add_servo(builder, add_slide(builder, mass, unlimited), (kp > 0.0 ? kp : kd) * target, kp, kd);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[0] = q0;
    simulation_step(&s, 1);
    const sap_block block = block_at(&s, 0);
    const double R = 1.0 / (mass * pi2x4);
    ASSERT_NEAR(block.R[0], R, 1e-15);
    // what the scaled gains are: R = 1/(dt (dt kp + kd)) with the same ratio
    const double scale = 1.0 / (R * dt * (dt * kp + kd));
    const double scaled_kp = scale * kp, scaled_kd = scale * kd;
    const double v = s.state.v[0];
    const double law =
        scale * (kp > 0.0 ? kp : kd) * target - scaled_kp * (q0 + dt * v) - scaled_kd * v;
    ASSERT_NEAR(s.report.solution->gamma[0], dt * law, 1e-10 * fabs(dt * law));
    ASSERT_NEAR(mass * v, dt * law, 1e-10 * fabs(dt * law));
    simulation_end(&s);
  }
}

// gear * (gain u + ...): a servo at rest under a load F is F/(gear^2 kp) away from its target.
static void test_rest_under_load(void** unused) {
  (void)unused;
  const double gear = -3.0, kp = 50.0, mass = 2.0, g = 10.0;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  sap_actuator_def def = sap_actuator_def_default();
  def.target = add_slide(builder, mass, unlimited);
  def.gear = gear;
  def.gain = kp;
  def.bias[1] = -kp;
  def.bias[2] = -4.0;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  const double target = 0.6;
  assert_int_equal(sap_multibody_set_control(s.multibody, &target, NULL), SAP_STATUS_OK);
  simulation_step(&s, 2000);
  ASSERT_NEAR(s.state.q[0], target / gear - mass * g / (gear * gear * kp), 1e-9);
  ASSERT_NEAR(s.state.v[0], 0.0, 1e-9);
  simulation_end(&s);
}

// Motors first, servos in what is left of the range; each range binds exactly.
static void test_effort_range(void** unused) {
  (void)unused;
  const double dt = 0.01, mass = 2.0;
  const struct {
    double motor, offset_a, offset_b, expected;
    int cut;
  } rows[] = {
      {3.0, 0.5, 0.25, 3.75, 0},     // within -10 ... 5
      {3.0, 4.0, 1.0, 5.0, 1},       // servos cut
      {7.0, -1.0, 0.0, 4.0, 0},      // the motor is cut to 5 first
      {-20.0, -3.0, 0.0, -10.0, 1},  // both down
      {-20.0, 3.0, 1.0, -6.0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    const int32_t joint = add_slide(builder, mass, 10.0);
    sap_actuator_def motor = sap_actuator_def_default();
    motor.target = joint;
    motor.gear = 2.0;
    assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
    add_servo(builder, joint, rows[i].offset_a, 1e-9, 0.0);
    add_servo(builder, joint, rows[i].offset_b, 0.0, 1e-9);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    const double control[3] = {rows[i].motor / 2.0, 0.0, 0.0};
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    assert_int_equal(s.report.blocks, rows[i].cut);
    ASSERT_NEAR(mass * s.state.v[0] / dt, rows[i].expected, 1e-8);
    simulation_end(&s);
  }
}

// A servo on a tendon of two slides: the same force, each by its coefficient; law at the end.
static void test_tendon_transmission(void** unused) {
  (void)unused;
  const double dt = 0.02, kp = 40.0, kd = 3.0, gear = 2.0, offset = 5.0;
  const double coefficients[2] = {2.5, -1.0}, mass[2] = {2.0, 3.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  int32_t joints[2];
  for (int i = 0; i < 2; ++i) {
    joints[i] = add_slide(builder, mass[i], unlimited);
  }
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.njoints = 2;
  tendon.joints = joints;
  tendon.coefficients = coefficients;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
  sap_actuator_def def = sap_actuator_def_default();
  def.transmission = SAP_TRANSMISSION_TENDON;
  def.gear = gear;
  def.gain = 0.0;
  def.bias[0] = offset;
  def.bias[1] = -kp;
  def.bias[2] = -kd;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
  def.bias[1] = def.bias[2] = 0.0;  // and a motor on the same tendon
  def.bias[0] = 0.7;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  s.state.q[0] = 0.1;
  s.state.q[1] = -0.2;
  s.state.v[0] = 0.3;
  simulation_step(&s, 1);
  const double* q = s.state.q;
  const double* v = s.state.v;
  const double length = gear * (2.5 * q[0] - q[1]), rate = gear * (2.5 * v[0] - v[1]);
  const double force = offset - kp * length - kd * rate + 0.7;
  ASSERT_NEAR(mass[0] * (v[0] - 0.3), dt * gear * 2.5 * force, 1e-12);
  ASSERT_NEAR(mass[1] * v[1], -dt * gear * force, 1e-12);
  simulation_end(&s);
}

// A motor pushes with all its force up to the motor speed of its joint and holds that against a
// load it can bear; it does not brake what is faster. With and without a range of efforts.
static void test_motor_speed(void** unused) {
  (void)unused;
  const double mass = 2.0, dt = 0.01, speed = 0.5, gear = 2.0, force = 3.0;
  for (int bounded = 0; bounded < 2; ++bounded) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    sap_body_def body = sap_body_def_default();
    body.mass = mass;
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_SLIDE;
    joint.motor_speed = speed;
    joint.effort_upper = bounded == 1 ? 5.0 : (double)INFINITY;
    assert_int_equal(sap_builder_add_body(builder, &body, &joint.body, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
    sap_actuator_def def = sap_actuator_def_default();
    def.gear = gear;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    const double effort = bounded == 1 ? 5.0 : gear * force;
    assert_int_equal(sap_multibody_set_control(s.multibody, &force, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    ASSERT_NEAR(s.state.v[0], dt * effort / mass, 1e-12);
    simulation_step(&s, 99);
    ASSERT_NEAR(s.state.v[0], speed, 1e-9);
    const double load = -1.0;
    double given = 0.0;
    assert_int_equal(sap_multibody_set_applied_forces(s.multibody, &load, NULL), SAP_STATUS_OK);
    simulation_step(&s, 50);
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, &given, NULL),
                     SAP_STATUS_OK);
    // Slower by the near-rigid R = w/(4 pi^2): dt load R.
    ASSERT_NEAR(s.state.v[0], speed + dt * load / mass / 39.478417604357434, 1e-9);
    ASSERT_NEAR(gear * given, -load, 1e-9);
    assert_int_equal(sap_multibody_set_applied_forces(s.multibody, NULL, NULL), SAP_STATUS_OK);
    s.state.v[0] = 2.0;
    simulation_step(&s, 10);
    ASSERT_NEAR(s.state.v[0], 2.0, 1e-12);
    simulation_end(&s);
  }
}

static sap_actuator_def site_servo(int32_t body, double kp, double kd, int axis) {
  sap_actuator_def def = sap_actuator_def_default();
  def.transmission = SAP_TRANSMISSION_SITE;
  def.site_body = body;
  def.reference_body = 0;
  def.site_point[2] = 0.1;
  def.reference_point[2] = 0.3;
  def.direction[axis] = 1.0;
  def.gain = kp;
  def.bias[1] = -kp;
  def.bias[2] = -kd;
  return def;
}

// Six servos hold a free body's site in a frame of the world, stiff and at large steps: it rests
// at the controls, m g/kp below that along z.
static void test_site_servos(void** unused) {
  (void)unused;
  const double control[6] = {0.1, -0.2, 0.3, 0.2, -0.1, 0.15}, m = 2.0;
  for (double kp = 1e2; kp < 2e6; kp *= 100.0) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const double p[3] = {0.0, 0.0, 0.0};
    const int32_t body = simulation_body(builder, 0, m, 0.05, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    for (int k = 0; k < 6; ++k) {
      const sap_actuator_def def = site_servo(body, kp, 0.3 * kp, k);
      assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1500);
    double length[6], force[6];
    assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, force, NULL),
                     SAP_STATUS_OK);
    // The site from the reference, and its rotation vector.
    double R[9], r[3];
    sap_quaternion_to_matrix(R, s.state.q + 3);
    sap_quaternion_log(r, s.state.q + 3);
    for (int k = 0; k < 3; ++k) {
      length[k] = s.state.q[k] + 0.1 * R[6 + k] - (k == 2 ? 0.3 : 0.0);
      length[3 + k] = r[k];
    }
    // About the axes, w = 20, the load is the weight 0.1 m below the tilted site, less than 0.5 N m,
    // and the stiffest gains stop at the near-rigid limit R = w/(4 pi^2), kp = 1/(R dt (dt + kd/kp)).
    const double softest = 0.01 * (0.01 + 0.3) / 39.478417604357434;
    const double sag = m * 9.81 / kp;
    ASSERT_NEAR(force[2], m * 9.81, 1e-5);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(length[k], control[k] - (k == 2 ? sag : 0.0), 0.02 * sag + 1e-6);
      ASSERT_NEAR(length[3 + k], control[3 + k], 0.5 * fmax(1.0 / kp, 20.0 * softest));
    }
    simulation_end(&s);
  }
}

// One motor on a free body's site: thrust in the site's axes, that turn with it.
static void test_thrust(void** unused) {
  (void)unused;
  const double p[3] = {0.0, 0.0, 0.0}, thrust = 3.0, dt = 1e-3;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const int32_t body = simulation_body(builder, 0, 2.0, 0.5, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  sap_actuator_def def = sap_actuator_def_default();
  def.transmission = SAP_TRANSMISSION_SITE;
  def.site_body = body;
  def.site_point[0] = 0.1;
  def.site_q[0] = def.site_q[1] = 1.0;  // a quarter about x: the site's z is the body's -y
  def.direction[2] = 1.0;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  assert_int_equal(sap_multibody_set_control(s.multibody, &thrust, NULL), SAP_STATUS_OK);
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[1], -dt * thrust / 2.0, 1e-8);
  ASSERT_NEAR(s.state.v[5], -dt * thrust * 0.1 / 0.5, 1e-8);
  simulation_step(&s, 999);
  // It turns by alpha t^2/2, alpha = -0.6; the thrust turns with it.
  ASSERT_NEAR(2.0 * asin(s.state.q[6]), -0.3, 1e-3);
  simulation_end(&s);
}

// Motors on a ball and on a free joint: moments and forces along their directions, in the body's
// axes or the parent's, which differ by a quarter turn about z.
static void test_ball_and_free(void** unused) {
  (void)unused;
  const double p[3] = {0.0, 0.0, 0.0}, dt = 1e-3, control = 2.0, inertia = 0.5, mass = 4.0;
  const double half = 0.70710678118654752;
  for (int k = 0; k < 4; ++k) {
    const bool in_parent = k % 2 == 1, is_free = k >= 2;
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    const int32_t body = simulation_body(builder, 0, mass, inertia, p);
    sap_actuator_def def = sap_actuator_def_default();
    def.target =
        simulation_joint(builder, body, is_free ? SAP_JOINT_FREE : SAP_JOINT_BALL, 0.0, 0.0, 1.0);
    def.gear = 1.5;
    def.in_parent = in_parent;
    def.direction[0] = 3.0;
    def.direction[is_free ? 4 : 1] = 5.0;
    assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    double* turned = s.state.q + (is_free ? 3 : 0);
    turned[0] = turned[3] = half;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    const double push = dt * 1.5 * control, spin = push / inertia;
    const double* w = s.state.v + (is_free ? 3 : 0);
    // The parent's x is the body's -y, its y the body's x.
    const double expected[2] = {in_parent ? 5.0
                                : is_free ? 0.0
                                          : 3.0,
                                in_parent ? (is_free ? 0.0 : -3.0) : 5.0};
    ASSERT_NEAR(w[0], spin * expected[0], 1e-9);
    ASSERT_NEAR(w[1], spin * expected[1], 1e-9);
    ASSERT_NEAR(is_free ? s.state.v[0] : 0.0, is_free ? push * 3.0 / mass : 0.0, 1e-9);
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pd_with_effort_limit), cmocka_unit_test(test_bound_within_step),
      cmocka_unit_test(test_near_rigid),           cmocka_unit_test(test_rest_under_load),
      cmocka_unit_test(test_effort_range),         cmocka_unit_test(test_tendon_transmission),
      cmocka_unit_test(test_site_servos),          cmocka_unit_test(test_thrust),
      cmocka_unit_test(test_motor_speed),          cmocka_unit_test(test_ball_and_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
