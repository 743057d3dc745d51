// SPDX-License-Identifier: BSD-3-Clause
// Collision detection of a model's shapes: broadphase, filters, manifolds of several points with
// stable identities, contact frames and combined materials.
#pragma once

#include <sapstep/contact.h>

#include "core/archive.h"
#include "multibody/geometry/patch.h"
#include "multibody/model/model_data.h"

typedef struct sap_collision sap_collision;

// The adapter of MuJoCo uses create, destroy and pair_patch from its own library.
SAP_API sap_status sap_collision_create(const sap_model* model, sap_collision** out,
                                        sap_error* error);
SAP_API void sap_collision_destroy(sap_collision* collision);

typedef struct sap_collision_query {
  const double* p_WB;  // by body id                                                  (3 bodies)
  const double* R_WB;  // column-major                                                (9 bodies)
  // true: the next call compares with this one: features keep their numbers.
  bool remember;
  // The bodies' motion in the time dt [s] ahead, [omega; velocity of the origin] in the world, both
  // constant, or NULL. Pairs of shapes that it brings into touch are then found as well. (6 bodies)
  const double* V_WB;
  double dt;  // 0 without V_WB
  // The same motion with the velocities at the start of the step, or NULL; for patches. (6 bodies)
  const double* V0_WB;
  // true: finds only contacts of pairs that have none in the last call that was remembered, which
  // had the same poses, and remembers them in addition.
  bool more;
  int32_t solutions;  // with `more`: of the step before, see sap_collision_drop_later
} sap_collision_query;

// Finds all contacts with phi < margin, sorted by (shape_A, shape_B, feature). A pair that the
// motion brings into touch gets the contacts of all features that face each other; the contact law
// decides which of them act. With the motion up to the first touch, at the time s:
//   R_WC, point  at s;  ahead: way of the two bodies' origins until s
//   phi          distance at s less s times its rate: linear in time as J is constant in a step
//   margin  of the contact pair, else the larger one of the two shapes
//   phi     signed distance minus the rest distance: of the contact pair, else the sum of both
//           shapes
//   filters collision_pairs.c:may_collide
//   normal  from A into B
//   point   between the two surfaces by compliance, these moved to meet half way of the rest
//           distance
// R, vc and gamma of the contacts are zero. No heap calls after warm-up.
sap_status sap_collision_detect(sap_collision* collision, const sap_collision_query* query,
                                const sap_contact** contacts, int32_t* count, sap_error* error);

// Returns true if the motion of the query, which found the contact, leaves it so far open that
// impulses will hardly close it. Not within the margin of its shapes, nor in patches.
bool sap_collision_leaves_open(const sap_collision* collision, const sap_collision_query* query,
                               const sap_contact* contact);
// Returns phi after the motion of the query.
double sap_collision_end_gap(const sap_collision_query* query, const sap_contact* contact);

// Two shapes whose patches are asked for, alone.
typedef struct sap_pair_patch {
  int32_t shapes[2];               // A and B by id
  bool is_apart;                   // they touch at `time`, else at the start
  sap_patch_extent extent;         // of the patches that they have, then of those found
  double time;                     // moves to where the points are [s]
  bool triangles;                  // a mesh touches in its triangles, not in its hull
  const sap_patch_surface* found;  // points in the world, valid until the next call; NULL: none
} sap_pair_patch;

// Finds the patches of a pair with the motion of the query; with an extent, those that replace them
// where the motion, that of a solution, makes them much larger.
SAP_API sap_status sap_collision_pair_patch(sap_collision* collision,
                                            const sap_collision_query* query, sap_pair_patch* pair,
                                            sap_error* error);

// Returns true if some shape has a pressure field.
bool sap_collision_has_fields(const sap_collision* collision);

// Drops the points of the last call that were found after the first solution of the step.
void sap_collision_drop_later(sap_collision* collision);

// Archives the contact points with which the next call compares.
sap_status sap_collision_archive(sap_collision* collision, sap_archive* archive, sap_error* error);

// A motion d = [rotation; way of the material point at the contact point] of body B relative to A
// changes the gap by `gap` d, and moves the point by `point` d and the normal by `normal` d, in
// addition to the motion of A; the latter column-major 3x6.
typedef struct sap_contact_variation {
  double gap[6], point[18], normal[18];
  bool exact;  // false: by differences of collision detection
} sap_contact_variation;

// The points of the last pair in 12 small motions, for the other contacts of the pair. Zero at first.
enum { SAP_MOVED_KEY = 27 };
typedef struct sap_moved_pair {
  double key[SAP_MOVED_KEY];  // shapes, reach and poses
  sap_manifold at[12];
} sap_moved_pair;

// Finds it for a contact at poses p_WB, R_WB of the bodies.
// Points, lines and faces of planes, spheres, capsules and boxes have closed forms. Where a contact
// ahead is out of reach without the rotation of its bodies, it moves with A. Returns false if the
// contact's features do not last under small motions.
bool sap_collision_vary(const sap_collision* collision, const sap_contact* contact,
                        const double* p_WB, const double* R_WB, sap_moved_pair* moved,
                        sap_contact_variation* out);
// Makes a contact that of shapes of which one is changed in friction, stiffness, relaxation time:
// its material, friction and point.
sap_status sap_collision_change(const sap_collision* collision, const sap_shape_def* changed,
                                int32_t shape, sap_contact* contact, sap_error* error);
