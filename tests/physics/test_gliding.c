// SPDX-License-Identifier: BSD-3-Clause
// Sliding bodies stay down, though SAP's convex cone would glide at the height (dt + tau_d) mu v.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static void pushed_faster_and_faster(void** state) {
  (void)state;
  static const double none[3] = {0.0, 0.0, 0.0}, size[3] = {0.1, 0.1, 0.1};
  const double mu = 0.5, g = 10.0, excess = 0.3, dt = 5e-3, tau_d = 0.01, mass = 2.0, k = 1e5;
  sap_builder* builder = simulation_builder((mu + excess) * g, 0.0, -g);
  const sap_material soft = {.stiffness = k, .relaxation_time = tau_d, .friction = mu},
                     rigid = {
                         .stiffness = (double)INFINITY, .relaxation_time = 0.0, .friction = mu};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, rigid);
  const double p[3] = {0.0, 0.0, 0.1 - mass * g / k};
  const int32_t body = simulation_body(builder, 0, mass, 1.0, p);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, size, soft);
  simulation s = simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, dt);
  for (int i = 1; i <= 200; ++i) {
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
    const sap_contact* c = sap_multibody_contacts(s.multibody);
    double normal = 0.0;
    for (int j = 0; j < 4; ++j) {
      normal += c[j].gamma[2];
    }
    if (i > 40) {
      ASSERT_NEAR(normal / (dt * mass * g), 1.0, 1e-3);
      // never above the ground, nor pressed deeper than twice its weight on one corner
      ASSERT_NEAR(c[0].phi / (mass * g / k), -1.0, 1.0);
    }
  }
  const double speed = excess * g * 200 * dt;
  ASSERT_NEAR(s.state.v[0], speed, 1e-5 * speed);
  simulation_end(&s);
}

// Evaluated within the step a contact that spins does not glide: a ball that turns about its normal
// stays where its weight presses it, and friction slows it by mu_s m g/I.
static void spinning_stays_down(void** state) {
  (void)state;
  const double g = 10.0, dt = 5e-3, mass = 2.0, inertia = 1.0, k = 1e4, spin = 0.05, fast = 50.0;
  sap_builder* builder = simulation_builder(0.0, 0.0, -g);
  const double p[3] = {0.0, 0.0, 0.1 - mass * g / k};
  const int32_t body = simulation_body(builder, 0, mass, inertia, p);
  simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
  simulation_joint(builder, body, SAP_JOINT_HINGE, 0.0, 0.0, 1.0);
  sap_shape_def shape = sap_shape_def_default();
  shape.condim = 4;
  shape.friction_torsional = spin;
  shape.material = (sap_material){.stiffness = (double)INFINITY, .friction = 0.5};
  shape.type = SAP_SHAPE_PLANE;
  assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  shape.body = body;
  shape.type = SAP_SHAPE_SPHERE;
  shape.size[0] = 0.1;
  shape.material.stiffness = k;
  shape.material.relaxation_time = 0.01;
  assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, dt);
  s.state.v[1] = fast;
  for (int i = 1; i <= 200; ++i) {
    simulation_step(&s, 1);
    // gliding would lift it by (dt/4 + tau_d/2) mu_s w, which is 16 mm
    ASSERT_NEAR(s.state.q[0], 0.0, 1e-6);
    ASSERT_NEAR(s.state.v[1], fast - spin * mass * g / inertia * dt * i, 1e-6 * fast);
  }
  simulation_end(&s);
}

// Sliders of one scene that do not touch, each in its own way: number `only`, or all if < 0.
static simulation sliders(int only) {
  static const double none[3] = {0.0, 0.0, 0.0}, size[3] = {0.1, 0.0, 0.0};
  const sap_material material = {.stiffness = 2e4, .relaxation_time = 0.01, .friction = 0.5};
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, material);
  for (int i = 0; i < 3; ++i) {
    const double p[3] = {0.0, i, 0.0999 - 1e-4 * i};
    if (only < 0 || only == i) {
      const int32_t body = simulation_body(builder, 0, 1.0 + i, 1.0, p);
      simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
      simulation_joint(builder, body, SAP_JOINT_SLIDE, 0.0, 0.0, 1.0);
      simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
    }
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 5e-3);
  for (int i = 0, k = 0; i < 3; ++i) {
    if (only < 0 || only == i) {
      s.state.v[2 * k++] = 3.0 + 2.0 * i;
    }
  }
  return s;
}

// Steps solved again for another shift, island by island, are those of each body alone.
static void islands_are_shifted_alone(void** state) {
  (void)state;
  simulation all = sliders(-1);
  simulation_step(&all, 30);
  for (int i = 0; i < 3; ++i) {
    simulation one = sliders(i);
    simulation_step(&one, 30);
    for (int k = 0; k < 2; ++k) {
      ASSERT_NEAR(all.state.v[2 * i + k], one.state.v[k], 1e-6);  // solver's tolerance
    }
    simulation_end(&one);
  }
  simulation_end(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pushed_faster_and_faster),
                                     cmocka_unit_test(islands_are_shifted_alone),
                                     cmocka_unit_test(spinning_stays_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
