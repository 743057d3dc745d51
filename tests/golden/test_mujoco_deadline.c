// SPDX-License-Identifier: BSD-3-Clause
// The adapter under a deadline: a step that has no time makes do with the guess, flagged and
// finite, and the run goes on; one that has enough gives the bits of one without.
#include "support/mujoco_run.h"

static const char PILE[] =
    "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='.05 0 .34'><freejoint/><geom type='box' size='.1 .1 "
    ".1'/></body></worldbody></mujoco>";

static mujoco_run begin(double time_limit) {
  sap_mj_options options = sap_mj_options_default();
  options.solver_options.time_limit = time_limit;
  return mujoco_run_text(PILE, &options);
}

static void test_deadline(void** state) {
  (void)state;
  mujoco_run hurried = begin(1e-9), patient = begin(1e3), unlimited = begin(0.0);
  int late = 0;
  for (int k = 0; k < 60; ++k) {
    mujoco_run_step(&hurried, 1);
    mujoco_run_step(&patient, 1);
    mujoco_run_step(&unlimited, 1);
    const sap_report* report = hurried.report.solver;
    if (report != NULL && report->outcome == SAP_OUTCOME_TIME_LIMIT) {
      late += 1;
      assert_int_equal(report->total_iterations, 0);
      assert_true(report->momentum_error > 1e-6 && isfinite(report->momentum_error));
    }
    for (int i = 0; i < (int)hurried.model->nv; ++i) {
      assert_true(isfinite(hurried.data->qvel[i]));
    }
  }
  assert_true(late > 0);
  const size_t size = (size_t)patient.model->nq * sizeof(mjtNum);
  assert_memory_equal(patient.data->qpos, unlimited.data->qpos, size);
  mujoco_run_end(&hurried);
  mujoco_run_end(&patient);
  mujoco_run_end(&unlimited);
}

static void test_refusals(void** state) {
  (void)state;
  mujoco_run run = begin(0.0);
  const double bad[] = {-1.0, (double)NAN, HUGE_VAL};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    sap_mj_options options = sap_mj_options_default();
    options.solver_options.time_limit = bad[i];
    sap_mj* none = NULL;
    sap_error error = {0};
    assert_int_equal(sap_mj_create(run.model, &options, &none, &error),
                     isfinite(bad[i]) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE);
    assert_null(none);
    assert_non_null(strstr(error.message, "time_limit"));
  }
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
