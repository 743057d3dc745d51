// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of steps with servos, limits, dry friction and equalities, likewise.
#include "oracle/linearize_bench.h"

// Linear forces of implicit Euler, rows of the other schemes; and what holds a tendon.
static void test_servos_and_tendons(void** state) {
  (void)state;
  static const sap_scheme schemes[] = {SAP_SCHEME_IMPLICIT_EULER, SAP_SCHEME_SYMPLECTIC_EULER};
  for (size_t k = 0; k < 2; ++k) {
    bench b = open_bench(WORLD ARM
                         "</worldbody><tendon><fixed name='t' range='-.02 .02' limited='true' "
                         "frictionloss='.3'><joint joint='b' coef='1'/><joint joint='c' "
                         "coef='-.5'/></fixed></tendon><actuator><position joint='b' kp='30' "
                         "kv='2'/><velocity joint='c' kv='1'/><position tendon='t' kp='9' "
                         "gear='2'/></actuator></mujoco>",
                         schemes[k]);
    b.u[0] = 0.3;
    b.u[1] = -0.2;
    b.u[2] = 0.1;
    warm_up(&b, 5);
    check(&b, "servos", 0, "");
    close_bench(&b);
  }
}

// A limit that acts and dry friction that slides and that sticks.
static void test_limits(void** state) {
  (void)state;
  bench b = open_bench(
      WORLD
      "<body pos='0 0 1'><joint name='a' axis='0 1 0' range='-20 5' limited='true' "
      "frictionloss='.2'/><geom type='capsule' size='.05' fromto='0 0 0 .3 .1 0'/><body "
      "pos='.3 .1 0'><joint name='b' axis='1 0 0' frictionloss='20'/><geom type='capsule' "
      "size='.04' fromto='0 0 0 .3 .2 -.1'/></body></body></worldbody></mujoco>",
      SAP_SCHEME_IMPLICIT_EULER);
  b.start.q[0] = 0.0865;
  b.start.v[0] = 1.0;
  check(&b, "limits", 0, "");
  close_bench(&b);
}

static void check_bench(const char* name, const char* text, sap_scheme scheme, int steps,
                        const char* notes) {
  bench b = open_bench(text, scheme);
  for (int i = 0; i < b.sizes.nv; ++i) {
    b.start.v[i] = 0.3 * sin(i + 1.0);
  }
  for (int i = 0; i < b.sizes.nu; ++i) {
    b.u[i] = 0.3 - 0.1 * i;
  }
  warm_up(&b, steps);
  check(&b, name, -1, notes);
  close_bench(&b);
}

#define LINKS                                                                                     \
  "<body name='p' pos='0 0 1'><joint name='j' axis='0 1 0'/><geom type='capsule' size='.04' "     \
  "fromto='0 0 0 .3 0 .1'/><body name='r' pos='.3 0 .1'><joint name='k' axis='0 1 0'/><joint "    \
  "name='l' axis='1 0 0'/><geom type='capsule' size='.04' fromto='0 0 0 .3 0 -.1'/><site "        \
  "name='e' pos='.3 0 -.1'/></body></body>"                                                       \
  "<body name='o' pos='.6 .3 1'><joint name='m' type='ball'/><geom type='box' size='.1 .05 .03' " \
  "pos='.1 0 0'/></body>"

#define POINTS "<site name='w' pos='.3 .4 1.3'/></worldbody>"

// Equalities, rigid and soft.
static void test_equalities(void** state) {
  (void)state;
  static const char* const kinds[] = {
      "<joint joint1='j' joint2='k' polycoef='0 .5 .3 0 0'/>",
      "<connect body1='r' body2='o' anchor='.3 0 -.1'/>",
      "<weld body1='r' body2='o'/>",
      "<joint joint1='j' joint2='k' solref='-400 -20'/>",
      "<connect body1='r' body2='o' anchor='.3 0 -.1' solref='-400 -20'/>",
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    for (int scheme = 0; scheme < 2; ++scheme) {
      char text[2048];
      (void)snprintf(text, sizeof text, WORLD LINKS "</worldbody><equality>%s</equality></mujoco>",
                     kinds[i]);
      // The curvature is that along the solution before where a step was solved again.
      tolerance = scheme == 0 ? TOLERANCE : 1e-3;
      check_bench(kinds[i], text,
                  scheme == 0 ? SAP_SCHEME_IMPLICIT_EULER : SAP_SCHEME_SYMPLECTIC_EULER, 5,
                  "by differences: equalities");
    }
  }
  tolerance = TOLERANCE;
}

// Limits of balls, limits and friction of tendons along points, servos of tendons and sites.
static void test_moving_rows(void** state) {
  (void)state;
  static const struct {
    const char *name, *text;
  } cases[] = {
      {"ball limit", WORLD
       "<body pos='0 0 1'><joint type='ball' range='0 10' limited='true'/><geom type='capsule' "
       "size='.05' fromto='0 0 0 .3 .1 0'/></body></worldbody></mujoco>"},
      {"tendon friction", WORLD LINKS POINTS
       "<tendon><spatial name='t' "
       "frictionloss='.4'><site site='w'/><site site='e'/></spatial></tendon></mujoco>"},
      {"tendon limit", WORLD LINKS POINTS
       "<tendon><spatial name='t' range='0 .3' "
       "limited='true' ><site site='w'/><site site='e'/></spatial></tendon></mujoco>"},
      {"servo of a tendon", WORLD LINKS POINTS "<tendon><spatial name='t'><site site='w'/><site "
                                               "site='e'/></spatial></tendon><actuator><position "
                                               "tendon='t' kp='50' kv='5' forcerange='-100 "
                                               "100'/></actuator></mujoco>"},
      {"servo of a site",
       WORLD LINKS POINTS "<actuator><position site='e' refsite='w' gear='1 .5 0 0 "
                          "0 0' kp='50' kv='5' forcerange='-100 100'/></actuator></mujoco>"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (i >= 3) {
      check_bench(cases[i].name, cases[i].text, SAP_SCHEME_IMPLICIT_EULER, 3,
                  "by differences: servos of tendons, transmissions");
    }
    check_bench(cases[i].name, cases[i].text,
                i < 3 ? SAP_SCHEME_IMPLICIT_EULER : SAP_SCHEME_SYMPLECTIC_EULER, i == 0 ? 40 : 3,
                "by differences: rows of balls, tendons, transmissions");
  }
}

static void test_activations(void** state) {
  (void)state;
  static const char notes[] =
      "by differences: springs between bodies, tendons, muscles; by differences: actuators on "
      "transmissions or effort ranges";
  static const char scene[] = WORLD LINKS POINTS
      "<tendon><spatial name='t'><site site='w'/><site site='e'/></spatial>"
      "</tendon><actuator><general joint='j' dyntype='filter' dynprm='.03' "
      "gainprm='3'/><muscle tendon='t' lengthrange='.1 .9'/></actuator></mujoco>";
  check_bench("activations", scene, SAP_SCHEME_IMPLICIT_EULER, 5, notes);
  check_bench("activations", scene, SAP_SCHEME_MIDPOINT, 5, notes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_servos_and_tendons), cmocka_unit_test(test_limits),
      cmocka_unit_test(test_equalities),         cmocka_unit_test(test_moving_rows),
      cmocka_unit_test(test_activations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
