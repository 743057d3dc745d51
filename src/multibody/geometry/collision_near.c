// SPDX-License-Identifier: BSD-3-Clause
// Pairs of shapes whose bounding boxes may soon overlap, kept from call to call.
//
// Every box lies in a roomy one, which stays where it is until the box leaves it. Pairs of roomy
// boxes that overlap are listed once; what a call looks for is among them. Where a few boxes have
// left theirs, these get new ones and are held against all others; where many have, all pairs are
// found anew. Which boxes overlap does not depend on any of this.
// cost: of most calls O(shapes + near pairs)
#include "multibody/geometry/collision_data.h"

// A roomy box has this much space on each side, of the shape's bounding radius, and as much again
// as the shape moves in some calls in that direction, if that is not half its size.
static const double space = 0.03, calls_ahead = 8.0, farthest_ahead = 0.5;
// Of this many boxes one may leave without all pairs being found anew; of fewer, this many may.
enum { FEW_OF = 24, FEW = 4 };
// Near pairs per box that there is room for at first.
enum { NEAR_PER_BOX = 4 };

static bool holds(const sap_aabb* outer, const sap_aabb* inner) {
  return outer->lower[0] <= inner->lower[0] && inner->upper[0] <= outer->upper[0] &&
         outer->lower[1] <= inner->lower[1] && inner->upper[1] <= outer->upper[1] &&
         outer->lower[2] <= inner->lower[2] && inner->upper[2] <= outer->upper[2];
}

// Space on a side that moves outwards by `way` from call to call.
static double space_for(const sap_collision_shape* shape, double way) {
  const double ahead = way > 0.0 ? calls_ahead * way : 0.0;
  const double bound = shape->placed.bound;
  return space * bound + sap_least(ahead, farthest_ahead * bound);
}

// Boxes of static shapes do not move.
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

// Each box grown by its own rest distance and reach: the larger reach of a pair is less than both.
static void make_box(const sap_collision_shape* shape, sap_aabb* box) {
  sap_shape_bounds(&shape->placed, box->lower, box->upper);
  const double reach = shape->rest + sap_most(sap_most(shape->reach, shape->glide), shape->way);
  for (int k = 0; k < 3; ++k) {
    box->lower[k] -= reach;
    box->upper[k] += reach;
  }
}

// Sets `boxes` and lists the movers.
static void set_boxes(sap_collision* c) {
  for (int32_t m = 0; m < c->mover_count; ++m) {
    c->outside[c->movers[m]] = false;
  }
  c->mover_count = 0;
  sap_aabb* const before = c->boxes;
  c->boxes = c->boxes_before;
  c->boxes_before = before;
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    if (sap_collision_shape_rests(c, shape)) {
      continue;
    }
    make_box(shape, &c->boxes[i]);
    if (!c->has_near || sap_collision_shape_is_static(shape)) {
      before[i] = c->boxes[i];
    }
    if (!holds(&c->broadphase.boxes[i], &c->boxes[i])) {
      c->outside[i] = true;
      c->movers[c->mover_count++] = i;
    }
  }
}

static bool accept_boxes(const void* context, int32_t a, int32_t b) {
  const sap_collision* c = context;
  return sap_filter_collides(c->model, &c->shapes[c->boxed[a]].filter,
                             &c->shapes[c->boxed[b]].filter);
}

// Makes all roomy boxes anew, so that they last equally long, and finds all their pairs.
static sap_status find_all(sap_collision* c, sap_error* error) {
  for (int32_t i = 0; i < c->box_count; ++i) {
    make_roomy(c, i);
  }
  sap_broadphase* bp = &c->broadphase;
  SAP_TRY(sap_broadphase_find(bp, accept_boxes, c, error));
  for (int32_t i = 0; i < bp->pair_count; ++i) {
    const uint64_t pair = bp->pairs[i];
    SAP_TRY(sap_collision_add_key(c, c->boxed[pair >> 32], c->boxed[pair & UINT32_MAX], error));
  }
  return SAP_STATUS_OK;
}

// Roomy boxes for the movers, and their pairs; of two movers once.
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
        SAP_TRY(sap_collision_add_key(c, c->boxed[a], c->boxed[b], error));
      }
    }
  }
  return SAP_STATUS_OK;
}

static bool has_mover(const sap_collision* c, uint64_t pair) {
  return c->outside[c->box_of[pair >> 32]] || c->outside[c->box_of[pair & UINT32_MAX]];
}

// Room for the next list, and for the one after it.
static sap_status make_room(sap_collision* c, int32_t needed, sap_error* error) {
  for (int k = 0; k < 2; ++k) {
    SAP_TRY(SAP_GROW(&c->near[k], &c->near_capacity[k], needed, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_collision_reserve_near(sap_collision* c, sap_error* error) {
  const int64_t n = c->box_count, all = n * (n - 1) / 2;
  const int64_t wanted = all < NEAR_PER_BOX * n ? all : NEAR_PER_BOX * n;
  const int32_t count = (int32_t)(wanted < INT32_MAX ? wanted : INT32_MAX);
  SAP_TRY(make_room(c, count, error));
  SAP_TRY(SAP_GROW(&c->keys, &c->key_capacity, count, error));
  SAP_TRY(SAP_GROW(&c->key_scratch, &c->scratch_capacity, count, error));
  SAP_TRY(SAP_GROW(&c->pairs, &c->pair_capacity, count, error));
  return SAP_GROW(&c->broadphase.pairs, &c->broadphase.pair_capacity, count, error);
}

// The next list: the present one's pairs without movers (`all`: none), and those of `keys`, of
// which the present one may know more.
static sap_status renew(sap_collision* c, bool all, sap_error* error) {
  const int32_t next = 1 - c->near_now, kept = all ? 0 : c->near_count;
  if (kept > INT32_MAX - c->key_count) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: pairs of shapes");
  }
  SAP_TRY(make_room(c, kept + c->key_count, error));
  const sap_near_pair* old = c->near[c->near_now];
  sap_near_pair* list = c->near[next];
  int32_t count = 0, at = 0;
  for (int32_t k = 0; k <= c->key_count; ++k) {
    const uint64_t key = k < c->key_count ? c->keys[k] : UINT64_MAX;
    for (; at < c->near_count && old[at].pair < key; ++at) {
      if (!all && !has_mover(c, old[at].pair)) {
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

sap_status sap_collision_find_near(sap_collision* c, sap_error* error) {
  set_boxes(c);
  if (c->has_near && c->mover_count == 0) {
    return SAP_STATUS_OK;
  }
  const int32_t few = c->box_count / FEW_OF;
  const bool all = !c->has_near || c->mover_count > (few > FEW ? few : (int32_t)FEW);
  c->has_near = false;  // until all is done
  c->key_count = 0;
  sap_status status = all ? find_all(c, error) : find_movers(c, error);
  if (status == SAP_STATUS_OK) {
    status = sap_collision_sort_keys(c, error);
  }
  if (status == SAP_STATUS_OK) {
    status = renew(c, all, error);
  }
  c->has_near = status == SAP_STATUS_OK;
  return status;
}
