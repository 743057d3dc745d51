// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/collide.h"

enum { TYPES = SAP_SHAPE_ELLIPSOID + 1 };

// By type of a (row) and b; only b >= a is used.
static sap_collide_function* const table[TYPES][TYPES] = {
    [SAP_SHAPE_PLANE] = {NULL, sap_collide_plane_any, sap_collide_plane_any, sap_collide_plane_any,
                         sap_collide_plane_any, sap_collide_plane_any},
    [SAP_SHAPE_SPHERE] = {NULL, sap_collide_sphere_sphere, sap_collide_sphere_capsule,
                          sap_collide_sphere_cylinder, sap_collide_sphere_box, sap_collide_convex},
    [SAP_SHAPE_CAPSULE] = {NULL, NULL, sap_collide_capsule_capsule, sap_collide_convex,
                           sap_collide_capsule_box, sap_collide_convex},
    [SAP_SHAPE_CYLINDER] = {NULL, NULL, NULL, sap_collide_convex, sap_collide_convex,
                            sap_collide_convex},
    [SAP_SHAPE_BOX] = {NULL, NULL, NULL, NULL, sap_collide_box_box, sap_collide_convex},
    [SAP_SHAPE_ELLIPSOID] = {NULL, NULL, NULL, NULL, NULL, sap_collide_convex},
};

// The same manifold seen from b: p moves to b's surface and centre.
static void flip(const double ab[3], sap_manifold* manifold) {
  for (int32_t i = 0; i < manifold->count; ++i) {
    sap_manifold_point* point = &manifold->points[i];
    sap_v3_add_scaled(point->p, point->n, point->phi);
    sap_v3_sub(point->p, point->p, ab);
    sap_v3_scale(point->n, point->n, -1.0);
  }
}

void sap_collide(const sap_placed_shape* a, const sap_placed_shape* b, sap_manifold* out) {
  out->count = 0;
  const bool swap = a->type > b->type;
  const sap_placed_shape* first = swap ? b : a;
  const sap_placed_shape* second = swap ? a : b;
  sap_collide_function* collide = table[first->type][second->type];
  if (collide == NULL) {
    return;
  }
  double ab[3];
  sap_v3_sub(ab, second->p, first->p);
  collide(first, second, ab, out);
  if (swap) {
    flip(ab, out);
  }
}

void sap_collide_features(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                          const sap_manifold_point* witness, sap_manifold* out) {
  // Depth [of the pair's size] that the features may miss before the witness is added.
  static const double missed = 1e-7;
  static const double origin[3] = {0.0, 0.0, 0.0};
  const double scale = sap_least(a->bound, b->bound);
  const double back[3] = {-witness->n[0], -witness->n[1], -witness->n[2]};
  sap_feature feature_a, feature_b;
  sap_candidates list;
  list.count = 0;
  sap_feature_facing(a, origin, witness->n, &feature_a);
  sap_feature_facing(b, ab, back, &feature_b);
  sap_feature_overlap(&feature_a, &feature_b, witness->n, &list);
  sap_manifold_point* deepest = NULL;
  for (int32_t i = 0; i < list.count; ++i) {
    // The slack of "inside" lets corners reach a little too deep.
    sap_manifold_point* point = &list.points[i];
    point->phi = sap_most(point->phi, witness->phi);
    deepest = deepest == NULL || point->phi < deepest->phi ? point : deepest;
  }
  if (deepest != NULL && deepest->phi <= witness->phi + missed * scale) {
    deepest->phi = witness->phi;
  } else {
    sap_candidates_add(&list, witness->p, witness->n, witness->phi);
  }
  sap_candidates_reduce(&list, scale, out);
}
