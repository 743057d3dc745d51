// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of steps of MuJoCo's models: a linear system, a sliding box, what the call leaves.
#include "support/mujoco_run.h"

static const char CART[] =
    "<mujoco><option timestep='.01' gravity='0 0 -9.81'/><worldbody><body>"
    "<joint name='x' type='slide' axis='1 0 0' stiffness='20' damping='3'/>"
    "<geom size='.1' mass='2'/></body></worldbody><actuator>"
    "<motor joint='x' ctrlrange='-1 1' ctrllimited='true' gear='2'/></actuator>"
    "<sensor><jointpos joint='x'/><jointvel joint='x'/></sensor></mujoco>";

static mujoco_run begin(const char* text) {
  sap_mj_options options = sap_mj_options_default();
  options.solver_options.relative_tolerance = 1e-12;
  return mujoco_run_text(text, &options);
}

static sap_status transition(mujoco_run* run, const sap_mj_differences* of, sap_error* error) {
  return sap_mj_transition(run->adapter, run->data, of, error);
}

// Implicit Euler on m x'' = -k x - d x' + g u: (m + dt d + dt^2 k) v = m v0 - dt k x0 + dt g u.
static void test_linear_system(void** state) {
  (void)state;
  const double dt = 0.01, mass = 2.0 + dt * 3.0 + dt * dt * 20.0;
  const double v[3] = {-dt * 20.0 / mass, 2.0 / mass, dt * 2.0 / mass};
  const double controls[] = {0.2, 1.0, -1.0};
  for (int i = 0; i < 6; ++i) {
    mujoco_run run = begin(CART);
    double A[4], B[2], C[4], D[2];
    run.data->qpos[0] = 0.1;
    run.data->qvel[0] = -0.2;
    run.data->ctrl[0] = controls[i / 2];  // also at the ends of its range
    const double qvel = run.data->qvel[0], u = run.data->ctrl[0];
    assert_int_equal(transition(&run, &(sap_mj_differences){1e-6, i % 2 == 0, A, B, C, D}, NULL),
                     0);
    for (int k = 0; k < 2; ++k) {
      ASSERT_NEAR(A[k], (k == 0) + dt * v[k], 1e-8);
      ASSERT_NEAR(A[2 + k], v[k], 1e-8);
      ASSERT_NEAR(C[k], k == 0 ? 1.0 : 0.0, 1e-8);  // of the start, as MuJoCo's sensors
      ASSERT_NEAR(C[2 + k], k == 1 ? 1.0 : 0.0, 1e-8);
    }
    ASSERT_NEAR(B[0], dt * v[2], 1e-8);
    ASSERT_NEAR(B[1], v[2], 1e-8);
    ASSERT_NEAR(D[0], 0.0, 1e-12);
    assert_true(run.data->qvel[0] == qvel && run.data->ctrl[0] == u && run.data->time == 0.0);
    double alone[2] = {0.0, 0.0};
    assert_int_equal(
        transition(&run, &(sap_mj_differences){1e-6, true, NULL, alone, NULL, NULL}, NULL), 0);
    ASSERT_NEAR(alone[1], B[1], 1e-8);
    mujoco_run_end(&run);
  }
}

static const char BOX[] =
    "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .2 .1'/></body></worldbody></mujoco>";

// A sliding box slows by mu g dt whatever its speed, and turns with its slip; the next step has the
// same bits as without the call.
static void test_sliding_box(void** state) {
  (void)state;
  mujoco_run run = begin(BOX), other = begin(BOX);
  double A[144];
  run.data->qvel[0] = other.data->qvel[0] = 1.0;
  mujoco_run_step(&run, 10);
  mujoco_run_step(&other, 10);
  assert_int_equal(transition(&run, &(sap_mj_differences){1e-6, true, A, NULL, NULL, NULL}, NULL),
                   0);
  ASSERT_NEAR(A[12 * 6 + 6], 1.0, 1e-4);
  ASSERT_NEAR(A[12 * 0 + 6], 0.005, 1e-6);
  assert_true(A[12 * 7 + 7] < 0.99 && A[12 * 7 + 7] > 0.9);  // across: 1 - mu g dt/v
  assert_true(fabs(A[12 * 8 + 8]) < 0.9);
  mujoco_run_step(&run, 3);
  mujoco_run_step(&other, 3);
  assert_memory_equal(run.data->qpos, other.data->qpos, 7 * sizeof(double));
  mujoco_run_end(&run);
  mujoco_run_end(&other);
}

static const char MIXED[] =
    "<mujoco><option timestep='.01'/><worldbody><body pos='0 0 1'><joint name='b' type='ball' "
    "damping='.2'/><geom type='capsule' size='.05' fromto='0 0 0 .3 .1 0' mass='1'/></body><body "
    "pos='1 0 0'><joint name='x' type='slide' stiffness='20'/><geom size='.1' mass='2'/></body>"
    "</worldbody><actuator><motor joint='x' gear='3'/><general name='u' joint='x' dyntype='filter' "
    "dynprm='.05' gainprm='7'/></actuator><sensor><ballangvel joint='b'/><jointpos joint='x'/>"
    "<actuatorfrc actuator='u'/></sensor></mujoco>";
enum { NV = 4, NX = 9, NU = 2, NS = 5 };

// A step from the start with input k, of [dq v act ctrl], moved by h.
static void step_from(const mujoco_run* start, int k, double h, double out[NX + NS]) {
  mujoco_run run = begin(MIXED);
  mj_copyData(run.data, start->model, start->data);
  double way[NV] = {0.0};
  way[k < NV ? k : 0] = k < NV ? h : 0.0;
  mj_integratePos(run.model, run.data->qpos, way, 1.0);
  *(k < NV       ? &way[0]
    : k < 2 * NV ? &run.data->qvel[k - NV]
    : k < NX     ? &run.data->act[0]
                 : &run.data->ctrl[k - NX]) += h;
  mujoco_run_step(&run, 1);
  mj_differentiatePos(run.model, out, 1.0, start->data->qpos, run.data->qpos);
  memcpy(out + NV, run.data->qvel, NV * sizeof *out);
  out[2 * NV] = run.data->act[0];
  memcpy(out + NX, run.data->sensordata, NS * sizeof *out);
  mujoco_run_end(&run);
}

// All columns against differences of steps of new adapters.
static void test_columns(void** state) {
  (void)state;
  mujoco_run run = begin(MIXED);
  double A[NX * NX], B[NX * NU], C[NS * NX], D[NS * NU];
  for (int i = 0; i < NV; ++i) {
    run.data->qvel[i] = 0.5 - 0.3 * i;
  }
  run.data->act[0] = 0.4;
  run.data->ctrl[0] = 0.2;
  run.data->ctrl[1] = -0.7;
  mujoco_run_step(&run, 3);
  assert_int_equal(transition(&run, &(sap_mj_differences){1e-6, true, A, B, C, D}, NULL), 0);
  for (int k = 0; k < NX + NU; ++k) {
    double more[NX + NS], less[NX + NS];
    step_from(&run, k, 1e-5, more);
    step_from(&run, k, -1e-5, less);
    for (int i = 0; i < NX + NS; ++i) {
      const double found = i < NX ? (k < NX ? A[NX * i + k] : B[NU * i + k - NX])
                                  : (k < NX ? C[NX * (i - NX) + k] : D[NU * (i - NX) + k - NX]);
      ASSERT_NEAR(found, (more[i] - less[i]) / 2e-5, 1e-6 * fmax(1.0, fabs(found)));
    }
  }
  assert_true(fabs(A[NX * 7 + 8]) > 1e-3 && fabs(B[NU * 8 + 1]) > 1e-3);  // act on v, ctrl on act
  mujoco_run_end(&run);
}

static void test_wrong_input(void** state) {
  (void)state;
  mujoco_run run = begin(CART);
  sap_error error = {0};
  double A[4];
  const sap_mj_differences good = {1e-6, true, A, NULL, NULL, NULL};
  const double wrong[] = {0.0, -1e-6, (double)NAN, HUGE_VAL};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(
        transition(&run, &(sap_mj_differences){wrong[i], true, A, NULL, NULL, NULL}, &error),
        SAP_STATUS_ARGUMENT);
    assert_non_null(strstr(error.message, "eps"));
  }
  assert_int_equal(sap_mj_transition(NULL, run.data, &good, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_mj_transition(run.adapter, NULL, &good, &error), SAP_STATUS_ARGUMENT);
  run.data->qvel[0] = (double)NAN;
  assert_int_equal(transition(&run, &good, &error), SAP_STATUS_NOT_FINITE);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear_system),
      cmocka_unit_test(test_sliding_box),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
