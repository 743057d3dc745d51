// SPDX-License-Identifier: BSD-3-Clause
// Patches of pairs in a call of collision detection.
#include "multibody/geometry/collision_data.h"

// Depth, relative to the smaller shape, that a patch ahead may have: the motion without contact ends
// deeper than the one with it.
static const double DEEPEST_AHEAD = 0.02;

sap_status sap_collision_reserve_patches(sap_collision* c, sap_error* error) {
  int32_t most = 6;
  bool any = false;
  for (int32_t i = 0; i < c->shape_count; ++i) {
    any = any || isfinite(c->shapes[i].kappa);
  }
  for (int32_t i = 0; i < c->mesh_count; ++i) {
    most = c->hulls[i].nfaces > most ? c->hulls[i].nfaces : most;
  }
  if (!any) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_POOL_ADD(&c->pool, &c->surface, 1, error));
  SAP_TRY(SAP_POOL_ADD(&c->pool, &c->surface->planes[0], most, error));
  return SAP_POOL_ADD(&c->pool, &c->surface->planes[1], most, error);
}

bool sap_collision_has_patch(const sap_collision* c, uint64_t pair) {
  const int32_t a = (int32_t)(pair >> 32), b = (int32_t)(pair & UINT32_MAX);
  if (c->surface == NULL || (isinf(c->shapes[a].kappa) && isinf(c->shapes[b].kappa))) {
    return false;
  }
  return sap_collision_near_pair(c, pair).rest == 0.0;
}

bool sap_collision_find_patch(const sap_collision* c, uint64_t pair,
                              const sap_collision_query* query, sap_manifold* manifold,
                              double* time, sap_patch* patch) {
  const sap_collision_shape* a = &c->shapes[pair >> 32];
  const sap_collision_shape* b = &c->shapes[pair & UINT32_MAX];
  const double kappa[2] = {a->kappa, b->kappa};
  if (*time == 0.0 && sap_manifold_deepest(manifold)->phi < 0.0) {
    return sap_patch_find(c->surface, &a->placed, &b->placed, kappa, manifold, patch);
  }
  if (query->V_WB == NULL) {
    return false;
  }
  const double deepest = DEEPEST_AHEAD * sap_least(a->placed.bound, b->placed.bound);
  double end = query->dt;
  sap_placed_shape placed[2];
  sap_manifold at;
  for (int k = 0; k < 2; ++k) {
    sap_motion_place(a, query, end, &placed[0]);
    sap_motion_place(b, query, end, &placed[1]);
    sap_collide(&placed[0], &placed[1], 0.0, &at);
    const double depth = at.count > 0 ? -sap_manifold_deepest(&at)->phi : 0.0;
    if (!(depth > deepest)) {
      break;
    }
    end = *time + (end - *time) * deepest / depth;
  }
  if (at.count == 0 || !sap_patch_find(c->surface, &placed[0], &placed[1], kappa, &at, patch)) {
    return false;
  }
  *manifold = at;
  *time = end;
  return true;
}
