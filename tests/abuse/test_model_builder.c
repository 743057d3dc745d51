// SPDX-License-Identifier: BSD-3-Clause
// Every wrong definition is refused with a message that names element, field and value, and leaves
// the builder as it was.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/model/builder.h"
#include "support/mixed_model.h"
#include "support/refused.h"

static sap_builder* builder;  // the mixed model: bodies 1 to 8, joints 0 to 7
static const double nan_value = (double)NAN;

static int setup(void** state) {
  (void)state;
  builder = mixed_builder();
  return builder == NULL ? -1 : 0;
}

static int teardown(void** state) {
  (void)state;
  sap_builder_destroy(builder);
  return 0;
}

static sap_body_def good_body(void) {
  sap_body_def def = sap_body_def_default();
  def.name = "new body";
  def.mass = 1.0;
  return def;
}

static sap_joint_def good_joint(void) {
  sap_joint_def def = sap_joint_def_default();
  def.name = "new joint";
  def.body = 2;
  return def;
}

static sap_shape_def good_shape(void) {
  sap_shape_def def = sap_shape_def_default();
  def.name = "new shape";
  def.size[0] = def.size[1] = def.size[2] = 0.1;
  return def;
}

static const int32_t tendon_joints[] = {0, 1, 6};
static const double tendon_coefficients[] = {1.0, -2.0, 0.5};

static sap_tendon_def good_tendon(void) {
  sap_tendon_def def = sap_tendon_def_default();
  def.name = "new tendon";
  def.njoints = 3;
  def.joints = tendon_joints;
  def.coefficients = tendon_coefficients;
  return def;
}

static sap_actuator_def good_actuator(void) {
  sap_actuator_def def = sap_actuator_def_default();
  def.name = "new actuator";
  return def;
}

static sap_keyframe_def good_keyframe(void) {
  return (sap_keyframe_def){.cookie = sap_keyframe_def_default().cookie,
                            .name = "new keyframe",
                            .q = mixed_q,
                            .v = mixed_v};
}

// Refuses the good definition of `kind` after `change` (of def).
#define REJECT(kind, change, expected, text) \
  REJECT_DEF(builder, kind, change, expected, " 'new " #kind "': " text)

// And accepts it after `change`.
#define ACCEPT(kind, change)                                                            \
  do {                                                                                  \
    sap_##kind##_def def = good_##kind();                                               \
    change;                                                                             \
    def.name = NULL;                                                                    \
    assert_int_equal(sap_builder_add_##kind(builder, &def, NULL, NULL), SAP_STATUS_OK); \
  } while (0)

static void bodies(void** state) {
  (void)state;
  REJECT(body, def.parent = -1, ARGUMENT, "parent = -1 must be in [0, 8]");
  REJECT(body, def.parent = 9, ARGUMENT, "parent = 9 must be in [0, 8]");
  REJECT(body, def.p_PB[1] = nan_value, NOT_FINITE, "p_PB[1] = ");
  REJECT(body, def.q_PB[0] = 0.0, ARGUMENT, "q_PB = 0 must not be zero");
  REJECT(body, def.q_PB[2] = (double)INFINITY, NOT_FINITE, "q_PB[2] = inf");
  REJECT(body, def.mass = -1.0, ARGUMENT, "mass = -1 must be >= 0");
  REJECT(body, def.mass = nan_value, NOT_FINITE, "mass = ");
  REJECT(body, def.p_BCo[2] = (double)INFINITY, NOT_FINITE, "p_BCo[2] = inf");
  REJECT(body, def.I_BCo_B[5] = nan_value, NOT_FINITE, "I_BCo_B[5] = ");
  REJECT(body, def.I_BCo_B[0] = -1.0, NOT_SPD, "I_BCo_B has principal moments -1");
  // [1 2; 2 1] has eigenvalues -1 and 3.
  REJECT(body, (def.I_BCo_B[0] = def.I_BCo_B[1] = 1.0, def.I_BCo_B[3] = 2.0), NOT_SPD,
         "I_BCo_B has principal moments -1, 0, 3: all must be >= 0");
  REJECT(body, (def.I_BCo_B[0] = def.I_BCo_B[1] = 1.0, def.I_BCo_B[2] = 2.01), ARGUMENT,
         "I_BCo_B has principal moments 1, 1, 2.01: the sum");
  ACCEPT(body, (def.I_BCo_B[0] = def.I_BCo_B[1] = 1.0, def.I_BCo_B[2] = 2.000001));
  ACCEPT(body, def.I_BCo_B[0] = 0.0);
  ACCEPT(body, (def.q_PB[0] = 1e-200, def.mass = 0.0));
}

static void joints(void** state) {
  (void)state;
  REJECT(joint, def.type = (sap_joint_type)4, ARGUMENT, "type = 4 must be free (0)");
  REJECT(joint, def.body = 0, ARGUMENT, "body = 0 must be in [1, ");
  REJECT(joint, def.body = 1000, ARGUMENT, "body = 1000 must be in [1, ");
  REJECT(joint, def.p_BJ[0] = nan_value, NOT_FINITE, "p_BJ[0] = ");
  REJECT(joint, def.axis[2] = 0.0, ARGUMENT, "axis = 0 must not be zero");
  REJECT(joint, def.axis[0] = nan_value, NOT_FINITE, "axis[0] = ");
  REJECT(joint, def.reference = (double)INFINITY, NOT_FINITE, "reference = inf");
  REJECT(joint, def.lower = nan_value, NOT_FINITE, "lower = ");
  REJECT(joint, (def.lower = 2.0, def.upper = 1.0), ARGUMENT, "lower = 2 must be <= upper = 1");
  REJECT(joint, def.lower = (double)INFINITY, ARGUMENT, "lower = inf must be <= upper = inf");
  REJECT(joint, def.limit_stiffness = 0.0, ARGUMENT, "limit_stiffness = 0 must be > 0");
  REJECT(joint, def.limit_stiffness = nan_value, NOT_FINITE, "limit_stiffness = ");
  REJECT(joint, def.limit_relaxation_time = -0.1, ARGUMENT, "limit_relaxation_time = -0.1");
  REJECT(joint, def.stiffness = -1.0, ARGUMENT, "stiffness = -1 must be >= 0");
  REJECT(joint, def.spring_reference = nan_value, NOT_FINITE, "spring_reference = ");
  REJECT(joint, def.damping = -1.0, ARGUMENT, "damping = -1 must be >= 0");
  REJECT(joint, def.armature = (double)INFINITY, NOT_FINITE, "armature = inf must be finite");
  REJECT(joint, def.friction_loss = -2.0, ARGUMENT, "friction_loss = -2 must be >= 0");
  REJECT(joint, (def.type = SAP_JOINT_BALL, def.upper = 0.0), ARGUMENT, "upper = 0 must be > 0");
  REJECT(joint, def.type = SAP_JOINT_FREE, ARGUMENT, "body = 2 has joints");
  REJECT(joint, def.body = 6, ARGUMENT, "body = 6 has a free joint");
  REJECT(joint, (def.body = 3, def.type = SAP_JOINT_FREE), ARGUMENT,
         "body = 3 hangs on a moving body");
  REJECT(joint, (def.body = 1, def.type = SAP_JOINT_FREE, def.upper = 1.0), ARGUMENT,
         "lower = -inf, upper = 1: a free joint has no limits");
  REJECT(joint, (def.body = 1, def.type = SAP_JOINT_FREE, def.stiffness = 1.0), ARGUMENT,
         "stiffness = 1: a free joint has no spring");
  ACCEPT(joint, (def.type = SAP_JOINT_BALL, def.lower = 0.0, def.upper = 1.0, def.axis[2] = 0.0));
  ACCEPT(joint, (def.limit_stiffness = (double)INFINITY, def.lower = def.upper = 1.0));
}

static void shapes(void** state) {
  (void)state;
  REJECT(shape, def.type = (sap_shape_type)7, ARGUMENT, "type = 7 must be plane (0)");
  REJECT(shape, def.size[0] = 0.0, ARGUMENT, "size[0] = 0 must be > 0");
  REJECT(shape, (def.type = SAP_SHAPE_CAPSULE, def.size[1] = -1.0), ARGUMENT, "size[1] = -1");
  REJECT(shape, (def.type = SAP_SHAPE_BOX, def.size[2] = nan_value), NOT_FINITE, "size[2] = ");
  REJECT(shape, def.body = -1, ARGUMENT, "body = -1 must be in [0, ");
  REJECT(shape, (def.type = SAP_SHAPE_PLANE, def.body = 3), ARGUMENT, "body = 3 moves");
  REJECT(shape, def.p_BS[0] = nan_value, NOT_FINITE, "p_BS[0] = ");
  REJECT(shape, def.q_BS[0] = 0.0, ARGUMENT, "q_BS = 0 must not be zero");
  REJECT(shape, def.material.stiffness = -1.0, ARGUMENT, "material.stiffness = -1");
  ACCEPT(shape, def.material.stiffness = 0.0);
  REJECT(shape, def.material.relaxation_time = -1.0, ARGUMENT, "material.relaxation_time = -1");
  REJECT(shape, def.material.friction = -0.5, ARGUMENT, "material.friction = -0.5");
  REJECT(shape, def.condim = 5, ARGUMENT, "condim = 5 must be 1, 3, 4 or 6");
  ACCEPT(shape, def.size[1] = -1.0);  // a sphere has one size
  ACCEPT(shape, (def.type = SAP_SHAPE_PLANE, def.body = 1, def.size[0] = 0.0));
  ACCEPT(shape, def.material.stiffness = (double)INFINITY);
}

static void tendons(void** state) {
  (void)state;
  static const int32_t ball[] = {0, 3, 6}, twice[] = {0, 1, 0}, unknown[] = {0, 99, 6};
  static const double bad[] = {1.0, (double)INFINITY, 1.0};
  REJECT(tendon, def.njoints = 0, ARGUMENT, "njoints = 0 must be >= 1");
  REJECT(tendon, def.joints = NULL, ARGUMENT, "njoints = 3 must be >= 1, with joints");
  REJECT(tendon, def.joints = ball, ARGUMENT, "joints = 3 must be a hinge or slide joint");
  REJECT(tendon, def.joints = twice, ARGUMENT, "joints: 0 is listed twice");
  REJECT(tendon, def.joints = unknown, ARGUMENT, "joints = 99 must be in [0, ");
  REJECT(tendon, def.coefficients = bad, NOT_FINITE, "coefficients[1] = inf");
  REJECT(tendon, (def.lower = 1.0, def.upper = 0.0), ARGUMENT, "lower = 1 must be <= upper = 0");
  REJECT(tendon, def.limit_stiffness = -1.0, ARGUMENT, "limit_stiffness = -1");
  REJECT(tendon, def.limit_relaxation_time = nan_value, NOT_FINITE, "limit_relaxation_time = ");
  ACCEPT(tendon, def.upper = 1.0);
}

static void motor_speeds(void** state) {
  (void)state;
  REJECT(joint, def.motor_speed = 0.0, ARGUMENT, "motor_speed = 0 must be > 0");
  REJECT(joint, def.motor_speed = nan_value, NOT_FINITE, "motor_speed = ");
}

static void actuators(void** state) {
  (void)state;
  REJECT(actuator, def.target = 99, ARGUMENT, "target = 99 must be in [0, ");
  REJECT(actuator, def.target = 5, ARGUMENT, "direction must not be zero");  // free
  REJECT(actuator, (def.target = 5, def.direction[4] = nan_value), NOT_FINITE, "direction[4] = ");
  REJECT(actuator, (def.transmission = SAP_TRANSMISSION_SITE, def.site_body = 99), ARGUMENT,
         "site_body = 99 must be in [0, ");
  REJECT(actuator, (def.transmission = SAP_TRANSMISSION_SITE, def.reference_body = -2), ARGUMENT,
         "reference_body = -2 must be in [-1, ");
  REJECT(actuator, (def.transmission = SAP_TRANSMISSION_SITE, def.site_q[0] = 0.0), ARGUMENT,
         "site_q");
  REJECT(actuator, def.transmission = SAP_TRANSMISSION_SITE, ARGUMENT,
         "direction must not be zero");
  REJECT(actuator, (def.transmission = SAP_TRANSMISSION_TENDON, def.target = 9), ARGUMENT,
         "target = 9");
  REJECT(actuator, def.transmission = (sap_transmission)7, ARGUMENT, "transmission = 7 must be");
  REJECT(actuator, def.gear = 0.0, ARGUMENT, "gear = 0 must not be zero");
  REJECT(actuator, def.gain = nan_value, NOT_FINITE, "gain = ");
  REJECT(actuator, def.bias[0] = nan_value, NOT_FINITE, "bias[0] = ");
  REJECT(actuator, def.bias[1] = 5.0, ARGUMENT, "bias[1] = 5 must be <= 0");
  REJECT(actuator, def.bias[2] = 1.0, ARGUMENT, "bias[2] = 1 must be <= 0");
  REJECT(actuator, def.gear = nan_value, NOT_FINITE, "gear = ");
  REJECT(actuator, (def.control_lower = 1.0, def.control_upper = -1.0), ARGUMENT,
         "control_lower = 1 must be <= control_upper = -1");
  REJECT(actuator, def.force_upper = nan_value, NOT_FINITE, "force_lower = ");
  ACCEPT(actuator, def.gear = -2.0);
  ACCEPT(actuator, (def.transmission = SAP_TRANSMISSION_SITE, def.direction[5] = -2.0));
}

static void keyframes(void** state) {
  (void)state;
  double q[64] = {0.0};  // more than the model's nq
  q[2] = (double)INFINITY;
  REJECT(keyframe, def.t = nan_value, NOT_FINITE, "t = ");
  REJECT(keyframe, def.q = q, NOT_FINITE, "q[2] = inf");
}

static void exclusions(void** state) {
  (void)state;
  const int32_t pairs[][2] = {{0, 99}, {-1, 0}, {3, 3}};
  const char* const texts[] = {"exclusion 0: body_b = 99 must be in [0, ",
                               "exclusion 0: body_a = -1 must be in [0, ",
                               "exclusion 0: body_a = body_b = 3"};
  for (int i = 0; i < 3; ++i) {
    sap_error error = {0};
    const builder_counts before = builder_count_all(builder);
    const sap_status status = sap_builder_exclude(builder, pairs[i][0], pairs[i][1], &error);
    builder_expect_refused(builder, before, status, &error, SAP_STATUS_ARGUMENT, texts[i]);
  }
}

static void names_in_use(void** state) {
  (void)state;
  sap_error error = {0};
  sap_body_def def = good_body();
  def.name = "hand";
  builder_counts before = builder_count_all(builder);
  builder_expect_refused(builder, before, sap_builder_add_body(builder, &def, NULL, &error), &error,
                         SAP_STATUS_ARGUMENT, "body: name 'hand' is already that of 3");
  sap_joint_def joint = good_joint();
  joint.name = "wrist";
  builder_expect_refused(builder, before, sap_builder_add_joint(builder, &joint, NULL, &error),
                         &error, SAP_STATUS_ARGUMENT, "joint: name 'wrist' is already that of 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies),     cmocka_unit_test(joints),       cmocka_unit_test(shapes),
      cmocka_unit_test(tendons),    cmocka_unit_test(actuators),    cmocka_unit_test(keyframes),
      cmocka_unit_test(exclusions), cmocka_unit_test(names_in_use), cmocka_unit_test(motor_speeds),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
