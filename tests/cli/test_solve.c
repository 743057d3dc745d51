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

#include <sapstep/problem_file.h>

#include "support/command.h"
#include "support/near.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;

// A point of 2 kg that hits the ground with 1 m/s; Rn = 1/2, v_hat = 0:
//   2 (v + 1) = -v/Rn  ->  v = -1/2 m/s, gamma = 1 N s, l = 2/2 (1/2)^2 + Rn/2 1^2 = 1/2 J
#define HEAD "sapstep_problem 1\n0.01 1\n"
#define MASS "3 2 0 0 0 2 0 0 0 2\n"
#define VELOCITIES "0 0 -1\n0 0 -1\n"
#define CONTACT "0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n"
static const char falling[] = HEAD MASS VELOCITIES "1\n" CONTACT;
static const char resting[] = HEAD MASS "0 0 0\n0 0 0\n1\n" CONTACT;

static void put(scratch* s, const char* name, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, name, text, strlen(text), path);
}

static void test_formats(void** state) {
  scratch* s = *state;
  put(s, "a b.problem", falling);
  put(s, "two.problem", HEAD MASS VELOCITIES "1\n" CONTACT HEAD MASS VELOCITIES "0\n");
  command_result r = command_run(s, program, "",
                                 "solve --tolerance 1e-12 --format json 'a b.problem' two.problem");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out,
                         "[\n{\"file\": \"a b.problem\", \"index\": 0, \"nv\": 3, \"nc\": 1, "
                         "\"outcome\": \"converged"));
  ASSERT_NEAR(json_member(r.out, "cost"), 0.5, 1e-14);  // by hand, to a few eps
  assert_true(json_member(r.out, "momentum_error") <= 1e-12);
  assert_true(json_member(r.out, "row") <= 1e-12 && json_member(r.out, "row_m_s") <= 1e-12);
  assert_true(json_member(r.out, "tree") <= 1e-12 && json_member(r.out, "tree_m_s") <= 1e-12);
  assert_true(json_member(r.out, "iterations") >= 1);
  assert_true(json_member(r.out, "time_us") > 0);
  assert_non_null(
      strstr(r.out, "{\"file\": \"two.problem\", \"index\": 1, \"nv\": 3, \"nc\": 0, "));
  command_clear(&r);

  r = command_run(s, program, "", "solve --format csv two.problem");
  assert_int_equal(r.exit_code, 0);
  static const char header[] =
      "file,index,nv,nc,outcome,iterations,cost,momentum_error,row,row_m_s,tree,tree_m_s,time_us\n"
      "two.problem,0,3,1,";
  assert_memory_equal(r.out, header, sizeof header - 1);
  assert_non_null(strstr(r.out, "\ntwo.problem,1,3,0,"));
  command_clear(&r);

  r = command_run(s, program, "", "solve --repeat 3 two.problem");
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
  put(s, "a\"b\\c,\n\x01\xff.problem", falling);
  put(s, "gr\xc3\xbc\xc3\x9f.problem", falling);
  command_result r = command_run(s, program, "", "solve --format json *.problem");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out, "\"a\\\"b\\\\c,\\u000a\\u0001\\ufffd.problem\""));
  assert_non_null(strstr(r.out, "\"gr\xc3\xbc\xc3\x9f.problem\""));
  command_clear(&r);
  r = command_run(s, program, "", "solve --format csv *.problem");
  assert_int_equal(r.exit_code, 0);
  assert_non_null(strstr(r.out, "\n\"a\"\"b\\c,\n\x01\xff.problem\",0,"));
  command_clear(&r);
}

static void read_solution(const char* path, sap_solution* solution) {
  sap_solution_reader* reader;
  bool found;
  assert_int_equal(sap_solution_reader_open(path, &reader, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solution_reader_next(reader, solution, &found, NULL), SAP_STATUS_OK);
  assert_true(found);
  sap_solution_reader_close(reader);
}

static void test_output(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  put(s, "a.problem", falling);
  put(s, "old", "left from before");
  command_expect(s, program, "solve --tolerance 1e-12 --output old a.problem", 0, NULL);
  assert_int_equal(scratch_count(s), 2);
  sap_solution solution = {0};
  read_solution(scratch_path(s, "old", path), &solution);
  assert_int_equal(solution.nv, 3);
  assert_int_equal(solution.nrows, 3);
  ASSERT_NEAR(solution.cost, 0.5, 1e-14);
  ASSERT_NEAR(solution.v[2], -0.5, 1e-12);
  ASSERT_NEAR(solution.gamma[2], 1.0, 1e-12);
  ASSERT_NEAR(solution.gamma[0], 0.0, 1e-12);
  sap_solution_clear(&solution);
  command_result r =
      command_run(s, program, "", "solve --output /dev/stdout a.problem a.problem | grep -c cost");
  assert_string_equal(r.out, "3\n");  // the table's header and two solutions
  command_clear(&r);
}

static void test_not_converged(void** state) {
  scratch* s = *state;
  put(s, "a.problem", falling);
  put(s, "b.problem", resting);
  command_result r = command_run(
      s, program, "", "solve --max-iterations 0 --output x --format csv a.problem b.problem");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.out, "a.problem,0,3,1,iteration_limit,0,"));
  assert_non_null(strstr(r.out, "b.problem,0,3,1,converged,0,"));
  command_clear(&r);
  assert_int_equal(scratch_count(s), 3);  // all is written
}

static void test_options_reach_the_solver(void** state) {
  scratch* s = *state;
  put(s, "a.problem", falling);
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
    ASSERT_NEAR(json_member(r.out, "cost"), 0.5, 1e-5);
    command_clear(&r);
  }
  // a tolerance that the guess meets ends at once
  command_result r = command_run(s, program, "", "solve --tolerance 1 --format json a.problem");
  assert_int_equal((int)json_member(r.out, "iterations"), 0);
  command_clear(&r);
}

typedef struct wrong_file {
  const char *text, *message;
} wrong_file;

// The reader's own tests cover each mistake; here the exit code and that nothing is written.
static const wrong_file wrong_files[] = {
    {"", "x.problem:1: the file is empty"},
    {"\x7f"
     "ELF\x01\x02\x03\n",
     "is not text"},
    {"rubbish\n", "x.problem:1: expected 'sapstep_problem 1', found 'rubbish'"},
    {HEAD "3 2 0 0 0 2 0 0 0\n" VELOCITIES "0\n", "x.problem:3: tree 0 of size 3 needs 9 numbers"},
    {HEAD MASS VELOCITIES "2\n" CONTACT, "the file ends where contact 1 of 2"},
    {HEAD MASS VELOCITIES "0\n" CONTACT, "x.problem:7: expected 'sapstep_problem 1' or the end"},
    {HEAD MASS VELOCITIES "1\n5 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n",
     "x.problem:7: contact 0 of 1: treeA = 5 is out of range"},
    {HEAD MASS VELOCITIES "1\n0 -1 -1 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n", "friction = -1"},
    {HEAD MASS "0 0 nan\n0 0 0\n0\n", "x.problem:4: v_star: number 3, 'nan', is not finite"},
    {HEAD "3 2 0 1 0 2 0 0 0 2\n" VELOCITIES "0\n", "x.problem:3: A of tree 0 is not symmetric"},
    {HEAD "3 2 0 3 0 2 0 3 0 2\n" VELOCITIES "0\n",
     "x.problem:3: A of tree 0 is not positive definite"},
    {"sapstep_problem 1\n0 1\n" MASS VELOCITIES "0\n", "x.problem:2: dt = 0 must be > 0 s"},
    {"sapstep_problem 1\n-1 1\n" MASS VELOCITIES "0\n", "x.problem:2: dt = -1 must be > 0 s"},
    {HEAD MASS VELOCITIES "1\n0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0", "x.problem:7: "},
    {HEAD MASS "0 0 -1e200\n0 0 -1e200\n1\n" CONTACT, "x.problem: problem 0: cost overflows"},
};

static void test_wrong_files(void** state) {
  scratch* s = *state;
  put(s, "good.problem", falling);
  put(s, "out", "left from before");
  char path[SCRATCH_PATH_SIZE];
  for (size_t i = 0; i < sizeof wrong_files / sizeof wrong_files[0]; ++i) {
    put(s, "x.problem", wrong_files[i].text);
    command_expect(s, program, "solve --output out good.problem x.problem", 3,
                   wrong_files[i].message);
    command_expect(s, program, "solve --output new x.problem good.problem", 3,
                   wrong_files[i].message);
    assert_int_equal(scratch_count(s), 3);
    char* content = scratch_read(scratch_path(s, "out", path), NULL);
    assert_string_equal(content, "left from before");
    free(content);
  }
  command_expect(s, program, "solve good.problem missing.problem", 3,
                 "cannot read 'missing.problem': No such file or directory");
  command_expect(s, program, "solve .", 3, "cannot read '.': Is a directory");
}

static void test_unwritable_output(void** state) {
  scratch* s = *state;
  put(s, "a.problem", falling);
  command_expect(s, program, "solve --output no/such/folder a.problem", 3,
                 "cannot write 'no/such/folder': No such file or directory");
  command_expect(s, program, "solve --output . a.problem", 3, "cannot write '.': Is a directory");
  command_expect(s, program, "solve --output '' a.problem", 3, "cannot write ''");
  command_expect(s, program, "solve --output a.problem/x a.problem", 3, "Not a directory");
  assert_int_equal(scratch_count(s), 1);
}

static void test_full_disk(void** state) {
  scratch* s = *state;
  put(s, "a.problem", falling);
  put(s, "out", "left from before");
  if (access("/dev/full", W_OK) == 0) {
    command_result r = command_run(s, program, "", "solve --output /dev/full a.problem");
    assert_int_equal(r.exit_code, 3);
    assert_non_null(strstr(r.err, "cannot write '/dev/full': No space left on device"));
    command_clear(&r);
    // results that cannot be printed keep the output from appearing
    command_expect(s, program, "solve --output out a.problem > /dev/full", 3, "standard output");
  }
  // no file may grow beyond one block, about eight solutions
  char arguments[2048] = "solve --output out";
  for (int i = 0; i < 100; ++i) {
    (void)strcat(arguments, " a.problem");
  }
  command_result r = command_run(s, program, "ulimit -f 1;", strcat(arguments, " | cat"));
  assert_non_null(strstr(r.err, "out': File too large"));
  command_clear(&r);
  char path[SCRATCH_PATH_SIZE];
  char* content = scratch_read(scratch_path(s, "out", path), NULL);
  assert_string_equal(content, "left from before");
  free(content);
  assert_int_equal(scratch_count(s), 2);
}

// Every file of real problems converges; with a small tolerance to the reference solution.
static void test_shared_files(void** state) {
  scratch* s = *state;
  static const char* const names[] = {"pizza_nofriction", "pizza_rigid", "pizza_sliding",
                                      "pizza_stiction",   "stack_1",     "rnd_8_24"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char arguments[1024], reference[SCRATCH_PATH_SIZE], path[SCRATCH_PATH_SIZE];
    (void)snprintf(reference, sizeof reference, "%s/data/contact-problems/%s.solution",
                   SAPSTEP_SHARED, names[i]);
    SKIP_WITHOUT(reference);
    (void)snprintf(arguments, sizeof arguments,
                   "solve --tolerance 1e-12 --output found '%s/data/contact-problems/%s.problem'",
                   SAPSTEP_SHARED, names[i]);
    command_expect(s, program, arguments, 0, NULL);
    sap_solution found = {0}, expected = {0};
    read_solution(scratch_path(s, "found", path), &found);
    read_solution(reference, &expected);
    assert_int_equal(found.nv, expected.nv);
    assert_int_equal(found.nrows, expected.nrows);
    double difference = 0.0, norm = 0.0;
    for (int32_t k = 0; k < found.nv; ++k) {
      difference = fmax(difference, fabs(found.v[k] - expected.v[k]));
      norm = fmax(norm, fabs(expected.v[k]));
    }
    ASSERT_NEAR(difference / norm, 0.0, 1e-8);  // asked for by the problem set
    sap_solution_clear(&found);
    sap_solution_clear(&expected);
  }
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
      cmocka_unit_test_setup_teardown(test_shared_files, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
