// SPDX-License-Identifier: BSD-3-Clause
// Convex hull of a mesh for collision detection: about its centre, with a frame and planar
// coordinates for every face.
#ifndef SAP_MULTIBODY_GEOMETRY_POLYTOPE_H
#define SAP_MULTIBODY_GEOMETRY_POLYTOPE_H

#include <math.h>

#include "math/vector3.h"
#include "multibody/model/hull.h"

// Largest number of corners of a face in a manifold; finer faces keep the most important ones.
enum { SAP_POLYTOPE_CORNERS = 32 };

// Points of the face: c + a u + b v; its corners have |a|, |b| <= 1.
typedef struct sap_polytope_face {
  double c[3], u[3], v[3];  // u, v orthogonal and equally long
  int32_t first, count;     // into corners
} sap_polytope_face;

typedef struct sap_polytope {
  sap_pool pool;  // of all arrays below
  int32_t nvertices, nfaces;
  double* vertices;  // from the centre [m]                                           (3 nvertices)
  const int32_t* neighbor_start;  // the source's
  const int32_t* neighbors;
  double* normals;           // outward, unit                                         (3 nfaces)
  double* offsets;           // of the faces' planes from the centre [m]              (nfaces)
  sap_polytope_face* faces;  // (nfaces)
  double (*corners)[2];
  int32_t extremes[6];        // vertices farthest along x, y, z, -x, -y, -z
  double center[3];           // mean of the vertices, in the mesh's frame
  double lower[3], upper[3];  // bounding box about the centre
  double bound, inner;        // radii about the centre of the enclosing and of the enclosed ball
} sap_polytope;

// The hull, in the mesh's frame, must outlive the polytope.
sap_status sap_polytope_create(const sap_hull* source, sap_polytope* out, sap_error* error);
void sap_polytope_clear(sap_polytope* polytope);

// Returns a vertex that is farthest along d. *hint: number of a vertex to start from; becomes that
// of the result. cost: O(sqrt(nvertices)), less from a near start
const double* sap_polytope_support(const sap_polytope* polytope, const double d[3], int32_t* hint);
// Returns the face whose normal has the smallest angle to the unit vector d. cost: O(nfaces)
int32_t sap_polytope_facing(const sap_polytope* polytope, const double d[3]);

#endif
