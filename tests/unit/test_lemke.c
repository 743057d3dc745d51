// SPDX-License-Identifier: BSD-3-Clause
// Linear complementarity problems with known answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/dual/lemke.h"
#include "support/near.h"

enum { LARGEST = 12 };

static sap_lcp_end solve(int32_t n, const double* M, const double* q, double* z, int32_t pivots) {
  double tableau[LARGEST * (2 * LARGEST + 2)];
  int32_t basis[LARGEST];
  const sap_lcp lcp = {n, M, q, z, tableau, basis};
  return sap_lemke(&lcp, &pivots);
}

static void test_known(void** state) {
  (void)state;
  double z[3];
  const double M1[4] = {2, 1, 1, 2}, q1[2] = {-5, -6};
  assert_int_equal(solve(2, M1, q1, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 4.0 / 3.0, 1e-14);
  ASSERT_NEAR(z[1], 7.0 / 3.0, 1e-14);
  const double M2[4] = {1, -1, -1, 1}, q2[2] = {1, -1};
  assert_int_equal(solve(2, M2, q2, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 0.0, 1e-14);
  ASSERT_NEAR(z[1], 1.0, 1e-14);
  // rows 0 -1 2; 2 0 -2; -1 1 0
  const double M3[9] = {0, 2, -1, -1, 0, 1, 2, -2, 0}, q3[3] = {-3, 6, -1};
  assert_int_equal(solve(3, M3, q3, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0], 0.0, 1e-14);
  ASSERT_NEAR(z[1], 1.0, 1e-14);
  ASSERT_NEAR(z[2], 3.0, 1e-14);
  const double positive[2] = {1, 2};
  assert_int_equal(solve(2, M1, positive, z, 0), SAP_LCP_SOLVED);
  assert_true(z[0] == 0.0 && z[1] == 0.0);
}

static void test_ends(void** state) {
  (void)state;
  double z[2];
  const double M[4] = {-1, 0, 0, -1}, q[2] = {-1, -1};  // w = -z - 1: no solution
  assert_int_equal(solve(2, M, q, z, 100), SAP_LCP_RAY);
  const double I[4] = {1, 0, 0, 1};
  assert_int_equal(solve(2, I, q, z, 1), SAP_LCP_LIMIT);
}

// Singular and degenerate: the same row four times over, as a table on four legs.
static void test_degenerate(void** state) {
  (void)state;
  double M[16], z[4];
  const double q[4] = {-1, -1, -1, -1};
  for (int i = 0; i < 16; ++i) {
    M[i] = 1.0;
  }
  assert_int_equal(solve(4, M, q, z, 100), SAP_LCP_SOLVED);
  ASSERT_NEAR(z[0] + z[1] + z[2] + z[3], 1.0, 1e-14);
}

// Made-up positive semidefinite matrices: the conditions themselves.
static void test_conditions(void** state) {
  (void)state;
  for (int seed = 0; seed < 50; ++seed) {
    double B[LARGEST * 5], M[LARGEST * LARGEST] = {0}, q[LARGEST], z[LARGEST];
    for (int i = 0; i < LARGEST * 5; ++i) {
      B[i] = sin(12.9898 * i + 78.233 * seed);
    }
    for (int j = 0; j < LARGEST; ++j) {
      q[j] = 0.0;
      for (int k = 0; k < 5; ++k) {
        q[j] += B[5 * j + k] * cos(3.0 * k + seed);  // in the range: solvable
        for (int i = 0; i < LARGEST; ++i) {
          M[j * LARGEST + i] += B[5 * j + k] * B[5 * i + k];
        }
      }
    }
    assert_int_equal(solve(LARGEST, M, q, z, 1000), SAP_LCP_SOLVED);
    for (int i = 0; i < LARGEST; ++i) {
      double w = q[i];
      for (int j = 0; j < LARGEST; ++j) {
        w += M[j * LARGEST + i] * z[j];
      }
      assert_true(z[i] >= 0.0 && w >= -1e-9);
      ASSERT_NEAR(w * z[i], 0.0, 1e-8 * (1.0 + z[i]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_conditions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
