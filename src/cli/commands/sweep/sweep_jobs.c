// SPDX-License-Identifier: BSD-3-Clause
// The cases of a sweep: threads of rank 0 and all other ranks take the next one when they are free.
// Rows go to their case's place, so that the table does not depend on who did what.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

enum { THREADS_MAX = 256 };

typedef struct jobs {
  const sweep_study* study;
  sweep_journal* journal;
  sweep_row* rows;
  pthread_mutex_t mutex;  // of all below
  int64_t next, done;
  sap_error error;  // of the journal
  _Atomic int running;
} jobs;

// The next case that is not done; -1: none.
static int64_t take(jobs* j) {
  int64_t index = -1;
  (void)pthread_mutex_lock(&j->mutex);
  if (!interrupt_came() && j->error.status == SAP_STATUS_OK) {
    while (j->next < j->study->cases && j->rows[j->next].index >= 0) {
      ++j->next;
    }
    if (j->next < j->study->cases) {
      index = j->next++;
    }
  }
  (void)pthread_mutex_unlock(&j->mutex);
  return index;
}

static void keep(jobs* j, const sweep_row* row) {
  (void)pthread_mutex_lock(&j->mutex);
  if (sweep_journal_add(j->journal, row, &j->error) == SAP_STATUS_OK) {
    j->rows[row->index] = *row;
    ++j->done;
  }
  (void)pthread_mutex_unlock(&j->mutex);
}

static void* work(void* context) {
  jobs* j = context;
  sweep_row row;
  int64_t index;
  while ((index = take(j)) >= 0) {
    sweep_case_run(j->study, index, &row);
    if (row.index >= 0) {
      keep(j, &row);
    }
  }
  atomic_fetch_sub(&j->running, 1);
  return NULL;
}

// Answers all ranks that wait; the number that were sent home.
static int serve(jobs* j) {
  sweep_row row;
  int rank, home = 0;
  while (sweep_mpi_poll(&row, &rank)) {
    if (row.index >= 0) {
      keep(j, &row);
    }
    const int64_t index = take(j);
    sweep_mpi_answer(rank, index);
    home += index < 0 ? 1 : 0;
  }
  return home;
}

static void watch(jobs* j) {
  progress bar;
  int away = sweep_mpi_size() - 1;
  progress_begin(&bar);
  while (atomic_load(&j->running) > 0 || away > 0) {
    away -= serve(j);
    const struct timespec pause = {.tv_nsec = away > 0 ? 500 * 1000 : 10 * 1000 * 1000};
    (void)nanosleep(&pause, NULL);
    if (progress_due(&bar)) {
      char note[64];
      (void)pthread_mutex_lock(&j->mutex);
      const int64_t done = j->done;
      (void)pthread_mutex_unlock(&j->mutex);
      (void)snprintf(note, sizeof note, "%lld of %lld cases", (long long)done,
                     (long long)j->study->cases);
      progress_draw(&bar, (double)done / (double)j->study->cases, note);
    }
  }
  progress_end(&bar);
}

static int work_for_rank_0(const sweep_study* study) {
  sweep_row row = {.index = -1};
  int64_t index;
  while ((index = sweep_mpi_ask(&row)) >= 0) {
    sweep_case_run(study, index, &row);
  }
  return CLI_OK;
}

int sweep_jobs_run(const sweep_study* study, int count, sweep_journal* journal, sweep_row* rows) {
  if (sweep_mpi_rank() > 0) {
    return work_for_rank_0(study);
  }
  jobs j = {.study = study, .journal = journal, .rows = rows};
  pthread_t threads[THREADS_MAX];
  int started = 0;
  for (int64_t i = 0; i < study->cases; ++i) {
    j.done += rows[i].index >= 0 ? 1 : 0;
  }
  (void)pthread_mutex_init(&j.mutex, NULL);
  while (started < count && started < THREADS_MAX) {
    atomic_fetch_add(&j.running, 1);
    if (pthread_create(&threads[started], NULL, work, &j) != 0) {
      atomic_fetch_sub(&j.running, 1);
      break;
    }
    ++started;
  }
  if (started == 0) {  // no thread to be had: do it here
    atomic_store(&j.running, 1);
    (void)work(&j);
  }
  watch(&j);
  for (int i = 0; i < started; ++i) {
    (void)pthread_join(threads[i], NULL);
  }
  (void)pthread_mutex_destroy(&j.mutex);
  if (j.error.status != SAP_STATUS_OK) {
    return cli_report(&j.error);
  }
  return j.done == study->cases ? CLI_OK : CLI_UNCONVERGED;
}
