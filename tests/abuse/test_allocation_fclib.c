// SPDX-License-Identifier: BSD-3-Clause
// FCLIB files, local and global, read and written when memory runs out at any allocation of ours:
// the call says so, nothing leaks, no file appears.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/hdf5_write.h"
#include "support/heap_count.h"
#include "support/problem_files.h"
#include "support/scratch.h"

static void write_local(const char* path) {
  static const double W[36] = {2, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0,
                               1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4};
  static const double q[6] = {-1, 0, 1, -2, 0, 0}, mu[2] = {0.5, 0.25};
  static const double V[6] = {1, 2, 3, 4, 5, 6}, S = 2, s = 1;
  const hid_t file = hdf5_write_local(path, 6, W, q, mu, HDF5_WRITE_TRIPLETS);
  hdf5_write_matrix(file, "fclib_local/V", 6, 1, V, HDF5_WRITE_ROWS);
  hdf5_write_matrix(file, "fclib_local/R", 1, 1, &S, HDF5_WRITE_COLUMNS);
  hdf5_write_reals(file, "fclib_local/vectors/s", 1, &s);
  hdf5_write_close(file);
}

static void write_global(const char* path) {
  static const double M[9] = {2, 0, 0, 0, 3, 0, 0, 0, 4}, H[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const double G[3] = {0, 1, 0}, b = 0.5, f[3] = {-1, 2, 3}, w[3] = {0, 0, 0.5}, mu = 0.5;
  const hid_t file = hdf5_write_create(path);
  hdf5_write_integer(file, "fclib_global/spacedim", 3);
  hdf5_write_matrix(file, "fclib_global/M", 3, 3, M, HDF5_WRITE_COLUMNS);
  hdf5_write_matrix(file, "fclib_global/H", 3, 3, H, HDF5_WRITE_TRIPLETS);
  hdf5_write_matrix(file, "fclib_global/G", 3, 1, G, HDF5_WRITE_ROWS);
  hdf5_write_reals(file, "fclib_global/vectors/f", 3, f);
  hdf5_write_reals(file, "fclib_global/vectors/w", 3, w);
  hdf5_write_reals(file, "fclib_global/vectors/b", 1, &b);
  hdf5_write_reals(file, "fclib_global/vectors/mu", 1, &mu);
  hdf5_write_close(file);
}

static void check_reading(void (*make)(const char* path)) {
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  make(scratch_path(&s, "a.hdf5", path));
  int64_t count = 0;
  for (bool failed = true; failed; ++count) {
    const int64_t live = heap_live();
    sap_problem* problem;
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    heap_fail_at(count);
    const sap_status status = problem_file_read(path, problem, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    if (status != (failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK)) {
      fail_msg("allocation %ld: %s", (long)count, error.message);
    }
    sap_problem_destroy(problem);
    assert_int_equal(heap_live(), live);
  }
  assert_true(count > 30);  // many places were tried
  scratch_end(&s);
}

static void test_local(void** state) {
  (void)state;
  check_reading(write_local);
}

static void test_global(void** state) {
  (void)state;
  check_reading(write_global);
}

static void test_writing(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_problem* problem;
  sap_solution solution = {0};
  scratch_begin(&s);
  write_global(scratch_path(&s, "a.hdf5", path));
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(problem_file_read(path, problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solution_resize(&solution, 3, 4, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 4; ++i) {
    solution.v[i < 3 ? i : 0] = solution.gamma[i] = solution.vc[i] = i;
  }
  solution.cost = 0.0;
  scratch_path(&s, "b.hdf5", path);
  int64_t count = 0;
  for (bool failed = true; failed; ++count) {
    const int64_t live = heap_live();
    sap_error error = {0};
    heap_fail_at(count);
    const sap_status status = sap_problem_file_write(path, problem, &solution, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    if (status != (failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK)) {
      fail_msg("allocation %ld: %s", (long)count, error.message);
    }
    assert_int_equal(scratch_count(&s), failed ? 1 : 2);
    assert_int_equal(heap_live(), live);
  }
  assert_true(count > 5);
  sap_solution_clear(&solution);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_local),
      cmocka_unit_test(test_global),
      cmocka_unit_test(test_writing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
