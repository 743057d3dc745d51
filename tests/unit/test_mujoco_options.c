// SPDX-License-Identifier: BSD-3-Clause
// The one list of the MuJoCo adapter's options: no field is missing in the default, the check, the
// comparison of checkpoints and the program.
#include "mujoco/mujoco_options.h"

#include "support/command.h"
#include "support/option_tables.h"

static void test_table(void** state) {
  (void)state;
  static const char* const own[] = {"beta", "sigma", "check_input", NULL};  // NaN, NaN, off
  const sap_mj_options defaults = sap_mj_options_default();
  sap_mj_options changed;
  assert_true(isnan(defaults.regularization.beta) && isnan(defaults.regularization.sigma));
  assert_false(defaults.solver_options.check_input);
  const size_t tail = sizeof defaults - offsetof(sap_mj_options, warning);
  assert_table_is_whole(sap_mj_option_table(), &defaults, sizeof defaults, tail, own);
  changed = defaults;
  changed.regularization = sap_regularization_default();
  const sap_mj_options complete = changed;
  assert_table_is_compared(sap_mj_option_table(), &complete, &changed, sizeof changed);
}

static void test_program(void** state) {
  const sap_option_table table = sap_mj_option_table();
  command_result help = command_run(*state, SAPSTEP_PROGRAM, "", "mujoco --help");
  for (int32_t i = 0; i < table.count; ++i) {
    char option[80];
    (void)snprintf(option, sizeof option, "\n  --%s ", table.options[i].name);
    for (char* c = option; *c != '\0'; ++c) {
      *c = *c == '_' ? '-' : *c;
    }
    if (strstr(help.out, option) == NULL) {
      fail_msg("'mujoco --help' lacks%s", option);
    }
  }
  command_clear(&help);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),
      cmocka_unit_test_setup_teardown(test_program, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
