// SPDX-License-Identifier: BSD-3-Clause
// Turns a model's contacts, limits, dry friction, servos, adhesion and equalities into blocks of
// the contact problem. All Jacobians are taken at kinematics that the caller hands over.
#pragma once

#include <sapstep/problem.h>

#include "multibody/dynamics/dynamics.h"
#include "multibody/model/model_data.h"

typedef struct sap_assembly sap_assembly;  // scratch memory for one model

sap_status sap_assembly_create(const sap_model* model, sap_assembly** out, sap_error* error);
void sap_assembly_destroy(sap_assembly* assembly);

// Kinds of blocks, in the order in which a step adds them.
typedef enum sap_block_kind {
  SAP_BLOCKS_CONTACT,
  SAP_BLOCKS_JOINT_LIMIT,
  SAP_BLOCKS_JOINT_FRICTION,
  SAP_BLOCKS_TENDON_LIMIT,
  SAP_BLOCKS_TENDON_FRICTION,
  SAP_BLOCKS_SERVO,
  SAP_BLOCKS_ADHESION,
  SAP_BLOCKS_EQUALITY,
  SAP_BLOCK_KINDS,
} sap_block_kind;
// Indices of blocks in the problem: first <= i < end.
typedef struct sap_block_range {
  int32_t first, end;
} sap_block_range;
typedef struct sap_contact_list {
  sap_contact* contacts;
  int32_t count;
  // velocity_change, then gap_change of sap_contact_block for all contacts; NULL: zero. (4)
  const double* change;
} sap_contact_list;

// Empties all ranges and finds the loads of the contacts. Called before the first block of a
// problem is added.
void sap_assembly_begin(sap_assembly* assembly, const sap_contact_list* contacts);

// Where a step evaluates its constraints: at q0, or at a point q = q0 (+) moved within the step.
typedef struct sap_assembly_start {
  sap_dynamics* dynamics;
  const sap_kinematics* kin;   // of q: J and gaps are taken here
  const sap_kinematics* kin0;  // of q0
  const double *q0, *v0;
  const double* moved;  // gaps become g(q) - J moved (nv); NULL: kin is of q0
  const double* input;  // see multibody/dynamics/actuators.h (nu)
  const sap_regularization* regularization;
  double damper_time;  // A has dampers times this, theta dt [s]
} sap_assembly_start;

// Adds one friction cone per contact, in their order. Fails with ARGUMENT for a contact of two
// static bodies. Removes contacts at points that no joint moves from the list.
sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_assembly_start* start,
                                     sap_contact_list* list, sap_problem* problem,
                                     sap_error* error);
// Sets R, vc and gamma of a contact, in its own units, from its block and the block's rows of a
// solution. False: the velocities along rows without friction do not follow from it and are zero.
bool sap_assembly_collect_contact(const sap_block* block, const double* vc, const double* gamma,
                                  sap_contact* contact);
// contact->vc = J v of all rows of its condim.
void sap_assembly_contact_velocity(const sap_assembly* assembly, const sap_kinematics* kin,
                                   const double* v, sap_contact* contact);

// The problem holds A and v* already. Limits that cannot act within the step are left out.
// Adds limits and dry friction of joints and tendons.
sap_status sap_assembly_add_limits(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error);
// Returns the number of limits without a block that may have acted in a step from q0 with the
// velocities v at its end: from then on they have one, until the next sap_assembly_forget_limits.
int32_t sap_assembly_check_limits(sap_assembly* assembly, const double* q0, const double* v,
                                  double dt);
void sap_assembly_forget_limits(sap_assembly* assembly);
sap_status sap_assembly_add_servos(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error);
// Adds the actuators of adhesion that pull at one of the problem's contacts.
sap_status sap_assembly_add_adhesion(sap_assembly* assembly, const sap_assembly_start* start,
                                     const sap_contact_list* contacts, sap_problem* problem,
                                     sap_error* error);

// Adds the equalities that are switched on. Called before it:
//   without `moved`: sap_assembly_predict at q0 (+) dt v_guess
//   with `moved`:    sap_assembly_predict at q0, sap_assembly_predict_rates at q0 (+) dt v_guess
sap_status sap_assembly_add_equalities(sap_assembly* assembly, const sap_assembly_start* start,
                                       sap_problem* problem, sap_error* error);
// Stores the equalities' g.
void sap_assembly_predict(sap_assembly* assembly, const sap_kinematics* kin);
// Stores the equalities' J v.
void sap_assembly_predict_rates(sap_assembly* assembly, const sap_kinematics* kin, const double* v);
// Derivative of the polynomial of a joint or tendon equality that has a second one, at kin.
double sap_assembly_equality_slope(const sap_kinematics* kin, const sap_model* model,
                                   const sap_equality_def* equality);
// Largest |g| of the equalities that are switched on.
double sap_assembly_closure(const sap_assembly* assembly, const sap_kinematics* kin);
// Sets missed[i] = g(q) - the g that row i predicts [m, rad], for the rows i of rigid equalities in
// the problem; vc: of all rows.
void sap_assembly_closure_error(const sap_assembly* assembly, const sap_kinematics* kin,
                                const sap_problem* problem, const double* vc, double* missed);

// Switches of a kind, by id. At first equalities are as in the model, all others are on.
typedef enum sap_assembly_switch {
  SAP_ASSEMBLY_EQUALITY,
  SAP_ASSEMBLY_JOINT_LIMIT,
  SAP_ASSEMBLY_JOINT_FRICTION,
  SAP_ASSEMBLY_TENDON_LIMIT,
  SAP_ASSEMBLY_TENDON_FRICTION,
  SAP_ASSEMBLY_SWITCHES,
} sap_assembly_switch;
