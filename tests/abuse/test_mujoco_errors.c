// SPDX-License-Identifier: BSD-3-Clause
// Errors return a status with a message; the process continues and the state is unchanged.

#include "support/mujoco_run.h"

static const char PILE[] =
    "<mujoco><option timestep='0.005'/>%s<worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 0 .5'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='1 0 1'><joint name='j' type='hinge' axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/></body></worldbody>"
    "<actuator><motor joint='j'/></actuator></mujoco>";

static mujoco_run pile(const char* size) {
  char text[sizeof PILE + 100];
  (void)snprintf(text, sizeof text, PILE, size);
  return mujoco_run_text(text, NULL);
}

static void assert_refused(mujoco_run* run, sap_status expected, const char* words) {
  const size_t nq = (size_t)run->model->nq, nv = (size_t)run->model->nv;
  mjtNum q[32], v[32];
  memcpy(q, run->data->qpos, nq * sizeof *q);
  memcpy(v, run->data->qvel, nv * sizeof *v);
  const double time = run->data->time;
  sap_error error = {0};
  assert_int_equal(sap_mj_step(run->adapter, run->data, NULL, &error), expected);
  assert_int_equal(error.status, expected);
  if (strstr(error.message, words) == NULL) {
    fail_msg("'%s' does not say '%s'", error.message, words);
  }
  assert_memory_equal(q, run->data->qpos, nq * sizeof *q);
  assert_memory_equal(v, run->data->qvel, nv * sizeof *v);
  assert_true(run->data->time == time);
}

static void test_numbers(void** state) {
  (void)state;
  mujoco_run run = pile("");
  mujoco_run_step(&run, 10);
  const struct {
    mjtNum* at;
    const char* words;
  } bad[] = {{&run.data->qpos[2], "qpos[2]"},
             {&run.data->qvel[7], "qvel[7]"},
             {&run.data->ctrl[0], "ctrl[0]"},
             {&run.data->qfrc_applied[1], "qfrc_applied[1]"},
             {&run.data->xfrc_applied[8], "xfrc_applied[8]"},
             {&run.data->time, "time"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    const mjtNum good = *bad[i].at;
    *bad[i].at = (double)NAN;
    // NaN compares unequal to itself: look at the bytes
    const size_t nq = (size_t)run.model->nq;
    mjtNum q[32];
    memcpy(q, run.data->qpos, nq * sizeof *q);
    sap_error error = {0};
    assert_int_equal(sap_mj_step(run.adapter, run.data, NULL, &error), SAP_STATUS_NOT_FINITE);
    assert_non_null(strstr(error.message, bad[i].words));
    assert_memory_equal(q, run.data->qpos, nq * sizeof *q);
    *bad[i].at = good;
    mujoco_run_step(&run, 1);
  }
  mujoco_run_end(&run);
}

static void test_time_step(void** state) {
  (void)state;
  mujoco_run run = pile("");
  run.model->opt.timestep = 0.0;
  assert_refused(&run, SAP_STATUS_ARGUMENT, "timestep");
  run.model->opt.timestep = 0.01;
  mujoco_run_step(&run, 5);
  mujoco_run_end(&run);
}

// Not enough room for contacts: stock MuJoCo warns and goes on without them.
static void ignore(void* context, const char* message) {
  (void)message;
  ++*(int*)context;
}

static void test_overflow(void** state) {
  (void)state;
#if mjVERSION_HEADER >= 300
  mujoco_run run = pile("<size memory='10K'/>");
#else
  mujoco_run run = pile("<size nconmax='3'/>");
#endif
  int warnings = 0;
  sap_mj_options options = sap_mj_options_default();
  options.warning = ignore;
  options.warning_context = &warnings;
  sap_mj_destroy(run.adapter);
  assert_int_equal(sap_mj_create(run.model, &options, &run.adapter, NULL), SAP_STATUS_OK);
  sap_error error = {0};
  const sap_status status = sap_mj_step(run.adapter, run.data, NULL, &error);
  assert_true(status == SAP_STATUS_STEP_FAILED || status == SAP_STATUS_CALLBACK);
  assert_non_null(strstr(error.message, "MuJoCo: "));
  mujoco_run_end(&run);
}

// mju_error in a callback of the user's: the text comes back, MuJoCo's stack is as it was, and the
// adapter steps on.
static void complain(const mjModel* m, mjData* d) {
  (void)m;
  if (d->ctrl[0] == 7.0) {
#if mjVERSION_HEADER >= 300
    mj_markStack(d);
    mju_error("%s", "the controller is not well");
#else
    mju_error("the controller is not well");
#endif
  }
}

static void test_mujoco_error(void** state) {
  (void)state;
  mujoco_run run = pile("");
  mjcb_control = complain;
  mujoco_run_step(&run, 3);
  run.data->ctrl[0] = 7.0;
  const size_t stack = (size_t)run.data->pstack;
  for (int i = 0; i < 3; ++i) {
    assert_refused(&run, SAP_STATUS_CALLBACK, "MuJoCo: the controller is not well");
    assert_int_equal((size_t)run.data->pstack, stack);
  }
  run.data->ctrl[0] = 0.0;
  mujoco_run_step(&run, 3);
  mjcb_control = NULL;
  mujoco_run_end(&run);
}

static void fail_in_mujoco(void* context) {
  (void)context;
#if mjVERSION_HEADER >= 300
  mju_error("%s", "first");
#else
  mju_error("first");
#endif
}

// Rows of constraints are out of MuJoCo's sight while it finds velocities. Forces of the user's see
// them, and an error in the middle leaves them as they were.
static int rows_seen;
static void look_at_rows(const mjModel* m, mjData* d) {
  (void)m;
  rows_seen = (int)d->nefc;
}

static bool is_past_position;
static void note_stage(const mjModel* m, mjData* d, int stage) {
  is_past_position = stage == mjSTAGE_POS;
  look_at_rows(m, d);
}

static mjtNum fail_past_position(void) {  // MuJoCo asks for the time where a part of it begins
  if (is_past_position) {
    fail_in_mujoco(NULL);
  }
  return 0.0;
}

static void test_rows(void** state) {
  (void)state;
  mujoco_run run = pile(
      "<sensor><user dim='1' needstage='pos' datatype='real' objtype='joint' "
      "objname='j'/></sensor>");
  mjcb_passive = look_at_rows;
  mujoco_run_step(&run, 1);
  mjcb_passive = NULL;
  assert_true(rows_seen > 0);
  assert_int_equal(rows_seen, (int)run.data->nefc);
  mjcb_sensor = note_stage;
  mjcb_time = fail_past_position;
  assert_refused(&run, SAP_STATUS_CALLBACK, "MuJoCo: first");
  mjcb_time = NULL;
  mjcb_sensor = NULL;
  assert_true(rows_seen > 0);
  assert_int_equal(rows_seen, (int)run.data->nefc);
  mujoco_run_step(&run, 3);
  mujoco_run_end(&run);
}

static void test_call(void** state) {
  (void)state;
  sap_error error = {0};
  assert_int_equal(sap_mj_call(fail_in_mujoco, NULL, &error), SAP_STATUS_CALLBACK);
  assert_string_equal(error.message, "MuJoCo: first");
  assert_int_equal(sap_mj_call(NULL, NULL, &error), SAP_STATUS_ARGUMENT);
}

// Outside of our calls the user's own handler goes on to get the errors.
static int handled;
static void own_handler(const char* message) {
  (void)message;
  ++handled;
}

static void test_handler_before(void** state) {
  (void)state;
  mju_user_error = own_handler;
  mujoco_run run = pile("");
  mujoco_run_step(&run, 1);
  assert_int_equal(handled, 0);
  fail_in_mujoco(NULL);
  assert_int_equal(handled, 1);
  assert_int_equal(sap_mj_call(fail_in_mujoco, NULL, NULL), SAP_STATUS_CALLBACK);
  assert_int_equal(handled, 1);
  mujoco_run_end(&run);
}

static void test_load(void** state) {
  (void)state;
  mjModel* m = NULL;
  sap_error error = {0};
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  assert_int_equal(sap_mj_load("no/such/model.xml", &m, &error), SAP_STATUS_IO);
  assert_null(m);
  const char* bad[] = {"", "<mujoco>",
                       "<mujoco><worldbody><body><geom/></body></worldbody></mujoco>",
                       "<mujoco><bogus/></mujoco>"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    (void)scratch_write(&s, "bad.xml", bad[i], strlen(bad[i]), path);
    assert_int_equal(sap_mj_load(path, &m, &error), SAP_STATUS_SYNTAX);
    assert_non_null(strstr(error.message, "MuJoCo "));
    assert_non_null(strstr(error.message, sap_mj_version()));
    assert_null(m);
    assert_true(strlen(error.message) > strlen(path));
  }
  (void)scratch_write(&s, "bad.mjb", "nonsense", 8, path);
  assert_true(sap_mj_load(path, &m, &error) != SAP_STATUS_OK);
  assert_null(m);
  scratch_end(&s);
}

#if mjVERSION_HEADER >= 300
static void test_flexes_are_refused(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><flexcomp name='cloth' type='grid' count='3 3 1' spacing='.1 .1 .1' "
      "dim='2' mass='1'/></worldbody></mujoco>";
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  mjModel* m = NULL;
  sap_mj* none = NULL;
  sap_error error = {0};
  scratch_begin(&s);
  (void)scratch_write(&s, "cloth.xml", text, strlen(text), path);
  assert_int_equal(sap_mj_load(path, &m, &error), SAP_STATUS_OK);
  assert_int_equal(sap_mj_create(m, NULL, &none, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "flex 'cloth'"));
  assert_null(none);
  mj_deleteModel(m);
  scratch_end(&s);
}
#endif

static void test_arguments(void** state) {
  (void)state;
  mujoco_run run = pile("");
  sap_error error = {0};
  sap_mj* a = run.adapter;
  sap_mj* none = run.adapter;
  assert_int_equal(sap_mj_create(NULL, NULL, &none, &error), SAP_STATUS_ARGUMENT);
  assert_null(none);
  assert_int_equal(sap_mj_create(run.model, NULL, NULL, &error), SAP_STATUS_ARGUMENT);
  sap_mj_options options = sap_mj_options_default();
  options.solver = "nonesuch";
  assert_int_equal(sap_mj_create(run.model, &options, &none, &error), SAP_STATUS_ARGUMENT);
  assert_null(none);
  options = sap_mj_options_default();
  options.regularization.sigma = -1.0;
  assert_int_equal(sap_mj_create(run.model, &options, &none, &error), SAP_STATUS_ARGUMENT);
  options = sap_mj_options_default();
  options.mocap_speed_limit = (double)NAN;
  assert_int_equal(sap_mj_create(run.model, &options, &none, &error), SAP_STATUS_NOT_FINITE);
  options = sap_mj_options_default();
  options.contact_model = (sap_contact_model)77;
  assert_int_equal(sap_mj_create(run.model, &options, &none, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_set_geom(a, 99, 1e5, 0.01, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_set_geom(a, -2, 1e5, 0.01, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_set_geom(a, 0, 0.0, 0.01, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_set_geom(a, 0, (double)NAN, 0.01, &error), SAP_STATUS_NOT_FINITE);
  assert_int_equal(sap_mj_set_geom(a, 0, 1e5, -1.0, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_set_geom(a, 0, HUGE_VAL, 0.0, &error), SAP_STATUS_OK);
  double k, tau_d;
  assert_int_equal(sap_mj_get_geom(a, -1, &k, &tau_d, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_get_geom(a, 0, &k, &tau_d, &error), SAP_STATUS_OK);
  assert_true(isinf(k) && tau_d == 0.0);
  assert_int_equal(sap_mj_step(NULL, run.data, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_step(a, NULL, NULL, &error), SAP_STATUS_ARGUMENT);
  sap_mj_destroy(NULL);
  sap_mj_forget(NULL);
  mujoco_run_step(&run, 5);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_time_step),
    cmocka_unit_test(test_overflow),
    cmocka_unit_test(test_mujoco_error),
    cmocka_unit_test(test_call),
    cmocka_unit_test(test_load),
    cmocka_unit_test(test_arguments),
    cmocka_unit_test(test_handler_before),
    cmocka_unit_test(test_rows),
#if mjVERSION_HEADER >= 300
    cmocka_unit_test(test_flexes_are_refused),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
