// SPDX-License-Identifier: BSD-3-Clause
// A robot whose loops stand open at the start: they close without a blow that throws it away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/simulation.h"

#define CASSIE SAPSTEP_SHARED "/models/menagerie/agility_cassie/scene.xml"

static void test_default_pose_of_cassie(void** state) {
  (void)state;
  FILE* file = fopen(CASSIE, "r");
  if (file == NULL) {
    print_message("no shared models\n");
    skip();
  }
  (void)fclose(file);
  const double steps[] = {0.002, 0.004, 0.01};
  for (int i = 0; i < 3; ++i) {
    simulation s;
    sap_error error = {0};
    if (!simulation_read(&s, CASSIE, SAP_SCHEME_IMPLICIT_EULER, steps[i], &error)) {
      fail_msg("%s", error.message);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_default_pose_of_cassie),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
