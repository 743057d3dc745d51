// SPDX-License-Identifier: BSD-3-Clause
// Contacts of light bodies that bear heavy ones keep the stiffness that is asked: m g/(n k) with n
// points, or 8 beta^2 g dt (dt + tau_d)/n where it is infinite; castro's law tells what it loses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static const double g = 9.81, tau_d = 0.01;

static const char wheel[] =
    "<mujoco><custom><numeric name='sapstep:stiffness:tyre' data='5e5'/></custom><worldbody>"
    "<geom type='plane' size='3 3 .1'/><body pos='0 0 .1'><joint type='slide' axis='0 0 1'/>"
    "<joint name='x' type='slide' axis='1 0 0'/><inertial pos='0 0 0' mass='50' "
    "diaginertia='1 1 1'/><body><joint axis='0 1 0' %s/><inertial pos='0 0 0' mass='1e-6' "
    "diaginertia='1e-3 1e-3 1e-3'/><geom name='tyre' type='sphere' size='.1' friction='.5'/>"
    "</body></body></worldbody></mujoco>";

static simulation begin(const char* text, double dt, sap_law law) {
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.contact_law = law;
  simulation_use(&s, &options);
  return s;
}

// Returns the depth at rest; *softened and *realised are those of the last step and contact.
static double rest(simulation* s, double dt, int32_t* softened, double* realised) {
  sap_step_report report;
  sap_error error;
  simulation_step(s, (int32_t)lround(3.0 / dt));
  assert_int_equal(sap_stepper_step(s->stepper, &s->state, &report, &error), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_collect(s->multibody, &report, &error), SAP_STATUS_OK);
  double depth = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s->multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s->multibody)[i];
    depth = fmax(depth, -c->phi);
    *realised = c->realised;
  }
  *softened = report.softened;
  return depth;
}

static void test_wheel(void** state) {
  (void)state;
  static const double steps[5] = {1e-3, 2.5e-3, 5e-3, 6e-3, 1e-2};  // part: 1 to below 0.5
  char text[1024];
  (void)snprintf(text, sizeof text, wheel, "");
  for (int i = 0; i < 5; ++i) {
    const double dt = steps[i], k = 5e5;
    int32_t softened = -1;
    double realised = 0.0;
    simulation s = begin(text, dt, SAP_LAW_AUTO);
    ASSERT_NEAR(rest(&s, dt, &softened, &realised), 50.0 * g / k, 1e-9);
    assert_int_equal(softened, 0);
    assert_true(realised == 1.0);
    simulation_end(&s);
    // castro: |W|/3 with W_tt = 1/50 + (r - depth)^2/I
    s = begin(text, dt, SAP_LAW_CASTRO);
    const double depth = rest(&s, dt, &softened, &realised);
    const double w = hypot(0.02 + pow(0.1 - depth, 2.0) / 1e-3, 0.02) / 3.0, R = w / 39.4784176;
    const double part = fmin(1.0, 1.0 / (dt * k * (dt + tau_d)) / R);
    ASSERT_NEAR(depth, 50.0 * g / (k * part), 1e-5);
    ASSERT_NEAR(realised, part, 1e-3);
    assert_int_equal(softened, part < 0.5);
    s.state.v[0] = 0.5;  // lifts off: a contact without an impulse carries nothing
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_collect(s.multibody, &s.report, NULL), SAP_STATUS_OK);
    assert_int_equal(s.report.softened, 0);
    simulation_end(&s);
  }
}

// A wheel with a brake stops in a step, and creeps on no faster than castro (31).
static void test_braked_wheel(void** state) {
  (void)state;
  const double dt = 0.01;
  char text[1024];
  (void)snprintf(text, sizeof text, wheel, "frictionloss='1e4'");
  simulation s = begin(text, dt, SAP_LAW_AUTO);
  simulation_step(&s, 300);
  s.state.v[1] = 0.01;  // it is stopped, and creeps on by what friction needs
  int32_t softened;
  double realised;
  (void)rest(&s, 3.0, &softened, &realised);
  const double* vc = sap_multibody_contacts(s.multibody)[0].vc;
  assert_true(hypot(vc[0], vc[1]) <= 0.5 * 1e-3 * g * dt);
  simulation_end(&s);
}

// An equality that holds a body is not counted as a softened contact, in either direction.
static void test_connect_is_no_contact(void** state) {
  (void)state;
  int positive = 0;
  for (int up = 0; up < 2; ++up) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "<mujoco><option gravity='0 0 %g'/><worldbody><body name='b' pos='0 0 1'>"
                   "<freejoint/><geom type='sphere' size='.1' mass='2'/></body></worldbody>"
                   "<equality><connect body1='b' anchor='0 0 0'/></equality></mujoco>",
                   up == 1 ? g : -g);
    simulation s = begin(text, 0.01, SAP_LAW_AUTO);
    sap_step_report report;
    assert_int_equal(sap_stepper_step(s.stepper, &s.state, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.rows, 3);
    ASSERT_NEAR(fabs(report.solution->gamma[2]), 2.0 * g * 0.01, 1e-5);
    positive += report.solution->gamma[2] > 0.0 ? 1 : 0;
    assert_int_equal(report.softened, 0);
    simulation_end(&s);
  }
  assert_int_equal(positive, 1);
}

// 1000 kg on n cubes of 1 g: of k 1e6 N/m, 5e5 between two of them, and of an infinite k.
static void test_heavy_on_light(void** state) {
  (void)state;
  static const double steps[5] = {1e-3, 2.5e-3, 5e-3, 6e-3, 1e-2};  // part: 1 to below 0.5
  for (int i = 0; i < 12; ++i) {
    const double dt = steps[i % 3];
    const int light = i / 3 % 2 == 0 ? 1 : 3;
    const bool rigid = i >= 6;
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "<mujoco><custom><numeric name='sapstep:stiffness' data='%s'/></custom>"
                     "<worldbody><geom type='plane' size='3 3 .1'/>",
                     rigid ? "1e13" : "1e6");
    for (int b = 0; b <= light; ++b) {
      n += snprintf(text + n, sizeof text - (size_t)n,
                    "<body pos='0 0 %g'><freejoint/><geom type='box' size='.1 .1 .1' mass='%g'/>"
                    "</body>",
                    0.1 + 0.2 * b, b < light ? 1e-3 : 1e3);
    }
    (void)snprintf(text + n, sizeof text - (size_t)n, "</worldbody></mujoco>");
    simulation s = begin(text, dt, SAP_LAW_AUTO);
    int32_t softened;
    double realised;
    const double depth = rigid ? 2.0 * g * dt * (dt + tau_d) : 1e3 * g / (4.0 * 5e5);
    ASSERT_NEAR(rest(&s, dt, &softened, &realised), depth, 1e-3 * depth);
    simulation_end(&s);
  }
}

// A heavy body that touches nothing changes no contact.
static void test_apart(void** state) {
  (void)state;
  double q[2][14] = {{0.0}};
  for (int i = 0; i < 2; ++i) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "<mujoco><worldbody><geom type='plane' size='3 3 .1'/>"
                   "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
                   "<body pos='9 0 1'><freejoint/><geom type='box' size='1 1 1' mass='%g'/></body>"
                   "</worldbody></mujoco>",
                   i == 0 ? 1.0 : 1e8);
    simulation s = begin(text, 0.01, SAP_LAW_AUTO);
    simulation_step(&s, 100);
    memcpy(q[i], s.state.q, sizeof q[i]);
    simulation_end(&s);
  }
  assert_memory_equal(q[0], q[1], 7 * sizeof(double));
}

// A heavy body below, or beside, rests on nothing: contacts above it are as soft as their own masses.
static void test_heavy_below(void** state) {
  (void)state;
  double R[2] = {0.0};
  for (int i = 0; i < 2; ++i) {
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "<mujoco><worldbody><geom type='plane' size='3 3 .1'/>"
        "<body pos='0 0 .1'><freejoint/><geom type='box' size='.5 .5 .1' mass='%g'/></body>"
        "<body pos='0 0 .25'><freejoint/><geom size='.05' mass='1'/></body>"
        "</worldbody></mujoco>",
        i == 0 ? 2.0 : 1e4);
    simulation s = begin(text, 0.01, SAP_LAW_AUTO);
    simulation_step(&s, 1);
    for (int32_t c = 0; c < sap_multibody_contact_count(s.multibody); ++c) {
      const sap_contact* contact = &sap_multibody_contacts(s.multibody)[c];
      R[i] = contact->body_A > 0 ? contact->R[2] : R[i];
    }
    simulation_end(&s);
  }
  assert_true(R[0] > 0.0 && R[1] > 0.3 * R[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wheel),
      cmocka_unit_test(test_braked_wheel),
      cmocka_unit_test(test_connect_is_no_contact),
      cmocka_unit_test(test_heavy_on_light),
      cmocka_unit_test(test_apart),
      cmocka_unit_test(test_heavy_below),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
