// SPDX-License-Identifier: BSD-3-Clause
// w of rows on long trees against J A^-1 J' by Gaussian elimination: branching and full matrices,
// one, two and three rows, rows that touch only a path.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>

#include "linalg/branch_factor.h"
#include "support/near.h"

enum { N = 17, ROWS = 3 };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// Solves A x = b in place of b by elimination with the pivots of an SPD matrix.
static void eliminate(double A[N][N], double b[N]) {
  for (int j = 0; j < N; ++j) {
    for (int i = j + 1; i < N; ++i) {
      const double f = A[i][j] / A[j][j];
      for (int k = j; k < N; ++k) {
        A[i][k] -= f * A[j][k];
      }
      b[i] -= f * b[j];
    }
  }
  for (int i = N - 1; i >= 0; --i) {
    for (int k = i + 1; k < N; ++k) {
      b[i] -= A[i][k] * b[k];
    }
    b[i] /= A[i][i];
  }
}

static bool is_ancestor(const int* parent, int a, int b) {
  while (b > a) {
    b = parent[b];
  }
  return a == b;
}

// sum over links of outer products along their paths to the root: SPD with a tree's zeros.
static void make_matrix(const int* parent, bool branching, double A[N][N], uint32_t* seed) {
  memset(A, 0, sizeof(double[N][N]));
  for (int link = 0; link < N; ++link) {
    double row[N] = {0};
    for (int i = 0; i < N; ++i) {
      row[i] = !branching || is_ancestor(parent, i, link) ? pseudo_random(seed) : 0.0;
    }
    row[link] += 2.0;
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        A[i][j] += row[i] * row[j];
      }
    }
  }
}

static void check(const int* parent, bool branching, int nrows, uint32_t* seed) {
  double A[N][N], J[N * ROWS] = {0}, W[ROWS][ROWS], sum = 0.0;
  make_matrix(parent, branching, A, seed);
  const int body = (int)(8.0 + 8.9 * pseudo_random(seed));
  for (int i = 0; i < N; ++i) {
    for (int r = 0; r < nrows && is_ancestor(parent, i, body); ++r) {
      J[i * nrows + r] = pseudo_random(seed);
    }
  }
  for (int c = 0; c < nrows; ++c) {
    double copy[N][N], x[N];
    memcpy(copy, A, sizeof copy);
    for (int i = 0; i < N; ++i) {
      x[i] = J[i * nrows + c];
    }
    eliminate(copy, x);
    for (int r = 0; r < nrows; ++r) {
      W[r][c] = 0.0;
      for (int i = 0; i < N; ++i) {
        W[r][c] += J[i * nrows + r] * x[i];
      }
      sum += W[r][c] * W[r][c];
    }
  }
  sap_problem* problem;
  const int32_t sizes[1] = {N}, trees[1] = {0};
  const double* jacobians[1] = {J};
  double w = 0.0;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, 1, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A[0], N, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_delassus_scale(problem, nrows, 1, trees, jacobians, &w, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(w, sqrt(sum) / nrows, 1e-11 * w);  // condition about 1e4
  // the factor is made anew with the block
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      A[i][j] *= 4.0;
    }
  }
  double quarter = 0.0;
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A[0], N, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_delassus_scale(problem, nrows, 1, trees, jacobians, &quarter, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(quarter, 0.25 * w, 1e-13 * w);
  A[3][3] = -1.0;
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, A[0], N, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_delassus_scale(problem, nrows, 1, trees, jacobians, &quarter, NULL),
                   SAP_STATUS_NOT_SPD);
  sap_problem_destroy(problem);
}

static void test_scale(void** state) {
  (void)state;
  uint32_t seed = 11;
  for (int i = 0; i < 60; ++i) {
    int parent[N];
    for (int k = 0; k < N; ++k) {
      parent[k] = k < 3 ? k - 1 : (int)((0.5 + 0.499 * pseudo_random(&seed)) * k);
    }
    check(parent, i % 3 != 0, 1 + i % ROWS, &seed);
  }
}

// Every instruction set, every size up to N: A x = b, and three rows beside one and its square.
static void check_kernels(const sap_branch_kernels* kernels, int n, bool branching,
                          uint32_t* seed) {
  int parent[N];
  double A[N][N], packed[N * N], L[SAP_BRANCH_SIZE(N)], work[4 * SAP_BRANCH_ROW(N)];
  double x[N], b[N], J[3 * N] = {0}, W[9] = {0};
  int32_t runs[SAP_BRANCH_RUNS(N)];
  for (int k = 0; k < N; ++k) {
    parent[k] = k < 2 ? k - 1 : (int)((0.5 + 0.499 * pseudo_random(seed)) * k);
  }
  make_matrix(parent, branching, A, seed);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      packed[j * n + i] = i >= j ? A[i][j] : (double)NAN;  // the lower triangle is enough
    }
    x[j] = b[j] = pseudo_random(seed);
  }
  assert_true(kernels->factorize(packed, L, runs, n));
  const sap_branch_factor factor = {n, L, runs};
  kernels->solve(&factor, &factor, x, work);
  for (int i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
      sum += A[i][j] * x[j];
    }
    ASSERT_NEAR(sum, b[i], 1e-11);
  }
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < 3 && is_ancestor(parent, i, n - 1); ++r) {
      J[3 * i + r] = pseudo_random(seed);
    }
  }
  kernels->add_three_rows(&factor, J, work, W);
  for (int r = 0; r < 3; ++r) {
    double square = 0.0;
    kernels->solve_row(&factor, J + r, 3, work);
    for (int i = 0; i < n; ++i) {
      square += work[i] * work[i];
    }
    ASSERT_NEAR(W[4 * r], square, 1e-11 * square);
    double row[N];
    for (int i = 0; i < n; ++i) {
      row[i] = J[3 * i + r];
    }
    ASSERT_NEAR(kernels->row_square(&factor, row, work), square, 1e-11 * square);
  }
  packed[0] = -1.0;
  assert_false(kernels->factorize(packed, L, runs, n));
  packed[0] = (double)NAN;
  assert_false(kernels->factorize(packed, L, runs, n));
}

// B x = b and B' x = b, B unsymmetric with the zeros of A: B = A + rows of A scaled and shifted.
static void check_unsymmetric(const sap_branch_kernels* kernels, int n, bool branching,
                              uint32_t* seed) {
  int parent[N];
  double A[N][N], B[N * N], L[2][SAP_BRANCH_SIZE(N)], work[4 * SAP_BRANCH_ROW(N)];
  int32_t runs[SAP_BRANCH_RUNS(N)];
  const sap_branch_factor factors[] = {{n, L[0], runs}, {n, L[1], runs}};
  int32_t at[N];
  for (int k = 0; k < N; ++k) {
    at[k] = k;
    parent[k] = k < 2 ? k - 1 : (int)((0.5 + 0.499 * pseudo_random(seed)) * k);
  }
  make_matrix(parent, branching, A, seed);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      B[j * n + i] = A[i][j] * (i < j ? 0.8 : i > j ? 1.1 + 0.1 * pseudo_random(seed) : 1.2);
    }
  }
  assert_true(kernels->factorize_lu(B, (size_t)n, at, factors));
  for (int transposed = 0; transposed < 2; ++transposed) {
    double x[N], b[N];
    for (int i = 0; i < n; ++i) {
      x[i] = b[i] = pseudo_random(seed);
    }
    double X[3][N];  // with a column of zeros
    for (int i = 0; i < n; ++i) {
      X[0][i] = 0.0;
      X[1][i] = x[i];
      X[2][i] = -2.0 * x[i];
    }
    kernels->solve(&factors[!transposed], &factors[transposed], x, work);
    kernels->solve_four(&factors[!transposed], &factors[transposed], 3, X[0], N, work);
    for (int i = 0; i < n; ++i) {
      ASSERT_NEAR(X[0][i], 0.0, 0.0);
      ASSERT_NEAR(X[1][i], x[i], 1e-11);
      ASSERT_NEAR(X[2][i], -2.0 * x[i], 1e-11);
      double sum = 0.0;
      for (int j = 0; j < n; ++j) {
        sum += B[transposed ? i * n + j : j * n + i] * x[j];
      }
      ASSERT_NEAR(sum, b[i], 1e-11);
    }
  }
  B[n * n - 1] = -1.0;
  assert_false(kernels->factorize_lu(B, (size_t)n, at, factors));
  B[n * n - 1] = (double)NAN;
  assert_false(kernels->factorize_lu(B, (size_t)n, at, factors));
}

// B + J' G J of rows with n columns, in runs and apart, against sums of products.
static void check_square(const sap_branch_kernels* kernels, int rows, int n, uint32_t* seed) {
  enum { MOST = 6, GAP = 5, SIZE = N + 2 };
  double J[MOST][N + 3] = {{0.0}}, G[MOST * MOST], B[SIZE * SIZE], expected[SIZE * SIZE];
  int32_t at[N];
  const double* const row[MOST] = {J[0], J[1], J[2], J[3], J[4], J[5]};
  for (int i = 0; i < n * rows; ++i) {
    J[i % rows][i / rows] = pseudo_random(seed);
    at[i / rows] = i / rows + (i / rows >= GAP ? 2 : 0);
  }
  for (int i = 0; i < MOST * MOST; ++i) {
    G[i] = pseudo_random(seed);
  }
  for (int i = 0; i < SIZE * SIZE; ++i) {
    B[i] = expected[i] = pseudo_random(seed);
  }
  for (int i = 0; i < n * n * rows * rows; ++i) {
    const int a = i % n, b = i / n % n, r = i / (n * n) % rows, c = i / (n * n * rows);
    expected[SIZE * at[b] + at[a]] += J[r][a] * G[MOST * c + r] * J[c][b];
  }
  kernels->add_square(&(sap_packed_rows){rows, n, at, row}, G, MOST, B, SIZE);
  for (int i = 0; i < SIZE * SIZE; ++i) {
    ASSERT_NEAR(B[i], expected[i], 1e-13);
  }
}

static void test_kernels(void** state) {
  (void)state;
  uint32_t seed = 5;
  for (int32_t k = 0; sap_branch_kernels_get(k) != NULL; ++k) {
    for (int n = 1; n <= N; ++n) {
      check_square(sap_branch_kernels_get(k), 1 + n % 6, n, &seed);
      check_square(sap_branch_kernels_get(k), 3, n, &seed);
      check_kernels(sap_branch_kernels_get(k), n, false, &seed);
      check_kernels(sap_branch_kernels_get(k), n, true, &seed);
      check_unsymmetric(sap_branch_kernels_get(k), n, false, &seed);
      check_unsymmetric(sap_branch_kernels_get(k), n, true, &seed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_scale), cmocka_unit_test(test_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
