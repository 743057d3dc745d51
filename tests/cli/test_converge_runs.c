// SPDX-License-Identifier: BSD-3-Clause
// The runs of sapstep converge: failed ones, in threads, killed and resumed; wrong input.
#define _XOPEN_SOURCE 700

#include "cli/converge_command.h"

// A diverging run is reported and does not stop the others.
static void failed_runs_are_told(void** state) {
  command_result r = converge(*state,
                              CYLINDER
                              " --dt 1 --duration 2000 --levels 2 "
                              "--scheme explicit-euler,implicit-euler --format json" EXACT,
                              1);
  assert_non_null(strstr(r.err, "runs failed"));
  assert_non_null(strstr(r.out, "\"scheme\": \"implicit-euler\""));
  assert_true(json_valid(r.out));
  command_clear(&r);
}

// Takes the times out of the text.
static void remove_times(char* text) {
  const char* name = "\"time_s\": ";
  for (char* at = text; (at = strstr(at, name)) != NULL; ++at) {
    const char* rest = strchr(at, ',');
    assert_non_null(rest);
    memmove(at, rest, strlen(rest) + 1);
  }
}

static void threads_change_nothing(void** state) {
  command_result r[2];
  for (int i = 0; i < 2; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   "'" SCENES "sliding_box.xml' --duration 0.05 --levels 3 --format json --jobs %d",
                   1 + 3 * i);
    r[i] = converge(*state, line, 0);
    remove_times(r[i].out);
  }
  assert_string_equal(r[0].out, r[1].out);
  command_clear(&r[0]);
  command_clear(&r[1]);
}

static void refusals(void** state) {
  static const struct {
    const char* arguments;
    int code;
    const char* message;
  } cases[] = {
      {"", 2, "the arguments must be SCENE, 0 found"},
      {"no.xml", 3, "no.xml"},
      {CYLINDER " --svg " CYLINDER, 2, "would overwrite an input"},
      {CYLINDER " --levels 1", 2, "--levels '1' must be an integer in [2, 20]"},
      {CYLINDER " --dt 0", 2, "--dt '0' must be > 0 and <= 1e+09 s"},
      {CYLINDER " --scheme midpoint,nothing", 2, "must be one or more of explicit-euler"},
      {CYLINDER " --scheme midpoint,", 2, "must be one or more of explicit-euler"},
      {CYLINDER " --contact-stage start", 2, "one or more of auto, end, theta"},
      {CYLINDER " --contact-model sticky", 2, "must be material, sap, similar or lagged"},
      {CYLINDER " --solver nothing", 2, "'sapstep solvers'"},
      {CYLINDER " --scheme explicit-euler --contact-stage theta", 2, "no scheme is left"},
      {CYLINDER " --reference-ratio 1", 2, "an integer in [2, 4096]"},
      {CYLINDER " --reference finer", 2, "must be auto, run or richardson"},
      {CYLINDER " --reference run" EXACT, 2, "exclude each other"},
      {CYLINDER " --exact 'x=mod(t)'", 2, "a second argument is missing"},
      {CYLINDER " --jobs 0", 2, "an integer in [1, 64]"},
      {CYLINDER " --exact x", 2, "JOINT=FORMULA"},
      {CYLINDER " --start x", 2, "must be JOINT=X"},
      {CYLINDER " --start x=nan", 2, "must be JOINT=X"},
      {CYLINDER " --start =1", 2, "must be JOINT=X"},
      {CYLINDER " --start y=1", 3, "has no joint 'y'"},
      {CYLINDER " --exact 'x=cos(t'", 2, "a closing parenthesis is missing"},
      {CYLINDER " --exact 'x=2*'", 2, "a number, t, a function or a parenthesis is missing"},
      {CYLINDER " --exact 'x=cosinus(t)'", 2, "unknown name"},
      {CYLINDER " --exact 'x=cos t'", 2, "a function needs its argument in parentheses"},
      {CYLINDER " --exact 'x=1 2'", 2, "trailing characters after the expression"},
      {CYLINDER " --exact 'y=t'", 3, "has no joint 'y'"},
      {"'" SCENES "falling_box.xml' --exact 'root=t'", 3, "is neither a hinge nor a slide"},
      {CYLINDER " --keyframe up", 3, "has no keyframe 'up'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line, "converge %s", cases[i].arguments);
    command_expect(*state, SAPSTEP_PROGRAM, line, cases[i].code, cases[i].message);
  }
  command_result r = converge(*state, CYLINDER " --levels 2 --svg no/such/folder.svg" EXACT, 3);
  assert_non_null(strstr(r.err, "no/such/folder.svg"));
  command_clear(&r);
}

// A scheme without a theta point is left out there alone: its other series are run.
static void impossible_combinations(void** state) {
  command_result r =
      command_exits(*state, SAPSTEP_PROGRAM,
                    "converge '" SCENES
                    "double_pendulum.xml' --scheme explicit-euler,implicit-euler "
                    "--contact-stage theta,end --duration 0.02 --levels 2 --format csv",
                    0);
  command_says(r.err, "left out: explicit-euler has no theta point");
  assert_null(strstr(r.out, "explicit-euler,theta,"));
  command_says(r.out, "explicit-euler,end,");
  command_says(r.out, "implicit-euler,theta,");
  command_says(r.out, "implicit-euler,end,");
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(failed_runs_are_told),
      TEST(threads_change_nothing),
      TEST(refusals),
      TEST(impossible_combinations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
