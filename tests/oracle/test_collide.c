// SPDX-License-Identifier: BSD-3-Clause
// Every pair of shapes in random poses against a search over all directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "multibody/geometry/collide.h"
#include "support/convex_oracle.h"
#include "support/mesh_shapes.h"
#include "support/near.h"

enum { TYPES = SAP_SHAPE_MESH + 1, POSES = 60, MESH_POSES = 24 };
static const char* const names[TYPES] = {"plane", "sphere",    "capsule", "cylinder",
                                         "box",   "ellipsoid", "mesh"};
static mesh_shape meshes[MESH_SHAPES];
// The polish of the normal leaves depths second order in its error; EPA alone ends at 1e-6.
static const double depth_tolerance = 2e-9;

static void random_shape(uint64_t* seed, sap_shape_type type, sap_placed_shape* out) {
  const double size[3] = {0.2 + oracle_random(seed), 0.2 + oracle_random(seed),
                          0.2 + oracle_random(seed)};
  if (type == SAP_SHAPE_MESH) {
    mesh_shape_place(&meshes[(int)(oracle_random(seed) * MESH_SHAPES)], out);
  } else {
    oracle_shape(out, type, size);
  }
  oracle_random_rotation(seed, out->R);
  for (int i = 0; i < 3; ++i) {
    out->p[i] = 4.0 * oracle_random(seed) - 2.0;
  }
}

// The least of -(h_A + h_B); for a plane its own normal is the only direction.
static double true_distance(const sap_placed_shape* a, const sap_placed_shape* b) {
  double n[3];
  if (a->type == SAP_SHAPE_PLANE) {
    return oracle_gap(a, b, a->R + 6);
  }
  return oracle_distance(a, b, n);
}

// Moves b along the line of centres so that the pair overlaps by about `depth`.
static void approach(const sap_placed_shape* a, sap_placed_shape* b, double depth) {
  double d[3], n[3];
  sap_v3_sub(d, b->p, a->p);
  sap_v3_scale(n, d, 1.0 / sap_v3_norm(d));
  if (a->type == SAP_SHAPE_PLANE) {
    sap_v3_copy(n, a->R + 6);
  }
  for (int i = 0; i < 30; ++i) {
    const double gap = a->type == SAP_SHAPE_PLANE ? oracle_gap(a, b, n) : oracle_distance(a, b, d);
    if (fabs(gap + depth) < 1e-6) {
      return;
    }
    sap_v3_add_scaled(b->p, n, -(gap + depth));
  }
}

static int check_pair(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                      const char* what) {
  sap_manifold m;
  sap_collide(a, b, reach, &m);
  const double expected = true_distance(a, b);
  double deepest = reach;
  int worst = -1;
  for (int32_t i = 0; i < m.count; ++i) {
    if (m.points[i].phi < deepest) {
      deepest = m.points[i].phi;
      worst = i;
    }
  }
  int errors = 0;
  // No direction does better (the search stalls up to 1e-5 below the top of a kinked ridge) ...
  if (!(deepest >= fmin(expected, reach) - depth_tolerance) ||
      (worst < 0 && expected < reach - 5e-5)) {
    printf("%s: phi %.12g expected %.12g\n", what, deepest, expected);
    ++errors;
  }
  if (worst < 0) {
    return errors;
  }
  // ... and the normal found attains the depth: together they prove it.
  const double reached = oracle_gap(a, b, m.points[worst].n);
  if (fabs(reached - deepest) > depth_tolerance) {
    printf("%s: along n %.12g, phi %.12g\n", what, reached, deepest);
    ++errors;
  }
  for (int32_t i = 0; i < m.count; ++i) {
    double on_a[3], on_b[3];
    sap_v3_add(on_a, a->p, m.points[i].p);
    sap_v3_copy(on_b, on_a);
    sap_v3_add_scaled(on_b, m.points[i].n, m.points[i].phi);
    // Both lie on (in) their shapes; 1e-6: two rims meet where directions are known to 1e-7 only.
    if (!oracle_holds(a, on_a, 1e-6) || !oracle_holds(b, on_b, 1e-6)) {
      printf("%s: point %d of %d is off, phi %g\n", what, (int)i, (int)m.count, m.points[i].phi);
      ++errors;
    }
    if (!(fabs(sap_v3_norm(m.points[i].n) - 1.0) < 1e-12)) {
      printf("%s: |n| = %.17g\n", what, sap_v3_norm(m.points[i].n));
      ++errors;
    }
  }
  return errors;
}

static void random_poses(void** state) {
  (void)state;
  uint64_t seed = 7;
  int errors = 0;
  for (int ta = 0; ta < TYPES; ++ta) {
    for (int tb = ta > 0 ? ta : 1; tb < TYPES; ++tb) {
      const int poses = tb == SAP_SHAPE_MESH ? MESH_POSES : POSES;
      for (int k = 0; k < poses; ++k) {
        static const double depths[4] = {1e-4, 1e-2, 0.15, -1e-3};
        sap_placed_shape a, b;
        random_shape(&seed, (sap_shape_type)ta, &a);
        random_shape(&seed, (sap_shape_type)tb, &b);
        if (k % 5 < 4) {
          approach(&a, &b, depths[k % 5]);
        }
        char what[80];
        (void)snprintf(what, sizeof what, "%s on %s, pose %d", names[ta], names[tb], k);
        // Apart by 1 mm and anywhere: also with contacts before touching.
        errors += check_pair(&a, &b, k % 5 == 3 ? 0.01 : k % 5 == 4 ? 0.5 : 0.0, what);
      }
    }
  }
  assert_int_equal(errors, 0);
}

static double deepest_of(const sap_manifold* m, int32_t* which) {
  double phi = 0.0;
  for (int32_t i = 0; i < m->count; ++i) {
    if (m->points[i].phi < phi) {
      phi = m->points[i].phi;
      *which = i;
    }
  }
  return phi;
}

// d phi/d(p_B) = n, by central differences; not where the normal jumps within the step.
static void normals_are_gradients(void** state) {
  (void)state;
  uint64_t seed = 31;
  int smooth = 0, kinked = 0;
  for (int ta = 0; ta < TYPES; ++ta) {
    for (int tb = ta > 0 ? ta : 1; tb < TYPES; ++tb) {
      for (int k = 0; k < 10; ++k) {
        sap_placed_shape a, b;
        random_shape(&seed, (sap_shape_type)ta, &a);
        random_shape(&seed, (sap_shape_type)tb, &b);
        approach(&a, &b, 0.02);
        sap_manifold m;
        sap_collide(&a, &b, 0.0, &m);
        int32_t which = 0;
        assert_true(deepest_of(&m, &which) < -0.019);
        double gradient[3], jump = 0.0;
        for (int i = 0; i < 3; ++i) {
          const double h = 1e-5;
          double phi[2];
          for (int side = 0; side < 2; ++side) {
            sap_placed_shape moved = b;
            sap_manifold near_by;
            int32_t at = 0;
            moved.p[i] += side ? h : -h;
            sap_collide(&a, &moved, 0.0, &near_by);
            phi[side] = deepest_of(&near_by, &at);
            double d[3];
            sap_v3_sub(d, near_by.points[at].n, m.points[which].n);
            jump = fmax(jump, sap_v3_norm(d));
          }
          gradient[i] = (phi[1] - phi[0]) / (2.0 * h);
        }
        if (jump > 1e-2) {
          ++kinked;
          continue;
        }
        ++smooth;
        for (int i = 0; i < 3; ++i) {
          // h = 1e-5 times a jump of the curvature, where a rim meets an edge's end.
          ASSERT_NEAR(gradient[i], m.points[which].n[i], 5e-5);
        }
      }
    }
  }
  assert_true(smooth > 15 * kinked);
}

// The same pair turned and moved as a whole, and with A and B exchanged: same depths, points that
// move along, normals turned or reversed.
static void moves_and_swaps(void** state) {
  (void)state;
  uint64_t seed = 77;
  for (int ta = 0; ta < TYPES; ++ta) {
    for (int tb = ta > 0 ? ta : 1; tb < TYPES; ++tb) {
      for (int k = 0; k < 12; ++k) {
        sap_placed_shape a, b;
        random_shape(&seed, (sap_shape_type)ta, &a);
        random_shape(&seed, (sap_shape_type)tb, &b);
        approach(&a, &b, k % 2 ? 0.02 : 0.2);
        double R[9], d[3], rotated[9];
        const double shift[3] = {3.0, -7.0, 5.0};
        oracle_random_rotation(&seed, R);
        sap_placed_shape a2 = a, b2 = b;
        sap_m3_mul(a2.R, R, a.R);
        sap_m3_mul(rotated, R, b.R);
        for (int i = 0; i < 9; ++i) {
          b2.R[i] = rotated[i];
        }
        sap_m3_mul_v3(a2.p, R, a.p);
        sap_m3_mul_v3(b2.p, R, b.p);
        sap_v3_add(a2.p, a2.p, shift);
        sap_v3_add(b2.p, b2.p, shift);
        sap_manifold m, moved, swapped;
        sap_collide(&a, &b, 0.0, &m);
        sap_collide(&a2, &b2, 0.0, &moved);
        sap_collide(&b, &a, 0.0, &swapped);
        int32_t i0 = 0, i1 = 0, i2 = 0;
        const double phi = deepest_of(&m, &i0);
        // Second order in the normal's error for curved pairs.
        ASSERT_NEAR(deepest_of(&moved, &i1), phi, depth_tolerance);
        ASSERT_NEAR(deepest_of(&swapped, &i2), phi, depth_tolerance);
        sap_m3_mul_v3(d, R, m.points[i0].n);
        if (k % 2) {  // deeper, several normals can be equally good
          assert_true(sap_v3_dot(d, moved.points[i1].n) > 1.0 - 1e-6);
          assert_true(-sap_v3_dot(m.points[i0].n, swapped.points[i2].n) > 1.0 - 1e-6);
        }
        assert_true(ta == tb || swapped.count == m.count);
      }
    }
  }
}

static int create_meshes(void** state) {
  (void)state;
  mesh_shapes_create(meshes);
  return 0;
}

static int destroy_meshes(void** state) {
  (void)state;
  mesh_shapes_destroy(meshes);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_poses),
                                     cmocka_unit_test(normals_are_gradients),
                                     cmocka_unit_test(moves_and_swaps)};
  return cmocka_run_group_tests(tests, create_meshes, destroy_meshes);
}
