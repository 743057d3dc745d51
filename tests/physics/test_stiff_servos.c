// SPDX-License-Identifier: BSD-3-Clause
// A humanoid on the floor, held by position servos on all its joints: stable and at rest whatever
// the gain.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/simulation.h"

#define HUMANOID SAPSTEP_SHARED "/models/mujoco/humanoid/humanoid.xml"

// Turns all motors into position servos with target 0.
static void make_servos(sap_model* model, double kp, double kd) {
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    sap_model_actuator* actuator = &model->actuators[i];
    actuator->gear = 1.0;
    actuator->control_lower = actuator->force_lower = -(double)INFINITY;
    actuator->control_upper = actuator->force_upper = (double)INFINITY;
    actuator->gain = kp;
    actuator->bias[1] = -kp;
    actuator->bias[2] = -kd;
  }
}

// The largest speed after 5 s, and the largest of all.
static double run(double kp, double kd, double dt, double* fastest) {
  simulation s = {0};
  sap_error error = {0};
  if (sap_scene_read(HUMANOID, NULL, &s.model, &error) != SAP_STATUS_OK) {
    simulation_skip_absent(&error);
  }
  assert_int_equal(s.model->sizes.actuators, 21);
  make_servos(s.model, kp, kd);
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  const int32_t steps = (int32_t)lround(5.0 / dt);
  double speed = 0.0;
  *fastest = 0.0;
  for (int32_t n = 0; n < steps; ++n) {
    simulation_step(&s, 1);
    speed = 0.0;
    for (int32_t i = 0; i < s.model->sizes.nv; ++i) {
      speed = fmax(speed, fabs(s.state.v[i]));
    }
    *fastest = fmax(*fastest, speed);
  }
  simulation_end(&s);
  return speed;
}

// Bounds: with damping it rests (a step of 1 mm/s is left at the softest gain, with which it
// falls); without, the servos' springs still swing a little.
static void check(double kp, double kd, double dt) {
  double fastest = 0.0;
  const double speed = run(kp, kd, dt, &fastest);
  print_message("kp %g kd %g dt %g: speed %.2g after 5 s, %.2g at most\n", kp, kd, dt, speed,
                fastest);
  if (!(speed <= (kd > 0.0 ? 2e-3 : 0.05)) || !(fastest <= (kp > 1e2 ? 1.0 : 30.0))) {
    fail_msg("kp %g kd %g dt %g: speed %g after 5 s, at most %g", kp, kd, dt, speed, fastest);
  }
}

static void test_gains(void** unused) {
  (void)unused;
  for (double kp = 1e2; kp < 2e7; kp *= 10.0) {
    check(kp, 0.1 * kp, 0.005);
  }
  check(1e3, 0.0, 0.005);
  check(1e7, 0.0, 0.005);
}

static void test_large_steps(void** unused) {
  (void)unused;
  for (int i = 2; i <= 4; ++i) {
    check(1e5, 1e3, 0.005 * i);
  }
  check(1e5, 0.0, 0.02);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gains),
                                     cmocka_unit_test(test_large_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
