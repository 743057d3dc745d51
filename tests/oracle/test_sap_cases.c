// SPDX-License-Identifier: BSD-3-Clause
// SAP on problems with answers known in closed form: one contact, limit, bilateral rows, PD with
// effort limit, dry friction, couplings in A, exact guess, no blocks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/solve.h"

typedef struct fixture {
  sap_problem* problem;
  sap_solution solution;
  sap_report report;
} fixture;

static fixture make(double dt, int32_t ntrees, const int32_t* sizes) {
  fixture f = {0};
  assert_int_equal(sap_problem_create(&f.problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(f.problem, dt, ntrees, sizes, NULL), SAP_STATUS_OK);
  return f;
}

static void solve_with(fixture* f, const sap_solver_options* options) {
  const sap_outcome outcome = solve_problem("sap", options, f->problem, &f->solution, &f->report);
  assert_in_range(outcome, SAP_OUTCOME_CONVERGED, SAP_OUTCOME_ROUNDOFF);
}

static void solve(fixture* f) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-13;
  solve_with(f, &options);
}

static void end(fixture* f) {
  sap_problem_destroy(f->problem);
  sap_solution_clear(&f->solution);
  sap_report_clear(&f->report);
}

static void set_diagonal(fixture* f, int32_t tree, const double* diagonal) {
  double A[36] = {0};
  const int32_t n = sap_problem_tree_size(f->problem, tree);
  for (int32_t i = 0; i < n; ++i) {
    A[i * (n + 1)] = diagonal[i];
  }
  assert_int_equal(sap_problem_set_momentum_block(f->problem, tree, tree, A, n, NULL),
                   SAP_STATUS_OK);
}

static void add_rows(fixture* f, sap_block block, const int32_t* trees, const double* J) {
  const double* jacobians[1] = {J};
  block.ntrees = 1;
  block.trees = trees;
  block.jacobians = jacobians;
  sap_error error = {0};
  if (sap_problem_add_block(f->problem, &block, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

static const int32_t TREE_0[1] = {0};
static const double IDENTITY[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// A^-1 = diag(12, 4, 3), v* = (-1, -1, -1); R 1e-9: the errors are of that order
static void check_rigid_contact(double mu, const double gamma[3], const double v[3]) {
  const int32_t sizes[1] = {3};
  fixture f = make(0.01, 1, sizes);
  set_diagonal(&f, 0, (double[3]){1.0 / 12, 0.25, 1.0 / 3});
  assert_int_equal(sap_problem_set_v_star(f.problem, (double[3]){-1, -1, -1}, NULL), SAP_STATUS_OK);
  const double R[3] = {1e-9, 1e-9, 1e-9}, v_hat[3] = {0};
  add_rows(
      &f,
      (sap_block){.set = SAP_SET_FRICTION_CONE, .nrows = 3, .R = R, .v_hat = v_hat, .friction = mu},
      TREE_0, IDENTITY);
  solve(&f);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(f.solution.gamma[i], gamma[i], 1e-8);
    ASSERT_NEAR(f.solution.v[i], v[i], 1e-8);
    ASSERT_NEAR(f.solution.vc[i], f.solution.v[i], 1e-15);
  }
  end(&f);
}

static void test_rigid_contact(void** state) {
  (void)state;
  check_rigid_contact(1000.0, (double[3]){1.0 / 12, 0.25, 1.0 / 3}, (double[3]){0, 0, 0});
  check_rigid_contact(0.0, (double[3]){0, 0, 1.0 / 3}, (double[3]){-1, -1, 0});
}

// One row on a unit mass: v = v* + gamma, gamma from the set, solved by hand.
static double one_row(sap_block block, double v_star, double* v) {
  const int32_t sizes[1] = {1};
  const double J[1] = {1.0};
  fixture f = make(0.01, 1, sizes);
  set_diagonal(&f, 0, (double[1]){1.0});
  assert_int_equal(sap_problem_set_v_star(f.problem, &v_star, NULL), SAP_STATUS_OK);
  block.nrows = 1;
  add_rows(&f, block, TREE_0, J);
  solve(&f);
  const double gamma = f.solution.gamma[0];
  *v = f.solution.v[0];
  end(&f);
  return gamma;
}

// Limits (-inf, 2.3) of a joint at 3.1: constraint g = 2.3 - q < 0, v_hat = -g/(dt + tau_d), J = -1
// is taken as +1 here by the mirrored joint. Below v_hat the impulse pushes, above it is exactly 0.
static void test_limit(void** state) {
  (void)state;
  const double dt = 0.01, k = 1e5, tau_d = 0.01;
  const double gaps[3] = {3.1 - 0.5, 2.3 - 3.1, 3.1 + 0.5};
  for (int i = 0; i < 3; ++i) {
    const double R[1] = {1.0 / (dt * k * (dt + tau_d))}, v_hat[1] = {-gaps[i] / (dt + tau_d)};
    const sap_block block = {.set = SAP_SET_NONNEGATIVE, .R = R, .v_hat = v_hat};
    double v;
    const double below = one_row(block, v_hat[0] - 1.0, &v);
    ASSERT_NEAR(below, 1.0 / (1.0 + R[0]), 1e-12);
    ASSERT_NEAR(v, v_hat[0] - 1.0 + below, 1e-12 * fabs(v_hat[0]));
    const double above = one_row(block, v_hat[0] + 1.0, &v);
    assert_true(above == 0.0 && v == v_hat[0] + 1.0);
  }
}

// Three bilateral rows of different stiffness: gamma_i = -(v* - v_hat)_i/(1 + R_i) for unit masses.
static void test_bilateral(void** state) {
  (void)state;
  const int32_t sizes[1] = {3};
  const double dt = 0.01, w = 2.0, beta = 1.5, pi = acos(-1.0);
  double R[3], v_hat[3];
  for (int i = 0; i < 3; ++i) {
    const double k = 1e4 * (i + 1), tau_d = 0.01 * (i + 1), g = i + 1;
    R[i] = fmax(beta * beta / (4 * pi * pi) * w, 1.0 / (dt * k * (dt + tau_d)));
    v_hat[i] = -g / (dt + tau_d);
  }
  fixture f = make(dt, 1, sizes);
  set_diagonal(&f, 0, (double[3]){1, 1, 1});
  add_rows(&f, (sap_block){.set = SAP_SET_FREE, .nrows = 3, .R = R, .v_hat = v_hat}, TREE_0,
           IDENTITY);
  solve(&f);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(f.solution.gamma[i], v_hat[i] / (1.0 + R[i]), 1e-11);
  }
  assert_int_equal(f.report.iterations, 1);  // quadratic: Newton's method needs one step
  end(&f);
}

// Kp 1.1 Kd 1.2 limit 1.3 q0 .1 qd .2 vd .3 u_ff .4 dt .015 as a box block:
// gamma/dt = clamp(-Kp (q - qd) - Kd (v - vd) + u_ff), q = q0 + dt v
static void test_limited_actuator(void** state) {
  (void)state;
  const double Kp = 1.1, Kd = 1.2, limit = 1.3, q0 = 0.1, qd = 0.2, vd = 0.3, u_ff = 0.4,
               dt = 0.015;
  const double slope = dt * Kp + Kd;  // of the force in v
  const double R[1] = {1.0 / (dt * slope)};
  const double v_hat[1] = {(-Kp * (q0 - qd) + Kd * vd + u_ff) / slope};
  const double lower[1] = {-dt * limit}, upper[1] = {dt * limit};
  const sap_block block = {
      .set = SAP_SET_BOX, .R = R, .v_hat = v_hat, .lower = lower, .upper = upper};
  const double starts[5] = {-10.0, -0.5, 0.1, 0.9, 30.0};
  for (int i = 0; i < 5; ++i) {
    double v;
    const double gamma = one_row(block, starts[i], &v);
    const double force = -Kp * (q0 + dt * v - qd) - Kd * (v - vd) + u_ff;
    ASSERT_NEAR(gamma / dt, fmax(-limit, fmin(limit, force)), 1e-12);
    if (fabs(force) > 1.01 * limit) {
      assert_true(gamma == (force > 0.0 ? upper[0] : lower[0]));
    }
  }
}

// |gamma| <= dt tau_f, R = sigma w: creep at most sigma w dt tau_f below break-away.
static void test_dry_friction(void** state) {
  (void)state;
  const double bound = 0.01 * 2.0;  // dt tau_f
  const double R[1] = {1e-3}, v_hat[1] = {0.0}, lower[1] = {-bound}, upper[1] = {bound};
  const sap_block block = {
      .set = SAP_SET_BOX, .R = R, .v_hat = v_hat, .lower = lower, .upper = upper};
  double v;
  double gamma = one_row(block, 0.9 * bound, &v);  // held
  ASSERT_NEAR(gamma, -0.9 * bound / 1.001, 1e-15);
  assert_true(fabs(v) <= 1e-3 * bound);
  gamma = one_row(block, 5.0 * bound, &v);  // breaks away
  assert_true(gamma == -bound);
  ASSERT_NEAR(v, 4.0 * bound, 1e-15);
}

// Trees 0 and 1 coupled in A, tree 2 alone, tree 3 coupled to none; a block on tree 1 only.
static void test_couplings(void** state) {
  (void)state;
  const int32_t sizes[4] = {2, 1, 1, 1}, tree_1[1] = {1};
  const double C[2] = {-0.5, 0.25}, J[1] = {1.0};
  const double R[1] = {1e-4}, v_hat[1] = {2.0};
  const double v_star[4 + 1] = {0.1, 0.2, 0.3, 0.4, 0.7};
  for (int order = 0; order < 2; ++order) {
    fixture f = make(0.01, 4, sizes);
    set_diagonal(&f, 0, (double[2]){2.0, 1.0});
    set_diagonal(&f, 1, (double[1]){3.0});
    set_diagonal(&f, 2, (double[1]){1.0 / 3.0});
    set_diagonal(&f, 3, (double[1]){1.0});
    assert_int_equal(order == 0 ? sap_problem_set_momentum_block(f.problem, 0, 1, C, 2, NULL)
                                : sap_problem_set_momentum_block(f.problem, 1, 0, C, 1, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_v_star(f.problem, v_star, NULL), SAP_STATUS_OK);
    add_rows(&f, (sap_block){.set = SAP_SET_FREE, .nrows = 1, .R = R, .v_hat = v_hat}, tree_1, J);
    solve(&f);
    assert_int_equal(f.report.islands, 1);
    assert_int_equal(f.report.largest_island, 3);
    // A (v - v*) = e_3 gamma by eliminating tree 0: Schur complement 3 - .25/2 - .0625
    const double schur = 3.0 - 0.125 - 0.0625;
    const double gamma = (2.0 - 0.3) / (1e-4 + 1.0 / schur);
    ASSERT_NEAR(f.solution.gamma[0], gamma, 1e-12 * gamma);
    ASSERT_NEAR(f.solution.v[2], 0.3 + gamma / schur, 1e-12);
    ASSERT_NEAR(f.solution.v[0], 0.1 + 0.25 * gamma / schur, 1e-12);
    ASSERT_NEAR(f.solution.v[1], 0.2 - 0.25 * gamma / schur, 1e-12);
    assert_true(f.solution.v[3] == v_star[3] && f.solution.v[4] == v_star[4]);
    sap_residual residual;
    assert_int_equal(sap_residuals(f.problem, f.solution.v, f.solution.gamma, &residual, NULL),
                     SAP_STATUS_OK);
    assert_true(residual.momentum < 1e-13 && residual.projection < 1e-12);
    ASSERT_NEAR(residual.cost, f.solution.cost, 1e-12 * f.solution.cost);
    end(&f);
  }
}

// Bilateral rows only: the cost is quadratic, so one Newton step ends it if H is right, couplings
// between trees of different size and blocks on three trees included.
static void test_quadratic_takes_one_step(void** state) {
  (void)state;
  const int32_t sizes[3] = {2, 3, 1};
  const double A_0[4] = {2, 0.3, 0.3, 1}, A_1[9] = {3, 0.2, 0.1, 0.2, 2, 0.4, 0.1, 0.4, 2};
  const double A_2[1] = {1.5}, C_01[6] = {0.1, 0.2, -0.3, 0.4, 0.15, -0.25};
  const double C_10[6] = {0.1, -0.3, 0.15, 0.2, 0.4, -0.25}, v_star[6] = {1, -2, 3, -4, 5, -6};
  const double J[3][6] = {{1, 2, 3, 4, 5, -6}, {-1, 0.5, 2, 1, 0, 1}, {2, -3, 1, 1, 1, 1}};
  const double* jacobians[3] = {J[0], J[1], J[2]};
  const int32_t trees[2][3] = {{2, 0, 1}, {1, 2, 0}};
  const double R[2] = {0.01, 0.1}, v_hat[2] = {0.5, -0.5};
  for (int order = 0; order < 2; ++order) {
    fixture f = make(0.01, 3, sizes);
    assert_int_equal(sap_problem_set_momentum_block(f.problem, 0, 0, A_0, 2, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(f.problem, 1, 1, A_1, 3, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_momentum_block(f.problem, 2, 2, A_2, 1, NULL), SAP_STATUS_OK);
    assert_int_equal(order == 0 ? sap_problem_set_momentum_block(f.problem, 0, 1, C_01, 2, NULL)
                                : sap_problem_set_momentum_block(f.problem, 1, 0, C_10, 3, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_v_star(f.problem, v_star, NULL), SAP_STATUS_OK);
    for (int i = 0; i < 2; ++i) {
      const sap_block block = {.set = SAP_SET_FREE,
                               .nrows = 2,
                               .ntrees = 3,
                               .trees = trees[i],
                               .jacobians = jacobians,
                               .R = R,
                               .v_hat = v_hat};
      assert_int_equal(sap_problem_add_block(f.problem, &block, NULL), SAP_STATUS_OK);
    }
    const sap_solver_options options = sap_solver_options_default();
    solve_with(&f, &options);
    assert_int_equal(f.report.iterations, 1);
    assert_true(f.report.momentum_error <= 1e-11);  // cond(H) eps
    end(&f);
  }
}

static void fill_two_bodies(fixture* f) {
  const double masses[6] = {0.4, 0.5, 0.6, 2, 2, 2};
  const double J0[18] = {0, 0.3, 0, -0.3, 0, 0.1, 0, -0.1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  double J1[18];
  for (int i = 0; i < 18; ++i) {
    J1[i] = -J0[i];
  }
  const double* jacobians[2] = {J0, J1};
  const double v_star[12] = {0, 0, 0, 0.3, 0, -0.1, 0, 0, 0, 0, 0, 0.1};
  set_diagonal(f, 0, masses);
  set_diagonal(f, 1, masses);
  assert_int_equal(sap_problem_set_v_star(f->problem, v_star, NULL), SAP_STATUS_OK);
  const sap_regularization regularization = sap_regularization_default();
  for (int i = 0; i < 3; ++i) {
    const int32_t trees[2][2] = {{0, 1}, {1, 0}};
    const sap_contact_block contact = {
        .ntrees = i == 2 ? 1 : 2,
        .trees = trees[i % 2],
        .jacobians = jacobians,
        .material = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 0.5},
        .phi0 = -1e-4};
    assert_int_equal(sap_problem_add_contact(f->problem, &contact, &regularization, NULL),
                     SAP_STATUS_OK);
  }
}

// The solution as guess: no iteration, v bitwise the guess.
static void test_exact_guess(void** state) {
  (void)state;
  const int32_t sizes[2] = {6, 6};
  fixture f = make(0.01, 2, sizes);
  fill_two_bodies(&f);
  solve(&f);
  double v[12];
  memcpy(v, f.solution.v, sizeof v);
  assert_true(f.report.iterations > 0);
  assert_int_equal(sap_problem_set_v_guess(f.problem, v, NULL), SAP_STATUS_OK);
  sap_solver_options options = sap_solver_options_default();
  solve_with(&f, &options);
  assert_int_equal(f.report.iterations, 0);
  assert_int_equal(f.report.factorizations, 0);
  assert_memory_equal(f.solution.v, v, sizeof v);
  end(&f);
}

// A guess worse than v* is not used; a guess that overflows is not used either.
static void test_bad_guess(void** state) {
  (void)state;
  const int32_t sizes[2] = {6, 6};
  fixture f = make(0.01, 2, sizes);
  fill_two_bodies(&f);
  const sap_solver_options options = sap_solver_options_default();
  solve_with(&f, &options);
  const double cost = f.report.history[0].cost, best = f.solution.cost;
  for (int trial = 0; trial < 2; ++trial) {
    double guess[12];
    for (int i = 0; i < 12; ++i) {
      guess[i] = trial == 0 ? 50.0 : 1e200;
    }
    assert_int_equal(sap_problem_set_v_guess(f.problem, guess, NULL), SAP_STATUS_OK);
    solve_with(&f, &options);
    assert_true(f.report.history[0].cost == cost);
    ASSERT_NEAR(f.solution.cost, best, 1e-10 * best);
  }
  end(&f);
}

static void test_no_blocks(void** state) {
  (void)state;
  const int32_t sizes[2] = {1, 2};
  fixture f = make(0.01, 2, sizes);
  set_diagonal(&f, 0, (double[1]){3.0});
  set_diagonal(&f, 1, (double[2]){3.0, 0.7});
  const double v_star[3] = {0.1, -0.3, 1.0 / 3.0}, guess[3] = {5, 5, 5};
  assert_int_equal(sap_problem_set_v_star(f.problem, v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_guess(f.problem, guess, NULL), SAP_STATUS_OK);
  solve(&f);
  assert_memory_equal(f.solution.v, v_star, sizeof v_star);
  assert_int_equal(f.report.iterations, 0);
  assert_int_equal(f.report.islands, 0);
  assert_int_equal(f.report.history_count, 1);
  assert_int_equal(f.report.outcome, SAP_OUTCOME_CONVERGED);
  assert_true(f.solution.cost == 0.0);
  // the problem without trees as well
  assert_int_equal(sap_problem_reset(f.problem, 0.01, 0, NULL, NULL), SAP_STATUS_OK);
  solve(&f);
  assert_int_equal(f.solution.nv, 0);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rigid_contact),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_bilateral),
      cmocka_unit_test(test_limited_actuator),
      cmocka_unit_test(test_dry_friction),
      cmocka_unit_test(test_couplings),
      cmocka_unit_test(test_quadratic_takes_one_step),
      cmocka_unit_test(test_exact_guess),
      cmocka_unit_test(test_bad_guess),
      cmocka_unit_test(test_no_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
