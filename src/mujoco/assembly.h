// SPDX-License-Identifier: BSD-3-Clause
// Constraint rows as Jacobians on trees, and the blocks of the problem made from them.
#pragma once

#include <sapstep/mujoco.h>

#include "core/error.h"
#include "mujoco/compat.h"

// rows.c: scratch of one block
typedef struct sap_mj_rows {
  double* J;                     // Jacobians
  int32_t* trees;                // of the block (ntrees)
  const double** parts;          // Jacobian per tree of the block (ntrees)
  const double** angular_parts;  // rows [spin roll1 roll2] of a contact (ntrees)
  int32_t* entry;                // of a contact's rows (nv)
  double** place;                // of these entries in J (nv)
  int32_t* seen;                 // index of a tree in `trees`, -1: not in the block (ntrees)
  int* unit_columns;             // 0, 1, ...: columns of rows of one velocity (nv)
} sap_mj_rows;

// Returns the row without the zeros at its ends.
sap_mj_row sap_mj_row_trim(const sap_mj* a, sap_mj_row row);
// Returns the product of the row with v.
double sap_mj_row_times(const sap_mj_row* row, const double* v);
// Adds factor row' to `to` (nv).
void sap_mj_row_add(const sap_mj_row* row, double factor, double* to);
// Stores the Jacobian of the rows in a->rows.trees and a->rows.parts. Sets the number of trees; 0: all
// entries are zero.
sap_status sap_mj_rows_gather(sap_mj* a, const sap_mj_row* rows, int32_t count, int32_t* ntrees,
                              sap_error* error);
// Does the same for a contact's rows [t1 t2 n], or n alone if dim is 1; [spin roll1 roll2] go to
// a->rows.angular_parts.
sap_status sap_mj_rows_gather_contact(sap_mj* a, const mjData* d, const mjContact* contact,
                                      int32_t* ntrees, sap_error* error);
// Returns the number of velocities of the block's trees.
int32_t sap_mj_rows_columns(const sap_mj* a, int32_t ntrees);
// Row r of [t1 t2 n spin roll1 roll2] of a contact with dim > 1: its value from an array with one
// number per row of MuJoCo's, less its product with v.
double sap_mj_rows_contact_excess(const sap_mj* a, const mjData* d, const mjContact* contact,
                                  int32_t r, const double* rows, const double* v);

// blocks.c
enum {
  SAP_MJ_KEY_CONTACT = 1,
  SAP_MJ_KEY_LIMIT,
  SAP_MJ_KEY_EQUALITY,
  SAP_MJ_KEY_SERVO,
  SAP_MJ_KEY_FRICTION
};

// A limit left out of the problem because it is far: it would act below this velocity.
typedef struct sap_mj_far_limit {
  int32_t row;  // of MuJoCo's
  double bound;
} sap_mj_far_limit;

// Links a block of the problem to MuJoCo's rows.
typedef struct sap_mj_slot {
  int32_t contact;    // index in mjData.contact; -1: not a contact
  int32_t first_row;  // of MuJoCo's rows
  int32_t nrows;
  int32_t first_gamma;  // in the problem's gamma
} sap_mj_slot;

typedef struct sap_mj_blocks {
  sap_mj_slot* slots;
  int32_t slot_count;
  sap_mj_far_limit* far_limits;
  int32_t far_limit_count;
  bool all_limits;            // none is left out
  uint64_t epoch;             // of the keys; sap_mj_forget starts a new one
  double* bias_acceleration;  // spatial, of bodies, for equalities (6 nbody)
} sap_mj_blocks;

// Adds the blocks of all contacts and constraints of mjData.
sap_status sap_mj_blocks_add(sap_mj* a, const mjData* d, sap_error* error);
sap_status sap_mj_blocks_add_slot(sap_mj* a, int32_t contact, int32_t first, int32_t count,
                                  sap_error* error);
uint64_t sap_mj_blocks_key(const sap_mj* a, int32_t kind, int32_t first, int32_t second,
                           int32_t ordinal);
// Returns a model object's name, "" if it has none.
const char* sap_mj_blocks_name(const mjModel* m, int type, int32_t id);
// A row with bounds if it is a box, or without: nonnegative.
typedef struct sap_mj_row_law {
  sap_set set;
  double R, v_hat, lower, upper;
} sap_mj_row_law;
// Adds one gathered row.
sap_status sap_mj_blocks_add_row(sap_mj* a, int32_t ntrees, const sap_mj_row_law* law, uint64_t key,
                                 sap_error* error);
// Adds it as a unilateral spring and damper; sets its w. Removes the last slot if nothing can move.
sap_status sap_mj_blocks_add_compliant(sap_mj* a, int32_t ntrees, sap_compliant_row* row,
                                       uint64_t key, sap_error* error);
// Returns true if v reaches a limit that was left out; the rest of the step keeps all limits then.
bool sap_mj_blocks_check_limits(sap_mj* a, const mjData* d, const double* v);

// equality.c
void sap_mj_equality_update_bias(sap_mj* a, const mjData* d);
// Adds the blocks of one equality, rows first .. first + count - 1 of MuJoCo's.
sap_status sap_mj_equality_add(sap_mj* a, const mjData* d, int32_t first, int32_t count,
                               sap_error* error);

// servo.c
// An affine servo or a joint's effort range. At the end of the step, within its bounds,
//   force = raw - (h kp + kd)(V - V0) - h kp V0,   V = row v
typedef struct sap_mj_servo {
  sap_mj_row row;
  int32_t output;  // index in actuator_force; -1: the effort range of a joint
  double raw;      // at the start of the step, without bounds [N, N m]
  double kp, kd;
  double lower, upper;
  double V0;         // row v0
  double cut;        // force that the joint's range has taken from the sum
  double applied;    // force that MuJoCo has added
  int32_t block;     // index in the problem; -1: the servo is in A
  bool is_limited;   // has bounds
  bool is_absorbed;  // acts through the effort range of its joint
} sap_mj_servo;

typedef struct sap_mj_servos {
  sap_mj_servo* list;
  int32_t count;
} sap_mj_servos;

sap_status sap_mj_servos_find(sap_mj* a, const mjData* d, sap_error* error);
// Adds the servos to the momentum balance, less the forces that MuJoCo has added.
sap_status sap_mj_servos_add(sap_mj* a, sap_error* error);
sap_status sap_mj_servos_add_blocks(sap_mj* a, sap_error* error);
// Puts servos that left their bounds at v into blocks; returns true if there were any.
bool sap_mj_servos_check(sap_mj* a, const double* v);
void sap_mj_servos_write(sap_mj* a, mjData* d, const double* v);
