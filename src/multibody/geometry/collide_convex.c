// SPDX-License-Identifier: BSD-3-Clause
// Any two convex shapes through convex.h; then the features that face each other.
#include "multibody/geometry/collide.h"
#include "multibody/geometry/convex.h"

// Of a hull: sine to the nearest edge's plane, at the vertex that is farthest along m.
static double vertex_distinctness(const sap_polytope* hull, const double m[3]) {
  int32_t vertex = 0;
  const double* x = sap_polytope_support(hull, m, &vertex);
  double least = 1.0;
  for (int32_t k = hull->neighbor_start[vertex]; k < hull->neighbor_start[vertex + 1]; ++k) {
    double edge[3];
    sap_v3_sub(edge, x, hull->vertices + 3 * (size_t)hull->neighbors[k]);
    least = sap_least(least, sap_v3_dot(edge, m) / sap_v3_norm(edge));
  }
  return least;
}

// Sine to the nearest direction that has more than one support point: an edge's or a face's.
static double distinctness(const sap_placed_shape* s, const double n[3]) {
  double m[3];
  sap_m3_tmul_v3(m, s->R, n);
  switch (s->type) {
    case SAP_SHAPE_CAPSULE:
      return fabs(m[2]);
    case SAP_SHAPE_CYLINDER:
      return sap_least(fabs(m[2]), hypot(m[0], m[1]));
    case SAP_SHAPE_BOX:
      return sap_least(fabs(m[0]), sap_least(fabs(m[1]), fabs(m[2])));
    case SAP_SHAPE_PLANE:
      return 0.0;
    case SAP_SHAPE_SPHERE:
    case SAP_SHAPE_ELLIPSOID:
      break;
    case SAP_SHAPE_MESH:
      return vertex_distinctness(s->hull, m);
  }
  return 1.0;
}

// A support point that is the only one is the witness, more exactly than a polytope knows it.
static void refine_witness(const sap_convex_pair* pair, const double n[3], double f, double p[3]) {
  static const double distinct = 0.01;
  const double back[3] = {-n[0], -n[1], -n[2]};
  const double of_a = distinctness(pair->a, n), of_b = distinctness(pair->b, back);
  if (of_a >= of_b && of_a > distinct) {
    sap_shape_support(pair->a, n, p);
  } else if (of_b > distinct) {
    sap_shape_support(pair->b, back, p);
    sap_v3_add(p, p, pair->ab);
    sap_v3_add_scaled(p, n, f);
  }
}

// Of the direction with the least overlap f; false when they are apart by the margin, along n.
static bool find(const sap_convex_pair* pair, double margin, double n[3], double p[3], double* f) {
  const sap_face_result by_face = sap_convex_by_face(pair, margin, n, p, f);
  if (by_face != SAP_FACE_UNKNOWN) {
    return by_face == SAP_FACE_FOUND;
  }
  sap_simplex simplex;
  bool exact = false;
  const sap_gjk_result result = sap_gjk(pair, margin, &simplex, n);
  if (result == SAP_GJK_APART) {
    return false;
  }
  if (result == SAP_GJK_NEAR) {
    sap_v3_set(p, 0.0, 0.0, 0.0);
    for (int32_t i = 0; i < simplex.count; ++i) {
      sap_v3_add_scaled(p, simplex.vertices[i].a, simplex.weights[i]);
    }
  } else if (!sap_convex_shallow(pair, n, p)) {
    exact = sap_epa(pair, &simplex, n, p) && sap_convex_is_polytope(pair);
  }
  *f = exact ? sap_convex_settle(pair, n) : sap_convex_polish(pair, n);
  refine_witness(pair, n, *f, p);
  return true;
}

void sap_collide_convex(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                        double reach, sap_manifold* out) {
  const double radii = a->radius + b->radius;
  int32_t hints[2] = {0, 0};
  const sap_convex_pair pair = {
      .a = a, .b = b, .ab = ab, .scale = sap_least(a->bound, b->bound), .hints = hints};
  sap_manifold_point witness;
  double f = 0.0;
  if (!find(&pair, radii + reach, witness.n, witness.p, &f)) {
    sap_v3_copy(out->apart, witness.n);
    return;
  }
  witness.phi = -f - radii;
  if (!(witness.phi < reach)) {
    return;
  }
  sap_v3_add_scaled(witness.p, witness.n, a->radius);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}
