// SPDX-License-Identifier: BSD-3-Clause
// Actuators of adhesion: what they hold and what they press.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static const double dt = 0.005, mass = 2.0, weight = 2.0 * 9.81;

// A body of `geom` at x y z with an actuator that pulls with `force`; control 1.
static simulation begin(sap_scheme scheme, const char* world, const char* geom, const char* pos,
                        double force) {
  char text[2048];
  (void)snprintf(text, sizeof text,
                 "<mujoco><option timestep='%g'/><default><geom solref='-2e4 -200' friction='.5'/>"
                 "</default><worldbody>%s<body name='b' pos='%s'><freejoint/><geom mass='%g' %s/>"
                 "</body></worldbody><actuator><adhesion body='b' ctrlrange='0 1' gain='%g'/>"
                 "</actuator></mujoco>",
                 dt, world, pos, mass, geom, force);
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, scheme, dt);
  static const double control = 1.0;
  sap_error error = {0};
  if (sap_multibody_set_control(s.multibody, &control, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return s;
}

#define FLOOR "<geom type='plane' size='5 5 1' solref='-1e12 0'/>"
#define CEILING "<geom type='box' size='1 1 .1' pos='0 0 .6' solref='-1e12 0'/>"
#define WALL "<geom type='box' size='.1 9 9' pos='-.1 0 0' solref='-1e12 0'/>"

// It presses with its weight and the force, on n points.
static void presses(void** state) {
  (void)state;
  static const double force = 30.0, k = 2e4;
  static const struct {
    const char *geom, *pos;
    double height;
    int points;
  } lying[] = {{"type='sphere' size='.1'", "0 0 .1", 0.1, 1},
               {"type='capsule' size='.05 .1' euler='90 0 0'", "0 0 .05", 0.05, 2},
               {"type='box' size='.1 .2 .05'", "0 0 .05", 0.05, 4}};
  static const sap_scheme schemes[] = {SAP_SCHEME_SYMPLECTIC_EULER, SAP_SCHEME_IMPLICIT_EULER,
                                       SAP_SCHEME_MIDPOINT};
  for (size_t i = 0; i < sizeof lying / sizeof *lying; ++i) {
    for (size_t j = 0; j < sizeof schemes / sizeof *schemes; ++j) {
      simulation s = begin(schemes[j], FLOOR, lying[i].geom, lying[i].pos, force);
      simulation_step(&s, 400);
      ASSERT_NEAR(s.state.q[2], lying[i].height - (weight + force) / (lying[i].points * k), 2e-7);
      const sap_contact* contacts = sap_multibody_contacts(s.multibody);
      double sum = 0.0;
      for (int32_t c = 0; c < sap_multibody_contact_count(s.multibody); ++c) {
        sum += contacts[c].gamma[2] / dt;
      }
      ASSERT_NEAR(sum, weight + force, 1e-4);
      simulation_end(&s);
    }
  }
}

// A ball hangs at the ceiling by more than its weight, and falls by less.
static void hangs(void** state) {
  (void)state;
  static const double forces[2] = {1.2, 0.8};  // in weights
  for (int i = 0; i < 2; ++i) {
    simulation s = begin(SAP_SCHEME_IMPLICIT_EULER, CEILING, "type='sphere' size='.1'", "0 0 .4005",
                         forces[i] * weight);
    simulation_step(&s, 100);
    if (i == 0) {
      ASSERT_NEAR(s.state.q[2], 0.4 + 0.2 * weight / 2e4, 1e-6);
    } else {
      assert_true(s.state.q[2] < 0.1);
    }
    simulation_end(&s);
  }
}

// A box on a wall: friction of the force holds it, or lets it slide with g - mu f/m.
static void holds_on_a_wall(void** state) {
  (void)state;
  simulation s = begin(SAP_SCHEME_IMPLICIT_EULER, WALL, "type='box' size='.05 .2 .2'", "0.0499 0 0",
                       2.5 * weight);
  simulation_step(&s, 200);
  assert_true(fabs(s.state.q[2]) < 1e-3);
  simulation_end(&s);
  s = begin(SAP_SCHEME_IMPLICIT_EULER, WALL, "type='box' size='.05 .2 .2'", "0.0499 0 0",
            1.5 * weight);
  simulation_step(&s, 50);
  const double v0 = s.state.v[2];
  simulation_step(&s, 50);
  ASSERT_NEAR((s.state.v[2] - v0) / (50.0 * dt), -9.81 * (1.0 - 0.5 * 1.5), 5e-2);
  simulation_end(&s);
}

// Nothing from outside: a body and the one that it holds keep their momentum; switched off, or
// without control, they part.
static void pulls_both(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='.005' gravity='0 0 0'/><default><geom solref='-2e4 -200'/>"
      "</default><worldbody><body name='b'><freejoint/><geom size='.1' mass='2'/></body>"
      "<body pos='.1999 0 0'><freejoint/><geom size='.1' mass='3'/></body></worldbody>"
      "<actuator><adhesion body='b' ctrlrange='0 1' gain='20'/></actuator></mujoco>";
  for (int on = 0; on < 2; ++on) {
    simulation s = {.model = scene_text_model("a.xml", text, NULL)};
    simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
    const double control = (double)on;
    assert_int_equal(sap_multibody_set_control(s.multibody, &control, NULL), SAP_STATUS_OK);
    s.state.v[6] = 0.01;
    simulation_step(&s, 300);
    ASSERT_NEAR(2.0 * s.state.v[0] + 3.0 * s.state.v[6], 0.03, 1e-9);
    const double distance = s.state.q[7] - s.state.q[0];
    if (on != 0) {
      ASSERT_NEAR(distance, 0.2 - 20.0 / 1e4, 1e-6);  // the two in series
      ASSERT_NEAR(s.state.v[0], 0.006, 1e-5);
    } else {
      assert_true(distance > 0.21);
    }
    simulation_end(&s);
  }
}

// A shape that only comes near is not pulled: the step that reaches the floor is the same with and
// without the force.
static void waits_for_the_touch(void** state) {
  (void)state;
  double speed[2];
  for (int on = 0; on < 2; ++on) {
    simulation s = begin(SAP_SCHEME_IMPLICIT_EULER, FLOOR, "type='sphere' size='.1'", "0 0 .103",
                         on == 1 ? 300.0 : 0.0);
    s.state.v[2] = -1.0;
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_contact_count(s.multibody), 1);
    assert_true(sap_multibody_contacts(s.multibody)[0].gamma[2] > 0.0);
    speed[on] = s.state.v[2];
    simulation_end(&s);
  }
  assert_true(speed[0] == speed[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(presses),
      cmocka_unit_test(hangs),
      cmocka_unit_test(holds_on_a_wall),
      cmocka_unit_test(pulls_both),
      cmocka_unit_test(waits_for_the_touch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
