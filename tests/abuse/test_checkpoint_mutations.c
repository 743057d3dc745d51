// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of our own runs with bytes changed, cut off and spliced, half of them under a
// checksum that fits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>
#include <sapstep/scene.h>

#include "integrators/step_options.h"
#include "support/mutate_checkpoints.h"
#include "support/scratch.h"
#include "support/simulation.h"

#ifndef CASES
#define CASES 200
#endif

static const char SCENE[] =
    "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1' friction='.3'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 .05 .29'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='1 0 1'><joint name='j' type='hinge' axis='0 1 0' range='-.2 .2' limited='true'"
    " frictionloss='.1'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/></body>"
    "</worldbody><actuator><position joint='j' kp='100'/>"
    "<general joint='j' dyntype='filter' dynprm='1'/></actuator></mujoco>";

static const struct stage {
  const char* solver;
  sap_contact_model model;
} stages[] = {{"sap", SAP_CONTACT_BY_MATERIAL},
              {"sap", SAP_CONTACT_LAGGED},
              {"sap-ncp", SAP_CONTACT_BY_MATERIAL}};

static simulation begin(scratch* s, const struct stage* stage) {
  char path[SCRATCH_PATH_SIZE];
  simulation out;
  sap_error error = {0};
  scratch_write(s, "scene.xml", SCENE, strlen(SCENE), path);
  if (!simulation_read(&out, path, SAP_SCHEME_IMPLICIT_EULER, 0.005, &error)) {
    fail_msg("%s", error.message);
  }
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.005;
  options.solver = stage->solver;
  options.contact_model = stage->model;
  sap_stepper_destroy(out.stepper);
  out.stepper = NULL;
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(out.multibody), &options, &out.stepper, &error),
      SAP_STATUS_OK);
  out.state.v[0] = 2.0;
  return out;
}

static void write_after(scratch* s, const struct stage* stage, int32_t steps, const char* path) {
  simulation run = begin(s, stage);
  for (int32_t i = 0; i < steps; ++i) {
    assert_int_equal(sap_stepper_step(run.stepper, &run.state, NULL, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_checkpoint_write(path, run.stepper, &run.state, steps, NULL), SAP_STATUS_OK);
  simulation_end(&run);
}

static sap_status read_checkpoint(void* context, const char* path, int64_t* steps,
                                  sap_error* error) {
  simulation* run = context;
  return sap_checkpoint_read(path, run->stepper, &run->state, steps, error);
}

static void go_on(void* context) {
  simulation* run = context;
  sap_error error = {0};
  (void)sap_stepper_step(run->stepper, &run->state, NULL, &error);
  (void)sap_stepper_step(run->stepper, &run->state, NULL, &error);
  sap_state_clear(&run->state);
  assert_int_equal(sap_model_get_default_state(run->model, &run->state, NULL), SAP_STATUS_OK);
  sap_stepper_forget(run->stepper);
}

static int numbers(void* context, double* out) {
  const sap_state* state = &((simulation*)context)->state;
  int n = 0;
  out[n++] = state->t;
  for (int32_t i = 0; i < state->nq; ++i) {
    out[n++] = state->q[i];
  }
  for (int32_t i = 0; i < state->nv; ++i) {
    out[n++] = state->v[i];
  }
  for (int32_t i = 0; i < state->na; ++i) {
    out[n++] = state->act[i];
  }
  return n;
}

static void test_mutations(void** state) {
  (void)state;
  scratch s;
  char whole[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_path(&s, "whole", whole);
  (void)scratch_path(&s, "other", other);
  for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) {
    write_after(&s, &stages[i], 20, whole);
    write_after(&s, &stages[i], 3, other);
    simulation run = begin(&s, &stages[i]);
    const mutate_run damaged = {&run, read_checkpoint, go_on, numbers};
    mutate_checkpoints(&damaged, whole, other, CASES, 11 + i);
    simulation_end(&run);
  }
  scratch_end(&s);
}

// A value of the option other than the default and within the range.
static double other_value(const sap_option* o) {
  if (o->kind == SAP_OPTION_REAL || o->kind == SAP_OPTION_POSITIVE) {
    const double half = 0.5 * o->value;
    return half != o->value && half > o->minimum ? half : fmin(o->maximum, o->value + 1.0);
  }
  return o->value < o->maximum ? o->value + 1.0 : o->minimum;
}

// A stepper with any other option that steps depend on is refused by name, and left as it was.
static void test_other_options(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_path(&s, "options", path);
  write_after(&s, &stages[0], 5, path);
  simulation run = begin(&s, &stages[0]);
  const sap_option_table table = sap_stepper_option_table();
  int32_t allowed = 0;
  for (int32_t i = 0; i < table.count; ++i) {
    const sap_option* o = &table.options[i];
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = 0.005;
    sap_option_set(o, &options, other_value(o));
    sap_stepper_destroy(run.stepper);
    run.stepper = NULL;
    sap_error error = {0};
    int64_t steps = -1;
    char text[SAP_ERROR_MESSAGE_SIZE];
    if (sap_stepper_create(sap_multibody_system(run.multibody), &options, &run.stepper, &error) !=
        SAP_STATUS_OK) {
      fail_msg("%s: %s", o->name, error.message);
    }
    const double v = run.state.v[0];
    const sap_status status = sap_checkpoint_read(path, run.stepper, &run.state, &steps, &error);
    (void)snprintf(text, sizeof text, ": %s = ", o->name);
    if (status == SAP_STATUS_OK) {
      ++allowed;
      assert_int_equal(sap_model_get_default_state(run.model, &run.state, NULL), SAP_STATUS_OK);
      run.state.v[0] = v;
    } else if (status != SAP_STATUS_ARGUMENT || strstr(error.message, text) == NULL ||
               strstr(error.message, " in the checkpoint, ") == NULL) {
      fail_msg("%s: status %d, '%s'", o->name, (int)status, error.message);
    } else {
      assert_true(steps == -1 && run.state.v[0] == v);
    }
  }
  assert_int_equal(allowed, 3);  // time_limit, threads, check_input change no bits
  simulation_end(&run);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations),
                                     cmocka_unit_test(test_other_options)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
