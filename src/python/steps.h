// SPDX-License-Identifier: BSD-3-Clause
// Many steps in one call, for Python: its lock is let go for all of them, where threads would stand
// in line for it after each. In the libraries of the Python package only.
#ifndef SAP_PYTHON_STEPS_H
#define SAP_PYTHON_STEPS_H

#include <sapstep/mujoco.h>
#include <sapstep/multibody.h>
#include <sapstep/recorder.h>
#include <sapstep/stepper.h>

// One stepper and how far it is.
typedef struct sap_python_turn {
  sap_stepper* stepper;
  sap_state* state;
  sap_step_report* report;
  sap_multibody* multibody;  // NULL: a system of the user's
  const double* control;     // taken over when steps begin; NULL: none
  sap_recorder* recorder;    // NULL: none
  int64_t every, until;      // steps from row to row, those since the last row
  int64_t left;              // steps to make; 0 after a failure
  bool stepped;              // the last step went well: `report` is of it
  sap_status status;         // of the controls, of the last step and of its row
  sap_error error;
} sap_python_turn;

typedef struct sap_threads sap_threads;
SAP_API sap_status sap_python_threads_create(int32_t count, sap_threads** out, sap_error* error);
SAP_API void sap_python_threads_destroy(sap_threads* threads);

// Before steps are made: how many.
SAP_API void sap_python_begin(sap_python_turn** turns, int32_t count, int64_t steps);
// Steps that are left, as many as begin within the slice, so that Ctrl-C is heard in between; the
// turns are shared by the threads, NULL: one after the other. Whether steps are left.
SAP_API bool sap_python_step(sap_python_turn** turns, int32_t count, sap_threads* threads);
// Up to `count` >= 1 steps. *made: those that went well. Else as sap_mj_step.
SAP_API sap_status sap_python_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                      int64_t count, int64_t* made, sap_error* error);

// Of many simulations the threads wait for each other at its end, for one step at most.
#define SAP_PYTHON_SLICE 0.1  // [s]

#endif
