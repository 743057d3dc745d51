// SPDX-License-Identifier: BSD-3-Clause
// Collision detection: creation, and one call (poses, pairs, contacts).
#include "multibody/geometry/collision.h"

#include <float.h>
#include <math.h>

#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/geometry/ahead_gap.h"
#include "multibody/geometry/collision_data.h"

static sap_status make_hulls(sap_collision* c, sap_error* error) {
  const sap_model* model = c->model;
  SAP_TRY(SAP_POOL_ADD(&c->pool, &c->hulls, model->sizes.meshes, error));
  for (int32_t i = 0; i < model->sizes.meshes; ++i) {
    SAP_TRY(sap_polytope_create(&model->meshes[i], &c->hulls[c->mesh_count++], error));
  }
  return SAP_STATUS_OK;
}

static void init_shape(sap_collision* c, int32_t id) {
  const sap_shape_def* def = &c->model->shapes[id];
  sap_collision_shape* shape = &c->shapes[id];
  const sap_polytope* hull = def->type == SAP_SHAPE_MESH ? &c->hulls[def->mesh] : NULL;
  sap_shape_init(&shape->placed, def, hull);
  sap_filter_init(c->model, id, &shape->filter);
  sap_quaternion_to_matrix(shape->R_BS, def->q_BS);
  sap_v3_copy(shape->p_BS, def->p_BS);
  shape->margin = def->margin;
  shape->reach = def->margin;
  shape->rest = sap_most(0.0, def->rest_distance);
  const double thickness =
      def->material.field_depth > 0.0 ? def->material.field_depth : shape->placed.inner;
  const double kappa = def->material.modulus / thickness;
  shape->kappa = kappa > 0.0 ? kappa : (double)INFINITY;
  SAP_EACH(const sap_pair_def, pair, c->model->pairs, c->model->sizes.pairs) {
    if (pair->shape_a == id || pair->shape_b == id) {
      shape->reach = sap_most(shape->reach, pair->margin);
      shape->rest = sap_most(shape->rest, pair->rest_distance);
    }
  }
  if (hull != NULL) {
    double center[3];
    sap_m3_mul_v3(center, shape->R_BS, hull->center);
    sap_v3_add(shape->p_BS, shape->p_BS, center);
  }
  shape->arm = sap_v3_norm(shape->p_BS);
}

static sap_status init_collision(sap_collision* c, const sap_model* model, sap_error* error) {
  c->model = model;
  c->pool.owner = "collision detection";
  c->shape_count = model->sizes.shapes;
  const size_t n = (size_t)c->shape_count;
  SAP_TRY(SAP_POOL_ADD_ALL(
      &c->pool, error, SAP_ARRAY(&c->shapes, n), SAP_ARRAY(&c->planes, n), SAP_ARRAY(&c->boxed, n),
      SAP_ARRAY(&c->box_of, n), SAP_ARRAY(&c->bounds, n), SAP_ARRAY(&c->boxes, n),
      SAP_ARRAY(&c->boxes_before, n), SAP_ARRAY(&c->outside, n), SAP_ARRAY(&c->movers, n),
      SAP_ARRAY(&c->spent, n), SAP_ARRAY(&c->poses, 12 * (size_t)model->sizes.bodies),
      SAP_ARRAY(&c->travel, model->sizes.bodies)));
  SAP_TRY(make_hulls(c, error));
  for (int32_t i = 0; i < c->shape_count; ++i) {
    init_shape(c, i);
    if (model->shapes[i].type == SAP_SHAPE_PLANE) {
      c->planes[c->plane_count++] = i;
    } else {
      c->box_of[i] = c->box_count;
      c->boxed[c->box_count++] = i;
    }
  }
  SAP_TRY(sap_collision_reserve_patches(c, error));
  SAP_TRY(sap_broadphase_create(&c->broadphase, &c->pool, c->box_count, error));
  return sap_collision_reserve_near(c, error);
}

sap_status sap_collision_create(const sap_model* model, sap_collision** out, sap_error* error) {
  SAP_NOT_NULL(error, model, out);
  *out = NULL;
  sap_collision* c;
  SAP_TRY(SAP_NEW(&c, 1, "collision detection", error));
  SAP_TRY_OR(init_collision(c, model, error), sap_collision_destroy(c));
  *out = c;
  return SAP_STATUS_OK;
}

void sap_collision_destroy(sap_collision* collision) {
  if (collision == NULL) {
    return;
  }
  for (int32_t i = 0; i < collision->mesh_count; ++i) {
    sap_polytope_clear(&collision->hulls[i]);
  }
  sap_pool_free(&collision->pool);
  sap_free(collision->identities[0]);
  sap_free(collision->identities[1]);
  sap_free(collision);
}

void sap_collision_drop_later(sap_collision* c) {
  sap_identity* all = c->identities[c->last];
  int32_t kept = 0;
  for (int32_t i = 0; i < c->last_count; ++i) {
    if (all[i].solutions == 0) {
      all[kept++] = all[i];
    }
  }
  c->last_count = kept;
}

sap_status sap_collision_archive(sap_collision* c, sap_archive* archive, sap_error* error) {
  return SAP_ARCHIVE_ARRAY(archive, &c->identities[c->last], &c->last_count,
                           &c->identity_capacity[c->last], error);
}

// --- one call ---

static sap_status check_poses(const sap_model* model, const sap_collision_query* query,
                              sap_error* error) {
  const double *p_WB = query->p_WB, *R_WB = query->R_WB;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    const bool finite = sap_all_finite(p_WB + 3 * b, 3) && sap_all_finite(R_WB + 9 * b, 9);
    SAP_FAIL_IF(!finite, error, SAP_STATUS_NOT_FINITE,
                "body %d ('%s'): the pose must be finite; position (%g, %g, %g)", (int)b,
                sap_model_get_name(model, SAP_ELEMENT_BODY, b), p_WB[3 * b], p_WB[3 * b + 1],
                p_WB[3 * b + 2]);
  }
  return SAP_STATUS_OK;
}

void sap_collision_place(const sap_collision_shape* shape, const double* p_WB, const double* R_WB,
                         sap_placed_shape* placed) {
  const double* R = R_WB + 9 * shape->filter.body;
  sap_v3_place(placed->p, p_WB + 3 * shape->filter.body, R, shape->p_BS);
  if (placed->type != SAP_SHAPE_SPHERE) {
    sap_m3_mul(placed->R, R, shape->R_BS);
  }
}

// Sets the pose and the bounds of a shape.
static void place_shape(sap_collision* c, int32_t i, const sap_collision_query* query) {
  sap_collision_shape* shape = &c->shapes[i];
  sap_collision_place(shape, query->p_WB, query->R_WB, &shape->placed);
  if (shape->placed.type != SAP_SHAPE_PLANE) {
    sap_aabb* bounds = &c->bounds[c->box_of[i]];
    sap_shape_bounds(&shape->placed, bounds->lower, bounds->upper);
  }
}

// Sets move and turn of a placed shape. Returns a bound of the way of any of its points [m].
static double set_motion(sap_collision_shape* shape, const sap_collision_query* query) {
  const int32_t body = shape->filter.body;
  sap_v3_set(shape->move, 0.0, 0.0, 0.0);
  shape->turn = 0.0;
  if (query->V_WB == NULL || sap_collision_shape_is_static(shape)) {
    return 0.0;
  }
  double arm[3], velocity[3];
  const double* V = query->V_WB + 6 * body;
  sap_v3_sub(arm, shape->placed.p, query->p_WB + 3 * body);
  sap_v3_cross(velocity, V, arm);
  sap_v3_add(velocity, velocity, V + 3);
  const double angle2 = query->dt * query->dt * sap_v3_dot(V, V);
  const double angle = shape->placed.type == SAP_SHAPE_SPHERE ? 0.0 : sap_least(sqrt(angle2), 2.0);
  const double turn = angle * shape->placed.bound + 0.5 * angle2 * shape->arm;
  const double way = query->dt * sap_v3_norm(velocity) + turn;
  if (!isfinite(way)) {
    return 0.0;
  }
  sap_v3_scale(shape->move, velocity, query->dt);
  shape->turn = turn;
  return way;
}

// Sets the poses (`moved`: of all), bounds and motions of the shapes.
static void place_shapes(sap_collision* c, const sap_collision_query* query, bool moved) {
  for (int32_t i = 0; i < c->shape_count; ++i) {
    sap_collision_shape* shape = &c->shapes[i];
    if (sap_collision_shape_rests(c, shape)) {
      continue;
    }
    if (moved) {
      place_shape(c, i, query);
    }
    const double way = set_motion(shape, query);
    if (c->travels || sap_collision_shape_is_static(shape)) {
      c->spent[i] = SAP_WAY_AND_SLACK * way + sap_collision_travel(c, shape);
    }
  }
}

// Near pairs per box from which travels pay.
enum { MANY_NEAR = 4 };

// Adds the ways of the bodies since they were looked at last to `travel`, rounded up: of static
// bodies, and of all where the near pairs are many.
static void add_travel(sap_collision* c, const sap_collision_query* query) {
  static const double chord = 0.7072;  // |dR|_2 = |dR|_F/sqrt(2) of two rotations, and round-off
  c->statics_rest = true;
  c->travels = c->near_count > MANY_NEAR * c->box_count;
  for (int32_t b = 0; b < c->model->sizes.bodies; ++b) {
    const bool is_static = c->model->bodies[b].weld == 0;
    if (!is_static && !c->travels) {
      continue;
    }
    const double *p = query->p_WB + 3 * b, *R = query->R_WB + 9 * b;
    double *pose = c->poses + 12 * b, *travel = c->travel[b], way2 = 0.0, turn2 = 0.0;
    for (int i = 0; i < 3; ++i) {
      way2 += (p[i] - pose[i]) * (p[i] - pose[i]);
      pose[i] = p[i];
    }
    for (int i = 0; i < 9; ++i) {
      turn2 += (R[i] - pose[3 + i]) * (R[i] - pose[3 + i]);
      pose[3 + i] = R[i];
    }
    if (way2 > 0.0 || turn2 > 0.0) {
      travel[0] += sqrt(way2) + DBL_EPSILON * travel[0];
      travel[1] += chord * sqrt(turn2) + DBL_EPSILON * travel[1];
      c->statics_rest = c->statics_rest && !is_static;
    }
  }
}

// Adds the contacts of this call to those of the last one; a patch found anew replaces its points.
static sap_status remember_more(sap_collision* c, sap_error* error) {
  const int32_t count = c->last_count + c->contact_count;
  SAP_TRY(SAP_GROW(&c->identities[c->last], &c->identity_capacity[c->last], count, error));
  sap_identity* all = c->identities[c->last];
  SAP_EACH(const sap_identity, one, c->identities[1 - c->last], c->contact_count) {
    int32_t at = c->last_count, same = -1;
    for (; at > 0 && all[at - 1].pair >= one->pair && same < 0; --at) {
      same = all[at - 1].pair == one->pair && all[at - 1].feature == one->feature ? at - 1 : -1;
    }
    if (same >= 0) {
      all[same] = *one;
      continue;
    }
    for (at = c->last_count++; at > 0 && all[at - 1].pair > one->pair; --at) {
      all[at] = all[at - 1];
    }
    all[at] = *one;
  }
  return SAP_STATUS_OK;
}

sap_status sap_collision_detect(sap_collision* collision, const sap_collision_query* query,
                                const sap_contact** contacts, int32_t* count, sap_error* error) {
  sap_collision* c = collision;
  const bool moved = !query->more || c->elsewhere;
  if (moved) {
    SAP_TRY(check_poses(c->model, query, error));
    add_travel(c, query);
  }
  c->elsewhere = !query->more && !query->remember;
  c->fall = query->dt * query->dt * sap_v3_norm(c->model->options.gravity);
  place_shapes(c, query, moved);
  SAP_TRY(sap_collision_find_pairs(c, query->more, error));
  SAP_TRY(sap_collision_collide(c, query, error));
  if (query->more) {
    SAP_TRY(remember_more(c, error));
  } else if (query->remember) {
    c->last = 1 - c->last;
    c->last_count = c->contact_count;
  }
  *contacts = c->contacts;
  *count = c->contact_count;
  return SAP_STATUS_OK;
}

// --- one pair ---

sap_status sap_collision_pair_patch(sap_collision* c, const sap_collision_query* query,
                                    sap_pair_patch* of, sap_error* error) {
  SAP_NOT_NULL(error, c, query, of);
  const uint64_t pair = (uint64_t)of->shapes[0] << 32 | (uint64_t)of->shapes[1];
  sap_collision_query motion = *query;
  sap_placed_shape placed[2];
  sap_manifold manifold;
  of->found = NULL;
  SAP_RETURN_IF(!sap_collision_has_patch(c, pair), SAP_STATUS_OK);
  for (int32_t side = 0; side < 2; ++side) {
    sap_collision_shape* shape = &c->shapes[of->shapes[side]];
    place_shape(c, of->shapes[side], query);
    (void)set_motion(shape, query);
    sap_motion_place(shape, query, of->time, &placed[side]);
  }
  of->triangles = sap_collision_has_triangles(c, pair);
  if (of->triangles && !of->is_apart) {
    motion.V_WB = NULL;
  } else if (!of->triangles && !(of->extent.area > 0.0)) {
    const double reach = of->is_apart ? sap_least(placed[0].bound, placed[1].bound) : 0.0;
    sap_collide(&placed[0], &placed[1], reach, &manifold);
    SAP_RETURN_IF(manifold.count == 0, SAP_STATUS_OK);
  }
  SAP_RETURN_IF(!sap_collision_find_patches(c, pair, &motion, &of->extent, &manifold, &of->time),
                SAP_STATUS_OK);
  sap_motion_place(&c->shapes[of->shapes[0]], query, of->time, &placed[0]);
  for (int32_t k = 0; k < c->surface->npatches; ++k) {
    sap_manifold* points = &c->surface->patches[k].points;
    for (int32_t i = 0; i < points->count; ++i) {
      sap_v3_add(points->points[i].p, points->points[i].p, placed[0].p);
    }
  }
  of->found = c->surface;
  of->extent = (sap_patch_extent){sap_patch_area(c->surface), c->surface->found_depth};
  return SAP_STATUS_OK;
}
