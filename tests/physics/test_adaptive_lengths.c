// SPDX-License-Identifier: BSD-3-Clause
// Error control where laws depend on the length of the step unless they are kept from it: bodies at
// rest, rigid limits whose direction turns, welds under loads. Each made steps of first order or
// ever shorter ones, or errors that no estimate saw.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sapstep/adaptive.h>

#include "support/simulation.h"

#define SCENES SAPSTEP_SOURCE_DIR "/examples/scenes/"

static int32_t go(simulation* s, double accuracy, double t_end) {
  sap_adaptive_options options = sap_adaptive_options_default();
  sap_adaptive* adaptive = NULL;
  int32_t solves = 0;
  options.accuracy = accuracy;
  assert_int_equal(sap_adaptive_create(s->stepper, &options, NULL, &adaptive, NULL), SAP_STATUS_OK);
  while (s->state.t < t_end) {
    sap_adaptive_report report;
    sap_error error = {0};
    if (sap_adaptive_step(adaptive, &s->state, t_end, &report, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    solves += report.solves;
  }
  sap_adaptive_destroy(adaptive);
  return solves;
}

static simulation read_scene(const char* path) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_MIDPOINT, 0.001, &error)) {
    simulation_skip_absent(&error);
  }
  return s;
}

// Looser accuracy does not cost more.
static void test_looser_is_cheaper(void** unused) {
  (void)unused;
  static const char* const scenes[] = {
      SCENES "boxes_fixed.xml", SCENES "heavy_on_light.xml", SCENES "falling_box.xml",
      SCENES "balls_5.xml",     SCENES "cube_on_plane.xml",  SCENES "quadruped.xml",
      SCENES "sliding_box.xml", SCENES "nunchaku.xml",       SCENES "double_pendulum.xml"};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
    int32_t before = 0;
    for (int k = 2; k <= 6; ++k) {
      simulation s = read_scene(scenes[i]);
      const int32_t solves = go(&s, pow(10.0, -k), 1.0);
      if (!(before <= 1.1 * solves && solves <= 1500)) {
        fail_msg("%s: %d solves at 1e-%d m, %d at 1e-%d", scenes[i], (int)before, k - 1,
                 (int)solves, k);
      }
      before = solves;
      simulation_end(&s);
    }
  }
}

// A cube of 1 kg on four corners of 1e6 N/m rests at the depth m g/(4 k), in the longest steps. With
// the near-rigid limit it sinks by 1.3 mm in steps of 0.1 s, and by 0.09 mm at the accuracy 0.01 mm.
static void test_depth_at_rest(void** unused) {
  (void)unused;
  for (int k = 3; k <= 6; ++k) {
    simulation s = read_scene(SCENES "cube_on_plane.xml");
    const int32_t solves = go(&s, pow(10.0, -k), 3.0);
    const double depth = 0.1 - s.state.q[2], exact = 9.81 / 4e6;
    if (!(fabs(depth - exact) <= 0.01 * exact && solves <= 60)) {
      fail_msg("accuracy 1e-%d m: depth %g m, exactly %g, %d solves", k, depth, exact, (int)solves);
    }
    simulation_end(&s);
  }
}

// Bodies move freely along a rigid limit that turns with them: a tendon that is at its full length,
// and a ball joint at its largest angle. Without gravity they keep their energy.
static void check_turning(const char* text, const double* q, const double* v) {
  double errors[3], solves[3];
  for (int k = 0; k < 3; ++k) {
    simulation s = simulation_begin_text(text, SAP_SCHEME_MIDPOINT, 0.01);
    for (int32_t i = 0; i < s.state.nq; ++i) {
      s.state.q[i] = q[i];
    }
    for (int32_t i = 0; i < s.state.nv; ++i) {
      s.state.v[i] = v[i];
    }
    const double before = simulation_diagnose(&s).kinetic;
    solves[k] = go(&s, pow(10.0, -4.0 - k), 2.0);
    errors[k] = fabs(simulation_diagnose(&s).kinetic / before - 1.0);
    simulation_end(&s);
  }
  if (!(errors[2] <= 1e-3 && errors[2] <= errors[0] && solves[2] <= 15.0 * solves[0])) {
    fail_msg("errors of the energy %g, %g, %g, solves %g, %g, %g", errors[0], errors[1], errors[2],
             solves[0], solves[1], solves[2]);
  }
}

static void test_turning_tendon(void** unused) {
  (void)unused;
  const double q[3] = {0.0}, v[3] = {0.0, 1.0, 0.5};
  check_turning(
      "<mujoco><option gravity='0 0 0'/><worldbody><site name='a'/><body pos='.5 0 0'>"
      "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>"
      "<joint type='slide' axis='0 0 1'/><geom size='.05' mass='1'/><site name='b'/></body>"
      "</worldbody><tendon><spatial limited='true' range='0 .5'><site site='a'/><site site='b'/>"
      "</spatial></tendon></mujoco>",
      q, v);
}

static void test_turning_ball(void** unused) {
  (void)unused;
  const double q[4] = {cos(0.25), sin(0.25), 0.0, 0.0}, v[3] = {0.0, 3.0, 1.0};
  check_turning(
      "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><worldbody><body>"
      "<joint type='ball' range='0 .5' limited='true'/><geom size='.05' pos='0 0 .5' mass='1'/>"
      "<geom size='.02' pos='.1 0 .2' mass='.3'/></body></worldbody></mujoco>",
      q, v);
}

// A weld of 1 kg and 1000 kg falls on a plane and tips over: it holds.
static void test_weld_under_a_load(void** unused) {
  (void)unused;
  for (int k = 4; k <= 6; ++k) {
    simulation s = read_scene(SCENES "boxes_fixed.xml");
    double open = 0.0;
    for (int32_t i = 1; i <= 50; ++i) {
      (void)go(&s, pow(10.0, -k), 0.01 * i);
      open = fmax(open, simulation_loop_error(&s));
    }
    if (!(open <= 6e-3)) {
      fail_msg("accuracy 1e-%d m: open by %g m", k, open);
    }
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_looser_is_cheaper), cmocka_unit_test(test_depth_at_rest),
      cmocka_unit_test(test_turning_tendon), cmocka_unit_test(test_turning_ball),
      cmocka_unit_test(test_weld_under_a_load)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
