// SPDX-License-Identifier: BSD-3-Clause
// Surfaces with several sheets and normals: their clusters have the wrench of the pressure, and stay
// continuous where they merge, split, appear and end.
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
#include "support/ring_mesh.h"

static const double PI = 3.14159265358979323846, rigid = (double)INFINITY, OUTER = 0.05,
                    INNER = 0.01, HIGH = 0.02;
static struct {
  sap_patch_surface surface;
  double planes[2][6][4];
} room;

static sap_placed_shape place(sap_shape_type type, const double size[3], const double p[3],
                              const double turn[3]) {
  sap_shape_def def = sap_shape_def_default();
  sap_placed_shape shape;
  double q[4];
  def.type = type;
  sap_v3_copy(def.size, size);
  sap_shape_init(&shape, &def, NULL);
  sap_v3_copy(shape.p, p);
  sap_quaternion_exp(q, turn);
  sap_quaternion_to_matrix(shape.R, q);
  return shape;
}

// Force and moment about A's centre, sum of the normal forces and of the stiffness.
typedef struct sums {
  double w[8];
  int32_t clusters;
} sums;

static void add_force(const double x[3], const double f[3], double w[8]) {
  double m[3];
  sap_v3_cross(m, x, f);
  sap_v3_add(w, w, f);
  sap_v3_add(w + 3, w + 3, m);
}

// The wrench is that of the pressure on each triangle of the pieces. twist: tolerance of the moments,
// as a cluster of one point has none about its normal.
static void check_wrench(const sap_placed_shape* a, const sums* of, double twist) {
  const sap_patch_surface* s = &room.surface;
  double w[8] = {0.0}, F = 0.0, origin[3];
  const double sign = s->shape[0] == a ? 1.0 : -1.0;
  sap_v3_sub(origin, s->shape[0]->p, a->p);
  for (int32_t i = 0; i < s->npieces; ++i) {
    const sap_patch_piece* piece = &s->pieces[i];
    const sap_patch_corner* c = &s->corners[piece->first];
    for (int32_t k = 1; k + 1 < piece->count; ++k) {
      double u[3], v[3], cross[3], f[3];
      sap_v3_sub(u, c[k].x, c[0].x);
      sap_v3_sub(v, c[k + 1].x, c[0].x);
      sap_v3_cross(cross, u, v);
      const double area = 0.5 * sap_v3_norm(cross);
      const int32_t at[3] = {0, k, k + 1};
      for (int j = 0; j < 3; ++j) {
        const sap_patch_corner *first = &c[at[j]], *next = &c[at[(j + 1) % 3]];
        double x[3];
        sap_v3_add(x, first->x, next->x);
        sap_v3_scale(x, x, 0.5);
        sap_v3_add(x, x, origin);
        sap_v3_scale(f, piece->n, sign * area / 6.0 * (first->p + next->p));
        add_force(x, f, w);
        F += sap_v3_norm(f);
      }
    }
  }
  for (int i = 0; i < 6; ++i) {
    ASSERT_NEAR(of->w[i], w[i], F * (i < 3 ? 1e-9 : 0.1 * twist));
  }
}

static sums touch(const sap_placed_shape* a, const sap_placed_shape* b, const double kappa[2]) {
  sums out = {.clusters = 0};
  sap_manifold manifold;
  room.surface.planes[0] = room.planes[0];
  room.surface.planes[1] = room.planes[1];
  sap_collide(a, b, 0.0, &manifold);
  assert_true(manifold.count > 0);
  assert_true(sap_patch_find(&room.surface, a, b, kappa, &manifold));
  out.clusters = room.surface.npatches;
  for (int32_t k = 0; k < out.clusters; ++k) {
    const sap_patch_cluster* patch = &room.surface.patches[k];
    for (int32_t i = 0; i < patch->points.count; ++i) {
      const sap_manifold_point* x = &patch->points.points[i];
      const double normal = -patch->stiffness[i] * x->phi;
      double f[3];
      assert_true(normal >= 0.0 && patch->stiffness[i] > 0.0);
      sap_v3_scale(f, x->n, normal);
      add_force(x->p, f, out.w);
      out.w[6] += normal;
      out.w[7] += patch->stiffness[i];
    }
  }
  return out;
}

typedef sums (*position)(double t, const double kappa[2]);

// Sweeps from t = 0 to 1 in steps of about 1e-5 rad or 1 um. The wrench, the sum of the normal
// forces and so the friction have no jump.
static void check_sweep(position at, const double kappa[2], int steps, int most, double jump) {
  static const double size[8] = {1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 1.0, 0.0};
  sums before[2] = {{.clusters = 0}};
  double second[8] = {0.0}, F = 0.0;
  int fewest = INT32_MAX, highest = 0;
  for (int i = 0; i <= steps; ++i) {
    const sums now = at((double)i / steps, kappa);
    fewest = now.clusters < fewest ? now.clusters : fewest;
    highest = now.clusters > highest ? now.clusters : highest;
    F = fmax(F, now.w[6]);
    for (int k = 0; k < 8 && i > 1; ++k) {
      second[k] = fmax(second[k], fabs(now.w[k] - 2.0 * before[1].w[k] + before[0].w[k]));
    }
    before[0] = before[1];
    before[1] = now;
  }
  for (int k = 0; k < 7; ++k) {
    ASSERT_NEAR(second[k], 0.0, jump * F * size[k]);
  }
  assert_true(fewest < highest || highest == 1);
  assert_int_equal(highest, most);
}

// A box on a larger one rolls about the edge of its face from flat to 45 degrees.
static sums wedge(double t, const double kappa[2]) {
  static const double size[3] = {0.03, 0.02, 0.025}, base[3] = {0.1, 0.1, 0.1}, none[3] = {0.0};
  const double roll[3] = {0.25 * PI * t, 0.0, 0.0}, yaw[3] = {0.0, 0.0, 0.2}, depth = 1e-3;
  const double p[3] = {0.01, 0.02, 0.1 + size[1] * sin(roll[0]) + size[2] * cos(roll[0]) - depth};
  const sap_placed_shape a = place(SAP_SHAPE_BOX, base, none, none);
  sap_placed_shape b = place(SAP_SHAPE_BOX, size, p, roll);
  const sap_placed_shape before = b, turned = place(SAP_SHAPE_BOX, size, p, yaw);
  sap_m3_mul(b.R, turned.R, before.R);
  const sums out = touch(&a, &b, kappa);
  check_wrench(&a, &out, 1e-9);
  return out;
}

static void test_wedge(void** state) {
  (void)state;
  static const int clusters[3] = {5, 5, 1};
  const double kappa[3][2] = {{1e6, 5e6}, {1e6, rigid}, {rigid, 5e6}};
  for (int i = 0; i < 3; ++i) {
    check_sweep(wedge, kappa[i], 78500, clusters[i], 1e-5);
  }
  // A rigid wedge has the normal forces F/(2 cos 45 degrees), and friction as large.
  const sums end = wedge(1.0, kappa[1]);
  ASSERT_NEAR(end.w[6] / end.w[2], sqrt(2.0), 0.02);  // of its ends
}

// A rigid bar held by the face of a pad, turned by a little, so that its sides are seen nearly edge-on:
// friction resists a turn about the normal by mu F times the mean distance from the centre of the
// rectangle of the half lengths a = 10 mm, b = 15 mm:
//   (d + a^2/(2 b) log((b + d)/a) + b^2/(2 a) log((a + d)/b))/3,  d^2 = a^2 + b^2
static void test_torsion(void** state) {
  (void)state;
  static const double pad[3] = {0.01, 0.015, 0.015}, bar[3] = {0.01, 0.08, 0.01}, none[3] = {0.0};
  const double a = bar[2], b = pad[1], d = hypot(a, b), kappa[2] = {1e7, rigid};
  const double exact =
      (d + a * a / (2.0 * b) * log((b + d) / a) + b * b / (2.0 * a) * log((a + d) / b)) / 3.0;
  for (int i = 0; i < 4; ++i) {
    const double turn[3] = {1e-3 * i, 3e-4 * i, 0.0}, p[3] = {0.02 - 1e-4, 0.049, 0.0};
    const sap_placed_shape left = place(SAP_SHAPE_BOX, pad, none, none);
    const sap_placed_shape right = place(SAP_SHAPE_BOX, bar, p, turn);
    (void)touch(&left, &right, kappa);
    const sap_patch_cluster* patch = &room.surface.patches[0];
    double torsion = 0.0, F = 0.0, centre[3] = {0.0};
    for (int pass = 0; pass < 2; ++pass) {
      for (int32_t k = 0; k < patch->points.count; ++k) {
        const sap_manifold_point* x = &patch->points.points[k];
        const double f = -patch->stiffness[k] * x->phi;
        torsion += pass == 0 ? 0.0 : f / F * hypot(x->p[1] - centre[1], x->p[2] - centre[2]);
        F += pass == 0 ? f : 0.0;
        sap_v3_add_scaled(centre, x->p, pass == 0 ? f : 0.0);
      }
      sap_v3_scale(centre, centre, pass == 0 ? 1.0 / F : 1.0);
    }
    ASSERT_NEAR(torsion, exact, 0.01 * exact);
  }
}

// A rod that goes through a plate, askew, until it is out on the other side.
static sums rod(double t, const double kappa[2]) {
  static const double size[3] = {0.01, 0.01, 0.08}, plate[3] = {0.1, 0.1, 0.008}, none[3] = {0.0};
  const double turn[3] = {0.1, 0.2, 0.3}, p[3] = {0.003, 0.004, 0.085 - 0.1 * t};
  const sap_placed_shape a = place(SAP_SHAPE_BOX, plate, none, none);
  const sap_placed_shape b = place(SAP_SHAPE_BOX, size, p, turn);
  const sums out = touch(&a, &b, kappa);
  check_wrench(&a, &out, 3e-3);
  return out;
}

static void test_rod(void** state) {
  (void)state;
  // With two fields a cluster may become one point, without its moment about the normal.
  static const int clusters[3] = {6, 6, 3};
  const double kappa[3][2] = {{1e7, 1e7}, {1e7, rigid}, {rigid, 1e7}};
  for (int i = 0; i < 3; ++i) {
    check_sweep(rod, kappa[i], 50000, clusters[i], i == 0 ? 1e-4 : 1e-5);
  }
  // Through a rigid plate the rod has two sheets with opposite forces.
  const sums end = rod(1.0, kappa[2]);
  ASSERT_NEAR(end.w[2], 0.0, 1e-3 * end.w[6]);
  assert_true(end.clusters == 2 && end.w[6] > 1.0);
}

// The wrench on b of the block, from its centre. box: one of the four that it consists of, -1: the
// mesh.
static void add_block(const mesh_shape* mesh, int box, const sap_placed_shape* b, double kappa,
                      double w[8]) {
  static const double none[3] = {0.0}, middle = 0.5 * (OUTER + INNER), half = 0.5 * (OUTER - INNER);
  sap_placed_shape a;
  double p[3] = {0.0};
  if (box < 0) {
    mesh_shape_place(mesh, &a);
  } else {
    double size[3] = {half, middle, HIGH};
    p[0] = box < 2 ? (box == 0 ? middle : -middle) : (box == 2 ? -half : half);
    p[1] = box < 2 ? (box == 0 ? half : -half) : (box == 2 ? middle : -middle);
    if (box >= 2) {
      size[0] = middle;
      size[1] = half;
    }
    a = place(SAP_SHAPE_BOX, size, p, none);
  }
  const double both[2] = {rigid, kappa};
  sap_manifold manifold;
  room.surface.planes[0] = room.planes[0];
  room.surface.planes[1] = room.planes[1];
  sap_collide(&a, b, 0.0, &manifold);
  if (manifold.count == 0 || !sap_patch_find(&room.surface, &a, b, both, &manifold)) {
    return;
  }
  for (int32_t k = 0; k < room.surface.npatches; ++k) {
    const sap_patch_cluster* patch = &room.surface.patches[k];
    for (int32_t i = 0; i < patch->points.count; ++i) {
      double f[3], x[3];
      sap_v3_scale(f, patch->points.points[i].n,
                   -patch->stiffness[i] * patch->points.points[i].phi);
      sap_v3_add(x, patch->points.points[i].p, p);
      add_force(x, f, w);
    }
  }
}

// A block with a hole has the sum of the wrenches of the four boxes that it consists of.
static void test_mesh(void** state) {
  (void)state;
  double vertices[3 * RING_VERTICES], triangles[9 * RING_FACES];
  static const double centre[3] = {0.0};
  int32_t faces[3 * RING_FACES];
  sap_pool pool = {0};
  sap_patch_mesh* tree;
  mesh_shape mesh;
  (void)ring_mesh(OUTER, INNER, HIGH, 0.0, vertices, faces);
  mesh_shape_create(&mesh, vertices, RING_VERTICES);
  for (int i = 0; i < 3 * RING_FACES; ++i) {
    sap_v3_copy(triangles + 3 * i, vertices + 3 * faces[i]);
  }
  mesh.hull.ntriangles = RING_FACES;
  mesh.hull.triangles = triangles;
  assert_int_equal(sap_patch_mesh_create(&mesh.hull, centre, &pool, &tree, NULL), 0);
  mesh.polytope.triangles = tree;
  for (int type = SAP_SHAPE_SPHERE; type <= SAP_SHAPE_ELLIPSOID; ++type) {
    const double exact = type == SAP_SHAPE_CYLINDER ? 1e-5 : 1e-6;  // of the quadrature across rims
    for (int i = 0; i < 3; ++i) {
      static const double size[3] = {0.012, 0.015, 0.013};
      const double turn[3] = {0.1 * i, 0.2, 0.3 * i}, down[3] = {0.0, 0.0, -1.0};
      double p[3] = {0.015 * i, 0.005 * i, 0.0}, w[2][8] = {{0.0}};
      sap_placed_shape b = place((sap_shape_type)type, size, p, turn);
      b.p[2] = HIGH + sap_shape_extent(&b, down) - (i == 0 ? 6e-3 : 5e-4);
      for (int k = 0; k < 4; ++k) {
        add_block(&mesh, k, &b, 1e7, w[0]);
      }
      add_block(&mesh, -1, &b, 1e7, w[1]);
      // Over the hole the normals spread: one plane of a box loses a part of a moment.
      const double moments = i == 0 ? 2.5e-3 : exact;
      for (int k = 0; k < 6; ++k) {
        ASSERT_NEAR(w[1][k], w[0][k], w[0][2] * (k < 3 ? exact : 0.05 * moments));
      }
      assert_true(w[0][2] > 0.0);
    }
  }
  mesh.hull.triangles = NULL;
  sap_pool_free(&pool);
  mesh_shape_destroy(&mesh);
}

// Splits each triangle into four.
static void split(const double* from, int count, double* to) {
  for (int i = 0; i < count; ++i) {
    const double* x = from + 9 * i;
    double m[3][3];  // middle of the edge that begins at the corner
    for (int k = 0; k < 9; ++k) {
      m[k / 3][k % 3] = 0.5 * (x[k] + x[(k + 3) % 9]);
    }
    for (int k = 0; k < 3; ++k) {
      sap_v3_copy(to, x + 3 * k);
      sap_v3_copy(to + 3, m[k]);
      sap_v3_copy(to + 6, m[(k + 2) % 3]);
      to += 9;
    }
    for (int k = 0; k < 3; ++k, to += 3) {
      sap_v3_copy(to, m[k]);
    }
  }
}

// The force does not depend on how fine the mesh is, also where there is no room for all samples.
static void test_fine_mesh(void** state) {
  (void)state;
  enum { LEVELS = 6, MOST = RING_FACES << (2 * LEVELS) };
  static double vertices[3 * RING_VERTICES], triangles[2][9 * MOST];
  static const double centre[3] = {0.0}, p[3] = {0.012, 0.005, HIGH + 0.019}, none[3] = {0.0};
  static const double size[3] = {0.02, 0.02, 0.02};
  int32_t faces[3 * RING_FACES];
  double first = 0.0;
  mesh_shape mesh;
  (void)ring_mesh(OUTER, INNER, HIGH, 0.0, vertices, faces);
  mesh_shape_create(&mesh, vertices, RING_VERTICES);
  for (int i = 0; i < 3 * RING_FACES; ++i) {
    sap_v3_copy(triangles[0] + 3 * i, vertices + 3 * faces[i]);
  }
  for (int level = 0; level <= LEVELS; ++level) {
    sap_pool pool = {0};
    sap_patch_mesh* tree;
    mesh.hull.ntriangles = RING_FACES << (2 * level);
    mesh.hull.triangles = triangles[level % 2];
    assert_int_equal(sap_patch_mesh_create(&mesh.hull, centre, &pool, &tree, NULL), 0);
    mesh.polytope.triangles = tree;
    const sap_placed_shape ball = place(SAP_SHAPE_SPHERE, size, p, none);
    double w[8] = {0.0};
    add_block(&mesh, -1, &ball, 1e7, w);
    first = level == 0 ? w[2] : first;
    ASSERT_NEAR(w[2], first, 1e-6 * first);
    if (level < LEVELS) {
      split(mesh.hull.triangles, mesh.hull.ntriangles, triangles[1 - level % 2]);
    }
    sap_pool_free(&pool);
  }
  mesh.hull.triangles = NULL;
  mesh_shape_destroy(&mesh);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_wedge), cmocka_unit_test(test_rod),
                                     cmocka_unit_test(test_torsion), cmocka_unit_test(test_mesh),
                                     cmocka_unit_test(test_fine_mesh)};
  return cmocka_run_group_tests_name("patch_clusters", tests, NULL, NULL);
}
