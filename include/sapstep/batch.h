// SPDX-License-Identifier: BSD-3-Clause
// Batches: independent states of one model, stepped side by side in threads, e.g. the rollouts of
// sampling-based control. Every state has a stepper of its own, so that its motion is, to the bit,
// that of a lone stepper with the same calls, whatever the number of threads.
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

// `count` >= 1 states, 1 to 256 threads, the caller's among them. options NULL: the defaults. The
// model must outlive the batch.
SAP_API sap_status sap_batch_create(const sap_model* model, const sap_stepper_options* options,
                                    int32_t count, int32_t threads, sap_batch** out,
                                    sap_error* error);
SAP_API void sap_batch_destroy(sap_batch* batch);

SAP_API int32_t sap_batch_count(const sap_batch* batch);  // states
// The engine and the stepper of a state, for what must be set one by one (locks, control
// functions); NULL: no such state. A control function runs in any thread.
SAP_API sap_multibody* sap_batch_multibody(sap_batch* batch, int32_t index);
SAP_API sap_stepper* sap_batch_stepper(sap_batch* batch, int32_t index);

// Steps each of the states `steps` >= 1 times.
//   states    (count), of the model's sizes
//   controls  (count nu), state by state; they are held. NULL: those held before
//   statuses  how each state fared (count); NULL: not wanted
// A state whose step fails stays at the last step that went well, the others go on. Returns the
// first failure, whose message begins with "state i: ". ARGUMENT: nothing was stepped.
SAP_API sap_status sap_batch_step(sap_batch* batch, sap_state* states, const double* controls,
                                  int32_t steps, sap_status* statuses, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
