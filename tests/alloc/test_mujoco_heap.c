// SPDX-License-Identifier: BSD-3-Clause
// The adapter makes no heap call once the sizes of a scene have been seen, and none of its memory
// is left. MuJoCo's own calls are not counted: they are in its shared library.
#include "support/heap_count.h"
#include "support/mujoco_run.h"

static const char SCENE[] =
    "<mujoco><compiler autolimits='true'/><option timestep='0.005'/><worldbody>"
    "<geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='a' pos='1 0 1'><joint name='j' type='hinge' axis='0 1 0' range='-20 20'"
    " frictionloss='.1' stiffness='2' damping='.1'/>"
    "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/></body></worldbody>"
    "<equality><connect body1='a' anchor='.1 0 0'/></equality>"
    "<actuator><position joint='j' kp='100' forcerange='-1 1'/></actuator></mujoco>";

static void test_steady_state(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(SCENE, NULL);
  mujoco_run_step(&run, 150);
  const int64_t before = heap_calls();
  mujoco_run_step(&run, 300);
  assert_int_equal(heap_calls(), before);
  mujoco_run_end(&run);
}

static void test_no_leak(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(SCENE, NULL);
  const int64_t live = heap_live();
  sap_mj* a = NULL;
  assert_int_equal(sap_mj_create(run.model, NULL, &a, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(sap_mj_step(a, run.data, NULL, NULL), SAP_STATUS_OK);
  }
  sap_mj_destroy(a);
  assert_int_equal(heap_live(), live);
  mujoco_run_end(&run);
}

// Every allocation of create and of the first step may fail: MEMORY, nothing leaks, and a step that
// failed can be made afterwards.
static void test_failures(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(SCENE, NULL);
  mjData* fresh = mj_makeData(run.model);
  const int64_t live = heap_live();
  int failures = 0;
  for (int n = 0;; ++n) {
    sap_mj* a = NULL;
    sap_error error = {0};
    mj_copyData(run.data, run.model, fresh);
    heap_fail_at(n);
    sap_status status = sap_mj_create(run.model, NULL, &a, &error);
    if (status == SAP_STATUS_OK) {
      status = sap_mj_step(a, run.data, NULL, &error);
    }
    const bool failed = heap_failed();
    heap_fail_at(-1);
    if (failed) {
      ++failures;
      assert_int_equal(status, SAP_STATUS_MEMORY);
      if (a != NULL) {
        assert_true(run.data->time == 0.0);
        assert_int_equal(sap_mj_step(a, run.data, NULL, &error), SAP_STATUS_OK);
      }
    }
    sap_mj_destroy(a);
    assert_int_equal(heap_live(), live);
    if (!failed) {
      break;
    }
  }
  assert_true(failures > 50);
  mj_deleteData(fresh);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steady_state),
      cmocka_unit_test(test_no_leak),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
