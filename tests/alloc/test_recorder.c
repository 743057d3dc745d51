// SPDX-License-Identifier: BSD-3-Clause
// Recording makes no heap call of ours once it has begun, the compression's included.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/heap_count.h"
#include "support/scratch.h"
#include "support/simulation.h"
#include "support/skip.h"

static simulation box(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double half[3] = {0.1, 0.1, 0.1}, ground[3] = {5.0, 5.0, 0.1}, p[3] = {0.0, 0.0, 0.12};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, ground, sap_material_default());
  const int32_t body = simulation_body(builder, 0, 2.0, 0.02, p);
  (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, half, sap_material_default());
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
}

static void no_heap_call_in_steady_state(void** unused) {
  (void)unused;
  enum { WARM = 200, ROWS = 3000 };
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  for (int no_thread = 0; no_thread < 2; ++no_thread) {
    simulation sim = box();
    sap_recorder_options options = sap_recorder_options_default();
    options.compression = 1;
    options.no_thread = no_thread != 0;
    sap_recorder* recorder = NULL;
    sap_error error = {0};
    assert_int_equal(
        sap_recorder_create(scratch_path(&s, "a.h5", path), sim.model, &options, &recorder, &error),
        SAP_STATUS_OK);
    int64_t before = 0;
    for (int k = 0; k < WARM + ROWS; ++k) {
      simulation_step(&sim, 1);
      before = k == WARM ? heap_calls() : before;
      assert_int_equal(sap_recorder_write(recorder, sim.multibody, &sim.state, &sim.report, &error),
                       SAP_STATUS_OK);
    }
    assert_int_equal(sap_recorder_flush(recorder, &error), SAP_STATUS_OK);
    assert_int_equal(heap_calls(), before);
    assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
    simulation_end(&sim);
  }
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_heap_call_in_steady_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
