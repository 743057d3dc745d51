// SPDX-License-Identifier: BSD-3-Clause
// Contact of two placed shapes.
//
// Sphere, capsule, box and plane pairs have closed forms. Cylinders (except with planes and
// spheres), ellipsoids and hulls of meshes use GJK, EPA and a polish of the normal (convex.h).
// Manifolds are the corners of the overlap of the flat features that face each other (manifold.h).
//
// ODE is not used: it has global and thread-local state that the application must set up, aborts
// and prints, allocates geoms on the heap, has no ellipsoid, gives one point for capsule on box and
// most cylinder pairs, and its iterative pairs are accurate to 1e-4 only. libccd's EPA allocates on
// every call.
#pragma once

#include "multibody/geometry/manifold.h"

// Finds points with phi < reach (>= 0); normals point from a into b. Two planes never touch.
void sap_collide(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                 sap_manifold* out);
// Same, with points up to `reach` in addition to those chosen from the ones below `near`. With
// SAP_DEEPEST_ONLY the one point suffices, where others cost more.
#define SAP_DEEPEST_ONLY (-HUGE_VAL)
void sap_collide_above(const sap_placed_shape* a, const sap_placed_shape* b, double near,
                       double reach, sap_manifold* out);
// Returns true if the shapes are apart by the reach along a unit direction from a to b, beyond
// round-off: sap_collide then finds nothing. *gap: by how much. A zero direction gives false. The
// direction found a step ago often still separates, at a fraction of the cost of a search.
bool sap_collide_are_apart(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                           const double along[3], double* gap);

// --- by pair of types, type of a <= type of b; ab = b's centre - a's centre ---
typedef void sap_collide_function(const sap_placed_shape* a, const sap_placed_shape* b,
                                  const double ab[3], double reach, sap_manifold* out);
sap_collide_function sap_collide_plane_any;
// A sphere is a capsule of length 0.
sap_collide_function sap_collide_capsule_capsule;
sap_collide_function sap_collide_capsule_box;
sap_collide_function sap_collide_box_box;
sap_collide_function sap_collide_convex;

typedef struct sap_facing {
  const sap_placed_shape *a, *b;
  const double* ab;  // b's centre - a's centre [m]
  double reach;      // [m]
} sap_facing;

// Builds the manifold of the features of a and b that face each other along n. Adds the deepest
// point (witness on a, signed distance phi) if the features miss it.
void sap_collide_features(const sap_facing* pair, const sap_manifold_point* witness,
                          sap_manifold* out);
