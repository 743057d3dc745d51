// SPDX-License-Identifier: BSD-3-Clause
// One rigid contact and a cube on four, R = 0, against answers in closed form or from the
// literature's tables: NCP solvers and convex ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/one_contact.h"
#include "support/solve.h"

// Rows and columns N, T1, T2: u = W r + q.
typedef struct contact_case {
  double W[9], q[3], mu;
  double r[3], u[3];          // NCP
  double r_ccp[3], u_ccp[3];  // CCP, where has_ccp
  bool has_ccp;
  double tolerance;  // of the digits given
} contact_case;

static const contact_case CASES[] = {
    {{1, 0, 0, 0, 3.5, 0, 0, 0, 3.5},
     {-.00981, 0, 0},
     .9,
     {.00981, 0, 0},
     {0, 0, 0},
     {.00981, 0, 0},
     {0, 0, 0},
     true,
     1e-10},
    {{1, 0, 0, 0, 3.5, 0, 0, 0, 3.5},
     {-.00981, 1, 0},
     .9,
     {.00981, -.008829, 0},
     {0, .9690985, 0},
     {.23723859, -.21351473, 0},
     {.22742859, .25269844, 0},
     true,
     1e-8},
    {{15, -1, -2, -1, 14, 1, -2, 1, 16},
     {-1, 2, 3},
     .1,
     {6.569568289774e-2, -3.678614906807e-3, -5.443070813559e-3},
     {0, 1.877361, 2.777841},
     {0},
     {0},
     false,
     1e-6},
    {{.01344, -9.421e-7, .001486, -9.421e-7, .1061, .0001733, .001486, .0001733, .001442},
     {-.1458, -.2484, -.1515},
     .6,
     {10.20587605570, 1.931888367688, 5.810798010421},
     {0, -4.242925e-2, -.1276201},
     {0},
     {0},
     false,
     1e-6},
    {{2, 0, 0, 0, 2, 0, 0, 0, 2},
     {-2, -4, -6},
     .1,
     {1, .05547001962252, .08320502943378},
     {0, -3.889060, -5.833590},
     {0},
     {0},
     false,
     1e-6},
    {{1e4, 0, 0, 0, 1, 0, 0, 0, 1e-4},
     {-1e4, -1, -1e-4},
     .1,
     {1, .09999999938273, 1.111098757949e-5},
     {0, -.9, -9.999889e-5},
     {0},
     {0},
     false,
     1e-6},
};
enum { NCASES = sizeof CASES / sizeof CASES[0] };

// Inverse of a symmetric 3x3 matrix by cofactors.
static void invert(const double W[9], double A[9]) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
      A[3 * i + j] = W[3 * a + c] * W[3 * b + d] - W[3 * a + d] * W[3 * b + c];
    }
  }
  const double determinant = W[0] * A[0] + W[1] * A[1] + W[2] * A[2];
  for (int i = 0; i < 9; ++i) {
    A[i] /= determinant;
  }
}

// One tree with A = W^-1, J = I in our order [t1 t2 n], v* = q.
static sap_problem* make(const contact_case* c) {
  static const int place[3] = {2, 0, 1};  // of N, T1, T2
  const double zero[3] = {0, 0, 0};
  double inverse[9], A[9], v_star[3];
  invert(c->W, inverse);
  for (int i = 0; i < 3; ++i) {
    v_star[place[i]] = c->q[i];
    for (int j = 0; j < 3; ++j) {
      A[3 * place[j] + place[i]] = inverse[3 * j + i];
    }
  }
  sap_problem* p = one_contact_problem(A, c->mu, zero, zero);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  return p;
}

static sap_outcome solve(const char* name, const sap_problem* p, sap_solution* solution) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-13;
  options.max_sweeps = 100000;
  return solve_problem(name, &options, p, solution, NULL);
}

static void check(const char* name, int index, bool ncp) {
  const contact_case* c = &CASES[index];
  const double* r = ncp ? c->r : c->r_ccp;
  const double* u = ncp ? c->u : c->u_ccp;
  sap_problem* p = make(c);
  sap_solution s = {0};
  assert_int_equal(solve(name, p, &s), SAP_OUTCOME_CONVERGED);
  const double r_scale = fabs(r[0]) + fabs(r[1]) + fabs(r[2]);
  const double u_scale = fabs(u[0]) + fabs(u[1]) + fabs(u[2]) + fabs(c->q[0]);
  for (int i = 0; i < 3; ++i) {
    const int at = (i + 2) % 3;
    if (!(fabs(s.gamma[at] - r[i]) <= c->tolerance * r_scale) ||
        !(fabs(s.vc[at] - u[i]) <= c->tolerance * u_scale)) {
      fail_msg("%s, case %d, row %d: r %.13g (%.13g), u %.9g (%.9g)", name, index, i, s.gamma[at],
               r[i], s.vc[at], u[i]);
    }
  }
  sap_residual residual;
  assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
  assert_true((ncp ? residual.ncp_natural_map_scaled : residual.ccp_natural_map_scaled) <= 1e-11);
  sap_solution_clear(&s);
  sap_problem_destroy(p);
}

static void test_ncp(void** state) {
  (void)state;
  static const char* const names[] = {
      "pgs-ncp",         "nbgs",      "admm-ncp",  "newton-ncp",
      "proximal-newton", "raisim-ds", "staggered", "implicit-complementarity"};
  for (size_t s = 0; s < sizeof names / sizeof names[0]; ++s) {
    for (int i = 0; i < NCASES; ++i) {
      check(names[s], i, true);
    }
  }
}

static void test_ccp(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-ccp", "apgd", "admm-ccp"};
  for (size_t s = 0; s < sizeof names / sizeof names[0]; ++s) {
    for (int i = 0; i < NCASES; ++i) {
      if (CASES[i].has_ccp) {
        check(names[s], i, false);
      }
    }
  }
}

// A^-1 = diag(12, 4, 3), v* = (-1, -1, -1): a huge mu sticks, none slides.
static void test_extremes(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-ccp",
                                      "apgd",
                                      "admm-ccp",
                                      "pgs-ncp",
                                      "nbgs",
                                      "admm-ncp",
                                      "newton-ncp",
                                      "proximal-newton",
                                      "raisim",
                                      "raisim-ds",
                                      "raisim-ds-es",
                                      "staggered",
                                      "implicit-complementarity"};
  contact_case c = {.W = {3, 0, 0, 0, 12, 0, 0, 0, 4}, .q = {-1, -1, -1}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    for (int sticks = 0; sticks < 2; ++sticks) {
      c.mu = sticks ? 1000.0 : 0.0;
      sap_problem* p = make(&c);
      sap_solution s = {0};
      (void)solve(names[i], p, &s);
      const double gamma[3] = {sticks / 12.0, sticks / 4.0, 1.0 / 3.0};
      for (int k = 0; k < 3; ++k) {
        if (!(fabs(s.gamma[k] - gamma[k]) <= 1e-9)) {
          fail_msg("%s, mu %g: gamma[%d] = %.12g must be %.12g", names[i], c.mu, k, s.gamma[k],
                   gamma[k]);
        }
      }
      sap_solution_clear(&s);
      sap_problem_destroy(p);
    }
  }
}

// 1 kg, mu .95, dt 1 ms, sliding at 1 m/s on four points below the corners.
static sap_problem* make_cube(void) {
  const int32_t size = 6, tree = 0;
  const double half = 0.1, inertia = (4.0 * half * half) / 6.0;
  double A[36] = {0};
  for (int i = 0; i < 6; ++i) {
    A[7 * i] = i < 3 ? inertia : 1.0;
  }
  const double v_star[6] = {0, 0, 0, 1, 0, -.00981}, zero[3] = {0, 0, 0};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 1e-3, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 6, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  for (int k = 0; k < 4; ++k) {
    const double x = k % 2 == 0 ? half : -half, y = k < 2 ? half : -half, z = -half;
    // v + omega x (x, y, z), columns of omega then of v
    const double J[18] = {0, -z, y, z, 0, -x, -y, x, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double* jacobians[1] = {J};
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = jacobians,
                             .R = zero,
                             .v_hat = zero,
                             .friction = .95};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  return p;
}

static void check_cube(const char* name, const double sum[3], double u_n) {
  sap_problem* p = make_cube();
  sap_solution s = {0};
  assert_int_equal(solve(name, p, &s), SAP_OUTCOME_CONVERGED);
  for (int i = 0; i < 3; ++i) {
    double total = 0.0;
    for (int k = 0; k < 4; ++k) {
      total += s.gamma[3 * k + i];
      if (i == 2) {
        ASSERT_NEAR(s.vc[3 * k + 2], u_n, 1e-8);
      }
    }
    if (!(fabs(total - sum[i]) <= 2e-8)) {
      fail_msg("%s: sum of gamma[%d] = %.10g must be %.10g", name, i, total, sum[i]);
    }
  }
  sap_solution_clear(&s);
  sap_problem_destroy(p);
}

static void test_cube(void** state) {
  (void)state;
  static const char* const ncp[] = {"pgs-ncp",
                                    "nbgs",
                                    "admm-ncp",
                                    "proximal-newton",
                                    "raisim-ds",
                                    "staggered",
                                    "implicit-complementarity",
                                    "newton-ncp"};
  static const char* const ccp[] = {"pgs-ccp", "apgd", "admm-ccp"};
  const double sum_ncp[3] = {-.0093195, 0, .00981}, sum_ccp[3] = {-.47927438, 0, .50449934};
  for (size_t i = 0; i < sizeof ncp / sizeof ncp[0]; ++i) {
    check_cube(ncp[i], sum_ncp, 0.0);
  }
  for (size_t i = 0; i < sizeof ccp / sizeof ccp[0]; ++i) {
    check_cube(ccp[i], sum_ccp, .49468934);
  }
}

// Energy 1/2 r' W r + q' r at an angle of the curve g_N = 0, |r_T| = mu r_N.
static double curve_energy(const contact_case* c, double angle) {
  const double t[3] = {1.0, c->mu * cos(angle), c->mu * sin(angle)};
  double along = 0.0, energy = 0.0;
  for (int i = 0; i < 3; ++i) {
    along += c->W[i] * t[i];
  }
  const double normal = -c->q[0] / along;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      energy += 0.5 * normal * normal * t[i] * c->W[3 * i + j] * t[j];
    }
    energy += c->q[i] * normal * t[i];
  }
  return energy;
}

// RaiSim is exact where nothing couples normal and tangents; else it is the least energy on the
// curve, found here by brute force.
static void test_raisim(void** state) {
  (void)state;
  check("raisim", 0, true);
  check("raisim", 1, true);
  check("raisim", 4, true);
  check("raisim", 5, true);
  for (int k = 2; k <= 3; ++k) {
    const contact_case* c = &CASES[k];
    sap_problem* p = make(c);
    sap_solution s = {0};
    assert_int_equal(solve("raisim", p, &s), SAP_OUTCOME_CONVERGED);
    double best = 0.0, least = curve_energy(c, 0.0);
    for (int i = 1; i < 100000; ++i) {
      const double angle = 6.2831853071795865 * i / 100000, energy = curve_energy(c, angle);
      best = energy < least ? angle : best;
      least = fmin(energy, least);
    }
    const double tangent = sqrt(s.gamma[0] * s.gamma[0] + s.gamma[1] * s.gamma[1]);
    ASSERT_NEAR(s.vc[2], 0.0, 1e-12);
    ASSERT_NEAR(tangent, c->mu * s.gamma[2], 1e-12 * s.gamma[2]);
    ASSERT_NEAR(s.gamma[0], tangent * cos(best), 1e-4 * tangent);
    ASSERT_NEAR(s.gamma[1], tangent * sin(best), 1e-4 * tangent);
    sap_solution_clear(&s);
    sap_problem_destroy(p);
  }
}

// Slip along (4, 6): the pyramid of four facets along the tangents has both at their bound, sqrt 2
// too much; the one of four edges along them has all of it in the edge nearest to slip.
static void test_pyramid(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-lcp", "lemke"};
  const contact_case* c = &CASES[4];
  for (int i = 0; i < 2; ++i) {
    sap_problem* p = make(c);
    sap_solution s = {0};
    assert_int_equal(solve(names[i], p, &s), SAP_OUTCOME_CONVERGED);
    const double reach = i == 0 ? c->mu : 0.0;  // lemke's edges lie along the tangents
    ASSERT_NEAR(s.gamma[2], 1.0, 1e-13);
    ASSERT_NEAR(s.gamma[0], reach, 1e-13);
    ASSERT_NEAR(s.gamma[1], c->mu, 1e-13);
    sap_solution_clear(&s);
    sap_problem_destroy(p);
  }
}

// With many edges the pyramid tends to the cone.
static void test_many_edges(void** state) {
  (void)state;
  const contact_case* c = &CASES[4];
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    sap_solver_options options = sap_solver_options_default();
    options.friction_directions = i == 0 ? 16 : 64;
    sap_solver* solver;
    sap_solution s = {0};
    sap_problem* p = make(c);
    assert_int_equal(sap_solver_create("lemke", &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &s, NULL, NULL), SAP_STATUS_OK);
    errors[i] = hypot(s.gamma[0] - c->r[1], s.gamma[1] - c->r[2]) / c->mu;
    sap_solver_destroy(solver);
    sap_solution_clear(&s);
    sap_problem_destroy(p);
  }
  assert_true(errors[0] <= 3.15 / 16 && errors[1] <= 3.15 / 64);  // half the angle between edges
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ncp),        cmocka_unit_test(test_ccp),
      cmocka_unit_test(test_extremes),   cmocka_unit_test(test_cube),
      cmocka_unit_test(test_raisim),     cmocka_unit_test(test_pyramid),
      cmocka_unit_test(test_many_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
