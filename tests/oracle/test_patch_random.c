// SPDX-License-Identifier: BSD-3-Clause
// Patches of random pairs of all shapes: size ratios up to 1000, depths from 1e-7 to half of the
// size. Each has a finite patch, opposite to that of the swapped pair, and a force that is smooth
// in small motions, also across edges; that of smooth shapes agrees with a sum over a fine grid.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/geometry/collide.h"
#include "multibody/geometry/patch.h"
#include "support/mesh_shapes.h"

enum { POSES = 150, FACETS = 200, CELLS = 160 };
static const double E = 1e5, rigid = (double)INFINITY;
static mesh_shape meshes[MESH_SHAPES];
static struct {
  sap_patch_surface surface;
  double planes[2][FACETS][4];
} room;

static uint64_t seed;

static double draw(double low, double high) {
  seed = seed * 6364136223846793005U + 1442695040888963407U;
  return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static double draw_scale(double low, double high) {
  return low * pow(high / low, draw(0.0, 1.0));
}

static void turn_by(const double turn[3], sap_placed_shape* shape) {
  double q[4], R[9], before[9];
  sap_v3_copy(before, shape->R);
  sap_v3_copy(before + 3, shape->R + 3);
  sap_v3_copy(before + 6, shape->R + 6);
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(R, q);
  sap_m3_mul(shape->R, R, before);
}

static sap_placed_shape draw_shape(sap_shape_type type, double scale) {
  sap_shape_def def = sap_shape_def_default();
  sap_placed_shape shape;
  if (type == SAP_SHAPE_MESH) {
    mesh_shape_place(&meshes[(int)draw(0.0, MESH_SHAPES)], &shape);
  } else {
    def.type = type;
    for (int k = 0; k < 3; ++k) {
      def.size[k] = scale * draw_scale(0.4, 2.5);
    }
    sap_shape_init(&shape, &def, NULL);
  }
  const double aligned[3] = {0.0, 0.0, 1.5707963267948966 * (int)draw(0.0, 4.0)};
  const double any[3] = {draw(-3.0, 3.0), draw(-3.0, 3.0), draw(-3.0, 3.0)};
  const double none[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  for (int k = 0; k < 9; ++k) {
    shape.R[k] = none[k];
  }
  sap_v3_set(shape.p, 0.0, 0.0, 0.0);
  turn_by(draw(0.0, 1.0) < 0.25 ? aligned : any, &shape);
  return shape;
}

static double find_depth(const sap_placed_shape* a, const sap_placed_shape* b) {
  sap_manifold m;
  sap_collide(a, b, 0.0, &m);
  return m.count > 0 ? -sap_manifold_deepest(&m)->phi : -1.0;
}

// Moves b along a random direction until it is `depth` deep in a. False: this direction has a jump.
static bool bring_together(const sap_placed_shape* a, sap_placed_shape* b, double depth) {
  double way[3] = {draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0)};
  double low = 0.0, high = a->bound + b->bound;
  if (a->type == SAP_SHAPE_PLANE) {
    sap_v3_copy(way, a->R + 6);
    high = b->bound;
    low = -high;
  }
  const double norm = sap_v3_norm(way);
  for (int k = 0; k < 100; ++k) {
    const double middle = 0.5 * (low + high);
    sap_v3_scale(b->p, way, middle / norm);
    *(find_depth(a, b) > depth ? &low : &high) = middle;
  }
  sap_v3_scale(b->p, way, low / norm);
  const double found = find_depth(a, b);
  return found > 0.5 * depth && found < 2.0 * depth;
}

typedef struct wrench {
  double f[3], N[3], force, area;
  bool found, sound;
} wrench;

static wrench touch(const sap_placed_shape* a, const sap_placed_shape* b, double kappa_a,
                    double kappa_b) {
  const double kappa[2] = {kappa_a, kappa_b};
  wrench w = {.found = false};
  sap_manifold manifold;
  room.surface.planes[0] = room.planes[0];
  room.surface.planes[1] = room.planes[1];
  sap_collide(a, b, 0.0, &manifold);
  w.found = manifold.count > 0 && sap_patch_find(&room.surface, a, b, kappa, &manifold);
  w.area = w.found ? sap_patch_area(&room.surface) : 0.0;
  w.sound = w.area > 0.0;
  for (int32_t k = 0; w.found && k < room.surface.npatches; ++k) {
    const sap_patch_cluster* patch = &room.surface.patches[k];
    w.sound = w.sound && isfinite(patch->torsion);
    for (int32_t i = 0; i < patch->points.count; ++i) {
      const sap_manifold_point* x = &patch->points.points[i];
      w.sound =
          w.sound && x->phi <= 0.0 && isfinite(sap_v3_norm(x->p)) && patch->stiffness[i] > 0.0;
      sap_v3_add_scaled(w.f, x->n, -patch->stiffness[i] * x->phi);
      sap_v3_copy(w.N, x->n);
    }
  }
  w.force = sap_v3_norm(w.f);
  return w;
}

static bool is_smooth(sap_shape_type type) {
  return type != SAP_SHAPE_BOX && type != SAP_SHAPE_CYLINDER && type != SAP_SHAPE_MESH;
}

// Force along N by midpoints on a grid about the samples. On each line along N the surface is found
// by bisection. 0: the patch is too narrow for the grid.
static double sum_on_grid(const sap_placed_shape* a, const sap_placed_shape* b,
                          const double kappa[2], const double N[3], double area) {
  const sap_patch_surface* s = &room.surface;
  double M[9], low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL}, from_b[3],
               sum = 0.0;
  sap_v3_sub(from_b, b->p, a->p);
  sap_m3_from_normal(M, N);
  for (int32_t i = 0; i < s->ncorners; ++i) {
    for (int k = 0; k < 2; ++k) {
      const double x = sap_v3_dot(M + 3 * k, s->corners[i].x);
      low[k] = fmin(low[k], x);
      high[k] = fmax(high[k], x);
    }
  }
  const double wide[2] = {0.4 * (high[0] - low[0]), 0.4 * (high[1] - low[1])};
  const double cell[2] = {(high[0] - low[0] + 2.0 * wide[0]) / CELLS,
                          (high[1] - low[1] + 2.0 * wide[1]) / CELLS};
  const double z0 = sap_v3_dot(N, s->x0), reach = 0.5 * (a->inner < b->inner ? a->inner : b->inner);
  for (int32_t i = 0; i < CELLS * CELLS; ++i) {
    double ends[2] = {z0 - reach, z0 + reach};
    sap_patch_depth d[2];
    for (int k = 0; k < 60; ++k) {
      const double z = 0.5 * (ends[0] + ends[1]);
      double x[3], y[3];
      sap_v3_scale(x, N, z);
      sap_v3_add_scaled(x, M, low[0] - wide[0] + (i % CELLS + 0.5) * cell[0]);
      sap_v3_add_scaled(x, M + 3, low[1] - wide[1] + (i / CELLS + 0.5) * cell[1]);
      sap_patch_find_depth(a, x, &d[0]);
      sap_v3_sub(y, x, from_b);
      sap_patch_find_depth(b, y, &d[1]);
      const double h = isinf(kappa[0])   ? d[0].d
                       : isinf(kappa[1]) ? -d[1].d
                                         : kappa[0] * d[0].d - kappa[1] * d[1].d;
      ends[h > 0.0 ? 0 : 1] = z;
    }
    const double p = isinf(kappa[0]) ? kappa[1] * d[1].d : kappa[0] * d[0].d;
    sum += p > 0.0 ? p * cell[0] * cell[1] : 0.0;
  }
  return CELLS * CELLS * cell[0] * cell[1] < 5.0 * area ? sum : 0.0;
}

typedef struct counts {
  int poses, missing, summed;
} counts;

static void check(const sap_placed_shape* a, const sap_placed_shape* b, double depth, bool grid,
                  counts* n) {
  const double pick = draw(0.0, 1.0);
  const bool plane = a->type == SAP_SHAPE_PLANE, smooth = is_smooth(a->type) && is_smooth(b->type);
  const double kappa[2] = {plane || pick < 0.3 ? rigid : E / a->inner,
                           !plane && pick > 0.7 ? rigid : E / b->inner};
  const wrench swapped = touch(b, a, kappa[1], kappa[0]), w = touch(a, b, kappa[0], kappa[1]);
  ++n->poses;
  if (!w.found || !swapped.found) {
    ++n->missing;
    return;
  }
  double sum[3], second = 0.0;
  assert_true(w.sound && swapped.sound);
  sap_v3_add(sum, w.f, swapped.f);
  // Both start at points that differ by round-off, relative to the depth.
  assert_true(sap_v3_norm(sum) < 1e-6 * w.force);
  if (grid && smooth && depth < 0.005) {
    const sap_patch_surface* of = &room.surface;  // in an order of its own
    double N[3];
    sap_v3_scale(N, w.N, of->shape[0] == a ? 1.0 : -1.0);
    const double F = sum_on_grid(of->shape[0], of->shape[1], of->kappa, N, w.area);
    assert_true(F == 0.0 || fabs(w.force - F) < 2e-3 * F);  // of the grid
    n->summed += F > 0.0;
  }
  double way[3] = {draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0)}, before[2][3] = {{0.0}};
  const double step = 1e-3 * find_depth(a, b), turn[3] = {draw(-1.0, 1.0), draw(-1.0, 1.0), 0.5};
  for (int k = -2; k <= 2; ++k) {
    sap_placed_shape moved = *b;
    double tilt[3];
    sap_v3_scale(tilt, turn, k * step / b->bound);
    turn_by(tilt, &moved);
    sap_v3_add_scaled(moved.p, way, k * step);
    const wrench at = touch(a, &moved, kappa[0], kappa[1]);
    for (int i = 0; i < 3 && k >= 0; ++i) {
      second = fmax(second, fabs(at.f[i] - 2.0 * before[1][i] + before[0][i]) / w.force);
    }
    sap_v3_copy(before[0], before[1]);
    sap_v3_copy(before[1], at.f);
  }
  const bool rims = a->type == SAP_SHAPE_CYLINDER && b->type == SAP_SHAPE_CYLINDER;
  assert_true(second < (rims ? 1e-3 : 1e-4));  // 1e-6 of the curvature of the force, and round-off
}

static void test_pairs(void** state) {
  (void)state;
  mesh_shapes_create(meshes);
  for (int t = SAP_SHAPE_PLANE; t <= SAP_SHAPE_MESH; ++t) {
    for (int u = t == SAP_SHAPE_PLANE ? t + 1 : t; u <= SAP_SHAPE_MESH; ++u) {
      counts n = {0};
      for (int i = 0; i < POSES; ++i) {
        seed = 7919U * (uint64_t)(i + 1) + 104729U * (uint64_t)(7 * t + u);
        const double s = u == SAP_SHAPE_MESH ? 1.0 : draw_scale(0.03, 30.0);
        const sap_placed_shape a = draw_shape((sap_shape_type)t, 1.0 / s);
        sap_placed_shape b = draw_shape((sap_shape_type)u, s);
        const double size = a.type == SAP_SHAPE_PLANE ? b.inner : fmin(a.inner, b.inner);
        const double depth = draw_scale(1e-7, 0.5);
        if (bring_together(&a, &b, depth * size)) {
          check(&a, &b, depth, i < 12, &n);
        }
      }
      const bool smooth = is_smooth((sap_shape_type)t) && is_smooth((sap_shape_type)u);
      print_message("pair %d %d: %d poses, %d missing, %d sums\n", t, u, n.poses, n.missing,
                    n.summed);
      assert_true(n.poses > POSES / 2);
      assert_int_equal(n.missing, 0);
      assert_true(!smooth || n.summed > 2);
    }
  }
  mesh_shapes_destroy(meshes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs)};
  return cmocka_run_group_tests_name("patch_random", tests, NULL, NULL);
}
