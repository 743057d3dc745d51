// SPDX-License-Identifier: BSD-3-Clause
// Batches: independent states of one model, stepped in parallel, e.g. rollouts of sampling-based
// control. Every state has its own stepper: its motion is bit for bit that of a single stepper with
// the same calls, for any number of threads.
#ifndef SAPSTEP_BATCH_H
#define SAPSTEP_BATCH_H

#include <sapstep/base.h>
#include <sapstep/model.h>
#include <sapstep/multibody.h>
#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_batch sap_batch;

// Creates a batch of `count` >= 1 states with 1 to 256 threads, the caller's among them. options
// NULL: the defaults. The model must outlive the batch.
SAP_API sap_status sap_batch_create(const sap_model* model, const sap_stepper_options* options,
                                    int32_t count, int32_t threads, sap_batch** out,
                                    sap_error* error);
SAP_API void sap_batch_destroy(sap_batch* batch);

SAP_API int32_t sap_batch_count(const sap_batch* batch);  // states
// Returns the engine or the stepper of a state, for settings of single states (locks, control
// functions); NULL: no such state. A control function runs in any thread.
SAP_API sap_multibody* sap_batch_multibody(sap_batch* batch, int32_t index);
SAP_API sap_stepper* sap_batch_stepper(sap_batch* batch, int32_t index);

// Steps each of the states `steps` >= 1 times.
//   states    (count), of the model's sizes
//   controls  (count nu), state by state, held constant; NULL: those set before
//   statuses  result of each state (count), may be NULL
// A state whose step fails stays at its last successful step, the others go on. Returns the first
// failure, whose message begins with "state i: ". ARGUMENT: nothing was stepped.
SAP_API sap_status sap_batch_step(sap_batch* batch, sap_state* states, const double* controls,
                                  int32_t steps, sap_status* statuses, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
