// SPDX-License-Identifier: BSD-3-Clause
// Batches: independent multibody systems, each with its stepper, stepped in parallel.
#include <sapstep/multibody.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"

typedef struct batch_member {
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_status status;
  sap_error error;
} batch_member;

struct sap_batch {
  const sap_model* model;
  int32_t count, nu;
  batch_member* members;  // (count)
  sap_threads* threads;   // NULL: one
  // Arguments of sap_batch_step.
  sap_state* states;
  const double* controls;
  int32_t steps;
};

static sap_status check_count(const char* name, int32_t value, int32_t most, sap_error* error) {
  return value >= 1 && value <= most
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %d must be 1 to %d", name, value, most);
}

static sap_status create_members(sap_batch* batch, const sap_stepper_options* options,
                                 int32_t count, sap_error* error) {
  SAP_TRY(SAP_NEW(&batch->members, count, "states of a batch", error));
  batch->count = count;
  SAP_EACH(batch_member, m, batch->members, batch->count) {
    SAP_TRY(sap_multibody_create(batch->model, &m->multibody, error));
    SAP_TRY(sap_stepper_create(sap_multibody_system(m->multibody), options, &m->stepper, error));
  }
  return SAP_STATUS_OK;
}

sap_status sap_batch_create(const sap_model* model, const sap_stepper_options* options,
                            int32_t count, int32_t threads, sap_batch** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, model);
  SAP_TRY(check_count("count", count, INT32_MAX, error));
  SAP_TRY(check_count("threads", threads, SAP_THREADS_MAX, error));
  sap_batch* batch;
  SAP_TRY(SAP_NEW(&batch, 1, "batch", error));
  batch->model = model;
  batch->nu = sap_model_get_sizes(model).nu;
  SAP_TRY_OR(create_members(batch, options, count, error), sap_batch_destroy(batch));
  if (threads > 1) {
    SAP_TRY_OR(sap_threads_create(threads, &batch->threads, error), sap_batch_destroy(batch));
  }
  *out = batch;
  return SAP_STATUS_OK;
}

void sap_batch_destroy(sap_batch* batch) {
  if (batch == NULL) {
    return;
  }
  sap_threads_destroy(batch->threads);
  for (int32_t i = 0; i < batch->count; ++i) {
    sap_stepper_destroy(batch->members[i].stepper);
    sap_multibody_destroy(batch->members[i].multibody);
  }
  sap_free(batch->members);
  sap_free(batch);
}

static batch_member* find_member(sap_batch* batch, int32_t index) {
  return batch != NULL && index >= 0 && index < batch->count ? &batch->members[index] : NULL;
}

sap_multibody* sap_batch_multibody(sap_batch* batch, int32_t index) {
  const batch_member* m = find_member(batch, index);
  return m == NULL ? NULL : m->multibody;
}

sap_stepper* sap_batch_stepper(sap_batch* batch, int32_t index) {
  const batch_member* m = find_member(batch, index);
  return m == NULL ? NULL : m->stepper;
}

static void step_member(void* context, int32_t index) {
  const sap_batch* batch = context;
  batch_member* m = &batch->members[index];
  m->error = (sap_error){0};
  m->status = SAP_STATUS_OK;
  if (batch->controls != NULL) {
    const double* control = batch->controls + (size_t)index * (size_t)batch->nu;
    m->status = sap_multibody_set_control(m->multibody, control, &m->error);
  }
  for (int32_t k = 0; m->status == SAP_STATUS_OK && k < batch->steps; ++k) {
    m->status = sap_stepper_step(m->stepper, &batch->states[index], NULL, &m->error);
  }
}

sap_status sap_batch_step(sap_batch* batch, sap_state* states, const double* controls,
                          int32_t steps, sap_status* statuses, sap_error* error) {
  SAP_NOT_NULL(error, batch, states);
  sap_status status = SAP_STATUS_OK;
  SAP_TRY(check_count("steps", steps, INT32_MAX, error));
  batch->states = states;
  batch->controls = controls;
  batch->steps = steps;
  sap_threads_run(batch->threads, batch->count, step_member, batch);
  for (int32_t i = 0; i < batch->count; ++i) {
    const batch_member* m = &batch->members[i];
    if (statuses != NULL) {
      statuses[i] = m->status;
    }
    if (status == SAP_STATUS_OK && m->status != SAP_STATUS_OK) {
      status = m->status;
      if (error != NULL) {
        *error = m->error;
        sap_error_prefix(error, "state %d", i);
      }
    }
  }
  return status;
}
