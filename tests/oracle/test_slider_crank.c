// SPDX-License-Identifier: BSD-3-Clause
// Slider-cranks: lengths and moments against MuJoCo's, moments against differences of the length, a
// servo at rest where its law says.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/dynamics/actuators.h"
#include "support/near.h"
#include "support/simulation.h"

// MuJoCo 4.0.0, slider_crank.xml: mj_forward at qpos = (.3, -.2, .4): actuator_length and the
// diagonal of actuator_moment, whose other entries are 0. The third crank is too short to close.
static const double q[3] = {0.3, -0.2, 0.4};
static const double lengths[3] = {0.11099789248977518, 0.05597437858692048, 0.11756619672355746};
static const double moments[3] = {0.2391362543283539, -0.0523158299851359, -0.02012211788570746};

static simulation begin(void) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, SAPSTEP_SHARED "/models/mujoco/slider_crank/slider_crank.xml",
                       SAP_SCHEME_IMPLICIT_EULER, 5e-3, &error)) {
    simulation_skip_absent(&error);
  }
  return s;
}

static void test_mujoco(void** state) {
  (void)state;
  simulation s = begin();
  sap_dynamics* d = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(s.model, &d, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, d, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < 3; ++i) {
    double tau[3] = {0.0};
    sap_kinematics_set(&kin, q);
    ASSERT_NEAR(sap_transmission_length(&kin, i), lengths[i], 1e-15);
    sap_transmission_add_force(&kin, i, 2.0, tau);
    for (int32_t j = 0; j < 3; ++j) {
      ASSERT_NEAR(tau[j], i == j ? 2.0 * moments[i] : 0.0, 1e-14);
      const double h = 1e-6;
      double moved[3] = {q[0], q[1], q[2]};
      moved[j] += h;
      sap_kinematics_set(&kin, moved);
      const double high = sap_transmission_length(&kin, i);
      moved[j] -= 2.0 * h;
      sap_kinematics_set(&kin, moved);
      const double low = sap_transmission_length(&kin, i);
      ASSERT_NEAR((high - low) / (2.0 * h), 0.5 * tau[j], 1e-9);  // h^2 l'''
    }
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(d);
  simulation_end(&s);
}

// Position servos of kp 30 without gravity's help: the closed cranks go to their controls.
static void test_servo(void** state) {
  (void)state;
  simulation s = begin();
  sap_dynamics* d = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(s.model, &d, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, d, NULL), SAP_STATUS_OK);
  memcpy(s.state.q, q, sizeof q);
  const double control[3] = {0.10, 0.05, 0.0};
  assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  simulation_step(&s, 4000);
  double force[3] = {0.0};
  assert_int_equal(sap_multibody_actuator_forces(s.multibody, &s.report, force, NULL),
                   SAP_STATUS_OK);
  sap_kinematics_set(&kin, s.state.q);
  for (int32_t i = 0; i < 3; ++i) {
    const double length = sap_transmission_length(&kin, i);
    ASSERT_NEAR(s.state.v[i], 0.0, 1e-6);
    ASSERT_NEAR(force[i], 30.0 * (control[i] - length), 1e-6);
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(d);
  simulation_end(&s);
}

static void test_wrong_input(void** state) {
  (void)state;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  sap_actuator_def def = sap_actuator_def_default();
  sap_error error = {0};
  def.transmission = SAP_TRANSMISSION_SLIDER_CRANK;
  def.crank_length = 0.0;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "crank_length = 0 must be"));
  def.crank_length = 1.0;
  def.slider_axis[2] = 0.0;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, &error), SAP_STATUS_ARGUMENT);
  def.slider_axis[2] = (double)NAN;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, &error), SAP_STATUS_NOT_FINITE);
  def.slider_axis[2] = 1.0;
  def.crank_body = 5;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, &error), SAP_STATUS_ARGUMENT);
  def.crank_body = 0;
  assert_int_equal(sap_builder_add_actuator(builder, &def, NULL, &error), SAP_STATUS_OK);
  sap_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mujoco),
      cmocka_unit_test(test_servo),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
