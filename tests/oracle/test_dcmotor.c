// SPDX-License-Identifier: BSD-3-Clause
// <dcmotor> against the forces of MuJoCo 4.0.0 (mj_forward) and the speed that a motor settles at.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

#define SCENE(actuators)                                                                          \
  "<mujoco><option gravity='0 0 0'/><default><default class='m'><dcmotor motorconst='0.05 0.06' " \
  "resistance='2'/></default></default><worldbody><body name='b'><joint name='j' axis='0 1 0'/>"  \
  "<geom size='0.1' mass='1' pos='0.2 0 0'/></body></worldbody><actuator>" actuators              \
  "</actuator></mujoco>"

static void test_forces(void** state) {
  (void)state;
  enum { MOTORS = 5, CASES = 3 };
  // voltage, speed of the joint; forces before the gear
  static const double at[CASES][2] = {{3, 7}, {-1, 2}, {0.5, -3}};
  static const double forces[CASES][MOTORS] = {
      {0.06625, 0.1144455828827404, 0.01, 0.0005477225575051661, 0.03582919181288746},
      {-0.027500000000000004, -0.12206316679540752, -0.01, -0.0005477225575051661,
       -0.015193063937629153},
      {0.01625, 0.09976141685977793, 0.01, 0.0005477225575051661, 0.009096531968814577}};
  sap_model* m = scene_text_model(
      "a.xml",
      SCENE("<dcmotor joint='j' motorconst='0.05' resistance='2'/><dcmotor joint='j' "
            "motorconst='0.05' nominal='12 1 100' gear='3'/><dcmotor joint='j' "
            "nominal='12 1 100' saturation='0.01 2 3'/><dcmotor class='m' joint='j' "
            "saturation='0 .01'/><dcmotor class='m' joint='j' resistance='4'/>"),
      NULL);
  assert_int_equal(m->sizes.nu, MOTORS);
  assert_int_equal(m->sizes.na, 0);
  for (int k = 0; k < CASES; ++k) {
    double input[MOTORS];
    for (int i = 0; i < MOTORS; ++i) {
      input[i] = at[k][0];
    }
    for (int i = 0; i < MOTORS; ++i) {
      const double rate = m->actuators[i].gear * at[k][1];
      ASSERT_NEAR(sap_dynamics_actuator_force(m, i, input, 0.0, rate).force, forces[k][i], 1e-15);
    }
  }
  sap_model_destroy(m);
}

// Without load: u/K; turned faster, the motor brakes.
static void test_no_load_speed(void** state) {
  (void)state;
  simulation s = {0};
  const double voltage = 6.0;
  s.model = scene_text_model(
      "a.xml", SCENE("<dcmotor joint='j' motorconst='0.5' resistance='0.25'/>"), NULL);
  simulation_complete(&s, SAP_SCHEME_MIDPOINT, 0.01);
  assert_int_equal(sap_multibody_set_control(s.multibody, &voltage, NULL), SAP_STATUS_OK);
  simulation_step(&s, 1000);
  ASSERT_NEAR(s.state.v[0], voltage / 0.5, 1e-9);
  s.state.v[0] = 50.0;
  simulation_step(&s, 1);
  assert_true(s.state.v[0] < 50.0);
  simulation_end(&s);
}

static void test_refused(void** state) {
  (void)state;
  static const struct {
    const char *attributes, *what;
    sap_status status;
  } cases[] = {
      {"", "must be > 0", SAP_STATUS_SYNTAX},
      {"motorconst='0.05'", "resistance = 0 must be > 0", SAP_STATUS_SYNTAX},
      {"motorconst='0' resistance='1'", "must be > 0", SAP_STATUS_SYNTAX},
      {"motorconst='-1' resistance='1'", "must be >= 0", SAP_STATUS_SYNTAX},
      {"motorconst='1e200' resistance='1e-200'", "must be > 0", SAP_STATUS_SYNTAX},
      {"motorconst='1' resistance='1' saturation='1 2 3 4'", "must be 1 to 3", SAP_STATUS_SYNTAX},
      {"motorconst='1' resistance='1' inductance='1e-3'", "inductance", SAP_STATUS_UNSUPPORTED},
      {"motorconst='1' resistance='1' cogging='1 2 3'", "cogging", SAP_STATUS_UNSUPPORTED},
      {"motorconst='1' resistance='1' input='pos'", "voltage", SAP_STATUS_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[1024];
    sap_model* m = NULL;
    sap_error error = {0};
    (void)snprintf(text, sizeof text, SCENE("<dcmotor joint='j' %s/>"), cases[i].attributes);
    const sap_status status = scene_text_read("a.xml", text, NULL, NULL, &m, &error);
    if (status != cases[i].status || strstr(error.message, "a.xml:1: <dcmotor") == NULL ||
        strstr(error.message, cases[i].what) == NULL) {
      fail_msg("%s: %s", cases[i].attributes, error.message);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces),
      cmocka_unit_test(test_no_load_speed),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
