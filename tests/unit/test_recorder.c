// SPDX-License-Identifier: BSD-3-Clause
// Recordings: what was written comes back, also from a file that a crash cut off; damaged and wrong
// files are refused.
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/multibody.h>
#include <sapstep/recorder.h>

#include "support/near.h"
#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

static const double mass = 2.0, gravity = 9.81, dt = 0.01;
enum { STEPS = 300, FLUSH = 64 };

typedef struct truth {
  double t[STEPS + 1], q[STEPS + 1][7], v[STEPS + 1][6], kinetic[STEPS + 1];
  double impulse[STEPS + 1][3];  // summed over contacts, world axes
  int32_t contacts[STEPS + 1];
} truth;

static void remember(simulation* s, truth* t, int k, bool stepped) {
  t->t[k] = s->state.t;
  memcpy(t->q[k], s->state.q, sizeof t->q[k]);
  memcpy(t->v[k], s->state.v, sizeof t->v[k]);
  t->kinetic[k] = simulation_diagnose(s).kinetic;
  t->contacts[k] = sap_multibody_contact_count(s->multibody);
  memset(t->impulse[k], 0, sizeof t->impulse[k]);
  for (int32_t i = 0; stepped && i < t->contacts[k]; ++i) {
    const sap_contact* c = &sap_multibody_contacts(s->multibody)[i];
    for (int axis = 0; axis < 9; ++axis) {
      t->impulse[k][axis % 3] += c->R_WC[axis] * c->gamma[axis / 3];
    }
  }
}

// Records a run into `path`; a copy of the file as it is after `crash` steps goes to `copy`.
static void record(const char* path, const char* copy, int crash, truth* t) {
  simulation s = recordings_box();
  sap_error error = {0};
  sap_recorder* recorder = recordings_create(path, &s, FLUSH);
  assert_int_equal(sap_multibody_detect(s.multibody, s.state.q, &error), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, NULL, &error), 0);
  remember(&s, t, 0, false);
  for (int k = 1; k <= STEPS; ++k) {
    if (k % 2 == 0) {
      simulation_step(&s, 1);
    } else {  // the recorder collects the contacts
      assert_int_equal(sap_stepper_step(s.stepper, &s.state, &s.report, &error), SAP_STATUS_OK);
    }
    assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, &error), 0);
    remember(&s, t, k, true);
    if (k == crash) {
      size_t size;
      char* bytes = scratch_read(path, &size);
      FILE* out = fopen(copy, "wb");
      assert_non_null(bytes);
      assert_non_null(out);
      assert_int_equal(fwrite(bytes, 1, size, out), size);
      assert_int_equal(fclose(out), 0);
      free(bytes);
    }
  }
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  simulation_end(&s);
}

// The first `n` rows are those of the run.
static void check_rows(const sap_recording* recording, const truth* t, int64_t n) {
  int64_t rows, columns, id_rows;
  assert_int_equal(sap_recording_rows(recording), n);
  double* time = recordings_read(recording, "time", &rows, &columns);
  assert_int_equal(rows, n);
  assert_int_equal(columns, 1);
  assert_memory_equal(time, t->t, (size_t)n * sizeof *time);
  double* q = recordings_read(recording, "q", &rows, &columns);
  assert_int_equal(columns, 7);
  assert_memory_equal(q, t->q, (size_t)n * sizeof t->q[0]);
  double* v = recordings_read(recording, "v", &rows, &columns);
  assert_memory_equal(v, t->v, (size_t)n * sizeof t->v[0]);
  double* pose = recordings_read(recording, "pose", &rows, &columns);
  assert_int_equal(columns, 14);
  double* energy = recordings_read(recording, "energy", &rows, &columns);
  double* momentum = recordings_read(recording, "momentum", &rows, &columns);
  double* first = recordings_read(recording, "contact/first", &rows, &columns);
  double* count = recordings_read(recording, "contact/count", &rows, &columns);
  double* frame = recordings_read(recording, "contact/frame", &rows, &columns);
  double* impulse = recordings_read(recording, "contact/impulse", &rows, &columns);
  double* id = recordings_read(recording, "contact/id", &id_rows, &columns);
  assert_int_equal(columns, 6);
  for (int64_t k = 0; k < n; ++k) {
    for (int i = 0; i < 7; ++i) {  // the body's frame is that of its free joint, as float
      assert_true(pose[14 * k + 7 + i] == (double)(float)t->q[k][i]);
    }
    assert_true(energy[3 * k] == t->kinetic[k]);
    ASSERT_NEAR(energy[3 * k + 1], mass * gravity * t->q[k][2], 1e-12);
    ASSERT_NEAR(momentum[6 * k + 2], mass * t->v[k][2], 1e-13);
    assert_int_equal((int)count[k], t->contacts[k]);
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t i = (int64_t)first[k]; i < (int64_t)(first[k] + count[k]); ++i) {
      assert_true(i < id_rows);
      assert_true(id[6 * i] == 0.0 && id[6 * i + 1] == 1.0);
      for (int axis = 0; axis < 9; ++axis) {
        sum[axis % 3] += frame[9 * i + axis] * impulse[3 * i + axis / 3];
      }
    }
    for (int axis = 0; axis < 3; ++axis) {
      assert_true(sum[axis] == t->impulse[k][axis]);
    }
  }
  void* const all[] = {time, q, v, pose, energy, momentum, first, count, frame, impulse, id};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    free(all[i]);
  }
}

static void test_round_trip_and_crash(void** unused) {
  (void)unused;
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE], copy[SCRATCH_PATH_SIZE];
  (void)scratch_path(&folder, "run.h5", path);
  (void)scratch_path(&folder, "crashed.h5", copy);
  static truth t;
  // rows 0 ... 200: three flushes of 64 and nine rows in memory
  record(path, copy, 200, &t);
  sap_recording* recording = recordings_open(path);
  check_rows(recording, &t, STEPS + 1);
  sap_recording_close(recording);
  recording = recordings_open(copy);
  check_rows(recording, &t, 3 * FLUSH);
  sap_recording_close(recording);
  // at rest the ground carries the box: m g dt, by the recorded step
  ASSERT_NEAR(t.impulse[STEPS][2], mass * gravity * dt, 1e-6);
  assert_int_equal(t.contacts[STEPS], 4);
  scratch_end(&folder);
}

static void test_reads_parts(void** unused) {
  (void)unused;
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(&folder, "run.h5", path);
  static truth t;
  record(path, NULL, -1, &t);
  sap_recording* recording = recordings_open(path);
  sap_error error = {0};
  double part[2][6];
  assert_int_equal(sap_recording_read(recording, "v", 100, 2, part[0], &error), SAP_STATUS_OK);
  assert_memory_equal(part, t.v[100], sizeof part);
  double step[13];
  assert_int_equal(sap_recording_read(recording, "step", STEPS, 1, step, &error), SAP_STATUS_OK);
  assert_true(step[1] == 1.0 && step[9] == 12.0 && step[10] == dt);  // 4 contacts of 3 rows
  assert_int_equal(sap_recording_read(recording, "v", STEPS, 2, part[0], &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_recording_read(recording, "v", -1, 1, part[0], &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_recording_read(recording, "nothing", 0, 1, part[0], &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "the recording has no data set 'nothing'");
  assert_int_equal(sap_recording_read(recording, "model/bodies", 0, 1, part[0], &error),
                   SAP_STATUS_IO);
  sap_recording_close(recording);
  scratch_end(&folder);
}

static void expect_refused(const char* path, sap_status status, const char* message) {
  sap_recording* recording = NULL;
  sap_error error = {0};
  assert_int_equal(sap_recording_open(path, &recording, &error), status);
  assert_null(recording);
  if (strstr(error.message, message) == NULL) {
    fail_msg("'%s' lacks '%s'", error.message, message);
  }
}

static void test_wrong_files(void** unused) {
  (void)unused;
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE];
  (void)scratch_path(&folder, "run.h5", path);
  static truth t;
  record(path, NULL, -1, &t);
  size_t size;
  char* bytes = scratch_read(path, &size);
  assert_non_null(bytes);
  expect_refused(scratch_path(&folder, "none.h5", other), SAP_STATUS_IO, "none.h5");
  expect_refused(scratch_write(&folder, "text.h5", "t_s,q\n0,1\n", 10, other), SAP_STATUS_SYNTAX,
                 "is not an HDF5 file");
  expect_refused(scratch_write(&folder, "empty.h5", "", 0, other), SAP_STATUS_SYNTAX,
                 "is not an HDF5 file");
  // cut off anywhere: told, or all of the rows that are claimed can be read
  uint32_t random = 12345;
  for (int i = 0; i < 20; ++i) {
    random = random * 1664525u + 1013904223u;
    const size_t left = (size_t)((double)size * ((double)random / 4294967296.0));
    sap_recording* recording = NULL;
    sap_error error = {0};
    (void)scratch_write(&folder, "cut.h5", bytes, left, other);
    if (sap_recording_open(other, &recording, &error) == SAP_STATUS_OK) {
      int64_t rows, columns;
      free(recordings_read(recording, "q", &rows, &columns));
      sap_recording_close(recording);
    } else {
      assert_true(error.message[0] != '\0');
    }
  }
  // another program's HDF5 file
  const char* mark = "sapstep recording";
  for (size_t i = 0; i + strlen(mark) < size; ++i) {
    if (memcmp(bytes + i, mark, strlen(mark)) == 0) {
      bytes[i] = 'x';
    }
  }
  expect_refused(scratch_write(&folder, "other.h5", bytes, size, other), SAP_STATUS_SYNTAX,
                 "but not a recording");
  free(bytes);
  scratch_end(&folder);
}

// Bytes that are allocated, by HDF5 too.
static size_t allocated(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Many flushes: the index of chunks grows in the file, not in memory. With HDF5's own settings this
// run allocates 4 MB after row 8000.
static void test_memory_does_not_grow(void** unused) {
  (void)unused;
  enum { ROWS = 20000, EARLY = 8000, FLUSH_ROWS = 16, GROWTH = 200000 };
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE];
  simulation s = recordings_box();
  sap_error error = {0};
  sap_recorder* recorder =
      recordings_create(scratch_path(&folder, "long.h5", path), &s, FLUSH_ROWS);
  simulation_step(&s, 100);
  assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
  size_t early = 0;
  for (int i = 1; i <= ROWS; ++i) {
    assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, &error), 0);
    early = i == EARLY ? allocated() : early;
  }
  const size_t late = allocated();
  print_message("%zu bytes after %d rows, %zu after %d\n", early, EARLY, late, ROWS);
  assert_true(late < early + GROWTH);
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  assert_int_equal(sap_recording_rows(recording), ROWS);
  sap_recording_close(recording);
  scratch_end(&folder);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip_and_crash),
      cmocka_unit_test(test_reads_parts),
      cmocka_unit_test(test_wrong_files),
      cmocka_unit_test(test_memory_does_not_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
