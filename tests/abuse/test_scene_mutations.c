// SPDX-License-Identifier: BSD-3-Clause
// Scenes with bytes changed, removed and doubled, and cut off anywhere: the reader answers with a
// model or with a message, never otherwise.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/scene_text.h"
#include "support/scratch.h"

static const char mjcf[] =
    "<mujoco model='m'><compiler angle='degree'/><option timestep='.01' gravity='0 0 -9'/>"
    "<custom><numeric name='sapstep:stiffness' data='1e5'/></custom>"
    "<default><geom friction='.5'/><default class='a'><joint damping='1' range='-1 1'/></default>"
    "</default><worldbody><geom type='plane' size='1 1 1'/><replicate count='2' offset='1 0 0' "
    "sep='-'><body name='b' pos='0 0 1' euler='1 2 3' childclass='a'><freejoint/>"
    "<geom name='g' type='box' size='.1 .2 .3'/><body name='c'><joint name='j' axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 1 0 0' size='.1'/><inertial pos='0 0 0' mass='1' "
    "diaginertia='1 1 1'/></body></body></replicate></worldbody><contact><exclude body1='b' "
    "body2='c'/></contact><tendon><fixed range='0 1'><joint joint='j' coef='2'/></fixed></tendon>"
    "<actuator><motor joint='j' ctrlrange='-1 1'/></actuator>"
    "<keyframe><key name='k' time='1' ctrl='1 2'/></keyframe></mujoco>";

static const char urdf[] =
    "<robot name='r'><link name='a'><collision><geometry><box size='1 1 1'/></geometry>"
    "</collision></link><link name='b'><inertial><origin xyz='0 0 1' rpy='1 0 0'/><mass "
    "value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    "<collision name='c'><geometry><cylinder radius='1' length='2'/></geometry>"
    "<drake:proximity_properties><drake:mu_dynamic value='1'/></drake:proximity_properties>"
    "</collision></link><joint name='j' type='revolute'><parent link='a'/><child link='b'/>"
    "<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' "
    "velocity='1'/></joint>" SCENE_TEXT_BETWEEN_LINKS "</robot>";

static uint32_t next_random(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

typedef struct outcomes {
  int32_t models, refusals, warnings;
} outcomes;

static void count_warning(void* context, const char* message) {
  outcomes* count = context;
  assert_true(message[0] != '\0');
  ++count->warnings;
}

static void read_bytes(scratch* s, const char* bytes, size_t size, bool lenient, outcomes* count) {
  char path[SCRATCH_PATH_SIZE];
  scratch_write(s, "a", bytes, size, path);
  sap_scene_options options = sap_scene_options_default();
  options.lenient = lenient;
  options.warning = count_warning;
  options.warning_context = count;
  sap_model* model = NULL;
  sap_error error = {0};
  const sap_status status = sap_scene_read(path, &options, &model, &error);
  if (status == SAP_STATUS_OK) {
    assert_non_null(model);
    sap_model_destroy(model);
    ++count->models;
    return;
  }
  assert_null(model);
  assert_int_equal(error.status, status);
  assert_true(error.message[0] != '\0');
  assert_int_not_equal(status, SAP_STATUS_INTERNAL);
  assert_int_not_equal(status, SAP_STATUS_MEMORY);
  ++count->refusals;
}

static void truncate_everywhere(scratch* s, const char* text) {
  outcomes count = {0};
  const size_t length = strlen(text);
  for (size_t n = 0; n < length; ++n) {
    read_bytes(s, text, n, n % 2 == 0, &count);
  }
  assert_int_equal(count.models, 0);
  read_bytes(s, text, length, false, &count);
  assert_int_equal(count.models, 1);
}

static size_t mutate(char* bytes, size_t size, uint64_t* seed) {
  static const char alphabet[] = "0123456789.-+eE<>/='\"&;: abcnifjoxyz\t\n\x00\xff";
  const size_t at = next_random(seed) % size;
  switch (next_random(seed) % 4) {
    case 0:
      bytes[at] = (char)next_random(seed);
      return size;
    case 1:
      bytes[at] = alphabet[next_random(seed) % (sizeof alphabet - 1)];
      return size;
    case 2:
      memmove(bytes + at, bytes + at + 1, size - at - 1);
      return size - 1;
    default:
      memmove(bytes + at + 1, bytes + at, size - at);
      return size + 1;
  }
}

static void mutate_often(scratch* s, const char* text, uint64_t seed) {
  enum { ROUNDS = 1500, SLACK = 8 };
  outcomes count = {0};
  const size_t length = strlen(text);
  char* bytes = malloc(length + SLACK);
  assert_non_null(bytes);
  for (int round = 0; round < ROUNDS; ++round) {
    memcpy(bytes, text, length);
    size_t size = length;
    for (uint32_t n = next_random(&seed) % 4; n < 4; ++n) {
      size = mutate(bytes, size, &seed);
    }
    read_bytes(s, bytes, size, round % 2 == 0, &count);
  }
  free(bytes);
  // Both ends are reached: digits that change leave a scene, most else does not.
  assert_true(count.models > ROUNDS / 100);
  assert_true(count.refusals > ROUNDS / 4);
}

static void test_mjcf(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  truncate_everywhere(&s, mjcf);
  mutate_often(&s, mjcf, 1);
  scratch_end(&s);
}

static void test_urdf(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  truncate_everywhere(&s, urdf);
  mutate_often(&s, urdf, 2);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mjcf), cmocka_unit_test(test_urdf)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
