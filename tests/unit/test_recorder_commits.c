// SPDX-License-Identifier: BSD-3-Clause
// A recording that is killed at any write: the writes of a recorder are logged and carried out again
// one by one, as they are and, where a kill could cut one, in part. After each of them the file has
// all rows that were flushed before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { PAGE = 4096, NQ = 3, BODIES = 2 };

// --- the log ---

typedef struct logged {
  off_t offset;     // of a write; -1: the file gets the length `size`
  size_t size, at;  // bytes begin at log_bytes + at
  int32_t row;      // rows that calls had flushed before
  bool changes;     // bytes that the last flush left
} logged;

static bool logging;
static logged* entries;
static size_t count, room, byte_count, byte_room;
static unsigned char* log_bytes;
static int32_t flushed;
static off_t end_of_flush;

static void log_entry(off_t offset, size_t size, const void* bytes) {
  if (count == room) {
    room = 2 * room + 1024;
    entries = realloc(entries, room * sizeof *entries);
    assert_non_null(entries);
  }
  if (byte_count + size > byte_room) {
    byte_room = 2 * byte_room + size + 65536;
    log_bytes = realloc(log_bytes, byte_room);
    assert_non_null(log_bytes);
  }
  entries[count++] = (logged){.offset = offset,
                              .size = size,
                              .at = byte_count,
                              .row = flushed,
                              .changes = offset >= 0 && offset < end_of_flush};
  if (bytes != NULL) {
    memcpy(log_bytes + byte_count, bytes, size);
    byte_count += size;
  }
}

// In the place of the C library's.
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  typedef ssize_t function(int, const void*, size_t, off_t);
  union {
    void* symbol;
    function* call;
  } next = {dlsym(RTLD_NEXT, "pwrite")};
  if (logging) {
    log_entry(offset, size, bytes);
  }
  return next.call(descriptor, bytes, size, offset);
}

int ftruncate(int descriptor, off_t length) {
  typedef int function(int, off_t);
  union {
    void* symbol;
    function* call;
  } next = {dlsym(RTLD_NEXT, "ftruncate")};
  if (logging) {
    log_entry(-1, (size_t)length, NULL);
  }
  return next.call(descriptor, length);
}

// --- the recording ---

static int contacts_of(int64_t k) {
  return (int)(k * 7 % 4);
}

static double value_of(int64_t k, int64_t i) {
  return sin(0.37 * (double)k + 1.1 * (double)i);
}

static void write_row(sap_recorder* recorder, int k) {
  static const double p_WB[3 * BODIES], q_WB[4 * BODIES] = {1.0, 0.0, 0.0, 0.0, 1.0};
  double q[NQ];
  sap_contact contact[4] = {{.body_A = 0}};
  for (int i = 0; i < NQ; ++i) {
    q[i] = value_of(k, i);
  }
  for (int i = 0; i < contacts_of(k); ++i) {
    contact[i].gamma[2] = value_of(k, 10 + i);
  }
  const sap_recorded_row row = {.t = 0.01 * k,
                                .q = q,
                                .v = q,
                                .p_WB = p_WB,
                                .q_WB = q_WB,
                                .contacts = contact,
                                .contact_count = contacts_of(k),
                                .stepped = true};
  sap_error error = {0};
  if (sap_recorder_write_row(recorder, &row, &error) != SAP_STATUS_OK) {
    fail_msg("row %d: %s", k, error.message);
  }
}

static void log_run(const char* path, int rows, int flush_rows, int compression) {
  static const sap_recorded_body bodies[BODIES] = {{.parent = -1}, {0, 1.0, {0.0}}};
  const sap_recorded_model model = {.sizes = {.bodies = BODIES, .nq = NQ, .nv = NQ},
                                    .bodies = bodies};
  sap_recorder_options options = sap_recorder_options_default();
  options.compression = compression;
  options.flush_rows = flush_rows;
  options.no_thread = true;
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  logging = true;
  flushed = -1;
  count = byte_count = 0;
  end_of_flush = 0;
  assert_int_equal(sap_recorder_create_foreign(path, &model, &options, &recorder, &error), 0);
  for (int k = 0; k <= rows; ++k) {
    if (k % flush_rows == 0) {
      flushed = k;
      for (size_t i = 0; i < count; ++i) {
        const off_t end = entries[i].offset + (off_t)entries[i].size;
        end_of_flush = end > end_of_flush ? end : end_of_flush;
      }
    }
    if (k < rows) {
      write_row(recorder, k);
    }
  }
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  logging = false;
}

// --- the checks ---

static void check_row(const sap_recording* recording, int64_t k) {
  double t, q[NQ], first, number, impulse[4][3];
  assert_int_equal(sap_recording_read(recording, "time", k, 1, &t, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_read(recording, "q", k, 1, q, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_read(recording, "contact/first", k, 1, &first, NULL), 0);
  assert_int_equal(sap_recording_read(recording, "contact/count", k, 1, &number, NULL), 0);
  assert_true(t == 0.01 * (double)k);
  for (int i = 0; i < NQ; ++i) {
    assert_true(q[i] == value_of(k, i));
  }
  const int n = contacts_of(k);
  assert_true(number == n &&
              first == (double)(k / 4 * 6 + (k % 4 > 1 ? 3 : 0) + (k % 4 > 2 ? 2 : 0)));
  assert_int_equal(
      sap_recording_read(recording, "contact/impulse", (int64_t)first, n, impulse[0], NULL), 0);
  for (int i = 0; i < n; ++i) {
    assert_true(impulse[i][2] == value_of(k, 10 + i));
  }
}

// Checks that the file of a recorder that is being created says so.
static void check_begun(const char* path) {
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(path, &recording, &error) == SAP_STATUS_OK) {
    sap_recording_close(recording);  // complete, and the call has not returned yet
  } else if (strstr(error.message, "killed before it had rows") == NULL) {
    fail_msg("%s", error.message);
  }
}

// Checks the last rows of the file and one of the others, or all.
static void check_file(const char* path, int32_t least, size_t seed, bool all) {
  sap_recording* recording = recordings_open(path);
  const int64_t rows = sap_recording_rows(recording);
  if (rows < least) {
    fail_msg("%ld rows, %d were flushed", (long)rows, (int)least);
  }
  for (int64_t k = rows; k-- > 0 && (all || k >= rows - 2);) {
    check_row(recording, k);
  }
  if (rows > 0) {
    check_row(recording, (int64_t)(seed * 2654435761u % (size_t)rows));
  }
  sap_recording_close(recording);
}

static void carry_out(int file, const logged* e, size_t size) {
  if (e->offset < 0) {
    assert_int_equal(ftruncate(file, (off_t)e->size), 0);
  } else {
    assert_int_equal(pwrite(file, log_bytes + e->at, size, e->offset), size);
  }
}

// Carries out the log up to every `every`-th write, and to all of the first and last flushes that
// add nodes to an index: the last ones add them on three levels.
static void replay(const char* path, size_t every) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
  assert_true(file >= 0);
  size_t checks = 0;
  int32_t splitting = -1;
  for (size_t i = 0; i < count; ++i) {
    const logged* e = &entries[i];
    const unsigned char* bytes = log_bytes + e->at;
    const bool node = e->offset >= 0 && !e->changes && e->size > 4 && memcmp(bytes, "TREE", 4) == 0;
    splitting = node && (e->row < 200 || e->row > 3650) ? e->row : splitting;
    const bool checked = e->row >= 0 && (e->row == splitting || i % every == 0);
    const off_t first = e->offset / PAGE, last = (e->offset + (off_t)e->size - 1) / PAGE;
    if (e->offset >= 0 && first != last) {  // a kill may cut it
      carry_out(file, e, (size_t)(PAGE - e->offset % PAGE));
      if (checked) {
        check_file(path, e->row, i, false);
      }
    }
    carry_out(file, e, e->size);
    if (e->row < 0) {
      check_begun(path);
    } else if (checked) {
      check_file(path, e->row, i, ++checks % 512 == 0);
    }
  }
  check_file(path, flushed, 0, true);
  assert_true(checks > 200);
  assert_int_equal(close(file), 0);
}

static void replay_run(int rows, int flush_rows, int compression, size_t every) {
  scratch folder;
  char path[SCRATCH_PATH_SIZE], copy[SCRATCH_PATH_SIZE];
  scratch_begin(&folder);
  (void)scratch_path(&folder, "run.h5", path);
  (void)scratch_path(&folder, "copy.h5", copy);
  log_run(path, rows, flush_rows, compression);
  replay(copy, every);
  free(entries);
  free(log_bytes);
  entries = NULL;
  log_bytes = NULL;
  room = byte_room = 0;
  scratch_end(&folder);
}

// Chunks of one row: the indices get three levels (64 chunks to a node).
static void test_deep_indices(void** unused) {
  (void)unused;
  replay_run(4000, 1, 1, 211);
}

static void test_uncompressed(void** unused) {
  (void)unused;
  replay_run(300, 3, 0, 1);
}

static void test_compressed(void** unused) {
  (void)unused;
  replay_run(300, 7, 1, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_uncompressed),
                                     cmocka_unit_test(test_compressed),
                                     cmocka_unit_test(test_deep_indices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
