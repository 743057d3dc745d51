// SPDX-License-Identifier: BSD-3-Clause
// sapstep run --record: the recording beside the trajectory of the same run, read by our own reader
// and by h5py; disks that are full, paths that cannot be written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/near.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX "'" SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml'"

static void recording_equals_trajectory(void** state) {
  char path[SCRATCH_PATH_SIZE];
  command_expect(*state, program,
                 "run " BOX
                 " --dt 0.005 --duration 0.5 --every 7 --record a.h5 --output a.csv >/dev/null",
                 0, NULL);
  char* csv = scratch_text(*state, "a.csv");
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(scratch_path(*state, "a.h5", path), &recording, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(sap_recording_rows(recording), 1 + 14 + 1);  // start, every seventh, the last
  const char* line = strchr(csv, '\n');
  for (int64_t k = 0; k < sap_recording_rows(recording); ++k) {
    double t, q[7], v[6];
    assert_int_equal(sap_recording_read(recording, "time", k, 1, &t, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_recording_read(recording, "q", k, 1, q, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_recording_read(recording, "v", k, 1, v, NULL), SAP_STATUS_OK);
    assert_non_null(line);
    char* stop;
    assert_true(strtod(line + 1, &stop) == t);
    for (int i = 0; i < 13; ++i) {
      assert_true(strtod(stop + 1, &stop) == (i < 7 ? q[i] : v[i - 7]));
    }
    line = strchr(line + 1, '\n');
  }
  sap_recording_close(recording);
  free(csv);
}

static void h5py_reads_it(void** state) {
  // The system's Python may have it where another python3 comes first in the path.
  static const char* const pythons[] = {"python3", "/usr/bin/python3"};
  const char* python = NULL;
  for (size_t i = 0; i < sizeof pythons / sizeof *pythons && python == NULL; ++i) {
    char import[64];
    (void)snprintf(import, sizeof import, "%s -c 'import h5py' >/dev/null 2>&1", pythons[i]);
    python = system(import) == 0 ? pythons[i] : NULL;
  }
  if (python == NULL) {
    SKIP_LACKING("python3 has no h5py");
  }
  char path[SCRATCH_PATH_SIZE], line[2 * SCRATCH_PATH_SIZE];
  command_expect(*state, program,
                 "run " BOX " --duration 2 --record a.h5 --compression 1 >/dev/null", 0, NULL);
  (void)snprintf(line, sizeof line,
                 "%s -c \"\n"
                 "import h5py\n"
                 "f = h5py.File('%s')\n"
                 "n = len(f['time'])\n"
                 "assert f.attrs['format'] == b'sapstep recording', f.attrs['format']\n"
                 "assert n == 401 and f['q'].shape == (n, 7) and f['pose'].shape == (n, 14)\n"
                 "assert f['q'].chunks[0] > 1 and f['q'].compression == 'gzip'\n"
                 "assert f['energy'].attrs['units'] == b'J'\n"
                 "assert f['model/bodies'][1] == b'box'\n"
                 "s = dict(zip(f['model/shape'].attrs['columns'].decode().split(','),\n"
                 "             f['model/shape'][1]))\n"
                 "assert s['type'] == 4 and s['body'] == 1 and s['size_x'] == 0.1, s\n"
                 "i = f['iteration/count'][:]\n"
                 "assert i.sum() == len(f['iteration/value']) and i[-1] >= 1\n"
                 "first, count = f['contact/first'][-1], f['contact/count'][-1]\n"
                 "force = f['contact/impulse'][first:first + count, 2].sum() / 0.005\n"
                 "assert count == 4 and abs(force / 9.81 - 1) < 0.2, force\n\"",
                 python, scratch_path(*state, "a.h5", path));
  assert_int_equal(system(line), 0);
}

static void failures_are_told(void** state) {
  command_expect(*state, program, "run " BOX " --duration 0.1 --record no/such/a.h5", 3,
                 "cannot write 'no/such/a.h5': No such file or directory");
  command_expect_after(*state, program, "mkdir -p folder;",
                       "run " BOX " --duration 0.1 --record folder", 3,
                       "cannot write 'folder': Is a directory");
  command_expect(*state, program, "run " BOX " --duration 0.1 --record ''", 2,
                 "--record '' must be a path");
  // a disk that is full in the middle of the run: 2000 blocks
  command_expect_after(*state, program, "ulimit -f 2000;",
                       "run " BOX " --dt 0.0001 --duration 2 --record b.h5 >/dev/null", 3,
                       "cannot write the recording 'b.h5': File too large");
  char path[SCRATCH_PATH_SIZE];
  sap_recording* recording = NULL;
  sap_error error = {0};
  // what was flushed before is there
  if (sap_recording_open(scratch_path(*state, "b.h5", path), &recording, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  const int64_t rows = sap_recording_rows(recording);
  double t;
  assert_true(rows > 0);
  assert_int_equal(sap_recording_read(recording, "time", rows - 1, 1, &t, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(t, 1e-4 * (double)(rows - 1), 1e-9);
  sap_recording_close(recording);
}

// A recording that was cut off anywhere: what reads it works, or says what is wrong.
static void truncations_are_told(void** state) {
  static const char* const readers[] = {"export cut.h5 energy contacts -o cut.csv",
                                        "plot cut.h5 energy step:newton_iterations -o cut.svg",
                                        "view cut.h5 -o cut.html"};
  command_expect(*state, program,
                 "run " BOX " --duration 1 --dt 0.002 --record whole.h5 >/dev/null", 0, NULL);
  char path[SCRATCH_PATH_SIZE];
  size_t size;
  char* bytes = scratch_read(scratch_path(*state, "whole.h5", path), &size);
  assert_non_null(bytes);
  uint32_t random = 2024;
  for (int i = 0; i < 20; ++i) {
    random = random * 1664525u + 1013904223u;
    const size_t left = (size_t)((double)size * ((double)random / 4294967296.0));
    (void)scratch_write(*state, "cut.h5", bytes, left, path);
    for (size_t k = 0; k < sizeof readers / sizeof *readers; ++k) {
      command_result r = command_run(*state, program, "", readers[k]);
      const bool told = r.exit_code == 3 && strstr(r.err, "cut.h5") != NULL;
      if (r.exit_code != 0 && !told && strstr(r.err, "three.js") == NULL) {
        fail_msg("%zu of %zu bytes, '%s': exit %d, stderr '%s'", left, size, readers[k],
                 r.exit_code, r.err);
      }
      command_clear(&r);
    }
  }
  free(bytes);
}

// A reader of what a killed run left: all rows up to the last flush.
static void a_killed_run_is_readable(void** state) {
  command_result r = command_run(
      *state, "sh", "",
      "-c '\"$0\" run \"$1\" --dt 0.0001 --duration 1000 --record killed.h5 > killed.txt 2>&1 & "
      "child=$!;"
      " while kill -0 $child 2>/dev/null && [ $(stat -c %s killed.h5 2>/dev/null || echo 0) -lt "
      "2000000 ]; do sleep 0.05; done;"
      " kill -9 $child' '" SAPSTEP_PROGRAM "' " BOX);
  assert_int_equal(r.exit_code, 0);
  command_clear(&r);
  char path[SCRATCH_PATH_SIZE];
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(scratch_path(*state, "killed.h5", path), &recording, &error) !=
      SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  const int64_t rows = sap_recording_rows(recording);
  assert_true(rows > 1000);
  double t, first, count;
  assert_int_equal(sap_recording_read(recording, "time", rows - 1, 1, &t, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(t, 1e-4 * (double)(rows - 1), 1e-9);
  // the last row's contacts are there, too
  assert_int_equal(sap_recording_read(recording, "contact/first", rows - 1, 1, &first, NULL), 0);
  assert_int_equal(sap_recording_read(recording, "contact/count", rows - 1, 1, &count, NULL), 0);
  int64_t contacts, columns;
  assert_int_equal(sap_recording_size(recording, "contact/id", &contacts, &columns, NULL), 0);
  assert_true((double)contacts >= first + count);
  sap_recording_close(recording);
}

// A second run into a recording in use is refused and leaves it unchanged.
static void one_run_at_a_time(void** state) {
  command_result r = command_run(
      *state, "sh", "",
      "-c '\"$0\" run \"$1\" --dt 0.0001 --duration 1000 --record busy.h5 > busy.txt 2>&1 & "
      "child=$!;"
      " while kill -0 $child 2>/dev/null && [ $(stat -c %s busy.h5 2>/dev/null || echo 0) -lt "
      "200000 ]; do sleep 0.05; done;"
      " \"$0\" run \"$1\" --record busy.h5; echo second $?;"
      " kill -INT $child; wait $child; echo first $?' '" SAPSTEP_PROGRAM "' " BOX);
  assert_non_null(strstr(r.out, "second 3\nfirst 1\n"));
  assert_non_null(strstr(r.err, "cannot write the recording 'busy.h5': Device or resource busy"));
  command_clear(&r);
  char path[SCRATCH_PATH_SIZE];
  sap_recording* recording = NULL;
  assert_int_equal(sap_recording_open(scratch_path(*state, "busy.h5", path), &recording, NULL),
                   SAP_STATUS_OK);
  assert_true(sap_recording_rows(recording) > 200);
  sap_recording_close(recording);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(recording_equals_trajectory), TEST(h5py_reads_it),
      TEST(failures_are_told),           TEST(truncations_are_told),
      TEST(a_killed_run_is_readable),    TEST(one_run_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
