// SPDX-License-Identifier: BSD-3-Clause
// One call of collision detection: bounding boxes, pairs, manifolds.
#include <math.h>

#include "geometry/collision_data.h"
#include "geometry/sort.h"

static sap_status check_poses(const sap_model* model, const sap_collision_query* query,
                              sap_error* error) {
  const double *p_WB = query->p_WB, *R_WB = query->R_WB;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    double zero = 0.0;
    for (int k = 0; k < 3; ++k) {
      zero += 0.0 * p_WB[3 * b + k];
    }
    for (int k = 0; k < 9; ++k) {
      zero += 0.0 * R_WB[9 * b + k];
    }
    if (!(zero == 0.0)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE,
                      "body %d ('%s'): the pose must be finite; position (%g, %g, %g)", (int)b,
                      sap_model_name(model, SAP_ELEMENT_BODY, b), p_WB[3 * b], p_WB[3 * b + 1],
                      p_WB[3 * b + 2]);
    }
  }
  return SAP_STATUS_OK;
}

// No point of the shape moves farther between the two poses: its centre's way and |R1 - R0| times
// its radius. 0 where that is not finite.
static double way_of(const sap_collision_shape* shape, const sap_collision_query* query) {
  const int32_t body = shape->filter.body;
  const double* R = query->R_next + 9 * body;
  double p[3], turn_2 = 0.0;
  sap_m3_mul_v3(p, R, shape->p_BS);
  sap_v3_add(p, p, query->p_next + 3 * body);
  sap_v3_sub(p, p, shape->placed.p);
  for (int k = 0; k < 9; ++k) {
    const double turn = R[k] - query->R_WB[9 * body + k];
    turn_2 += turn * turn;
  }
  const double turn = turn_2 > 0.0 ? sqrt(turn_2) * shape->placed.bound : 0.0;
  const double way = sqrt(sap_v3_dot(p, p)) + turn;
  return isfinite(way) ? way : 0.0;
}

static void place_shapes(sap_collision* c, const sap_collision_query* query) {
  for (int32_t i = 0; i < c->shape_count; ++i) {
    sap_collision_shape* shape = &c->shapes[i];
    const double* R = query->R_WB + 9 * shape->filter.body;
    sap_m3_mul_v3(shape->placed.p, R, shape->p_BS);
    sap_v3_add(shape->placed.p, shape->placed.p, query->p_WB + 3 * shape->filter.body);
    if (shape->placed.type != SAP_SHAPE_SPHERE) {
      sap_m3_mul(shape->placed.R, R, shape->R_BS);
    }
    shape->way = query->p_next != NULL ? way_of(shape, query) : 0.0;
  }
}

// Each grown by its own reach: the larger one of a pair is less than both.
static void set_boxes(sap_collision* c) {
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    sap_aabb* box = &c->broadphase.boxes[i];
    sap_shape_bounds(&shape->placed, box->lower, box->upper);
    const double reach = sap_most(sap_most(shape->reach, shape->glide), shape->way);
    for (int k = 0; k < 3; ++k) {
      box->lower[k] -= reach;
      box->upper[k] += reach;
    }
  }
}

static bool accept_boxes(const void* context, int32_t a, int32_t b) {
  const sap_collision* c = context;
  return sap_filter_collides(c->model, &c->shapes[c->boxed[a]].filter,
                             &c->shapes[c->boxed[b]].filter);
}

static sap_status add_pair(sap_collision* c, int32_t a, int32_t b, sap_error* error) {
  if (c->pair_count >= c->pair_capacity) {
    const int32_t needed = c->pair_count < INT32_MAX ? c->pair_count + 1 : -1;
    const sap_status status = SAP_GROW(&c->pairs, &c->pair_capacity, needed, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  c->pairs[c->pair_count++] = low << 32 | high;
  return SAP_STATUS_OK;
}

static sap_status add_plane_pairs(sap_collision* c, int32_t plane, sap_error* error) {
  const sap_collision_shape* ground = &c->shapes[plane];
  const double* n = ground->placed.R + 6;
  const double offset = sap_v3_dot(n, ground->placed.p);
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    const double reach =
        sap_most(sap_most(sap_most(ground->reach, ground->glide), ground->way + shape->way),
                 sap_most(shape->reach, shape->glide));
    // Slack for the cancellation far from the origin; the pair itself is tested without it.
    const double height = sap_v3_dot(n, shape->placed.p) - offset;
    if (height * (1.0 - 1e-9) - 1e-9 * fabs(offset) >= shape->placed.bound + reach ||
        !sap_filter_collides(c->model, &ground->filter, &shape->filter)) {
      continue;
    }
    const sap_status status = add_pair(c, plane, c->boxed[i], error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status find_pairs(sap_collision* c, sap_error* error) {
  c->pair_count = 0;
  sap_status status = sap_broadphase_find(&c->broadphase, accept_boxes, c, error);
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->plane_count; ++i) {
    status = add_plane_pairs(c, c->planes[i], error);
  }
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->broadphase.pair_count; ++i) {
    const uint64_t key = c->broadphase.pairs[i];
    status = add_pair(c, c->boxed[key >> 32], c->boxed[key & UINT32_MAX], error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&c->pair_scratch, &c->scratch_capacity, c->pair_count, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_sort_keys(c->pairs, c->pair_count, c->pair_scratch);
  }
  return status;
}

// Margin of the pair, or the height at which its contacts glide. *cursor moves along the glides.
static double reach_of(const sap_collision* c, uint64_t pair, int32_t* cursor) {
  const sap_collision_shape *a = &c->shapes[pair >> 32], *b = &c->shapes[pair & UINT32_MAX];
  const sap_pair_def* own = sap_filter_find_pair(c->model, &a->filter, &b->filter);
  const double asked = own != NULL ? own->margin : sap_most(a->margin, b->margin);
  const double margin = sap_most(asked, a->way + b->way);
  while (*cursor < c->glide_count && c->glides[*cursor].pair < pair) {
    ++*cursor;
  }
  const bool glides = *cursor < c->glide_count && c->glides[*cursor].pair == pair;
  return glides ? sap_most(margin, c->glides[*cursor].reach) : margin;
}

static sap_status collide_pairs(sap_collision* c, const sap_collision_query* query,
                                sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  int32_t last_cursor = 0, glide_cursor = 0;
  c->contact_count = 0;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < c->pair_count; ++i) {
    const uint64_t pair = c->pairs[i];
    sap_manifold manifold;
    sap_collide(&c->shapes[pair >> 32].placed, &c->shapes[pair & UINT32_MAX].placed,
                reach_of(c, pair, &glide_cursor), &manifold);
    if (manifold.count > 0) {
      status = sap_collision_add_manifold(c, query, pair, &manifold, &last_cursor, error);
    }
  }
  return status;
}

sap_status sap_collision_detect(sap_collision* collision, const sap_collision_query* query,
                                const sap_contact** contacts, int32_t* count, sap_error* error) {
  sap_collision* c = collision;
  sap_status status = check_poses(c->model, query, error);
  if (status == SAP_STATUS_OK) {
    status = sap_collision_find_glides(c, query, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  place_shapes(c, query);
  set_boxes(c);
  status = find_pairs(c, error);
  if (status == SAP_STATUS_OK) {
    status = collide_pairs(c, query, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (query->remember) {
    c->last = 1 - c->last;
    c->last_count = c->contact_count;
  }
  *contacts = c->contacts;
  *count = c->contact_count;
  return SAP_STATUS_OK;
}
