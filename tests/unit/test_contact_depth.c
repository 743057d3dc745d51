// SPDX-License-Identifier: BSD-3-Clause
// The law's bound of depth in thin shapes: a contact alone ends at a quarter of the thickness, or
// where it began if that is deeper; R is a continuous function, and bodies of usual size and speed
// keep theirs to the bit.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/problem.h>

#include "support/near.h"

static const double DT = 0.01, MASS = 2.0;

typedef struct start {
  double phi0, vn, thickness, stiffness, relaxation_time, overlap, mass;
  bool castro;
} start;

// R and v_hat of the normal of a point mass that flies with v* = (0, 0, vn).
static void find_law(const start* s, double* R, double* v_hat) {
  const double A[9] = {MASS, 0.0, 0.0, 0.0, MASS, 0.0, 0.0, 0.0, MASS};
  const double J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, v[3] = {0.0, 0.0, s->vn};
  const double* jacobians[] = {J};
  const int32_t size = 3, tree = 0;
  sap_problem* problem = NULL;
  sap_contact_scheme scheme = sap_contact_scheme_default();
  const sap_regularization regularization = sap_regularization_default();
  scheme.v0 = v;
  scheme.castro = s->castro;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, DT, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(problem, v, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_OK);
  const sap_contact_block contact = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = jacobians,
      .material = {.stiffness = s->stiffness, .relaxation_time = s->relaxation_time},
      .phi0 = s->phi0,
      .overlap = s->overlap,
      .mass = s->mass,
      .thickness = s->thickness};
  assert_int_equal(sap_problem_add_contact(problem, &contact, &regularization, NULL),
                   SAP_STATUS_OK);
  sap_block block;
  int32_t row = 0;
  assert_int_equal(sap_problem_block(problem, 0, &block, &row, NULL), SAP_STATUS_OK);
  *R = block.R[2];
  *v_hat = block.v_hat[2];
  sap_problem_destroy(problem);
}

// The depth at which the contact, alone, ends.
static double end_depth(const start* s) {
  const double w = 1.0 / MASS;
  double R = 0.0, v_hat = 0.0;
  find_law(s, &R, &v_hat);
  const double v = s->vn + w / (w + R) * fmax(0.0, v_hat - s->vn);
  return fmax(0.0, -s->phi0 - DT * v);
}

static void test_depth(void** state) {
  (void)state;
  const double D = 0.02, rigid = (double)INFINITY;
  for (int hard = 0; hard < 2; ++hard) {
    for (int damped = 0; damped < 2; ++damped) {
      for (int i = 0; i < 60; ++i) {
        const double phi0 = 0.5 * D * sin(i), speed = pow(10.0, 0.05 * i);
        const start s = {.phi0 = phi0,
                         .vn = -speed,
                         .thickness = D,
                         .stiffness = hard ? rigid : 1e3,
                         .relaxation_time = damped ? 0.03 : 0.0};
        start open = s;
        open.thickness = rigid;
        const double depth = end_depth(&s), most = fmax(0.25 * D, -phi0);
        assert_true(depth <= most * (1.0 + 1e-12));
        // where the law alone stays above that, nothing changes
        ASSERT_NEAR(depth, fmin(end_depth(&open), most), 1e-9 * D);
      }
    }
  }
}

static void test_continuous(void** state) {
  (void)state;
  double before = 0.0, sum = 0.0;
  for (int i = 0; i <= 4000; ++i) {
    const start s = {.phi0 = 1e-3, .vn = -40.0 * i / 4000.0, .thickness = 0.01, .stiffness = 1e9};
    double R = 0.0, v_hat = 0.0;
    find_law(&s, &R, &v_hat);
    if (i > 0) {
      assert_true(R <= before && before - R < 1e-2 * before);
      sum += before - R;
    }
    before = R;
  }
  assert_true(sum > 0.0);
}

static void test_untouched(void** state) {
  (void)state;
  const start usual[] = {
      {.phi0 = 1e-3, .vn = -99.0, .thickness = 0.1, .stiffness = (double)INFINITY},
      {.phi0 = -1e-3, .vn = -99.0, .thickness = 0.1, .stiffness = 1e8, .relaxation_time = 0.1},
      {.phi0 = -0.08, .vn = 0.0, .thickness = 0.1, .stiffness = 1e2},  // rests deeper
      {.phi0 = -1e-3, .vn = -99.0, .thickness = 1e-3, .stiffness = 1e6, .castro = true}};
  for (int i = 0; i < 4; ++i) {
    start unbound = usual[i];
    double R[2], v_hat[2];
    unbound.thickness = 0.0;
    find_law(&usual[i], &R[0], &v_hat[0]);
    find_law(&unbound, &R[1], &v_hat[1]);
    assert_true(R[0] == R[1] && v_hat[0] == v_hat[1]);
  }
}

// A point of a patch with a small stiffness has a law that is deeper than the surfaces: these count
// for the bound, and for what an impact explains.
static void test_overlap(void** state) {
  (void)state;
  start s = {.phi0 = -0.08, .vn = -0.1, .relaxation_time = 0.01};
  double R[3], v_hat[3];
  for (int i = 0; i < 2; ++i) {
    s.stiffness = i == 0 ? 12.5 : 1.25e5;  // 1 N, 10 kN
    s.thickness = s.mass = s.overlap = 0.0;
    find_law(&s, &R[0], &v_hat[0]);
    *(i == 0 ? &s.thickness : &s.mass) = i == 0 ? 0.1 : MASS;
    find_law(&s, &R[1], &v_hat[1]);
    s.overlap = 1e-3;
    find_law(&s, &R[2], &v_hat[2]);
    assert_true(R[2] == R[0] && v_hat[2] == v_hat[0]);
    assert_true(R[1] != R[0] || v_hat[1] != v_hat[0]);
  }
  s.overlap = 0.07;  // 350 J, where 25 J are explained
  find_law(&s, &R[1], &v_hat[1]);
  assert_true(v_hat[1] < 0.5 * v_hat[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depth), cmocka_unit_test(test_continuous),
      cmocka_unit_test(test_untouched), cmocka_unit_test(test_overlap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
