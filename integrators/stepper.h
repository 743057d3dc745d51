// SPDX-License-Identifier: BSD-3-Clause
// Members of a stepper.
#ifndef SAP_INTEGRATORS_STEPPER_H
#define SAP_INTEGRATORS_STEPPER_H

#include <sapstep/stepper.h>

#include "integrators/end_positions.h"
#include "integrators/relinearize.h"

// The time of steps, counted: sums of dt drift by a rounding error per step.
typedef struct sap_step_clock {
  double start, dt, t;  // of the count, of its steps, after the last one [s]
  int64_t steps;        // 0: none
} sap_step_clock;

struct sap_stepper {
  sap_system system;  // copy of the caller's table
  sap_stepper_options options;
  uint64_t solver_hash;   // of the solver's name
  sap_threads* threads;   // NULL: one
  sap_pool pool;          // of all arrays below
  sap_step_context step;  // of the last step
  sap_step_clock clock;
  sap_relinearize solution;
  sap_end_positions end_positions;
  double* v0_free;  // v0 with zeros where velocities are locked (nv)
  double* q;        // positions at the end (nq)
  double* v_vq;     // velocity that leads there (nv)
  double* act;      // activations at the end (na)
};

// Fails with ARGUMENT unless the state has the system's sizes. NULL is refused.
sap_status sap_stepper_check_sizes(const sap_stepper* stepper, const sap_state* state,
                                   sap_error* error);

#endif
