// SPDX-License-Identifier: BSD-3-Clause
// A run on disk: state and memory of a stepper at the end of a step, from which the run goes on bit
// for bit as if it had never stopped.
#ifndef SAPSTEP_CHECKPOINT_H
#define SAPSTEP_CHECKPOINT_H

#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes t, q, v, act, the steps made, what the stepper remembers, its options, and a mark of the
// system's masses at q; with a checksum. The file appears whole or not at all; one that stands
// there already stays until then. ARGUMENT, NOT_FINITE (state), MEMORY, IO, CALLBACK.
SAP_API sap_status sap_checkpoint_write(const char* path, sap_stepper* stepper,
                                        const sap_state* state, int64_t steps, sap_error* error);

// Fills the state and the stepper's memory. IO: no file or not readable. SYNTAX: no checkpoint, of
// another version, damaged or cut off. ARGUMENT: of another system (sizes, or masses that differ by
// more than 1e-9), or made with other options, but for time limits, threads and checks of input:
// the message names the first, its value then and now. On failure state, *steps and stepper are as
// before.
SAP_API sap_status sap_checkpoint_read(const char* path, sap_stepper* stepper, sap_state* state,
                                       int64_t* steps, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
