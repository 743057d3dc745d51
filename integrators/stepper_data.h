// SPDX-License-Identifier: BSD-3-Clause
// What a stepper is made of.
#ifndef SAP_INTEGRATORS_STEPPER_DATA_H
#define SAP_INTEGRATORS_STEPPER_DATA_H

#include <sapstep/stepper.h>

#include "integrators/end_positions.h"
#include "integrators/rounds.h"

struct sap_stepper {
  sap_system system;  // the caller's table, copied
  sap_stepper_options options;
  uint64_t solver_hash;  // of the solver's name
  sap_threads* threads;  // NULL: one
  sap_rounds rounds;
  sap_step_context step;  // of the last step
  double* v0_free;        // (nv)
  double *q, *v_vq;       // the new positions (nq), the velocity that moves them (nv)
  sap_end_positions end_positions;
  double* act;  // the new activations (na)
};

#endif
