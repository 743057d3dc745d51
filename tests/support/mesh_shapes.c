// SPDX-License-Identifier: BSD-3-Clause
#include "support/mesh_shapes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/convex_oracle.h"

void mesh_shape_create(mesh_shape* mesh, const double* points, int32_t count) {
  sap_error error;
  if (sap_hull_create(points, count, &mesh->hull, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  if (sap_polytope_create(&mesh->hull, &mesh->polytope, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

void mesh_shape_destroy(mesh_shape* mesh) {
  sap_polytope_clear(&mesh->polytope);
  sap_hull_clear(&mesh->hull);
}

void mesh_shape_place(const mesh_shape* mesh, sap_placed_shape* out) {
  const sap_shape_def def = {.type = SAP_SHAPE_MESH};
  sap_shape_init(out, &def, &mesh->polytope);
  out->R[0] = out->R[4] = out->R[8] = 1.0;
  sap_v3_copy(out->p, mesh->polytope.center);
}

static void random_points(uint64_t* seed, bool on_sphere, int32_t count, double* points) {
  for (int32_t i = 0; i < count; ++i) {
    double* x = points + 3 * i;
    for (int k = 0; k < 3; ++k) {
      x[k] = oracle_random(seed) - 0.5;
    }
    if (on_sphere) {
      sap_v3_scale(x, x, 0.5 / sap_v3_norm(x));
    }
  }
}

void mesh_shapes_create(mesh_shape meshes[MESH_SHAPES]) {
  static const double tetrahedron[4][3] = {
      {0.5, 0.4, 0.3}, {-0.4, -0.5, 0.3}, {-0.5, 0.3, -0.4}, {0.4, -0.4, -0.5}};
  double points[3 * 80];
  uint64_t seed = 99;
  for (int i = 0; i < 8; ++i) {
    sap_v3_set(points + 3 * i, i & 1 ? 0.3 : -0.3, i & 2 ? 0.4 : -0.4, i & 4 ? 0.5 : -0.5);
  }
  mesh_shape_create(&meshes[0], points, 8);
  mesh_shape_create(&meshes[1], tetrahedron[0], 4);
  random_points(&seed, false, 9, points);
  mesh_shape_create(&meshes[2], points, 9);
  random_points(&seed, false, 60, points);
  mesh_shape_create(&meshes[3], points, 60);
  random_points(&seed, true, 70, points);
  mesh_shape_create(&meshes[4], points, 70);
  for (int i = 0; i < 80; ++i) {
    const double angle = 6.283185307179586 * (i % 40) / 40.0;
    sap_v3_set(points + 3 * i, 0.5 * cos(angle), 0.5 * sin(angle), i < 40 ? 0.2 : -0.2);
  }
  mesh_shape_create(&meshes[5], points, 80);
}

void mesh_shapes_destroy(mesh_shape meshes[MESH_SHAPES]) {
  for (int i = 0; i < MESH_SHAPES; ++i) {
    mesh_shape_destroy(&meshes[i]);
  }
}
