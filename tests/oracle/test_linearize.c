// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of whole steps against central differences of steps at tight tolerances, for the same
// set of contacts.
#include "oracle/linearize_bench.h"

static void test_free_body(void** state) {
  (void)state;
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    bench b =
        open_bench(WORLD
                   "<body pos='0 0 2'><freejoint/><geom type='box' size='.1 .2 .3' pos='.05 0 "
                   ".1'/></body></worldbody></mujoco>",
                   (sap_scheme)scheme);
    for (int i = 0; i < 6; ++i) {
      b.start.v[i] = 2.0 * sin(i + 1.0);
    }
    check(&b, sap_scheme_text((sap_scheme)scheme), 0, "");
    close_bench(&b);
  }
}

// Nothing moves and nothing pulls.
static void test_at_rest(void** state) {
  (void)state;
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    bench b = open_bench(
        "<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody><body><freejoint/><geom "
        "size='.1'/></body></worldbody></mujoco>",
        (sap_scheme)scheme);
    check(&b, sap_scheme_text((sap_scheme)scheme), 0, "");
    close_bench(&b);
  }
}

static void test_free_arm(void** state) {
  (void)state;
  for (int scheme = 0; scheme < (int)SAP_SCHEME_COUNT; ++scheme) {
    bench b = open_bench(WORLD ARM
                         "</worldbody><actuator><motor joint='b' gear='5'/><motor joint='c' "
                         "gear='2'/></actuator></mujoco>",
                         (sap_scheme)scheme);
    b.u[0] = 0.3;
    b.u[1] = -0.2;
    for (int i = 0; i < b.sizes.nv; ++i) {
      b.start.v[i] = sin(i + 1.0);
    }
    warm_up(&b, 5);
    check(&b, sap_scheme_text((sap_scheme)scheme), 0, "");
    close_bench(&b);
  }
}

#define BODY(z, geom) "<body pos='0 0 " z "'><freejoint/>" geom "</body>"

typedef struct contact_scene {
  const char *name, *text;
  double v[6];
  int steps, contacts;
  const char* notes;
} contact_scene;

#define BLOCK "<geom type='box' size='.1 .1 .1' pos='0 0 .1' friction='.4'/>"

static void test_contacts(void** state) {
  (void)state;
  static const contact_scene scenes[] = {
      {"sphere sticks",
       WORLD FLOOR BODY(".0995", "<geom type='sphere' size='.1'/>"),
       {0.01, 0.0, -0.05, 0.2, 0.1, 0.3},
       0,
       1,
       ""},
      {"sphere slides",
       WORLD FLOOR BODY(".0995", "<geom type='sphere' size='.1'/>"),
       {1.0, 0.5, -0.05, 0.2, 0.1, 0.3},
       0,
       1,
       ""},
      {"sphere ahead",
       WORLD FLOOR BODY(".1005", "<geom type='sphere' size='.1'/>"),
       {1.0, 0.5, -0.5, 0.2, 0.1, 0.3},
       0,
       1,
       ""},
      {"boxes pulled off the floor",  // moves at the end are at their bound
       "<mujoco><option timestep='0.005' gravity='3 0 40'/><worldbody>" FLOOR BODY(
           ".0995", "<geom type='box' size='.2 .15 .1'/>")
           BODY(".2994", "<geom size='.1' pos='.03 .02 0'/>"),
       {0.3, 0.1, -0.3, 0.02, 0.05, 0.3},
       0,
       5,
       ""},
      {"box slides and spins",
       WORLD FLOOR BODY(".0995", "<geom type='box' size='.2 .15 .1'/>"),
       {1.0, 0.5, -0.05, 0.02, 0.01, 2.0},
       2,
       4,
       ""},
      {"capsule rolls",
       WORLD FLOOR BODY(".0995", "<geom type='capsule' size='.1 .2' euler='90 0 0'/>"),
       {0.3, 0.1, 0.0, 0.1, 2.0, 1.0},
       2,
       2,
       ""},
      {"sphere on sphere",
       WORLD FLOOR BODY(".0998", "<geom type='sphere' size='.1'/>")
           BODY(".2994", "<geom type='sphere' size='.1' pos='.003 .002 0'/>"),
       {0.1, 0.2, 0.0, 0.3, 0.4, 0.5},
       1,
       2,
       ""},
      {"sphere on sphere, one between them in order",  // parts of dF/dv that interleave
       WORLD FLOOR BODY(".0998", "<geom type='sphere' size='.1'/>")
           BODY(".0997", "<geom type='sphere' size='.1' pos='1 0 0'/>")
               BODY(".2994", "<geom type='sphere' size='.1' pos='.003 .002 0'/>"),
       {0.1, 0.2, 0.0, 0.3, 0.4, 0.5},
       1,
       3,
       ""},
      {"box on box",
       WORLD FLOOR BODY(".0998", "<geom type='box' size='.2 .2 .1'/>")
           BODY(".2994", "<geom type='box' size='.1 .1 .1' euler='0 0 20'/>"),
       {0.0, 0.0, 0.0, 0.0, 0.0, 0.1},
       1,
       8,
       ""},
      {"tilted box across an edge",
       WORLD BLOCK BODY(".21",
                        "<geom type='box' size='.3 .04 .02' "
                        "pos='.1 0 .005' euler='2 9 20'/>"),
       {0.2, 0.1, -0.3, 0.1, 0.5, 0.3},
       1,
       2,
       ""},
      {"tilted box over a corner",
       WORLD BLOCK BODY(".299",
                        "<geom type='box' size='.1 .1 .1' "
                        "pos='.09 .06 0' euler='.08 .15 20'/>"),
       {0.2, 0.1, -0.1, 0.1, 0.2, 0.3},
       1,
       4,
       ""},
      {"edges of boxes",
       WORLD BLOCK BODY(".2095",
                        "<geom type='box' size='.1 .1 .1' "
                        "pos='.24 .01 0' euler='45 35 20'/>"),
       {-0.2, 0.1, -0.3, 0.1, 0.5, 0.3},
       1,
       1,
       ""},
      {"sphere on an edge",
       WORLD BLOCK BODY(".27", "<geom size='.1' pos='.17 0 0'/>"),
       {-0.2, 0.1, -0.3, 0.1, 0.5, 0.3},
       1,
       1,
       ""},
      {"sphere on a corner",
       WORLD BLOCK BODY(".25", "<geom size='.1' pos='.158 .157 0'/>"),
       {-0.2, 0.1, -0.3, 0.1, 0.5, 0.3},
       1,
       1,
       ""},
      {"capsule across an edge",
       WORLD BLOCK BODY(".25",
                        "<geom type='capsule' size='.03 .2' "
                        "pos='.1 0 -.005' euler='5 70 20'/>"),
       {-0.2, 0.1, -0.3, 0.1, 0.5, 0.3},
       1,
       1,
       ""},
      {"sphere spins",
       WORLD FLOOR BODY(".0995", "<geom type='sphere' size='.1' condim='4' friction='.6 .05 0'/>"),
       {1.0, 0.5, -0.05, 0.2, 0.1, 9.0},
       0,
       1,
       ""},
      {"sphere rolls",
       WORLD FLOOR BODY(".0995",
                        "<geom type='sphere' size='.1' condim='6' friction='.6 .05 .01'/>"),
       {1.0, 0.5, -0.05, -4.0, 9.0, 3.0},
       0,
       1,
       ""},
      {"sphere with all frictions rests",
       WORLD FLOOR BODY(".0995",
                        "<geom type='sphere' size='.1' condim='6' friction='.6 .05 .01'/>"),
       {0.001, 0.0, -0.05, 0.02, 0.01, 0.03},
       0,
       1,
       ""},
      {"similar slides",
       WORLD FLOOR BODY(".0995", "<geom type='box' size='.2 .15 .1'/>"),
       {1.0, 0.5, -0.05, 0.02, 0.01, 2.0},
       2,
       4,
       ""},
      {"similar creeps",
       WORLD FLOOR BODY(".0995", "<geom type='box' size='.2 .15 .1'/>"),
       {0.01, 0.005, -0.05, 0.0, 0.0, 0.02},
       9,
       4,
       ""},
      {"lagged slides",
       WORLD FLOOR BODY(".0995", "<geom type='sphere' size='.1'/>"),
       {1.0, 0.5, -0.05, 0.02, 0.01, 2.0},
       0,
       1,
       ""},
      {"lagged creeps",
       WORLD FLOOR BODY(".0995", "<geom type='box' size='.2 .15 .1'/>"),
       {0.01, 0.005, -0.05, 0.0, 0.0, 0.02},
       9,
       4,
       ""},
      {"soft sphere slides",
       WORLD FLOOR BODY(".095", "<geom type='sphere' size='.1' solref='-1e4 -50'/>"),
       {1.0, 0.5, -0.05, 0.2, 0.1, 0.3},
       6,
       1,
       ""},
      {"soft capsule rolls",
       WORLD FLOOR BODY(".095",
                        "<geom type='capsule' size='.1 .2' euler='90 0 0' solref='-1e4 "
                        "-50'/>"),
       {0.3, 0.1, 0.0, 0.1, 2.0, 1.0},
       6,
       2,
       ""},
  };
  for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s) {
    for (int k = 0; k <= (int)SAP_SCHEME_COUNT; ++k) {  // the last: laws at the theta point
      char text[4096];
      const bool within = k == (int)SAP_SCHEME_COUNT;
      const sap_scheme scheme = within ? SAP_SCHEME_MIDPOINT : (sap_scheme)k;
      (void)snprintf(text, sizeof text, "%s</worldbody></mujoco>", scenes[s].text);
      const sap_contact_model model =
          strncmp(scenes[s].name, "similar", 7) == 0  ? SAP_CONTACT_SIMILAR
          : strncmp(scenes[s].name, "lagged", 6) == 0 ? SAP_CONTACT_LAGGED
                                                      : SAP_CONTACT_BY_MATERIAL;
      bench b = open_bench_with(text, (bench_options){scheme, false, model, within});
      memcpy(b.start.v, scenes[s].v, sizeof scenes[s].v);
      warm_up(&b, scenes[s].steps + (within && model == SAP_CONTACT_SIMILAR ? 4 : 0));
      check(&b, scenes[s].name, scenes[s].contacts, scenes[s].notes);
      close_bench(&b);
    }
  }
}

// The gap's curvature of a contact at another theta point than the middle counts as given.
static void test_curvature_of_gaps(void** state) {
  (void)state;
  static const char scene[] =
      WORLD FLOOR BODY(".0995", "<geom type='sphere' size='.1'/>") "</worldbody></mujoco>";
  for (int i = 0; i < 2; ++i) {
    bench b = open_bench(scene, SAP_SCHEME_MIDPOINT);
    sap_stepper_options options = sap_stepper_options_default();
    options.theta = options.theta_vq = i == 0 ? 0.5 : 0.7;
    options.contact_stage = SAP_STAGE_AUTO;
    sap_stepper_destroy(b.stepper);
    assert_int_equal(sap_stepper_create(b.system, &options, &b.stepper, NULL), SAP_STATUS_OK);
    warm_up(&b, 3);
    step(&b, &b.start);
    assert_int_equal(b.contacts, 1);
    double AB[12 * 12];
    sap_linearize_report report;
    assert_int_equal(sap_stepper_linearize(b.stepper, AB, NULL, &report, NULL), SAP_STATUS_OK);
    assert_true((strstr(report.notes, "held: curvature of gaps") != NULL) == (i == 1));
    close_bench(&b);
  }
}

// A fast sphere meets the floor far ahead: where it does counts as given, and the report says so.
static void test_far_ahead(void** state) {
  (void)state;
  static const char scene[] =
      WORLD FLOOR BODY(".4", "<geom type='sphere' size='.1'/>") "</worldbody></mujoco>";
  bench b = open_bench_with(
      scene, (bench_options){SAP_SCHEME_MIDPOINT, false, SAP_CONTACT_BY_MATERIAL, true});
  b.start.v[2] = -100.0;
  step(&b, &b.start);
  assert_int_equal(b.contacts, 1);
  double AB[12 * 12];
  sap_linearize_report report;
  assert_int_equal(sap_stepper_linearize(b.stepper, AB, NULL, &report, NULL), SAP_STATUS_OK);
  assert_non_null(strstr(report.notes, "held: place of contacts ahead"));
  close_bench(&b);
}

#define HAND                                                                                    \
  "<mujoco><option timestep='0.004'/><worldbody><geom type='plane' size='5 5 1' pos='0 0 .62' " \
  "friction='.3'/>" ARM
#define COUPLED                                                                             \
  "<body pos='0 0 3'><joint name='e' axis='0 1 0'/><geom size='.1' pos='.2 0 0' "           \
  "mass='.5'/></body></worldbody><tendon><fixed name='t' stiffness='9' damping='4'><joint " \
  "joint='c' coef='1'/><joint joint='e' coef='.7'/></fixed></tendon>"

// The arm's hand on the floor, alone and with the memory of the steps before, whose impulses are
// expected again, with another tree on a tendon with it, and with laws at the theta point.
static void test_arm_on_floor(void** state) {
  (void)state;
  static const struct {
    const char *text, *notes;
    bool remember, within;
  } cases[] = {
      {HAND "</worldbody></mujoco>", "", false, false},
      {HAND "</worldbody></mujoco>", "", true, false},
      {HAND COUPLED "</mujoco>",
       "by differences: springs between bodies, tendons, muscles; held: stiffness and drag in A",
       true, false},
      {HAND "</worldbody></mujoco>", "", false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    bench b = open_bench_with(
        cases[i].text,
        (bench_options){cases[i].within ? SAP_SCHEME_MIDPOINT : SAP_SCHEME_IMPLICIT_EULER,
                        cases[i].remember, SAP_CONTACT_BY_MATERIAL, cases[i].within});
    warm_up(&b, 64);
    if (cases[i].remember) {
      b.memory = malloc(1 << 16);
      assert_int_equal(sap_stepper_save_memory(b.stepper, b.memory, 1 << 16, &b.size, NULL),
                       SAP_STATUS_OK);
    }
    check(&b, "arm on floor", -1, cases[i].notes);
    assert_true(b.contacts > 0);
    close_bench(&b);
  }
}

// Steps at default tolerances have the derivatives of exact ones: v is improved first, and factors
// that are from before the last correction are refined.
static void test_default_tolerances(void** state) {
  (void)state;
  bench b = open_bench(
      WORLD FLOOR BODY(".0995", "<geom type='box' size='.2 .15 .1'/>")
          BODY(".2990", "<geom type='box' size='.1 .1 .1' euler='0 0 20'/>")
              BODY(".4985",
                   "<geom type='capsule' size='.1 .1' euler='90 0 20'/>") "</worldbody></mujoco>",
      SAP_SCHEME_IMPLICIT_EULER);
  enum { ROWS = 36 };
  sap_stepper* loose;
  sap_stepper_options options = sap_stepper_options_default();
  options.contact_stage = SAP_STAGE_END;
  options.remember = false;
  double exact[ROWS * ROWS], A[ROWS * ROWS], x[ROWS], back[ROWS];
  double worst = 0.0;
  int32_t corrections = 0;
  assert_int_equal(sap_stepper_create(b.system, &options, &loose, NULL), SAP_STATUS_OK);
  for (int i = 0; i < ROWS / 2; ++i) {
    b.start.v[i] = 0.3 * sin(i + 1.0);
  }
  for (int i = 0; i < ROWS; ++i) {
    x[i] = sin(1.0 + i);
  }
  for (int i = 0; i < 60; ++i) {
    sap_linearize_report report;
    step(&b, &b.start);
    assert_int_equal(sap_stepper_linearize(b.stepper, exact, NULL, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_state_copy(&b.start, &b.end, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(loose, &b.end, NULL, NULL), SAP_STATUS_OK);
    const sap_step_gradients g = {
        .dq1 = x, .dv1 = x + ROWS / 2, .dq0 = back, .dv0 = back + ROWS / 2};
    assert_int_equal(sap_stepper_vjp(loose, &g, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_linearize(loose, A, NULL, &report, NULL), SAP_STATUS_OK);
    corrections += report.iterations;
    const double most = largest(exact, ROWS * ROWS);
    for (int k = 0; k < ROWS; ++k) {
      const double* column = exact + ROWS * k;
      const double scale = largest(column, ROWS) + 0.01 * most;
      double product = 0.0, wrong = 0.0;
      for (int r = 0; r < ROWS; ++r) {
        product += column[r] * x[r];
        wrong = fmax(wrong, fabs(column[r] - A[ROWS * k + r]));
      }
      worst = fmax(worst, fmax(wrong, fabs(product - back[k])) / scale);
    }
    warm_up(&b, 1);
  }
  if (!(worst <= 1e-7) || corrections < 61) {
    fail_msg("error %.2g after %d corrections", worst, corrections);
  }
  sap_stepper_destroy(loose);
  close_bench(&b);
}

#define SLIDERS                                                                               \
  WORLD FLOOR                                                                                 \
      "<body pos='0 0 .0995'><freejoint/><geom type='box' size='.2 .15 .1'/></body>"          \
      "<body pos='2 0 .0995'><freejoint/><geom type='sphere' size='.1'/></body>"              \
      "<body pos='4 0 1'><joint name='a' axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body>" \
      "</worldbody><actuator><motor joint='a'/></actuator></mujoco>"

// Derivatives do not change the next steps, and are those of the step, not of controls set after it.
static void test_step_as_made(void** state) {
  (void)state;
  double v[2][16], A[2][4 * 13 * 13];
  for (int twice = 0; twice < 2; ++twice) {
    bench b = open_bench_with(
        SLIDERS, (bench_options){SAP_SCHEME_IMPLICIT_EULER, true, SAP_CONTACT_BY_MATERIAL, false});
    b.start.v[0] = 1.0;
    b.start.v[7] = 0.5;
    b.u[0] = 1.0;
    for (int i = 0; i < 20; ++i) {
      warm_up(&b, 1);
      if (twice == 1) {
        const double other = 7.0;
        assert_int_equal(sap_multibody_set_control(b.multibody, &other, NULL), SAP_STATUS_OK);
        assert_int_equal(sap_stepper_linearize(b.stepper, A[1], NULL, NULL, NULL), SAP_STATUS_OK);
      }
    }
    assert_int_equal(sap_stepper_linearize(b.stepper, A[0], NULL, NULL, NULL), SAP_STATUS_OK);
    memcpy(v[twice], b.start.v, sizeof(double) * (size_t)b.sizes.nv);
    close_bench(&b);
  }
  assert_memory_equal(v[0], v[1], 13 * sizeof(double));
  assert_memory_equal(A[0], A[1], sizeof A[0]);
}

static void test_threads(void** state) {
  (void)state;
  double A[2][4 * 13 * 13];
  for (int many = 0; many < 2; ++many) {
    sap_model* model = scene_text_model("scene.xml", SLIDERS, NULL);
    sap_stepper_options options = sap_stepper_options_default();
    options.solver_options.threads = many == 0 ? 1 : 3;
    sap_multibody* multibody;
    sap_stepper* stepper;
    sap_state at = {0};
    assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), &options, &stepper, NULL),
                     0);
    assert_int_equal(sap_model_get_default_state(model, &at, NULL), SAP_STATUS_OK);
    at.v[0] = 1.0;
    for (int i = 0; i < 10; ++i) {
      assert_int_equal(sap_stepper_step(stepper, &at, NULL, NULL), SAP_STATUS_OK);
    }
    assert_int_equal(sap_stepper_linearize(stepper, A[many], NULL, NULL, NULL), SAP_STATUS_OK);
    sap_state_clear(&at);
    sap_stepper_destroy(stepper);
    sap_multibody_destroy(multibody);
    sap_model_destroy(model);
  }
  assert_memory_equal(A[0], A[1], sizeof A[0]);
}

static void assert_refused(const char* text, sap_scheme scheme, sap_status status,
                           const char* message) {
  bench b = open_bench(text, scheme);
  sap_error error = {0};
  for (int i = 0; i < b.sizes.nu; ++i) {
    b.u[i] = 1.0;
  }
  if (status != SAP_STATUS_ARGUMENT) {
    warm_up(&b, 2);
  }
  assert_int_equal(sap_stepper_linearize(b.stepper, NULL, NULL, NULL, &error), status);
  assert_non_null(strstr(error.message, message));
  assert_int_equal(sap_stepper_vjp(b.stepper, &(sap_step_gradients){0}, NULL, &error), status);
  close_bench(&b);
}

// Errors name the feature that is not supported.
static void test_refused(void** state) {
  (void)state;
  const char ball[] = "<body pos='0 0 .0995'><freejoint/><geom name='b' size='.1' %s/></body>%s";
  static const struct {
    const char *geom, *more, *message;
  } cases[] = {
      {"",
       "<body name='s' pos='2 0 .0995'><freejoint/><geom size='.1'/></body></worldbody><actuator>"
       "<adhesion body='s' ctrlrange='0 1' gain='1'/></actuator><worldbody>",
       "adhesion"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char body[1024], text[2048];
    (void)snprintf(body, sizeof body, ball, cases[i].geom, cases[i].more);
    (void)snprintf(text, sizeof text, "%s%s%s</worldbody></mujoco>", WORLD, FLOOR, body);
    assert_refused(text, SAP_SCHEME_IMPLICIT_EULER, SAP_STATUS_UNSUPPORTED, cases[i].message);
  }
  assert_refused(SLIDERS, SAP_SCHEME_IMPLICIT_EULER, SAP_STATUS_ARGUMENT, "no step");
  bench b = open_bench(SLIDERS, SAP_SCHEME_IMPLICIT_EULER);
  sap_error error = {0};
  warm_up(&b, 1);
  assert_int_equal(sap_multibody_detect(b.multibody, b.start.q, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_linearize(b.stepper, NULL, NULL, NULL, &error), SAP_STATUS_ARGUMENT);
  close_bench(&b);
}

// A step with locked joints, or of a user's own system.
static void test_refused_steps(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    sap_model* model = scene_text_model("scene.xml", SLIDERS, NULL);
    sap_stepper_options options = sap_stepper_options_default();
    sap_multibody* multibody;
    sap_stepper* stepper;
    sap_state at = {0};
    sap_error error = {0};
    assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
    sap_system system = *sap_multibody_system(multibody);
    system.impulse_derivatives = i == 1 ? NULL : system.impulse_derivatives;
    assert_int_equal(sap_multibody_lock(multibody, i == 0 ? 2 : 0, i == 0, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_create(&system, &options, &stepper, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_model_get_default_state(model, &at, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &at, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_linearize(stepper, NULL, NULL, NULL, &error),
                     SAP_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, i == 0 ? "locked joint 2 'a'" : "impulse_derivatives"));
    sap_state_clear(&at);
    sap_stepper_destroy(stepper);
    sap_multibody_destroy(multibody);
    sap_model_destroy(model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_free_body),         cmocka_unit_test(test_at_rest),
      cmocka_unit_test(test_free_arm),          cmocka_unit_test(test_contacts),
      cmocka_unit_test(test_curvature_of_gaps), cmocka_unit_test(test_default_tolerances),
      cmocka_unit_test(test_far_ahead),         cmocka_unit_test(test_arm_on_floor),
      cmocka_unit_test(test_step_as_made),      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_refused),           cmocka_unit_test(test_refused_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
