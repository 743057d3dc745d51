// SPDX-License-Identifier: BSD-3-Clause
// Signed distance of two convex cores through their support functions.
//
// Finds the unit n (from A into B) with the least overlap f in the difference D = A - B:
//   f(n) = max_{w in D} n . w = h_A(n) + h_B(-n)
//   signed distance = -min f
// Cores apart (f < 0): GJK. Cores that overlap: EPA, a polytope inside D that grows where its
// boundary is nearest to the origin. Both end near the minimum. The polish then finds it to
// round-off: exactly at a kink of f (the normal of a face or of two edges), otherwise by Newton's
// method on the sphere.
#pragma once

#include "multibody/geometry/shape.h"

typedef struct sap_convex_pair {
  const sap_placed_shape *a, *b;
  const double* ab;  // b's centre - a's centre [m]
  double scale;      // size of the pair [m]
  int32_t* hints;    // vertices of meshes where the last search ended               (2)
} sap_convex_pair;

typedef struct sap_convex_vertex {
  double w[3];  // in D
  double a[3];  // the point of A's core, from a's centre
} sap_convex_vertex;

// Sets the support point w of D along d and returns d . w: f(d) for a unit d.
static inline double sap_convex_support(const sap_convex_pair* pair, const double d[3],
                                        sap_convex_vertex* out) {
  const double back[3] = {-d[0], -d[1], -d[2]};
  double on_b[3];
  sap_shape_support_from(pair->a, d, &pair->hints[0], out->a);
  sap_shape_support_from(pair->b, back, &pair->hints[1], on_b);
  sap_v3_sub(out->w, out->a, pair->ab);
  sap_v3_sub(out->w, out->w, on_b);
  return sap_v3_dot(d, out->w);
}

static inline bool sap_is_curved(sap_shape_type type) {
  return type == SAP_SHAPE_CYLINDER || type == SAP_SHAPE_ELLIPSOID;
}
// Returns true if both cores, and so D, are polytopes.
static inline bool sap_convex_is_polytope(const sap_convex_pair* pair) {
  return !sap_is_curved(pair->a->type) && !sap_is_curved(pair->b->type);
}

typedef struct sap_simplex {
  int32_t count;
  sap_convex_vertex vertices[4];
  double weights[4];  // of the point nearest to the origin
} sap_simplex;

typedef enum sap_gjk_result {
  SAP_GJK_APART,    // by at least the margin
  SAP_GJK_NEAR,     // apart by less
  SAP_GJK_OVERLAP,  // the origin lies in D, or too near to decide
} sap_gjk_result;

// Sets n to the unit direction from A to B: APART: they are apart by the margin along n; NEAR: the
// weights of the simplex give the nearest points.
sap_gjk_result sap_gjk(const sap_convex_pair* pair, double margin, sap_simplex* simplex,
                       double n[3]);
typedef enum sap_face_result {
  SAP_FACE_UNKNOWN,  // GJK decides
  SAP_FACE_APART,    // by at least the margin, along n
  SAP_FACE_FOUND,
} sap_face_result;

// First test: finds n if it is the normal of a face of a box or a mesh, with its f and a point p of
// A's core.
sap_face_result sap_convex_by_face(const sap_convex_pair* pair, double margin, double n[3],
                                   double p[3], double* f);

// After OVERLAP: finds n of the least overlap and a point p of A's core. Returns true if the bounds
// of the depth met: n of two polytopes is then exact up to round-off.
bool sap_epa(const sap_convex_pair* pair, const sap_simplex* simplex, double n[3], double p[3]);
// Moves n to the minimum of f nearby; returns f(n), which never increases. exact: of two polytopes
// that overlap, with n exact up to round-off: only to the kink nearby. edges: of A and B, if n is
// their common normal, else 0.
double sap_convex_polish(const sap_convex_pair* pair, bool exact, double n[3], double edges[6]);
