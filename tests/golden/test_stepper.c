// SPDX-License-Identifier: BSD-3-Clause
// The same run gives the same bits, scheme by scheme.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/archive.h"
#include "support/simulation.h"

static uint64_t hash(const sap_state* state) {
  const uint64_t h = sap_hash(SAP_HASH_START, state->q, sizeof(double) * (size_t)state->nq);
  return sap_hash(h, state->v, sizeof(double) * (size_t)state->nv);
}

static uint64_t run_model(const char* path, sap_scheme scheme, int32_t steps,
                          sap_contact_model model) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, scheme, 0.005, &error)) {
    fail_msg("%s", error.message);
  }
  if (model != SAP_CONTACT_BY_MATERIAL) {
    sap_stepper_options options = sap_stepper_options_default();
    options.contact_model = model;
    simulation_use(&s, &options);
  }
  simulation_step(&s, steps);
  const uint64_t h = hash(&s.state);
  simulation_end(&s);
  return h;
}

static uint64_t run(const char* path, sap_scheme scheme, int32_t steps) {
  return run_model(path, scheme, steps, SAP_CONTACT_BY_MATERIAL);
}

static void test_contact_models(void** state) {
  (void)state;
  const char* const scene = SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml";
  const sap_scheme scheme = SAP_SCHEME_IMPLICIT_EULER;
  const uint64_t similar = run_model(scene, scheme, 120, SAP_CONTACT_SIMILAR);
  const uint64_t lagged = run_model(scene, scheme, 120, SAP_CONTACT_LAGGED);
  assert_true(run_model(scene, scheme, 120, SAP_CONTACT_SIMILAR) == similar);
  assert_true(run_model(scene, scheme, 120, SAP_CONTACT_LAGGED) == lagged);
  assert_true(similar != lagged && run(scene, scheme, 120) != lagged);
}

static void test_run_to_run(void** state) {
  (void)state;
  const char* const scenes[] = {SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml",
                                SAPSTEP_SOURCE_DIR "/examples/scenes/quadruped.xml"};
  for (int i = 0; i < 2; ++i) {
    for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
      const uint64_t first = run(scenes[i], (sap_scheme)scheme, 120);
      assert_true(run(scenes[i], (sap_scheme)scheme, 120) == first);
      assert_true(run(scenes[i], (sap_scheme)scheme, 119) != first);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run_to_run),
      cmocka_unit_test(test_contact_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
