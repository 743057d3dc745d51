// SPDX-License-Identifier: BSD-3-Clause
// Patches of pressure fields against closed forms, sums over fine grids and finite differences.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/geometry/collide.h"
#include "multibody/geometry/patch.h"
#include "support/mesh_shapes.h"
#include "support/near.h"

static const double PI = 3.14159265358979323846, E = 1e5;

// A surface with room for the planes of boxes.
typedef struct room {
  sap_patch_surface surface;
  double planes[2][6][4];
} room;

static room* make_room(void) {
  room* r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->surface.planes[0] = r->planes[0];
  r->surface.planes[1] = r->planes[1];
  return r;
}

static sap_placed_shape place(sap_shape_type type, double x, double y, double z, const double p[3],
                              const double turn[3]) {
  sap_shape_def def = sap_shape_def_default();
  sap_placed_shape shape;
  double q[4];
  def.type = type;
  sap_v3_set(def.size, x, y, z);
  sap_shape_init(&shape, &def, NULL);
  sap_v3_copy(shape.p, p);
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(shape.R, q);
  return shape;
}

// Force on b, moment about the world's origin, stiffness along N, sum of the normal forces; points
// of all clusters, and those of the first one.
typedef struct wrench {
  double f[3], m[3], k, normal, area;
  int32_t count, clusters;
  sap_manifold points;
  sap_patch_cluster patch;
} wrench;

static const double rigid = (double)INFINITY;

// kappa 0: E over the inner radius.
static wrench touch(const sap_placed_shape* a, const sap_placed_shape* b, double kappa_a,
                    double kappa_b) {
  room* r = make_room();
  wrench w = {.k = 0.0};
  const double kappa[2] = {kappa_a == 0.0 ? E / a->inner : kappa_a,
                           kappa_b == 0.0 ? E / b->inner : kappa_b};
  sap_collide(a, b, 0.0, &w.points);
  const sap_manifold manifold = w.points;
  const bool found = manifold.count > 0 && sap_patch_find(&r->surface, a, b, kappa, &manifold);
  w.clusters = found ? r->surface.npatches : 0;
  w.area = found ? sap_patch_area(&r->surface) : 0.0;
  for (int32_t k = w.clusters - 1; k >= 0; --k) {
    w.patch = r->surface.patches[k];
    w.points = w.patch.points;
    w.count += w.points.count;
    for (int32_t i = 0; i < w.points.count; ++i) {
      const double f = -w.patch.stiffness[i] * w.points.points[i].phi;
      double x[3], force[3], moment[3];
      sap_v3_add(x, w.points.points[i].p, a->p);
      sap_v3_scale(force, w.points.points[i].n, f);
      sap_v3_cross(moment, x, force);
      sap_v3_add(w.f, w.f, force);
      sap_v3_add(w.m, w.m, moment);
      w.k += w.patch.stiffness[i];
      w.normal += f;
    }
  }
  free(r);
  return w;
}

static const double none[3] = {0.0, 0.0, 0.0};

static sap_placed_shape ground(void) {
  return place(SAP_SHAPE_PLANE, 0.0, 0.0, 0.0, none, none);
}

// pi/3 E d^2 (3 - 2 d/R) and its slope; a parabolic pressure has the torsion 8/15 a, to O(d/R).
static void test_sphere(void** state) {
  (void)state;
  const double R = 0.05, depths[3] = {1e-4, 1e-3, 5e-3}, tolerance[3] = {1e-6, 1e-6, 2e-5};
  const sap_placed_shape plane = ground();
  for (int i = 0; i < 3; ++i) {
    const double d = depths[i], p[3] = {0.3, -0.2, R - d};
    const double F = PI / 3.0 * E * d * d * (3.0 - 2.0 * d / R),
                 K = 2.0 * PI * E * d * (1.0 - d / R);
    const double a = sqrt(2.0 * R * d - d * d);
    const sap_placed_shape ball = place(SAP_SHAPE_SPHERE, R, 0.0, 0.0, p, none);
    const wrench w = touch(&plane, &ball, rigid, 0.0);
    assert_int_equal(w.count, 1);
    ASSERT_NEAR(w.f[2], F, tolerance[i] * F);
    ASSERT_NEAR(w.k, K, 1e-6 * K);
    ASSERT_NEAR(w.area, PI * a * a, 1e-2 * PI * a * a);
    ASSERT_NEAR(w.patch.torsion, 8.0 / 15.0 * a, (1e-3 + d / R) * a);
    const wrench swapped = touch(&ball, &plane, 0.0, rigid);
    ASSERT_NEAR(swapped.f[2], -w.f[2], 1e-12 * F);
  }
}

// Two equal balls meet in the middle plane, each at half the depth; of unlike ones the stiffer one
// keeps its shape.
static void test_balls(void** state) {
  (void)state;
  const double R = 0.05, d = 1e-3, p[3] = {0.0, 0.0, 2.0 * R - d}, q[3] = {0.0, 0.0, 0.0};
  const sap_placed_shape a = place(SAP_SHAPE_SPHERE, R, 0.0, 0.0, q, none);
  const sap_placed_shape b = place(SAP_SHAPE_SPHERE, R, 0.0, 0.0, p, none);
  const double F = PI / 3.0 * E * 0.25 * d * d * (3.0 - d / R);
  const wrench w = touch(&a, &b, 0.0, 0.0);
  ASSERT_NEAR(w.f[2], F, 1e-6 * F);
  const wrench soft = touch(&a, &b, 0.0, 1e9 * E), hard = touch(&a, &b, 0.0, rigid);
  ASSERT_NEAR(soft.f[2], hard.f[2], 1e-6 * hard.f[2]);
  ASSERT_NEAR(soft.k, hard.k, 1e-6 * hard.k);
}

// End: a truncated cone of pressure. Side: the sum over strips of a fine grid, tapered at both
// ends.
static void test_cylinder(void** state) {
  (void)state;
  const double R = 0.03, h = 0.05, kappa = E / R, turned[3] = {0.5 * PI, 0.0, 0.0};
  const sap_placed_shape plane = ground();
  for (int i = 0; i < 2; ++i) {
    const double d = i == 0 ? 1e-5 : 1e-4, p[3] = {0.0, 0.0, h - d}, side[3] = {0.0, 0.0, R - d};
    const double end = PI * kappa * (R * R * d - R * d * d + d * d * d / 3.0);
    const sap_placed_shape standing = place(SAP_SHAPE_CYLINDER, R, h, 0.0, p, none);
    const sap_placed_shape lying = place(SAP_SHAPE_CYLINDER, R, h, 0.0, side, turned);
    wrench w = touch(&plane, &standing, rigid, 0.0);
    assert_int_equal(w.count, 5);
    ASSERT_NEAR(w.f[2], end, 2e-5 * end);
    ASSERT_NEAR(w.k, PI * kappa * (R - d) * (R - d), 1e-6 * w.k);
    double sum = 0.0;
    const int strips = 4000;
    const double a = sqrt(2.0 * R * d);
    for (int k = 0; k < strips; ++k) {
      const double top = R - hypot(a * (k + 0.5) / strips, R - d);
      sum += top > 0.0 ? 2.0 * a / strips * kappa * (2.0 * h * top - top * top) : 0.0;
    }
    w = touch(&plane, &lying, rigid, 0.0);
    assert_int_equal(w.count, 3);
    ASSERT_NEAR(w.f[2], sum, 1e-5 * sum);
    for (int j = 0; j < w.count; ++j) {  // a line along the axis: no resistance to rolling
      ASSERT_NEAR(w.points.points[j].p[0], 0.0, 1e-9);
    }
  }
}

// Torsion of a uniform pressure on a disc 2/3 R; the five points have it exactly.
static void test_torsion(void** state) {
  (void)state;
  const double R = 0.05, h = 0.02, d = 1e-7, p[3] = {0.0, 0.0, h - d};
  const sap_placed_shape plane = ground();
  const sap_placed_shape disc = place(SAP_SHAPE_CYLINDER, R, h, 0.0, p, none);
  const wrench w = touch(&plane, &disc, rigid, 0.0);
  double torsion = 0.0;
  for (int j = 0; j < w.count; ++j) {
    const sap_manifold_point* x = &w.points.points[j];
    torsion -= w.patch.stiffness[j] * x->phi * hypot(x->p[0], x->p[1]);
  }
  ASSERT_NEAR(torsion, 2.0 / 3.0 * R * w.f[2], 2e-3 * torsion);  // of 144 samples
  // A square of side 2: (sqrt 2 + asinh 1)/3.
  const double q[3] = {0.0, 0.0, 0.05 - d};
  const sap_placed_shape box = place(SAP_SHAPE_BOX, 0.05, 0.05, 0.05, q, none);
  const wrench v = touch(&plane, &box, rigid, 0.0);
  torsion = 0.0;
  for (int j = 0; j < v.count; ++j) {
    const sap_manifold_point* x = &v.points.points[j];
    torsion -= v.patch.stiffness[j] * x->phi * hypot(x->p[0], x->p[1]);
  }
  ASSERT_NEAR(torsion, (sqrt(2.0) + asinh(1.0)) / 3.0 * 0.05 * v.f[2],
              1e-4 * torsion);  // four points an edge
}

// A frustum of pressure of the height d over a rectangle.
static double frustum(double width, double length, double d) {
  return width * length * d - (width + length) * d * d + 4.0 / 3.0 * d * d * d;
}

static void test_box(void** state) {
  (void)state;
  const double h[3] = {0.06, 0.04, 0.05}, d = 1e-4, turn[3] = {0.0, 0.0, 0.3};
  const double p[3] = {0.1, 0.2, h[2] - d}, q[3] = {0.1, 0.2, 3.0 * h[2] - 2.0 * d};
  const sap_placed_shape plane = ground();
  const sap_placed_shape low = place(SAP_SHAPE_BOX, h[0], h[1], h[2], p, turn);
  const sap_placed_shape high = place(SAP_SHAPE_BOX, h[0], h[1], h[2], q, turn);
  const double F = E / 0.04 * frustum(0.12, 0.08, d);
  wrench w = touch(&plane, &low, rigid, 0.0);
  assert_int_equal(w.count, 5);
  ASSERT_NEAR(w.f[2], F, 1e-12 * F);
  ASSERT_NEAR(w.m[0], 0.2 * F, 1e-12 * F);
  ASSERT_NEAR(w.m[1], -0.1 * F, 1e-12 * F);
  // Equal boxes meet half way; the walls that slant there do not count.
  w = touch(&low, &high, 0.0, 0.0);
  const double flat = E / 0.04 * 0.5 * d * (0.12 - d) * (0.08 - d);
  assert_int_equal(w.count, 5);
  ASSERT_NEAR(w.f[2], flat, 2.0 * d / 0.04 * flat);
  const wrench swapped = touch(&high, &low, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(swapped.f[i], -w.f[i], 1e-12 * F);
    ASSERT_NEAR(swapped.m[i], -w.m[i], 1e-12 * F);
  }
}

static wrench tilted(double z, double angle) {
  const double p[3] = {0.0, 0.0, z}, turn[3] = {0.0, angle, 0.0};
  const sap_placed_shape plane = ground();
  const sap_placed_shape box = place(SAP_SHAPE_BOX, 0.06, 0.04, 0.05, p, turn);
  return touch(&plane, &box, rigid, 0.0);
}

// The same, turned by another angle about the world's origin, which lies in the contact plane.
static wrench rocked(double z, double angle, double more) {
  const double p[3] = {z * sin(more), 0.0, z * cos(more)}, turn[3] = {0.0, angle + more, 0.0};
  const sap_placed_shape plane = ground();
  const sap_placed_shape box = place(SAP_SHAPE_BOX, 0.06, 0.04, 0.05, p, turn);
  return touch(&plane, &box, rigid, 0.0);
}

// The points have dF/dz and the rocking stiffness of the surface, flat and half lifted.
static void test_stiffness(void** state) {
  (void)state;
  const double z = 0.05 - 1e-4, step = 1e-7;
  for (int i = 0; i < 6; ++i) {
    const double angle = 7e-4 * i;
    const wrench w = tilted(z, angle), up = tilted(z + step, angle), down = tilted(z - step, angle);
    const wrench left = rocked(z, angle, -step), right = rocked(z, angle, step);
    double rocking = 0.0;
    for (int j = 0; j < w.count; ++j) {
      const double x = w.points.points[j].p[0];
      rocking += w.patch.stiffness[j] * x * x;
    }
    assert_int_equal(w.count, 5);
    const double k = (down.f[2] - up.f[2]) / (2.0 * step);
    ASSERT_NEAR(w.k, k, 1e-6 * k);
    ASSERT_NEAR(rocking, (left.m[1] - right.m[1]) / (2.0 * step), 1e-8 * rocking);
  }
}

// A slow cycle of indentation and tilt returns its work: F dz + M dth has the potential
// int of p over the volume below the plane.
static void test_cycle(void** state) {
  (void)state;
  const int parts = 400;
  double work = 0.0, all = 0.0;
  for (int i = 0; i < parts; ++i) {
    const double t = 2.0 * PI * (i + 0.5) / parts, z = 0.0499 + 8e-5 * cos(t);
    const wrench w = tilted(z, 1.5e-3 + 1e-3 * sin(t));
    const double power = -8e-5 * sin(t) * w.f[2] + 1e-3 * cos(t) * w.m[1];
    work += 2.0 * PI / parts * power;
    all += 2.0 * PI / parts * fabs(power);
  }
  ASSERT_NEAR(work, 0.0, 1e-6 * all);
}

// The force is smooth, and the points move little, while the face lifts off.
static void test_continuity(void** state) {
  (void)state;
  wrench before[2] = {tilted(0.0499, -3e-3), tilted(0.0499, -3e-3)};
  for (int i = 1; i <= 600; ++i) {
    const wrench w = tilted(0.0499, -3e-3 + 1e-5 * i);
    const double second = w.f[2] - 2.0 * before[1].f[2] + before[0].f[2];
    assert_int_equal(w.count, 5);
    if (i > 1) {
      ASSERT_NEAR(second, 0.0, 1e-5 * 8.0);
    }
    for (int j = 0; j < w.count; ++j) {
      double way[3];
      sap_v3_sub(way, w.points.points[j].p, before[1].points.points[j].p);
      assert_true(sap_v3_norm(way) < 6e-4);  // where it lifts, the edge of the patch moves 0.35 mm
      assert_true(w.points.points[j].phi <= 0.0);
    }
    before[0] = before[1];
    before[1] = w;
  }
}

// Random poses of boxes: the patch exists where they overlap, and a swap gives the same wrench.
static void test_random(void** state) {
  (void)state;
  uint32_t seed = 7;
  int32_t touching = 0;
  for (int i = 0; i < 300; ++i) {
    double x[9];
    for (int k = 0; k < 9; ++k) {
      seed = seed * 1664525U + 1013904223U;
      x[k] = 2.0 * (seed >> 8) / 16777216.0 - 1.0;
    }
    const double origin[3] = {0.0, 0.0, 0.0};
    const sap_placed_shape a =
        place(i % 3 == 0 ? SAP_SHAPE_CYLINDER : SAP_SHAPE_BOX, 0.05, 0.06, 0.04, origin, x);
    sap_v3_scale(x + 6, x + 6, 0.11);
    const sap_placed_shape b =
        place(i % 4 == 0 ? SAP_SHAPE_CAPSULE : SAP_SHAPE_BOX, 0.03, 0.05, 0.06, x + 6, x + 3);
    sap_manifold points;
    sap_collide(&a, &b, 0.0, &points);
    const double depth = points.count > 0 ? -sap_manifold_deepest(&points)->phi : 0.0;
    const wrench w = touch(&a, &b, 0.0, 2.0 * E / 0.03), v = touch(&b, &a, 2.0 * E / 0.03, 0.0);
    if (depth <= 1e-6 || depth > 0.01) {
      continue;
    }
    ++touching;
    assert_true(w.count > 0 && v.count > 0);
    const double F = sap_v3_norm(w.f);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(v.f[k], -w.f[k], 1e-9 * F);
    }
  }
  assert_true(touching > 20);
}

// The hull of a box's corners has the box's field.
static void test_hull(void** state) {
  (void)state;
  const double h[3] = {0.06, 0.04, 0.05}, q[3] = {0.01, 0.02, 0.05 - 1e-4};
  const double p[3] = {0.02, -0.01, 0.05 + 0.03 - 3e-4}, turn[3] = {0.0, 0.0, 0.4};
  double corners[24];
  for (int i = 0; i < 24; ++i) {
    corners[i] = (i / 3 >> (i % 3) & 1) != 0 ? h[i % 3] : -h[i % 3];
  }
  mesh_shape mesh;
  sap_placed_shape hull;
  mesh_shape_create(&mesh, corners, 8);
  mesh_shape_place(&mesh, &hull);
  const sap_placed_shape plane = ground(), box = place(SAP_SHAPE_BOX, h[0], h[1], h[2], q, none);
  const sap_placed_shape top = place(SAP_SHAPE_BOX, 0.03, 0.05, 0.03, p, turn);
  sap_v3_copy(hull.p, q);
  const wrench of_box[2] = {touch(&plane, &box, rigid, E), touch(&box, &top, E, 2.0 * E)};
  const wrench of_hull[2] = {touch(&plane, &hull, rigid, E), touch(&hull, &top, E, 2.0 * E)};
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(of_hull[i].count, of_box[i].count);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(of_hull[i].f[k], of_box[i].f[k], 1e-9 * of_box[i].f[2]);
      ASSERT_NEAR(of_hull[i].m[k], of_box[i].m[k], 1e-9 * of_box[i].f[2]);
    }
  }
  mesh_shape_destroy(&mesh);
}

// Moves a shape of a plane's frame to the world of the tilted plane.
static void tilt(const double R[9], sap_placed_shape* shape) {
  const sap_placed_shape before = *shape;
  sap_m3_mul_v3(shape->p, R, before.p);
  sap_m3_mul(shape->R, R, before.R);
}

// A ball on the edge of a box: the long narrow patch keeps its force however it lies to the axes of
// the world.
static void test_yaw(void** state) {
  (void)state;
  const double roll[3] = {PI / 12.0, 0.0, 0.0}, origin[3] = {0.0, 0.0, 0.0}, h = 0.05;
  const double p[3] = {0.0, h * (cos(roll[0]) - sin(roll[0])),
                       h * (cos(roll[0]) + sin(roll[0])) + h - 5e-4};
  double first = 0.0;
  for (int i = 0; i < 12; ++i) {
    const double yaw[3] = {0.0, 0.0, PI * i / 24.0};
    double q[4], R[9];
    sap_quaternion_exp(q, yaw);
    sap_quaternion_to_matrix(R, q);
    sap_placed_shape box = place(SAP_SHAPE_BOX, h, h, h, origin, roll);
    sap_placed_shape ball = place(SAP_SHAPE_SPHERE, h, 0.0, 0.0, p, none);
    tilt(R, &box);
    tilt(R, &ball);
    const double F = sap_v3_norm(touch(&box, &ball, rigid, 0.0).f);
    first = i == 0 ? F : first;
    assert_true(F > 0.0);
    ASSERT_NEAR(F, first, 1e-5 * first);
  }
}

// A pebble far from the centre of a plane, or on a large ball, has the force of one at the centre.
static void test_far(void** state) {
  (void)state;
  const double r = 1e-3, d = 1e-4, far = 1e4;
  const double F = PI / 3.0 * E * d * d * (3.0 - 2.0 * d / r);
  for (int k = 0; k < 50; ++k) {
    const bool on_ball = k % 2 != 0;
    const double turn[3] = {0.3 * k, 0.2, 0.1 * k}, p[3] = {0.0, on_ball ? 0.0 : far, r - d};
    sap_placed_shape ball = place(SAP_SHAPE_SPHERE, r, 0.0, 0.0, p, none);
    sap_placed_shape base =
        place(on_ball ? SAP_SHAPE_SPHERE : SAP_SHAPE_PLANE, far, 0.0, 0.0, none, turn);
    tilt(base.R, &ball);
    sap_v3_scale(base.p, base.R + 6, on_ball ? -far : 0.0);
    const wrench w = touch(&base, &ball, rigid, 0.0);
    assert_int_equal(w.count, 1);
    ASSERT_NEAR(sap_v3_dot(w.f, base.R + 6), F, 1e-4 * F);
  }
}

// Lying cylinders of all sizes and directions have the same pressure: their ends are found.
static void test_sizes(void** state) {
  (void)state;
  for (int k = 0; k < 400; ++k) {
    const double lie[3] = {0.5 * PI, 0.0, 0.0}, turn[3] = {0.25 * PI * (k % 4), 0.0, 0.3 * (k % 5)};
    const double s = 1.0 + k / 97.0, d = 5e-5, p[3] = {0.1, 0.2, s * (1.0 - d)};
    const double strips = 8.0 / 3.0 * E * d * sqrt(2.0 * d);
    const sap_placed_shape plane = place(SAP_SHAPE_PLANE, 0.0, 0.0, 0.0, none, turn);
    sap_placed_shape lying = place(SAP_SHAPE_CYLINDER, s, s, 0.0, p, lie);
    tilt(plane.R, &lying);
    const double F = sap_v3_dot(touch(&plane, &lying, rigid, E).f, plane.R + 6) / (s * s * s);
    const double swapped = sap_v3_dot(touch(&lying, &plane, E, rigid).f, plane.R + 6) / (s * s * s);
    ASSERT_NEAR(F, strips, 1e-4 * strips);
    ASSERT_NEAR(swapped, -F, 1e-5 * F);
  }
}

// Two cans on each other, the upper one off by `off`. Each wall has a strip of width d/2 beside the
// flat middle, in which p = kappa (R - r) on a cone about its axis; their lateral forces add up to
//   4 kappa int (R - r) (r^2 - off^2/4)^(1/2) dr  from R - d/2 to R
// in the direction of the offset, whichever it is.
static void test_cans(void** state) {
  (void)state;
  enum { TURNS = 12, STEPS = 1000 };
  const double R = 0.04, h = 0.05, kappa = E / R, depths[2] = {1e-4, 1e-3};
  for (int i = 0; i < 2 * TURNS; ++i) {
    const double d = depths[i % 2], off = 0.01, turn = 0.05 + 2.0 * PI * (i / 2) / TURNS;
    const double u[2] = {cos(turn), sin(turn)}, p[3] = {off * u[0], off * u[1], 2.0 * h - d};
    const sap_placed_shape a = place(SAP_SHAPE_CYLINDER, R, h, 0.0, none, none);
    const sap_placed_shape b = place(SAP_SHAPE_CYLINDER, R, h, 0.0, p, none);
    const wrench w = touch(&a, &b, kappa, kappa);
    double lateral = 0.0;
    for (int k = 0; k < STEPS; ++k) {
      const double r = R - 0.5 * d * (k + 0.5) / STEPS;
      lateral += 0.5 * d / STEPS * 4.0 * kappa * (R - r) * sqrt(r * r - 0.25 * off * off);
    }
    ASSERT_NEAR(w.f[0] * u[0] + w.f[1] * u[1], lateral, 2e-3 * lateral);  // walls at both corners
    ASSERT_NEAR(w.f[1] * u[0] - w.f[0] * u[1], 0.0, 1e-8 * w.f[2]);
  }
}

// A rigid handle in a soft ellipsoid, oblique to its axes and off its middle: a short line of
// points, whose torsion and what they leave to spin are the integral of p |x - c_f| over the
// mantle, summed on a grid.
static void test_handle(void** state) {
  (void)state;
  enum { GRID = 300 };
  const double h[3] = {0.0625, 0.04165, 0.04165}, r = 0.015, length = 0.055, oblique = 0.4;
  const double p[3] = {0.0, 0.003, h[2] + r - 2e-3};
  const double lie[3] = {0.0, 0.5 * PI, 0.0}, turn[3] = {0.0, 0.0, oblique};
  const sap_placed_shape pad = place(SAP_SHAPE_ELLIPSOID, h[0], h[1], h[2], none, none);
  sap_placed_shape handle = place(SAP_SHAPE_CYLINDER, r, length, 0.0, p, lie);
  double q[4], R[9], sums[4] = {0.0}, torsion = 0.0;
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(R, q);
  tilt(R, &handle);
  for (int i = 0; i < 2 * GRID * GRID; ++i) {
    const double along = length * (2.0 * (i / GRID % GRID + 0.5) / GRID - 1.0);
    const double angle = 0.5 * PI * (2.0 * (i % GRID + 0.5) / GRID - 1.0);
    const double local[3] = {along, r * sin(angle), -r * cos(angle)};
    double x[3];
    sap_m3_mul_v3(x, R, local);
    sap_v3_add(x, x, handle.p);
    const double d = 1.0 - hypot(hypot(x[0] / h[0], x[1] / h[1]), x[2] / h[2]);
    const double f = sap_most(0.0, d) * cos(angle);
    if (i < GRID * GRID) {
      sums[0] += f * x[0];
      sums[1] += f * x[1];
      sums[2] += f;
    } else {
      torsion += f * hypot(x[0] - sums[0] / sums[2], x[1] - sums[1] / sums[2]) / sums[2];
    }
  }
  const wrench w = touch(&pad, &handle, 0.0, rigid);
  double all = w.patch.torsion;
  for (int j = 0; j < w.count; ++j) {
    const sap_manifold_point* x = &w.points.points[j];
    all -= w.patch.stiffness[j] * x->phi / w.normal *
           hypot(x->p[0] - sums[0] / sums[2], x->p[1] - sums[1] / sums[2]);
  }
  assert_int_equal(w.count, 3);
  ASSERT_NEAR(all, torsion, 1e-3 * torsion);
}

// A cylinder on its rim: the force is the sum over a grid, also where the pressure below the mantle
// surrounds that below the end.
static void test_rim(void** state) {
  (void)state;
  enum { GRID = 1200 };
  const double R = 0.04, h = 0.05, d = 2e-3;
  const sap_placed_shape plane = ground();
  for (int i = 0; i < 6; ++i) {
    const double tilt = PI / 180.0 * (24.0 + 5.0 * i), turn[3] = {0.0, 0.5 * PI - tilt, 0.0};
    const double p[3] = {0.0, 0.0, h * sin(tilt) + R * cos(tilt) - d};
    const sap_placed_shape can = place(SAP_SHAPE_CYLINDER, R, h, 0.0, p, turn);
    const double x0 = h * cos(tilt) - R * sin(tilt), half = 0.02, cell = 2.0 * half / GRID;
    double sum = 0.0;
    for (int k = 0; k < GRID * GRID; ++k) {
      const double out[3] = {-x0 + half - cell * (k / GRID + 0.5), half - cell * (k % GRID + 0.5),
                             -p[2]};
      double at[3];
      sap_m3_tmul_v3(at, can.R, out);
      sum += sap_most(0.0, sap_least(R - hypot(at[0], at[1]), h - fabs(at[2])));
    }
    sum *= E / R * cell * cell;
    const wrench w = touch(&plane, &can, rigid, 0.0);
    ASSERT_NEAR(w.f[2], sum, 1e-4 * sum);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sphere),     cmocka_unit_test(test_balls),
      cmocka_unit_test(test_cylinder),   cmocka_unit_test(test_torsion),
      cmocka_unit_test(test_box),        cmocka_unit_test(test_stiffness),
      cmocka_unit_test(test_continuity), cmocka_unit_test(test_cycle),
      cmocka_unit_test(test_random),     cmocka_unit_test(test_hull),
      cmocka_unit_test(test_far),        cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_yaw),        cmocka_unit_test(test_cans),
      cmocka_unit_test(test_handle),     cmocka_unit_test(test_rim),
  };
  return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
