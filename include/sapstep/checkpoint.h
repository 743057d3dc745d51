// SPDX-License-Identifier: BSD-3-Clause
// A run on disk: state and memory of a stepper at the end of a step. The run continues from there
// bit for bit as if it had never stopped.
#ifndef SAPSTEP_CHECKPOINT_H
#define SAPSTEP_CHECKPOINT_H

#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes t, q, v, act, the number of steps, the stepper's memory and options, and a fingerprint of
// the system's masses at q, with a checksum. The file appears whole or not at all; an existing file
// stays until then. Fails with ARGUMENT, NOT_FINITE (state), MEMORY, IO or CALLBACK.
SAP_API sap_status sap_checkpoint_write(const char* path, sap_stepper* stepper,
                                        const sap_state* state, int64_t steps, sap_error* error);

// Restores the state and the stepper's memory. Fails with IO: the file cannot be read; SYNTAX: it
// is no checkpoint, of another version, damaged or incomplete; ARGUMENT: it is of another system
// (sizes, or masses that differ by more than 1e-9), or another solver or option. The message names
// the option and both values; time_limit, threads and check_input may differ. On failure state,
// *steps and stepper are unchanged.
SAP_API sap_status sap_checkpoint_read(const char* path, sap_stepper* stepper, sap_state* state,
                                       int64_t* steps, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
