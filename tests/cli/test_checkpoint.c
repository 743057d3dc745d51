// SPDX-License-Identifier: BSD-3-Clause
// sapstep run --checkpoint and --resume: a run in two parts ends in the same digits as one in one
// part; what is no checkpoint of this run is refused.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char* const program = SAPSTEP_PROGRAM;
#define CLUTTER "'" SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml'"
#define QUADRUPED "'" SAPSTEP_SOURCE_DIR "/examples/scenes/quadruped.xml'"

static void run(scratch* s, const char* arguments) {
  command_result r = command_exits(s, program, arguments, 0);
  command_clear(&r);
}

// The last line of a file; to be freed.
static char* last_line(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  size_t size;
  char* text = scratch_read(scratch_path(s, name, path), &size);
  assert_non_null(text);
  assert_true(size > 1 && text[size - 1] == '\n');
  text[size - 1] = '\0';
  const char* start = strrchr(text, '\n');
  char* line = strdup(start != NULL ? start + 1 : text);
  free(text);
  return line;
}

static void two_parts_are_one(void** state) {
  run(*state, "run " CLUTTER " --duration 0.9 --output whole.csv >/dev/null");
  run(*state, "run " CLUTTER " --duration 0.55 --checkpoint a.checkpoint >/dev/null");
  // with as many threads as there are now, which change no bits
  run(*state, "run " CLUTTER
              " --duration 0.9 --resume a.checkpoint --threads 2 --output rest.csv >/dev/null");
  char *whole = last_line(*state, "whole.csv"), *rest = last_line(*state, "rest.csv");
  assert_string_equal(whole, rest);
  free(whole);
  free(rest);
}

// Error-controlled steps depend on the accepted ones before, which the checkpoint holds.
static void adaptive_parts_are_one(void** state) {
  static const char* const options[] = {
      " --accuracy 1e-4 --dump-problems d --dump-every 10 --duration 0.4 --output whole.csv",
      " --accuracy 1e-4 --duration 0.24 --checkpoint e.checkpoint",
      " --accuracy 1e-4 --duration 0.4 --resume e.checkpoint --output rest.csv"};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line, "run " QUADRUPED "%s >/dev/null", options[i]);
    run(*state, line);
  }
  char *whole = last_line(*state, "whole.csv"), *rest = last_line(*state, "rest.csv");
  assert_string_equal(whole, rest);
  free(whole);
  free(rest);
  command_result r = command_run(*state, "ls", "", "d; rm -r d");
  assert_string_equal(r.out, "step_000010.hdf5\nstep_000020.hdf5\n");
  command_clear(&r);
  command_expect(*state, program,
                 "run " QUADRUPED
                 " --accuracy 1e-5 --relative-tolerance 1e-6 --resume e.checkpoint",
                 3, "e.checkpoint: stepper's memory is of another accuracy");
  command_expect(*state, program,
                 "run " QUADRUPED
                 " --scheme midpoint --dt 0.02 --relative-tolerance 1e-6 --resume e.checkpoint",
                 3, "stepper's memory is of error-controlled steps");
}

static void written_on_the_way(void** state) {
  run(*state,
      "run " QUADRUPED
      " --duration 0.5 --dt 0.01 --checkpoint b.checkpoint --checkpoint-every 10 >/dev/null");
  command_result r =
      command_run(*state, program, "",
                  "run " QUADRUPED " --dt 0.01 --duration 0.7 --resume b.checkpoint --format json");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_member(r.out, "steps") == 20.0);
  command_clear(&r);
}

// After --resume, checkpoints are written after the steps that are multiples in the whole run: an
// output that fails in step 11 leaves that of step 9.
static void phase_of_checkpoints_is_kept(void** state) {
  run(*state, "run " QUADRUPED " --duration 0.07 --dt 0.01 --checkpoint f.checkpoint >/dev/null");
  command_result r = command_run(*state, "mkdir", "", "-p f.problems/step_000011.hdf5");
  command_clear(&r);
  command_expect(*state, program,
                 "run " QUADRUPED
                 " --duration 0.16 --dt 0.01 --resume f.checkpoint --checkpoint"
                 " g.checkpoint --checkpoint-every 3 --dump-problems f.problems",
                 3, "step_000011");
  r = command_exits(
      *state, program,
      "run " QUADRUPED " --duration 0.12 --dt 0.01 --resume g.checkpoint --format json", 0);
  assert_true(json_member(r.out, "steps") == 3.0);
  command_clear(&r);
  r = command_run(*state, "rm", "", "-r f.problems");
  command_clear(&r);
}

// Steps of the run, however duration/dt is rounded, and times on the multiples of dt.
static void as_many_steps_as_fit(void** state) {
  static const struct {
    const char* options;
    double steps;
  } cases[] = {{"--duration 0.14 --dt 0.02", 7.0},  {"--duration 0.3 --dt 0.1", 3.0},
               {"--duration 0.7 --dt 0.1", 7.0},    {"--duration 0.06 --dt 0.02", 3.0},
               {"--duration 0.29 --dt 0.01", 29.0}, {"--duration 0.145 --dt 0.02", 8.0},
               {"--duration 0 --dt 0.02", 0.0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[512];
    (void)snprintf(line, sizeof line, "run " QUADRUPED " --format json %s", cases[i].options);
    command_result r = command_exits(*state, program, line, 0);
    assert_true(json_member(r.out, "steps") == cases[i].steps);
    command_clear(&r);
  }
  run(*state, "run " QUADRUPED " --duration 0.14 --dt 0.02 --output t.csv >/dev/null");
  char* last = last_line(*state, "t.csv");
  assert_true(strtod(last, NULL) == 7 * 0.02);
  free(last);
}

// The first column of a CSV file as one text; to be freed.
static char* times_of(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  size_t size;
  char* text = scratch_read(scratch_path(s, name, path), &size);
  assert_non_null(text);
  char* to = text;
  for (const char* line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
    const size_t length = strcspn(line, ",");
    memmove(to, line, length);
    to += length;
    *to++ = ' ';
  }
  *to = '\0';
  return text;
}

// Rows and problems of every third step stay those of the whole run, and keep their numbers.
static void phase_is_kept(void** state) {
  run(*state, "run " QUADRUPED " --duration 0.07 --dt 0.01 --checkpoint p.checkpoint >/dev/null");
  run(*state, "run " QUADRUPED
              " --duration 0.16 --dt 0.01 --resume p.checkpoint --every 3 --output p.csv"
              " --dump-problems p.problems --dump-every 3 >/dev/null");
  char* times = times_of(*state, "p.csv");
  char expected[256];
  (void)snprintf(expected, sizeof expected, "t_s %.17g %.17g %.17g %.17g %.17g ", 7 * 0.01,
                 9 * 0.01, 12 * 0.01, 15 * 0.01, 16 * 0.01);
  assert_string_equal(times, expected);
  free(times);
  command_result r = command_run(*state, "ls", "", "p.problems; rm -r p.problems");
  assert_string_equal(r.out, "step_000009.hdf5\nstep_000012.hdf5\nstep_000015.hdf5\n");
  command_clear(&r);
}

// Counts beyond 32 bits are refused, not cut.
static void large_counts_refused(void** state) {
  static const char* const options[] = {
      "every",       "checkpoint-every",    "dump-every",
      "max-sweeps",  "max-iterations",      "threads",
      "compression", "friction-directions", "free-motion-max-iterations"};
  static const char* const numbers[] = {"4294967297",  "2147483648", "18446744073709551617",
                                        "-4294967295", "1e3",        "3.0",
                                        "0x3",         "",           "3x"};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
      char line[512], name[64];
      (void)snprintf(line, sizeof line,
                     "run " QUADRUPED
                     " --duration 0 --output l.csv --record l.h5 --checkpoint l.c "
                     "--dump-problems l.p --%s '%s'",
                     options[i], numbers[k]);
      (void)snprintf(name, sizeof name, "--%s", options[i]);
      command_expect(*state, program, line, 2, name);
    }
  }
}

static void refused(void** state) {
  run(*state, "run " QUADRUPED " --duration 0.1 --dt 0.01 --checkpoint c.checkpoint >/dev/null");
  command_expect(*state, program, "run " QUADRUPED " --dt 0.02 --resume c.checkpoint", 3,
                 "dt = 0.01 in the checkpoint, 0.02 here");
  command_expect(*state, program,
                 "run " QUADRUPED " --dt 0.01 --max-iterations 7 --resume c.checkpoint", 3,
                 "max_iterations = 500 in the checkpoint, 7 here");
  command_expect(*state, program, "run " CLUTTER " --resume c.checkpoint", 3, "nv = 18");
  command_expect(*state, program, "run " CLUTTER " --resume none", 3, "none");
  command_expect(*state, program, "run " CLUTTER " --resume " CLUTTER, 3, "no checkpoint");
  command_expect(*state, program, "run " CLUTTER " --checkpoint-every 3", 2, "needs --checkpoint");
  command_expect(*state, program, "run " CLUTTER " --checkpoint x --checkpoint-every 0", 2, ">= 1");
  command_expect(*state, program, "run " CLUTTER " --resume x --keyframe 0", 2, "--keyframe");
  command_expect(*state, program, "run " CLUTTER " --time-limit -1", 2, "--time-limit");
}

// Each option that steps depend on is refused by name.
static void other_options_refused(void** state) {
  static const struct {
    const char *option, *text;
  } cases[] = {
      {"--contact-law rigid --solver nbgs", "solver = sap in the checkpoint, nbgs here"},
      {"--contact-law compliant", "contact_law = auto in the checkpoint, compliant here"},
      {"--baumgarte 0.3 --solver nbgs", "solver = sap in the checkpoint, nbgs here"},
      {"--balance-tolerance 1e-2", "balance_tolerance = 0.001 in the checkpoint, 0.01 here"},
      {"--remember off", "remember = on in the checkpoint, off here"},
      {"--free-motion-max-iterations 9", "free_motion_max_iterations = 50 in the checkpoint"},
      {"--scheme midpoint", "theta = 1 in the checkpoint, 0.5 here"},
      {"--contact-stage end", "contact_stage = auto in the checkpoint, end here"},
      {"--contact-model lagged", "contact_model = material in the checkpoint, lagged here"},
      {"--sigma 0.5", "sigma = "},
      {"--linear-solver dense", "linear_solver = auto in the checkpoint, dense here"},
  };
  char line[512];
  run(*state, "run " QUADRUPED " --duration 0.1 --dt 0.01 --checkpoint o.checkpoint >/dev/null");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    (void)snprintf(line, sizeof line, "run " QUADRUPED " --dt 0.01 --resume o.checkpoint %s",
                   cases[i].option);
    command_expect(*state, program, line, 3, cases[i].text);
  }
  run(*state, "run " QUADRUPED
              " --duration 0.1 --dt 0.01 --solver nbgs --checkpoint r.checkpoint >/dev/null");
  const char* const rigid = "run " QUADRUPED " --dt 0.01 --solver nbgs --resume r.checkpoint ";
  (void)snprintf(line, sizeof line, "%s --restitution 0.5", rigid);
  command_expect(*state, program, line, 3, "restitution = 0 in the checkpoint, 0.5 here");
  (void)snprintf(line, sizeof line, "%s --baumgarte 0.3", rigid);
  command_expect(*state, program, line, 3, "baumgarte = 0.2 in the checkpoint, 0.3 here");
  (void)snprintf(line, sizeof line, "%s --contact-law compliant", rigid);
  command_expect(*state, program, line, 3, "contact_law = auto in the checkpoint, compliant here");
}

// A scene with an element of each kind; one text of it is replaced.
static const char other_scene[] =
    "<mujoco><option timestep='0.01' gravity='0 0 -9.81' density='1.2' viscosity='1e-5'/>"
    "<asset><mesh name='wedge' vertex='0 0 0  .1 0 0  0 .1 0  0 0 .1'/></asset><worldbody>"
    "<geom name='floor' type='plane' size='2 2 .1' friction='0.8 .01 .001' solref='-20000 -50'/>"
    "<site name='hook' pos='0 0 1.5'/>"
    "<body name='ball' pos='0 0 1'><freejoint name='fly'/><geom name='round' size='.1' "
    "rgba='1 0 0 1' margin='.002'/><site name='ring' pos='0 0 .1'/></body>"
    "<body name='arm' pos='1 0 1'><joint name='elbow' axis='0 1 0' damping='.3' range='-90 91' "
    "limited='true'/><inertial pos='.1 0 0' mass='2' diaginertia='.02 .03 .03'/>"
    "<geom name='chip' type='mesh' mesh='wedge' mass='0'/></body>"
    "<body name='leg' pos='2 0 1'><joint name='knee' axis='0 1 0'/><geom name='shin' size='.1'/>"
    "</body></worldbody>"
    "<contact><pair geom1='round' geom2='chip' margin='.004'/><exclude body1='ball' body2='leg'/>"
    "</contact><tendon><spatial name='rope' stiffness='7' damping='.5'><site site='hook'/>"
    "<site site='ring'/></spatial><fixed name='gear'><joint joint='elbow' coef='1'/>"
    "<joint joint='knee' coef='2.5'/></fixed></tendon>"
    "<equality><connect name='pin' body1='arm' body2='leg' anchor='.5 0 0' active='false'/>"
    "</equality><actuator><position name='push' joint='elbow' kp='11'/></actuator></mujoco>";

static void write_scene(scratch* s, const char* from, const char* to) {
  char text[sizeof other_scene + 64];
  const char* at = strstr(other_scene, from);
  assert_non_null(at);
  (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - other_scene), other_scene, to,
                 at + strlen(from));
  char path[SCRATCH_PATH_SIZE];
  scratch_write(s, "other.xml", text, strlen(text), path);
}

// Whatever number of the scene steps depend on, another one is refused with its name.
static void other_scenes_refused(void** state) {
  static const struct {
    const char *from, *to, *text;
  } cases[] = {
      {"0 0 -9.81", "0 0 -9.8", "gravity of the model differs"},
      {"density='1.2'", "density='1.3'", "fluid_density of the model differs"},
      {"1e-5", "2e-5", "fluid_viscosity of the model differs"},
      {"friction='0.8", "friction='0.7", "friction of shape 0 'floor' differs"},
      {".8 .01 .001", ".8 .02 .001", "friction_torsional of shape 0 'floor' differs"},
      {"-20000", "-30000", "stiffness of shape 0 'floor' differs"},
      {"-50", "-60", "relaxation_time of shape 0 'floor' differs"},
      {"margin='.002'", "margin='.003'", "rest_distance of shape 1 'round' differs"},
      {"damping='.3'", "damping='.4'", "damping of joint 1 'elbow' differs"},
      {"-90 91", "-90 92", "upper of joint 1 'elbow' differs"},
      {".02 .03 .03", ".025 .03 .03", "I_BCo_B of body 2 'arm' differs"},
      {"0 0 .1'/></asset>", "0 0 .11'/></asset>", "of mesh 0 'wedge' differs"},
      {"margin='.004'", "margin='.005'", "rest_distance of pair 0 '' differs"},
      {"body1='ball' body2='leg'", "body1='ball' body2='arm'", "bodies of exclusion 0 '' differs"},
      {"stiffness='7'", "stiffness='8'", "stiffness of tendon 0 'rope' differs"},
      {"0 0 1.5", "0 0 1.6", "of tendon 0 'rope' differs"},
      {"coef='2.5'", "coef='2.6'", "coefficients of tendon 1 'gear' differs"},
      {"anchor='.5 0 0'", "anchor='.6 0 0'", "anchor_A of equality 0 'pin' differs"},
      {"active='false'", "active='true'", "active of equality 0 'pin' differs"},
      {"kp='11'", "kp='12'", "of actuator 0 'push' differs"},
      {"<exclude body1='ball' body2='leg'/>", "", "exclusions of the model differs"},
      {"<exclude body1='ball' body2='leg'/>",
       "<exclude body1='ball' body2='leg'/><exclude body1='ball' body2='arm'/>",
       "exclusions of the model differs"},
  };
  write_scene(*state, "x", "x");
  run(*state, "run other.xml --duration 0.05 --checkpoint s.checkpoint >/dev/null");
  run(*state, "run other.xml --duration 0.1 --resume s.checkpoint >/dev/null");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    write_scene(*state, cases[i].from, cases[i].to);
    command_expect(*state, program, "run other.xml --resume s.checkpoint", 3, cases[i].text);
  }
  static const char* const same[][2] = {
      {"rgba='1 0 0 1'", "rgba='0 1 0 1'"},
      {"<exclude body1='ball' body2='leg'/>", "<exclude body1='leg' body2='ball'/>"},
      {"timestep='0.01'", "timestep='0.010'"}};
  for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
    write_scene(*state, same[i][0], same[i][1]);
    run(*state, "run other.xml --duration 0.1 --resume s.checkpoint >/dev/null");
  }
}

static void time_limit_is_told(void** state) {
  command_result r = command_run(*state, program, "",
                                 "run " CLUTTER " --duration 0.6 --time-limit 1e-7 --format json");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.err, "did not converge"));
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_parts_are_one),
      cmocka_unit_test(written_on_the_way),
      cmocka_unit_test(phase_of_checkpoints_is_kept),
      cmocka_unit_test(adaptive_parts_are_one),
      cmocka_unit_test(as_many_steps_as_fit),
      cmocka_unit_test(phase_is_kept),
      cmocka_unit_test(large_counts_refused),
      cmocka_unit_test(refused),
      cmocka_unit_test(other_options_refused),
      cmocka_unit_test(other_scenes_refused),
      cmocka_unit_test(time_limit_is_told),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
