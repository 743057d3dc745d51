// SPDX-License-Identifier: BSD-3-Clause
// Times of steps against products that are rounded once.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "support/toy_system.h"

typedef struct fixture {
  toy_linear toy;
  sap_stepper* stepper;
  sap_state state;
} fixture;

static sap_stepper* create(const toy_linear* toy, double dt, bool remember) {
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.remember = remember;
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy->system, &options, &stepper, NULL), SAP_STATUS_OK);
  return stepper;
}

static void begin(fixture* f, double t, double dt, bool remember) {
  toy_linear_init(&f->toy, 1, 1);
  f->stepper = create(&f->toy, dt, remember);
  f->state = toy_state(&f->toy.system);
  f->state.t = t;
}

static void end(fixture* f) {
  sap_stepper_destroy(f->stepper);
  sap_state_clear(&f->state);
}

// Makes steps after the first `before` ones of a count that began at `start`.
static void expect(fixture* f, double start, double dt, int32_t before, int32_t steps) {
  for (int32_t n = before + 1; n <= before + steps; ++n) {
    assert_int_equal(sap_stepper_step(f->stepper, &f->state, NULL, NULL), SAP_STATUS_OK);
    const double t = fma((double)n, dt, start);
    if (f->state.t != t) {
      fail_msg("step %d of %.17g from %.17g: t = %.17g, not %.17g", n, dt, start, f->state.t, t);
    }
  }
}

// The sum of these dt is off after a few steps, and by 1e-9 s after 1e5.
static void test_counts(void** unused) {
  (void)unused;
  static const double sizes[] = {0.001, 0.02, 1.0 / 3.0, 1e-7};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (int remember = 0; remember < 2; ++remember) {
      fixture f = {0};
      begin(&f, 0.0, sizes[i], remember == 1);
      expect(&f, 0.0, sizes[i], 0, 100000);
      end(&f);
    }
    fixture f = {0};
    begin(&f, 1.2345678901234567, sizes[i], true);  // no multiple
    expect(&f, f.state.t, sizes[i], 0, 10000);
    end(&f);
  }
}

// A multiple of dt lies on the count from 0, whoever made it: 0.06 + 0.02 is not 0.08, nor 3 times.
static void test_starts_at_a_multiple(void** unused) {
  (void)unused;
  fixture f = {0};
  begin(&f, 0.06, 0.02, true);
  expect(&f, 0.0, 0.02, 3, 50);
  f.state.t = -0.06;
  expect(&f, 0.0, 0.02, -3, 10);
  f.state.t = 1e300;  // steps no longer change it
  assert_int_equal(sap_stepper_step(f.stepper, &f.state, NULL, NULL), SAP_STATUS_OK);
  assert_true(f.state.t == 1e300);
  end(&f);
}

static void test_new_counts(void** unused) {
  (void)unused;
  fixture f = {0};
  begin(&f, 0.0, 0.001, true);
  expect(&f, 0.0, 0.001, 0, 7);
  assert_int_equal(sap_stepper_set_dt(f.stepper, 0.0003, NULL), SAP_STATUS_OK);
  expect(&f, f.state.t, 0.0003, 0, 10);  // 0.007 is no multiple of 0.0003
  assert_int_equal(sap_stepper_set_dt(f.stepper, 0.001, NULL), SAP_STATUS_OK);
  expect(&f, 0.0, 0.001, 10, 10);  // 0.007 + 0.003
  f.state.t = 0.00312;             // the caller's own, twice the same
  expect(&f, 0.00312, 0.001, 0, 5);
  f.state.t = 0.00312;
  expect(&f, 0.00312, 0.001, 0, 5);
  end(&f);
}

// A failed step counts nothing; a saved memory continues the count of a start that is no multiple,
// a fresh stepper begins another one.
static void test_memory(void** unused) {
  (void)unused;
  const double start = 1.0 / 7.0;
  fixture f = {0};
  begin(&f, start, 0.001, true);
  expect(&f, start, 0.001, 0, 30);
  f.toy.fail = "forces";
  assert_int_equal(sap_stepper_step(f.stepper, &f.state, NULL, NULL), SAP_STATUS_CALLBACK);
  f.toy.fail = NULL;
  expect(&f, start, 0.001, 30, 30);
  unsigned char bytes[4096];
  size_t size = 0;
  assert_int_equal(sap_stepper_save_memory(f.stepper, bytes, sizeof bytes, &size, NULL),
                   SAP_STATUS_OK);
  sap_stepper_destroy(f.stepper);
  f.stepper = create(&f.toy, 0.001, true);
  assert_int_equal(sap_stepper_load_memory(f.stepper, bytes, size, NULL), SAP_STATUS_OK);
  expect(&f, start, 0.001, 60, 1000);
  sap_stepper_forget(f.stepper);
  expect(&f, f.state.t, 0.001, 0, 10);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_starts_at_a_multiple),
      cmocka_unit_test(test_new_counts),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
