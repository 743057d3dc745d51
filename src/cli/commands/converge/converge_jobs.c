// SPDX-License-Identifier: BSD-3-Clause
// The runs of a study in threads. Each owns all that it writes, so that the results do not depend
// on their number; the calling thread draws the progress.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "cli/commands/converge/converge.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

enum { THREADS_MAX = 64 };

typedef struct jobs {
  converge_study* study;
  int last;
  _Atomic int running;
} jobs;

static void* work(void* context) {
  jobs* j = context;
  for (;;) {
    const int index = atomic_fetch_add(&j->study->next, 1);
    if (index >= j->last || interrupt_came()) {
      break;
    }
    if (!j->study->cases[index].done) {
      converge_case_run(j->study, &j->study->cases[index]);
    }
  }
  atomic_fetch_sub(&j->running, 1);
  return NULL;
}

static int64_t planned(const converge_study* study) {
  int64_t steps = 0;
  for (int i = 0; i < study->count; ++i) {
    steps += study->samples * study->cases[i].stride;
  }
  return steps;
}

bool converge_jobs_run(converge_study* study, int first, int last) {
  jobs j = {.study = study, .last = last};
  pthread_t threads[THREADS_MAX];
  int count = 0;
  const int wanted = study->options.jobs < last - first ? study->options.jobs : last - first;
  atomic_store(&study->next, first);
  while (count < wanted && count < THREADS_MAX) {
    atomic_fetch_add(&j.running, 1);
    if (pthread_create(&threads[count], NULL, work, &j) != 0) {
      atomic_fetch_sub(&j.running, 1);
      break;
    }
    ++count;
  }
  if (count == 0 && wanted > 0) {  // no thread to be had: do it here
    atomic_store(&j.running, 1);
    (void)work(&j);
  }
  progress* bar = &study->bar;
  const double total = (double)planned(study);
  while (bar->shown && atomic_load(&j.running) > 0) {
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    (void)nanosleep(&pause, NULL);
    if (progress_due(bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "run %d of %d",
                     atomic_load(&study->next) < last ? atomic_load(&study->next) : last,
                     study->count);
      progress_draw(bar, (double)atomic_load(&study->steps) / total, note);
    }
  }
  for (int i = 0; i < count; ++i) {
    (void)pthread_join(threads[i], NULL);
  }
  return !interrupt_came();
}
