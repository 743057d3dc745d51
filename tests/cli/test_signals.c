// SPDX-License-Identifier: BSD-3-Clause
// Signals and kills: what they end, what is kept, and what is left in the folder. Pipes that never
// end or never begin.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"
#define LONG_RUN "run '" SCENES "double_pendulum.xml' --duration 1e6 "

// Runs with a signal after a second.
static command_result interrupted(scratch* s, const char* name, const char* arguments) {
  char before[64];
  (void)snprintf(before, sizeof before, "timeout --preserve-status -s %s 1", name);
  return command_run(s, program, before, arguments);
}

static void signals_keep_the_checkpoint(void** state) {
  static const char* const names[] = {"INT", "TERM", "HUP"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    command_result r =
        interrupted(*state, names[i], LONG_RUN "--checkpoint a.check --output a.csv");
    if (r.exit_code != 1 || strstr(r.err, "interrupted at t = ") == NULL) {
      fail_msg("SIG%s: exit %d, '%s'", names[i], r.exit_code, r.err);
    }
    command_clear(&r);
    command_expect(*state, program,
                   "run '" SCENES "double_pendulum.xml' --duration 0 --resume a.check > /dev/null",
                   0, NULL);
    command_expect_after(*state, "rm", "", "a.check a.csv", 0, NULL);
    assert_int_equal(scratch_count(*state), 0);
  }
}

// nohup: a signal that is ignored stays so.
static void ignored_hangup(void** state) {
  command_result r =
      command_run(*state, program,
                  "trap '' HUP; two() { \"$@\" & sleep 1; kill -HUP $!; sleep 0.5; kill -KILL $!; "
                  "wait $!; }; two",
                  LONG_RUN "--checkpoint a.check");
  assert_int_equal(r.exit_code, 128 + 9);  // by the later kill
  command_clear(&r);
}

// A killed run leaves no temporary file.
static void kills_leave_no_trace(void** state) {
  command_result r = command_run(*state, program, "timeout -s KILL 1",
                                 LONG_RUN "--output a.csv --checkpoint a.check");
  assert_int_equal(r.exit_code, 128 + 9);
  command_clear(&r);
  const int left = scratch_count(*state);
  if (left != 0) {
    char path[SCRATCH_PATH_SIZE];
    (void)scratch_path(*state, "", path);
    fail_msg("%d files are left in %s", left, path);
  }
}

// Signals end the reading of an input, whichever it is.
static void endless_inputs(void** state) {
  static const struct {
    const char *before, *arguments;
  } inputs[] = {
      {"yes '<a/>' |", "run /dev/stdin"},
      {"mkfifo p 2>/dev/null;", "run p"},
      {"mkfifo p 2>/dev/null;", "sweep p"},
      {"mkfifo p 2>/dev/null;", "converge '" SCENES "double_pendulum.xml' --exact 'joint=p'"},
      {"mkfifo p 2>/dev/null;", "solve p"},
      {"mkfifo p 2>/dev/null;", "run '" SCENES "cart_pole.xml' --controls p"},
  };
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i) {
    char before[128];
    (void)snprintf(before, sizeof before, "%s timeout -k 5 -s TERM 1", inputs[i].before);
    command_result r = command_run(*state, program, before, inputs[i].arguments);
    const bool ended = r.exit_code == 124 || r.exit_code == 2 || r.exit_code == 3;
    const bool piped = strncmp(inputs[i].before, "mkfifo", 6) != 0 || r.exit_code != 124 ||
                       strstr(r.err, "reading the pipe 'p'") != NULL;
    if (!ended || !piped) {
      fail_msg("'%s %s': exit %d, '%s'", inputs[i].before, inputs[i].arguments, r.exit_code, r.err);
    }
    command_clear(&r);
  }
  // A checkpoint and a recording are read twice.
  static const char* const whole[] = {"run '" SCENES "cart_pole.xml' --resume p",
                                      "plot p energy -o a.svg"};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i) {
    command_expect_after(*state, program, "timeout 5", whole[i], 3, "not a pipe or device");
  }
}

// The table is written beside its place under no name that could be a link.
static void links_are_not_followed(void** state) {
  static const char study[] = "scene " SCENES "cart_pole.xml\nduration 0.01\nmeasure steps\n";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "a.study", study, strlen(study), path);
  (void)scratch_write(*state, "victim", "precious", 8, path);
  command_result r =
      command_run(*state, program, "ln -s victim a.h5.part;", "sweep a.study -o a.h5");
  if (r.exit_code != 0) {
    fail_msg("exit %d, '%s'", r.exit_code, r.err);
  }
  command_clear(&r);
  char* victim = scratch_text(*state, "victim");
  assert_string_equal(victim, "precious");
  free(victim);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(signals_keep_the_checkpoint), TEST(ignored_hangup),
                                     TEST(kills_leave_no_trace), TEST(endless_inputs),
                                     TEST(links_are_not_followed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
