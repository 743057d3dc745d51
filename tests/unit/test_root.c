// SPDX-License-Identifier: BSD-3-Clause
// The one-dimensional root finder of the line search.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/primal/line_search.h"
#include "support/near.h"

static double linear(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 1.5;
  return 1.5 * x + 3.0;
}

static double parabola(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 2.0 * x + 0.5;
  return (x - 1.5) * (x + 2.0);
}

static double arc_tangent(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 1.0 / (1.0 + x * x);
  return atan(x);
}

static double cubic(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 3.0 * x * x - 2.0;
  return x * x * x - 2.0 * x + 2.0;
}

// Newton's method alone jumps from x to -x for ever.
static double signed_root(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 0.5 / sqrt(fabs(x));
  return copysign(sqrt(fabs(x)), x);
}

static double tangent(void* context, double x, double* derivative) {
  (void)context;
  const double t = tan(x);
  *derivative = -t * t;
  return x - t;
}

static double triple(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 3.0 * (x - 1.5) * (x - 1.5);
  return (x - 1.5) * (x - 1.5) * (x - 1.5);
}

static double kink(void* context, double x, double* derivative) {
  (void)context;
  *derivative = x < 1.0 ? 1.0 : 2.0;
  return x < 1.0 ? x : 2.0 * x;
}

// The derivative vanishes at the start x = .5.
static double flat_start(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 2.0 * x - 1.0;
  return x * (x - 1.0);
}

static sap_root find(sap_root_function f, double lower, double upper, double start) {
  double derivative;
  sap_root_problem problem = {.f = f, .lower = lower, .upper = upper, .x = start};
  problem.f_lower = f(NULL, lower, &derivative);
  problem.f_x = f(NULL, start, &problem.derivative_x);
  problem.x_tolerance = 1e-16;  // a root at 0 has no ulp to end on
  return sap_find_root(&problem);
}

static void expect(sap_root_function f, const double bracket[2], double start, double root,
                   double tolerance, int32_t evaluations) {
  const sap_root found = find(f, bracket[0], bracket[1], start);
  ASSERT_NEAR(found.x, root, tolerance);
  double derivative;
  assert_true(f(NULL, found.x, &derivative) == found.f);
  assert_in_range(found.evaluations, 0, evaluations);
}

static void test_roots(void** state) {
  (void)state;
  const double eps = DBL_EPSILON;
  // evaluation limits: bisection alone needs 53 to 56 for such brackets
  expect(linear, (double[2]){-4, 3}, -0.5, -2.0, 2 * eps, 3);
  expect(parabola, (double[2]){-1, 2}, 0.5, 1.5, 2 * eps, 10);
  expect(parabola, (double[2]){-4, 1}, -1.5, -2.0, 2 * eps, 10);
  expect(arc_tangent, (double[2]){-1, 10}, 9.0, 0.0, 1e-16, 15);
  expect(cubic, (double[2]){-3, 3}, 0.0, -1.769292354238631, 4 * eps, 15);
  expect(signed_root, (double[2]){-1, 4}, 2.0, 0.0, 1e-15, 60);
  expect(tangent, (double[2]){2, 4.7}, 3.0, 4.493409457909064, 4 * eps, 20);
  expect(triple, (double[2]){0, 2}, 1.0, 1.5, 1e-5, 120);  // f is 0 within 1e-108^(1/3)
  expect(kink, (double[2]){-1, 2.5}, 2.0, 0.0, 1e-16, 10);
  expect(flat_start, (double[2]){-1, 0.6}, 0.5, 0.0, 1e-16, 15);
}

// No double has |f| below 1e-30 here: the finder must end all the same.
static double jump(void* context, double x, double* derivative) {
  (void)context;
  *derivative = 1.0;
  return x < 0.7 ? -1.0 : 1.0;
}

static void test_one_ulp_bracket_ends(void** state) {
  (void)state;
  const sap_root_problem narrow = {.f = jump,
                                   .lower = nextafter(0.7, 0.0),
                                   .upper = 0.7,
                                   .f_lower = -1.0,
                                   .x = 0.7,
                                   .f_x = 1.0,
                                   .derivative_x = 1.0,
                                   .f_tolerance = 1e-30};
  const sap_root found = sap_find_root(&narrow);
  assert_int_equal(found.evaluations, 0);
  assert_true(found.x == 0.7);
  const sap_root wide = find(jump, 0.0, 1.0, 0.1);
  ASSERT_NEAR(wide.x, 0.7, DBL_EPSILON);
  assert_in_range(wide.evaluations, 1, 110);
}

// A tolerance on f ends the search early.
static void test_tolerance(void** state) {
  (void)state;
  sap_root_problem problem = {
      .f = cubic, .lower = -3.0, .upper = 3.0, .f_lower = -19.0, .f_tolerance = 1e-2};
  problem.f_x = cubic(NULL, 0.0, &problem.derivative_x);
  const sap_root loose = sap_find_root(&problem);
  problem.f_tolerance = 0.0;
  const sap_root tight = sap_find_root(&problem);
  assert_true(fabs(loose.f) <= 1e-2 && loose.evaluations < tight.evaluations);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_roots),
      cmocka_unit_test(test_one_ulp_bracket_ends),
      cmocka_unit_test(test_tolerance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
