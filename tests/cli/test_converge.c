// SPDX-License-Identifier: BSD-3-Clause
// sapstep converge: orders that are known, references that are too coarse, formulas, wrong input.
#define _XOPEN_SOURCE 700
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/near.h"

static const char* const program = SAPSTEP_PROGRAM;
#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"
#define CYLINDER "'" SCENES "spring_cylinder.xml'"
#define EXACT " --exact 'x=0.1*cos(sqrt(100/0.75)*t)' "

static command_result run(scratch* s, const char* arguments, int exit_code) {
  char line[2048];
  (void)snprintf(line, sizeof line, "converge %s", arguments);
  return command_exits(s, program, line, exit_code);
}

// A number of the n-th row of JSON output.
static double value(const command_result* r, int row, const char* name) {
  const char* at = strchr(r->out, '{');
  for (int i = 0; i < row; ++i) {
    assert_non_null(at);
    at = strchr(at + 1, '{');
  }
  assert_non_null(at);
  return json_member(at, name);
}

// The fitted order is the slope of log(error) over log(dt), its error that of least squares.
static void expect_fit(const command_result* r, int first, int n) {
  double x[8], y[8], mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0, rest = 0.0;
  for (int i = 0; i < n; ++i) {
    x[i] = log(value(r, first + i, "dt_s"));
    y[i] = log(value(r, first + i, "position_l2"));
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (int i = 0; i < n; ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  for (int i = 0; i < n; ++i) {
    const double miss = y[i] - mean_y - xy / xx * (x[i] - mean_x);
    rest += miss * miss;
  }
  ASSERT_NEAR(value(r, first, "position_fit"), xy / xx, 1e-6);
  ASSERT_NEAR(value(r, first, "position_fit_error") / sqrt(rest / (n - 2) / xx), 1.0, 1e-6);
}

// Orders of the schemes on a system without contact, the reference being their own.
static void double_pendulum_orders(void** state) {
  command_result r = run(*state,
                         "'" SCENES
                         "double_pendulum.xml' --dt 0.005 --levels 4 --duration 0.5 "
                         "--format json",
                         0);
  assert_string_equal(r.err, "");
  assert_true(json_valid(r.out));
  const double orders[3] = {1.0, 1.0, 2.0};
  for (int i = 0; i < 3; ++i) {
    const double tolerance = i == 2 ? 0.02 : 0.1;
    ASSERT_NEAR(value(&r, 4 * i, "position_fit"), orders[i], tolerance);
    expect_fit(&r, 4 * i, 4);
    ASSERT_NEAR(value(&r, 4 * i, "velocity_fit"), orders[i], tolerance);
    assert_true(value(&r, 4 * i, "position_fit_error") < 0.1);
    for (int l = 1; l < 4; ++l) {
      const double ratio =
          value(&r, 4 * i + l - 1, "position_l2") / value(&r, 4 * i + l, "position_l2");
      ASSERT_NEAR(value(&r, 4 * i + l, "position_order"), log2(ratio), 1e-12);
    }
  }
  command_clear(&r);
}

// Castro's case against its exact solution; numbers of an independent program, dt 0.02.
static void spring_cylinder_errors(void** state) {
  command_result r = run(*state,
                         CYLINDER
                         " --duration 5 --levels 3 --contact-stage end --format json "
                         "--scheme symplectic-euler,midpoint" EXACT,
                         0);
  ASSERT_NEAR(value(&r, 0, "position_l2"), 1.30e-2, 0.005e-2);
  ASSERT_NEAR(value(&r, 3, "position_l2"), 1.03e-2, 0.005e-2);
  ASSERT_NEAR(value(&r, 5, "position_l2"), 6.5e-4, 0.05e-4);
  ASSERT_NEAR(value(&r, 3, "position_fit"), 2.0, 0.02);
  // penetration at rest m g/k
  ASSERT_NEAR(value(&r, 5, "penetration_m"), 0.5 * 9.81 / 1e4, 1e-6);
  command_clear(&r);
}

// The scenes of contact run as well; the chart has a line per series and panel.
static void chart_of_sliding_box(void** state) {
  command_result r = run(*state,
                         "'" SCENES
                         "sliding_box.xml' --levels 3 --duration 0.1 --scheme midpoint "
                         "--contact-stage end,theta --format csv --svg orders.svg",
                         0);
  assert_string_equal(r.err, "");
  assert_non_null(strstr(r.out, "\nmidpoint,theta,sap,0.0005"));
  char* svg = scratch_text(*state, "orders.svg");
  assert_true(strncmp(svg, "<svg ", 5) == 0);
  int lines = 0;
  for (const char* at = svg; (at = strstr(at, "<polyline")) != NULL; ++at) {
    ++lines;
  }
  assert_int_equal(lines, 4);
  assert_non_null(strstr(svg, ">midpoint, theta, order "));
  free(svg);
  command_clear(&r);
}

static void coarse_reference_is_told(void** state) {
  command_result r = run(*state,
                         "'" SCENES
                         "double_pendulum.xml' --dt 0.01 --levels 3 --duration 0.5 "
                         "--scheme midpoint --reference-ratio 2 --format json",
                         1);
  assert_non_null(strstr(r.err, "2 of 3 errors are less than ten times what the references"));
  assert_non_null(strstr(r.err, "--reference-ratio 8 would do better"));
  assert_non_null(strstr(r.out, "\"outcome\": \"reference too coarse\""));
  assert_non_null(strstr(r.out, "\"position_fit_error\": null"));
  command_clear(&r);
}

// A run that diverges is told and does not stop the others.
static void failed_runs_are_told(void** state) {
  command_result r = run(*state,
                         CYLINDER
                         " --dt 1 --duration 2000 --levels 2 "
                         "--scheme explicit-euler,implicit-euler --format json" EXACT,
                         1);
  assert_non_null(strstr(r.err, "runs did not arrive"));
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
    r[i] = run(*state, line, 0);
    remove_times(r[i].out);
  }
  assert_string_equal(r[0].out, r[1].out);
  command_clear(&r[0]);
  command_clear(&r[1]);
}

// Formulas: two texts of one function give the same errors, another one does not.
static void formulas(void** state) {
  static const char* const texts[] = {
      "0.1*cos(sqrt(100/0.75)*t)", " +.1 * cos( (100/ .75)^.5 * t ) ",
      "0.05*2^1*cos(-sqrt(100/0.75)*t) - 0/7", "0.1*sin(pi/2 - t*exp(log(100/0.75)/2))",
      "abs(-0.1)*(1 - 2*sin(sqrt(100/0.75)*t/2)^2) + tan(0) + sinh(0) + tanh(0)*cosh(t)"};
  double first = 0.0;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   CYLINDER " --levels 2 --scheme midpoint --format json --exact 'x=%s'", texts[i]);
    command_result r = run(*state, line, 0);
    const double error = value(&r, 0, "position_l2");
    first = i == 0 ? error : first;
    ASSERT_NEAR(error, first, 1e-12);
    command_clear(&r);
  }
  command_result r = run(*state,
                         CYLINDER
                         " --levels 2 --scheme midpoint --format json "
                         "--exact 'x=0.1*cos(sqrt(100/0.75)*t)+2*t-1*t'",
                         0);
  assert_true(value(&r, 0, "position_l2") > 0.5);
  command_clear(&r);
}

// The scene's own solution is that of the command line, but not where the start or a material is
// another.
static void solutions_of_the_scene(void** state) {
  static const char* const arguments[] = {"", EXACT, "--reference run"};
  double error[3];
  for (int i = 0; i < 3; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   CYLINDER " --duration 1 --levels 2 --scheme midpoint --format json %s",
                   arguments[i]);
    command_result r = run(*state, line, 0);
    error[i] = value(&r, 0, "position_l2");
    assert_true(value(&r, 0, "velocity_end") > 0.0);
    command_clear(&r);
  }
  assert_true(error[0] == error[1]);
  assert_true(error[0] != error[2]);
  // Jacobi's cd against the pendulum, and parabolas with half sines
  command_result r =
      run(*state,
          "'" SAPSTEP_SOURCE_DIR
          "/examples/studies/orders/pendulum.xml' --keyframe "
          "released --dt 0.01 --levels 3 --duration 2 --scheme midpoint --format json",
          0);
  ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.02);
  assert_true(value(&r, 2, "position_l2") < 1e-3);
  command_clear(&r);
  r = run(*state,
          "'" SAPSTEP_SOURCE_DIR
          "/examples/studies/orders/bouncing_contact.xml' --dt 0.0005 "
          "--levels 3 --duration 0.5 --scheme midpoint --format json",
          0);
  assert_true(value(&r, 0, "position_l2") < 0.01);
  assert_true(value(&r, 2, "position_l2") < 0.6 * value(&r, 0, "position_l2"));
  command_clear(&r);
}

// Two runs extrapolated: order and errors are those against a much finer run.
static void extrapolated_reference(void** state) {
  double error[2];
  for (int i = 0; i < 2; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   "'" SCENES
                   "double_pendulum.xml' --dt 0.005 --levels 3 --duration 0.5 --scheme "
                   "midpoint --format json --reference-ratio %d --reference %s",
                   i == 0 ? 32 : 4, i == 0 ? "run" : "richardson");
    command_result r = run(*state, line, 0);
    error[i] = value(&r, 2, "position_l2");
    ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.02);
    command_clear(&r);
  }
  assert_true(fabs(error[1] / error[0] - 1.0) < 2e-3);
}

// Bytes of a file, 0 where it is not.
static long long file_size(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 ? (long long)status.st_size : 0;
}

// What a kill interrupts goes on where it was; the table is that of an undisturbed study. Killed
// once when the journal is begun, once when a run is added.
static void killed_and_resumed(void** state) {
  static const char line[] =
      "'" SCENES "double_pendulum.xml' --dt 0.002 --levels 5 --duration 1 --jobs 1 --format json";
  char with[SCRATCH_PATH_SIZE + 256], path[SCRATCH_PATH_SIZE];
  char command[2 * SCRATCH_PATH_SIZE + 1024];
  command_result whole = run(*state, line, 0);
  (void)scratch_path(*state, "orders.journal", path);
  (void)snprintf(with, sizeof with, "%s --journal '%s'", line, path);
  for (int i = 0; i < 2; ++i) {
    const long long before = file_size(path);
    (void)snprintf(
        command, sizeof command,
        "'%s' converge %s > /dev/null 2>&1 & victim=$!; while kill -0 $victim && "
        "[ \"$(stat -c %%s '%s' 2>/dev/null || echo 0)\" -le %lld ]; do sleep 0.01; done; "
        "kill -9 $victim && wait $victim",
        program, with, path, before);
    assert_int_equal(WEXITSTATUS(system(command)), 128 + SIGKILL);
    assert_true(file_size(path) > before);
  }
  command_result resumed = run(*state, with, 0);
  remove_times(whole.out);
  remove_times(resumed.out);
  assert_string_equal(whole.out, resumed.out);
  assert_int_not_equal(access(path, F_OK), 0);
  command_clear(&whole);
  command_clear(&resumed);
  (void)scratch_write(*state, "no.journal", "text", 4, path);
  command_result other = run(*state, CYLINDER " --levels 2 --journal no.journal", 3);
  assert_non_null(strstr(other.err, "this is no journal of this very command"));
  command_clear(&other);
}

static void refusals(void** state) {
  static const struct {
    const char* arguments;
    int code;
    const char* message;
  } cases[] = {
      {"", 2, "a scene file is needed"},
      {"no.xml", 3, "no.xml"},
      {CYLINDER " --journal " CYLINDER, 2, "would be written over what is read"},
      {CYLINDER " --levels 1", 2, "--levels '1' must be an integer from 2 to 20"},
      {CYLINDER " --dt 0", 2, "--dt '0' must be finite and > 0 s"},
      {CYLINDER " --scheme midpoint,nothing", 2, "must be one or more of explicit-euler"},
      {CYLINDER " --scheme midpoint,", 2, "must be one or more of explicit-euler"},
      {CYLINDER " --contact-stage start", 2, "one or more of auto, end, theta"},
      {CYLINDER " --contact-model sticky", 2, "must be sap, similar or lagged"},
      {CYLINDER " --solver nothing", 2, "'sapstep solvers' lists"},
      {CYLINDER " --scheme explicit-euler --contact-stage theta", 2, "no scheme is left"},
      {CYLINDER " --reference-ratio 1", 2, "an integer from 2 to 4096"},
      {CYLINDER " --reference finer", 2, "must be auto, run or richardson"},
      {CYLINDER " --reference run" EXACT, 2, "exclude each other"},
      {CYLINDER " --exact 'x=mod(t)'", 2, "a second argument is missing"},
      {CYLINDER " --jobs 0", 2, "an integer from 1 to 64"},
      {CYLINDER " --exact x", 2, "JOINT=FORMULA"},
      {CYLINDER " --start x", 2, "must be JOINT=X"},
      {CYLINDER " --start x=nan", 2, "must be JOINT=X"},
      {CYLINDER " --start =1", 2, "must be JOINT=X"},
      {CYLINDER " --start y=1", 3, "has no joint 'y'"},
      {CYLINDER " --exact 'x=cos(t'", 2, "a closing parenthesis is missing"},
      {CYLINDER " --exact 'x=2*'", 2, "a number, t, a function or a parenthesis is missing"},
      {CYLINDER " --exact 'x=cosinus(t)'", 2, "it has an unknown name"},
      {CYLINDER " --exact 'x=cos t'", 2, "a function needs its argument in parentheses"},
      {CYLINDER " --exact 'x=1 2'", 2, "something stands behind its end"},
      {CYLINDER " --exact 'y=t'", 3, "has no joint 'y'"},
      {"'" SCENES "falling_box.xml' --exact 'root=t'", 3, "is neither a hinge nor a slide"},
      {CYLINDER " --keyframe up", 3, "has no keyframe 'up'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line, "converge %s", cases[i].arguments);
    command_expect(*state, program, line, cases[i].code, cases[i].message);
  }
  command_result r = run(*state, CYLINDER " --levels 2 --svg no/such/folder.svg" EXACT, 3);
  assert_non_null(strstr(r.err, "no/such/folder.svg"));
  command_clear(&r);
}

// Robots that are not ours.
static void urdf_double_pendulum(void** state) {
  const char* path = SAPSTEP_SHARED
      "/models/urdf/robots/double_pendulum_description/urdf/double_pendulum_continuous.urdf";
  if (access(path, R_OK) != 0) {
    print_message("%s is not there\n", path);
    skip();
  }
  char line[1024];
  (void)snprintf(line, sizeof line,
                 "'%s' --lenient --dt 0.005 --levels 4 --duration 0.5 --start joint1=1 "
                 "--start joint2=0.5 --format json",
                 path);
  command_result r = run(*state, line, 0);
  ASSERT_NEAR(value(&r, 0, "position_fit"), 1.0, 0.15);
  ASSERT_NEAR(value(&r, 4, "position_fit"), 1.0, 0.15);
  ASSERT_NEAR(value(&r, 8, "position_fit"), 2.0, 0.1);
  assert_true(value(&r, 8, "position_l2") > 1e-6);  // it does move
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(double_pendulum_orders),
      TEST(spring_cylinder_errors),
      TEST(chart_of_sliding_box),
      TEST(coarse_reference_is_told),
      TEST(failed_runs_are_told),
      TEST(threads_change_nothing),
      TEST(formulas),
      TEST(solutions_of_the_scene),
      TEST(extrapolated_reference),
      TEST(killed_and_resumed),
      TEST(refusals),
      TEST(urdf_double_pendulum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
