// SPDX-License-Identifier: BSD-3-Clause
// Memory of collision detection between calls.
#pragma once

#include "core/memory.h"
#include "multibody/geometry/broadphase.h"
#include "multibody/geometry/collide.h"
#include "multibody/geometry/collision.h"
#include "multibody/geometry/patch.h"

typedef struct sap_filter_shape {
  int32_t shape;
  int32_t body;
  int32_t weld;         // body whose motion it shares, 0: static
  int32_t parent_weld;  // weld of the parent of the weld group, -1 for the world
  int32_t contact_type, contact_affinity;
  bool excluded;  // its body is in some exclusion
  bool paired;    // it is in some contact pair
} sap_filter_shape;

// A contact point keeps its feature number while it lasts. Points of a pair are matched to those of
// the last call, nearest first, by the smaller of the distances in A's and in B's body frame: a
// point that slides on one body rests on the other.
typedef struct sap_identity {
  uint64_t pair;  // shape_A << 32 | shape_B
  int32_t feature;
  int32_t solutions;        // of the step before it was found
  double p_A[3], p_B[3];    // in the frames of the two bodies [m]
  sap_patch_extent extent;  // of the pair
} sap_identity;

// Two shapes whose roomy boxes overlap and that the filters accept.
typedef struct sap_near_pair {
  uint64_t pair;    // shape_A << 32 | shape_B
  double margin;    // of the pair [m]
  double rest;      // its rest distance [m]
  double along[3];  // unit, world: direction along which they were apart last; 0: unknown
  double gap;       // lower bound of their distance along it at the start of this step [m]
  double clear;     // they do not meet while the sum of their `spent` and `fall` is below [m]
} sap_near_pair;

// A pair to collide in this call.
typedef struct sap_shape_pair {
  uint64_t pair;  // shape_A << 32 | shape_B
  int32_t near;   // index of its near pair, -1: one of the shapes is a plane
} sap_shape_pair;

typedef struct sap_collision_shape {
  sap_placed_shape placed;
  sap_filter_shape filter;
  double p_BS[3], R_BS[9];  // of a mesh: of the hull's centre
  double arm;               // |p_BS| [m]
  double margin;            // its own [m]
  double reach;             // the largest margin of its pairs [m]
  double rest;              // the largest rest distance, its own included [m] >= 0
  double move[3];           // way of its centre by the motion, without its curvature [m]
  double turn;              // bound of what rotation adds to the way of any point [m]
  double kappa;             // slope of its pressure field [Pa/m]; INFINITY: rigid
} sap_collision_shape;

// Returns true if the shape is welded to the world.
static inline bool sap_collision_shape_is_static(const sap_collision_shape* shape) {
  return shape->filter.weld == 0;
}

// Returns the slope of the shape's pressure field against the other one [Pa/m]. A mesh that is not
// convex is rigid where the other shape is convex and has a field.
static inline double sap_collision_kappa(const sap_collision_shape* shape,
                                         const sap_collision_shape* other) {
  const bool rigid = sap_patch_has_triangles(&shape->placed, (double)INFINITY) &&
                     !sap_patch_has_triangles(&other->placed, (double)INFINITY) &&
                     isfinite(other->kappa);
  return rigid ? (double)INFINITY : shape->kappa;
}

struct sap_collision {
  sap_pool pool;  // of all arrays but the identities
  const sap_model* model;
  double* poses;        // p, R of the bodies when travel was added, zeros: not yet (12 bodies)
  double (*travel)[2];  // bounds of the lengths of their ways [m, rad] until it   (bodies)
  double* spent;        // by shape id: travel of any of its points, and the way and slack that it
                        // brings to a pair in this call [m]
  double fall;          // way of a fall from rest in this call's dt [m]
  bool travels;         // the travel of all bodies is that until this call
  bool statics_rest;    // static bodies have the poses of the last call
  bool elsewhere;       // the last call looked at other poses than those of the step
  int32_t mesh_count, shape_count, plane_count, box_count;
  sap_polytope* hulls;          // by mesh id                                       (mesh_count)
  sap_collision_shape* shapes;  // by shape id                                     (shape_count)
  int32_t* planes;              // shape ids                                       (plane_count)
  int32_t* boxed;               // shape ids of those with boxes, ascending        (box_count)
  int32_t* box_of;              // by shape id: its place in `boxed`             (shape_count)
  sap_aabb* bounds;             // as `boxed`: of the shapes alone                 (box_count)
  sap_aabb* boxes;              // as `boxed`: grown and swept                     (box_count)
  sap_aabb* boxes_before;       // as `boxed`; of the last call                    (box_count)
  sap_broadphase broadphase;    // as `boxed`: the roomy boxes
  bool* outside;                // as `boxed`: its box has left the roomy one      (box_count)
  int32_t* movers;              // boxes that have, ascending                      (mover_count)
  int32_t mover_count;
  bool has_near;                 // `near` is complete
  sap_near_pair* near[2];        // ascending: the current list, and the next one
  int32_t near_count, near_now;  // the current list
  uint64_t* keys;                // shape_A << 32 | shape_B    (key_count)
  int32_t key_count;
  sap_shape_pair* pairs;        // ascending                                      (pair_count)
  sap_contact* contacts;        // the result being built                        (contact_count)
  sap_identity* identities[2];  // one per contact: of the last call and of this one
  int32_t pair_count, contact_count, identity_capacity[2];
  sap_patch_surface* surface;  // of the patch being made; NULL: no shape has a field
  int32_t last, last_count;    // index of the last call's `identities`; its points
};

// Returns true if the shape has the pose of the last call; pose and box are still set.
static inline bool sap_collision_shape_rests(const sap_collision* c,
                                             const sap_collision_shape* shape) {
  return sap_collision_shape_is_static(shape) && c->statics_rest;
}

// Bounds the length of the way of any point of the shape until this call.
static inline double sap_collision_travel(const sap_collision* c,
                                          const sap_collision_shape* shape) {
  const double* travel = c->travel[shape->filter.body];
  return travel[0] + travel[1] * (shape->arm + shape->placed.bound);
}

void sap_filter_init(const sap_model* model, int32_t shape, sap_filter_shape* out);
// Returns the contact pair of two shapes; NULL: none.
const sap_pair_def* sap_filter_find_pair(const sap_model* model, const sap_filter_shape* a,
                                         const sap_filter_shape* b);

// Sets `feature` of the points of one pair from the old points of the pair; points farther apart
// than `tolerance` [m] do not match. New points get the lowest numbers that neither old nor matched
// points have.
void sap_identity_match(const sap_identity* old, int32_t old_count, double tolerance,
                        sap_identity* points, int32_t count);

// Finds the velocity of the body's point that is at p after the way `ahead` of its origin [m/s].
void sap_motion_velocity(const sap_collision_query* query, int32_t body, const double p[3],
                         const double ahead[3], double velocity[3]);
// Returns the velocity of B's surface away from A's along n at a contact [m/s].
double sap_motion_normal_speed(const sap_collision_query* query, const sap_contact* contact);
// Bound of the way of any point of B relative to any of A [m].
double sap_motion_bound(const sap_collision_shape* a, const sap_collision_shape* b);
// Lower bound of n . (way of a point of B - way of a point of A), for a unit n.
double sap_motion_along(const sap_collision_shape* a, const sap_collision_shape* b,
                        const double n[3]);
// Places a shape where the motion takes it in `time`.
void sap_motion_place(const sap_collision_shape* shape, const sap_collision_query* query,
                      double time, sap_placed_shape* placed);
// Where the contacts of a pair are looked for.
typedef struct sap_pair_reach {
  double rest;    // rest distance [m]
  double margin;  // contacts at the start: phi < rest + margin [m]
  double way;     // bound of the pair's relative way [m]; 0: no motion
  double slack;   // gap that the motion may leave, at most that at which contacts are taken [m]
  double points;  // points of the manifold: phi < points [m]
  double held;    // the same where the shapes overlap at the start [m]
} sap_pair_reach;

// First touch of two shapes, to the slack, that are apart at the start by conservative advancement.
// `manifold`: theirs at the start, then that at *time. Returns false if they do not touch: the
// manifold is then that at the start.
bool sap_motion_first_touch(const sap_collision_shape* a, const sap_collision_shape* b,
                            const sap_collision_query* query, const sap_pair_reach* reach,
                            double* time, sap_manifold* manifold);
// Returns true if the motion surely does not make two shapes with contacts overlap by DEEP of the
// thinner one: they turn little, or their distance along a contact's normal stays above that; the
// distance of two points along it deviates from its chord by at most (|w| t)^2 r/8. along: that
// normal, zero: unknown; of a pair with a plane A the plane's.
bool sap_motion_stays_shallow(const sap_collision_shape* a, const sap_collision_shape* b,
                              const sap_collision_query* query, const double along[3]);
// Finds the first time at which the motion makes two shapes overlap by more than DEEP of the
// thinner one, which a contact before did not foresee because they turn. Returns false if there is
// none.
bool sap_motion_first_overlap(const sap_collision_shape* a, const sap_collision_shape* b,
                              const sap_collision_query* query, const sap_pair_reach* reach,
                              double* time, sap_manifold* manifold);
// Makes room for the near pairs of a scene that is not crowded; later steps rarely need more.
sap_status sap_collision_reserve_near(sap_collision* c, sap_error* error);
// Sets the pose of a shape on its body.
void sap_collision_place(const sap_collision_shape* shape, const double* p_WB, const double* R_WB,
                         sap_placed_shape* placed);
// Returns a near pair with the margin and rest distance of its contact pair, else of its shapes.
sap_near_pair sap_collision_near_pair(const sap_collision* c, uint64_t pair);
// Returns A's share of the penetration: A's compliance over that of both.
static inline double sap_collision_share_of_A(double stiffness_a, double stiffness_b) {
  const double share = 1.0 / (1.0 + stiffness_a / stiffness_b);
  return isfinite(share) ? share : 0.5;  // both rigid
}
// Fills `pairs`, ascending. again: in the step of the last call.
sap_status sap_collision_find_pairs(sap_collision* c, bool again, sap_error* error);
// Returns true if the pair touches in patches.
bool sap_collision_has_patch(const sap_collision* c, uint64_t pair);
// Returns true if one of the shapes is a rigid mesh whose triangles touch.
bool sap_collision_has_triangles(const sap_collision* c, uint64_t pair);
// Finds the patches of a pair: at the start where the shapes overlap, else where the motion makes
// them overlap, at *time. manifold: that at which they touch, or will at *time; with triangles none
// is needed. Of a pair that has patches of that extent: if the motion, that of a solution, makes them
// much larger.
bool sap_collision_find_patches(const sap_collision* c, uint64_t pair,
                                const sap_collision_query* query, const sap_patch_extent* had,
                                const sap_manifold* manifold, double* time);
// Returns true if the patches found have all points that the pair had in the last call.
bool sap_collision_has_known(const sap_collision* c, const sap_identity* known);
// Makes room for patches if some shape has a field.
sap_status sap_collision_reserve_patches(sap_collision* c, sap_error* error);
// Fills `contacts` from the pairs.
sap_status sap_collision_collide(sap_collision* c, const sap_collision_query* query,
                                 sap_error* error);
