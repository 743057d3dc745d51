// SPDX-License-Identifier: BSD-3-Clause
// The problem container: what goes in comes out, memory is reused, the Delassus scale is right.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>
#include <sapstep/solver.h>

#include "support/near.h"

static sap_problem* make(double dt, int32_t ntrees, const int32_t* sizes) {
  sap_problem* problem;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&problem, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, dt, ntrees, sizes, &error), SAP_STATUS_OK);
  return problem;
}

static void test_momentum_blocks(void** state) {
  (void)state;
  const int32_t sizes[2] = {2, 3};
  sap_problem* p = make(0.01, 2, sizes);
  assert_null(sap_problem_momentum_block(p, 0, 0));
  // lower triangle inside a larger matrix; the upper triangle must not be read
  const double A[6] = {4.0, 1.0, (double)NAN, (double)NAN, 5.0, (double)NAN};
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  const double expected[4] = {4.0, 1.0, 1.0, 5.0};
  assert_memory_equal(sap_problem_momentum_block(p, 0, 0), expected, sizeof expected);
  const double C[6] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 0, C, 3, NULL), SAP_STATUS_OK);
  assert_memory_equal(sap_problem_momentum_block(p, 1, 0), C, sizeof C);
  assert_null(sap_problem_momentum_block(p, 0, 1));
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 1, C, 2, NULL), SAP_STATUS_ARGUMENT);
  const double C2[6] = {7, 8, 9, 10, 11, 12};  // set again: replaced
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 0, C2, 3, NULL), SAP_STATUS_OK);
  assert_memory_equal(sap_problem_momentum_block(p, 1, 0), C2, sizeof C2);
  assert_int_equal(sap_problem_reset(p, 0.02, 1, sizes, NULL), SAP_STATUS_OK);
  assert_null(sap_problem_momentum_block(p, 0, 0));
  assert_int_equal(sap_problem_velocity_count(p), 2);
  assert_true(sap_problem_dt(p) == 0.02);
  sap_problem_destroy(p);
}

static void test_velocities(void** state) {
  (void)state;
  const int32_t sizes[2] = {1, 2};
  sap_problem* p = make(0.01, 2, sizes);
  const double v_star[3] = {1, 2, 3}, guess[3] = {4, 5, 6}, zero[3] = {0};
  assert_memory_equal(sap_problem_v_star(p), zero, sizeof zero);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  assert_memory_equal(sap_problem_v_guess(p), v_star, sizeof v_star);
  assert_int_equal(sap_problem_set_v_guess(p, guess, NULL), SAP_STATUS_OK);
  assert_memory_equal(sap_problem_v_guess(p), guess, sizeof guess);
  assert_memory_equal(sap_problem_v_star(p), v_star, sizeof v_star);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  assert_memory_equal(sap_problem_v_guess(p), zero, sizeof zero);
  sap_problem_destroy(p);
}

// Many blocks, so that arrays move: every view must still show what was given.
static void test_blocks_survive_growth(void** state) {
  (void)state;
  enum { NBLOCKS = 200 };
  const int32_t sizes[3] = {1, 2, 4};
  sap_problem* p = make(0.01, 3, sizes);
  for (int round = 0; round < 2; ++round) {
    for (int32_t b = 0; b < NBLOCKS; ++b) {
      double Ja[8], Jb[4];
      for (int i = 0; i < 8; ++i) {
        Ja[i] = b + 0.1 * i;
        Jb[i / 2] = -b - 0.1 * (i / 2);
      }
      const double* jacobians[2] = {Ja, Jb};
      const int32_t trees[2] = {2, 1};
      const double R[2] = {1.0 + b, 2.0}, v_hat[2] = {3.0, b}, lower[2] = {-1, -b},
                   upper[2] = {b, (double)INFINITY};
      const sap_block block = {.set = b % 2 == 0 ? SAP_SET_BOX : SAP_SET_FREE,
                               .nrows = 2,
                               .ntrees = b % 3 == 0 ? 1 : 2,
                               .trees = trees,
                               .jacobians = jacobians,
                               .R = R,
                               .v_hat = v_hat,
                               .lower = lower,
                               .upper = upper,
                               .key = 1000 + (uint64_t)b};
      assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    }
    assert_int_equal(sap_problem_block_count(p), NBLOCKS);
    assert_int_equal(sap_problem_row_count(p), 2 * NBLOCKS);
    for (int32_t b = 0; b < NBLOCKS; ++b) {
      sap_block out;
      int32_t first_row = -1;
      assert_int_equal(sap_problem_block(p, b, &out, &first_row, NULL), SAP_STATUS_OK);
      assert_int_equal(first_row, 2 * b);
      assert_int_equal(out.ntrees, b % 3 == 0 ? 1 : 2);
      assert_true(out.jacobians[0][7] == b + 0.1 * 7);
      assert_true(out.R[0] == 1.0 + b && out.v_hat[1] == b && out.key == 1000 + (uint64_t)b);
      assert_true((out.lower != NULL) == (b % 2 == 0));
      if (b % 2 == 0) {
        assert_true(out.lower[1] == -b && isinf(out.upper[1]));
      }
      if (out.ntrees == 2) {
        assert_int_equal(out.trees[1], 1);
        assert_true(out.jacobians[1][3] == -b - 0.1 * 3);
      }
    }
    assert_int_equal(sap_problem_reset(p, 0.01, 3, sizes, NULL), SAP_STATUS_OK);
  }
  sap_problem_destroy(p);
}

// W = J A^-1 J' by hand: A^-1 = diag(12, 4, 3), J = 1: |W|_F/3 = 13/3.
static void test_delassus_diagonal(void** state) {
  (void)state;
  const int32_t sizes[1] = {3};
  sap_problem* p = make(0.01, 1, sizes);
  const double A[9] = {1.0 / 12, 0, 0, 0, 0.25, 0, 0, 0, 1.0 / 3};
  const double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double* jacobians[1] = {J};
  const int32_t trees[1] = {0};
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  double w;
  assert_int_equal(sap_problem_delassus_scale(p, 3, 1, trees, jacobians, &w, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(w, 13.0 / 3.0, 1e-14);
  double A2[9];
  for (int i = 0; i < 9; ++i) {
    A2[i] = 2.0 * A[i];
  }
  // setting the block again must drop the kept factor
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A2, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_delassus_scale(p, 3, 1, trees, jacobians, &w, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(w, 6.5 / 3.0, 1e-14);
  sap_problem_destroy(p);
}

static double pseudo_random(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 16777216.0 - 0.5;
}

// A = B B' + 1 of size n, its solution by Gauss-Jordan, against the library for the free-body path,
// the small and the LAPACK path, with two trees.
static void check_delassus(int32_t n, int32_t nrows) {
  enum { MAX = 12 };
  const int32_t sizes[2] = {n, n};
  sap_problem* p = make(0.01, 2, sizes);
  uint32_t seed = 7u + (uint32_t)n;
  double W[MAX][MAX] = {{0}}, J[2][MAX * MAX];
  for (int t = 0; t < 2; ++t) {
    double B[MAX][MAX], A[MAX * MAX], work[MAX][2 * MAX];
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        B[i][j] = pseudo_random(&seed);
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = i == j ? 1.0 : 0.0;
        for (int k = 0; k < n; ++k) {
          sum += B[i][k] * B[j][k];
        }
        A[j * n + i] = sum;
        work[i][j] = sum;
        work[i][n + j] = i == j ? 1.0 : 0.0;
      }
    }
    for (int k = 0; k < n; ++k) {
      const double pivot = work[k][k];
      for (int j = 0; j < 2 * n; ++j) {
        work[k][j] /= pivot;
      }
      for (int i = 0; i < n; ++i) {
        const double factor = work[i][k];
        for (int j = 0; i != k && j < 2 * n; ++j) {
          work[i][j] -= factor * work[k][j];
        }
      }
    }
    for (int i = 0; i < n * nrows; ++i) {
      J[t][i] = pseudo_random(&seed);
    }
    for (int r = 0; r < nrows; ++r) {
      for (int c = 0; c < nrows; ++c) {
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) {
            W[r][c] += J[t][i * nrows + r] * work[i][n + j] * J[t][j * nrows + c];
          }
        }
      }
    }
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, n, NULL), SAP_STATUS_OK);
  }
  double sum = 0.0;
  for (int r = 0; r < nrows; ++r) {
    for (int c = 0; c < nrows; ++c) {
      sum += W[r][c] * W[r][c];
    }
  }
  const double* jacobians[2] = {J[0], J[1]};
  const int32_t trees[2] = {0, 1};
  double w = 0.0;
  assert_int_equal(sap_problem_delassus_scale(p, nrows, 2, trees, jacobians, &w, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(w, sqrt(sum) / nrows, 1e-13);  // a hundred roundings of numbers near 1
  sap_problem_destroy(p);
}

static void test_delassus_random(void** state) {
  (void)state;
  check_delassus(6, 3);
  check_delassus(4, 3);
  check_delassus(6, 5);
  check_delassus(11, 3);
  check_delassus(11, 1);
}

// Constraints given as (1-2), (0), (1-2), (0) with mass ratio 1e6: each keeps the R of its trees.
static void test_constraint_order(void** state) {
  (void)state;
  const int32_t sizes[3] = {3, 3, 3};
  sap_problem* p = make(0.01, 3, sizes);
  const double masses[3] = {1e6, 1.0, 2.0};
  for (int32_t t = 0; t < 3; ++t) {
    const double A[9] = {masses[t], 0, 0, 0, masses[t], 0, 0, 0, masses[t]};
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, 3, NULL), SAP_STATUS_OK);
  }
  const double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double* jacobians[2] = {J, J};
  const int32_t pair[2] = {1, 2}, single[1] = {0};
  const sap_regularization regularization = sap_regularization_default();
  for (int i = 0; i < 4; ++i) {
    const sap_contact_block contact = {
        .ntrees = i % 2 == 0 ? 2 : 1,
        .trees = i % 2 == 0 ? pair : single,
        .jacobians = jacobians,
        .material = {.stiffness = 1e12, .relaxation_time = 0.01, .friction = 0.5},
        .phi0 = -1e-3};
    assert_int_equal(sap_problem_add_contact(p, &contact, &regularization, NULL), SAP_STATUS_OK);
  }
  const double pi = acos(-1.0);
  for (int32_t i = 0; i < 4; ++i) {
    sap_block block;
    assert_int_equal(sap_problem_block(p, i, &block, NULL, NULL), SAP_STATUS_OK);
    const double w = (i % 2 == 0 ? 1.5 : 1e-6) / sqrt(3.0);
    ASSERT_NEAR(block.R[0] / (1e-3 * w), 1.0, 1e-13);
    ASSERT_NEAR(block.R[2] / (w / (4.0 * pi * pi)), 1.0, 1e-13);
    ASSERT_NEAR(block.v_hat[2], 1e-3 / 0.02, 1e-15);
  }
  sap_problem_destroy(p);
}

// A force that pulls two bodies together, and that v* has, gives the same motion with dt times the
// force more in the contact, whatever the stiffness.
static void test_pull(void** state) {
  (void)state;
  const int32_t size = 3, tree = 0;
  const double m = 2.0, dt = 0.01, F = 7.0, J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double A[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
  const double* jacobians[1] = {J};
  double v[2][3], gamma[2][3];
  for (int pulled = 0; pulled < 2; ++pulled) {
    sap_problem* p = make(dt, 1, &size);
    const double v_star[3] = {0.0, 0.0, -0.2 - (pulled == 1 ? dt * F / m : 0.0)};
    const sap_regularization regularization = sap_regularization_default();
    sap_contact_block contact = {.ntrees = 1,
                                 .trees = &tree,
                                 .jacobians = jacobians,
                                 .material = sap_material_default(),
                                 .phi0 = -1e-3,
                                 .pull = pulled == 1 ? F : 0.0};
    contact.material.stiffness = 1e3;
    assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, 3, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_contact(p, &contact, &regularization, NULL), SAP_STATUS_OK);
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-12;
    sap_solver* solver;
    sap_solution solution = {0};
    sap_report report = {0};
    assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
    memcpy(v[pulled], solution.v, sizeof v[0]);
    memcpy(gamma[pulled], solution.gamma, sizeof gamma[0]);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_solver_destroy(solver);
    sap_problem_destroy(p);
  }
  assert_true(gamma[0][2] > 0.01);
  ASSERT_NEAR(gamma[1][2], gamma[0][2] + dt * F, 1e-12);
  ASSERT_NEAR(v[1][2], v[0][2], 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_momentum_blocks),
      cmocka_unit_test(test_velocities),
      cmocka_unit_test(test_blocks_survive_growth),
      cmocka_unit_test(test_delassus_diagonal),
      cmocka_unit_test(test_delassus_random),
      cmocka_unit_test(test_constraint_order),
      cmocka_unit_test(test_pull),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
