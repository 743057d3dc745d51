// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of steps make no heap call from the second step on that has such contacts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/linearize.h>

#include "support/heap_count.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static void test_steady_state(void** state) {
  (void)state;
  static double A[4 * 14 * 14], B[2 * 14 * 2], x[14], back[30];
  const char text[] =
      "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .0999'><freejoint/><geom "
      "type='box' size='.1 .1 .1'/></body><body pos='.02 0 .2998'><freejoint/><geom type='box' "
      "size='.1 .1 .1'/></body><body pos='2 0 1'><joint name='a' axis='0 1 0' damping='.1' "
      "frictionloss='.1'/><geom type='capsule' size='.05' fromto='0 0 0 .3 0 0'/><body pos='.3 0 "
      "0'><joint name='b' axis='0 1 0' stiffness='1'/><geom size='.05'/></body></body></worldbody>"
      "<actuator><motor joint='a'/><position joint='b' kp='3'/></actuator></mujoco>";
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 5e-3);
  int64_t before = 0;
  for (int i = 0; i < 40; ++i) {
    before = i == 20 ? heap_calls() : before;
    simulation_step(&s, 1);
    assert_int_equal(sap_stepper_linearize(s.stepper, A, B, NULL, NULL), SAP_STATUS_OK);
    const sap_step_gradients g = {x, x, back, back + 14, back + 28, {NULL, 0, NULL}};
    assert_int_equal(sap_stepper_vjp(s.stepper, &g, NULL, NULL), SAP_STATUS_OK);
  }
  assert_true(s.report.blocks >= 8);
  assert_int_equal(heap_calls() - before, 0);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
