// SPDX-License-Identifier: BSD-3-Clause
// Laws of the adapter against closed forms: dry friction of joints and tendons, dampers whose gain
// is the control, adhesion, and bodies on a turning mocap body.
#include "support/mujoco_run.h"

static const double h = 0.005;

// A mass of 2 kg is pushed along its joint: friction takes 3 N, of the joint or of a tendon that
// counts its way twice.
static void test_dry_friction(void** state) {
  (void)state;
  static const char format[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><joint name='j' "
      "type='slide' axis='1 0 0' frictionloss='%g'/><geom size='.1' mass='2'/></body></worldbody>"
      "<tendon><fixed name='t' frictionloss='%g'><joint joint='j' coef='2'/></fixed></tendon>"
      "<actuator><motor joint='j'/></actuator></mujoco>";
  for (int tendon = 0; tendon < 2; ++tendon) {
    char text[1024];
    (void)snprintf(text, sizeof text, format, tendon ? 0.0 : 3.0, tendon ? 1.5 : 0.0);
    mujoco_run run = mujoco_run_text(text, NULL);
    for (int side = -1; side <= 1; side += 2) {
      mj_resetData(run.model, run.data);
      run.data->ctrl[0] = side * 5.0;
      mujoco_run_step(&run, 100);
      ASSERT_NEAR(run.data->qvel[0], side * (5.0 - 3.0) / 2.0 * 100.0 * h, 1e-9);
      mj_resetData(run.model, run.data);
      run.data->ctrl[0] = side * 2.9;
      mujoco_run_step(&run, 100);
      // creep: sigma w dt tau_f
      assert_true(fabs(run.data->qvel[0]) < 1e-3 * 0.5 * h * 3.0 * (1.0 + 1e-9));
    }
    mujoco_run_end(&run);
  }
}

// force = -kv u v, implicit: v falls by 1 + h kv u/m a step, however large kv is.
static void test_damper(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><joint name='j' "
      "type='slide' axis='1 0 0'/><geom size='.1' mass='2'/></body></worldbody><actuator>"
      "<damper joint='j' kv='3000' ctrlrange='0 1'/></actuator></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->ctrl[0] = 0.7;
  run.data->qvel[0] = 1.0;
  for (int i = 1; i <= 5; ++i) {
    mujoco_run_step(&run, 1);
    ASSERT_NEAR(run.data->qvel[0], pow(1.0 + h * 3000.0 * 0.7 / 2.0, -i), 1e-9);
  }
  mujoco_run_end(&run);
}

// The same within a force range of 100 N: braked by that, then by its damping.
static void test_ranged_damper(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><joint name='j' "
      "type='slide' axis='1 0 0'/><geom size='.1' mass='2'/></body></worldbody><actuator>"
      "<damper joint='j' kv='3000' ctrlrange='0 1' forcelimited='true' forcerange='-100 "
      "100'/></actuator></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  const double kd = 3000.0 * 0.7;
  double v = 1.0;
  run.data->ctrl[0] = 0.7;
  run.data->qvel[0] = v;
  for (int i = 0; i < 10; ++i) {
    mujoco_run_step(&run, 1);
    const double damped = v / (1.0 + h * kd / 2.0);
    v = kd * damped > 100.0 ? v - h * 100.0 / 2.0 : damped;
    ASSERT_NEAR(run.data->qvel[0], v, 1e-6);
    ASSERT_NEAR(run.data->actuator_force[0], -fmin(kd * v, 100.0), 1e-3);
  }
  mujoco_run_end(&run);
}

// A ball of 1 kg below a ceiling that it sticks to by 15 N: the contact bears 15 N - m g, which
// presses it in by that over k.
static void test_adhesion(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='box' size='1 1 .5' pos='0 0 1'/>"
      "<body name='b' pos='0 0 .3999'><freejoint/><geom name='g' size='.1' mass='1'/></body>"
      "</worldbody><actuator><adhesion body='b' ctrlrange='0 1' gain='30'/></actuator></mujoco>";
  const double k = 1e5;
  mujoco_run run = mujoco_run_text(text, NULL);
  assert_int_equal(sap_mj_set_geom(run.adapter, 1, k, 0.02, NULL), SAP_STATUS_OK);
  run.data->ctrl[0] = 0.5;
  run.data->qpos[2] = 0.4 + 1e-5;
  mujoco_run_step(&run, 400);
  ASSERT_NEAR(run.data->qpos[2] - 0.4, (15.0 - 9.81) / k, 1e-3 * 15.0 / k);
  mujoco_run_end(&run);
}

// A block rests on a plate that turns about the vertical, or tilts: it moves with the plate's local
// velocity w x r.
static void test_turning_mocap(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><body name='plate' mocap='true'>"
      "<geom type='box' size='1 1 .1'/></body><body pos='.3 .2 .2'><freejoint/>"
      "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>";
  for (int tilts = 0; tilts < 2; ++tilts) {
    mujoco_run run = mujoco_run_text(text, NULL);
    const double w = tilts ? 0.05 : 0.5;
    mujoco_run_step(&run, 50);
    for (int i = 1; i <= 40; ++i) {
      const double half = 0.5 * w * h * i;
      run.data->mocap_quat[0] = cos(half);
      run.data->mocap_quat[tilts ? 1 : 3] = sin(half);
      mujoco_run_step(&run, 1);
    }
    const double *p = run.data->qpos, *v = run.data->qvel;
    const double expected[3] = {tilts ? 0.0 : -w * p[1], tilts ? -w * p[2] : w * p[0],
                                tilts ? w * p[1] : 0.0};
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(v[i], expected[i], 0.02 * w * 0.3);
    }
    mujoco_run_end(&run);
  }
}

// A body welded to a mocap body, as first or second, turns with it and does not lag, whatever the
// scale of torques and the two's rest.
static void test_welded_to_turning_mocap(void** state) {
  (void)state;
  static const char format[] =
      "<mujoco><compiler angle='degree'/><option timestep='0.005' gravity='0 0 0'/><worldbody>"
      "<body name='hand' mocap='true' pos='0 0 1'/><body name='tool' pos='.1 0 1' euler='20 40 10'>"
      "<freejoint/><geom type='box' size='.1 .05 .02' mass='2'/></body></worldbody><equality>"
      "<weld body1='%s' body2='%s' torquescale='%g'/></equality></mujoco>";
  for (int i = 0; i < 4; ++i) {
    char text[1000];
    (void)snprintf(text, sizeof text, format, i < 2 ? "hand" : "tool", i < 2 ? "tool" : "hand",
                   i % 2 == 0 ? 1.0 : 0.3);
    mujoco_run run = mujoco_run_text(text, NULL);
    const double w = 1.5;
    mujoco_run_step(&run, 1);
    double largest = 0.0;
    for (int k = 1; k <= 200; ++k) {
      const double half = 0.5 * w * h * k;
      run.data->mocap_quat[0] = cos(half);
      run.data->mocap_quat[3] = sin(half);
      mujoco_run_step(&run, 1);
      for (int row = 3; k > 20 && row < 6; ++row) {
        largest = fmax(largest, fabs(run.data->efc_pos[row]));
      }
    }
    ASSERT_NEAR(run.data->qvel[0], -w * 0.1 * sin(w * h * 200), 1e-2 * w * 0.1);
    ASSERT_NEAR(largest, 0.0, 1e-4);  // half an angle; w (h + tau_d)/2 = 0.011 if it lagged
    mujoco_run_end(&run);
  }
}

// q_1 follows a polynomial of q_2 in motion, as if it had known where q_2 would be; both count from
// their reference.
static void test_coupled_joints(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><joint name='y' "
      "type='slide' axis='0 0 1' ref='.2'/><geom size='.1' mass='1'/></body><body pos='1 0 "
      "0'><joint "
      "name='x'"
      " type='slide' axis='1 0 0' ref='.4'/><geom size='.1' "
      "mass='1000'/></body></worldbody><equality>"
      "<joint joint1='y' joint2='x' polycoef='.1 .2 1 .3 -.2'/></equality></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->qpos[0] = 0.2 + 0.1;
  run.data->qvel[0] = 0.2 * 3.0;
  run.data->qvel[1] = 3.0;
  for (int i = 0; i < 60; ++i) {
    mujoco_run_step(&run, 1);
    const double x = run.data->qpos[1] - 0.4;
    const double y = 0.2 + 0.1 + x * (0.2 + x * (1.0 + x * (0.3 - 0.2 * x)));
    ASSERT_NEAR(run.data->qpos[0], y, 1e-5);  // h (h + tau_d)/2 p'' v^2 = 7e-4 m if it lagged
  }
  assert_true(run.data->qpos[1] > 0.4 + 0.85);
  mujoco_run_end(&run);
}

// The length of a tendon follows that of another by a line, or stays where the equality has it;
// lengths count from those at the reference.
static void test_coupled_tendons(void** state) {
  (void)state;
  static const char format[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><joint name='y' "
      "type='slide' axis='0 0 1' ref='.2'/><geom size='.1' mass='1'/></body><body pos='1 0 0'>"
      "<joint name='x' type='slide' axis='1 0 0' ref='.4'/><geom size='.1' mass='1000'/></body>"
      "</worldbody><tendon><fixed name='a'><joint joint='y' coef='2'/></fixed><fixed name='b'>"
      "<joint joint='x' coef='-3'/></fixed></tendon><equality><tendon tendon1='a' %s "
      "polycoef='.1 -.5 0 0 0'/></equality></mujoco>";
  for (int two = 0; two < 2; ++two) {
    char text[1024];
    (void)snprintf(text, sizeof text, format, two ? "tendon2='b'" : "");
    mujoco_run run = mujoco_run_text(text, NULL);
    run.data->qpos[0] = 0.2 + 0.05;
    run.data->qvel[1] = 3.0;
    run.data->qvel[0] = two ? 0.5 * 3.0 * 3.0 / 2.0 : 0.0;
    mujoco_run_step(&run, 40);
    const double x = run.data->qpos[1] - 0.4;
    ASSERT_NEAR(run.data->qpos[0] - 0.2, (0.1 + (two ? 0.5 * 3.0 * x : 0.0)) / 2.0, 1e-9);
    ASSERT_NEAR(x, 0.6, 1e-3);
    mujoco_run_end(&run);
  }
}

// A body of 2 kg on an equality of 4000 N/m and 50 N s/m hangs m g/k below its place, and comes to
// rest there; nothing else moves.
static void test_soft_equalities(void** state) {
  (void)state;
  static const char* const equalities[] = {"<joint joint1='y' polycoef='.1 0 0 0 0' ",
                                           "<joint joint1='y' joint2='x' polycoef='.1 2 0 0 0' ",
                                           "<tendon tendon1='t' polycoef='.1 0 0 0 0' ",
                                           "<connect body1='free' anchor='0 0 0' ",
                                           "<weld body1='free' anchor='3 0 0' "};
  static const char format[] =
      "<mujoco><option timestep='0.005'/><worldbody><body><joint name='y' type='slide' axis='0 0 "
      "1'/>"
      "<geom size='.1' mass='2'/></body><body pos='1 0 0'><joint name='x' type='slide' axis='1 0 "
      "0'/>"
      "<geom size='.1' mass='1e14'/></body><body name='free' pos='3 0 0'><freejoint/>"
      "<geom size='.1' mass='2'/></body></worldbody><tendon><fixed name='t'><joint joint='y' "
      "coef='1'/></fixed></tendon><equality>%s solref='-4000 -50'/></equality></mujoco>";
  for (int i = 0; i < 5; ++i) {
    char text[1400];
    (void)snprintf(text, sizeof text, format, equalities[i]);
    mujoco_run run = mujoco_run_text(text, NULL);
    mujoco_run_step(&run, 300);
    const double* q = run.data->qpos;
    const double sag = 2.0 * 9.81 / 4000.0;
    ASSERT_NEAR(i < 3 ? q[0] - 0.1 : q[4], -sag, 1e-6);
    ASSERT_NEAR(q[1], 0.0, 1e-6);
    for (int k = 0; i >= 3 && k < 7; ++k) {
      ASSERT_NEAR(q[2 + k], k == 0 ? 3.0 : k == 2 ? -sag : k == 3 ? 1.0 : 0.0, 1e-6);
    }
    mujoco_run_end(&run);
  }
}

// A thin mocap plate takes a ball along, slowly or by more than the ball's diameter in a step.
static void test_pushing_mocap(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body name='m' mocap='true'>"
      "<geom type='box' size='.001 .5 .5'/></body><body pos='.43 0 0'><freejoint/>"
      "<geom size='.02' mass='1'/></body></worldbody></mujoco>";
  static const double ways[] = {0.001, 0.01, 0.05, 0.09};  // of a step [m]
  for (int k = 0; k < 4; ++k) {
    mujoco_run run = mujoco_run_text(text, NULL);
    for (int i = 1; ways[k] * i < 0.6; ++i) {
      run.data->mocap_pos[0] = ways[k] * i;
      mujoco_run_step(&run, 1);
    }
    const double speed = ways[k] / h;
    assert_true(run.data->qpos[0] > run.data->mocap_pos[0]);
    assert_true(run.data->qvel[0] > 0.9 * speed && run.data->qvel[0] < 1.1 * speed);
    mujoco_run_end(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dry_friction),    cmocka_unit_test(test_damper),
      cmocka_unit_test(test_ranged_damper),   cmocka_unit_test(test_adhesion),
      cmocka_unit_test(test_turning_mocap),   cmocka_unit_test(test_coupled_joints),
      cmocka_unit_test(test_coupled_tendons), cmocka_unit_test(test_welded_to_turning_mocap),
      cmocka_unit_test(test_soft_equalities), cmocka_unit_test(test_pushing_mocap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
