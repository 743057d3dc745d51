// SPDX-License-Identifier: BSD-3-Clause
// Overlaps that no motion explains part slowly; contacts that motion has closed keep their law to
// the bit, and those that bear a load its depth.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

// impact_speed < 0: the default.
static simulation begin(const char* text, sap_scheme scheme, double dt, double impact_speed) {
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, scheme, dt);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  if (impact_speed >= 0.0) {
    options.regularization.impact_speed = impact_speed;
  }
  simulation_use(&s, &options);
  return s;
}

// Two boxes of 1 kg, 1.1 m inside each other: 2048 J in the first step without the bound.
static void test_boxes(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom type='box' size='1 1 1' "
      "mass='1'/></body><body pos='0.9 0 0'><freejoint/><geom type='box' size='1 1 1' mass='1'/>"
      "</body></worldbody></mujoco>";
  const double steps[] = {0.0005, 0.002, 0.01};
  for (int i = 0; i < 3; ++i) {
    simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, steps[i], -1.0);
    double last = 0.0, largest = 0.0;
    for (double t = 0.0; t < 15.0; t += steps[i]) {
      simulation_step(&s, 1);
      largest = fmax(largest, simulation_diagnose(&s).kinetic);
      last = s.state.q[7] - s.state.q[0];
    }
    assert_true(last > 2.0);                 // they do part
    assert_true(largest < 0.5 * 2.0 * 1.0);  // slower than a fifth of the impact speed
    simulation_end(&s);
    s = begin(text, SAP_SCHEME_IMPLICIT_EULER, steps[i], 0.0);
    simulation_step(&s, 1);
    assert_true(simulation_diagnose(&s).kinetic > 500.0);  // what the bound takes
    simulation_end(&s);
  }
}

#define BALL(height, speed, solref)                                              \
  {                                                                              \
    "<mujoco><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 " height \
    "'><freejoint/><geom type='sphere' size='0.1' mass='1' solref='" solref      \
    "'/></body></worldbody>"                                                     \
    "</mujoco>",                                                                 \
        speed                                                                    \
  }

// Physical contacts are the same to the bit with and without the bound: a stiff one hit at 10 m/s, a
// soft one without damping that rebounds, one that comes to rest.
static void test_impacts(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double speed;
  } cases[] = {BALL("0.12", -10.0, "-1e6 -1e4"), BALL("0.12", -10.0, "-1e9 0"),
               BALL("0.12", -4.5, "-1e4 0"), BALL("0.1", 0.0, "-1e3 -20")};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
      // Explicit Euler makes energy out of the undamped stiff contact by itself.
      if (i == 1 && scheme == (int)SAP_SCHEME_EXPLICIT_EULER) {
        continue;
      }
      double q[2] = {0.0, 0.0}, v[2] = {0.0, 0.0}, deepest[2] = {1.0, 1.0};
      for (int bound = 0; bound < 2; ++bound) {
        simulation s = begin(cases[i].text, (sap_scheme)scheme, 0.002, bound == 0 ? 0.0 : -1.0);
        // Schemes that move the positions by v0 are a step deep before the contact acts.
        const bool by_v0 =
            scheme == (int)SAP_SCHEME_EXPLICIT_EULER || scheme == (int)SAP_SCHEME_MIDPOINT;
        s.state.v[2] = by_v0 ? 0.02 * cases[i].speed : cases[i].speed;
        s.state.q[2] = by_v0 ? fmin(0.101, s.state.q[2]) : s.state.q[2];
        for (int n = 0; n < 400; ++n) {
          simulation_step(&s, 1);
          deepest[bound] = fmin(deepest[bound], s.state.q[2] - 0.1);
        }
        q[bound] = s.state.q[2];
        v[bound] = s.state.v[2];
        simulation_end(&s);
      }
      assert_true(deepest[0] < -1e-6);
      if (q[0] != q[1]) {
        fail_msg("case %d, scheme %d: %.17g, %.17g", (int)i, scheme, q[0], q[1]);
      }
      assert_memory_equal(&v[0], &v[1], sizeof(double));
    }
  }
}

// A load beyond the explained depth, here at a low impact speed, is borne where the law bears it:
// F/k = 1000 N/1e4 N/m.
static void test_load(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 -10'/><worldbody><geom type='plane' size='9 9 1'/><body pos='0 "
      "0 0.4'><freejoint/><geom type='sphere' size='0.5' mass='100' solref='-1e4 -1e3'/></body>"
      "</worldbody></mujoco>";
  simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, 0.002, 0.1);
  simulation_step(&s, 5000);
  ASSERT_NEAR(s.state.q[2], 0.5 - 0.1, 1e-9);
  simulation_end(&s);
}

// The law is a continuous function of the overlap: the speed after a step from rest.
static void test_continuous(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 "
      "1'><freejoint/><geom type='sphere' size='0.5' mass='1'/></body></worldbody></mujoco>";
  simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, 0.002, -1.0);
  const double rest = s.state.q[2] - 0.5, way = 1e-5;
  double before = 0.0, fastest = 0.0;
  for (int i = 0; i < 40000; ++i) {
    memset(s.state.v, 0, 6 * sizeof *s.state.v);
    s.state.q[0] = s.state.q[1] = 0.0;
    memcpy(s.state.q + 3, s.model->q_default + 3, 4 * sizeof *s.state.q);
    s.state.q[2] = rest - i * way;
    sap_stepper_forget(s.stepper);
    simulation_step(&s, 1);
    // Steepest where f grows as d^4: |dv/dd| <= 4/T, T = dt + tau_d >= dt.
    assert_true(fabs(s.state.v[2] - before) <= 4.0 / 0.002 * way);
    before = s.state.v[2];
    fastest = fmax(fastest, before);
  }
  assert_true(fastest < 1.0 && before > 0.05 && before < 0.11);  // V_r = 0.1 m/s
  simulation_end(&s);
}

// A violated limit beside a stiff damper, as of a torso that holds an arm up: undone slowly and
// without a force that only the damper balances. Without a bound 1e7 N s/m 0.1 m/s = 1e6 N.
static void test_damped_limit(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' axis='0 0 1' "
      "range='0.04 1' limited='true' damping='1e7'/><geom size='.1' mass='20'/></body>"
      "</worldbody></mujoco>";
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    // Explicit Euler does not solve such a damper.
    if (scheme != (int)SAP_SCHEME_EXPLICIT_EULER && scheme != (int)SAP_SCHEME_SYMPLECTIC_EULER) {
      simulation s = begin(text, (sap_scheme)scheme, 0.002, -1.0);
      for (int i = 0; i < 100; ++i) {
        simulation_step(&s, 1);
        assert_true(s.state.v[0] * 1e7 < 5e4);
      }
      assert_true(s.state.q[0] > 1e-4);
      simulation_end(&s);
    }
  }
}

// A wrong start pushes with no more force than `lift`, here 20 + 50
// m/s^2: 100 N, against a spring that 2e5 N would bend by 0.2 m. d stays far above d_e = 5 mm.
static void test_force(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='9 9 1'/><body>"
      "<joint type='slide' axis='0 0 1' stiffness='1e5' damping='1e3'/><geom pos='0 0 .6' size='1' "
      "mass='1'/></body></worldbody></mujoco>";
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    if (scheme == (int)SAP_SCHEME_EXPLICIT_EULER || scheme == (int)SAP_SCHEME_SYMPLECTIC_EULER) {
      continue;  // do not solve such a spring
    }
    simulation s = begin(text, (sap_scheme)scheme, 0.002, -1.0);
    simulation_step(&s, 1000);
    ASSERT_NEAR(s.state.q[0], 70.0 / 1e5, 1e-9);
    assert_true(fabs(s.state.v[0]) < 1e-9);
    simulation_end(&s);
  }
}

// A load above `lift`, 200 N by a soft spring, sinks in slower than V_r, and steadily; an impact at
// 20 m/s is stopped as if the force had no bound: by 12 mm.
static void test_sinking(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 "
      "1.5'><joint type='slide' axis='0 0 1' stiffness='1' springref='-200'/><geom size='2' "
      "mass='1'/></body></worldbody></mujoco>";
  simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, 0.002, -1.0);
  for (int i = 0; i < 500; ++i) {
    const double before = s.state.v[0];
    simulation_step(&s, 1);
    assert_true(fabs(s.state.v[0]) < 0.1);
    assert_true(i < 10 || fabs(s.state.v[0] - before) < 1e-3);
  }
  assert_true(s.state.q[0] > -0.05);
  s.state.q[0] = 0.5;
  s.state.v[0] = -20.0;
  sap_stepper_forget(s.stepper);
  for (int i = 0; i < 100; ++i) {
    simulation_step(&s, 1);
    assert_true(s.state.q[0] > 0.5 - 0.012);
  }
  simulation_end(&s);
}

// A base of 8 kg and two balls of 1 kg on one line, which overlap by 15 mm or meet at 4 m/s.
#define LINKS(end_of_base, x, end_of_robot)                                                   \
  "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' axis='1 0 0'/>"      \
  "<geom size='.01' mass='8' contype='0' conaffinity='0'/>" end_of_base                       \
  "<body><joint type='slide' axis='1 0 0'/><geom size='.1' mass='1' solref='-1e6 0'/></body>" \
  "<body pos='" x                                                                             \
  " 0 0'><joint type='slide' axis='1 0 0'/><geom size='.1' mass='1' "                         \
  "solref='-1e6 0'/></body>" end_of_robot "</worldbody></mujoco>"

static double find_energy(const char* text) {
  simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, 0.0005, -1.0);
  double largest = 0.0;
  for (int i = 0; i < 400; ++i) {
    simulation_step(&s, 1);
    largest = fmax(largest, simulation_diagnose(&s).kinetic);
  }
  simulation_end(&s);
  return largest;
}

// Links of one robot are closed by a fifth of the impact speed or less: M V^2/2 = 5 J explains
// 4.5 mm of them, and 22 mm of separate bodies. What explains them, they keep to the bit.
static void test_links(void** state) {
  (void)state;
  assert_true(find_energy(LINKS("</body>", ".185", "")) > 20.0);
  assert_true(find_energy(LINKS("", ".185", "</body>")) < 5.0);
  double q[2] = {0.0, 1.0};
  for (int bound = 0; bound < 2; ++bound) {
    simulation s = begin(LINKS("", ".203", "</body>"), SAP_SCHEME_IMPLICIT_EULER, 0.0005,
                         bound == 0 ? 0.0 : -1.0);
    s.state.v[2] = -4.0;
    simulation_step(&s, 400);
    q[bound] = s.state.q[2];
    simulation_end(&s);
  }
  assert_true(q[0] == q[1] && q[0] > -0.4);  // 0.8 m without the impact
}

typedef struct listing {
  sap_wrong_start starts[16];
  int32_t count;
} listing;

static void list_start(void* context, const sap_wrong_start* found) {
  listing* l = context;
  assert_true(l->count < 16);
  l->starts[l->count++] = *found;
}

// All that is placed wrong is told, with its depth: a pair with that of its deepest contact, both
// limits of a hinge, a slide and a tendon, and the limit of a ball; nothing of a joint that is
// locked, nor of what is within its limits.
static void test_listing(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><default><geom size='.1' "
      "contype='0' conaffinity='0'/></default><worldbody>"
      "<geom type='plane' size='9 9 1' contype='1' conaffinity='1'/>"
      "<body pos='0 0 -.2' euler='0 .1 0'><freejoint/><geom type='box' size='.5 .5 .1' contype='1' "
      "conaffinity='1'/></body>"
      "<body pos='0 0 5'><joint type='hinge' range='.5 2' limited='true'/><geom/></body>"
      "<body pos='0 0 6'><joint type='hinge' range='-2 -.6' limited='true'/><geom/></body>"
      "<body pos='0 0 7'><joint type='slide' range='.7 2' limited='true'/><geom/></body>"
      "<body pos='0 0 8'><joint name='s' type='slide' range='-2 -.8' limited='true'/><geom/></body>"
      "<body pos='0 0 9'><joint type='ball' range='0 .3' limited='true'/><geom/></body>"
      "<body pos='0 0 10'><joint type='slide' range='-1 1' limited='true'/><geom/></body>"
      "<body pos='0 0 11'><joint type='slide' range='.7 2' "
      "limited='true'/><geom/></body></worldbody>"
      "<tendon><fixed range='.9 2' limited='true'><joint joint='s' coef='1'/></fixed>"
      "<fixed range='-2 -.4' limited='true'><joint joint='s' coef='1'/></fixed></tendon></mujoco>";
  simulation s = begin(text, SAP_SCHEME_IMPLICIT_EULER, 0.01, -1.0);
  assert_int_equal(sap_multibody_lock(s.multibody, 7, true, NULL), SAP_STATUS_OK);
  double* ball = s.state.q + 7 + 4;
  ball[0] = cos(0.4);
  ball[2] = sin(0.4);
  simulation_step(&s, 1);
  listing l = {.count = 0};
  assert_int_equal(sap_multibody_wrong_starts(s.multibody, &s.report, list_start, &l, NULL),
                   SAP_STATUS_OK);
  const sap_wrong_start expected[] = {
      {SAP_ELEMENT_SHAPE, 0, 1, 0.2 + 0.5 * sin(0.1) + 0.1 * cos(0.1), false},
      {SAP_ELEMENT_JOINT, 1, 0, 0.5, true},
      {SAP_ELEMENT_JOINT, 2, 1, 0.6, true},
      {SAP_ELEMENT_JOINT, 3, 0, 0.7, false},
      {SAP_ELEMENT_JOINT, 4, 1, 0.8, false},
      {SAP_ELEMENT_JOINT, 5, 1, 0.8 - 0.3, true},
      {SAP_ELEMENT_TENDON, 0, 0, 0.9, false},
      {SAP_ELEMENT_TENDON, 1, 1, 0.4, false}};
  assert_int_equal(l.count, sizeof expected / sizeof *expected);
  for (int32_t i = 0; i < l.count; ++i) {
    const sap_wrong_start *is = &l.starts[i], *be = &expected[i];
    assert_true(is->kind == be->kind && is->a == be->a && is->b == be->b);
    assert_true(is->is_angle == be->is_angle);
    ASSERT_NEAR(is->depth, be->depth, 1e-12);
  }
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listing),    cmocka_unit_test(test_boxes),
      cmocka_unit_test(test_impacts),    cmocka_unit_test(test_load),
      cmocka_unit_test(test_continuous), cmocka_unit_test(test_damped_limit),
      cmocka_unit_test(test_force),      cmocka_unit_test(test_sinking),
      cmocka_unit_test(test_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
