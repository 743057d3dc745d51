// SPDX-License-Identifier: BSD-3-Clause
// Long studies: progress, signals, threads.
#include "cli/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/platform.h"

enum { BAR_WIDTH = 30 };                 // characters
static const double redraw_after = 0.1;  // [s]: smooth for the eye, nothing for the run

void progress_begin(progress* bar) {
  bar->shown = isatty(STDERR_FILENO) == 1;
  bar->start = sap_clock_seconds();
  bar->next_draw = bar->start + redraw_after;
}

bool progress_due(progress* bar) {
  return bar->shown && sap_clock_seconds() >= bar->next_draw;
}

void progress_draw(progress* bar, double fraction, const char* note) {
  const double time = sap_clock_seconds();
  bar->next_draw = time + redraw_after;
  char line[BAR_WIDTH + 1];
  const int filled = (int)(fraction * BAR_WIDTH);
  for (int i = 0; i < BAR_WIDTH; ++i) {
    line[i] = i < filled ? '#' : '.';
  }
  line[BAR_WIDTH] = '\0';
  const double left = fraction > 0.0 ? (time - bar->start) * (1.0 / fraction - 1.0) : 0.0;
  (void)fprintf(stderr, "\r[%s] %3d %%  %s  %.0f s left\033[K", line, (int)(100.0 * fraction), note,
                left);
  (void)fflush(stderr);
}

void progress_end(progress* bar) {
  if (bar->shown) {
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
  }
}

// The only thing that a signal handler may touch.
static volatile sig_atomic_t came;

static void on_signal(int signal_number) {
  (void)signal_number;
  came = 1;
}

void interrupt_catch(void) {
  struct sigaction action = {.sa_handler = on_signal};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
  struct sigaction hangup;
  if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {  // as nohup sets it
    (void)sigaction(SIGHUP, &action, NULL);
  }
}

bool interrupt_came(void) {
  return came != 0;
}

// --- threads ---

enum { THREADS_MAX = 256 };

typedef struct thread_work {
  void (*work)(void* context);
  void* context;
  _Atomic int running;
} thread_work;

static void* run_thread(void* context) {
  thread_work* w = context;
  w->work(w->context);
  atomic_fetch_sub(&w->running, 1);
  return NULL;
}

void cli_run_threads(int count, void (*work)(void* context), bool (*watch)(void* context),
                     void* context) {
  thread_work w = {.work = work, .context = context};
  pthread_t threads[THREADS_MAX];
  int started = 0;
  for (; started < count && started < THREADS_MAX; ++started) {
    atomic_fetch_add(&w.running, 1);
    if (pthread_create(&threads[started], NULL, run_thread, &w) != 0) {
      atomic_fetch_sub(&w.running, 1);
      break;
    }
  }
  if (started == 0) {
    atomic_store(&w.running, 1);
    (void)run_thread(&w);
  }
  for (bool waiting = watch != NULL; waiting;) {
    waiting = watch(context) || atomic_load(&w.running) > 0;
  }
  for (int i = 0; i < started; ++i) {
    (void)pthread_join(threads[i], NULL);
  }
}
