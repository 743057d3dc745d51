// SPDX-License-Identifier: BSD-3-Clause
// The adapter leaves one consistent set of forces in mjData:
//   M qacc = qfrc_smooth + qfrc_constraint,  qfrc_constraint = J' efc_force,
//   mj_contactForce = gamma/h of the solver, touch sensors the sum of normal forces
// for both kinds of cones in the model, dense and sparse Jacobians.
#include "support/mujoco_run.h"

// Springs and dampers in joints and tendons, a servo, limits, dry friction, a loop and contacts of
// condim 1 and 3 on a machine of three trees.
static const char MACHINE[] =
    "<mujoco><compiler autolimits='true'/><option timestep='0.004' %s/>"
    "<default><geom friction='0.7'/></default><worldbody>"
    "<geom name='floor' type='plane' size='5 5 1'/>"
    "<body name='box' pos='0 0 0.099'><freejoint/><geom type='box' size='.1 .1 .1'/>"
    "<site name='sole' pos='0 0 -.1' size='.15'/></body>"
    "<body pos='1 0 .5'><joint name='a' type='hinge' axis='0 1 0' stiffness='3' damping='.2'"
    " limited='true' range='-20 90'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/>"
    "<body name='tip' pos='.3 0 0'><joint name='b' type='hinge' axis='0 1 0' frictionloss='.05'"
    " armature='.01'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/></body></body>"
    "<body pos='-1 0 .0495'><joint name='x' type='slide' axis='1 0 0'/>"
    "<joint name='z' type='slide' axis='0 0 1'/><geom type='sphere' size='.05' condim='1'/></body>"
    "</worldbody>"
    "<tendon><fixed name='t' stiffness='20' damping='1'><joint joint='a' coef='1'/>"
    "<joint joint='x' coef='2'/></fixed></tendon>"
    "<equality><joint joint1='z' joint2='b' active='false'/></equality>"
    "<actuator><position name='servo' joint='b' kp='200' ctrlrange='-1 1'/>"
    "<position joint='a' kp='500' forcelimited='true' forcerange='-4 4'/></actuator>"
    "<sensor><touch site='sole'/><actuatorfrc actuator='servo'/></sensor></mujoco>";

// Forces are momenta over a short step: the balance shows at once how well the solver keeps it.
static sap_mj_options exact(void) {
  sap_mj_options options = sap_mj_options_default();
  options.solver_options.relative_tolerance = 1e-9;
  return options;
}

static mujoco_run machine(const char* option) {
  char text[sizeof MACHINE + 200];
  (void)snprintf(text, sizeof text, MACHINE, option);
  const sap_mj_options options = exact();
  mujoco_run run = mujoco_run_text(text, &options);
  run.data->ctrl[0] = 0.5;
  run.data->ctrl[1] = 0.3;
  run.data->qvel[0] = 1.0;
  run.data->qvel[run.model->nv - 2] = 0.5;
  return run;
}

static void assert_balance(const mujoco_run* run) {
  const mjModel* m = run->model;
  mjData* d = run->data;
  enum { MOST = 64 };
  mjtNum inertia[MOST], constraint[MOST];
  assert_true((int)m->nv <= MOST);
  mj_mulM(m, d, inertia, d->qacc);
  mj_mulJacTVec(m, d, constraint, d->efc_force);
  for (int i = 0; i < (int)m->nv; ++i) {
    const double sum = d->qfrc_smooth[i] + d->qfrc_constraint[i];
    const double parts = d->qfrc_passive[i] - d->qfrc_bias[i] + d->qfrc_applied[i] +
                         d->qfrc_actuator[i] + d->qfrc_constraint[i];
    const double size = fabs(inertia[i]) + fabs(d->qfrc_smooth[i]) + 1.0;
    // solver tolerance 1e-9 of the momentum, over a step; the sums themselves hold to round-off
    ASSERT_NEAR(inertia[i], sum, 2e-5 * size);
    ASSERT_NEAR(sum, parts, 1e-10 * size);
    ASSERT_NEAR(constraint[i], d->qfrc_constraint[i], 1e-10 * size);
  }
}

// Blocks of contacts are the cones of the problem, in the order of mjData.
static void assert_contact_forces(const mujoco_run* run, double* normal_sum) {
  const mjModel* m = run->model;
  const mjData* d = run->data;
  const double h = m->opt.timestep;
  int32_t block_index = 0;
  const int box = mj_name2id(m, mjOBJ_BODY, "box");
  *normal_sum = 0.0;
  for (int i = 0; i < (int)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    mjtNum force[6];
    mj_contactForce(m, d, i, force);
    if (c->exclude != 0) {
      continue;
    }
    if (m->geom_bodyid[c->geom2] == box || m->geom_bodyid[c->geom1] == box) {
      *normal_sum += force[0];
    }
    if (c->dim != 3) {
      continue;
    }
    sap_block block;
    int32_t row = 0;
    do {
      assert_int_equal(sap_problem_block(run->report.problem, block_index++, &block, &row, NULL),
                       SAP_STATUS_OK);
    } while (block.set != SAP_SET_FRICTION_CONE);
    const double* gamma = run->report.solution->gamma + row;
    const double tolerance = 1e-10 * (1.0 + fabs(gamma[2] / h));
    ASSERT_NEAR(force[0], gamma[2] / h, tolerance);
    ASSERT_NEAR(force[1], gamma[0] / h, tolerance);
    ASSERT_NEAR(force[2], gamma[1] / h, tolerance);
  }
}

static void run_machine(const char* option) {
  mujoco_run run = machine(option);
  int loaded = 0;
  for (int i = 0; i < 200; ++i) {
    mujoco_run_step(&run, 1);
    assert_balance(&run);
    double normal;
    assert_contact_forces(&run, &normal);
    ASSERT_NEAR(run.data->sensordata[0], normal, 1e-10 * (1.0 + normal));
    ASSERT_NEAR(run.data->sensordata[1], run.data->actuator_force[0], 1e-12);
    assert_true(fabs(run.data->actuator_force[1]) <= 4.0 + 1e-5);
    loaded += normal > 1.0;
  }
  assert_true(loaded > 150);
  mujoco_run_end(&run);
}

static void test_forces_elliptic(void** state) {
  (void)state;
  run_machine("cone='elliptic'");
}

static void test_forces_pyramidal(void** state) {
  (void)state;
  run_machine("cone='pyramidal'");
}

static void test_forces_sparse(void** state) {
  (void)state;
  run_machine("cone='pyramidal' jacobian='sparse'");
  run_machine("cone='elliptic' jacobian='sparse'");
}

// The kind of cone and of Jacobian in the model change round-off only.
static void test_same_motion(void** state) {
  (void)state;
  mujoco_run a = machine("cone='elliptic'"), b = machine("jacobian='sparse'");
  for (int i = 0; i < 100; ++i) {
    mujoco_run_step(&a, 1);
    mujoco_run_step(&b, 1);
  }
  for (int i = 0; i < (int)a.model->nq; ++i) {
    ASSERT_NEAR(a.data->qpos[i], b.data->qpos[i], 1e-6);  // the solver's tolerance, 100 times
  }
  mujoco_run_end(&a);
  mujoco_run_end(&b);
}

// Halves and whole, and two adapters from one state: the same bits.
static void test_same_bits(void** state) {
  (void)state;
  mujoco_run a = machine(""), b = machine("");
  sap_error error = {0};
  const size_t size = (size_t)a.model->nq * sizeof(mjtNum);
  for (int i = 0; i < 50; ++i) {
    mujoco_run_step(&a, 1);
    assert_int_equal(sap_mj_step1(b.adapter, b.data, &error), SAP_STATUS_OK);
    assert_true(b.data->nefc == a.data->nefc && b.data->nefc > 0);
    bool whole = false, half = false;  // reference accelerations of MuJoCo's own solver
    for (int r = 0; r < (int)b.data->nefc; ++r) {
      whole = whole || a.data->efc_aref[r] != 0.0;
      half = half || b.data->efc_aref[r] != 0.0;
    }
    assert_true(half && !whole);
    assert_int_equal(sap_mj_step2(b.adapter, b.data, NULL, &error), SAP_STATUS_OK);
    assert_memory_equal(a.data->qpos, b.data->qpos, size);
  }
  // a new adapter beside one with a past that was told to forget
  sap_mj* fresh = NULL;
  const sap_mj_options options = exact();
  assert_int_equal(sap_mj_create(a.model, &options, &fresh, &error), SAP_STATUS_OK);
  mjData* copy = mj_makeData(a.model);
  mj_copyData(copy, a.model, a.data);
  sap_mj_forget(a.adapter);
  for (int i = 0; i < 50; ++i) {
    mujoco_run_step(&a, 1);
    assert_int_equal(sap_mj_step(fresh, copy, NULL, &error), SAP_STATUS_OK);
    assert_memory_equal(a.data->qpos, copy->qpos, size);
    assert_memory_equal(a.data->qvel, copy->qvel, (size_t)a.model->nv * sizeof(mjtNum));
  }
  mj_deleteData(copy);
  sap_mj_destroy(fresh);
  mujoco_run_end(&a);
  mujoco_run_end(&b);
}

// MuJoCo's sensors of limits read the rows' velocities and forces. A row of an upper limit grows as
// the coordinate falls; the force is that of the step.
static void test_limit_sensors(void** state) {
  (void)state;
  const char* text =
      "<mujoco><option timestep='0.002' gravity='0 0 0'/><compiler angle='radian'/><worldbody>"
      "<body><joint name='a' type='hinge' axis='0 1 0' limited='true' range='-1 0.5'/>"
      "<geom size='.1' pos='0 0 -.5'/></body>"
      "<body pos='2 0 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='.1'/></body>"
      "</worldbody><tendon><fixed name='t' limited='true' range='-0.2 9'><joint joint='b' "
      "coef='2'/>"
      "</fixed></tendon><sensor><jointlimitvel joint='a'/><tendonlimitvel tendon='t'/>"
      "<jointlimitfrc joint='a'/></sensor></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  run.data->qpos[0] = 0.501;
  run.data->qpos[1] = -0.101;
  run.data->qvel[0] = 0.7;
  run.data->qvel[1] = -0.3;
  mujoco_run_step(&run, 1);
  ASSERT_NEAR(run.data->sensordata[0], -0.7, 1e-14);
  ASSERT_NEAR(run.data->sensordata[1], -0.6, 1e-14);
  ASSERT_NEAR(run.data->sensordata[2], -run.data->qfrc_constraint[0], 1e-9);
  assert_true(run.data->sensordata[2] > 0.0);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces_elliptic), cmocka_unit_test(test_forces_pyramidal),
      cmocka_unit_test(test_forces_sparse),   cmocka_unit_test(test_same_motion),
      cmocka_unit_test(test_same_bits),       cmocka_unit_test(test_limit_sensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
