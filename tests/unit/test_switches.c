// SPDX-License-Identifier: BSD-3-Clause
// Everything that constrains or pushes can be switched off and on again between steps: the force
// that it gave is gone in the next step, and back in the one after it is switched on.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"

static const double dt = 0.01;
static const double origin[3] = {0.0, 0.0, 0.0};

// Position of the slide, from rest at 0.
static double acceleration(simulation* s) {
  s->state.q[0] = s->state.v[0] = 0.0;
  simulation_step(s, 1);
  return s->state.v[0] / dt;
}

// A mass of 2 kg on a slide along z under 10 m/s^2.
static sap_builder* slide(int32_t* body, int32_t* joint, const sap_joint_def* like) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  *body = simulation_body(builder, 0, 2.0, 1.0, origin);
  sap_joint_def def = *like;
  def.type = SAP_JOINT_SLIDE;
  def.body = *body;
  assert_int_equal(sap_builder_add_joint(builder, &def, joint, NULL), SAP_STATUS_OK);
  return builder;
}

// Held with the switch on, falls freely with it off, held again.
static void off_and_on(sap_builder* builder, sap_switch kind, double held_within) {
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  for (int round = 0; round < 2; ++round) {
    assert_true(fabs(acceleration(&s)) <= held_within);
    assert_int_equal(sap_multibody_enable(s.multibody, kind, 0, false, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(acceleration(&s), -10.0, 1e-12);
    assert_int_equal(sap_multibody_enable(s.multibody, kind, 0, true, NULL), SAP_STATUS_OK);
  }
  sap_error error = {0};
  assert_int_equal(sap_multibody_enable(s.multibody, kind, 1, false, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "id = 1 must be 0 to 0");
  simulation_end(&s);
}

static void test_joint_limit(void** unused) {
  (void)unused;
  int32_t body, joint;
  sap_joint_def def = sap_joint_def_default();
  def.lower = 0.0;
  def.upper = 1.0;
  // Near rigid: R = w/(4 pi^2), so that g/(1 + 4 pi^2) of its weight is not held at once.
  off_and_on(slide(&body, &joint, &def), SAP_SWITCH_JOINT_LIMIT, 10.0 / 40.0);
}

static void test_joint_friction(void** unused) {
  (void)unused;
  int32_t body, joint;
  sap_joint_def def = sap_joint_def_default();
  def.friction_loss = 30.0;  // above the weight of 20 N
  off_and_on(slide(&body, &joint, &def), SAP_SWITCH_JOINT_FRICTION, 1e-3 * 10.0);  // sigma
}

static void test_tendon(void** unused) {
  (void)unused;
  const double one = 1.0;
  for (int friction = 0; friction < 2; ++friction) {
    int32_t body, joint;
    const sap_joint_def def = sap_joint_def_default();
    sap_builder* builder = slide(&body, &joint, &def);
    sap_tendon_def tendon = sap_tendon_def_default();
    tendon.njoints = 1;
    tendon.joints = &joint;
    tendon.coefficients = &one;
    tendon.lower = friction ? -(double)INFINITY : 0.0;
    tendon.friction_loss = friction ? 30.0 : 0.0;
    assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
    off_and_on(builder, friction ? SAP_SWITCH_TENDON_FRICTION : SAP_SWITCH_TENDON_LIMIT,
               friction ? 1e-3 * 10.0 : 10.0 / 40.0);
  }
}

static void test_bushing(void** unused) {
  (void)unused;
  int32_t body, joint;
  const sap_joint_def def = sap_joint_def_default();
  sap_builder* builder = slide(&body, &joint, &def);
  sap_bushing_def bushing = sap_bushing_def_default();
  bushing.body_b = body;
  bushing.stiffness[5] = 1e9;  // a step leaves g/(1 + dt^2 k/m) = 2e-4
  assert_int_equal(sap_builder_add_bushing(builder, &bushing, NULL, NULL), SAP_STATUS_OK);
  off_and_on(builder, SAP_SWITCH_BUSHING, 2.1e-4);
}

// A ball on two plates that lie in one plane: shapes 0 and 1, the ball is shape 2.
static simulation ball_on_plates(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -10.0);
  const double size[3] = {1.0, 1.0, 0.5}, radius[3] = {0.1, 0.0, 0.0};
  const double p[3] = {0.0, 0.0, 0.1};
  sap_material material = sap_material_default();
  material.stiffness = 1e6;
  for (int i = 0; i < 2; ++i) {
    sap_shape_def plate = sap_shape_def_default();
    plate.type = SAP_SHAPE_BOX;
    memcpy(plate.size, size, sizeof size);
    plate.p_BS[2] = -0.5;
    plate.material = material;
    assert_int_equal(sap_builder_add_shape(builder, &plate, NULL, NULL), SAP_STATUS_OK);
  }
  const int32_t ball = simulation_body(builder, 0, 1.0, 0.004, p);
  simulation_joint(builder, ball, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, ball, SAP_SHAPE_SPHERE, radius, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  s.state.q[2] = 0.0999;
  simulation_step(&s, 1);
  return s;
}

static int32_t contacts_after_step(simulation* s) {
  s->state.q[2] = 0.0999;
  simulation_step(s, 1);
  return sap_multibody_contact_count(s->multibody);
}

static void test_contacts(void** unused) {
  (void)unused;
  simulation s = ball_on_plates();
  sap_multibody* m = s.multibody;
  assert_int_equal(contacts_after_step(&s), 2);
  assert_int_equal(sap_multibody_enable(m, SAP_SWITCH_SHAPE, 0, false, NULL), SAP_STATUS_OK);
  assert_int_equal(contacts_after_step(&s), 1);
  assert_int_equal(sap_multibody_contacts(m)[0].shape_A, 1);
  assert_int_equal(sap_multibody_enable(m, SAP_SWITCH_SHAPE, 0, true, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_enable(m, SAP_SWITCH_SHAPE, 2, false, NULL), SAP_STATUS_OK);
  assert_int_equal(contacts_after_step(&s), 0);
  assert_int_equal(sap_multibody_enable(m, SAP_SWITCH_SHAPE, 2, true, NULL), SAP_STATUS_OK);
  assert_int_equal(contacts_after_step(&s), 2);
  sap_error error = {0};
  assert_int_equal(sap_multibody_enable(NULL, SAP_SWITCH_SHAPE, 0, false, &error),
                   SAP_STATUS_ARGUMENT);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joint_limit), cmocka_unit_test(test_joint_friction),
      cmocka_unit_test(test_tendon),      cmocka_unit_test(test_bushing),
      cmocka_unit_test(test_contacts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
