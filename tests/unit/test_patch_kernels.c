// SPDX-License-Identifier: BSD-3-Clause
// J' G J, J x and J' y of every instruction set against plain sums.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solvers/primal/patch_kernels.h"
#include "support/near.h"

enum { MOST = 20, CONES = 5 };

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

static void fill(double* x, size_t count, uint32_t* seed) {
  for (size_t i = 0; i < count; ++i) {
    x[i] = pseudo_random(seed);
  }
}

static sap_patch_square make(double* J, double* G, int32_t ncols, uint32_t* seed) {
  fill(J, (size_t)CONES * 3 * MOST, seed);
  fill(G, (size_t)CONES * 6, seed);
  G[6 * 1 + 5] = 0.0;                            // active in its tangents alone
  G[6 * 2] = G[6 * 2 + 2] = G[6 * 2 + 5] = 0.0;  // not active, whatever the rest says
  return (sap_patch_square){.J = J, .G = G, .count = CONES, .ncols = ncols};
}

static const double ROUNDOFF = 1e-14 * 9 * CONES;  // sums of 9 products of numbers below 1 per cone

static void check_square(const sap_patch_kernels* k, int32_t ncols) {
  uint32_t seed = 5;
  double J[CONES * 3 * MOST], G[CONES * 6], W[3 * MOST], S[MOST * MOST];
  sap_patch_square p = make(J, G, ncols, &seed);
  p.S = S;
  p.W = W;
  fill(S, sizeof S / sizeof *S, &seed);
  assert_true(k->square(&p));
  for (int32_t j = 0; j < ncols; ++j) {
    for (int32_t i = j; i < ncols; ++i) {
      ASSERT_NEAR(S[j * ncols + i], entry(&p, i, j), ROUNDOFF);
    }
  }
  p.count = 0;
  assert_false(k->square(&p));
}

static void check_blocks(const sap_patch_kernels* k, int32_t ncols) {
  uint32_t seed = 6;
  double J[CONES * 3 * MOST], G[CONES * 6], H[3][36], before[3][36];
  const sap_patch_square p = make(J, G, ncols, &seed);
  fill(&H[0][0], sizeof H / sizeof(double), &seed);
  memcpy(before, H, sizeof H);
  double* const blocks[3] = {H[0], H[1], H[2]};
  k->add_to_blocks(&p, blocks);
  for (int32_t b = 0; b < 3; ++b) {
    const int32_t row = b > 0 ? 6 : 0, column = b > 1 ? 6 : 0;
    for (int32_t i = 0; i < 36; ++i) {
      const bool there = ncols == 12 || b == 0;
      const double added = there ? entry(&p, row + i % 6, column + i / 6) : 0.0;
      ASSERT_NEAR(H[b][i], before[b][i] + added, ROUNDOFF);
    }
  }
}

// Products of rows that are CONES + 2 apart; the memory between is not touched.
static void check_products(const sap_patch_kernels* k, int32_t ncols) {
  enum { STRIDE = CONES + 2 };
  uint32_t seed = 7;
  double J[CONES * 3 * MOST], x[MOST], y[3 * STRIDE], before[3 * STRIDE];
  fill(J, sizeof J / sizeof *J, &seed);
  fill(x, MOST, &seed);
  fill(y, 3 * STRIDE, &seed);
  memcpy(before, y, sizeof y);
  const sap_patch_rows rows = {J, CONES, ncols, STRIDE};
  k->multiply(&rows, x, y);
  for (int32_t r = 0; r < 3; ++r) {
    for (int32_t c = 0; c < STRIDE; ++c) {
      double sum = c < CONES ? 0.0 : before[r * STRIDE + c];
      for (int32_t i = 0; c < CONES && i < ncols; ++i) {
        sum += J[(3 * c + r) * ncols + i] * x[i];
      }
      ASSERT_NEAR(y[r * STRIDE + c], sum, ROUNDOFF);
    }
  }
  y[1] = y[STRIDE + 1] = y[2 * STRIDE + 1] = 0.0;  // a cone without impulse
  double last = x[ncols - 1];
  k->multiply_transposed(&rows, y, x);
  for (int32_t i = 0; i < ncols; ++i) {
    double sum = 0.0;
    for (int32_t c = 0; c < CONES; ++c) {
      for (int32_t r = 0; r < 3; ++r) {
        sum += J[(3 * c + r) * ncols + i] * y[r * STRIDE + c];
      }
    }
    ASSERT_NEAR(x[i], sum, MOST * ROUNDOFF);
  }
  assert_true(x[ncols - 1] != last);
}

// A part of S, some of its columns and rows, goes to H; what is beside it stays.
static void check_part(const sap_patch_kernels* k, int32_t rows, bool is_triangle) {
  enum { COLUMNS = 3, SIZE = MOST + 2 };
  uint32_t seed = 9;
  double S[MOST * MOST], H[SIZE * SIZE], before[SIZE * SIZE];
  fill(S, sizeof S / sizeof *S, &seed);
  fill(H, sizeof H / sizeof *H, &seed);
  memcpy(before, H, sizeof H);
  const sap_patch_part part = {
      S, H + SIZE + 1, MOST, SIZE, rows, is_triangle ? rows : COLUMNS, is_triangle};
  k->add_part(&part);
  for (int32_t j = 0; j < SIZE; ++j) {
    for (int32_t i = 0; i < SIZE; ++i) {
      const bool there = i >= 1 && i <= rows && j >= 1 && j <= part.columns;
      const bool added = there && (!is_triangle || i >= j);
      assert_true(H[j * SIZE + i] ==
                  before[j * SIZE + i] + (added ? S[(j - 1) * MOST + i - 1] : 0.0));
    }
  }
}

// On free bodies the products read and write the velocities in place.
static void check_bodies(const sap_patch_kernels* k, int32_t bodies) {
  uint32_t seed = 8;
  double J[CONES * 3 * 12], x[12], y[3 * CONES], a[6], b[6];
  fill(J, sizeof J / sizeof *J, &seed);
  fill(x, 12, &seed);
  memcpy(a, x, sizeof a);
  memcpy(b, x + 6, sizeof b);
  const int32_t ncols = 6 * bodies;
  const sap_patch_rows rows = {J, CONES, ncols, CONES};
  k->multiply_bodies(&rows, a, bodies == 2 ? b : NULL, y);
  for (int32_t row = 0; row < 3 * CONES; ++row) {
    double sum = 0.0;
    for (int32_t i = 0; i < ncols; ++i) {
      sum += J[row * ncols + i] * x[i];
    }
    ASSERT_NEAR(y[row % 3 * CONES + row / 3], sum, ROUNDOFF);
  }
  k->add_to_bodies(&rows, y, a, bodies == 2 ? b : NULL);
  for (int32_t i = 0; i < 12; ++i) {
    double sum = x[i];
    for (int32_t row = 0; i < ncols && row < 3 * CONES; ++row) {
      sum += J[row * ncols + i] * y[row % 3 * CONES + row / 3];
    }
    ASSERT_NEAR(i < 6 ? a[i] : b[i - 6], sum, MOST * ROUNDOFF);
  }
}

static void test_every_set(void** state) {
  (void)state;
  int32_t sets = 0;
  for (const sap_patch_kernels* k; (k = sap_patch_kernels_get(sets)) != NULL; ++sets) {
    check_blocks(k, 6);
    check_blocks(k, 12);
    check_bodies(k, 1);
    check_bodies(k, 2);
    for (int32_t ncols = 4; ncols <= MOST; ncols += 4) {
      check_square(k, ncols);
      check_products(k, ncols);
    }
    for (int32_t rows = 1; rows <= MOST; ++rows) {
      check_part(k, rows, false);
      check_part(k, rows, true);
    }
  }
  assert_true(sets >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_set)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
