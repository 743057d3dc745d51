// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/collide.h"

#include "multibody/model/hull.h"

enum { TYPES = SAP_SHAPE_MESH + 1 };

// By type of a (row) and b; only entries with b >= a are used.
static sap_collide_function* const table[TYPES][TYPES] = {
    [SAP_SHAPE_PLANE] = {NULL, sap_collide_plane_any, sap_collide_plane_any, sap_collide_plane_any,
                         sap_collide_plane_any, sap_collide_plane_any, sap_collide_plane_any},
    [SAP_SHAPE_SPHERE] = {NULL, sap_collide_capsule_capsule, sap_collide_capsule_capsule,
                          sap_collide_convex, sap_collide_capsule_box, sap_collide_convex,
                          sap_collide_convex},
    [SAP_SHAPE_CAPSULE] = {NULL, NULL, sap_collide_capsule_capsule, sap_collide_convex,
                           sap_collide_capsule_box, sap_collide_convex, sap_collide_convex},
    [SAP_SHAPE_CYLINDER] = {NULL, NULL, NULL, sap_collide_convex, sap_collide_convex,
                            sap_collide_convex, sap_collide_convex},
    [SAP_SHAPE_BOX] = {NULL, NULL, NULL, NULL, sap_collide_box_box, sap_collide_convex,
                       sap_collide_convex},
    [SAP_SHAPE_ELLIPSOID] = {NULL, NULL, NULL, NULL, NULL, sap_collide_convex, sap_collide_convex},
    [SAP_SHAPE_MESH] = {NULL, NULL, NULL, NULL, NULL, NULL, sap_collide_convex},
};

// Exchanges a and b: p moves to b's surface, relative to b's centre.
static void flip(const double ab[3], sap_manifold* manifold) {
  SAP_EACH(sap_manifold_point, point, manifold->points, manifold->count) {
    sap_v3_add_scaled(point->p, point->n, point->phi);
    sap_v3_sub(point->p, point->p, ab);
    sap_v3_scale(point->n, point->n, -1.0);
  }
  sap_v3_scale(manifold->apart, manifold->apart, -1.0);
}

bool sap_collide_are_apart(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                           const double along[3], double* gap) {
  static const double round_off = 1e-9;  // relative to both sizes
  if (along[0] == 0.0 && along[1] == 0.0 && along[2] == 0.0) {
    return false;
  }
  double ab[3];
  sap_v3_sub(ab, b->p, a->p);
  const double back[3] = {-along[0], -along[1], -along[2]};
  *gap = sap_v3_dot(along, ab) - sap_shape_extent(a, along) - sap_shape_extent(b, back) -
         round_off * (a->bound + b->bound + reach);
  return *gap > reach;
}

void sap_collide(const sap_placed_shape* a, const sap_placed_shape* b, double reach,
                 sap_manifold* out) {
  sap_collide_above(a, b, HUGE_VAL, reach, out);
}

void sap_collide_above(const sap_placed_shape* a, const sap_placed_shape* b, double near,
                       double reach, sap_manifold* out) {
  out->count = 0;
  out->near = near;
  sap_v3_set(out->apart, 0.0, 0.0, 0.0);
  const bool swap = a->type > b->type;
  const sap_placed_shape* first = swap ? b : a;
  const sap_placed_shape* second = swap ? a : b;
  sap_collide_function* collide = table[first->type][second->type];
  if (collide == NULL) {
    return;
  }
  double ab[3];
  sap_v3_sub(ab, second->p, first->p);
  collide(first, second, ab, reach, out);
  if (swap) {
    flip(ab, out);
  }
}

// Adds vertices of a hull that reach the other's flat feature but are not corners of the facing
// face, nor far behind it: nearly coplanar facets act as one.
static void add_vertices(const sap_facing* pair, bool of_a, const sap_feature* own,
                         const sap_feature* other, const sap_manifold_point* witness,
                         sap_candidates* list) {
  // Relative to the hull's size; above the distance of a face's corners from its plane.
  static const double out_of_plane = 4.0 * SAP_HULL_FLATNESS, coplanar = 0.05;
  const sap_placed_shape* shape = of_a ? pair->a : pair->b;
  sap_foot_map map;
  if (shape->type != SAP_SHAPE_MESH || other->kind == SAP_FEATURE_POINT ||
      other->kind == SAP_FEATURE_SEGMENT || !sap_foot_map_make(other, witness->n, &map)) {
    return;
  }
  double local[3], a[3], b[3], origin[3], centre[3];
  sap_m3_tmul_v3(local, shape->R, witness->n);
  sap_v3_scale(local, local, of_a ? 1.0 : -1.0);
  // The map in the hull's axes, and from its centre.
  sap_m3_tmul_v3(a, shape->R, map.a);
  sap_m3_tmul_v3(b, shape->R, map.b);
  sap_v3_scale(origin, pair->ab, of_a ? 0.0 : 1.0);
  sap_v3_sub(centre, origin, other->c);
  const double a0 = sap_v3_dot(centre, map.a), b0 = sap_v3_dot(centre, map.b);
  int32_t hint = 0;
  const sap_polytope* hull = shape->hull;
  const double* normal = hull->normals + 3 * (size_t)own->face;
  const double corner = hull->offsets[own->face] - out_of_plane * hull->bound;
  // Vertices below this are out of reach.
  const double least = sap_v3_dot(local, sap_polytope_support(hull, local, &hint)) - pair->reach +
                       sap_most(witness->phi, -coplanar * hull->bound);
  for (int32_t i = 0; i < hull->nvertices; ++i) {
    const double* vertex = hull->vertices + 3 * (size_t)i;
    if (!(sap_v3_dot(local, vertex) >= least) || !(sap_v3_dot(normal, vertex) < corner)) {
      continue;
    }
    const double ab[2] = {a0 + sap_v3_dot(a, vertex), b0 + sap_v3_dot(b, vertex)};
    if (sap_feature_holds(other, ab)) {
      double x[3];
      sap_v3_place(x, origin, shape->R, vertex);
      sap_foot_map_add_point(&map, x, of_a, list);
    }
  }
}

static bool is_round(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_SPHERE || shape->type == SAP_SHAPE_ELLIPSOID;
}

void sap_collide_features(const sap_facing* pair, const sap_manifold_point* witness,
                          sap_manifold* out) {
  // Depth, relative to the pair's size, that the features may miss before the witness is added. The
  // eight points of a rim that counts as flat miss 0.08 of its slope.
  static const double missed_by_flats = 1e-7, missed_by_rims = 1e-5;
  static const double origin[3] = {0.0, 0.0, 0.0};
  const sap_placed_shape *a = pair->a, *b = pair->b;
  const double scale = sap_least(a->bound, b->bound);
  const double back[3] = {-witness->n[0], -witness->n[1], -witness->n[2]};
  sap_feature feature_a, feature_b;
  sap_candidates list;
  sap_candidates_start(&list, pair->reach);
  if (is_round(a) || is_round(b) || out->near == SAP_DEEPEST_ONLY) {  // nothing flat: one point
    sap_candidates_add(&list, witness->p, witness->n, witness->phi);
    sap_candidates_reduce(&list, scale, out);
    return;
  }
  sap_feature_facing(a, origin, witness->n, &feature_a);
  sap_feature_facing(b, pair->ab, back, &feature_b);
  list.boxes = feature_a.kind == SAP_FEATURE_QUAD && feature_b.kind == SAP_FEATURE_QUAD;
  sap_feature_overlap(&feature_a, &feature_b, witness->n, &list);
  add_vertices(pair, true, &feature_a, &feature_b, witness, &list);
  add_vertices(pair, false, &feature_b, &feature_a, witness, &list);
  const bool rim = (feature_a.kind == SAP_FEATURE_DISC && !feature_a.tilted) ||
                   (feature_b.kind == SAP_FEATURE_DISC && !feature_b.tilted);
  const double missed = rim ? missed_by_rims : missed_by_flats;
  sap_manifold_point* deepest = NULL;
  for (int32_t i = 0; i < list.count; ++i) {
    // The slack of "inside" lets corners be slightly too deep.
    sap_manifold_point* point = &list.points[i];
    point->phi = sap_most(point->phi, witness->phi);
    deepest = deepest == NULL || point->phi < deepest->phi ? point : deepest;
  }
  if (deepest != NULL && deepest->phi <= witness->phi + missed * scale) {
    deepest->phi = witness->phi;
  } else {
    sap_candidates_add(&list, witness->p, witness->n, witness->phi);
    list.witness = list.count - 1;
  }
  sap_candidates_reduce(&list, scale, out);
}
