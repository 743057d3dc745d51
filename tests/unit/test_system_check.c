// SPDX-License-Identifier: BSD-3-Clause
// sap_system_check names what does not fit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/system.h>

#include "support/toy_system.h"

static void expect(const sap_system* system, const char* text) {
  sap_error error = {0};
  assert_int_equal(sap_system_check(system, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(error.status, SAP_STATUS_ARGUMENT);
  if (strstr(error.message, text) == NULL) {
    fail_msg("\"%s\" does not mention \"%s\"", error.message, text);
  }
}

static void test_complete(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 3, 2);
  toy_linear_connect(&toy, 0, 5, 1.0, 0.0);
  assert_int_equal(sap_system_check(&toy.system, NULL), SAP_STATUS_OK);
}

static void test_sizes(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 3, 2);
  expect(NULL, "NULL");
  sap_system bad = toy.system;
  bad.nv = 5;
  expect(&bad, "nv = 5 must be the sum of tree_sizes, 6");
  bad = toy.system;
  bad.nq = 0;
  expect(&bad, "nq = 0");
  bad = toy.system;
  bad.ntrees = 0;
  expect(&bad, "at least one tree");
  bad = toy.system;
  bad.tree_sizes = NULL;
  expect(&bad, "NULL");
  toy.tree_sizes[1] = 0;
  expect(&toy.system, "tree_sizes[1] = 0");
}

static void test_couplings(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 3, 2);
  sap_system bad = toy.system;
  int32_t pairs[2][2] = {{0, 1}, {1, 0}};
  bad.couplings = (const int32_t(*)[2])pairs;
  bad.ncouplings = 2;
  expect(&bad, "couplings[1] = {1, 0} repeats couplings[0]");
  pairs[1][1] = 3;
  expect(&bad, "couplings[1] = {1, 3}");
  pairs[1][1] = 1;
  expect(&bad, "two different trees");
  bad.ncouplings = -1;
  expect(&bad, "ncouplings = -1");
}

static void test_functions(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  sap_system bad = toy.system;
  bad.mass_matrix = NULL;
  expect(&bad, "mass_matrix");
  bad = toy.system;
  bad.forces = NULL;
  expect(&bad, "forces");
  bad = toy.system;
  bad.integrate_positions = NULL;
  expect(&bad, "integrate_positions");
  bad = toy.system;
  bad.stiffness_damping = NULL;
  bad.constraints = NULL;
  assert_int_equal(sap_system_check(&bad, NULL), SAP_STATUS_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_complete),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_couplings),
      cmocka_unit_test(test_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
