// SPDX-License-Identifier: BSD-3-Clause
// The program's command line: help, versions, hints, exit codes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>
#include <sapstep/stepper.h>

#include "support/command.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;

static void assert_prints(scratch* s, const char* arguments, const char* expected) {
  command_result r = command_run(s, program, "", arguments);
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  if (strstr(r.out, expected) == NULL) {
    fail_msg("'%s' does not print '%s' but '%s'", arguments, expected, r.out);
  }
  command_clear(&r);
}

static void test_help(void** state) {
  scratch* s = *state;
  static const char* const commands[] = {"bench", "check", "compare", "converge", "export",
                                         "info",  "plot",  "run",     "solve",    "solvers",
                                         "sweep", "view",  "mujoco"};
  char arguments[64], usage[64];
  assert_prints(s, "--help", "Usage: sapstep COMMAND");
  assert_prints(s, "-h", "Usage: sapstep COMMAND");
  assert_prints(s, "help", "Usage: sapstep COMMAND");
  command_result all = command_exits(s, program, "--help", 0);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
    (void)snprintf(usage, sizeof usage, "\n  %-10s ", commands[i]);
    const char* line = strstr(all.out, usage);
    assert_true(line != NULL && line[strlen(usage)] >= 'a' && line[strlen(usage)] <= 'z');
    (void)snprintf(usage, sizeof usage, "Usage: sapstep %s [OPTION...]", commands[i]);
    (void)snprintf(arguments, sizeof arguments, "help %s", commands[i]);
    assert_prints(s, arguments, usage);
    assert_prints(s, arguments, "Examples:");
    (void)snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
    assert_prints(s, arguments, usage);
    (void)snprintf(arguments, sizeof arguments, "%s -h", commands[i]);
    assert_prints(s, arguments, usage);
    command_result r = command_exits(s, program, arguments, 0);
    const char* text = strstr(r.out, "\n\n");
    assert_true(text != NULL && text[2] >= 'A' && strncmp(text + 2, "Options:", 8) != 0);
    command_clear(&r);
  }
  command_clear(&all);
  assert_prints(s, "help solve", "--relative-tolerance X");
  assert_prints(s, "help solve", "--linear-solver NAME");
  assert_prints(s, "help solve", "(auto)");
}

// Fails unless the help of a command lists an option.
static void assert_offers(scratch* s, const char* command, const char* name) {
  char option[80], arguments[80];
  (void)snprintf(option, sizeof option, "\n  --%s ", name);
  for (char* c = option; *c != '\0'; ++c) {
    *c = *c == '_' ? '-' : *c;
  }
  (void)snprintf(arguments, sizeof arguments, "%s --help", command);
  assert_prints(s, arguments, option);
}

// Every option of error-controlled steps is one of `run` and `converge`, and needs --accuracy.
static void test_adaptive_options(void** state) {
#define SAP_X(type, name, value, low, high, meaning) #name,
  static const char* const names[] = {SAP_ADAPTIVE_OPTIONS(SAP_X)};
#undef SAP_X
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    assert_offers(*state, "run", names[i]);
    assert_offers(*state, "converge", names[i]);
  }
  command_expect(*state, program, "run x.xml --largest-dt 0.1", 2, "--largest-dt needs --accuracy");
  command_expect(*state, program, "converge x.xml --extrapolate off", 2, "needs --accuracy");
}

// Every option of the steppers and of the solvers is one of `run` and a parameter of studies.
// Exceptions: none.
static void test_library_options(void** state) {
  scratch* s = *state;
  static const char* const names[] = {
#define SAP_X(type, name, value, low, high, meaning) #name,
      SAP_STEPPER_OPTIONS(SAP_X) SAP_REGULARIZATION_OPTIONS(SAP_X) SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char arguments[256];
    assert_offers(s, "run", names[i]);
    (void)snprintf(arguments, sizeof arguments, "echo 'set %s ?' > a.study;", names[i]);
    command_result r = command_run(s, program, arguments, "sweep a.study");
    if (strstr(r.err, "'?' must be") == NULL) {
      fail_msg("'%s': %s", arguments, r.err);
    }
    command_clear(&r);
  }
}

static void test_version(void** state) {
  char expected[64];
  (void)snprintf(expected, sizeof expected, "sapstep %s\n", sap_version());
  assert_prints(*state, "--version", expected);
  (void)snprintf(expected, sizeof expected, "%d.%d.%d", SAP_VERSION_MAJOR, SAP_VERSION_MINOR,
                 SAP_VERSION_PATCH);
  assert_string_equal(sap_version(), expected);
}

static void test_wrong_usage(void** state) {
  scratch* s = *state;
  command_expect(s, program, "", 2, "Usage: sapstep COMMAND");
  command_expect(s, program, "sovle", 2, "unknown command 'sovle', did you mean 'solve'?");
  command_expect(s, program, "frobnicate", 2, "unknown command 'frobnicate'\nTry 'sapstep --help'");
  command_expect(s, program, "help frobnicate", 2, "unknown command 'frobnicate'");
  command_expect(s, program, "--frobnicate", 2, "unknown option '--frobnicate'");
  command_expect(s, program, "solve", 2, "the arguments must be FILE..., 0 found");
  command_expect(s, program, "solve --fromat json x", 2, "did you mean '--format'?");
  command_expect(s, program, "solve --frobnicate x", 2,
                 "unknown option '--frobnicate'\nTry 'sapstep solve --help'");
  command_expect(s, program, "solve -x x", 2, "unknown option '-x'");
  command_expect(s, program, "solve --help=3", 2, "'--help' takes no argument");
  command_expect(s, program, "run --res x", 2, "'--res' is ambiguous: 2 options begin like it");
  command_expect(s, program, "solve x --output", 2, "'--output' needs an argument");
  command_expect(s, program, "solve --format xml x", 2, "'xml' must be table, json or csv");
  command_expect(s, program, "solve --repeat 0 x", 2,
                 "--repeat '0' must be an integer in [1, 1e+06]");
  command_expect(s, program, "solve --repeat 1.5 x", 2, "--repeat '1.5'");
  command_expect(s, program, "solve --solver magic x", 2, "magic");
  command_expect(s, program, "solve --tolerance 1e-6x x", 2,
                 "--tolerance '1e-6x' must be a number in [0, 1]");
  command_expect(s, program, "solve --tolerance nan x", 2, "must be a number");
  command_expect(s, program, "solve --tolerance inf x", 2, "must be a number");
  command_expect(s, program, "solve --tolerance '' x", 2, "must be a number");
  command_expect(s, program, "solve --tolerance ' 1' x", 2, "must be a number");
  command_expect(s, program, "solve --tolerance 0x1 x", 2, "must be a number");
  command_expect(s, program, "solve --tolerance -1 x", 2, "--tolerance '-1' must be in [0, 1]");
  command_expect(s, program, "solve --max-iterations 3.5 x", 2, "must be an integer");
  command_expect(s, program, "solve --max-iterations 99999999999999999999 x", 2,
                 "must be an integer");
  command_expect(s, program, "solve --max-iterations -1 x", 2,
                 "--max-iterations '-1' must be an integer in [0, 1e+06]");
  command_expect(s, program, "solve --line-search fast x", 2, "exact or backtracking");
  command_expect(s, program, "solve --linear-solver magic x", 2, "auto, dense, block or sparse");
  command_expect(s, program, "solve --islands maybe x", 2, "on or off");
  command_expect(s, program, "solvers extra", 2, "takes no argument, found 'extra'");
  command_expect(s, program, "solvers --format xml", 2, "'xml' must be table, json or csv");
  assert_int_equal(scratch_count(s), 0);
}

static void test_solvers(void** state) {
  scratch* s = *state;
  assert_prints(s, "solvers", "name  ");
  assert_prints(s, "solvers", "\nsap ");
  assert_prints(s, "solvers", "\ncastro ");
  assert_prints(s, "solvers --format csv", "name,model,principles,blocks,stepping,reference\n");
  command_result r = command_run(s, program, "", "solvers --format json");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out, "{\"name\": \"sap\", \"model\": \""));
  command_clear(&r);
}

// Write errors are reported.
static void test_full_standard_output(void** state) {
  scratch* s = *state;
  SKIP_WITHOUT("/dev/full");
  static const char message[] = "cannot write to standard output: No space left on device";
  command_expect(s, program, "--help > /dev/full", 3, message);
  command_expect(s, program, "--version > /dev/full", 3, message);
  command_expect(s, program, "solvers > /dev/full", 3, message);
  command_expect(s, program, "solvers --format json > /dev/full", 3, message);
  command_result r = command_run(s, program, "",
                                 "run '" SAPSTEP_SOURCE_DIR
                                 "/examples/scenes/falling_box.xml' --duration 0.1 > /dev/full");
  assert_int_equal(r.exit_code, 3);
  const char* first = strstr(r.err, "cannot write");
  assert_non_null(first);
  assert_null(strstr(first + 1, "cannot write"));  // said once
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_help, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_library_options, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_adaptive_options, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_version, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_usage, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_solvers, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_full_standard_output, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
