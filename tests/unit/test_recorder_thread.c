// SPDX-License-Identifier: BSD-3-Clause
// The recorder's thread: the file is the same with and without it; its errors are returned by the
// next call; nothing hangs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include <sapstep/multibody.h>
#include <sapstep/recorder.h>

#include "output/recorder/recorder.h"
#include "support/scratch.h"
#include "support/simulation.h"
#include "support/skip.h"

// Ways of a recorder to work: with a thread, or without one because HDF5 is not built for threads,
// because the options say so, or because no thread could be started.
typedef enum way { THREAD_WRITES, UNSAFE_HDF5, NO_THREAD, THREAD_REFUSED, WAYS } way;

static bool refuse_threads;

// In the place of the C library's.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* context) {
  typedef int function(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  union {
    void* symbol;
    function* call;
  } next = {dlsym(RTLD_NEXT, "pthread_create")};
  return refuse_threads ? EAGAIN : next.call(thread, attributes, start, context);
}

enum { NQ = 6, BODIES = 3 };

static const sap_recorded_body bodies[BODIES] = {{.parent = -1}, {0, 1.0, {0.0}}, {0, 2.0, {0.0}}};

static sap_recorder* create(const char* path, way how, int32_t flush_rows) {
  const sap_recorded_model model = {.sizes = {.bodies = BODIES, .nq = NQ, .nv = NQ, .nu = 2},
                                    .bodies = bodies};
  sap_recorder_options options = sap_recorder_options_default();
  options.compression = 1;
  options.flush_rows = flush_rows;
  options.no_thread = how == NO_THREAD;
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  refuse_threads = how == THREAD_REFUSED;
  if (sap_recorder_create_as(path, &model, &options, how != UNSAFE_HDF5, &recorder, &error) !=
      SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  refuse_threads = false;
  assert_int_equal(recorder->queue.threaded, how == THREAD_WRITES);
  return recorder;
}

// A row with `contacts` contacts, `forces` forces and k % 5 iterations.
static sap_status write_row(sap_recorder* recorder, int k, int contacts, int forces,
                            sap_error* error) {
  static sap_contact contact[4000];
  static sap_recorded_force force[300];
  double q[NQ], v[NQ], p_WB[3 * BODIES], q_WB[4 * BODIES];
  const double actuator[2] = {1.0, 0.1 * k};
  for (int i = 0; i < NQ; ++i) {
    q[i] = sin(0.01 * k + i);
    v[i] = cos(0.01 * k + i);
  }
  for (int i = 0; i < 3 * BODIES; ++i) {
    p_WB[i] = 0.001 * k * i;
  }
  for (int i = 0; i < 4 * BODIES; ++i) {
    q_WB[i] = i % 4 == 0 ? 1.0 : 0.0;
  }
  for (int i = 0; i < contacts; ++i) {
    contact[i] = (sap_contact){.shape_A = i, .phi = -1e-3 * k, .gamma = {0.0, 0.0, 0.1 * i + k}};
  }
  for (int i = 0; i < forces; ++i) {
    force[i] = (sap_recorded_force){.kind = 1, .id = i, .force = 0.5 * k};
  }
  sap_iteration history[5] = {{.cost = k}, {.cost = 1.0}, {.cost = 2.0}, {.cost = 3.0}};
  const sap_report solver = {.iterations = k % 5, .history = history, .history_count = k % 5};
  const sap_recorded_row row = {.t = 0.01 * k,
                                .q = q,
                                .v = v,
                                .p_WB = p_WB,
                                .q_WB = q_WB,
                                .energy = {1.0, 2.0, 0.1 * k},
                                .actuator_force = actuator,
                                .contacts = contact,
                                .contact_count = contacts,
                                .forces = force,
                                .force_count = forces,
                                .stepped = true,
                                .solver = k % 7 == 0 ? NULL : &solver};
  return sap_recorder_write_row(recorder, &row, error);
}

// Rows of very different sizes: some larger than a batch, or with more contacts than a chunk holds.
static void record(const char* path, way how, int32_t flush_rows, int rows) {
  sap_recorder* recorder = create(path, how, flush_rows);
  sap_error error = {0};
  for (int k = 0; k < rows; ++k) {
    const int contacts = k % 97 == 96 ? 3000 + k : k % 11;
    if (write_row(recorder, k, contacts, k % 50 == 49 ? 300 : 2, &error) != SAP_STATUS_OK) {
      fail_msg("row %d: %s", k, error.message);
    }
    if (k == 50) {
      assert_int_equal(sap_recorder_flush(recorder, &error), SAP_STATUS_OK);
    }
  }
  if (sap_recorder_close(recorder, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

static void same_file_whoever_works(void** unused) {
  (void)unused;
  enum { ROWS = 400 };
  static const int32_t flush_rows[] = {0, 1, 64};
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  for (size_t f = 0; f < sizeof flush_rows / sizeof *flush_rows; ++f) {
    char* expected = NULL;
    size_t expected_size = 0;
    for (way how = 0; how < WAYS; ++how) {
      record(scratch_path(&s, "a.h5", path), how, flush_rows[f], flush_rows[f] == 1 ? 100 : ROWS);
      size_t size;
      char* bytes = scratch_read(path, &size);
      assert_non_null(bytes);
      if (how == 0) {
        expected = bytes;
        expected_size = size;
        continue;
      }
      assert_int_equal(size, expected_size);
      assert_memory_equal(bytes, expected, size);
      free(bytes);
    }
    free(expected);
  }
  sap_recording* recording = NULL;
  sap_error error = {0};
  assert_int_equal(sap_recording_open(path, &recording, &error), SAP_STATUS_OK);
  assert_int_equal(sap_recording_rows(recording), ROWS);
  double count, first, energy[3], cost[4];
  assert_int_equal(sap_recording_read(recording, "contact/count", 96 + 97, 1, &count, &error), 0);
  assert_true(count == 3000 + 96 + 97);
  assert_int_equal(sap_recording_read(recording, "energy", ROWS - 1, 1, energy, &error), 0);
  assert_true(energy[2] == 0.1 * (ROWS - 1));
  assert_int_equal(sap_recording_read(recording, "iteration/first", ROWS - 2, 1, &first, &error),
                   0);
  assert_int_equal(
      sap_recording_read(recording, "iteration/value", (int64_t)first, 1, cost, &error),
      SAP_STATUS_OK);
  assert_true(cost[0] == ROWS - 2);
  sap_recording_close(recording);
  scratch_end(&s);
}

// A file that may not grow: the calls say so, and what was flushed before is there.
static void full_disk(void** unused) {
  (void)unused;
  enum { ROWS = 200000, LIMIT = 500 * 1000, FLUSH_ROWS = 100 };
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (way how = 0; how < WAYS; ++how) {
    for (int32_t flush_rows = 0; flush_rows <= FLUSH_ROWS; flush_rows += FLUSH_ROWS) {
      sap_recorder* recorder = create(scratch_path(&s, "a.h5", path), how, flush_rows);
      const struct rlimit limit = {LIMIT, before.rlim_max};
      assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
      sap_error error = {0};
      sap_status status = SAP_STATUS_OK;
      int k = 0;
      for (; k < ROWS && status == SAP_STATUS_OK; ++k) {
        status = write_row(recorder, k, 10, 0, &error);
      }
      assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
      assert_int_equal(status, SAP_STATUS_IO);
      assert_non_null(strstr(error.message, "a.h5': File too large"));
      assert_int_equal(write_row(recorder, k, 10, 0, &error), SAP_STATUS_IO);
      assert_int_equal(sap_recorder_flush(recorder, &error), SAP_STATUS_IO);
      assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_IO);
      assert_non_null(strstr(error.message, "a.h5': File too large"));
      if (flush_rows > 0) {
        sap_recording* recording = NULL;
        assert_int_equal(sap_recording_open(path, &recording, &error), SAP_STATUS_OK);
        const int64_t rows = sap_recording_rows(recording);
        assert_true(rows >= FLUSH_ROWS && rows < k);
        double* t = calloc((size_t)rows, sizeof *t);
        assert_non_null(t);
        assert_int_equal(sap_recording_read(recording, "time", 0, rows, t, &error), SAP_STATUS_OK);
        assert_true(t[rows - 1] == 0.01 * (double)(rows - 1));
        free(t);
        sap_recording_close(recording);
      }
    }
  }
  (void)signal(SIGXFSZ, handler);
  scratch_end(&s);
}

// Energies depend on the switches at the time of the call; model and multibody may be destroyed
// before the recorder is closed.
static void own_model(void** unused) {
  (void)unused;
  enum { ROWS = 90 };
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  for (int no_thread = 0; no_thread < 2; ++no_thread) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const double p[3] = {0.0, 0.0, 1.0};
    const int32_t body = simulation_body(builder, 0, 2.0, 0.1, p);
    (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_spring_def spring = sap_spring_def_default();
    spring.body_b = body;
    spring.stiffness = 50.0;
    sap_error error = {0};
    assert_int_equal(sap_builder_add_spring(builder, &spring, NULL, &error), SAP_STATUS_OK);
    simulation sim = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 0.01);
    sap_recorder_options options = sap_recorder_options_default();
    options.compression = 1;
    options.no_thread = no_thread != 0;
    sap_recorder* recorder = NULL;
    scratch_path(&s, "a.h5", path);
    assert_int_equal(sap_recorder_create(path, sim.model, &options, &recorder, &error), 0);
    sap_diagnostics expected[ROWS];
    for (int k = 0; k < ROWS; ++k) {
      const bool on = k / 20 % 2 == 0;
      assert_int_equal(sap_multibody_enable(sim.multibody, SAP_SWITCH_SPRING, 0, on, &error), 0);
      simulation_step(&sim, 1);
      assert_int_equal(sap_recorder_write(recorder, sim.multibody, &sim.state, &sim.report, &error),
                       0);
      expected[k] = simulation_diagnose(&sim);
      assert_true((expected[k].potential_springs != 0.0) == on);
    }
    simulation_end(&sim);
    assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
    sap_recording* recording = NULL;
    assert_int_equal(sap_recording_open(path, &recording, &error), SAP_STATUS_OK);
    for (int k = 0; k < ROWS; ++k) {
      double energy[3], momentum[6];
      assert_int_equal(sap_recording_read(recording, "energy", k, 1, energy, &error), 0);
      assert_int_equal(sap_recording_read(recording, "momentum", k, 1, momentum, &error), 0);
      assert_true(energy[0] == expected[k].kinetic && energy[1] == expected[k].potential_gravity &&
                  energy[2] == expected[k].potential_springs);
      assert_memory_equal(momentum, expected[k].linear_momentum, 3 * sizeof(double));
      assert_memory_equal(momentum + 3, expected[k].angular_momentum, 3 * sizeof(double));
    }
    sap_recording_close(recording);
  }
  scratch_end(&s);
}

// Many that live for a moment: threads end with their recorders, and with those that fail.
static void short_lives(void** unused) {
  (void)unused;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  scratch_path(&s, "a.h5", path);
  sap_error error = {0};
  for (int i = 0; i < 60; ++i) {
    sap_recorder* recorder = create(path, (way)(i % WAYS), i % 3);
    for (int k = 0; k < i % 7; ++k) {
      assert_int_equal(write_row(recorder, k, 1, 1, &error), SAP_STATUS_OK);
    }
    assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
    sap_recording* recording = NULL;
    assert_int_equal(sap_recording_open(path, &recording, &error), SAP_STATUS_OK);
    assert_int_equal(sap_recording_rows(recording), i % 7);
    sap_recording_close(recording);
  }
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_file_whoever_works),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(own_model),
      cmocka_unit_test(short_lives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
