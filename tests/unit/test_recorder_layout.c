// SPDX-License-Identifier: BSD-3-Clause
// Every column of a recording: a row whose numbers are all different comes back with each number in
// the column of its name, in the order that the public header documents.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/recorder.h>

#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { BODIES = 2, NQ = 3, NV = 2, NA = 1, NU = 2, MOST = 20 };

// A data set of one row, or of the last row's details: names (NULL: none) and numbers of columns.
typedef struct expected {
  const char *set, *columns;
  double values[MOST];
  int count;
} expected;

#define SET(set, columns, ...) \
  { set, columns, {__VA_ARGS__}, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)) }

static const expected sets[] = {
    SET("time", NULL, 1.5),
    SET("q", NULL, 2.0, 2.25, 2.5),
    SET("v", NULL, 3.0, 3.5),
    SET("act", NULL, 4.0),
    SET("pose", "x,y,z,qw,qx,qy,qz of each body", 5.0, 5.25, 5.5, 6.0, 6.25, 6.5, 6.75, 7.0, 7.25,
        7.5, 8.0, 8.25, 8.5, 8.75),
    SET("energy", "kinetic,gravity,springs", 9.0, 9.25, 9.5),
    SET("momentum", "px,py,pz,Lx,Ly,Lz", 10.0, 10.25, 10.5, 11.0, 11.25, 11.5),
    SET("step",
        "newton_iterations,converged,momentum_error,cost_J,factorizations,evaluations,"
        "free_motion_iterations,free_motion_residual,time_s,rows,dt_s,time_solver_s,islands",
        12, 1, 13.0, 14.0, 15, 16, 17, 18.0, 19.0, 20, 21.0, 22.0, 23),
    SET("actuator/force", NULL, 24.0, 24.5),
    SET("contact/first", NULL, 1),
    SET("contact/count", NULL, 1),
    SET("constraint/first", NULL, 2),
    SET("constraint/count", NULL, 1),
    SET("iteration/first", NULL, 3),
    SET("iteration/count", NULL, 1),
    SET("contact/id", "body_A,body_B,shape_A,shape_B,feature,mode", 25, 26, 27, 28, 29, 2),
    SET("contact/point", "x,y,z", 30.0, 30.25, 30.5),
    SET("contact/frame", "t1x,t1y,t1z,t2x,t2y,t2z,nx,ny,nz", 31, 32, 33, 34, 35, 36, 37, 38, 39),
    SET("contact/distance", NULL, -40.0),
    SET("contact/velocity", "t1,t2,n", 41.0, 42.0, 43.0),
    SET("contact/impulse", "t1,t2,n", 44.0, 45.0, 46.0),
    SET("contact/turning", "spin,roll1,roll2", 47.0, 48.0, 49.0),
    SET("contact/moment", "spin,roll1,roll2", 50.0, 51.0, 52.0),
    SET("contact/patch", "number,area_m2,pressure_Pa", 1.0, 2.0, 46.0 / (21.0 * 2.0)),
    SET("contact/law", "stiffness_Npm,relaxation_time_s,friction,realised", 61.0, 62.0, 0.5, 0.25),
    SET("constraint/id", "kind,id,row", 5, 54, 55),
    SET("constraint/force", NULL, 56.0),
    SET("iteration/value", "cost_J,momentum_error,step_length,evaluations", 57.0, 58.0, 59.0, 60),
};

// Writes a row with `contacts`, `forces` and `iterations` details that are all the same.
static void write(sap_recorder* recorder, int contacts, int forces, int iterations) {
  static const double q[NQ] = {2.0, 2.25, 2.5}, v[NV] = {3.0, 3.5}, act[NA] = {4.0};
  static const double p_WB[3 * BODIES] = {5.0, 5.25, 5.5, 7.0, 7.25, 7.5};
  static const double q_WB[4 * BODIES] = {6.0, 6.25, 6.5, 6.75, 8.0, 8.25, 8.5, 8.75};
  static const double actuator[NU] = {24.0, 24.5};
  static const sap_contact c = {.body_A = 25,
                                .body_B = 26,
                                .shape_A = 27,
                                .shape_B = 28,
                                .feature = 29,
                                .point = {30.0, 30.25, 30.5},
                                .R_WC = {31, 32, 33, 34, 35, 36, 37, 38, 39},
                                .phi = -40.0,
                                .patch = 1,
                                .area = 2.0,
                                .material = {.stiffness = 61.0, .relaxation_time = 62.0},
                                .realised = 0.25,
                                .vc = {41.0, 42.0, 43.0, 47.0, 48.0, 49.0},
                                .gamma = {44.0, 45.0, 46.0, 50.0, 51.0, 52.0},
                                .friction = {0.5, 0.5, 0.5, 0.5, 0.5}};
  const sap_contact contact[2] = {c, c};
  const sap_recorded_force force[2] = {{5, 54, 55, 56.0}, {5, 54, 55, 56.0}};
  sap_iteration history[3];
  for (int i = 0; i < 3; ++i) {
    history[i] = (sap_iteration){
        .cost = 57.0, .momentum_error = 58.0, .step_length = 59.0, .evaluations = 60};
  }
  const sap_report solver = {.iterations = 12,
                             .outcome = SAP_OUTCOME_CONVERGED,
                             .momentum_error = 13.0,
                             .cost = 14.0,
                             .factorizations = 15,
                             .evaluations = 16,
                             .islands = 23,
                             .history = history,
                             .history_count = iterations};
  const sap_recorded_row row = {.t = 1.5,
                                .q = q,
                                .v = v,
                                .act = act,
                                .p_WB = p_WB,
                                .q_WB = q_WB,
                                .energy = {9.0, 9.25, 9.5},
                                .momentum = {10.0, 10.25, 10.5, 11.0, 11.25, 11.5},
                                .actuator_force = actuator,
                                .contacts = contact,
                                .forces = force,
                                .contact_count = contacts,
                                .force_count = forces,
                                .stepped = true,
                                .solver = &solver,
                                .constraint_rows = 20,
                                .free_motion_iterations = 17,
                                .free_motion_residual = 18.0,
                                .dt = 21.0,
                                .time_total = 19.0,
                                .time_solver = 22.0};
  assert_int_equal(sap_recorder_write_row(recorder, &row, NULL), SAP_STATUS_OK);
}

static void check_set(const sap_recording* recording, const expected* e) {
  int64_t rows, columns;
  char names[512] = "";
  double* values = recordings_read(recording, e->set, &rows, &columns);
  assert_int_equal(columns, e->count);
  const double* last = values + (rows - 1) * columns;
  for (int i = 0; i < e->count; ++i) {
    if (last[i] != e->values[i]) {
      fail_msg("%s, column %d: %g, not %g", e->set, i, last[i], e->values[i]);
    }
  }
  if (e->columns != NULL) {
    assert_int_equal(
        sap_recording_attribute(recording, e->set, "columns", names, sizeof names, NULL), 0);
    assert_string_equal(names, e->columns);
  }
  free(values);
}

static void test_layout(void** unused) {
  (void)unused;
  static const sap_recorded_body bodies[BODIES] = {{.parent = -1}, {0, 1.0, {0.0}}};
  const sap_recorded_model model = {
      .sizes = {.bodies = BODIES, .nq = NQ, .nv = NV, .na = NA, .nu = NU}, .bodies = bodies};
  scratch folder;
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = NULL;
  scratch_begin(&folder);
  (void)scratch_path(&folder, "a.h5", path);
  assert_int_equal(sap_recorder_create_foreign(path, &model, NULL, &recorder, NULL), 0);
  write(recorder, 1, 2, 3);
  write(recorder, 1, 1, 1);
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    check_set(recording, &sets[i]);
  }
  sap_recording_close(recording);
  scratch_end(&folder);
}

// Outcomes that count as converged.
static void test_converged(void** unused) {
  (void)unused;
  static const struct {
    sap_outcome outcome;
    double converged;
  } outcomes[] = {{SAP_OUTCOME_CONVERGED, 1.0},
                  {SAP_OUTCOME_ROUNDOFF, 1.0},
                  {SAP_OUTCOME_ITERATION_LIMIT, 0.0},
                  {SAP_OUTCOME_STALLED, 0.0}};
  static const sap_recorded_body bodies[1] = {{.parent = -1}};
  static const double p_WB[3], q_WB[4] = {1.0};
  const sap_recorded_model model = {.sizes = {.bodies = 1}, .bodies = bodies};
  scratch folder;
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = NULL;
  scratch_begin(&folder);
  (void)scratch_path(&folder, "a.h5", path);
  assert_int_equal(sap_recorder_create_foreign(path, &model, NULL, &recorder, NULL), 0);
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; ++i) {
    const sap_report solver = {.outcome = outcomes[i].outcome};
    const sap_recorded_row row = {.p_WB = p_WB, .q_WB = q_WB, .stepped = true, .solver = &solver};
    assert_int_equal(sap_recorder_write_row(recorder, &row, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; ++i) {
    double step[13];
    assert_int_equal(sap_recording_read(recording, "step", (int64_t)i, 1, step, NULL), 0);
    assert_true(step[1] == outcomes[i].converged);
  }
  sap_recording_close(recording);
  scratch_end(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout),
                                     cmocka_unit_test(test_converged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
