// SPDX-License-Identifier: BSD-3-Clause
// sapstep run with every solver of the table: a box falls and lies still on the ground, and steps
// that did not converge are counted and told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_solver_runs),
      TEST(laws_are_selectable),
      TEST(what_is_not_taken_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
