// SPDX-License-Identifier: BSD-3-Clause
// Malformed FCLIB files: a status, a message that names the dataset, the problem left empty.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/hdf5_write.h"
#include "support/problem_files.h"
#include "support/scratch.h"

static void write_good(const char* path) {
  static const double W[9] = {2, 0, 0, 0, 3, 0, 0, 0, 4}, q[3] = {-1, 0, 0}, mu = 0.5;
  hdf5_write_close(hdf5_write_local(path, 3, W, q, &mu, HDF5_WRITE_COLUMNS));
}

static sap_status read_file(const char* path, sap_error* error) {
  sap_problem* problem = NULL;
  assert_int_equal(sap_problem_create(&problem, error), SAP_STATUS_OK);
  const sap_status status = problem_file_read(path, problem, error);
  sap_problem_destroy(problem);
  return status;
}

// One dataset of a good file made wrong.
typedef struct mutation {
  const char* name;
  sap_status status;
  int count;  // reals or integers; 0: the dataset is removed; -1: text; -2: a group in its place
  bool integers;
  double values[4];
} mutation;

static const mutation mutations[] = {
    {"fclib_local/W", SAP_STATUS_SYNTAX, 0, false, {0}},
    {"fclib_local/W/x", SAP_STATUS_SYNTAX, 0, false, {0}},
    {"fclib_local/W/x", SAP_STATUS_SYNTAX, 2, false, {1, 2}},
    {"fclib_local/W/x", SAP_STATUS_NOT_FINITE, 3, false, {1, (double)NAN, 1}},
    {"fclib_local/W/x", SAP_STATUS_SYNTAX, -1, false, {0}},
    {"fclib_local/W/x", SAP_STATUS_SYNTAX, -2, false, {0}},
    {"fclib_local/W/p", SAP_STATUS_SYNTAX, 4, false, {0, 1, 2, 3}},
    {"fclib_local/W", SAP_STATUS_SYNTAX, 1, false, {0}},
    {"fclib_local/vectors/q", SAP_STATUS_SYNTAX, -2, false, {0}},
    {"fclib_local/vectors/mu", SAP_STATUS_SYNTAX, -2, false, {0}},
    {"fclib_local/spacedim", SAP_STATUS_SYNTAX, -1, false, {0}},
    {"fclib_local/W/m", SAP_STATUS_SYNTAX, 1, true, {6}},
    {"fclib_local/W/n", SAP_STATUS_SYNTAX, 1, true, {-3}},
    {"fclib_local/W/nz", SAP_STATUS_SYNTAX, 1, true, {-3}},
    {"fclib_local/W/nz", SAP_STATUS_SYNTAX, 1, true, {9}},
    {"fclib_local/W/i", SAP_STATUS_SYNTAX, 3, true, {0, 1, 3}},
    {"fclib_local/W/i", SAP_STATUS_SYNTAX, 3, true, {0, -1, 2}},
    {"fclib_local/W/p", SAP_STATUS_SYNTAX, 4, true, {0, 2, 1, 3}},
    {"fclib_local/W/p", SAP_STATUS_SYNTAX, 4, true, {1, 1, 2, 3}},
    {"fclib_local/W/p", SAP_STATUS_SYNTAX, 4, true, {0, 1, 2, 9}},
    {"fclib_local/W/p", SAP_STATUS_SYNTAX, 3, true, {0, 1, 2}},
    {"fclib_local/vectors/q", SAP_STATUS_SYNTAX, 2, false, {1, 2}},
    {"fclib_local/vectors/q", SAP_STATUS_NOT_FINITE, 3, false, {1, 2, (double)INFINITY}},
    {"fclib_local/vectors/mu", SAP_STATUS_SYNTAX, 1, false, {-0.1}},
    {"fclib_local/vectors/mu", SAP_STATUS_NOT_FINITE, 1, false, {(double)NAN}},
    {"fclib_local/vectors/mu", SAP_STATUS_SYNTAX, 0, false, {0}},
    {"fclib_local/vectors/R", SAP_STATUS_SYNTAX, 3, false, {1, 1, 2}},
    {"fclib_local/vectors/R", SAP_STATUS_SYNTAX, 3, false, {-1, 1, 1}},
    {"fclib_local/spacedim", SAP_STATUS_SYNTAX, 1, true, {2}},
    {"sapstep/dt", SAP_STATUS_SYNTAX, 1, false, {0}},
};

static void apply(const char* path, const mutation* m) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  int32_t integers[4];
  for (int i = 0; i < 4; ++i) {
    integers[i] = m->integers ? (int32_t)m->values[i] : 0;
  }
  if (m->count == 0) {
    hdf5_write_remove(file, m->name);
  } else if (m->count == -1) {
    hdf5_write_text(file, m->name, "text");
  } else if (m->count == -2) {
    char inside[128];
    hdf5_write_remove(file, m->name);
    (void)snprintf(inside, sizeof inside, "%s/inside", m->name);
    hdf5_write_reals(file, inside, 1, m->values);
  } else if (m->integers) {
    hdf5_write_integers(file, m->name, m->count, integers);
  } else {
    hdf5_write_reals(file, m->name, m->count, m->values);
  }
  hdf5_write_close(file);
}

static void test_mutations(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "bad.hdf5", name);
  sap_error error = {0};
  write_good(path);
  assert_int_equal(read_file(path, &error), SAP_STATUS_OK);
  for (size_t i = 0; i < sizeof mutations / sizeof *mutations; ++i) {
    const mutation* m = &mutations[i];
    write_good(path);
    apply(path, m);
    // of a matrix another part may be the one that does not fit
    char part[64];
    (void)snprintf(part, sizeof part, "%s", m->name);
    if (strncmp(part, "fclib_local/W/", 14) == 0) {
      part[14] = '\0';
    }
    if (read_file(path, &error) != m->status || strstr(error.message, path) == NULL ||
        strstr(error.message, part) == NULL) {
      fail_msg("%zu, %s: %s", i, m->name, error.message);
    }
  }
  scratch_end(&s);
}

// Every length of the file that is cut off, and what is no HDF5 at all.
static void test_cut_off_and_text(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "whole.hdf5", name);
  sap_error error = {0};
  write_good(path);
  size_t size = 0;
  char* bytes = scratch_read(path, &size);
  assert_non_null(bytes);
  for (size_t cut = 0; cut < size; cut += 97) {
    (void)scratch_write(&s, "cut.hdf5", bytes, cut, name);
    assert_int_equal(read_file(name, &error), SAP_STATUS_SYNTAX);
    assert_non_null(strstr(error.message, "cut.hdf5"));
  }
  free(bytes);
  static const char text[] = "contact problem 1\n";
  (void)scratch_write(&s, "text.h5", text, sizeof text - 1, name);
  assert_int_equal(read_file(name, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "not an HDF5 file"));
  assert_int_equal(read_file("/nowhere/problem.hdf5", &error), SAP_STATUS_IO);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations),
                                     cmocka_unit_test(test_cut_off_and_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
