// SPDX-License-Identifier: BSD-3-Clause
// Whole steps have the same bits in any number of threads: fields, piles, robots, loops, tendons,
// control functions; and so have the contacts that are collected. A step that fails leaves its
// state alone and says the same.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "core/archive.h"
#include "support/scene_text.h"
#include "support/simulation.h"

enum { TEXT_SIZE = 1 << 18, THREADS = 4, HASHES = 64 };

typedef struct text {
  char bytes[TEXT_SIZE];
  size_t length;
} text;

static void add(text* t, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(t->bytes + t->length, TEXT_SIZE - t->length, format, arguments);
  va_end(arguments);
  assert_true(written >= 0 && (size_t)written < TEXT_SIZE - t->length);
  t->length += (size_t)written;
}

// Boxes and balls that fall on a plane, most of them apart.
static sap_model* field(int32_t count) {
  static text t;
  t.length = 0;
  add(&t, "<mujoco><worldbody><geom type='plane' size='9 9 1'/>");
  for (int32_t i = 0; i < count; ++i) {
    add(&t, "<body pos='%g %g 0.11' euler='%d %d 0'><freejoint/><geom type='%s' size='.1 .1 .1'/>",
        (i % 20) * (i % 7 == 0 ? 0.19 : 0.4), (i / 20) * 0.4, i % 9, i % 5,
        i % 3 == 0 ? "sphere" : "box");
    add(&t, "</body>");
  }
  add(&t, "</worldbody></mujoco>");
  return scene_text_model("field.xml", t.bytes, NULL);
}

// Walkers with springs, dampers, limits, dry friction, motors, tendons and coupled joints; some
// are separate, some are connected.
static sap_model* robots(int32_t count) {
  static text t;
  t.length = 0;
  add(&t,
      "<mujoco><default><joint damping='.5' armature='.01'/></default><worldbody>"
      "<geom type='plane' size='9 9 1'/>");
  for (int32_t i = 0; i < count; ++i) {
    add(&t, "<body name='b%d' pos='%g %g .52'><freejoint/><geom type='capsule' size='.1 .15'/>", i,
        (i % 6) * 1.0, (i / 6) * 1.0);
    for (int32_t leg = 0; leg < 2; ++leg) {
      add(&t,
          "<body pos='0 %g -.2'><joint name='hip%d_%d' axis='0 1 0' range='-60 60' limited="
          "'true' stiffness='3' frictionloss='.1'/><joint axis='1 0 0' range='-20 20' limited="
          "'true'/><geom type='capsule' fromto='0 0 0 0 0 -.15' size='.04'/>",
          leg == 0 ? -0.1 : 0.1, leg, i);
      add(&t,
          "<body pos='0 0 -.16'><joint name='knee%d_%d' axis='0 1 0' range='-90 5' limited="
          "'true'/><geom type='box' pos='.03 0 -.1' size='.08 .04 .03'/></body></body>",
          leg, i);
    }
    add(&t, "</body>");
  }
  add(&t, "</worldbody><tendon>");
  for (int32_t i = 0; i < count; ++i) {
    add(&t,
        "<fixed name='t%d' stiffness='2' damping='.1' range='-1 1' limited='true'><joint joint="
        "'hip0_%d' coef='1'/><joint joint='hip1_%d' coef='-1'/></fixed>",
        i, i, i);
  }
  add(&t, "</tendon><equality>");
  for (int32_t i = 0; i < count; ++i) {
    if (i % 3 == 0) {
      add(&t, "<joint joint1='knee0_%d' joint2='knee1_%d'/>", i, i);
    }
    if (i % 4 == 0 && i + 1 < count) {
      add(&t, "<connect body1='b%d' body2='b%d' anchor='.5 0 0'/>", i, i + 1);
    }
  }
  add(&t, "</equality><actuator>");
  for (int32_t i = 0; i < count; ++i) {
    add(&t, "<motor joint='hip0_%d' gear='3'/><position joint='knee1_%d' kp='5'/>", i, i);
  }
  add(&t, "</actuator></mujoco>");
  return scene_text_model("robots.xml", t.bytes, NULL);
}

static sap_model* shared_scene(const char* path) {
  sap_model* model = NULL;
  sap_error error = {0};
  sap_scene_options options = sap_scene_options_default();
  options.lenient = true;
  if (sap_scene_read(path, &options, &model, &error) != SAP_STATUS_OK) {
    simulation_skip_absent(&error);
  }
  return model;
}

// A control function must be called by the caller's thread, once a step.
typedef struct controls {
  int32_t calls, nu;
  uint64_t seen;
} controls;

static int control(void* context, double t, const double* q, const double* v, double* u) {
  controls* c = context;
  ++c->calls;
  c->seen = sap_hash(c->seen, q, sizeof *q);
  for (int32_t i = 0; i < c->nu; ++i) {
    u[i] = sin(5.0 * t + i) - 0.1 * v[0];
  }
  return 0;
}

typedef struct stepping {
  sap_model* model;
  int32_t threads, steps;
  double theta;
} stepping;

static uint64_t hash_step(sap_multibody* multibody, const sap_state* state,
                          const sap_step_report* report, uint64_t hash) {
  assert_int_equal(sap_multibody_collect(multibody, report, NULL), SAP_STATUS_OK);
  hash = sap_hash(hash, state->q, (size_t)state->nq * sizeof(double));
  hash = sap_hash(hash, state->v, (size_t)state->nv * sizeof(double));
  for (int32_t i = 0; i < sap_multibody_contact_count(multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(multibody)[i];
    hash = sap_hash(hash, c->gamma, sizeof c->gamma);
    hash = sap_hash(hash, c->vc, sizeof c->vc);
    hash = sap_hash(hash, c->R, sizeof c->R);
  }
  const double numbers[] = {report->free_motion_residual, report->balance_error};
  return sap_hash(hash, numbers, sizeof numbers);
}

static void run(const stepping* of, uint64_t hashes[HASHES]) {
  sap_error error = {0};
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_step_report report = {0};
  controls c = {.nu = sap_model_get_sizes(of->model).nu};
  sap_stepper_options options = sap_stepper_options_default();
  options.solver_options.threads = of->threads;
  options.theta = options.theta_vq = of->theta;
  options.dt = 0.005;
  assert_int_equal(sap_multibody_create(of->model, &multibody, &error), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_set_control_function(multibody, control, &c, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), &options, &stepper, &error),
                   SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(of->model, &state, &error), SAP_STATUS_OK);
  assert_true(of->steps < HASHES);
  for (int32_t k = 0; k < of->steps; ++k) {
    if (sap_stepper_step(stepper, &state, &report, &error) != SAP_STATUS_OK) {
      fail_msg("step %d: %s", k, error.message);
    }
    hashes[k] = hash_step(multibody, &state, &report, k > 0 ? hashes[k - 1] : c.seen);
  }
  assert_int_equal(c.calls, of->steps);
  assert_true(sap_multibody_contact_count(multibody) > 0);
  // A failed step leaves the state unchanged with any number of threads.
  if (state.nv > 0) {
    const double v = state.v[state.nv - 1], q = state.q[0];
    state.v[state.nv - 1] = 1e200;
    error = (sap_error){0};
    assert_int_not_equal(sap_stepper_step(stepper, &state, NULL, &error), SAP_STATUS_OK);
    assert_true(state.q[0] == q && state.v[state.nv - 1] == 1e200);
    hashes[of->steps] = sap_hash(hashes[of->steps - 1], error.message, strlen(error.message));
    state.v[state.nv - 1] = v;
    assert_int_equal(sap_stepper_step(stepper, &state, NULL, &error), SAP_STATUS_OK);
  }
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
}

static void expect_same(sap_model* model, int32_t steps, double theta) {
  uint64_t first[HASHES] = {0}, other[HASHES] = {0};
  stepping of = {.model = model, .threads = 1, .steps = steps, .theta = theta};
  run(&of, first);
  for (of.threads = 2; of.threads <= THREADS; ++of.threads) {
    run(&of, other);
    for (int32_t k = 0; k <= steps; ++k) {
      if (first[k] != other[k]) {
        fail_msg("%d threads: step %d differs", of.threads, k);
      }
    }
  }
  sap_model_destroy(model);
}

static void test_field(void** state) {
  (void)state;
  expect_same(field(300), 12, 1.0);
}

static void test_field_midpoint(void** state) {
  (void)state;
  expect_same(field(150), 10, 0.5);
}

static void test_robots(void** state) {
  (void)state;
  expect_same(robots(30), 30, 1.0);
}

static void test_robots_midpoint(void** state) {
  (void)state;
  expect_same(robots(12), 15, 0.5);
}

static void test_clutter(void** state) {
  (void)state;
  expect_same(shared_scene(SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml"), 50, 1.0);
}

static void test_humanoids(void** state) {
  (void)state;
  expect_same(shared_scene(SAPSTEP_SHARED "/models/mujoco/humanoid/22_humanoids.xml"), 40, 1.0);
}

// Two steppers on one multibody engine, the first with threads that the second gives back.
static void test_two_steppers(void** state) {
  (void)state;
  sap_model* model = field(60);
  sap_multibody* multibody = NULL;
  sap_stepper* steppers[2] = {NULL, NULL};
  sap_state q = {0};
  assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &q, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 2; ++i) {
    sap_stepper_options options = sap_stepper_options_default();
    options.solver_options.threads = 3 - 2 * i;
    assert_int_equal(
        sap_stepper_create(sap_multibody_system(multibody), &options, &steppers[i], NULL),
        SAP_STATUS_OK);
  }
  for (int k = 0; k < 4; ++k) {
    assert_int_equal(sap_stepper_step(steppers[k % 2], &q, NULL, NULL), SAP_STATUS_OK);
  }
  sap_stepper_destroy(steppers[0]);
  assert_int_equal(sap_stepper_step(steppers[1], &q, NULL, NULL), SAP_STATUS_OK);
  sap_stepper_destroy(steppers[1]);
  sap_state_clear(&q);
  sap_multibody_destroy(multibody);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_field),        cmocka_unit_test(test_field_midpoint),
      cmocka_unit_test(test_robots),       cmocka_unit_test(test_robots_midpoint),
      cmocka_unit_test(test_clutter),      cmocka_unit_test(test_humanoids),
      cmocka_unit_test(test_two_steppers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
