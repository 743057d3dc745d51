// SPDX-License-Identifier: BSD-3-Clause
// The judge on numbers worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/one_contact.h"

// Tree 0: mass 4, three velocities, a cone of mu 0.5. Tree 1: mass 1, a nonnegative row. Coupling
// 0.5 between velocity 0 of tree 0 and tree 1.
static sap_problem* make(void) {
  const int32_t sizes[2] = {3, 1}, tree_0[1] = {0}, tree_1[1] = {1};
  const double A[9] = {4, 0, 0, 0, 4, 0, 0, 0, 4}, one[1] = {1}, C[3] = {0.5, 0, 0};
  const double I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double* J_0[1] = {I};
  const double* J_1[1] = {one};
  const double v_star[4] = {1, 0, -1, 2};
  const double R[3] = {0.1, 0.1, 0.2}, v_hat[3] = {0, 0, 0.3};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 1, one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 1, C, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  sap_block block = {.set = SAP_SET_FRICTION_CONE,
                     .nrows = 3,
                     .ntrees = 1,
                     .trees = tree_0,
                     .jacobians = J_0,
                     .R = R,
                     .v_hat = v_hat,
                     .friction = 0.5};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  block.set = SAP_SET_NONNEGATIVE;
  block.nrows = 1;
  block.trees = tree_1;
  block.jacobians = J_1;
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  return p;
}

static void test_by_hand(void** state) {
  (void)state;
  sap_problem* p = make();
  const double v[4] = {0, 0, -0.1, -0.5}, gamma[4] = {0.3, 0, 0.4, -0.1};
  sap_residual out;
  assert_int_equal(sap_residuals(p, v, gamma, &out, NULL), SAP_STATUS_OK);
  // v - v* = (-1, 0, .9, -2.5); A (v - v*) = (-4 - 1.25, 0, 3.6, -2.5 - .5)
  const double momentum[4] = {-5.25, 0, 3.6, -3.0};
  // A v = (-.25, 0, -.4, -.5);  J' gamma = gamma
  const double D_2[4] = {0.25, 0.25, 0.25, 1};
  const double Av[4] = {-0.25, 0, -0.4, -0.5};
  double g_2 = 0, a_2 = 0, j_2 = 0;
  for (int i = 0; i < 4; ++i) {
    g_2 += D_2[i] * (momentum[i] - gamma[i]) * (momentum[i] - gamma[i]);
    a_2 += D_2[i] * Av[i] * Av[i];
    j_2 += D_2[i] * gamma[i] * gamma[i];
  }
  ASSERT_NEAR(out.momentum_absolute, sqrt(g_2), 1e-14);
  ASSERT_NEAR(out.momentum, sqrt(g_2 / fmax(a_2, j_2)), 1e-13);
  // P: cone u = (0, 0, .4): stiction (0, 0, 2), cost .4; row u = .5, R .1: 5, cost 1.25
  const double energy = 0.5 * (5.25 + 0.9 * 3.6 + 2.5 * 3.0);
  ASSERT_NEAR(out.cost, energy + 0.4 + 1.25, 1e-13);
  const double cone_distance = sqrt(0.1 * 0.09 + 0.2 * 1.6 * 1.6), row_distance = sqrt(0.1) * 5.1;
  const double gamma_R = sqrt(0.1 * 0.09 + 0.2 * 0.16 + 0.1 * 0.01);
  ASSERT_NEAR(out.projection, fmax(cone_distance, row_distance) / gamma_R, 1e-13);
  // g = vc - v_hat + R gamma = (.03, 0, -.4 + .08)
  ASSERT_NEAR(out.slackness, fabs(0.03 * 0.3 - 0.32 * 0.4) / out.cost, 1e-15);
  // (.3, 0, .4) is (.3 - .5 .4)/sqrt(1.25) outside, the row .1
  ASSERT_NEAR(out.set_violation, 0.1, 1e-15);
  ASSERT_NEAR(out.penetration, 0.5, 1e-15);
  // Cone: g = (.03, 0, -.32), gamma = (.3, 0, .4), mu .5; row: g = -.5 - .01
  // gamma - g = (.27, 0, .72) is inside: the map is g. NCP: g_n + .5 .03 = -.305.
  const double row_g = -0.5 - 0.0 + 0.1 * -0.1;
  const double gamma_2 = 0.09 + 0.16 + 0.01, g_2_ccp = 0.03 * 0.03 + 0.32 * 0.32;
  const double g_2_ncp = 0.03 * 0.03 + 0.305 * 0.305;
  const double row_map = -0.1 - fmax(0.0, -0.1 - row_g);
  ASSERT_NEAR(out.ccp_natural_map, sqrt((g_2_ccp + row_map * row_map) / gamma_2), 1e-14);
  ASSERT_NEAR(out.ncp_natural_map, sqrt((g_2_ncp + row_map * row_map) / gamma_2), 1e-14);
  // W = I/4 and 1 (tree blocks only): rho = 1/(.25 + .2) and 1/(1 + .1); gamma - rho g stays inside
  const double rho = 1 / 0.45, row_scaled = -0.1 - fmax(0.0, -0.1 - row_g / 1.1);
  ASSERT_NEAR(out.ccp_natural_map_scaled,
              sqrt((rho * rho * g_2_ccp + row_scaled * row_scaled) / gamma_2), 1e-13);
  ASSERT_NEAR(out.ncp_natural_map_scaled,
              sqrt((rho * rho * g_2_ncp + row_scaled * row_scaled) / gamma_2), 1e-13);
  // -g = (-.03, 0, .32) lies in the cone: its distance from the dual cone is its length
  ASSERT_NEAR(out.ccp_dual, fmax(sqrt(g_2_ccp), 0.51), 1e-14);
  ASSERT_NEAR(out.ncp_dual, fmax(sqrt(g_2_ncp), 0.51), 1e-14);
  ASSERT_NEAR(out.ccp_complementarity, fabs(0.03 * 0.3 - 0.32 * 0.4), 1e-15);
  ASSERT_NEAR(out.ncp_complementarity, fabs(0.03 * 0.3 - 0.305 * 0.4), 1e-15);
  ASSERT_NEAR(out.ncp_absolute, 0.51, 1e-14);
  ASSERT_NEAR(out.signorini, fmax(0.32 * 0.4, 0.51 * 0.1), 1e-15);
  ASSERT_NEAR(out.dissipation, 0.0, 1e-15);  // vc_t = 0
  // The cone's normal, before the row, penetrates more: v_hat_n = 0.3.
  const double deeper[4] = {0, 0, -0.7, -0.5};
  assert_int_equal(sap_residuals(p, deeper, gamma, &out, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(out.penetration, 1.0, 1e-15);
  sap_problem_destroy(p);
}

// |gamma - x| with x moved to the nearest point of the cone's edge s (mu t, 1), found by search.
static double map_by_search(double mu, const double gamma[3], const double x[3]) {
  const double xt = hypot(x[0], x[1]), t[2] = {x[0] / xt, x[1] / xt};
  double low = 0.0, high = 10.0;
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3.0, b = high - (high - low) / 3.0;
    const double at_a = hypot(mu * a - xt, a - x[2]), at_b = hypot(mu * b - xt, b - x[2]);
    *(at_a < at_b ? &high : &low) = at_a < at_b ? b : a;
  }
  const double d[3] = {gamma[0] - low * mu * t[0], gamma[1] - low * mu * t[1], gamma[2] - low};
  return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

// Where gamma - g lies beside the cone, the natural map is the distance to its projection.
static void test_sliding_map(void** state) {
  (void)state;
  const double I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, R[3] = {0.1, 0.1, 0.2}, zero[3] = {0, 0, 0};
  const double v[3] = {0.9, 0.4, 0.1}, gamma[3] = {0.1, -0.2, 0.6};
  static const double mus[] = {0.2, 0.5, 1.0, 1.7};
  for (int k = 0; k < 4; ++k) {
    const double mu = mus[k];
    sap_problem* p = one_contact_problem(I, mu, R, zero);
    sap_residual out;
    assert_int_equal(sap_residuals(p, v, gamma, &out, NULL), SAP_STATUS_OK);
    double g[3], x[3];
    for (int i = 0; i < 3; ++i) {
      g[i] = v[i] + R[i] * gamma[i];
      x[i] = gamma[i] - g[i];
    }
    const double size = sqrt(0.01 + 0.04 + 0.36);
    // the search finds a minimum to the root of round-off
    ASSERT_NEAR(out.ccp_natural_map, map_by_search(mu, gamma, x) / size, 1e-7);
    x[2] -= mu * hypot(g[0], g[1]);  // De Saxce
    ASSERT_NEAR(out.ncp_natural_map, map_by_search(mu, gamma, x) / size, 1e-7);
    sap_problem_destroy(p);
  }
}

// A contact without friction in which nothing moves along the surfaces: mu x_n is no bound there.
static void test_frictionless(void** state) {
  (void)state;
  static const int32_t widths[] = {3, 4, 6};
  const double R[6] = {0.1, 0.1, 0.2, 0.1, 0.1, 0.1}, zero[6] = {0};
  for (int k = 0; k < 3; ++k) {
    const int32_t n = widths[k], trees[1] = {0};
    double I[36] = {0}, v[6] = {0}, gamma[6] = {0};
    for (int32_t i = 0; i < n; ++i) {
      I[i * (n + 1)] = 1.0;
    }
    const double* jacobians[1] = {I};
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = n,
                             .ntrees = 1,
                             .trees = trees,
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = zero};
    sap_problem* p;
    sap_residual out;
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reset(p, 0.01, 1, &n, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, I, n, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    v[2] = 0.7;  // opens, and bears nothing: a solution
    assert_int_equal(sap_residuals(p, v, gamma, &out, NULL), SAP_STATUS_OK);
    assert_true(out.ccp_natural_map == 0.0 && out.ncp_natural_map == 0.0);
    assert_true(out.ccp_natural_map_scaled == 0.0 && out.ncp_natural_map_scaled == 0.0);
    assert_true(out.ccp_dual == 0.0 && out.ncp_dual == 0.0 && out.ncp_absolute == 0.0);
    gamma[2] = -0.4;  // pulls
    assert_int_equal(sap_residuals(p, v, gamma, &out, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(out.set_violation, 0.4, 1e-16);
    ASSERT_NEAR(out.ccp_natural_map, 1.0, 1e-15);
    sap_problem_destroy(p);
  }
}

static void test_at_rest(void** state) {
  (void)state;
  const int32_t sizes[1] = {1};
  const double one[1] = {1}, v[1] = {0};
  sap_problem* p;
  sap_residual out;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_residuals(p, v, NULL, &out, NULL), SAP_STATUS_OK);
  assert_true(out.cost == 0.0 && out.momentum == 0.0 && out.projection == 0.0 &&
              out.slackness == 0.0 && out.set_violation == 0.0 && out.penetration == 0.0);
  sap_problem_destroy(p);
}

// A problem of two contacts and a limit of two trees, by A or by its inverse.
static sap_problem* make_stored(bool inverse, const double mass[2], const double* J,
                                const double v_star[6]) {
  static const double R[3] = {0.1, 0.1, 0.2}, v_hat[3] = {0.0, 0.0, 0.3};
  const int32_t sizes[2] = {3, 3};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 2; ++t) {
    const double m = inverse ? 1.0 / mass[t] : mass[t], M[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
    assert_int_equal((inverse ? sap_problem_set_mobility_block : sap_problem_set_momentum_block)(
                         p, t, t, M, 3, NULL),
                     SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int32_t b = 0; b < 3; ++b) {
    static const int32_t trees[3][2] = {{0, 1}, {1, 0}, {0, 0}};
    const double* jacobians[2] = {J, J + 9};
    const sap_block block = {.set = b < 2 ? SAP_SET_FRICTION_CONE : SAP_SET_NONNEGATIVE,
                             .nrows = 3,
                             .ntrees = b < 2 ? 2 - b : 1,
                             .trees = trees[b],
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = b < 2 ? 0.5 + 0.3 * b : 0.0};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  return p;
}

// The numbers do not depend on which of A and A^-1 is stored, where momentum balances.
static void test_mobility(void** state) {
  (void)state;
  enum { NUMBERS = sizeof(sap_residual) / sizeof(double) };
  static const double mass[2] = {2.0, 5.0}, v_star[6] = {1, -2, -3, 0.5, 1, -1};
  static const double gamma[9] = {0.3, 0.1, 0.7, -0.4, 0.2, 0.5, 0.6, 0.0, 0.2};
  double J[18], v[6], momentum[6] = {0};
  for (int i = 0; i < 18; ++i) {
    J[i] = sin(1.0 + i);
  }
  for (int c = 0; c < 3; ++c) {  // blocks 0 and 2 and the first J: tree 0; 0 and 1: tree 1
    for (int r = 0; r < 3; ++r) {
      momentum[c] += J[3 * c + r] * (gamma[r] + gamma[6 + r]);
      momentum[3 + c] += J[9 + 3 * c + r] * gamma[r] + J[3 * c + r] * gamma[3 + r];
    }
  }
  for (int i = 0; i < 6; ++i) {
    v[i] = v_star[i] + momentum[i] / mass[i / 3];
  }
  double values[2][NUMBERS];
  for (int inverse = 0; inverse < 2; ++inverse) {
    sap_problem* p = make_stored(inverse, mass, J, v_star);
    sap_residual out;
    assert_int_equal(sap_residuals(p, v, gamma, &out, NULL), SAP_STATUS_OK);
    memcpy(values[inverse], &out, sizeof out);
    assert_true(out.momentum < 1e-15 && out.ccp_row > 0.01 && out.ncp_row > 0.01);
    sap_problem_destroy(p);
  }
  for (int i = 0; i < NUMBERS; ++i) {
    ASSERT_NEAR(values[0][i], values[1][i], 1e-13 * fmax(1.0, fabs(values[0][i])));  // round-off
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand),      cmocka_unit_test(test_sliding_map),
      cmocka_unit_test(test_frictionless), cmocka_unit_test(test_at_rest),
      cmocka_unit_test(test_mobility),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
