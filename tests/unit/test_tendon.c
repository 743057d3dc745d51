// SPDX-License-Identifier: BSD-3-Clause
// Tendons: lengths, gradients against differences, limits, dry friction.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/actuators.h"
#include "support/mixed_model.h"
#include "support/near.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};

// Over a fixed point, a link of the arm, the free body with a spinner and the loose one.
static sap_model* model_with_path(void) {
  sap_builder* builder = mixed_builder();
  const int32_t bodies[5] = {0, 5, 7, 8, 2};
  const double points[15] = {0.1, 0.2, 0.3,  0.05, -0.1, 0.2, 0.3, 0.0,
                             0.1, 0.1, -0.2, 0.05, 0.0,  0.1, 0.02};
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.npoints = 5;
  tendon.point_bodies = bodies;
  tendon.points = points;
  sap_error error = {0};
  if (sap_builder_add_tendon(builder, &tendon, NULL, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  sap_model* model = NULL;
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  return model;
}

// A reproducible number in [-1, 1].
static double scatter(int32_t i) {
  return sin(12.9898 * (double)(i + 1));
}

static void test_gradient(void** unused) {
  (void)unused;
  sap_model* model = model_with_path();
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  sap_dynamics* dynamics = NULL;
  sap_kinematics kin;
  sap_rows rows = {0};
  sap_pool pool = {.owner = "rows"};
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_rows_create(model, &pool, &rows, NULL), SAP_STATUS_OK);
  double q0[64], q[64], v[64];
  ASSERT_NEAR(sap_tendon_length(&kin, 0), model->tendons[0].length0, 1e-14);
  for (int32_t i = 0; i < sizes.nv; ++i) {
    v[i] = scatter(i);
  }
  sap_manifold_integrate(model, model->q_default, v, 0.7, q0);
  sap_kinematics_set(&kin, q0);
  sap_rows_begin(&rows, 1);
  sap_tendon_add_row(&kin, 0, -2.0, &rows, 0);
  for (int32_t k = 0; k < sizes.nv; ++k) {
    double length[2];
    for (int32_t i = 0; i < sizes.nv; ++i) {
      v[i] = i == k ? 1.0 : 0.0;
    }
    const double row = sap_rows_times(&rows, 0, v);
    for (int side = 0; side < 2; ++side) {
      sap_manifold_integrate(model, q0, v, side == 0 ? -1e-6 : 1e-6, q);
      sap_kinematics_set(&kin, q);
      length[side] = sap_tendon_length(&kin, 0);
    }
    ASSERT_NEAR(row, -2.0 * (length[1] - length[0]) / 2e-6, 1e-8);  // differences at 1e-6
  }
  sap_pool_free(&pool);
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

static void add_two_slides(sap_builder* builder, const sap_tendon_def* def) {
  const double coefficients[2] = {2.5, -1.0};
  int32_t joints[2];
  for (int i = 0; i < 2; ++i) {
    const int32_t body = simulation_body(builder, 0, 2.0 + i, 1.0, origin);
    joints[i] = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  }
  sap_tendon_def tendon = *def;
  tendon.njoints = 2;
  tendon.joints = joints;
  tendon.coefficients = coefficients;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
}

// R and v_hat of the limit that is near; the far one is left out.
static void test_limit(void** unused) {
  (void)unused;
  const double dt = 0.01;
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.lower = -0.5;
  tendon.upper = 0.28;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  add_two_slides(builder, &tendon);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  s.state.q[0] = 0.2;
  s.state.q[1] = 0.25;
  s.state.v[0] = 1.0;
  simulation_step(&s, 1);
  assert_int_equal(s.report.blocks, 1);
  sap_block block;
  assert_int_equal(sap_problem_block(s.report.problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(block.ntrees, 2);
  ASSERT_NEAR(block.v_hat[0], -(0.28 - 0.25) / dt, 1e-13);
  ASSERT_NEAR(block.R[0], (2.5 * 2.5 / 2.0 + 1.0 / 3.0) / 39.47841760435743, 1e-14);
  const double length = 2.5 * s.state.q[0] - s.state.q[1];
  assert_true(length < 0.28);
  // The limit takes all but 1/40.5 of what goes beyond it in a step, and pushes that back.
  simulation_step(&s, 400);
  const double rate = 2.5 * s.state.v[0] - s.state.v[1];
  assert_true(rate <= 1e-9 && rate > -2.5 / 40.5);
  assert_true(2.5 * s.state.q[0] - s.state.q[1] < 0.28 + 1e-9);
  simulation_end(&s);
}

// A taut rope: a mass hangs on a point above it, pulled down by g, at rest at the upper limit.
static void test_rope(void** unused) {
  (void)unused;
  const double dt = 0.002, mass = 2.0;
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  const int32_t body = simulation_body(builder, 0, mass, 0.1, origin);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  const int32_t bodies[2] = {0, body};
  const double points[6] = {0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.npoints = 2;
  tendon.point_bodies = bodies;
  tendon.points = points;
  tendon.upper = 1.5;
  tendon.limit_stiffness = 1e4;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  simulation_step(&s, 50);  // falls freely
  ASSERT_NEAR(s.state.v[2], -10.0 * 50.0 * dt, 1e-12);
  simulation_step(&s, 3000);
  ASSERT_NEAR(s.state.q[2], 1.0 - 1.5 - mass * 10.0 / 1e4, 1e-8);
  simulation_end(&s);
}

// |gamma| <= dt f along the tendon: what exceeds the friction accelerates.
static void test_friction(void** unused) {
  (void)unused;
  const double dt = 0.01, friction = 0.4;
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.friction_loss = friction;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  add_two_slides(builder, &tendon);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  for (int side = -1; side <= 1; side += 2) {
    s.state.v[0] = side;
    s.state.v[1] = 0.0;
    simulation_step(&s, 1);
    ASSERT_NEAR(s.state.v[0], side * (1.0 - dt * friction * 2.5 / 2.0), 1e-12);
    ASSERT_NEAR(s.state.v[1], side * dt * friction / 3.0, 1e-12);
  }
  s.state.v[0] = 1e-3;
  s.state.v[1] = 0.0;
  simulation_step(&s, 1);  // stops the length, not the motion along which it stays
  ASSERT_NEAR(2.5 * s.state.v[0] - s.state.v[1], 0.0, 1e-3 * 2.5 * 1e-3);  // creep: sigma
  assert_true(s.state.v[0] > 0.0);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradient),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_rope),
      cmocka_unit_test(test_friction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
