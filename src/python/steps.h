// SPDX-License-Identifier: BSD-3-Clause
// Many steps in one call, for Python. The GIL is released once for all of them, so that threads do
// not queue for it after each step. These functions are only in the libraries of the Python
// package.
#pragma once

#include <sapstep/adaptive.h>
#include <sapstep/linearize.h>
#include <sapstep/mujoco.h>
#include <sapstep/multibody.h>
#include <sapstep/recorder.h>
#include <sapstep/stepper.h>

// A stepper and its progress.
typedef struct sap_python_turn {
  sap_stepper* stepper;
  sap_state* state;
  sap_step_report* report;
  sap_multibody* multibody;  // NULL: a user's own system
  const double* control;     // copied when steps begin; NULL: none
  const double* controls;    // of each step (steps, nu), instead of `control`; NULL: none
  int32_t nu;
  double* rows;  // takes [t, q, v, act] after each step (steps, 1 + nq + nv + na); NULL: none
  sap_recorder* recorder;  // NULL: none
  int64_t every, until;    // steps between rows, steps since the last row
  sap_adaptive* adaptive;  // NULL: `left` steps of dt; else steps to t_end
  double t_end;            // [s]
  int64_t made, rejected;  // of the adaptive: steps and attempts since they were set to 0
  int64_t left;            // steps to make; 0 after a failure
  bool stepped;            // the last step succeeded: `report` is valid
  sap_status status;       // of setting controls, of the last step and of its row
  sap_error error;
} sap_python_turn;

typedef struct sap_threads sap_threads;
SAP_API sap_status sap_python_threads_create(int32_t count, sap_threads** out, sap_error* error);
SAP_API void sap_python_threads_destroy(sap_threads* threads);

// Sets the number of steps to make.
SAP_API void sap_python_begin(sap_python_turn** turns, int32_t count, int64_t steps);
// Makes the remaining steps that begin within SAP_PYTHON_SLICE, so that Ctrl-C is handled in
// between. threads share the turns; NULL: one after the other. Returns true if steps remain.
SAP_API bool sap_python_step(sap_python_turn** turns, int32_t count, sap_threads* threads);
// Makes a step with each turn: the first from where it is, the others where the one before ends.
SAP_API sap_status sap_python_forth(sap_python_turn** turns, int32_t count, const double* controls,
                                    sap_error* error);
// The gradients of a function of the states of such steps.
typedef struct sap_python_part {
  const double *dq, *dv;              // to the states before the steps (steps, nv)
  double *at_q, *at_v;                // to that after them, then with all to that before them (nv)
  double *by_control, *by_parameter;  // outputs (steps, nu), added to (parameters)
  sap_step_gradients gradients;       // of one step; dq1, dv1: at_q, at_v
} sap_python_part;
// Goes back over the steps that the turns made last by products in reverse.
SAP_API sap_status sap_python_back(sap_python_turn** turns, int32_t count,
                                   const sap_python_part* part, sap_error* error);
// Makes up to `count` >= 1 steps. *made: number of successful steps. Otherwise as sap_mj_step.
SAP_API sap_status sap_python_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                      int64_t count, int64_t* made, sap_error* error);

// Threads of many simulations wait for each other at the end of a slice, for one step at most.
#define SAP_PYTHON_SLICE 0.1  // [s]
