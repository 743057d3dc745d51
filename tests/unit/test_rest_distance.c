// SPDX-License-Identifier: BSD-3-Clause
// Rest distances: contacts act on the distance of the surfaces less that of the pair.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/collision_scene.h"
#include "support/convex_oracle.h"
#include "support/near.h"

enum { TYPES = SAP_SHAPE_MESH + 1, POSES = 150 };

typedef struct two_shapes {
  sap_shape_type type[2];
  double rest[2], margin[2], stiffness[2];
  double grown;  // of the second one, a sphere [m]
} two_shapes;

static void begin_two(collision_scene* s, const two_shapes* of) {
  scene_begin(s);
  const int32_t mesh = scene_add_random_mesh(s, 30, 0.12);
  for (int i = 0; i < 2; ++i) {
    sap_shape_def def = sap_shape_def_default();
    def.type = of->type[i];
    def.body = def.type == SAP_SHAPE_PLANE ? 0 : scene_add_body(s, 0);
    sap_v3_set(def.size, 0.12, 0.1, 0.08);
    def.size[0] += i == 1 ? of->grown : 0.0;
    def.mesh = mesh;
    def.material.stiffness = of->stiffness[i];
    def.margin = of->margin[i];
    def.rest_distance = of->rest[i];
    (void)scene_add_shape_def(s, &def);
  }
  scene_compile(s);
}

static double between(uint64_t* seed, double low, double high) {
  return low + (high - low) * oracle_random(seed);
}

// Poses in which the two are near each other.
static void place_two(collision_scene* s, uint64_t* seed) {
  const int32_t last = s->model->sizes.bodies - 1;
  for (int32_t body = 1; body <= last; ++body) {
    double p[3];
    for (int k = 0; k < 3; ++k) {
      p[k] = between(seed, -1.0, 1.0);
    }
    const double away = body == last ? between(seed, 0.1, 0.3) : 0.0;
    sap_v3_scale(p, p, away / sap_v3_norm(p));
    scene_place(s, body, p[0], p[1], p[2]);
    scene_turn(s, body, between(seed, -2, 2), between(seed, -2, 2), between(seed, -2, 2));
  }
}

// One of the other scene's contacts is this one but for phi and, along the normal, the point (the
// numbers of features depend on the poses before). Whether that one is apart.
static bool expect_shifted(const sap_contact* c, const collision_scene* other, double rest,
                           double shift) {
  assert_true(c->phi < 0.0);
  for (int32_t i = 0; i < other->count; ++i) {
    const sap_contact* d = &other->contacts[i];
    double way[3];
    sap_v3_sub(way, c->point, d->point);
    sap_v3_add_scaled(way, c->R_WC + 6, -shift);
    if (sap_v3_norm(way) < 1e-13) {
      assert_memory_equal(c->R_WC, d->R_WC, sizeof c->R_WC);
      ASSERT_NEAR(c->phi, d->phi - rest, 1e-15);
      return d->phi > 0.0;
    }
  }
  fail_msg("no such contact without rest distances");
  return false;
}

// All pairs: with rest distances as without, found as far away, but for phi and where the point is:
// moved as the surfaces that meet half way of the rest distance.
static void contacts_are_shifted(void** state) {
  (void)state;
  static const double rest[2] = {0.031, -0.006}, sum = 0.025;
  static const double k[3][2] = {{1e5, 1e5}, {(double)INFINITY, 1e4}, {1e4, 3e4}};
  uint64_t seed = 7;
  for (int a = 0; a < TYPES; ++a) {
    for (int b = a == 0 ? 1 : a; b < TYPES; ++b) {
      const double* stiffness = k[(a + b) % 3];
      const two_shapes with = {.type = {(sap_shape_type)a, (sap_shape_type)b},
                               .rest = {rest[0], rest[1]},
                               .stiffness = {stiffness[0], stiffness[1]}};
      two_shapes without = with;
      without.rest[0] = without.rest[1] = 0.0;
      without.margin[0] = sum;
      const double share = 1.0 / (1.0 + stiffness[0] / stiffness[1]);  // of the first
      collision_scene s, t;
      begin_two(&s, &with);
      begin_two(&t, &without);
      int found = 0, apart = 0;
      for (int pose = 0; pose < POSES; ++pose) {
        uint64_t again = seed;
        place_two(&s, &seed);
        place_two(&t, &again);
        scene_detect(&s);
        scene_detect(&t);
        assert_int_equal(s.count, t.count);
        for (int32_t i = 0; i < s.count; ++i) {
          apart += expect_shifted(&s.contacts[i], &t, sum, (0.5 - share) * sum);
        }
        found += s.count;
      }
      assert_true(found > POSES / 6);
      assert_true(apart > 0);
      scene_end(&s);
      scene_end(&t);
    }
  }
}

// A sphere with a rest distance is a larger sphere, against whatever its centre is outside of.
static void spheres_grow(void** state) {
  (void)state;
  uint64_t seed = 3;
  for (int a = 0; a < TYPES; ++a) {
    static const double rests[3] = {0.05, 0.004, -0.03};
    for (int k = 0; k < 3; ++k) {
      const two_shapes with = {.type = {(sap_shape_type)a, SAP_SHAPE_SPHERE},
                               .rest = {0.0, rests[k]},
                               .stiffness = {1e5, 1e5}};
      two_shapes grown = with;
      grown.rest[1] = 0.0;
      grown.grown = rests[k];
      collision_scene s, t;
      begin_two(&s, &with);
      begin_two(&t, &grown);
      int found = 0;
      for (int pose = 0; pose < POSES; ++pose) {
        uint64_t again = seed;
        place_two(&s, &seed);
        place_two(&t, &again);
        scene_detect(&s);
        scene_detect(&t);
        // Deeper than its radius other features of the shape may be the nearest.
        if (t.count > 0 && t.contacts[0].phi < -0.08) {
          continue;
        }
        assert_int_equal(s.count, t.count);
        found += s.count;
        if (s.count > 0) {
          ASSERT_NEAR(s.contacts[0].phi, t.contacts[0].phi, 1e-9);
        }
      }
      assert_true(found > 2);
      scene_end(&s);
      scene_end(&t);
    }
  }
}

// The margin counts from the rest distance; a contact pair has its own of both.
static void pairs_have_their_own(void** state) {
  (void)state;
  static const double pair_rest[3] = {(double)NAN, 0.07, -0.02};  // NAN: no pair
  for (int k = 0; k < 3; ++k) {
    collision_scene s;
    const two_shapes of = {.type = {SAP_SHAPE_SPHERE, SAP_SHAPE_SPHERE},
                           .rest = {0.01, 0.03},
                           .margin = {0.002, 0.0},
                           .stiffness = {1e5, 1e5}};
    scene_begin(&s);
    for (int i = 0; i < 2; ++i) {
      sap_shape_def def = sap_shape_def_default();
      def.type = SAP_SHAPE_SPHERE;
      def.body = scene_add_body(&s, 0);
      def.size[0] = 0.1;
      def.margin = of.margin[i];
      def.rest_distance = of.rest[i];
      (void)scene_add_shape_def(&s, &def);
    }
    sap_pair_def pair = sap_pair_def_default();
    assert_true(pair.rest_distance == 0.0);
    pair.shape_b = 1;
    pair.margin = 0.001;
    pair.rest_distance = pair_rest[k];
    sap_error error;
    if (k > 0) {
      assert_int_equal(sap_builder_add_pair(s.builder, &pair, NULL, &error), SAP_STATUS_OK);
    }
    scene_compile(&s);
    const double rest = k > 0 ? pair_rest[k] : 0.04, margin = k > 0 ? 0.001 : 0.002;
    for (int side = 0; side < 2; ++side) {
      const double distance = rest + margin + (side == 0 ? -1e-6 : 1e-6);
      scene_place(&s, 2, 0.0, 0.2 + distance, 0.0);
      scene_detect(&s);
      assert_int_equal(s.count, side == 0 ? 1 : 0);
      if (side == 0) {
        ASSERT_NEAR(s.contacts[0].phi, margin - 1e-6, 1e-14);
        ASSERT_NEAR(s.contacts[0].point[1], 0.1 + 0.5 * distance, 1e-14);
      }
    }
    scene_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contacts_are_shifted),
      cmocka_unit_test(spheres_grow),
      cmocka_unit_test(pairs_have_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
