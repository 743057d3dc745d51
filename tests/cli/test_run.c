// SPDX-License-Identifier: BSD-3-Clause
// sapstep run: the closing table and the trajectory of the bundled scenes, closed forms, and how a
// run ends early.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/command.h"
#include "support/near.h"

static const char* const program = SAPSTEP_PROGRAM;
#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"

// Runs a scene with JSON output; the exit code must be 0 and nothing be said.
static command_result run_json(scratch* s, const char* scene, const char* options) {
  char arguments[2048];
  (void)snprintf(arguments, sizeof arguments, "run '%s' --format json %s", scene, options);
  command_result r = command_run(s, program, "", arguments);
  if (r.exit_code != 0 || r.err[0] != '\0') {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  assert_true(json_valid(r.out));
  return r;
}

// A trajectory as a test reads it.
typedef struct csv {
  char* text;
  char* header;
  int columns, rows;
  double* values;  // row by row
} csv;

static csv csv_read(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  csv c = {.text = scratch_read(scratch_path(s, name, path), NULL), .columns = 1};
  assert_non_null(c.text);
  c.header = c.text;
  char* line = strchr(c.text, '\n');
  assert_non_null(line);
  *line++ = '\0';
  for (const char* h = c.header; *h != '\0'; ++h) {
    c.columns += *h == ',';
  }
  int lines = 0;
  for (const char* l = line; *l != '\0'; ++l) {
    lines += *l == '\n';
  }
  c.values = calloc((size_t)(lines * c.columns) + 1, sizeof *c.values);
  assert_non_null(c.values);
  for (; *line != '\0'; ++c.rows) {
    for (int j = 0; j < c.columns; ++j) {
      char* stop;
      c.values[c.rows * c.columns + j] = strtod(line, &stop);
      assert_ptr_not_equal(stop, line);
      assert_int_equal(*stop, j + 1 < c.columns ? ',' : '\n');
      line = stop + 1;
    }
  }
  assert_int_equal(c.rows, lines);
  return c;
}

static void csv_clear(csv* c) {
  free(c->text);
  free(c->values);
}

static int csv_column(const csv* c, const char* name) {
  int column = 0;
  const size_t length = strlen(name);
  for (const char* h = c->header; h != NULL; ++column) {
    if (strncmp(h, name, length) == 0 && (h[length] == ',' || h[length] == '\0')) {
      return column;
    }
    h = strchr(h, ',');
    h = h != NULL ? h + 1 : NULL;
  }
  fail_msg("no column '%s'", name);
  return -1;
}

static double csv_value(const csv* c, int row, const char* name) {
  return c->values[row * c->columns + csv_column(c, name)];
}

// Steps, times, rows and columns of every bundled scene; MuJoCo's timestep is the default dt.
static void every_bundled_scene_runs(void** state) {
  static const struct {
    const char* name;
    double dt, duration;
  } scenes[] = {{"falling_box", 0.005, 1.0},        {"sliding_box", 0.002, 0.3},
                {"spring_cylinder", 0.02, 2.0},     {"double_pendulum", 0.002, 1.0},
                {"clutter_40", 0.01, 0.5},          {"quadruped", 0.005, 0.6},
                {"spring_cylinder_rims", 0.02, 1.0}};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
    char path[SCRATCH_PATH_SIZE], options[128];
    (void)snprintf(path, sizeof path, "%s%s.xml", SCENES, scenes[i].name);
    (void)snprintf(options, sizeof options, "--duration %g --output t.csv", scenes[i].duration);
    command_result r = run_json(*state, path, options);
    const int steps = (int)lround(scenes[i].duration / scenes[i].dt);
    assert_true(json_member(r.out, "steps") == steps);
    ASSERT_NEAR(json_member(r.out, "simulated_time_s"), scenes[i].duration, 1e-12);
    assert_true(json_member(r.out, "dt_s") == scenes[i].dt);
    assert_true(json_member(r.out, "failures") == 0);
    assert_true(json_member(r.out, "unconverged") == 0);
    assert_true(json_member(r.out, "step_time_us") > 0);

    csv c = csv_read(*state, "t.csv");
    sap_model* model;
    assert_int_equal(sap_scene_read(path, NULL, &model, NULL), SAP_STATUS_OK);
    const sap_model_sizes sizes = sap_model_get_sizes(model);
    sap_model_destroy(model);
    assert_int_equal(c.columns, 1 + sizes.nq + sizes.nv + 5);
    assert_int_equal(c.rows, steps + 1);
    if (strstr(scenes[i].name, "cylinder") != NULL) {  // a point, or one at each rim
      const double points = strstr(scenes[i].name, "rims") != NULL ? 2.0 : 1.0;
      ASSERT_NEAR(json_member(r.out, "contacts_mean"), points, 1e-12);
      ASSERT_NEAR(json_member(r.out, "penetration_end_m"), 0.5 * 9.81 / 1e4, 1e-9);
    }
    // The table's means and ends are those of the rows.
    double contacts = 0, iterations = 0, most = 0, deepest = 0;
    for (int row = 1; row < c.rows; ++row) {
      contacts += csv_value(&c, row, "contacts");
      iterations += csv_value(&c, row, "newton_iterations");
      most = fmax(most, csv_value(&c, row, "newton_iterations"));
      deepest = fmax(deepest, csv_value(&c, row, "penetration_m"));
    }
    ASSERT_NEAR(json_member(r.out, "contacts_mean"), contacts / steps, 1e-9);
    ASSERT_NEAR(json_member(r.out, "newton_iterations_mean"), iterations / steps, 1e-9);
    assert_true(json_member(r.out, "newton_iterations_max") == most);
    assert_true(json_member(r.out, "penetration_max_m") == deepest);
    assert_true(json_member(r.out, "kinetic_end_J") == csv_value(&c, steps, "kinetic_J"));
    assert_true(json_member(r.out, "potential_start_J") == csv_value(&c, 0, "potential_J"));
    csv_clear(&c);
    command_clear(&r);
  }
}

// At rest every contact carries its share: four points of 1e5 N/m under 1 kg.
static void falling_box_comes_to_rest(void** state) {
  command_result r = run_json(*state, SCENES "falling_box.xml", "--duration 3");
  assert_true(json_member(r.out, "kinetic_end_J") < 1e-9);
  ASSERT_NEAR(json_member(r.out, "penetration_end_m"), 9.81 / 4e5, 0.05 * 9.81 / 4e5);
  assert_true(json_member(r.out, "contacts_max") >= 4);
  // Falls 0.5 m; resting on a face its centre is 0.1 m high.
  ASSERT_NEAR(json_member(r.out, "potential_end_J"), 9.81 * 0.1, 1e-3);
  ASSERT_NEAR(json_member(r.out, "potential_start_J"), 9.81 * 0.6, 1e-12);
  command_clear(&r);
}

// Coulomb: g (sin a - mu cos a) = 0.58970222 m/s^2 down the slope; it holds where mu > tan a.
static void box_slides_as_coulomb_says(void** state) {
  command_result r =
      run_json(*state, SCENES "sliding_box.xml", "--duration 1 --output t.csv --every 250");
  csv c = csv_read(*state, "t.csv");
  assert_int_equal(c.rows, 3);
  const double a = 20.0 * 3.14159265358979323846 / 180.0;
  double speed[2];
  for (int i = 0; i < 2; ++i) {
    speed[i] = csv_value(&c, i + 1, "v_root_x_mps") * cos(a) -
               csv_value(&c, i + 1, "v_root_z_mps") * sin(a);
  }
  // The box first tips forward on its springs; from 0.5 s on the normal force is m g cos a within
  // 0.2 %, and so friction, 2.77 N, is that exact.
  ASSERT_NEAR((speed[1] - speed[0]) / 0.5, 0.5897022230518818, 2e-3 * 2.77);
  csv_clear(&c);
  command_clear(&r);

  r = run_json(*state, SCENES "sliding_box.xml", "--duration 2 --friction 0.5");
  // Slip in stiction: at most sigma mu dt g.
  assert_true(json_member(r.out, "slip_end_mps") < 1e-3 * 0.5 * 0.002 * 9.81);
  assert_true(json_member(r.out, "kinetic_end_J") < 1e-9);
  command_clear(&r);
}

// sqrt(1/T integral (x - x_e)^2) of the spring-cylinder, castro Sec. VI-B.
static double cylinder_error(scratch* s, const char* options) {
  command_result r = run_json(s, SCENES "spring_cylinder.xml", options);
  command_clear(&r);
  csv c = csv_read(s, "t.csv");
  const double m = 0.5, radius = 0.05, inertia = 0.5 * m * radius * radius;
  const double w = sqrt(100.0 / (m + inertia / (radius * radius)));
  double sum = 0.0;
  for (int row = 1; row < c.rows; ++row) {
    const double e = csv_value(&c, row, "q_x_m") - 0.1 * cos(w * csv_value(&c, row, "t_s"));
    sum += e * e;
  }
  const double error = sqrt(sum / (c.rows - 1));
  csv_clear(&c);
  return error;
}

// The three figures of an independent run at dt = 0.02 s, to their digits.
static void spring_cylinder_errors(void** state) {
#define CYLINDER "--duration 5 --output t.csv --scheme "
  ASSERT_NEAR(cylinder_error(*state, CYLINDER "midpoint"), 1.03e-2, 0.005e-2);
  ASSERT_NEAR(cylinder_error(*state, CYLINDER "symplectic-euler"), 1.30e-2, 0.005e-2);
  // Its 6.2e-2 is cut, not rounded: 6.256e-2 in the C example as well.
  ASSERT_NEAR(cylinder_error(*state, CYLINDER "implicit-euler"), 6.25e-2, 0.05e-2);
  ASSERT_NEAR(cylinder_error(*state, CYLINDER "midpoint --dt 0.005"), 6.5e-4, 0.05e-4);
}

static void midpoint_keeps_energy_without_friction(void** state) {
  command_result r =
      run_json(*state, SCENES "spring_cylinder.xml", "--duration 5 --friction 0 --scheme midpoint");
  const double start =
      json_member(r.out, "kinetic_start_J") + json_member(r.out, "potential_start_J");
  const double last = json_member(r.out, "kinetic_end_J") + json_member(r.out, "potential_end_J");
  // 250 steps of round-off on 1 J.
  ASSERT_NEAR(last, start, 1e-12);
  // The spring's 0.5 J must really have moved.
  assert_true(fabs(json_member(r.out, "kinetic_end_J")) > 1e-3);
  command_clear(&r);
}

// A scheme is its pair of thetas, and a run can be repeated bit by bit.
static void equal_runs_write_equal_bytes(void** state) {
  static const char* const options[] = {"--scheme midpoint --output a.csv",
                                        "--theta 0.5 --theta-vq 0.5 --output b.csv",
                                        "--scheme midpoint --dt 0.005 --output c.csv"};
  char* texts[3];
  for (int i = 0; i < 3; ++i) {
    char all[256], name[8], path[SCRATCH_PATH_SIZE];
    (void)snprintf(all, sizeof all, "--duration 0.5 %s", options[i]);
    command_result r = run_json(*state, SCENES "quadruped.xml", all);
    command_clear(&r);
    (void)snprintf(name, sizeof name, "%c.csv", 'a' + i);
    texts[i] = scratch_read(scratch_path(*state, name, path), NULL);
    assert_non_null(texts[i]);
  }
  assert_string_equal(texts[0], texts[1]);
  assert_string_equal(texts[0], texts[2]);
  for (int i = 0; i < 3; ++i) {
    free(texts[i]);
  }
}

static void keyframes_by_name_and_index(void** state) {
  static const char* const names[] = {"uphill", "0"};
  for (int i = 0; i < 2; ++i) {
    char options[128];
    (void)snprintf(options, sizeof options, "--duration 0.1 --keyframe %s", names[i]);
    command_result r = run_json(*state, SCENES "sliding_box.xml", options);
    ASSERT_NEAR(json_member(r.out, "kinetic_start_J"), 0.5, 1e-8);
    command_clear(&r);
  }
  command_expect(*state, program, "run '" SCENES "sliding_box.xml' --keyframe 1", 3,
                 "keyframe '1'");
  command_expect(*state, program, "run '" SCENES "sliding_box.xml' --keyframe sideways", 3,
                 "keyframe 'sideways'");
}

static void table_for_people(void** state) {
  command_result r =
      command_run(*state, program, "", "run '" SCENES "falling_box.xml' --duration 0.1 --stats");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");  // no progress bar where no terminal is
  static const char* const lines[] = {"simulated time                  0.1 s\n",
                                      "steps                           20\n",
                                      "\nspeed  ",
                                      "\ncontacts, mean  ",
                                      "\nNewton iterations, p95  ",
                                      "\npenetration, largest  ",
                                      "\nkinetic energy, end  ",
                                      "\nfailed steps                    0\n",
                                      "\nsolver, per step  ",
                                      "\nfactorizations, mean  ",
                                      "\nmemory before steps, per body   ",
                                      "\nmemory of steps, per contact    "};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    if (strstr(r.out, lines[i]) == NULL) {
      fail_msg("'%s' is missing in\n%s", lines[i], r.out);
    }
  }
  command_clear(&r);
}

static void interrupt_keeps_table_and_trajectory(void** state) {
  command_result r = command_run(*state, program, "timeout --preserve-status -s INT 1",
                                 "run '" SCENES
                                 "double_pendulum.xml' --duration 1e6 --format json "
                                 "--output t.csv --every 1000");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.err, "interrupted at t = "));
  assert_true(json_valid(r.out));
  assert_true(json_member(r.out, "steps") > 0);
  csv c = csv_read(*state, "t.csv");
  assert_int_equal(c.rows, 1 + (int)json_member(r.out, "steps") / 1000);
  csv_clear(&c);
  command_clear(&r);
}

// Explicit Euler blows up where dt w = 100: the numbers overflow after some steps.
static void failed_step_is_reported_and_the_rest_kept(void** state) {
  static const char scene[] =
      "<mujoco><worldbody><body><joint type='slide' name='x' stiffness='1e4' ref='1'/>"
      "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "spring.xml", scene, strlen(scene), path);
  command_result r = command_run(*state, program, "",
                                 "run spring.xml --scheme explicit-euler --dt 1 --duration 1000 "
                                 "--format json --output t.csv");
  assert_int_equal(r.exit_code, 1);
  assert_non_null(strstr(r.err, "sapstep: step "));
  assert_non_null(strstr(r.err, " at t = "));
  assert_true(json_member(r.out, "failures") == 1);
  const int steps = (int)json_member(r.out, "steps");
  assert_true(steps > 10 && steps < 1000);
  csv c = csv_read(*state, "t.csv");
  assert_int_equal(c.rows, steps + 1);
  for (int i = 0; i < c.rows; ++i) {
    assert_true(isfinite(csv_value(&c, i, "q_x_m")));
  }
  csv_clear(&c);
  command_clear(&r);
}

// An unsolved problem fails the step; on request the best found is used, and the step is counted.
static void unsolved_contacts_fail(void** state) {
#define UNSOLVED                                                        \
  "run '" SAPSTEP_SOURCE_DIR                                            \
  "/examples/scenes/heavy_on_light.xml' --solver pgs-ncp --max-sweeps " \
  "1 --duration 0.02 --format json"
  command_result r = command_run(*state, program, "", UNSOLVED);
  assert_int_equal(r.exit_code, 1);
  assert_true(json_member(r.out, "failures") == 1 && json_member(r.out, "steps") < 20);
  assert_non_null(strstr(r.err, "must be <= accepted_error 0.001"));
  command_clear(&r);
  r = command_run(*state, program, "", UNSOLVED " --accepted-error inf");
  assert_int_equal(r.exit_code, 1);
  assert_true(json_member(r.out, "failures") == 0 && json_member(r.out, "steps") == 20);
  assert_true(json_member(r.out, "unconverged") > 0);
  assert_non_null(strstr(r.err, "did not converge"));
  command_clear(&r);
}

// Links so fast that a step has no root are stepped in parts, and the program says so.
static void fast_links_are_told(void** state) {
  enum { FINGERS = 16, LINKS = 3 };
  static const char* const axes[3] = {"0 0 1", "0 .6 .8", "1 0 0"};
  char text[32768] =
      "<mujoco><option timestep='.01'/><worldbody><body><joint axis='0 0 1'/><inertial pos='0 0 0' "
      "mass='3' diaginertia='.02 .02 .01'/>";
  size_t at = strlen(text);
  for (int f = 0; f < FINGERS; ++f) {
    for (int k = 0; k < LINKS; ++k) {
      at += (size_t)snprintf(text + at, sizeof text - at,
                             "<body pos='%g %g %g'><joint axis='%s'/><inertial pos='%g .007 .005' "
                             "mass='1e-3' diaginertia='1e-6 1.5e-6 1.2e-6'/>",
                             0.02 + 0.01 * (f % 3), 0.02 * (f % 5 - 2), 0.01 * ((f + k) % 4),
                             axes[(f + k) % 3], 0.006 * (f % 3 - 1));
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "</body></body></body>");
  }
  at += (size_t)snprintf(text + at, sizeof text - at,
                         "</body></worldbody><keyframe><key name='fast' qvel='1");
  for (int i = 0; i < FINGERS * LINKS; ++i) {
    at += (size_t)snprintf(text + at, sizeof text - at, " %d", (i * 37 % 11 - 5) * 100);
  }
  at += (size_t)snprintf(text + at, sizeof text - at, "'/></keyframe></mujoco>");
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "fast.xml", text, at, path);
  command_result r = command_exits(*state, program,
                                   "run fast.xml --keyframe fast --duration 0.05 --format json", 0);
  assert_true(json_member(r.out, "in_parts") > 0 && json_member(r.out, "failures") == 0);
  assert_non_null(strstr(r.err, "steps were made in parts"));
  command_clear(&r);
}

// Rows at multiples of dt, which steps of another length lead to.
static void accuracy_chooses_the_steps(void** state) {
  const char* const scene = SCENES "double_pendulum.xml";
  command_result r = run_json(*state, scene, "--accuracy 1e-5 --duration 2 --output t.csv");
  csv c = csv_read(*state, "t.csv");
  assert_int_equal(c.rows, 101);
  assert_true(csv_value(&c, 100, "t_s") == 2.0);
  assert_true(json_member(r.out, "accepted") < 100.0);  // longer than dt
  assert_true(json_member(r.out, "solves") >
              json_member(r.out, "accepted") + json_member(r.out, "rejected"));
  assert_true(json_member(r.out, "dt_largest_s") > 0.02);
  assert_true(json_member(r.out, "dt_least_s") < 0.02);
  assert_true(json_member(r.out, "short_smooth") + json_member(r.out, "short_limit") ==
              json_member(r.out, "accepted"));
  assert_true(json_member(r.out, "shortest_velocity") >= 0.0);
  const double energy = json_member(r.out, "potential_start_J");
  ASSERT_NEAR(json_member(r.out, "kinetic_end_J") + json_member(r.out, "potential_end_J"), energy,
              1e-4 * energy);
  // Rows more often than steps are between their ends, and change no step.
  command_result fine =
      run_json(*state, scene, "--accuracy 1e-5 --dt 0.002 --duration 2 --output f.csv");
  csv d = csv_read(*state, "f.csv");
  assert_int_equal(d.rows, 1001);
  assert_true(json_member(fine.out, "solves") == json_member(r.out, "solves"));
  for (int32_t i = 0; i < c.rows; ++i) {
    ASSERT_NEAR(csv_value(&d, 10 * i, "q_elbow_rad"), csv_value(&c, i, "q_elbow_rad"), 1e-12);
  }
  for (int32_t i = 1; i + 1 < d.rows; ++i) {  // central differences of positions are velocities
    const double rate =
        (csv_value(&d, i + 1, "q_elbow_rad") - csv_value(&d, i - 1, "q_elbow_rad")) / 0.004;
    ASSERT_NEAR(csv_value(&d, i, "v_elbow_radps"), rate, 5e-3);
  }
  csv_clear(&d);
  command_clear(&fine);
  csv_clear(&c);
  command_clear(&r);
  command_expect(*state, program,
                 "run '" SCENES "double_pendulum.xml' --accuracy 1e-5 --scheme implicit-euler", 3,
                 "error control needs the scheme midpoint");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_bundled_scene_runs),
      TEST(falling_box_comes_to_rest),
      TEST(box_slides_as_coulomb_says),
      TEST(spring_cylinder_errors),
      TEST(midpoint_keeps_energy_without_friction),
      TEST(equal_runs_write_equal_bytes),
      TEST(keyframes_by_name_and_index),
      TEST(accuracy_chooses_the_steps),
      TEST(table_for_people),
      TEST(interrupt_keeps_table_and_trajectory),
      TEST(failed_step_is_reported_and_the_rest_kept),
      TEST(unsolved_contacts_fail),
      TEST(fast_links_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
