// SPDX-License-Identifier: BSD-3-Clause
// A shape at its pose in the world, as a core and a sphere swept around it:
//   sphere = point + r, capsule = segment + r; the others are their own core
// A mesh is its convex hull, about the hull's centre.
#pragma once

#include <math.h>

#include <sapstep/model.h>

#include "math/scalar.h"
#include "math/vector3.h"
#include "multibody/model/hull.h"

// --- hulls of meshes ---
// Convex hull of a mesh for collision detection: about its centre, with a frame and planar
// coordinates for every face.

// Largest number of corners of a face in a manifold; finer faces keep the most important ones.
enum { SAP_POLYTOPE_CORNERS = 32 };
// Of "inside" a face, relative to its size: keeps points on an edge despite round-off.
#define SAP_INSIDE_SLACK 1e-9

// Points of the face: c + a u + b v; its corners have |a|, |b| <= 1.
typedef struct sap_polytope_face {
  double c[3], u[3], v[3];  // u, v orthogonal and equally long
  int32_t first, count;     // into corners
  double inner;             // a^2 + b^2 <= inner^2 lies within the corners
} sap_polytope_face;

// A face, and the component of its normal along an axis.
typedef struct sap_polytope_rank {
  double height;
  int32_t face;
} sap_polytope_rank;

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
  // Each face's edges, from 3 face->first on: their x, then their y, then their z. A point (a, b)
  // lies inside an edge, with slack, while x b - y a + z >= 0.
  double* sides;
  sap_polytope_rank* ranks[3];             // along x, y, z, ascending   (nfaces)
  int32_t *start_vertices, *start_faces;   // where searches along directions start
  double center[3];                        // mean of the vertices, in the mesh's frame
  double lower[3], upper[3];               // bounding box about the centre
  const struct sap_patch_mesh* triangles;  // of a mesh that is not convex, where fields may touch
                                           // it; else NULL
  double bound, inner;  // radii about the centre of the enclosing and of the enclosed ball
} sap_polytope;

// The hull, in the mesh's frame, must outlive the polytope.
sap_status sap_polytope_create(const sap_hull* source, sap_polytope* out, sap_error* error);
SAP_DEFINE_CLEAR(sap_polytope, sap_polytope)

// Returns a vertex that is farthest along d. *hint: number of a vertex to start from; becomes that
// of the result. cost: about the neighbours of two vertices; O(sqrt(nvertices)) in huge hulls
const double* sap_polytope_support(const sap_polytope* polytope, const double d[3], int32_t* hint);
// Returns the face whose normal has the smallest angle to the unit vector d. cost: O(log nfaces),
// and the faces whose normals are as near to d along an axis
int32_t sap_polytope_facing(const sap_polytope* polytope, const double d[3]);

// --- shapes ---

typedef struct sap_placed_shape {
  sap_shape_type type;
  double size[3];  // as in sap_shape_def [m]
  double radius;   // of the swept sphere [m]
  double bound;    // radius of a sphere about p that holds the shape [m]; a plane: HUGE_VAL
  double inner;    // radius of a sphere about p in the shape, the largest but of meshes [m]
  double p[3];     // p_WS, of a mesh that of the hull's centre [m]
  double R[9];     // R_WS, column-major
  const sap_polytope* hull;  // of a mesh
} sap_placed_shape;

// Sets all but the pose. hull: of a mesh, must outlive the shape; NULL for others.
void sap_shape_init(sap_placed_shape* shape, const sap_shape_def* def, const sap_polytope* hull);

// Computes the world bounding box; not for planes.
void sap_shape_bounds(const sap_placed_shape* shape, double lower[3], double upper[3]);

// Returns the length of the line through p along a unit direction that lies in the shape; of a
// capsule its diameter, of a mesh the hull's width; a plane: HUGE_VAL [m].
SAP_API double sap_shape_thickness(const sap_placed_shape* shape, const double n[3]);

// Finds the point of the core, from p in world axes, that is farthest along d (any length). *hint:
// for a mesh, the vertex to start from, then the vertex found.
static inline void sap_shape_support_from(const sap_placed_shape* s, const double d[3],
                                          int32_t* hint, double out[3]) {
  const double* R = s->R;
  switch (s->type) {
    case SAP_SHAPE_CAPSULE:
      sap_v3_scale(out, R + 6, copysign(s->size[1], sap_v3_dot(d, R + 6)));
      return;
    case SAP_SHAPE_CYLINDER: {
      const double x = sap_v3_dot(d, R), y = sap_v3_dot(d, R + 3), z = sap_v3_dot(d, R + 6);
      const double rho = sqrt(x * x + y * y);
      const double scale = rho > 0.0 ? s->size[0] / rho : 0.0;
      sap_v3_scale(out, R + 6, copysign(s->size[1], z));
      sap_v3_add_scaled(out, R, scale * x);
      sap_v3_add_scaled(out, R + 3, scale * y);
      return;
    }
    case SAP_SHAPE_BOX:
      sap_v3_scale(out, R, copysign(s->size[0], sap_v3_dot(d, R)));
      sap_v3_add_scaled(out, R + 3, copysign(s->size[1], sap_v3_dot(d, R + 3)));
      sap_v3_add_scaled(out, R + 6, copysign(s->size[2], sap_v3_dot(d, R + 6)));
      return;
    case SAP_SHAPE_ELLIPSOID: {
      double e[3];
      for (int i = 0; i < 3; ++i) {
        e[i] = s->size[i] * sap_v3_dot(d, R + 3 * i);
      }
      const double norm = sap_v3_norm(e);
      const double scale = norm > 0.0 ? 1.0 / norm : 0.0;
      const double local[3] = {scale * s->size[0] * e[0], scale * s->size[1] * e[1],
                               scale * s->size[2] * e[2]};
      sap_m3_mul_v3(out, R, local);
      return;
    }
    case SAP_SHAPE_MESH: {
      double local[3];
      sap_m3_tmul_v3(local, R, d);
      sap_m3_mul_v3(out, R, sap_polytope_support(s->hull, local, hint));
      return;
    }
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_SPHERE:
      break;
  }
  sap_v3_set(out, 0.0, 0.0, 0.0);
}

static inline void sap_shape_support(const sap_placed_shape* s, const double d[3], double out[3]) {
  int32_t hint = 0;
  sap_shape_support_from(s, d, &hint, out);
}

// Returns the extent of the shape from p along a unit direction [m]; not for planes.
static inline double sap_shape_extent(const sap_placed_shape* s, const double d[3]) {
  if (s->type == SAP_SHAPE_BOX) {
    return fabs(sap_v3_dot(d, s->R)) * s->size[0] + fabs(sap_v3_dot(d, s->R + 3)) * s->size[1] +
           fabs(sap_v3_dot(d, s->R + 6)) * s->size[2];
  }
  double x[3];
  sap_shape_support(s, d, x);
  return sap_v3_dot(d, x) + s->radius;
}

// Returns the least t >= 0 at which o + t d, in the shape's frame, crosses the surface; -1: never.
// A plane is met from above only. hull: of a mesh, else not used.
double sap_ray_meets(sap_shape_type type, const double size[3], const sap_hull* hull,
                     const double o[3], const double d[3]);
