// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "output/recorder/recorder_queue.h"

#ifdef SAPSTEP_HDF5
#include <signal.h>

#include "core/memory.h"
#include "output/recorder/recorder_data.h"

static void lock(sap_recorder_queue* q) {
  (void)pthread_mutex_lock(&q->mutex);
}

static void unlock(sap_recorder_queue* q) {
  (void)pthread_mutex_unlock(&q->mutex);
}

static void* work(void* context) {
  sap_recorder* recorder = context;
  sap_recorder_queue* q = &recorder->queue;
  lock(q);
  for (;;) {
    while (!q->ending && q->done == q->given) {
      (void)pthread_cond_wait(&q->to_worker, &q->mutex);
    }
    if (q->ending) {
      break;
    }
    const sap_row_batch* batch = &q->batches[q->done % SAP_RECORDER_BATCHES];
    unlock(q);
    sap_recorder_work(recorder, batch);
    lock(q);
    ++q->done;
    (void)pthread_cond_signal(&q->to_caller);
  }
  unlock(q);
  return NULL;
}

// Signals are for the threads of the program.
static bool start(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  sigset_t all, before;
  (void)sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  const bool good = pthread_create(&q->thread, NULL, work, recorder) == 0;
  if (masked) {
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  return good;
}

sap_status sap_recorder_queue_create(sap_recorder* recorder, size_t lot_bytes, bool threaded,
                                     bool safe, sap_error* error) {
  sap_recorder_queue* q = &recorder->queue;
  q->direct = safe || !threaded;
  // One is enough where it is empty again before the next is needed.
  const int batches = threaded ? SAP_RECORDER_BATCHES : 1, lots = q->direct ? 1 : SAP_RECORDER_LOTS;
  bool good = true;
  q->created = true;
  (void)pthread_mutex_init(&q->mutex, NULL);
  (void)pthread_cond_init(&q->to_worker, NULL);
  (void)pthread_cond_init(&q->to_caller, NULL);
  for (int i = 0; i < lots; ++i) {
    sap_chunk_lot* lot = &q->lots[i];
    lot->room = lot_bytes > SAP_RECORDER_LOT_BYTES ? lot_bytes : SAP_RECORDER_LOT_BYTES;
    lot->bytes = sap_allocate(lot->room, 1);
    good = good && lot->bytes != NULL;
  }
  for (int i = 0; i < batches; ++i) {
    q->batches[i].room = SAP_RECORDER_BATCH_BYTES;
    q->batches[i].bytes = sap_allocate(SAP_RECORDER_BATCH_BYTES, 1);
    good = good && q->batches[i].bytes != NULL;
  }
  if (!good) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  q->threaded = threaded && start(recorder);
  q->direct = safe || !q->threaded;
  return SAP_STATUS_OK;
}

void sap_recorder_queue_clear(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  if (q->threaded) {
    lock(q);
    q->ending = true;
    (void)pthread_cond_signal(&q->to_worker);
    unlock(q);
    (void)pthread_join(q->thread, NULL);
  }
  if (q->created) {
    (void)pthread_cond_destroy(&q->to_worker);
    (void)pthread_cond_destroy(&q->to_caller);
    (void)pthread_mutex_destroy(&q->mutex);
  }
  for (int i = 0; i < SAP_RECORDER_LOTS; ++i) {
    sap_free(q->lots[i].bytes);
  }
  for (int i = 0; i < SAP_RECORDER_BATCHES; ++i) {
    sap_free(q->batches[i].bytes);
  }
}

// Without a thread the first is the only one.
static sap_row_batch* filling(sap_recorder_queue* q) {
  return &q->batches[q->given % SAP_RECORDER_BATCHES];
}

sap_row_batch* sap_recorder_queue_batch(sap_recorder* recorder) {
  return filling(&recorder->queue);
}

static void empty(sap_chunk_lot* lot) {
  lot->count = lot->written = 0;
  lot->flush = false;
  lot->used = 0;
}

// Of the lot that has waited longest; there is one.
static void commit(sap_recorder* recorder, int32_t most) {
  sap_recorder_queue* q = &recorder->queue;
  sap_chunk_lot* lot = &q->lots[q->committed % SAP_RECORDER_LOTS];
  sap_recorder_commit(recorder, lot, most);
  if (lot->written == lot->count) {
    empty(lot);
    lock(q);
    ++q->committed;
    atomic_store(&q->has_lot, q->posted > q->committed);
    (void)pthread_cond_signal(&q->to_worker);
    unlock(q);
  }
}

void sap_recorder_queue_look(sap_recorder* recorder) {
  if (atomic_load(&recorder->queue.has_lot)) {
    commit(recorder, 1);
  }
}

// The mutex is held. The worker may wait for a lot that is free.
static void wait_for_worker(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  if (q->posted > q->committed) {
    unlock(q);
    commit(recorder, INT32_MAX);
    lock(q);
  } else {
    (void)pthread_cond_wait(&q->to_caller, &q->mutex);
  }
}

void sap_recorder_queue_give(sap_recorder* recorder, sap_recorder_then then) {
  sap_recorder_queue* q = &recorder->queue;
  filling(q)->then = then;
  if (!q->threaded) {
    sap_recorder_work(recorder, filling(q));
  } else {
    lock(q);
    ++q->given;
    (void)pthread_cond_signal(&q->to_worker);
    while (q->given - q->done == SAP_RECORDER_BATCHES) {
      wait_for_worker(recorder);
    }
    unlock(q);
  }
  filling(q)->used = 0;
}

void sap_recorder_queue_drain(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  lock(q);
  while (q->done < q->given || q->posted > q->committed) {
    wait_for_worker(recorder);
  }
  unlock(q);
}

sap_chunk_lot* sap_recorder_queue_lot(sap_recorder* recorder) {
  sap_recorder_queue* q = &recorder->queue;
  return &q->lots[q->posted % SAP_RECORDER_LOTS];
}

void sap_recorder_queue_post(sap_recorder* recorder, bool flush) {
  sap_recorder_queue* q = &recorder->queue;
  sap_chunk_lot* lot = sap_recorder_queue_lot(recorder);
  lot->flush = flush;
  if (q->direct) {
    sap_recorder_commit(recorder, lot, INT32_MAX);
    empty(lot);
    return;
  }
  lock(q);
  ++q->posted;
  atomic_store(&q->has_lot, true);
  (void)pthread_cond_signal(&q->to_caller);
  while (q->posted - q->committed == SAP_RECORDER_LOTS) {
    (void)pthread_cond_wait(&q->to_worker, &q->mutex);
  }
  unlock(q);
}
#endif
