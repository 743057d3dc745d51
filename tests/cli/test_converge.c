// SPDX-License-Identifier: BSD-3-Clause
// sapstep converge: orders that are known, references that are too coarse, formulas.
#define _XOPEN_SOURCE 700
#include <math.h>

#include "cli/converge_command.h"
#include "support/near.h"
#include "support/skip.h"
#include "support/svg.h"

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
  command_result r = converge(*state,
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

// Castro's case against its exact solution; numbers of an independent SAPSTEP_PROGRAM, dt 0.02.
static void spring_cylinder_errors(void** state) {
  command_result r = converge(*state,
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
  command_result r = converge(*state,
                              "'" SCENES
                              "sliding_box.xml' --levels 3 --duration 0.1 --scheme midpoint "
                              "--contact-stage end,theta --format csv --svg orders.svg",
                              0);
  assert_string_equal(r.err, "");
  assert_non_null(strstr(r.out, "\nmidpoint,theta,sap,0.0005"));
  char* svg = scratch_text(*state, "orders.svg");
  assert_int_equal(svg_lines(svg), 4 + 4);  // and two slopes in each panel
  assert_non_null(strstr(svg, ">midpoint, theta, order "));
  free(svg);
  command_clear(&r);
}

// Error-controlled steps beside those of one length: far fewer solves for the same error.
static void error_against_work(void** state) {
  command_result r =
      converge(*state,
               CYLINDER
               " --dt 0.1 --levels 4 --scheme midpoint --accuracy 1e-2 --format json "
               "--svg work.svg",
               0);
  assert_string_equal(r.err, "");
  assert_true(value(&r, 3, "solves") == 80.0);
  for (int l = 0; l < 4; ++l) {
    ASSERT_NEAR(value(&r, 4 + l, "solves") * value(&r, 4 + l, "dt_s"), 1.0, 1e-12);
    assert_true(value(&r, 4 + l, "position_l2") <= 20.0 * pow(10.0, -2.0 - l));
  }
  assert_true(value(&r, 6, "position_l2") <= value(&r, 3, "position_l2") / 5.0);
  assert_true(value(&r, 6, "solves") <= 2.0 * value(&r, 3, "solves"));
  char* svg = scratch_text(*state, "work.svg");
  assert_non_null(strstr(svg, ">adaptive, order "));
  assert_non_null(strstr(svg, ">Work<"));
  free(svg);
  command_clear(&r);
}

// A peer's points are rows and a line of the chart; one that fails is named.
static void peers_beside(void** state) {
  command_result r =
      converge(*state,
               CYLINDER
               " --dt 0.1 --levels 2 --scheme midpoint --format json --svg peer.svg "
               "--peer 'printf \"a head\\nno,nan,1,1,1\\nno,1,1,nan,1\\nno,1,1,1,inf\\n"
               "other,0.1,0.5,10,1e-3\\nother,0.05,1,20,5e-4\\n\" #'",
               0);
  assert_true(json_valid(r.out));
  assert_true(value(&r, 2, "solves") == 10.0 && value(&r, 3, "solves") == 20.0);
  assert_true(value(&r, 2, "dt_s") == 0.1 && value(&r, 2, "time_s") == 0.5);
  assert_true(value(&r, 3, "position_l2") == 5e-4);
  char* svg = scratch_text(*state, "peer.svg");
  assert_non_null(strstr(svg, ">other<"));
  assert_non_null(strstr(svg, ">Work<"));
  double at[4][2];  // twice the time for half of the error
  assert_int_equal(svg_points(svg, svg_lines(svg) - 1, at, 4), 2);
  assert_true(at[1][0] > at[0][0] + 10.0 && at[1][1] > at[0][1] + 10.0);
  free(svg);
  command_clear(&r);
  r = converge(*state, CYLINDER " --dt 0.1 --levels 2 --scheme midpoint --peer false", 1);
  assert_non_null(strstr(r.err, "peer 'false' failed"));
  command_clear(&r);
}

static void coarse_reference_is_told(void** state) {
  command_result r = converge(*state,
                              "'" SCENES
                              "double_pendulum.xml' --dt 0.01 --levels 3 --duration 0.5 "
                              "--scheme midpoint --reference-ratio 2 --format json",
                              1);
  assert_non_null(strstr(r.err, "2 of 3 errors are less than ten times what the references"));
  assert_non_null(strstr(r.err, "--reference-ratio 8 is recommended"));
  assert_non_null(strstr(r.out, "\"outcome\": \"reference too coarse\""));
  assert_non_null(strstr(r.out, "\"position_fit_error\": null"));
  command_clear(&r);
}

// In free fall all schemes have the very velocities, and midpoint the positions: their errors are
// those of round-off, which are no matter of the reference.
static void exact_schemes_are_no_coarse_references(void** state) {
  command_result r = converge(*state, "'" SCENES "falling_box.xml' --duration 0.1 --format csv", 0);
  assert_string_equal(r.err, "");
  assert_null(strstr(r.out, "too coarse"));
  // after dt: the error of positions, and its order
  const char* row = strstr(r.out, "\nmidpoint,auto,sap,0.005");
  assert_non_null(row);
  const char* midpoint = strchr(row + strlen("\nmidpoint,auto,sap,"), ',');
  assert_true(strtod(midpoint + 1, NULL) < 1e-13);
  row = strstr(r.out, "\nsymplectic-euler,auto,sap,0.0025");
  assert_non_null(row);
  char* order;
  (void)strtod(strchr(row + strlen("\nsymplectic-euler,auto,sap,"), ',') + 1, &order);
  ASSERT_NEAR(strtod(order + 1, NULL), 1.0, 1e-3);
  command_clear(&r);
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
    command_result r = converge(*state, line, 0);
    const double error = value(&r, 0, "position_l2");
    first = i == 0 ? error : first;
    ASSERT_NEAR(error, first, 1e-12);
    command_clear(&r);
  }
  command_result r = converge(*state,
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
    command_result r = converge(*state, line, 0);
    error[i] = value(&r, 0, "position_l2");
    assert_true(value(&r, 0, "velocity_end") > 0.0);
    command_clear(&r);
  }
  assert_true(error[0] == error[1]);
  assert_true(error[0] != error[2]);
  // Jacobi's cd against the pendulum, and parabolas with half sines
  command_result r =
      converge(*state,
               "'" SAPSTEP_SOURCE_DIR
               "/examples/studies/orders/pendulum.xml' --keyframe "
               "released --dt 0.01 --levels 3 --duration 2 --scheme midpoint --format json",
               0);
  ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.02);
  assert_true(value(&r, 2, "position_l2") < 1e-3);
  command_clear(&r);
  r = converge(*state,
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
    command_result r = converge(*state, line, 0);
    error[i] = value(&r, 2, "position_l2");
    ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.02);
    command_clear(&r);
  }
  assert_true(fabs(error[1] / error[0] - 1.0) < 2e-3);
}

// Robots that are not ours.
static void urdf_double_pendulum(void** state) {
  const char* path = SAPSTEP_SHARED
      "/models/urdf/robots/double_pendulum_description/urdf/double_pendulum_continuous.urdf";
  SKIP_WITHOUT(path);
  char line[1024];
  (void)snprintf(line, sizeof line,
                 "'%s' --lenient --dt 0.005 --levels 4 --duration 0.5 --start joint1=1 "
                 "--start joint2=0.5 --format json",
                 path);
  command_result r = converge(*state, line, 0);
  ASSERT_NEAR(value(&r, 0, "position_fit"), 1.0, 0.15);
  ASSERT_NEAR(value(&r, 4, "position_fit"), 1.0, 0.15);
  ASSERT_NEAR(value(&r, 8, "position_fit"), 2.0, 0.1);
  assert_true(value(&r, 8, "position_l2") > 1e-6);  // it does move
  command_clear(&r);
}

// Implicit Euler falls too far by g dt t/2 and loses m g^2 dt t/2 of energy; midpoint is exact.
static void numbers_of_a_fall(void** state) {
  static const char text[] =
      "<mujoco><worldbody><body pos='0 0 5'><joint name='z' type='slide' axis='0 0 1' ref='5'/>"
      "<geom size='.1' mass='2'/></body></worldbody></mujoco>";
  const double g = 9.81, t = 0.4;
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "fall.xml", text, strlen(text), path);
  command_result r = converge(*state,
                              "fall.xml --dt 0.1 --duration 0.4 --levels 2 --scheme "
                              "implicit-euler,midpoint --exact 'z=5-4.905*t^2' --format json "
                              "--svg fall.svg",
                              0);
  for (int row = 0; row < 4; ++row) {
    const double dt = row % 2 == 0 ? 0.1 : 0.05, more = row < 2 ? 0.5 * g * dt : 0.0;
    ASSERT_NEAR(value(&r, row, "dt_s"), dt, 1e-15);
    ASSERT_NEAR(value(&r, row, "position_end"), more * t, 1e-12);
    ASSERT_NEAR(value(&r, row, "position_l2"), more * sqrt(0.3 / 4.0), 1e-12);  // at 0.1, 0.2 ...
    ASSERT_NEAR(value(&r, row, "velocity_end"), 0.0, 1e-10);
    ASSERT_NEAR(value(&r, row, "velocity_l2"), 0.0, 1e-10);
    ASSERT_NEAR(value(&r, row, "energy_drift_J"), -2.0 * g * more * t, 1e-10);
    ASSERT_NEAR(value(&r, row, "solves"), t / dt, 1e-12);
    ASSERT_NEAR(value(&r, row, "newton_mean"), 0.0, 0.0);
  }
  ASSERT_NEAR(value(&r, 1, "position_order"), 1.0, 1e-12);
  command_clear(&r);
  char* svg = scratch_text(*state, "fall.svg");
  assert_non_null(strstr(svg, ">implicit-euler, order 1.00<"));  // not what all lines share
  free(svg);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(double_pendulum_orders),
      TEST(spring_cylinder_errors),
      TEST(chart_of_sliding_box),
      TEST(error_against_work),
      TEST(peers_beside),
      TEST(coarse_reference_is_told),
      TEST(exact_schemes_are_no_coarse_references),
      TEST(formulas),
      TEST(solutions_of_the_scene),
      TEST(extrapolated_reference),
      TEST(urdf_double_pendulum),
      TEST(numbers_of_a_fall),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
