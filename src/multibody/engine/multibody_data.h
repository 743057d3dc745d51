// SPDX-License-Identifier: BSD-3-Clause
// What the functions on a sap_multibody share.
#ifndef SAP_MULTIBODY_ENGINE_MULTIBODY_DATA_H
#define SAP_MULTIBODY_ENGINE_MULTIBODY_DATA_H

#include <sapstep/multibody.h>

#include "core/threads.h"
#include "multibody/assembly/assembly.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/engine/momentum_record.h"
#include "multibody/engine/multibody_point.h"
#include "multibody/geometry/collision.h"

// Where the last step began: q0 (nq), v0 (nv) without what is locked, and the actuators' inputs
// (nu).
typedef struct sap_step_start {
  double *q0, *v0, *input;
} sap_step_start;

struct sap_multibody {
  const sap_model* model;
  sap_system system;
  sap_threads* threads;  // shared with the stepper, NULL: one
  sap_dynamics* dynamics;
  sap_collision* collision;
  sap_assembly* assembly;
  double* control;   // (nu)
  double* input;     // controls or activations, see multibody/dynamics/actuators.h (nu)
  double* act;       // those of the step under way (na)
  double* q_next;    // scratch (nq)
  sap_turn* turns;   // of the joints, as asked last (joints)
  double* reaction;  // scratch: accelerations (nv)
  double* poses;     // of the bodies a step later: positions, rotations            (12 bodies)
  sap_momentum_records momenta;
  sap_step_start start;
  sap_control_function control_function;
  void* control_context;
  int32_t* carrier;  // the body at or above each that moves on its own, locks regarded  (bodies)
  bool looked_at;    // those that stand are to be kept, else those put away
  bool detected;     // are the contacts those of the step under way?
  bool* shape_on;    // false: it touches nothing                             (shapes)
  int32_t (*pairs_off)[2];  // pairs of shapes a < b without contacts, sorted
  int32_t pair_off_count, pair_off_capacity;
  sap_contact* contacts;
  int32_t contact_count, contact_capacity;
  sap_evaluation_point point;
};

// The dynamics with kinematics at q.
sap_dynamics* sap_multibody_at(sap_multibody* multibody, const double* q);
// The same between steps: these kinematics stay at hand, because the next step begins there.
sap_dynamics* sap_multibody_look(sap_multibody* multibody, const double* q);
// From the controls, and `act` (na) for actuators that have an activation.
void sap_multibody_set_input(sap_multibody* multibody, const double* act);
// The table's function of activations.
int sap_multibody_activate(void* context, const sap_step_context* step, const double* a0,
                           double* a);
// Those of constraints, and of what they miss.
int sap_multibody_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                              sap_error* error);
int sap_multibody_closure_error(void* context, const sap_step_context* step,
                                const sap_problem* problem, const double* vc, const double* q,
                                double* error);
// The table of callbacks, all but what is locked and coupled.
void sap_multibody_fill_system(sap_multibody* multibody);
// Contacts at q: those of the last detection that are not switched off. dt > 0: as part of a step,
// so that contacts which slid since the last step are kept within the height at which they glide.
// 0: a look that leaves no trace. ahead: also those which the poses in multibody->poses may lead
// to.
sap_status sap_multibody_find_contacts(sap_multibody* multibody, const double* q, double dt,
                                       bool ahead, sap_error* error);
// False: their contacts are switched off.
bool sap_multibody_touches(const sap_multibody* multibody, int32_t shape_a, int32_t shape_b);
// Once what is locked has changed: bodies that locked joints make move as one do not touch.
void sap_multibody_find_carriers(sap_multibody* multibody);

#endif
