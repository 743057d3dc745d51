// SPDX-License-Identifier: BSD-3-Clause
// A shape at its pose in the world, as a core and a sphere swept around it:
//   sphere = point + r, capsule = segment + r; the others are their own core
// A mesh is its convex hull, about the hull's centre.
#ifndef SAP_MULTIBODY_GEOMETRY_SHAPE_H
#define SAP_MULTIBODY_GEOMETRY_SHAPE_H

#include <sapstep/model.h>

#include "math/vector3.h"
#include "multibody/geometry/polytope.h"

// fmin and fmax without their handling of NaN, which costs a call: poses are finite here.
static inline double sap_least(double a, double b) {
  return a < b ? a : b;
}

static inline double sap_most(double a, double b) {
  return a > b ? a : b;
}

typedef struct sap_placed_shape {
  sap_shape_type type;
  double size[3];  // as in sap_shape_def [m]
  double radius;   // of the swept sphere [m]
  double bound;    // radius of a sphere about p that holds the shape [m]; a plane: HUGE_VAL
  double p[3];     // p_WS, of a mesh that of the hull's centre [m]
  double R[9];     // R_WS, column-major
  const sap_polytope* hull;  // of a mesh
} sap_placed_shape;

// Sets all but the pose. hull: of a mesh, must outlive the shape; NULL for others.
void sap_shape_init(sap_placed_shape* shape, const sap_shape_def* def, const sap_polytope* hull);

// Computes the world bounding box; not for planes.
void sap_shape_bounds(const sap_placed_shape* shape, double lower[3], double upper[3]);

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

#endif
