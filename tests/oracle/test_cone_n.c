// SPDX-License-Identifier: BSD-3-Clause
// Friction cones of 4 and 6 rows: the projection against its variational inequality in the
// unscaled, elliptic cone; cost, impulse and G against differences; frames of contacts of a model
// against the problem's rows.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contact/cone.h"
#include "problem/problem_data.h"
#include "support/near.h"

static double pseudo_random(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 16777216.0 - 0.5;
}

static int32_t friction_index(int32_t row) {
  return row < 2 ? row : row - 1;
}

// A point of sum (x_j/mu_j)^2 <= x_n^2, half of them on its surface.
static void feasible(const double* mu, int32_t n, uint32_t* seed, double* x) {
  double t[6], size_2 = 0.0;
  const double xn = exp(8.0 * pseudo_random(seed));
  for (int32_t i = 0; i < n; ++i) {
    t[i] = i == 2 ? 0.0 : pseudo_random(seed);
    size_2 += t[i] * t[i];
  }
  const double radius = pseudo_random(seed) > 0.0 ? 1.0 : fabs(2.0 * pseudo_random(seed));
  for (int32_t i = 0; i < n; ++i) {
    x[i] = i == 2 ? xn : radius * xn * mu[friction_index(i)] * t[i] / sqrt(size_2);
  }
}

// gamma is the projection of y in the R norm iff (y - gamma, x - gamma)_R <= 0 for all x of C, and
// gamma in C. R_j = Rt/s_j^2.
static void test_projection(void** state) {
  (void)state;
  const double mu[5] = {0.6, 0.9, 0.02, 0.003, 0.001}, Rt = 0.02, Rn = 0.5;
  uint32_t seed = 11;
  int regions[3] = {0};
  for (int trial = 0; trial < 600; ++trial) {
    const int32_t n = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 4 : 6;
    double scales[6], u[6] = {0.0}, gamma[6], R[6], y[6];
    const double largest = sap_friction_scales(mu, n, scales);
    ASSERT_NEAR(largest, 0.9, 0.0);
    const sap_cone cone = sap_cone_make(largest, Rt, Rn);
    for (int32_t i = 0; i < n; ++i) {
      R[i] = i == 2 ? Rn : Rt / (scales[i] * scales[i]);
      // of the size that leaves no row without effect
      y[i] = (i == 2 ? 2.0 : (trial % 2 == 0 ? 3.0 : 0.5) * mu[friction_index(i)]) *
             pseudo_random(&seed);
      u[i] = scales[i] * R[i] * y[i];
    }
    (void)sap_cone_n_impulse(&cone, n, u, gamma);
    regions[sap_cone_classify(&cone, sap_cone_n_dot(n, u, u), u[2])] += 1;
    double size = 0.0, inside = 0.0;
    for (int32_t i = 0; i < n; ++i) {
      gamma[i] *= scales[i];
      size += R[i] * y[i] * y[i];
      inside += i == 2 ? 0.0 : pow(gamma[i] / mu[friction_index(i)], 2.0);
    }
    assert_true(sqrt(inside) <= gamma[2] * (1.0 + 1e-14));
    for (int k = 0; k < 200; ++k) {
      double x[6], product = 0.0, length_2 = 0.0;
      feasible(mu, n, &seed, x);
      for (int32_t i = 0; i < n; ++i) {
        product += R[i] * (y[i] - gamma[i]) * (x[i] - gamma[i]);
        length_2 += R[i] * (x[i] - gamma[i]) * (x[i] - gamma[i]);
      }
      assert_true(product <= 1e-13 * sqrt(size * length_2));  // round-off of six products
    }
  }
  for (int i = 0; i < 3; ++i) {
    assert_in_range(regions[i], 50, 500);
  }
}

// The formulas of n rows at n = 3 against those of 3 rows.
static void test_three_rows(void** state) {
  (void)state;
  const sap_cone cone = sap_cone_make(0.7, 0.02, 0.3);
  const int at[9] = {0, 1, 3, 1, 2, 4, 3, 4, 5};
  uint32_t seed = 5;
  for (int trial = 0; trial < 300; ++trial) {
    const double u[3] = {pseudo_random(&seed), pseudo_random(&seed), 2.0 * pseudo_random(&seed)};
    double gamma[3], wide[3], G[6], G_wide[9];
    ASSERT_NEAR(sap_cone_n_impulse(&cone, 3, u, wide), sap_cone_impulse(&cone, u, gamma), 1e-14);
    sap_cone_hessian(&cone, u, G);
    sap_cone_n_hessian(&cone, 3, u, G_wide);
    for (int i = 0; i < 9; ++i) {
      ASSERT_NEAR(wide[i % 3], gamma[i % 3], 1e-13);
      ASSERT_NEAR(G_wide[i], G[at[i]], 1e-12);  // of entries up to 50
    }
  }
}

static void test_differences(void** state) {
  (void)state;
  const double mu[4] = {0.0, 0.3, 1.0, 4.0}, R[6] = {0.02, 0.02, 0.5, 0.02, 0.02, 0.02};
  const double v_hat[6] = {0.1, -0.2, 0.3, 0.05, 0.0, -0.1}, h = 1e-5;
  uint32_t seed = 3;
  int compared = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const int32_t n = trial % 2 == 0 ? 4 : 6;
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = n,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = mu[(trial / 2) % 4]};
    double vc[6], gamma[6], G[36];
    for (int32_t i = 0; i < n; ++i) {
      vc[i] = (i == 2 ? 2.0 : 1.0) * pseudo_random(&seed);
    }
    (void)sap_set_impulse(&block, vc, gamma);
    sap_set_hessian(&block, vc, G);
    double jump = 0.0, worst = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      double gamma_plus[6], gamma_minus[6], G_plus[36], G_minus[36];
      const double at = vc[j];
      vc[j] = at + h;
      const double high = sap_set_impulse(&block, vc, gamma_plus);
      sap_set_hessian(&block, vc, G_plus);
      vc[j] = at - h;
      const double low = sap_set_impulse(&block, vc, gamma_minus);
      sap_set_hessian(&block, vc, G_minus);
      vc[j] = at;
      ASSERT_NEAR((high - low) / (2.0 * h), -gamma[j], 2.0 * h * 50.0 + 1e-8);
      for (int32_t i = 0; i < n; ++i) {
        jump = fmax(jump, fabs(G_plus[j * n + i] - G_minus[j * n + i]));
        worst = fmax(worst, fabs((gamma_minus[i] - gamma_plus[i]) / (2.0 * h) - G[j * n + i]));
        assert_true(G[j * n + i] == G[i * n + j]);
      }
    }
    if (jump <= 0.5) {  // no border of a region between: 1/Rt = 50
      assert_true(worst <= 5e-4);
      compared += 1;
    }
  }
  assert_in_range(compared, 900, 1000);
}

// Scales: the larger tangent rules; without sliding friction mu is 1; without any, 0.
static void test_scales(void** state) {
  (void)state;
  const double any[5] = {0.5, 0.25, 0.1, 0.0, 0.05}, spin[5] = {0.0, 0.0, 0.1, 0.2, 0.3};
  const double none[5] = {0.0};
  const double any_scales[6] = {1.0, 0.5, 1.0, 0.2, 0.0, 0.1};
  const double spin_scales[6] = {0.0, 0.0, 1.0, 0.1, 0.2, 0.3};
  double scales[6];
  ASSERT_NEAR(sap_friction_scales(any, 6, scales), 0.5, 0.0);
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(scales[i], any_scales[i], 0.0);
  }
  ASSERT_NEAR(sap_friction_scales(spin, 6, scales), 1.0, 0.0);
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(scales[i], spin_scales[i], 0.0);
  }
  ASSERT_NEAR(sap_friction_scales(none, 6, scales), 0.0, 0.0);
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(scales[i], 1.0, 0.0);
  }
}

// Rt of a body of 2 kg and 0.5 kg m^2 with sigma 1e-8: w = |diag(1/2, 1/2, 1/2)|_F/3, and of spin
// s^2/0.5, of which Rt is at least 1e-14.
static void test_rows_far_apart(void** state) {
  (void)state;
  static const double SPIN[] = {1.0, 1e2, 1e6};
  const double w = sqrt(0.75) / 3.0, Rt[] = {1e-8 * w, 1e-8 * w, 1e-14 * 1e12 / 0.5};
  const int32_t size = 6, tree = 0;
  double A[36] = {0.0}, linear[18] = {0.0}, angular[6] = {0.0};
  const double *jacobians[] = {linear}, *turning[] = {angular};
  for (int32_t i = 0; i < 3; ++i) {
    A[7 * i] = 0.5;
    A[7 * (i + 3)] = 2.0;
    linear[3 * (i + 3) + i] = 1.0;
  }
  angular[2] = 1.0;
  for (int k = 0; k < 3; ++k) {
    const double mu[3] = {1.0, 1.0, SPIN[k]};
    const sap_regularization regularization = {1.0, 1e-8, 0.0};
    const sap_contact_block contact = {.nrows = 4,
                                       .ntrees = 1,
                                       .trees = &tree,
                                       .jacobians = jacobians,
                                       .angular = turning,
                                       .friction = mu,
                                       .material = sap_material_default()};
    sap_problem* problem;
    sap_block block;
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reset(problem, 0.01, 1, &size, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A, 6, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_contact(problem, &contact, &regularization, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_problem_block(problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(block.R[0], Rt[k], 1e-14 * Rt[k]);  // a few roundings
    ASSERT_NEAR(block.R[3], Rt[k], 1e-14 * Rt[k]);
    sap_problem_destroy(problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_projection),     cmocka_unit_test(test_three_rows),
      cmocka_unit_test(test_differences),    cmocka_unit_test(test_scales),
      cmocka_unit_test(test_rows_far_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
