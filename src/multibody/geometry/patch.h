// SPDX-License-Identifier: BSD-3-Clause
// Surface contact of two convex shapes of which at least one has a pressure field.
//
// Field of a shape: pressure p = kappa d(x), with the depth d below its surface and kappa = E/H;
// rigid shapes have kappa = infinity. A facet with the outward normal m has d = b - m . x. d of a
// shape is the minimum over its facets, a concave function:
//   plane, box, mesh   planes
//   sphere             R - |x|
//   capsule            R - distance to the segment
//   cylinder           min(R - r, h - |z|)
//   ellipsoid          H (1 - |(x/a, y/b, z/c)|), H the least semi-axis
// The contact surface is where both pressures are equal; there
//   alpha d_A = beta d_B,  alpha = kappa_A/(kappa_A + kappa_B),  beta = 1 - alpha
//   p = kappa (d_A + d_B),  1/kappa = 1/kappa_A + 1/kappa_B
// and where B moves along n by delta, p falls by g delta, with the slopes of both fields in series.
// Two flat facets have a plane surface: a convex polygon on which p is linear. Surfaces of curved
// shapes are integrated over slices of the contact plane.
//
// The surface becomes at most five contact points with the normal N = sum p n dA and
//   f_j = force,  k_j = stiffness,  phi_j = -f_j/k_j
// They keep the force, its centre, the stiffness and its first and second moments, and the torsion
// integral of p |x - centre|, exactly.
#pragma once

#include "core/memory.h"
#include "multibody/geometry/manifold.h"

enum {
  SAP_PATCH_POINTS = 5,
  SAP_PATCH_PIECES = 400,
  SAP_PATCH_CORNERS = 1024,  // of all pieces
  SAP_PATCH_SIDES = 64,      // of one polygon
};

// How curved a side of a shape is.
typedef struct sap_patch_depth {
  double d;     // [m], < 0 outside
  double m[3];  // -grad d, world axes
  double
      foot[3];   // of curved sides: nearest point of the shape's core, from the shape's centre [m]
  int32_t side;  // number of the facet
  bool curved;
} sap_patch_depth;

// Part of the contact surface: a polygon, or a sample of a curved surface.
typedef struct sap_patch_piece {
  double n[3];           // unit, from A into B
  double g;              // slope of the pressure [Pa/m] >= 0
  double area, force;    // integrals of 1 and of p [m^2], [N]
  double y[3];           // of a sample: where it acts in the second moments [m]
  int32_t first, count;  // its corners; 1: a sample
} sap_patch_piece;

typedef struct sap_patch_corner {
  double x[3];  // from A's centre, world axes [m]
  double p;     // [Pa]
} sap_patch_corner;

typedef struct sap_patch_surface {
  sap_pool* pool;  // of the planes
  const sap_placed_shape* shape[2];
  double centre[2][3];      // from A's centre [m]
  double alpha, beta;       // see above
  double kappa[2], series;  // [Pa/m]; infinite: rigid
  double x0[3];             // a point in both shapes [m]
  double N[3];              // rough normal, from A into B
  double depth;             // rough [m] > 0
  double (*planes[2])[4];   // {m, b} of the facets, of d = b - m . x from A's centre
  int32_t nplanes[2];
  int32_t npieces, ncorners;
  sap_patch_piece pieces[SAP_PATCH_PIECES];
  sap_patch_corner corners[SAP_PATCH_CORNERS];
} sap_patch_surface;

// Points of a patch, in the order of `features`.
typedef struct sap_patch {
  int32_t count;
  int32_t features[SAP_PATCH_POINTS];  // numbers that last while the patch does
  double stiffness[SAP_PATCH_POINTS];  // k_j [N/m]
  double area, force;                  // [m^2], [N]
  double torsion;                      // of one point that represents a round patch: its integral
                                       // of p |x - centre| over the force [m]; else 0
} sap_patch;

// Finds the depth of the point x, from the shape's centre in world axes.
void sap_patch_find_depth(const sap_placed_shape* shape, const double x[3], sap_patch_depth* out);

// Returns true if all sides are planes.
static inline bool sap_patch_is_flat(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_PLANE || shape->type == SAP_SHAPE_BOX ||
         shape->type == SAP_SHAPE_MESH;
}
// Returns true if all of the surface lies on a rigid plane.
static inline bool sap_patch_keeps_walls(const sap_patch_surface* s) {
  return (s->shape[0]->type == SAP_SHAPE_PLANE && s->alpha == 1.0) ||
         (s->shape[1]->type == SAP_SHAPE_PLANE && s->alpha == 0.0);
}
// Sets the planes of a flat shape; returns their number.
int32_t sap_patch_set_planes(const sap_placed_shape* shape, const double centre[3],
                             double (*planes)[4]);

// Returns g [Pa/m] of a piece with the normal n from the outward normals (-grad d) of both sides.
double sap_patch_slope(const sap_patch_surface* s, const double n[3], const double m_A[3],
                       const double m_B[3]);
// Add the polygons of two flat shapes, the samples of others. Return false where there are none, or
// more than there is room for.
bool sap_patch_add_polygons(sap_patch_surface* s);
bool sap_patch_add_samples(sap_patch_surface* s);

// Makes the patch of two shapes that overlap in the manifold's points, and replaces these by the
// patch's points: p on the surface, phi = -f/k. kappa: of each shape, INFINITY: rigid, at most one.
// Returns false if there is no patch; the manifold is then unchanged.
bool sap_patch_find(sap_patch_surface* s, const sap_placed_shape* a, const sap_placed_shape* b,
                    const double kappa[2], sap_manifold* manifold, sap_patch* out);
