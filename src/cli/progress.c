// SPDX-License-Identifier: BSD-3-Clause
// Long studies: progress, signals, threads, journals.
#define _POSIX_C_SOURCE 200809L
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/archive.h"
#include "core/error.h"
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

void interrupt_catch(bool once) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = once ? (int)SA_RESETHAND : 0};
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

// --- journals ---

struct cli_journal {
  int file;
  char* path;
  pthread_mutex_t lock;
};

typedef struct header {
  char magic[24];
  uint64_t hash;
} header;

static sap_status fail(const cli_journal* j, sap_status status, const char* text,
                       sap_error* error) {
  return sap_fail(error, status, "'%.300s': %s", j->path, text);
}

static sap_status open_file(cli_journal* j, const char* busy, sap_error* error) {
  j->file = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (j->file < 0) {
    return fail(j, SAP_STATUS_IO, strerror(errno), error);
  }
  struct stat info;
  if (fstat(j->file, &info) != 0 || !S_ISREG(info.st_mode)) {  // it is removed at the end
    return fail(j, SAP_STATUS_IO, "not a regular file", error);
  }
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(j->file, F_SETLK, &lock) == 0 ? SAP_STATUS_OK : fail(j, SAP_STATUS_IO, busy, error);
}

// Writes all bytes, also when signals interrupt.
static bool write_bytes(int file, const void* bytes, size_t size) {
  const char* at = bytes;
  while (size > 0) {
    const ssize_t put = write(file, at, size);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return false;
    }
    at += put;
    size -= (size_t)put;
  }
  return true;
}

// Cuts the file at `at`; writing goes on from there.
static bool end_at(int file, off_t at) {
  return ftruncate(file, at) == 0 && lseek(file, at, SEEK_SET) == at;
}

// Restores the record at *at and moves *at behind it; false: it is incomplete, damaged or missing.
static bool restore_record(const cli_journal* j, const cli_journal_def* def, off_t end, off_t* at) {
  uint64_t size, checksum;
  off_t start = *at + (off_t)sizeof size;
  if (pread(j->file, &size, sizeof size, *at) != (ssize_t)sizeof size ||
      size > (uint64_t)(end - start)) {
    return false;
  }
  char* bytes = cli_allocate((size_t)size, 1);
  const off_t behind = start + (off_t)size;
  const bool whole =
      pread(j->file, bytes, (size_t)size, start) == (ssize_t)size &&
      pread(j->file, &checksum, sizeof checksum, behind) == (ssize_t)sizeof checksum &&
      checksum == sap_hash(SAP_HASH_START, bytes, (size_t)size) &&
      def->restore(def->context, bytes, (size_t)size);
  free(bytes);
  *at = whole ? behind + (off_t)sizeof checksum : *at;
  return whole;
}

static sap_status load(cli_journal* j, const cli_journal_def* def, sap_error* error) {
  header mine = {.hash = def->hash}, found;
  memcpy(mine.magic, def->magic, sizeof mine.magic);
  const ssize_t got = pread(j->file, &found, sizeof found, 0);
  struct stat info;
  if (got < 0 || fstat(j->file, &info) != 0) {
    return fail(j, SAP_STATUS_IO, strerror(errno), error);
  }
  const bool whole = got == (ssize_t)sizeof found;
  // A kill may have cut off the header; anything else is not ours to overwrite.
  if (def->fresh || (!whole && memcmp(&found, &mine, (size_t)got) == 0)) {
    return end_at(j->file, 0) && write_bytes(j->file, &mine, sizeof mine) && fsync(j->file) == 0
               ? SAP_STATUS_OK
               : fail(j, SAP_STATUS_IO, strerror(errno), error);
  }
  if (!whole || memcmp(&found, &mine, sizeof mine) != 0) {
    return fail(j, SAP_STATUS_ARGUMENT, def->foreign, error);
  }
  off_t at = (off_t)sizeof found;
  while (restore_record(j, def, info.st_size, &at)) {
  }
  return end_at(j->file, at) ? SAP_STATUS_OK : fail(j, SAP_STATUS_IO, strerror(errno), error);
}

sap_status cli_journal_open(const char* path, const cli_journal_def* def, cli_journal** out,
                            sap_error* error) {
  *out = NULL;
  cli_journal* j = cli_new(1, sizeof *j);
  j->path = cli_copy(path);
  (void)pthread_mutex_init(&j->lock, NULL);
  sap_status status = open_file(j, def->busy, error);
  if (status == SAP_STATUS_OK) {
    status = load(j, def, error);
  }
  if (status != SAP_STATUS_OK) {
    cli_journal_close(j, false);
    return status;
  }
  *out = j;
  return SAP_STATUS_OK;
}

sap_status cli_journal_add(cli_journal* j, const void* first, size_t first_size, const void* second,
                           size_t second_size, sap_error* error) {
  const uint64_t size = first_size + second_size;
  uint64_t checksum = sap_hash(SAP_HASH_START, first, first_size);
  checksum = second_size > 0 ? sap_hash(checksum, second, second_size) : checksum;
  (void)pthread_mutex_lock(&j->lock);
  sap_status status = SAP_STATUS_OK;
  const off_t at = lseek(j->file, 0, SEEK_CUR);
  if (!write_bytes(j->file, &size, sizeof size) || !write_bytes(j->file, first, first_size) ||
      !write_bytes(j->file, second, second_size) ||
      !write_bytes(j->file, &checksum, sizeof checksum) || fsync(j->file) != 0) {
    status = fail(j, SAP_STATUS_IO, strerror(errno), error);
    (void)end_at(j->file, at);
  }
  (void)pthread_mutex_unlock(&j->lock);
  return status;
}

void cli_journal_close(cli_journal* j, bool finished) {
  if (j == NULL) {
    return;
  }
  if (finished) {
    (void)remove(j->path);
  }
  if (j->file >= 0) {
    (void)close(j->file);
  }
  (void)pthread_mutex_destroy(&j->lock);
}
