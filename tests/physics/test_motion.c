// SPDX-License-Identifier: BSD-3-Clause
// Motion without contact: orders of the schemes, conservation, stiff couplings.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/simulation.h"
#include "support/toy_system.h"

enum { MAX_NV = 8 };

// Positions of `system` after `duration` from `start`.
static void integrate(const sap_system* system, sap_scheme scheme, double dt, double duration,
                      const sap_state* start, double* q) {
  sap_error error = {0};
  sap_stepper* stepper = NULL;
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(system, &options, &stepper, NULL), SAP_STATUS_OK);
  sap_state state = {0};
  assert_int_equal(sap_state_resize(&state, system->nq, system->nv, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_copy(start, &state, NULL), SAP_STATUS_OK);
  const int32_t steps = (int32_t)lround(duration / dt);
  for (int32_t i = 0; i < steps; ++i) {
    if (sap_stepper_step(stepper, &state, NULL, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
  }
  memcpy(q, state.q, sizeof(double) * (size_t)system->nq);
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
}

static double distance(const double* a, const double* b, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sqrt(sum);
}

// Midpoint 2.0 +- 0.1, the Eulers 1.0 +- 0.15, against a step 64 times smaller.
static void check_orders(const sap_system* system, const sap_state* start, double dt,
                         double duration) {
  double reference[MAX_NV], coarse[MAX_NV], fine[MAX_NV];
  integrate(system, SAP_SCHEME_MIDPOINT, dt / 128.0, duration, start, reference);
  for (int s = 0; s < (int)SAP_SCHEME_COUNT; ++s) {
    integrate(system, (sap_scheme)s, dt, duration, start, coarse);
    integrate(system, (sap_scheme)s, dt / 2.0, duration, start, fine);
    const double order =
        log2(distance(coarse, reference, system->nq) / distance(fine, reference, system->nq));
    const bool midpoint = s == (int)SAP_SCHEME_MIDPOINT;
    if (!(fabs(order - (midpoint ? 2.0 : 1.0)) <= (midpoint ? 0.1 : 0.15))) {
      fail_msg("%s: order %g", sap_scheme_text((sap_scheme)s), order);
    }
  }
}

static void test_orders_of_a_pendulum(void** unused) {
  (void)unused;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state start = toy_state(&toy.system);
  start.q[0] = 1.0;
  start.q[1] = -0.5;
  check_orders(&toy.system, &start, 1e-3, 0.5);
  sap_state_clear(&start);
}

// A robot that nobody here wrote, read from its URDF: two continuous joints, no limits.
static void test_orders_of_the_double_pendulum(void** unused) {
  (void)unused;
  simulation s;
  sap_error error = {0};
  const char* path = SAPSTEP_SHARED
      "/models/urdf/robots/double_pendulum_description/urdf/double_pendulum_continuous.urdf";
  if (!simulation_read(&s, path, SAP_SCHEME_MIDPOINT, 1e-3, &error)) {
    simulation_skip_absent(&error);
  }
  assert_int_equal(s.state.nq, 2);
  s.state.q[0] = 0.8;
  s.state.q[1] = 0.6;
  sap_system system = *sap_multibody_system(s.multibody);
  system.constraints = NULL;  // the links' meshes overlap
  check_orders(&system, &s.state, 1e-3, 0.25);
  simulation_end(&s);
}

// Steps a toy system n times.
static void step_toy(const sap_system* system, sap_scheme scheme, double dt, int32_t n,
                     sap_state* state) {
  sap_error error = {0};
  sap_stepper* stepper = NULL;
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(system, &options, &stepper, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < n; ++i) {
    if (sap_stepper_step(stepper, state, NULL, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
  }
  sap_stepper_destroy(stepper);
}

// Two masses of 1 kg in two trees, tied by k = 1e8: implicit Euler damps the tie away and leaves
// the common motion alone; midpoint keeps the energy.
static void test_stiff_coupling(void** unused) {
  (void)unused;
  toy_linear toy;
  toy_linear_init(&toy, 2, 1);
  toy_linear_connect(&toy, 0, 1, 1e8, 0.0);
  sap_state state = toy_state(&toy.system);
  state.v[0] = 2.0;
  step_toy(&toy.system, SAP_SCHEME_IMPLICIT_EULER, 0.01, 100, &state);
  ASSERT_NEAR(state.v[0], 1.0, 1e-12);
  ASSERT_NEAR(state.v[1], 1.0, 1e-12);
  ASSERT_NEAR(state.q[0] - state.q[1], 0.0, 1e-12);
  ASSERT_NEAR(0.5 * (state.q[0] + state.q[1]), 1.0, 1e-12);  // the centre of mass
  state.q[0] = state.q[1] = state.v[1] = 0.0;
  state.v[0] = 2.0;
  step_toy(&toy.system, SAP_SCHEME_MIDPOINT, 0.01, 100, &state);
  const double stretch = state.q[0] - state.q[1];
  const double energy =
      0.5 * (state.v[0] * state.v[0] + state.v[1] * state.v[1]) + 0.5e8 * stretch * stretch;
  ASSERT_NEAR(energy, 2.0, 1e-9);  // 1e8 q dq with dq = 1e-16 at q = 1
  sap_state_clear(&state);
}

// A coupled pair with a limit on one of them: the other feels it in the same step.
static void test_coupling_reaches_the_contact_stage(void** unused) {
  (void)unused;
  toy_linear toy;
  toy_linear_init(&toy, 2, 1);
  toy_linear_connect(&toy, 0, 1, 1e8, 0.0);
  toy.limit = true;  // v0 >= 0
  sap_state state = toy_state(&toy.system);
  state.v[0] = state.v[1] = -1.0;
  step_toy(&toy.system, SAP_SCHEME_IMPLICIT_EULER, 0.01, 1, &state);
  assert_true(state.v[0] > -1e-6);
  // A = [1 + h2k, -h2k; -h2k, 1 + h2k], h2k = 1e4: v1 = v* + (A^-1)_21 gamma, v* = -1
  const double h2k = 1e4;
  ASSERT_NEAR(state.v[1], -1.0 + h2k / (1.0 + h2k), 1e-8);
  sap_state_clear(&state);
}

// A torque-free top: midpoint keeps energy and the norm of momentum; the quaternion stays unit.
static void test_top(void** unused) {
  (void)unused;
  toy_top toy;
  toy_top_init(&toy, 1.0, 2.0, 3.0);
  sap_state state = toy_state(&toy.system);
  const double v[3] = {0.1, 5.0, 0.2};
  memcpy(state.v, v, sizeof v);
  double energy = 0.0;
  for (int i = 0; i < 3; ++i) {
    energy += 0.5 * toy.inertia[i] * v[i] * v[i];
  }
  step_toy(&toy.system, SAP_SCHEME_MIDPOINT, 0.01, 5000, &state);
  double now = 0.0, norm = 0.0;
  for (int i = 0; i < 3; ++i) {
    now += 0.5 * toy.inertia[i] * state.v[i] * state.v[i];
  }
  for (int i = 0; i < 4; ++i) {
    norm += state.q[i] * state.q[i];
  }
  ASSERT_NEAR(now / energy, 1.0, 1e-11);  // 5000 steps of 1e-15, biased
  ASSERT_NEAR(sqrt(norm), 1.0, 1e-15);
  sap_state_clear(&state);
}

// A free body in the built-in engine: falls by g t, spins on, quaternion unit to 1e-15.
static void test_free_fall(void** unused) {
  (void)unused;
  const double p[3] = {0.0, 0.0, 1.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const int32_t body = simulation_body(builder, 0, 2.0, 0.3, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 1e-3);
  s.state.v[3] = 10.0;
  s.state.v[4] = -20.0;
  simulation_step(&s, 2000);
  ASSERT_NEAR(s.state.t, 2.0, 1e-12);
  ASSERT_NEAR(s.state.v[2], -9.81 * 2.0, 1e-11);
  ASSERT_NEAR(s.state.q[2], 1.0 - 0.5 * 9.81 * 4.0, 1e-10);
  ASSERT_NEAR(s.state.v[3], 10.0, 1e-10);
  double norm = 0.0;
  for (int i = 3; i < 7; ++i) {
    norm += s.state.q[i] * s.state.q[i];
  }
  ASSERT_NEAR(sqrt(norm), 1.0, 1e-15);
  simulation_end(&s);
}

// No block: v = v* bitwise, and the report says so.
static void test_no_block(void** unused) {
  (void)unused;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state state = toy_state(&toy.system);
  state.q[0] = 1.0;
  state.v[1] = 2.0;
  for (int s = 0; s < (int)SAP_SCHEME_COUNT; ++s) {
    sap_stepper* stepper = NULL;
    sap_step_report report;
    sap_stepper_options options = sap_stepper_options_default();
    double v_star[2];
    assert_int_equal(sap_stepper_options_set_scheme(&options, (sap_scheme)s, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_free_motion(stepper, &state, v_star, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
    assert_memory_equal(state.v, v_star, sizeof v_star);
    assert_null(report.solver);
    assert_null(report.solution);
    assert_int_equal(report.blocks, 0);
    assert_true(report.free_motion_residual <= 1e-12);
    sap_stepper_destroy(stepper);
  }
  sap_state_clear(&state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders_of_a_pendulum),
      cmocka_unit_test(test_orders_of_the_double_pendulum),
      cmocka_unit_test(test_stiff_coupling),
      cmocka_unit_test(test_coupling_reaches_the_contact_stage),
      cmocka_unit_test(test_top),
      cmocka_unit_test(test_free_fall),
      cmocka_unit_test(test_no_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
