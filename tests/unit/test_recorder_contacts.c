// SPDX-License-Identifier: BSD-3-Clause
// Contacts in recordings are those of the step, with what friction does in each: nothing, stick,
// slide, or turn on the spot.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/near.h"
#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { FALLS, RESTS, SLIDES, SPINS, ROLLS, BALLS };
static const int32_t modes[BALLS] = {0, 1, 2, 2, 2};

static void add_ball(sap_builder* builder, int32_t body, sap_shape_type type) {
  sap_shape_def def = sap_shape_def_default();
  def.type = type;
  def.body = body;
  def.size[0] = 0.1;
  def.condim = 6;
  def.material.friction = 0.5;
  def.material.relaxation_time = 1e-4;  // nothing is lifted by gliding for long
  def.friction_torsional = 0.01;
  def.friction_rolling = 0.02;
  def.margin = 0.02;
  assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
}

// Balls beside each other on a plane; `state->v`: [velocity; angular velocity] of each.
static simulation begin(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  add_ball(builder, 0, SAP_SHAPE_PLANE);
  for (int i = 0; i < BALLS; ++i) {
    const double p[3] = {0.5 * i, 0.0, i == FALLS ? 0.115 : 0.1};
    const int32_t body = simulation_body(builder, 0, 1.0, 4e-3, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    add_ball(builder, body, SAP_SHAPE_SPHERE);
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
  double* v = s.state.v;
  v[6 * SLIDES] = 1.0;
  v[6 * SPINS + 5] = 20.0;
  v[6 * ROLLS] = 1.0;
  v[6 * ROLLS + 4] = 10.0;
  simulation_step(&s, 50);
  return s;
}

static double* read_all(const sap_recording* recording, const char* name, int64_t rows,
                        int64_t columns) {
  int64_t n, width;
  double* values = recordings_read(recording, name, &n, &width);
  assert_int_equal(n, rows);
  assert_int_equal(width, columns);
  return values;
}

static void expect(const double* found, const double* expected, int n) {
  for (int i = 0; i < n; ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-6 * fmax(1.0, fabs(expected[i])));  // floats at the least
  }
}

static void test_contacts(void** state) {
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = NULL;
  sap_recording* recording = NULL;
  (void)scratch_path(*state, "a.h5", path);
  simulation s = begin();
  assert_int_equal(sap_recorder_create(path, s.model, NULL, &recorder, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_open(path, &recording, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_contact_count(s.multibody), BALLS);
  double* id = read_all(recording, "contact/id", BALLS, 6);
  double* point = read_all(recording, "contact/point", BALLS, 3);
  double* frame = read_all(recording, "contact/frame", BALLS, 9);
  double* distance = read_all(recording, "contact/distance", BALLS, 1);
  double* velocity = read_all(recording, "contact/velocity", BALLS, 3);
  double* impulse = read_all(recording, "contact/impulse", BALLS, 3);
  double* turning = read_all(recording, "contact/turning", BALLS, 3);
  double* moment = read_all(recording, "contact/moment", BALLS, 3);
  for (int i = 0; i < BALLS; ++i) {
    const sap_contact* c = &sap_multibody_contacts(s.multibody)[i];
    const double names[5] = {c->body_A, c->body_B, c->shape_A, c->shape_B, c->feature};
    expect(id + 6 * i, names, 5);
    assert_true(id[6 * i + 5] == modes[c->body_B - 1]);
    expect(point + 3 * i, c->point, 3);
    expect(frame + 9 * i, c->R_WC, 9);
    expect(distance + i, &c->phi, 1);
    expect(velocity + 3 * i, c->vc, 3);
    expect(impulse + 3 * i, c->gamma, 3);
    expect(turning + 3 * i, c->vc + 3, 3);
    expect(moment + 3 * i, c->gamma + 3, 3);
    // the ground turns what spins back by mu_s N
    if (c->body_B == 1 + SPINS) {
      ASSERT_NEAR(moment[3 * i], -0.01 * impulse[3 * i + 2], 1e-3 * 0.01 * impulse[3 * i + 2]);
    }
  }
  double* const all[] = {id, point, frame, distance, velocity, impulse, turning, moment};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    free(all[i]);
  }
  sap_recording_close(recording);
  simulation_end(&s);
}

// Recording collects the contacts of the step, before or after the caller does; contacts of another
// configuration are refused.
static void test_order(void** state) {
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = NULL;
  sap_recording* recording = NULL;
  sap_error error = {0};
  (void)scratch_path(*state, "a.h5", path);
  simulation s = begin();
  assert_int_equal(sap_recorder_create(path, s.model, NULL, &recorder, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(s.stepper, &s.state, &s.report, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, NULL),
                   SAP_STATUS_OK);
  const double recorded = sap_multibody_contacts(s.multibody)[RESTS].gamma[2];
  assert_true(recorded > 0.0);
  assert_int_equal(sap_multibody_collect(s.multibody, &s.report, NULL), SAP_STATUS_OK);
  assert_true(sap_multibody_contacts(s.multibody)[RESTS].gamma[2] == recorded);
  assert_int_equal(sap_multibody_detect(s.multibody, s.state.q, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, &error),
                   SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "the contacts are not those of the last step"));
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_open(path, &recording, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_rows(recording), 1);
  double* impulse = read_all(recording, "contact/impulse", BALLS, 3);
  assert_true(impulse[3 * RESTS + 2] == recorded);
  free(impulse);
  sap_recording_close(recording);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_contacts, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_order, scratch_setup, scratch_teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
