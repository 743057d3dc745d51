// SPDX-License-Identifier: BSD-3-Clause
// Convex polygon of points near a plane.
#ifndef SAP_MULTIBODY_MODEL_POLYGON_H
#define SAP_MULTIBODY_MODEL_POLYGON_H

#include "core/error.h"

typedef struct sap_polygon_point {
  double x, y;
  int32_t id;
} sap_polygon_point;

typedef struct sap_polygon {
  int32_t count;
  int32_t* points;  // numbers of the corners, counter-clockwise seen against the normal
  double area;
  sap_polygon_point* sorted;  // workspace
  sap_polygon_point* chain;
} sap_polygon;

// Allocates for up to `count` points.
sap_status sap_polygon_reserve(sap_polygon* polygon, int32_t count, sap_error* error);
void sap_polygon_clear(sap_polygon* polygon);
// Builds the planar hull of points ids[0 ... count) seen along the unit normal, without corners
// closer than SAP_POLYGON_FLATNESS to the line through their neighbours. A sliver has count 0.
void sap_polygon_build(sap_polygon* polygon, const double* points, const int32_t* ids,
                       int32_t count, const double normal[3]);

// For points of size 1; below the resolution of single precision.
#define SAP_POLYGON_FLATNESS 1e-7

#endif
