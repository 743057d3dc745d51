// SPDX-License-Identifier: BSD-3-Clause
// A run is published by its ticket: first and end of the jobs not taken yet. A thread takes a job
// by changing the ticket, and reads the run's task only while it has a job; the task stays valid
// until that job is done. The caller takes jobs from the front and the others from the back: with
// two threads, each mostly gets the same jobs as in earlier runs and finds their data in its cache.
#define _POSIX_C_SOURCE 200809L
#include "core/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/platform.h"

enum {
  LOOKS_AHEAD = 1 << 16,  // spins of a thread at the ticket before it sleeps: about 200 us
  LOOKS_BACK = 1 << 13,   // spins of the caller at unfinished jobs of others
  LOOKS_IN_A_ROW =
      1 << 8,  // spins between yields, in case there are fewer cores for us than reported
};

// Several times the cost of a sleep and a wake-up [s].
static const double LONG_YIELD = 50e-6;

struct sap_threads {
  pthread_t* handles;  // (started)
  int32_t started;
  int32_t looks_ahead, looks_back;
  // The run. Sequentially consistent: in each of the pairs ticket and sleepers, unfinished and
  // waits, a side writes its own before it reads the other.
  sap_task* task;
  void* context;
  _Atomic uint64_t ticket;     // end of the jobs not taken << 32 | their first
  _Atomic int32_t unfinished;  // jobs of the run
  _Atomic int32_t sleepers;    // threads waiting for `work`
  _Atomic bool waits;          // the caller waits for `done`
  _Atomic bool ending;
  pthread_mutex_t mutex;  // held to sleep and to wake
  pthread_cond_t work, done;
};

static uint32_t first_of(uint64_t ticket) {
  return (uint32_t)ticket;
}

static uint32_t end_of(uint64_t ticket) {
  return (uint32_t)(ticket >> 32);
}

static bool has_jobs(sap_threads* t) {
  const uint64_t ticket = atomic_load(&t->ticket);
  return first_of(ticket) < end_of(ticket);
}

// Yields after every LOOKS_IN_A_ROW spins. Returns false if the yield took so long that sleeping is
// better.
static bool let_others_work(int32_t look) {
  if (look % LOOKS_IN_A_ROW != LOOKS_IN_A_ROW - 1) {
    return true;
  }
  const double began = sap_clock_seconds();
  (void)sched_yield();
  return sap_clock_seconds() - began < LONG_YIELD;
}

// Runs jobs until none is left.
static void take_jobs(sap_threads* t, bool from_front) {
  uint64_t ticket = atomic_load(&t->ticket);
  while (first_of(ticket) < end_of(ticket)) {
    const uint64_t rest = from_front ? ticket + 1 : ticket - (UINT64_C(1) << 32);
    const uint32_t job = from_front ? first_of(ticket) : end_of(rest);
    if (!atomic_compare_exchange_weak(&t->ticket, &ticket, rest)) {
      continue;
    }
    t->task(t->context, (int32_t)job);
    if (atomic_fetch_sub(&t->unfinished, 1) == 1 && atomic_load(&t->waits)) {
      (void)pthread_mutex_lock(&t->mutex);
      (void)pthread_cond_signal(&t->done);
      (void)pthread_mutex_unlock(&t->mutex);
    }
    ticket = atomic_load(&t->ticket);
  }
}

static void sleep_until_work(sap_threads* t) {
  (void)pthread_mutex_lock(&t->mutex);
  (void)atomic_fetch_add(&t->sleepers, 1);
  while (!atomic_load(&t->ending) && !has_jobs(t)) {
    (void)pthread_cond_wait(&t->work, &t->mutex);
  }
  (void)atomic_fetch_sub(&t->sleepers, 1);
  (void)pthread_mutex_unlock(&t->mutex);
}

static void* work(void* threads) {
  sap_threads* t = threads;
  while (!atomic_load(&t->ending)) {
    take_jobs(t, false);
    int32_t look = 0;
    while (look < t->looks_ahead && !has_jobs(t) && !atomic_load(&t->ending)) {
      look = let_others_work(look) ? look + 1 : t->looks_ahead;
    }
    if (look == t->looks_ahead) {
      sleep_until_work(t);
    }
  }
  return NULL;
}

sap_status sap_threads_create(int32_t count, sap_threads** out, sap_error* error) {
  *out = NULL;
  sap_threads* t;
  SAP_TRY(SAP_NEW(&t, 1, "threads", error));
  const bool room = count <= sysconf(_SC_NPROCESSORS_ONLN);  // spin only if every thread has a core
  t->looks_ahead = room ? (int32_t)LOOKS_AHEAD : 0;
  t->looks_back = room ? (int32_t)LOOKS_BACK : 0;
  (void)pthread_mutex_init(&t->mutex, NULL);
  (void)pthread_cond_init(&t->work, NULL);
  (void)pthread_cond_init(&t->done, NULL);
  t->handles = sap_allocate((size_t)count, sizeof *t->handles);
  while (t->handles != NULL && t->started + 1 < count &&
         pthread_create(&t->handles[t->started], NULL, work, t) == 0) {
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
  atomic_store(&t->ending, true);
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

sap_status sap_threads_set_count(sap_threads** threads, int32_t count, sap_error* error) {
  sap_threads* others = NULL;
  if (count == (*threads == NULL ? 1 : (*threads)->started + 1)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(count > 1 ? sap_threads_create(count, &others, error) : SAP_STATUS_OK);
  sap_threads_destroy(*threads);
  *threads = others;
  return SAP_STATUS_OK;
}

static void wait_until_done(sap_threads* t) {
  for (int32_t look = 0; look < t->looks_back && let_others_work(look); ++look) {
    if (atomic_load(&t->unfinished) == 0) {
      return;
    }
  }
  (void)pthread_mutex_lock(&t->mutex);
  atomic_store(&t->waits, true);
  while (atomic_load(&t->unfinished) > 0) {
    (void)pthread_cond_wait(&t->done, &t->mutex);
  }
  atomic_store(&t->waits, false);
  (void)pthread_mutex_unlock(&t->mutex);
}

void sap_threads_run(sap_threads* t, int32_t njobs, sap_task* task, void* context) {
  if (t == NULL || t->started == 0 || njobs < 2) {
    for (int32_t job = 0; job < njobs; ++job) {
      task(context, job);
    }
    return;
  }
  t->task = task;
  t->context = context;
  atomic_store(&t->unfinished, njobs);
  atomic_store(&t->ticket, (uint64_t)(uint32_t)njobs << 32);
  if (atomic_load(&t->sleepers) > 0) {
    (void)pthread_mutex_lock(&t->mutex);
    (void)pthread_cond_broadcast(&t->work);
    (void)pthread_mutex_unlock(&t->mutex);
  }
  take_jobs(t, true);
  wait_until_done(t);
}
