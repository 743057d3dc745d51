// SPDX-License-Identifier: BSD-3-Clause
// Activations in states, steps and checkpoints; an arm moved by muscles at large steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>
#include <sapstep/scene.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

#define ARM SAPSTEP_SHARED "/models/mujoco/tendon_arm/arm26.xml"

static simulation read_arm(double dt) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, ARM, SAP_SCHEME_IMPLICIT_EULER, dt, &error)) {
    simulation_skip_absent(&error);
  }
  return s;
}

// Muscles that contract in turn bend the arm; limits hold it, and nothing grows.
static void test_arm(void** state) {
  (void)state;
  static const double steps[] = {0.001, 0.005, 0.02};
  for (int k = 0; k < 3; ++k) {
    simulation s = read_arm(steps[k]);
    assert_int_equal(s.state.na, 6);
    double bent = 0.0;
    for (int n = 0; n < (int)(4.0 / steps[k]); ++n) {
      double control[6] = {0.0};
      control[(int)(s.state.t / 0.5) % 6] = 1.0;
      assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
      simulation_step(&s, 1);
      for (int i = 0; i < 6; ++i) {
        assert_true(s.state.act[i] >= 0.0 && s.state.act[i] <= 1.0);
      }
      bent = fmax(bent, s.state.q[1]);
      for (int i = 0; i < 2; ++i) {
        assert_true(s.state.q[i] > -0.1 && s.state.q[i] < 2.2);
        assert_true(fabs(s.state.v[i]) < 60.0);
      }
    }
    assert_true(bent > 1.0);
    simulation_end(&s);
  }
}

// At equal times, halved steps come nearer to each other.
static void test_converges(void** state) {
  (void)state;
  double at[4][2];
  for (int k = 0; k < 4; ++k) {
    const double dt = 0.004 / (double)(1 << k);
    simulation s = read_arm(dt);
    // Within the ranges: blows against limits would hide the order.
    s.state.q[0] = s.state.q[1] = 1.0;
    static const double control[6] = {0.2, 0.3, 0.1, 0.2, 0.1, 0.1};
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 20 << k);
    memcpy(at[k], s.state.q, sizeof at[k]);
    simulation_end(&s);
  }
  for (int i = 0; i < 2; ++i) {
    const double far = fabs(at[1][i] - at[0][i]), near = fabs(at[3][i] - at[2][i]);
    assert_true(far < 0.02);
    assert_true(near < 0.4 * far);  // order 1: a quarter
  }
}

// One actuator on a slide joint far from everything.
static simulation one(const sap_actuator_def* def, double dt) {
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  static const double origin[3] = {0.0, 0.0, 0.0};
  const int32_t body = simulation_body(builder, 0, 1.0, 1.0, origin);
  (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
  assert_int_equal(sap_builder_add_actuator(builder, def, NULL, NULL), SAP_STATUS_OK);
  return simulation_begin(builder, SAP_SCHEME_SYMPLECTIC_EULER, dt);
}

static double final_act(sap_activation activation, double time, double control, double dt, int n) {
  sap_actuator_def def = sap_actuator_def_default();
  def.activation = activation;
  def.activation_time[0] = time;
  def.activation_time[1] = 2.0 * time;
  def.activation_lower = -0.9;
  simulation s = one(&def, dt);
  assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
  simulation_step(&s, n);
  const double act = s.state.act[0];
  simulation_end(&s);
  return act;
}

static void test_activations(void** state) {
  (void)state;
  ASSERT_NEAR(final_act(SAP_ACTIVATION_INTEGRATOR, 0.0, 3.0, 0.01, 7), 0.21, 1e-15);
  ASSERT_NEAR(final_act(SAP_ACTIVATION_INTEGRATOR, 0.0, -50.0, 0.01, 7), -0.9, 0.0);  // its bound
  ASSERT_NEAR(final_act(SAP_ACTIVATION_FILTER_EXACT, 0.05, 2.0, 0.01, 10), 2.0 - 2.0 * exp(-2.0),
              1e-15);
  ASSERT_NEAR(final_act(SAP_ACTIVATION_FILTER, 0.05, 2.0, 0.01, 10), 2.0 - 2.0 * pow(0.8, 10.0),
              1e-15);
  // A step longer than the time constant arrives, and goes no further.
  ASSERT_NEAR(final_act(SAP_ACTIVATION_FILTER, 0.005, 2.0, 0.01, 1), 2.0, 0.0);
  ASSERT_NEAR(final_act(SAP_ACTIVATION_MUSCLE, 0.001, 0.7, 0.01, 3), 0.7, 0.0);
  ASSERT_NEAR(final_act(SAP_ACTIVATION_MUSCLE, 0.1, 1.0, 0.01, 1), 0.01 / 0.05, 1e-15);
  ASSERT_NEAR(final_act(SAP_ACTIVATION_MUSCLE, 0.1, 9.0, 0.01, 1), 0.01 / 0.05, 1e-15);  // u <= 1
}

// The force is that of the activation at the start of the step, or early at its end.
static void test_early(void** state) {
  (void)state;
  for (int early = 0; early < 2; ++early) {
    sap_actuator_def def = sap_actuator_def_default();
    def.activation = SAP_ACTIVATION_INTEGRATOR;
    def.activation_early = early != 0;
    def.gain = 5.0;
    simulation s = one(&def, 0.01);
    const double control = 2.0;
    s.state.act[0] = 1.0;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    simulation_step(&s, 1);
    ASSERT_NEAR(s.state.v[0], 0.01 * 5.0 * (early ? 1.02 : 1.0), 1e-15);
    ASSERT_NEAR(s.state.act[0], 1.02, 1e-15);
    simulation_end(&s);
  }
}

static void test_bad_states(void** state) {
  (void)state;
  sap_actuator_def def = sap_actuator_def_default();
  def.activation = SAP_ACTIVATION_INTEGRATOR;
  simulation s = one(&def, 0.01);
  sap_error error = {0};
  s.state.act[0] = (double)NAN;
  assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, &error), SAP_STATUS_NOT_FINITE);
  assert_non_null(strstr(error.message, "act[0]"));
  s.state.act[0] = 0.25;
  const sap_state good = s.state;
  s.state.na = 0;
  assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, &error), SAP_STATUS_ARGUMENT);
  s.state.na = 1;
  // Forces that are not finite: nothing of the state has moved, activations neither.
  s.state.v[0] = 1e200;
  s.state.act[0] = 1e308;
  const double control = 1e308;
  assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
  assert_int_not_equal(sap_stepper_set_dt(s.stepper, 1e3, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, &error), SAP_STATUS_NOT_FINITE);
  ASSERT_NEAR(s.state.act[0], 1e308, 0.0);
  ASSERT_NEAR(s.state.t, good.t, 0.0);
  simulation_end(&s);
}

// A run goes on from a checkpoint, activations included, bit for bit.
static void test_checkpoint(void** state) {
  (void)state;
  static const double control[6] = {1.0, 0.0, 0.5, 0.0, 0.2, 0.9};
  simulation a = read_arm(0.005), b = read_arm(0.005);
  scratch files;
  char path[SCRATCH_PATH_SIZE];
  int64_t steps = 0;
  scratch_begin(&files);
  scratch_write(&files, "run", "", 0, path);
  assert_int_equal(sap_multibody_set_control(a.multibody, control, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_set_control(b.multibody, control, NULL), SAP_STATUS_OK);
  simulation_step(&a, 20);
  assert_int_equal(sap_checkpoint_write(path, a.stepper, &a.state, 20, NULL), SAP_STATUS_OK);
  simulation_step(&a, 20);
  assert_int_equal(sap_checkpoint_read(path, b.stepper, &b.state, &steps, NULL), SAP_STATUS_OK);
  assert_true(b.state.act[0] > 0.5);
  simulation_step(&b, 20);
  assert_memory_equal(a.state.q, b.state.q, 2 * sizeof(double));
  assert_memory_equal(a.state.v, b.state.v, 2 * sizeof(double));
  assert_memory_equal(a.state.act, b.state.act, 6 * sizeof(double));
  scratch_end(&files);
  simulation_end(&a);
  simulation_end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arm),         cmocka_unit_test(test_converges),
      cmocka_unit_test(test_activations), cmocka_unit_test(test_early),
      cmocka_unit_test(test_bad_states),  cmocka_unit_test(test_checkpoint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
