// SPDX-License-Identifier: BSD-3-Clause
// What error control reports and keeps: parts, reasons, ends of steps, activations, locked joints,
// states that are not the end of the last step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>

#include "support/near.h"
#include "support/simulation.h"

static sap_adaptive* control(simulation* s, bool extrapolate, double largest_dt) {
  sap_adaptive_options options = sap_adaptive_options_default();
  sap_adaptive* adaptive = NULL;
  options.extrapolate = extrapolate;
  options.largest_dt = largest_dt;
  assert_int_equal(sap_adaptive_create(s->stepper, &options, NULL, &adaptive, NULL), SAP_STATUS_OK);
  return adaptive;
}

static sap_adaptive_report step_to(sap_adaptive* adaptive, simulation* s, double t_end) {
  sap_adaptive_report report;
  sap_error error = {0};
  if (sap_adaptive_step(adaptive, &s->state, t_end, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return report;
}

// On a spring along x, and falling onto a floor along z.
static const char FALLING[] =
    "<mujoco><worldbody><geom type='plane' size='0 0 1' solref='-1e4 0'/><body pos='0 0 .6'>"
    "<joint type='slide' axis='1 0 0' stiffness='100'/><joint type='slide' axis='0 0 1'/>"
    "<geom size='.1' mass='1' solref='-1e4 0' friction='0'/></body></worldbody></mujoco>";

// A step after a change of positions alone is made in both ways, as the first one: no velocities
// before it are known.
static void test_changed_positions(void** unused) {
  (void)unused;
  simulation s = simulation_begin_text(FALLING, SAP_SCHEME_MIDPOINT, 0.01);
  sap_adaptive* adaptive = control(&s, false, 0.1);
  s.state.q[0] = 0.1;
  sap_adaptive_report report = step_to(adaptive, &s, 10.0);
  assert_true(report.parts == 2 && report.solves >= 3);
  for (int i = 0; i < 4; ++i) {
    report = step_to(adaptive, &s, 10.0);
  }
  assert_int_equal(report.parts, 1);
  s.state.q[0] += 0.01;
  report = step_to(adaptive, &s, 10.0);
  assert_true(report.parts == 2 && report.solves >= 3);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

// A step ends exactly where it should, though t + (t_end - t) is off by a rounding.
static void test_ends(void** unused) {
  (void)unused;
  int32_t rounded = 0;
  for (int i = 1; i <= 40; ++i) {
    simulation s = simulation_begin_text(FALLING, SAP_SCHEME_MIDPOINT, 0.01);
    sap_adaptive* adaptive = control(&s, false, 10.0);
    volatile double way = 1e-3 / 3.0 * i, t_end = 0.01 * i + way;
    s.state.t = 0.01 * i;
    way = t_end - s.state.t;
    rounded += s.state.t + 0.5 * way + 0.5 * way != t_end;
    (void)step_to(adaptive, &s, t_end);
    assert_true(s.state.t == t_end);
    sap_adaptive_destroy(adaptive);
    simulation_end(&s);
  }
  assert_true(rounded > 0);
}

// The reason of a step is that of its length: the end of the way, or what shortened it, named by
// its velocity. The floor stops the fall, the spring along x makes the error of smooth motion.
static void test_reasons(void** unused) {
  (void)unused;
  simulation s = simulation_begin_text(FALLING, SAP_SCHEME_MIDPOINT, 0.01);
  sap_adaptive* adaptive = control(&s, false, 0.1);
  s.state.q[0] = 0.5;
  int32_t touches = 0, limits = 0;
  for (int i = 0; i < 3; ++i) {
    (void)step_to(adaptive, &s, 10.0);
  }
  sap_adaptive_report report = step_to(adaptive, &s, s.state.t + 1e-6);
  assert_int_equal(report.reason, SAP_ADAPTIVE_LIMIT);
  while (s.state.t < 1.0) {
    report = step_to(adaptive, &s, 1.0);
    limits += report.reason == SAP_ADAPTIVE_LIMIT;
    if (report.rejected > 0 && report.reason == SAP_ADAPTIVE_KINK) {
      touches += 1;
      assert_int_equal(report.velocity, 1);
    } else if (report.reason == SAP_ADAPTIVE_SMOOTH) {
      assert_true(report.rejected == 0 || report.velocity == 0);
    }
  }
  assert_true(touches > 0 && limits > 0);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

// Free motion is solved as exactly as the accuracy needs; to round-off takes 5.5 iterations.
static void test_exact_enough(void** unused) {
  (void)unused;
  simulation s;
  int32_t steps = 0, iterations = 0;
  assert_true(simulation_read(&s, SAPSTEP_SOURCE_DIR "/examples/scenes/double_pendulum.xml",
                              SAP_SCHEME_MIDPOINT, 0.01, NULL));
  sap_adaptive* adaptive = control(&s, true, 0.1);
  for (; s.state.t < 2.0; ++steps) {
    iterations += step_to(adaptive, &s, 2.0).step.free_motion_iterations;
  }
  assert_true(iterations <= 4 * steps);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

// act' = u: within a step as at its ends. Steps with activations are not extrapolated.
static void test_activations(void** unused) {
  (void)unused;
  simulation s = simulation_begin_text(
      "<mujoco><worldbody><body><joint name='j' type='slide' axis='1 0 0'/><geom size='.1' "
      "mass='1'/></body></worldbody><actuator><general joint='j' dyntype='integrator' "
      "gainprm='1' biastype='none'/></actuator></mujoco>",
      SAP_SCHEME_MIDPOINT, 0.01);
  const double u = 0.7;
  sap_adaptive* adaptive = control(&s, true, 0.1);
  sap_state between = {0};
  assert_int_equal(s.state.na, 1);
  assert_int_equal(sap_state_resize_with(&between, s.state.nq, s.state.nv, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_set_control(s.multibody, &u, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 6; ++i) {
    const double start = s.state.t;
    assert_true(step_to(adaptive, &s, 10.0).parts < 3);
    ASSERT_NEAR(s.state.act[0], u * s.state.t, 1e-13);
    for (int k = 1; k < 4; ++k) {
      const double t = start + 0.25 * k * (s.state.t - start);
      assert_int_equal(sap_adaptive_interpolate(adaptive, &s.state, t, &between, NULL),
                       SAP_STATUS_OK);
      ASSERT_NEAR(between.act[0], u * t, 1e-13);
    }
  }
  sap_state_clear(&between);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

// Extrapolation does not move a locked joint, which M couples to the one that swings.
static void test_locked(void** unused) {
  (void)unused;
  simulation s = simulation_begin_text(
      "<mujoco><worldbody><body pos='0 0 2'><joint axis='0 1 0'/><geom type='capsule' size='.05' "
      "fromto='0 0 0 .5 0 0'/><body pos='.5 0 0'><joint name='elbow' axis='0 1 0'/>"
      "<geom type='capsule' size='.05' fromto='0 0 0 .4 0 .2'/></body></body></worldbody>"
      "</mujoco>",
      SAP_SCHEME_MIDPOINT, 0.01);
  s.state.q[1] = 0.3;
  assert_int_equal(sap_multibody_lock(s.multibody, 1, true, NULL), SAP_STATUS_OK);
  sap_adaptive* adaptive = control(&s, true, 0.1);
  int32_t extrapolated = 0;
  for (int i = 0; i < 20; ++i) {
    extrapolated += step_to(adaptive, &s, 10.0).parts == 3;
    assert_true(s.state.q[1] == 0.3 && s.state.v[1] == 0.0);
  }
  assert_true(extrapolated > 0 && fabs(s.state.q[0]) > 0.1);
  sap_adaptive_destroy(adaptive);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changed_positions), cmocka_unit_test(test_ends),
      cmocka_unit_test(test_reasons),           cmocka_unit_test(test_exact_enough),
      cmocka_unit_test(test_activations),       cmocka_unit_test(test_locked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
