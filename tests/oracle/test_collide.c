// SPDX-License-Identifier: BSD-3-Clause
// Every pair of shapes in random poses against a search over all directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "geometry/collide.h"
#include "support/convex_oracle.h"

enum { TYPES = SAP_SHAPE_ELLIPSOID + 1, POSES = 60 };
static const char* const names[TYPES] = {"plane",    "sphere", "capsule",
                                         "cylinder", "box",    "ellipsoid"};
// The polish of the normal leaves depths second order in its error; EPA alone ends at 1e-6.
static const double depth_tolerance = 2e-9;

static void random_shape(uint64_t* seed, sap_shape_type type, sap_placed_shape* out) {
  const double size[3] = {0.2 + oracle_random(seed), 0.2 + oracle_random(seed),
                          0.2 + oracle_random(seed)};
  oracle_shape(out, type, size);
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
    if (fabs(gap + depth) < 1e-7) {
      return;
    }
    sap_v3_add_scaled(b->p, n, -(gap + depth));
  }
}

static int check_pair(const sap_placed_shape* a, const sap_placed_shape* b, const char* what) {
  sap_manifold m;
  sap_collide(a, b, &m);
  const double expected = true_distance(a, b);
  double deepest = 0.0;
  int worst = -1;
  for (int32_t i = 0; i < m.count; ++i) {
    if (m.points[i].phi < deepest) {
      deepest = m.points[i].phi;
      worst = i;
    }
  }
  int errors = 0;
  // No direction does better (the search stalls up to 1e-5 below the top of a kinked ridge) ...
  if (!(deepest >= fmin(expected, 0.0) - depth_tolerance) || (worst < 0 && expected < -5e-5)) {
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
      double z[2] = {sap_v3_dot(m.points[i].n, a->R + 6), sap_v3_dot(m.points[i].n, b->R + 6)};
      printf("%s: point %d of %d is off: %d %d, phi %g; n.z %.9g %.9g\n", what, (int)i,
             (int)m.count, oracle_holds(a, on_a, 1e-6), oracle_holds(b, on_b, 1e-6),
             m.points[i].phi, z[0], z[1]);
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
      for (int k = 0; k < POSES; ++k) {
        static const double depths[4] = {1e-4, 1e-2, 0.15, -1e-3};
        sap_placed_shape a, b;
        random_shape(&seed, (sap_shape_type)ta, &a);
        random_shape(&seed, (sap_shape_type)tb, &b);
        if (k % 5 < 4) {
          approach(&a, &b, depths[k % 5]);
        }
        char what[80];
        (void)snprintf(what, sizeof what, "%s on %s, pose %d", names[ta], names[tb], k);
        errors += check_pair(&a, &b, what);
      }
    }
  }
  assert_int_equal(errors, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_poses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
