// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: files, scenes, classes of problems.
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
#include "support/problem_files.h"

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
    "</worldbody><keyframe><key name='low' qpos='0 0 0.0999 1 0 0 0' qvel='0.2 0 0 0 0 0'/>"
    "</keyframe></mujoco>";

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  problem_text_put(&s, "a.problem", falling);
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
      "compare cube.xml --duration 0.1 --every 5 --keyframe low --format json "
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
                 "%s --rows rows.csv --timings t.svg --convergence c.svg", base);
  command_result r = run(s, arguments, 0);
  command_clear(&r);
  static const char* const files[] = {"t.svg", "t.csv", "c.svg", "c.csv"};
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

static void test_classes(void** state) {
  scratch* s = *state;
  command_result r = run(s,
                         "compare cube.xml --classes --keyframe low --duration 0.02 "
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

typedef struct wrong_call {
  const char* arguments;
  int exit_code;
  const char* message;
} wrong_call;

static const wrong_call wrong_calls[] = {
    {"", 2, "no FILE given"},
    {"a.study", 2, "'a.study' is a study: run it with 'sapstep sweep'"},
    {"missing.problem", 3, "missing.problem"},
    {"--solvers sap,none a.problem", 2, "--solvers 'sap,none' must be names"},
    {"--solvers admm-ncp:penalty=none a.problem", 2, "must be names"},
    {"--solvers admm-ncp:none=1 a.problem", 2, "must be names"},
    {"--solvers sap: a.problem", 2, "must be names"},
    {"--duration 1 a.problem", 2, "--duration has no meaning for problem files"},
    {"--every 0 cube.xml", 2, "--every '0' must be an integer >= 1"},
    {"--duration nan cube.xml", 2, "--duration 'nan' must be > 0 and <= 1e+09 s"},
    {"--keyframe none cube.xml", 3, "cube.xml has no keyframe 'none'"},
    {"--summary cube.xml", 2, "--summary has no meaning for scenes"},
    {"--dt 0.01 a.problem", 2, "--dt has no meaning for problem files"},
    {"--contact-law rigid a.problem", 2, "--contact-law has no meaning for problem files"},
    {"--reference own cube.xml", 2, "--reference 'own' must be a solver"},
    {"--reference sap a.problem", 2, "--reference has no meaning for problem files"},
    {"--friction -1 cube.xml", 2, "--friction '-1' must be"},
    {"cube.xml a.problem", 2, "one kind at a time"},
    {"--start hot cube.xml", 2, "--start 'hot' must be cold, warm or both"},
    {"--timings t.svg --classes cube.xml", 2, "--timings and --classes exclude each other"},
    {"--convergence none/x.svg --duration 0.01 --solvers sap cube.xml", 3, "none/x.svg"},
    {"--rows none/x.csv --duration 0.01 --solvers sap cube.xml", 3, "none/x.csv"},
};

static void test_wrong_input(void** state) {
  scratch* s = *state;
  for (size_t i = 0; i < sizeof wrong_calls / sizeof *wrong_calls; ++i) {
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments, "compare %s", wrong_calls[i].arguments);
    command_expect(s, program, arguments, wrong_calls[i].exit_code, wrong_calls[i].message);
  }
}

// Every bundled comparison runs, if only for a few steps.
static void test_bundled(void** state) {
  scratch* s = *state;
  static const char* const names[] = {"timings", "convergence", "constrained_systems"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char before[512];
    (void)snprintf(before, sizeof before, "SAPSTEP='%s'", program);
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments,
                   SAPSTEP_SOURCE_DIR
                   "/examples/studies/solvers.sh %s --format json "
                   "--max-sweeps 300 --duration %s --every 10",
                   names[i], i == 1 ? "0.3" : "0.03");
    command_result r = command_run(s, "sh", before, arguments);
    assert_int_equal(r.exit_code, 0);
    assert_true(json_valid(r.out));
    assert_true(json_member(r.out, "problems") >= 0);
    for (const char* at = r.err; *at != '\0'; at += strcspn(at, "\n") + 1) {  // it is that short
      command_says(at, "no contact in 0.03 s at the steps looked at");
    }
    command_clear(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_files, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_scene, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_classes, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_input, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_bundled, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
