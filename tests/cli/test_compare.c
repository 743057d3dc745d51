// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: files, problems of a run, the bundled comparisons.
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
#include "support/solve.h"

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

// Two bodies of 1 and 5 kg, one on the other, which slide and turn.
static const char stacked[] =
    "sapstep_problem 1\n0.01 2\n3 1 0 0 0 1 0 0 0 1\n3 5 0 0 0 5 0 0 0 5\n1 .3 -1 2 0 -.5\n"
    "0 0 0 0 0 0\n2\n0 1 .4  .01 .01 .02  0 0 .1  1 0 .1 0 1 0 0 0 1  -1 0 .2 0 -1 0 0 0 -1\n"
    "1 -1 .7  .03 .03 .05  0 0 0  1 0 .3 0 1 0 0 .2 1\n";
enum { PROBLEMS = 2, JUDGED = 3 };
static const char* const judged[JUDGED] = {"pgs-ccp", "sap", "newton-ncp"};
#define LOOSE \
  " --tolerance 1e-3 --solvers pgs-ccp,sap,newton-ncp --format json one.problem two.problem"

typedef struct judged_solve {
  sap_solution solution;
  sap_report report;
  sap_residual residual;
} judged_solve;

// Solves a file's problem as the command does, and judges what the library finds.
static void judge(scratch* s, const char* file, const char* solver, judged_solve* out) {
  char path[SCRATCH_PATH_SIZE];
  sap_problem* p = problem_file_new(scratch_path(s, file, path));
  sap_solver_options options = sap_solver_options_default();
  options.check_input = false;
  options.relative_tolerance = 1e-3;
  (void)solve_problem(solver, &options, p, &out->solution, &out->report);
  assert_int_equal(sap_residuals(p, out->solution.v, out->solution.gamma, &out->residual, NULL), 0);
  sap_problem_destroy(p);
}

static void expect_members(const char* row, const char* const* names, const double* values,
                           int count) {
  for (int i = 0; i < count; ++i) {
    const double found = json_member(row, names[i]);
    if (!(fabs(found - values[i]) <= 1e-12 * fabs(values[i]))) {
      fail_msg("%s: %g, not %g", names[i], found, values[i]);
    }
  }
}

// All residuals of a row, each of which differs from the others.
static void test_rows(void** state) {
  static const char* const names[] = {
      "index",       "iterations",    "ccp_map",          "ncp_map",      "momentum",
      "slackness",   "cones",         "set_violation_Ns", "ncp_dual_mps", "ncp_complementarity_J",
      "signorini_J", "dissipation_J", "v_difference"};
  scratch* s = *state;
  problem_text_put(s, "one.problem", falling);
  problem_text_put(s, "two.problem", stacked);
  command_result r = run(s, "compare" LOOSE, 0);
  judged_solve first = {0}, now = {0};
  const char* row = r.out;
  for (int k = 0; k < PROBLEMS * JUDGED; ++k) {
    row = strchr(row + 1, '{');
    assert_non_null(row);
    const char* file = k < JUDGED ? "one.problem" : "two.problem";
    judge(s, file, judged[0], &first);
    judge(s, file, judged[k % JUDGED], &now);
    double sum = 0.0, norm = 0.0;
    for (int i = 0; i < now.solution.nv; ++i) {
      sum += pow(now.solution.v[i] - first.solution.v[i], 2.0);
      norm += pow(first.solution.v[i], 2.0);
    }
    const sap_residual* x = &now.residual;
    const double values[] = {0,
                             now.report.iterations,
                             x->ccp_natural_map_scaled,
                             x->ncp_natural_map_scaled,
                             x->momentum,
                             x->slackness,
                             k < JUDGED ? 1 : 2,
                             x->set_violation,
                             x->ncp_dual,
                             x->ncp_complementarity,
                             x->signorini,
                             x->dissipation,
                             sqrt(sum / norm)};
    expect_members(row, names, values, sizeof values / sizeof *values);
  }
  sap_solution_clear(&first.solution);
  sap_solution_clear(&now.solution);
  sap_report_clear(&first.report);
  sap_report_clear(&now.report);
  command_clear(&r);
}

// The worst of both problems in the summary.
static void test_summary(void** state) {
  static const char* const names[] = {"problems",
                                      "refused",
                                      "solved_1e-4",
                                      "solved_1e-8",
                                      "iterations_mean",
                                      "iterations_max",
                                      "ccp_map",
                                      "ncp_map",
                                      "momentum",
                                      "set_violation_Ns",
                                      "ccp_map_unscaled",
                                      "ncp_map_unscaled",
                                      "ccp_dual_mps",
                                      "ccp_complementarity_J",
                                      "ncp_dual_mps",
                                      "ncp_complementarity_J",
                                      "ncp_absolute",
                                      "signorini_J",
                                      "ccp_row",
                                      "ncp_row",
                                      "tree",
                                      "ccp_row_mps",
                                      "ncp_row_mps",
                                      "tree_mps"};
  scratch* s = *state;
  problem_text_put(s, "one.problem", falling);
  problem_text_put(s, "two.problem", stacked);
  command_result r = run(s, "compare --summary" LOOSE, 0);
  const char* row = r.out;
  for (int k = 0; k < JUDGED; ++k) {
    judged_solve both[PROBLEMS] = {0};
    judge(s, "one.problem", judged[k], &both[0]);
    judge(s, "two.problem", judged[k], &both[1]);
    const sap_residual *x = &both[0].residual, *y = &both[1].residual;
    const bool ncp = k == 2;
    const double a = both[0].report.iterations, b = both[1].report.iterations;
    const double map[2] = {ncp ? x->ncp_natural_map_scaled : x->ccp_natural_map_scaled,
                           ncp ? y->ncp_natural_map_scaled : y->ccp_natural_map_scaled};
#define WORST(name) fmax(x->name, y->name)
    const double values[] = {PROBLEMS,
                             0,
                             (map[0] <= 1e-4) + (map[1] <= 1e-4),
                             (map[0] <= 1e-8) + (map[1] <= 1e-8),
                             0.5 * (a + b),
                             fmax(a, b),
                             WORST(ccp_natural_map_scaled),
                             WORST(ncp_natural_map_scaled),
                             WORST(momentum),
                             WORST(set_violation),
                             WORST(ccp_natural_map),
                             WORST(ncp_natural_map),
                             WORST(ccp_dual),
                             WORST(ccp_complementarity),
                             WORST(ncp_dual),
                             WORST(ncp_complementarity),
                             WORST(ncp_absolute),
                             WORST(signorini),
                             WORST(ccp_row),
                             WORST(ncp_row),
                             WORST(tree),
                             WORST(ccp_row_velocity),
                             WORST(ncp_row_velocity),
                             WORST(tree_velocity)};
#undef WORST
    row = strchr(row + 1, '{');
    assert_non_null(row);
    expect_members(row, names, values, sizeof values / sizeof *values);
    for (int i = 0; i < PROBLEMS; ++i) {
      sap_solution_clear(&both[i].solution);
      sap_report_clear(&both[i].report);
    }
  }
  command_clear(&r);
}

// Files in another order have the same summary, and cones of 4 rows count as cones.
static void test_order(void** state) {
  static const char* const orders[2] = {"one.problem two.problem", "two.problem one.problem"};
  scratch* s = *state;
  double most[2], mean[2];
  problem_text_put(s, "one.problem", falling);
  problem_text_put(s, "two.problem", stacked);
  problem_text_put(s, "turns.problem",
                   "sapstep_problem 1\n0.01 1\n3 2 0 0 0 2 0 0 0 2\n0 0 -1\n0 0 -1\n1\n"
                   "0 -1 0.5 0.01 0.01 0.5 0.01 0 0 0 0 1 0 0 0 1 0 0 0 1 0.1 0 0\n");
  for (int k = 0; k < 2; ++k) {
    char text[256];
    (void)snprintf(text, sizeof text, "compare --summary --solvers pgs-ccp --format json %s",
                   orders[k]);
    most[k] = member(s, text, "pgs-ccp", "", "iterations_max");
    mean[k] = member(s, text, "pgs-ccp", "", "iterations_mean");
  }
  assert_true(most[0] == most[1] && mean[0] == mean[1] && most[0] > mean[0]);
  ASSERT_NEAR(member(s, "compare --solvers sap --format json turns.problem", "sap", "", "cones"), 1,
              0);
}

// Problems of a run, and what is written beside the table.
static void test_problems_of_a_run(void** state) {
  scratch* s = *state;
  static const char base[] =
      "compare p/step_000005.hdf5 p/step_000010.hdf5 p/step_000015.hdf5 p/step_000020.hdf5 "
      "--format json --solvers sap,sap-ncp,newton-ncp,apgd,proximal";
  command_result r = run(s,
                         "run cube.xml --duration 0.04 --keyframe low --dump-problems p "
                         "--dump-every 5",
                         0);
  command_clear(&r);
  char cold[512], warm[512];
  (void)snprintf(cold, sizeof cold, "%s --summary", base);
  (void)snprintf(warm, sizeof warm, "%s --summary --start warm", base);
  ASSERT_NEAR(member(s, cold, "sap", "\"start\": \"cold\"", "problems"), 4, 0);
  ASSERT_NEAR(member(s, warm, "sap", "\"start\": \"warm\"", "solved_1e-8"), 4, 0);
  ASSERT_NEAR(member(s, cold, "newton-ncp", "", "solved_1e-8"), 4, 0);
  ASSERT_NEAR(member(s, cold, "proximal", "", "refused"), 4, 0);
  // The problems have their contacts' keys: a solver finds the impulses of the one before.
  assert_true(member(s, warm, "apgd", "", "iterations_mean") <
              member(s, cold, "apgd", "", "iterations_mean"));
  // SAP solves the convex problem, and only that: it slides.
  assert_true(member(s, cold, "sap", "", "ccp_map") < 1e-8);
  assert_true(member(s, cold, "sap", "", "ncp_map") > 1e-3);
  assert_true(member(s, cold, "sap-ncp", "", "ncp_map") < 1e-6);
  char arguments[512];
  (void)snprintf(arguments, sizeof arguments,
                 "%s --summary --rows rows.csv --convergence c.svg --lines c.csv", base);
  r = run(s, arguments, 0);
  command_clear(&r);
  static const char* const files[] = {"c.svg", "c.csv"};
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
  assert_int_equal(lines, 1 + 4 * 4);  // proximal refuses
  free(rows);
  r = command_run(s, "rm", "", "-r p");
  command_clear(&r);
}

typedef struct wrong_call {
  const char* arguments;
  int exit_code;
  const char* message;
} wrong_call;

static const wrong_call wrong_calls[] = {
    {"", 2, "the arguments must be FILE..., 0 found"},
    {"missing.problem", 3, "missing.problem"},
    {"--solvers sap,none a.problem", 2, "--solvers 'sap,none' must be names"},
    {"--solvers admm-ncp:penalty=none a.problem", 2, "must be names"},
    {"--solvers admm-ncp:none=1 a.problem", 2, "must be names"},
    {"--solvers sap: a.problem", 2, "must be names"},
    {"cube.xml", 3, "cube.xml: not an HDF5 file"},
    {"--start hot a.problem", 2, "--start 'hot' must be cold or warm"},
    {"--convergence none/x.svg --solvers sap a.problem", 3, "none/x.svg"},
    {"--rows none/x.csv --solvers sap a.problem", 3, "none/x.csv"},
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
  static const char* const told[] = {"\nquadruped ", "\nsap ", "== fourbar_free"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char before[512];
    (void)snprintf(before, sizeof before, "SAPSTEP='%s'", program);
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments,
                   SAPSTEP_SOURCE_DIR
                   "/examples/studies/solvers.sh %s --max-sweeps 300 --duration %s --every 10",
                   names[i], i == 2 ? "0.1" : "0.3");
    command_result r = command_run(s, "sh", before, arguments);
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    command_says(r.out, told[i]);
    command_clear(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_files, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_rows, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_summary, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_order, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_problems_of_a_run, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_input, begin, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_bundled, begin, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
