// SPDX-License-Identifier: BSD-3-Clause
// The points of two boxes that lie on each other: they stay where they are when the boxes move by a
// micrometre or less, as bodies at rest do, and are the corners of the overlap. Ends of capsules.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/geometry/collide.h"
#include "support/near.h"

enum { POSES = 2000, NUDGES = 8, MOST_CORNERS = 16 };

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// R turned by a small rotation w: R + w x R, orthogonal to second order.
static void turn(const double w[3], const double* R, double* out) {
  for (int k = 0; k < 3; ++k) {
    double c[3];
    sap_v3_cross(c, w, R + 3 * k);
    sap_v3_add(out + 3 * k, R + 3 * k, c);
  }
}

// Below: a box that fills z < 0 with its top at 0. On it another one, turned about z and shifted,
// sunk in by some micrometres and tilted by as many.
typedef struct pose {
  sap_placed_shape below, above;
  double angle, shift[2];
} pose;

static void make_pose(uint32_t* seed, pose* out) {
  static const double size[3] = {0.05, 0.04, 0.03};
  const sap_shape_def def = {.type = SAP_SHAPE_BOX, .size = {size[0], size[1], size[2]}};
  sap_shape_init(&out->below, &def, NULL);
  sap_shape_init(&out->above, &def, NULL);
  out->angle = 3.14159265358979 * pseudo_random(seed);
  const double c = cos(out->angle), s = sin(out->angle);
  const double upright[9] = {c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0};
  const double tilt[3] = {1e-4 * pseudo_random(seed), 1e-4 * pseudo_random(seed), 0.0};
  const double one[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  memcpy(out->below.R, one, sizeof one);
  sap_v3_set(out->below.p, 0.0, 0.0, -size[2]);
  turn(tilt, upright, out->above.R);
  out->shift[0] = 0.03 * pseudo_random(seed);
  out->shift[1] = 0.03 * pseudo_random(seed);
  sap_v3_set(out->above.p, out->shift[0], out->shift[1], size[2] - 2e-5);
}

static double distance(const double a[3], const double b[3]) {
  double d[3];
  sap_v3_sub(d, a, b);
  return sap_v3_norm(d);
}

// Returns true if each point of one has a point of the other within `near`.
static bool same_points(const sap_manifold* a, const sap_manifold* b, double near) {
  bool same = a->count == b->count;
  for (int32_t i = 0; same && i < a->count; ++i) {
    bool found = false;
    for (int32_t j = 0; j < b->count; ++j) {
      found = found || distance(a->points[i].p, b->points[j].p) < near;
    }
    same = found;
  }
  return same;
}

// Fewer than one in 2000 of the poses and nudges changes a point. (Where two choices are as
// good within a margin, some motion crosses it, however small.)
static void test_points_stay(void** state) {
  (void)state;
  uint32_t seed = 7;
  int changed = 0;
  for (int i = 0; i < POSES; ++i) {
    pose at;
    sap_manifold first;
    make_pose(&seed, &at);
    sap_collide(&at.below, &at.above, 0.01, &first);
    for (int k = 0; k < NUDGES; ++k) {
      const double size = pow(10.0, -9.0 + 3.0 * k / (NUDGES - 1));
      sap_placed_shape moved = at.above;
      double w[3];
      for (int axis = 0; axis < 3; ++axis) {
        moved.p[axis] += size * pseudo_random(&seed);
        w[axis] = 20.0 * size * pseudo_random(&seed);  // at the corners as far
      }
      turn(w, at.above.R, moved.R);
      sap_manifold then;
      sap_collide(&at.below, &moved, 0.01, &then);
      changed += !same_points(&first, &then, 1e-4);
    }
  }
  assert_true(changed * 2000 < POSES * NUDGES);
}

// Sutherland and Hodgman: the part where side * x[axis] <= limit.
static int clip(double (*corners)[2], int count, int axis, double side, double limit) {
  double out[MOST_CORNERS][2];
  int n = 0;
  for (int i = 0; i < count; ++i) {
    const double *a = corners[i], *b = corners[(i + 1) % count];
    const double ha = limit - side * a[axis], hb = limit - side * b[axis];
    if (ha >= 0.0) {
      memcpy(out[n++], a, sizeof out[0]);
    }
    if ((ha >= 0.0) != (hb >= 0.0)) {
      const double t = ha / (ha - hb);
      out[n][0] = a[0] + t * (b[0] - a[0]);
      out[n++][1] = a[1] + t * (b[1] - a[1]);
    }
  }
  memcpy(corners, out, sizeof out);
  return n;
}

// The overlap's corners; returns their number.
static int overlap(const pose* at, double (*corners)[2]) {
  static const double sign[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  const double c = cos(at->angle), s = sin(at->angle);
  for (int i = 0; i < 4; ++i) {
    const double x = 0.05 * sign[i][0], y = 0.04 * sign[i][1];
    corners[i][0] = at->shift[0] + c * x - s * y;
    corners[i][1] = at->shift[1] + s * x + c * y;
  }
  int count = 4;
  for (int side = 0; side < 4; ++side) {
    count = clip(corners, count, side % 2, side < 2 ? 1.0 : -1.0, side % 2 == 0 ? 0.05 : 0.04);
  }
  return count;
}

// Distance across z of x from the nearest point of the manifold.
static double distance_to(const sap_manifold* m, const double x[2]) {
  double least = HUGE_VAL;
  for (int32_t i = 0; i < m->count; ++i) {
    least = fmin(least, hypot(m->points[i].p[0] - x[0], m->points[i].p[1] - x[1]));
  }
  return least;
}

// All corners of the overlap are there, and nothing else. (A tilt would move corners where edges are
// nearly parallel.)
static void test_corners_are_kept(void** state) {
  (void)state;
  uint32_t seed = 11;
  for (int i = 0; i < POSES; ++i) {
    pose at;
    sap_manifold m;
    double corners[MOST_CORNERS][2];
    make_pose(&seed, &at);
    const double c = cos(at.angle), s = sin(at.angle);
    memcpy(at.above.R, (double[9]){c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0}, sizeof at.above.R);
    sap_collide(&at.below, &at.above, 0.01, &m);
    const int count = overlap(&at, corners);
    assert_true(m.count <= count);
    for (int k = 0; k < count; ++k) {
      assert_true(distance_to(&m, corners[k]) < 1e-7);
    }
  }
}

// The deepest corner is there.
static void test_depth_is_kept(void** state) {
  (void)state;
  uint32_t seed = 13;
  for (int i = 0; i < POSES; ++i) {
    pose at;
    sap_manifold m;
    make_pose(&seed, &at);
    double w[3] = {0.02 * pseudo_random(&seed), 0.02 * pseudo_random(&seed), 0.0};
    double tilted[9], deepest = HUGE_VAL, found = HUGE_VAL;
    turn(w, at.above.R, tilted);
    memcpy(at.above.R, tilted, sizeof tilted);
    sap_collide(&at.below, &at.above, 0.01, &m);
    for (int32_t k = 0; k < m.count; ++k) {
      found = fmin(found, m.points[k].phi);
    }
    // by brute force: the lowest point of the overlap's two faces
    for (int a = -40; a <= 40; ++a) {
      for (int b = -40; b <= 40; ++b) {
        double x[3] = {0.05 * a / 40.0, 0.04 * b / 40.0, -0.03}, p[3];
        sap_v3_place(p, at.above.p, at.above.R, x);
        if (fabs(p[0]) <= 0.05 && fabs(p[1]) <= 0.04) {
          deepest = fmin(deepest, p[2]);
        }
      }
    }
    assert_true(found <= deepest + 4e-3 * at.above.bound);
  }
}

// Capsules that cross at an angle: where they overlap at an end, it is a contact, with its own
// depth; else the nearest points are the only one.
static void test_ends_of_capsules(void** state) {
  (void)state;
  const sap_shape_def def = {.type = SAP_SHAPE_CAPSULE, .size = {0.1, 0.05}};
  for (int k = 0; k < 40; ++k) {
    const double angle = 0.02 * k + 0.005, depth = k % 2 == 0 ? 0.08 : 1e-6;
    const double c = cos(angle), s = sin(angle);
    sap_placed_shape a, b;
    sap_shape_init(&a, &def, NULL);
    sap_shape_init(&b, &def, NULL);
    memcpy(a.R, (const double[9]){0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0}, sizeof a.R);
    memcpy(b.R, (const double[9]){-s, c, 0.0, 0.0, 0.0, 1.0, c, s, 0.0}, sizeof b.R);
    sap_v3_set(b.p, 0.0, 0.0, 0.2 - depth);
    sap_manifold m;
    sap_collide(&a, &b, 0.0, &m);
    // an end of b is 0.05 sin(angle) beside the axis of a
    const double end = hypot(0.05 * s, 0.2 - depth) - 0.2;
    double shallowest = -1.0;
    for (int32_t i = 0; i < m.count; ++i) {
      shallowest = fmax(shallowest, m.points[i].phi);
    }
    assert_true(end < 0.0 ? m.count > 2 : m.count == 1);
    ASSERT_NEAR(sap_manifold_deepest(&m)->phi, -depth, 1e-12);
    ASSERT_NEAR(shallowest, end < 0.0 ? end : -depth, 1e-12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_points_stay),
      cmocka_unit_test(test_corners_are_kept),
      cmocka_unit_test(test_depth_is_kept),
      cmocka_unit_test(test_ends_of_capsules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
