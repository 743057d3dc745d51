// SPDX-License-Identifier: BSD-3-Clause
// Convex hull of points: its vertices, its flat faces as polygons, and which vertices are joined by
// an edge. Facets that are coplanar to SAP_HULL_FLATNESS times the size are one face, because the
// coordinates of mesh files have about seven digits.
#ifndef SAP_MULTIBODY_MODEL_HULL_H
#define SAP_MULTIBODY_MODEL_HULL_H

#include "core/error.h"

// Relative to the largest half extent of the points; single precision has 6e-8.
#define SAP_HULL_FLATNESS 1e-6

typedef struct sap_hull {
  int32_t nvertices, nfaces;
  double* vertices;         // those of the points that are corners, in their order  (3 nvertices)
  int32_t* neighbor_start;  // into neighbors                                        (nvertices + 1)
  int32_t* neighbors;       // vertices one edge away, ascending
  double* planes;           // outward unit normal n and d: n.x <= d holds inside    (4 nfaces)
  int32_t* face_start;      // into face_vertices                                    (nfaces + 1)
  int32_t* face_vertices;   // convex polygons, counter-clockwise from outside
} sap_hull;

// ARGUMENT for less than 4 points and for flat ones, NOT_FINITE for NaN and infinity. The messages
// do not name the element. cost: O(n log n)
sap_status sap_hull_create(const double* points, int32_t count, sap_hull* out, sap_error* error);
void sap_hull_clear(sap_hull* hull);

// Fills the neighbours from the faces: both directions of every polygon's edges, each once.
sap_status sap_hull_join_vertices(sap_hull* hull, sap_error* error);

// The hull as qhull has it: facets with their points and their neighbours.
typedef struct sap_hull_facets {
  int32_t count;
  double* normals;          // outward, unit                                         (3 count)
  int32_t* point_start;     // into points                                           (count + 1)
  int32_t* points;          // numbers of its vertices, in no order
  int32_t* neighbor_start;  // into neighbors                                        (count + 1)
  int32_t* neighbors;       // facets
} sap_hull_facets;

// The points have a size near 1. ARGUMENT when they are flat.
sap_status sap_hull_facets_create(const double* points, int32_t count, sap_hull_facets* out,
                                  sap_error* error);
void sap_hull_facets_clear(sap_hull_facets* facets);

#endif
