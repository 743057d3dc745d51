// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of one contact in closed form, kinks, softened modes, polished solutions, wrong input.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/gradient.h>

#include "support/near.h"
#include "support/one_contact.h"
#include "support/solve.h"

static const double UNIT[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static const double R[3] = {0.01, 0.01, 0.1}, NO_BIAS[3] = {0.0, 0.0, 0.0};
static const double MU = 0.5;

// A point mass of 1 kg on one contact.
static sap_problem* point_mass(double vt_star, double vn_star) {
  const double v_star[3] = {vt_star, 0.0, vn_star};
  sap_problem* p = one_contact_problem(UNIT, MU, R, NO_BIAS);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  return p;
}

static sap_gradient_options options_of(bool coulomb, double smoothing, int32_t polish) {
  sap_gradient_options o = sap_gradient_options_default();
  o.coulomb = coulomb;
  o.smoothing = smoothing;
  o.polish = polish;
  return o;
}

// Differentiates the solution of a solver.
static sap_gradient* differentiate(const sap_problem* p, const char* solver,
                                   const sap_gradient_options* o, sap_gradient_report* report) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-13;
  sap_solution solution = {0};
  sap_gradient* g = NULL;
  sap_error error = {0};
  (void)solve_problem(solver, &options, p, &solution, NULL);
  assert_int_equal(sap_gradient_create(o, &g, NULL), SAP_STATUS_OK);
  if (sap_gradient_problem(g, p, &solution, report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  sap_solution_clear(&solution);
  return g;
}

// Sets dv/dv* (3 x 3, column-major).
static void by_v_star(sap_gradient* g, double D[9]) {
  for (int j = 0; j < 3; ++j) {
    assert_int_equal(
        sap_gradient_jvp(g, &(sap_problem_tangent){.v_star = UNIT + 3 * j}, D + 3 * j, NULL, NULL),
        SAP_STATUS_OK);
  }
}

// gamma = R^-1 (-v): v = v*/(1 + 1/R).
static void test_sticking(void** unused) {
  (void)unused;
  sap_problem* p = point_mass(0.02, -1.0);
  sap_gradient_report report;
  sap_gradient* g = differentiate(p, "sap", NULL, &report);
  assert_int_equal(report.sticking, 1);
  assert_int_equal(report.open + report.sliding + report.kinks, 0);
  double D[9], dR[3] = {0.0, 0.0, 1.0}, dv[3], dgamma[3];
  by_v_star(g, D);
  ASSERT_NEAR(D[0], R[0] / (1.0 + R[0]), 1e-15);
  ASSERT_NEAR(D[8], R[2] / (1.0 + R[2]), 1e-15);
  ASSERT_NEAR(D[1] + D[2] + D[3] + D[5] + D[6] + D[7], 0.0, 1e-15);
  // v_n = v_n* R/(1 + R)
  assert_int_equal(sap_gradient_jvp(g, &(sap_problem_tangent){.R = dR}, dv, dgamma, NULL), 0);
  ASSERT_NEAR(dv[2], -1.0 / (1.1 * 1.1), 1e-14);
  ASSERT_NEAR(dgamma[2], dv[2], 1e-14);
  const double dmu = 1.0;  // sticking does not depend on mu
  assert_int_equal(sap_gradient_jvp(g, &(sap_problem_tangent){.friction = &dmu}, dv, NULL, NULL),
                   0);
  ASSERT_NEAR(fabs(dv[0]) + fabs(dv[1]) + fabs(dv[2]), 0.0, 0.0);
  sap_gradient_destroy(g);
  sap_problem_destroy(p);
}

// SAP:     gamma_n = k (-v_n + mu v_t), v_t = v_t* - mu gamma_n, v_n = v_n* + gamma_n
//          gamma_n = (mu v_t* - v_n*)/(Rn + mu^2 Rt + 1 + mu^2)
// Coulomb: gamma_n = -v_n*/(1 + Rn)
static void test_sliding(void** unused) {
  (void)unused;
  for (int coulomb = 0; coulomb < 2; ++coulomb) {
    sap_problem* p = point_mass(3.0, -1.0);
    sap_gradient_report report;
    const sap_gradient_options o = options_of(coulomb == 1, 0.0, 0);
    sap_gradient* g = differentiate(p, coulomb ? "newton-ncp" : "sap", &o, &report);
    assert_int_equal(report.sliding, 1);
    const double S = R[2] + MU * MU * R[0] + 1.0 + MU * MU;
    const double normal = coulomb ? 1.0 / (1.0 + R[2]) : (MU * 3.0 + 1.0) / S;
    const double by_vt = coulomb ? 0.0 : MU / S, by_vn = coulomb ? -1.0 / (1.0 + R[2]) : -1.0 / S;
    double D[9];
    by_v_star(g, D);
    ASSERT_NEAR(D[0], 1.0 - MU * by_vt, 1e-13);
    ASSERT_NEAR(D[2], by_vt, 1e-13);
    ASSERT_NEAR(D[6], -MU * by_vn, 1e-13);
    ASSERT_NEAR(D[8], 1.0 + by_vn, 1e-13);
    // Across: the friction mu gamma_n turns with v_t: v_2 = v_2* (1 - c), c = mu gamma_n/v_t*.
    ASSERT_NEAR(D[4], 1.0 - MU * normal / 3.0, 1e-13);
    const double dmu = 1.0;
    const double dn = coulomb ? 0.0 : (3.0 - normal * 2.0 * MU * (1.0 + R[0])) / S;
    double dv[3], v_bar[3] = {0.0, 0.0, 1.0}, mu_bar;
    assert_int_equal(sap_gradient_jvp(g, &(sap_problem_tangent){.friction = &dmu}, dv, NULL, NULL),
                     0);
    ASSERT_NEAR(dv[2], dn, 1e-12);
    ASSERT_NEAR(dv[0], -normal - MU * dn, 1e-12);
    assert_int_equal(
        sap_gradient_vjp(g, v_bar, NULL, &(sap_problem_cotangent){.friction = &mu_bar}, NULL), 0);
    ASSERT_NEAR(mu_bar, dn, 1e-12);
    sap_gradient_destroy(g);
    sap_problem_destroy(p);
  }
}

static void test_open_and_kinks(void** unused) {
  (void)unused;
  // -0.4 m/s away, and within 1e-9 N s of closing: v_n* = R 1e-9
  const double v_n[2] = {0.4, 1e-10};
  for (int i = 0; i < 2; ++i) {
    sap_problem* p = point_mass(0.0, v_n[i]);
    sap_gradient_report report;
    sap_gradient* g = differentiate(p, "sap", NULL, &report);
    assert_int_equal(report.open, 1);
    assert_int_equal(report.kinks, i);
    double D[9];
    by_v_star(g, D);
    assert_memory_equal(D, UNIT, sizeof D);
    sap_gradient_destroy(g);
    sap_problem_destroy(p);
  }
  // At the edge of the cone: v_t/Rt = mu v_n/Rn, both times R/(1 + R) of v*
  const double edge = MU * (1.0 / 1.1) * 1.01;
  for (int i = -1; i <= 1; i += 2) {
    sap_problem* p = point_mass(edge + i * 1e-10, -1.0);
    sap_gradient_report report;
    sap_gradient* g = differentiate(p, "sap", NULL, &report);
    assert_int_equal(report.kinks, 1);
    assert_int_equal(report.sliding, i > 0 ? 1 : 0);
    sap_gradient_destroy(g);
    sap_problem_destroy(p);
  }
}

// kappa -> 0 gives the exact derivative in all modes; an open contact gets a slope, a far one less.
static void test_smoothing(void** unused) {
  (void)unused;
  const double v_star[3][2] = {{0.02, -1.0}, {3.0, -1.0}, {0.5, 2.0}};
  for (int i = 0; i < 3; ++i) {
    sap_problem* p = point_mass(v_star[i][0], v_star[i][1]);
    const sap_gradient_options tiny = options_of(false, 1e-9, 0), soft = options_of(false, 0.3, 0);
    sap_gradient* g[3] = {differentiate(p, "sap", NULL, NULL), differentiate(p, "sap", &tiny, NULL),
                          differentiate(p, "sap", &soft, NULL)};
    double D[3][9];
    for (int k = 0; k < 3; ++k) {
      by_v_star(g[k], D[k]);
      sap_gradient_destroy(g[k]);
    }
    for (int k = 0; k < 9; ++k) {
      ASSERT_NEAR(D[1][k], D[0][k], 1e-12);
    }
    assert_true(i < 2 || (D[2][8] < 0.999 && D[2][8] > 0.5));
    sap_problem_destroy(p);
  }
}

// A row at either bound has half of its slope: v = v* + gamma, gamma = -v/R inside.
static void test_smoothed_bounds(void** unused) {
  (void)unused;
  const double lower[3] = {-1.0, -1.0, -1.0}, upper[3] = {0.5, 0.5, 0.5};
  // y = -v/R: at the upper bound, at the lower one, between them
  const double v_star[3] = {-R[0] * 0.5 - 0.5, R[1] + 1.0, 0.0};
  const sap_gradient_options o = options_of(false, 1e-4, 0);
  sap_problem* p = one_contact_problem_of(
      &(sap_block){.set = SAP_SET_BOX, .lower = lower, .upper = upper}, UNIT, R, NO_BIAS);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  sap_gradient_report report;
  sap_gradient* g = differentiate(p, "sap", &o, &report);
  double D[9];
  by_v_star(g, D);
  ASSERT_NEAR(D[0], 1.0 / (1.0 + 0.5 / R[0]), 1e-6);  // kappa^2/(R 1.5^2), the other bound's part
  ASSERT_NEAR(D[4], 1.0 / (1.0 + 0.5 / R[1]), 1e-6);
  ASSERT_NEAR(D[8], 1.0 / (1.0 + 1.0 / R[2]), 1e-6);
  assert_int_equal(report.kinks, 2);
  sap_gradient_destroy(g);
  sap_problem_destroy(p);
}

// Similar and lagged contacts have a kink where they slip at v_s, where friction stops to grow.
static void test_kinks_of_potentials(void** unused) {
  (void)unused;
  const double vs = 0.1;
  for (int k = 0; k < 4; ++k) {
    sap_block law = {.set = k % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED,
                     .friction = MU,
                     .slip_speed = vs,
                     .lagged_impulse = 1.0};
    sap_problem* p = one_contact_problem_of(&law, UNIT, (double[]){0.1, 0.1, 0.1}, NO_BIAS);
    double v[3] = {k < 2 ? vs : 0.9 * vs, 0.0, -0.1}, gamma[3] = {-0.5, 0.0, 1.0};
    const sap_solution near = {.nv = 3, .nrows = 3, .v = v, .gamma = gamma};
    sap_gradient_options any = options_of(false, 0.0, 0);
    sap_gradient_report report;
    sap_gradient* g = NULL;
    any.accepted_error = 1e300;
    assert_int_equal(sap_gradient_create(&any, &g, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_gradient_problem(g, p, &near, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.kinks, k < 2 ? 1 : 0);
    sap_gradient_destroy(g);
    sap_problem_destroy(p);
  }
}

// A loose solution, polished, is as good as a tight one.
static void test_polish(void** unused) {
  (void)unused;
  sap_problem* p = point_mass(3.0, -1.0);
  sap_gradient* exact = differentiate(p, "sap", NULL, NULL);
  const sap_gradient_options o = options_of(false, 0.0, 3);
  sap_gradient* polished = NULL;
  sap_gradient_report report;
  double v[3] = {2.2, 0.001, 0.5}, gamma[3], D[2][9];
  gamma[2] = (2.2 * MU - 0.5) / (R[2] + MU * MU * R[0]);
  gamma[0] = -MU * gamma[2];
  gamma[1] = 0.0;
  const sap_solution loose = {.nv = 3, .nrows = 3, .v = v, .gamma = gamma};
  sap_gradient_options any = o;
  any.accepted_error = 1e300;
  assert_int_equal(sap_gradient_create(&any, &polished, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_gradient_problem(polished, p, &loose, &report, NULL), SAP_STATUS_OK);
  assert_true(report.error < 1e-14);
  by_v_star(exact, D[0]);
  by_v_star(polished, D[1]);
  for (int k = 0; k < 9; ++k) {
    ASSERT_NEAR(D[1][k], D[0][k], 1e-12);
  }
  sap_gradient_destroy(exact);
  sap_gradient_destroy(polished);
  sap_problem_destroy(p);
}

static void test_nothing(void** unused) {
  (void)unused;
  sap_problem* p = NULL;
  const int32_t size = 3;
  const double v_star[3] = {1.0, 2.0, 3.0};
  double D[9], v_bar[3] = {1.0, 0.0, 0.0}, bar[3], A_bar[9];
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  // no trees
  assert_int_equal(sap_problem_reset(p, 0.01, 0, NULL, NULL), SAP_STATUS_OK);
  sap_gradient_report report;
  sap_gradient* g = differentiate(p, "sap", NULL, &report);
  assert_int_equal(sap_gradient_jvp(g, &(sap_problem_tangent){0}, NULL, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_gradient_vjp(g, NULL, NULL, &(sap_problem_cotangent){0}, NULL), 0);
  sap_gradient_destroy(g);
  // no contacts: v = v*, whatever A
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, UNIT, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int coulomb = 0; coulomb < 2; ++coulomb) {
    const sap_gradient_options o = options_of(coulomb == 1, 0.0, 0);
    g = differentiate(p, "sap", &o, &report);
    by_v_star(g, D);
    assert_memory_equal(D, UNIT, sizeof D);
    const sap_problem_cotangent out = {.v_star = bar, .A = A_bar};
    assert_int_equal(sap_gradient_vjp(g, v_bar, NULL, &out, NULL), SAP_STATUS_OK);
    assert_memory_equal(bar, v_bar, sizeof bar);
    for (int i = 0; i < 9; ++i) {
      ASSERT_NEAR(A_bar[i], 0.0, 0.0);
    }
    sap_gradient_destroy(g);
  }
  sap_problem_destroy(p);
}

static void expect(sap_status got, sap_status want, const sap_error* error, const char* text) {
  assert_int_equal(got, want);
  if (strstr(error->message, text) == NULL) {
    fail_msg("'%s' does not say '%s'", error->message, text);
  }
}

static void test_wrong_options(void** unused) {
  (void)unused;
  sap_gradient* g = NULL;
  sap_error error = {0};
  sap_gradient_options o = options_of(true, 0.1, 0);
  expect(sap_gradient_create(&o, &g, &error), SAP_STATUS_ARGUMENT, &error, "smoothing = 0.1");
  o = options_of(true, 0.0, 1);
  expect(sap_gradient_create(&o, &g, &error), SAP_STATUS_ARGUMENT, &error, "polish = 1");
  o = options_of(false, -1.0, 0);
  expect(sap_gradient_create(&o, &g, &error), SAP_STATUS_ARGUMENT, &error, "smoothing");
  o = options_of(false, (double)NAN, 0);
  expect(sap_gradient_create(&o, &g, &error), SAP_STATUS_NOT_FINITE, &error, "smoothing");
  o = (sap_gradient_options){0};
  expect(sap_gradient_create(&o, &g, &error), SAP_STATUS_ARGUMENT, &error, "default");
  assert_null(g);
}

static void test_wrong_input(void** unused) {
  (void)unused;
  sap_problem* p = point_mass(3.0, -1.0);
  sap_gradient* g = NULL;
  sap_error error = {0};
  sap_solution solution = {0};
  (void)solve_problem("sap", NULL, p, &solution, NULL);
  assert_int_equal(sap_gradient_create(NULL, &g, NULL), SAP_STATUS_OK);
  double dv[3], bad[3] = {0.0, (double)NAN, 0.0};
  const sap_problem_tangent none = {0};
  expect(sap_gradient_jvp(g, &none, dv, NULL, &error), SAP_STATUS_ARGUMENT, &error, "no problem");
  // not solved; other sizes; not finite
  sap_solution wrong = solution;
  double zero[3] = {0.0}, v_star[3] = {3.0, 0.0, -1.0};
  wrong.v = v_star;
  wrong.gamma = zero;
  expect(sap_gradient_problem(g, p, &wrong, NULL, &error), SAP_STATUS_ARGUMENT, &error,
         "no solution");
  expect(sap_gradient_jvp(g, &none, dv, NULL, &error), SAP_STATUS_ARGUMENT, &error, "no problem");
  wrong = solution;
  wrong.nrows = 6;
  expect(sap_gradient_problem(g, p, &wrong, NULL, &error), SAP_STATUS_ARGUMENT, &error, "6 rows");
  wrong = solution;
  wrong.v = bad;
  expect(sap_gradient_problem(g, p, &wrong, NULL, &error), SAP_STATUS_NOT_FINITE, &error, "v[1]");
  wrong = solution;
  wrong.gamma = bad;
  expect(sap_gradient_problem(g, p, &wrong, NULL, &error), SAP_STATUS_NOT_FINITE, &error,
         "gamma[1]");
  assert_int_equal(sap_gradient_problem(g, p, &solution, NULL, NULL), SAP_STATUS_OK);
  expect(sap_gradient_jvp(g, &(sap_problem_tangent){.v_hat = bad}, dv, NULL, &error),
         SAP_STATUS_NOT_FINITE, &error, "v_hat");
  const sap_problem_cotangent out = {.v_star = dv};
  dv[0] = 7.0;
  expect(sap_gradient_vjp(g, bad, NULL, &out, &error), SAP_STATUS_NOT_FINITE, &error, "v_bar[1]");
  expect(sap_gradient_vjp(g, NULL, bad, &out, &error), SAP_STATUS_NOT_FINITE, &error,
         "gamma_bar[1]");
  ASSERT_NEAR(dv[0], 7.0, 0.0);
  sap_problem_destroy(p);
  // R = 0, and a mobility
  const double rigid[3] = {0.1, 0.1, 0.0};
  p = one_contact_problem(UNIT, MU, rigid, NO_BIAS);
  expect(sap_gradient_problem(g, p, &solution, NULL, &error), SAP_STATUS_UNSUPPORTED, &error,
         "row 2");
  const int32_t size = 3;
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_mobility_block(p, 0, 0, UNIT, 3, NULL), SAP_STATUS_OK);
  expect(sap_gradient_problem(g, p, &solution, NULL, &error), SAP_STATUS_UNSUPPORTED, &error,
         "inverse of A");
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  solution.nrows = 0;
  expect(sap_gradient_problem(g, p, &solution, NULL, &error), SAP_STATUS_NOT_SPD, &error, "tree 0");
  solution.nrows = 3;
  sap_problem_destroy(p);
  sap_solution_clear(&solution);
  sap_gradient_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sticking),        cmocka_unit_test(test_sliding),
      cmocka_unit_test(test_open_and_kinks),  cmocka_unit_test(test_smoothing),
      cmocka_unit_test(test_polish),          cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_smoothed_bounds), cmocka_unit_test(test_kinks_of_potentials),
      cmocka_unit_test(test_wrong_options),   cmocka_unit_test(test_wrong_input)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
