// SPDX-License-Identifier: BSD-3-Clause
// Convex hull of points: vertices, flat faces as polygons, and edges between vertices. Facets that
// are coplanar to SAP_HULL_FLATNESS times the size form one face: the coordinates of mesh files
// have about seven digits.
#pragma once

#include "core/memory.h"

// Relative to the largest half extent of the points; single precision has 6e-8.
#define SAP_HULL_FLATNESS 1e-6

typedef struct sap_hull {
  sap_pool pool;  // of all arrays below
  int32_t nvertices, nfaces;
  double* vertices;         // the points that are corners, in their order           (3 nvertices)
  int32_t* neighbor_start;  // into neighbors                                        (nvertices + 1)
  int32_t* neighbors;       // vertices one edge away, ascending
  double* planes;           // outward unit normal n and d: n.x <= d of all vertices (4 nfaces)
  int32_t* face_start;      // into face_vertices                                    (nfaces + 1)
  int32_t* face_vertices;   // convex polygons, counter-clockwise from outside
  int32_t ntriangles;       // of a closed mesh that is not convex; else 0
  double* triangles;        // their corners, counter-clockwise from outside         (9 ntriangles)
} sap_hull;

// Fails with ARGUMENT for less than 4 points and for flat ones, with NOT_FINITE for NaN and
// infinity. The messages do not name the element. cost: O(n log n)
sap_status sap_hull_create(const double* points, int32_t count, sap_hull* out, sap_error* error);
SAP_DEFINE_CLEAR(sap_hull, sap_hull)
