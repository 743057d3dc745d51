// SPDX-License-Identifier: BSD-3-Clause
// J' G J of every instruction set against plain sums, and to the bit against the baseline.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solvers/primal/patch_kernels.h"
#include "support/near.h"

enum { MOST = 19, CONES = 5 };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

static double entry(const sap_patch_square* p, int32_t i, int32_t j) {
  static const int at[3][3] = {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}};
  double sum = 0.0;
  for (int32_t k = 0; k < p->count; ++k) {
    const double* J = p->J + (size_t)k * 3 * (size_t)p->ncols;
    const double* G = p->G + 6 * k;
    const bool active = G[0] != 0.0 || G[2] != 0.0 || G[5] != 0.0;
    for (int a = 0; active && a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        sum += J[a * p->ncols + i] * p->G[6 * k + at[a][b]] * J[b * p->ncols + j];
      }
    }
  }
  return sum;
}

static void check(int32_t ncols, bool free_bodies, uint32_t* seed) {
  double J[CONES * 3 * MOST], G[CONES * 6], W[3 * MOST], S[2][MOST * MOST];
  for (size_t i = 0; i < sizeof J / sizeof J[0]; ++i) {
    J[i] = pseudo_random(seed);
  }
  for (size_t i = 0; i < sizeof G / sizeof G[0]; ++i) {
    G[i] = pseudo_random(seed);
  }
  G[6 * 1 + 5] = 0.0;                            // active in its tangents alone
  G[6 * 2] = G[6 * 2 + 2] = G[6 * 2 + 5] = 0.0;  // not active, whatever the rest says
  sap_patch_square p = {.J = J,
                        .G = G,
                        .count = CONES,
                        .ncols = ncols,
                        .free_bodies = free_bodies,
                        .S = S[0],
                        .W = W};
  memset(S, 0, sizeof S);
  assert_true(sap_patch_kernels_baseline.square(&p));
  for (int32_t j = 0; j < ncols; ++j) {
    for (int32_t i = j; i < ncols; ++i) {
      ASSERT_NEAR(S[0][j * ncols + i], entry(&p, i, j), 1e-14 * 9 * CONES);
    }
  }
  int32_t sets = 0;
  for (const sap_patch_kernels* k; (k = sap_patch_kernels_get(sets)) != NULL; ++sets) {
    p.S = S[1];
    assert_true(k->square(&p));
    assert_memory_equal(S[0], S[1], (size_t)(ncols * ncols) * sizeof(double));
    memset(S[1], 0, sizeof S[1]);
    p.count = 0;
    assert_false(k->square(&p));
    p.count = CONES;
  }
  assert_true(sets >= 1);
}

static void test_square(void** state) {
  (void)state;
  uint32_t seed = 5;
  check(6, true, &seed);
  check(12, true, &seed);
  for (int32_t ncols = 1; ncols <= MOST; ++ncols) {
    check(ncols, false, &seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_square)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
