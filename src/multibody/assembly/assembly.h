// SPDX-License-Identifier: BSD-3-Clause
// From a model's contacts, joints, tendons, actuators and equalities to blocks of the contact
// problem.
#ifndef SAP_MULTIBODY_ASSEMBLY_ASSEMBLY_H
#define SAP_MULTIBODY_ASSEMBLY_ASSEMBLY_H

#include <sapstep/problem.h>

#include "multibody/dynamics/dynamics.h"
#include "multibody/model/model_data.h"

typedef struct sap_assembly sap_assembly;  // scratch memory for one model

sap_status sap_assembly_create(const sap_model* model, sap_assembly** out, sap_error* error);
void sap_assembly_destroy(sap_assembly* assembly);

// One friction cone per contact, in their order; the kinematics set last in `dynamics` are those of
// the contacts. A contact of two bodies that cannot move is refused (ARGUMENT); one at a point that
// no joint moves is taken out of the list.
sap_status sap_assembly_add_contacts(sap_assembly* assembly, const sap_dynamics* dynamics,
                                     sap_contact* contacts, int32_t* count,
                                     const sap_regularization* regularization, sap_problem* problem,
                                     sap_error* error);
// For the contacts that are added next: velocity_change, then gap_change of sap_contact_block;
// NULL: zero.
void sap_assembly_set_change(sap_assembly* assembly, const double change[4]);
// A contact's part of a solution, scaled rows of its block, as R, vc and gamma in its own units.
// False: velocities along rows without friction are not known from it, and are zero.
bool sap_assembly_collect_contact(const sap_block* block, const double* vc, const double* gamma,
                                  sap_contact* contact);
// vc = J v of all rows that condim has; the kinematics set last are those of the contact.
void sap_assembly_contact_velocity(const sap_assembly* assembly, const sap_dynamics* dynamics,
                                   const double* v, sap_contact* contact);
// Limits of joints at (q0, v0) that may act within the step, then dry friction of joints. The
// problem holds A and v*.
sap_status sap_assembly_add_joints(sap_assembly* assembly, const double* q0, const double* v0,
                                   const sap_regularization* regularization, sap_problem* problem,
                                   sap_error* error);

// For a step whose constraints are evaluated within it: J and gaps are those at `q`, where the
// kinematics stand when joints, tendons, servos and equalities are added, and `moved` (nv) led
// there from q0; g0 is then g(q) - J moved. NULL, NULL: at q0 again. Both stay the caller's.
void sap_assembly_set_point(sap_assembly* assembly, const double* q, const double* moved);

// Where a step begins.
typedef struct sap_assembly_start {
  sap_dynamics* dynamics;  // with kinematics at q0, or at the point of evaluation
  const double *q0, *v0;
  const double* input;  // see multibody/dynamics/actuators.h (nu)
  const sap_regularization* regularization;
} sap_assembly_start;

// Limits of tendons that may act within the step, then their dry friction.
sap_status sap_assembly_add_tendons(sap_assembly* assembly, const sap_assembly_start* start,
                                    sap_problem* problem, sap_error* error);
// Servos.
sap_status sap_assembly_add_servos(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error);
typedef struct sap_contact_list {
  const sap_contact* contacts;
  int32_t count;
} sap_contact_list;
// Actuators of adhesion that pull at one of these contacts, those of the problem.
sap_status sap_assembly_add_adhesion(sap_assembly* assembly, const sap_assembly_start* start,
                                     const sap_contact_list* contacts, sap_problem* problem,
                                     sap_error* error);
// Equalities that are switched on. Before, sap_assembly_predict was called with the kinematics at
// q = q0 (+) dt v_guess, the velocities that the problem's guess expects.
void sap_assembly_predict(sap_assembly* assembly, const sap_dynamics* dynamics, const double* q);
// The largest |g| of the equalities that are switched on, at q, at which the kinematics stand.
double sap_assembly_closure(const sap_assembly* assembly, sap_dynamics* dynamics, const double* q);
// With a point of evaluation, instead of that: first with kinematics at q = q0 (+) dt v_guess, v
// being v_guess, then with kinematics at q0.
void sap_assembly_predict_rates(sap_assembly* assembly, const sap_dynamics* dynamics,
                                const double* q, const double* v);
void sap_assembly_start_gaps(sap_assembly* assembly, const sap_dynamics* dynamics,
                             const double* q0);
// The largest |g(q)| by which a rigid equality in the problem misses what its rows say, at q, at
// which the kinematics stand; vc: of the problem's rows. [m, rad]
double sap_assembly_closure_error(const sap_assembly* assembly, const sap_dynamics* dynamics,
                                  const double* q, const sap_problem* problem, const double* vc);
sap_status sap_assembly_add_equalities(sap_assembly* assembly, const sap_assembly_start* start,
                                       sap_problem* problem, sap_error* error);
// Velocities that are held at zero: joints without motion have no blocks. NULL: none. (nv)
void sap_assembly_set_locked(sap_assembly* assembly, const bool* locked);
// The switches of a kind, by id; at first equalities are as the model has them, the rest is on.
typedef enum sap_assembly_switch {
  SAP_ASSEMBLY_EQUALITY,
  SAP_ASSEMBLY_JOINT_LIMIT,
  SAP_ASSEMBLY_JOINT_FRICTION,
  SAP_ASSEMBLY_TENDON_LIMIT,
  SAP_ASSEMBLY_TENDON_FRICTION,
  SAP_ASSEMBLY_SWITCHES,
} sap_assembly_switch;
bool* sap_assembly_switches(sap_assembly* assembly, sap_assembly_switch kind);

#endif
