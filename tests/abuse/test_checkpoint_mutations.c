// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of our own runs with bytes changed, cut off and spliced, most of them under a
// checksum that fits: they are refused with a message and nothing has changed, or the run goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/checkpoint.h>
#include <sapstep/scene.h>

#include "support/mutate.h"
#include "support/scratch.h"
#include "support/simulation.h"

enum { HEAD = 80 };  // header, or most of it

#ifndef CASES
#define CASES 600
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

static unsigned char* checkpoint_after(scratch* s, const struct stage* stage, int32_t steps,
                                       size_t* size) {
  simulation run = begin(s, stage);
  for (int32_t i = 0; i < steps; ++i) {
    assert_int_equal(sap_stepper_step(run.stepper, &run.state, NULL, NULL), SAP_STATUS_OK);
  }
  char path[SCRATCH_PATH_SIZE];
  assert_int_equal(
      sap_checkpoint_write(scratch_path(s, "whole", path), run.stepper, &run.state, steps, NULL),
      SAP_STATUS_OK);
  simulation_end(&run);
  unsigned char* bytes = (unsigned char*)scratch_read(path, size);
  assert_non_null(bytes);
  return bytes;
}

static void mutate_stage(scratch* s, const struct stage* stage, uint64_t seed) {
  mutate_bytes whole, other;
  unsigned char* bytes = checkpoint_after(s, stage, 20, &whole.size);
  unsigned char* others = checkpoint_after(s, stage, 3, &other.size);
  whole.bytes = bytes;
  other.bytes = others;
  simulation run = begin(s, stage);
  sap_state start = {0};
  assert_int_equal(sap_state_resize_with(&start, run.state.nq, run.state.nv, run.state.na, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_state_copy(&run.state, &start, NULL), SAP_STATUS_OK);
  const size_t nq = (size_t)run.state.nq;
  int taken = 0, refused = 0;
  for (int i = 0; i < CASES / 3; ++i) {
    char path[SCRATCH_PATH_SIZE];
    size_t size = whole.size;
    unsigned char* damaged =
        i % 2 == 0 ? mutate(&whole, &other, &seed, &size) : mutate_sealed(&whole, HEAD, &seed);
    assert_non_null(damaged);
    scratch_write(s, "damaged", damaged, size, path);
    free(damaged);
    sap_error error = {0};
    int64_t steps = -5;
    const sap_status status = sap_checkpoint_read(path, run.stepper, &run.state, &steps, &error);
    if (status == SAP_STATUS_OK) {
      ++taken;
      assert_true(steps >= 0);
      (void)sap_stepper_step(run.stepper, &run.state, NULL, &error);
      (void)sap_stepper_step(run.stepper, &run.state, NULL, &error);
      assert_int_equal(sap_state_copy(&start, &run.state, NULL), SAP_STATUS_OK);
      sap_stepper_forget(run.stepper);
      continue;
    }
    ++refused;
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != '\0');
    assert_int_equal(steps, -5);
    assert_memory_equal(start.q, run.state.q, nq * sizeof(double));
  }
  assert_true(taken > CASES / 200 && refused > CASES / 12);
  sap_state_clear(&start);
  simulation_end(&run);
  free(bytes);
  free(others);
}

static void test_mutations(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) {
    mutate_stage(&s, &stages[i], 11 + i);
  }
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
