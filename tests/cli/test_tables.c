// SPDX-License-Identifier: BSD-3-Clause
// Tables for people: wide ones come in blocks on a terminal, and whole in pipes; CSV has all columns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/problem_files.h"

static const char* const program = SAPSTEP_PROGRAM;
enum { WIDTH = 120, COLUMNS = 32, NAME = 32 };

typedef struct names {
  char list[COLUMNS][NAME];
  int count;
} names;

// Adds the words of a line that are not there; returns how many the line has.
static int collect(names* n, const char* line, size_t length, const char* separator) {
  int words = 0;
  for (const char *at = line, *end = line + length; at < end; ++words) {
    at += strspn(at, separator);
    const size_t size = strcspn(at, separator);
    bool known = false;
    for (int i = 0; i < n->count; ++i) {
      known = known || (strncmp(n->list[i], at, size) == 0 && n->list[i][size] == '\0');
    }
    if (!known) {
      assert_true(n->count < COLUMNS && size < NAME);
      (void)snprintf(n->list[n->count++], NAME, "%.*s", (int)size, at);
    }
    at += size;
  }
  return words;
}

static command_result run(scratch* s, const char* arguments) {
  return command_exits(s, program, arguments, 0);
}

static const char problem[] =
    "sapstep_problem 1\n0.01 1\n3 2 0 0 0 2 0 0 0 2\n0 0 -1\n0 0 -1\n1\n"
    "0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n";

// Two problems, two solvers: four rows whose first three columns tell them apart.
#define COMPARE "compare a.problem b.problem --solvers sap,ipm"

static void put_problems(scratch* s) {
  problem_text_put(s, "a.problem", problem);
  problem_text_put(s, "b.problem", problem);
}

// Runs it on a terminal of WIDTH columns.
static command_result run_on_terminal(scratch* s, const char* arguments) {
  char line[2000];
  (void)snprintf(line, sizeof line,
                 "-qec \"stty cols %d; '%s' %s 2>/dev/null\" /dev/null < /dev/null | tr -d '\\r'",
                 WIDTH, program, arguments);
  return command_exits(s, "script", line, 0);
}

static void wide_tables_come_in_blocks(void** state) {
  put_problems(*state);
  command_result table = run_on_terminal(*state, COMPARE);
  command_result csv = run(*state, COMPARE " --format csv");
  names in_blocks = {.count = 0}, in_csv = {.count = 0};
  int lines = 0, words = 0, blocks = 0;
  for (const char* at = table.out; *at != '\0'; at += strcspn(at, "\n") + 1, ++lines) {
    const size_t length = strcspn(at, "\n");
    assert_true(length <= WIDTH);
    if (length == 0) {
      lines = -1;
    } else if (lines == 0) {
      words = collect(&in_blocks, at, length, " \n");
      assert_memory_equal(at, "file       index  solver  ", 26);
      ++blocks;
    } else {
      names ignored = {.count = 0};
      // cells of a row as there are names; words that repeat count, too
      assert_int_equal(collect(&ignored, at, length, " \n"), words);
      assert_true(strncmp(at, "a.problem ", 10) == 0 || strncmp(at, "b.problem ", 10) == 0);
      assert_true(lines <= 4);
    }
  }
  assert_true(blocks >= 2);
  (void)collect(&in_csv, csv.out, strcspn(csv.out, "\n"), ",\n");
  assert_true(in_blocks.count >= 15 && in_blocks.count == in_csv.count);
  for (int i = 0; i < in_blocks.count; ++i) {
    bool known = false;
    for (int k = 0; k < in_csv.count; ++k) {
      known = known || strcmp(in_blocks.list[i], in_csv.list[k]) == 0;
    }
    assert_true(known);
  }
  command_clear(&table);
  command_clear(&csv);
}

// A pipe takes one block with all columns of those on a terminal.
static void tables_are_whole_in_pipes(void** state) {
  put_problems(*state);
  command_result piped = run(*state, COMPARE), shown = run_on_terminal(*state, COMPARE);
  names in_pipe = {.count = 0}, on_terminal = {.count = 0};
  assert_null(strstr(piped.out, "\n\n"));
  const int words = collect(&in_pipe, piped.out, strcspn(piped.out, "\n"), " ");
  int lines = 0;
  for (const char* at = piped.out; *at != '\0'; at += strcspn(at, "\n") + 1, ++lines) {
    names ignored = {.count = 0};
    assert_int_equal(collect(&ignored, at, strcspn(at, "\n"), " "), words);
  }
  assert_int_equal(lines, 5);  // names and four rows
  for (const char* at = shown.out; at != NULL; at = strstr(at, "\n\n")) {
    at += strspn(at, "\n");
    (void)collect(&on_terminal, at, strcspn(at, "\n"), " ");
  }
  assert_int_equal(on_terminal.count, in_pipe.count);
  command_clear(&piped);
  command_clear(&shown);
}

static void files_are_named_without_their_folder(void** state) {
  char path[2][SCRATCH_PATH_SIZE], arguments[3 * SCRATCH_PATH_SIZE];
  static const char* const files[] = {"one.problem", "onset.problem"};
  for (int i = 0; i < 2; ++i) {
    problem_text_put(*state, files[i], problem);
    (void)scratch_path(*state, files[i], path[i]);
  }
  (void)snprintf(arguments, sizeof arguments, "solve '%s' '%s'", path[0], path[1]);
  command_result r = run(*state, arguments);
  command_says(r.out, "\none.problem ");
  command_says(r.out, "\nonset.problem ");
  command_clear(&r);
  (void)strcat(arguments, " --format csv");
  r = run(*state, arguments);
  command_says(r.out, path[1]);
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(wide_tables_come_in_blocks),
      TEST(tables_are_whole_in_pipes),
      TEST(files_are_named_without_their_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
