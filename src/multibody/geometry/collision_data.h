// SPDX-License-Identifier: BSD-3-Clause
// What collision detection keeps between calls.
#ifndef SAP_MULTIBODY_GEOMETRY_COLLISION_DATA_H
#define SAP_MULTIBODY_GEOMETRY_COLLISION_DATA_H

#include "core/memory.h"
#include "multibody/geometry/broadphase.h"
#include "multibody/geometry/collide.h"
#include "multibody/geometry/collision.h"
#include "multibody/geometry/filter.h"
#include "multibody/geometry/identity.h"

typedef struct sap_glide {
  uint64_t pair;
  double reach;  // [m]
} sap_glide;

// Two shapes that the filters let through and whose roomy boxes overlap (collision_near.c).
typedef struct sap_near_pair {
  uint64_t pair;    // shape_A << 32 | shape_B
  double margin;    // of the pair [m]
  double rest;      // its rest distance [m]
  double along[3];  // unit, world: along which they were apart when last looked at; 0: not known
} sap_near_pair;

// A pair to be looked at in this call.
typedef struct sap_shape_pair {
  uint64_t pair;  // shape_A << 32 | shape_B
  int32_t near;   // of the near pairs, -1: one of the shapes is a plane
} sap_shape_pair;

enum { SAP_JOB_PAIRS = 32 };

// A few pairs in sequence, and what was found. Jobs touch nothing that another one does.
typedef struct sap_pair_job {
  int32_t first, count;  // of `pairs`
  int32_t nmanifolds;
  int32_t npoints, first_contact;  // where its contacts go
  sap_status status;
  sap_error error;
  uint64_t pairs[SAP_JOB_PAIRS];  // with points                                (nmanifolds)
  sap_manifold manifolds[SAP_JOB_PAIRS];
} sap_pair_job;

typedef struct sap_collision_shape {
  sap_placed_shape placed;
  sap_filter_shape filter;
  double p_BS[3], R_BS[9];  // of a mesh: of the hull's centre
  double margin;            // its own [m]
  double touch;             // surfaces touch at this distance from a larger one [m]
  double reach;             // the largest margin of a pair that it stands in [m]
  double rest;              // and the largest rest distance, its own included [m] >= 0
  double way;               // as far as it may move until the next call [m]
  double glide;             // the largest height at which one of its contacts glides now [m]
} sap_collision_shape;

// It hangs on the world.
static inline bool sap_collision_shape_is_static(const sap_collision_shape* shape) {
  return shape->filter.weld == 0;
}

struct sap_collision {
  const sap_model* model;
  sap_threads* threads;  // NULL: one
  int32_t* statics;      // bodies with shapes that hang on the world            (static_count)
  double* static_poses;  // p, R of these in the last call, zeros: there was none
                         //                                                   (12 static_count)
  int32_t static_count;
  bool statics_rest;  // whether they are where they were in the last call
  int32_t mesh_count, shape_count, plane_count, box_count;
  sap_polytope* hulls;          // by mesh id                                       (mesh_count)
  sap_collision_shape* shapes;  // by shape id                                     (shape_count)
  int32_t* planes;              // shape ids                                       (plane_count)
  int32_t* boxed;               // shape ids of those with boxes, ascending        (box_count)
  int32_t* box_of;              // by shape id: its place in `boxed`             (shape_count)
  sap_aabb* boxes;              // as `boxed`                                      (box_count)
  sap_aabb* boxes_before;       // as `boxed`; of the last call                    (box_count)
  sap_broadphase broadphase;    // as `boxed`: the roomy boxes
  bool* outside;                // as `boxed`: its box has left the roomy one      (box_count)
  int32_t* movers;              // those that have, ascending                      (mover_count)
  int32_t mover_count;
  bool has_near;           // whether `near` is whole
  sap_near_pair* near[2];  // ascending: in use, and room to build the next list
  int32_t near_count, near_capacity[2], near_now;  // which is in use
  uint64_t* keys;                                  // shape_A << 32 | shape_B    (key_count)
  uint64_t* key_scratch;
  int32_t key_count, key_capacity, scratch_capacity;
  sap_shape_pair* pairs;        // ascending                                      (pair_count)
  sap_contact* contacts;        // the result being built                        (contact_count)
  sap_identity* identities[2];  // one per contact: of the last call and of this one
  int32_t pair_count, pair_capacity;
  int32_t contact_count, contact_capacity, identity_capacity[2];
  int32_t last, last_count;  // which of `identities` is the last call's; its points
  sap_pair_job* jobs;
  int32_t job_capacity;
  sap_glide* glides;  // ascending pairs                                          (glide_count)
  int32_t glide_count, glide_capacity;
};

// Whether the shape is where it was in the last call, of which its pose and box remain.
static inline bool sap_collision_shape_rests(const sap_collision* c,
                                             const sap_collision_shape* shape) {
  return sap_collision_shape_is_static(shape) && c->statics_rest;
}

// Lists the pairs of the last call whose contacts slid since, with the height at which they glide;
// sets `glide` of all shapes.
sap_status sap_collision_find_glides(sap_collision* c, const sap_collision_query* query,
                                     sap_error* error);

// Room for the near pairs of a scene that is not crowded, so that later steps rarely need more.
sap_status sap_collision_reserve_near(sap_collision* c, sap_error* error);
// Sets the boxes, and `near` so that it holds all pairs whose boxes overlap.
sap_status sap_collision_find_near(sap_collision* c, sap_error* error);
// A near pair with what its contact pair says, else the two shapes.
sap_near_pair sap_collision_near_pair(const sap_collision* c, uint64_t pair);
// Adds a pair of shape ids to `keys`.
sap_status sap_collision_add_key(sap_collision* c, int32_t a, int32_t b, sap_error* error);
// Sorts `keys`.
sap_status sap_collision_sort_keys(sap_collision* c, sap_error* error);

// Fills `pairs`, ascending.
sap_status sap_collision_find_pairs(sap_collision* c, sap_error* error);
// Fills `contacts` from the pairs.
sap_status sap_collision_collide(sap_collision* c, const sap_collision_query* query,
                                 sap_error* error);

typedef struct sap_contact_place {
  const sap_collision_query* at;
  uint64_t pair;
  int32_t first;  // of `contacts` and this call's identities, which have room
} sap_contact_place;

// First of rows that begin with their pair, ascending, at or behind `pair`; `size`: bytes of one.
int32_t sap_collision_first_of(const void* rows, int32_t count, size_t size, uint64_t pair);
// Sets the contacts of a pair. Pairs come in ascending order: *cursor moves along the last call's
// points.
sap_status sap_collision_set_contacts(sap_collision* c, const sap_contact_place* place,
                                      const sap_manifold* manifold, int32_t* cursor,
                                      sap_error* error);

#endif
