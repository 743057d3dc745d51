// SPDX-License-Identifier: BSD-3-Clause
// Poses that contradict their constraints: robots come with a default pose beyond limits, loops
// open, a stretched arm welded by its hand. They must come back quietly.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

static simulation read_scene(const char* text, double dt) {
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "a.xml", text, strlen(text), path);
  simulation out;
  sap_error error = {0};
  if (!simulation_read(&out, path, SAP_SCHEME_IMPLICIT_EULER, dt, &error)) {
    fail_msg("%s", error.message);
  }
  scratch_end(&s);
  return out;
}

// The largest kinetic energy within `duration` [J].
static double largest_energy(simulation* s, double dt, double duration) {
  double largest = 0.0;
  const int32_t steps = (int32_t)lround(duration / dt);
  for (int32_t n = 0; n < steps; ++n) {
    simulation_step(s, 1);
    largest = fmax(largest, simulation_diagnose(s).kinetic);
  }
  return largest;
}

#define LINK(axis, attributes)                                         \
  "<body pos='0 0 0.2'><joint axis='" axis "' damping='1' " attributes \
  "/><geom type='capsule' "                                            \
  "contype='0' conaffinity='0' fromto='0 0 0 0 0 0.2' size='0.05' mass='2'/>"

// Seven joints, stretched out, the hand welded to where it is, the second joint half a radian
// beyond its limit: the pose is singular, and no velocity satisfies both at once.
static void test_stretched_arm(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler angle='radian' autolimits='true'/><worldbody>" LINK("0 0 1", "")
          LINK("0 1 0", "range='-3.8 -0.5'") LINK("0 0 1", "") LINK("0 1 0", "") LINK("0 0 1", "")
              LINK("0 1 0", "") LINK("0 0 1", "")
      "<body name='hand' pos='0 0 0.2'/></body></body></body></body></body></body></body>"
      "</worldbody><equality><weld body1='hand'/></equality></mujoco>";
  const double steps[] = {0.001, 0.0025, 0.01};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
    simulation s = read_scene(text, steps[i]);
    const double energy = largest_energy(&s, steps[i], 2.0);
    if (!(energy < 10.0)) {  // 14 kg at about 1 m/s
      fail_msg("kinetic energy %g J at dt = %g s", energy, steps[i]);
    }
    simulation_end(&s);
  }
}

// A hinge 0.5 rad beyond its limit returns at V_r, a fiftieth of the impact speed, a tenth of V; one
// that is nearer comes back, stops there, and keeps no speed to bounce.
static void test_limit(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler angle='radian' autolimits='true'/><option gravity='0 0 0'/><worldbody>"
      "<body><joint range='0.5 2'/><geom type='sphere' size='0.1' mass='1' pos='1 0 0'/></body>"
      "</worldbody></mujoco>";
  const double dt = 0.005, V = 0.2 * sap_regularization_default().impact_speed;
  simulation s = read_scene(text, dt);
  simulation_step(&s, 1);
  // Near rigid: R = w/(4 pi^2)/f, f = d/(T V_r), so that v = V_r/(1 + 1/(4 pi^2 f)) from rest.
  const double f = 0.5 / ((dt + 0.01) * V / 10.0);
  ASSERT_NEAR(s.state.v[0], V / 10.0 / (1.0 + 1.0 / (39.47841760435743 * f)), 1e-9);
  simulation_step(&s, 89);
  ASSERT_NEAR(s.state.q[0], 90 * dt * V / 10.0, 1e-3);
  s.state.q[0] = 0.48;
  double fastest = 0.0;
  for (int i = 0; i < 1000; ++i) {
    simulation_step(&s, 1);
    fastest = fmax(fastest, s.state.v[0]);
  }
  assert_true(fastest < V / 10.0 && fastest > 0.8 * V / 10.0);
  assert_true(s.state.q[0] > 0.5 - 1e-4);
  simulation_end(&s);
}

// A hinge's axis goes through the contact: nothing can move that point. It is no contact.
static void test_contact_on_axis(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><geom type='sphere' size='0.05'/><body><joint axis='0 0 1'/>"
      "<geom type='capsule' fromto='0 0 0 0.12 0 0' size='0.01'/></body></worldbody></mujoco>";
  simulation s = read_scene(text, 0.01);
  s.state.v[0] = 1.0;
  simulation_step(&s, 100);
  assert_true(isfinite(s.state.q[0]));
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stretched_arm),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_contact_on_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
