// SPDX-License-Identifier: BSD-3-Clause
// Condition number of SAP's Hessian against closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/problem.h>

#include "support/near.h"
#include "support/one_contact.h"

static sap_problem* create(int32_t ntrees, const int32_t* sizes) {
  sap_problem* problem = NULL;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, ntrees, sizes, NULL), SAP_STATUS_OK);
  return problem;
}

// A = diag(2, 3, 5); a contact along all three axes, v_hat = (0, 0, 1).
static sap_problem* one_contact(const double R[3]) {
  static const double A[9] = {2, 0, 0, 0, 3, 0, 0, 0, 5};
  static const double v_hat[3] = {0.0, 0.0, 1.0}, v_star[3] = {0.0, 0.0, 0.0};
  sap_problem* problem = one_contact_problem(A, 0.5, R, v_hat);
  assert_int_equal(sap_problem_set_v_star(problem, v_star, NULL), SAP_STATUS_OK);
  return problem;
}

static double condition(const sap_problem* problem, const double* v) {
  double kappa = (double)NAN;
  sap_error error = {0};
  if (sap_problem_condition(problem, v, &kappa, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return kappa;
}

static void closed_forms(void** unused) {
  (void)unused;
  const double R[3] = {0.1, 0.1, 0.01};
  const double stick[3] = {0.01, 0.0, 0.0}, open[3] = {0.0, 0.0, 2.0}, slide[3] = {-20.0, 0.0, 0.0};
  sap_problem* problem = one_contact(R);
  ASSERT_NEAR(condition(problem, stick), 105.0 / 12.0, 1e-12);  // A + R^-1
  ASSERT_NEAR(condition(problem, open), 2.5, 1e-14);            // A
  // Sliding along t1, u = (20, 0, 1): k = 1/(Rn + mu^2 Rt), gamma_n = k (1 + 20 mu); t2 stands
  // alone.
  const double mu = 0.5, k = 1.0 / (0.01 + mu * mu * 0.1), c = mu * k * (1.0 + 20.0 * mu) / 20.0;
  const double a = 2.0 + k * mu * mu, b = k * mu, d = 5.0 + k;
  const double middle = 0.5 * (a + d), radius = sqrt(0.25 * (a - d) * (a - d) + b * b);
  const double least = fmin(middle - radius, 3.0 + c), most = fmax(middle + radius, 3.0 + c);
  ASSERT_NEAR(condition(problem, slide) / (most / least), 1.0, 1e-12);
  sap_problem_destroy(problem);
}

// Two trees of one velocity that A couples: eigenvalues 3 and 1; with a limit on the first between.
static void coupled_trees(void** unused) {
  (void)unused;
  const int32_t sizes[2] = {1, 1};
  const double two = 2.0, one = 1.0, v[2] = {-1.0, 0.0}, v_star[2] = {0.0, 0.0};
  sap_problem* problem = create(2, sizes);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, &two, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 1, 1, &two, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 1, 0, &one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(problem, v_star, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(condition(problem, v), 3.0, 1e-14);
  const int32_t trees[2] = {1, 0};
  const double minus = -1.0, R = 0.125, v_hat = 0.0;
  const double* const jacobians[2] = {&minus, &one};  // v0 - v1 >= 0
  const sap_block limit = {.set = SAP_SET_NONNEGATIVE,
                           .nrows = 1,
                           .ntrees = 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = &R,
                           .v_hat = &v_hat};
  assert_int_equal(sap_problem_add_block(problem, &limit, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(condition(problem, v), 17.0 / 3.0, 1e-13);  // (1, 1): 3; (1, -1): 1 + 2/R
  sap_problem_destroy(problem);
}

static void refusals(void** unused) {
  (void)unused;
  const double R[3] = {0.1, 0.1, 0.01}, rigid[3] = {0.0, 0.0, 0.0};
  const double v[3] = {0.0, 0.0, 0.0}, bad[3] = {0.0, (double)NAN, 0.0};
  double kappa = 7.0;
  sap_error error = {0};
  sap_problem* problem = one_contact(R);
  assert_int_equal(sap_problem_condition(NULL, v, &kappa, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_condition(problem, NULL, &kappa, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_condition(problem, v, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_condition(problem, bad, &kappa, &error), SAP_STATUS_NOT_FINITE);
  sap_problem_destroy(problem);
  problem = one_contact(rigid);
  assert_int_equal(sap_problem_condition(problem, v, &kappa, &error), SAP_STATUS_NOT_FINITE);
  assert_string_equal(error.message, "block 0: its Hessian is not finite");
  sap_problem_destroy(problem);
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_condition(problem, v, &kappa, &error), SAP_STATUS_ARGUMENT);
  sap_problem_destroy(problem);
  assert_true(kappa == 7.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_forms),
      cmocka_unit_test(coupled_trees),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
