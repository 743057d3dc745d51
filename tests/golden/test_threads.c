// SPDX-License-Identifier: BSD-3-Clause
// The bits do not depend on the number of threads: islands of one problem, states of a batch.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/multibody.h>
#include <sapstep/scene.h>

#include "core/threads.h"
#include "support/simulation.h"

enum { BODIES = 60, STEPS = 40, STATES = 7, TASKS = 1000, ROWS = 4096 };

// Groups of balls on the ground, some of which touch each other: islands of one to three bodies.
static sap_model* groups(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const sap_material material = sap_material_default();
  const double plane[3] = {0.0, 0.0, 0.0};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, plane, material);
  for (int i = 0; i < BODIES; ++i) {
    const double p[3] = {(i % 3) * 0.19 + (i / 3 % 5) * 1.0, (i / 15) * 1.0, 0.1 + 0.03 * (i % 7)};
    const double size[3] = {0.1, 0.1, 0.1};
    const int32_t body = simulation_body(builder, 0, 1.0 + 0.1 * i, 0.004, p);
    (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    simulation_shape(builder, body, i % 2 == 0 ? SAP_SHAPE_SPHERE : SAP_SHAPE_BOX, size, material);
  }
  return simulation_compile(builder);
}

typedef struct trace {
  double v[6 * BODIES];
  double cost;
  int32_t iterations, total, history;
  sap_iteration rows[ROWS];
} trace;

static void run(const sap_model* model, int32_t threads, trace* out) {
  sap_error error = {0};
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_step_report report = {0};
  sap_stepper_options options = sap_stepper_options_default();
  options.solver_options.threads = threads;
  assert_int_equal(sap_multibody_create(model, &multibody, &error), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), &options, &stepper, &error),
                   SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &state, &error), SAP_STATUS_OK);
  memset(out, 0, sizeof *out);
  for (int k = 0; k < STEPS; ++k) {
    if (sap_stepper_step(stepper, &state, &report, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    if (report.solver != NULL) {
      out->cost = report.solver->cost;
      out->iterations += report.solver->iterations;
      out->total += report.solver->total_iterations;
      for (int32_t i = 0; i < report.solver->history_count && out->history < ROWS; ++i) {
        out->rows[out->history++] = report.solver->history[i];
      }
    }
  }
  assert_true(report.solver != NULL && report.solver->islands > 5);
  memcpy(out->v, state.v, sizeof out->v);
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
}

static void test_islands(void** state) {
  (void)state;
  static trace one, other;
  sap_model* model = groups();
  run(model, 1, &one);
  assert_true(one.history > STEPS);
  const int32_t counts[] = {2, 3, 8, 100};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    run(model, counts[i], &other);
    assert_memory_equal(&one, &other, sizeof one);
  }
  sap_model_destroy(model);
}

static void begin_states(const sap_model* model, sap_state states[STATES]) {
  memset(states, 0, STATES * sizeof *states);
  for (int i = 0; i < STATES; ++i) {
    assert_int_equal(sap_model_get_default_state(model, &states[i], NULL), SAP_STATUS_OK);
    states[i].v[0] = 0.1 * i;
  }
}

static void test_batch(void** state) {
  (void)state;
  sap_model* model = groups();
  sap_error error = {0};
  sap_state first[STATES], states[STATES];
  begin_states(model, first);
  for (int i = 0; i < STATES; ++i) {  // each by a stepper of its own
    sap_multibody* multibody = NULL;
    sap_stepper* stepper = NULL;
    assert_int_equal(sap_multibody_create(model, &multibody, &error), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), NULL, &stepper, &error),
                     SAP_STATUS_OK);
    for (int k = 0; k < STEPS; ++k) {
      assert_int_equal(sap_stepper_step(stepper, &first[i], NULL, &error), SAP_STATUS_OK);
    }
    sap_stepper_destroy(stepper);
    sap_multibody_destroy(multibody);
  }
  for (int32_t threads = 1; threads <= 4; ++threads) {
    sap_batch* batch = NULL;
    begin_states(model, states);
    assert_int_equal(sap_batch_create(model, NULL, STATES, threads, &batch, &error), SAP_STATUS_OK);
    assert_int_equal(sap_batch_step(batch, states, NULL, STEPS / 2, NULL, &error), SAP_STATUS_OK);
    assert_int_equal(sap_batch_step(batch, states, NULL, STEPS / 2, NULL, &error), SAP_STATUS_OK);
    for (int i = 0; i < STATES; ++i) {
      assert_memory_equal(states[i].q, first[i].q, sizeof(double) * (size_t)first[i].nq);
      assert_memory_equal(states[i].v, first[i].v, sizeof(double) * (size_t)first[i].nv);
      sap_state_clear(&states[i]);
    }
    sap_batch_destroy(batch);
  }
  for (int i = 0; i < STATES; ++i) {
    sap_state_clear(&first[i]);
  }
  sap_model_destroy(model);
}

// One state is spoilt: the others go on, and the message says which it is.
static void test_batch_failures(void** state) {
  (void)state;
  sap_model* model = groups();
  sap_error error = {0};
  sap_state states[STATES];
  sap_status statuses[STATES];
  sap_batch* batch = NULL;
  begin_states(model, states);
  assert_int_equal(sap_batch_create(model, NULL, STATES, 2, &batch, &error), SAP_STATUS_OK);
  states[3].v[1] = (double)NAN;
  assert_int_equal(sap_batch_step(batch, states, NULL, 5, statuses, &error), SAP_STATUS_NOT_FINITE);
  assert_int_equal(strncmp(error.message, "state 3: ", 9), 0);
  for (int i = 0; i < STATES; ++i) {
    assert_int_equal(statuses[i], i == 3 ? SAP_STATUS_NOT_FINITE : SAP_STATUS_OK);
    assert_true(i == 3 ? states[i].t == 0.0 : states[i].t > 0.0);
  }
  states[3].v[1] = 0.0;  // mended: all go on
  assert_int_equal(sap_batch_step(batch, states, NULL, 5, statuses, &error), SAP_STATUS_OK);
  for (int i = 0; i < STATES; ++i) {
    assert_int_equal(statuses[i], SAP_STATUS_OK);
  }
  assert_null(sap_batch_multibody(batch, STATES));
  assert_null(sap_batch_stepper(batch, -1));
  assert_non_null(sap_batch_multibody(batch, 0));
  assert_int_equal(sap_batch_step(batch, states, NULL, 0, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_batch_step(batch, NULL, NULL, 1, NULL, &error), SAP_STATUS_ARGUMENT);
  sap_batch_destroy(batch);
  assert_int_equal(sap_batch_create(model, NULL, 0, 1, &batch, &error), SAP_STATUS_ARGUMENT);
  assert_null(batch);
  assert_int_equal(sap_batch_create(model, NULL, 1, 257, &batch, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "threads = 257"));
  assert_int_equal(sap_batch_create(NULL, NULL, 1, 1, &batch, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_batch_create(model, NULL, 1, 256, &batch, &error), SAP_STATUS_OK);
  sap_batch_destroy(batch);
  sap_batch_destroy(NULL);
  for (int i = 0; i < STATES; ++i) {
    sap_state_clear(&states[i]);
  }
  sap_model_destroy(model);
}

static void count_job(void* context, int32_t job) {
  int32_t* counts = context;
  counts[job] += 1;
}

// Every job is done once and only once, again and again.
static void test_jobs(void** state) {
  (void)state;
  static int32_t counts[TASKS];
  for (int32_t n = 1; n <= 5; ++n) {
    sap_threads* threads = NULL;
    assert_int_equal(sap_threads_create(n, &threads, NULL), SAP_STATUS_OK);
    memset(counts, 0, sizeof counts);
    for (int32_t k = 0; k < TASKS; ++k) {
      sap_threads_run(threads, k, count_job, counts);
    }
    for (int32_t i = 0; i < TASKS; ++i) {
      assert_int_equal(counts[i], TASKS - 1 - i);
    }
    sap_threads_destroy(threads);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_jobs),
      cmocka_unit_test(test_islands),
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_batch_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
