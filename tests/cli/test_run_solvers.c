// SPDX-License-Identifier: BSD-3-Clause
// sapstep run with every solver of the table: a box falls and lies still on the ground, and steps
// that did not converge are counted and told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/command.h"
#include "support/near.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml"

// Exit code 1 when a step did not converge; which is allowed, unlike failing.
static void check_run(scratch* s, const sap_solver_info* info, const char* options, double depth) {
  char line[1024];
  (void)snprintf(line, sizeof line, "run '" BOX "' --solver %s --duration 1.5 --format json %s",
                 info->name, options);
  command_result r = command_run(s, program, "", line);
  if (r.exit_code != 0 && r.exit_code != 1) {
    fail_msg("%s: exit code %d: %s", info->name, r.exit_code, r.err);
  }
  assert_true(json_member(r.out, "failures") == 0);
  assert_true((json_member(r.out, "unconverged") > 0) == (r.exit_code == 1));
  assert_int_equal(strstr(r.err, "did not converge") != NULL, r.exit_code == 1);
  assert_true(json_member(r.out, "contacts_max") >= 4);
  assert_true(json_member(r.out, "kinetic_end_J") < 1e-4);
  ASSERT_NEAR(json_member(r.out, "potential_end_J"), 9.81 * (0.1 - depth), 9.81e-4);
  assert_true(json_member(r.out, "penetration_end_m") < 1.1 * depth + 1e-4);
  command_clear(&r);
}

static void every_solver_runs(void** state) {
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    if (strstr(info->blocks, "cone") != NULL) {
      check_run(*state, info, "", info->rigid ? 0.0 : 9.81 / 4e5);
    }
  }
}

static void laws_are_selectable(void** state) {
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    if (strcmp(info->name, "admm-ncp") == 0 || strcmp(info->name, "proximal-newton") == 0) {
      check_run(*state, info, "--contact-law compliant", 9.81 / 4e5);
    }
    if (strcmp(info->name, "admm-ccp") == 0) {
      check_run(*state, info, "--contact-law rigid --baumgarte 0.1", 0.0);
    }
  }
}

static void what_is_not_taken_is_named(void** state) {
  command_result r = command_run(*state, program, "", "run '" BOX "' --solver proximal");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.err, "solver 'proximal' takes free, not friction cone"));
  command_clear(&r);
}

static char* trajectory_of(scratch* s, const char* command, const char* options, size_t* size) {
  char line[1024 + 2 * SCRATCH_PATH_SIZE], path[SCRATCH_PATH_SIZE];
  scratch_path(s, "out.csv", path);
  (void)snprintf(line, sizeof line,
                 "%s '" SAPSTEP_SOURCE_DIR
                 "/examples/scenes/quadruped.xml' --duration 0.3 --output '%s' %s",
                 command, path, options);
  command_result r = command_run(s, program, "", line);
  if (r.exit_code != 0) {
    fail_msg("%s: %s", line, r.err);
  }
  command_clear(&r);
  return scratch_read(path, size);
}

static void assert_same(scratch* s, const char* a, const char* b, bool same) {
  size_t sizes[2];
  char* texts[] = {trajectory_of(s, "run", a, &sizes[0]), trajectory_of(s, "run", b, &sizes[1])};
  assert_true((sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0) == same);
  free(texts[0]);
  free(texts[1]);
}

// A preset is its options spelled out, bit for bit, wherever it is on the command line; other
// options override it.
static void presets_are_their_options(void** state) {
  static const char castro[] =
      "--contact-law castro --contact-model sap --contact-stage end --impact-speed 0 "
      "--balance-tolerance inf --remember off --islands off --newton primal --line-search exact "
      "--linear-solver sparse";
  char line[512];
  assert_same(*state, "--preset castro", castro, true);
  assert_same(*state, "--preset default", "", true);
  assert_same(*state, "--preset castro", "", false);
  (void)snprintf(line, sizeof line, "%s --newton primal-dual --sigma 1e-4", castro);
  assert_same(*state, "--preset castro --newton primal-dual --sigma 1e-4", line, true);
  assert_same(*state, "--newton primal-dual --sigma 1e-4 --preset=castro", line, true);
  assert_same(*state, "--preset castro --newton primal-dual --sigma 1e-4", castro, false);
  (void)snprintf(line, sizeof line,
                 "%s --linear-solver block --scheme symplectic-euler --beta 1 --sigma 1e-3 "
                 "--tolerance 1e-6 --absolute-tolerance 1e-14 --max-iterations 100",
                 castro);
  assert_same(*state, "--preset drake", line, true);
  assert_same(*state, "--preset drake", castro, false);
  command_expect(*state, program, "run '" BOX "' --preset paper", 2,
                 "--preset 'paper' must be default, castro or drake");
  command_expect(*state, program, "run --preset castro --preset", 2, "needs an argument");
}

static void other_commands_take_presets(void** state) {
  scratch* s = *state;
  static const char* const lines[] = {"converge '" BOX
                                      "' --preset castro --levels 2 --duration 0.02",
                                      "bench '" BOX "' --preset drake --steps 2 --repetitions 1"};
  for (int i = 0; i < 2; ++i) {
    command_result r = command_run(s, program, "", lines[i]);
    if (r.exit_code != 0) {
      fail_msg("%s: %s", lines[i], r.err);
    }
    command_clear(&r);
  }
  command_result r = command_run(s, program, "", "solvers --presets --format csv");
  assert_non_null(strstr(r.out, "name,source,sets\n"));
  assert_non_null(strstr(r.out, "\ncastro,"));
  assert_non_null(strstr(r.out, "linear_solver=block theta=0 theta_vq=1"));
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_solver_runs),           TEST(laws_are_selectable),
      TEST(what_is_not_taken_is_named),  TEST(presets_are_their_options),
      TEST(other_commands_take_presets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
