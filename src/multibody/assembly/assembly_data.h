// SPDX-License-Identifier: BSD-3-Clause
// What the files of the assembly share.
#ifndef SAP_MULTIBODY_ASSEMBLY_ASSEMBLY_DATA_H
#define SAP_MULTIBODY_ASSEMBLY_ASSEMBLY_DATA_H

#include "multibody/assembly/assembly.h"
#include "multibody/dynamics/rows.h"

// 4 pi^2 of the near-rigid limit, castro (29).
#define SAP_FOUR_PI_SQUARED 39.478417604357434475
// A limit nearer than this share of its range is always there.
#define SAP_LIMIT_RANGE_SHARE 0.1
// And so is one that the faster of v0 and v* reaches within so many times dt + tau_d.
#define SAP_LIMIT_HORIZONS 4.0

// Kinds of block identities, the top four bits of a key; the ids follow, 20 bits each.
enum sap_key_kind {
  SAP_KEY_CONTACT = 1,
  SAP_KEY_LOWER,
  SAP_KEY_UPPER,
  SAP_KEY_TENDON_LOWER,
  SAP_KEY_TENDON_UPPER,
  SAP_KEY_FRICTION,
  SAP_KEY_TENDON_FRICTION,
  SAP_KEY_SERVO,
  SAP_KEY_BOUND_SERVOS,  // id: see multibody/dynamics/actuators.h
  SAP_KEY_EQUALITY,
  SAP_KEY_ADHESION,
};

static inline uint64_t sap_assembly_key(int kind, int32_t a, int32_t b, int32_t c) {
  const uint64_t mask = 0xFFFFF;
  return (uint64_t)kind << 60 | ((uint64_t)a & mask) << 40 | ((uint64_t)b & mask) << 20 |
         ((uint64_t)c & mask);
}

static inline int sap_assembly_key_kind(uint64_t key) {
  return (int)(key >> 60);
}

// The first (0), second or third id.
static inline int32_t sap_assembly_key_id(uint64_t key, int which) {
  return (int32_t)(key >> (40 - 20 * which) & 0xFFFFF);
}

// Law of the servo or servos that act along one length l:
//   force = clamp(offset - kp l - kd dl/dt, lower, upper) at the end of the step
typedef struct sap_servo_law {
  double offset, kp, kd, lower, upper;
  double gears;   // sum of the gears
  int32_t count;  // servos in it
} sap_servo_law;

// When a limit of a hinge or slide is too far to act, at a glance.
typedef struct sap_limit_test {
  int32_t joint, q_start, v_start;
  bool scalar;  // else the limit has to be looked at
  double lower, upper, relaxation_time;
  double near;  // SAP_LIMIT_RANGE_SHARE of the range
} sap_limit_test;

// Memory for a contact on its way to a block: of its first and second tree.
typedef struct sap_contact_parts {
  int32_t trees[2];
  double* jacobians[2];  // 3 x tree size
  double* angular[2];    // (rows - 3) x tree size
  bool moves;
} sap_contact_parts;

struct sap_assembly {
  const sap_model* model;
  double* jacobians[2];  // of a contact's trees             (3 x largest tree)
  double* angular[2];    // spin and rolling rows of these   (3 x largest tree)
  double* row;           // one row, zero between calls      (nv)
  int32_t* trees;        // of one row                       (ntrees)
  const double** parts;  // of the row, tree by tree         (ntrees)
  sap_rows rows;         // of any other block
  int32_t nlimits;
  sap_limit_test* limits;  // of all joints that may have one  (joints)
  const bool* locked;      // velocities held at zero; NULL: none (nv)
  // Of the equalities, first g at q0 (+) dt v_guess, then the part of g after the step that does
  // not depend on its v, g0 + curvature.                        (SAP_ROWS_MAX equalities)
  double* predicted;
  double* rate_end;  // of the equalities, J v at q0 (+) dt v_guess (SAP_ROWS_MAX equalities)
  // Where a step evaluates J within itself (sap_assembly_set_point), else NULL.
  const double *q_point, *moved;
  const double* change;             // of the contacts added next: sap_assembly_set_change
  bool* on[SAP_ASSEMBLY_SWITCHES];  // by kind and id
  sap_servo_law* bound_servos;      // all that a bound sums up    (joints + tendons)
  // Of contacts that are added at once.
  sap_contact_parts* made_parts;
  sap_contact_block* made;
  double* made_values;
  int32_t parts_capacity, made_capacity, values_capacity;
};

// What all blocks of one call share.
typedef struct sap_assembly_call {
  sap_assembly* assembly;
  const sap_assembly_start* start;
  sap_problem* problem;
  double dt;
  sap_error* error;
} sap_assembly_call;

// Contacts and where their blocks go.
typedef struct sap_contact_call {
  const sap_dynamics* dynamics;
  sap_contact* contacts;
  const sap_regularization* regularization;
  sap_problem* problem;
} sap_contact_call;
// Friction rows of a contact: what stands in condim, less spin and rolling that have no friction.
int32_t sap_assembly_contact_rows(const sap_contact* contact);
// The contact as a block that points to it and to the parts. False: nothing moves it.
bool sap_assembly_make_contact(const sap_assembly* assembly, const sap_dynamics* dynamics,
                               const sap_contact* contact, sap_contact_parts* parts,
                               sap_contact_block* block);
// sap_assembly_add_contacts in the problem's threads. False: has not been done, because it is not
// worth it or would fail.
bool sap_assembly_add_at_once(sap_assembly* assembly, const sap_contact_call* call, int32_t* count);

// R, v_hat and bounds (box) of the block made of assembly->rows.
typedef struct sap_row_law {
  sap_set set;
  double R[SAP_ROWS_MAX], v_hat[SAP_ROWS_MAX], lower[SAP_ROWS_MAX], upper[SAP_ROWS_MAX];
  uint64_t key;
} sap_row_law;

// w = |W|_F/count of rows first ... first + count - 1; 0 when nothing can move along them.
sap_status sap_assembly_rows_scale(const sap_assembly_call* call, int32_t first, int32_t count,
                                   double* w);
// Adds the block of all rows.
sap_status sap_assembly_add_rows(const sap_assembly_call* call, const sap_row_law* law);
// The part of a gap g(q) at the point of evaluation that does not depend on the step's velocity:
// g less the row times the way from q0.
static inline double sap_assembly_gap0(const sap_assembly_call* call, int32_t row, double g) {
  const sap_assembly* assembly = call->assembly;
  return assembly->moved == NULL ? g : g - sap_rows_times(&assembly->rows, row, assembly->moved);
}
// The positions at which the kinematics stand.
static inline const double* sap_assembly_positions(const sap_assembly_call* call) {
  return call->assembly->q_point != NULL ? call->assembly->q_point : call->start->q0;
}
// The smallest R that a block of scale w may have: beta^2/(4 pi^2) w.
static inline double sap_assembly_near_rigid(const sap_assembly_call* call, double w) {
  const double beta = call->start->regularization->beta;
  return beta * beta / SAP_FOUR_PI_SQUARED * w;
}

#endif
