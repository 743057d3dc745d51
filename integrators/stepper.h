// SPDX-License-Identifier: BSD-3-Clause
// Members of a stepper.
#pragma once

#include <sapstep/stepper.h>

#include "core/archive.h"
#include "integrators/end_positions.h"
#include "integrators/relinearize.h"

// The time of steps, counted: sums of dt drift by a rounding error per step.
typedef struct sap_step_clock {
  double start, dt, t;  // of the count, of its steps, after the last one [s]
  int64_t steps;        // 0: none
} sap_step_clock;

// Error control that chooses dt: its memory is saved and loaded with the stepper's.
typedef struct sap_step_control {
  sap_archive_function archive;  // NULL: there is none
  void* object;
  uint64_t hash;                 // of its options
  double accuracy;               // of a step's positions [m]
  double velocity_time;          // that makes errors of velocities ways [s]
  double dt, balance_tolerance;  // of the stepper before [s, -]
} sap_step_control;

struct sap_stepper {
  sap_system system;  // copy of the caller's table
  sap_stepper_options options;
  uint64_t solver_hash;   // of the solver's name
  sap_pool pool;          // of all arrays below
  sap_step_context step;  // of the last step
  sap_step_clock clock;
  sap_step_control control;
  sap_relinearize solution;
  sap_end_positions end_positions;
  double* v0_free;  // v0 with zeros where velocities are locked (nv)
  double* q;        // positions at the end (nq)
  double* v_vq;     // velocity that leads there (nv)
  double* act;      // activations at the end (na)
  // The part of the memory that a step changes before it can fail, as it was at its start.
  unsigned char* memory;
  int32_t memory_capacity;
  size_t memory_size;
  // The last step, for its derivatives.
  bool stepped;         // there is one
  double *q0, *v0, *v;  // its start and its velocities at the end (nq), (nv), (nv)
  struct sap_differentiation* differentiation;  // NULL until first needed
};

typedef struct sap_differentiation sap_differentiation;
// Adds a text that applies to notes on derivatives (SAP_DERIVATIVE_NOTES) unless it is there.
// Returns `applies`.
bool sap_derivatives_note(bool applies, char* notes, const char* text);
// The derivatives in hand are not those of the next step.
void sap_differentiation_forget(sap_stepper* stepper);

// Fails with ARGUMENT unless the state has the system's sizes. NULL is refused.
sap_status sap_stepper_check_sizes(const sap_stepper* stepper, const sap_state* state,
                                   sap_error* error);

// Takes an error control: solutions become as exact as its accuracy needs. NULL: it ends.
void sap_stepper_set_control(sap_stepper* stepper, const sap_step_control* control);
// Returns the options as they were given, not those of an error control.
sap_stepper_options sap_stepper_given_options(const sap_stepper* stepper);

// The memory that a step changes before it can fail; the rest changes once it has succeeded.
sap_status sap_stepper_archive_first(void* stepper, sap_archive* archive, sap_error* error);
// Forgets the steps, but nothing of an error control.
void sap_stepper_forget_steps(sap_stepper* stepper);
// Saves the memory without a header. bytes NULL: only measures it. fails: ARGUMENT if the capacity
// is too small.
sap_status sap_stepper_keep(sap_stepper* stepper, void* bytes, size_t capacity, size_t* size,
                            sap_error* error);
// Loads it. On failure the memory is unchanged.
sap_status sap_stepper_restore(sap_stepper* stepper, const void* bytes, size_t size,
                               sap_error* error);

// out = X R of a step's rotations, J or T; X, out (n x columns).
void sap_step_turn_columns(const sap_step_rotation* rotations, int32_t count, bool J, size_t n,
                           size_t columns, const double* X, double* out);
// x := R x.
void sap_step_turn_vector(const sap_step_rotation* rotations, int32_t count, bool J, double* x);
