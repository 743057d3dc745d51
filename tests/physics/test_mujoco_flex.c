// SPDX-License-Identifier: BSD-3-Clause
// Flexes of MuJoCo 3.3 and later: free motion as stock MuJoCo has it, weight carried by contacts
// and edges, friction, and runs that go on from checkpoints.
#include "support/mujoco_run.h"
#include "support/skip.h"

#if mjVERSION_HEADER >= 330

#define MODEL(options, bodies) \
  "<mujoco><option timestep='0.002' " options "/><worldbody>" bodies "</worldbody></mujoco>"
#define PLANE "<geom type='plane' size='3 3 .1' condim='3' friction='1'/>"
#define GRID(count, dim, more, inside)                                                            \
  "<flexcomp name='f' type='grid' count='" count "' spacing='.06 .06 .06' pos='0 0 .3' dim='" dim \
  "' radius='.01' mass='.5' " more ">" inside "</flexcomp>"
#define SOFT "<elasticity young='5e3' poisson='.2' damping='.03'/>"

// Elastic forces are MuJoCo's: explicit and without constraints a step is its Euler step.
static void test_free_motion(void** state) {
  (void)state;
  static const char* const models[] = {
      MODEL("", GRID("4 4 4", "3", "dof='trilinear'", SOFT)),
      MODEL("", GRID("5 5 1", "2", "", "<elasticity young='1e3' poisson='0' thickness='1e-2'/>")),
      MODEL("gravity='0 0 0'", GRID("3 3 3", "3", "", "<elasticity young='1e2' poisson='.2'/>"))};
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    sap_mj_options options = sap_mj_options_default();
    options.implicit = false;
    mujoco_run run = mujoco_run_text(models[i], &options);
    mjData* stock = mj_makeData(run.model);
    for (int k = 0; k < (int)run.model->nv; ++k) {
      run.data->qvel[k] = stock->qvel[k] = 0.1 * sin(3.0 * k);
    }
    for (int step = 0; step < 100; ++step) {
      mujoco_run_step(&run, 1);
      mj_step(run.model, stock);
    }
    double largest = 0.0;
    for (int k = 0; k < (int)run.model->nq; ++k) {
      largest = fmax(largest, fabs(stock->qpos[k]));
      ASSERT_NEAR(run.data->qpos[k], stock->qpos[k], 1e-11);  // round-off, which grows
    }
    assert_true(largest > 1e-3);
    mj_deleteData(stock);
    mujoco_run_end(&run);
  }
}

// Sum of the contact forces on the flex, which is the second of each pair or the first [N].
static void sum_contacts(const mujoco_run* run, double sum[3]) {
  sum[0] = sum[1] = sum[2] = 0.0;
  for (int i = 0; i < run->data->ncon; ++i) {
    const mjContact* c = &run->data->contact[i];
    mjtNum force[6];
    mj_contactForce(run->model, run->data, i, force);
    const double sign = c->flex[1] >= 0 ? 1.0 : -1.0;
    for (int k = 0; k < 3; ++k) {
      for (int r = 0; r < 3; ++r) {
        sum[k] += sign * c->frame[3 * r + k] * force[r];
      }
    }
  }
}

// At rest on a slope of 5 degrees the plane carries all of the weight, friction its share; dense
// and sparse rows, both cones, and all condims with friction agree.
static void test_rest(void** state) {
  (void)state;
#define SLOPE "gravity='0.855 0 -9.7727' "
#define REST(options, condim)                                      \
  MODEL(SLOPE options, PLANE GRID("4 4 4", "3", "dof='trilinear'", \
                                  SOFT "<contact condim='" condim "' friction='1 .01 .001'/>"))
  static const char* const models[] = {REST("cone='pyramidal' jacobian='dense'", "3"),
                                       REST("cone='elliptic' jacobian='dense'", "4"),
                                       REST("cone='pyramidal' jacobian='sparse'", "6"),
                                       REST("cone='elliptic' jacobian='sparse'", "3")};
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    mujoco_run run = mujoco_run_text(models[i], NULL);
    mujoco_run_step(&run, 1500);
    double sum[3];
    sum_contacts(&run, sum);
    ASSERT_NEAR(sum[0], -0.5 * 0.855, 1e-3);  // it still rocks a little
    ASSERT_NEAR(sum[2], 0.5 * 9.7727, 1e-3);
    assert_true(run.report.penetration < 1e-4);  // of 1e6 N/m: about 1e-6 m a corner
    assert_true(run.report.slip < 1e-3);
    mujoco_run_end(&run);
  }
}

// A chain of vertices held by edges without a stiffness of their own hangs as stock MuJoCo's does,
// and each edge carries what hangs below it.
static void test_hanging_edges(void** state) {
  (void)state;
  mujoco_run run =
      mujoco_run_text(MODEL("", GRID("8 1 1", "1", "euler='0 90 0'",
                                     "<edge equality='true' damping='1'/><pin id='0'/>")),
                      NULL);
  mujoco_run_step(&run, 3000);
  const mjData* d = run.data;
  mjData* stock = mj_makeData(run.model);
  for (int i = 0; i < 3000; ++i) {
    mj_step(run.model, stock);
  }
  assert_int_equal(d->ne, 7);
  for (int e = 0; e < 7; ++e) {
    const double below = 0.5 / 8 * 9.81 * (7 - e);
    ASSERT_NEAR(fabs(d->efc_force[e]), below, 1e-4 * below);
    ASSERT_NEAR(d->efc_pos[e], stock->efc_pos[e], 1e-6);  // both come to rest
    assert_true(d->efc_pos[e] > 1e-5);
  }
  mj_deleteData(stock);
  mujoco_run_end(&run);
}

// The same with a stiffness of its own: stretched by f/k.
static void test_physical_edges(void** state) {
  (void)state;
  mujoco_run run =
      mujoco_run_text(MODEL("", GRID("3 1 1", "1", "euler='0 90 0'",
                                     "<edge equality='true' solref='-2000 -20'/><pin id='0'/>")),
                      NULL);
  mujoco_run_step(&run, 3000);
  for (int e = 0; e < 2; ++e) {
    ASSERT_NEAR(run.data->efc_pos[e], 0.5 / 3 * 9.81 * (2 - e) / 2000.0, 1e-8);
  }
  mujoco_run_end(&run);
}

// A cloth with edges, and one that meets itself and a body: it converges and comes to rest.
static void test_cloth(void** state) {
  (void)state;
  mujoco_run run = mujoco_run_text(
      MODEL("", PLANE "<geom type='sphere' size='.1' pos='.02 0 .1'/>"
                      "<body pos='.1 .1 .5'><freejoint/><geom type='box' size='.03 .03 .03'"
                      " mass='.05'/></body>" GRID("7 7 1", "2", "",
                                                  "<edge equality='true' damping='.1'/>"
                                                  "<contact selfcollide='auto'/>")),
      NULL);
  for (int i = 0; i < 400; ++i) {
    mujoco_run_step(&run, 1);
    assert_true(run.report.solver == NULL || run.report.solver->outcome == SAP_OUTCOME_CONVERGED);
  }
  mj_energyVel(run.model, run.data);
  assert_true(run.data->energy[1] < 0.1);
  assert_true(run.data->ncon > 0);
  mujoco_run_end(&run);
}

#if mjVERSION_HEADER >= 4000000
// Contacts that MuJoCo's own integrator takes for penalties or barriers are contacts here.
static void test_other_contacts(void** state) {
  (void)state;
#define SHEET(more)                                                                           \
  PLANE GRID(                                                                                 \
      "5 5 1", "2", "",                                                                       \
      "<elasticity young='1e4' poisson='0' thickness='1e-2' damping='.02' elastic2d='both'/>" \
      "<contact selfcollide='none'" more "/>")
  static const char* const models[] = {
      MODEL("integrator='discrete'", SHEET(" passive='true'")),
      "<mujoco><option timestep='.002' integrator='discrete'><flag ipc='enable'/></option>"
      "<worldbody>" SHEET("") "</worldbody></mujoco>"};
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    mujoco_run run = mujoco_run_text(models[i], NULL);
    mujoco_run_step(&run, 500);
    double sum[3];
    sum_contacts(&run, sum);
    ASSERT_NEAR(sum[2], 0.5 * 9.81, 1e-2);
    for (int v = 0; v < (int)run.model->nflexvert; ++v) {
      ASSERT_NEAR(run.data->flexvert_xpos[3 * v + 2], 0.01, 1e-3);  // its radius above the ground
    }
    mujoco_run_end(&run);
  }
}
#endif

// From a checkpoint the run goes on bit for bit, and a model of another stiffness does not take it.
static void test_checkpoint(void** state) {
  (void)state;
#define CHECKPOINT(elasticity) \
  MODEL("", PLANE GRID("4 4 4", "3", "dof='trilinear'", elasticity "<contact condim='4'/>"))
  static const char text[] = CHECKPOINT(SOFT);
  static const char stiff[] = CHECKPOINT("<elasticity young='6e3' poisson='.2' damping='.03'/>");
  mujoco_run run = mujoco_run_text(text, NULL), other = mujoco_run_text(text, NULL);
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  scratch_begin(&s);
  mujoco_run_step(&run, 200);
  assert_int_equal(
      sap_mj_checkpoint_write(scratch_path(&s, "flex", path), run.adapter, run.data, 200, &error),
      SAP_STATUS_OK);
  int64_t steps = 0;
  if (sap_mj_checkpoint_read(path, other.adapter, other.data, &steps, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(steps, 200);
  mujoco_run stiffer = mujoco_run_text(stiff, NULL);
  assert_int_equal(sap_mj_checkpoint_read(path, stiffer.adapter, stiffer.data, &steps, &error),
                   SAP_STATUS_ARGUMENT);
  mujoco_run_end(&stiffer);
  scratch_end(&s);
  mujoco_run_step(&run, 50);
  mujoco_run_step(&other, 50);
  assert_memory_equal(run.data->qpos, other.data->qpos, (size_t)run.model->nq * sizeof(mjtNum));
  mujoco_run_end(&other);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_free_motion),
    cmocka_unit_test(test_rest),
    cmocka_unit_test(test_hanging_edges),
    cmocka_unit_test(test_physical_edges),
    cmocka_unit_test(test_cloth),
    cmocka_unit_test(test_checkpoint),
#if mjVERSION_HEADER >= 4000000
    cmocka_unit_test(test_other_contacts),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  return skip_program("this MuJoCo has no interpolated flexes");
}

#endif
