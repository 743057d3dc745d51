// SPDX-License-Identifier: BSD-3-Clause
// Ten seconds of clutter with exact Coulomb friction: every step solved to a natural map of 1e-4,
// by the judge, at no more than four times the Newton iterations of the convex problem.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/simulation.h"

enum { STEPS = 1000 };
static const double TOLERANCE = 1e-4;

typedef struct course {
  int64_t iterations;
  int64_t unsolved;  // steps whose NCP natural map is above TOLERANCE
  double worst;      // of the natural maps
} course;

static void require(sap_status status, const sap_error* error) {
  if (status != SAP_STATUS_OK) {
    fail_msg("%s", error->message);
  }
}

static void judge(const sap_step_report* report, bool nonlinear, course* c) {
  sap_residual residual;
  sap_error error;
  require(sap_residuals(report->problem, report->solution->v, report->solution->gamma, &residual,
                        &error),
          &error);
  const double map = nonlinear ? residual.ncp_natural_map_scaled : residual.ccp_natural_map_scaled;
  c->unsolved += map <= TOLERANCE ? 0 : 1;
  c->worst = fmax(c->worst, map);
  c->iterations += report->solver->iterations;
}

static course run(const char* solver, double tolerance) {
  simulation s;
  sap_error error = {0};
  course c = {0};
  if (!simulation_read(&s, SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml",
                       SAP_SCHEME_IMPLICIT_EULER, 0.01, &error)) {
    fail_msg("%s", error.message);
  }
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01;
  options.solver = solver;
  options.solver_options.relative_tolerance = tolerance;
  simulation_use(&s, &options);
  for (int i = 0; i < STEPS; ++i) {
    sap_step_report report;
    require(sap_stepper_step(s.stepper, &s.state, &report, &error), &error);
    if (report.blocks > 0) {
      judge(&report, strcmp(solver, "sap-ncp") == 0, &c);
    }
  }
  simulation_end(&s);
  return c;
}

static void test_ten_seconds(void** state) {
  (void)state;
  const course convex = run("sap", 1e-6), exact = run("sap-ncp", TOLERANCE);
  print_message(
      "Newton iterations a step: sap %.2f, sap-ncp %.2f (%.2f times); worst natural map "
      "%.2g, %ld of %d steps above %g\n",
      (double)convex.iterations / STEPS, (double)exact.iterations / STEPS,
      (double)exact.iterations / (double)convex.iterations, exact.worst, (long)exact.unsolved,
      STEPS, TOLERANCE);
  assert_true(convex.iterations > STEPS / 2);
  assert_int_equal(exact.unsolved, 0);
  assert_true(exact.iterations <= 4 * convex.iterations);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ten_seconds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
