// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing problems when memory runs out at any allocation: the call says so, nothing
// leaks, no file appears.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/heap_count.h"
#include "support/problem_files.h"
#include "support/scratch.h"

static const char text[] =
    "sapstep_problem 1\n0.01 2\n2 4 1 1 3\n1 2.5\n1 -2 0.3\n0 0 0.5\n1\n"
    "1 0 0 1e-3 1e-3 0.25 0 0 -1 10 20 30 1 2 3 4 5 6\n";

static void test_reading(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "a", text, sizeof text - 1, path);
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
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_int_equal(error.status, status);
    sap_problem_destroy(problem);
    assert_int_equal(heap_live(), live);
  }
  assert_true(count > 10);  // many places were tried
  scratch_end(&s);
}

static void test_writing(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  scratch_write(&s, "a", text, sizeof text - 1, path);
  assert_int_equal(problem_file_read(path, problem, NULL), SAP_STATUS_OK);
  scratch_path(&s, "b", path);
  int64_t count = 0;
  for (bool failed = true; failed; ++count) {
    const int64_t live = heap_live();
    sap_error error = {0};
    heap_fail_at(count);
    const sap_status status = problem_file_write(path, problem, NULL, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_int_equal(scratch_count(&s), failed ? 1 : 2);
    assert_int_equal(heap_live(), live);
  }
  assert_true(count > 2);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reading),
      cmocka_unit_test(test_writing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
