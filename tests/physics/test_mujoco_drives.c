// SPDX-License-Identifier: BSD-3-Clause
// Drives and springs that later versions of MuJoCo know, against closed forms of the linearly
// implicit step: effort ranges of tendons, activations that act early, delayed controls, dampers of
// actuators, springs of higher order, and sensors of energy.
#include "support/mujoco_run.h"

static const double h = 0.005, mass = 2.0;

#define SLIDER(option, joint, more)                          \
  "<mujoco><option timestep='0.005' gravity='0 0 0'>" option \
  "</option><worldbody><body>"                               \
  "<joint name='j' type='slide' axis='1 0 0' " joint         \
  "/><geom size='.1' mass='2'/></body>"                      \
  "</worldbody>" more "</mujoco>"

#if mjVERSION_HEADER >= 333

// Force at the end of the step of a servo that starts at rest at 0, within its range.
static double bounded_force(double raw, double kp, double kd, double most) {
  const double free = raw / (1.0 + (h * kp + kd) * h / mass);
  return fmin(free, most);
}

// Two servos that pull 100 N at most together: they accelerate, brake and hold.
static void test_tendon_range(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      SLIDER("", "",
             "<tendon><fixed name='t' actuatorfrcrange='-100 100'><joint joint='j' coef='1'/>"
             "</fixed></tendon><actuator><position tendon='t' kp='6000' kv='600'/>"
             "<position tendon='t' kp='4000' kv='400'/></actuator>"),
      NULL);
  run.data->ctrl[0] = run.data->ctrl[1] = 0.1;
  mujoco_run_step(&run, 1);
  ASSERT_NEAR(run.data->actuator_force[0] + run.data->actuator_force[1], 100.0, 1e-6);
  ASSERT_NEAR(run.data->qvel[0], h * 100.0 / mass, 1e-8);
  for (int i = 0; i < 400; ++i) {
    const double before = run.data->qvel[0];
    mujoco_run_step(&run, 1);
    const double force = run.data->actuator_force[0] + run.data->actuator_force[1];
    ASSERT_NEAR(force, mass * (run.data->qvel[0] - before) / h, 1e-6);
    assert_true(fabs(force) < 100.0 + 1e-3);
  }
  ASSERT_NEAR(run.data->qpos[0], 0.1, 1e-6);
  mujoco_run_end(&run);
}

// The force without bounds is that of the activation after the step.
static void test_early_activation(void** state) {
  (void)state;
  const double tau = 0.02, kp = 1000.0, kd = 50.0;
  for (int exact = 0; exact < 2; ++exact) {
    for (int weak = 0; weak < 2; ++weak) {
      char text[1000];
      const double most = weak ? 50.0 : 150.0;
      (void)snprintf(text, sizeof text,
                     SLIDER("", "",
                            "<actuator><general joint='j' gainprm='1000' biastype='affine' "
                            "biasprm='0 -1000 -50' dyntype='%s' dynprm='0.02' actearly='true' "
                            "forcerange='%g %g'/></actuator>"),
                     exact ? "filterexact" : "filter", -most, most);
      mujoco_run run = mujoco_run_text(text, NULL);
      run.data->ctrl[0] = 1.0;
      mujoco_run_step(&run, 1);
      const double act = exact ? 1.0 - exp(-h / tau) : h / tau;
      assert_true(kp * act > most);
      ASSERT_NEAR(run.data->actuator_force[0], bounded_force(kp * act, kp, kd, most), 1e-6);
      mujoco_run_end(&run);
    }
  }
}

#endif

#if mjVERSION_HEADER >= 350

// A bounded servo follows the control of some steps ago.
static void test_delay(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      SLIDER("", "",
             "<actuator><position joint='j' kp='1000' kv='50' forcerange='-100 100' delay='0.02'"
             " nsample='8'/></actuator>"),
      NULL);
  run.data->ctrl[0] = 1.0;
  mujoco_run_step(&run, 1);
  run.data->ctrl[0] = 0.0;  // the control of one step
  double least = 1.0;
  int pushes = 0;
  for (int i = 0; i < 10; ++i) {
    const double before = run.data->qvel[0];
    mujoco_run_step(&run, 1);
    const double gain = h * mass * (run.data->qvel[0] - before) / (h * h);
    ASSERT_NEAR(run.data->actuator_force[0], gain, 1e-6);
    pushes += gain > 99.0;
    least = fmin(least, gain);
  }
  assert_int_equal(pushes, 1);
  assert_true(least < 0.0);
  mujoco_run_end(&run);
}

// Kinetic and potential energy at the start of the step, whether the model asks for them or not.
static void test_energy_sensors(void** state) {
  (void)state;
#define SENSORS "<sensor><e_kinetic/><e_potential/></sensor>"
  static const char* const models[] = {
      SLIDER("", "stiffness='30'", SENSORS),
      SLIDER("<flag energy='enable'/>", "stiffness='30'", SENSORS)};
  for (int i = 0; i < 2; ++i) {
    mujoco_run run = mujoco_run_text(models[i], NULL);
    run.data->qvel[0] = 1.0;
    for (int step = 0; step < 20; ++step) {
      const double q = run.data->qpos[0], v = run.data->qvel[0];
      mujoco_run_step(&run, 1);
      ASSERT_NEAR(run.data->sensordata[0], 0.5 * mass * v * v, 1e-12);
      ASSERT_NEAR(run.data->sensordata[1], 0.5 * 30.0 * q * q, 1e-12);
    }
    mujoco_run_end(&run);
  }
}

#endif

#if mjVERSION_HEADER >= 3009000

// A motor's damper of gear^2 b, by its joint or a tendon: v falls by 1 + h gear^2 b/m a step.
static void test_actuator_damping(void** state) {
  (void)state;
  static const char* const drives[] = {"<motor joint='j' gear='3' damping='1e4'/>",
                                       "<motor tendon='t' gear='3' damping='1e4'/>"};
  for (int i = 0; i < 2; ++i) {
    char text[1000];
    (void)snprintf(text, sizeof text,
                   SLIDER("", "",
                          "<tendon><fixed name='t'><joint joint='j' coef='2'/></fixed></tendon>"
                          "<actuator>%s</actuator>"),
                   drives[i]);
    mujoco_run run = mujoco_run_text(text, NULL);
    const double b = 9e4 * (i == 0 ? 1.0 : 4.0);
    run.data->qvel[0] = 1.0;
    mujoco_run_step(&run, 1);
    ASSERT_NEAR(run.data->qvel[0], 1.0 / (1.0 + h * b / mass), 1e-12);
    ASSERT_NEAR(run.data->qfrc_damper[0], -b * run.data->qvel[0], 1e-9 * b);
    mujoco_run_end(&run);
  }
}

// A ball turned far out of the rest of a cubic spring, at a step that its stiffness there does not
// resolve, comes back without a gain of energy.
static void test_cubic_ball(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      "<mujoco><option timestep='0.01' gravity='0 0 0'><flag energy='enable'/></option><worldbody>"
      "<body><joint type='ball' stiffness='0 0 500'/><geom size='.1' mass='1'/></body></worldbody>"
      "</mujoco>",
      NULL);
  run.data->qpos[0] = cos(0.75);
  run.data->qpos[1] = sin(0.75);
  mj_forward(run.model, run.data);
  const double most = run.data->energy[0];
  assert_true(most > 100.0);
  for (int i = 0; i < 300; ++i) {
    mujoco_run_step(&run, 1);
    mj_energyPos(run.model, run.data);
    mj_energyVel(run.model, run.data);
    assert_true(run.data->energy[0] + run.data->energy[1] < 1.001 * most);
  }
  assert_true(run.data->energy[0] + run.data->energy[1] < 0.5 * most);
  mujoco_run_end(&run);
}

#endif

static void test_step_of_all_versions(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      SLIDER("", "stiffness='2e6' damping='10'", "<actuator><motor joint='j'/></actuator>"), NULL);
  run.data->ctrl[0] = 7.0;
  mujoco_run_step(&run, 1);
  ASSERT_NEAR(run.data->qvel[0], h * 7.0 / (mass + h * 10.0 + h * h * 2e6), 1e-12);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_step_of_all_versions),
#if mjVERSION_HEADER >= 333
    cmocka_unit_test(test_tendon_range),
    cmocka_unit_test(test_early_activation),
#endif
#if mjVERSION_HEADER >= 350
    cmocka_unit_test(test_delay),
    cmocka_unit_test(test_energy_sensors),
#endif
#if mjVERSION_HEADER >= 3009000
    cmocka_unit_test(test_actuator_damping),
    cmocka_unit_test(test_cubic_ball),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
