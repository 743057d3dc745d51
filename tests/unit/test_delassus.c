// SPDX-License-Identifier: BSD-3-Clause
// D = J A^-1 J' + R of an island against a dense computation of the test's own.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/dense.h"
#include "problem/delassus.h"
#include "problem/factor.h"
#include "support/near.h"

enum { NV = 7, NROWS = 6 };  // trees of 3, 1 and 3 velocities; a cone, a box row, two free rows

typedef struct fixture {
  sap_problem* problem;
  double A[NV * NV], J[NROWS * NV], R[NROWS], v_hat[NROWS], v_star[NV];
} fixture;

// Fills A's block with something SPD.
static void set_tree(fixture* f, int32_t tree, int start, int size) {
  double block[9];
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < size; ++i) {
      const double value = i == j ? 2.0 + i + tree : 0.3 / (1 + i + j);
      f->A[(start + j) * NV + start + i] = block[j * size + i] = value;
    }
  }
  assert_int_equal(sap_problem_set_momentum_block(f->problem, tree, tree, block, size, NULL),
                   SAP_STATUS_OK);
}

static void add_block(fixture* f, sap_set set, int nrows, int first_row, const int32_t* trees) {
  static const int starts[3] = {0, 3, 4}, sizes[3] = {3, 1, 3};
  static const double lower[2] = {-1, -1}, upper[2] = {2, 2};
  double parts[2][9];
  const double* jacobians[2] = {parts[0], parts[1]};
  for (int t = 0; t < 2; ++t) {
    for (int i = 0; i < sizes[trees[t]]; ++i) {
      for (int r = 0; r < nrows; ++r) {
        const double value = sin(1.0 + 3.0 * r + 1.7 * i + 5.0 * t + first_row);
        parts[t][i * nrows + r] = value;
        f->J[(first_row + r) * NV + starts[trees[t]] + i] = value;
      }
    }
  }
  for (int r = 0; r < nrows; ++r) {
    f->R[first_row + r] = set == SAP_SET_FREE ? 0.0 : 0.1;
    f->v_hat[first_row + r] = 0.2 * r - 0.1;
  }
  const sap_block block = {.set = set,
                           .nrows = nrows,
                           .ntrees = 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = f->R + first_row,
                           .v_hat = f->v_hat + first_row,
                           .friction = 0.7,
                           .lower = lower,
                           .upper = upper};
  assert_int_equal(sap_problem_add_block(f->problem, &block, NULL), SAP_STATUS_OK);
}

static void make(fixture* f, bool coupled) {
  static const int32_t sizes[3] = {3, 1, 3}, pairs[3][2] = {{0, 2}, {1, 0}, {2, 1}};
  memset(f, 0, sizeof *f);
  assert_int_equal(sap_problem_create(&f->problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(f->problem, 0.01, 3, sizes, NULL), SAP_STATUS_OK);
  set_tree(f, 0, 0, 3);
  set_tree(f, 1, 3, 1);
  set_tree(f, 2, 4, 3);
  if (coupled) {
    const double C[9] = {0.1, 0.2, -0.3, 0.4, 0.05, 0.1, -0.2, 0.3, 0.1};
    assert_int_equal(sap_problem_set_momentum_block(f->problem, 2, 0, C, 3, NULL), SAP_STATUS_OK);
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        f->A[j * NV + 4 + i] = f->A[(4 + i) * NV + j] = C[3 * j + i];
      }
    }
  }
  for (int i = 0; i < NV; ++i) {
    f->v_star[i] = cos(2.0 * i);
  }
  assert_int_equal(sap_problem_set_v_star(f->problem, f->v_star, NULL), SAP_STATUS_OK);
  add_block(f, SAP_SET_FRICTION_CONE, 3, 0, pairs[0]);
  add_block(f, SAP_SET_BOX, 1, 3, pairs[1]);
  add_block(f, SAP_SET_FREE, 2, 4, pairs[2]);
}

// x = A^-1 b by Gauss elimination without pivoting (A is SPD).
static void solve(const double* A, const double* b, double* x) {
  double M[NV * NV];
  memcpy(M, A, sizeof M);
  memcpy(x, b, NV * sizeof(double));
  for (int k = 0; k < NV; ++k) {
    for (int i = k + 1; i < NV; ++i) {
      const double factor = M[k * NV + i] / M[k * NV + k];
      for (int j = k; j < NV; ++j) {
        M[j * NV + i] -= factor * M[j * NV + k];
      }
      x[i] -= factor * x[k];
    }
  }
  for (int i = NV - 1; i >= 0; --i) {
    for (int j = i + 1; j < NV; ++j) {
      x[i] -= M[j * NV + i] * x[j];
    }
    x[i] /= M[i * NV + i];
  }
}

static void check(bool coupled) {
  fixture f;
  sap_delassus d;
  make(&f, coupled);
  const int32_t trees[3] = {0, 1, 2}, blocks[3] = {0, 1, 2};
  const sap_delassus_island island = {trees, blocks, trees, 3, 3};
  d = (sap_delassus){0};
  for (int repeat = 0; repeat < 2; ++repeat) {  // memory is used again
    assert_int_equal(sap_delassus_gather(&d, f.problem, &island, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(d.n, NROWS);
  assert_int_equal(d.nitems, 4);
  double D[NROWS * NROWS], scale[NROWS], dense[NROWS * NROWS];
  for (int32_t k = 0; k < d.nitems; ++k) {
    for (int32_t r = 0; r < d.items[k].nrows; ++r) {
      scale[d.items[k].first + r] = d.items[k].scale;
    }
  }
  for (int j = 0; j < NROWS; ++j) {
    double x[NV];
    solve(f.A, f.J + j * NV, x);
    for (int i = 0; i < NROWS; ++i) {
      double sum = i == j ? f.R[i] : 0.0;
      for (int k = 0; k < NV; ++k) {
        sum += f.J[i * NV + k] * x[k];
      }
      D[j * NROWS + i] = scale[i] * sum * scale[j];
    }
  }
  sap_delassus_dense(&d, dense);
  double q[NROWS], x[NROWS], y[NROWS], largest = 0.0, v[NV], g[NROWS];
  for (int i = 0; i < NROWS * NROWS; ++i) {
    ASSERT_NEAR(dense[i], D[i], 1e-13);
  }
  for (int i = 0; i < NROWS; ++i) {
    q[i] = -f.v_hat[i];
    for (int k = 0; k < NV; ++k) {
      q[i] += f.J[i * NV + k] * f.v_star[k];
    }
    ASSERT_NEAR(d.q[i], scale[i] * q[i], 1e-13);
    x[i] = cos(3.0 * i);
  }
  sap_delassus_apply(&d, x, y);
  sap_delassus_velocity(&d, x, v);
  sap_delassus_gradient(&d, v, x, g);
  for (int i = 0; i < NROWS; ++i) {
    double sum = 0.0;
    for (int j = 0; j < NROWS; ++j) {
      sum += D[j * NROWS + i] * x[j];
    }
    ASSERT_NEAR(y[i], sum, 1e-13);
    ASSERT_NEAR(g[i], sum + d.q[i], 1e-13);
  }
  // largest eigenvalue by many plain power iterations
  memcpy(y, x, sizeof y);
  for (int k = 0; k < 2000; ++k) {
    double z[NROWS] = {0}, norm = 0.0;
    for (int i = 0; i < NROWS; ++i) {
      for (int j = 0; j < NROWS; ++j) {
        z[i] += D[j * NROWS + i] * y[j];
      }
      norm += z[i] * z[i];
    }
    largest = sqrt(norm);
    for (int i = 0; i < NROWS; ++i) {
      y[i] = z[i] / largest;
    }
  }
  double work[2 * NROWS];
  const double estimate = sap_delassus_largest_eigenvalue(&d, work);
  assert_true(estimate <= largest * (1.0 + 1e-12) && estimate >= 0.98 * largest);
  // largest eigenvalue of a diagonal block is 1
  ASSERT_NEAR(sap_largest_eigenvalue(d.items[0].diagonal, 3), 1.0, 1e-13);
  ASSERT_NEAR(d.items[1].diagonal[0], 1.0, 1e-13);
  ASSERT_NEAR(d.items[1].lower * d.items[1].scale, -1.0, 1e-15);
  // damped Cholesky
  memcpy(y, x, sizeof y);
  assert_true(sap_delassus_factorize(dense, NROWS, 0.25));
  sap_dense_factor_solve(NROWS, dense, y);
  for (int i = 0; i < NROWS; ++i) {
    double sum = 0.25 * y[i];
    for (int j = 0; j < NROWS; ++j) {
      sum += D[j * NROWS + i] * y[j];
    }
    ASSERT_NEAR(sum, x[i], 1e-12);
  }
  sap_delassus_clear(&d);
  sap_problem_destroy(f.problem);
}

static void test_trees(void** state) {
  (void)state;
  check(false);
}

static void test_coupled(void** state) {
  (void)state;
  check(true);
}

static void test_eigenvalues(void** state) {
  (void)state;
  double values[3];
  // rotation of diag(1, 2, 5) by the Householder matrix of (1, 1, 1)/sqrt 3
  const double h = 1.0 / 3.0, e[3] = {1, 2, 5};
  double H[9], a[9] = {0};
  for (int i = 0; i < 9; ++i) {
    H[i] = (i % 4 == 0 ? 1.0 : 0.0) - 2.0 * h;
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) {
        a[3 * j + i] += H[3 * k + i] * e[k] * H[3 * k + j];
      }
    }
  }
  const double packed[6] = {a[0], a[4], a[8], a[1], a[2], a[5]};
  sap_symmetric3_eigen(packed, values, NULL);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(values[i], e[i], 4e-15);
  }
  ASSERT_NEAR(sap_largest_eigenvalue(a, 3), 5.0, 4e-15);
  const double same[9] = {3, 0, 0, 0, 3, 0, 0, 0, 3};
  assert_true(sap_largest_eigenvalue(same, 3) == 3.0);
  a[1] = a[3] = (double)NAN;
  assert_true(isnan(sap_largest_eigenvalue(a, 3)));
}

static void test_not_definite(void** state) {
  (void)state;
  double D[4] = {1, 2, 2, 1};
  assert_false(sap_delassus_factorize(D, 2, 0.5));
}

enum { LARGE = 8 };  // more than a free body

static void set_multiple_of_unit(sap_problem* p, double factor) {
  double A[LARGE * LARGE] = {0.0};
  for (int i = 0; i < LARGE; ++i) {
    A[(LARGE + 1) * i] = factor;
  }
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, A, LARGE, NULL), SAP_STATUS_OK);
}

static double scale_of_one_row(sap_problem* p) {
  static const double row[LARGE] = {1.0};
  const double* J = row;
  const int32_t tree = 0;
  double w = 0.0;
  assert_int_equal(sap_problem_delassus_scale(p, 1, 1, &tree, &J, &w, NULL), SAP_STATUS_OK);
  return w;
}

// The factor that a problem borrows is that of its A until A changes, or the problem begins anew.
static void test_borrowed_factors(void** state) {
  (void)state;
  const int32_t size = LARGE;
  for (int reset = 0; reset < 2; ++reset) {
    sap_problem* both[2];  // the owner, and the one that borrows
    sap_branch_factor factor;
    for (int i = 0; i < 2; ++i) {
      assert_int_equal(sap_problem_create(&both[i], NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_reset(both[i], 0.01, 1, &size, NULL), SAP_STATUS_OK);
      set_multiple_of_unit(both[i], 9.0);
    }
    sap_problem* p = both[1];
    assert_int_equal(sap_problem_tree_factor(both[0], 0, &factor, NULL), SAP_STATUS_OK);
    sap_problem_lend_factor(p, 0, &factor);
    ASSERT_NEAR(scale_of_one_row(p), 1.0 / 9.0, 1e-16);
    assert_true(reset == 0 || sap_problem_reset(p, 0.01, 1, &size, NULL) == SAP_STATUS_OK);
    set_multiple_of_unit(p, 16.0);
    ASSERT_NEAR(scale_of_one_row(p), 1.0 / 16.0, 1e-16);
    ASSERT_NEAR(scale_of_one_row(both[0]), 1.0 / 9.0, 1e-16);  // not overwritten
    sap_problem_destroy(both[0]);
    sap_problem_destroy(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trees),
      cmocka_unit_test(test_coupled),
      cmocka_unit_test(test_eigenvalues),
      cmocka_unit_test(test_not_definite),
      cmocka_unit_test(test_borrowed_factors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
