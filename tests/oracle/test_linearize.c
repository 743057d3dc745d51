// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of whole steps against central differences of steps at tight tolerances, for the same
// set of contacts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/linearize.h>
#include <sapstep/multibody.h>

#include "support/scene_text.h"

#define TOLERANCE 1e-7  // of a column, relative to it and to the matrix's largest entry

typedef struct bench {
  sap_model* model;
  sap_model_sizes sizes;
  sap_multibody* multibody;
  const sap_system* system;
  sap_stepper* stepper;
  sap_state start, end;
  double* u;
  int32_t contacts;
  unsigned char* memory;  // with which each step begins; NULL: none
  size_t size;
} bench;

typedef struct bench_options {
  sap_scheme scheme;
  bool remember;
  sap_contact_model model;
} bench_options;

static bench open_bench_with(const char* text, bench_options with) {
  bench b = {.model = scene_text_model("scene.xml", text, NULL)};
  sap_stepper_options options = sap_stepper_options_default();
  b.sizes = sap_model_get_sizes(b.model);
  assert_int_equal(sap_multibody_create(b.model, &b.multibody, NULL), SAP_STATUS_OK);
  b.system = sap_multibody_system(b.multibody);
  assert_int_equal(sap_stepper_options_set_scheme(&options, with.scheme, NULL), SAP_STATUS_OK);
  options.contact_stage = SAP_STAGE_END;
  options.remember = with.remember;
  options.contact_model = with.model;
  options.balance_tolerance = 1e-13;
  options.solver_options.relative_tolerance = 1e-14;
  options.solver_options.absolute_tolerance = 1e-16;
  assert_int_equal(sap_stepper_create(b.system, &options, &b.stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_resize(&b.start, b.sizes.nq, b.sizes.nv, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_resize(&b.end, b.sizes.nq, b.sizes.nv, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(b.model, &b.start, NULL), SAP_STATUS_OK);
  b.u = calloc((size_t)b.sizes.nu + 1, sizeof(double));
  return b;
}

static bench open_bench(const char* text, sap_scheme scheme) {
  return open_bench_with(text, (bench_options){scheme, false, SAP_CONTACT_BY_MATERIAL});
}

static void close_bench(bench* b) {
  free(b->memory);
  sap_state_clear(&b->start);
  sap_state_clear(&b->end);
  sap_stepper_destroy(b->stepper);
  sap_multibody_destroy(b->multibody);
  sap_model_destroy(b->model);
  free(b->u);
}

// Steps from `start` to `end`.
static void step(bench* b, const sap_state* start) {
  sap_error error = {0};
  sap_step_report report;
  assert_int_equal(sap_state_copy(start, &b->end, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_set_control(b->multibody, b->u, NULL), SAP_STATUS_OK);
  if (b->memory != NULL) {
    assert_int_equal(sap_stepper_load_memory(b->stepper, b->memory, b->size, NULL), SAP_STATUS_OK);
  }
  if (sap_stepper_step(b->stepper, &b->end, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  b->contacts = sap_multibody_contact_count(b->multibody);
}

// Steps the start itself `count` times: to contact and sliding.
static void warm_up(bench* b, int count) {
  for (int i = 0; i < count; ++i) {
    step(b, &b->start);
    assert_int_equal(sap_state_copy(&b->end, &b->start, NULL), SAP_STATUS_OK);
  }
}

// Differences of [q1; v1] by input k: of q0, v0, u, with half width h.
static void differentiate(bench* b, int32_t k, double h, double* column) {
  const int32_t nv = b->sizes.nv;
  sap_state moved = {0};
  double* q[2] = {calloc((size_t)b->sizes.nq, 8), calloc((size_t)b->sizes.nq, 8)};
  double *v[2] = {calloc((size_t)nv, 8), calloc((size_t)nv, 8)}, *e = calloc((size_t)nv, 8);
  const int32_t contacts = b->contacts;
  assert_int_equal(sap_state_resize(&moved, b->sizes.nq, nv, NULL), SAP_STATUS_OK);
  for (int side = 0; side < 2; ++side) {
    const double way = side == 0 ? -h : h;
    assert_int_equal(sap_state_copy(&b->start, &moved, NULL), SAP_STATUS_OK);
    if (k < nv) {
      e[k] = way;
      b->system->integrate_positions(b->system->context, b->start.q, e, 1.0, moved.q);
    } else if (k < 2 * nv) {
      moved.v[k - nv] += way;
    } else {
      b->u[k - 2 * nv] += way;
    }
    step(b, &moved);
    assert_int_equal(b->contacts, contacts);
    if (k >= 2 * nv) {
      b->u[k - 2 * nv] -= way;
    }
    memcpy(q[side], b->end.q, (size_t)b->sizes.nq * sizeof(double));
    memcpy(v[side], b->end.v, (size_t)nv * sizeof(double));
  }
  b->system->position_difference(b->system->context, q[0], q[1], column);
  for (int32_t i = 0; i < nv; ++i) {
    column[i] /= 2.0 * h;
    column[nv + i] = (v[1][i] - v[0][i]) / (2.0 * h);
  }
  sap_state_clear(&moved);
  for (int side = 0; side < 2; ++side) {
    free(q[side]);
    free(v[side]);
  }
  free(e);
}

static double largest(const double* x, size_t n) {
  double most = 0.0;
  for (size_t i = 0; i < n; ++i) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

// Compares all columns. Differences of two widths, extrapolated, show the truth to 1e-9 or so; where
// they reach a kink of the law they are made narrower.
static void check(bench* b, const char* name, int32_t contacts, const char* notes) {
  const size_t n = (size_t)b->sizes.nv, nu = (size_t)b->sizes.nu, rows = 2 * n;
  double* AB = calloc(rows * (rows + nu), sizeof(double));
  double *coarse = calloc(rows, 8), *fine = calloc(rows, 8);
  double *x = calloc(rows, 8), *back = calloc(rows + nu, 8), *again = calloc(rows + nu, 8);
  sap_linearize_report report;
  sap_error error = {0};
  step(b, &b->start);
  if (contacts >= 0) {
    if (b->contacts != contacts) {
      fail_msg("%s: %d contacts", name, b->contacts);
    }
  }
  for (size_t i = 0; i < rows; ++i) {
    x[i] = sin(1.0 + (double)i);
  }
  // Without the matrices, twice, and with them.
  for (int i = 0; i < 2; ++i) {
    if (sap_stepper_vjp(b->stepper, x, x + n, back, back + n, back + rows, NULL, &error) != 0) {
      fail_msg("%s: %s", name, error.message);
    }
    if (i == 0) {
      memcpy(again, back, (rows + nu) * sizeof(double));
    }
  }
  assert_memory_equal(back, again, (rows + nu) * sizeof(double));
  if (sap_stepper_linearize(b->stepper, AB, AB + rows * rows, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  assert_int_equal(
      sap_stepper_vjp(b->stepper, x, x + n, again, again + n, again + rows, NULL, NULL),
      SAP_STATUS_OK);
  const double most = largest(AB, rows * (rows + nu));
  double worst = 0.0, worst_vjp = 0.0;
  for (size_t k = 0; k < rows + nu; ++k) {
    const double* column = AB + rows * k;
    const double scale = largest(column, rows) + 0.01 * most;
    double product = 0.0, error_k = HUGE_VAL;
    for (double h = 1e-5; h > 5e-8 && error_k > TOLERANCE * scale; h *= 0.1) {
      error_k = 0.0;
      differentiate(b, (int32_t)k, 2.0 * h, coarse);
      differentiate(b, (int32_t)k, h, fine);
      for (size_t i = 0; i < rows; ++i) {
        error_k = fmax(error_k, fabs((4.0 * fine[i] - coarse[i]) / 3.0 - column[i]));
      }
    }
    for (size_t i = 0; i < rows; ++i) {
      product += column[i] * x[i];
    }
    worst = fmax(worst, error_k / scale);
    worst_vjp = fmax(worst_vjp, fabs(product - back[k]) / scale);
    worst_vjp = fmax(worst_vjp, fabs(product - again[k]) / scale);
  }
  if (!(worst <= TOLERANCE && worst_vjp <= 1e-12)) {
    fail_msg("%s: %d contacts, error %.2g, of the vjp %.2g", name, b->contacts, worst, worst_vjp);
  }
  assert_string_equal(report.notes, notes);
  free(AB);
  free(coarse);
  free(fine);
  free(x);
  free(back);
  free(again);
}

#define WORLD "<mujoco><option timestep='0.005'/><worldbody>"
#define FLOOR "<geom name='floor' type='plane' size='5 5 1' friction='0.6'/>"

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

#define ARM                                                                                       \
  "<body pos='0 0 1'><joint name='a' type='ball' damping='.3' stiffness='2'/><geom "              \
  "type='capsule' size='.05' fromto='0 0 0 .3 .1 0'/><body pos='.3 .1 0'><joint name='b' "        \
  "axis='0 1 0' damping='.1' stiffness='3' springref='20'/><joint name='s' type='slide' axis='1 " \
  "0 0' armature='.2'/><geom type='capsule' size='.04' fromto='0 0 0 .3 0 -.1'/><body "           \
  "pos='.3 0 -.1'><joint name='c' axis='0 .6 .8'/><geom type='box' size='.1 .05 .03' "            \
  "pos='.1 0 0'/></body></body></body>"

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

#define BODY(z, geom) "<body pos='0 0 " z "'><freejoint/>" geom "</body>"

typedef struct contact_scene {
  const char *name, *text;
  double v[6];
  int steps, contacts;
  const char* notes;
} contact_scene;

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
      {"box on box",
       WORLD FLOOR BODY(".0998", "<geom type='box' size='.2 .2 .1'/>")
           BODY(".2994", "<geom type='box' size='.1 .1 .1' euler='0 0 20'/>"),
       {0.0, 0.0, 0.0, 0.0, 0.0, 0.1},
       1,
       8,
       "by differences: contact geometry"},
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
  };
  for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s) {
    static const sap_scheme schemes[] = {SAP_SCHEME_IMPLICIT_EULER, SAP_SCHEME_SYMPLECTIC_EULER};
    for (size_t k = 0; k < 2; ++k) {
      char text[4096];
      (void)snprintf(text, sizeof text, "%s</worldbody></mujoco>", scenes[s].text);
      const sap_contact_model model =
          strncmp(scenes[s].name, "similar", 7) == 0  ? SAP_CONTACT_SIMILAR
          : strncmp(scenes[s].name, "lagged", 6) == 0 ? SAP_CONTACT_LAGGED
                                                      : SAP_CONTACT_BY_MATERIAL;
      bench b = open_bench_with(text, (bench_options){schemes[k], false, model});
      memcpy(b.start.v, scenes[s].v, sizeof scenes[s].v);
      warm_up(&b, scenes[s].steps);
      check(&b, scenes[s].name, scenes[s].contacts, scenes[s].notes);
      close_bench(&b);
    }
  }
}

// The arm's hand on the floor, alone and with the memory of the steps before, whose impulses are
// expected again.
static void test_arm_on_floor(void** state) {
  (void)state;
  for (int remember = 0; remember < 2; ++remember) {
    bench b = open_bench_with(
        "<mujoco><option timestep='0.004'/><worldbody>"
        "<geom type='plane' size='5 5 1' pos='0 0 .62' friction='.3'/>" ARM "</worldbody></mujoco>",
        (bench_options){SAP_SCHEME_IMPLICIT_EULER, remember == 1, SAP_CONTACT_BY_MATERIAL});
    warm_up(&b, 64);
    if (remember == 1) {
      b.memory = malloc(1 << 16);
      assert_int_equal(sap_stepper_save_memory(b.stepper, b.memory, 1 << 16, &b.size, NULL),
                       SAP_STATUS_OK);
    }
    check(&b, "arm on floor", -1, "");
    assert_true(b.contacts > 0);
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
        SLIDERS, (bench_options){SAP_SCHEME_IMPLICIT_EULER, true, SAP_CONTACT_BY_MATERIAL});
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
  if (status != SAP_STATUS_ARGUMENT) {
    warm_up(&b, 2);
  }
  assert_int_equal(sap_stepper_linearize(b.stepper, NULL, NULL, NULL, &error), status);
  assert_non_null(strstr(error.message, message));
  assert_int_equal(sap_stepper_vjp(b.stepper, NULL, NULL, NULL, NULL, NULL, NULL, &error), status);
  close_bench(&b);
}

// What is not supported is named.
static void test_refused(void** state) {
  (void)state;
  const char ball[] = "<body pos='0 0 .0995'><freejoint/><geom name='b' size='.1' %s/></body>%s";
  static const struct {
    const char *geom, *more, *message;
  } cases[] = {
      {"",
       "<body pos='1 0 1'><joint name='j' axis='0 1 0'/><joint name='k' axis='1 0 0'/><geom "
       "size='.1' pos='.1 0 0'/></body></worldbody><equality><joint joint1='j' "
       "joint2='k'/></equality><worldbody>",
       "equalities"},
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

// A step with locked joints, by the midpoint rule with contacts, or of a user's own system.
static void test_refused_steps(void** state) {
  (void)state;
  for (int i = 0; i < 3; ++i) {
    sap_model* model = scene_text_model("scene.xml", SLIDERS, NULL);
    sap_stepper_options options = sap_stepper_options_default();
    sap_multibody* multibody;
    sap_stepper* stepper;
    sap_state at = {0};
    sap_error error = {0};
    assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
    sap_system system = *sap_multibody_system(multibody);
    system.impulse_derivatives = i == 2 ? NULL : system.impulse_derivatives;
    options.theta = options.theta_vq = i == 1 ? 0.5 : 1.0;
    assert_int_equal(sap_multibody_lock(multibody, 2, i == 0, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_create(&system, &options, &stepper, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_model_get_default_state(model, &at, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &at, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_linearize(stepper, NULL, NULL, NULL, &error),
                     SAP_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, i == 0   ? "locked joint 2 'a'"
                                          : i == 1 ? "theta point"
                                                   : "impulse_derivatives"));
    sap_state_clear(&at);
    sap_stepper_destroy(stepper);
    sap_multibody_destroy(multibody);
    sap_model_destroy(model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_free_body),
      cmocka_unit_test(test_free_arm),
      cmocka_unit_test(test_servos_and_tendons),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_contacts),
      cmocka_unit_test(test_arm_on_floor),
      cmocka_unit_test(test_step_as_made),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_refused_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
