// SPDX-License-Identifier: BSD-3-Clause
// Charts, tables, trajectories, checkpoints, recordings and pages: broken arguments, and
// allocations that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>
#include <sapstep/sapstep.h>

#include "support/calls.h"
#include "support/heap_count.h"
#include "support/scratch.h"

static const char scene[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='b' pos='0 0 .1'><freejoint/>"
    "<geom size='.1'/></body></worldbody></mujoco>";
static const double x[3] = {1, 2, 3};
static const char* const texts[3] = {"a", "b", "c"};
static const sap_chart_series line = {.name = "l", .count = 3, .x = x, .y = x};
static const sap_chart_panel panel = {
    .title = "t", .x_label = "x", .y_label = "y", .series_count = 1, .series = &line};
static const sap_result_column columns[2] = {{.name = "x", .units = "m", .values = x},
                                             {.name = "t", .texts = texts}};
static const sap_result_table table = {.columns = columns, .column_count = 2, .rows = 3};
static const sap_recorded_body world_body = {.parent = -1};
static const sap_recorded_model foreign = {.sizes = {.bodies = 1, .nq = 1, .nv = 1},
                                           .bodies = &world_body};
static const double turned[4] = {1, 0, 0, 0};
static const sap_recorded_row row = {.q = x, .v = x, .p_WB = x, .q_WB = turned};

static scratch files;
static char new_path[SCRATCH_PATH_SIZE], path[SCRATCH_PATH_SIZE], checkpoint[SCRATCH_PATH_SIZE];
static char recorder_path[SCRATCH_PATH_SIZE], foreign_path[SCRATCH_PATH_SIZE];
static char recorded[SCRATCH_PATH_SIZE];
static sap_model* model;
static sap_multibody* multibody;
static sap_stepper* stepper;
static sap_state state;
static sap_recorder *recorder, *foreign_recorder;
static sap_recording* recording;
static sap_trajectory* trajectory;
static sap_trajectory_row trajectory_row;
static sap_recorder_options options;
static int64_t rows, width;
static double values[64];
static char text[64];
static struct made {
  sap_recorder* recorder;
  sap_recording* recording;
  sap_trajectory* trajectory;
} made;

// The recorder is closed in any case.
static sap_status close_recorder(sap_error* error) {
  sap_recorder* closing = NULL;
  sap_status status = sap_recorder_create(new_path, model, &options, &closing, error);
  if (status == SAP_STATUS_OK) {
    status = sap_recorder_write(closing, multibody, &state, NULL, error);
    const sap_status closed = sap_recorder_close(closing, status == SAP_STATUS_OK ? error : NULL);
    status = status == SAP_STATUS_OK ? closed : status;
  }
  return status;
}

#define CALLS(X)                                                                                   \
  X(sap_chart_write, 3, sap_chart_write(P(1, new_path), P(2, &panel), N(3, 1), false, error))      \
  X(sap_result_table_write_csv, 2,                                                                 \
    sap_result_table_write_csv(P(1, new_path), P(2, &table), error))                               \
  X(sap_trajectory_create, 3,                                                                      \
    sap_trajectory_create(P(1, new_path), P(2, model), P(3, &made.trajectory), error))             \
  X(sap_trajectory_write, 2, sap_trajectory_write(P(1, trajectory), P(2, &trajectory_row), error)) \
  X(sap_trajectory_commit, 1, sap_trajectory_commit(P(1, trajectory), error))                      \
  X(sap_checkpoint_write, 4,                                                                       \
    sap_checkpoint_write(P(1, new_path), P(2, stepper), P(3, &state), N(4, 1), error))             \
  X(sap_checkpoint_read, 4,                                                                        \
    sap_checkpoint_read(P(1, checkpoint), P(2, stepper), P(3, &state), P(4, &rows), error))

#define HDF5_CALLS(X)                                                                           \
  X(sap_result_table_write, 2, sap_result_table_write(P(1, new_path), P(2, &table), error))     \
  X(sap_recorder_create, 3,                                                                     \
    sap_recorder_create(P(1, new_path), P(2, model), &options, P(3, &made.recorder), error))    \
  X(sap_recorder_create_foreign, 3,                                                             \
    sap_recorder_create_foreign(P(1, new_path), P(2, &foreign), &options, P(3, &made.recorder), \
                                error))                                                         \
  X(sap_recorder_close, 0, close_recorder(error))                                               \
  X(sap_recording_open, 2, sap_recording_open(P(1, recorded), P(2, &made.recording), error))    \
  X(sap_recording_size, 4,                                                                      \
    sap_recording_size(P(1, recording), P(2, "q"), P(3, &rows), P(4, &width), error))           \
  X(sap_recording_attribute, 5,                                                                 \
    sap_recording_attribute(P(1, recording), P(2, "q"), P(3, "units"), P(4, text),              \
                            call_breaks(5, 0) ? 0 : sizeof text, error))                        \
  X(sap_recording_text, 5,                                                                      \
    sap_recording_text(P(1, recording), P(2, "model/bodies"), I(3, 1), P(4, text),              \
                       call_breaks(5, 0) ? 0 : sizeof text, error))                             \
  X(sap_recording_read, 5,                                                                      \
    sap_recording_read(P(1, recording), P(2, "q"), I(3, 0), I(4, 1), P(5, values), error))

#define WRITE_CALLS(X)                                                                            \
  X(sap_recorder_write, 3,                                                                        \
    sap_recorder_write(P(1, recorder), P(2, multibody), P(3, &state), NULL, error))               \
  X(sap_recorder_write_row, 2, sap_recorder_write_row(P(1, foreign_recorder), P(2, &row), error)) \
  X(sap_recorder_flush, 1, sap_recorder_flush(P(1, recorder), error))

#define PAGE_CALLS(X) \
  X(sap_page_write, 2, sap_page_write(P(1, recording), P(2, new_path), NULL, NULL, error))

#define PLAIN(X)                                                                   \
  X(sap_recorder_options_default, sap_recorder_options_default().compression == 1) \
  X(sap_page_options_default, sap_page_options_default().frame_rate == 60.0)       \
  X(sap_page_available, (sap_page_available(), true))                              \
  X(sap_recording_rows, sap_recording_rows(NULL) == 0)                             \
  X(sap_recording_close, (sap_recording_close(NULL), true))                        \
  X(sap_trajectory_keep, !sap_trajectory_keep(NULL))                               \
  X(sap_trajectory_close, (sap_trajectory_close(NULL), true))

CALLS(CALL_FUNCTION)
HDF5_CALLS(CALL_FUNCTION)
WRITE_CALLS(CALL_FUNCTION)
PAGE_CALLS(CALL_FUNCTION)
static const call calls[] = {CALLS(CALL_ROW)};
static const call hdf5_calls[] = {HDF5_CALLS(CALL_ROW)};
static const call write_calls[] = {WRITE_CALLS(CALL_ROW)};
static const call page_calls[] = {PAGE_CALLS(CALL_ROW)};

static void check_plain(void) {
  PLAIN(CALL_HOLDS)
}

static void open_files(void) {
  (void)remove(new_path);
  assert_int_equal(sap_trajectory_create(path, model, &trajectory, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_create(recorder_path, model, &options, &recorder, NULL), 0);
  assert_int_equal(
      sap_recorder_create_foreign(foreign_path, &foreign, &options, &foreign_recorder, NULL), 0);
}

static void close_files(void) {
  sap_trajectory_close(trajectory);
  (void)sap_recorder_close(recorder, NULL);
  (void)sap_recorder_close(foreign_recorder, NULL);
}

static void forget_made(void) {
  sap_trajectory_close(made.trajectory);
  (void)sap_recorder_close(made.recorder, NULL);
  sap_recording_close(made.recording);
  made = (struct made){0};
  sap_trajectory_close(trajectory);
  assert_int_equal(sap_trajectory_create(path, model, &trajectory, NULL), SAP_STATUS_OK);
}

// And files anew: what could not be written ends them.
static void start_again(void) {
  forget_made();
  close_files();
  open_files();
}

static int setup(void** unused) {
  (void)unused;
  scratch_begin(&files);
  (void)scratch_path(&files, "new", new_path);
  (void)scratch_path(&files, "a.csv", path);
  (void)scratch_path(&files, "a.checkpoint", checkpoint);
  (void)scratch_path(&files, "a.h5", recorder_path);
  (void)scratch_path(&files, "b.h5", foreign_path);
  (void)scratch_path(&files, "c.h5", recorded);
  char scene_path[SCRATCH_PATH_SIZE];
  (void)scratch_write(&files, "a.xml", scene, sizeof scene - 1, scene_path);
  options = sap_recorder_options_default();
  options.no_thread = true;  // allocations fail in the order of the calls
  options.flush_rows = 16;
  assert_int_equal(sap_scene_read(scene_path, NULL, &model, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), NULL, &stepper, NULL), 0);
  assert_int_equal(sap_model_get_default_state(model, &state, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, &state, NULL, NULL), SAP_STATUS_OK);
  trajectory_row.state = &state;
  assert_int_equal(sap_checkpoint_write(checkpoint, stepper, &state, 1, NULL), SAP_STATUS_OK);
  open_files();
  sap_recorder* first = NULL;
  assert_int_equal(sap_recorder_create(recorded, model, &options, &first, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_write(first, multibody, &state, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recorder_close(first, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_recording_open(recorded, &recording, NULL), SAP_STATUS_OK);
  return 0;
}

static int teardown(void** unused) {
  (void)unused;
  close_files();
  recorder = foreign_recorder = NULL;
  sap_recording_close(recording);
  recording = NULL;
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  sap_model_destroy(model);
  scratch_end(&files);
  assert_int_equal(heap_live(), 0);
  return 0;
}

int main(void) {
  calls_file file = {setup,
                     teardown,
                     check_plain,
                     {CALLS_TABLE(calls, forget_made), CALLS_TABLE(hdf5_calls, forget_made),
                      CALLS_TABLE(write_calls, start_again), CALLS_TABLE(page_calls, forget_made)}};
  if (!sap_page_available()) {
    print_message("no three.js: sap_page_write skipped\n");
    file.tables[3].count = 0;
  }
  return calls_run(&file);
}
