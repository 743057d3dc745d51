// SPDX-License-Identifier: BSD-3-Clause
// R and v_hat at the theta point against the law, evaluated at that point.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>

#include "problem/law.h"
#include "support/block_matrix.h"
#include "support/near.h"

static const double dt = 1e-3, theta = 0.6, theta_vq = 0.7;
static const sap_regularization regularization = {1.0, 1e-3, 0.0};

// One tree of three velocities, mass m, v0 given; the contact's frame is turned about z by 30 deg.
static sap_problem* begin(double m, const double v0[3], bool stage, bool glides) {
  const double A[9] = {m, 0.0, 0.0, 0.0, m, 0.0, 0.0, 0.0, m};
  const int32_t size = 3;
  sap_problem* problem = NULL;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, dt, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  if (v0 != NULL) {
    const sap_contact_scheme scheme = {.theta = stage ? theta : 1.0,
                                       .theta_vq = stage ? theta_vq : 1.0,
                                       .model = SAP_CONTACT_BY_MATERIAL,
                                       .glides = glides,
                                       .v0 = v0};
    assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_OK);
  }
  return problem;
}

typedef struct rows {
  double R[3], v_hat[3];
} rows;

static const double c30 = 0.86602540378443865, s30 = 0.5;

static rows contact(const double v0[3], sap_material material, double phi0, bool stage) {
  sap_problem* problem = begin(2.0, v0, stage, true);
  const int32_t tree = 0;
  const double J[9] = {c30, -s30, 0.0, s30, c30, 0.0, 0.0, 0.0, 1.0};
  const double* jacobian = J;
  const sap_contact_block block = {
      .ntrees = 1, .trees = &tree, .jacobians = &jacobian, .material = material, .phi0 = phi0};
  assert_int_equal(sap_problem_add_contact(problem, &block, &regularization, NULL), SAP_STATUS_OK);
  sap_block view;
  rows out;
  assert_int_equal(sap_problem_block(problem, 0, &view, NULL, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 3; ++i) {
    out.R[i] = view.R[i];
    out.v_hat[i] = view.v_hat[i];
  }
  sap_problem_destroy(problem);
  return out;
}

// The impulse of the normal row at end velocities, and by the law at the theta point, whose damper
// takes the speed at which positions move.
static void check_normal(rows r, double k, double tau_d, double phi0, double vn0) {
  for (int i = -2; i <= 2; ++i) {
    const double vn = 0.3 * i;
    const double phi = phi0 + theta * dt * (theta_vq * vn + (1.0 - theta_vq) * vn0);
    const double rate = theta_vq * vn + (1.0 - theta_vq) * vn0;
    ASSERT_NEAR(-(vn - r.v_hat[2]) / r.R[2], -dt * k * (phi + tau_d * rate), 1e-12);
  }
}

static void test_contact_law(void** state) {
  (void)state;
  const sap_material soft = {.stiffness = 1e4, .relaxation_time = 0.003, .friction = 0.5};
  const double v0[3] = {0.4, -0.7, -0.02};
  const rows r = contact(v0, soft, -2e-4, true);
  check_normal(r, soft.stiffness, soft.relaxation_time, -2e-4, v0[2]);
  // sliding: y_t = -vt^theta/Rt with Rt = sigma w, w = |I/m|_F/3
  const double Rt = 1e-3 * sqrt(3.0) / 2.0 / 3.0;
  const double vt0[2] = {c30 * v0[0] + s30 * v0[1], -s30 * v0[0] + c30 * v0[1]};
  for (int i = 0; i < 2; ++i) {
    const double vt = 0.1 + i;
    const double vt_theta = theta * vt + (1.0 - theta) * vt0[i];
    ASSERT_NEAR(-(vt - r.v_hat[i]) / r.R[i], -vt_theta / Rt, 1e-9 / Rt);
  }
  // sticking: the tangent is evaluated at the end
  const double slow[3] = {1e-6, 0.0, -0.02};
  const rows stuck = contact(slow, soft, -2e-4, true);
  assert_true(stuck.v_hat[0] == 0.0 && stuck.v_hat[1] == 0.0);
  ASSERT_NEAR(stuck.R[0], Rt, 1e-15);
  check_normal(stuck, soft.stiffness, soft.relaxation_time, -2e-4, slow[2]);
}

static void expect_end(const double v0[3], sap_material material, double phi0) {
  const rows end = contact(v0, material, phi0, false);
  const rows theta_stage = contact(v0, material, phi0, true);
  assert_memory_equal(&end, &theta_stage, sizeof end);
}

static void test_what_stays_at_the_end(void** state) {
  (void)state;
  const double v0[3] = {0.4, -0.7, -0.02}, up[3] = {0.0, 0.0, 0.5};
  expect_end(v0, (sap_material){.stiffness = 1e9, .relaxation_time = 0.0, .friction = 0.5},
             -1e-4);  // near rigid
  expect_end(v0, (sap_material){.stiffness = 1e4, .relaxation_time = 1.0, .friction = 0.5},
             -1e-4);  // unresolved by damping
  expect_end(v0,
             (sap_material){.stiffness = (double)INFINITY, .relaxation_time = 0.0, .friction = 0.5},
             -1e-4);  // rigid
  const rows leaving = contact(
      up, (sap_material){.stiffness = 1e4, .relaxation_time = 0.003, .friction = 0.5}, -1e-5, true);
  check_normal(leaving, 1e4, 0.003, -1e-5, 0.5);
}

static void test_compliant_row(void** state) {
  (void)state;
  const double v0[3] = {0.0, 0.0, 0.0};
  sap_problem* problem = begin(2.0, v0, true, true);
  sap_compliant_row row = {
      .stiffness = 1e4, .relaxation_time = 0.003, .g0 = 2e-4, .rate0 = -0.02, .w = 0.5};
  rows r;
  // bilateral: open or not is no matter
  assert_int_equal(
      sap_problem_compliant_law(problem, &regularization, &row, &r.R[2], &r.v_hat[2], NULL),
      SAP_STATUS_OK);
  check_normal(r, 1e4, 0.003, 2e-4, -0.02);
  // a curved path ends e nearer: the mean force has the share theta of that, the damper all
  row.curvature = 1e-5;
  assert_int_equal(
      sap_problem_compliant_law(problem, &regularization, &row, &r.R[2], &r.v_hat[2], NULL),
      SAP_STATUS_OK);
  check_normal(r, 1e4, 0.003, 2e-4 + theta * 1e-5 + 0.003 * 1e-5 / dt, -0.02);
  row.curvature = 0.0;
  row.unilateral = true;
  assert_int_equal(
      sap_problem_compliant_law(problem, &regularization, &row, &r.R[2], &r.v_hat[2], NULL),
      SAP_STATUS_OK);
  ASSERT_NEAR(r.R[2], 1.0 / (dt * 1e4 * theta_vq * (theta * dt + 0.003)), 1e-12);
  ASSERT_NEAR(r.v_hat[2], -(2e-4 / dt - (1.0 - theta_vq) * 0.02) / theta_vq, 1e-15);
  row.rate0 = (double)NAN;
  assert_int_equal(
      sap_problem_compliant_law(problem, &regularization, &row, &r.R[2], &r.v_hat[2], NULL),
      SAP_STATUS_NOT_FINITE);
  row = (sap_compliant_row){.stiffness = -1.0, .relaxation_time = 0.003, .g0 = 2e-4, .w = 0.5};
  assert_int_equal(
      sap_problem_compliant_law(problem, &regularization, &row, &r.R[2], &r.v_hat[2], NULL),
      SAP_STATUS_ARGUMENT);
  sap_problem_destroy(problem);
}

static double depth(double phi) {
  return fmax(0.0, -phi);
}

static double between(uint64_t* seed, double low, double high) {
  return low + (high - low) * 0.5 * (1.0 + test_random(seed));
}

// The end law of random contacts of a free mass against depths: gamma = (h k d + k tau (d - d0))+ is
// castro's to the bit where phi0 <= 0 and, where asked for, everywhere; it acts only where the gap
// closes in the step, and adds no energy.
static void test_depths(void** state) {
  (void)state;
  const sap_regularization soft = {0.0, 1e-3, 0.0};
  const double zero = 0.0;
  const int32_t size = 1;
  uint64_t seed = 7;
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 200000; ++i) {
    const double h = exp(between(&seed, log(1e-4), log(3e-2))), m = exp(between(&seed, -5.0, 5.0));
    const double k = exp(between(&seed, log(1e2), log(1e8)));
    const double tau = i % 4 == 0 ? 0.0 : between(&seed, 0.0, 0.1);
    const sap_compliant_row row = {.stiffness = k,
                                   .relaxation_time = tau,
                                   .g0 = i % 5 == 0 ? 0.0 : between(&seed, -1e-2, 1e-2),
                                   .w = 1.0 / m,
                                   .unilateral = true};
    const double phi0 = row.g0, v = between(&seed, -3.0, 3.0);
    double R = 0.0, v_hat = 0.0;
    for (int castro = 1; castro >= 0; --castro) {
      sap_contact_scheme scheme = sap_contact_scheme_default();
      scheme.castro = castro == 1;
      scheme.v0 = &zero;
      assert_int_equal(sap_problem_reset(p, h, 1, &size, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_compliant_law(p, &soft, &row, &R, &v_hat, NULL), SAP_STATUS_OK);
      assert_true(R == 1.0 / (h * k * (h + tau)));
      assert_true((castro == 0 && phi0 > 0.0) || v_hat == -phi0 / (h + tau));
    }
    const double phi = phi0 + h * v, gamma = fmax(0.0, (v_hat - v) / R);
    const double terms = k * (h + tau) * (fabs(phi0) + h * fabs(v));  // of rounding
    ASSERT_NEAR(gamma, fmax(0.0, h * k * depth(phi) + k * tau * (depth(phi) - depth(phi0))),
                1e-14 * terms);
    assert_true(phi0 < 0.0 || phi < 0.0 || gamma <= 1e-15 * terms);
    // a free mass that ends at v started at v - gamma/m
    const double before = 0.5 * m * pow(v - gamma / m, 2.0) + 0.5 * k * pow(depth(phi0), 2.0);
    const double after = 0.5 * m * v * v + 0.5 * k * pow(depth(phi), 2.0);
    assert_true(after <= before * (1.0 + 1e-12));
  }
  sap_problem_destroy(p);
}

// The theta law of random rows against depths, phi = phi0 + h (q v + (1 - q) v0), q = theta_vq:
// gamma = k (T d + (h - T) d0)+, with -phi for d where it opens. It acts only where the gap closes,
// and at the midpoint without damping a mass that closes or opens loses energy and one in contact
// keeps it.
static void test_theta_depths(void** state) {
  (void)state;
  const sap_regularization soft = {0.0, 1e-3, 0.0};
  const double zero = 0.0;
  const int32_t size = 1;
  uint64_t seed = 3;
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 100000; ++i) {
    const double h = 1e-3, m = 1.0, q = i % 2 == 0 ? 0.5 : between(&seed, 0.5, 1.0);
    const double th = i % 2 == 0 ? 0.5 : between(&seed, 0.5, 1.0);
    const double tau = i % 4 == 0 ? 0.0 : between(&seed, 0.0, 1e-3);
    const double k = between(&seed, 0.0, 1.0) / (h * (h + tau));  // z < 1
    const sap_compliant_row row = {.stiffness = k,
                                   .relaxation_time = tau,
                                   .g0 = i % 5 == 0 ? 0.0 : between(&seed, -1e-3, 1e-3),
                                   .rate0 = between(&seed, -1.0, 1.0),
                                   .w = 1.0 / m,
                                   .unilateral = true};
    const double phi0 = row.g0, v = between(&seed, -2.0, 2.0), T = th * h + tau;
    double R = 0.0, v_hat = 0.0;
    const sap_contact_scheme scheme = {
        .theta = th, .theta_vq = q, .model = SAP_CONTACT_BY_MATERIAL, .v0 = &zero};
    assert_int_equal(sap_problem_reset(p, h, 1, &size, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_compliant_law(p, &soft, &row, &R, &v_hat, NULL), SAP_STATUS_OK);
    const double phi = phi0 + h * (q * v + (1.0 - q) * row.rate0),
                 gamma = fmax(0.0, (v_hat - v) / R);
    const double terms = k * (h + tau) * (fabs(phi0) + h * (fabs(v) + fabs(row.rate0)));
    const double d = phi0 > 0.0 ? depth(phi) : -phi;
    ASSERT_NEAR(gamma, fmax(0.0, k * (T * d + (h - T) * depth(phi0))), 1e-14 * terms);
    assert_true(phi0 < 0.0 || phi < 0.0 || gamma <= 1e-15 * terms);
    if (i % 4 == 0) {  // the work of gamma at the mean speed against the spring's energy
      const double work = gamma * (phi - phi0) / h;
      const double gain = work + 0.5 * k * (pow(depth(phi), 2.0) - pow(depth(phi0), 2.0));
      assert_true(gain <= 1e-14 * terms);
      ASSERT_NEAR(phi < 0.0 && phi0 < 0.0 ? gain : 0.0, 0.0, 1e-14 * terms);
    }
  }
  sap_problem_destroy(p);
}

// Between z = 1 and z = 2 the law moves from the theta point to the end without a jump.
static void test_blend(void** state) {
  (void)state;
  const double v0[3] = {0.4, -0.7, -0.02}, step = 1e-7;
  rows before = {{0.0}, {0.0}};
  for (int i = 0; i <= 40; ++i) {
    const double z = 0.5 + 0.05 * i;
    for (int side = 0; side < 2; ++side) {
      const sap_material pair = {
          .stiffness = (z + side * step) / (dt * (dt + 0.003) * sqrt(3.0) / 6.0),
          .relaxation_time = 0.003,
          .friction = 0.5};
      const rows r = contact(v0, pair, -2e-4, true);
      for (int j = 0; j < 3 && side == 1; ++j) {
        ASSERT_NEAR(r.R[j] / before.R[j], 1.0, 10.0 * step);
        ASSERT_NEAR(r.v_hat[j], before.v_hat[j], 10.0 * step);
      }
      before = r;
      const rows end = contact(v0, pair, -2e-4, false);
      assert_true(fabs(z - 2.0) < 0.01 || (z < 2.0) == (memcmp(&r, &end, sizeof r) != 0));
    }
  }
}

// A shift against gliding changes what solvers read, not the law's v_hat: de Saxce's mu |g_t|, for
// the slip that friction leaves the contact alone.
static void test_shift(void** state) {
  (void)state;
  const double v0[3] = {0.4, -0.7, -0.02}, J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  const double* const jacobians[1] = {J};
  const int32_t tree = 0;
  const sap_contact_block block = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = jacobians,
      .material = {.stiffness = 1e4, .relaxation_time = 0.003, .friction = 0.5},
      .phi0 = -2e-4};
  for (int stage = 0; stage < 2; ++stage) {
    sap_problem* p = begin(2.0, v0, stage == 1, false);
    assert_int_equal(sap_problem_set_v_star(p, v0, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_contact(p, &block, &regularization, NULL), SAP_STATUS_OK);
    const double law = p->v_hat_law[2];
    // alone: W = I/2; the slip is |v0_t|, at the theta point |v0_t|/theta as if it went on
    const double stop = (law - v0[2]) / (0.5 + p->R[2]);
    const double slip = sqrt(0.65) / (stage ? theta : 1.0) - 0.5 * 0.5 * stop;
    assert_true(stop > 0.0 && slip > 0.0);
    ASSERT_NEAR(law - p->v_hat_shifted[2], 0.5 * slip, 1e-15);
    const double vc[3] = {p->v_hat_law[0] + 0.3, p->v_hat_law[1] + 0.4, 0.0};
    const double gamma[3] = {0.0, 0.0, 1e-3};
    assert_true(sap_problem_shift_again(p, vc, gamma) == (stage == 1));
    assert_true(p->v_hat_law[2] == law);
    if (stage == 1) {
      ASSERT_NEAR(law - p->v_hat_shifted[2], 0.5 * 0.5, 1e-15);
    }
    assert_false(sap_problem_shift_again(p, vc, gamma));
    sap_block view;
    assert_int_equal(sap_problem_block(p, 0, &view, NULL, NULL), SAP_STATUS_OK);
    assert_true(view.v_hat[2] == p->v_hat_shifted[2]);
    sap_problem_destroy(p);
  }
}

// A contact of one tree of mass 2 that moves with v0, its frame the world's.
static sap_problem* moving_contact(const double v0[3], const sap_contact_block* contact,
                                   const sap_regularization* of) {
  static const double J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  static const double* const jacobians[1] = {J};
  static const int32_t tree = 0;
  sap_contact_block block = *contact;
  block.ntrees = 1;
  block.trees = &tree;
  block.jacobians = jacobians;
  sap_problem* p = begin(2.0, v0, false, false);
  assert_int_equal(sap_problem_set_v_star(p, v0, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_contact(p, &block, of, NULL), SAP_STATUS_OK);
  return p;
}

// An open similar contact is lifted by mu h(s), with the cap of its friction law below v_s.
static void test_similar_shift(void** state) {
  (void)state;
  static const double vs = 0.1, speeds[2] = {0.04, 0.7};
  const double rises[2] = {0.5 * 0.04 * 0.04 / vs, 0.7 - 0.5 * vs};
  for (int k = 0; k < 2; ++k) {
    const double v0[3] = {0.6 * speeds[k], -0.8 * speeds[k], 0.0};
    sap_contact_block block = {.material = sap_material_default(), .phi0 = 2e-4};
    block.material.model = SAP_CONTACT_SIMILAR;
    block.material.friction = 0.5;
    block.material.stiction_tolerance = vs;
    sap_problem* p = moving_contact(v0, &block, &regularization);
    ASSERT_NEAR(p->v_hat_law[2] - p->v_hat_shifted[2], 0.5 * rises[k], 1e-15);
    sap_problem_destroy(p);
  }
}

// A contact that can hardly move, m = 1/w far above the mass M on it, leaves a wrong start with the
// energy that M would have: the factor of its damper has the root of m/M.
static void test_wrong_start_of_a_heavy_contact(void** state) {
  (void)state;
  static const double v0[3] = {0.0, 0.0, 0.0}, d = 1.2e-3, k = 1e4, M = 0.01, V = 1.0;
  const sap_regularization of = {1.0, 1e-3, V};
  const sap_contact_block block = {
      .material = {.stiffness = k, .friction = 0.0}, .phi0 = -d, .mass = M};
  sap_problem* p = moving_contact(v0, &block, &of);
  const double w = sqrt(3.0) / 2.0 / 3.0;  // |W_ii|_F/3, W = I/2
  const double square = d * d * k / (V * V * M);
  const double f = 1.0 + (square * square - 1.0) / sqrt(w * M);
  ASSERT_NEAR(p->v_hat_law[2], d / (f * dt), 1e-14);
  sap_problem_destroy(p);
}

// Overlaps of limits are undone at the recovery speed or slower.
static void test_recovery_of_limits(void** state) {
  (void)state;
  const double v0[3] = {0.0, 0.0, 0.0};
  sap_problem* problem = begin(2.0, v0, false, true);
  sap_compliant_row row = {
      .stiffness = 1e4, .relaxation_time = 0.003, .g0 = -0.01, .w = 0.5, .unilateral = true};
  for (int bounded = 0; bounded < 2; ++bounded) {
    double R, v_hat;
    row.recovery_speed = bounded ? 0.5 : 0.0;
    assert_int_equal(sap_problem_compliant_law(problem, &regularization, &row, &R, &v_hat, NULL),
                     SAP_STATUS_OK);
    ASSERT_NEAR(v_hat, bounded ? 0.5 : 0.01 / (dt + 0.003), 1e-14);
  }
  sap_problem_destroy(problem);
}

static void expect_refused(sap_problem* problem, const sap_contact_scheme* scheme,
                           sap_status status, const char* word) {
  sap_error error = {0};
  assert_int_equal(sap_problem_set_law(problem, scheme, &error), status);
  assert_non_null(strstr(error.message, word));
}

static void test_refusals(void** state) {
  (void)state;
  const double v0[3] = {0.0, 0.0, 0.0}, bad[3] = {0.0, (double)NAN, 0.0};
  sap_problem* problem = begin(2.0, NULL, false, false);
  sap_contact_scheme s = sap_contact_scheme_default();
  s.theta = 0.4;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "theta = 0.4");
  s.theta = 0.5;
  s.theta_vq = (double)NAN;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "theta_vq = nan");
  s.theta_vq = 0.5;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "v0 is NULL");
  s.v0 = bad;
  expect_refused(problem, &s, SAP_STATUS_NOT_FINITE, "v0[1] = nan must be finite");
  s.v0 = v0;
  // settings that contradict each other
  s.rigid = true;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "a rigid law acts at the end");
  s.theta = s.theta_vq = 1.0;
  s.model = SAP_CONTACT_LAGGED;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "a rigid law has no contact model");
  s.rigid = false;
  s.restitution = 0.5;
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "restitution = 0.5");
  s.restitution = 0.0;
  // a second law
  assert_int_equal(sap_problem_set_law(problem, &s, NULL), SAP_STATUS_OK);
  expect_refused(problem, &s, SAP_STATUS_ARGUMENT, "set already");
  const int32_t size = 3;
  assert_int_equal(sap_problem_reset(problem, dt, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_law(problem, &s, NULL), SAP_STATUS_OK);
  sap_problem_destroy(problem);
}

// Without the near-rigid limit R stops at round-off: 2.5e-8 w, for potentials with the largest slope
// 1 + d v of a contact at v = |v_hat| + 2 |v*_n| + mu |v*_t|, tenfold.
static void test_roundoff(void** state) {
  (void)state;
  const sap_regularization soft = {0.0, 1e-3, 0.0};
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, v_star[3] = {3.0, 4.0, -2.0}, h = 0.01;
  const double A[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, w = 2.0 / sqrt(3.0);
  const double* const jacobians[] = {identity};
  const int32_t size = 3, tree = 0;
  sap_problem* p = NULL;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (int model = 0; model < (int)SAP_CONTACT_MODEL_COUNT; ++model) {
    for (int stiff = 0; stiff < 2; ++stiff) {
      sap_contact_scheme scheme = sap_contact_scheme_default();
      scheme.v0 = scheme.v_star = v_star;
      sap_contact_block contact = {.ntrees = 1,
                                   .trees = &tree,
                                   .jacobians = jacobians,
                                   .material = sap_material_default(),
                                   .phi0 = -1e-3};
      contact.material.model = (sap_contact_model)model;
      contact.material.stiffness = stiff == 1 ? 1e14 : 1e6;
      contact.material.dissipation = 5.0;
      contact.material.friction = 0.25;
      assert_int_equal(sap_problem_reset(p, h, 1, &size, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_add_contact(p, &contact, &soft, NULL), SAP_STATUS_OK);
      sap_block block;
      int32_t row;
      assert_int_equal(sap_problem_block(p, 0, &block, &row, NULL), SAP_STATUS_OK);
      const double T = model == 0 ? h + contact.material.relaxation_time : h;
      const double floor = model == 0 ? 2.5e-8 * w : 2.5e-7 * w * (1.0 + 5.0 * (0.1 + 4.0 + 1.25));
      const double expected = stiff == 1 ? floor : 1.0 / (h * 1e6 * T);
      ASSERT_NEAR(block.R[2], expected, 1e-14 * expected);
    }
  }
  sap_problem_destroy(p);
}

static sap_block contact_under(sap_problem* p, const sap_contact_scheme* scheme, double phi0,
                               double stiffness, double gap_change) {
  static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, A[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2};
  static const double* const jacobians[] = {identity};
  static const int32_t size = 3, tree = 0;
  const sap_regularization soft = {0.0, 1e-3, 0.0};
  sap_contact_block contact = {.ntrees = 1,
                               .trees = &tree,
                               .jacobians = jacobians,
                               .material = sap_material_default(),
                               .phi0 = phi0,
                               .gap_change = gap_change};
  contact.material.stiffness = stiffness;
  contact.material.relaxation_time = 0.0;
  contact.material.friction = 0.5;
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_law(p, scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_contact(p, &contact, &soft, NULL), SAP_STATUS_OK);
  sap_block block;
  int32_t row;
  assert_int_equal(sap_problem_block(p, 0, &block, &row, NULL), SAP_STATUS_OK);
  return block;
}

// Tangents move from the end of the step to the theta point as the slip goes from 2 to 4 times what
// friction takes from it in a step, mu (dt k d0) w: a share of the time step, not of a second.
static void test_sliding_share(void** state) {
  (void)state;
  const double h = 0.01, w = 1.0 / (2.0 * sqrt(3.0)), taken = 0.5 * h * 1e3 * 1e-3 * w;
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (int k = 0; k <= 6; ++k) {  // slip: 0, 1, ... 6 times what friction takes
    const double v0[3] = {0.6 * k * taken, -0.8 * k * taken, 0.0};
    sap_contact_scheme scheme = sap_contact_scheme_default();
    scheme.theta = scheme.theta_vq = 0.5;
    scheme.v0 = scheme.v_star = v0;
    const sap_block block = contact_under(p, &scheme, -1e-3, 1e3, 0.0);
    const double end = k <= 2 ? 1.0 : k >= 4 ? 0.0 : 0.5, at = 0.5 + 0.5 * end;
    ASSERT_NEAR(block.R[0], 1e-3 * w / at, 1e-15 * w);
    ASSERT_NEAR(block.v_hat[0], -(1.0 - at) / at * v0[0], 1e-15);
    ASSERT_NEAR(block.v_hat[1], -(1.0 - at) / at * v0[1], 1e-15);
  }
  sap_problem_destroy(p);
}

// Rigid contact: the gap that counts is phi0 and the curvature e of the step.
static void test_rigid_curvature(void** state) {
  (void)state;
  const double h = 0.01, zero[3] = {0.0, 0.0, 0.0};
  const double gaps[4] = {3e-3, 1e-3, -1e-3, -3e-3}, changes[3] = {0.0, 2e-3, -2e-3};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      sap_contact_scheme scheme = sap_contact_scheme_default();
      scheme.rigid = true;
      scheme.baumgarte = 0.25;
      scheme.v0 = scheme.v_star = zero;
      const sap_block block = contact_under(p, &scheme, gaps[i], 1e6, changes[j]);
      const double gap = gaps[i] + changes[j];
      ASSERT_NEAR(block.v_hat[2], gap > 0.0 ? -gap / h : -0.25 * gap / h, 1e-15);
      assert_true(block.R[0] == 0.0 && block.R[2] == 0.0);
    }
  }
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contact_law),
      cmocka_unit_test(test_what_stays_at_the_end),
      cmocka_unit_test(test_compliant_row),
      cmocka_unit_test(test_depths),
      cmocka_unit_test(test_roundoff),
      cmocka_unit_test(test_sliding_share),
      cmocka_unit_test(test_rigid_curvature),
      cmocka_unit_test(test_theta_depths),
      cmocka_unit_test(test_blend),
      cmocka_unit_test(test_shift),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_similar_shift),
      cmocka_unit_test(test_recovery_of_limits),
      cmocka_unit_test(test_wrong_start_of_a_heavy_contact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
