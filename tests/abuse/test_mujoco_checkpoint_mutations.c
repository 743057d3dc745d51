// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of MuJoCo runs with bytes changed, cut off and spliced, or other headers under a
// checksum that fits: they are refused with a message and nothing has changed, or the run goes on.
#include <stdlib.h>

#include "support/mujoco_run.h"
#include "support/mutate.h"

enum { HEAD = 80 };  // header, or most of it

#ifndef CASES
#define CASES 600
#endif

static const char MODEL[] =
    "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1' friction='.3'/>"
    "<body name='m' mocap='true' pos='0 0 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='.5 0 .1'><freejoint/><geom type='sphere' size='.1'/></body>"
    "<body name='h' pos='1 0 1'><joint name='j' type='hinge' axis='0 1 0' range='-.2 .2'"
    " limited='true' frictionloss='.1'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/>"
    "</body></worldbody><equality><connect body1='h' body2='m' anchor='.3 0 0'/></equality>"
    "<actuator><position joint='j' kp='100'/><general joint='j' dyntype='filter' dynprm='1'/>"
    "</actuator></mujoco>";

static unsigned char* checkpoint_after(scratch* s, int steps, size_t* size) {
  mujoco_run run = mujoco_run_text(MODEL, NULL);
  run.data->qvel[0] = 3.0;  // slides
  run.data->qvel[6] = 1.0;
  mujoco_run_step(&run, steps);
  char path[SCRATCH_PATH_SIZE];
  assert_int_equal(
      sap_mj_checkpoint_write(scratch_path(s, "whole", path), run.adapter, run.data, steps, NULL),
      SAP_STATUS_OK);
  mujoco_run_end(&run);
  unsigned char* bytes = (unsigned char*)scratch_read(path, size);
  assert_non_null(bytes);
  return bytes;
}

static void test_mutations(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  mutate_bytes whole, other;
  unsigned char* bytes = checkpoint_after(&s, 20, &whole.size);
  unsigned char* others = checkpoint_after(&s, 3, &other.size);
  whole.bytes = bytes;
  other.bytes = others;
  mujoco_run run = mujoco_run_text(MODEL, NULL);
  const size_t nq = (size_t)run.model->nq;
  int taken = 0, refused = 0;
  uint64_t seed = 7;
  for (int i = 0; i < CASES; ++i) {
    size_t size = whole.size;
    unsigned char* damaged =
        i % 2 == 0 ? mutate(&whole, &other, &seed, &size) : mutate_sealed(&whole, HEAD, &seed);
    assert_non_null(damaged);
    scratch_write(&s, "damaged", damaged, size, path);
    free(damaged);
    mjtNum before[32];
    memcpy(before, run.data->qpos, nq * sizeof *before);
    sap_error error = {0};
    int64_t steps = -5;
    const sap_status status = sap_mj_checkpoint_read(path, run.adapter, run.data, &steps, &error);
    if (status == SAP_STATUS_OK) {
      ++taken;
      assert_true(steps >= 0);
      (void)sap_mj_step(run.adapter, run.data, NULL, &error);
      (void)sap_mj_step(run.adapter, run.data, NULL, &error);
      mj_resetData(run.model, run.data);
      sap_mj_clear(run.adapter);
      continue;
    }
    ++refused;
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != '\0');
    assert_int_equal(steps, -5);
    assert_memory_equal(before, run.data->qpos, nq * sizeof *before);
    mujoco_run_step(&run, i % 50 == 0 ? 1 : 0);
  }
  assert_true(taken > CASES / 200 && refused > CASES / 4);
  mujoco_run_end(&run);
  free(bytes);
  free(others);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
