// SPDX-License-Identifier: BSD-3-Clause
// The built-in engine's workspace and the functions that its files share.
#pragma once

#include <sapstep/multibody.h>

#include "core/error.h"
#include "multibody/assembly/assembly.h"
#include "multibody/dynamics/derivatives.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"
#include "multibody/geometry/collision.h"

// Snapshots of kinematics. Their roles are exchanged by swapping the structs, never by copying.
typedef enum sap_snapshot {
  SAP_SNAPSHOT_START,  // q0, where the step begins; the last q that was looked at between steps
  SAP_SNAPSHOT_POINT,  // q^theta, where the step evaluates its constraints
  SAP_SNAPSHOT_NEXT,   // any other q, in particular the end of the step
  SAP_SNAPSHOTS,
} sap_snapshot;

// Start of the last step: q0 (nq), v0 (nv) with zeros where locked, actuator inputs (nu).
typedef struct sap_step_start {
  double *q0, *v0, *input;
} sap_step_start;

// Momenta of the links at a state.
typedef struct sap_momentum_state {
  bool known;
  double *q, *v;         // (nq), (nv)
  double (*momenta)[6];  // of the links there
} sap_momentum_state;

// Momenta at the start and the end of the step evaluated last: where the next evaluation or the
// next step mostly begins.
typedef struct sap_momentum_memory {
  sap_momentum_state start, end;
  // Change of momentum per time less weight, on each velocity (nv); known: from `start` to `end` in
  // this dt.
  double* inertial;
  bool inertial_known;
  double dt;
  bool* moved;  // scratch: trees that are not where they were at `end`            (trees)
} sap_momentum_memory;

// Contacts where a step evaluates its constraints. With theta < 1 that is the expected q^theta
// instead of q0, whose normals and arms lag behind by theta dt: first order.
typedef struct sap_evaluation_point {
  double *q, *moved;      // q^theta (nq), and the way there from q0 (nv)
  sap_contact* contacts;  // the contacts at q0
  int32_t count;
  bool* within;  // true: this contact is evaluated at q^theta
  // Per contact evaluated at q^theta: first its velocity at q0 with v_guess in the world's axes
  // [m/s], then velocity_change and gap_change of sap_contact_block           (4 count)
  double* change;
} sap_evaluation_point;

struct sap_multibody {
  const sap_model* model;
  sap_system system;
  sap_pool pool;  // holds all arrays
  sap_dynamics* dynamics;
  sap_kinematics snapshots[SAP_SNAPSHOTS];
  sap_collision* collision;
  sap_assembly* assembly;
  double* control;                 // (nu)
  double* input;                   // see multibody/dynamics/actuators.h (nu)
  double* act;                     // activations at the start of the step (na)
  double* q_next;                  // scratch (nq)
  sap_rotation_memory* rotations;  // of the joints (joints)
  double* acceleration;            // scratch (nv)
  double* effort;                  // scratch (nv)
  double* actuator_force;          // scratch (nu)
  sap_body_motion* motions;        // scratch (bodies)
  double (*velocities)[6];         // of the bodies in a step, see sap_collision_query  (bodies)
  double (*velocities0)[6];        // V0_WB of it                                       (bodies)
  sap_momentum_memory momenta;
  sap_step_start start;
  sap_control_function control_function;
  void* control_context;
  int32_t* carrier;    // nearest body, the body itself or above, with an unlocked dof (bodies)
  bool servos_chosen;  // for the step under way
  bool detected;       // `contacts` belong to the step under way or to the last step
  bool collected;      // they have the R, vc and gamma of that step's solution
  bool* shape_on;      // false: all contacts of the shape are switched off  (shapes)
  sap_contact* contacts;
  int32_t contact_count;
  sap_contact* open;  // those that v* leaves far open and the problem lacks (open_count)
  int32_t open_count;
  sap_evaluation_point point;
  sap_derivatives* derivatives;  // NULL until they are first needed
  sap_mass_work* masses;
  double* column;  // of derivatives (nv)
  struct sap_contact_slopes* slopes;
};

// Returns the snapshot of q; computes SAP_SNAPSHOT_NEXT if there is none.
const sap_kinematics* sap_multibody_kinematics(sap_multibody* multibody, const double* q);
// Same, and gives that snapshot the role SAP_SNAPSHOT_START: it stays until the next call.
const sap_kinematics* sap_multibody_start_kinematics(sap_multibody* multibody, const double* q);

// Fails with NOT_FINITE, or with ARGUMENT for a quaternion that is zero.
sap_status sap_multibody_check_positions(const sap_multibody* multibody, const double* q,
                                         sap_error* error);

// Sets the inputs from the controls, and from act (na) for actuators with activation.
void sap_multibody_set_input(sap_multibody* multibody, const double* act);
// Fills the table of callbacks.
void sap_multibody_fill_system(sap_multibody* multibody);
// ARGUMENT unless 0 <= id < count: "what = id must be 0 to count - 1".
sap_status sap_multibody_check_id(const char* what, int32_t id, int32_t count, sap_error* error);

// Sets the force, and the moment about p_W, that the subtree of `body` gets from the body's parent,
// from multibody->motions, multibody->actuator_force and the contacts and equalities of the step: the
// subtree's needs, less the forces of contacts, connects, welds, distances and tendons through points
// on it. The contacts must be collected.
void sap_multibody_reaction(sap_multibody* multibody, const sap_step_report* report,
                            const sap_kinematics* kin, int32_t body, const double p_W[3],
                            double force[3], double moment[3]);
// Returns the force of the limits of a joint (kind SAP_KEY_LOWER) or tendon (SAP_KEY_TENDON_LOWER).
double sap_multibody_force_of_limits(const sap_multibody* multibody, const sap_step_report* report,
                                     int kind, int32_t id);

// Callbacks, see sap_system.
int sap_multibody_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                              sap_error* error);
int sap_multibody_missing_contacts(void* context, const sap_step_context* step, const double* v,
                                   int32_t* count, sap_error* error);
int sap_multibody_closure_error(void* context, const sap_step_context* step,
                                const sap_problem* problem, const double* vc, const double* q,
                                double* missed);

sap_status sap_multibody_balance_derivatives(void* context, const sap_step_context* step,
                                             sap_balance_derivatives* out, sap_error* error);
sap_status sap_multibody_impulse_derivatives(void* context, const sap_step_context* step,
                                             const sap_problem* problem,
                                             sap_impulse_derivatives* out, sap_error* error);
sap_status sap_multibody_parameter_derivatives(void* context, const sap_step_context* step,
                                               const sap_balance_derivatives* at,
                                               const double* lambda,
                                               const sap_parameter_gradient* out, sap_error* error);
// Makes the workspace of derivatives.
sap_status sap_multibody_derivatives(sap_multibody* multibody, sap_error* error);

// Sets `contacts` to those at kin that are not switched off; with a step those that motion with v
// closes within it, too, and `open` to those that it leaves far open. Without one, v is NULL and
// later steps see no trace.
sap_status sap_multibody_find_contacts(sap_multibody* multibody, const sap_kinematics* kin,
                                       const sap_step_context* step, const double* v,
                                       sap_error* error);
// Finds contacts that motion with v closes and that are not there, and inserts them into the list:
// the contacts or, for theta_vq < 1, those of the evaluation point, which has room.
sap_status sap_multibody_find_more(sap_multibody* multibody, const sap_step_context* step,
                                   const double* v, int32_t* count, sap_error* error);
// Removes those that another solution than the first lacked.
void sap_multibody_drop_later(sap_multibody* multibody, bool at_point);
// Returns true if contact a comes before b in lists.
static inline bool sap_contact_is_before(const sap_contact* a, const sap_contact* b) {
  return a->shape_A != b->shape_A   ? a->shape_A < b->shape_A
         : a->shape_B != b->shape_B ? a->shape_B < b->shape_B
                                    : a->feature < b->feature;
}
// Makes room for contacts at the evaluation point.
sap_status sap_multibody_reserve_point(sap_multibody* multibody, int32_t count, sap_error* error);
// Updates `carrier` after locks have changed: bodies that move as one do not touch.
void sap_multibody_find_carriers(sap_multibody* multibody);
