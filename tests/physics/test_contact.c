// SPDX-License-Identifier: BSD-3-Clause
// Bodies on the ground, limits, and collisions, against closed forms. A pushed body is a body under
// tilted gravity. The ground is rigid unless said, so that the body's stiffness is the pair's.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double none[3] = {0.0, 0.0, 0.0};

static sap_material material(double k, double tau_d, double mu) {
  return (sap_material){.stiffness = k, .relaxation_time = tau_d, .friction = mu};
}

static void add_ground(sap_builder* builder, double mu) {
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, material((double)INFINITY, 0.0, mu));
}

// A sphere that does not turn, on three slides.
static int32_t add_slider(sap_builder* builder, double mass, double radius, double z,
                          sap_material m) {
  const double p[3] = {0.0, 0.0, z}, size[3] = {radius, 0.0, 0.0};
  const int32_t body = simulation_body(builder, 0, mass, 1.0, p);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 1.0, 0.0);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, m);
  return body;
}

static int32_t add_free(sap_builder* builder, double mass, double inertia, const double p[3],
                        sap_shape_type type, const double size[3], sap_material m) {
  const int32_t body = simulation_body(builder, 0, mass, inertia, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, type, size, m);
  return body;
}

// m 10, g 10, k 1e4, mu .5, dt 1e-3, standing at its static penetration, pushed by `push` m g.
static simulation begin_standing(double push) {
  sap_builder* builder = simulation_builder(10.0 * push, 0.0, -10.0);
  add_ground(builder, 0.5);
  add_slider(builder, 10.0, 0.05, 0.05 - 100.0 / 1e4, material(1e4, 0.02, 0.5));
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
}

static void test_standing(void** state) {
  (void)state;
  simulation s = begin_standing(0.0);
  simulation_step(&s, 1);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 1);
  const sap_contact* c = sap_multibody_contacts(s.multibody);
  // phi = -.01 comes with eps of the radius and height: 1e-16/1e-2 of the force, twice
  ASSERT_NEAR(c->gamma[2] / (1e-3 * 100.0), 1.0, 4e-15);
  simulation_step(&s, 10);
  ASSERT_NEAR(sap_multibody_contacts(s.multibody)->gamma[2] / (1e-3 * 100.0), 1.0, 1e-13);
  simulation_end(&s);
}

static void test_pushed(void** state) {
  (void)state;
  simulation s = begin_standing(0.1 * 0.5);
  simulation_step(&s, 10);
  const sap_contact* c = sap_multibody_contacts(s.multibody);
  ASSERT_NEAR(hypot(c->gamma[0], c->gamma[1]) / (1e-3 * 5.0), 1.0, 1e-5);
  assert_true(s.state.v[0] < 1e-3 * 0.5 * 1e-3 * 10.0);  // creep: sigma mu dt g
  simulation_end(&s);
  s = begin_standing(0.5 + 0.05);
  simulation_step(&s, 10);
  c = sap_multibody_contacts(s.multibody);
  const double gamma_t = hypot(c->gamma[0], c->gamma[1]);
  ASSERT_NEAR(gamma_t, 0.5 * c->gamma[2], 4e-16 * gamma_t + 1e-17);
  assert_true(s.state.v[0] > 1e-3 * 0.5 * 1e-3 * 10.0);
  simulation_end(&s);
}

// m 1, limits 0 and .1, force -+10 N for 1 s: |q - limit| < 1100 dt^2, |v| < 1e-12.
static void test_prismatic_limit(void** state) {
  (void)state;
  const double steps[3] = {2.5e-4, 5e-4, 1e-3};
  for (int i = 0; i < 6; ++i) {
    const double dt = steps[i / 2], sign = i % 2 == 0 ? -1.0 : 1.0;
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    const int32_t body = simulation_body(builder, 0, 1.0, 1.0, none);
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_SLIDE;
    joint.body = body;
    joint.lower = 0.0;
    joint.upper = 0.1;
    sap_actuator_def motor = sap_actuator_def_default();
    assert_int_equal(sap_builder_add_joint(builder, &joint, &motor.target, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, dt);
    const double control = 10.0 * sign;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    s.state.q[0] = 0.05;
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    assert_true(fabs(s.state.q[0] - (sign < 0.0 ? 0.0 : 0.1)) < 1100.0 * dt * dt);
    assert_true(fabs(s.state.v[0]) < 1e-12);
    simulation_end(&s);
  }
}

// Convex contact glides: a body that slides at v wants to float (dt + tau_d) mu v above the ground,
// where there is no contact. It hops that high, and v lags by up to the mu g of one hop.
static double hop(double mu, double g, double dt, double v) {
  return mu * g * 2.0 * sqrt(2.0 * dt * mu * v / g);
}

static simulation begin_block(double gx, double gz, double mu, double dt) {
  const double half[3] = {0.1, 0.1, 0.1}, p[3] = {0.0, 0.0, 0.1 + gz / 4e6};
  sap_builder* builder = simulation_builder(gx, 0.0, gz);
  add_ground(builder, mu);
  add_free(builder, 1.0, 1.0 / 150.0, p, SAP_SHAPE_BOX, half, material(1e6, 0.0, mu));
  return simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, dt);
}

// A block thrown at v0 loses mu g dt a step and stops after v0^2/(2 mu g).
static void test_sliding_block(void** state) {
  (void)state;
  const double mu = 0.4, g = 9.81, v0 = 1.0, dt = 2.5e-4;
  simulation s = begin_block(0.0, -g, mu, dt);
  s.state.v[0] = v0;
  simulation_step(&s, 400);
  ASSERT_NEAR(s.state.v[0], v0 - mu * g * s.state.t, hop(mu, g, dt, v0));
  simulation_step(&s, 1200);
  ASSERT_NEAR(s.state.q[0], v0 * v0 / (2.0 * mu * g), 0.02 * v0 * v0 / (2.0 * mu * g));
  assert_true(fabs(s.state.v[0]) < 1e-3 * mu * g * dt);
  simulation_end(&s);
}

// Gravity tilted by a: holds iff tan a <= mu, else slides with g (sin a - mu cos a).
static void test_incline(void** state) {
  (void)state;
  const double mu = 0.5, g = 9.81, dt = 2.5e-4;
  const double angles[2] = {atan(mu) - 0.02, atan(mu) + 0.1};
  for (int i = 0; i < 2; ++i) {
    simulation s = begin_block(g * sin(angles[i]), -g * cos(angles[i]), mu, dt);
    simulation_step(&s, 2000);
    if (i == 0) {
      assert_true(fabs(s.state.v[0]) < 1e-3 * mu * dt * g);
    } else {
      const double expected = 0.5 * g * (sin(angles[i]) - mu * cos(angles[i]));
      ASSERT_NEAR(s.state.v[0], expected, hop(mu, g, dt, expected));
    }
    simulation_end(&s);
  }
}

// A sphere thrown without spin rolls with 5/7 v0 after 2 v0/(7 mu g).
static void test_slide_to_roll(void** state) {
  (void)state;
  const double mu = 0.3, g = 9.81, v0 = 2.0, r = 0.1, dt = 1e-4, size[3] = {0.1, 0.0, 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  add_ground(builder, mu);
  const double p[3] = {0.0, 0.0, r - g / 1e6};
  add_free(builder, 1.0, 0.4 * r * r, p, SAP_SHAPE_SPHERE, size, material(1e6, 1e-4, mu));
  simulation s = simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, dt);
  s.state.v[0] = v0;
  const double t_roll = 2.0 * v0 / (7.0 * mu * g);
  simulation_step(&s, (int32_t)(0.8 * t_roll / dt));
  ASSERT_NEAR(s.state.v[0], v0 - mu * g * s.state.t, 0.01 * v0);
  simulation_step(&s, (int32_t)(0.4 * t_roll / dt));
  ASSERT_NEAR(s.state.v[0], 5.0 / 7.0 * v0, 0.005 * v0);
  const double spin =
      sqrt(s.state.v[3] * s.state.v[3] + s.state.v[4] * s.state.v[4] + s.state.v[5] * s.state.v[5]);
  ASSERT_NEAR(spin * r, s.state.v[0], 1e-3 * v0);
  simulation_end(&s);
}

// 1 kg under 100 kg: ground 101 g dt, between them 100 g dt. Sorted by shapes: ground first.
static void test_stack_of_two(void** state) {
  (void)state;
  const double g = 9.81, dt = 0.01;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  add_ground(builder, 0.5);
  add_slider(builder, 1.0, 0.1, 0.1, material(1e8, 0.01, 0.5));
  add_slider(builder, 100.0, 0.1, 0.3, material(1e8, 0.01, 0.5));
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 300);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 2);
  const sap_contact* c = sap_multibody_contacts(s.multibody);
  ASSERT_NEAR(c[0].gamma[2], 101.0 * g * dt, 1e-5 * 101.0 * g * dt);
  ASSERT_NEAR(c[1].gamma[2], 100.0 * g * dt, 1e-5 * 100.0 * g * dt);
  simulation_end(&s);
}

// Five 1 kg boxes: 15 g dt over all contacts, 5 g dt at the ground.
static void test_stack_of_five(void** state) {
  (void)state;
  const double g = 9.81, dt = 0.01, half[3] = {0.1, 0.1, 0.1};
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  add_ground(builder, 0.5);
  for (int i = 0; i < 5; ++i) {
    const double p[3] = {0.0, 0.0, 0.1 + 0.2 * i};
    add_free(builder, 1.0, 1.0 / 150.0, p, SAP_SHAPE_BOX, half, material(1e7, 0.01, 0.5));
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 300);
  double sum = 0.0, ground = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s.multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s.multibody)[i];
    sum += c->gamma[2];
    ground += c->body_A == 0 ? c->gamma[2] : 0.0;
  }
  ASSERT_NEAR(sum, 15.0 * g * dt, 1e-4 * 15.0 * g * dt);
  ASSERT_NEAR(ground, 5.0 * g * dt, 1e-4 * 5.0 * g * dt);
  simulation_end(&s);
}

// Box of 1 kg, mu .5, pushed with 2 N: the tangential impulses sum up to F dt, |vx| < 1e-6.
static void test_box_pushed(void** state) {
  (void)state;
  const double dt = 5e-4, half[3] = {0.1, 0.1, 0.1};
  sap_builder* builder = simulation_builder(2.0, 0.0, -9.81);
  add_ground(builder, 0.5);
  const double p[3] = {0.0, 0.0, 0.1};
  add_free(builder, 1.0, 1.0 / 150.0, p, SAP_SHAPE_BOX, half, material(1e6, 0.01, 0.5));
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 2000);
  double sum[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < sap_multibody_contact_count(s.multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s.multibody)[i];
    for (int k = 0; k < 3; ++k) {
      sum[k] += c->R_WC[k] * c->gamma[0] + c->R_WC[3 + k] * c->gamma[1];
    }
  }
  ASSERT_NEAR(sum[0], -2.0 * dt, 1e-5 * 2.0 * dt);
  ASSERT_NEAR(sum[1], 0.0, 1e-5 * 2.0 * dt);
  assert_true(fabs(s.state.v[0]) < 1e-6);
  simulation_end(&s);
}

// Two spheres of unequal mass hit off centre, with friction: linear and angular momentum stay.
static void test_collision_keeps_momentum(void** state) {
  (void)state;
  const double a[3] = {0.0, 0.0, 0.0}, b[3] = {0.25, 0.08, -0.03}, size[3] = {0.1, 0.0, 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  add_free(builder, 1.0, 4e-3, a, SAP_SHAPE_SPHERE, size, material(1e5, 0.01, 0.8));
  add_free(builder, 3.0, 12e-3, b, SAP_SHAPE_SPHERE, size, material(1e5, 0.01, 0.8));
  simulation s = simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, 1e-3);
  const double v[6] = {2.0, 0.1, -0.2, 3.0, -5.0, 1.0};
  for (int i = 0; i < 6; ++i) {
    s.state.v[i] = v[i];
  }
  const sap_diagnostics before = simulation_diagnose(&s);
  int32_t touched = 0;
  for (int i = 0; i < 200; ++i) {
    simulation_step(&s, 1);
    touched += sap_multibody_contact_count(s.multibody);
  }
  const sap_diagnostics after = simulation_diagnose(&s);
  assert_true(touched > 3);
  assert_true(after.kinetic < 0.9 * before.kinetic);
  for (int k = 0; k < 3; ++k) {
    // the solver ends at a relative momentum error of 1e-12; gamma acts equal and opposite
    ASSERT_NEAR(after.linear_momentum[k], before.linear_momentum[k], 1e-10);
    ASSERT_NEAR(after.angular_momentum[k], before.angular_momentum[k], 1e-11);
  }
  simulation_end(&s);
}

// Joint friction below break-away: creep of at most sigma w dt tau_f; above: tau - tau_f drives.
static void test_joint_friction(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    const double force = i == 0 ? 0.9 : 1.5, dt = 1e-3;
    sap_builder* builder = simulation_builder(force, 0.0, 0.0);
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_SLIDE;
    joint.body = simulation_body(builder, 0, 1.0, 1.0, none);
    joint.axis[0] = 1.0;
    joint.axis[2] = 0.0;
    joint.friction_loss = 1.0;
    assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, 100);
    if (i == 0) {
      assert_true(s.state.v[0] > 0.0 && s.state.v[0] <= 1e-3 * dt * 1.0);
    } else {
      ASSERT_NEAR(s.state.v[0], 0.5 * 0.1, 1e-10);
    }
    simulation_end(&s);
  }
}

// A small ball hits a large one in the middle of a step, off its centre, both in motion: which of
// them comes first does not matter.
static void test_order_of_bodies(void** state) {
  (void)state;
  static const double radius[2] = {0.3, 0.02}, mass[2] = {20.0, 0.1};
  static const double place[2][3] = {{0.0, 0.0, 0.0}, {0.41, 0.1, 0.02}};
  static const double speed[2][3] = {{1.0, 0.5, 0.0}, {-30.0, 2.0, 0.0}};
  double v[2][12];
  for (int swapped = 0; swapped < 2; ++swapped) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    for (int i = 0; i < 2; ++i) {
      const int k = swapped ? 1 - i : i;
      const double size[3] = {radius[k]};
      const sap_material material = {.stiffness = 1e6, .relaxation_time = 1e-3, .friction = 0.5};
      const int32_t body =
          simulation_body(builder, 0, mass[k], 0.4 * mass[k] * radius[k] * radius[k], place[k]);
      (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
      simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
    for (int i = 0; i < 2; ++i) {
      memcpy(s.state.v + 6 * i, speed[swapped ? 1 - i : i], sizeof speed[0]);
    }
    simulation_step(&s, 1);
    for (int i = 0; i < 2; ++i) {
      memcpy(v[swapped] + 6 * (swapped ? 1 - i : i), s.state.v + 6 * i, 6 * sizeof(double));
    }
    simulation_end(&s);
  }
  assert_true(v[0][6] > -20.0 && fabs(v[0][11]) > 1.0);  // it bounced, and turns
  for (int i = 0; i < 12; ++i) {
    ASSERT_NEAR(v[0][i], v[1][i], 1e-5 * 30.0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_standing),        cmocka_unit_test(test_pushed),
      cmocka_unit_test(test_prismatic_limit), cmocka_unit_test(test_sliding_block),
      cmocka_unit_test(test_incline),         cmocka_unit_test(test_slide_to_roll),
      cmocka_unit_test(test_stack_of_two),    cmocka_unit_test(test_stack_of_five),
      cmocka_unit_test(test_box_pushed),      cmocka_unit_test(test_collision_keeps_momentum),
      cmocka_unit_test(test_joint_friction),  cmocka_unit_test(test_order_of_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
