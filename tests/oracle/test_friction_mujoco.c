// SPDX-License-Identifier: BSD-3-Clause
// Friction, tangents and belts of contacts against MuJoCo 4.0.0: dim, friction and surfacevel of
// mjData.contact after mj_forward of scene/belts.xml, surfacevel turned into the world's axes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

typedef struct expected_contact {
  int32_t condim;
  double friction[5];  // of the rows that condim has
  double velocity[2], spin;
} expected_contact;

// With the ground, in the order of the bodies.
static const expected_contact expected[4] = {
    {6, {0.7, 0.7, 0.04, 0.003, 0.003}, {-0.97, -0.56}, -0.3},
    {3, {0.2, 0.2}, {-2.0, 0.9320508075688773}, -0.3},
    {6, {1.0, 0.5, 0.01, 0.02, 0.03}, {-0.7, -0.5}, -0.3},
    {3, {0.4, 1.0}, {-0.4, -0.5}, -0.3},
};

static void check(simulation* s, const expected_contact* all) {
  assert_int_equal(sap_multibody_detect(s->multibody, s->state.q, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_contact_count(s->multibody), 4);
  for (int32_t i = 0; i < 4; ++i) {
    const sap_contact* c = &sap_multibody_contacts(s->multibody)[i];
    assert_int_equal(c->condim, all[i].condim);
    for (int k = 0; k < 5; ++k) {
      ASSERT_NEAR(c->friction[k], all[i].friction[k], 1e-15);
    }
    for (int k = 0; k < 2; ++k) {
      ASSERT_NEAR(c->R_WC[k] * c->surface_velocity[0] + c->R_WC[3 + k] * c->surface_velocity[1],
                  all[i].velocity[k], 1e-12);
    }
    ASSERT_NEAR(c->surface_velocity[2], all[i].spin, 1e-12);
    if (c->friction[0] != c->friction[1]) {  // t1 is MuJoCo's, the world's y
      ASSERT_NEAR(c->R_WC[1], 1.0, 1e-15);
    }
  }
}

static void test_contacts(void** state) {
  (void)state;
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, SAPSTEP_SOURCE_DIR "/tests/oracle/scene/belts.xml",
                       SAP_SCHEME_IMPLICIT_EULER, 1e-3, &error)) {
    fail_msg("%s", error.message);
  }
  check(&s, expected);
  simulation_end(&s);
}

// The custom setting says what surfacevel says, for older MuJoCo.
static void test_setting(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><custom><numeric name='sapstep:surface_velocity:belt' data='1 0 0'/></custom>"
      "<worldbody><geom name='belt' type='plane' size='1 1 1'/>"
      "<body pos='0 0 .099'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
  scratch files;
  scratch_begin(&files);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&files, "a", text, sizeof text - 1, path);
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, 1e-3, &error)) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(sap_multibody_detect(s.multibody, s.state.q, NULL), SAP_STATUS_OK);
  const sap_contact* c = sap_multibody_contacts(s.multibody);
  ASSERT_NEAR(hypot(c->surface_velocity[0], c->surface_velocity[1]), 1.0, 1e-15);
  simulation_end(&s);
  scratch_end(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contacts),
      cmocka_unit_test(test_setting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
