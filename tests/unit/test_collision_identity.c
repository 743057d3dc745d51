// SPDX-License-Identifier: BSD-3-Clause
// Detection on a model: numbers of contact points from call to call.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "multibody/geometry/collision_data.h"
#include "support/collision_scene.h"
#include "support/convex_oracle.h"

// A box slides, turns and rocks on a plane: each corner keeps its number as long as it touches, and
// takes none that another has; where it lifts and returns, it may have a new one.
static void identities_follow_the_corners(void** state) {
  (void)state;
  collision_scene s;
  scene_begin(&s);
  scene_add_shape(&s, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  const int32_t box = scene_add_body(&s, 0);
  scene_add_shape(&s, box, SAP_SHAPE_BOX, 0.3, 0.2, 0.1);
  scene_compile(&s);
  int32_t last[4] = {-1, -1, -1, -1};
  for (int step = 0; step < 200; ++step) {
    scene_place(&s, box, 0.03 * step, -0.01 * step, 0.098);
    scene_turn(&s, box, 0.012 * sin(0.1 * step), 0.0, 0.2 * sin(0.07 * step));
    scene_detect(&s);
    int32_t now[4] = {-1, -1, -1, -1};
    for (int32_t i = 0; i < s.count; ++i) {
      double d[3], local[3];
      sap_v3_sub(d, s.contacts[i].point, s.p_WB + 3 * box);
      sap_m3_tmul_v3(local, s.R_WB + 9 * box, d);
      const int corner = (local[0] > 0.0 ? 1 : 0) + (local[1] > 0.0 ? 2 : 0);
      assert_int_equal(now[corner], -1);
      now[corner] = s.contacts[i].feature;
      assert_true(i == 0 || s.contacts[i].feature > s.contacts[i - 1].feature);
    }
    for (int k = 0; k < 4; ++k) {
      if (now[k] >= 0 && last[k] >= 0) {
        assert_int_equal(now[k], last[k]);
      }
      last[k] = now[k];
    }
  }
  scene_end(&s);
}

// The same poses give the same contacts but for feature numbers, whatever came before.
static void detection_has_no_memory_but_identity(void** state) {
  (void)state;
  collision_scene s, fresh;
  collision_scene* both[2] = {&s, &fresh};
  for (int k = 0; k < 2; ++k) {
    scene_begin(both[k]);
    scene_add_shape(both[k], 0, SAP_SHAPE_PLANE, 1, 1, 1);
    for (int b = 0; b < 60; ++b) {
      static const sap_shape_type types[4] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CAPSULE,
                                              SAP_SHAPE_CYLINDER};
      scene_add_shape(both[k], scene_add_body(both[k], 0), types[b % 4], 0.3, 0.3, 0.3);
    }
    scene_compile(both[k]);
  }
  for (int step = 30; step >= 0; --step) {
    for (int b = 1; b <= 60; ++b) {
      for (int k = step == 0 ? 1 : 0; k >= 0; --k) {
        scene_place(both[k], b, sin(1.3 * b + 0.1 * step), cos(2.1 * b), 0.02 * b);
        scene_turn(both[k], b, 0.1 * b, 0.05 * step, 0.3);
      }
    }
    scene_detect(&s);
  }
  scene_detect(&fresh);
  assert_true(s.count > 50);
  assert_int_equal(s.count, fresh.count);
  for (int32_t i = 0; i < s.count; ++i) {
    bool found = false;
    for (int32_t j = 0; j < fresh.count; ++j) {
      sap_contact c = s.contacts[i];
      c.feature = fresh.contacts[j].feature;
      found = found || memcmp(&c, &fresh.contacts[j], sizeof c) == 0;
    }
    assert_true(found);
  }
  scene_end(&s);
  scene_end(&fresh);
}

static double apart2(const sap_identity* a, const sap_identity* b) {
  double d_A[3], d_B[3];
  sap_v3_sub(d_A, a->p_A, b->p_A);
  sap_v3_sub(d_B, a->p_B, b->p_B);
  return fmin(sap_v3_dot(d_A, d_A), sap_v3_dot(d_B, d_B));
}

// Matches the nearest pair within the tolerance first, and the first of equal ones; -1: none.
static void match_by_rounds(const sap_identity* old, int32_t old_count, double tolerance,
                            const sap_identity* points, int32_t count, int32_t* features) {
  bool taken[SAP_MANIFOLD_POINTS] = {false};
  for (int32_t i = 0; i < count; ++i) {
    features[i] = -1;
  }
  for (;;) {
    double least = tolerance * tolerance;
    int32_t point = -1, with = -1;
    for (int32_t i = 0; i < count; ++i) {
      for (int32_t j = 0; j < old_count; ++j) {
        if (features[i] < 0 && !taken[j] && apart2(&points[i], &old[j]) < least) {
          least = apart2(&points[i], &old[j]);
          point = i;
          with = j;
        }
      }
    }
    if (point < 0) {
      return;
    }
    features[point] = old[with].feature;
    taken[with] = true;
  }
}

// Points on a coarse lattice, so that distances tie, and near the old ones or not.
static void matches_are_those_of_rounds(void** state) {
  (void)state;
  uint64_t seed = 11;
  int32_t matched = 0, fresh = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    sap_identity old[SAP_MANIFOLD_POINTS] = {0}, points[SAP_MANIFOLD_POINTS] = {0};
    const int32_t old_count = (int32_t)(4.999 * oracle_random(&seed));
    const int32_t count = 1 + (int32_t)(3.999 * oracle_random(&seed));
    const double cells = trial % 2 ? 3.0 : 1000.0, shift = trial % 3 ? 0.02 : 1.0;
    for (int32_t j = 0; j < old_count; ++j) {
      old[j].feature = (j + trial) % SAP_MANIFOLD_POINTS;
      for (int k = 0; k < 3; ++k) {
        old[j].p_A[k] = floor(cells * oracle_random(&seed)) / cells;
        old[j].p_B[k] = floor(cells * oracle_random(&seed)) / cells;
      }
    }
    for (int32_t i = 0; i < count; ++i) {
      for (int k = 0; k < 3; ++k) {
        points[i].p_A[k] = old[i].p_A[k] + shift * floor(cells * oracle_random(&seed)) / cells;
        points[i].p_B[k] = old[i].p_B[k] + shift * floor(cells * oracle_random(&seed)) / cells;
      }
    }
    int32_t expected[SAP_MANIFOLD_POINTS];
    match_by_rounds(old, old_count, 0.5, points, count, expected);
    sap_identity_match(old, old_count, 0.5, points, count);
    for (int32_t i = 0; i < count; ++i) {
      if (expected[i] >= 0) {
        assert_int_equal(points[i].feature, expected[i]);
        ++matched;
        continue;
      }
      ++fresh;
      for (int32_t j = 0; j < old_count; ++j) {
        assert_int_not_equal(points[i].feature, old[j].feature);
      }
    }
  }
  assert_true(matched > 10000 && fresh > 5000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identities_follow_the_corners),
      cmocka_unit_test(detection_has_no_memory_but_identity),
      cmocka_unit_test(matches_are_those_of_rounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
