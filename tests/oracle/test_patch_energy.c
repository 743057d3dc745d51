// SPDX-License-Identifier: BSD-3-Clause
// Patches of all pairs of shapes have an energy: the stiffness is the slope of the force, closed
// motions do no work, and exchanged shapes have opposite wrenches.
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

enum { FACETS = 200, PARTS = 60 };
static const double PI = 3.14159265358979323846, E = 1e5, rigid = (double)INFINITY;
static mesh_shape meshes[MESH_SHAPES];
static struct {
  sap_patch_surface surface;
  double planes[2][FACETS][4];
} room;

// Force on b, moment about the world's origin, stiffness along N and its moment.
typedef struct wrench {
  double f[3], m[3], N[3], k, km[3];
} wrench;

typedef struct couple {
  sap_placed_shape a, b;
  double kappa[2];
} couple;

static wrench touch(const couple* c) {
  wrench w = {.k = 0.0};
  sap_manifold manifold;
  room.surface.planes[0] = room.planes[0];
  room.surface.planes[1] = room.planes[1];
  sap_collide(&c->a, &c->b, 0.0, &manifold);
  assert_true(manifold.count > 0);
  assert_true(sap_patch_find(&room.surface, &c->a, &c->b, c->kappa, &manifold));
  for (int pass = 0; pass < 2; ++pass) {  // the force, then the stiffness along it
    for (int32_t k = 0; k < room.surface.npatches; ++k) {
      const sap_patch_cluster* patch = &room.surface.patches[k];
      for (int32_t i = 0; i < patch->points.count; ++i) {
        const sap_manifold_point* point = &patch->points.points[i];
        const double along = sap_v3_dot(point->n, w.N);
        double x[3], f[3], m[3];
        sap_v3_add(x, point->p, c->a.p);
        sap_v3_scale(f, point->n, -patch->stiffness[i] * point->phi);
        sap_v3_cross(m, x, f);
        sap_v3_add_scaled(w.f, f, 1.0 - pass);
        sap_v3_add_scaled(w.m, m, 1.0 - pass);
        w.k += patch->stiffness[i] * along * along;
        sap_v3_cross(m, x, point->n);
        sap_v3_add_scaled(w.km, m, pass * patch->stiffness[i] * along);
      }
    }
    sap_v3_scale(w.N, w.f, 1.0 / sap_v3_norm(w.f));
  }
  return w;
}

static sap_placed_shape place(sap_shape_type type, const double size[3], const double turn[3]) {
  sap_shape_def def = sap_shape_def_default();
  sap_placed_shape shape;
  double q[4];
  def.type = type;
  sap_v3_copy(def.size, size);
  if (type == SAP_SHAPE_MESH) {
    mesh_shape_place(&meshes[5], &shape);
  } else {
    sap_shape_init(&shape, &def, NULL);
  }
  sap_v3_set(shape.p, 0.0, 0.0, 0.0);
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(shape.R, q);
  return shape;
}

// Places b at a depth in a, askew or nearly face to face.
static couple make_couple(sap_shape_type t, sap_shape_type u, int which_rigid, double depth,
                          double askew) {
  static const double size_a[3] = {0.05, 0.04, 0.03}, size_b[3] = {0.03, 0.05, 0.04};
  const bool plane = t == SAP_SHAPE_PLANE;
  const double turn_a[3] = {plane ? 0.0 : 0.1, plane ? 0.0 : 0.2, 0.3},
               turn_b[3] = {turn_a[0] + askew * (0.2 - turn_a[0]),
                            turn_a[1] - askew * (0.1 + turn_a[1]), 0.3 + 0.1 * askew};
  const double way[3] = {plane ? 0.0 : 0.1, plane ? 0.0 : 0.2, 1.0};
  couple c = {.a = place(t, size_a, turn_a), .b = place(u, size_b, turn_b)};
  double low = 0.0, high = 2.0;
  for (int k = 0; k < 100; ++k) {
    const double middle = 0.5 * (low + high);
    sap_manifold points;
    sap_v3_scale(c.b.p, way, middle);
    sap_collide(&c.a, &c.b, 0.0, &points);
    *(points.count > 0 && -sap_manifold_deepest(&points)->phi > depth ? &low : &high) = middle;
  }
  sap_v3_scale(c.b.p, way, low);
  c.kappa[0] = plane || which_rigid == 1 ? rigid : E / c.a.inner;
  c.kappa[1] = !plane && which_rigid == 2 ? rigid : E / c.b.inner;
  return c;
}

// Moves b, and turns it about a point of the world.
static couple move(const couple* c, const double way[3], const double turn[3],
                   const double about[3]) {
  couple out = *c;
  double q[4], R[9], arm[3];
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(R, q);
  sap_m3_mul(out.b.R, R, c->b.R);
  sap_v3_sub(arm, c->b.p, about);
  sap_m3_mul_v3(out.b.p, R, arm);
  sap_v3_add(out.b.p, out.b.p, about);
  sap_v3_add(out.b.p, out.b.p, way);
  return out;
}

// Up to the round-off of the depth.
static void check_swap(const couple* c, const wrench* w, double depth) {
  const couple swapped = {c->b, c->a, {c->kappa[1], c->kappa[0]}};
  const wrench v = touch(&swapped);
  const double tolerance = 1e-15 / depth * sap_v3_norm(w->f);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(v.f[i], -w->f[i], tolerance);
    ASSERT_NEAR(v.m[i], -w->m[i], tolerance);
  }
}

static bool is_round(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_SPHERE || shape->type == SAP_SHAPE_CAPSULE;
}

// Returns true if the points have the slope of the moment (patch.h): all press, or the one has both
// centres, as that of balls and capsules does away from edges.
static bool has_slope(const couple* c) {
  const sap_patch_cluster* patch = &room.surface.patches[0];
  double least = HUGE_VAL;
  for (int32_t i = 0; i < patch->points.count; ++i) {
    least = fmin(least, -patch->stiffness[i] * patch->points.points[i].phi);
  }
  const bool both = (is_round(&c->a) || c->a.type == SAP_SHAPE_PLANE) &&
                    (is_round(&c->b) || c->b.type == SAP_SHAPE_MESH);
  return patch->points.count == 1 ? both : least > 1e-9 * patch->force;
}

// Of the force and of the moment about x0, by central differences. Returns true if the moment could
// be checked.
static bool check_stiffness(const couple* c, const wrench* w, double step) {
  static const double none[3] = {0.0, 0.0, 0.0};
  (void)touch(c);
  const bool exact = has_slope(c);
  double F[2], M[2][3], way[3], x0[3], m[3], km[3], R[9];
  sap_v3_add(x0, room.surface.x0, room.surface.shape[0] == &c->a ? c->a.p : c->b.p);
  for (int i = 0; i < 2; ++i) {
    sap_v3_scale(way, w->N, i == 0 ? -step : step);
    const couple moved = move(c, way, none, none);
    const wrench at = touch(&moved);
    F[i] = sap_v3_dot(at.f, w->N);
    sap_v3_cross(m, x0, at.f);
    sap_v3_sub(M[i], at.m, m);
  }
  ASSERT_NEAR(w->k, (F[0] - F[1]) / (2.0 * step), 1e-6 * w->k);
  sap_v3_scale(way, w->N, w->k);
  sap_v3_cross(m, x0, way);
  sap_v3_sub(km, w->km, m);
  sap_m3_from_normal(R, w->N);
  sap_v3_sub(m, M[0], M[1]);
  sap_v3_scale(m, m, 0.5 / step);
  sap_v3_sub(m, km, m);
  const double scale = exact ? w->k * fmin(c->a.bound, c->b.bound) : HUGE_VAL;
  ASSERT_NEAR(sap_v3_dot(R, m), 0.0, 1e-6 * scale);
  ASSERT_NEAR(sap_v3_dot(R + 3, m), 0.0, 1e-6 * scale);
  ASSERT_NEAR(sap_v3_dot(R + 6, m), 0.0, 1e-4 * scale);  // points do not have lateral slopes
  return exact;
}

// Work of closed motions about the contact, over all work done: along N and at right angles to it,
// or a turn about it.
static void check_cycle(const couple* c, const wrench* w, double depth, int mode) {
  double R[9], about[3], net = 0.0, all = 0.0;
  sap_m3_from_normal(R, w->N);
  (void)touch(c);
  sap_v3_add(about, room.surface.x0, room.surface.shape[0] == &c->a ? c->a.p : c->b.p);
  const double up = 0.3 * depth, aside = mode == 0 ? 2.0 * depth : 0.0;
  const double turn = mode > 0 ? up / 0.03 : 0.0;
  const double* axis = R + (mode == 2 ? 3 : 0);
  for (int i = 0; i < PARTS; ++i) {
    const double t = 2.0 * PI * (i + 0.5) / PARTS;
    double way[3], angle[3], v[3], omega[3], x[3], m[3];
    sap_v3_scale(way, w->N, up * cos(t));
    sap_v3_add_scaled(way, R, aside * sin(t));
    sap_v3_scale(angle, axis, turn * sin(t));
    sap_v3_scale(v, w->N, -up * sin(t));
    sap_v3_add_scaled(v, R, aside * cos(t));
    sap_v3_scale(omega, axis, turn * cos(t));
    const couple moved = move(c, way, angle, about);
    const wrench at = touch(&moved);
    sap_v3_add(x, about, way);
    sap_v3_cross(m, x, at.f);
    sap_v3_sub(m, at.m, m);
    const double power = sap_v3_dot(at.f, v) + sap_v3_dot(m, omega);
    net += power;
    all += fabs(power);
  }
  ASSERT_NEAR(net, 0.0, 3e-6 * all);  // of the quadrature across rims
}

static void test_energy(void** state) {
  (void)state;
  int moments = 0;
  mesh_shapes_create(meshes);
  for (int t = SAP_SHAPE_PLANE; t <= SAP_SHAPE_MESH; ++t) {
    for (int u = t == SAP_SHAPE_PLANE ? t + 1 : t; u <= SAP_SHAPE_MESH; ++u) {
      for (int i = 0; i < 9; ++i) {
        const double depth = i < 3 ? 1e-4 : 1e-3, askew = i < 6 ? 1.0 : 1e-3;
        const couple c = make_couple((sap_shape_type)t, (sap_shape_type)u, i % 3, depth, askew);
        const bool flat = sap_patch_is_flat(&c.a) && sap_patch_is_flat(&c.b);
        for (int one = 0; one < 2 && (i < 6 || flat); ++one) {
          room.surface.one_plane = one != 0;
          const wrench w = touch(&c);
          check_swap(&c, &w, depth);
          if (room.surface.one_plane) {  // else each cluster is stiff along its own normal
            moments += check_stiffness(&c, &w, 1e-4 * depth);
          }
          for (int mode = 0; mode < 3 && i < 6; ++mode) {  // faces lift off with kinks
            check_cycle(&c, &w, depth, mode);
          }
        }
      }
    }
  }
  print_message("%d moments\n", moments);
  assert_true(moments > 60);
  mesh_shapes_destroy(meshes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy)};
  return cmocka_run_group_tests_name("patch_energy", tests, NULL, NULL);
}
