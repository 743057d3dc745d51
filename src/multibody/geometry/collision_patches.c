// SPDX-License-Identifier: BSD-3-Clause
// Patches of pairs in a call of collision detection.
#include "multibody/geometry/collision_data.h"

// Depths, relative to the smaller shape, at which a patch ahead of contact is evaluated: the motion
// without contact ends deeper than the one with it, and a face is stiff as soon as it touches.
static const double DEEPEST_AHEAD = 0.02, LEAST_AHEAD = 1e-4;
enum { HALVINGS = 7 };
// Patches are replaced by those larger by this: a tenth of a face lands, not the last bits of one.
static const double LARGER = 1.2;

sap_status sap_collision_reserve_patches(sap_collision* c, sap_error* error) {
  int32_t most = 6;
  bool any = false;
  for (int32_t i = 0; i < c->shape_count; ++i) {
    any = any || isfinite(c->shapes[i].kappa);
  }
  if (!any) {
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < c->mesh_count; ++i) {
    sap_polytope* hull = &c->hulls[i];
    most = hull->nfaces > most ? hull->nfaces : most;
    if (c->model->meshes[i].ntriangles > 0) {
      sap_patch_mesh* mesh;
      SAP_TRY(sap_patch_mesh_create(&c->model->meshes[i], hull->center, &c->pool, &mesh, error));
      hull->triangles = mesh;
    }
  }
  SAP_TRY(SAP_POOL_ADD(&c->pool, &c->surface, 1, error));
  SAP_TRY(SAP_POOL_ADD(&c->pool, &c->surface->planes[0], most, error));
  return SAP_POOL_ADD(&c->pool, &c->surface->planes[1], most, error);
}

bool sap_collision_has_fields(const sap_collision* c) {
  return c->surface != NULL;
}

bool sap_collision_has_patch(const sap_collision* c, uint64_t pair) {
  const int32_t a = (int32_t)(pair >> 32), b = (int32_t)(pair & UINT32_MAX);
  if (c->surface == NULL || (isinf(c->shapes[a].kappa) && isinf(c->shapes[b].kappa))) {
    return false;
  }
  return sap_collision_near_pair(c, pair).rest == 0.0;
}

bool sap_collision_has_triangles(const sap_collision* c, uint64_t pair) {
  const sap_collision_shape* a = &c->shapes[pair >> 32];
  const sap_collision_shape* b = &c->shapes[pair & UINT32_MAX];
  return sap_patch_has_triangles(&a->placed, sap_collision_kappa(a, b)) ||
         sap_patch_has_triangles(&b->placed, sap_collision_kappa(b, a));
}

static double smaller_size(const sap_collision_shape* a, const sap_collision_shape* b) {
  return sap_least(a->placed.bound, b->placed.bound);
}

// Largest way [m], over the extent of the smaller shape, by which the shapes approach each other in
// the step by the motion V_WB; p: a point where they touch. A shape that turns about its own
// axis does not come nearer.
static double find_approach(const sap_collision_shape* a, const sap_collision_shape* b,
                            const sap_collision_query* motion, const double p[3],
                            const double n[3]) {
  static const double origin[3] = {0.0, 0.0, 0.0};
  if (motion->V_WB == NULL) {
    return 0.0;
  }
  const sap_placed_shape* small = a->placed.bound < b->placed.bound ? &a->placed : &b->placed;
  double closing[3], turn[3], along[3], to[3];
  sap_motion_velocity(motion, a->filter.body, p, origin, closing);
  sap_motion_velocity(motion, b->filter.body, p, origin, to);
  sap_v3_sub(closing, closing, to);
  sap_v3_sub(turn, motion->V_WB + 6 * b->filter.body, motion->V_WB + 6 * a->filter.body);
  double speed = sap_v3_dot(n, closing);
  bool round = false;
  for (int side = 0; side < 2; ++side) {
    const sap_placed_shape* shape = side == 0 ? &a->placed : &b->placed;
    if (shape->type == SAP_SHAPE_CAPSULE || shape->type == SAP_SHAPE_CYLINDER) {
      sap_v3_add_scaled(turn, shape->R + 6, -sap_v3_dot(shape->R + 6, turn));
    } else {
      round = round || !sap_patch_is_flat(shape);
    }
  }
  sap_v3_cross(along, turn, n);  // grad of the speed over the contact plane
  const double slope = sap_v3_norm(along);
  if (!round && slope > 0.0) {
    sap_v3_scale(to, along, 1.0 / slope);
    speed += slope * sap_shape_extent(small, to);
    sap_v3_sub(to, small->p, p);
    speed += sap_v3_dot(along, to);
  }
  return sap_most(motion->dt * speed, 0.0);
}

// Sets phi of all points, and the depth, to those before B moved by `way`.
static void bring_back(sap_patch_surface* s, const double way[3]) {
  s->depth = sap_most(s->depth + sap_v3_dot(s->patches[0].points.points[0].n, way), 0.0);
  for (int32_t k = 0; k < s->npatches; ++k) {
    sap_manifold* points = &s->patches[k].points;
    for (int32_t i = 0; i < points->count; ++i) {
      points->points[i].phi -= sap_v3_dot(points->points[i].n, way);
    }
  }
}

// Returns by how much the motion brings shapes that overlap nearer, as far as patches need it [m].
static double find_ahead(const sap_collision_shape* a, const sap_collision_shape* b,
                         const sap_collision_query* motion, const sap_manifold* manifold) {
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  double p[3];
  sap_v3_add(p, a->placed.p, deepest->p);
  return sap_least(find_approach(a, b, motion, p, deepest->n), DEEPEST_AHEAD * smaller_size(a, b));
}

// The patch of shapes that overlap. Where they approach each other by `ahead` it is that of shapes
// nearer by so much, with its points at phi = -f/k + ahead: it knows the stiffness that comes.
static bool find_now(const sap_collision* c, const sap_collision_shape* a,
                     const sap_collision_shape* b, const sap_collision_query* motion,
                     const sap_manifold* manifold) {
  const double kappa[2] = {sap_collision_kappa(a, b), sap_collision_kappa(b, a)};
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  const double ahead = find_ahead(a, b, motion, manifold);
  double way[3];
  sap_manifold at = *manifold;
  sap_placed_shape near = b->placed;
  sap_v3_add_scaled(near.p, deepest->n, -ahead);
  for (int32_t i = 0; i < at.count; ++i) {
    at.points[i].phi -= ahead;
  }
  if (!sap_patch_find(c->surface, &a->placed, &near, kappa, &at)) {
    return false;
  }
  sap_v3_scale(way, deepest->n, -ahead);
  bring_back(c->surface, way);
  c->surface->depth = -deepest->phi;
  return true;
}

// Places the shapes where the motion makes them overlap by about `depth`, or at its end. Returns
// false if it does not bring them so far. manifold: theirs at *time.
static bool place_ahead(const sap_collision_shape* a, const sap_collision_shape* b,
                        const sap_collision_query* query, double depth, double* time,
                        sap_placed_shape placed[2], sap_manifold* manifold) {
  double end = query->dt, gap = sap_manifold_deepest(manifold)->phi;
  for (int k = 0; k < 3; ++k) {
    sap_manifold at;
    sap_motion_place(a, query, end, &placed[0]);
    sap_motion_place(b, query, end, &placed[1]);
    sap_collide(&placed[0], &placed[1], 0.0, &at);
    const double found = at.count > 0 ? -sap_manifold_deepest(&at)->phi : 0.0;
    if (!(found > 0.0)) {
      return false;
    }
    if (found <= 2.0 * depth || k == 2) {
      *manifold = at;
      *time = end;
      return true;
    }
    end = *time + (end - *time) * (gap + depth) / (gap + found);
  }
  return false;
}

static bool find_first(const sap_collision* c, const sap_collision_shape* a,
                       const sap_collision_shape* b, const sap_collision_query* query,
                       const sap_manifold* manifold, double* time) {
  const double kappa[2] = {sap_collision_kappa(a, b), sap_collision_kappa(b, a)};
  const sap_collision_query before = {.p_WB = query->p_WB, .V_WB = query->V0_WB, .dt = query->dt};
  if (*time == 0.0 && sap_manifold_deepest(manifold)->phi < 0.0) {
    return find_now(c, a, b, &before, manifold);
  }
  if (query->V_WB == NULL) {
    return false;
  }
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  double p[3], end = *time;
  sap_v3_add(p, a->placed.p, deepest->p);
  const double size = smaller_size(a, b), way = find_approach(a, b, &before, p, deepest->n);
  const double depth =
      sap_most(LEAST_AHEAD * size, sap_least(DEEPEST_AHEAD * size, way - deepest->phi));
  sap_placed_shape placed[2];
  sap_manifold at = *manifold;
  if (!place_ahead(a, b, query, depth, &end, placed, &at) ||
      !sap_patch_find(c->surface, &placed[0], &placed[1], kappa, &at)) {
    return false;
  }
  *time = end;
  return true;
}

static bool find_at(const sap_collision* c, const sap_collision_shape* a,
                    const sap_collision_shape* b, const sap_collision_query* query, double time) {
  const double kappa[2] = {sap_collision_kappa(a, b), sap_collision_kappa(b, a)};
  sap_placed_shape placed[2];
  sap_motion_place(a, query, time, &placed[0]);
  sap_motion_place(b, query, time, &placed[1]);
  return sap_patch_find(c->surface, &placed[0], &placed[1], kappa, NULL);
}

// Finds the patches, larger than `had`, where the motion takes the shapes, by bisection at most about
// `most` deep. Returns false if there are none at the end.
static bool find_mesh_ahead(const sap_collision* c, const sap_collision_shape* a,
                            const sap_collision_shape* b, const sap_collision_query* query,
                            const sap_patch_extent* had, double* time) {
  const double most = DEEPEST_AHEAD * smaller_size(a, b);
  double from = 0.0;
  if (!find_at(c, a, b, query, query->dt) || !(sap_patch_area(c->surface) > LARGER * had->area)) {
    return false;
  }
  bool last = true;
  *time = query->dt;
  double depth = c->surface->depth;
  for (int k = 0; k < HALVINGS && depth > most; ++k) {
    const double middle = 0.5 * (from + *time);
    last = find_at(c, a, b, query, middle);
    depth = last ? c->surface->depth : depth;
    *(last ? time : &from) = middle;
  }
  return last || find_at(c, a, b, query, *time);
}

// The patches of a pair with triangles, at the start where the shapes overlap, else where the motion
// takes them.
static bool find_mesh(const sap_collision* c, const sap_collision_shape* a,
                      const sap_collision_shape* b, const sap_collision_query* query,
                      const sap_patch_extent* had, double* time) {
  const double kappa[2] = {sap_collision_kappa(a, b), sap_collision_kappa(b, a)};
  const double size = smaller_size(a, b);
  double way[3] = {0.0, 0.0, 0.0}, move[3];
  if (query->V0_WB != NULL) {
    static const double origin[3] = {0.0, 0.0, 0.0};
    const sap_collision_query before = {.p_WB = query->p_WB, .V_WB = query->V0_WB};
    const double* p = a->placed.bound < b->placed.bound ? a->placed.p : b->placed.p;
    sap_motion_velocity(&before, b->filter.body, p, origin, way);
    sap_motion_velocity(&before, a->filter.body, p, origin, move);
    sap_v3_sub(way, way, move);
    const double norm = sap_v3_norm(way);
    sap_v3_scale(way, way, sap_least(query->dt, DEEPEST_AHEAD * size / norm));
  }
  for (int k = 0; k < 2; ++k) {
    sap_placed_shape near = b->placed;
    sap_v3_add(near.p, near.p, way);
    if (sap_patch_find(c->surface, &a->placed, &near, kappa, NULL)) {
      bring_back(c->surface, way);
      return true;
    }
    sap_v3_set(way, 0.0, 0.0, 0.0);
  }
  return query->V_WB != NULL && find_mesh_ahead(c, a, b, query, had, time);
}

bool sap_collision_has_known(const sap_collision* c, const sap_identity* known) {
  const sap_identity* end = c->identities[c->last] + c->last_count;
  const uint64_t pair = known->pair;
  for (int32_t k = 0; k < c->surface->npatches && known < end; ++k) {
    const sap_patch_cluster* patch = &c->surface->patches[k];
    for (int32_t i = 0; i < patch->points.count && known < end && known->pair == pair; ++i) {
      known += known->feature == patch->features[i];
    }
  }
  return known == end || known->pair != pair;
}

// Returns true if the patches may be larger than `had` by LARGER where the shapes are `depth` deep.
// The root of a convex body's section by a plane is concave in its depth: the area grows at most
// with its square.
static bool may_be_larger(const sap_patch_extent* had, double depth) {
  return depth * depth > LARGER * had->depth * had->depth;
}

bool sap_collision_find_patches(const sap_collision* c, uint64_t pair,
                                const sap_collision_query* query, const sap_patch_extent* had,
                                const sap_manifold* manifold, double* time) {
  const sap_collision_shape* a = &c->shapes[pair >> 32];
  const sap_collision_shape* b = &c->shapes[pair & UINT32_MAX];
  const bool triangles = sap_collision_has_triangles(c, pair);
  if (!(had->area > 0.0)) {
    return triangles ? find_mesh(c, a, b, query, had, time)
                     : find_first(c, a, b, query, manifold, time);
  }
  if (!(sap_motion_bound(a, b) > LEAST_AHEAD * smaller_size(a, b))) {
    return false;
  }
  sap_manifold at;
  bool found;
  if (triangles) {
    found = find_mesh_ahead(c, a, b, query, had, time);
  } else {
    sap_collide(&a->placed, &b->placed, 0.0, &at);
    const double depth = at.count > 0 ? -sap_manifold_deepest(&at)->phi : 0.0;
    found = depth > 0.0 && may_be_larger(had, depth + find_ahead(a, b, query, &at)) &&
            find_now(c, a, b, query, &at);
  }
  return found && sap_patch_area(c->surface) > LARGER * had->area;
}
