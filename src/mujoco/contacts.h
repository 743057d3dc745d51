// SPDX-License-Identifier: BSD-3-Clause
// Contacts: materials, those ahead, identities from step to step, motion of mocap bodies.
#pragma once

#include <sapstep/mujoco.h>

#include "core/error.h"
#include "mujoco/compat.h"
#include "multibody/geometry/patch.h"

// materials.c
typedef struct sap_mj_law {
  double stiffness;        // [N/m, N m/rad]
  double relaxation_time;  // [s]
} sap_mj_law;

typedef struct sap_mj_materials {
  sap_material common;   // parameters that all contacts share
  sap_mj_law* geoms;     // (ngeom)
  sap_mj_law* pairs;     // explicit pairs; stiffness 0: that of the geoms (npair)
  sap_mj_law* joints;    // limits (njnt)
  sap_mj_law* tendons;   // limits (ntendon)
  sap_mj_law* equality;  // (neq)
} sap_mj_materials;

// Fills the arrays from the model. Fails as sap_mj_set_geom does.
sap_status sap_mj_materials_create(sap_mj* a, sap_error* error);
void sap_mj_materials_contact(const sap_mj* a, const mjContact* contact, sap_material* out);
// Returns the contact point's place between the surfaces: 0 on that of geom 1, 1 on that of geom 2.
double sap_mj_materials_contact_share(const sap_mj* a, const mjContact* contact);
// Returns the index of an explicit pair of the two geoms, -1: none.
int32_t sap_mj_materials_find_pair(const mjModel* m, int32_t geom1, int32_t geom2);

// position.c
typedef struct sap_mj_margins {
  mjtNum *geom, *body, *pair, *joint, *tendon;
} sap_mj_margins;

// Runs MuJoCo's position stage with wider margins.
sap_status sap_mj_position_update(sap_mj* a, mjData* d, sap_error* error);
// Finds the contacts, with margins of the bodies' reach, and makes the rows of all constraints.
sap_status sap_mj_position_collide(sap_mj* a, mjData* d, sap_error* error);
void sap_mj_position_make_rows(sap_mj* a, mjData* d);
// Returns true if MuJoCo's collision of the two types is exact within any margin.
bool sap_mj_position_is_exact(const mjModel* m, const mjContact* contact);
// Makes the z axis a unit vector to the last bits: where it is 1e-15 longer, MuJoCo finds no contact
// of a cylinder that stands on a plane.
void sap_mj_position_straighten(mjtNum R[9]);
// Moves the point of a contact to where the surfaces meet; its normal is that from geom 1 to 2.
void sap_mj_position_place(const sap_mj* a, mjContact* contact);
// Finds the distances that MuJoCo derives from the model's own margins: contacts have forces below
// `force` and are listed below `detect`.
void sap_mj_position_own_margins(const mjModel* m, const mjContact* contact, double* force,
                                 double* detect);

// ahead.c
// A contact in mjData acts on geom 1 at pos + part, on geom 2 at pos - part, and its moments turn
// back by `turn`, see sap_contact.
typedef struct sap_mj_part {
  int32_t contact;
  double part[3], turn[2][3];
} sap_mj_part;

typedef struct sap_mj_ahead {
  bool is_narrow;    // in this step there is no room for contacts of pairs that are apart
  double* motion;    // of bodies: [omega; velocity of the origin] at the start (6 nbody)
  double* arm;       // of bodies: radius that holds their geoms, about the origin (nbody)
  double* reach;     // of bodies: way that the margins cover (nbody)
  mjContact* found;  // scratch of one pair (mjMAXCONPAIR)
  mjContact* list;   // open ones, by pairs; exclude: why they are there
  int32_t count;
  bool is_expected;    // v* may close some of them
  sap_mj_part* parts;  // of contacts that were added far ahead
  int32_t part_count;
  double* turn;  // scratch: Jacobians of two bodies' rotation (6 nv)
} sap_mj_ahead;

// Starts a step: finds the reach with v0.
void sap_mj_ahead_begin(sap_mj* a, const mjData* d);
// Removes the contacts that do not close from those of mj_collision.
sap_status sap_mj_ahead_settle(sap_mj* a, mjData* d, sap_error* error);
// Adds a contact that the motion closes after the time t to mjData.
sap_status sap_mj_ahead_append(sap_mj* a, mjData* d, double t, mjContact* c, sap_error* error);
// Adds the contacts that the motion with v closes to mjData: first with v*, then with the step's
// solution. *added: there were some or, with a solution, the contacts were found anew.
sap_status sap_mj_ahead_add(sap_mj* a, mjData* d, const double* v, bool is_solution, bool* added,
                            sap_error* error);

// ahead_part.c
// Keeps the part of the contact of the time t that is added next.
sap_status sap_mj_ahead_keep_part(sap_mj* a, const mjData* d, double t, const mjContact* c,
                                  const double part[3], sap_error* error);
// Moves the points of a contact's rows by its part, that of geom 2 back and that of geom 1 ahead,
// and turns the moments.
void sap_mj_ahead_add_part(sap_mj* a, mjData* d, const sap_mj_part* part);

// patches.c
enum { SAP_MJ_PATCH_POINTS = 28 * 5 };  // of a pair
// A pair that touches in patches.
typedef struct sap_mj_patch_pair {
  mjContact like;  // what its contacts have from MuJoCo
  sap_patch_extent extent;
} sap_mj_patch_pair;

typedef struct sap_mj_patches {
  sap_model* model;                 // of geoms, on free bodies
  struct sap_collision* collision;  // of that; NULL: no patches
  int32_t* shapes;                  // of geoms, -1: keeps its points (ngeom)
  double* v0;                       // ahead.motion with the velocities at the start (6 nbody)
  double* R;                        // of the bodies of a pair, column-major (9 nbody)
  mjContact* found;                 // those of touching pairs, until they are in mjData
  int32_t count;
  sap_mj_patch_pair* pairs;  // in mjData
  int32_t pair_count;
} sap_mj_patches;

sap_status sap_mj_patches_create(sap_mj* a, sap_error* error);
// Returns true if the pair of the contact touches in patches.
bool sap_mj_patches_has(const sap_mj* a, const mjContact* contact);
// Finds the patches of the pair of a contact that first touches at *time, and moves *time to where
// their points are. *count: their number; unchanged if there are none, 0 where
// MuJoCo's points are those of the hull of a mesh that touches in its triangles.
sap_status sap_mj_patches_find(sap_mj* a, const mjData* d, const mjContact* like, double* time,
                               mjContact out[SAP_MJ_PATCH_POINTS], int32_t* count,
                               sap_error* error);
// Adds the patch of a pair that overlaps, if there is one (*touches), to those found.
sap_status sap_mj_patches_touch(sap_mj* a, const mjData* d, const mjContact* like, bool* touches,
                                bool* triangles, sap_error* error);
// Replaces the patches that the solution, which ahead.motion is, makes much larger (*added).
sap_status sap_mj_patches_grow(sap_mj* a, mjData* d, bool* added, sap_error* error);
// Returns the stiffness of a point of a patch [N/m], 0 for other contacts. Points have in solimp,
// which no contact here uses and MuJoCo bounds to [1e-4, 0.9999]: -k, - the feature less the area A
// of its cluster as A/(1 m^2 + A), - the number of points of its cluster behind it, a mark, and phi
// of their law, where dist is that of the shapes.
static const double SAP_MJ_PATCH_MARK = -0x1.23p-77;
static inline double sap_mj_patches_stiffness(const mjContact* c) {
  return c->solimp[3] == SAP_MJ_PATCH_MARK ? -c->solimp[0] : 0.0;
}
// Returns the area of the cluster [m^2] of such a point.
static inline double sap_mj_patches_area(const mjContact* c) {
  const double part = fmod(-c->solimp[1], 1.0);
  return part / (1.0 - part);
}

// contacts.c
typedef struct sap_mj_identity {
  int32_t geom1, geom2, id;
  bool is_taken;  // by a contact of this step
  double p[3];    // in the frame of body 1
} sap_mj_identity;

typedef struct sap_mj_identities {
  sap_mj_identity *before, *now;  // contacts of the step before, and of this one
  int32_t before_capacity, capacity, before_count, count;
  int32_t cursor;       // in `before`: where the last pair was found
  int32_t next, first;  // next free id; the first one that this step gave
} sap_mj_identities;

// Starts a step: contacts of the step before become `before`.
void sap_mj_contacts_begin(sap_mj* a);
// Adds a contact to mjData.
sap_status sap_mj_contacts_append(const sap_mj* a, mjData* d, const mjContact* c, sap_error* error);
// Adds the blocks of all contacts of mjData.
sap_status sap_mj_contacts_add(sap_mj* a, const mjData* d, sap_error* error);

// mocap.c
typedef struct sap_mj_mocap {
  double interval;     // since the body was placed; 0: a timestep [s]
  double *pos, *quat;  // at the end of the step before (3 nmocap) (4 nmocap)
  double* velocity;    // [omega; v of the body's frame] (6 nmocap)
  bool is_known;       // pos and quat are filled
} sap_mj_mocap;

void sap_mj_mocap_update(sap_mj* a, const mjData* d);
void sap_mj_mocap_save(sap_mj* a, const mjData* d);
// Returns the velocity of a point p of a mocap body or of a body welded to it; false for others.
bool sap_mj_mocap_point(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                        double velocity[3], double omega[3]);
