// SPDX-License-Identifier: BSD-3-Clause
// The program with little memory: it ends, with its result or with a message.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/skip.h"

#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"

// OpenBLAS's threads want 128 MiB each, and wait for them without end.
static void address_space(void** state) {
#if defined(__SANITIZE_ADDRESS__)
  (void)state;
  SKIP("the address sanitizer needs more");
#else
  enum { ENOUGH = 280 };  // MiB
  for (int size = 120; size <= ENOUGH; size += 20) {
    char before[96];
    (void)snprintf(before, sizeof before,
                   "unset OPENBLAS_NUM_THREADS; ulimit -v %d; timeout -s KILL 30", 1024 * size);
    command_result r = command_run(*state, SAPSTEP_PROGRAM, before,
                                   "run '" SCENES "clutter_40.xml' --duration 0.02");
    const bool told = r.exit_code != 0 && r.exit_code != 128 + 9 && strlen(r.err) > 0;
    if (!(r.exit_code == 0 || (told && size < ENOUGH))) {
      fail_msg("%d MiB: exit %d, '%s'", size, r.exit_code, r.err);
    }
    command_clear(&r);
  }
#endif
}

// Single allocations fail, of whichever library. The commands do not use HDF5, whose start crashes.
static void allocations(void** state) {
#if defined(__SANITIZE_ADDRESS__) || !defined(SAPSTEP_FAIL_MALLOC)
  (void)state;
  SKIP("malloc cannot be replaced here");
#else
  static const struct {
    const char* arguments;
    int first, last, step;  // allocations that fail
  } commands[] = {
      {"solvers", 0, 2000, 19},
      {"converge '" SCENES "double_pendulum.xml' --duration 0.02 --dt 0.01 --levels 2 --jobs 1",
       3200, 4000, 5},  // while it prints its tables
      {"run '" SCENES "cart_pole.xml' --duration 0.02 --output a.csv", 0, 2000, 41}};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    for (int at = commands[i].first; at <= commands[i].last; at += commands[i].step) {
      char before[256];
      (void)snprintf(before, sizeof before,
                     "OPENBLAS_NUM_THREADS=1 FAIL_AT=%d LD_PRELOAD='" SAPSTEP_FAIL_MALLOC "'", at);
      command_result r = command_run(*state, SAPSTEP_PROGRAM, before, commands[i].arguments);
      const bool told = r.exit_code > 0 && strlen(r.err) > 0;
      if (!(r.exit_code == 0 || (told && r.exit_code <= 127))) {
        fail_msg("allocation %d of '%s': exit %d, '%s'", at, commands[i].arguments, r.exit_code,
                 r.err);
      }
      command_clear(&r);
    }
  }
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(address_space, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(allocations, scratch_setup, scratch_teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
