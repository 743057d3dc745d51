// SPDX-License-Identifier: BSD-3-Clause
// Error-controlled parts of MuJoCo's timestep: exact motion, what attempts leave behind, failures.
#include "support/mujoco_run.h"

// A ball falls freely for a while, hits a compliant floor of 1e4 N/m without damping, and rises; a
// second one swings as a pendulum.
static const char SCENE[] =
    "<mujoco><option timestep='0.02'/><worldbody>"
    "<geom type='plane' size='5 5 1' solref='-1e300 0'/>"
    "<body pos='0 0 .3'><joint type='slide' axis='0 0 1'/>"
    "<geom type='sphere' size='.1' mass='1' solref='-1e4 0'/></body>"
    "<body pos='2 0 2'><joint type='hinge' axis='0 1 0'/>"
    "<geom type='sphere' size='.1' pos='.5 0 0' mass='1'/></body></worldbody></mujoco>";

static sap_mj_advance_report advance(mujoco_run* run, double accuracy, int count) {
  sap_mj_advance_report report, all = {.least_dt = HUGE_VAL};
  sap_error error = {0};
  for (int i = 0; i < count; ++i) {
    const double t = run->data->time;
    if (sap_mj_advance(run->adapter, run->data, accuracy, &report, &error) != SAP_STATUS_OK) {
      fail_msg("timestep %d: %s", i, error.message);
    }
    assert_true(run->data->time == t + run->model->opt.timestep);
    assert_true(report.error <= accuracy && report.solves >= 3 * report.steps);
    all.solves += report.solves;
    all.rejected += report.rejected;
    all.least_dt = fmin(all.least_dt, report.least_dt);
    all.largest_dt = fmax(all.largest_dt, report.largest_dt);
  }
  assert_string_equal(error.message, "");
  return all;
}

static mujoco_run begin(void) {
  sap_mj_options options = sap_mj_options_default();
  options.solver_options.relative_tolerance = 1e-12;
  return mujoco_run_text(SCENE, &options);
}

// The bounce of the ball from its exact motion, and the pendulum against steps of 1e-5 s.
static void test_accuracy(void** state) {
  (void)state;
  const double g = 9.81, k = 1e4, duration = 0.3, w = sqrt(k), speed = sqrt(2.0 * g * 0.2);
  const double t0 = speed / g, sag = g / k, a = hypot(speed / w, sag);
  // In contact: z = -sag - a cos(w (t - tm)); it lets go as fast as it came.
  const double contact = 2.0 * (acos(-1.0) - acos(sag / a)) / w, t = duration - t0 - contact;
  const double z = t * (speed - 0.5 * g * t) - 0.2;
  mujoco_run fine = begin();
  fine.model->opt.timestep = 1e-5;
  mujoco_run_step(&fine, 30000);
  double errors[3], fall = 0.0;
  for (int i = 0; i < 3; ++i) {
    mujoco_run run = begin();
    const sap_mj_advance_report all = advance(&run, pow(10.0, -3 - i), 15);
    errors[i] = fmax(fabs(run.data->qpos[0] - z), fabs(run.data->qpos[1] - fine.data->qpos[1]));
    print_message("accuracy 1e-%d: error %.2g m, %d solves, %d rejected, dt %.2g to %.2g s\n",
                  3 + i, errors[i], all.solves, all.rejected, all.least_dt, all.largest_dt);
    fall = fmax(fall, errors[i] / pow(10.0, -0.5 * i) / errors[0]);
    assert_true(all.least_dt < 0.25 * all.largest_dt);
    mujoco_run_end(&run);
  }
  assert_true(errors[2] < 0.01 && fall < 1.5);  // first order: at most h^2 of a part, 1/h parts
  mujoco_run_end(&fine);
}

// A timestep whose error is accepted at once is two halves, to the bit, whatever was tried before.
static void test_attempts(void** state) {
  (void)state;
  mujoco_run whole = begin(), halves = begin();
  (void)advance(&whole, 1e3, 10);
  halves.model->opt.timestep = 0.01;
  mujoco_run_step(&halves, 20);
  assert_memory_equal(whole.data->qpos, halves.data->qpos, 2 * sizeof(mjtNum));
  assert_memory_equal(whole.data->qvel, halves.data->qvel, 2 * sizeof(mjtNum));
  mujoco_run_end(&whole);
  mujoco_run_end(&halves);
}

// The report of one part: its error is that of the whole step beside its halves, and of the
// pendulum, whose length is sqrt(I/m); the parts of a fine one fill the timestep.
static void test_report(void** state) {
  (void)state;
  mujoco_run run = begin(), whole = begin(), halves = begin();
  sap_mj_advance_report report;
  halves.model->opt.timestep = 0.01;
  mujoco_run_step(&whole, 1);
  mujoco_run_step(&halves, 2);
  assert_int_equal(sap_mj_advance(run.adapter, run.data, 1e3, &report, NULL), SAP_STATUS_OK);
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    const double length = i == 0 ? 1.0 : sqrt(0.4 * 0.1 * 0.1 + 0.5 * 0.5);
    errors[i] = length * fmax(fabs(whole.data->qpos[i] - halves.data->qpos[i]),
                              0.01 * fabs(whole.data->qvel[i] - halves.data->qvel[i]));
  }
  assert_true(fabs(errors[0] - errors[1]) > 1e-7);
  ASSERT_NEAR(report.error, fmax(errors[0], errors[1]), 1e-12);
  assert_int_equal(report.velocity, errors[1] > errors[0]);
  assert_true(report.steps == 1 && report.rejected == 0 && report.solves == 3);
  ASSERT_NEAR(report.least_dt, 0.02, 0.0);
  ASSERT_NEAR(report.largest_dt, 0.02, 0.0);
  assert_int_equal(report.step.velocities, 2);
  assert_int_equal(sap_mj_advance(run.adapter, run.data, 1e-5, &report, NULL), SAP_STATUS_OK);
  assert_true(report.rejected > 0 && report.steps > 2 && report.error <= 1e-5);
  assert_true(report.steps * report.least_dt <= 0.02 * (1.0 + 1e-12));
  assert_true(report.steps * report.largest_dt >= 0.02 * (1.0 - 1e-12));
  assert_true(report.solves >= 3 * (report.steps + report.rejected));
  mujoco_run_end(&run);
  mujoco_run_end(&whole);
  mujoco_run_end(&halves);
}

static void test_failures(void** state) {
  (void)state;
  mujoco_run run = begin();
  sap_error error = {0};
  (void)advance(&run, 1e-4, 8);
  const double q = run.data->qpos[0], v = run.data->qvel[0], t = run.data->time;
  const double bad[] = {0.0, -1.0, (double)NAN, HUGE_VAL};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(sap_mj_advance(run.adapter, run.data, bad[i], NULL, &error),
                     SAP_STATUS_ARGUMENT);
  }
  assert_int_equal(sap_mj_advance(NULL, run.data, 1e-4, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_advance(run.adapter, NULL, 1e-4, NULL, &error), SAP_STATUS_ARGUMENT);
  run.data->qfrc_applied[1] = (double)NAN;
  assert_int_equal(sap_mj_advance(run.adapter, run.data, 1e-4, NULL, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_true(run.data->qpos[0] == q && run.data->qvel[0] == v && run.data->time == t);
  assert_true(run.model->opt.timestep == 0.02);
  run.data->qfrc_applied[1] = 0.0;
  // As if the failed ones had not been tried.
  mujoco_run other = begin();
  (void)advance(&other, 1e-4, 8);
  (void)advance(&other, 1e-4, 4);
  (void)advance(&run, 1e-4, 4);
  assert_memory_equal(run.data->qpos, other.data->qpos, 2 * sizeof(mjtNum));
  mujoco_run_end(&other);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy),
                                     cmocka_unit_test(test_attempts), cmocka_unit_test(test_report),
                                     cmocka_unit_test(test_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
