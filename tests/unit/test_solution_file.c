// SPDX-License-Identifier: BSD-3-Clause
// Solutions as text: the format, the round trip, and what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/scratch.h"

static void write_solution(const char* path, const sap_solution* solutions, int count) {
  sap_problem_writer* writer;
  assert_int_equal(sap_problem_writer_open(path, &writer, NULL), SAP_STATUS_OK);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(sap_problem_writer_solution(writer, &solutions[i], NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_writer_commit(writer, NULL), SAP_STATUS_OK);
  sap_problem_writer_close(writer);
}

static void test_round_trip(void** state) {
  (void)state;
  double v[3] = {1.0 / 3.0, -0.0, 4.9406564584124654e-324};
  double gamma[3] = {-1.7976931348623157e308, 2e-17, 0.1};
  const sap_solution written[2] = {
      {.nv = 3, .nrows = 3, .v = v, .gamma = gamma, .cost = 1.0 / 7.0},
      {.nv = 1, .nrows = 0, .v = v, .gamma = NULL, .cost = 0.0},  // no constraint
  };
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  write_solution(scratch_path(&s, "a", path), written, 2);
  char* content = scratch_read(path, NULL);
  assert_string_equal(content,
                      "sapstep_solution 1\n"
                      "cost 0.14285714285714285\n"
                      "v 0.33333333333333331 -0 4.9406564584124654e-324\n"
                      "gamma -1.7976931348623157e+308 2.0000000000000001e-17 0.10000000000000001\n"
                      "sapstep_solution 1\ncost 0\nv 0.33333333333333331\ngamma\n");
  free(content);
  sap_solution_reader* reader;
  sap_solution read = {0};
  bool found;
  assert_int_equal(sap_solution_reader_open(path, &reader, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(sap_solution_reader_next(reader, &read, &found, NULL), SAP_STATUS_OK);
    assert_true(found);
    assert_int_equal(read.nv, written[i].nv);
    assert_int_equal(read.nrows, written[i].nrows);
    assert_memory_equal(&read.cost, &written[i].cost, sizeof read.cost);
    assert_memory_equal(read.v, v, (size_t)read.nv * sizeof *v);
    for (int32_t k = 0; k < read.nrows; ++k) {
      assert_memory_equal(&read.gamma[k], &gamma[k], sizeof *gamma);
      assert_true(read.vc[k] == 0.0);
    }
  }
  assert_int_equal(sap_solution_reader_next(reader, &read, &found, NULL), SAP_STATUS_OK);
  assert_false(found);
  sap_solution_reader_close(reader);
  sap_solution_clear(&read);
  scratch_end(&s);
}

static void test_refused(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "s:1: the file is empty"},
      {"sapstep_problem 1\n", "s:1: expected 'sapstep_solution 1'"},
      {"sapstep_solution 1\n", "s:1: the file ends where the line 'cost' should follow"},
      {"sapstep_solution 1\ncost\n", "s:2: the line 'cost' needs 1 numbers, found 0"},
      {"sapstep_solution 1\ncost 1 2\n", "s:2: the line 'cost' needs 1 numbers, found 2"},
      {"sapstep_solution 1\nprice 1\n", "s:2: expected 'cost', found 'price'"},
      {"sapstep_solution 1\ncosts 1\n", "s:2: expected 'cost', found 'costs'"},
      {"sapstep_solution 1\ncost 1\nv 1 nan\n",
       "s:3: the line 'v': number 2, 'nan', is not finite"},
      {"sapstep_solution 1\ncost 1\nv 1\n", "the file ends where the line 'gamma'"},
      {"sapstep_solution 1\ncost 1\nv 1\ngamma 1 x\n", "s:4: the line 'gamma': number 2, 'x'"},
      {"sapstep_solution 1\ncost 1\nv 1\ngamma 1", "s:4: the file ends within the line 'gamma'"},
      {"sapstep_solution 1\ncost 1\nv 1\ngamma 1\njunk\n", "s:5: expected 'sapstep_solution 1' or"},
  };
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    scratch_write(&s, "s", cases[i].text, strlen(cases[i].text), path);
    sap_solution_reader* reader;
    sap_solution solution = {0};
    sap_error error = {0};
    bool found = true;
    sap_status status = sap_solution_reader_open(path, &reader, NULL);
    while (status == SAP_STATUS_OK && found) {
      status = sap_solution_reader_next(reader, &solution, &found, &error);
    }
    assert_false(found);
    if (status == SAP_STATUS_OK || strstr(error.message, cases[i].message) == NULL) {
      fail_msg("expected '%s', found '%s'", cases[i].message, error.message);
    }
    sap_solution_reader_close(reader);
    sap_solution_clear(&solution);
  }
  scratch_end(&s);
}

// A number that is not finite is not written, and what was written before can be committed.
static void test_writer_refuses(void** state) {
  (void)state;
  double v[1] = {1.0}, bad[1] = {(double)NAN};
  const sap_solution good = {.nv = 1, .v = v, .cost = 2.0};
  const sap_solution wrong = {.nv = 1, .v = bad, .cost = 2.0};
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem_writer* writer;
  sap_error error = {0};
  assert_int_equal(sap_problem_writer_open(scratch_path(&s, "a", path), &writer, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_solution(writer, &good, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_solution(writer, &wrong, &error), SAP_STATUS_NOT_FINITE);
  assert_non_null(strstr(error.message, "v[0]"));
  assert_int_equal(sap_problem_writer_commit(writer, NULL), SAP_STATUS_OK);
  sap_problem_writer_close(writer);
  char* content = scratch_read(path, NULL);
  assert_string_equal(content, "sapstep_solution 1\ncost 2\nv 1\ngamma\n");
  free(content);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_writer_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
