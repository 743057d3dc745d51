// SPDX-License-Identifier: BSD-3-Clause
// Bodies placed exactly on each other have contact from the first step: the boxes sink until
// springs of stiffness k carry the weight above, with at most half as much overshoot on the way.
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stacks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
