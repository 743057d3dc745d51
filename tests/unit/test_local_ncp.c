// SPDX-License-Identifier: BSD-3-Clause
// Exact contacts of 3, 4 and 6 rows against the conditions that they are to meet, and the
// projection against its fixed point there.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contact/cone.h"
#include "solvers/dual/dual.h"
#include "support/near.h"

enum { N = SAP_CONE_ROWS_MAX, NORMAL = SAP_NORMAL_ROW };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// D = C'C + 0.1: normal and tangents depend on each other.
static void make(uint32_t* seed, int32_t n, double* D, double* b) {
  double C[N * N];
  for (int32_t i = 0; i < n * n; ++i) {
    C[i] = pseudo_random(seed);
  }
  for (int32_t j = 0; j < n; ++j) {
    b[j] = pseudo_random(seed);
    for (int32_t i = 0; i < n; ++i) {
      D[j * n + i] = i == j ? 0.1 : 0.0;
      for (int32_t k = 0; k < n; ++k) {
        D[j * n + i] += C[j * n + k] * C[i * n + k];
      }
    }
  }
}

static double tangent_norm(const double* x, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += i == NORMAL ? 0.0 : x[i] * x[i];
  }
  return sqrt(sum);
}

// gamma in K_mu, g_n >= 0, gamma_n g_n = 0, and friction that opposes slip as far as it can.
static void test_conditions(void** state) {
  (void)state;
  static const int32_t rows[] = {3, 4, 6};
  static const double mus[] = {0.0, 0.1, 0.5, 1.5};
  int seen[3] = {0, 0, 0};  // apart, sticks, slides
  uint32_t seed = 3;
  for (int i = 0; i < 1200; ++i) {
    const int32_t n = rows[i % 3];
    const double mu = mus[i / 3 % 4];
    double D[N * N], b[N], gamma[N], g[N], next[N];
    make(&seed, n, D, b);
    sap_local_ncp_solve(D, b, n, mu, gamma);
    double dot = 0.0;
    for (int32_t r = 0; r < n; ++r) {
      g[r] = b[r];
      for (int32_t k = 0; k < n; ++k) {
        g[r] += D[k * n + r] * gamma[k];
      }
      dot += gamma[r] * g[r];
    }
    const double size = 1.0 + fabs(gamma[NORMAL]), slip = tangent_norm(g, n);
    const double friction = tangent_norm(gamma, n);
    // round-off, by the condition number of D, some 1e3
    assert_true(gamma[NORMAL] >= 0.0 && friction <= mu * gamma[NORMAL] + 1e-11 * size);
    assert_true(g[NORMAL] >= -1e-11 * size);
    ASSERT_NEAR(gamma[NORMAL] * g[NORMAL], 0.0, 1e-10 * size);
    ASSERT_NEAR(dot, -mu * gamma[NORMAL] * slip, 1e-10 * size);
    seen[gamma[NORMAL] == 0.0 ? 0 : slip < 1e-9 ? 1 : 2] += 1;
    sap_delassus_item item = {.nrows = n, .mu = mu};
    memcpy(item.diagonal, D, (size_t)(n * n) * sizeof *D);
    sap_local_ncp_project(NULL, &item, gamma, g, next);
    for (int32_t r = 0; r < n; ++r) {
      ASSERT_NEAR(next[r], gamma[r], 1e-10 * size);
    }
  }
  assert_true(seen[0] > 100 && seen[1] > 50 && seen[2] > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_conditions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
