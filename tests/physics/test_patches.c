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

// A box that is let go tilted by 5 degrees comes to rest.
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rest),
  };
  return cmocka_run_group_tests_name("patches", tests, NULL, NULL);
}
