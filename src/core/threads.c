// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "core/threads.h"

#include <pthread.h>

#include "core/memory.h"

struct sap_threads {
  pthread_t* handles;  // (started)
  int32_t started;
  pthread_mutex_t mutex;  // guards all below
  pthread_cond_t work, done;
  sap_task* task;
  void* context;
  int32_t njobs, next;  // next job to be taken
  int32_t running;      // jobs taken and not done
  bool ending;
};

// Takes jobs until none is left. The mutex is held on entry and on return.
static void take_jobs(sap_threads* t) {
  while (t->next < t->njobs) {
    const int32_t job = t->next++;
    sap_task* const task = t->task;
    void* const context = t->context;
    ++t->running;
    (void)pthread_mutex_unlock(&t->mutex);
    task(context, job);
    (void)pthread_mutex_lock(&t->mutex);
    --t->running;
  }
  if (t->running == 0) {
    (void)pthread_cond_signal(&t->done);
  }
}

static void* wait_for_work(void* threads) {
  sap_threads* t = threads;
  (void)pthread_mutex_lock(&t->mutex);
  while (!t->ending) {
    if (t->next < t->njobs) {
      take_jobs(t);
    } else {
      (void)pthread_cond_wait(&t->work, &t->mutex);
    }
  }
  (void)pthread_mutex_unlock(&t->mutex);
  return NULL;
}

sap_status sap_threads_create(int32_t count, sap_threads** out, sap_error* error) {
  *out = NULL;
  sap_threads* t = sap_allocate(1, sizeof *t);
  if (t == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: threads");
  }
  (void)pthread_mutex_init(&t->mutex, NULL);
  (void)pthread_cond_init(&t->work, NULL);
  (void)pthread_cond_init(&t->done, NULL);
  t->handles = sap_allocate((size_t)count, sizeof *t->handles);
  while (t->handles != NULL && t->started + 1 < count &&
         pthread_create(&t->handles[t->started], NULL, wait_for_work, t) == 0) {
    ++t->started;
  }
  if (t->handles == NULL || t->started + 1 < count) {
    sap_threads_destroy(t);
    return sap_fail(error, SAP_STATUS_MEMORY, "%d threads cannot be started", count);
  }
  *out = t;
  return SAP_STATUS_OK;
}

void sap_threads_destroy(sap_threads* t) {
  if (t == NULL) {
    return;
  }
  (void)pthread_mutex_lock(&t->mutex);
  t->ending = true;
  (void)pthread_cond_broadcast(&t->work);
  (void)pthread_mutex_unlock(&t->mutex);
  for (int32_t i = 0; i < t->started; ++i) {
    (void)pthread_join(t->handles[i], NULL);
  }
  (void)pthread_cond_destroy(&t->work);
  (void)pthread_cond_destroy(&t->done);
  (void)pthread_mutex_destroy(&t->mutex);
  sap_free(t->handles);
  sap_free(t);
}

void sap_threads_run(sap_threads* t, int32_t njobs, sap_task* task, void* context) {
  if (t == NULL || t->started == 0 || njobs < 2) {
    for (int32_t job = 0; job < njobs; ++job) {
      task(context, job);
    }
    return;
  }
  (void)pthread_mutex_lock(&t->mutex);
  t->task = task;
  t->context = context;
  t->njobs = njobs;
  t->next = 0;
  (void)pthread_cond_broadcast(&t->work);
  take_jobs(t);
  while (t->running > 0) {
    (void)pthread_cond_wait(&t->done, &t->mutex);
  }
  t->njobs = t->next = 0;
  (void)pthread_mutex_unlock(&t->mutex);
}
