// SPDX-License-Identifier: BSD-3-Clause
// Reading scenes when memory runs out at any allocation of ours: the call says so, nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/heap_count.h"
#include "support/scene_text.h"
#include "support/scratch.h"

static const char mjcf[] =
    "<mujoco><default><default class='a'><joint damping='1'/></default></default>"
    "<asset><model name='k' file='k'/><mesh name='t' file='t.obj'/></asset>"
    "<worldbody><attach model='k' prefix='k_'/><replicate count='2' offset='1 0 0'>"
    "<body name='b' childclass='a'><joint name='j'/><geom name='g' size='.1'/></body></replicate>"
    "<body><joint/><geom type='mesh' mesh='t'/></body>"
    "</worldbody><contact><exclude body1='b' body2='k_c'/></contact>"
    "<tendon><fixed range='0 1'><joint joint='j' coef='2'/></fixed></tendon>"
    "<actuator><motor joint='j'/></actuator><keyframe><key ctrl='1 2'/></keyframe></mujoco>";
static const char mesh[] =
    "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
static const char attached[] =
    "<mujoco><worldbody><body name='c'><freejoint/><geom size='1'/></body></worldbody>"
    "<keyframe><key name='k' qpos='1 2 3 1 0 0 0'/></keyframe></mujoco>";
static const char urdf[] =
    "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' "
    "iyy='1' izz='1'/></inertial><collision name='c'><geometry><sphere radius='1'/></geometry>"
    "</collision></link><joint name='j' type='continuous'><parent link='a'/><child link='b'/>"
    "</joint>" SCENE_TEXT_BETWEEN_LINKS "</robot>";

static void read_without_memory(const char* text) {
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "k", attached, sizeof attached - 1, path);
  scratch_write(&s, "t.obj", mesh, sizeof mesh - 1, path);
  scratch_write(&s, "a", text, strlen(text), path);
  int64_t count = 0;
  for (bool failed = true; failed; ++count) {
    const int64_t live = heap_live();
    sap_model* model = NULL;
    sap_error error = {0};
    heap_fail_at(count);
    const sap_status status = sap_scene_read(path, NULL, &model, &error);
    failed = heap_failed();
    heap_fail_at(-1);
    assert_int_equal(status, failed ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
    assert_int_equal(error.status, status);
    assert_true((model == NULL) == failed);
    sap_model_destroy(model);
    assert_int_equal(heap_live(), live);
  }
  assert_true(count > 20);  // many places were tried
  scratch_end(&s);
}

static void test_mjcf(void** state) {
  (void)state;
  read_without_memory(mjcf);
}

static void test_urdf(void** state) {
  (void)state;
  read_without_memory(urdf);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mjcf), cmocka_unit_test(test_urdf)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
