// SPDX-License-Identifier: BSD-3-Clause
// Stable piles: a mass on a millionth of it, twenty boxes, books. At rest each body sinks by load
// over stiffness, and no step fails.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double g = 10.0;

static sap_builder* floor_builder(double beta) {
  sap_model_options options = sap_model_options_default();
  options.gravity[2] = -g;
  options.regularization.beta = beta;
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(&options, &builder, NULL), SAP_STATUS_OK);
  const double size[3] = {1.0, 1.0, 1.0};
  sap_material rigid = sap_material_default();
  rigid.stiffness = HUGE_VAL;
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, size, rigid);
  return builder;
}

static int32_t add_box(sap_builder* builder, double mass, const double half[3], const double p[3],
                       sap_material material) {
  sap_body_def def = sap_body_def_default();
  def.mass = mass;
  memcpy(def.p_PB, p, sizeof def.p_PB);
  for (int i = 0; i < 3; ++i) {
    const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
    def.I_BCo_B[i] = mass / 3.0 * (a * a + b * b);
  }
  int32_t body = -1;
  assert_int_equal(sap_builder_add_body(builder, &def, &body, NULL), SAP_STATUS_OK);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, half, material);
  return body;
}

static simulation begin_law(sap_builder* builder, double dt, sap_law law) {
  simulation s = {0};
  assert_int_equal(sap_builder_compile(builder, &s.model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.regularization = sap_model_get_options(s.model)->regularization;
  options.contact_law = law;
  simulation_use(&s, &options);
  return s;
}

static simulation begin(sap_builder* builder, double dt) {
  return begin_law(builder, dt, SAP_LAW_AUTO);
}

static double deepest(const simulation* s) {
  double largest = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s->multibody); ++i) {
    largest = fmax(largest, -sap_multibody_contacts(s->multibody)[i].phi);
  }
  return largest;
}

// 1000 kg on 1 g, and 1 g on 1000 kg. The near-rigid limit (29) makes a contact as soft as the mass
// at it is small, so a light body under a heavy one needs beta = 0 to be as stiff as it says.
static void test_mass_ratio(void** unused) {
  (void)unused;
  const double half[3] = {0.1, 0.1, 0.1}, k = 1e7;
  static const double steps[2] = {2e-3, 1e-2};
  for (int n = 0; n < 4; ++n) {
    const bool heavy_above = (n & 1) == 0;
    sap_builder* builder = floor_builder(0.0);
    sap_material material = sap_material_default();
    material.stiffness = k;
    for (int i = 0; i < 2; ++i) {
      const double p[3] = {0.0, 0.0, 0.1 + 0.2 * i};
      add_box(builder, (i == 1) == heavy_above ? 1e3 : 1e-3, half, p, material);
    }
    simulation s = begin(builder, steps[n / 2]);
    simulation_step(&s, (int32_t)lround(3.0 / steps[n / 2]));
    // Four points; the floor is rigid, so the stiffness there is k, between the boxes k/2.
    const double at_floor = (1e3 + 1e-3) * g / (4.0 * k);
    const double between = (heavy_above ? 1e3 : 1e-3) * g / (4.0 * 0.5 * k);
    ASSERT_NEAR(s.state.q[2], 0.1 - at_floor, 1e-9);
    ASSERT_NEAR(s.state.q[9], 0.3 - at_floor - between, 1e-9);
    ASSERT_NEAR(deepest(&s), fmax(at_floor, between), 1e-9);
    simulation_end(&s);
  }
}

static void test_twenty_boxes(void** unused) {
  (void)unused;
  enum { BOXES = 20 };
  const double half[3] = {0.1, 0.1, 0.05}, dt = 5e-3, k = 1e6;
  sap_builder* builder = floor_builder(1.0);
  sap_material material = sap_material_default();
  material.stiffness = k;
  for (int i = 0; i < BOXES; ++i) {
    const double p[3] = {0.0, 0.0, 0.05 + 0.1 * i};
    add_box(builder, 1.0, half, p, material);
  }
  simulation s = begin(builder, dt);
  simulation_step(&s, (int32_t)lround(4.0 / dt));
  assert_int_equal(sap_multibody_contact_count(s.multibody), 4 * BOXES);
  double weight = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s.multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s.multibody)[i];
    const double stiffness = 1.0 / (c->R[2] * dt * (dt + c->material.relaxation_time));
    ASSERT_NEAR(-c->phi, c->gamma[2] / dt / stiffness, 1e-8);  // as far as R says
    weight += c->body_A == 0 || c->body_B == 0 ? c->gamma[2] / dt : 0.0;
  }
  ASSERT_NEAR(weight, BOXES * g, 1e-6 * BOXES * g);  // the solver's tolerance
  for (int i = 0; i < BOXES; ++i) {                  // straight, at rest
    ASSERT_NEAR(s.state.q[7 * i], 0.0, 1e-9);
    ASSERT_NEAR(s.state.q[7 * i + 3], 1.0, 1e-12);
    ASSERT_NEAR(s.state.v[6 * i + 2], 0.0, 1e-8);
  }
  simulation_end(&s);
}

// Five thin books lie on each other, turned; four more lean on them in a row.
static void test_books(void** unused) {
  (void)unused;
  enum { LYING = 5, LEANING = 4, BOOKS = LYING + LEANING };
  const double pi = 3.14159265358979323846;
  const double half[3] = {0.1, 0.07, 0.01}, dt = 5e-3, lean = 0.25;
  sap_builder* builder = floor_builder(1.0);
  sap_material material = sap_material_default();
  material.friction = 0.5;
  double mass = 0.0;
  for (int i = 0; i < BOOKS; ++i) {
    const int k = i - LYING;
    const double p[3] = {i < LYING ? 0.01 * (i % 2) : -0.165 - 0.0215 * k, 0.0,
                         i < LYING ? 0.01 + 0.02 * i : 0.1005};
    add_box(builder, 0.3 + 0.1 * (i % 3), half, p, material);
    mass += 0.3 + 0.1 * (i % 3);
  }
  simulation s = begin(builder, dt);
  for (int i = 0; i < BOOKS; ++i) {
    double* quaternion = s.state.q + 7 * i + 3;
    const double angle = i < LYING ? 0.2 * i : -0.5 * pi + lean;  // about z, about y
    quaternion[0] = cos(0.5 * angle);
    quaternion[1] = quaternion[2] = quaternion[3] = 0.0;
    quaternion[i < LYING ? 3 : 2] = sin(0.5 * angle);
  }
  double fastest = 0.0;
  for (int32_t n = 0; n < (int32_t)lround(6.0 / dt); ++n) {
    simulation_step(&s, 1);
    assert_true(deepest(&s) < 2e-3);
  }
  for (int32_t i = 0; i < s.state.nv; ++i) {
    fastest = fmax(fastest, fabs(s.state.v[i]));
  }
  double weight = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s.multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s.multibody)[i];
    const double* n = c->R_WC;
    const double up = c->gamma[0] * n[2] + c->gamma[1] * n[5] + c->gamma[2] * n[8];
    weight += c->body_A == 0 ? up / dt : c->body_B == 0 ? -up / dt : 0.0;
  }
  ASSERT_NEAR(weight, mass * g, 1e-3 * mass * g);
  // Creep of sigma mu dt g, turning books with arms of 1 to 10 cm.
  assert_true(fastest < 5e-3);
  assert_true(deepest(&s) < 3e-4);
  for (int i = 0; i < BOOKS; ++i) {
    const double z = s.state.q[7 * i + 2];
    if (i < LYING) {
      ASSERT_NEAR(z, 0.01 + 0.02 * i, 1e-3);
    } else {
      assert_true(z > 0.08);  // still leaning: lying it would be at 0.01
    }
  }
  simulation_end(&s);
}

// Sixty boxes that touch without load: they fall together in the free motion, which closes none of
// their contacts but the floor's. The first step has them all.
static void test_first_step(void** unused) {
  (void)unused;
  enum { BOXES = 60 };
  const double half[3] = {0.1, 0.1, 0.05};
  sap_builder* builder = floor_builder(1.0);
  for (int i = 0; i < BOXES; ++i) {
    const double p[3] = {0.0, 0.0, 0.05 + 0.1 * i};
    add_box(builder, 1.0, half, p, sap_material_default());
  }
  simulation s = begin(builder, 1e-2);
  simulation_step(&s, 1);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 4 * BOXES);
  simulation_end(&s);
}

// One island of over 6000 velocities, whose solves pause to look for contacts that they lack, in
// single precision: it moves as by SAP's own method, which does neither.
static void test_large_island(void** unused) {
  (void)unused;
  enum { SIDE = 12, LAYERS = 7, BOXES = SIDE * SIDE * LAYERS };
  const double half[3] = {0.05, 0.05, 0.05};
  double* v[2] = {NULL, NULL};
  for (int run = 0; run < 2; ++run) {
    sap_builder* builder = floor_builder(1.0);
    for (int i = 0; i < BOXES; ++i) {
      const int layer = i / (SIDE * SIDE);
      const double shift = 0.5 * (layer % 2), x = i % SIDE, y = i / SIDE % SIDE;
      const double p[3] = {0.1002 * (x + shift), 0.1002 * (y + shift), 0.05 + 0.1005 * layer};
      add_box(builder, 1.0 + 0.1 * (i % 7), half, p, sap_material_default());
    }
    simulation s = begin(builder, 1e-2);
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = 1e-2;
    options.solver_options.newton = run == 0 ? SAP_NEWTON_PRIMAL_DUAL : SAP_NEWTON_PRIMAL;
    options.solver_options.relative_tolerance = 1e-8;
    simulation_use(&s, &options);
    for (int32_t i = 0; i < s.state.nv; ++i) {  // each box on its own way
      s.state.v[i] = 0.1 * sin(1.0 + 3.0 * i);
    }
    sap_step_report report = {0};
    assert_int_equal(sap_stepper_step(s.stepper, &s.state, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.solver->outcome, SAP_OUTCOME_CONVERGED);
    assert_true(report.solver->largest_island >= 6000);
    v[run] = calloc((size_t)s.state.nv, sizeof *v[run]);
    memcpy(v[run], s.state.v, (size_t)s.state.nv * sizeof *v[run]);
    simulation_end(&s);
  }
  for (int32_t i = 0; i < 6 * BOXES; ++i) {
    ASSERT_NEAR(v[0][i], v[1][i], 1e-5);  // 1e-8 of speeds of 1, times the mass of the pile
  }
  free(v[0]);
  free(v[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mass_ratio),   cmocka_unit_test(test_twenty_boxes),
      cmocka_unit_test(test_books),        cmocka_unit_test(test_first_step),
      cmocka_unit_test(test_large_island),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
