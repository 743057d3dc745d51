// SPDX-License-Identifier: BSD-3-Clause
// A plane's half space (a) against every other shape (b): n is the plane's z axis, the height of a
// point of b over the plane is its signed distance.
//   sphere, ellipsoid 1 point; capsule 2; cylinder 4 of the facing rim or 2 of its lowest line;
//   box the 4 corners of the facing side; mesh four of its vertices.
#include "multibody/geometry/collide.h"

static void add(const double n[3], const double on_b[3], double reach, sap_manifold* out) {
  const double phi = sap_v3_dot(n, on_b);
  if (!(phi < reach) || out->count >= SAP_MANIFOLD_POINTS) {
    return;
  }
  sap_manifold_point* point = &out->points[out->count++];
  point->phi = phi;
  sap_v3_copy(point->n, n);
  sap_v3_copy(point->p, on_b);
  sap_v3_add_scaled(point->p, n, -phi);
}

static void add_corners(const sap_placed_shape* b, const double ab[3], const double n[3],
                        double reach, sap_manifold* out) {
  const double down[3] = {-n[0], -n[1], -n[2]};
  sap_feature feature;
  sap_feature_facing(b, ab, down, &feature);
  double corners[SAP_FEATURE_CORNERS][2];
  const int count = sap_feature_corners(&feature, corners);
  // Of a disc's eight rim points every second one, from the lowest.
  int first = 0;
  const int step = feature.kind == SAP_FEATURE_DISC ? 2 : 1;
  double lowest = HUGE_VAL;
  for (int i = 0; i < count && step == 2; ++i) {
    double x[3];
    sap_feature_point(&feature, corners[i], x);
    const double height = sap_v3_dot(n, x);
    if (height < lowest - 1e-9 * b->bound) {
      lowest = height;
      first = i % step;
    }
  }
  for (int i = first; i < count; i += step) {
    double x[3];
    sap_feature_point(&feature, corners[i], x);
    add(n, x, reach, out);
  }
}

// All vertices that are low enough; then the deepest and three more that spread widest.
static void add_vertices(const sap_placed_shape* b, const double ab[3], const double n[3],
                         double reach, sap_manifold* out) {
  double local[3];
  sap_m3_tmul_v3(local, b->R, n);
  const double height = sap_v3_dot(n, ab);
  const double down[3] = {-local[0], -local[1], -local[2]};
  int32_t hint = 0;
  if (!(height + sap_v3_dot(local, sap_polytope_support(b->hull, down, &hint)) < reach)) {
    return;
  }
  sap_candidates list;
  sap_candidates_start(&list, reach);
  for (int32_t i = 0; i < b->hull->nvertices; ++i) {
    const double* vertex = b->hull->vertices + 3 * (size_t)i;
    const double phi = height + sap_v3_dot(local, vertex);
    if (phi < reach) {
      double x[3];
      sap_v3_place(x, ab, b->R, vertex);
      sap_v3_add_scaled(x, n, -phi);
      sap_candidates_add(&list, x, n, phi);
    }
  }
  sap_candidates_reduce(&list, b->bound, out);
}

void sap_collide_plane_any(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                           double reach, sap_manifold* out) {
  const double* n = a->R + 6;
  if (sap_v3_dot(n, ab) >= b->bound + reach) {
    return;
  }
  if (b->type == SAP_SHAPE_MESH) {
    add_vertices(b, ab, n, reach, out);
    return;
  }
  if (b->type == SAP_SHAPE_CAPSULE || b->type == SAP_SHAPE_CYLINDER || b->type == SAP_SHAPE_BOX) {
    add_corners(b, ab, n, reach, out);
    return;
  }
  const double down[3] = {-n[0], -n[1], -n[2]};
  double x[3];
  sap_shape_support(b, down, x);
  sap_v3_add(x, x, ab);
  sap_v3_add_scaled(x, n, -b->radius);
  add(n, x, reach, out);
}
