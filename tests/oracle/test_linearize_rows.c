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

// A gradient that is held to be zero is noted: that of a tendon's servo in A. (Notes stay with the step.)
static void test_note_of_tendon_servos(void** state) {
  (void)state;
  bench b = open_bench(
      WORLD ARM
      "</worldbody><tendon><fixed name='t' frictionloss='.3'><joint joint='b' coef='1'/><joint "
      "joint='c' coef='-.5'/></fixed></tendon><actuator><position tendon='t' "
      "kp='9'/><position joint='b' kp='3'/></actuator></mujoco>",
      SAP_SCHEME_IMPLICIT_EULER);
  warm_up(&b, 2);
  for (int32_t id = 1; id >= 0; --id) {
    const sap_parameter kp = {SAP_PARAMETER_SERVO_STIFFNESS, id};
    double x[16] = {1.0}, found;
    sap_linearize_report report;
    const sap_step_gradients out = {x, x + 8, NULL, NULL, NULL, {&kp, 1, &found}};
    assert_int_equal(sap_stepper_vjp(b.stepper, &out, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(strstr(report.notes, "held: servos of tendons in A") != NULL, id == 0);
  }
  close_bench(&b);
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

// Laws of the midpoint rule act within the step.
static void check_bench(const char* name, const char* text, sap_scheme scheme, int steps,
                        const char* notes) {
  bench b = open_bench_with(
      text, (bench_options){scheme, false, SAP_CONTACT_BY_MATERIAL, scheme == SAP_SCHEME_MIDPOINT});
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
      "<weld body1='r' body2='o' solref='-400 -20'/>",
      "<weld body1='r' body2='o' solref='-4e5 -20'/>",  // R is that of the near-rigid limit
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    for (int k = 0; k < 3; ++k) {
      static const sap_scheme schemes[] = {SAP_SCHEME_IMPLICIT_EULER, SAP_SCHEME_SYMPLECTIC_EULER,
                                           SAP_SCHEME_MIDPOINT};
      char text[2048];
      (void)snprintf(text, sizeof text, WORLD LINKS "</worldbody><equality>%s</equality></mujoco>",
                     kinds[i]);
      // The curvature is that along the solution before where a step was solved again.
      tolerance = k == 1 ? 1e-3 : TOLERANCE;
      check_bench(kinds[i], text, schemes[k], 5, "by differences: equalities");
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
      {"soft ball limit",
       WORLD "<body pos='0 0 1'><joint type='ball' range='0 10' limited='true' solreflimit='-900 "
             "-40'/><geom type='capsule' size='.05' fromto='0 0 0 .3 .1 "
             "0'/></body></worldbody></mujoco>"},
      {"soft tendon limit", WORLD LINKS POINTS
       "<tendon><spatial name='t' range='0 .3' limited='true' solreflimit='-900 -40'><site "
       "site='w'/><site site='e'/></spatial></tendon></mujoco>"},
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
    if (i >= 5) {
      check_bench(cases[i].name, cases[i].text, SAP_SCHEME_IMPLICIT_EULER, 3,
                  "by differences: servos of tendons, transmissions");
    }
    // Rows of rigid limits lose digits at the theta point, where G is 1e6 times A.
    const bool rigid = i == 0 || strcmp(cases[i].name, "tendon limit") == 0;
    for (int k = 0; k < (rigid ? 1 : 2); ++k) {
      const sap_scheme scheme = k > 0   ? SAP_SCHEME_MIDPOINT
                                : i < 5 ? SAP_SCHEME_IMPLICIT_EULER
                                        : SAP_SCHEME_SYMPLECTIC_EULER;
      check_bench(cases[i].name, cases[i].text, scheme, i < 2 ? 40 : 3,
                  "by differences: rows of balls, tendons, transmissions");
    }
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

enum {
  MU,
  K,
  TAU,
  FLOOR_MU,
  FLOOR_K,
  DAMPING,
  ARMATURE,
  LOSS,
  SPRING,
  G_X,
  G_Z,
  KP,
  KD,
  KV,
  MASS,
  CENTRE_X,
  CENTRE_Z,
  INERTIA_XX,
  INERTIA_XZ,
  BOX_MASS,
  PARAMETERS
};

// A box that slides on a floor, and an arm with a spring and dry friction whose hand does.
static bench open_parameters(const double p[PARAMETERS], const double* v, bench_options with) {
  char text[4096];
  (void)snprintf(
      text, sizeof text,
      "<mujoco><option timestep='.005' gravity='%.17g 0 %.17g'/><worldbody><geom type='plane' "
      "size='5 5 1' friction='%.17g' solref='-%.17g -%.17g'/><body pos='0 0 .0995'><freejoint/>"
      "<inertial pos='.01 0 0' mass='%.17g' diaginertia='.26 .4 .5'/>"
      "<geom type='box' size='.2 .15 .1' friction='%.17g' solref='-%.17g -%.17g'/></body><body "
      "pos='3 0 .5'><joint name='a' axis='0 1 0' damping='%.17g' armature='%.17g' "
      "stiffness='%.17g' springref='30'/><geom type='capsule' size='.05' "
      "fromto='0 0 0 .3 .1 0'/><body pos='.3 .1 0'><joint name='b' axis='0 .6 .8' "
      "frictionloss='%.17g'/><inertial pos='%.17g .05 %.17g' mass='%.17g' "
      "fullinertia='%.17g .025 .02 0 %.17g 0'/><geom type='sphere' size='.05' pos='.1 .1 -.452'/>"
      "<body pos='.02 .03 0' euler='0 0 30'><inertial pos='0 .1 0' mass='.2' "
      "diaginertia='.001 .002 .002'/></body></body></body></worldbody><actuator><position "
      "joint='a' gear='1.5' kp='%.17g' kv='%.17g'/><velocity joint='b' gear='.5' "
      "kv='%.17g'/></actuator></mujoco>",
      p[G_X], p[G_Z], p[FLOOR_MU], p[FLOOR_K], 0.02 * p[FLOOR_K], p[BOX_MASS], p[MU], p[K],
      p[K] * p[TAU], p[DAMPING], p[ARMATURE], p[SPRING], p[LOSS], p[CENTRE_X], p[CENTRE_Z], p[MASS],
      p[INERTIA_XX], p[INERTIA_XZ], p[KP], p[KD], p[KV]);
  bench b = open_bench_with(text, with);
  b.u[0] = 0.3;
  b.u[1] = -0.5;
  memcpy(b.start.v, v, 8 * sizeof *v);
  return b;
}

static void test_parameters(void** state) {
  (void)state;
  static const sap_parameter list[PARAMETERS] = {{SAP_PARAMETER_FRICTION, 1},
                                                 {SAP_PARAMETER_STIFFNESS, 1},
                                                 {SAP_PARAMETER_RELAXATION_TIME, 1},
                                                 {SAP_PARAMETER_FRICTION, 0},
                                                 {SAP_PARAMETER_STIFFNESS, 0},
                                                 {SAP_PARAMETER_DAMPING, 1},
                                                 {SAP_PARAMETER_ARMATURE, 1},
                                                 {SAP_PARAMETER_FRICTION_LOSS, 2},
                                                 {SAP_PARAMETER_SPRING, 1},
                                                 {SAP_PARAMETER_GRAVITY, 0},
                                                 {SAP_PARAMETER_GRAVITY, 2},
                                                 {SAP_PARAMETER_SERVO_STIFFNESS, 0},
                                                 {SAP_PARAMETER_SERVO_DAMPING, 0},
                                                 {SAP_PARAMETER_SERVO_DAMPING, 1},
                                                 {SAP_PARAMETER_MASS, 3},
                                                 {SAP_PARAMETER_CENTRE_X, 3},
                                                 {SAP_PARAMETER_CENTRE_Z, 3},
                                                 {SAP_PARAMETER_INERTIA_XX, 3},
                                                 {SAP_PARAMETER_INERTIA_XZ, 3},
                                                 {SAP_PARAMETER_MASS, 1}};
  const double at[PARAMETERS] = {.4,   2e4, .02, .6, 3e4, .3,  .02, .1,  2.0,  .3,
                                 -9.0, 3.0, .2,  .4, .5,  .07, -.3, .03, .004, 20.0};
  const double speeds[2][8] = {{1.0, 0.5, -0.05, 0.02, 0.01, 2.0, 0.3, -0.4},
                               {0.01, 0.005, -0.05, 0.0, 0.0, 0.02, 0.2, 1.0}};
  for (int i = 0; i < 12; ++i) {
    const double* speed = speeds[i / 3 % 2];
    const bench_options with = {i % 3 == 0   ? SAP_SCHEME_IMPLICIT_EULER
                                : i % 3 == 1 ? SAP_SCHEME_SYMPLECTIC_EULER
                                             : SAP_SCHEME_MIDPOINT,
                                false,
                                i < 6   ? SAP_CONTACT_BY_MATERIAL
                                : i < 9 ? SAP_CONTACT_SIMILAR
                                        : SAP_CONTACT_LAGGED,
                                true};
    bench b = open_parameters(at, speed, with);
    double x[16], found[PARAMETERS], dq0[8], dv0[8], dq1[8];
    const sap_step_gradients out = {x, x + 8, dq0, dv0, NULL, {list, PARAMETERS, found}};
    for (int k = 0; k < 16; ++k) {  // not positions that contacts correct
      x[k] = k < 8 && i % 3 == 2 ? 0.0 : sin(1.0 + k);
    }
    step(&b, &b.start);
    assert_int_equal(b.contacts, 5);
    assert_int_equal(sap_stepper_vjp(b.stepper, &out, NULL, NULL), SAP_STATUS_OK);
    double most = 0.0;
    for (int k = 0; k < PARAMETERS; ++k) {
      most = fmax(most, fabs(found[k] * at[k]));
    }
    for (int k = 0; k < PARAMETERS; ++k) {
      double change[2];
      for (int width = 0; width < 2; ++width) {
        change[width] = 0.0;
        double h = (width == 0 ? 4e-4 : 2e-4) * fabs(at[k]);
        for (int side = -1; side <= 1; side += 2) {
          double p[PARAMETERS];
          memcpy(p, at, sizeof p);
          p[k] += side * h;
          bench moved = open_parameters(p, speed, with);
          step(&moved, &moved.start);
          b.system->position_difference(b.system->context, b.end.q, moved.end.q, dq1);
          for (int j = 0; j < 8; ++j) {
            change[width] += side * (x[j] * dq1[j] + x[8 + j] * moved.end.v[j]) / (2.0 * h);
          }
          close_bench(&moved);
        }
      }
      const double expected = (4.0 * change[1] - change[0]) / 3.0;
      // Shifts against gliding converge to 1e-5.
      const double accepted = i % 3 == 2 ? 1e-4 : TOLERANCE;
      if (!(fabs(found[k] - expected) * fabs(at[k]) <= accepted * most)) {
        fail_msg("case %d, parameter %d: %.12g, by differences %.12g", i, k, found[k], expected);
      }
    }
    const sap_parameter wrong = {SAP_PARAMETER_DAMPING, 9};
    const sap_step_gradients refused = {.dq1 = x, .dv1 = x, .parameters = {&wrong, 1, found}};
    assert_int_equal(sap_stepper_vjp(b.stepper, &refused, NULL, NULL), SAP_STATUS_ARGUMENT);
    close_bench(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_servos_and_tendons),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_note_of_tendon_servos),
      cmocka_unit_test(test_equalities),
      cmocka_unit_test(test_moving_rows),
      cmocka_unit_test(test_activations),
      cmocka_unit_test(test_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
