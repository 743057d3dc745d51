// SPDX-License-Identifier: BSD-3-Clause
// Directions of contact that a polytope's face gives with proof, against GJK, EPA and the polish;
// and pairs that are left out because they were apart before.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "multibody/geometry/collide.h"
#include "multibody/geometry/convex.h"
#include "support/convex_oracle.h"
#include "support/mesh_shapes.h"
#include "support/near.h"

enum { SHAPES = MESH_SHAPES + 6 };

static void make_shapes(mesh_shape meshes[MESH_SHAPES], sap_placed_shape shapes[SHAPES]) {
  static const double size[3] = {0.3, 0.2, 0.25}, thin[3] = {0.3, 0.25, 0.01};
  mesh_shapes_create(meshes);
  for (int i = 0; i < MESH_SHAPES; ++i) {
    mesh_shape_place(&meshes[i], &shapes[i]);
  }
  oracle_shape(&shapes[MESH_SHAPES], SAP_SHAPE_BOX, size);
  oracle_shape(&shapes[MESH_SHAPES + 1], SAP_SHAPE_BOX, thin);
  oracle_shape(&shapes[MESH_SHAPES + 2], SAP_SHAPE_SPHERE, size);
  oracle_shape(&shapes[MESH_SHAPES + 3], SAP_SHAPE_CAPSULE, size);
  oracle_shape(&shapes[MESH_SHAPES + 4], SAP_SHAPE_CYLINDER, size);
  oracle_shape(&shapes[MESH_SHAPES + 5], SAP_SHAPE_ELLIPSOID, size);
}

static bool has_faces(const sap_placed_shape* s) {
  return s->type == SAP_SHAPE_BOX || s->type == SAP_SHAPE_MESH;
}

// Any pose; every other time b's way up or down is a's, as bodies lie on each other.
static void place(sap_placed_shape* a, sap_placed_shape* b, uint64_t* seed, int k) {
  oracle_random_rotation(seed, a->R);
  oracle_random_rotation(seed, b->R);
  if (k % 2 == 0) {
    const double angle = 6.0 * oracle_random(seed);
    for (int i = 0; i < 3; ++i) {
      b->R[i] = cos(angle) * a->R[i] + sin(angle) * a->R[3 + i];
      b->R[3 + i] = -sin(angle) * a->R[i] + cos(angle) * a->R[3 + i];
      b->R[6 + i] = a->R[6 + i];
    }
  }
  for (int i = 0; i < 3; ++i) {
    a->p[i] = oracle_random(seed);
    b->p[i] = a->p[i] + 0.9 * (oracle_random(seed) - 0.5);
  }
}

// -f of the cores without any face's help; HUGE_VAL: apart by the margin.
static double distance_of(const sap_convex_pair* pair, double margin) {
  sap_simplex simplex;
  double n[3], p[3];
  switch (sap_gjk(pair, margin, &simplex, n)) {
    case SAP_GJK_APART:
      return HUGE_VAL;
    case SAP_GJK_OVERLAP:
      (void)sap_epa(pair, &simplex, n, p);
      break;
    case SAP_GJK_NEAR:
      break;
  }
  double edges[6];
  return -sap_convex_polish(pair, false, n, edges);
}

static void agrees_with_the_search(void** state) {
  (void)state;
  mesh_shape meshes[MESH_SHAPES];
  sap_placed_shape shapes[SHAPES];
  make_shapes(meshes, shapes);
  uint64_t seed = 11;
  int found = 0, apart = 0, pairs = 0;
  for (int i = 0; i < SHAPES; ++i) {
    for (int j = 0; j < SHAPES; ++j) {
      for (int k = 0; k < 40 && (has_faces(&shapes[i]) || has_faces(&shapes[j])); ++k) {
        sap_placed_shape a = shapes[i], b = shapes[j];
        place(&a, &b, &seed, k);
        double ab[3], n[3], p[3], f = 0.0;
        sap_v3_sub(ab, b.p, a.p);
        int32_t hints[2] = {0, 0}, other_hints[2] = {0, 0};
        const double scale = sap_least(a.bound, b.bound), margin = 0.05;
        const sap_convex_pair pair = {&a, &b, ab, scale, hints};
        const sap_convex_pair other = {&a, &b, ab, scale, other_hints};
        const sap_face_result result = sap_convex_by_face(&pair, margin, n, p, &f);
        const double distance = distance_of(&other, margin);
        ++pairs;
        if (result == SAP_FACE_APART) {
          ++apart;
          assert_true(distance == HUGE_VAL || distance >= margin * (1.0 - 1e-9));
        } else if (result == SAP_FACE_FOUND) {
          ++found;
          // EPA's own tolerance where a core is round; the flatness of faces is below.
          ASSERT_NEAR(f, -distance, 2e-6 * scale);
          ASSERT_NEAR(oracle_gap(&a, &b, n), -f - a.radius - b.radius, 1e-12);
          // p lies on A's core, p - f n on B's.
          double x[3], y[3];
          sap_v3_add(x, a.p, p);
          sap_v3_copy(y, x);
          sap_v3_add_scaled(y, n, -f);
          assert_true(oracle_holds(&a, x, a.radius + 2e-9));
          assert_true(oracle_holds(&b, y, b.radius + 2e-9));
        }
      }
    }
  }
  // It is worth its while.
  assert_in_range(found, pairs / 8, pairs);
  assert_in_range(apart, pairs / 50, pairs);
  mesh_shapes_destroy(meshes);
}

// A pair that moves: what the last direction leaves out, the search would not have found.
static void left_out_only_when_nothing_is_there(void** state) {
  (void)state;
  mesh_shape meshes[MESH_SHAPES];
  sap_placed_shape shapes[SHAPES];
  make_shapes(meshes, shapes);
  uint64_t seed = 5;
  int left_out = 0, known = 0;
  for (int i = 0; i < SHAPES; ++i) {
    for (int j = 0; j < SHAPES; ++j) {
      for (int k = 0; k < 20; ++k) {
        sap_placed_shape a = shapes[i], b = shapes[j];
        place(&a, &b, &seed, k);
        sap_manifold m;
        sap_collide(&a, &b, 0.01, &m);
        for (int step = 0; step < 10; ++step) {
          const double length = sap_v3_norm(m.apart);
          if (m.count > 0 || length == 0.0) {
            break;
          }
          ++known;
          ASSERT_NEAR(length, 1.0, 1e-12);
          for (int e = 0; e < 3; ++e) {
            b.p[e] += 0.05 * (oracle_random(&seed) - 0.5);
          }
          sap_manifold now;
          double gap = -HUGE_VAL;
          sap_collide(&a, &b, 0.01, &now);
          if (sap_collide_are_apart(&a, &b, 0.01, m.apart, &gap)) {
            ++left_out;
            assert_int_equal(now.count, 0);
          }
          m = now;
        }
      }
    }
  }
  assert_in_range(left_out, known / 2, known);
  static const double none[3] = {0.0, 0.0, 0.0};
  double gap = 0.0;
  assert_false(sap_collide_are_apart(&shapes[0], &shapes[1], 0.0, none, &gap));
  mesh_shapes_destroy(meshes);
}

// Curved pairs: the overlap is that of GJK, EPA and polish, the normal a minimum to 1e-7 rad, and
// the point on both surfaces.
static void finds_minima_of_curved_pairs(void** state) {
  (void)state;
  static const double sizes[][3] = {{0.3, 0.2, 0.25}, {0.05, 0.3, 0.2}, {0.2, 0.21, 0.19}};
  const sap_shape_type curved[2] = {SAP_SHAPE_ELLIPSOID, SAP_SHAPE_CYLINDER};
  const double margin = 0.05;
  uint64_t seed = 3;
  int near = 0;
  for (int k = 0; k < 4000; ++k) {
    sap_placed_shape a, b;
    const sap_shape_type any = (sap_shape_type)(SAP_SHAPE_CAPSULE + k % 4);
    oracle_shape(&a, curved[k / 4 % 2], sizes[k / 8 % 3]);
    oracle_shape(&b, any, sizes[k / 24 % 3]);
    place(&a, &b, &seed, k);
    double ab[3];
    sap_v3_sub(ab, b.p, a.p);
    int32_t hints[2] = {0, 0};
    const double scale = sap_least(a.bound, b.bound), radii = a.radius + b.radius;
    const sap_convex_pair pair = {&a, &b, ab, scale, hints};
    const double distance = distance_of(&pair, margin + radii);
    sap_manifold m = {0};
    sap_collide_convex(&a, &b, ab, margin, &m);
    assert_true(m.count > 0 || distance - radii >= margin - 2e-6 * scale);
    if (m.count == 0 || distance == HUGE_VAL) {
      continue;
    }
    const double* n = m.points[0].n;
    const double gap = oracle_gap(&a, &b, n);
    ++near;
    ASSERT_NEAR(gap, distance - radii, 2e-6 * scale);
    for (int trial = 0; trial < 20; ++trial) {
      double other[3];
      for (int i = 0; i < 3; ++i) {
        other[i] = n[i] + (trial % 2 == 0 ? 1e-3 : 1e-6) * (oracle_random(&seed) - 0.5);
      }
      sap_v3_scale(other, other, 1.0 / sap_v3_norm(other));
      assert_true(oracle_gap(&a, &b, other) <= gap + 1e-13);
    }
  }
  assert_true(near > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_the_search),
      cmocka_unit_test(finds_minima_of_curved_pairs),
      cmocka_unit_test(left_out_only_when_nothing_is_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
