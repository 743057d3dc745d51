// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of MuJoCo runs: what goes on from one has the bits of what never stopped; files that
// are damaged or of another run are refused and leave everything as it was.
#include <stdlib.h>

#include "support/mujoco_run.h"

// Sliding boxes (identities), a servo at its range, a tendon, a moved mocap body, an
// activation.
static const char SCENE[] =
    "<mujoco><option timestep='0.005' integrator='Euler'/><worldbody>"
    "<geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 0 .31' euler='0 0 20'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='hand' mocap='true' pos='.5 0 .1'><geom type='sphere' size='.1'/></body>"
    "<body pos='.5 0 .35'><freejoint/><geom type='sphere' size='.1' condim='6'/></body>"
    "<body pos='1 0 1'><joint name='a' type='hinge' axis='0 1 0' limited='true' range='-60 60'/>"
    "<geom type='capsule' size='.04' fromto='0 0 0 .3 0 0'/>"
    "<body pos='.3 0 0'><joint name='b' type='hinge' axis='0 1 0' frictionloss='.1'/>"
    "<geom type='capsule' size='.04' fromto='0 0 0 .3 0 0'/></body></body>"
    "</worldbody><tendon><fixed name='t' stiffness='2' damping='.1'><joint joint='a' coef='1'/>"
    "<joint joint='b' coef='-1'/></fixed></tendon>"
    "<actuator><position joint='a' kp='200' forcelimited='true' forcerange='-3 3'/>"
    "<general joint='b' dyntype='filter' dynprm='.05' gainprm='2'/></actuator></mujoco>";

// Controls, a push and the mocap body's way are part of the run.
static void drive(const mujoco_run* run, int step) {
  const double t = 0.005 * step;
  run->data->ctrl[0] = sin(3.0 * t);
  run->data->ctrl[1] = cos(2.0 * t);
  run->data->xfrc_applied[6] = 40.0;
  run->data->mocap_pos[0] = 0.5 + 0.2 * t;
}

static bool by_accuracy = false;  // steps in parts by their error

static void advance(mujoco_run* run, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    drive(run, i);
    if (by_accuracy) {
      sap_mj_advance_report report;
      assert_int_equal(sap_mj_advance(run->adapter, run->data, 1e-5, &report, NULL), SAP_STATUS_OK);
      run->report = report.step;
    } else {
      mujoco_run_step(run, 1);
    }
  }
}

static void assert_same(const mujoco_run* x, const mujoco_run* y) {
  const mjModel* m = x->model;
  assert_memory_equal(x->data->qpos, y->data->qpos, (size_t)m->nq * sizeof(mjtNum));
  assert_memory_equal(x->data->qvel, y->data->qvel, (size_t)m->nv * sizeof(mjtNum));
  assert_memory_equal(x->data->act, y->data->act, (size_t)m->na * sizeof(mjtNum));
  assert_memory_equal(x->data->qacc, y->data->qacc, (size_t)m->nv * sizeof(mjtNum));
  assert_memory_equal(&x->data->time, &y->data->time, sizeof(mjtNum));
}

enum { BEFORE = 60, AFTER = 100 };

static void goes_on_with(const sap_mj_options* options) {
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_path(&s, "a.checkpoint", path);
  mujoco_run whole = mujoco_run_text(SCENE, options), part = mujoco_run_text(SCENE, options);
  advance(&whole, 0, BEFORE);
  sap_error error = {0};
  int64_t steps = 0;
  assert_int_equal(sap_mj_checkpoint_write(path, whole.adapter, whole.data, BEFORE, &error),
                   SAP_STATUS_OK);
  // into an adapter and data with a past of their own
  advance(&part, 7, 33);
  assert_int_equal(sap_mj_checkpoint_read(path, part.adapter, part.data, &steps, &error),
                   SAP_STATUS_OK);
  assert_int_equal((int)steps, BEFORE);
  assert_memory_equal(part.data->ctrl, whole.data->ctrl, 2 * sizeof(mjtNum));
  assert_memory_equal(part.data->xfrc_applied, whole.data->xfrc_applied, 12 * sizeof(mjtNum));
  for (int i = 0; i < AFTER; ++i) {
    advance(&whole, BEFORE + i, 1);
    advance(&part, BEFORE + i, 1);
    assert_same(&whole, &part);
  }
  assert_true(whole.report.contacts > 3);
  mujoco_run_end(&whole);
  mujoco_run_end(&part);
  scratch_end(&s);
}

static void test_goes_on(void** state) {
  (void)state;
  sap_mj_options options = sap_mj_options_default();
  goes_on_with(&options);
  options.contact_model = SAP_CONTACT_LAGGED;
  goes_on_with(&options);
  options.contact_model = SAP_CONTACT_SAP;
  options.solver = "sap-ncp";
  goes_on_with(&options);
  by_accuracy = true;
  goes_on_with(NULL);
  by_accuracy = false;
}

// Without the memories the bits differ: the test above can fail.
static void test_memory_matters(void** state) {
  (void)state;
  mujoco_run whole = mujoco_run_text(SCENE, NULL), part = mujoco_run_text(SCENE, NULL);
  advance(&whole, 0, BEFORE);
  advance(&part, 0, BEFORE);
  sap_mj_forget(part.adapter);
  advance(&whole, BEFORE, AFTER);
  advance(&part, BEFORE, AFTER);
  assert_memory_not_equal(whole.data->qvel, part.data->qvel,
                          (size_t)whole.model->nv * sizeof(mjtNum));
  mujoco_run_end(&whole);
  mujoco_run_end(&part);
}

static void refuse(mujoco_run* run, const char* path, sap_status expected, const char* text) {
  const mjModel* m = run->model;
  const double before = run->data->qpos[m->nq - 1];
  int64_t steps = -1;
  sap_error error = {0};
  assert_int_equal(sap_mj_checkpoint_read(path, run->adapter, run->data, &steps, &error), expected);
  if (strstr(error.message, text) == NULL) {
    fail_msg("'%s' is not in '%s'", text, error.message);
  }
  assert_int_equal((int)steps, -1);
  assert_true(run->data->qpos[m->nq - 1] == before && run->data->time == 0.0);
}

static void test_refuses(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE], bad[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_path(&s, "a.checkpoint", path);
  mujoco_run run = mujoco_run_text(SCENE, NULL), fresh = mujoco_run_text(SCENE, NULL);
  advance(&run, 0, BEFORE);
  assert_int_equal(sap_mj_checkpoint_write(path, run.adapter, run.data, 0, NULL), SAP_STATUS_OK);
  size_t size;
  char* bytes = scratch_read(path, &size);
  assert_non_null(bytes);
  // any byte that is not as it was, any length but the whole one
  for (size_t at = 8; at < size; at += 97) {
    bytes[at] = (char)(bytes[at] ^ 1);
    refuse(&fresh, scratch_write(&s, "bad", bytes, size, bad), SAP_STATUS_SYNTAX, "damaged");
    bytes[at] = (char)(bytes[at] ^ 1);
    refuse(&fresh, scratch_write(&s, "bad", bytes, at, bad), SAP_STATUS_SYNTAX, "damaged");
  }
  refuse(&fresh, scratch_write(&s, "bad", bytes, 4, bad), SAP_STATUS_SYNTAX, "is no checkpoint");
  refuse(&fresh, scratch_write(&s, "bad", "SAPRUN\n", 8, bad), SAP_STATUS_SYNTAX, "no checkpoint");
  refuse(&fresh, "no/such/file", SAP_STATUS_IO, "no/such/file");
  free(bytes);

  fresh.model->opt.timestep = 0.004;
  refuse(&fresh, path, SAP_STATUS_ARGUMENT, "timestep = 0.005");
  fresh.model->opt.timestep = 0.005;
  fresh.model->body_mass[1] += 1e-9;
  refuse(&fresh, path, SAP_STATUS_ARGUMENT, "another model");
  fresh.model->body_mass[1] = run.model->body_mass[1];
  assert_int_equal(sap_mj_set_geom(fresh.adapter, 0, 1e5, 0.1, NULL), SAP_STATUS_OK);
  refuse(&fresh, path, SAP_STATUS_ARGUMENT, "stiffness or relaxation time");
  mujoco_run_end(&fresh);

  sap_mj_options options = sap_mj_options_default();
  options.solver = "sap-ncp";
  fresh = mujoco_run_text(SCENE, &options);
  refuse(&fresh, path, SAP_STATUS_ARGUMENT, "solver = sap in the checkpoint, sap-ncp here");
  mujoco_run_end(&fresh);
  options.solver = "sap";
  options.regularization.sigma = 1e-4;
  fresh = mujoco_run_text(SCENE, &options);
  refuse(&fresh, path, SAP_STATUS_ARGUMENT, "sigma = 0.001");

  // a state that is no state is not written, and the file stays
  run.data->qvel[0] = (double)NAN;
  sap_error error = {0};
  assert_int_equal(sap_mj_checkpoint_write(path, run.adapter, run.data, 0, &error),
                   SAP_STATUS_NOT_FINITE);
  run.data->qvel[0] = 0.0;
  assert_int_equal(sap_mj_checkpoint_write(path, run.adapter, run.data, -1, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_checkpoint_write("no/such/file", run.adapter, run.data, 0, &error),
                   SAP_STATUS_IO);
  assert_int_equal(sap_mj_checkpoint_write(NULL, run.adapter, run.data, 0, &error),
                   SAP_STATUS_ARGUMENT);
  int64_t steps;
  assert_int_equal(sap_mj_checkpoint_read(path, run.adapter, NULL, &steps, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_checkpoint_read(path, run.adapter, run.data, &steps, &error),
                   SAP_STATUS_OK);
  mujoco_run_end(&fresh);
  mujoco_run_end(&run);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goes_on),
      cmocka_unit_test(test_memory_matters),
      cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
