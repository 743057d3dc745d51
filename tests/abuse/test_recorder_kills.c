// SPDX-License-Identifier: BSD-3-Clause
// Recordings of processes that are killed at random times: the file has all rows whose flush had
// ended, each as it was recorded. SAPSTEP_KILLS=10000 sets the number of kills.
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { NQ = 5, BODIES = 2, CONTACTS = 3 };

static double value_of(int64_t k, int64_t i) {
  return sin(0.37 * (double)k + 1.1 * (double)i);
}

// Written by the child, read by the parent.
typedef struct shared {
  _Atomic int64_t flushed;  // rows; -1: the recorder is not created yet
  _Atomic bool failed;
} shared;

typedef struct plan {
  int flush_rows, compression;
  bool no_thread;
  int delay;  // until the kill [us]
  int pause;  // between rows [us]
} plan;

static bool write_row(sap_recorder* recorder, int64_t k) {
  static const double p_WB[3 * BODIES], q_WB[4 * BODIES] = {1.0, 0.0, 0.0, 0.0, 1.0};
  double q[NQ];
  sap_contact contact[CONTACTS] = {{.body_A = 0}};
  for (int i = 0; i < NQ; ++i) {
    q[i] = value_of(k, i);
  }
  for (int i = 0; i < CONTACTS; ++i) {
    contact[i].gamma[2] = value_of(k, 10 + i);
  }
  const sap_recorded_row row = {.t = 0.01 * (double)k,
                                .q = q,
                                .v = q,
                                .p_WB = p_WB,
                                .q_WB = q_WB,
                                .contacts = contact,
                                .contact_count = CONTACTS,
                                .stepped = true};
  return sap_recorder_write_row(recorder, &row, NULL) == SAP_STATUS_OK;
}

// Records until the kill comes.
static void record(const char* path, const plan* p, shared* s) {
  static const sap_recorded_body bodies[BODIES] = {{.parent = -1}, {0, 1.0, {0.0}}};
  const sap_recorded_model model = {.sizes = {.bodies = BODIES, .nq = NQ, .nv = NQ},
                                    .bodies = bodies};
  sap_recorder_options options = sap_recorder_options_default();
  options.compression = p->compression;
  options.flush_rows = p->flush_rows;
  options.no_thread = p->no_thread;
  sap_recorder* recorder = NULL;
  bool good = sap_recorder_create_foreign(path, &model, &options, &recorder, NULL) == 0;
  atomic_store(&s->flushed, 0);
  for (int64_t k = 0; good; ++k) {
    good = write_row(recorder, k);
    if (p->flush_rows > 0 && (k + 1) % p->flush_rows == 0) {
      atomic_store(&s->flushed, k + 1);
    }
    if (p->pause > 0) {
      (void)usleep((useconds_t)p->pause);
    }
  }
  atomic_store(&s->failed, true);
  _exit(1);
}

static void check_rows(const sap_recording* recording, int64_t rows) {
  int64_t n, columns;
  double* q = recordings_read(recording, "q", &n, &columns);
  double* time = recordings_read(recording, "time", &n, &columns);
  double* first = recordings_read(recording, "contact/first", &n, &columns);
  double* impulse = recordings_read(recording, "contact/impulse", &n, &columns);
  assert_true(n >= CONTACTS * rows);
  for (int64_t k = 0; k < rows; ++k) {
    bool good = time[k] == 0.01 * (double)k && first[k] == (double)(CONTACTS * k);
    for (int i = 0; i < NQ; ++i) {
      good = good && q[NQ * k + i] == value_of(k, i);
    }
    for (int i = 0; i < CONTACTS; ++i) {
      good = good && impulse[3 * (CONTACTS * k + i) + 2] == value_of(k, 10 + i);
    }
    if (!good) {
      fail_msg("row %ld of %ld differs", (long)k, (long)rows);
    }
  }
  free(q);
  free(time);
  free(first);
  free(impulse);
}

// Returns the rows of the file, -1 if it was killed before the recorder was created.
static int64_t kill_one(const char* path, const plan* p) {
  shared* s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(s != MAP_FAILED);
  atomic_store(&s->flushed, -1);
  (void)remove(path);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    record(path, p, s);
  }
  (void)usleep((useconds_t)p->delay);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  const int64_t flushed = atomic_load(&s->flushed);
  assert_false(atomic_load(&s->failed));
  (void)munmap(s, sizeof *s);
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(path, &recording, &error) != SAP_STATUS_OK) {
    if (flushed >= 0) {
      fail_msg("flushed %ld rows: %s", (long)flushed, error.message);
    }
    return -1;
  }
  const int64_t rows = sap_recording_rows(recording);
  if (rows < flushed) {
    fail_msg("flushed %ld rows, found %ld", (long)flushed, (long)rows);
  }
  check_rows(recording, rows);
  sap_recording_close(recording);
  return rows;
}

static void test_kills(void** unused) {
  (void)unused;
  const char* wanted = getenv("SAPSTEP_KILLS");
  const long kills = wanted != NULL ? strtol(wanted, NULL, 10) : 50;
  const char* seed = getenv("SAPSTEP_SEED");
  scratch folder;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&folder);
  (void)scratch_path(&folder, "killed.h5", path);
  srandom(seed != NULL ? (unsigned)strtol(seed, NULL, 10) : (unsigned)time(NULL));
  int64_t rows = 0, begun = 0, empty = 0;
  for (long i = 0; i < kills; ++i) {
    const plan p = {.flush_rows = 1 + (int)(random() % 40),
                    .compression = (int)(random() % 3),
                    .no_thread = random() % 2 == 0,
                    .delay = (int)(random() % 40000)};
    const int64_t found = kill_one(path, &p);
    rows += found > 0 ? found : 0;
    begun += found < 0 ? 1 : 0;
    empty += found == 0 ? 1 : 0;
  }
  print_message("%ld kills: %ld before the recorder was created, %ld without rows, %ld rows\n",
                kills, (long)begun, (long)empty, (long)rows);
  assert_true(rows > 0);
  scratch_end(&folder);
}

// Few rows, and no flush by their number: those of the last second may be lost, and no others.
static void test_flush_by_time(void** unused) {
  (void)unused;
  scratch folder;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&folder);
  const plan p = {.compression = 1, .delay = 2600 * 1000, .pause = 5000};
  const int64_t rows = kill_one(scratch_path(&folder, "slow.h5", path), &p);
  if (rows < 20) {
    fail_msg("%ld rows after 2.6 s", (long)rows);
  }
  scratch_end(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills),
                                     cmocka_unit_test(test_flush_by_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
