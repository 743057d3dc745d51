// SPDX-License-Identifier: BSD-3-Clause
// Options of a scene mean the same to every command that reads one: a URDF that falls on a floor.
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
static const char robot[] =
    "<robot name='box'><link name='base'><inertial><mass value='2'/>"
    "<inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' iyz='0'/></inertial>"
    "<collision><geometry><box size='.2 .2 .2'/></geometry></collision></link></robot>";
static const char study[] =
    "scene box.urdf\nfloating_base\nfloor -0.5\nduration 1\nset dt 0.01\ngrid friction 0.3 0.6\n"
    "measure contacts:max\n";

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_write(&s, "box.urdf", robot, strlen(robot), path);
  (void)scratch_write(&s, "floor.study", study, strlen(study), path);
  *state = &s;
  return 0;
}

static command_result ask(scratch* s, const char* arguments) {
  command_result r = command_run(s, program, "", arguments);
  if (r.exit_code != 0) {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  return r;
}

#define URDF " box.urdf --floating-base --floor -0.5 "

static void every_command_has_the_floor(void** state) {
  command_result r = ask(*state, "run" URDF "--duration 1 --dt 0.01 --format json");
  assert_true(json_member(r.out, "contacts_max") == 4.0);
  // It comes to rest with its centre 0.4 m below where it began.
  ASSERT_NEAR(json_member(r.out, "potential_end_J") - json_member(r.out, "potential_start_J"),
              -2.0 * 9.81 * 0.4, 1e-3);
  command_clear(&r);
  r = ask(*state, "info" URDF "--format json");
  assert_true(json_member(r.out, "shapes") == 2.0 && json_member(r.out, "nv") == 6.0);
  command_clear(&r);
  r = command_run(*state, program, "",
                  "converge" URDF "--dt 0.02 --levels 2 --duration 0.5 --format json");
  assert_true(r.exit_code <= 1);  // orders of a fall on a floor are not what is asked here
  assert_true(json_member(r.out, "penetration_m") > 0.0);
  command_clear(&r);
  r = ask(*state, "bench" URDF "--steps 10 --skip 100 --repetitions 1 --format json");
  assert_true(json_member(r.out, "contacts") == 0.0);  // 0.2 s: it is still falling
  command_clear(&r);
  r = ask(*state, "bench" URDF "--steps 10 --skip 300 --repetitions 1 --format json");
  assert_true(json_member(r.out, "contacts") == 4.0);
  command_clear(&r);
  r = ask(*state, "sweep floor.study --csv floor.csv");
  char path[SCRATCH_PATH_SIZE];
  size_t count = 0;
  char* csv = scratch_read(scratch_path(*state, "floor.csv", path), &count);
  assert_true(csv != NULL && count > 0);
  assert_non_null(strstr(csv, ",4,ok,"));
  free(csv);
  command_clear(&r);
}

static void bad_values(void** state) {
  static const char* const commands[] = {"run", "info", "converge", "bench"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    char line[128];
    (void)snprintf(line, sizeof line, "%s box.urdf --floor high", commands[i]);
    command_expect(*state, program, line, 2,
                   "--floor 'high' must be a number in [-1e+06, 1e+06] m");
    (void)snprintf(line, sizeof line, "%s box.urdf --floor nan", commands[i]);
    command_expect(*state, program, line, 2, "--floor 'nan' must be a number in [-1e+06, 1e+06] m");
  }
  command_expect(*state, program, "run box.urdf --friction -1", 2, "'-1' must be finite and >= 0");
  command_expect(*state, program, "converge box.urdf --friction -1", 2,
                 "'-1' must be finite and >= 0");
  command_expect(*state, program, "run box.urdf --keyframe home", 3,
                 "box.urdf has no keyframe 'home', it has none");
  command_expect(*state, program, "converge box.urdf --keyframe home", 3,
                 "box.urdf has no keyframe 'home', it has none");
  static const char still[] =
      "<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "still.xml", still, sizeof still - 1, path);
  command_expect(*state, program, "run still.xml", 3, "still.xml: nothing moves");
  command_expect(*state, program, "converge still.xml", 3, "still.xml: nothing moves");
}

// A warning is printed once for all lines that cause it; a misspelled keyframe gets a suggestion.
static void told_once(void** state) {
  static const char scene[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
      "<geom size='.1'/>\n<camera/></body></worldbody><keyframe><key name='home'/></keyframe>"
      "</mujoco>";
  static const char links[] =
      "<robot name='r'><link name='base'>\n"
      "<contact><restitution value='1'/></contact>\n<contact><restitution value='1'/></contact>\n"
      "<contact><restitution value='1'/></contact></link></robot>";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "key.xml", scene, sizeof scene - 1, path);
  (void)scratch_write(*state, "links.urdf", links, sizeof links - 1, path);
  command_expect(*state, program, "run key.xml --keyframe Home", 3, "did you mean 'home'?");
  command_expect(*state, program, "run key.xml --keyframe 3", 3, "did you mean 'home'?");
  command_result r = command_run(*state, program, "", "run links.urdf --duration 0 --lenient");
  assert_non_null(strstr(r.err, "links.urdf:2: <restitution value=\"1\">: its influence"));
  assert_non_null(strstr(r.err, "and 2 more of <restitution value=\"1\">: its influence"));
  assert_null(strstr(r.err, "links.urdf:3"));
  command_clear(&r);
}

// Spin and rolling have rows of their own in the statistics, where there is friction against them.
static void slip_by_kind(void** state) {
  static const char ball[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1' condim='%d'/><body pos='0 0 .1'>"
      "<freejoint/><geom size='.1' condim='%d'/></body></worldbody></mujoco>";
  for (int condim = 1; condim <= 6; condim += condim == 4 ? 2 : condim == 1 ? 2 : 1) {
    char text[512], path[SCRATCH_PATH_SIZE];
    (void)snprintf(text, sizeof text, ball, condim, condim);
    (void)scratch_write(*state, "ball.xml", text, strlen(text), path);
    command_result r = ask(*state, "run ball.xml --duration 0.1 --stats --format json");
    static const char* const names[3] = {"\"slip_end_mps\": null", "\"spin_end_radps\": null",
                                         "\"rolling_end_radps\": null"};
    static const int least[3] = {3, 4, 6};
    for (int k = 0; k < 3; ++k) {
      assert_true((strstr(r.out, names[k]) == NULL) == (condim >= least[k]));
    }
    assert_true(json_member(r.out, "relinearizations_withdrawn") == 0.0);
    command_clear(&r);
  }
}

// MJCF has its own floor and joints: options without effect give a warning.
static void dropped_of_mjcf(void** state) {
  static const char text[] =
      "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "ball.xml", text, strlen(text), path);
  static const char said[] = "is for URDF only, this MJCF scene has its own";
  command_expect(*state, program, "run ball.xml --duration 0.01 --floor 0", 0, said);
  command_expect(*state, program, "run ball.xml --duration 0.01 --floating-base", 0, said);
  command_result r = ask(*state, "info ball.xml --floor 0");
  command_says(r.out, "a floor is for URDF only");
  command_clear(&r);
  command_expect(*state, program, "run ball.xml --duration 0.01", 0, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_command_has_the_floor, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(bad_values, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(told_once, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(slip_by_kind, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(dropped_of_mjcf, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
