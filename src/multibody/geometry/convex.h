// SPDX-License-Identifier: BSD-3-Clause
// Signed distance of two convex cores through their support functions.
//
// The difference D = A - B is searched for the unit n (from A into B) with the least overlap
//   f(n) = max_{w in D} n . w = h_A(n) + h_B(-n);   signed distance = -min f.
// Cores apart (f < 0): GJK. Cores that overlap: EPA, a polytope inside D that grows where its
// boundary is nearest to the origin. Both end near the minimum; the polish then finds it to
// round-off: at a kink of f (the normal of a face, of two edges) exactly, elsewhere by Newton's
// method on the sphere.
#ifndef SAP_MULTIBODY_GEOMETRY_CONVEX_H
#define SAP_MULTIBODY_GEOMETRY_CONVEX_H

#include "multibody/geometry/shape.h"

typedef struct sap_convex_pair {
  const sap_placed_shape *a, *b;
  const double* ab;  // b's centre - a's centre [m]
  double scale;      // size of the pair [m]
  int32_t* hints;    // the vertices of meshes where the last search ended           (2)
} sap_convex_pair;

typedef struct sap_convex_vertex {
  double w[3];  // in D
  double a[3];  // the point of A's core, from a's centre
} sap_convex_vertex;

// f(d) for a unit d, else scaled by |d|; and where.
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

static inline bool sap_shape_is_polytope(const sap_placed_shape* s) {
  return s->type != SAP_SHAPE_CYLINDER && s->type != SAP_SHAPE_ELLIPSOID;
}

// Whether both cores, and so D, are polytopes.
static inline bool sap_convex_is_polytope(const sap_convex_pair* pair) {
  return sap_shape_is_polytope(pair->a) && sap_shape_is_polytope(pair->b);
}

typedef struct sap_simplex {
  int32_t count;
  sap_convex_vertex vertices[4];
  double weights[4];  // of the point nearest to the origin
} sap_simplex;

typedef enum sap_gjk_result {
  SAP_GJK_APART,    // by at least the margin
  SAP_GJK_NEAR,     // apart by less
  SAP_GJK_OVERLAP,  // the origin lies in D, or nearer than round-off lets one say
} sap_gjk_result;

// APART, NEAR: n is the unit direction from A to B (APART: along which they are apart by the
// margin); the simplex' weights of NEAR give the nearest points.
sap_gjk_result sap_gjk(const sap_convex_pair* pair, double margin, sap_simplex* simplex,
                       double n[3]);
typedef enum sap_face_result {
  SAP_FACE_UNKNOWN,  // ask GJK
  SAP_FACE_APART,    // by at least the margin, along n
  SAP_FACE_FOUND,
} sap_face_result;

// Before all else: the answer when it is the normal of a face of a box or a mesh, with its f and a
// point of A's core there in p.
sap_face_result sap_convex_by_face(const sap_convex_pair* pair, double margin, double n[3],
                                   double p[3], double* f);

// After OVERLAP: n of the least overlap; a point of A's core there in p. Whether the bounds of the
// depth met: n of two polytopes is then exact but for round-off.
bool sap_epa(const sap_convex_pair* pair, const sap_simplex* simplex, double n[3], double p[3]);
// After OVERLAP: the same at a fraction of the cost, when it can prove that it is right. False: ask
// EPA.
bool sap_convex_shallow(const sap_convex_pair* pair, double n[3], double p[3]);
// Moves n to the minimum of f nearby; returns f(n). Never makes f larger.
double sap_convex_polish(const sap_convex_pair* pair, double n[3]);
// The same where n is exact but for round-off, of two polytopes that overlap: it only settles on
// the kink that n stands for.
double sap_convex_settle(const sap_convex_pair* pair, double n[3]);

#endif
