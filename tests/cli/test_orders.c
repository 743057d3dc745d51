// SPDX-License-Identifier: BSD-3-Clause
// Orders of accuracy on the bundled scenes of examples/studies/orders, measured with `sapstep
// converge`: constraints at the theta point of the midpoint rule are second order where the end of
// the step is first.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/near.h"

static const char* const program = SAPSTEP_PROGRAM;
#define ORDERS SAPSTEP_SOURCE_DIR "/examples/studies/orders/"

// A member of the row at which a series starts.
static double value(const command_result* r, int row, const char* name) {
  const char* at = strchr(r->out, '{');
  for (int i = 0; i < row && at != NULL; ++i) {
    at = strchr(at + 1, '{');
  }
  assert_non_null(at);
  return json_member(at, name);
}

enum { LEVELS = 4 };

static command_result converge(scratch* s, const char* scene, const char* arguments) {
  char line[1024];
  (void)snprintf(line, sizeof line,
                 "converge '" ORDERS "%s' --scheme midpoint --format json --levels %d %s", scene,
                 LEVELS, arguments);
  command_result r = command_run(s, program, "", line);
  if (r.exit_code != 0) {
    fail_msg("'%s': exit %d, stderr '%s'", line, r.exit_code, r.err);
  }
  return r;
}

// The mass that vibrates on k = 1e4 N/m; numbers of an independent program at dt 0.125 ms.
static void vibrating_contact(void** state) {
  static const struct {
    const char* arguments;
    double theta, theta_tolerance, end;
  } cases[] = {
      {"--relaxation-time 0 --exact 'z=0.00024525*(1-cos(sqrt(2e4)*t))'", 6.0e-4, 0.15e-4, 9.3e-2},
      {"--relaxation-time 0.002 "
       "--exact 'z=0.00024525*(1-exp(-20*t)*(cos(140*t)+20/140*sin(140*t)))'",
       2.3e-5, 0.05e-5, 0.0},
  };
  const double amplitude = 0.00024525;
  for (int i = 0; i < 2; ++i) {
    char line[256];
    (void)snprintf(line, sizeof line, "--dt 1e-3 --duration 0.4 --contact-stage end,theta %s",
                   cases[i].arguments);
    command_result r = converge(*state, "vibrating_contact.xml", line);
    ASSERT_NEAR(value(&r, LEVELS, "position_fit"), 2.0, 0.05);
    for (int l = 1; l < LEVELS; ++l) {
      ASSERT_NEAR(value(&r, LEVELS + l, "position_order"), 2.0, 0.05);
    }
    ASSERT_NEAR(value(&r, 2 * LEVELS - 1, "position_l2") / amplitude, cases[i].theta,
                cases[i].theta_tolerance);
    assert_true(value(&r, 0, "position_fit") < 1.1);
    if (cases[i].end > 0.0) {
      ASSERT_NEAR(value(&r, LEVELS - 1, "position_l2") / amplitude, cases[i].end, 0.15e-2);
    }
    command_clear(&r);
  }
}

// Second order at the theta point, first at the end, against a much finer run. A convex contact
// that slides glides at its end, with tau_d to another limit: its order says nothing.
static void constraints_within_the_step(void** state) {
  static const struct {
    const char *scene, *arguments;
    double tolerance;
    bool end;
  } cases[] = {
      {"sliding_contact.xml", "--keyframe sliding --dt 0.001 --duration 0.2", 0.02, false},
      {"sliding_contact.xml", "--keyframe sliding --dt 0.001 --duration 0.2 --solver sap-ncp", 0.02,
       true},
      {"rolling_on_sphere.xml", "--keyframe start --dt 0.002 --duration 0.2", 0.05, true},
      {"limit_springs.xml", "--keyframe pressed --dt 0.004 --duration 0.4", 0.05, true},
      {"loop.xml", "--dt 0.002 --duration 0.4", 0.15, true},
      {"stretched_tendon.xml", "--dt 0.004 --duration 0.4", 0.1, true},
      {"servo_arm.xml", "--keyframe start --dt 0.001 --duration 0.2", 0.1, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[256];
    (void)snprintf(line, sizeof line, "--contact-stage end,theta %s", cases[i].arguments);
    command_result r = converge(*state, cases[i].scene, line);
    print_message("%s: end %.3f, theta %.3f\n", cases[i].scene, value(&r, 0, "position_fit"),
                  value(&r, LEVELS, "position_fit"));
    ASSERT_NEAR(value(&r, LEVELS, "position_fit"), 2.0, cases[i].tolerance);
    ASSERT_NEAR(value(&r, LEVELS, "velocity_fit"), 2.0, cases[i].tolerance);
    if (cases[i].end) {
      ASSERT_NEAR(value(&r, 0, "position_fit"), 1.0, 0.12);
    }
    command_clear(&r);
  }
}

// Effect of events: friction that reverses makes the order 1 (0.2 to 1.5 from level to level); an
// elastic contact that opens and closes leaves it 2 on average.
static void events(void** state) {
  static const char* const sliding =
      "--keyframe pulled --dt 0.002 --contact-stage theta --duration %s";
  char line[256];
  (void)snprintf(line, sizeof line, sliding, "0.2");
  command_result smooth = converge(*state, "coulomb_oscillator.xml", line);
  ASSERT_NEAR(value(&smooth, 0, "position_fit"), 2.0, 0.02);
  (void)snprintf(line, sizeof line, sliding, "0.3 --reference-ratio 64");
  command_result turns = converge(*state, "coulomb_oscillator.xml", line);
  assert_true(value(&turns, 0, "position_fit") < 1.7);
  // the error of the turns is that of the events: much larger than on the smooth part
  assert_true(value(&turns, LEVELS - 1, "position_l2") >
              20.0 * value(&smooth, LEVELS - 1, "position_l2"));
  command_result impacts =
      converge(*state, "bouncing_contact.xml", "--dt 1.25e-4 --contact-stage theta --duration 0.5");
  ASSERT_NEAR(value(&impacts, 0, "position_fit"), 2.0, 0.4);
  command_clear(&impacts);
  command_clear(&turns);
  command_clear(&smooth);
}

// Rigid contact is evaluated at the end of any step; J of the theta point still makes the
// difference between 4.4 mm and 0.04 mm (measured, dt 4 ms).
static void rigid_rolling(void** state) {
  command_result r =
      converge(*state, "rolling_rigid.xml",
               "--keyframe start --dt 0.004 --duration 0.4 --contact-stage end,theta");
  for (int l = 0; l < LEVELS; ++l) {
    assert_true(value(&r, LEVELS + l, "position_l2") < 0.01 * value(&r, l, "position_l2"));
  }
  command_clear(&r);
}

// Free motion: a body with three moments of inertia, and an arm.
static void free_motion(void** state) {
  command_result r = converge(*state, "spinning_body.xml", "--keyframe spin --duration 1");
  ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.01);
  command_clear(&r);
  r = converge(*state, "arm_7dof.xml", "--keyframe swing --dt 0.0025 --duration 0.3");
  ASSERT_NEAR(value(&r, 0, "position_fit"), 2.0, 0.01);
  ASSERT_NEAR(value(&r, 0, "velocity_fit"), 2.0, 0.02);
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(vibrating_contact), TEST(constraints_within_the_step), TEST(events), TEST(rigid_rolling),
      TEST(free_motion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
