// SPDX-License-Identifier: BSD-3-Clause
// A robot with open loops at the start: they close without an impact that throws it away.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/linearize.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/simulation.h"

#define CASSIE SAPSTEP_SHARED "/models/menagerie/agility_cassie/scene.xml"

static void test_default_pose_of_cassie(void** state) {
  (void)state;
  const double steps[] = {0.002, 0.004, 0.01};
  for (int i = 0; i < 3; ++i) {
    simulation s;
    sap_error error = {0};
    if (!simulation_read(&s, CASSIE, SAP_SCHEME_IMPLICIT_EULER, steps[i], &error)) {
      simulation_skip_absent(&error);
    }
    // 33 kg fall 1 m and a half: nothing else may drive it but its springs, of some joule.
    simulation_step(&s, (int32_t)(0.3 / steps[i]));
    const sap_diagnostics d = simulation_diagnose(&s);
    if (!(d.kinetic < 300.0)) {
      fail_msg("dt %g s: kinetic energy %g J", steps[i], d.kinetic);
    }
    simulation_end(&s);
  }
}

static sap_stepper* stepper_of(const simulation* s, double balance_tolerance) {
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.005;
  options.balance_tolerance = balance_tolerance;
  options.remember = false;
  options.regularization = s->model->options.regularization;
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(sap_multibody_system(s->multibody), &options, &stepper, NULL),
                   SAP_STATUS_OK);
  return stepper;
}

// Rounds that run away are said to have been withdrawn; the step is then that of the first
// solution, as a stepper without relinearization makes it, to round-off, and costs few solutions
// more. (Bit for bit unless the laws of a limit or servo change: then the step is solved from its
// start again, by a solver that has ordered more blocks before, and the round-off of v is that of J v
// over R = 1e-6 w of the loops, 2e-10.)
static void test_withdrawn(void** state) {
  (void)state;
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, CASSIE, SAP_SCHEME_IMPLICIT_EULER, 0.005, &error)) {
    simulation_skip_absent(&error);
  }
  sap_stepper* once = stepper_of(&s, (double)INFINITY);
  sap_stepper* again = stepper_of(&s, sap_stepper_options_default().balance_tolerance);
  sap_state first = {0};
  int32_t withdrawn = 0;
  assert_int_equal(sap_state_resize(&first, s.state.nq, s.state.nv, NULL), SAP_STATUS_OK);
  for (int n = 0; n < 10; ++n) {
    sap_step_report report;
    for (int32_t i = 6; i < s.state.nv; ++i) {
      s.state.v[i] = 10.0 * sin(i);  // blows, which the loops must stop within the step
    }
    assert_int_equal(sap_state_copy(&s.state, &first, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(once, &first, &report, NULL), SAP_STATUS_OK);
    assert_true(report.relinearizations == 0 && !report.relinearizations_withdrawn);
    const double missed = report.balance_error;
    assert_int_equal(sap_stepper_step(again, &s.state, &report, NULL), SAP_STATUS_OK);
    assert_true(report.balance_error <= fmax(missed * (1.0 + 1e-9), 1e-3));

    if (report.relinearizations_withdrawn) {
      ++withdrawn;
      assert_int_equal(sap_stepper_linearize(again, NULL, NULL, NULL, &error),
                       SAP_STATUS_UNSUPPORTED);
      assert_non_null(strstr(error.message, "diverged"));
      assert_in_range(report.relinearizations, 1, 12);
      for (int32_t i = 0; i < first.nv; ++i) {
        ASSERT_NEAR(s.state.v[i], first.v[i], 1e-10 * (1.0 + fabs(first.v[i])));
      }
      for (int32_t i = 0; i < first.nq; ++i) {
        ASSERT_NEAR(s.state.q[i], first.q[i], 1e-12);
      }
    }
  }
  assert_true(withdrawn > 0);
  sap_state_clear(&first);
  sap_stepper_destroy(once);
  sap_stepper_destroy(again);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_default_pose_of_cassie),
      cmocka_unit_test(test_withdrawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
