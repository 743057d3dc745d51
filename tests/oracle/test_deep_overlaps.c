// SPDX-License-Identifier: BSD-3-Clause
// Pairs that overlap for long while one turns slowly: the normal is that of the least depth, changes
// from one side to another rarely, and never back and forth.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/geometry/collide.h"
#include "support/convex_oracle.h"
#include "support/mesh_shapes.h"
#include "support/near.h"

enum { STEPS = 300, RUNS = 40, SOON = 5 };

// Turns b by a milliradian per step. Returns how often the normal changed its side; fails if it did
// twice within a few steps.
static int turn_slowly(const sap_placed_shape* a, sap_placed_shape* b, uint64_t* seed) {
  double axis[3], q[4], turn[9], n[3] = {0.0, 0.0, 0.0};
  int changes = 0, since = STEPS;
  for (int k = 0; k < 3; ++k) {
    axis[k] = 2.0 * oracle_random(seed) - 1.0;
  }
  sap_v3_scale(axis, axis, 1e-3 / sap_v3_norm(axis));
  sap_quaternion_exp(q, axis);
  sap_quaternion_to_matrix(turn, q);
  for (int i = 0; i < STEPS; ++i) {
    double R[9], best[3];
    sap_manifold manifold;
    sap_m3_mul(R, turn, b->R);
    memcpy(b->R, R, sizeof R);
    sap_collide(a, b, 0.0, &manifold);
    assert_true(manifold.count > 0);
    const sap_manifold_point* deepest = sap_manifold_deepest(&manifold);
    if (i > 0 && sap_v3_dot(n, deepest->n) < 0.95) {
      assert_true(since > SOON);
      since = 0;
      ++changes;
    }
    ++since;
    sap_v3_copy(n, deepest->n);
    if (i % 100 == 50) {
      assert_true(deepest->phi > oracle_distance(a, b, best) - 1e-7);
      ASSERT_NEAR(deepest->phi, oracle_gap(a, b, n), 1e-9);
    }
  }
  return changes;
}

// Aligned to begin with, where depths along several normals may be equal, or not.
static void place(sap_placed_shape* a, sap_placed_shape* b, double offset, int run,
                  uint64_t* seed) {
  oracle_random_rotation(seed, a->R);
  memcpy(b->R, a->R, sizeof a->R);
  if (run % 2 == 1) {
    oracle_random_rotation(seed, b->R);
  }
  for (int k = 0; k < 3; ++k) {
    b->p[k] = a->p[k] + offset * (2.0 * oracle_random(seed) - 1.0);
  }
}

static void test_boxes(void** state) {
  (void)state;
  uint64_t seed = 3;
  int changes = 0;
  for (int run = 0; run < RUNS; ++run) {
    sap_placed_shape a, b;
    double size[2][3];
    for (int k = 0; k < 6; ++k) {
      // cubes in every fourth run
      size[k / 3][k % 3] =
          run % 4 < 2 && k % 3 > 0 ? size[k / 3][0] : 0.05 + 0.1 * oracle_random(&seed);
    }
    oracle_shape(&a, SAP_SHAPE_BOX, size[0]);
    oracle_shape(&b, SAP_SHAPE_BOX, size[1]);
    place(&a, &b, 0.03, run, &seed);
    changes += turn_slowly(&a, &b, &seed);
  }
  assert_true(changes <= RUNS);
}

static void test_hulls(void** state) {
  (void)state;
  mesh_shape meshes[MESH_SHAPES];
  mesh_shapes_create(meshes);
  uint64_t seed = 5;
  int changes = 0;
  for (int run = 0; run < RUNS; ++run) {
    sap_placed_shape a, b;
    mesh_shape_place(&meshes[run % MESH_SHAPES], &a);
    mesh_shape_place(&meshes[run / MESH_SHAPES % MESH_SHAPES], &b);
    place(&a, &b, 0.1, run, &seed);
    changes += turn_slowly(&a, &b, &seed);
  }
  mesh_shapes_destroy(meshes);
  assert_true(changes <= 2 * RUNS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_boxes), cmocka_unit_test(test_hulls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
