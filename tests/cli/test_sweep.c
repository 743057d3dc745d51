// SPDX-License-Identifier: BSD-3-Clause
// sapstep sweep: tables that do not depend on jobs, ranks or kills; failed cases; wrong studies.
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
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"

// Tables NAME.h5 and NAME.csv, the latter alone without HDF5, and the journal beside the former.
#define TABLE(name) " -o " name ".h5 --csv " name ".csv "
#define JOURNAL(study, name) name ".h5.journal"

static void study(scratch* s, const char* name, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(s, name, text, strlen(text), path);
}

// Runs the program; its exit code must be as given.
static void run(scratch* s, const char* before, const char* arguments, int exit_code) {
  command_result r = command_run(s, program, before, arguments);
  if (r.exit_code != exit_code) {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  command_clear(&r);
}

static bool exists(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  char* text = scratch_read(scratch_path(s, name, path), NULL);
  free(text);
  return text != NULL;
}

static void assert_same_file(scratch* s, const char* a, const char* b) {
  char path[SCRATCH_PATH_SIZE];
  size_t na = 0, nb = 0;
  char* x = scratch_read(scratch_path(s, a, path), &na);
  char* y = scratch_read(scratch_path(s, b, path), &nb);
  assert_non_null(x);
  assert_non_null(y);
  assert_int_equal(na, nb);
  assert_memory_equal(x, y, na);
  free(x);
  free(y);
}

// The number in column `column` of line `line` of a CSV without quotes.
static double cell(const char* csv, int line, int column) {
  for (int i = 0; i < line; ++i) {
    csv = strchr(csv, '\n');
    assert_non_null(csv);
    ++csv;
  }
  for (int i = 0; i < column; ++i) {
    csv = strchr(csv, ',');
    assert_non_null(csv);
    ++csv;
  }
  return strtod(csv, NULL);
}

// Down a slope of 20 degrees with g (sin a - mu cos a): 1 % is far above what compliance does to
// it.
static void grid_against_coulomb(void** state) {
  study(*state, "slide.study",
        "scene " SCENES
        "sliding_box.xml # from rest\n"
        "duration 1\n"
        "grid friction 0.1 0.2\n\n"
        "grid scheme implicit-euler midpoint\n"
        "set geom/box/mass 2\n"
        "measure v/root[0] mass steps\n");
  run(*state, "", "sweep slide.study --csv slide.csv --jobs 1", 0);
  char* csv = scratch_text(*state, "slide.csv");
  const char header[] =
      "case,friction,scheme,geom.box.mass,v.root[0]:end,mass,steps,status,message\n";
  assert_memory_equal(csv, header, sizeof header - 1);
  assert_non_null(strstr(csv, "\n1,0.10000000000000001,midpoint,2,"));
  for (int i = 0; i < 4; ++i) {
    const double a = 20.0 * 3.14159265358979323846 / 180.0, mu = i < 2 ? 0.1 : 0.2;
    const double speed = 9.81 * (sin(a) - mu * cos(a));
    ASSERT_NEAR(cell(csv, i + 1, 4), speed * cos(a), 0.01 * speed);
    assert_true(cell(csv, i + 1, 5) == 2.0);
    assert_true(cell(csv, i + 1, 6) == 500.0);
  }
  free(csv);
}

static const char fall[] = "scene " SCENES
                           "falling_box.xml\n"
                           "duration 0.3\n"
                           "grid friction 0.2 0.5\n"
                           "random stiffness log 1e4 1e7\n"
                           "random sigma choose 1e-3 1e-4\n"
                           "random dt uniform 0.004 0.006\n"
                           "samples 8\n"
                           "seed 7\n"
                           "measure energy penetration:max iterations:mean center_z\n";

static void jobs_do_not_matter(void** state) {
  study(*state, "fall.study", fall);
  run(*state, "", "sweep fall.study" TABLE("a") "--jobs 1", 0);
  run(*state, "", "sweep fall.study" TABLE("b") "--jobs 3", 0);
  assert_same_file(*state, "a.csv", "b.csv");
  assert_same_file(*state, "a.h5", "b.h5");
  assert_false(exists(*state, JOURNAL("fall", "a")));
  char* csv = scratch_text(*state, "a.csv");
  for (int i = 1; i <= 16; ++i) {
    assert_true(cell(csv, i, 0) == i - 1);
    assert_true(cell(csv, i, 1) == (i <= 8 ? 0.2 : 0.5));
    assert_true(cell(csv, i, 2) >= 1e4 && cell(csv, i, 2) <= 1e7);
    assert_true(cell(csv, i, 3) == 1e-3 || cell(csv, i, 3) == 1e-4);
    assert_true(cell(csv, i, 4) >= 0.004 && cell(csv, i, 4) <= 0.006);
    assert_true(i == 1 || cell(csv, i, 2) != cell(csv, i - 1, 2));
  }
  free(csv);
}

// Moments of many draws: five standard errors of 1000 of them.
static void random_numbers(void** state) {
  study(*state, "draw.study",
        "scene " SCENES
        "falling_box.xml\nduration 0\nsamples 1000\nseed 3\n"
        "random dt uniform 1 3\nrandom friction log 1 100\nrandom q/root[0] normal 5 2\n"
        "measure q/root[0]\n");
  run(*state, "", "sweep draw.study" TABLE("draw"), 0);
  char* csv = scratch_text(*state, "draw.csv");
  double sums[5] = {0.0};
  const char* at = csv;
  for (int i = 1; i <= 1000; ++i) {
    at = strchr(at, '\n') + 1;
    const double u = cell(at, 0, 1), l = log(cell(at, 0, 2)), n = cell(at, 0, 3);
    assert_true(cell(at, 0, 4) == n);  // a duration of zero: the run ends where it starts
    sums[0] += u;
    sums[1] += l;
    sums[2] += n;
    sums[3] += (u - 2.0) * (u - 2.0);
    sums[4] += (n - 5.0) * (n - 5.0);
  }
  free(csv);
  ASSERT_NEAR(sums[0] / 1000.0, 2.0, 5.0 * sqrt(1.0 / 3.0 / 1000.0));
  ASSERT_NEAR(sums[1] / 1000.0, log(10.0), 5.0 * log(100.0) / sqrt(12.0 * 1000.0));
  ASSERT_NEAR(sums[2] / 1000.0, 5.0, 5.0 * 2.0 / sqrt(1000.0));
  ASSERT_NEAR(sums[3] / 1000.0, 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / 1000.0));
  ASSERT_NEAR(sums[4] / 1000.0, 4.0, 5.0 * 4.0 * sqrt(2.0 / 1000.0));
}

// Values of the scene: the mass of a box of density rho is what the edit says, its energies are
// those of its velocity and height.
static void scene_values(void** state) {
  study(*state, "box.xml",
        "<mujoco><option gravity='0 0 -9.81'/><worldbody><body name='b' pos='0 0 1'>"
        "<freejoint name='b'/><geom name='g' type='box' size='.5 .5 .5' density='1'/></body>"
        "</worldbody></mujoco>");
  study(*state, "box.study",
        "scene box.xml\nduration 0.5\nset dt 0.001\ngrid geom/g/density 2 3\n"
        "grid option/*/gravity[2] -1 -2\nset body/b/pos[0] 4\nset v/b[2] 3\n"
        "measure mass center_x center_z v/b[2] kinetic energy:end energy:change\n");
  run(*state, "", "sweep box.study --csv box.csv", 0);
  char* csv = scratch_text(*state, "box.csv");
  for (int i = 0; i < 4; ++i) {
    const double g = i % 2 == 0 ? 1.0 : 2.0;
    const double m = i < 2 ? 2.0 : 3.0, z = cell(csv, i + 1, 8), v = cell(csv, i + 1, 9);
    ASSERT_NEAR(cell(csv, i + 1, 6), m, 1e-12);
    ASSERT_NEAR(cell(csv, i + 1, 7), 4.0, 1e-12);
    ASSERT_NEAR(z, 1.0 + 0.5 * 3.0 - 0.5 * g * 0.25, 1e-3);  // implicit Euler: g dt t/2
    ASSERT_NEAR(v, 3.0 - 0.5 * g, 1e-9);
    ASSERT_NEAR(cell(csv, i + 1, 10), 0.5 * m * v * v, 1e-9);
    ASSERT_NEAR(cell(csv, i + 1, 11), m * (0.5 * v * v + g * z), 1e-9);
    ASSERT_NEAR(cell(csv, i + 1, 12), m * (0.5 * (v * v - 9.0) + g * (z - 1.0)), 1e-9);
  }
  free(csv);
}

// A mass that is no mass fails in its case; the others go on.
static void failed_case(void** state) {
  study(*state, "box.xml",
        "<mujoco><worldbody><body><freejoint/><geom name='g' size='.5' mass='1'/></body>"
        "</worldbody></mujoco>");
  study(*state, "bad.study",
        "scene box.xml\nduration 0.1\ngrid geom/g/mass 1 -1 2\nmeasure mass\n");
  command_result r = command_run(*state, program, "", "sweep bad.study --csv bad.csv");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.out, "3 cases: 2 ok, 0 unconverged, 1 failed"));
  assert_non_null(strstr(r.err, "case 1: "));
  command_clear(&r);
  char* csv = scratch_text(*state, "bad.csv");
  assert_non_null(strstr(csv, "\n0,1,1,ok,\n"));
  assert_non_null(strstr(csv, "\n1,-1,,failed,"));
  assert_non_null(strstr(csv, "\n2,2,2,ok,\n"));
  free(csv);
}

// A case of one step that did not converge is told apart from one that did.
static void unconverged_case(void** state) {
  study(*state, "box.xml",
        "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 1' friction='.5'/>"
        "<body pos='0 0 .099'><freejoint name='b'/><geom type='box' size='.1 .1 .1'/></body>"
        "</worldbody></mujoco>");
  study(*state, "one.study",
        "scene box.xml\nduration 0.01\nset solver pgs-ccp\nset accepted_error inf\nset v/b[0] 1\n"
        "set v/b[4] 1\ngrid max_sweeps 1 10000\nmeasure center_z\n");
  command_result r = command_exits(*state, program, "sweep one.study --csv one.csv", 1);
  assert_non_null(strstr(r.out, "2 cases: 1 ok, 1 unconverged, 0 failed"));
  command_clear(&r);
  char* csv = scratch_text(*state, "one.csv");
  assert_non_null(strstr(csv, ",unconverged,\n1,"));
  assert_non_null(strstr(csv, ",ok,\n"));
  free(csv);
}

// Kills the sweep once it has finished cases, and damages the end of the journal as a torn write.
static void resume_after_kill(void** state) {
  study(*state, "fall.study", fall);
  char line[2048];
  (void)snprintf(line, sizeof line,
                 "sed 's/duration 0.3/duration 0.30/; s/samples 8/samples 200/' fall.study > "
                 "long.study; '%s' sweep long.study" TABLE("k") "--jobs 1 > log 2>&1 & victim=$!; "
                 "while kill -0 $victim && "
                 "[ \"$(stat -c %%s " JOURNAL("long", "k") " 2>/dev/null || echo 0)\" -lt 4000 ]; do "
                 "sleep 0.01; done; kill -9 $victim; wait $victim; printf torn >> " JOURNAL("long", "k") ";",
                 program);
  run(*state, line, "sweep long.study" TABLE("k") "--jobs 2", 0);
  run(*state, "", "sweep long.study" TABLE("u") "--jobs 2", 0);
  assert_same_file(*state, "k.csv", "u.csv");
  assert_same_file(*state, "k.h5", "u.h5");
}

// Plots go through the journal and between ranks: killed once, the lines are those of a whole run.
static void plots_after_kill(void** state) {
  study(*state, "plots.study",
        "scene " SCENES
        "falling_box.xml\nduration 4\ngrid friction 0.1 0.2 0.3 0.4 0.5 0.6\nset dt 0.001\n"
        "plot energy q/root[2]@kinetic\n");
  char line[2048];
  (void)snprintf(line, sizeof line,
                 "'%s' sweep plots.study" TABLE("k") "--jobs 1 > log 2>&1 & victim=$!; "
                 "while kill -0 $victim && "
                 "[ \"$(stat -c %%s " JOURNAL("plots", "k") " 2>/dev/null || echo 0)\" -lt 90000 ]; do "
                 "sleep 0.01; done; kill -9 $victim; wait $victim; cp " JOURNAL("plots", "k") " kept;",
                 program);
  run(*state, line, "sweep plots.study" TABLE("k") "--lines k.lines", 0);
  assert_true(exists(*state, "kept"));
  run(*state, "", "sweep plots.study" TABLE("u") "--lines u.lines --jobs 1", 0);
  assert_same_file(*state, "k.lines", "u.lines");
  char* lines = scratch_text(*state, "u.lines");
  assert_non_null(strstr(lines, "\n\"q/root[2]\",\"friction 0.6\",\"kinetic [J]\","));
  free(lines);
  run(*state, "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 2",
      "sweep plots.study" TABLE("m") "--lines m.lines || true", 0);
  if (exists(*state, "m.lines")) {
    assert_same_file(*state, "m.lines", "u.lines");
  }
}

static void journal_of_another_study(void** state) {
  study(*state, "fall.study", fall);
  run(*state, "", "sweep fall.study" TABLE("a"), 0);
  const char header[40] = "sapstep sweep 1";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, JOURNAL("fall", "a"), header, sizeof header, path);
  command_expect(*state, program, "sweep fall.study" TABLE("a"), 3, "belongs to another study");
  run(*state, "", "sweep fall.study" TABLE("a") "--restart", 0);
  // Short ones: notes of someone's, and what a kill left of a header.
  (void)scratch_write(*state, JOURNAL("fall", "a"), "notes\n", 6, path);
  command_expect(*state, program, "sweep fall.study" TABLE("a"), 3, "belongs to another study");
  (void)scratch_write(*state, JOURNAL("fall", "a"), header, 12, path);
  run(*state, "", "sweep fall.study" TABLE("a"), 0);
  command_expect_after(*state, program, "mkfifo pipe;", "sweep fall.study -o pipe >out", 3,
                       "'pipe': not a regular file");
}

static void wrong_studies(void** state) {
#define SCENE "scene " SCENES "falling_box.xml\n"
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"measure mass\n", "x.study:2: a line 'scene FILE' is missing"},
      {SCENE "\n", "a line 'measure QUANTITY...' or 'plot QUANTITY...' is missing"},
      {SCENE "gird friction 1\n", "x.study:2: unknown word 'gird'"},
      {SCENE "grid frictoin 1\n",
       "x.study:2: unknown parameter 'frictoin'; available: scheme, solver, dt, theta"},
      {SCENE "grid friction 1 -1\n", "x.study:2: friction '-1' must be finite and >= 0"},
      {SCENE "set friction nan\n", "x.study:2: friction 'nan' must be"},
      {SCENE "set solver spa\n", "x.study:2: solver 'spa' must be"},
      {SCENE "set relative_tolerance 2000\n", "x.study:2: relative_tolerance '2000' must be"},
      {SCENE "grid friction\n", "x.study:2: grid needs a parameter and its values"},
      {SCENE "random dt uniform 2 1\n", "the first number must be the smaller one"},
      {SCENE "random dt log 0 1\n", "x.study:2: log needs numbers > 0"},
      {SCENE "random dt gauss 0 1\n", "uniform, log, normal or choose"},
      {SCENE "samples 0\n", "samples '0' must be an integer >= 1"},
      {SCENE "duration x\n", "x.study:2: duration 'x'"},
      {SCENE "set dt 1\nset dt 2\n", "x.study:3: 'dt' was given in line 2 already"},
      {SCENE "measure enregy\n", "x.study:2: unknown quantity 'enregy'; available: energy"},
      {SCENE "measure mass\nset q/nobody 1\n", "x.study:3: the scene has no coordinate 'q/nobody'"},
      {SCENE "measure mass\nset geom/nobody/size 1\n", "has no element for 'geom/nobody/size'"},
      {SCENE "measure mass\nset geom/*/sise 1\n", "sise"},
      {SCENE "measure mass\nset body/*/pos[7] 1\n", "has no value [7] to change"},
      {"scene missing.xml\nmeasure mass\n", "x.study:1: "},
      {SCENE "measure mass\nkeyframe none\n", "has no keyframe 'none'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    study(*state, "x.study", cases[i].text);
    command_expect(*state, program, "sweep x.study", 3, cases[i].message);
  }
  command_expect(*state, program, "sweep missing.study", 3,
                 "cannot read 'missing.study': No such file");
  command_expect(*state, program, "sweep", 2, "the arguments must be STUDY, 0 found");
  command_expect(*state, program, "sweep a.xml", 2, "'a.xml' is a scene: write a study");
  command_expect(*state, program, "sweep x.study --jobs 0", 2, "must be an integer in [1, 256]");
}

// Two ranks, one killed in the middle; skips without mpirun or in a build without MPI.
static void ranks(void** state) {
  // Open MPI keeps memory until the end, which the leak sanitizer would call a leak.
  static const char mpirun[] =
      "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 2";
  study(*state, "fall.study", fall);
  char line[4096];
  (void)snprintf(
      line, sizeof line,
      "sed 's/samples 8/samples 200/' fall.study > long.study; "
      "%s true 2>/dev/null || exit 0; "
      "%s '%s' sweep fall.study" TABLE("m") "> log 2>&1; "
      "grep -q 'has no MPI' log && exit 0; touch mpi; "
      "%s sh -c 'test $OMPI_COMM_WORLD_RANK = 1 && echo $$ > pid; exec \"%s\" sweep "
      "long.study" TABLE("k") "' > log 2>&1 & "
      "while kill -0 $! && [ \"$(stat -c %%s " JOURNAL("long", "k") " 2>/dev/null || echo 0)\" -lt 4000 ]; do "
      "sleep 0.01; done; kill -9 \"$(cat pid)\"; wait; test -e " JOURNAL("long", "k") " && touch killed; "
      "%s '%s' sweep long.study" TABLE("k") "> log 2>&1;",
      mpirun, mpirun, program, mpirun, program, mpirun, program);
  run(*state, line, "sweep fall.study" TABLE("a"), 0);
  if (!exists(*state, "mpi")) {
    SKIP_LACKING("no mpirun, or a build without MPI");
  }
  assert_same_file(*state, "m.csv", "a.csv");
  assert_true(exists(*state, "killed"));
  run(*state, "", "sweep long.study" TABLE("u"), 0);
  assert_same_file(*state, "k.csv", "u.csv");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(grid_against_coulomb, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(jobs_do_not_matter, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(random_numbers, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(scene_values, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(failed_case, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(unconverged_case, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(resume_after_kill, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(plots_after_kill, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(journal_of_another_study, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(wrong_studies, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(ranks, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
