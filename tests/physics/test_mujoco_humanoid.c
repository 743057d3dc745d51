// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's humanoid with position servos on all 21 hinges, falling on the floor: holds with gains
// from 1e2 to 1e7 N m/rad at 5 ms and at 1e5 up to 20 ms, where stock MuJoCo (Euler) diverges from
// 1e4 on.
#include "support/mujoco_run.h"
#include "support/mujoco_servos.h"
#include "support/skip.h"

static const char path[] = SAPSTEP_SHARED "/models/mujoco/humanoid/humanoid.xml";

static double fastest(const mjModel* m, const mjData* d) {
  double speed = 0.0;
  for (int i = 0; i < (int)m->nv; ++i) {
    speed = fmax(speed, fabs(d->qvel[i]));
  }
  return speed;
}

// The fastest velocity of a run of 1.5 s, which falls 1.3 m: 6 m/s, and turns at the impact.
static double run(double kp, double dt) {
  mujoco_run r = mujoco_run_file(path, NULL);
  mujoco_stiffen(r.model, kp);
  r.model->opt.timestep = dt;
  double speed = 0.0;
  while (r.data->time < 1.5) {
    mujoco_run_step(&r, 1);
    speed = fmax(speed, fastest(r.model, r.data));
  }
  assert_true(r.report.contacts > 0);
  mujoco_run_end(&r);
  return speed;
}

static void test_gains(void** state) {
  (void)state;
  SKIP_WITHOUT(path);
  for (double kp = 1e2; kp < 2e7; kp *= 10.0) {
    assert_true(run(kp, 0.005) < 100.0);
  }
}

static void test_steps(void** state) {
  (void)state;
  SKIP_WITHOUT(path);
  assert_true(run(1e5, 0.01) < 100.0);
  assert_true(run(1e5, 0.02) < 100.0);
}

// Reference values.
static void test_stock(void** state) {
  (void)state;
  SKIP_WITHOUT(path);
  mujoco_run r = mujoco_run_file(path, NULL);
  mujoco_stiffen(r.model, 1e4);
  double speed = 0.0;
  for (int i = 0; i < 20; ++i) {
    mj_step(r.model, r.data);
    speed = fmax(speed, fastest(r.model, r.data));
  }
  assert_true(speed > 1000.0);
  mujoco_run_end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gains),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_stock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
