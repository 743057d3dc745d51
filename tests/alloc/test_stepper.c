// SPDX-License-Identifier: BSD-3-Clause
// A steady-state step makes no heap call: resting boxes, a hinge at its limit, a coupled pair; a
// field of boxes in threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>

#include "support/heap_count.h"
#include "support/simulation.h"
#include "support/toy_system.h"

static void check_multibody(int scheme, sap_contact_model model) {
  sap_material material = sap_material_default();
  material.model = model;
  const double none[3] = {0.0, 0.0, 0.0}, half[3] = {0.1, 0.1, 0.1};
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, sap_material_default());
  for (int i = 0; i < 4; ++i) {
    const double p[3] = {0.15 * (i % 2), 0.0, 0.1 + 0.2 * i};
    const int32_t body = simulation_body(builder, 0, 1.0, 0.01, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_shape_def box = sap_shape_def_default();
    box.type = SAP_SHAPE_BOX;
    box.body = body;
    memcpy(box.size, half, sizeof half);
    box.material = material;
    box.condim = material.model != SAP_CONTACT_SAP || i == 0 ? 3 : i == 1 ? 4 : 6;
    box.friction_torsional = 0.01;
    box.friction_rolling = 0.001;
    assert_int_equal(sap_builder_add_shape(builder, &box, NULL, NULL), SAP_STATUS_OK);
  }
  sap_joint_def hinge = sap_joint_def_default();
  const double far[3] = {3.0, 0.0, 1.0};
  hinge.body = simulation_body(builder, 0, 1.0, 0.01, far);
  hinge.axis[1] = 1.0;
  hinge.axis[2] = 0.0;
  hinge.p_BJ[0] = 0.3;
  hinge.upper = 0.2;
  hinge.damping = 0.5;
  hinge.stiffness = 1.0;
  hinge.friction_loss = 0.1;
  assert_int_equal(sap_builder_add_joint(builder, &hinge, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, (sap_scheme)scheme, 2e-3);
  simulation_step(&s, 400);
  const int64_t before = heap_calls();
  simulation_step(&s, 50);
  assert_int_equal(heap_calls() - before, 0);
  assert_true(s.report.blocks > 0);
  simulation_end(&s);
}

static void test_multibody(void** state) {
  (void)state;
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    check_multibody(scheme, SAP_CONTACT_SAP);
  }
  check_multibody((int)SAP_SCHEME_MIDPOINT, SAP_CONTACT_SIMILAR);
  check_multibody((int)SAP_SCHEME_MIDPOINT, SAP_CONTACT_LAGGED);
  assert_int_equal(heap_live(), 0);
}

static void test_coupled(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 3, 2);
  toy_linear_connect(&toy, 0, 3, 100.0, 1.0);
  toy_linear_connect(&toy, 2, 5, 1e5, 1.0);
  toy.f[0] = -1.0;
  toy.limit = true;
  sap_state s = toy_state(&toy.system);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 60; ++i) {
    const int64_t before = heap_calls();
    assert_int_equal(sap_stepper_step(stepper, &s, NULL, NULL), SAP_STATUS_OK);
    if (i >= 10) {
      assert_int_equal(heap_calls() - before, 0);
    }
  }
  sap_stepper_destroy(stepper);
  sap_state_clear(&s);
  assert_int_equal(heap_live(), 0);
}

// Steps by error control from a second on, once the robot has landed: 5000 solves make no heap call.
static void check_adaptive(const char* scene) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, scene, SAP_SCHEME_MIDPOINT, 0.01, &error)) {
    simulation_skip_absent(&error);
  }
  sap_adaptive* adaptive = NULL;
  assert_int_equal(sap_adaptive_create(s.stepper, NULL, NULL, &adaptive, NULL), SAP_STATUS_OK);
  int64_t before = 0, solves = 0, rejected = 0;
  while (solves < 5000) {
    sap_adaptive_report report;
    assert_int_equal(sap_adaptive_step(adaptive, &s.state, s.state.t + 0.02, &report, &error),
                     SAP_STATUS_OK);
    before = s.state.t < 3.0 ? heap_calls() : before;
    solves += s.state.t < 3.0 ? 0 : report.solves;
    rejected += report.rejected;
  }
  assert_int_equal(heap_calls() - before, 0);
  assert_true(rejected > 0);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
  assert_int_equal(heap_live(), 0);
}

static void test_adaptive(void** state) {
  (void)state;
  check_adaptive(SAPSTEP_SOURCE_DIR "/examples/scenes/quadruped.xml");
}

static void test_adaptive_humanoid(void** state) {
  (void)state;
  check_adaptive(SAPSTEP_SHARED "/models/mujoco/humanoid/humanoid.xml");
}

// Patches of boxes, balls and cylinders: their surfaces need no memory.
static void test_patches(void** state) {
  (void)state;
  static const sap_shape_type types[3] = {SAP_SHAPE_BOX, SAP_SHAPE_SPHERE, SAP_SHAPE_CYLINDER};
  const double none[3] = {0.0, 0.0, 0.0}, half[3] = {0.1, 0.1, 0.1};
  sap_material material = sap_material_default();
  material.modulus = 1e6;
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, material);
  for (int i = 0; i < 8; ++i) {  // a pile of boxes beside a ball and a cylinder
    const double p[3] = {i < 3 ? 0.5 * i : 0.0, 0.01 * (i % 2), 0.1 + 0.2 * (i < 3 ? 0 : i - 2)};
    const int32_t body = simulation_body(builder, 0, 1.0, 0.01, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    simulation_shape(builder, body, types[i < 3 ? i : 0], half, material);
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 5e-3);
  simulation_step(&s, 200);
  const int64_t before = heap_calls();
  simulation_step(&s, 100);
  assert_int_equal(heap_calls() - before, 0);
  assert_true(s.report.blocks > 24);
  simulation_end(&s);
  assert_int_equal(heap_live(), 0);
}

// So many that every phase of a step is shared.
static void test_threads(void** state) {
  (void)state;
  enum { BOXES = 200, ROW = 20, THREADS = 3 };
  const double none[3] = {0.0, 0.0, 0.0}, half[3] = {0.1, 0.1, 0.1};
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, sap_material_default());
  for (int i = 0; i < BOXES; ++i) {
    const double p[3] = {0.5 * (i % ROW), 0.5 * (i / ROW), 0.1};
    const int32_t body = simulation_body(builder, 0, 1.0, 0.01, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    simulation_shape(builder, body, SAP_SHAPE_BOX, half, sap_material_default());
  }
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 5e-3);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 5e-3;
  options.solver_options.threads = THREADS;
  simulation_use(&s, &options);
  simulation_step(&s, 100);
  const int64_t before = heap_calls();
  simulation_step(&s, 50);
  assert_int_equal(heap_calls() - before, 0);
  assert_int_equal(s.report.blocks, 4 * BOXES);
  simulation_end(&s);
  assert_int_equal(heap_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_multibody), cmocka_unit_test(test_coupled),
      cmocka_unit_test(test_adaptive),  cmocka_unit_test(test_adaptive_humanoid),
      cmocka_unit_test(test_threads),   cmocka_unit_test(test_patches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
