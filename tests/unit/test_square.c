// SPDX-License-Identifier: BSD-3-Clause
// Products with a symmetric matrix against plain sums: every instruction set, sizes around the
// multiples of four.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "linalg/square.h"
#include "support/near.h"

enum { LARGEST = 41 };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

static void check(const sap_square_kernels* kernels, int n, uint32_t* seed) {
  double A[LARGEST * LARGEST], lower[LARGEST * LARGEST], x[LARGEST], start[LARGEST];
  double full[LARGEST + 1], half[LARGEST + 1];
  for (int j = 0; j < n; ++j) {
    x[j] = pseudo_random(seed);
    full[j] = half[j] = start[j] = pseudo_random(seed);
    for (int i = j; i < n; ++i) {
      A[j * n + i] = A[i * n + j] = pseudo_random(seed);
      lower[j * n + i] = A[j * n + i];
      lower[i * n + j] = i == j ? A[j * n + i] : (double)NAN;
    }
  }
  full[n] = half[n] = 7.0;  // is not touched
  kernels->add(n, A, x, full);
  kernels->add_lower(n, lower, x, half);
  for (int i = 0; i < n; ++i) {
    double sum = start[i];
    for (int j = 0; j < n; ++j) {
      sum += A[j * n + i] * x[j];
    }
    ASSERT_NEAR(full[i], sum, 1e-14 * n);
    ASSERT_NEAR(half[i], sum, 1e-14 * n);
  }
  assert_true(full[n] == 7.0 && half[n] == 7.0);
  double wide[LARGEST * (LARGEST + 3)], mirrored[LARGEST * LARGEST + 1];
  const int ld = n + 3;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < ld; ++i) {
      wide[j * ld + i] = i < n ? lower[j * n + i] : (double)NAN;
    }
  }
  mirrored[n * n] = 7.0;
  kernels->mirror(n, wide, ld, mirrored);
  assert_memory_equal(mirrored, A, (size_t)(n * n) * sizeof *A);
  assert_true(mirrored[n * n] == 7.0);
}

static void test_products(void** state) {
  (void)state;
  uint32_t seed = 3;
  for (int32_t k = 0; sap_square_kernels_get(k) != NULL; ++k) {
    for (int n = 1; n <= LARGEST; ++n) {
      check(sap_square_kernels_get(k), n, &seed);
    }
  }
}

// W - W0 = X' X with L X = J', by solving row by row.
static void test_three_rows(void** state) {
  (void)state;
  uint32_t seed = 4;
  for (int32_t k = 0; sap_square_kernels_get(k) != NULL; ++k) {
    double L[36], J[18], X[3][6], W[9], before[9];
    for (int i = 0; i < 36; ++i) {  // entries above the diagonal are not read
      L[i] = i / 6 > i % 6 ? (double)NAN : pseudo_random(&seed) + (i % 7 == 0 ? 2.0 : 0.0);
    }
    for (int i = 0; i < 18; ++i) {
      J[i] = pseudo_random(&seed);
      W[i % 9] = before[i % 9] = pseudo_random(&seed);
    }
    for (int r = 0; r < 3; ++r) {
      for (int i = 0; i < 6; ++i) {
        X[r][i] = J[3 * i + r];
        for (int j = 0; j < i; ++j) {
          X[r][i] -= L[6 * j + i] * X[r][j];
        }
        X[r][i] *= L[7 * i];
      }
    }
    sap_square_kernels_get(k)->add_three_rows(L, J, W);
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 3; ++r) {
        double sum = before[3 * c + r], size = fabs(sum);
        for (int i = 0; i < 6 && r >= c; ++i) {
          sum += X[r][i] * X[c][i];
          size += fabs(X[r][i] * X[c][i]);
        }
        ASSERT_NEAR(W[3 * c + r], sum, 1e-13 * size);  // of numbers that grow by up to 3 per row
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products),
                                     cmocka_unit_test(test_three_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
