// SPDX-License-Identifier: BSD-3-Clause
// Real scenes load, or say at which line what is not supported; lenient reading goes further.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/skip.h"

typedef struct real_scene {
  const char* file;
  const char* refused;  // "file:line: <element" of the first thing not supported; NULL: it loads
  int32_t bodies, nv;   // as MuJoCo 4.0.0 compiles it; 0 where its meshes are needed
} real_scene;

static const real_scene scenes[] = {
    {"mujoco/planks.xml", NULL, 7, 36},
    {"mujoco/humanoid/humanoid.xml", NULL, 17, 27},
    {"mujoco/humanoid/22_humanoids.xml", NULL, 353, 594},
    {"mujoco/replicate/bowl.xml", NULL, 4, 18},
    {"mujoco/replicate/stonehenge.xml", NULL, 77, 456},
    {"mujoco/humanoid/humanoid100.xml", NULL, 117, 627},
    {"mujoco/replicate/newton_cradle.xml", NULL, 8, 42},
    {"mujoco/slider_crank/slider_crank.xml", NULL, 4, 3},
    {"mujoco/tendon_arm/arm26.xml", NULL, 3, 2},
    {"mujoco/car/car.xml", NULL, 4, 8},
    {"mujoco/cube/cube_3x3x3.xml", NULL, 28, 66},
    {"mujoco/mug/mug.xml", "mug.xml:10: <mesh>: cannot read", 3, 6},
    {"mujoco/stacked_boxes.xml", NULL, 19, 108},
    {"menagerie/agility_cassie/scene.xml", NULL, 26, 32},
    {"menagerie/kuka_iiwa_14/scene.xml", NULL, 9, 7},
    {"menagerie/unitree_go1/scene.xml", NULL, 14, 18},
    {"menagerie/robotiq_2f85/scene.xml", NULL, 16, 14},
    {"menagerie/shadow_hand/right_hand.xml", NULL, 26, 24},
    {"menagerie/wonik_allegro/left_hand.xml", NULL, 22, 16},
};

static void check_size(const real_scene* scene, sap_model* model) {
  const sap_model_sizes n = sap_model_get_sizes(model);
  assert_int_equal(n.bodies, scene->bodies);
  assert_int_equal(n.nv, scene->nv);
  sap_model_destroy(model);
}

static void check_scene(const real_scene* scene, const char* path) {
  sap_model* model = NULL;
  sap_error error = {0};
  const sap_status status = sap_scene_read(path, NULL, &model, &error);
  if (scene->refused == NULL) {
    if (status != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    check_size(scene, model);
    return;
  }
  if (status != SAP_STATUS_UNSUPPORTED && status != SAP_STATUS_IO) {
    fail_msg("%s: %s: %s", path, sap_status_text(status), error.message);
  }
  if (strstr(error.message, scene->refused) == NULL) {
    fail_msg("%s\nexpected: %s", error.message, scene->refused);
  }
  if (scene->bodies > 0) {
    sap_scene_options lenient = sap_scene_options_default();
    lenient.lenient = true;
    if (sap_scene_read(path, &lenient, &model, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    check_size(scene, model);
  }
}

static void test_real_scenes(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; ++i) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/models/%s", SAPSTEP_SHARED, scenes[i].file);
    SKIP_WITHOUT(path);
    check_scene(&scenes[i], path);
  }
}

typedef struct warnings {
  int32_t count;
  char last[512];
} warnings;

static void keep_warning(void* context, const char* message) {
  warnings* w = context;
  ++w->count;
  (void)snprintf(w->last, sizeof w->last, "%s", message);
}

// An unsupported actuator is left out; keyframes still count its control.
static void test_lenient(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='.1' condim='4' "
      "margin='.1'/></body>"
      "</worldbody><actuator><pid joint='j'/>\n<motor joint='j'/></actuator>"
      "<keyframe><key ctrl='5 7'/></keyframe></mujoco>";
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "a", text, sizeof text - 1, path);
  warnings seen = {0};
  sap_scene_options options = sap_scene_options_default();
  options.lenient = true;
  options.warning = keep_warning;
  options.warning_context = &seen;
  sap_model* model = NULL;
  sap_error error = {0};
  assert_int_equal(sap_scene_read(path, &options, &model, &error), SAP_STATUS_OK);
  assert_int_equal(error.message[0], '\0');
  assert_int_equal(seen.count, 1);
  assert_non_null(strstr(seen.last, "a:1: <pid>: "));
  assert_int_equal(sap_model_get_sizes(model).nu, 1);
  sap_state at = {0};
  double control = 0.0;
  assert_int_equal(sap_model_get_keyframe(model, 0, &at, &control, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(control, 7.0, 0.0);
  sap_shape_def shape;
  assert_int_equal(sap_model_get_shape(model, 0, &shape, NULL), SAP_STATUS_OK);
  assert_int_equal(shape.condim, 4);
  ASSERT_NEAR(shape.rest_distance, 0.1, 0.0);
  sap_state_clear(&at);
  sap_model_destroy(model);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_real_scenes),
      cmocka_unit_test(test_lenient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
