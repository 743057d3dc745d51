// SPDX-License-Identifier: BSD-3-Clause
// Contact manifolds: all corners where two boxes' faces overlap, else at most four well-spread
// points of a pair of shapes, and as many above them.
//
// Two flat features meet along a common normal n. Each is a segment, a parallelogram, a polygon or
// an ellipse's disc
//   x(a, b) = c + a u + b v
// Projected along n they overlap in a convex region in which the gap n . (x_B - x_A) is affine. The
// corners of the region have the extremes of the gap and suffice to support a face.
#pragma once

#include "multibody/geometry/shape.h"

enum { SAP_CHOSEN_POINTS = 4, SAP_MANIFOLD_POINTS = 8, SAP_CANDIDATE_POINTS = 40 };

typedef struct sap_manifold_point {
  double p[3];  // on A's surface, from A's centre in world axes [m]; B's is at p + phi n
  double n[3];  // unit, from A into B
  double phi;   // signed distance [m]
} sap_manifold_point;

typedef struct sap_manifold {
  int32_t count;
  sap_manifold_point points[SAP_MANIFOLD_POINTS];
  // Set by sap_collide_above: points below this height [m] are chosen regardless of those above.
  double near;
  // Without points: unit direction from A to B along which they are apart by the reach; 0: unknown.
  double apart[3];
} sap_manifold;

// The point with the least phi, of at least one.
static inline const sap_manifold_point* sap_manifold_deepest(const sap_manifold* manifold) {
  const sap_manifold_point* deepest = manifold->points;
  for (int32_t i = 1; i < manifold->count; ++i) {
    if (manifold->points[i].phi < deepest->phi) {
      deepest = &manifold->points[i];
    }
  }
  return deepest;
}

// Points from which a manifold is chosen.
typedef struct sap_candidates {
  int32_t count;
  int32_t witness;  // index of the deepest point if no feature corner is there, -1
  bool boxes;       // the points are corners of two boxes' faces
  double reach;     // points have phi < reach [m]
  sap_manifold_point points[SAP_CANDIDATE_POINTS];
} sap_candidates;

void sap_candidates_start(sap_candidates* list, double reach);
// Adds a point unless phi >= reach (or NaN). Thins out a full list first: keeps the deepest point
// and the farthest in sixteen directions.
void sap_candidates_add(sap_candidates* list, const double p[3], const double n[3], double phi);

// Takes all corners of boxes' faces; else chooses at most four points below out->near, and four
// above it: the deepest, then those that span the largest area. Points closer than 1e-6 `scale`
// count as one. Depths closer than 1e-9 `scale` (corners 1e-4) count as equal; the earlier one
// wins.
void sap_candidates_reduce(const sap_candidates* list, double scale, sap_manifold* out);

typedef enum sap_feature_kind {
  SAP_FEATURE_POINT,    // nothing flat
  SAP_FEATURE_SEGMENT,  // |a| <= 1
  SAP_FEATURE_QUAD,     // |a|, |b| <= 1
  SAP_FEATURE_DISC,     // a^2 + b^2 <= 1
  SAP_FEATURE_POLYGON,  // a face of a hull
} sap_feature_kind;

typedef struct sap_feature {
  sap_feature_kind kind;
  double c[3], u[3], v[3];     // on the surface, from A's centre in world axes [m]
  double axis[3], radius;      // a segment lies on the side of a rounded line: its middle [m]
  bool round_ends;             // of a segment: the ends are spheres, as a capsule has them
  double deepest[2];           // of a disc: (a, b) of the rim point that is farthest along n
  bool tilted;                 // of a disc: whether `deepest` is defined
  int32_t face, ncorners;      // of a polygon
  const double (*corners)[2];  // counter-clockwise about u x v
  const double* sides;         // of the edges, as sap_polytope has them   (3 ncorners)
  double inner;                // as sap_polytope_face has it
} sap_feature;

enum { SAP_FEATURE_CORNERS = SAP_POLYTOPE_CORNERS };

// Finds the feature of `shape`, with its centre at `centre`, that faces the unit direction n.
void sap_feature_facing(const sap_placed_shape* shape, const double centre[3], const double n[3],
                        sap_feature* out);

// Sets the coordinates of the corners (disc: eight rim points, segment: its ends); returns their
// number.
int sap_feature_corners(const sap_feature* feature, double corners[][2]);
// Sets x to the point with coordinates (a, b).
void sap_feature_point(const sap_feature* feature, const double ab[2], double x[3]);
// Returns true if the point with coordinates (a, b) lies in a planar feature.
bool sap_feature_holds(const sap_feature* feature, const double ab[2]);

// Adds the corners of the overlap of a (facing n) and b (facing -n).
void sap_feature_overlap(const sap_feature* a, const sap_feature* b, const double n[3],
                         sap_candidates* list);
// Coordinates of the point of a planar feature over x along n:
//   a = (x - c) . (v x n)/det,  b = (x - c) . (n x u)/det,  det = n . (u x v)
typedef struct sap_foot_map {
  const sap_feature* feature;
  const double* n;
  double a[3], b[3];
} sap_foot_map;

// Makes the map; returns false when n lies in the feature's plane.
bool sap_foot_map_make(const sap_feature* feature, const double n[3], sap_foot_map* map);
// Adds x of A's surface (is_on_a) or of B's, which lies over the map's feature, the other's.
void sap_foot_map_add_point(const sap_foot_map* map, const double x[3], bool is_on_a,
                            sap_candidates* list);
