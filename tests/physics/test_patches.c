// SPDX-License-Identifier: BSD-3-Clause
// Bodies on patches: rest, torsion, rolling, tipping, stacks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/ring_mesh.h"
#include "support/simulation.h"

static const double g = 9.81, mu = 0.5;

static sap_material material(double modulus, sap_contact_model model) {
  sap_material m = sap_material_default();
  m.modulus = modulus;
  m.model = model;
  m.friction = mu;
  m.stiffness = 0.0;
  return m;
}

static void add_shape(sap_builder* builder, int32_t body, sap_shape_type type, const double size[3],
                      const sap_material* m) {
  sap_shape_def def = sap_shape_def_default();
  def.type = type;
  def.body = body;
  memcpy(def.size, size, sizeof def.size);
  def.material = *m;
  assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
}

// Adds a free body of one shape.
static int32_t add_body(sap_builder* builder, sap_shape_type type, const double size[3],
                        double mass, const double inertia[3], const double p[3],
                        const sap_material* m) {
  sap_body_def def = sap_body_def_default();
  int32_t body = -1;
  def.mass = mass;
  memcpy(def.p_PB, p, sizeof def.p_PB);
  memcpy(def.I_BCo_B, inertia, 3 * sizeof(double));
  assert_int_equal(sap_builder_add_body(builder, &def, &body, NULL), SAP_STATUS_OK);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  add_shape(builder, body, type, size, m);
  return body;
}

static void box_inertia(double mass, const double h[3], double inertia[3]) {
  for (int k = 0; k < 3; ++k) {
    const double a = h[(k + 1) % 3], b = h[(k + 2) % 3];
    inertia[k] = mass / 3.0 * (a * a + b * b);
  }
}

static sap_builder* on_ground(double gravity, const sap_material* m) {
  static const double none[3] = {0.0, 0.0, 0.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -gravity);
  sap_material ground = *m;
  ground.modulus = 0.0;
  add_shape(builder, 0, SAP_SHAPE_PLANE, none, &ground);
  return builder;
}

static double fastest(const simulation* s) {
  double most = 0.0;
  for (int i = 0; i < s->state.nv; ++i) {
    most = fmax(most, fabs(s->state.v[i]));
  }
  return most;
}

// A box released at a tilt of 5 degrees comes to rest: patches are found before they touch, also that
// of the edge that comes down last.
static void test_rest(void** state) {
  (void)state;
  static const double h[3] = {0.06, 0.04, 0.05}, steps[4] = {1e-3, 5e-3, 1e-2, 2e-2};
  for (int i = 0; i < 16; ++i) {
    const double dt = steps[i % 4], E = i / 4 % 2 == 0 ? 1e5 : 1e7;
    const sap_contact_model model = i < 8 ? SAP_CONTACT_LAGGED : SAP_CONTACT_SAP;
    const sap_material m = material(E, model);
    sap_builder* builder = on_ground(g, &m);
    double inertia[3];
    box_inertia(1.0, h, inertia);
    add_body(builder, SAP_SHAPE_BOX, h, 1.0, inertia, (double[3]){0.0, 0.0, 0.055}, &m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[3] = cos(0.0436);
    s.state.q[4] = sin(0.0436);
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    const sap_contact* c = sap_multibody_contacts(s.multibody);
    double force = 0.0;
    for (int k = 0; k < c->patch; ++k) {
      force += c[k].gamma[2] / dt;
    }
    assert_int_equal(sap_multibody_contact_count(s.multibody), 5);
    assert_int_equal(c->patch, 5);
    ASSERT_NEAR(c->area, 4.0 * h[0] * h[1], 1e-6);
    ASSERT_NEAR(fastest(&s), 0.0, 1e-6);  // 1e-7 where the step resolves the field's damping
    ASSERT_NEAR(force, g, 1e-7);
    simulation_end(&s);
  }
}

// A spinning disc stops after 3 R w/(4 mu g): the torsion of a uniform pressure is 2/3 mu F R.
static void test_spinning(void** state) {
  (void)state;
  static const double size[3] = {0.05, 0.02, 0.0}, steps[3] = {1e-3, 5e-3, 1e-2};
  for (int i = 0; i < 3; ++i) {
    const double R = size[0], dt = steps[i], w0 = 20.0, t = 0.1;
    const sap_material m = material(1e7, SAP_CONTACT_LAGGED);
    sap_builder* builder = on_ground(g, &m);
    add_body(builder, SAP_SHAPE_CYLINDER, size, 1.0, (double[3]){1e-3, 1e-3, 0.5 * R * R},
             (double[3]){0.0, 0.0, 0.02 - 2e-6}, &m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, (int32_t)lround(0.02 / dt));  // settles
    s.state.v[5] = w0;
    simulation_step(&s, (int32_t)lround(t / dt));
    ASSERT_NEAR((w0 - s.state.v[5]) / t, 4.0 * mu * g / (3.0 * R), 5e-3 * w0 / t);
    simulation_step(&s, (int32_t)lround(0.06 / dt));
    ASSERT_NEAR(s.state.v[5], 0.0, 1e-3 * w0);
    simulation_end(&s);
  }
}

// A ball spins on a round patch of radius a with the pressure p0 (1 - r^2/a^2), whose torsion is
// mu F 8 a/15.
static void test_spinning_ball(void** state) {
  (void)state;
  static const double size[3] = {0.05, 0.0, 0.0};
  const double inertia = 0.4 * size[0] * size[0], dt = 1e-3, w0 = 20.0, t = 0.1;
  const sap_material m = material(1e6, SAP_CONTACT_LAGGED);
  sap_builder* builder = on_ground(g, &m);
  add_body(builder, SAP_SHAPE_SPHERE, size, 1.0, (double[3]){inertia, inertia, inertia},
           (double[3]){0.0, 0.0, 0.0495}, &m);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 500);  // settles
  s.state.v[5] = w0;
  simulation_step(&s, (int32_t)lround(t / dt));
  const double a = sqrt(sap_multibody_contacts(s.multibody)->area / 3.14159265358979);
  ASSERT_NEAR((w0 - s.state.v[5]) / t * inertia / (mu * g * 8.0 * a / 15.0), 1.0, 5e-3);
  simulation_end(&s);
}

// A rolling ball and a rolling cylinder keep their speed.
static void test_rolling(void** state) {
  (void)state;
  static const double size[3] = {0.05, 0.04, 0.0};
  for (int i = 0; i < 8; ++i) {
    const bool ball = i % 2 == 0;
    const double R = size[0], dt = i / 2 % 2 == 0 ? 1e-3 : 1e-2, E = i < 4 ? 1e5 : 1e7;
    const sap_material m = material(E, SAP_CONTACT_LAGGED);
    sap_builder* builder = on_ground(g, &m);
    const double inertia = (ball ? 0.4 : 0.5) * R * R;
    add_body(builder, ball ? SAP_SHAPE_SPHERE : SAP_SHAPE_CYLINDER, size, 1.0,
             (double[3]){inertia, inertia, inertia}, (double[3]){0.0, 0.0, R}, &m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[3] = s.state.q[4] = ball ? s.state.q[3] : sqrt(0.5);
    s.state.v[0] = 1.0;
    s.state.v[ball ? 4 : 5] = (ball ? 1.0 : -1.0) / R;
    simulation_step(&s, (int32_t)lround(0.5 / dt));
    const double v = s.state.v[0];
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    ASSERT_NEAR((v - s.state.v[0]) / g, 0.0, 1e-6);  // g; 2e-7 while it settles
    simulation_end(&s);
  }
}

// Largest tilt after a push at the height z_p for 3 s, as a part of the rigid tipping load.
static double push(double part, double E, double dt) {
  static const double h[3] = {0.04, 0.04, 0.05};
  const double mass = 1.0, z_p = 0.08, load = part * mass * g * h[0] / z_p;
  sap_material m = material(E, SAP_CONTACT_LAGGED);
  m.friction = 1.0;
  sap_builder* builder = on_ground(g, &m);
  double inertia[3];
  box_inertia(mass, h, inertia);
  add_body(builder, SAP_SHAPE_BOX, h, mass, inertia, (double[3]){0.0, 0.0, 0.05}, &m);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  double most = 0.0;
  for (int k = 0; k < (int)lround(4.0 / dt) && most < 0.1; ++k) {
    const double now = load * fmin(1.0, k * dt / 1.5);  // grows in 1.5 s
    const double tau[6] = {now, 0.0, 0.0, 0.0, now * (z_p - s.state.q[2]), 0.0};
    assert_int_equal(sap_multibody_set_applied_forces(s.multibody, tau, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    most = fmax(most, 2.0 * fabs(s.state.q[5]));
  }
  simulation_end(&s);
  return most;
}

// The face rests on a wedge of pressure of the width x and leans by th, so that it tips before a
// rigid one does: P = m g max over th of (w/2 - x/3 - h th)/z_p with x = sqrt(2 m g/(kappa l th)).
static void test_tipping(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    const double E = i == 0 ? 1e7 : 1e8, w = 0.08, h = 0.05;
    const double a = sqrt(2.0 * g / (E / 0.04 * w)) / 3.0, th = pow(a / (2.0 * h), 2.0 / 3.0);
    const double part = 1.0 - (a / sqrt(th) + h * th) / (0.5 * w);
    assert_true(push(0.985 * part, E, 0.01) < 0.05);
    assert_true(push(1.01 * part, E, 0.01) > 0.05);
  }
}

// Ten cubes, turned and shifted against each other, stand at 20 ms.
static void test_stack(void** state) {
  (void)state;
  static const double h[3] = {0.05, 0.05, 0.05};
  const sap_material m = material(1e7, SAP_CONTACT_LAGGED);
  sap_builder* builder = on_ground(g, &m);
  double inertia[3], middle[70];
  box_inertia(1.0, h, inertia);
  for (int i = 0; i < 10; ++i) {
    const double p[3] = {0.005 * cos(2.3 * i), 0.005 * sin(1.7 * i), 0.05 + 0.1 * i};
    add_body(builder, SAP_SHAPE_BOX, h, 1.0, inertia, p, &m);
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.02);
  for (int i = 0; i < 10; ++i) {
    const double turn = 0.1 * sin(3.1 * i);
    s.state.q[7 * i + 3] = cos(turn);
    s.state.q[7 * i + 6] = sin(turn);
  }
  simulation_step(&s, 150);
  memcpy(middle, s.state.q, sizeof middle);
  simulation_step(&s, 150);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 50);
  for (int i = 0; i < 10; ++i) {
    ASSERT_NEAR(hypot(s.state.q[7 * i] - middle[7 * i], s.state.q[7 * i + 1] - middle[7 * i + 1]),
                0.0, 2e-4);
    ASSERT_NEAR(s.state.q[7 * i + 2], 0.05 + 0.1 * i, 2e-3);
  }
  simulation_end(&s);
}

// A box and a ball that fall are caught in the step in which they touch, not one later: the depth is
// far below the way of a step, and they do not bounce above the height where they began.
static void test_landing(void** state) {
  (void)state;
  static const double h[3] = {0.05, 0.05, 0.05}, dt = 0.01;
  for (int i = 0; i < 24; ++i) {
    const bool ball = i % 2 == 1;
    const sap_material m = material(1e7, SAP_CONTACT_LAGGED);
    sap_builder* builder = on_ground(g, &m);
    double inertia[3], deepest = 0.0;
    box_inertia(1.0, h, inertia);
    add_body(builder, ball ? SAP_SHAPE_SPHERE : SAP_SHAPE_BOX, h, 1.0, inertia,
             (double[3]){0.0, 0.0, 0.15 + 0.003 * i}, &m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    double bounce = 0.0;
    for (int k = 0; k < 100; ++k) {
      simulation_step(&s, 1);
      deepest = fmax(deepest, 0.05 - s.state.q[2]);
      bounce = fmax(bounce, s.state.v[2]);
    }
    assert_true(deepest < (ball ? 1.5e-3 : 1e-4));  // a step's way is 14 to 18 mm
    assert_true(bounce < 0.05);                     // 1/d of Hunt and Crossley
    ASSERT_NEAR(s.state.v[2], 0.0, 1e-6);
    simulation_end(&s);
  }
}

static const double peg[3] = {0.01, 0.01, 0.03}, clearance = 1e-4;  // [m]

// Lets a tilted peg of the material fall into the hole of the builder's world, and slide.
static void check_peg(sap_builder* builder, const sap_material* m, double tilt) {
  double inertia[3], up = 0.0, side = 0.0;
  box_inertia(0.1, peg, inertia);
  add_body(builder, SAP_SHAPE_BOX, peg, 0.1, inertia, (double[3]){4e-5, -3e-5, 0.075}, m);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.005);
  s.state.q[3] = cos(0.5 * tilt);
  s.state.q[5] = sin(0.5 * tilt);
  for (int k = 0; k < 200; ++k) {
    simulation_step(&s, 1);
    up = fmax(up, s.state.v[2]);
    side = k > 20 ? fmax(side, hypot(s.state.v[0], s.state.v[1])) : side;
  }
  assert_true(up < 0.05);    // 1/d of Hunt and Crossley, where it lands at 0.9 m/s
  assert_true(side < 4e-3);  // the clearance in a step: 0.02 m/s
  ASSERT_NEAR(fastest(&s), 0.0, 1e-6);
  ASSERT_NEAR(s.state.q[2], peg[2], 4.0 * 0.1 * g / (m->modulus / peg[0] * 4.0 * peg[0] * peg[1]));
  simulation_end(&s);
}

// A peg with 0.1 mm of clearance, tilted and off centre, falls into a hole of four boxes: several
// normals are several pairs. It slides in without chatter, and rests on the ground.
static void test_peg(void** state) {
  (void)state;
  static const double wall = 0.02;
  for (int i = 0; i < 4; ++i) {
    const double E = i % 2 == 0 ? 1e6 : 1e7, tilt = i < 2 ? 1e-3 : 2e-3;
    sap_material m = material(E, SAP_CONTACT_LAGGED), rigid = m;
    m.friction = rigid.friction = 0.2;
    rigid.modulus = 0.0;
    sap_builder* builder = on_ground(g, &m);
    for (int k = 0; k < 4; ++k) {
      sap_shape_def def = sap_shape_def_default();
      const double size[3] = {wall, wall, 0.04};
      def.type = SAP_SHAPE_BOX;
      def.material = rigid;
      memcpy(def.size, size, sizeof def.size);
      def.size[k % 2 == 0 ? 1 : 0] = 2.0 * wall;
      def.p_BS[k % 2] = (k < 2 ? 1.0 : -1.0) * (peg[0] + clearance + wall);
      def.p_BS[2] = 0.04;
      assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
    check_peg(builder, &m, tilt);
  }
}

// The same in one mesh with a hole, which is one pair; with a floor it is all that the peg touches.
static void test_peg_in_mesh(void** state) {
  (void)state;
  for (int i = 0; i < 8; ++i) {
    const double E = i % 2 == 0 ? 1e6 : 1e7, tilt = i / 2 % 2 == 0 ? 1e-3 : 2e-3;
    sap_material m = material(E, SAP_CONTACT_LAGGED), rigid = m;
    m.friction = rigid.friction = 0.2;
    rigid.modulus = 0.0;
    sap_builder* builder = i < 4 ? on_ground(g, &m) : simulation_builder(0.0, 0.0, -g);
    double vertices[3 * RING_VERTICES];
    int32_t faces[3 * RING_FACES];
    sap_mesh_def mesh = sap_mesh_def_default();
    const double floor = i / 4 == 0 ? 0.0 : 0.01, top = 0.08;
    mesh.face_count =
        ring_mesh(0.05, peg[0] + clearance, 0.5 * (top + floor), floor, vertices, faces);
    mesh.vertex_count = RING_VERTICES;
    mesh.vertices = vertices;
    mesh.faces = faces;
    sap_shape_def def = sap_shape_def_default();
    assert_int_equal(sap_builder_add_mesh(builder, &mesh, &def.mesh, NULL), SAP_STATUS_OK);
    def.type = SAP_SHAPE_MESH;
    def.material = rigid;
    def.p_BS[2] = 0.5 * (top - floor);
    assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
    check_peg(builder, &m, tilt);
  }
}

// A soft rod through a rigid plate is held across its axis by the friction of two sheets, whose
// forces along the axis cancel.
static void test_rod(void** state) {
  (void)state;
  static const double h[3] = {0.01, 0.01, 0.05}, plate[3] = {0.05, 0.05, 0.01}, dt = 0.005;
  for (int i = 0; i < 4; ++i) {
    const sap_material m = material(i % 2 == 0 ? 1e5 : 1e6, SAP_CONTACT_LAGGED);
    sap_material stiff = m;
    stiff.modulus = 0.0;
    sap_builder* builder = simulation_builder(0.6 * g, -0.8 * g, 0.0);
    add_shape(builder, 0, SAP_SHAPE_BOX, plate, &stiff);
    double inertia[3];
    box_inertia(0.1, h, inertia);
    add_body(builder, SAP_SHAPE_BOX, h, 0.1, inertia, (double[3]){0.001, 0.002, 0.003}, &m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[3] = cos(0.05 * (i / 2));
    s.state.q[4] = sin(0.05 * (i / 2));
    simulation_step(&s, 200);
    assert_in_range(sap_multibody_contact_count(s.multibody), 2, 10);
    ASSERT_NEAR(s.state.q[0], 0.001, 1e-4);
    ASSERT_NEAR(s.state.q[1], 0.002, 1e-4);
    ASSERT_NEAR(fastest(&s), 0.0, 5e-3);  // creeps: 1e-4 m/s over 0.01 m are 0.01 rad/s
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rest),          cmocka_unit_test(test_spinning),
      cmocka_unit_test(test_spinning_ball), cmocka_unit_test(test_rolling),
      cmocka_unit_test(test_tipping),       cmocka_unit_test(test_stack),
      cmocka_unit_test(test_landing),       cmocka_unit_test(test_peg),
      cmocka_unit_test(test_rod),           cmocka_unit_test(test_peg_in_mesh),
  };
  return cmocka_run_group_tests_name("patches", tests, NULL, NULL);
}
