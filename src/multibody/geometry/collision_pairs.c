// SPDX-License-Identifier: BSD-3-Clause
// Pairs of shapes to collide: filters, pairs whose bounding boxes are near, pairs with planes.
#include "multibody/geometry/collision_data.h"

#include <math.h>

#include "multibody/geometry/ahead_gap.h"

// --- filters ---

void sap_filter_init(const sap_model* model, int32_t shape, sap_filter_shape* out) {
  const sap_shape_def* def = &model->shapes[shape];
  const int32_t weld = model->bodies[def->body].weld;
  *out = (sap_filter_shape){
      .shape = shape,
      .body = def->body,
      .weld = weld,
      .parent_weld = weld == 0 ? -1 : model->bodies[model->bodies[weld].parent].weld,
      .contact_type = def->contact_type,
      .contact_affinity = def->contact_affinity,
  };
  for (int32_t i = 0; i < model->exclusion_count; ++i) {
    const int32_t* pair = model->exclusions[i];
    out->excluded = out->excluded || pair[0] == def->body || pair[1] == def->body;
  }
  SAP_EACH(const sap_pair_def, pair, model->pairs, model->sizes.pairs) {
    out->paired = out->paired || pair->shape_a == shape || pair->shape_b == shape;
  }
}

const sap_pair_def* sap_filter_find_pair(const sap_model* model, const sap_filter_shape* a,
                                         const sap_filter_shape* b) {
  return a->paired && b->paired ? sap_model_find_pair(model, a->shape, b->shape) : NULL;
}

// Returns true if two shapes may collide. Same weld group (so both static): never. A contact pair:
// always. Bodies of the two sides of a joint: only if one is static. Then the masks
// (typeA & affinityB) | (typeB & affinityA) and the model's exclusions decide.
static bool may_collide(const sap_model* model, const sap_filter_shape* a,
                        const sap_filter_shape* b) {
  if (a->weld == b->weld) {
    return false;
  }
  if (sap_filter_find_pair(model, a, b) != NULL) {
    return true;
  }
  if (a->weld != 0 && b->weld != 0 && (a->weld == b->parent_weld || b->weld == a->parent_weld)) {
    return false;
  }
  if (((a->contact_type & b->contact_affinity) | (b->contact_type & a->contact_affinity)) == 0) {
    return false;
  }
  return !(a->excluded && b->excluded && sap_model_excludes(model, a->body, b->body));
}

// --- pairs of shapes whose bounding boxes may soon overlap, kept from call to call ---
// Every box lies in a roomy box, which stays where it is until the box leaves it. Pairs of roomy
// boxes that overlap are listed once; the pairs of a call are among them. If a few boxes have left
// their roomy boxes, these get new ones and are tested against all others; if many have, all pairs
// are found anew. The boxes that overlap do not depend on this.
// cost: O(shapes + near pairs) for most calls

// Space on each side of a roomy box, relative to the shape's bounding radius. The box also covers
// the way of the shape in the next calls, up to half the shape's size.
static const double space = 0.03, calls_ahead = 8.0, farthest_ahead = 0.5;
// All pairs are found anew if more than FEW_MOVERS boxes, and more than one of BOXES_PER_MOVER,
// have left their roomy boxes.
enum { BOXES_PER_MOVER = 24, FEW_MOVERS = 4 };
// Room for near pairs per box at first.
enum { NEAR_PER_BOX = 4 };

sap_near_pair sap_collision_near_pair(const sap_collision* c, uint64_t pair) {
  const uint64_t ids[2] = {pair >> 32, pair & UINT32_MAX};
  const sap_collision_shape *a = &c->shapes[ids[0]], *b = &c->shapes[ids[1]];
  const sap_pair_def* own = sap_filter_find_pair(c->model, &a->filter, &b->filter);
  const sap_shape_def* shapes = c->model->shapes;
  return (sap_near_pair){.pair = pair,
                         .margin = own != NULL ? own->margin : sap_most(a->margin, b->margin),
                         .rest = own != NULL
                                     ? own->rest_distance
                                     : shapes[ids[0]].rest_distance + shapes[ids[1]].rest_distance,
                         .gap = -HUGE_VAL,
                         .clear = -HUGE_VAL};
}

// Adds a pair of shape ids to `keys`.
static sap_status add_key(sap_collision* c, int32_t a, int32_t b, sap_error* error) {
  const int32_t needed = c->key_count < INT32_MAX ? c->key_count + 1 : -1;
  SAP_TRY(SAP_ROOM(&c->pool, &c->keys, needed, error));
  const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  c->keys[c->key_count++] = low << 32 | high;
  return SAP_STATUS_OK;
}

static bool box_holds(const sap_aabb* outer, const sap_aabb* inner) {
  return outer->lower[0] <= inner->lower[0] && inner->upper[0] <= outer->upper[0] &&
         outer->lower[1] <= inner->lower[1] && inner->upper[1] <= outer->upper[1] &&
         outer->lower[2] <= inner->lower[2] && inner->upper[2] <= outer->upper[2];
}

// Returns the space on a side that moves outwards by `way` from call to call.
static double space_for(const sap_collision_shape* shape, double way) {
  const double ahead = way > 0.0 ? calls_ahead * way : 0.0;
  const double bound = shape->placed.bound;
  return space * bound + sap_least(ahead, farthest_ahead * bound);
}

// Makes the roomy box; boxes of static shapes get no space.
static void make_roomy(sap_collision* c, int32_t i) {
  const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
  const sap_aabb *box = &c->boxes[i], *before = &c->boxes_before[i];
  sap_aabb* roomy = &c->broadphase.boxes[i];
  *roomy = *box;
  for (int k = 0; k < 3 && !sap_collision_shape_is_static(shape); ++k) {
    roomy->lower[k] -= space_for(shape, before->lower[k] - box->lower[k]);
    roomy->upper[k] += space_for(shape, box->upper[k] - before->upper[k]);
  }
}

// Grows the box by its own rest distance and reach, as the reach of a pair is at most their sum, with
// what a fall closes beside it, and sweeps it along its motion.
static void make_box(const sap_collision_shape* shape, double fall, const sap_aabb* bounds,
                     sap_aabb* box) {
  const double beside = sap_collision_shape_is_static(shape) ? 0.0 : SAP_AHEAD_BESIDE * fall;
  const double reach = shape->rest + sap_most(shape->reach, shape->turn + beside);
  for (int k = 0; k < 3; ++k) {
    box->lower[k] = bounds->lower[k] - reach + sap_least(shape->move[k], 0.0);
    box->upper[k] = bounds->upper[k] + reach + sap_most(shape->move[k], 0.0);
  }
}

// Sets `boxes` and lists the movers.
static void set_boxes(sap_collision* c, bool again) {
  for (int32_t m = 0; m < c->mover_count; ++m) {
    c->outside[c->movers[m]] = false;
  }
  c->mover_count = 0;
  if (!again) {
    sap_aabb* const boxes = c->boxes;
    c->boxes = c->boxes_before;
    c->boxes_before = boxes;
  }
  sap_aabb* const before = c->boxes_before;
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    if (sap_collision_shape_rests(c, shape)) {
      continue;
    }
    make_box(shape, again ? 0.0 : c->fall, &c->bounds[i], &c->boxes[i]);
    if (!c->has_near || sap_collision_shape_is_static(shape)) {
      before[i] = c->boxes[i];
    }
    if (!box_holds(&c->broadphase.boxes[i], &c->boxes[i])) {
      c->outside[i] = true;
      c->movers[c->mover_count++] = i;
    }
  }
}

static bool accept_boxes(const void* context, int32_t a, int32_t b) {
  const sap_collision* c = context;
  return may_collide(c->model, &c->shapes[c->boxed[a]].filter, &c->shapes[c->boxed[b]].filter);
}

// Makes all roomy boxes anew, so that they last equally long, and finds all pairs.
static sap_status find_all(sap_collision* c, sap_error* error) {
  for (int32_t i = 0; i < c->box_count; ++i) {
    make_roomy(c, i);
  }
  sap_broadphase* bp = &c->broadphase;
  SAP_TRY(sap_broadphase_find(bp, accept_boxes, c, error));
  for (int32_t i = 0; i < bp->pair_count; ++i) {
    const uint64_t pair = bp->pairs[i];
    SAP_TRY(add_key(c, c->boxed[pair >> 32], c->boxed[pair & UINT32_MAX], error));
  }
  return SAP_STATUS_OK;
}

// Makes roomy boxes for the movers and finds their pairs; a pair of two movers once.
static sap_status find_movers(sap_collision* c, sap_error* error) {
  const sap_aabb* boxes = c->broadphase.boxes;
  for (int32_t m = 0; m < c->mover_count; ++m) {
    make_roomy(c, c->movers[m]);
  }
  for (int32_t m = 0; m < c->mover_count; ++m) {
    const int32_t a = c->movers[m];
    for (int32_t b = 0; b < c->box_count; ++b) {
      if (sap_aabb_overlap(&boxes[a], &boxes[b]) && !(c->outside[b] && b <= a) &&
          accept_boxes(c, a, b)) {
        SAP_TRY(add_key(c, c->boxed[a], c->boxed[b], error));
      }
    }
  }
  return SAP_STATUS_OK;
}

// Makes room in both lists.
static sap_status reserve_near(sap_collision* c, int32_t needed, sap_error* error) {
  SAP_TRY(SAP_ROOM(&c->pool, &c->near[0], needed, error));
  return SAP_ROOM(&c->pool, &c->near[1], needed, error);
}

sap_status sap_collision_reserve_near(sap_collision* c, sap_error* error) {
  const int64_t n = c->box_count, all = n * (n - 1) / 2;
  const int64_t wanted = all < NEAR_PER_BOX * n ? all : NEAR_PER_BOX * n;
  const int32_t count = (int32_t)(wanted < INT32_MAX ? wanted : INT32_MAX);
  SAP_TRY(reserve_near(c, count, error));
  SAP_TRY(SAP_ROOM(&c->pool, &c->keys, count, error));
  SAP_TRY(SAP_ROOM(&c->pool, &c->pairs, count, error));
  return SAP_ROOM(&c->pool, &c->broadphase.pairs, count, error);
}

// Makes the next list from the pairs of the present one without movers (`all`: none) and those of
// `keys`; a pair in both keeps its data.
static sap_status renew_near(sap_collision* c, bool all, sap_error* error) {
  const int32_t next = 1 - c->near_now, kept = all ? 0 : c->near_count;
  SAP_FAIL_IF(kept > INT32_MAX - c->key_count, error, SAP_STATUS_MEMORY,
              "out of memory: pairs of shapes");
  SAP_TRY(reserve_near(c, kept + c->key_count, error));
  const sap_near_pair* old = c->near[c->near_now];
  sap_near_pair* list = c->near[next];
  int32_t count = 0, at = 0;
  for (int32_t k = 0; k <= c->key_count; ++k) {
    const uint64_t key = k < c->key_count ? c->keys[k] : UINT64_MAX;
    for (; at < c->near_count && old[at].pair < key; ++at) {
      const int32_t a = c->box_of[old[at].pair >> 32], b = c->box_of[old[at].pair & UINT32_MAX];
      if (!all && !c->outside[a] && !c->outside[b]) {
        list[count++] = old[at];
      }
    }
    if (at < c->near_count && old[at].pair == key) {
      list[count++] = old[at++];
    } else if (k < c->key_count) {
      list[count++] = sap_collision_near_pair(c, key);
    }
  }
  c->near_now = next;
  c->near_count = count;
  return SAP_STATUS_OK;
}

// Sets the boxes, and `near` to all pairs whose boxes overlap.
static sap_status find_near(sap_collision* c, bool again, sap_error* error) {
  set_boxes(c, again);
  if (c->has_near && c->mover_count == 0) {
    return SAP_STATUS_OK;
  }
  const int32_t few = c->box_count / BOXES_PER_MOVER;
  const bool all = !c->has_near || c->mover_count > (few > FEW_MOVERS ? few : (int32_t)FEW_MOVERS);
  c->has_near = false;  // until the list is complete
  c->key_count = 0;
  SAP_TRY(all ? find_all(c, error) : find_movers(c, error));
  sap_sort_keys(c->keys, c->key_count);
  SAP_TRY(renew_near(c, all, error));
  c->has_near = true;
  return SAP_STATUS_OK;
}

// --- pairs of a call, in ascending order ---

static sap_status add_plane_keys(sap_collision* c, int32_t plane, sap_error* error) {
  const sap_collision_shape* ground = &c->shapes[plane];
  const double* n = ground->placed.R + 6;
  const double offset = sap_v3_dot(n, ground->placed.p), down[3] = {-n[0], -n[1], -n[2]};
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    if (shape->filter.weld == ground->filter.weld) {
      continue;
    }
    const double way = shape->turn - sap_v3_dot(n, shape->move);
    const double reach =
        ground->rest + shape->rest + sap_most(sap_most(ground->reach, shape->reach), way);
    // Slack for the cancellation far from the origin; the test of the pair itself has none.
    const double height = sap_v3_dot(n, shape->placed.p) - offset;
    const double least = height * (1.0 - 1e-9) - 1e-9 * (fabs(offset) + shape->placed.bound);
    if (least >= shape->placed.bound + reach ||
        least >= sap_shape_extent(&shape->placed, down) + reach ||
        !may_collide(c->model, &ground->filter, &shape->filter)) {
      continue;
    }
    SAP_TRY(add_key(c, plane, c->boxed[i], error));
  }
  return SAP_STATUS_OK;
}

// Returns true if a pair was apart in the last call, along a direction that the motion of this
// second call in a step does not overcome.
static bool stays_apart(const sap_collision* c, const sap_near_pair* near) {
  const sap_collision_shape* a = &c->shapes[near->pair >> 32];
  const sap_collision_shape* b = &c->shapes[near->pair & UINT32_MAX];
  return near->gap > near->rest &&
         near->gap - near->rest + sap_motion_along(a, b, near->along) >= 0.0 &&
         !sap_collision_has_patch(c, near->pair);
}

// Merges the near pairs whose boxes overlap now with the pairs with planes in `keys`. Leaves out
// pairs that stay apart, and those whose bodies have moved less since they were measured than it
// takes to meet.
static sap_status merge_pairs(sap_collision* c, bool again, sap_error* error) {
  sap_near_pair* near = c->near[c->near_now];
  SAP_FAIL_IF(c->near_count > INT32_MAX - c->key_count, error, SAP_STATUS_MEMORY,
              "out of memory: pairs of shapes");
  SAP_TRY(SAP_ROOM(&c->pool, &c->pairs, c->near_count + c->key_count, error));
  int32_t count = 0, key = 0;
  for (int32_t i = 0; i < c->near_count; ++i) {
    const uint64_t pair = near[i].pair;
    near[i].gap = again ? near[i].gap : -HUGE_VAL;
    if (c->travels &&
        c->spent[pair >> 32] + c->spent[pair & UINT32_MAX] + c->fall < near[i].clear) {
      continue;
    }
    const sap_aabb *a = &c->boxes[c->box_of[pair >> 32]],
                   *b = &c->boxes[c->box_of[pair & UINT32_MAX]];
    if (!sap_aabb_overlap(a, b) || (again && stays_apart(c, &near[i]))) {
      continue;
    }
    while (key < c->key_count && c->keys[key] < pair) {
      c->pairs[count++] = (sap_shape_pair){c->keys[key++], -1};
    }
    c->pairs[count++] = (sap_shape_pair){pair, i};
  }
  while (key < c->key_count) {
    c->pairs[count++] = (sap_shape_pair){c->keys[key++], -1};
  }
  c->pair_count = count;
  return SAP_STATUS_OK;
}

sap_status sap_collision_find_pairs(sap_collision* c, bool again, sap_error* error) {
  SAP_TRY(find_near(c, again, error));
  c->key_count = 0;
  for (int32_t i = 0; i < c->plane_count; ++i) {
    SAP_TRY(add_plane_keys(c, c->planes[i], error));
  }
  sap_sort_keys(c->keys, c->key_count);
  return merge_pairs(c, again, error);
}
