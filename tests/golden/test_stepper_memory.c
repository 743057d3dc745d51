// SPDX-License-Identifier: BSD-3-Clause
// Memory of a stepper: once forgotten, it steps as a fresh one, bit for bit; saved and loaded into
// a
// fresh one, that one goes on to the bit as the first. Memory that is damaged is refused and harms
// nothing. Checkpoint files hold the same.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>

#include "support/scratch.h"
#include "support/simulation.h"

#define CLUTTER SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml"
#define QUADRUPED SAPSTEP_SOURCE_DIR "/examples/scenes/quadruped.xml"

typedef struct stage {
  const char *scene, *solver;
  sap_contact_model model;
  int32_t steps;  // until the pile is in contact
} stage;

static const stage stages[] = {
    {CLUTTER, "sap", SAP_CONTACT_BY_MATERIAL, 60},
    {CLUTTER, "sap", SAP_CONTACT_LAGGED, 60},
    {CLUTTER, "sap-ncp", SAP_CONTACT_BY_MATERIAL, 50},
    {QUADRUPED, "sap", SAP_CONTACT_SIMILAR, 120},
    {QUADRUPED, "pgs-ccp", SAP_CONTACT_BY_MATERIAL, 120},
};
enum { STAGE_COUNT = sizeof stages / sizeof stages[0] };

static sap_stepper_options options_of(const stage* s) {
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01;
  options.solver = s->solver;
  options.contact_model = s->model;
  return options;
}

static simulation begin(const stage* s, const sap_stepper_options* options) {
  simulation out;
  sap_error error = {0};
  if (!simulation_read(&out, s->scene, SAP_SCHEME_IMPLICIT_EULER, 0.01, &error)) {
    fail_msg("%s", error.message);
  }
  sap_stepper_destroy(out.stepper);
  out.stepper = NULL;
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(out.multibody), options, &out.stepper, &error),
      SAP_STATUS_OK);
  return out;
}

static bool same(const sap_state* a, const sap_state* b) {
  return a->t == b->t && memcmp(a->q, b->q, sizeof(double) * (size_t)a->nq) == 0 &&
         memcmp(a->v, b->v, sizeof(double) * (size_t)a->nv) == 0;
}

static void* save(sap_stepper* stepper, size_t* size) {
  assert_int_equal(sap_stepper_save_memory(stepper, NULL, 0, size, NULL), SAP_STATUS_OK);
  void* bytes = malloc(*size);
  size_t again = 0;
  assert_non_null(bytes);
  assert_int_equal(sap_stepper_save_memory(stepper, bytes, *size - 1, &again, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_save_memory(stepper, bytes, *size, &again, NULL), SAP_STATUS_OK);
  assert_int_equal(again, *size);
  return bytes;
}

static void test_goes_on(void** state) {
  (void)state;
  for (int i = 0; i < STAGE_COUNT; ++i) {
    const sap_stepper_options options = options_of(&stages[i]);
    simulation first = begin(&stages[i], &options), second = begin(&stages[i], &options);
    simulation_step(&first, stages[i].steps);
    assert_true(first.report.rows > 0);
    size_t size;
    void* bytes = save(first.stepper, &size);
    sap_error error = {0};
    simulation_step(&second, 7);  // has memories of its own, which must go
    assert_int_equal(sap_state_copy(&first.state, &second.state, &error), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_load_memory(second.stepper, bytes, size, &error), SAP_STATUS_OK);
    for (int k = 0; k < 25; ++k) {
      simulation_step(&first, 1);
      simulation_step(&second, 1);
      if (!same(&first.state, &second.state)) {
        fail_msg("%s, %s: differs at step %d", stages[i].scene, stages[i].solver, k);
      }
    }
    free(bytes);
    simulation_end(&first);
    simulation_end(&second);
  }
}

static sap_system sound;
static int32_t calls, bad;  // positions cannot be moved in the call with this number

static int break_move(void* context, const double* q0, const double* v, double dt, double* q) {
  return ++calls == bad ? 7 : sound.integrate_positions(context, q0, v, dt, q);
}

// Wherever a step fails, the memory is as it was, and the next step as if it had not been tried.
static void test_failed_step(void** state) {
  (void)state;
  for (int i = 0; i < STAGE_COUNT; ++i) {
    const sap_stepper_options options = options_of(&stages[i]);
    simulation first = begin(&stages[i], &options), second = begin(&stages[i], &options);
    sound = *sap_multibody_system(second.multibody);
    sap_system broken = sound;
    broken.integrate_positions = break_move;
    sap_stepper_destroy(second.stepper);
    assert_int_equal(sap_stepper_create(&broken, &options, &second.stepper, NULL), SAP_STATUS_OK);
    bad = 0;
    simulation_step(&first, stages[i].steps);
    simulation_step(&second, stages[i].steps);
    size_t size, size_after;
    void* bytes = save(second.stepper, &size);
    sap_status status = SAP_STATUS_CALLBACK;
    for (bad = 1; status != SAP_STATUS_OK; ++bad) {
      calls = 0;
      status = sap_stepper_step(second.stepper, &second.state, NULL, NULL);
      if (status != SAP_STATUS_OK) {
        assert_int_equal(status, SAP_STATUS_CALLBACK);
        void* after = save(second.stepper, &size_after);
        assert_int_equal(size_after, size);
        assert_memory_equal(after, bytes, size);
        free(after);
      }
    }
    assert_true(bad > 2);  // at least one failed
    bad = 0;
    simulation_step(&first, 1);
    for (int k = 0; k < 5; ++k) {
      assert_true(same(&first.state, &second.state));
      simulation_step(&first, 1);
      simulation_step(&second, 1);
    }
    free(bytes);
    simulation_end(&first);
    simulation_end(&second);
  }
}

static void test_forgets(void** state) {
  (void)state;
  for (int i = 0; i < STAGE_COUNT; ++i) {
    const sap_stepper_options options = options_of(&stages[i]);
    simulation used = begin(&stages[i], &options), fresh = begin(&stages[i], &options);
    simulation_step(&used, stages[i].steps);
    assert_int_equal(sap_state_copy(&used.state, &fresh.state, NULL), SAP_STATUS_OK);
    sap_stepper_forget(used.stepper);
    simulation_step(&used, 1);
    simulation_step(&fresh, 1);
    if (!same(&used.state, &fresh.state)) {
      fail_msg("%s, %s: not as fresh", stages[i].scene, stages[i].solver);
    }
    simulation_end(&used);
    simulation_end(&fresh);
  }
}

// Without memory each step is a function of the state: any stepper, in any order.
static void test_remembers_nothing(void** state) {
  (void)state;
  sap_stepper_options options = options_of(&stages[0]);
  options.remember = false;
  simulation first = begin(&stages[0], &options), second = begin(&stages[0], &options);
  simulation_step(&first, 80);
  simulation_step(&second, 80);
  assert_true(same(&first.state, &second.state));
  sap_state kept = {0};
  assert_int_equal(sap_state_resize(&kept, first.state.nq, first.state.nv, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_copy(&first.state, &kept, NULL), SAP_STATUS_OK);
  simulation_step(&first, 5);
  assert_int_equal(sap_state_copy(&kept, &second.state, NULL), SAP_STATUS_OK);
  simulation_step(&second, 5);
  assert_true(same(&first.state, &second.state));
  sap_state_clear(&kept);
  simulation_end(&first);
  simulation_end(&second);
}

static void test_refuses_damage(void** state) {
  (void)state;
  const sap_stepper_options options = options_of(&stages[0]);
  sap_stepper_options other_options = options;
  other_options.solver = "sap-ncp";
  const stage other_scene = {QUADRUPED, "sap", SAP_CONTACT_BY_MATERIAL, 0};
  simulation first = begin(&stages[0], &options), second = begin(&stages[0], &options);
  simulation solver = begin(&stages[0], &other_options), scene = begin(&other_scene, &options);
  simulation_step(&first, 60);
  simulation_step(&second, 60);
  size_t size;
  unsigned char* bytes = save(first.stepper, &size);
  sap_error error;
  for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
    assert_int_not_equal(sap_stepper_load_memory(second.stepper, bytes, cut, &error),
                         SAP_STATUS_OK);
    bytes[cut] ^= 0x10;
    const sap_status status = sap_stepper_load_memory(second.stepper, bytes, size, &error);
    bytes[cut] ^= 0x10;
    if (status == SAP_STATUS_OK &&
        (cut < 28 || cut >= 32)) {  // the header's spare word says nothing
      fail_msg("byte %zu may change unnoticed", cut);
    }
  }
  assert_int_equal(sap_stepper_load_memory(solver.stepper, bytes, size, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_load_memory(scene.stepper, bytes, size, &error),
                   SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "nv"));
  assert_int_equal(sap_stepper_load_memory(NULL, bytes, size, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_load_memory(second.stepper, NULL, size, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_save_memory(first.stepper, bytes, size, NULL, &error),
                   SAP_STATUS_ARGUMENT);
  sap_stepper_forget(NULL);
  simulation_step(&first, 5);  // `second` has been harmed by none of it
  simulation_step(&second, 5);
  assert_true(same(&first.state, &second.state));
  free(bytes);
  simulation_end(&first);
  simulation_end(&second);
  simulation_end(&solver);
  simulation_end(&scene);
}

static void test_checkpoint(void** state) {
  (void)state;
  const sap_stepper_options options = options_of(&stages[1]);
  simulation first = begin(&stages[1], &options), second = begin(&stages[1], &options);
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_path(&s, "run.checkpoint", path);
  sap_error error;
  int64_t steps = -1;
  simulation_step(&first, 60);
  assert_int_equal(sap_checkpoint_write(path, first.stepper, &first.state, 60, &error),
                   SAP_STATUS_OK);
  assert_int_equal(sap_checkpoint_read(path, second.stepper, &second.state, &steps, &error),
                   SAP_STATUS_OK);
  assert_int_equal(steps, 60);
  simulation_step(&first, 20);
  simulation_step(&second, 20);
  assert_true(same(&first.state, &second.state));

  size_t size;
  char* bytes = scratch_read(path, &size);
  char damaged[SCRATCH_PATH_SIZE];
  scratch_path(&s, "damaged", damaged);
  for (size_t at = 0; at < size; at += 1 + size / 60) {
    scratch_write(&s, "damaged", bytes, at, damaged);
    assert_int_equal(sap_checkpoint_read(damaged, second.stepper, &second.state, &steps, &error),
                     SAP_STATUS_SYNTAX);
    bytes[at] = (char)(bytes[at] ^ 1);
    scratch_write(&s, "damaged", bytes, size, damaged);
    bytes[at] = (char)(bytes[at] ^ 1);
    assert_int_equal(sap_checkpoint_read(damaged, second.stepper, &second.state, &steps, &error),
                     SAP_STATUS_SYNTAX);
  }
  assert_int_equal(steps, 60);
  assert_true(same(&first.state, &second.state));
  free(bytes);

  sap_stepper_options other = options;
  other.dt = 0.02;
  simulation third = begin(&stages[1], &other);
  assert_int_equal(sap_checkpoint_read(path, third.stepper, &third.state, &steps, &error),
                   SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "dt = 0.01"));
  assert_int_equal(sap_checkpoint_read(scratch_path(&s, "none", damaged), second.stepper,
                                       &second.state, &steps, &error),
                   SAP_STATUS_IO);
  const double x = second.state.q[0];
  second.state.q[0] = (double)NAN;
  assert_int_equal(sap_checkpoint_write(path, second.stepper, &second.state, 1, &error),
                   SAP_STATUS_NOT_FINITE);
  second.state.q[0] = x;
  assert_int_equal(sap_checkpoint_write(scratch_path(&s, "no/such", damaged), second.stepper,
                                        &second.state, 1, &error),
                   SAP_STATUS_IO);
  scratch_end(&s);
  simulation_end(&first);
  simulation_end(&second);
  simulation_end(&third);
}

// A step that has no time makes do with the guess: flagged, finite, and the run goes on.
static void test_deadline(void** state) {
  (void)state;
  sap_stepper_options options = options_of(&stages[0]);
  options.solver_options.time_limit = 1e-7;
  simulation hurried = begin(&stages[0], &options);
  options.solver_options.time_limit = 1e3;
  simulation patient = begin(&stages[0], &options);
  options.solver_options.time_limit = 0.0;
  simulation unlimited = begin(&stages[0], &options);
  int late = 0;
  for (int k = 0; k < 60; ++k) {
    simulation_step(&hurried, 1);
    simulation_step(&patient, 1);
    simulation_step(&unlimited, 1);
    const sap_report* report = hurried.report.solver;
    if (report != NULL && report->outcome == SAP_OUTCOME_TIME_LIMIT) {
      late += 1;
      assert_int_equal(report->total_iterations, 0);
      assert_true(report->momentum_error > 1e-6 && isfinite(report->momentum_error));
    }
    assert_true(isfinite(hurried.state.v[0]));
  }
  assert_true(late > 0);
  assert_true(same(&patient.state, &unlimited.state));
  sap_stepper* none = NULL;
  options.solver_options.time_limit = -1.0;
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(patient.multibody), &options, &none, NULL),
      SAP_STATUS_ARGUMENT);
  simulation_end(&hurried);
  simulation_end(&patient);
  simulation_end(&unlimited);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goes_on),           cmocka_unit_test(test_failed_step),
      cmocka_unit_test(test_forgets),
      cmocka_unit_test(test_remembers_nothing), cmocka_unit_test(test_refuses_damage),
      cmocka_unit_test(test_checkpoint),        cmocka_unit_test(test_deadline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
