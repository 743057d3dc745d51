// SPDX-License-Identifier: BSD-3-Clause
// Data and helpers shared by the files of the assembly.
#pragma once

#include "contact/loads.h"
#include "multibody/assembly/assembly.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/kinematics.h"

// A limit always gets a block if it is nearer than this share of its range,
#define SAP_LIMIT_RANGE_SHARE 0.1
// or if the faster of v0 and v* reaches it within this many times dt + tau_d.
#define SAP_LIMIT_HORIZONS 4.0
// The same for limits that are looked at after the step.
#define SAP_CHECKED_HORIZONS 2.0

// Kinds of block identities: the top four bits of a key; three ids of 20 bits each follow.
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

// Servos that act along one length as one.
typedef struct sap_servo_sum {
  sap_actuator_line law;
  double gears;   // sum of the gears
  int32_t count;  // number of servos
} sap_servo_sum;

// Jacobians of a contact on its one or two trees.
typedef struct sap_contact_parts {
  int32_t trees[2];
  double* jacobians[2];  // 3 x tree size
  double* angular[2];    // (rows - 3) x tree size
} sap_contact_parts;

// A side of a scalar joint's limits in the step under way.
typedef struct sap_limit_state {
  bool has_block;
  bool needed;  // it may have acted where it had no block
} sap_limit_state;

struct sap_assembly {
  const sap_model* model;
  sap_pool pool;                            // holds the arrays of fixed size
  sap_block_range ranges[SAP_BLOCK_KINDS];  // in the problem of the last step
  sap_loads loads;                          // of the contacts
  double* jacobians[2];                     // of a contact's trees             (3 x largest tree)
  double* angular[2];                       // spin and rolling rows of these   (3 x largest tree)
  sap_rows rows;                            // of any other block
  double* unit_scales;                      // w of rows made by sap_rows_unit, 0: unknown     (nv)
  const bool* locked;  // velocities held at zero: these joints get no blocks; NULL: none (nv)
  // g of each equality, by sap_assembly_predict. sap_assembly_add_equalities adds the curvature,
  // which gives the part of g after the step that does not depend on the step's v.
  double* predicted;                // (SAP_ROWS_MAX equalities)
  double* rate_end;                 // J v_guess at q0 (+) dt v_guess (SAP_ROWS_MAX equalities)
  double* end_share;                // see sap_law_end_share          (SAP_ROWS_MAX equalities)
  bool* on[SAP_ASSEMBLY_SWITCHES];  // by kind and id
  sap_limit_state* limits;          // lower, upper                       (2 joints)
  bool limits_checked;              // those without a block are to be looked at after the step
  sap_servo_sum* bound_servos;      // sums over the servos of a bound (joints + tendons)
};

// Arguments shared by all blocks of one call.
typedef struct sap_assembly_call {
  sap_assembly* assembly;
  const sap_assembly_start* start;
  sap_problem* problem;
  double dt;
  sap_error* error;
} sap_assembly_call;

// Rows of a contact's block: those of its condim, less spin and rolling rows without friction.
int32_t sap_assembly_contact_rows(const sap_contact* contact);

// R, v_hat and bounds (box) of the block made of assembly->rows.
typedef struct sap_row_law {
  sap_set set;
  double R[SAP_ROWS_MAX], v_hat[SAP_ROWS_MAX], lower[SAP_ROWS_MAX], upper[SAP_ROWS_MAX];
  uint64_t key;
} sap_row_law;

// Packs rows first ... first + count - 1 and returns their w = |W|_F/count; 0 if nothing can move
// along them.
sap_status sap_assembly_rows_scale(const sap_assembly_call* call, int32_t first, int32_t count,
                                   double* w);
// Adds the block of all rows, each of which went through sap_assembly_rows_scale.
sap_status sap_assembly_add_rows(const sap_assembly_call* call, const sap_row_law* law);
// Puts "limit of joint 3 'elbow'" (what, id, name) before the error message.
void sap_assembly_add_prefix(const sap_assembly_call* call, const char* what, sap_element element,
                             int32_t id);
// Extends the range of a kind to the blocks from `first` to the end of the problem.
void sap_assembly_record(sap_assembly* assembly, sap_block_kind kind, int32_t first,
                         const sap_problem* problem);
// Makes the rows of an equality in assembly->rows, and its gaps.
void sap_assembly_make_equality(sap_assembly* assembly, const sap_kinematics* kin, int32_t id,
                                double g[SAP_ROWS_MAX]);
// Part of a gap g(q) that does not depend on the step's velocity: g - row . moved.
static inline double sap_assembly_gap0(const sap_assembly_call* call, int32_t row, double g) {
  const double* moved = call->start->moved;
  return moved == NULL ? g : g - sap_rows_times(&call->assembly->rows, row, moved);
}
