// SPDX-License-Identifier: BSD-3-Clause
// Whole scenes by CHOLMOD, LAPACK and our block Cholesky: the same motion, whichever factorizes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/simulation.h"

static simulation begin(const char* scene, sap_linear_solver linear, sap_newton_method newton) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, scene, SAP_SCHEME_IMPLICIT_EULER, 0.01, &error)) {
    fail_msg("%s", error.message);
  }
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01;
  options.solver_options.linear_solver = linear;
  options.solver_options.newton = newton;
  options.solver_options.relative_tolerance = 1e-10;
  simulation_use(&s, &options);
  return s;
}

static void check_scene(const char* scene, sap_newton_method newton) {
  enum { WAYS = 3, STEPS = 30 };
  static const sap_linear_solver ways[WAYS] = {SAP_LINEAR_BLOCK, SAP_LINEAR_SPARSE,
                                               SAP_LINEAR_DENSE};
  simulation s[WAYS];
  int32_t factorizations = 0;
  double largest = 0.0;
  for (int w = 0; w < WAYS; ++w) {
    s[w] = begin(scene, ways[w], newton);
  }
  const int32_t nv = s[0].state.nv;
  for (int step = 0; step < STEPS; ++step) {
    for (int w = 0; w < WAYS; ++w) {
      simulation_step(&s[w], 1);
      if (s[w].report.solver != NULL) {
        assert_int_equal(s[w].report.solver->outcome, SAP_OUTCOME_CONVERGED);
        factorizations += w == 1 ? s[w].report.solver->factorizations : 0;
      }
    }
    for (int32_t i = 0; i < nv; ++i) {
      largest = fmax(largest, fabs(s[0].state.v[i]));
      for (int w = 1; w < WAYS; ++w) {
        // the tolerance 1e-10 of momenta, carried along by the impacts of 30 steps
        assert_true(fabs(s[w].state.v[i] - s[0].state.v[i]) <= 1e-6);
      }
    }
  }
  print_message("%d factorizations by CHOLMOD, speeds up to %g\n", (int)factorizations, largest);
  assert_true(factorizations > STEPS / 2 && largest > 1.0);
  for (int w = 0; w < WAYS; ++w) {
    simulation_end(&s[w]);
  }
}

static void test_scenes(void** state) {
  (void)state;
  check_scene(SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml", SAP_NEWTON_PRIMAL_DUAL);
  check_scene(SAPSTEP_SOURCE_DIR "/examples/scenes/balls_10.xml", SAP_NEWTON_PRIMAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
