// SPDX-License-Identifier: BSD-3-Clause
// Spin and rolling friction, anisotropic friction and belts against closed forms. The ground is
// rigid, so that the body's stiffness is the pair's; bodies begin at their static penetration.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/near.h"
#include "support/simulation.h"

static const double g = 10.0, mass = 2.0, radius = 0.1, stiffness = 1e5, dt = 1e-3, tau_d = 0.005;

// Properties of a shape against a sphere or plane of friction mu.
typedef struct surface {
  int32_t condim;
  double mu, torsional, rolling;
  double belt[3], turntable[3];
} surface;

static int32_t add_shape(sap_builder* builder, int32_t body, sap_shape_type type,
                         const surface* s) {
  sap_shape_def def = sap_shape_def_default();
  int32_t id = -1;
  def.type = type;
  def.body = body;
  def.size[0] = radius;
  def.size[1] = def.size[2] = radius;
  def.condim = s->condim;
  def.material = (sap_material){.stiffness = body == 0 ? (double)INFINITY : stiffness,
                                .relaxation_time = tau_d,
                                .friction = s->mu};
  def.margin = 0.02;
  def.friction_torsional = s->torsional;
  def.friction_rolling = s->rolling;
  memcpy(def.surface_velocity, s->belt, sizeof s->belt);
  memcpy(def.surface_rotation, s->turntable, sizeof s->turntable);
  assert_int_equal(sap_builder_add_shape(builder, &def, &id, NULL), SAP_STATUS_OK);
  return id;
}

static double inertia(void) {
  return 0.4 * mass * radius * radius;
}

// A free body on ground that is a belt, maybe.
static simulation begin(sap_shape_type type, const surface* s, const surface* ground,
                        double gravity) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -gravity);
  add_shape(builder, 0, SAP_SHAPE_PLANE, ground);
  const double corners = type == SAP_SHAPE_BOX ? 4.0 : 1.0;
  const double p[3] = {0.0, 0.0, radius - mass * gravity / (corners * stiffness)};
  const int32_t body = simulation_body(builder, 0, mass, inertia(), p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  add_shape(builder, body, type, s);
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
}

// A sphere turning about the vertical loses mu_s m g/I of its rate and stops.
static void test_spinning(void** state) {
  (void)state;
  const surface s = {.condim = 4, .mu = 0.5, .torsional = 0.004};
  for (int sign = -1; sign <= 1; sign += 2) {
    simulation a = begin(SAP_SHAPE_SPHERE, &s, &s, g);
    const double rate = s.torsional * mass * g / inertia(), w0 = sign * 4.0;
    a.state.v[5] = w0;
    simulation_step(&a, 1);
    // fast spin lifts the contact a little (the convex model): from then on the load is m g
    simulation_step(&a, 99);
    const double w1 = a.state.v[5];
    simulation_step(&a, 100);
    ASSERT_NEAR((w1 - a.state.v[5]) / (0.1 * rate), sign, 1e-4);
    const sap_contact* c = sap_multibody_contacts(a.multibody);
    ASSERT_NEAR(c->gamma[3], -sign * s.torsional * c->gamma[2], 1e-12);
    ASSERT_NEAR(c->vc[3], a.state.v[5], 1e-12);
    ASSERT_NEAR(c->friction[2], s.torsional, 0.0);
    simulation_step(&a, 1000);
    // at rest: creep below sigma w mu^2/mu_s^2 of the impulse, far below a step's loss
    ASSERT_NEAR(a.state.v[5], 0.0, 1e-9);
    simulation_end(&a);
  }
}

// condim 3, or no normal force: the spin lasts.
static void test_spin_is_kept(void** state) {
  (void)state;
  const surface three = {.condim = 3, .mu = 0.5, .torsional = 0.004};
  const surface four = {.condim = 4, .mu = 0.5, .torsional = 0.004};
  simulation a = begin(SAP_SHAPE_SPHERE, &three, &three, g);
  simulation b = begin(SAP_SHAPE_SPHERE, &four, &four, 0.0);
  a.state.v[5] = b.state.v[5] = 4.0;
  b.state.q[2] += 1e-3;  // seen within the margin, above where spin glides
  simulation_step(&a, 300);
  simulation_step(&b, 300);
  ASSERT_NEAR(a.state.v[5], 4.0, 1e-10);
  ASSERT_NEAR(b.state.v[5], 4.0, 1e-10);
  assert_int_equal(sap_multibody_contact_count(b.multibody), 1);
  ASSERT_NEAR(sap_multibody_contacts(b.multibody)->gamma[2], 0.0, 0.0);
  simulation_end(&a);
  simulation_end(&b);
}

// A rolling sphere: F at the point and the moment T = mu_r N hold it back,
//   m a = F,  I a/r = T - F r:  a = T r/(I + m r^2)
// to first order in F/(mu N), whose square the cone subtracts from T's share.
static void test_rolling(void** state) {
  (void)state;
  const surface s = {.condim = 6, .mu = 1.0, .torsional = 0.004, .rolling = 0.0005};
  simulation a = begin(SAP_SHAPE_SPHERE, &s, &s, g);
  const double arm = radius - mass * g / stiffness;  // the point lies on the rigid ground
  const double N = mass * g, v0 = 0.3, turn = inertia() + mass * arm * arm;
  double T = s.rolling * N, F = 0.0;
  for (int i = 0; i < 10; ++i) {
    F = mass * T * arm / turn;
    T = s.rolling * N * sqrt(1.0 - pow(F / (s.mu * N), 2.0));
  }
  const double deceleration = T * arm / turn;
  a.state.v[0] = v0;
  a.state.v[4] = v0 / arm;
  simulation_step(&a, 200);
  const double v1 = a.state.v[0];
  assert_true(v1 < v0);
  simulation_step(&a, 500);
  ASSERT_NEAR((v1 - a.state.v[0]) / (0.5 * deceleration), 1.0, 1e-3);
  const sap_contact* c = sap_multibody_contacts(a.multibody);
  assert_true(hypot(c->gamma[4], c->gamma[5]) <= s.rolling * c->gamma[2] * (1.0 + 1e-12));
  // stops and stays
  simulation_step(&a, (int32_t)(v0 / deceleration / dt));
  ASSERT_NEAR(a.state.v[0], 0.0, 1e-6);
  const double x = a.state.q[0];
  simulation_step(&a, 1000);
  ASSERT_NEAR(a.state.q[0], x, 1e-6);
  simulation_end(&a);
}

// A pair with mu_1 along y and mu_2 along x: a sphere that may not turn, pushed by its speed.
static void test_anisotropic(void** state) {
  (void)state;
  for (int along_x = 0; along_x < 2; ++along_x) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    const surface s = {.condim = 3, .mu = 0.9};
    sap_pair_def pair = sap_pair_def_default();
    pair.shape_a = add_shape(builder, 0, SAP_SHAPE_PLANE, &s);
    const double p[3] = {0.0, 0.0, radius - mass * g / stiffness};
    const int32_t body = simulation_body(builder, 0, mass, 1.0, p);
    simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
    simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 1.0, 0.0);
    simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
    pair.shape_b = add_shape(builder, body, SAP_SHAPE_SPHERE, &s);
    pair.material =
        (sap_material){.stiffness = stiffness, .relaxation_time = tau_d, .friction = 0.4};
    pair.friction_t2 = 0.0;
    assert_int_equal(sap_builder_add_pair(builder, &pair, NULL, NULL), SAP_STATUS_OK);
    simulation a = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    a.state.v[along_x ? 0 : 1] = 1.0;
    simulation_step(&a, 50);
    const double v1 = a.state.v[along_x ? 0 : 1];
    simulation_step(&a, 100);
    // t1 is the world's y: 0.4 m g there, nothing along x
    ASSERT_NEAR(v1 - a.state.v[along_x ? 0 : 1], along_x ? 0.0 : 0.4 * g * 0.1, 1e-3);
    ASSERT_NEAR(a.state.v[along_x ? 1 : 0], 0.0, 1e-12);
    const sap_contact* c = sap_multibody_contacts(a.multibody);
    ASSERT_NEAR(hypot(c->vc[0], c->vc[1]), a.state.v[along_x ? 0 : 1], 1e-12);
    ASSERT_NEAR(c->R[1], 0.0, 0.0);  // no friction along t2
    double n[3];
    sap_v3_cross(n, c->R_WC, c->R_WC + 3);
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(n[i], c->R_WC[6 + i], 1e-15);
    }
    simulation_end(&a);
  }
}

// A box on a belt: mu m g while it slips, then the belt's speed.
static void test_belt(void** state) {
  (void)state;
  const surface box = {.condim = 3, .mu = 0.5};
  const surface belt = {.condim = 3, .mu = 0.5, .belt = {3.0, 0.0, 0.7}};  // z plays no part
  simulation a = begin(SAP_SHAPE_BOX, &box, &belt, g);
  simulation_step(&a, 300);
  const double v1 = a.state.v[0];
  simulation_step(&a, 100);
  ASSERT_NEAR((a.state.v[0] - v1) / (0.5 * g * 0.1), 1.0, 1e-2);  // it rocks a little
  const sap_contact* c = sap_multibody_contacts(a.multibody);
  ASSERT_NEAR(c->vc[0] * c->R_WC[0] + c->vc[1] * c->R_WC[3], a.state.v[0] - 3.0, 2e-2);
  simulation_step(&a, 600);
  ASSERT_NEAR(a.state.v[0], 3.0, 1e-6);  // sticks to the belt
  ASSERT_NEAR(a.state.v[1], 0.0, 1e-9);
  simulation_end(&a);
}

// A box in the middle of a turntable turns with it; a sphere with spin friction does, too.
static void test_turntable(void** state) {
  (void)state;
  const surface box = {.condim = 3, .mu = 0.5},
                table = {.condim = 3, .mu = 0.5, .turntable = {0, 0, 2.0}};
  const surface sphere = {.condim = 4, .mu = 0.5, .torsional = 0.01};
  simulation a = begin(SAP_SHAPE_BOX, &box, &table, g);
  simulation_step(&a, 1000);
  ASSERT_NEAR(a.state.v[5], 2.0, 1e-6);
  simulation_end(&a);
  surface turning = sphere;
  turning.turntable[2] = 2.0;
  simulation b = begin(SAP_SHAPE_SPHERE, &sphere, &turning, g);
  simulation_step(&b, 1000);
  ASSERT_NEAR(b.state.v[5], 2.0, 1e-6);
  simulation_end(&b);
}

// The same bits from run to run.
static void test_reproducible(void** state) {
  (void)state;
  const surface s = {.condim = 6, .mu = 0.7, .torsional = 0.01, .rolling = 0.001};
  double v[2][6];
  for (int run = 0; run < 2; ++run) {
    simulation a = begin(SAP_SHAPE_BOX, &s, &s, g);
    a.state.v[0] = 1.0;
    a.state.v[3] = 2.0;
    a.state.v[5] = 9.0;
    simulation_step(&a, 300);
    memcpy(v[run], a.state.v, sizeof v[run]);
    simulation_end(&a);
  }
  assert_memory_equal(v[0], v[1], sizeof v[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spinning),     cmocka_unit_test(test_spin_is_kept),
      cmocka_unit_test(test_rolling),      cmocka_unit_test(test_anisotropic),
      cmocka_unit_test(test_belt),         cmocka_unit_test(test_turntable),
      cmocka_unit_test(test_reproducible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
