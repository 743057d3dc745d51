// SPDX-License-Identifier: BSD-3-Clause
// Pairs of moving boxes of very different sizes against the test of all pairs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "multibody/geometry/broadphase.h"
#include "support/convex_oracle.h"

enum { MOST = 700, FRAMES = 6 };

static bool accept_most(const void* context, int32_t a, int32_t b) {
  (void)context;
  return (a + b) % 7 != 0;
}

static bool overlap(const sap_aabb* a, const sap_aabb* b) {
  for (int i = 0; i < 3; ++i) {
    if (a->upper[i] < b->lower[i] || b->upper[i] < a->lower[i]) {
      return false;
    }
  }
  return true;
}

static void fill(sap_broadphase* bp, uint64_t* seed, int32_t n, int frame) {
  const double L = cbrt((double)n);
  for (int32_t i = 0; i < n; ++i) {
    // Every 50th is wide, every 31st reaches through everything, some are at the same place.
    const double half = i % 50 == 49 ? 0.5 * L : i % 31 == 30 ? 1e6 : 0.1 + oracle_random(seed);
    for (int k = 0; k < 3; ++k) {
      const double spread = frame == 3 && k > 0 ? 1e-3 : L;  // all in one line once
      const double centre = i % 17 == 16 ? 0.5 : floor(8.0 * spread * oracle_random(seed)) / 8.0;
      bp->boxes[i].lower[k] = centre - half;
      bp->boxes[i].upper[k] = centre + half;
    }
  }
}

static void all_pairs_once(void** state) {
  (void)state;
  static const int32_t counts[] = {1, 2, 10, 47, 49, 60, 300, MOST};
  uint64_t seed = 9;
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
    const int32_t n = counts[c];
    sap_pool pool = {.owner = "bounding boxes"};
    sap_broadphase bp;
    assert_int_equal(sap_broadphase_create(&bp, &pool, n, NULL), SAP_STATUS_OK);
    for (int frame = 0; frame < FRAMES; ++frame) {
      fill(&bp, &seed, n, frame);
      assert_int_equal(sap_broadphase_find(&bp, accept_most, NULL, NULL), SAP_STATUS_OK);
      sap_sort_keys(bp.pairs, bp.pair_count);
      int32_t at = 0;
      for (int32_t a = 0; a < n; ++a) {
        for (int32_t b = a + 1; b < n; ++b) {
          if (overlap(&bp.boxes[a], &bp.boxes[b]) && accept_most(NULL, a, b)) {
            assert_true(at < bp.pair_count);
            assert_true(bp.pairs[at] == ((uint64_t)a << 32 | (uint64_t)b));
            ++at;
          }
        }
      }
      assert_int_equal(at, bp.pair_count);
    }
    sap_pool_free(&pool);
  }
}

static int compare(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

static void sorts_like_qsort(void** state) {
  (void)state;
  uint64_t keys[300], expected[300];
  uint64_t seed = 4;
  for (int32_t n = 0; n <= 300; ++n) {
    for (int32_t i = 0; i < n; ++i) {
      // Few values, low or high; or all bits.
      const uint64_t value = (uint64_t)(oracle_random(&seed) * 200.0);
      const uint64_t other = (uint64_t)(oracle_random(&seed) * 18446744073709549568.0);
      keys[i] = expected[i] = n % 3 == 2 ? other : value << (n % 3 == 1 ? 40 : 0);
    }
    qsort(expected, (size_t)n, sizeof *expected, compare);
    sap_sort_keys(keys, n);
    assert_memory_equal(keys, expected, (size_t)n * sizeof *keys);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs_once),
                                     cmocka_unit_test(sorts_like_qsort)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
