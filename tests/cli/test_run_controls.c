// SPDX-License-Identifier: BSD-3-Clause
// sapstep run --controls and the controls of a keyframe: a mass on a slide driven by a motor.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/near.h"

static const char* const program = SAPSTEP_PROGRAM;

static const char scene[] =
    "<mujoco><option gravity='0 0 0' timestep='0.01'/><worldbody><body name='cart'>"
    "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/><joint name='rail' type='slide' axis='1 0 "
    "0'/></body></worldbody><actuator><motor name='push' joint='rail'/></actuator>"
    "<keyframe><key name='pushed' ctrl='3'/></keyframe></mujoco>";

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_write(&s, "cart.xml", scene, strlen(scene), path);
  *state = &s;
  return 0;
}

// The last number of the trajectory's column v.
static double last_velocity(scratch* s, const char* arguments) {
  command_result r = command_run(s, program, "", arguments);
  if (r.exit_code != 0) {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  command_clear(&r);
  char* text = scratch_text(s, "t.csv");
  int column = 0;
  const char* header = strstr(text, "rail");
  const char* velocity = NULL;
  for (const char* h = text; *h != '\n'; ++h) {  // the second column about the joint is its rate
    if (strncmp(h, "v_", 2) == 0 && (h == text || h[-1] == ',')) {
      velocity = h;
      break;
    }
  }
  assert_non_null(header);
  assert_non_null(velocity);
  for (const char* h = text; h < velocity; ++h) {
    column += *h == ',';
  }
  char* line = strrchr(text, '\n');
  *line = '\0';
  line = strrchr(text, '\n') + 1;
  for (; column > 0; --column) {
    line = strchr(line, ',') + 1;
  }
  const double value = strtod(line, NULL);
  free(text);
  return value;
}

static void controls_from_files(void** state) {
  char path[SCRATCH_PATH_SIZE];
  // Nothing for 0.1 s, 4 N for 0.2 s, -1 N for the rest.
  static const char csv[] = "t_s, push\n0.1,4\n\n0.3,-1\r\n";
  (void)scratch_write(*state, "c.csv", csv, strlen(csv), path);
  ASSERT_NEAR(last_velocity(*state, "run cart.xml --duration 0.5 --controls c.csv --output t.csv"),
              (4.0 * 0.2 - 0.2) / 2.0, 1e-12);
  ASSERT_NEAR(last_velocity(*state, "run cart.xml --duration 0.5 --keyframe pushed --output t.csv"),
              3.0 * 0.5 / 2.0, 1e-12);
  // From the default pose, with a keyframe's controls.
  ASSERT_NEAR(last_velocity(*state, "run cart.xml --duration 0.5 --controls pushed --output t.csv"),
              3.0 * 0.5 / 2.0, 1e-12);
  // Before its first row the file leaves the keyframe's.
  ASSERT_NEAR(last_velocity(*state,
                            "run cart.xml --duration 0.5 --keyframe pushed --controls c.csv "
                            "--output t.csv"),
              (3.0 * 0.1 + 4.0 * 0.2 - 0.2) / 2.0, 1e-12);
}

static void bad_files(void** state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "c.csv:1: the header t_s,NAME,... is missing"},
      {"t,push\n", "c.csv:1: the first column must be t_s, not 't'"},
      {"t_s,pull\n", "c.csv:1: no actuator is called 'pull'"},
      {"t_s,push,push\n", "c.csv:1: actuator 'push' appears twice"},
      {"t_s,push\n0,1\n0,2\n", "c.csv:3: t_s = 0 must be above"},
      {"t_s,push\n0\n", "c.csv:2: 1 values, the header has 2"},
      {"t_s,push\n0,1,2\n", "c.csv:2: 3 values, the header has 2"},
      {"t_s,push\n0,nan\n", "c.csv:2: 'nan' is not a finite number"},
      {"t_s,push\n0,\n", "c.csv:2: '' is not a finite number"},
  };
  char path[SCRATCH_PATH_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    (void)scratch_write(*state, "c.csv", cases[i].text, strlen(cases[i].text), path);
    command_result r = command_run(*state, program, "", "run cart.xml --controls c.csv");
    assert_int_equal(r.exit_code, 3);
    if (strstr(r.err, cases[i].message) == NULL) {
      fail_msg("'%s': stderr '%s'", cases[i].text, r.err);
    }
    command_clear(&r);
  }
  command_result r = command_run(*state, program, "", "run cart.xml --controls none.csv");
  assert_int_equal(r.exit_code, 3);
  assert_non_null(strstr(r.err, "cannot read 'none.csv'"));
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(controls_from_files, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(bad_files, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
