// SPDX-License-Identifier: BSD-3-Clause
// sapstep run with bad command lines, bad scenes and outputs that cannot be written: the right exit
// code, a message that names the fault, and nothing written.
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
#define BOX SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml"

static void bad_command_lines(void** state) {
  static const struct {
    const char* arguments;
    const char* message;
  } cases[] = {
      {"", "the arguments must be SCENE, 0 found"},
      {"'" BOX "' '" BOX "'", "the arguments must be SCENE, 2 found"},
      {"'" BOX "' --dt 0", "--dt '0' must be > 0 and <= 1e+09 s"},
      {"'" BOX "' --dt -0.01", "--dt '-0.01' must be"},
      {"'" BOX "' --dt nan", "--dt 'nan' must be"},
      {"'" BOX "' --dt 1e400", "--dt '1e400' must be"},
      {"'" BOX "' --dt 0.01s", "--dt '0.01s' must be"},
      {"'" BOX "' --duration -1", "--duration '-1' must be"},
      {"'" BOX "' --duration inf", "--duration 'inf' must be"},
      {"'" BOX "' --scheme leapfrog", "--scheme 'leapfrog' must be explicit-euler"},
      {"'" BOX "' --accuracy 0", "--accuracy '0' must be > 0"},
      {"'" BOX "' --theta 0.5", "belong together"},
      {"'" BOX "' --theta 1.5 --theta-vq 1", "--theta '1.5' must be in [0, 1]"},
      {"'" BOX "' --scheme midpoint --theta 1 --theta-vq 1", "excludes"},
      {"'" BOX "' --contact-stage start", "--contact-stage 'start' must be auto, end or theta"},
      {"'" BOX "' --contact-stage theta --scheme symplectic-euler", "theta and theta_vq >= 0.5"},
      {"'" BOX "' --solver sep", "--solver 'sep' must be"},
      {"'" BOX "' --contact-model sticky",
       "--contact-model 'sticky' must be material, sap, similar or"},
      {"'" BOX "' --dissipation -1", "--dissipation '-1' must be"},
      {"'" BOX "' --stiction-tolerance 0", "--stiction-tolerance '0' must be"},
      {"'" BOX "' --static-friction -1", "--static-friction '-1' must be"},
      {"'" BOX "' --contact-law hard",
       "--contact-law 'hard' must be auto, compliant, rigid or castro"},
      {"'" BOX "' --contact-law rigid", "solver 'sap' needs R > 0"},
      {"'" BOX "' --solver nbgs --restitution 1.5", "--restitution '1.5' must be in [0, 1]"},
      {"'" BOX "' --restitution 0.5", "--restitution needs rigid contact"},
      {"'" BOX "' --solver nbgs --contact-law compliant --baumgarte 0.5",
       "--baumgarte needs rigid"},
      {"'" BOX "' --stiffness 0", "--stiffness '0' must be"},
      {"'" BOX "' --relaxation-time -1", "--relaxation-time '-1' must be"},
      {"'" BOX "' --friction -0.1", "--friction '-0.1' must be"},
      {"'" BOX "' --sigma 0", "--sigma '0' must be"},
      {"'" BOX "' --beta -1", "--beta '-1' must be"},
      {"'" BOX "' --every 0 --output t.csv", "--every '0' must be"},
      {"'" BOX "' --every 10", "needs --output"},
      {"'" BOX "' --format csv", "--format 'csv' must be table or json"},
      {"'" BOX "' --max-iterations -1", "--max-iterations '-1' must be an integer"},
      {"'" BOX "' --output ''", "--output '' must be"},
      {"'" BOX "' --outptu t.csv", "did you mean '--output'"},
      {"'" BOX "' --dt", "needs an argument"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[2048];
    (void)snprintf(line, sizeof line, "run %s", cases[i].arguments);
    command_expect(*state, program, line, 2, cases[i].message);
    assert_int_equal(scratch_count(*state), 0);
  }
}

#define BODY(inside)                                              \
  "<mujoco>\n<worldbody>\n<body name='b'>\n<freejoint/>\n" inside \
  "\n</body></worldbody></"                                       \
  "mujoco>\n"

// Every one is a file that somebody will feed to the program some day.
static void bad_scenes(void** state) {
  static const struct {
    const char* name;
    const char* text;
    const char* message;  // what must be named
  } cases[] = {
      {"empty.xml", "", "empty.xml"},
      {"blank.xml", " \n\n", "blank.xml"},
      {"garbage.xml", "\x7f\x45\x4c\x46\x02\x01\x01\x80\xff\xfe\x10", "garbage.xml"},
      {"text.xml", "this is no scene\n", "text.xml"},
      {"truncated.xml", "<mujoco>\n<worldbody>\n<body name='b'>\n<geom size='0.",
       "truncated.xml:4"},
      {"unclosed.xml", "<mujoco>\n<worldbody>\n</mujoco>\n", "unclosed.xml:3"},
      {"root.xml", "<html><body/></html>", "html"},
      {"nan.xml", BODY("<geom size='0.1' pos='0 nan 0'/>"), "nan.xml:5"},
      {"number.xml", BODY("<geom size='0.1x'/>"), "number.xml:5"},
      {"infinite.xml", BODY("<geom size='1e999'/>"), "infinite.xml:5"},
      {"element.xml", BODY("<geom size='0.1'/><geometry/>"), "geometry"},
      {"attribute.xml", BODY("<geom size='0.1' colour='1'/>"), "colour"},
      {"mass.xml", BODY("<geom size='0.1' mass='-1'/>"), "mass"},
      {"inertial.xml", BODY("<inertial pos='0 0 0' mass='-2' diaginertia='1 1 1'/>"), "mass"},
      {"spd.xml", BODY("<inertial pos='0 0 0' mass='1' fullinertia='1 1 1 2 0 0'/>"), "inertia"},
      {"massless.xml", BODY("<inertial pos='0 0 0' mass='0' diaginertia='0 0 0'/>"), "b"},
      {"timestep.xml",
       "<mujoco>\n<option timestep='0'/><worldbody><geom size='1'/></worldbody></mujoco>",
       "timestep"},
      {"cycle.xml", "<mujoco>\n<include file='cycle.xml'/></mujoco>", "cycle.xml"},
      {"include.xml", "<mujoco>\n<include file='not_there.xml'/></mujoco>", "not_there.xml"},
      {"robot.urdf", "<robot name='r'><link name='a'/><joint name='j' type='hinge'/></robot>",
       "robot.urdf"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[256], path[SCRATCH_PATH_SIZE];
    (void)scratch_write(*state, cases[i].name, cases[i].text, strlen(cases[i].text), path);
    (void)snprintf(line, sizeof line, "run %s --duration 0.01 --output t.csv", cases[i].name);
    command_expect(*state, program, line, 3, cases[i].message);
    assert_int_equal(scratch_count(*state), 1);
    assert_int_equal(remove(path), 0);
  }
  command_expect(*state, program, "run missing.xml --output t.csv", 3, "missing.xml");
  command_expect(*state, program, "run . --output t.csv", 3, "directory");
  assert_int_equal(scratch_count(*state), 0);
}

// An earlier file at the path is kept.
static void outputs_that_cannot_be_written(void** state) {
  command_expect(*state, program, "run '" BOX "' --duration 0.1 --output nowhere/t.csv", 3,
                 "nowhere/t.csv");
  command_expect(*state, program, "run '" BOX "' --duration 0.1 --output .", 3, "directory");
  command_expect(*state, program, "run '" BOX "' --duration 0.1 --output /dev/full", 3, "space");
  assert_int_equal(scratch_count(*state), 0);

  // A disk that fills up while the run goes on: 8 blocks of 512 bytes.
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "t.csv", "old\n", 4, path);
  command_result r =
      command_run(*state, program, "ulimit -f 8;", "run '" BOX "' --duration 1 --output t.csv");
  assert_int_equal(r.exit_code, 3);
  assert_string_equal(r.out, "");
  assert_non_null(strstr(r.err, "t.csv"));
  command_clear(&r);
  assert_int_equal(scratch_count(*state), 1);
  char* text = scratch_read(path, NULL);
  assert_string_equal(text, "old\n");
  free(text);

  // Where nothing stood, the whole rows that found room are kept.
  r = command_run(*state, program, "ulimit -f 8;", "run '" BOX "' --duration 1 --output new.csv");
  assert_int_equal(r.exit_code, 3);
  command_says(r.err, "the trajectory's rows so far are in 'new.csv'");
  command_clear(&r);
  assert_int_equal(scratch_count(*state), 2);
  size_t count;
  text = scratch_read(scratch_path(*state, "new.csv", path), &count);
  assert_in_range(count, 3000, 4096);
  assert_memory_equal(text, "t_s,", 4);
  assert_true(text[count - 1] == '\n');
  free(text);

  r = command_run(*state, program, "", "run '" BOX "' --duration 0.1 > /dev/full");
  assert_int_equal(r.exit_code, 3);
  assert_non_null(strstr(r.err, "standard output"));
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(bad_command_lines),
      TEST(bad_scenes),
      TEST(outputs_that_cannot_be_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
