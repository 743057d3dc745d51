// SPDX-License-Identifier: BSD-3-Clause
// Statistics of `sapstep run` against its own recording of every step: iterations, contacts,
// penetration, slip, spin and rolling, at the end and over the second half.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>
#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
enum { STEPS = 60, WIDTH = 40 };

// Two balls that slide, spin and roll on, and two boxes that fall.
static const char scene[] =
    "<mujoco><option timestep='0.01'/><default><geom size='.1 .1 .1' condim='6' friction='.5 .02 "
    ".01'/></default><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><joint name='x' type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 "
    "1'/><joint name='spin' axis='0 0 1'/><joint name='roll' axis='0 1 0'/><geom/></body>"
    "<body pos='0 2 .1'><freejoint/><geom/></body>"
    "<body pos='0 4 .15' euler='10 20 0'><freejoint/><geom type='box'/></body>"
    "<body pos='.05 4 .4' euler='30 0 0'><freejoint/><geom type='box'/></body>"
    "</worldbody><keyframe><key name='k' qpos='0 0 0 0  0 2 .1 1 0 0 0  0 4 .15 1 .1 .2 0  .05 4 "
    ".4 1 .2 0 0' qvel='1 0 30 4  0 .5 0 0 0 20  0 0 0 0 0 0  0 0 0 0 0 0'/></keyframe></mujoco>";

typedef struct sums {
  double iterations[STEPS], penetration, contacts, most_contacts;
  double end[3], late[3];  // slip, spin, rolling
} sums;

static int read_row(const char** at, double row[WIDTH]) {
  int n = 0;
  char* stop;
  do {
    row[n++] = strtod(*at, &stop);
    *at = stop + 1;
  } while (*stop == ',' && n < WIDTH);
  return n;
}

static char* exported(scratch* s, const char* what) {
  char line[128];
  (void)snprintf(line, sizeof line, "export a.h5 %s", what);
  command_result r = command_run(s, program, "", line);
  assert_int_equal(r.exit_code, 0);
  free(r.err);
  return r.out;
}

// Means over the contacts of a step, then over the steps of the second half that have any.
static void add_step(sums* s, int step, const double sum[3], int contacts, int* late) {
  const bool counts = 2 * step > STEPS && contacts > 0;
  *late += counts ? 1 : 0;
  for (int k = 0; k < 3; ++k) {
    s->end[k] = contacts > 0 ? sum[k] / contacts : (double)NAN;
    s->late[k] += counts ? s->end[k] : 0.0;
  }
}

static void read_contacts(scratch* scratch_folder, sums* s) {
  char* text = exported(scratch_folder, "--contacts");
  const char* at = strchr(text, '\n') + 1;
  double row[WIDTH] = {0.0};
  int late = 0, n = *at != '\0' ? read_row(&at, row) : 0;
  while (n > 0 && row[0] == 0.0) {  // of the start, which no step ended with
    n = *at != '\0' ? read_row(&at, row) : 0;
  }
  for (int step = 1; step <= STEPS; ++step) {
    double sum[3] = {0.0};
    int contacts = 0;
    while (n > 0 && fabs(row[0] - 0.01 * step) < 1e-3) {
      sum[0] += hypot(row[20], row[21]);
      sum[1] += fabs(row[26]);
      sum[2] += hypot(row[27], row[28]);
      s->penetration = fmax(s->penetration, -row[19]);
      ++contacts;
      n = *at != '\0' ? read_row(&at, row) : 0;
    }
    s->contacts += contacts;
    s->most_contacts = fmax(s->most_contacts, contacts);
    add_step(s, step, sum, contacts, &late);
  }
  for (int k = 0; k < 3; ++k) {
    s->late[k] /= late;
  }
  assert_int_equal(n, 0);
  free(text);
}

static void read_column(scratch* scratch_folder, const char* name, double values[STEPS]) {
  char* text = exported(scratch_folder, name);
  const char* at = strchr(text, '\n') + 1;
  double row[WIDTH];
  assert_int_equal(read_row(&at, row), 2);  // the start
  for (int i = 0; i < STEPS; ++i) {
    assert_int_equal(read_row(&at, row), 2);
    values[i] = row[1];
  }
  free(text);
}

// Checks a mean over all steps.
static void expect_mean(scratch* scratch_folder, const command_result* r, const char* name,
                        const char* column, double unit) {
  double values[STEPS], sum = 0.0;
  read_column(scratch_folder, column, values);
  for (int i = 0; i < STEPS; ++i) {
    sum += values[i];
  }
  assert_true(sum > 0.0);
  const double found = json_member(r->out, name), mean = unit * sum / STEPS;
  ASSERT_NEAR(found, mean, 1e-6 * mean);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void expect(const command_result* r, const char* name, double value) {
  const double found = json_member(r->out, name);
  // recordings keep contacts in single precision
  ASSERT_NEAR(found, value, 1e-6 * fmax(1.0, fabs(value)));
}

static void test_sums(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "a.xml", scene, sizeof scene - 1, path);
  command_result r =
      command_run(*state, program, "",
                  "run a.xml --keyframe k --duration 0.6 --record a.h5 --stats --format json");
  if (r.exit_code != 0) {
    fail_msg("%s", r.err);
  }
  sums s = {0};
  read_column(*state, "step:newton_iterations", s.iterations);
  read_contacts(*state, &s);
  double late = 0.0, all = 0.0;
  for (int i = 0; i < STEPS; ++i) {
    all += s.iterations[i] / STEPS;
    late += 2 * i >= STEPS ? s.iterations[i] / (0.5 * STEPS) : 0.0;
  }
  qsort(s.iterations, STEPS, sizeof *s.iterations, ascending);
  expect(&r, "newton_iterations_mean", all);
  expect(&r, "newton_iterations_p95", s.iterations[(19 * STEPS + 19) / 20 - 1]);
  expect(&r, "newton_iterations_max", s.iterations[STEPS - 1]);
  expect(&r, "newton_iterations_second_half", late);
  expect(&r, "contacts_mean", s.contacts / STEPS);
  expect(&r, "contacts_max", s.most_contacts);
  expect(&r, "penetration_max_m", s.penetration);
  static const char* const ends[] = {"slip_end_mps", "spin_end_radps", "rolling_end_radps"};
  static const char* const lates[] = {"slip_second_half_mps", "spin_second_half_radps",
                                      "rolling_second_half_radps"};
  for (int k = 0; k < 3; ++k) {
    expect(&r, ends[k], s.end[k]);
    expect(&r, lates[k], s.late[k]);
    assert_true(s.late[k] > 1e-3);
  }
  expect_mean(*state, &r, "factorizations_mean", "step:factorizations", 1.0);
  expect_mean(*state, &r, "evaluations_mean", "step:evaluations", 1.0);
  expect_mean(*state, &r, "solver_us", "step:time_solver_s", 1e6);
  expect_mean(*state, &r, "step_time_us", "step:time_s", 1e6);
  assert_true(json_member(r.out, "constraints_us") > 0.0);
  assert_true(json_member(r.out, "free_motion_us") > 0.0);
  // The worst miss of the impacts is still that of a run in which all comes to rest.
  command_result rest = command_run(*state, program, "",
                                    "run a.xml --keyframe k --duration 2.5 --stats --format json");
  const double worst = json_member(r.out, "balance_error_max");
  assert_true(worst > 0.0 && json_member(rest.out, "balance_error_max") >= worst);
  command_clear(&rest);
  command_clear(&r);
}

// Five bars that whirl by radians in a step: the run counts the steps whose relinearization ran
// away, and those in parts, as their reports do.
static void test_withdrawn(void** state) {
  static const char loop[] =
      "<mujoco><option timestep='.02'/><default><geom type='capsule' size='.02' contype='0' "
      "conaffinity='0'/><joint axis='0 1 0'/></default><worldbody>"
      "<body name='a'><joint/><geom fromto='0 0 0 0 0 -.5' mass='.1'/><body pos='0 0 -.5'><joint/>"
      "<geom fromto='0 0 0 .6 0 0' mass='1'/><body pos='.6 0 0'><joint/><geom fromto='0 0 0 .1 0 "
      ".1'"
      " mass='.1'/><body name='f' pos='.1 0 .1'><joint/><geom fromto='0 0 0 .1 0 .1' mass='.02'/>"
      "</body></body></body></body><body name='c' pos='.7 0 0'><joint/><geom fromto='0 0 0 0 0 "
      "-.4' "
      "mass='.1'/></body></worldbody><equality><connect body1='f' body2='c' anchor='.1 0 .1'/>"
      "</equality><keyframe><key name='k' qvel='20 -30 40 -30 50'/></keyframe></mujoco>";
  const double v[5] = {20.0, -30.0, 40.0, -30.0, 50.0};
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "loop.xml", loop, sizeof loop - 1, path);
  command_result r = command_exits(
      *state, program, "run loop.xml --keyframe k --duration 1 --stats --format json", 0);
  simulation s = {.model = scene_text_model("loop.xml", loop, NULL)};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.02;
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.02);
  simulation_use(&s, &options);
  memcpy(s.state.v, v, sizeof v);
  int32_t withdrawn = 0, in_parts = 0;
  for (int i = 0; i < 50; ++i) {
    simulation_step(&s, 1);
    withdrawn += s.report.relinearizations_withdrawn ? 1 : 0;
    in_parts += s.report.free_motion_substeps > 0 ? 1 : 0;
  }
  simulation_end(&s);
  assert_true(withdrawn > 0 && withdrawn < 50);
  assert_true(json_member(r.out, "relinearizations_withdrawn") == withdrawn);
  assert_true(json_member(r.out, "in_parts") == in_parts);
  command_clear(&r);
}

// Every row of steps chosen by their error, against the reports of the same steps. A box falls, one
// slides to a stop, a servo reaches its bound.
static void test_chosen_steps(void** state) {
  static const char chosen[] =
      "<mujoco><option timestep='.01'/><default><geom size='.1' solref='-1e4 -10'/></default>"
      "<worldbody><geom type='plane' size='0 0 1'/><body pos='0 0 .4'><freejoint/><geom/></body>"
      "<body pos='0 2 .098'><joint type='slide' axis='1 0 0' stiffness='1000' springref='.1'/>"
      "<joint type='slide' axis='0 0 1'/><geom friction='2'/></body><body name='arm' pos='0 4 "
      "1'><joint name='h' axis='0 1 0'/>"
      "<geom pos='.3 0 0' contype='0' conaffinity='0'/></body></worldbody><actuator>"
      "<position joint='h' kp='300' forcerange='-60 60'/></actuator>"
      "<keyframe><key name='k' qpos='0 0 .4 1 0 0 0  0 0  .8' qvel='0 0 0 0 0 0  1 0  0'/>"
      "</keyframe></mujoco>";
  enum { ROWS = 5 };
  static const char* const keys[] = {"short_smooth", "short_touch",  "short_bound", "short_stop",
                                     "short_servo",  "short_failed", "short_limit"};
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "chosen.xml", chosen, sizeof chosen - 1, path);
  command_result r =
      command_exits(*state, program,
                    "run chosen.xml --keyframe k --accuracy 1e-4 --largest-dt .02 --duration .8 "
                    "--format json",
                    0);
  simulation s = {.model = scene_text_model("chosen.xml", chosen, NULL)};
  sap_stepper_options options = sap_stepper_options_default();
  assert_int_equal(sap_stepper_options_set_scheme(&options, SAP_SCHEME_MIDPOINT, NULL),
                   SAP_STATUS_OK);
  options.dt = 0.02;
  options.solver_options.relative_tolerance = 1e-6;
  simulation_complete(&s, SAP_SCHEME_MIDPOINT, 0.02);
  simulation_use(&s, &options);
  sap_adaptive_options accurate = sap_adaptive_options_default();
  sap_adaptive* adaptive = NULL;
  accurate.accuracy = 1e-4;
  accurate.largest_dt = 0.02;
  assert_int_equal(sap_adaptive_create(s.stepper, &accurate, NULL, &adaptive, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_keyframe(s.model, 0, &s.state, NULL, NULL), SAP_STATUS_OK);
  int32_t reasons[SAP_ADAPTIVE_REASON_COUNT] = {0}, accepted = 0, rejected = 0, solves = 0;
  double least = 1.0, largest = 0.0, velocity = -1.0;
  while (s.state.t < 0.8) {
    sap_adaptive_report report;
    assert_int_equal(sap_adaptive_step(adaptive, &s.state, 1e300, &report, NULL), SAP_STATUS_OK);
    velocity = report.dt < least ? report.velocity : velocity;
    least = fmin(least, report.dt);
    largest = fmax(largest, report.dt);
    accepted += 1;
    rejected += report.rejected;
    solves += report.solves;
    reasons[report.reason] += 1;
  }
  const double values[ROWS] = {accepted, rejected, solves, least, largest};
  static const char* const names[ROWS] = {"accepted", "rejected", "solves", "dt_least_s",
                                          "dt_largest_s"};
  for (int i = 0; i < ROWS; ++i) {
    expect(&r, names[i], values[i]);
  }
  for (int i = 0; i < SAP_ADAPTIVE_REASON_COUNT; ++i) {
    expect(&r, keys[i], reasons[i]);
  }
  expect(&r, "shortest_velocity", velocity);
  assert_true(reasons[SAP_ADAPTIVE_KINK] > 0 && reasons[SAP_ADAPTIVE_STOP] > 0 &&
              reasons[SAP_ADAPTIVE_SERVO] > 0 && reasons[SAP_ADAPTIVE_LIMIT] > 0 && rejected > 0);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
  command_clear(&r);
}

// A run says what the scheme took from a spinning top, and which contact is softer than asked.
static void test_messages(void** state) {
  static const char top[] =
      "<mujoco><option timestep='.004'/><worldbody><body euler='30 0 0'><joint type='ball'/>"
      "<geom type='cylinder' size='.1 .02' pos='0 0 .2' mass='1'/></body></worldbody><keyframe>"
      "<key name='k' qpos='.9659258 .258819 0 0' qvel='0 0 80'/></keyframe></mujoco>";
  static const char wheel[] =
      "<mujoco><option timestep='.01'/><worldbody><geom name='floor' type='plane' size='3 3 1'/>"
      "<body pos='0 0 .1'><joint type='slide' axis='0 0 1'/><inertial pos='0 0 0' mass='50' "
      "diaginertia='1 1 1'/><body><joint axis='0 1 0'/><inertial pos='0 0 0' mass='1e-3' "
      "diaginertia='1e-3 1e-3 1e-3'/><geom name='tyre' type='sphere' size='.1'/></body></body>"
      "</worldbody></mujoco>";
  static const struct {
    const char *command, *told;
  } cases[] = {
      {"run top.xml --keyframe k --duration 5", "--scheme midpoint"},
      {"run top.xml --keyframe k --duration 5 --scheme midpoint", NULL},
      {"run wheel.xml --duration 1 --contact-law castro", "'floor' and 'tyre'"},
      {"run wheel.xml --duration 1", NULL},
  };
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "top.xml", top, sizeof top - 1, path);
  (void)scratch_write(*state, "wheel.xml", wheel, sizeof wheel - 1, path);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    command_result r = command_run(*state, program, "", cases[i].command);
    assert_int_equal(r.exit_code, 0);
    if (cases[i].told != NULL ? strstr(r.err, cases[i].told) == NULL : r.err[0] != '\0') {
      fail_msg("%s: %s", cases[i].command, r.err);
    }
    command_clear(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_sums, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_withdrawn, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_chosen_steps, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_messages, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
