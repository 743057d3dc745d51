// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: files, scenes, runs by each solver, studies; against closed forms of a cube that
// slides on a plane.
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

// A point of 2 kg that hits the ground with 1 m/s, as in the tests of sapstep solve.
static const char falling[] =
    "sapstep_problem 1\n0.01 1\n3 2 0 0 0 2 0 0 0 2\n0 0 -1\n0 0 -1\n1\n"
    "0 -1 0.5 0.01 0.01 0.5 0 0 0 1 0 0 0 1 0 0 0 1\n";

// lelidec's cube: 1 kg, side 0.2 m, mu 0.4.
static const char cube[] =
    "<mujoco><option timestep='0.002'/><worldbody>"
    "<geom type='plane' size='5 5 0.1' friction='0.4'/>"
    "<body name='cube' pos='0 0 0.1'><freejoint name='cube'/>"
    "<geom name='box' type='box' size='0.1 0.1 0.1' mass='1' friction='0.4'/></body>"
    "</worldbody></mujoco>";
static const double MU = 0.4, G = 9.81;

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_write(&s, "a.problem", falling, strlen(falling), path);
  (void)scratch_write(&s, "cube.xml", cube, strlen(cube), path);
  *state = &s;
  return 0;
}

// Finds the row of a JSON table that contains all of the texts.
static const char* find_row(char* table, const char* a, const char* b) {
  for (char* row = strtok(table, "\n"); row != NULL; row = strtok(NULL, "\n")) {
    if (strstr(row, a) != NULL && strstr(row, b) != NULL) {
      return row;
    }
  }
  fail_msg("no row has %s and %s", a, b);
  return NULL;
}

static command_result run(scratch* s, const char* arguments, int exit_code) {
  return command_exits(s, program, arguments, exit_code);
}

static double member(scratch* s, const char* arguments, const char* solver, const char* start,
                     const char* name) {
  char solver_text[64], start_text[64];
  (void)snprintf(solver_text, sizeof solver_text, "\"solver\": \"%s\"", solver);
  (void)snprintf(start_text, sizeof start_text, "%s", start);
  command_result r = run(s, arguments, 0);
  assert_true(json_valid(r.out));
  const double value = json_member(find_row(r.out, solver_text, start_text), name);
  command_clear(&r);
  return value;
}

static void test_files(void** state) {
  scratch* s = *state;
  command_result r = run(s, "compare --solvers sap,apgd,newton-ncp --format csv a.problem", 0);
  static const char header[] =
      "file,index,solver,start,outcome,iterations,time_us,ccp_map,ncp_map,";
  assert_memory_equal(r.out, header, sizeof header - 1);
  assert_non_null(strstr(r.out, "\na.problem,0,sap,cold,converged"));
  assert_non_null(strstr(r.out, "\na.problem,0,newton-ncp,cold,converged"));
  command_clear(&r);
  static const char summary[] = "compare --summary --format json a.problem a.problem";
  ASSERT_NEAR(member(s, summary, "sap", "cold", "problems"), 2, 0);
  ASSERT_NEAR(member(s, summary, "sap", "cold", "solved_1e-8"), 2, 0);
  ASSERT_NEAR(member(s, summary, "proximal", "cold", "refused"), 2, 0);  // cones are not free
  ASSERT_NEAR(member(s, summary, "admm-ncp", "cold", "solved_1e-8"), 2, 0);
}

// Problems of a scene, and what is written beside the table.
static void test_scene(void** state) {
  scratch* s = *state;
  static const char base[] =
      "compare cube.xml --duration 0.1 --every 5 --set q/cube[2]=0.0999 --force cube/x=6 --format "
      "json "
      "--solvers sap,sap-ncp,newton-ncp,proximal";
  ASSERT_NEAR(member(s, base, "sap", "\"start\": \"cold\"", "problems"), 10, 0);
  ASSERT_NEAR(member(s, base, "sap", "\"start\": \"warm\"", "solved_1e-8"), 10, 0);
  ASSERT_NEAR(member(s, base, "newton-ncp", "\"start\": \"cold\"", "solved_1e-8"), 10, 0);
  ASSERT_NEAR(member(s, base, "proximal", "\"start\": \"cold\"", "refused"), 10, 0);
  // SAP solves the convex problem, and only that: it slides.
  assert_true(member(s, base, "sap", "\"start\": \"cold\"", "ccp_map") < 1e-8);
  assert_true(member(s, base, "sap", "\"start\": \"cold\"", "ncp_map") > 1e-3);
  assert_true(member(s, base, "sap-ncp", "\"start\": \"cold\"", "ncp_map") < 1e-6);
  char arguments[512];
  (void)snprintf(arguments, sizeof arguments,
                 "%s --rows rows.csv --profile p.svg --timings t.svg --convergence c.svg", base);
  command_result r = run(s, arguments, 0);
  command_clear(&r);
  static const char* const files[] = {"p.svg", "p.csv", "t.svg", "t.csv", "c.svg", "c.csv"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char* text = scratch_text(s, files[i]);
    assert_true(strlen(text) > 100);
    assert_non_null(strstr(text, "sap-ncp"));
    assert_null(strstr(text, "nan,"));
    free(text);
  }
  char* rows = scratch_text(s, "rows.csv");
  int lines = 0;
  for (const char* at = rows; (at = strchr(at, '\n')) != NULL; ++at) {
    ++lines;
  }
  assert_int_equal(lines, 1 + 10 * 3 * 2);  // proximal refuses
  free(rows);
}

// The largest and the last y of a line of a chart's CSV.
typedef struct line_values {
  double largest, last;
  int count;
} line_values;

static line_values read_line(scratch* s, const char* name, const char* panel, const char* line) {
  char begins[128];
  line_values v = {-(double)INFINITY, (double)NAN, 0};
  char* text = scratch_text(s, name);
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
// aside.
static void test_self(void** state) {
  scratch* s = *state;
  const double vx = 1.2, vy = 0.5, v0 = hypot(1.2, 0.5);
  command_result r =
      run(s,
          "compare cube.xml --self --solvers pgs-ncp,admm-ccp,pgs-lcp --duration 0.5 "
          "--set contact_law=rigid,baumgarte=0,v/cube[0]=1.2,v/cube[1]=0.5 --format "
          "json --plot q/cube[0],q/cube[1],drift/cube,v/cube[2],kinetic,normal_force,"
          "q/cube[1]@q/cube[0] --exact 'kinetic=0.72*exp(-t)' --svg out.svg",
          0);
  assert_true(json_valid(r.out));
  assert_non_null(strstr(r.out, "\"drift/cube:max\""));
  command_clear(&r);
  // The discrete path is longer by v0 dt/2 at most.
  const double stop = v0 * v0 / (2.0 * MU * G), dt = 0.002;
  const double x = read_line(s, "out.csv", "q/cube[0]", "pgs-ncp").last;
  const double y = read_line(s, "out.csv", "q/cube[1]", "pgs-ncp").last;
  ASSERT_NEAR(hypot(x, y), stop, v0 * dt);
  ASSERT_NEAR(y / x, vy / vx, 1e-4);
  ASSERT_NEAR(read_line(s, "out.csv", "drift/cube", "pgs-ncp").last, 0.0, 1e-4);
  ASSERT_NEAR(read_line(s, "out.csv", "normal_force", "pgs-ncp").last, G, 1e-3);
  assert_true(fabs(read_line(s, "out.csv", "drift/cube", "pgs-lcp").last) > 0.01);
  // u_N = mu u_T after the first step: mu times what friction leaves of v0
  const double lift = read_line(s, "out.csv", "v/cube[2]", "admm-ccp").largest;
  assert_true(lift > 0.8 * MU * v0 && lift <= MU * v0);
  assert_int_equal(read_line(s, "out.csv", "kinetic", "exact").count, 201);
}

// CCP's error is proportional to dt; lelidec Fig. 11.
static void test_deviation(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --self --solvers admm-ccp,pgs-ncp --duration 0.4 --set "
                         "contact_law=rigid --force cube/x=20*t --vary dt=0.01,0.005,0.0025 "
                         "--reference pgs-ncp --reference-dt 2.5e-4 --plot deviation:integral "
                         "--svg d.svg --format json",
                         0);
  const double coarse =
      json_member(find_row(r.out, "\"dt\": \"0.01\"", "admm-ccp"), "deviation:integral");
  command_clear(&r);
  const line_values ccp = read_line(s, "d.csv", "deviation", "admm-ccp");
  assert_int_equal(ccp.count, 3);
  ASSERT_NEAR(ccp.largest, coarse, 1e-12 * coarse);
  ASSERT_NEAR(log2(ccp.largest / ccp.last), 2.0, 0.4);  // order 1 over a factor 4
  assert_true(read_line(s, "d.csv", "deviation", "pgs-ncp").largest < ccp.largest);
}

static void test_classes(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --classes --set q/cube[2]=0.0999 --duration 0.02 "
                         "--solvers sap --format csv",
                         0);
  assert_non_null(strstr(r.out, ",dense_contacts,sap,cold,10,"));  // 4 contacts on one body
  command_clear(&r);
  // Two points close a hinge of a plane linkage: 26 constraints on 24 coordinates, rank 23.
  r = run(s,
          "compare " SAPSTEP_SOURCE_DIR
          "/examples/scenes/fourbar_fixed.xml --classes --solvers "
          "admm-ncp --duration 0.02 --format csv",
          0);
  assert_non_null(strstr(r.out, ",dense_joints,admm-ncp,cold,20,"));
  assert_null(strstr(r.out, "contact"));
  command_clear(&r);
  // A weld of two free boxes in the air: six rows of rank six on twelve coordinates.
  r = run(s,
          "compare " SAPSTEP_SOURCE_DIR
          "/examples/scenes/boxes_fixed.xml --classes --solvers "
          "admm-ncp --duration 0.02 --format csv",
          0);
  assert_non_null(strstr(r.out, ",independent_joints,admm-ncp,cold,20,"));
  command_clear(&r);
}

// lelidec Fig. 12: going from contact to contact jams a cube that sticks, solving all at once does
// not; either way its weight is carried.
static void test_internal_forces(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --self --solvers nbgs,admm-ncp --duration 0.05 --set "
                         "contact_law=rigid --force cube/x=20*t --plot internal_force,normal_force,"
                         "force/0/x --svg i.svg",
                         0);
  command_clear(&r);
  assert_true(read_line(s, "i.csv", "internal_force", "nbgs").largest > 0.1);
  assert_true(read_line(s, "i.csv", "internal_force", "admm-ncp").largest < 1e-6);
  ASSERT_NEAR(read_line(s, "i.csv", "normal_force", "nbgs").last, G, 1e-6);
  // A quarter of the pull, 1 N at the middle of the last step, times 0.98.
  ASSERT_NEAR(read_line(s, "i.csv", "force/0/x", "admm-ncp").last, -0.25 * 20.0 * 0.049, 1e-3);
}

static void test_study(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  static const char study[] =
      "# a comment\nscene cube.xml   # beside the study\nself\nsolvers pgs-ncp nbgs\n"
      "set contact_law=rigid v/cube[0]=1\nduration 0.1\nplot q/cube[0] energy\nsvg s.svg\n";
  (void)scratch_write(s, "a.study", study, sizeof study - 1, path);
  command_result r = run(s, "compare a.study --format csv --duration 0.02", 0);
  assert_non_null(strstr(r.out, "\ncube.xml,pgs-ncp,10,"));  // the command line goes before it
  assert_non_null(strstr(r.out, "\ncube.xml,nbgs,10,"));
  command_clear(&r);
  assert_int_equal(read_line(s, "s.csv", "energy", "nbgs").count, 10);
}

typedef struct wrong_call {
  const char* arguments;
  int exit_code;
  const char* message;
} wrong_call;

static const wrong_call wrong_calls[] = {
    {"", 2, "no FILE given"},
    {"missing.problem", 3, "missing.problem"},
    {"missing.study", 3, "cannot read 'missing.study': No such file"},
    {"--solvers sap,none a.problem", 2, "--solvers 'sap,none' must be names"},
    {"--solvers admm-ncp:penalty=none a.problem", 2, "must be names"},
    {"--solvers admm-ncp:none=1 a.problem", 2, "must be names"},
    {"--solvers sap: a.problem", 2, "must be names"},
    {"--self a.problem", 2, "--self has no meaning for problem files"},
    {"--duration 1 a.problem", 2, "--duration has no meaning for problem files"},
    {"--summary cube.xml", 2, "--summary has no meaning"},
    {"--plot energy --svg x.svg cube.xml", 2, "--plot has no meaning"},
    {"--self --plot energy cube.xml", 2, "--plot and --svg belong together"},
    {"--self --plot none --svg x.svg cube.xml", 2,
     "--plot 'none': unknown quantity; available: energy, kinetic"},
    {"--self --plot energy:most --svg x.svg cube.xml", 2, "must be QUANTITY:max, mean"},
    {"--self --plot q/none --svg x.svg cube.xml", 3, "the scene has no such coordinate"},
    {"--self --plot drift/none --svg x.svg cube.xml", 3, "no free joint of that name"},
    {"--self --plot force/0/w --svg x.svg cube.xml", 3, "force/CONTACT/x, y or z"},
    {"--set dt=-1 cube.xml", 2, "must be finite and > 0 s"},
    {"--set none=1 cube.xml", 2, ": unknown name; available: scheme, solver, dt, "},
    {"--set geom/none/mass=1 cube.xml", 3, "geom/none/mass"},
    {"--self --vary dt cube.xml", 2, "must be NAME=VALUE,..."},
    {"--self --vary dt=1,x cube.xml", 2, "must be a number, finite and > 0 s"},
    {"--force cube/w=1 cube.xml", 2, "must be BODY/x=FORMULA"},
    {"--force cube/x=1+ cube.xml", 2, "must be BODY/x=FORMULA"},
    {"--force none/x=1 cube.xml", 3, "the scene has no body 'none'"},
    {"--every 0 cube.xml", 2, "--every '0' must be an integer >= 1"},
    {"--duration nan cube.xml", 2, "--duration 'nan' must be > 0 and <= 1e+09 s"},
    {"--reference own cube.xml", 2, "--reference own needs --self"},
    {"--reference none cube.xml", 2, "--reference 'none' must be own, file or"},
    {"--keyframe none cube.xml", 3, "the scene has no keyframe 'none'"},
    {"cube.xml a.problem", 2, "one kind at a time"},
    {"--start hot cube.xml", 2, "--start 'hot' must be cold, warm, both or file"},
    {"--timings t.svg --classes cube.xml", 2, "--timings and --classes exclude each other"},
    {"--convergence none/x.svg --duration 0.01 --solvers sap cube.xml", 3, "none/x.svg"},
    {"--rows none/x.csv --duration 0.01 --solvers sap cube.xml", 3, "none/x.csv"},
    {"wrong.study", 3, "wrong.study:2: a line begins with the name of an option"},
    {"unknown.study", 2, "unknown option '--colour'"},
};

static void test_wrong_input(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, "wrong.study", "self\n--set x\n", 13, path);
  (void)scratch_write(s, "unknown.study", "scene cube.xml\ncolour red\n", 26, path);
  for (size_t i = 0; i < sizeof wrong_calls / sizeof *wrong_calls; ++i) {
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments, "compare %s", wrong_calls[i].arguments);
    command_expect(s, program, arguments, wrong_calls[i].exit_code, wrong_calls[i].message);
  }
}

// Options of one solver reach that solver: the pyramid of many facets turns aside less.
static void test_own_options(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --self --duration 0.1 --set contact_law=rigid,"
                         "v/cube[0]=1.2,v/cube[1]=0.5 --solvers "
                         "pgs-lcp,pgs-lcp:friction_directions=32 --plot drift/cube --svg o.svg",
                         0);
  command_clear(&r);
  const double four = read_line(s, "o.csv", "drift/cube", "pgs-lcp").last;
  const double many = read_line(s, "o.csv", "drift/cube", "pgs-lcp:friction_directions=32").last;
  assert_true(fabs(four) > 1e-3);
  assert_true(fabs(many) < 0.1 * fabs(four));
}

// Every bundled study runs, if only for a few steps; those of the sweep have tests of their own.
static void test_bundled_studies(void** state) {
  scratch* s = *state;
  static const char* const names[] = {
      "pyramid_drift",       "ccp_lift",    "ccp_consistency",       "internal_forces",
      "self_consistency",    "mass_ratio",  "ill_conditioned_stack", "compliance",
      "constrained_systems", "convergence", "tangential_compliance", "timings"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments,
                   "compare " SAPSTEP_SOURCE_DIR
                   "/examples/studies/%s.study --format json "
                   "--max-sweeps 300 --duration %s%s",
                   names[i], strcmp(names[i], "convergence") == 0 ? "0.3" : "0.03",
                   strstr(names[i], "consistency") != NULL ? " --reference-dt 1e-4" : "");
    command_result r = run(s, arguments, 0);
    assert_true(json_valid(r.out));
    assert_true(json_member(r.out, "problems") >= 0);
    for (const char* at = r.err; *at != '\0'; at += strcspn(at, "\n") + 1) {  // it is that short
      command_says(at, "no contact in 0.03 s at the steps looked at");
    }
    command_clear(&r);
  }
}

// A solver that cannot take the scene is said, the others go on.
static void test_refused_run(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --self --solvers sap,nbgs --set contact_law=rigid "
                         "--duration 0.02 --format json",
                         0);
  assert_non_null(strstr(r.err, "sap: step 1: "));
  ASSERT_NEAR(json_member(find_row(r.out, "\"solver\": \"sap\"", ""), "refused"), 1, 0);
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_files, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_scene, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_self, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_deviation, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_classes, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_internal_forces, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_study, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_input, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_refused_run, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_own_options, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_bundled_studies, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
