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

static void test_cholesky(void** state) {
  (void)state;
  uint32_t seed = 2;
  for (int32_t n = 1; n <= MOST; ++n) {
    double A[MOST * MOST], L[MOST * MOST], x[MOST], b[MOST];
    make(n, &seed, A, x, b);
    assert_true(sap_dense_cholesky(n, A, L));
    sap_dense_cholesky_solve(n, L, b);
    for (int32_t i = 0; i < n; ++i) {
      ASSERT_NEAR(b[i], x[i], 1e-13);  // condition number below 1e2
    }
    A[(n - 1) * (n + 1)] = -1.0;
    assert_false(sap_dense_cholesky(n, A, L));
    A[(n - 1) * (n + 1)] = (double)NAN;
    assert_false(sap_dense_cholesky(n, A, L));
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
