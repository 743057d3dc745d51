// SPDX-License-Identifier: BSD-3-Clause
// Similar and lagged contacts in motion, against closed forms and an integration of their own.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double none[3] = {0.0, 0.0, 0.0};
static const double half[3] = {0.1, 0.1, 0.1};
static const double g = 9.81;

static sap_material material(sap_contact_model model, double k, double mu) {
  sap_material m = sap_material_default();
  m.model = model;
  m.stiffness = k;
  m.friction = mu;
  return m;
}

static void add_ground(sap_builder* builder, double mu) {
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none,
                   material(SAP_CONTACT_SAP, (double)INFINITY, mu));
}

static int32_t add_free(sap_builder* builder, double mass, double inertia, double z,
                        sap_shape_type type, const double* size, sap_material m) {
  const double p[3] = {0.0, 0.0, z};
  const int32_t body = simulation_body(builder, 0, mass, inertia, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, type, size, m);
  return body;
}

// A box of 1 kg at its static penetration m g/(4 k), gravity tilted by `angle` in x.
static simulation begin_block(sap_material m, double angle, double dt) {
  sap_builder* builder = simulation_builder(g * sin(angle), 0.0, -g * cos(angle));
  add_ground(builder, m.friction);
  add_free(builder, 1.0, 1.0 / 150.0, 0.1 - g * cos(angle) / (4.0 * m.stiffness), SAP_SHAPE_BOX,
           half, m);
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
}

// At rest, then with v0 in x: vertical motion that is left is none of the slide's.
static simulation begin_slide(sap_material m, double dt, double v0) {
  simulation s = begin_block(m, 0.0, dt);
  simulation_step(&s, 200);
  s.state.v[0] = v0;
  return s;
}

// 3 m/s at once, dt 2 ms. Lagged: no launch, v_k = v0 - mu g dt k to 1e-4, rest after v0^2/(2 mu g)
// (the step that ends the slide takes mu g dt^2 k: first order). SAP stays down.
static void test_sudden_slide(void** state) {
  (void)state;
  const double mu = 0.5, dt = 2e-3, v0 = 3.0;
  const double stiffness[3] = {1e5, 1e6, 1e12};
  for (int i = 0; i < 3; ++i) {
    simulation s = begin_slide(material(SAP_CONTACT_LAGGED, stiffness[i], mu), dt, v0);
    const double z0 = s.state.q[2], x0 = s.state.q[0];
    const int32_t last = (int32_t)(v0 / (mu * g * dt));
    for (int32_t k = 1; k <= last; ++k) {
      simulation_step(&s, 1);
      assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
      ASSERT_NEAR(s.state.v[0], v0 - mu * g * dt * k, 1e-4);
      ASSERT_NEAR(s.state.q[2], z0, 1e-6);
    }
    simulation_step(&s, 100);
    const double way = v0 * v0 / (2.0 * mu * g);
    ASSERT_NEAR(s.state.q[0] - x0, way, v0 * dt);
    assert_true(fabs(s.state.v[0]) < 1e-7);
    simulation_end(&s);
  }
  // Neither does SAP's cone: it stays pressed down by 2 m g/k at most, where castro's throws it up by
  // centimetres.
  simulation s = begin_slide(material(SAP_CONTACT_SAP, 1e6, mu), dt, v0);
  const double x0 = s.state.q[0];
  for (int32_t k = 0; k < 400; ++k) {
    simulation_step(&s, 1);
    ASSERT_NEAR(s.state.q[2], 0.1 - g / 1e6, g / 1e6);
  }
  ASSERT_NEAR(s.state.q[0] - x0, v0 * v0 / (2.0 * mu * g) - 0.5 * v0 * dt, 1e-4);
  simulation_end(&s);
}

// Similar contacts do not glide at dt mu v, but rest where their weight presses them.
static void test_similar_stays_down(void** state) {
  (void)state;
  const double mu = 0.5, dt = 2e-3, push = 0.3;
  sap_builder* builder = simulation_builder((mu + push) * g, 0.0, -g);
  add_ground(builder, mu);
  const double p[3] = {0.0, 0.0, 0.1 - g / 4e6};
  const int32_t body = simulation_body(builder, 0, 1.0, 1.0, p);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, half, material(SAP_CONTACT_SIMILAR, 1e6, mu));
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  for (int32_t k = 1; k <= 500; ++k) {
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
    double normal = 0.0;
    const sap_contact* c = sap_multibody_contacts(s.multibody);
    for (int32_t j = 0; j < 4; ++j) {
      normal += c[j].gamma[2];
    }
    if (k > 50) {
      ASSERT_NEAR(normal / (dt * g), 1.0, 1e-3);
      ASSERT_NEAR(s.state.q[1] - g / 4e6, -g / 1e6, g / 1e6);
    }
  }
  assert_true(s.state.v[0] > 2.9);
  simulation_end(&s);
}

// Holds iff tan a <= mu, creeping with less than v_s; else slides with g (sin a - mu cos a).
static void test_incline(void** state) {
  (void)state;
  const double mu = 0.5, v_s = 1e-4;
  for (int i = 0; i < 8; ++i) {
    const sap_contact_model model = i % 2 == 0 ? SAP_CONTACT_SIMILAR : SAP_CONTACT_LAGGED;
    const double angle = atan(mu) + (i < 4 ? -0.02 : 0.1), dt = i / 2 % 2 == 0 ? 1e-3 : 1e-2;
    simulation s = begin_block(material(model, 1e6, mu), angle, dt);
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    if (i < 4) {
      assert_true(s.state.v[0] > 0.0 && s.state.v[0] < v_s);
      // |f_t|/(mu f_n) of v_s
      ASSERT_NEAR(s.state.v[0], v_s * tan(angle) / mu, 1e-3 * v_s);
    } else {
      const double expected = g * (sin(angle) - mu * cos(angle));
      // the delay of n0, and half a hop of the similar model
      ASSERT_NEAR(s.state.v[0], expected, 0.3 * dt * expected + 2e-6);
    }
    simulation_end(&s);
  }
}

// A sphere (2/5) and a cylinder (1/2) thrown without spin roll with 5/7 and 2/3 v0.
static void test_slide_to_roll(void** state) {
  (void)state;
  const double mu = 0.3, v0 = 2.0, r = 0.1, dt = 1e-3;
  for (int i = 0; i < 4; ++i) {
    const bool sphere = i < 2;
    const double shape = sphere ? 0.4 : 0.5, size[3] = {r, r, r};
    const sap_contact_model model = i % 2 == 0 ? SAP_CONTACT_SIMILAR : SAP_CONTACT_LAGGED;
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    add_ground(builder, mu);
    const double p[3] = {0.0, 0.0, r - g / 1e6};
    const int32_t body = simulation_body(builder, 0, 1.0, shape * r * r, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_shape_def def = sap_shape_def_default();
    def.body = body;
    def.type = sphere ? SAP_SHAPE_SPHERE : SAP_SHAPE_CYLINDER;
    def.size[0] = size[0];
    def.size[1] = size[1];
    def.material = material(model, 1e6, mu);
    if (!sphere) {  // its axis along y
      def.q_BS[0] = def.q_BS[1] = sqrt(0.5);
    }
    assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.v[0] = v0;
    // v0 - mu g t = r w = mu g t/shape
    const double t_roll = v0 / (mu * g * (1.0 + 1.0 / shape)), rolling = v0 / (1.0 + shape);
    simulation_step(&s, (int32_t)(0.8 * t_roll / dt));
    const double tolerance = model == SAP_CONTACT_LAGGED ? 5e-4 : 2e-3;  // a hop
    ASSERT_NEAR(s.state.v[0], v0 - mu * g * s.state.t, tolerance);
    simulation_step(&s, (int32_t)(0.4 * t_roll / dt));
    ASSERT_NEAR(s.state.v[0], rolling, 5e-4);
    simulation_end(&s);
  }
}

// A ball that comes down at once gets the friction of its impact, mu times the normal impulse, in
// the step of the impact and no more afterwards.
static void test_impact_friction(void** state) {
  (void)state;
  const double mu = 0.3, r = 0.1, size[3] = {0.1, 0.0, 0.0};
  for (int i = 0; i < 4; ++i) {
    const double dt = i % 2 == 0 ? 5e-3 : 2e-4, k = i < 2 ? 1e8 : 1e5;
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    add_ground(builder, mu);
    add_free(builder, 1.0, 0.4 * r * r, r + 0.002, SAP_SHAPE_SPHERE, size,
             material(SAP_CONTACT_LAGGED, k, mu));
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.v[0] = 3.0;
    s.state.v[2] = -1.0;
    double normal = 0.0, tangential = 0.0;
    for (int32_t n = 0; n < (int32_t)lround(0.15 / dt); ++n) {
      simulation_step(&s, 1);
      for (int32_t c = 0; c < sap_multibody_contact_count(s.multibody); ++c) {
        const double* gamma = sap_multibody_contacts(s.multibody)[c].gamma;
        normal += gamma[2];
        tangential += hypot(gamma[0], gamma[1]);
      }
    }
    ASSERT_NEAR(normal, 1.0 + s.state.v[2], 1e-9);
    // resolved impacts have n0 of the step before, within a fifth of gamma_n
    ASSERT_NEAR(tangential, mu * normal, (i == 3 ? 0.05 : 2e-3) * mu * normal);
    ASSERT_NEAR(s.state.v[0], 3.0 - tangential, 1e-6);
    simulation_end(&s);
  }
}

// m x'' = -k x (1 + d x')+ by Runge and Kutta's method; the speed when x is 0 again.
static double leave(double k, double d, double v0) {
  const double h = 1e-6;
  double y[2] = {0.0, v0};
  do {
    double slope[4][2], sum[2] = {0.0, 0.0};
    for (int stage = 0; stage < 4; ++stage) {
      const double part = stage == 0 ? 0.0 : (stage < 3 ? 0.5 * h : h);
      const double x = y[0] + (stage > 0 ? part * slope[stage - 1][0] : 0.0);
      const double v = y[1] + (stage > 0 ? part * slope[stage - 1][1] : 0.0);
      slope[stage][0] = v;
      slope[stage][1] = -k * fmax(0.0, x) * fmax(0.0, 1.0 + d * v);
      const double weight = stage == 1 || stage == 2 ? h / 3.0 : h / 6.0;
      sum[0] += weight * slope[stage][0];
      sum[1] += weight * slope[stage][1];
    }
    y[0] += sum[0];
    y[1] += sum[1];
  } while (y[0] > 0.0);
  return -y[1];
}

// Rebound of a frictionless ball of 1 kg, first order in dt.
static void test_restitution(void** state) {
  (void)state;
  const double k = 1e4, v0 = 1.5, size[3] = {0.1, 0.0, 0.0};
  const double dissipation[2] = {0.0, 0.3};
  for (int i = 0; i < 4; ++i) {
    double error[2];
    const double d = dissipation[i % 2], expected = leave(k, d, v0);
    for (int level = 0; level < 2; ++level) {
      sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
      sap_material m = material(i < 2 ? SAP_CONTACT_SIMILAR : SAP_CONTACT_LAGGED, k, 0.0);
      m.dissipation = d;
      add_ground(builder, 0.0);
      add_free(builder, 1.0, 0.01, 0.1, SAP_SHAPE_SPHERE, size, m);
      simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, level == 0 ? 4e-5 : 2e-5);
      s.state.v[2] = -v0;
      do {
        simulation_step(&s, 1);
      } while (s.state.q[2] < 0.1);
      error[level] = s.state.v[2] - expected;
      simulation_end(&s);
    }
    assert_true(fabs(error[1]) < 0.005 * v0);
    ASSERT_NEAR(error[0] / error[1], 2.0, 0.1);
  }
}

// Five boxes of 1 kg: 5 g dt at the ground, 15 g dt in all, at rest, whatever k and dt.
static void test_stacks(void** state) {
  (void)state;
  const double steps[3] = {1e-3, 5e-3, 2e-2}, stiffness[2] = {1e6, 1e12};
  for (int i = 0; i < 12; ++i) {
    const double dt = steps[i % 3], k = stiffness[i / 3 % 2];
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    add_ground(builder, 0.5);
    for (int b = 0; b < 5; ++b) {
      add_free(builder, 1.0, 1.0 / 150.0, 0.1 + 0.2 * b, SAP_SHAPE_BOX, half,
               material(i < 6 ? SAP_CONTACT_SIMILAR : SAP_CONTACT_LAGGED, k, 0.5));
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, (int32_t)lround(2.0 / dt));
    double sum = 0.0, ground = 0.0, deepest = 0.0;
    for (int32_t c = 0; c < sap_multibody_contact_count(s.multibody); ++c) {
      const sap_contact* contact = &sap_multibody_contacts(s.multibody)[c];
      sum += contact->gamma[2];
      ground += contact->body_A == 0 ? contact->gamma[2] : 0.0;
      deepest = fmin(deepest, contact->phi);
    }
    ASSERT_NEAR(sum, 15.0 * g * dt, 1e-6 * g * dt);
    ASSERT_NEAR(ground, 5.0 * g * dt, 1e-6 * g * dt);
    for (int32_t v = 0; v < s.state.nv; ++v) {
      ASSERT_NEAR(s.state.v[v], 0.0, 1e-10);
    }
    // 5 g on four points of k/2 or, near rigid, of beta^2/(4 pi^2) w dt^2 with w <= 5.3/kg
    const double soft = 5.0 * g / 4.0 * fmax(2.0 / k, 5.3 * dt * dt / 39.478);
    assert_true(deepest >= -soft);
    simulation_end(&s);
  }
}

// Static mu .6, mu .4: holds .5 m g with less than v_s, yields to .65 m g, then slides with mu.
static void test_static_friction(void** state) {
  (void)state;
  const double mu = 0.4, dt = 1e-3;
  for (int i = 0; i < 4; ++i) {
    sap_material m = material(i % 2 == 0 ? SAP_CONTACT_SIMILAR : SAP_CONTACT_LAGGED, 1e6, mu);
    m.static_friction = 0.6;
    m.stiction_tolerance = 1e-3;
    const double push = i < 2 ? 0.5 : 0.65;
    sap_builder* builder = simulation_builder(push * g, 0.0, -g);
    simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, m);
    add_free(builder, 1.0, 1.0 / 150.0, 0.1 - g / 2e6, SAP_SHAPE_BOX, half, m);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, 200);
    if (i < 2) {
      ASSERT_NEAR(s.state.v[0], 1e-3 * 0.5 / 0.6, 1e-6);
    } else {
      const double before = s.state.v[0];
      simulation_step(&s, 200);
      ASSERT_NEAR(s.state.v[0] - before, (push - mu) * g * 0.2, 2e-3);
    }
    simulation_end(&s);
  }
}

// Rolling friction: a ball rolls on; friction f at the ground and the moment mu_r m g slow it down:
// m a = -f, I a/r = f r - mu_r m g, so a = -(mu_r g/r)/(1 + 2/5). Spin friction stops a turning
// top: I alpha = -mu_s m g.
static void test_rolling_friction(void** state) {
  (void)state;
  const double r = 0.1, dt = 1e-3, rolling = 0.01, spin = 0.005, v0 = 1.0, w0 = 10.0;
  const double size[3] = {0.1, 0.0, 0.0}, p[3] = {0.0, 0.0, 0.1 - g / 1e6};
  for (int i = 0; i < 2; ++i) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -g);
    const int32_t body = simulation_body(builder, 0, 1.0, 0.4 * r * r, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    for (int b = 0; b < 2; ++b) {
      sap_shape_def def = sap_shape_def_default();
      def.body = b == 0 ? 0 : body;
      def.type = b == 0 ? SAP_SHAPE_PLANE : SAP_SHAPE_SPHERE;
      def.size[0] = b == 0 ? 0.0 : size[0];
      def.material = material(SAP_CONTACT_LAGGED, b == 0 ? (double)INFINITY : 1e6, 0.8);
      def.condim = i == 0 ? 6 : 4;
      def.friction_torsional = spin;
      def.friction_rolling = rolling;
      assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    if (i == 0) {
      s.state.v[0] = v0;
      s.state.v[4] = v0 / r;
    } else {
      s.state.v[5] = w0;
    }
    simulation_step(&s, 500);
    // one cone for sliding and rolling: f takes part of it, and slip of that part of mu_r w/mu
    if (i == 0) {
      ASSERT_NEAR(s.state.v[0], v0 - rolling * g / r / 1.4 * 0.5, 1e-2);
      ASSERT_NEAR(s.state.v[2], 0.0, 1e-9);
    } else {
      ASSERT_NEAR(s.state.v[5], fmax(0.0, w0 - spin * g / (0.4 * r * r) * 0.5), 2e-2);
    }
    simulation_end(&s);
  }
}

// One geom of the pair says lagged: the contact is; the stepper's option rules over both.
static void test_choice(void** state) {
  (void)state;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  add_ground(builder, 0.5);
  add_free(builder, 1.0, 1.0 / 150.0, 0.1, SAP_SHAPE_BOX, half,
           material(SAP_CONTACT_LAGGED, 1e6, 0.5));
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
  simulation_step(&s, 5);
  sap_block block;
  assert_int_equal(sap_problem_block(s.report.problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(block.set, SAP_SET_LAGGED);
  assert_true(block.lagged_impulse > 0.0);
  sap_stepper* other;
  sap_stepper_options options = sap_stepper_options_default();
  options.contact_model = SAP_CONTACT_SAP;
  assert_int_equal(sap_stepper_create(sap_multibody_system(s.multibody), &options, &other, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(other, &s.state, &s.report, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_block(s.report.problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(block.set, SAP_SET_FRICTION_CONE);
  sap_stepper_destroy(other);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sudden_slide),     cmocka_unit_test(test_similar_stays_down),
      cmocka_unit_test(test_incline),          cmocka_unit_test(test_slide_to_roll),
      cmocka_unit_test(test_impact_friction),  cmocka_unit_test(test_restitution),
      cmocka_unit_test(test_stacks),           cmocka_unit_test(test_static_friction),
      cmocka_unit_test(test_rolling_friction), cmocka_unit_test(test_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
