// SPDX-License-Identifier: BSD-3-Clause
// Pairs of shapes whose bounding boxes overlap, in ascending order.
#include <math.h>

#include "geometry/collision_data.h"
#include "geometry/sort.h"

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
  const double offset = sap_v3_dot(n, ground->placed.p), down[3] = {-n[0], -n[1], -n[2]};
  for (int32_t i = 0; i < c->box_count; ++i) {
    const sap_collision_shape* shape = &c->shapes[c->boxed[i]];
    const double reach =
        sap_most(sap_most(sap_most(ground->reach, ground->glide), ground->way + shape->way),
                 sap_most(shape->reach, shape->glide));
    // Slack for the cancellation far from the origin; the pair itself is tested without it.
    const double height = sap_v3_dot(n, shape->placed.p) - offset;
    const double least = height * (1.0 - 1e-9) - 1e-9 * (fabs(offset) + shape->placed.bound);
    if (least >= shape->placed.bound + reach ||
        least >= sap_shape_extent(&shape->placed, down) + reach ||
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

sap_status sap_collision_find_pairs(sap_collision* c, sap_error* error) {
  set_boxes(c);
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
