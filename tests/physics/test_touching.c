// SPDX-License-Identifier: BSD-3-Clause
// Bodies placed exactly on each other have contact from the first step: the boxes sink until
// springs of stiffness k carry the weight above, with at most half as much overshoot on the way.
// The end of a bar that only the impulse on its other end closes touches in that step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scene_text.h"
#include "support/simulation.h"

enum { BOXES = 10 };

static void check_stack(double dt, double size) {
  static const double k = 1e5, g = 9.81;  // [N/m], [m/s^2]
  const double mass = 8000.0 * size * size * size;
  char text[4096];
  int at = snprintf(text, sizeof text,
                    "<mujoco><option timestep='%g'/><default><geom solref='-1e5 -1e3' "
                    "density='1000'/></default><worldbody><geom type='plane' size='9 9 1' "
                    "solref='-1e14 0'/>",
                    dt);
  for (int i = 0; i < BOXES; ++i) {
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "<body pos='0 0 %.9f'><freejoint/><geom type='box' size='%g %g %g'/></body>",
                   size * (2 * i + 1), size, size, size);
  }
  (void)snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
  simulation s = {.model = scene_text_model("stack.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  double rest[BOXES], below = 0.0;  // of the boxes' centres at rest, what they have sunk by [m]
  for (int i = 0; i < BOXES; ++i) {
    // A pair's stiffness is that of springs in series: k on the ground, k/2 between boxes.
    below += (BOXES - i) * mass * g / (4.0 * (i == 0 ? k : 0.5 * k));
    rest[i] = size * (2 * i + 1) - below;
  }
  for (int step = 0; step < 200; ++step) {
    simulation_step(&s, 1);
    for (int i = 0; i < BOXES; ++i) {
      const double z = s.state.q[7 * i + 2];
      assert_true(z > rest[i] - 0.5 * below && z < size * (2 * i + 1) + 1e-6);
    }
  }
  for (int i = 0; i < BOXES; ++i) {
    assert_true(fabs(s.state.q[7 * i + 2] - rest[i]) < 1e-4 * below);
  }
  simulation_end(&s);
}

static void test_stacks(void** state) {
  (void)state;
  check_stack(0.02, 0.1);
  check_stack(0.01, 0.1);
  check_stack(0.005, 0.05);
}

// A bar, tilted by a little, falls without gravity at the speed V. Its ends begin at gaps of
// low V dt < V dt and high V dt > V dt, so v* closes the low end alone. That end stops at the floor
// and loses d = (1 - low) V. The bar's end has the mass m/4: its centre gains d/4, its other end
// loses d/2.
static void check_bar(double low, double high, bool closes) {
  static const double V = 2.0, dt = 0.01, length = 0.4,
                      half = 0.05;  // [m/s], [s], half lengths [m]
  const double way = V * dt, angle = asin((high - low) * way / (2.0 * length));
  const double z = 0.5 * (low + high) * way + half * cos(angle);
  char text[1024];
  (void)snprintf(text, sizeof text,
                 "<mujoco><option timestep='%g' gravity='0 0 0'/><compiler angle='radian'/>"
                 "<default><geom solref='-1e12 0'/></default><worldbody>"
                 "<geom type='plane' size='9 9 1'/><body pos='0 0 %.15f' euler='0 %.15f 0'>"
                 "<freejoint/><geom type='box' size='%g %g %g'/></body></worldbody></mujoco>",
                 dt, z, angle, length, half, half);
  simulation s = {.model = scene_text_model("bar.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_SYMPLECTIC_EULER, dt);
  s.state.v[2] = -V;
  simulation_step(&s, 1);
  const double loss = (1.0 - low) * V;
  const double* v = s.state.v;
  const double right = v[2] - v[4] * length, left = v[2] + v[4] * length;  // ends at x > 0, x < 0
  assert_int_equal(sap_multibody_contact_count(s.multibody), closes ? 4 : 2);
  assert_true(fabs(right + low * V) < 0.05 * V);
  assert_true(fabs(left + (closes ? high * V : V + 0.5 * loss)) < 0.05 * V);
  simulation_end(&s);
}

static void test_bar(void** state) {
  (void)state;
  check_bar(0.1, 1.2, true);
  check_bar(0.9, 1.22, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stacks), cmocka_unit_test(test_bar)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
