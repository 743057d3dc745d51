// SPDX-License-Identifier: BSD-3-Clause
// MJCF: elements that name others, where copies of a replicate give names a suffix.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

#define MOVING "<joint name='x'/><geom name='h' size='0.1'/>"
#define COPIES                                                                                    \
  "<replicate count='3' offset='0 0 1'><body name='r' pos='5 0 0'><freejoint/><geom size='0.1'/>" \
  "<site name='p'/></body></replicate>"

// Elements outside a replicate exist once, also if the element they name has a twin with the suffix
// of a copy.
static void test_names_that_end_like_copies(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><geom name='g' size='0.1'/><geom name='g1' size='0.1'/><site name='s'/>"
      "<site name='s1'/><body>" MOVING
      "<body pos='1 0 0'><joint name='x1'/><geom size='0.1'/>"
      "</body></body>" COPIES
      "</worldbody><contact><pair geom1='g' geom2='h'/></contact><tendon><fixed name='t'><joint "
      "joint='x' coef='1'/></fixed><fixed name='t2'><joint joint='x1' coef='2'/></fixed><spatial "
      "name='w'><site site='s'/><site site='s1'/></spatial></tendon><equality><tendon tendon1='t' "
      "tendon2='t2'/><joint joint1='x' joint2='x1'/></equality><actuator><motor tendon='t'/>"
      "<motor joint='x'/></actuator></mujoco>",
      NULL);
  assert_int_equal(m->sizes.pairs, 1);
  assert_int_equal(m->sizes.tendons, 3);
  assert_int_equal(m->sizes.equalities, 2);
  assert_int_equal(m->equalities[0].a, 0);
  assert_int_equal(m->equalities[0].b, 1);
  assert_int_equal(m->sizes.actuators, 2);
  sap_model_destroy(m);
}

// Elements that name an element of the copies exist in each copy.
static void test_one_in_each_copy(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><site name='s'/>" COPIES
      "</worldbody><tendon><spatial name='w'><site site='s'/><site site='p'/></spatial></tendon>"
      "<equality><connect body1='r' body2='world' anchor='0 0 0'/></equality></mujoco>",
      NULL);
  assert_int_equal(m->sizes.tendons, 3);
  assert_int_equal(m->sizes.equalities, 3);
  for (int32_t i = 0; i < 3; ++i) {
    assert_int_equal(m->equalities[i].a, 1 + i);
    assert_int_equal(m->equalities[i].b, 0);
    ASSERT_NEAR(m->equalities[i].anchor_B[2], (double)i, 1e-15);
  }
  sap_model_destroy(m);
}

// A key of zeros: MuJoCo makes quaternions of them that turn nothing. A class's limits are not for
// free joints, which it may also replace.
static void test_zero_key(void** state) {
  (void)state;
  sap_model* m =
      scene_text_model("a.xml",
                       "<mujoco><default><joint limited='true'/></default><worldbody><body><joint "
                       "type='free'/><geom "
                       "size='.1'/></body><body><joint type='ball' range='0 90'/><geom "
                       "size='.1'/></body></worldbody>"
                       "<keyframe><key qpos='1 2 3 0 0 0 0 0 0 0 0'/></keyframe></mujoco>",
                       NULL);
  static const double expected[11] = {1, 2, 3, 1, 0, 0, 0, 1, 0, 0, 0};
  sap_state start = {0};
  assert_int_equal(sap_model_get_keyframe(m, 0, &start, NULL, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 11; ++i) {
    ASSERT_NEAR(start.q[i], expected[i], 0.0);
  }
  sap_state_clear(&start);
  sap_model_destroy(m);
}

// <size nkey> is the least number of keyframes; those without a <key> are the default pose, as in
// MuJoCo.
static void test_spare_keys(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><size nkey='3'/><compiler angle='radian'/><worldbody><body><joint ref='0.5'/><geom "
      "size='1' mass='1'/></body></worldbody><keyframe><key qpos='2' "
      "time='4'/></keyframe></mujoco>",
      NULL);
  sap_state key = {0};
  assert_int_equal(m->sizes.keyframes, 3);
  assert_int_equal(sap_state_resize(&key, 1, 1, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < 3; ++i) {
    assert_int_equal(sap_model_get_keyframe(m, i, &key, NULL, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(key.q[0], i == 0 ? 2.0 : 0.5, 0.0);
    ASSERT_NEAR(key.t, i == 0 ? 4.0 : 0.0, 0.0);
  }
  sap_state_clear(&key);
  sap_model_destroy(m);
}

// A keyframe of a scene that cannot move holds a time.
static void test_key_without_coordinates(void** state) {
  (void)state;
  sap_model* m = scene_text_model("a.xml",
                                  "<mujoco><worldbody><geom size='1'/></worldbody><keyframe><key "
                                  "time='2'/></keyframe></mujoco>",
                                  NULL);
  sap_state start = {0};
  assert_int_equal(m->sizes.nq, 0);
  assert_int_equal(sap_model_get_keyframe(m, 0, &start, NULL, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(start.t, 2.0, 0.0);
  sap_state_clear(&start);
  sap_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_zero_key),
      cmocka_unit_test(test_names_that_end_like_copies),
      cmocka_unit_test(test_one_in_each_copy),
      cmocka_unit_test(test_spare_keys),
      cmocka_unit_test(test_key_without_coordinates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
