// SPDX-License-Identifier: BSD-3-Clause
// Recordings by those who step with an engine of their own: what is written comes back, and what
// is refused leaves the recorder as it was.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { ROWS = 40 };

static const sap_recorded_body bodies[] = {{.parent = -1}, {0, 2.0, {0.1, 0.2, 0.3}}};
static const sap_recorded_joint joints[] = {{SAP_JOINT_SLIDE, 1, 0, 0}};
static const int32_t meshes[][4] = {{0, 3, 0, 1}};
static const float vertices[][3] = {{0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}};
static const int32_t triangles[][3] = {{0, 1, 2}};

static const char* element_name(const void* context, sap_element kind, int32_t id) {
  (void)context;
  return kind == SAP_ELEMENT_BODY && id == 1 ? "slider" : NULL;
}

static sap_recorded_model model_of(const sap_recorded_shape* shape) {
  return (sap_recorded_model){.name = "foreign",
                              .sizes = {.bodies = 2,
                                        .joints = 1,
                                        .shapes = 1,
                                        .meshes = 1,
                                        .actuators = 1,
                                        .nq = 1,
                                        .nv = 1,
                                        .nu = 1},
                              .element_name = element_name,
                              .bodies = bodies,
                              .joints = joints,
                              .shapes = shape,
                              .meshes = meshes,
                              .vertices = vertices,
                              .triangles = triangles,
                              .nvertices = 3,
                              .ntriangles = 1};
}

static const sap_recorded_shape wedge = {
    .type = SAP_SHAPE_MESH, .body = 1, .q_BS = {1.0, 0.0, 0.0, 0.0}, .color = {1.0, 0.5, 0.0, 1.0}};

// Numbers of row k that are all different.
static void write(sap_recorder* recorder, int k) {
  const double q = 0.1 * k, v = 0.2 * k, force = 3.0 * k;
  const double p_WB[6] = {0, 0, 0, q, 0, 0}, q_WB[8] = {1, 0, 0, 0, 1, 0, 0, 0};
  const sap_contact contact = {.body_B = 1,
                               .shape_B = 0,
                               .condim = 3,
                               .R_WC = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                               .phi = -1e-3 * k,
                               .friction = {0.5, 0.5},
                               .vc = {0.01 * k},
                               .gamma = {0.5 * k, 0.0, (double)k}};
  const sap_recorded_force limit = {.kind = 1, .id = 0, .force = 7.0 * k};
  const sap_recorded_row row = {.t = 0.01 * k,
                                .q = &q,
                                .v = &v,
                                .p_WB = p_WB,
                                .q_WB = q_WB,
                                .energy = {1.0 * k, 2.0 * k, 3.0 * k},
                                .momentum = {4.0 * k},
                                .actuator_force = k > 0 ? &force : NULL,
                                .contacts = &contact,
                                .contact_count = k % 2,
                                .forces = &limit,
                                .force_count = k > 0,
                                .stepped = k > 0,
                                .constraint_rows = 4,
                                .dt = 0.01};
  sap_error error = {0};
  if (sap_recorder_write_row(recorder, &row, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

static double number(const sap_recording* recording, const char* name, int64_t row, int column) {
  double values[20];
  sap_error error = {0};
  if (sap_recording_read(recording, name, row, 1, values, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  return values[column];
}

static void test_round_trip(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE], text[64];
  scratch_begin(&s);
  scratch_path(&s, "a.h5", path);
  const sap_recorded_model model = model_of(&wedge);
  sap_recorder_options options = sap_recorder_options_default();
  options.compression = 0;
  options.flush_rows = 7;
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  assert_int_equal(sap_recorder_create_foreign(path, &model, &options, &recorder, &error), 0);
  for (int k = 0; k < ROWS; ++k) {
    write(recorder, k);
  }
  assert_int_equal(sap_recorder_close(recorder, &error), 0);
  sap_recording* r = NULL;
  assert_int_equal(sap_recording_open(path, &r, &error), 0);
  assert_int_equal(sap_recording_rows(r), ROWS);
  for (int k = 0; k < ROWS; ++k) {
    ASSERT_NEAR(number(r, "q", k, 0), 0.1 * k, 0.0);
    ASSERT_NEAR(number(r, "pose", k, 7), 0.1 * k, 1e-6);
    ASSERT_NEAR(number(r, "energy", k, 2), 3.0 * k, 0.0);
    ASSERT_NEAR(number(r, "actuator/force", k, 0), 3.0 * k, 0.0);
    ASSERT_NEAR(number(r, "constraint/count", k, 0), k > 0, 0.0);
    const int first = (int)number(r, "contact/first", k, 0);
    assert_int_equal(first, k / 2);
    if (k % 2 == 1) {
      ASSERT_NEAR(number(r, "contact/impulse", first, 2), (double)k, 0.0);
      ASSERT_NEAR(number(r, "contact/id", first, 5), 2.0, 0.0);  // on the cone's edge
    }
  }
  ASSERT_NEAR(number(r, "step", 5, 10), 0.01, 0.0);
  ASSERT_NEAR(number(r, "model/body", 1, 1), 2.0, 0.0);
  ASSERT_NEAR(number(r, "model/shape", 0, 3), 0.0, 0.0);
  ASSERT_NEAR(number(r, "model/vertex", 1, 0), 1.0, 0.0);
  assert_int_equal(sap_recording_text(r, "model/bodies", 1, text, sizeof text, &error), 0);
  assert_string_equal(text, "slider");
  assert_int_equal(sap_recording_text(r, "model/bodies", 0, text, sizeof text, &error), 0);
  assert_string_equal(text, "");
  sap_recording_close(r);
  scratch_end(&s);
}

static void expect(sap_recorded_model model, const char* message) {
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  scratch_begin(&s);
  assert_int_equal(
      sap_recorder_create_foreign(scratch_path(&s, "a.h5", path), &model, NULL, &recorder, &error),
      SAP_STATUS_ARGUMENT);
  assert_null(recorder);
  assert_string_equal(error.message, message);
  assert_int_equal(scratch_count(&s), 0);
  scratch_end(&s);
}

static void test_refusals(void** state) {
  (void)state;
  sap_recorded_model model = model_of(&wedge);
  model.sizes.bodies = 0;
  expect(model, "bodies = 0 must be >= 1");
  model = model_of(NULL);
  expect(model, "1 shapes, and the array is NULL");
  model = model_of(&wedge);
  model.sizes.nq = -1;
  expect(model, "nq = -1 must be >= 0");
  model = model_of(&wedge);
  model.triangles = NULL;
  expect(model, "1 triangles, and the array is NULL");

  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  model = model_of(&wedge);
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  assert_int_equal(
      sap_recorder_create_foreign(scratch_path(&s, "a.h5", path), &model, NULL, &recorder, &error),
      SAP_STATUS_OK);
  const sap_recorded_row row = {.t = 1.0};
  assert_int_equal(sap_recorder_write_row(recorder, &row, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "q of the row is NULL");
  assert_int_equal(sap_recorder_write_row(recorder, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_recorder_write_row(NULL, &row, &error), SAP_STATUS_ARGUMENT);
  write(recorder, 0);
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_create_foreign(path, NULL, NULL, &recorder, &error),
                   SAP_STATUS_ARGUMENT);
  assert_null(recorder);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
