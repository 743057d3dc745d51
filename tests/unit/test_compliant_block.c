// SPDX-License-Identifier: BSD-3-Clause
// Joints and limits given in physical terms: the law row by row, and a solved problem against its
// closed form.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"

static const double dt = 0.01, mass[2] = {2.0, 3.0};
static const sap_regularization regularization = {1.0, 1e-3, 0.0};
static const int32_t trees[2] = {0, 1};
// g = x_1 - x_0 of two points, along x and y.
static const double minus[4] = {-1.0, 0.0, 0.0, -1.0}, plus[4] = {1.0, 0.0, 0.0, 1.0};
static const double* const jacobians[2] = {minus, plus};

static sap_problem* two_points(void) {
  const int32_t sizes[2] = {2, 2};
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, dt, 2, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 2; ++t) {
    const double A[4] = {mass[t], 0.0, 0.0, mass[t]};
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, 2, NULL), SAP_STATUS_OK);
  }
  return p;
}

static sap_compliant_block joint(const double g0[2], double stiffness, double relaxation_time) {
  return (sap_compliant_block){.nrows = 2,
                               .ntrees = 2,
                               .trees = trees,
                               .jacobians = jacobians,
                               .g0 = g0,
                               .stiffness = stiffness,
                               .relaxation_time = relaxation_time,
                               .key = 7};
}

// Implicit spring and damper between the points, solved by hand along each axis: with m the reduced
// mass, u = (u* - dt k g0/m)/(1 + dt k (dt + tau)/m).
static void test_spring(void** state) {
  (void)state;
  sap_problem* p = two_points();
  const double v_star[4] = {0.3, -0.2, 1.0, 0.5}, g0[2] = {0.02, -0.01}, k = 4000.0, tau = 0.03;
  const sap_compliant_block block = joint(g0, k, tau);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_compliant(p, &block, &regularization, NULL), SAP_STATUS_OK);
  sap_block out;
  assert_int_equal(sap_problem_block(p, 0, &out, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(out.set, SAP_SET_FREE);
  assert_true(out.key == 7);
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  assert_int_equal(sap_solver_create("sap", NULL, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, NULL, NULL), SAP_STATUS_OK);
  const double m = mass[0] * mass[1] / (mass[0] + mass[1]);
  for (int i = 0; i < 2; ++i) {
    const double u_star = v_star[2 + i] - v_star[i];
    const double u = (u_star - dt * k * g0[i] / m) / (1.0 + dt * k * (dt + tau) / m);
    ASSERT_NEAR(solution.v[2 + i] - solution.v[i], u, 1e-12);  // one linear solve
    ASSERT_NEAR(solution.gamma[i], -dt * k * (g0[i] + (dt + tau) * u), 1e-10);
    ASSERT_NEAR(mass[0] * solution.v[i] + mass[1] * solution.v[2 + i],
                mass[0] * v_star[i] + mass[1] * v_star[2 + i], 1e-12);
  }
  sap_solution_clear(&solution);
  sap_solver_destroy(solver);
  sap_problem_destroy(p);
}

// A rigid joint closes its error within dt + tau, to 1e-6 of what would open it.
static void test_rigid(void** state) {
  (void)state;
  sap_problem* p = two_points();
  const double g0[2] = {0.02, 0.0}, w = (1.0 / mass[0] + 1.0 / mass[1]) / sqrt(2.0);
  sap_compliant_block block = joint(g0, (double)INFINITY, 0.0);
  assert_int_equal(sap_problem_add_compliant(p, &block, &regularization, NULL), SAP_STATUS_OK);
  block.unilateral = true;
  assert_int_equal(sap_problem_add_compliant(p, &block, &regularization, NULL), SAP_STATUS_OK);
  sap_block out;
  assert_int_equal(sap_problem_block(p, 0, &out, NULL, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(out.v_hat[0], -g0[0] / dt, 1e-15);
  ASSERT_NEAR(out.R[1], 1e-6 * w, 1e-20);
  assert_int_equal(sap_problem_block(p, 1, &out, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(out.set, SAP_SET_NONNEGATIVE);
  ASSERT_NEAR(out.R[1], w / (4.0 * 9.869604401089358), 1e-15);  // castro (29), beta = 1
  sap_problem_destroy(p);
}

// At a stage within the step the rate of the error enters, J v0.
static void test_stage(void** state) {
  (void)state;
  sap_problem* p = two_points();
  const double v0[4] = {0.0, 0.0, 0.4, -0.7}, g0[2] = {0.01, 0.03}, k = 50.0, tau = 0.001;
  const sap_compliant_block block = joint(g0, k, tau);
  const sap_contact_scheme scheme = {
      .theta = 0.5, .theta_vq = 0.5, .model = SAP_CONTACT_BY_MATERIAL, .v0 = v0};
  assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_compliant(p, &block, &regularization, NULL), SAP_STATUS_OK);
  sap_block out;
  assert_int_equal(sap_problem_block(p, 0, &out, NULL, NULL), SAP_STATUS_OK);
  for (int r = 0; r < 2; ++r) {  // gamma = -dt k (g^1/2 + tau gdot^1/2), u the velocity at the end
    const double u = 0.25, u0 = v0[2 + r], half = 0.5 * (u + u0);
    const double expected = -dt * k * (g0[r] + 0.5 * dt * half + tau * half);
    ASSERT_NEAR(-(u - out.v_hat[r]) / out.R[r], expected, 1e-12);
  }
  sap_problem_destroy(p);
}

static void expect_refused(const sap_compliant_block* block, sap_status expected,
                           const char* text) {
  sap_problem* p = two_points();
  sap_error error = {0};
  assert_int_equal(sap_problem_add_compliant(p, block, &regularization, &error), expected);
  assert_non_null(strstr(error.message, text));
  assert_int_equal(sap_problem_block_count(p), 0);
  sap_problem_destroy(p);
}

static void test_wrong(void** state) {
  (void)state;
  const double g0[2] = {0.0, 0.0}, bad[2] = {0.0, (double)NAN};
  sap_compliant_block block = joint(g0, 1e4, 0.0);
  block.g0 = NULL;
  expect_refused(&block, SAP_STATUS_ARGUMENT, "g0 is NULL");
  block = joint(bad, 1e4, 0.0);
  expect_refused(&block, SAP_STATUS_NOT_FINITE, "row 1");
  block = joint(g0, -1.0, 0.0);
  expect_refused(&block, SAP_STATUS_ARGUMENT, "stiffness");
  block = joint(g0, 1e4, -1.0);
  expect_refused(&block, SAP_STATUS_ARGUMENT, "relaxation_time");
  block = joint(g0, 1e4, 0.0);
  block.nrows = 0;
  expect_refused(&block, SAP_STATUS_ARGUMENT, "nrows");
  const int32_t beyond[2] = {0, 2};
  block = joint(g0, 1e4, 0.0);
  block.trees = beyond;
  expect_refused(&block, SAP_STATUS_ARGUMENT, "trees[1]");
  // rows that move nothing
  const double zero[4] = {0.0};
  const double* const nothing[2] = {zero, zero};
  block = joint(g0, 1e4, 0.0);
  block.jacobians = nothing;
  sap_problem* p = two_points();
  assert_int_equal(sap_problem_add_compliant(p, &block, &regularization, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_block_count(p), 0);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spring),
      cmocka_unit_test(test_rigid),
      cmocka_unit_test(test_stage),
      cmocka_unit_test(test_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
