// SPDX-License-Identifier: BSD-3-Clause
// Contact of two placed shapes.
//
// Sphere, capsule, box and plane pairs are closed forms. Cylinders (but against planes and
// spheres), ellipsoids and hulls of meshes go through GJK, EPA and a polish of the normal (see
// convex.h). Manifolds are the corners of the overlap of the flat features that face each other
// (manifold.h).
//
// Why not ODE, the library at hand: it has global and thread-local state that must be set up by the
// application, aborts and prints from inside, takes geoms from the heap, knows no ellipsoid, gives
// one point for capsule on box and for most cylinder pairs, and its iterative pairs are good to
// 1e-4 only. libccd's EPA allocates on every call.
#ifndef SAP_MULTIBODY_GEOMETRY_COLLIDE_H
#define SAP_MULTIBODY_GEOMETRY_COLLIDE_H

#include "multibody/geometry/manifold.h"

// All points with phi < reach (>= 0); normals point from a into b. Two planes never touch.
void sap_collide(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                 sap_manifold* out);
// Whether they are apart by the reach along a unit direction from a to b (0: no), beyond
// doubt by round-off: sap_collide then finds nothing. A direction that was found a step ago often
// still is one, and costs a fraction of the search.
bool sap_collide_are_apart(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                           const double along[3]);

// --- by pair; ab = b's centre - a's centre; a's type does not come after b's ---
typedef void sap_collide_function(const sap_placed_shape* a, const sap_placed_shape* b,
                                  const double ab[3], double reach, sap_manifold* out);
sap_collide_function sap_collide_plane_any;
sap_collide_function sap_collide_sphere_sphere;
sap_collide_function sap_collide_sphere_capsule;
sap_collide_function sap_collide_sphere_cylinder;
sap_collide_function sap_collide_sphere_box;
sap_collide_function sap_collide_capsule_capsule;
sap_collide_function sap_collide_capsule_box;
sap_collide_function sap_collide_box_box;
sap_collide_function sap_collide_convex;

typedef struct sap_facing {
  const sap_placed_shape *a, *b;
  const double* ab;  // b's centre - a's centre [m]
  double reach;      // [m]
} sap_facing;

// Manifold of the features of a and b that face each other along n, with the deepest point
// (witness on a, signed distance phi) kept where the features miss it.
void sap_collide_features(const sap_facing* pair, const sap_manifold_point* witness,
                          sap_manifold* out);

#endif
