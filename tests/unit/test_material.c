// SPDX-License-Identifier: BSD-3-Clause
// Combination rules and the regularization of castro (29)-(30).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/contact.h>

#include "contact/contact_law.h"
#include "support/near.h"

static sap_material combine(sap_material a, sap_material b, sap_friction_rule rule) {
  sap_material pair;
  assert_int_equal(sap_material_combine(&a, &b, rule, &pair, NULL), SAP_STATUS_OK);
  return pair;
}

static void test_combine(void** state) {
  (void)state;
  const sap_material a = {.stiffness = 3e4,
                          .relaxation_time = 0.1,
                          .dissipation = 2.0,
                          .friction = 0.5,
                          .static_friction = 0.8},
                     b = {.stiffness = 1e4,
                          .relaxation_time = 0.02,
                          .dissipation = 0.4,
                          .friction = 1.0};
  sap_material pair = combine(a, b, SAP_FRICTION_HARMONIC);
  ASSERT_NEAR(pair.stiffness, 7500.0, 1e-9);
  // (kB tauA + kA tauB)/(kA + kB) = (1e4 0.1 + 3e4 0.02)/4e4
  ASSERT_NEAR(pair.relaxation_time, 0.04, 1e-16);
  ASSERT_NEAR(pair.dissipation, 0.8, 1e-15);
  ASSERT_NEAR(pair.friction, 2.0 / 3.0, 1e-15);
  ASSERT_NEAR(pair.static_friction, 2.0 * 0.8 * 1.0 / 1.8, 1e-15);  // b's is its friction
  const sap_material swapped = combine(b, a, SAP_FRICTION_HARMONIC);
  ASSERT_NEAR(swapped.stiffness, pair.stiffness, 1e-9);
  ASSERT_NEAR(swapped.relaxation_time, pair.relaxation_time, 1e-16);
  ASSERT_NEAR(swapped.dissipation, pair.dissipation, 1e-15);
  assert_true(combine(a, b, SAP_FRICTION_MAXIMUM).friction == 1.0);
}

static void test_combine_limits(void** state) {
  (void)state;
  const double infinity = (double)INFINITY;
  const sap_material rigid = {.stiffness = infinity, .relaxation_time = 0.3, .friction = 0.0},
                     soft = {.stiffness = 1e4, .relaxation_time = 0.02, .friction = 0.0};
  sap_material pair = combine(rigid, soft, SAP_FRICTION_HARMONIC);
  assert_true(pair.stiffness == 1e4 && pair.relaxation_time == 0.02 && pair.friction == 0.0);
  const sap_material rigid2 = {.stiffness = infinity, .relaxation_time = 0.1, .friction = 2.0};
  pair = combine(rigid, rigid2, SAP_FRICTION_HARMONIC);
  assert_true(isinf(pair.stiffness) && pair.relaxation_time == 0.2 && pair.friction == 0.0);
  const sap_material huge = {.stiffness = 1e308, .relaxation_time = 0.1, .friction = 1e308};
  pair = combine(huge, huge, SAP_FRICTION_HARMONIC);
  ASSERT_NEAR(pair.stiffness / 5e307, 1.0, 1e-15);
  ASSERT_NEAR(pair.friction / 1e308, 1.0, 1e-15);
}

// dt 5e-3, w 3, k 1e5, tau_d .01, beta 0, sigma 1e-4: Rt 3e-4, Rn 1/(dt (dt + tau_d) k) = .13333
static void test_soft(void** state) {
  (void)state;
  const sap_material pair = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 1.0};
  const sap_regularization regularization = {0.0, 1e-4, 0.0};
  double R[3], v_hat[3];
  assert_int_equal(sap_contact_regularize(&pair, &regularization, 5e-3, 0.03, 3.0, R, v_hat, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(R[0], 3e-4, 1e-18);
  ASSERT_NEAR(R[1], 3e-4, 1e-18);
  ASSERT_NEAR(R[2], 1.0 / 7.5, 1e-15);
  assert_true(v_hat[0] == 0.0 && v_hat[1] == 0.0);
  ASSERT_NEAR(v_hat[2], -2.0, 1e-14);
}

static void test_near_rigid(void** state) {
  (void)state;
  const sap_material pair = {
      .stiffness = (double)INFINITY, .relaxation_time = 0.01, .friction = 1.0};
  const sap_regularization regularization = {2.0, 1e-3, 0.0};
  double R[3], v_hat[3];
  assert_int_equal(sap_contact_regularize(&pair, &regularization, 5e-3, -0.03, 3.0, R, v_hat, NULL),
                   SAP_STATUS_OK);
  const double pi = acos(-1.0);
  ASSERT_NEAR(R[2], 3.0 / (pi * pi), 1e-15);
}

static void expect(sap_status status, sap_material pair, sap_regularization regularization,
                   const double numbers[3], const char* word) {
  sap_error error = {0};
  double R[3] = {7, 7, 7}, v_hat[3] = {7, 7, 7};
  assert_int_equal(sap_contact_regularize(&pair, &regularization, numbers[0], numbers[1],
                                          numbers[2], R, v_hat, &error),
                   status);
  assert_int_equal(error.status, status);
  assert_non_null(strstr(error.message, word));
  assert_true(R[0] == 7 && R[2] == 7 && v_hat[2] == 7);
}

static void test_bad_input(void** state) {
  (void)state;
  const sap_material good = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 1.0};
  const sap_regularization one = {1.0, 1e-3, 0.0};
  const double fine[3] = {5e-3, 0.0, 3.0};
  expect(SAP_STATUS_ARGUMENT,
         (sap_material){.stiffness = 0.0, .relaxation_time = 0.01, .friction = 1.0}, one, fine,
         "stiffness = 0");
  expect(SAP_STATUS_NOT_FINITE,
         (sap_material){.stiffness = (double)NAN, .relaxation_time = 0.01, .friction = 1.0}, one,
         fine, "stiffness");
  expect(SAP_STATUS_ARGUMENT,
         (sap_material){.stiffness = 1e5, .relaxation_time = -0.01, .friction = 1.0}, one, fine,
         "relaxation_time");
  expect(SAP_STATUS_ARGUMENT,
         (sap_material){.stiffness = 1e5, .relaxation_time = 0.01, .friction = -1.0}, one, fine,
         "friction = -1");
  expect(SAP_STATUS_NOT_FINITE,
         (sap_material){.stiffness = 1e5, .relaxation_time = 0.01, .friction = (double)NAN}, one,
         fine, "friction");
  expect(SAP_STATUS_ARGUMENT, good, (sap_regularization){-1.0, 1e-3, 0.0}, fine, "beta");
  expect(SAP_STATUS_ARGUMENT, good, (sap_regularization){1.0, 0.0, 0.0}, fine, "sigma");
  expect(SAP_STATUS_ARGUMENT, good, one, (double[3]){0.0, 0.0, 3.0}, "dt");
  expect(SAP_STATUS_ARGUMENT, good, one, (double[3]){5e-3, 0.0, 0.0}, "w = 0");
  expect(SAP_STATUS_NOT_FINITE, good, one, (double[3]){5e-3, (double)NAN, 3.0}, "phi0");
  // rigid without the near-rigid limit: R would be 0
  expect(SAP_STATUS_ARGUMENT,
         (sap_material){.stiffness = (double)INFINITY, .relaxation_time = 0.01, .friction = 1.0},
         (sap_regularization){0.0, 1e-3, 0.0}, fine, "Rn = 0");
}

// From the static friction up to v_s to the other at 3 v_s by the cubic that is flat at both ends.
static void test_static_friction(void** state) {
  (void)state;
  const sap_material pair = {.stiffness = 1e5,
                             .friction = 0.4,
                             .static_friction = 0.6,
                             .stiction_tolerance = 1e-3,
                             .model = SAP_CONTACT_LAGGED};
  const sap_regularization regularization = sap_regularization_default();
  static const double slips[] = {0.0, 1e-3, 1.5e-3, 2e-3, 2.5e-3, 3e-3, 1.0};
  static const double shares[] = {0.0, 0.0, 5.0 / 32.0, 0.5, 27.0 / 32.0, 1.0, 1.0};
  for (size_t i = 0; i < sizeof slips / sizeof *slips; ++i) {
    const sap_contact_scheme scheme = sap_contact_scheme_default();
    const sap_law_settings settings = {5e-3, &scheme, &regularization};
    const double scales[3] = {1.0, 1.0, 1.0}, zeros[3] = {0.0, 0.0, 0.0};
    const double vc0[3] = {0.6 * slips[i], -0.8 * slips[i], 0.0};
    const sap_law_contact contact = {.material = &pair,
                                     .model = pair.model,
                                     .w = 1.0,
                                     .friction = pair.friction,
                                     .nrows = 3,
                                     .scales = scales,
                                     .surface_velocity = zeros,
                                     .velocity_change = zeros,
                                     .vc0 = vc0,
                                     .vc_star = zeros};
    sap_law_rows law;
    assert_int_equal(sap_law_contact_rows(&settings, &contact, &law, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(law.friction, 0.6 - 0.2 * shares[i], 1e-15);
    assert_true(law.slip_speed == 1e-3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_combine),   cmocka_unit_test(test_combine_limits),
      cmocka_unit_test(test_soft),      cmocka_unit_test(test_near_rigid),
      cmocka_unit_test(test_bad_input), cmocka_unit_test(test_static_friction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
