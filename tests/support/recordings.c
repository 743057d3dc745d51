// SPDX-License-Identifier: BSD-3-Clause
#include "support/recordings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

simulation recordings_box(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double half[3] = {0.1, 0.1, 0.1}, ground[3] = {5.0, 5.0, 0.1}, p[3] = {0.0, 0.0, 0.12};
  const sap_material material = {.stiffness = 1e5, .relaxation_time = 0.02, .friction = 0.5};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, ground, material);
  const int32_t body = simulation_body(builder, 0, 2.0, 2.0 / 150.0, p);
  (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_BOX, half, material);
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.01);
}

sap_recorder* recordings_create(const char* path, const simulation* s, int32_t flush_rows) {
  sap_recorder_options options = sap_recorder_options_default();
  options.compression = 4;
  options.flush_rows = flush_rows;
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  if (sap_recorder_create(path, s->model, &options, &recorder, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return recorder;
}

sap_recording* recordings_open(const char* path) {
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(path, &recording, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return recording;
}

double* recordings_read(const sap_recording* recording, const char* name, int64_t* rows,
                        int64_t* columns) {
  sap_error error = {0};
  assert_int_equal(sap_recording_size(recording, name, rows, columns, &error), SAP_STATUS_OK);
  double* values = calloc((size_t)(*rows * *columns) + 1, sizeof *values);
  assert_non_null(values);
  if (sap_recording_read(recording, name, 0, *rows, values, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  return values;
}
