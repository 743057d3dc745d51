// SPDX-License-Identifier: BSD-3-Clause
// Every set: impulse against brute force, -gamma against differences of the cost, G against
// differences of gamma, G symmetric positive semidefinite.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contact/cone.h"
#include "support/near.h"

static double pseudo_random(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 16777216.0 - 0.5;
}

// v' G v >= 0 for G symmetric 3x3: all principal minors, relative to the entries.
static void check_semidefinite(const double G[9]) {
  const double scale = fabs(G[0]) + fabs(G[4]) + fabs(G[8]);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      assert_true(G[3 * i + j] == G[3 * j + i]);
    }
    assert_true(G[4 * i] >= 0.0);
    const int a = i, b = (i + 1) % 3;
    const double minor = G[4 * a] * G[4 * b] - G[3 * a + b] * G[3 * a + b];
    assert_true(minor >= -1e-14 * scale * scale);
  }
  const double determinant = G[0] * (G[4] * G[8] - G[5] * G[5]) -
                             G[1] * (G[1] * G[8] - G[5] * G[2]) +
                             G[2] * (G[1] * G[5] - G[4] * G[2]);
  assert_true(determinant >= -1e-14 * scale * scale * scale);
}

// The regions are open: at a point h from a border a difference would straddle it.
static bool same_hessian(const double* a, const double* b) {
  double difference = 0.0, scale = 0.0;
  for (int i = 0; i < 9; ++i) {
    difference = fmax(difference, fabs(a[i] - b[i]));
    scale = fmax(scale, fabs(a[i]));
  }
  return difference <= 1e-2 * scale;
}

// Central differences in units of the block's own scale of velocities. Returns whether compared.
static bool check_differences(const sap_block* block, const double vc[3], double scale) {
  const double h = 1e-5 * scale;
  double gamma[3], G[9];
  (void)sap_set_impulse(block, vc, gamma);
  sap_set_hessian(block, vc, G);
  check_semidefinite(G);
  double gamma_scale = scale / block->R[0], G_scale = 0.0;
  for (int i = 0; i < 3; ++i) {
    gamma_scale = fmax(gamma_scale, scale / block->R[i]);
    G_scale = fmax(G_scale, 1.0 / block->R[i]);
  }
  for (int j = 0; j < 3; ++j) {
    double plus[3] = {vc[0], vc[1], vc[2]}, minus[3] = {vc[0], vc[1], vc[2]};
    double gamma_plus[3], gamma_minus[3], G_plus[9], G_minus[9];
    plus[j] += h;
    minus[j] -= h;
    const double rise =
        sap_set_impulse(block, plus, gamma_plus) - sap_set_impulse(block, minus, gamma_minus);
    sap_set_hessian(block, plus, G_plus);
    sap_set_hessian(block, minus, G_minus);
    // C1 everywhere: error h times the jump of G at a border at most
    ASSERT_NEAR(rise / (2.0 * h), -gamma[j], 2.0 * h * G_scale + 1e-8 * gamma_scale);
    if (!same_hessian(G_plus, G_minus)) {
      return false;
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(-(gamma_plus[i] - gamma_minus[i]) / (2.0 * h), G[3 * j + i], 1e-5 * G_scale);
    }
  }
  return true;
}

static void test_differences(void** state) {
  (void)state;
  const double R_cone[3] = {0.02, 0.02, 0.5}, R_any[3] = {0.02, 0.3, 1.5};
  const double v_hat[3] = {0.1, -0.2, 0.3};
  const double lower[3] = {-5.0, 0.2, -(double)INFINITY}, upper[3] = {4.0, 0.7, -0.1};
  const double mu[4] = {0.0, 0.3, 1.0, 4.0};
  uint32_t seed = 3;
  int compared[4] = {0};
  for (int trial = 0; trial < 4000; ++trial) {
    const sap_set set = (sap_set)(trial % 4);
    const bool cone = set == SAP_SET_FRICTION_CONE;
    const sap_block block = {.set = set,
                             .nrows = 3,
                             .R = cone ? R_cone : R_any,
                             .v_hat = v_hat,
                             .friction = mu[(trial / 4) % 4],
                             .lower = lower,
                             .upper = upper};
    const double vc[3] = {pseudo_random(&seed), pseudo_random(&seed), 2 * pseudo_random(&seed)};
    compared[set] += check_differences(&block, vc, 1.0) ? 1 : 0;
  }
  for (int set = 0; set < 4; ++set) {
    assert_in_range(compared[set], 900, 1000);
  }
}

// Smallest R-norm distance from y over the cone: gamma_n by golden section around nested angles.
static double distance_2(const double R[3], const double y[3], const double gamma[3]) {
  double sum = 0.0;
  for (int i = 0; i < 3; ++i) {
    sum += R[i] * (gamma[i] - y[i]) * (gamma[i] - y[i]);
  }
  return sum;
}

// For given gamma_n the best tangent is y_t scaled back onto the disk of radius mu gamma_n.
static void best_tangent(double mu, const double y[3], double gamma_n, double gamma[3]) {
  const double yr = sqrt(y[0] * y[0] + y[1] * y[1]);
  const double radius = mu * gamma_n;
  const double s = yr > radius ? radius / yr : 1.0;
  gamma[0] = s * y[0];
  gamma[1] = s * y[1];
  gamma[2] = gamma_n;
}

static void brute_force(const sap_block* block, const double y[3], double gamma[3]) {
  const double golden = 0.5 * (sqrt(5.0) - 1.0);
  double low = 0.0;
  // gamma_n is at most a weighted mean of y_n and yr/mu
  const double reach = block->friction > 0.0 ? (fabs(y[0]) + fabs(y[1])) / block->friction : 0.0;
  double high = 2.0 * (fabs(y[2]) + reach) + 1e-9;
  for (int i = 0; i < 200; ++i) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    double gamma_a[3], gamma_b[3];
    best_tangent(block->friction, y, a, gamma_a);
    best_tangent(block->friction, y, b, gamma_b);
    if (distance_2(block->R, y, gamma_a) < distance_2(block->R, y, gamma_b)) {
      high = b;
    } else {
      low = a;
    }
  }
  best_tangent(block->friction, y, 0.5 * (low + high), gamma);
}

typedef struct cone_case {
  double vc[3];
  int region;  // 0 stiction, 1 sliding, 2 none
} cone_case;

// dt .01, w 1, phi0 -2.5e-3, mu .5, k 3e5, tau_d .02, sigma 1e-3
static void test_cone_cases(void** state) {
  (void)state;
  static const cone_case cases[] = {
      {{1e-4, 0, -.1}, 0}, {{1e-4, 1e-4, -.1}, 0},  {{-1e-5, 1e-4, -.05}, 0},
      {{.1, 0, -.1}, 1},   {{.1, -.2, -.1}, 1},     {{.1, .05, 0}, 1},
      {{.1, 0, .1}, 2},    {{1e-4, -2e-3, .01}, 2}, {{-.1, .1, .2}, 2},
  };
  const sap_material pair = {.stiffness = 3e5, .relaxation_time = 0.02, .friction = 0.5};
  const sap_regularization regularization = {1.0, 1e-3, 0.0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    // a gap for those without contact: with 2.5 mm of penetration they would still be pushed out
    const double phi0 = cases[i].region == 2 ? 2.5e-3 : -2.5e-3;
    double R[3], v_hat[3];
    assert_int_equal(
        sap_contact_regularize(&pair, &regularization, 0.01, phi0, 1.0, R, v_hat, NULL),
        SAP_STATUS_OK);
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = pair.friction};
    const double* vc = cases[i].vc;
    double y[3], gamma[3], expected[3];
    for (int r = 0; r < 3; ++r) {
      y[r] = -(vc[r] - v_hat[r]) / R[r];
    }
    const double cost = sap_set_impulse(&block, vc, gamma);
    brute_force(&block, y, expected);
    const double scale = 1.0 + fabs(expected[2]);
    for (int r = 0; r < 3; ++r) {
      ASSERT_NEAR(gamma[r], expected[r], 1e-7 * scale);
    }
    ASSERT_NEAR(cost,
                0.5 * (R[0] * gamma[0] * gamma[0] + R[1] * gamma[1] * gamma[1] +
                       R[2] * gamma[2] * gamma[2]),
                1e-14 * (1.0 + cost));
    const double gr = sqrt(gamma[0] * gamma[0] + gamma[1] * gamma[1]);
    const int region = gamma[2] == 0.0 ? 2 : fabs(gr - 0.5 * gamma[2]) <= 1e-12 * gamma[2] ? 1 : 0;
    if (region != cases[i].region) {
      fail_msg("case %zu: region %d, expected %d", i, region, cases[i].region);
    }
    assert_true(sap_set_distance(&block, gamma) <= 1e-14 * gamma[2]);
    (void)check_differences(&block, vc, 1e-4);
  }
}

static void test_random_cones_against_brute_force(void** state) {
  (void)state;
  uint32_t seed = 11;
  const double v_hat[3] = {0};
  for (int trial = 0; trial < 300; ++trial) {
    const double Rt = pow(10.0, 4 * pseudo_random(&seed)), Rn = pow(10.0, 4 * pseudo_random(&seed));
    const double R[3] = {Rt, Rt, Rn};
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = trial % 5 == 0 ? 0.0 : 1.0 + pseudo_random(&seed)};
    double y[3], vc[3], gamma[3], expected[3];
    for (int r = 0; r < 3; ++r) {
      y[r] = pseudo_random(&seed);
      vc[r] = -R[r] * y[r];
    }
    (void)sap_set_impulse(&block, vc, gamma);
    brute_force(&block, y, expected);
    for (int r = 0; r < 3; ++r) {
      ASSERT_NEAR(gamma[r], expected[r],
                  2e-6);  // golden section sees sqrt(eps) of a minimum, flat by Rt/Rn
    }
  }
}

// Borders and the apex: no NaN, nothing outside the cone.
static void test_cone_corners(void** state) {
  (void)state;
  const double R[3] = {1e-3, 1e-3, 0.1}, v_hat[3] = {0};
  for (int trial = 0; trial < 2; ++trial) {
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = trial == 0 ? 0.0 : 0.5};
    const double points[5][3] = {
        {0, 0, 0}, {0, 0, -1}, {0, 0, 1}, {1e-300, 0, 1e-300}, {-0.0, 5e-324, -1}};
    for (int i = 0; i < 5; ++i) {
      double gamma[3], G[9];
      const double cost = sap_set_impulse(&block, points[i], gamma);
      sap_set_hessian(&block, points[i], G);
      assert_true(cost >= 0.0 && isfinite(cost));
      check_semidefinite(G);
      assert_true(sap_set_distance(&block, gamma) <= 1e-15);
      if (trial == 0) {
        assert_true(gamma[0] == 0.0 && gamma[1] == 0.0 && G[0] == 0.0 && G[4] == 0.0);
      }
    }
  }
}

static void test_distance(void** state) {
  (void)state;
  const sap_block cone = {.set = SAP_SET_FRICTION_CONE, .nrows = 3, .friction = 1.0};
  ASSERT_NEAR(sap_set_distance(&cone, (double[3]){1, 0, 0}), sqrt(0.5), 1e-15);
  ASSERT_NEAR(sap_set_distance(&cone, (double[3]){0, 1, -2}), sqrt(5.0), 1e-15);
  assert_true(sap_set_distance(&cone, (double[3]){0.6, 0.8, 1}) <= 1e-15);
  const double lower[2] = {-1, 0}, upper[2] = {1, (double)INFINITY};
  const sap_block box = {.set = SAP_SET_BOX, .nrows = 2, .lower = lower, .upper = upper};
  ASSERT_NEAR(sap_set_distance(&box, (double[2]){4, -4}), 5.0, 1e-15);
  const sap_block positive = {.set = SAP_SET_NONNEGATIVE, .nrows = 2};
  ASSERT_NEAR(sap_set_distance(&positive, (double[2]){-3, 7}), 3.0, 1e-15);
  const sap_block any = {.set = SAP_SET_FREE, .nrows = 2};
  assert_true(sap_set_distance(&any, (double[2]){-3, 7}) == 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_differences),
      cmocka_unit_test(test_cone_cases),
      cmocka_unit_test(test_random_cones_against_brute_force),
      cmocka_unit_test(test_cone_corners),
      cmocka_unit_test(test_distance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
