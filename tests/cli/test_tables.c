// SPDX-License-Identifier: BSD-3-Clause
// Tables for people are aligned; CSV has all columns.
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
enum { COLUMNS = 32, NAME = 32 };

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

// Each row has as many cells as there are names, and as long a line; CSV has further columns.
static void tables_are_aligned(void** state) {
  static const char summary[] = "compare --summary a.problem --solvers sap,ipm";
  problem_text_put(*state, "a.problem", problem);
  command_result table = run(*state, summary);
  command_result csv = run(*state, "compare --summary a.problem --solvers sap,ipm --format csv");
  names shown = {.count = 0}, all = {.count = 0};
  const size_t length = strcspn(table.out, "\n");
  const int words = collect(&shown, table.out, length, " \n");
  (void)collect(&all, csv.out, strcspn(csv.out, "\n"), ",\n");
  int lines = 0;
  for (const char* at = table.out; *at != '\0'; at += strcspn(at, "\n") + 1, ++lines) {
    names ignored = {.count = 0};
    assert_int_equal(strcspn(at, "\n"), length);
    assert_int_equal(collect(&ignored, at, length, " \n"), words);
  }
  assert_int_equal(lines, 3);  // names, two solvers
  // The table leaves out what hardly ever matters, but has nothing else.
  assert_true(shown.count >= 15 && shown.count < all.count);
  for (int i = 0; i < shown.count; ++i) {
    bool known = false;
    for (int k = 0; k < all.count; ++k) {
      known = known || strcmp(shown.list[i], all.list[k]) == 0;
    }
    assert_true(known);
  }
  command_clear(&table);
  command_clear(&csv);
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
      TEST(tables_are_aligned),
      TEST(files_are_named_without_their_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
