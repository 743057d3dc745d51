// SPDX-License-Identifier: BSD-3-Clause
// What collision detection keeps between calls.
#ifndef SAP_GEOMETRY_COLLISION_DATA_H
#define SAP_GEOMETRY_COLLISION_DATA_H

#include "core/memory.h"
#include "geometry/broadphase.h"
#include "geometry/collide.h"
#include "geometry/collision.h"
#include "geometry/filter.h"
#include "geometry/identity.h"

typedef struct sap_collision_shape {
  sap_placed_shape placed;
  sap_filter_shape filter;
  double p_BS[3], R_BS[9];  // of a mesh: of the hull's centre
} sap_collision_shape;

struct sap_collision {
  const sap_model* model;
  int32_t mesh_count, shape_count, plane_count, box_count;
  sap_polytope* hulls;          // by mesh id                                       (mesh_count)
  sap_collision_shape* shapes;  // by shape id                                     (shape_count)
  int32_t* planes;              // shape ids                                       (plane_count)
  int32_t* boxed;               // shape ids of the broadphase's boxes, ascending  (box_count)
  sap_broadphase broadphase;    // over `boxed`
  uint64_t* pairs;              // shape_A << 32 | shape_B, ascending              (pair_count)
  uint64_t* pair_scratch;
  sap_contact* contacts;        // the result being built                        (contact_count)
  sap_identity* identities[2];  // one per contact: of the last call and of this one
  int32_t pair_count, pair_capacity, scratch_capacity;
  int32_t contact_count, contact_capacity, identity_capacity[2];
  int32_t last, last_count;  // which of `identities` is the last call's; its points
};

typedef struct sap_body_poses {
  const double *p_WB, *R_WB;  // by body id
} sap_body_poses;

// Appends the contacts of a pair, which come in ascending order. *cursor, 0 at first, moves along
// the last call's points.
sap_status sap_collision_add_manifold(sap_collision* c, const sap_body_poses* at, uint64_t pair,
                                      const sap_manifold* manifold, int32_t* cursor,
                                      sap_error* error);

#endif
