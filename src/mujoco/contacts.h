// SPDX-License-Identifier: BSD-3-Clause
// Contacts: materials, wider margins, identities from step to step, motion of mocap bodies.
#ifndef SAP_MUJOCO_CONTACTS_H
#define SAP_MUJOCO_CONTACTS_H

#include <sapstep/mujoco.h>

#include "core/error.h"
#include "mujoco/compat.h"

// materials.c
typedef struct sap_mj_law {
  double stiffness;        // [N/m, N m/rad]
  double relaxation_time;  // [s]
} sap_mj_law;

typedef struct sap_mj_materials {
  sap_material common;   // parameters that all contacts share
  sap_mj_law* geoms;     // (ngeom)
  sap_mj_law* flexes;    // (nflex)
  sap_mj_law* pairs;     // explicit pairs; stiffness 0: that of the geoms (npair)
  sap_mj_law* joints;    // limits (njnt)
  sap_mj_law* tendons;   // limits (ntendon)
  sap_mj_law* equality;  // (neq)
} sap_mj_materials;

// Fills the arrays from the model. Fails as sap_mj_set_geom does.
sap_status sap_mj_materials_create(sap_mj* a, sap_error* error);
void sap_mj_materials_contact(const sap_mj* a, const mjContact* contact, sap_material* out);
double sap_mj_materials_contact_relaxation_time(const sap_mj* a, const mjContact* contact);
// Returns the contact point's place between the surfaces: 0 on that of geom 1, 1 on that of geom 2.
double sap_mj_materials_contact_share(const sap_mj* a, const mjContact* contact);
// Returns the index of an explicit pair of the two geoms, -1: none.
int32_t sap_mj_materials_find_pair(const mjModel* m, int32_t geom1, int32_t geom2);

// position.c
typedef struct sap_mj_margins {
  bool finds_touch;  // sap_mj_position_finds_touch
  mjtNum *geom, *body, *pair, *joint, *tendon;
} sap_mj_margins;

// A contact of the step before, whose geoms may glide on one another.
typedef struct sap_mj_glide {
  int32_t geom1, geom2;
  double reach;       // contacts are detected up to this height [m]
  double rise;        // height per distance slipped in a step [-]
  double p[3], n[3];  // point and normal in the step before, in the world
} sap_mj_glide;

typedef struct sap_mj_glides {
  sap_mj_glide* list;
  int32_t count, capacity;
  double* poses;    // of bodies in the step before: position and rotation matrix (12 nbody)
  double* motions;  // since then: |displacement| of the origin [m], |change of R|_F (2 nbody)
  bool are_loaded;  // from a checkpoint: mjData has no contacts of the step before
} sap_mj_glides;

// Returns true if MuJoCo can be asked for contacts of geoms that only just touch.
bool sap_mj_position_finds_touch(const mjModel* m);
// Saves the contacts in mjData, while the kinematics are still those of their step.
sap_status sap_mj_position_save_contacts(sap_mj* a, const mjData* d, sap_error* error);
// Runs MuJoCo's position stage with wider margins.
sap_status sap_mj_position_update(sap_mj* a, mjData* d, sap_error* error);

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
// Adds the blocks of all contacts of mjData.
sap_status sap_mj_contacts_add(sap_mj* a, const mjData* d, sap_error* error);

// mocap.c
typedef struct sap_mj_mocap {
  double *pos, *quat;  // at the end of the step before (3 nmocap) (4 nmocap)
  double* velocity;    // [omega; v of the body's frame] (6 nmocap)
  bool is_known;       // pos and quat are filled
} sap_mj_mocap;

void sap_mj_mocap_update(sap_mj* a, const mjData* d);
void sap_mj_mocap_save(sap_mj* a, const mjData* d);
// Returns the velocity of a point p of a mocap body or of a body welded to it; false for others.
bool sap_mj_mocap_point(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                        double velocity[3], double omega[3]);

#endif
