// SPDX-License-Identifier: BSD-3-Clause
// Batches of rows, and the thread that processes them.
#define _POSIX_C_SOURCE 200809L
#include "output/recorder/recorder.h"

#include <signal.h>
#include <string.h>

#include "core/memory.h"

enum {
  ALIGNMENT = 16,
  BATCH_BYTES = 256 * 1024  // unless a single row is larger
};

// --- rows in a batch ---

static size_t rounded(size_t size) {
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Copies an array to *at, advances *at and returns the copy. With *at NULL, only adds to *total and
// returns `from`.
static const void* copy_array(const void* from, size_t count, size_t size, unsigned char** at,
                              size_t* total) {
  if (from == NULL || count == 0) {
    return from;
  }
  const size_t room = rounded(count * size);
  *total += room;
  if (*at == NULL) {
    return from;
  }
  unsigned char* to = *at;
  memcpy(to, from, count * size);
  *at = to + room;
  return to;
}

// Copies the arrays of a row and of its solver's report to `at`, and lets the row point to them.
// With `at` NULL copies nothing. Returns the bytes of all arrays.
static size_t copy_arrays(const sap_model_sizes* n, sap_packed_row* packed, unsigned char* at) {
  const size_t real = sizeof(double), bodies = (size_t)n->bodies;
  sap_recorded_row* row = &packed->row;
  sap_report* solver = &packed->solver;
  size_t size = 0;
  row->q = copy_array(row->q, (size_t)n->nq, real, &at, &size);
  row->v = copy_array(row->v, (size_t)n->nv, real, &at, &size);
  row->act = copy_array(row->act, (size_t)n->na, real, &at, &size);
  row->p_WB = copy_array(row->p_WB, 3 * bodies, real, &at, &size);
  row->q_WB = copy_array(row->q_WB, 4 * bodies, real, &at, &size);
  row->actuator_force = copy_array(row->actuator_force, (size_t)n->nu, real, &at, &size);
  row->sensor = copy_array(row->sensor, (size_t)n->nsensor, real, &at, &size);
  row->forces = copy_array(row->forces, (size_t)row->force_count, sizeof *row->forces, &at, &size);
  row->contacts =
      copy_array(row->contacts, (size_t)row->contact_count, sizeof *row->contacts, &at, &size);
  solver->history = (sap_iteration*)(uintptr_t)copy_array(
      solver->history, (size_t)solver->history_count, sizeof *solver->history, &at, &size);
  return size;
}

// Makes room for `size` bytes in an empty batch.
static sap_status grow_batch(sap_row_batch* batch, size_t size, sap_error* error) {
  unsigned char* bytes = sap_allocate(size, 1);
  SAP_FAIL_IF(bytes == NULL, error, SAP_STATUS_MEMORY, "out of memory: recorder");
  sap_free(batch->bytes);
  batch->bytes = bytes;
  batch->room = size;
  return SAP_STATUS_OK;
}

// Returns the batch that is being filled. Without a thread it is always the first.
static sap_row_batch* filling_batch(sap_recorder_queue* q) {
  return &q->batches[q->given % SAP_RECORDER_BATCHES];
}

sap_status sap_recorder_queue_add(sap_recorder* recorder, const sap_recorded_row* row,
                                  sap_error* error) {
  sap_packed_row packed = {.row = *row};
  if (row->solver != NULL) {
    packed.solver = *row->solver;
  }
  const size_t head = rounded(sizeof packed);
  packed.size = head + copy_arrays(&recorder->sizes, &packed, NULL);
  sap_row_batch* batch = filling_batch(&recorder->queue);
  if (batch->used > 0 && packed.size > batch->room - batch->used) {
    sap_recorder_queue_give(recorder, SAP_THEN_NOTHING);
    batch = filling_batch(&recorder->queue);
  }
  if (packed.size > batch->room - batch->used) {
    SAP_TRY(grow_batch(batch, packed.size, error));
  }
  unsigned char* place = batch->bytes + batch->used;
  (void)copy_arrays(&recorder->sizes, &packed, place + head);
  memcpy(place, &packed, sizeof packed);
  batch->used += packed.size;
  return SAP_STATUS_OK;
}

// --- the worker ---

static void process_batch(sap_recorder* recorder, const sap_row_batch* batch) {
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  for (size_t at = 0; at < batch->used;) {
    sap_packed_row* packed = (sap_packed_row*)(void*)(batch->bytes + at);
    at += packed->size;
    packed->row.solver = packed->row.solver != NULL ? &packed->solver : NULL;
    sap_recorder_write_columns(recorder, &packed->row);
  }
  if (batch->then != SAP_THEN_NOTHING) {
    sap_recorder_flush_columns(recorder, batch->then == SAP_THEN_CLOSE);
  }
  sap_hdf5_silence_end(&silence);
}

static void lock_queue(sap_recorder_queue* q) {
  (void)pthread_mutex_lock(&q->mutex);
}

static void unlock_queue(sap_recorder_queue* q) {
  (void)pthread_mutex_unlock(&q->mutex);
}

static void* run_worker(void* context) {
  sap_recorder* recorder = context;
  sap_recorder_queue* q = &recorder->queue;
  lock_queue(q);
  while (!q->ending) {
    if (q->done == q->given) {
      (void)pthread_cond_wait(&q->to_worker, &q->mutex);
      continue;
    }
    const sap_row_batch* batch = &q->batches[q->done % SAP_RECORDER_BATCHES];
    unlock_queue(q);
    process_batch(recorder, batch);
    lock_queue(q);
    ++q->done;
    (void)pthread_cond_signal(&q->to_caller);
  }
  unlock_queue(q);
  return NULL;
}

// Starts the thread with all signals blocked: they are for the threads of the program.
static bool start_thread(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  sigset_t all, before;
  (void)sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  const bool good = pthread_create(&q->thread, NULL, run_worker, recorder) == 0;
  if (masked) {
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  return good;
}

// --- the queue ---

sap_status sap_recorder_queue_create(sap_recorder* recorder, bool threaded, sap_error* error) {
  sap_recorder_queue* q = &recorder->queue;
  q->created = true;
  (void)pthread_mutex_init(&q->mutex, NULL);
  (void)pthread_cond_init(&q->to_worker, NULL);
  (void)pthread_cond_init(&q->to_caller, NULL);
  for (int i = 0; i < (threaded ? SAP_RECORDER_BATCHES : 1); ++i) {
    SAP_TRY(grow_batch(&q->batches[i], BATCH_BYTES, error));
  }
  q->threaded = threaded && start_thread(recorder);
  return SAP_STATUS_OK;
}

void sap_recorder_queue_clear(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  if (q->threaded) {
    lock_queue(q);
    q->ending = true;
    (void)pthread_cond_signal(&q->to_worker);
    unlock_queue(q);
    (void)pthread_join(q->thread, NULL);
  }
  if (q->created) {
    (void)pthread_cond_destroy(&q->to_worker);
    (void)pthread_cond_destroy(&q->to_caller);
    (void)pthread_mutex_destroy(&q->mutex);
  }
  for (int i = 0; i < SAP_RECORDER_BATCHES; ++i) {
    sap_free(q->batches[i].bytes);
  }
}

void sap_recorder_queue_give(sap_recorder* recorder, sap_recorder_then then) {
  sap_recorder_queue* q = &recorder->queue;
  filling_batch(q)->then = then;
  if (!q->threaded) {
    process_batch(recorder, filling_batch(q));
  } else {
    lock_queue(q);
    ++q->given;
    (void)pthread_cond_signal(&q->to_worker);
    while (q->given - q->done == SAP_RECORDER_BATCHES) {
      (void)pthread_cond_wait(&q->to_caller, &q->mutex);
    }
    unlock_queue(q);
  }
  filling_batch(q)->used = 0;
}

void sap_recorder_queue_drain(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  lock_queue(q);
  while (q->done < q->given) {
    (void)pthread_cond_wait(&q->to_caller, &q->mutex);
  }
  unlock_queue(q);
}
