// SPDX-License-Identifier: BSD-3-Clause
// A model that changes between steps: the adapter steps it as a new one does, bit for bit, and the
// change has an effect.
#include "support/mujoco_run.h"

static const char SCENE[] =
    "<mujoco><compiler angle='radian'/><option timestep='.005' density='2' viscosity='.1'/>"
    "<worldbody><geom type='plane' size='5 5 1' friction='.3'/>"
    "<body pos='0 0 .099'><freejoint/><geom type='box' size='.2 .15 .1' mass='2'/></body>"
    "<body name='arm' pos='2 0 1'><joint name='a' axis='0 1 0' stiffness='5' damping='.2' "
    "armature='.01' frictionloss='.05'/><geom type='capsule' size='.05' fromto='0 0 0 .3 0 0'/>"
    "<body pos='.3 0 0'><joint name='b' axis='0 1 0' damping='.1' limited='true' range='-.01 .01'/>"
    "<geom type='capsule' size='.04' fromto='0 0 0 .3 0 .1'/></body></body>"
    "<body pos='4 0 1'><joint name='c' type='slide' axis='0 0 1'/><geom size='.1' mass='1'/></body>"
    "</worldbody><tendon><fixed name='t' stiffness='20' damping='1' frictionloss='.1' "
    "limited='true' range='-.1 9'><joint joint='a' coef='1'/><joint joint='c' coef='.5'/></fixed>"
    "</tendon><actuator><position joint='a' kp='30'/><motor joint='b'/><general joint='c' "
    "dyntype='filter' dynprm='.05' gainprm='10' biastype='affine' biasprm='1 -20 -2'/></actuator>"
    "<equality>"
    "<joint joint1='b' joint2='c' polycoef='0 .1 0 0 0' active='false'/></equality></mujoco>";

static void turn_gravity(mjModel* m) {
  m->opt.gravity[0] = 3.0;
}
static void shorten(mjModel* m) {
  m->opt.timestep = 0.003;
}
static void thicken(mjModel* m) {
  m->opt.density = 500.0;
}
static void drop_gravity(mjModel* m) {
  m->opt.disableflags |= mjDSBL_GRAVITY;
}
static void drop_contacts(mjModel* m) {
  m->opt.disableflags |= mjDSBL_CONTACT;
}
static void drop_limits(mjModel* m) {
  m->opt.disableflags |= mjDSBL_LIMIT;
}
static void drop_actuation(mjModel* m) {
  m->opt.disableflags |= mjDSBL_ACTUATION;
}
static void ice(mjModel* m) {
  m->geom_friction[0] = m->geom_friction[3] = 0.01;
}
static void grow(mjModel* m) {
  m->geom_size[5] = 0.101;
}
static void add_mass(mjModel* m) {
  m->body_mass[2] += 1.0;
}
static void stiffen(mjModel* m) {
  m->jnt_stiffness[1] = 50.0;
}
static void damp(mjModel* m) {
  m->dof_damping[6] = 3.0;
}
static void add_armature(mjModel* m) {
  m->dof_armature[7] = 0.5;
}
static void rub(mjModel* m) {
  m->dof_frictionloss[6] = 1.0;
}
static void widen(mjModel* m) {
  m->jnt_range[5] = 0.005;
}
static void move_spring(mjModel* m) {
  m->qpos_spring[7] = 0.5;
}
static void tighten(mjModel* m) {
  m->tendon_stiffness[0] = 200.0;
}
static void drag(mjModel* m) {
  m->tendon_damping[0] = 9.0;
}
static void hold(mjModel* m) {
  m->tendon_frictionloss[0] = 1.0;
}
static void pull(mjModel* m) {
  m->actuator_gainprm[0] = 60.0, m->actuator_biasprm[1] = -60.0;
}
static void gear(mjModel* m) {
  m->actuator_gear[12] = 2.0;
}
static void slow(mjModel* m) {
  m->actuator_dynprm[2 * mjNDYN] = 0.5;
}
#if mjVERSION_HEADER < 300  // later it is mjData that says which equalities are active
static void couple(mjModel* m) {
  m->eq_active[0] = 1;
}
#endif

static void test_changes(void** state) {
  (void)state;
  static const struct {
    const char* name;
    void (*change)(mjModel*);
  } changes[] = {
    {"gravity", turn_gravity},
    {"timestep", shorten},
    {"density", thicken},
    {"no gravity", drop_gravity},
    {"no contacts", drop_contacts},
    {"no limits", drop_limits},
    {"no actuation", drop_actuation},
    {"friction", ice},
    {"size", grow},
    {"mass", add_mass},
    {"stiffness", stiffen},
    {"damping", damp},
    {"armature", add_armature},
    {"friction loss", rub},
    {"range", widen},
    {"spring", move_spring},
    {"stiffness of a tendon", tighten},
    {"damping of a tendon", drag},
    {"friction of a tendon", hold},
    {"gain", pull},
    {"gear", gear},
#if mjVERSION_HEADER < 300
    {"equality", couple},
#endif
    {"filter", slow}
  };
  for (size_t k = 0; k < sizeof changes / sizeof *changes; ++k) {
    mujoco_run run = mujoco_run_text(SCENE, NULL);
    run.data->ctrl[0] = 0.3;
    run.data->ctrl[1] = 2.0;
    run.data->ctrl[2] = 0.5;
    run.data->qvel[0] = 1.0;
    mujoco_run_step(&run, 20);
    mjData* same = mj_makeData(run.model);
    mj_copyData(same, run.model, run.data);
    sap_mj_forget(run.adapter);
    mujoco_run_step(&run, 1);
    mjData* without = mj_makeData(run.model);
    mj_copyData(without, run.model, run.data);
    mj_copyData(run.data, run.model, same);
    changes[k].change(run.model);
    sap_mj_forget(run.adapter);
    mujoco_run_step(&run, 1);
    mujoco_run other = {.model = run.model, .data = same};
    assert_int_equal(sap_mj_create(run.model, NULL, &other.adapter, NULL), SAP_STATUS_OK);
    mujoco_run_step(&other, 1);
    const size_t nq = (size_t)run.model->nq, nv = (size_t)run.model->nv;
    if (memcmp(run.data->qpos, same->qpos, nq * sizeof(mjtNum)) != 0 ||
        memcmp(run.data->qvel, same->qvel, nv * sizeof(mjtNum)) != 0) {
      fail_msg("%s: not as a new adapter", changes[k].name);
    }
    const bool changed = memcmp(without->qvel, same->qvel, nv * sizeof(mjtNum)) != 0 ||
                         memcmp(without->act, same->act, sizeof(mjtNum)) != 0;
    if (!changed) {
      fail_msg("%s: no effect", changes[k].name);
    }
    sap_mj_destroy(other.adapter);
    mj_deleteData(same);
    mj_deleteData(without);
    mujoco_run_end(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
