// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of MuJoCo runs with bytes changed, cut off and spliced, or other headers under a
// checksum that fits.
#include "support/mujoco_run.h"
#include "support/mutate_checkpoints.h"

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

static void write_after(int steps, const char* path) {
  mujoco_run run = mujoco_run_text(MODEL, NULL);
  run.data->qvel[0] = 3.0;  // slides
  run.data->qvel[6] = 1.0;
  mujoco_run_step(&run, steps);
  assert_int_equal(sap_mj_checkpoint_write(path, run.adapter, run.data, steps, NULL),
                   SAP_STATUS_OK);
  mujoco_run_end(&run);
}

static sap_status read_checkpoint(void* context, const char* path, int64_t* steps,
                                  sap_error* error) {
  mujoco_run* run = context;
  return sap_mj_checkpoint_read(path, run->adapter, run->data, steps, error);
}

static void go_on(void* context) {
  mujoco_run* run = context;
  sap_error error = {0};
  (void)sap_mj_step(run->adapter, run->data, NULL, &error);
  (void)sap_mj_step(run->adapter, run->data, NULL, &error);
  mj_resetData(run->model, run->data);
  sap_mj_forget(run->adapter);
  mujoco_run_step(run, 1);
}

static int append(double* out, int n, const mjtNum* numbers, int count) {
  mju_copy(out + n, numbers, count);
  return n + count;
}

static int numbers(void* context, double* out) {
  const mujoco_run* run = context;
  const mjModel* m = run->model;
  const mjData* d = run->data;
  int n = append(out, 0, &d->time, 1);
  n = append(out, n, d->qpos, (int)m->nq);
  n = append(out, n, d->qvel, (int)m->nv);
  n = append(out, n, d->act, (int)m->na);
  n = append(out, n, d->ctrl, (int)m->nu);
  return append(out, n, d->mocap_pos, 3 * (int)m->nmocap);
}

static void test_mutations(void** state) {
  (void)state;
  scratch s;
  char whole[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  write_after(20, scratch_path(&s, "whole", whole));
  write_after(3, scratch_path(&s, "other", other));
  mujoco_run run = mujoco_run_text(MODEL, NULL);
  const mutate_run damaged = {&run, read_checkpoint, go_on, numbers};
  mutate_checkpoints(&damaged, whole, other, CASES, 7);
  mujoco_run_end(&run);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
