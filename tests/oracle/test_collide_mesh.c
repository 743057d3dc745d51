// SPDX-License-Identifier: BSD-3-Clause
// Hulls of meshes: depths and normals of another engine, MuJoCo 4.0.0 (PyPI), mj_forward on two
// bodies with one geom each, multiccd off, ccd_tolerance 1e-10, its deepest contact; and manifolds
// that hold faces flat, where it gives one point.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/geometry/collide.h"
#include "support/convex_oracle.h"
#include "support/mesh_shapes.h"
#include "support/near.h"

static const double vertices[10][3] = {
    {0.3, 0.1, 0.0},     {-0.25, 0.2, 0.05}, {0.0, -0.35, 0.1},   {0.1, 0.1, 0.4},
    {-0.1, -0.1, -0.3},  {0.25, -0.2, -0.2}, {-0.3, -0.15, 0.25}, {0.15, 0.3, -0.25},
    {-0.2, 0.25, -0.15}, {0.2, -0.15, 0.3},
};

// A shape at the origin and the mesh at p_b; quaternions are normalised.
static const struct {
  sap_shape_type a;
  double q_a[4], p_b[3], q_b[4];
  double phi, n[3];
} rows[] = {
    {SAP_SHAPE_PLANE,
     {1, 0, 0, 0},
     {0, 0, 0.4},
     {0.034, 1.36, 1.225, -0.51},
     -0.0148823,
     {0.00000, 0.00000, 1.00000}},
    {SAP_SHAPE_PLANE,
     {1, 0, 0, 0},
     {0, 0, 0.26},
     {-0.056, 0.747, -1.847, 1.567},
     -0.0174609,
     {0.00000, 0.00000, 1.00000}},
    {SAP_SHAPE_SPHERE,
     {-0.379, 0.463, 0.825, -0.203},
     {0.107, -0.181, -0.519},
     {-0.153, 0.686, -0.87, -1.514},
     -0.0088638,
     {0.17341, -0.40169, -0.89921}},
    {SAP_SHAPE_SPHERE,
     {-0.814, -0.468, -1.193, -1.492},
     {0.222, 0.413, -0.173},
     {0.037, 0.897, -0.233, -0.744},
     -0.0158246,
     {0.52802, 0.81619, -0.23458}},
    {SAP_SHAPE_CAPSULE,
     {0.545, 1.043, -0.207, -0.814},
     {-0.185, -0.235, -0.485},
     {0.348, 0.248, 1.099, -1.285},
     -0.0128498,
     {0.18456, -0.59246, -0.78417}},
    {SAP_SHAPE_CAPSULE,
     {0.126, 0.528, -0.739, 1.386},
     {-0.546, 0.252, 0.247},
     {0.822, 0.627, 0.402, 0.956},
     -0.0100198,
     {-0.57231, 0.08084, 0.81605}},
    {SAP_SHAPE_CYLINDER,
     {-1.768, 0.347, -0.25, 0.782},
     {0.658, -0.115, 0.541},
     {-0.439, -0.018, 0.343, -0.876},
     -0.0156159,
     {0.98626, -0.15402, 0.05968}},
    {SAP_SHAPE_CYLINDER,
     {-0.522, 1.086, 0.605, -0.178},
     {0.546, 0.288, -0.058},
     {0.632, 1.26, 1.791, -1.574},
     -0.0132353,
     {0.77362, 0.60556, -0.18657}},
    {SAP_SHAPE_BOX,
     {-1.007, 1.257, -1.262, 0.567},
     {0.076, 0.471, 0.63},
     {1.302, -1.6, -0.303, -1.309},
     -0.0090966,
     {0.10666, 0.73443, 0.67025}},
    {SAP_SHAPE_BOX,
     {-1.778, -0.575, 0.704, 1.579},
     {-0.167, -0.601, 0.317},
     {0.421, -0.746, 0.297, -0.017},
     -0.0160334,
     {-0.16704, -0.91522, 0.36671}},
    {SAP_SHAPE_ELLIPSOID,
     {0.308, -0.093, -0.222, -1.285},
     {0.283, 0.112, 0.446},
     {-0.486, 1.206, -0.191, -1.44},
     -0.0119897,
     {0.63935, 0.38751, 0.66413}},
    {SAP_SHAPE_ELLIPSOID,
     {0.063, -0.461, -1.448, 1.324},
     {-0.485, -0.158, -0.205},
     {2.57, -0.821, -0.647, 0.596},
     -0.0105182,
     {-0.81359, -0.37694, -0.44270}},
    {SAP_SHAPE_MESH,
     {0.192, 1.095, 0.022, 0.919},
     {0.478, -0.355, 0.349},
     {-0.42, 0.328, -2.138, -1.45},
     -0.0158481,
     {0.78241, -0.00846, 0.62270}},
    {SAP_SHAPE_MESH,
     {0.542, 1.322, 0.812, 1.017},
     {-0.53, -0.257, -0.043},
     {-0.112, -0.698, -0.732, -0.488},
     -0.0154595,
     {-0.62162, -0.51694, -0.58852}},
};

static const double sizes[][3] = {
    [SAP_SHAPE_PLANE] = {1.0, 1.0, 1.0},   [SAP_SHAPE_SPHERE] = {0.3, 0.0, 0.0},
    [SAP_SHAPE_CAPSULE] = {0.2, 0.4, 0.0}, [SAP_SHAPE_CYLINDER] = {0.3, 0.4, 0.0},
    [SAP_SHAPE_BOX] = {0.3, 0.4, 0.25},    [SAP_SHAPE_ELLIPSOID] = {0.3, 0.4, 0.25},
};

// With its frame, not its centre, at p.
static void place_mesh(const mesh_shape* mesh, const double p[3], const double q[4],
                       sap_placed_shape* s) {
  double unit[4] = {q[0], q[1], q[2], q[3]}, center[3];
  mesh_shape_place(mesh, s);
  assert_true(sap_quaternion_normalize(unit));
  sap_quaternion_to_matrix(s->R, unit);
  sap_m3_mul_v3(center, s->R, mesh->polytope.center);
  sap_v3_add(s->p, p, center);
}

static int32_t deepest_of(const sap_manifold* m) {
  int32_t which = 0;
  for (int32_t k = 1; k < m->count; ++k) {
    which = m->points[k].phi < m->points[which].phi ? k : which;
  }
  return which;
}

static void agrees_with_mujoco(void** state) {
  (void)state;
  static const double origin[3] = {0.0, 0.0, 0.0};
  mesh_shape mesh;
  mesh_shape_create(&mesh, vertices[0], 10);
  int errors = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    sap_placed_shape a, b;
    place_mesh(&mesh, rows[i].p_b, rows[i].q_b, &b);
    if (rows[i].a == SAP_SHAPE_MESH) {
      place_mesh(&mesh, origin, rows[i].q_a, &a);
    } else {
      double unit[4] = {rows[i].q_a[0], rows[i].q_a[1], rows[i].q_a[2], rows[i].q_a[3]};
      oracle_shape(&a, rows[i].a, sizes[rows[i].a]);
      assert_true(sap_quaternion_normalize(unit));
      sap_quaternion_to_matrix(a.R, unit);
    }
    sap_manifold m;
    sap_collide(&a, &b, 0.0, &m);
    assert_true(m.count > 0);
    const sap_manifold_point* point = &m.points[deepest_of(&m)];
    const double along = sap_v3_dot(point->n, rows[i].n);
    // 1e-6: MuJoCo's polytope ends that far outside of curved surfaces; normals have 5 digits.
    if (!(fabs(point->phi - rows[i].phi) < 1e-6) || !(along > 1.0 - 1e-5)) {
      printf("row %d, type %d: phi %.7f, MuJoCo %.7f; cosine of the normals %.7f\n", (int)i,
             (int)rows[i].a, point->phi, rows[i].phi, along);
      ++errors;
    }
  }
  assert_int_equal(errors, 0);
  mesh_shape_destroy(&mesh);
}

// Largest area of a triangle of the points, seen along z [m^2].
static double largest_triangle(const sap_manifold* m) {
  double best = 0.0;
  for (int32_t i = 0; i < m->count; ++i) {
    for (int32_t j = 0; j < i; ++j) {
      for (int32_t k = 0; k < j; ++k) {
        const double *x = m->points[i].p, *y = m->points[j].p, *z = m->points[k].p;
        best =
            fmax(best, 0.5 * fabs((y[0] - x[0]) * (z[1] - x[1]) - (z[0] - x[0]) * (y[1] - x[1])));
      }
    }
  }
  return best;
}

// A box as a mesh in every role does what the primitive does.
static void box_mesh_is_a_box(void** state) {
  (void)state;
  mesh_shape meshes[MESH_SHAPES];
  mesh_shapes_create(meshes);
  uint64_t seed = 21;
  for (int type = SAP_SHAPE_PLANE; type <= SAP_SHAPE_ELLIPSOID; ++type) {
    for (int k = 0; k < 40; ++k) {
      sap_placed_shape other, box, mesh;
      static const double half[3] = {0.3, 0.4, 0.5};
      oracle_shape(&other, (sap_shape_type)type, sizes[type]);
      oracle_shape(&box, SAP_SHAPE_BOX, half);
      oracle_random_rotation(&seed, box.R);
      oracle_random_rotation(&seed, other.R);
      for (int i = 0; i < 3; ++i) {
        box.p[i] = 1.2 * (oracle_random(&seed) - 0.5);
      }
      mesh_shape_place(&meshes[0], &mesh);
      sap_v3_copy(mesh.p, box.p);
      for (int i = 0; i < 9; ++i) {
        mesh.R[i] = box.R[i];
      }
      sap_manifold of_box, of_mesh;
      sap_collide(&other, &box, 0.02, &of_box);
      sap_collide(&other, &mesh, 0.02, &of_mesh);
      assert_int_equal(of_box.count > 0, of_mesh.count > 0);
      if (of_box.count > 0) {
        const double phi = of_box.points[deepest_of(&of_box)].phi;
        // Round-off of qhull's planes, and of an iterative against a closed form.
        ASSERT_NEAR(of_mesh.points[deepest_of(&of_mesh)].phi, phi, 1e-9);
      }
    }
  }
  mesh_shapes_destroy(meshes);
}

// Faces on faces, 1 mm deep, a little turned: at least three points and most of the area.
static void faces_are_held_flat(void** state) {
  (void)state;
  mesh_shape meshes[MESH_SHAPES];
  mesh_shapes_create(meshes);
  const mesh_shape *box = &meshes[0], *prism = &meshes[5];
  static const double q[4] = {0.98, 0.0, 0.0, 0.2};
  static const sap_shape_type types[] = {SAP_SHAPE_PLANE, SAP_SHAPE_CYLINDER, SAP_SHAPE_BOX,
                                         SAP_SHAPE_MESH};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    for (int k = 0; k < 2; ++k) {
      const double height = k == 0 ? 0.5 : 0.2;  // of the upper one's lower face
      double top = 0.4;
      sap_placed_shape a, b;
      if (types[i] == SAP_SHAPE_MESH) {
        mesh_shape_place(box, &a);
        top = 0.5;
      } else {
        static const double size[3] = {0.4, 0.4, 0.4};
        oracle_shape(&a, types[i], size);
        top = types[i] == SAP_SHAPE_PLANE ? 0.0 : 0.4;
      }
      const double p[3] = {0.05, -0.03, top + height - 1e-3};
      place_mesh(k == 0 ? box : prism, p, q, &b);
      sap_manifold m;
      sap_collide(&a, &b, 0.0, &m);
      assert_in_range(m.count, 3, 4);
      assert_true(largest_triangle(&m) > 0.1);
      for (int32_t j = 0; j < m.count; ++j) {
        ASSERT_NEAR(m.points[j].phi, -1e-3, 1e-12);
        ASSERT_NEAR(m.points[j].n[2], 1.0, 1e-12);
        double on_a[3];
        sap_v3_add(on_a, a.p, m.points[j].p);
        assert_true(oracle_holds(&a, on_a, 1e-8));
      }
    }
  }
  mesh_shapes_destroy(meshes);
}

// A sole of many facets within 0.1 mm of a plane touches it as a whole.
static void uneven_sole(void** state) {
  (void)state;
  enum { RIM = 12 };
  double points[3 * (2 * RIM + 1)];
  for (int i = 0; i < RIM; ++i) {
    const double angle = 6.283185307179586 * i / RIM;
    sap_v3_set(points + 3 * i, 0.1 * cos(angle), 0.05 * sin(angle), i % 2 ? 1e-4 : 0.7e-4);
    sap_v3_set(points + 3 * (RIM + i), 0.1 * cos(angle), 0.05 * sin(angle), 0.04);
  }
  sap_v3_set(points + 3 * 2 * RIM, 0.01, 0.0, 0.0);
  mesh_shape sole;
  mesh_shape_create(&sole, points, 2 * RIM + 1);
  static const sap_shape_type types[] = {SAP_SHAPE_PLANE, SAP_SHAPE_BOX};
  for (int i = 0; i < 2; ++i) {
    static const double size[3] = {0.5, 0.5, 0.5}, q[4] = {1.0, 0.0, 0.0, 0.0};
    const double p[3] = {0.0, 0.0, (types[i] == SAP_SHAPE_BOX ? 0.5 : 0.0) - 3e-4};
    sap_placed_shape a, b;
    oracle_shape(&a, types[i], size);
    place_mesh(&sole, p, q, &b);
    sap_manifold m;
    sap_collide(&a, &b, 0.0, &m);
    assert_int_equal(m.count, 4);
    ASSERT_NEAR(m.points[deepest_of(&m)].phi, -3e-4, 1e-9);
    assert_true(largest_triangle(&m) > 4e-3);  // of 0.0157 m^2
  }
  mesh_shape_destroy(&sole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_mujoco),
      cmocka_unit_test(box_mesh_is_a_box),
      cmocka_unit_test(faces_are_held_flat),
      cmocka_unit_test(uneven_sole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
