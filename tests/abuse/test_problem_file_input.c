// SPDX-License-Identifier: BSD-3-Clause
// Wrong problem and solution files: every one is refused with its line and what is wrong, and no
// mutation of a good file crashes the reader or lets a number that is not finite through.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/scratch.h"

// One line per entry; a case replaces one of them.
static const char* const good[] = {
    "sapstep_problem 1",
    "0.01 2",
    "2 4 1 1 3",
    "1 2.5",
    "1 -2 0.3",
    "0 0 0.5",
    "2",
    "1 -1 0.5 1e-3 1e-3 0.25 0.1 0.2 0.3 7 8 9",
    "1 0 0 1e-3 1e-3 0.25 0 0 -1 10 20 30 1 2 3 4 5 6",
};
enum { GOOD_LINES = sizeof good / sizeof good[0], TEXT_SIZE = 4096 };

typedef struct wrong_case {
  int line;  // the line that is replaced, from 1
  const char* text;
  int error_line;  // where the error must be reported
  sap_status status;
  const char* message;  // what it must say
} wrong_case;

static const wrong_case wrong_cases[] = {
    {1, "sapstep_problem 2", 1, SAP_STATUS_SYNTAX, "expected 'sapstep_problem 1'"},
    {1, "sapstep_solution 1", 1, SAP_STATUS_SYNTAX, "found 'sapstep_solution 1'"},
    {1,
     "\x7f"
     "ELF\x02\x01",
     1, SAP_STATUS_SYNTAX, "byte 0x7f is not text"},
    {2, "0 2", 2, SAP_STATUS_SYNTAX, "dt = 0 must be > 0"},
    {2, "-0.01 2", 2, SAP_STATUS_SYNTAX, "must be > 0"},
    {2, "nan 2", 2, SAP_STATUS_NOT_FINITE, "'nan', is not finite"},
    {2, "inf 2", 2, SAP_STATUS_NOT_FINITE, "is not finite"},
    {2, "0.01", 2, SAP_STATUS_SYNTAX, "needs 2 numbers, found 1"},
    {2, "0.01 2 3", 2, SAP_STATUS_SYNTAX, "needs 2 numbers, found 3"},
    {2, "0.01 0", 2, SAP_STATUS_SYNTAX, "ntrees = 0"},
    {2, "0.01 1.5", 2, SAP_STATUS_SYNTAX, "ntrees = 1.5"},
    {2, "0.01 1e12", 2, SAP_STATUS_SYNTAX, "ntrees = 1000000000000"},
    {2, "0.01 2147483647", 5, SAP_STATUS_SYNTAX, "tree 2 of size 1 needs 1"},
    {2, "0.01 3", 5, SAP_STATUS_SYNTAX, "tree 2 of size 1 needs 1 numbers for A, found 2"},
    {2, "0.01 1", 5, SAP_STATUS_SYNTAX, "v_guess needs 2 numbers, found 3"},
    {3, "2 4 1 1", 3, SAP_STATUS_SYNTAX, "tree 0 of size 2 needs 4 numbers for A, found 3"},
    {3, "2 4 1 1 3 9", 3, SAP_STATUS_SYNTAX, "needs 4 numbers for A, found 5"},
    {3, "2000000 4 1 1 3", 3, SAP_STATUS_SYNTAX, "needs 4000000000000 numbers"},
    {3, "2 4 1 2 3", 3, SAP_STATUS_NOT_SPD, "not symmetric, A(1,0) = 2, A(0,1) = 1"},
    {3, "2 4 1 1.000001 3", 3, SAP_STATUS_NOT_SPD, "not symmetric"},
    {3, "2 4 9 9 3", 3, SAP_STATUS_NOT_SPD, "tree 0 is not positive definite"},
    {3, "2 4 1 1 -3", 3, SAP_STATUS_NOT_SPD, "A(1,1) = -3"},
    {3, "2 0 0 0 0", 3, SAP_STATUS_NOT_SPD, "A(0,0) = 0"},
    {3, "2 4 NaN NaN 3", 3, SAP_STATUS_NOT_FINITE, "'NaN', is not finite"},
    {3, "2 4 1e999 1 3", 3, SAP_STATUS_NOT_FINITE, "'1e999', is not finite"},
    {4, "1 0x10", 4, SAP_STATUS_SYNTAX, "'0x10', is not a decimal number"},
    {4, "1 2.5junk", 4, SAP_STATUS_SYNTAX, "'2.5junk', is not a number"},
    {4, "1 2,5", 4, SAP_STATUS_SYNTAX, "'2,5', is not a number"},
    {4, "1 --2", 4, SAP_STATUS_SYNTAX, "is not a number"},
    {5, "1 -2", 5, SAP_STATUS_SYNTAX, "v_star needs 3 numbers, found 2"},
    {6, "0 0 0.5 1", 6, SAP_STATUS_SYNTAX, "v_guess needs 3 numbers, found 4"},
    {7, "-1", 7, SAP_STATUS_SYNTAX, "ncontacts = -1"},
    {7, "1", 9, SAP_STATUS_SYNTAX, "expected 'sapstep_problem 1' or the end"},
    {7, "3", 9, SAP_STATUS_SYNTAX, "the file ends where contact 2 of 3"},
    {7, "two", 7, SAP_STATUS_SYNTAX, "'two', is not a number"},
    {8, "2 -1 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_SYNTAX, "treeA = 2 is out of range"},
    {8, "-1 1 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_SYNTAX, "treeA = -1"},
    {8, "1 7 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_SYNTAX, "treeB = 7 is out of range"},
    {8, "1 -2 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_SYNTAX, "treeB = -2"},
    {8, "1 1 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9 7 8 9", 8, SAP_STATUS_SYNTAX, "are both 1"},
    {8, "0.5 -1 0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_SYNTAX, "treeA = 0.5"},
    {8, "1 -1 -0.5 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_ARGUMENT, "friction = -0.5"},
    {8, "1 -1 nan 1e-3 1e-3 0.25 0 0 0 7 8 9", 8, SAP_STATUS_NOT_FINITE, "number 3, 'nan'"},
    {8, "1 -1 0.5 1e-310 1e-310 1 0 0 0 7 8 9", 8, SAP_STATUS_ARGUMENT, "R = 1e-310"},
    {8, "1 -1 0.5 1e-3 1e-3 -1 0 0 0 7 8 9", 8, SAP_STATUS_ARGUMENT, "R = -1"},
    {8, "1 -1 0.5 1e-3 2e-3 1 0 0 0 7 8 9", 8, SAP_STATUS_ARGUMENT,
     "equal in all rows but the normal"},
    {8, "1 -1 0.5 1e-3 1e-3 0.25 0 0 0 7 8", 8, SAP_STATUS_SYNTAX,
     "needs 12 numbers for 3 rows, 15 for 4 or 21 for 6, found 11"},
    {8, "1 -1 0.5", 8, SAP_STATUS_SYNTAX, "found 3"},
    {9, "1 0 0 1e-3 1e-3 0.25 0 0 -1 10 20 30", 9, SAP_STATUS_SYNTAX,
     "needs 18 numbers for 3 rows, 23 for 4 or 33 for 6, found 12"},
    {9, "1 0 0 1e-3 1e-3 1 0 0 -1 10 20 30 1 2 3 4 5 6\nrest", 10, SAP_STATUS_SYNTAX,
     "or the end of the file, found 'rest'"},
    {9, "1 0 0 1e-3 1e-3 1 0 0 -1 10 20 30 1 2 3 4 5 6\nsapstep_problem 1", 10, SAP_STATUS_SYNTAX,
     "the file ends where"},
};

static size_t compose(char out[TEXT_SIZE], int replaced, const char* replacement) {
  size_t n = 0;
  for (int i = 0; i < GOOD_LINES; ++i) {
    const char* line = i + 1 == replaced ? replacement : good[i];
    const size_t length = strlen(line);
    memcpy(out + n, line, length);
    n += length;
    out[n++] = '\n';
  }
  return n;
}

// Reads problems until the end or the first error; `problem` holds the last one.
static sap_status read_until(const char* path, sap_problem* problem, sap_error* error) {
  sap_problem_reader* reader;
  sap_status status = sap_problem_reader_open(path, &reader, error);
  bool found = status == SAP_STATUS_OK;
  while (found) {
    status = sap_problem_reader_next(reader, problem, &found, error);
    if (status != SAP_STATUS_OK) {
      assert_false(found);
      // an error ends the reading
      assert_int_not_equal(sap_problem_reader_next(reader, problem, &found, NULL), SAP_STATUS_OK);
    }
  }
  sap_problem_reader_close(reader);
  return status;
}

static void test_wrong_problems(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  for (size_t i = 0; i < sizeof wrong_cases / sizeof wrong_cases[0]; ++i) {
    const wrong_case* c = &wrong_cases[i];
    char content[TEXT_SIZE], path[SCRATCH_PATH_SIZE], expected[SCRATCH_PATH_SIZE + 32];
    scratch_write(&s, "x.problem", content, compose(content, c->line, c->text), path);
    sap_problem* problem;
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    const sap_status status = read_until(path, problem, &error);
    (void)snprintf(expected, sizeof expected, "%s:%d: ", path, c->error_line);
    if (status != c->status || error.status != status ||
        strncmp(error.message, expected, strlen(expected)) != 0 ||
        strstr(error.message, c->message) == NULL) {
      fail_msg("'%s': expected %s...%s, found '%s'", c->text, expected, c->message, error.message);
    }
    assert_int_equal(sap_problem_tree_count(problem), 0);
    assert_int_equal(sap_problem_block_count(problem), 0);
    sap_problem_destroy(problem);
  }
  scratch_end(&s);
}

static void test_wrong_files(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE], binary[3000];
  sap_problem* problem;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(read_until(scratch_path(&s, "missing", path), problem, &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "missing': No such file"));
  assert_int_equal(read_until(s.folder, problem, &error), SAP_STATUS_IO);
  assert_int_equal(read_until(scratch_write(&s, "empty", "", 0, path), problem, &error),
                   SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "empty:1: the file is empty"));
  assert_int_equal(read_until(scratch_write(&s, "blank", "\n \n", 3, path), problem, &error),
                   SAP_STATUS_SYNTAX);
  for (size_t i = 0; i < sizeof binary; ++i) {
    binary[i] = (char)(i * i * 31u + 7u * i);
  }
  assert_int_equal(
      read_until(scratch_write(&s, "binary", binary, sizeof binary, path), problem, &error),
      SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "is not text"));
  sap_problem_reader* reader = (sap_problem_reader*)&s;
  assert_int_equal(sap_problem_reader_open(NULL, &reader, &error), SAP_STATUS_ARGUMENT);
  assert_null(reader);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

// A file cut off anywhere, also within its last number or line end, is refused.
static void test_truncated(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char content[TEXT_SIZE], path[SCRATCH_PATH_SIZE];
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  const size_t size = compose(content, 0, NULL);
  for (size_t n = 0; n < size; ++n) {
    scratch_write(&s, "cut", content, n, path);
    assert_int_equal(read_until(path, problem, NULL), SAP_STATUS_SYNTAX);
  }
  sap_problem_destroy(problem);
  scratch_end(&s);
}

static uint32_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

// Replaces, inserts, deletes, doubles or swaps pieces of the text.
static size_t mutate(char* text, size_t size, uint64_t* seed) {
  static const char* const pieces[] = {"nan", "inf",  "-",   "1e308", " ",          "\n",  "0",
                                       "-1",  "1e-5", "NAN", "1e999", "2147483648", "9e9", "e"};
  const size_t at = next_random(seed) % size;
  switch (next_random(seed) % 5) {
    case 0:
      text[at] = (char)next_random(seed);
      return size;
    case 1:
      memmove(text + at, text + at + 1, size - at - 1);
      return size - 1;
    case 2:
      text[at] = "0123456789.-e \n"[next_random(seed) % 15];
      return size;
    case 3: {  // a piece of the text appears once more
      const size_t from = next_random(seed) % size;
      size_t length = next_random(seed) % 40;
      length = from + length > size ? size - from : length;
      char copy[40];
      memcpy(copy, text + from, length);
      memmove(text + at + length, text + at, size - at);
      memcpy(text + at, copy, length);
      return size + length;
    }
    default: {
      const char* piece = pieces[next_random(seed) % (sizeof pieces / sizeof pieces[0])];
      const size_t length = strlen(piece);
      memmove(text + at + length, text + at, size - at);
      memcpy(text + at, piece, length);
      return size + length;
    }
  }
}

static void assert_finite(const double* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    assert_true(isfinite(values[i]));
  }
}

// Every problem that the reader accepts must be valid for a solver.
static void check_accepted(const sap_problem* p) {
  assert_true(sap_problem_dt(p) > 0.0 && isfinite(sap_problem_dt(p)));
  assert_int_equal(sap_problem_check(p, NULL), SAP_STATUS_OK);
  const size_t nv = (size_t)sap_problem_velocity_count(p);
  assert_finite(sap_problem_v_star(p), nv);
  assert_finite(sap_problem_v_guess(p), nv);
  for (int32_t i = 0; i < sap_problem_block_count(p); ++i) {
    sap_block b;
    assert_int_equal(sap_problem_block(p, i, &b, NULL, NULL), SAP_STATUS_OK);
    assert_true(b.friction >= 0.0 && isfinite(b.friction));
    assert_finite(b.v_hat, 3);
    for (int row = 0; row < 3; ++row) {
      assert_true(b.R[row] >= 0.0 && isfinite(b.R[row]));
    }
    for (int32_t k = 0; k < b.ntrees; ++k) {
      assert_in_range(b.trees[k], 0, sap_problem_tree_count(p) - 1);
      assert_finite(b.jacobians[k], 3 * (size_t)sap_problem_tree_size(p, b.trees[k]));
    }
  }
}

static void test_mutations(void** state) {
  (void)state;
  enum { MUTATIONS = 4000 };
  scratch s;
  scratch_begin(&s);
  char content[TEXT_SIZE], path[SCRATCH_PATH_SIZE];
  uint64_t seed = 20220816;
  int accepted = 0, refused = 0;
  for (int i = 0; i < MUTATIONS; ++i) {
    size_t size = compose(content, 0, NULL);
    for (uint32_t k = 1 + next_random(&seed) % 3; k > 0; --k) {
      size = mutate(content, size, &seed);
    }
    scratch_write(&s, "mutant", content, size, path);
    sap_problem* problem;
    sap_problem_reader* reader;
    sap_error error = {0};
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reader_open(path, &reader, NULL), SAP_STATUS_OK);
    bool found = true;
    while (found) {
      if (sap_problem_reader_next(reader, problem, &found, &error) != SAP_STATUS_OK) {
        assert_false(found);
        assert_non_null(strstr(error.message, "mutant:"));
        ++refused;
      } else if (found) {
        check_accepted(problem);
        ++accepted;
      }
    }
    sap_problem_reader_close(reader);
    sap_problem_destroy(problem);
  }
  assert_true(accepted > MUTATIONS / 20);  // both outcomes are exercised
  assert_true(refused > MUTATIONS / 20);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_problems),
      cmocka_unit_test(test_wrong_files),
      cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_mutations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
