// SPDX-License-Identifier: BSD-3-Clause
// Whole numbers of every command: those beyond 32 bits are refused and do not wrap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char* const program = SAPSTEP_PROGRAM;

// These take numbers that need not be whole.
static const char* const others[] = {"frame-rate"};

static bool is_other(const char* name) {
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    if (strcmp(others[i], name) == 0) {
      return true;
    }
  }
  return false;
}

// Tries all options "--name N" of a command's help; returns how many.
static int try_options(scratch* s, const char* command) {
  // 1 after the wrap, and -2^32 + 1
  static const char* const values[] = {"4294967297", "-4294967295", "99999999999999999999"};
  char arguments[256], name[64];
  int count = 0;
  (void)snprintf(arguments, sizeof arguments, "%s --help", command);
  command_result help = command_exits(s, program, arguments, 0);
  for (const char* at = help.out; (at = strstr(at, "\n  --")) != NULL;) {
    at += strlen("\n  --");
    char argument[8] = "";
    if (sscanf(at, "%63[a-z-] %7s", name, argument) != 2 || strcmp(argument, "N") != 0 ||
        is_other(name)) {
      continue;
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
      char message[256];
      (void)snprintf(arguments, sizeof arguments, "%s x --%s=%s", command, name, values[i]);
      (void)snprintf(message, sizeof message, "--%s '%s' must be", name, values[i]);
      command_expect(s, program, arguments, 2, message);
    }
    ++count;
  }
  command_clear(&help);
  return count;
}

static void beyond_32_bits(void** state) {
  static const struct {
    const char* command;
    int least;  // options
  } commands[] = {{"run", 8},   {"sweep", 1}, {"converge", 5}, {"bench", 5},
                  {"solve", 4}, {"view", 1},  {"compare", 2}};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    const int tried = try_options(*state, commands[i].command);
    if (tried < commands[i].least) {
      fail_msg("%s: %d options of whole numbers", commands[i].command, tried);
    }
  }
}

// Rows are those of whole numbers of steps since the very start, also after a checkpoint.
static void every_after_resume(void** state) {
#define PENDULUM "run '" SAPSTEP_SOURCE_DIR "/examples/scenes/double_pendulum.xml' --dt 0.01 "
  static const double times[] = {0.07, 0.1, 0.15, 0.2, 0.22};
  enum { ROWS = sizeof times / sizeof *times };
  command_expect(*state, program, PENDULUM "--duration 0.07 --checkpoint c >/dev/null", 0, NULL);
  command_expect(*state, program,
                 PENDULUM "--duration 0.22 --resume c --every 5 --output a.csv >/dev/null", 0,
                 NULL);
  char* text = scratch_text(*state, "a.csv");
  const char* line = strchr(text, '\n');
  for (int i = 0; i < ROWS; ++i) {
    assert_non_null(line);
    const double t = strtod(line + 1, NULL);
    if (!(t > times[i] - 1e-9 && t < times[i] + 1e-9)) {
      fail_msg("row %d at t = %g, not %g", i, t, times[i]);
    }
    line = strchr(line + 1, '\n');
  }
  assert_true(line != NULL && line[1] == '\0');
  free(text);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {TEST(beyond_32_bits), TEST(every_after_resume)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
