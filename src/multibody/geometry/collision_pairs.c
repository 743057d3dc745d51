// SPDX-License-Identifier: BSD-3-Clause
// Pairs of shapes whose bounding boxes overlap, in ascending order.
#include <math.h>

#include "multibody/geometry/collision_data.h"
#include "multibody/geometry/sort.h"

int32_t sap_collision_first_of(const void* rows, int32_t count, size_t size, uint64_t pair) {
  int32_t low = 0, high = count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    const uint64_t* at = (const void*)((const char*)rows + size * (size_t)middle);
    if (*at < pair) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

sap_near_pair sap_collision_near_pair(const sap_collision* c, uint64_t pair) {
  const uint64_t ids[2] = {pair >> 32, pair & UINT32_MAX};
  const sap_collision_shape *a = &c->shapes[ids[0]], *b = &c->shapes[ids[1]];
  const sap_pair_def* own = sap_filter_find_pair(c->model, &a->filter, &b->filter);
  const double touch = sap_least(a->touch, b->touch);
  if (own != NULL) {
    return (sap_near_pair){
        .pair = pair, .margin = sap_most(own->margin, touch), .rest = own->rest_distance};
  }
  const sap_shape_def* shapes = c->model->shapes;
  return (sap_near_pair){.pair = pair,
                         .margin = sap_most(sap_most(a->margin, b->margin), touch),
                         .rest = shapes[ids[0]].rest_distance + shapes[ids[1]].rest_distance};
}

sap_status sap_collision_add_key(sap_collision* c, int32_t a, int32_t b, sap_error* error) {
  const int32_t needed = c->key_count < INT32_MAX ? c->key_count + 1 : -1;
  const sap_status status = SAP_GROW(&c->keys, &c->key_capacity, needed, error);
  if (status == SAP_STATUS_OK) {
    const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
    c->keys[c->key_count++] = low << 32 | high;
  }
  return status;
}

sap_status sap_collision_sort_keys(sap_collision* c, sap_error* error) {
  const sap_status status = SAP_GROW(&c->key_scratch, &c->scratch_capacity, c->key_count, error);
  if (status == SAP_STATUS_OK) {
    sap_sort_keys(c->keys, c->key_count, c->key_scratch);
  }
  return status;
}

static sap_status add_plane_keys(sap_collision* c, int32_t plane, sap_error* error) {
  const sap_collision_shape* ground = &c->shapes[plane];
  const double* n = ground->placed.R + 6;
  const double offset = sap_v3_dot(n, ground->placed.p), down[3] = {-n[0], -n[1], -n[2]};
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    if (shape->filter.weld == ground->filter.weld) {
      continue;
    }
    // The plane hangs on the world: it neither moves nor glides.
    const double reach =
        ground->rest + shape->rest +
        sap_most(sap_most(ground->reach, shape->way), sap_most(shape->reach, shape->glide));
    // Slack for the cancellation far from the origin; the pair itself is tested without it.
    const double height = sap_v3_dot(n, shape->placed.p) - offset;
    const double least = height * (1.0 - 1e-9) - 1e-9 * (fabs(offset) + shape->placed.bound);
    if (least >= shape->placed.bound + reach ||
        least >= sap_shape_extent(&shape->placed, down) + reach ||
        !sap_filter_collides(c->model, &ground->filter, &shape->filter)) {
      continue;
    }
    SAP_TRY(sap_collision_add_key(c, plane, c->boxed[i], error));
  }
  return SAP_STATUS_OK;
}

// The near pairs whose boxes overlap now, and those with planes, which `keys` lists.
static sap_status merge(sap_collision* c, sap_error* error) {
  const sap_near_pair* near = c->near[c->near_now];
  if (c->near_count > INT32_MAX - c->key_count) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: pairs of shapes");
  }
  SAP_TRY(SAP_GROW(&c->pairs, &c->pair_capacity, c->near_count + c->key_count, error));
  int32_t count = 0, key = 0;
  for (int32_t i = 0; i < c->near_count; ++i) {
    const uint64_t pair = near[i].pair;
    const sap_aabb *a = &c->boxes[c->box_of[pair >> 32]],
                   *b = &c->boxes[c->box_of[pair & UINT32_MAX]];
    if (!sap_aabb_overlap(a, b)) {
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

sap_status sap_collision_find_pairs(sap_collision* c, sap_error* error) {
  SAP_TRY(sap_collision_find_near(c, error));
  c->key_count = 0;
  for (int32_t i = 0; i < c->plane_count; ++i) {
    SAP_TRY(add_plane_keys(c, c->planes[i], error));
  }
  SAP_TRY(sap_collision_sort_keys(c, error));
  return merge(c, error);
}
