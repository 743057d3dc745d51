// SPDX-License-Identifier: BSD-3-Clause
// sapstep solve: results, outputs, exit codes, and nothing written when something is wrong.
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

#include "support/command.h"
#include "support/near.h"
#include "support/problem_files.h"

static const char* const program = SAPSTEP_PROGRAM;

// A point of 2 kg that hits the ground with 1 m/s; Rn = 1/2, v_hat = 0:
//   2 (v + 1) = -v/Rn  ->  v = -1/2 m/s, gamma = 1 N s, l = 2/2 (1/2)^2 + Rn/2 1^2 = 1/2 J
#define HEAD "sapstep_problem 1\n0.01 1\n"
#define MASS "3 2 0 0 0 2 0 0 0 2\n"
#define VELOCITIES "0 0 -1\n0 0 -1\n"
#define CONTACT "0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n"
static const char falling[] = HEAD MASS VELOCITIES "1\n" CONTACT;
static const char resting[] = HEAD MASS "0 0 0\n0 0 0\n1\n" CONTACT;

static void test_formats(void** state) {
  scratch* s = *state;
  problem_text_put(s, "a b.problem", falling);
  problem_text_put(s, "free.problem", HEAD MASS VELOCITIES "0\n");
  command_result r = command_run(
      s, program, "", "solve --tolerance 1e-12 --format json 'a b.problem' free.problem");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out,
                         "[\n{\"file\": \"a b.problem\", \"nv\": 3, \"nc\": 1, "
                         "\"outcome\": \"converged"));
  ASSERT_NEAR(json_member(r.out, "cost_J"), 0.5, 1e-14);  // by hand, to a few eps
  assert_true(json_member(r.out, "momentum_error") <= 1e-12);
  assert_true(json_member(r.out, "row") <= 1e-12 && json_member(r.out, "row_mps") <= 1e-12);
  assert_true(json_member(r.out, "tree") <= 1e-12 && json_member(r.out, "tree_mps") <= 1e-12);
  assert_true(json_member(r.out, "iterations") >= 1);
  assert_true(json_member(r.out, "time_us") > 0);
  assert_non_null(strstr(r.out, "{\"file\": \"free.problem\", \"nv\": 3, \"nc\": 0, "));
  command_clear(&r);

  r = command_run(s, program, "", "solve --format csv free.problem");
  assert_int_equal(r.exit_code, 0);
  static const char header[] =
      "file,nv,nc,outcome,iterations,cost_J,momentum_error,row,row_mps,tree,tree_mps,time_us\n"
      "free.problem,3,0,";
  assert_memory_equal(r.out, header, sizeof header - 1);
  command_clear(&r);

  r = command_run(s, program, "", "solve --repeat 3 'a b.problem' free.problem");
  assert_int_equal(r.exit_code, 0);
  const char* first = strchr(r.out, '\n');
  assert_non_null(first);
  const char* second = strchr(first + 1, '\n');
  assert_non_null(second);
  assert_memory_equal(r.out, "file ", 5);
  // columns are aligned: all lines are equally long, numbers are right-aligned
  assert_int_equal(second - first - 1, first - r.out);
  assert_int_equal(strlen(second + 1), second - first);
  command_clear(&r);
}

// Names that JSON and CSV must escape.
static void test_file_names(void** state) {
  scratch* s = *state;
  problem_text_put(s, "a\"b\\c,\n\x01\xff.problem", falling);
  problem_text_put(s, "gr\xc3\xbc\xc3\x9f.problem", falling);
  command_result r = command_run(s, program, "", "solve --format json *.problem");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out, "\"a\\\"b\\\\c,\\u000a\\u0001\\ufffd.problem\""));
  assert_non_null(strstr(r.out, "\"gr\xc3\xbc\xc3\x9f.problem\""));
  command_clear(&r);
  r = command_run(s, program, "", "solve --format csv *.problem");
  assert_int_equal(r.exit_code, 0);
  assert_non_null(strstr(r.out, "\n\"a\"\"b\\c,\n\x01\xff.problem\",3,"));
  command_clear(&r);
}

static void test_output(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  double v[3], r[3], cost;
  problem_text_put(s, "a.problem", falling);
  (void)scratch_write(s, "old", "left from before", 16, path);
  command_expect(s, program, "solve --tolerance 1e-12 --output old a.problem", 0, NULL);
  assert_int_equal(scratch_count(s), 2);
  assert_int_equal(problem_file_numbers(path, "solution/v", 3, v), 3);
  assert_int_equal(problem_file_numbers(path, "solution/r", 3, r), 3);
  assert_int_equal(problem_file_numbers(path, "sapstep/solution_cost", 1, &cost), 1);
  ASSERT_NEAR(cost, 0.5, 1e-14);
  ASSERT_NEAR(v[2], -0.5, 1e-12);
  ASSERT_NEAR(r[0], 1.0, 1e-12);  // N T1 T2
  ASSERT_NEAR(r[1], 0.0, 1e-12);
  command_expect(s, program, "solve --output new old >/dev/null", 0, NULL);  // its problem
  command_expect(s, program, "solve --output new a.problem a.problem", 2, "one FILE");
  command_result r2 = command_run(s, program, "", "solve --output /dev/stdout a.problem | head -1");
  assert_memory_equal(r2.out, "file ", 5);
  command_clear(&r2);
}

static void test_not_converged(void** state) {
  scratch* s = *state;
  problem_text_put(s, "a.problem", falling);
  problem_text_put(s, "b.problem", resting);
  command_result r =
      command_run(s, program, "", "solve --max-iterations 0 --format csv a.problem b.problem");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.out, "a.problem,3,1,iteration_limit,0,"));
  assert_non_null(strstr(r.out, "b.problem,3,1,converged,0,"));
  command_clear(&r);
  command_expect(s, program, "solve --max-iterations 0 --output x a.problem", 1, NULL);
  assert_int_equal(scratch_count(s), 3);  // all is written
}

static void test_options_reach_the_solver(void** state) {
  scratch* s = *state;
  problem_text_put(s, "a.problem", falling);
  static const char* const variants[] = {
      "--line-search backtracking",
      "--line-search exact",
      "--linear-solver dense",
      "--linear-solver block",
      "--linear-solver sparse",
      "--linear-solver=auto",
      "--islands off",
      "--check-input no",
      "--absolute-tolerance 1e-3",
      "--solver sap",
  };
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; ++i) {
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments, "solve %s --format json a.problem", variants[i]);
    command_result r = command_run(s, program, "", arguments);
    if (r.exit_code != 0) {
      fail_msg("%s: %s", arguments, r.err);
    }
    ASSERT_NEAR(json_member(r.out, "cost_J"), 0.5, 1e-5);
    command_clear(&r);
  }
  // a tolerance that the guess meets ends at once
  command_result r = command_run(s, program, "", "solve --tolerance 1 --format json a.problem");
  assert_int_equal((int)json_member(r.out, "iterations"), 0);
  command_clear(&r);
}

// The reader's own tests cover each mistake; here the exit code and that nothing is written.
static void test_wrong_files(void** state) {
  static const struct {
    const char *before, *message;
  } wrong[] = {
      {": > x.problem;", "x.problem: not an HDF5 file"},
      {"echo sapstep_problem 1 > x.problem;", "x.problem:1: the file ends where dt"},
      {"head -c 1000 good.problem > x.problem;", "x.problem: not an HDF5 file, or truncated"},
      {"rm -f x.problem;", "cannot read 'x.problem': No such file or directory"},
      {"mkdir x.problem;", "cannot read 'x.problem': Is a directory"},
  };
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  problem_text_put(s, "good.problem", falling);
  (void)scratch_write(s, "out", "left from before", 16, path);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    command_expect_after(s, program, wrong[i].before, "solve --output out x.problem", 3,
                         wrong[i].message);
    command_expect(s, program, "solve good.problem x.problem", 3, wrong[i].message);
    char* content = scratch_read(path, NULL);
    assert_string_equal(content, "left from before");
    free(content);
  }
  problem_text_put(s, "huge.problem", HEAD MASS "0 0 -1e200\n0 0 -1e200\n1\n" CONTACT);
  command_expect(s, program, "solve --output out huge.problem", 3, "huge.problem: cost overflows");
}

static void test_unwritable_output(void** state) {
  scratch* s = *state;
  problem_text_put(s, "a.problem", falling);
  command_expect(s, program, "solve --output no/such/folder a.problem", 3,
                 "cannot write 'no/such/folder': No such file or directory");
  command_expect(s, program, "solve --output . a.problem", 3, "cannot write '.': Is a directory");
  command_expect(s, program, "solve --output '' a.problem", 3, "cannot write ''");
  command_expect(s, program, "solve --output a.problem/x a.problem", 3, "Not a directory");
  assert_int_equal(scratch_count(s), 1);
}

static void test_full_disk(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  problem_text_put(s, "a.problem", falling);
  (void)scratch_write(s, "out", "left from before", 16, path);
  if (access("/dev/full", W_OK) == 0) {
    command_result r = command_run(s, program, "", "solve --output /dev/full a.problem");
    assert_int_equal(r.exit_code, 3);
    assert_non_null(strstr(r.err, "cannot write '/dev/full': No space left on device"));
    command_clear(&r);
    // results that cannot be printed keep the output from appearing
    command_expect(s, program, "solve --output out a.problem > /dev/full", 3, "standard output");
  }
  command_result r =  // no file may grow beyond one block
      command_run(s, program, "ulimit -f 1;", "solve --output out a.problem | cat");
  assert_non_null(strstr(r.err, "out': File too large"));
  command_clear(&r);
  char* content = scratch_read(path, NULL);
  assert_string_equal(content, "left from before");
  free(content);
  assert_int_equal(scratch_count(s), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_formats, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_file_names, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_output, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_not_converged, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_options_reach_the_solver, scratch_setup,
                                      scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_files, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_unwritable_output, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_full_disk, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
