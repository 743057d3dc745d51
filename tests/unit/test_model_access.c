// SPDX-License-Identifier: BSD-3-Clause
// Getters of models and states, and the effect of actuators.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"
#include "support/mixed_model.h"
#include "support/simulation.h"

static void shapes_come_back(void** state) {
  (void)state;
  sap_builder* builder = mixed_builder();
  sap_shape_def def = sap_shape_def_default();
  def.name = "skin";
  def.type = SAP_SHAPE_CAPSULE;
  def.body = 3;
  def.size[0] = 0.1;
  def.size[1] = 0.2;
  def.size[2] = 0.3;
  def.q_BS[0] = 0.0;
  def.q_BS[2] = 3.0;
  def.priority = 2;
  int32_t id = -1;
  assert_int_equal(sap_builder_add_shape(builder, &def, &id, NULL), SAP_STATUS_OK);
  sap_model* model = simulation_compile(builder);
  sap_shape_def out;
  assert_int_equal(sap_model_get_shape(model, id, &out, NULL), SAP_STATUS_OK);
  assert_string_equal(out.name, "skin");
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_SHAPE, "skin"), id);
  assert_int_equal(out.type, SAP_SHAPE_CAPSULE);
  assert_int_equal(out.body, 3);
  assert_int_equal(out.priority, 2);
  assert_true(out.size[0] == 0.1 && out.size[1] == 0.2 && out.size[2] == 0.0);
  assert_true(out.q_BS[0] == 0.0 && out.q_BS[2] == 1.0);
  assert_int_equal(sap_model_get_shape(model, 1, &out, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_model_get_shape(model, -1, &out, NULL), SAP_STATUS_ARGUMENT);
  sap_model_destroy(model);
}

static void unknown_ids_are_refused(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  sap_joint_type type = SAP_JOINT_SLIDE;
  int32_t body = 5, q = 5, v = 5;
  sap_error error = {0};
  assert_int_equal(sap_model_joint_address(model, 8, &type, &body, &q, &v, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "joint 8: the model has 8");
  assert_true(body == -1 && q == -1 && v == -1);
  assert_int_equal(sap_model_joint_address(model, 3, &type, &body, &q, &v, &error), SAP_STATUS_OK);
  assert_true(type == SAP_JOINT_BALL && body == 4 && q == 3 && v == 3);
  assert_string_equal(sap_model_get_name(model, SAP_ELEMENT_JOINT, 3), "wrist");
  assert_string_equal(sap_model_get_name(model, SAP_ELEMENT_JOINT, 8), "");
  assert_string_equal(sap_model_get_name(model, SAP_ELEMENT_ACTUATOR, 0), "");
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_BODY, "wrist"), -1);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_BODY, ""), -1);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_BODY, NULL), -1);
  assert_true(sap_model_get_body_mass(model, 6) == 3.0);
  assert_true(isnan(sap_model_get_body_mass(model, 9)));
  sap_model_destroy(model);
}

static void exclusions_are_sorted_pairs(void** state) {
  (void)state;
  sap_builder* builder = mixed_builder();
  const int32_t pairs[][2] = {{5, 2}, {1, 0}, {2, 5}, {7, 2}, {2, 3}, {0, 1}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    assert_int_equal(sap_builder_exclude(builder, pairs[i][0], pairs[i][1], NULL), SAP_STATUS_OK);
  }
  sap_model* model = simulation_compile(builder);
  const int32_t expected[][2] = {{0, 1}, {2, 3}, {2, 5}, {2, 7}};
  assert_int_equal(model->exclusion_count, 4);
  assert_memory_equal(model->exclusions, expected, sizeof expected);
  sap_model_destroy(model);
}

// gear clamp(gain clamp(control) + bias) at the joint's dof.
static void actuators_clamp(void** state) {
  (void)state;
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  const sap_body_def body = {.cookie = sap_body_def_default().cookie,
                             .mass = 1.0,
                             .q_PB = {1.0},
                             .I_BCo_B = {1.0, 1.0, 1.0}};
  sap_joint_def joint = sap_joint_def_default();
  sap_actuator_def motor = sap_actuator_def_default();
  assert_int_equal(sap_builder_add_body(builder, &body, &joint.body, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_joint(builder, &joint, &motor.target, NULL), SAP_STATUS_OK);
  motor.gear = -2.0;
  motor.control_lower = -1.0;
  motor.control_upper = 4.0;
  motor.force_upper = 2.5;
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
  motor.force_lower = motor.control_lower = 10.0;
  motor.force_upper = motor.control_upper = (double)INFINITY;
  motor.gear = 1.0;
  motor.gain = 0.5;
  motor.bias[0] = 5.0;
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, NULL), SAP_STATUS_OK);
  sap_model* model = simulation_compile(builder);
  sap_dynamics* dynamics = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  // {control 0, control 1, force}: within, below, above the control range, beyond the force range.
  // The second: max(0.5 max(u, 10) + 5, 10).
  const double cases[][3] = {{1, 12, 9}, {-3, 14, 14}, {2.25, 0, 5.5}, {9, 10, 5}};
  const double q = 0.3, v = 0.0;
  sap_kinematics_set(&kin, &q);
  for (size_t i = 0; i < 4; ++i) {
    double k1, k2;
    sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, &v, cases[i]}, &k1, &k2);
    assert_true(fabs(k2 - cases[i][2]) < 1e-15 && k1 == 0.0);
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

static void states_copy_and_resize(void** state) {
  (void)state;
  sap_state a = {0}, b = {0};
  assert_int_equal(sap_state_resize(&a, 3, 2, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_resize(&b, 3, 2, NULL), SAP_STATUS_OK);
  a.t = 1.5;
  a.q[2] = 7.0;
  a.v[1] = -3.0;
  const double* kept = a.q;
  assert_int_equal(sap_state_resize(&a, 3, 2, NULL), SAP_STATUS_OK);
  assert_ptr_equal(a.q, kept);
  assert_int_equal(sap_state_copy(&a, &b, NULL), SAP_STATUS_OK);
  assert_true(b.t == 1.5 && b.q[2] == 7.0 && b.v[1] == -3.0);
  assert_int_equal(sap_state_resize(&b, 4, 2, NULL), SAP_STATUS_OK);
  b.t = 9.0;
  sap_error error = {0};
  assert_int_equal(sap_state_copy(&a, &b, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "state: nq = 3, nv = 2 cannot be copied to nq = 4, nv = 2");
  assert_true(b.t == 9.0);
  assert_int_equal(sap_state_resize(&a, -1, 2, NULL), SAP_STATUS_ARGUMENT);
  assert_true(a.nq == 3 && a.q[2] == 7.0);
  assert_int_equal(sap_state_copy(NULL, &b, NULL), SAP_STATUS_ARGUMENT);
  sap_state_clear(&a);
  sap_state_clear(&b);
  sap_state_clear(NULL);
  assert_null(a.q);
  assert_int_equal(sap_state_resize(&a, 0, 0, NULL), SAP_STATUS_OK);
  sap_state_clear(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_come_back),
      cmocka_unit_test(unknown_ids_are_refused),
      cmocka_unit_test(exclusions_are_sorted_pairs),
      cmocka_unit_test(actuators_clamp),
      cmocka_unit_test(states_copy_and_resize),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
