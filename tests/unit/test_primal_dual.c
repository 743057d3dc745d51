// SPDX-License-Identifier: BSD-3-Clause
// The linearisations of the primal-dual steps: against differences of the law, and
// against SAP's own at a point where gamma = P_C(y).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solvers/primal/newton.h"
#include "support/near.h"
#include "support/one_contact.h"
#include "support/point_masses.h"

typedef struct fixture {
  sap_problem* problem;
  sap_islands islands;
  sap_newton newton;
  double known[3];
} fixture;

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// One contact on three velocities, evaluated at vc = v.
static void set_up_block(fixture* f, const sap_block* law, const double R[3], const double v[3]) {
  const double A[9] = {1, 0, 0, 0, 2, 0, 0, 0, 3}, v_hat[3] = {0.0, 0.0, 0.1};
  f->problem = one_contact_problem_of(law, A, R, v_hat);
  assert_int_equal(sap_islands_find(&f->islands, f->problem, false, NULL), SAP_STATUS_OK);
  sap_newton_init(&f->newton);
  assert_int_equal(sap_newton_gather(&f->newton, f->problem, &f->islands, 0, NULL), SAP_STATUS_OK);
  memcpy(f->newton.v, v, 3 * sizeof *v);
  sap_newton_evaluate(&f->newton);
  f->known[0] = f->known[1] = f->known[2] = (double)NAN;
  f->newton.recalled = f->known;
  f->newton.weight = 7.0;
  sap_newton_choose_metrics(&f->newton);
  sap_newton_start_multipliers(&f->newton, false);
}

static void set_up(fixture* f, double mu, const double R[3], const double v[3]) {
  set_up_block(f, &(sap_block){.set = SAP_SET_FRICTION_CONE, .friction = mu}, R, v);
}

static void tear_down(fixture* f) {
  sap_newton_clear(&f->newton);
  sap_islands_clear(&f->islands);
  sap_problem_destroy(f->problem);
}

// A cone, or of a lagged contact the tangents alone, within a disk.
typedef struct law {
  int rows;
  double mu, R[3];
  double limit;  // the disk's radius
} law;

// P(gamma + rho (u - R gamma)) - gamma, P Euclidean: the cone's projection with R = 1.
static void natural_map(const law* of, double rho, const double u[3], const double gamma[3],
                        double out[3]) {
  double z[3];
  for (int i = 0; i < 3; ++i) {
    z[i] = gamma[i] + rho * (u[i] - of->R[i] * gamma[i]);
  }
  if (of->rows == 3) {
    const sap_cone unit = sap_cone_make(of->mu, 1.0, 1.0);
    (void)sap_cone_impulse(&unit, z, out);
  } else {
    const double shrink = fmin(1.0, of->limit / hypot(z[0], z[1]));
    out[0] = shrink * z[0];
    out[1] = shrink * z[1];
    out[2] = gamma[2];
  }
  for (int i = 0; i < 3; ++i) {
    out[i] -= gamma[i];
  }
}

// Newton's step of the natural map F(u, gamma) = 0 in gamma for fixed u is q - gamma, and
// dF/dgamma G = dF/du, since gamma = q - G J dv solves F + F_gamma dgamma - F_u J dv = 0.
static void check_law(const fixture* f, const law* of) {
  const sap_newton* n = &f->newton;
  const double largest = fmax(of->R[0], of->rows == 3 ? of->R[2] : 0.0), step = 1e-6;
  const double rho = fmin(n->weight * n->cone_rho[0], 1.0 / largest);
  double F[3], F_gamma[3][3], F_u[3][3];
  natural_map(of, rho, n->cone_u, n->cone_lambda, F);
  for (int j = 0; j < of->rows; ++j) {
    double high[3], low[3], x[3];
    memcpy(x, n->cone_lambda, sizeof x);
    x[j] += step;
    natural_map(of, rho, n->cone_u, x, high);
    x[j] -= 2.0 * step;
    natural_map(of, rho, n->cone_u, x, low);
    for (int i = 0; i < 3; ++i) {
      F_gamma[i][j] = (high[i] - low[i]) / (2.0 * step);
    }
    memcpy(x, n->cone_u, sizeof x);
    x[j] += step;
    natural_map(of, rho, x, n->cone_lambda, high);
    x[j] -= 2.0 * step;
    natural_map(of, rho, x, n->cone_lambda, low);
    for (int i = 0; i < 3; ++i) {
      F_u[i][j] = (high[i] - low[i]) / (2.0 * step);
    }
  }
  const double* g = n->cone_G;
  const double G[3][3] = {{g[0], g[1], g[3]}, {g[1], g[2], g[4]}, {g[3], g[4], g[5]}};
  for (int i = 0; i < of->rows; ++i) {
    double residual = F[i];
    for (int j = 0; j < of->rows; ++j) {
      residual += F_gamma[i][j] * (n->cone_target[j] - n->cone_lambda[j]);
      double product = F_u[i][j];
      for (int k = 0; k < of->rows; ++k) {
        product += F_gamma[i][k] * G[k][j];
      }
      // 1e-5: differences of step 1e-6 of a law with curvature about 10, times G up to 1e2
      ASSERT_NEAR(product, 0.0, 1e-5 * (1.0 + rho));
    }
    ASSERT_NEAR(residual, 0.0, 1e-5 * (1.0 + rho));
  }
}

static void test_law(void** state) {
  (void)state;
  uint32_t seed = 7;
  int seen[3] = {0, 0, 0};  // regions of the cone, by G
  for (int i = 0; i < 300; ++i) {
    const double mu = 0.6 + 0.5 * pseudo_random(&seed);
    const double Rt = 0.05 + 0.04 * pseudo_random(&seed);
    const double R[3] = {Rt, Rt, 0.3 + 0.2 * pseudo_random(&seed)};
    const double v[3] = {pseudo_random(&seed), pseudo_random(&seed), pseudo_random(&seed)};
    fixture f = {0};
    set_up(&f, mu, R, v);
    for (int r = 0; r < 3; ++r) {
      f.newton.cone_lambda[r] = 2.0 * pseudo_random(&seed);
    }
    sap_newton_linearise(&f.newton, SAP_STEP_SEMISMOOTH);
    const double* G = f.newton.cone_G;
    seen[G[5] == 0.0 ? 0 : (G[3] == 0.0 && G[4] == 0.0 ? 1 : 2)] += 1;
    assert_true(G[0] >= 0.0 && G[2] >= 0.0 && G[0] * G[2] - G[1] * G[1] >= -1e-9 * G[0] * G[2]);
    check_law(&f, &(law){.rows = 3, .mu = mu, .R = {R[0], R[1], R[2]}});
    tear_down(&f);
  }
  assert_true(seen[0] > 10 && seen[1] > 10 && seen[2] > 10);
}

// Friction of a lagged contact, which mu n0 bounds: |u_t| over the slip speed of that below it.
static void test_lagged_law(void** state) {
  (void)state;
  uint32_t seed = 9;
  int seen[2] = {0, 0};  // sticks, slides
  for (int i = 0; i < 300; ++i) {
    const double mu = 0.6 + 0.5 * pseudo_random(&seed), n0 = 1.0 + 0.8 * pseudo_random(&seed);
    const double slip_speed = 0.1 + 0.05 * pseudo_random(&seed), Rt = slip_speed / (mu * n0);
    const double scale = i % 2 == 0 ? 1.0 : 0.3 * slip_speed;
    const double v[3] = {scale * pseudo_random(&seed), scale * pseudo_random(&seed), 0.4};
    fixture f = {0};
    set_up_block(
        &f,
        &(sap_block){
            .set = SAP_SET_LAGGED, .friction = mu, .slip_speed = slip_speed, .lagged_impulse = n0},
        (double[3]){Rt, Rt, 0.3}, v);
    for (int r = 0; r < 3; ++r) {
      f.newton.cone_lambda[r] = (i % 2 == 0 ? 2.0 : 0.2) * pseudo_random(&seed);
    }
    sap_newton_linearise(&f.newton, SAP_STEP_SEMISMOOTH);
    const double* G = f.newton.cone_G;
    seen[G[1] == 0.0 ? 0 : 1] += 1;
    assert_true(G[3] == 0.0 && G[4] == 0.0);
    check_law(&f, &(law){.rows = 2, .R = {Rt, Rt, 0.3}, .limit = mu * n0});
    tear_down(&f);
  }
  assert_true(seen[0] > 10 && seen[1] > 10);
}

// Where the dual is P_C(y), all kinds of steps have SAP's G, and q is gamma.
static void test_consistent(void** state) {
  (void)state;
  uint32_t seed = 3;
  for (int i = 0; i < 100; ++i) {
    const double R[3] = {1e-3, 1e-3, 0.05};
    const double v[3] = {0.1 * pseudo_random(&seed), 0.1 * pseudo_random(&seed),
                         0.3 * pseudo_random(&seed)};
    fixture f = {0};
    set_up(&f, 0.7, R, v);
    sap_newton* n = &f.newton;
    double G[6];
    sap_cone_hessian(&n->cones[0], n->cone_u, G);
    for (int kind = SAP_STEP_SLIP_DIRECTION; kind <= SAP_STEP_SEMISMOOTH; ++kind) {
      sap_newton_linearise(n, (sap_step_kind)kind);
      for (int k = 0; k < 6; ++k) {
        ASSERT_NEAR(n->cone_G[k], G[k], 1e-10 / R[0]);  // c and e are differences of near numbers
      }
    }
    for (int r = 0; r < 3; ++r) {
      ASSERT_NEAR(n->cone_target[r], n->cone_gamma[r], 1e-12 * (1.0 + n->cone_gamma[2]));
    }
    tear_down(&f);
  }
}

// Nor do frictionless contacts pull where nothing moves along them: |z_t| = 0 = mu z_n there.
static void test_without_friction(void** state) {
  (void)state;
  const double R[3] = {1e-3, 1e-3, 0.05}, open[3] = {0.0, 0.0, 0.3}, closed[3] = {0.0, 0.0, -0.3};
  fixture f = {0};
  set_up(&f, 0.0, R, open);
  sap_newton_linearise(&f.newton, SAP_STEP_SEMISMOOTH);
  for (int k = 0; k < 6; ++k) {
    assert_true(f.newton.cone_G[k] == 0.0);
  }
  for (int r = 0; r < 3; ++r) {
    assert_true(f.newton.cone_target[r] == 0.0);
  }
  tear_down(&f);
  memset(&f, 0, sizeof f);
  set_up(&f, 0.0, R, closed);
  sap_newton_linearise(&f.newton, SAP_STEP_SEMISMOOTH);
  assert_true(f.newton.cone_G[5] == 1.0 / R[2]);
  ASSERT_NEAR(f.newton.cone_target[2], 0.4 / R[2], 1e-14);  // (v_hat - v)/R
  tear_down(&f);
}

// After a semismooth step the dual is q - G d, its friction scaled back to what the larger of its
// own normal impulse and the law's bears; the normal impulse stays.
static void test_limit(void** state) {
  (void)state;
  uint32_t seed = 5;
  int scaled = 0, kept = 0;
  for (int i = 0; i < 300; ++i) {
    const double mu = 0.6 + 0.5 * pseudo_random(&seed), Rt = 1e-4;
    const double R[3] = {Rt, Rt, 0.05};
    const double v[3] = {1e-4 * pseudo_random(&seed), 1e-4 * pseudo_random(&seed),
                         0.2 * pseudo_random(&seed)};
    fixture f = {0};
    set_up(&f, mu, R, v);
    sap_newton* n = &f.newton;
    sap_newton_linearise(n, SAP_STEP_SEMISMOOTH);
    for (int r = 0; r < 3; ++r) {
      n->cone_d[r] = 1e-4 * pseudo_random(&seed);
    }
    const double *g = n->cone_G, *d = n->cone_d, *q = n->cone_target;
    const double gamma[3] = {q[0] - g[0] * d[0] - g[1] * d[1] - g[3] * d[2],
                             q[1] - g[1] * d[0] - g[2] * d[1] - g[4] * d[2],
                             q[2] - g[3] * d[0] - g[4] * d[1] - g[5] * d[2]};
    sap_newton_move_multipliers(n, SAP_STEP_SEMISMOOTH, 1.0);
    const double size = hypot(gamma[0], gamma[1]), limit = mu * fmax(gamma[2], n->cone_gamma[2]);
    const double scale = size > limit ? limit / size : 1.0;
    scaled += size > limit && limit > 0.0;
    kept += size < limit;
    for (int r = 0; r < 3; ++r) {
      // 1e-12: a few sums of numbers up to q
      ASSERT_NEAR(n->cone_lambda[r], r < 2 ? scale * gamma[r] : gamma[r], 1e-12 * (1.0 + size));
    }
    tear_down(&f);
  }
  assert_true(scaled > 10 && kept > 10);
}

// A light tree beside a heavy one: above the root of the tolerance of its own momentum, and above
// 1e-9 of the island's speed, its error keeps the iterations going, though the island's is small.
static void test_light_tree(void** state) {
  (void)state;
  static const double mass[2] = {1.0, 1e-6}, errors[2] = {1e-7, 5e-10};
  static const double v_star[2][3] = {{1.0, 0.0, -1.0}, {1e-6, 0.0, 0.0}};
  for (int i = 0; i < 2; ++i) {
    sap_solver_options options = sap_solver_options_default();
    fixture f = {.problem = point_masses_create(mass, v_star, 2)};
    options.absolute_tolerance = 0.0;
    point_masses_add_contact(f.problem, 1, 0, 0.0, 0.1, 1);  // open: they part at 1 m/s
    assert_int_equal(sap_islands_find(&f.islands, f.problem, false, NULL), SAP_STATUS_OK);
    sap_newton_init(&f.newton);
    assert_int_equal(sap_newton_gather(&f.newton, f.problem, &f.islands, 0, NULL), SAP_STATUS_OK);
    memcpy(f.newton.v, v_star, sizeof v_star);
    f.newton.v[4] += errors[i];
    sap_newton_evaluate(&f.newton);
    // castro (32) holds: 1e-3 |dv| < 1e-6 sqrt(2)
    assert_int_equal(sap_newton_is_converged(&f.newton, &options), i > 0);
    tear_down(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_law),        cmocka_unit_test(test_lagged_law),
      cmocka_unit_test(test_consistent), cmocka_unit_test(test_without_friction),
      cmocka_unit_test(test_limit),      cmocka_unit_test(test_light_tree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
