// SPDX-License-Identifier: BSD-3-Clause
// R, v_hat and the expected slip of a contact against the formulas of contact_law.c, with loads,
// pulls, wrong starts and rigid schemes, written out for one number each.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contact/contact_law.h"
#include "support/near.h"

static const double DT = 1e-3, SIGMA = 1e-3, MU = 0.5;
static const double ZERO[3] = {0.0, 0.0, 0.0}, ONE[3] = {1.0, 1.0, 1.0};
static const double FOUR_PI_2 = 39.478417604357434475;

// The law of a contact where an impact at the speed V is expected.
static sap_law_rows rows_of(const sap_law_contact* contact, double V, bool rigid) {
  const sap_regularization regularization = {1.0, SIGMA, V};
  sap_contact_scheme scheme = sap_contact_scheme_default();
  scheme.v0 = ZERO;
  scheme.rigid = rigid;
  scheme.baumgarte = 0.25;
  const sap_law_settings settings = {
      .dt = DT, .scheme = &scheme, .regularization = &regularization};
  sap_law_rows rows;
  assert_int_equal(sap_law_contact_rows(&settings, contact, &rows, NULL), SAP_STATUS_OK);
  return rows;
}

static sap_law_contact contact_of(const sap_material* material, double phi0) {
  return (sap_law_contact){.material = material,
                           .model = material->model,
                           .phi0 = phi0,
                           .w = 2.0,
                           .wt = 3.0,
                           .wn = 1.0,
                           .friction = MU,
                           .nrows = 3,
                           .scales = ONE,
                           .surface_velocity = ZERO,
                           .velocity_change = ZERO,
                           .vc0 = ZERO,
                           .vc_star = ZERO};
}

// Near rigid, Rn = w'/(4 pi^2), Rt = sigma w' with w' = min(w, 3 W_nn, 32 pi^2/load); 3 W_nn
// is not below 1e-4 w.
static void test_scale_of_rigid_contacts(void** state) {
  (void)state;
  static const struct {
    double w, wn, load, expected;
  } cases[] = {{2.0, 1.0, 0.0, 2.0},
               {2.0, 0.1, 0.0, 0.3},
               {2.0, 1e-9, 0.0, 2e-4},
               {2.0, 0.0, 0.0, 2e-4},
               {2.0, 1.0, 100.0, 2.0},  // w load < 32 pi^2
               {2.0, 1.0, 1000.0, 8.0 * 39.478417604357434475 / 1000.0},
               {2.0, 0.1, 1500.0, 8.0 * 39.478417604357434475 / 1500.0}};
  const sap_material rigid = {.stiffness = 1e15, .friction = MU};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_law_contact contact = contact_of(&rigid, -1e-4);
    contact.w = cases[i].w;
    contact.wn = cases[i].wn;
    contact.load = cases[i].load;
    const sap_law_rows rows = rows_of(&contact, 0.0, false);
    ASSERT_NEAR(rows.R[2], cases[i].expected / FOUR_PI_2, 1e-14 * cases[i].expected);
    ASSERT_NEAR(rows.R[0], cases[i].expected * SIGMA, 1e-14 * cases[i].expected);
  }
}

// Wrong starts divide R and v_hat by f: at v_n = 0 the impulse stays, under loads and without.
static void test_wrong_starts(void** state) {
  (void)state;
  static const double loads[3] = {0.0, 1000.0, 200.0}, tau = 2e-3, d = 0.05, V = 1.0, M = 0.7;
  const sap_material rigid = {.stiffness = 1e15, .relaxation_time = tau, .friction = MU};
  for (int i = 0; i < 3; ++i) {
    sap_law_contact contact = contact_of(&rigid, -d);
    contact.load = loads[i];
    contact.mass = M;
    const double w = fmin(2.0, 8.0 * FOUR_PI_2 / loads[i]), T = DT + tau, R = w / FOUR_PI_2;
    const double square = d * d / (V * V * M * R * DT * T);  // (d/d_e)^2
    const double most = 50.0 * d / (T * V);  // both times max(1, sqrt(m/M)), m = 1/2 kg
    const double f = fmin(1.0 + (square * square - 1.0), most);
    assert_true(f > 2.0);
    const sap_law_rows explained = rows_of(&contact, 0.0, false);
    ASSERT_NEAR(explained.R[2], R, 1e-14 * R);
    ASSERT_NEAR(explained.v_hat[2], d / T, 1e-13 * d / T);
    assert_false(explained.is_wrong);
    const sap_law_rows wrong = rows_of(&contact, V, false);
    assert_true(wrong.is_wrong);
    ASSERT_NEAR(wrong.R[2], R / f, 1e-12 * R / f);
    ASSERT_NEAR(wrong.v_hat[2], d / T / f, 1e-12 * d / T / f);
    // Rigid schemes take baumgarte's part of the depth back, f times slower.
    const sap_law_rows exact = rows_of(&contact, 0.0, true), slowed = rows_of(&contact, V, true);
    ASSERT_NEAR(exact.v_hat[2], 0.25 * d / DT, 1e-12 * d / DT);
    ASSERT_NEAR(slowed.v_hat[2], 0.25 * d / DT / f, 1e-12 * d / DT / f);
    assert_true(slowed.R[2] == 0.0 && slowed.is_wrong);
  }
}

// A pull adds dt times itself to gamma_n = (v_hat - v)/R of every law, at any distance.
static void test_pull(void** state) {
  (void)state;
  static const sap_contact_model models[] = {SAP_CONTACT_SAP, SAP_CONTACT_SIMILAR,
                                             SAP_CONTACT_LAGGED};
  static const double phi0[2] = {-1e-4, 2e-4}, F = 7.0;
  for (int i = 0; i < 6; ++i) {
    const sap_material material = {
        .stiffness = 1e4, .friction = MU, .dissipation = 3.0, .model = models[i / 2]};
    sap_law_contact contact = contact_of(&material, phi0[i % 2]);
    const sap_law_rows without = rows_of(&contact, 0.0, false);
    contact.pull = F;
    const sap_law_rows with = rows_of(&contact, 0.0, false);
    assert_true(with.R[2] == without.R[2]);
    ASSERT_NEAR(with.v_hat[2] / with.R[2] - without.v_hat[2] / without.R[2], DT * F, 1e-13);
    ASSERT_NEAR(without.v_hat[2], -phi0[i % 2] / DT, 1e-13);
  }
}

// From rest, the slip that v* has beyond what friction alone stops is expected, less 16 times what
// the friction of the load at the start takes; at a slip s0 at least min(2 s0, p).
static void test_expected_slip(void** state) {
  (void)state;
  static const double k = 1e4, d = 1e-4, v_star = 40.0;
  const sap_material material = {.stiffness = k, .friction = MU};
  for (int borne = 0; borne < 2; ++borne) {
    for (int slides = 0; slides < 2; ++slides) {
      const double vc0[3] = {0.0, slides ? 0.5 : 0.0, 0.0}, vc_star[3] = {0.0, v_star, -0.3};
      sap_law_contact contact = contact_of(&material, borne ? -d : 0.0);
      contact.vc0 = vc0;
      contact.vc_star = vc_star;
      const sap_law_rows rows = rows_of(&contact, 0.0, false);
      const double Rn = 1.0 / (DT * k * DT), Rt = 2.0 * SIGMA, load = borne ? DT * k * d : 0.0;
      const double stop = ((borne ? d / DT : 0.0) + 0.3) / (1.0 + Rn);
      const double p = v_star - MU * 3.0 * stop;
      const double s0 = slides ? 0.5 - MU * Rt * load : 0.0;
      const double rest = p - 16.0 * MU * 3.0 * load;
      assert_true(rest > 2.0 * s0 && rows.shifts);
      ASSERT_NEAR(rows.slip, rest, 1e-12);
      contact.vc_star = (double[3]){0.0, slides ? 5.0 : 0.9, -0.3};
      const double p1 = contact.vc_star[1] - MU * 3.0 * stop;
      const double least = fmax(fmin(2.0 * s0, p1), p1 - 16.0 * MU * 3.0 * load);
      ASSERT_NEAR(rows_of(&contact, 0.0, false).slip, least, 1e-12);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scale_of_rigid_contacts),
      cmocka_unit_test(test_wrong_starts),
      cmocka_unit_test(test_pull),
      cmocka_unit_test(test_expected_slip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
