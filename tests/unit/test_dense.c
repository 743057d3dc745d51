// SPDX-License-Identifier: BSD-3-Clause
// Dense solves of every size that trees have, against the product with the answer.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/dense.h"
#include "problem/factor.h"
#include "support/near.h"

enum { MOST = 20 };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// A = C C' + 1, b = A x.
static void make(int32_t n, uint32_t* seed, double* A, double* x, double* b) {
  double C[MOST * MOST];
  for (int32_t i = 0; i < n * n; ++i) {
    C[i] = pseudo_random(seed);
  }
  for (int32_t i = 0; i < n; ++i) {
    x[i] = pseudo_random(seed);
    b[i] = 0.0;
  }
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      double sum = i == j ? 1.0 : 0.0;
      for (int32_t k = 0; k < n; ++k) {
        sum += C[k * n + i] * C[k * n + j];
      }
      A[j * n + i] = sum;
      b[i] += sum * x[j];
    }
  }
}

// Solves A x = b by LAPACK and by the factors of trees; x NULL: A is not positive definite.
static void check_factors(int32_t n, const double* A, const double* x, const double* b) {
  double L[SAP_BRANCH_SIZE(MOST)], y[2][MOST], work[SAP_BRANCH_ROW(MOST)];
  int32_t runs[SAP_BRANCH_RUNS(MOST)];
  const sap_branch_factor factor = {n, L, n > SAP_SMALL_TREE ? runs : NULL};
  memcpy(y[0], b, (size_t)n * sizeof *b);
  memcpy(y[1], b, (size_t)n * sizeof *b);
  memcpy(L, A, (size_t)(n * n) * sizeof *A);
  const int32_t failed = sap_dense_factorize(n, L);
  assert_int_equal(failed, x != NULL ? -1 : n - 1);
  if (x != NULL) {
    sap_dense_factor_solve(n, L, y[0]);
  }
  assert_int_equal(sap_tree_factorize(A, &factor), x != NULL);
  if (x != NULL) {
    sap_tree_solve(&factor, y[1], work);
  }
  for (int32_t i = 0; x != NULL && i < n; ++i) {
    ASSERT_NEAR(y[0][i], x[i], 1e-13);  // condition number below 1e2
    ASSERT_NEAR(y[1][i], x[i], 1e-13);
  }
}

static void test_cholesky(void** state) {
  (void)state;
  uint32_t seed = 2;
  for (int32_t n = 1; n <= MOST; ++n) {
    double A[MOST * MOST], x[MOST], b[MOST];
    make(n, &seed, A, x, b);
    check_factors(n, A, x, b);
    A[(n - 1) * (n + 1)] = -1.0;
    check_factors(n, A, NULL, b);
    A[(n - 1) * (n + 1)] = (double)NAN;
    check_factors(n, A, NULL, b);
  }
}

static void test_lu(void** state) {
  (void)state;
  uint32_t seed = 4;
  for (int32_t n = 2; n <= MOST; ++n) {
    double A[MOST * MOST], B[MOST * MOST], x[MOST], b[MOST];
    int32_t pivots[MOST];
    make(n, &seed, A, x, b);
    for (int32_t j = 0; j < n; ++j) {  // rows shifted by one: not symmetric, needs pivots
      for (int32_t i = 0; i < n; ++i) {
        B[j * n + i] = A[j * n + (i + 1) % n];
      }
    }
    const double first = b[0];
    memmove(b, b + 1, (size_t)(n - 1) * sizeof *b);
    b[n - 1] = first;
    assert_true(sap_dense_lu_solve(n, B, pivots, b));
    for (int32_t i = 0; i < n; ++i) {
      ASSERT_NEAR(b[i], x[i], 1e-12);
    }
    memset(B, 0, sizeof B);
    assert_false(sap_dense_lu_solve(n, B, pivots, b));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cholesky), cmocka_unit_test(test_lu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
