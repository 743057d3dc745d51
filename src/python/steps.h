// SPDX-License-Identifier: BSD-3-Clause
// Many steps in one call, for Python: its lock is let go for all of them, where threads would stand
// in line for it after each. In the libraries of the Python package only.
#ifndef SAP_PYTHON_STEPS_H
#define SAP_PYTHON_STEPS_H

#include <sapstep/mujoco.h>
#include <sapstep/stepper.h>

// Up to `count` >= 1 steps, as many as begin within 20 ms, so that Ctrl-C is heard in between.
// *made: those that went well. Else as sap_stepper_step and sap_mj_step.
SAP_API sap_status sap_python_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                                   int64_t count, int64_t* made, sap_error* error);
SAP_API sap_status sap_python_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                      int64_t count, int64_t* made, sap_error* error);

#define SAP_PYTHON_SLICE 0.02  // [s]

#endif
