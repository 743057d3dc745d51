// SPDX-License-Identifier: BSD-3-Clause
// sapstep sweep: quantities, plots, forces and references, against closed forms of a cube that
// slides on a plane; the studies of examples/studies.
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

// lelidec's cube: 1 kg, side 0.2 m, mu 0.4.
static const char cube[] =
    "<mujoco><option timestep='0.002'/><worldbody>"
    "<geom type='plane' size='5 5 0.1' friction='0.4'/>"
    "<body name='cube' pos='0 0 0.1'><freejoint name='cube'/>"
    "<geom name='box' type='box' size='0.1 0.1 0.1' mass='1' friction='0.4'/></body>"
    "</worldbody></mujoco>";
static const double MU = 0.4, G = 9.81;
#define TABLES " --csv a.csv --lines l.csv "

static int begin(void** state) {
  char path[SCRATCH_PATH_SIZE];
  if (scratch_setup(state) != 0) {
    return 1;
  }
  (void)scratch_write(*state, "cube.xml", cube, strlen(cube), path);
  return 0;
}

// Runs the sweep of a text; an exit code of 1 means that steps did not converge.
static void sweep(scratch* s, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, "a.study", text, strlen(text), path);
  command_result r = command_run(s, program, "", "sweep a.study" TABLES);
  if (r.exit_code > 1) {
    fail_msg("exit %d, stderr '%s'", r.exit_code, r.err);
  }
  command_clear(&r);
}

// The largest and the last y of a line of a chart's CSV.
typedef struct line_values {
  double largest, last;
  int count;
} line_values;

static line_values read_line(scratch* s, const char* panel, const char* line) {
  char begins[128];
  line_values v = {-(double)INFINITY, (double)NAN, 0};
  char* text = scratch_text(s, "l.csv");
  (void)snprintf(begins, sizeof begins, "\"%s\",\"%s\",", panel, line);
  for (char* row = strtok(text, "\n"); row != NULL; row = strtok(NULL, "\n")) {
    if (strncmp(row, begins, strlen(begins)) == 0) {
      v.last = strtod(strrchr(row, ',') + 1, NULL);
      v.largest = fmax(v.largest, v.last);
      ++v.count;
    }
  }
  free(text);
  assert_true(v.count > 0);
  return v;
}

// Coulomb stops after v0^2/(2 mu g) on a straight line; CCP lifts off with mu v0; the pyramid turns
// aside, less with more facets.
static void solvers_step_themselves(void** state) {
  scratch* s = *state;
  const double vx = 1.2, vy = 0.5, v0 = hypot(1.2, 0.5);
  sweep(s,
        "scene cube.xml\nduration 0.5\nset contact_law rigid\nset baumgarte 0\n"
        "set v/cube[0] 1.2\nset v/cube[1] 0.5\nset relative_tolerance 1e-9\n"
        "grid solver pgs-ncp admm-ccp pgs-lcp pgs-lcp:friction_directions=32\n"
        "plot q/cube[0] q/cube[1] drift/cube v/cube[2] kinetic normal_force q/cube[1]@q/cube[0]\n"
        "exact kinetic 0.72*exp(-t)\n");
  // The discrete path is longer by v0 dt/2 at most.
  const double stop = v0 * v0 / (2.0 * MU * G), dt = 0.002;
  const double x = read_line(s, "q/cube[0]", "pgs-ncp").last;
  const double y = read_line(s, "q/cube[1]", "pgs-ncp").last;
  ASSERT_NEAR(hypot(x, y), stop, v0 * dt);
  ASSERT_NEAR(y / x, vy / vx, 1e-4);
  ASSERT_NEAR(read_line(s, "drift/cube", "pgs-ncp").last, 0.0, 1e-4);
  ASSERT_NEAR(read_line(s, "normal_force", "pgs-ncp").last, G, 1e-3);
  const double four = fabs(read_line(s, "drift/cube", "pgs-lcp").last);
  assert_true(four > 0.01);
  assert_true(fabs(read_line(s, "drift/cube", "pgs-lcp:friction_directions=32").last) < 0.1 * four);
  // u_N = mu u_T after the first step: mu times what friction leaves of v0
  const double lift = read_line(s, "v/cube[2]", "admm-ccp").largest;
  assert_true(lift > 0.8 * MU * v0 && lift <= MU * v0);
  assert_int_equal(read_line(s, "kinetic", "exact").count, 201);
}

// CCP's error is proportional to dt; lelidec Fig. 11.
static void deviation_from_a_reference(void** state) {
  scratch* s = *state;
  sweep(s,
        "scene cube.xml\nduration 0.4\nset contact_law rigid\nforce cube/x 20*t\n"
        "set relative_tolerance 1e-9\ngrid solver admm-ccp pgs-ncp\ngrid dt 0.01 0.005 0.0025\n"
        "reference pgs-ncp\nreference_dt 2.5e-4\nmeasure deviation:integral\n");
  const line_values ccp = read_line(s, "deviation:integral", "admm-ccp");
  assert_int_equal(ccp.count, 3);
  ASSERT_NEAR(log2(ccp.largest / ccp.last), 2.0, 0.4);  // order 1 over a factor 4
  assert_true(read_line(s, "deviation:integral", "pgs-ncp").largest < ccp.largest);
  // A run is its own reference, also where the reference has other times between.
  sweep(s,
        "scene cube.xml\nduration 0.1\nforce cube/x 20*t\ngrid dt 0.01 0.005\nreference own\n"
        "measure deviation:max\n");
  ASSERT_NEAR(read_line(s, "deviation:max", "cube.xml").largest, 0.0, 1e-30);  // of quaternions
}

// lelidec Fig. 12: going from contact to contact jams a cube that sticks, solving all at once does
// not; either way its weight is carried.
static void internal_forces(void** state) {
  scratch* s = *state;
  sweep(s,
        "scene cube.xml\nduration 0.05\nset contact_law rigid\nforce cube/x 20*t\n"
        "set relative_tolerance 1e-9\ngrid solver nbgs admm-ncp\n"
        "plot internal_force normal_force force/0/x\n");
  assert_true(read_line(s, "internal_force", "nbgs").largest > 0.1);
  assert_true(read_line(s, "internal_force", "admm-ncp").largest < 1e-6);
  ASSERT_NEAR(read_line(s, "normal_force", "nbgs").last, G, 1e-6);
  // A quarter of the pull, 1 N at the middle of the last step, times 0.98.
  ASSERT_NEAR(read_line(s, "force/0/x", "admm-ncp").last, -0.25 * 20.0 * 0.049, 1e-3);
}

// In free fall v = -g t, and implicit Euler falls by g t (t + dt)/2 and loses m g^2 t dt/2 of its
// energy: statistics of v and of the time have formulas.
static void statistics(void** state) {
  scratch* s = *state;
  sweep(s,
        "scene cube.xml\nduration 0.1\nset q/cube[2] 5\nset dt 0.01\n"
        "measure time time:mean time:median time:sum v/cube[2]:max v/cube[2]:integral\n"
        "plot energy\nmeasure q/cube[2]:change energy:change steps\n");
  const double fall = 0.5 * G * 0.1 * 0.11;
  const double expected[] = {0.1,      0.055,           0.05,  0.55,
                             -G * 0.1, G * 0.055 * 0.1, -fall, 0.5 * G * G * 0.01 - G * fall,
                             10.0};
  char* csv = scratch_text(s, "a.csv");
  const char* at = strchr(csv, '\n');
  for (int i = 0; i < 3; ++i) {
    at = strchr(at, ',') + 1;  // the case and the two parameters
  }
  for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    ASSERT_NEAR(strtod(at, NULL), expected[i], 1e-9);
    at = strchr(at, ',') + 1;
  }
  free(csv);
}

// A solver that cannot take the scene fails in its case; a run that fails keeps its plots until then.
static void refused_solver(void** state) {
  scratch* s = *state;
  sweep(s,
        "scene cube.xml\nduration 0.02\nset contact_law rigid\ngrid solver sap nbgs\n"
        "plot energy\nmeasure steps\n");
  char* csv = scratch_text(s, "a.csv");
  assert_non_null(strstr(csv, ",sap,,failed,"));
  assert_non_null(strstr(csv, ",nbgs,10,ok,"));
  free(csv);
  assert_int_equal(read_line(s, "energy", "nbgs").count, 10);
}

static void wrong_lines(void** state) {
#define CUBE "scene cube.xml\n"
  static const struct {
    const char *text, *message;
  } cases[] = {
      {CUBE "plot none\n", "a.study:2: unknown quantity 'none'; available: energy, kinetic"},
      {CUBE "measure energy:most\n", "'energy:most' must be QUANTITY or QUANTITY:end, change, max"},
      {CUBE "plot q/none\n", "a.study:2: the scene has no coordinate 'q/none'"},
      {CUBE "plot drift/none\n", "a.study:2: the scene has no free joint 'none'"},
      {CUBE "plot force/0/w\n", "'force/0/w' must be force/CONTACT/x, y or z"},
      {CUBE "plot energy@none\n", "unknown quantity 'none'"},
      {CUBE "plot\n", "plot needs quantities"},
      {CUBE "plot energy\nexact kinetic t\n", "a.study:3: exact needs a quantity"},
      {CUBE "plot energy\nexact energy 1+\n", "a.study:3: exact needs a quantity"},
      {CUBE "measure energy\nforce cube/w 1\n", "a.study:3: force needs BODY/x, y or z"},
      {CUBE "measure energy\nforce cube/x 1+\n", "a.study:3: force needs BODY/x, y or z"},
      {CUBE "measure energy\nforce none/x 1\n", "a.study:3: the scene has no body 'none'"},
      {CUBE "measure deviation\n", "a.study:2: deviation needs a line 'reference own'"},
      {CUBE "reference none\nmeasure deviation\n", "reference 'none' must be own or a solver"},
      {CUBE "reference own\nreference_dt 0\nmeasure deviation\n", "reference_dt '0' must be"},
      {CUBE "grid solver sap admm-ncp:penalty=none\n", "solver 'admm-ncp:penalty=none' must be"},
      {CUBE "grid solver admm-ncp:none=1\n", "must be a solver"},
      {CUBE "grid solver sap:\n", "must be a solver"},
      {CUBE "grid friction 1 2 3 4 5 6 7 8 9 10 11 12 13\nplot energy\n",
       "the chart would have 13 lines over time, at most 12"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char path[SCRATCH_PATH_SIZE];
    (void)scratch_write(*state, "a.study", cases[i].text, strlen(cases[i].text), path);
    command_expect(*state, program, "sweep a.study" TABLES, 3, cases[i].message);
  }
}

// Every study of the examples runs, if only for a few steps.
static void bundled_studies(void** state) {
  static const char* const names[] = {
      "castro_05",        "castro_06",  "castro_06_long",        "castro_09",
      "castro_14",        "balls_5",    "clutter_friction",      "pyramid_drift",
      "ccp_lift",         "mass_ratio", "ccp_consistency",       "internal_forces",
      "self_consistency", "compliance", "tangential_compliance", "ill_conditioned_stack"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char before[1024];
    (void)snprintf(before, sizeof before,
                   "sed 's#\\.\\./scenes#%s/examples/scenes#; /^duration/d; /^samples/d; "
                   "s/^reference_dt.*/reference_dt 1e-4/; s/^\\(set *max_sweeps\\).*/\\1 300/' "
                   "%s/examples/studies/%s.study > a.study; echo duration 0.02 >> a.study;",
                   SAPSTEP_SOURCE_DIR, SAPSTEP_SOURCE_DIR, names[i]);
    command_result r =
        command_run(*state, program, before, "sweep a.study --csv a.csv --svg a.svg --lines l.csv");
    if (r.exit_code > 1 || strstr(r.out, " 0 failed") == NULL) {
      fail_msg("%s: exit %d, stdout '%s', stderr '%s'", names[i], r.exit_code, r.out, r.err);
    }
    command_clear(&r);
    char* lines = scratch_text(*state, "l.csv");
    assert_true(strlen(lines) > 100);
    free(lines);
  }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(solvers_step_themselves), TEST(deviation_from_a_reference),
      TEST(internal_forces),         TEST(statistics),
      TEST(refused_solver),          TEST(wrong_lines),
      TEST(bundled_studies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
