// SPDX-License-Identifier: BSD-3-Clause
// The pizza saver of castro's solver tests: stiction, sliding, no friction, near rigid; with both
// line searches. Numbers not derived here were measured with an independent solver.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/near.h"
#include "support/pizza_saver.h"

typedef struct run {
  sap_problem* problem;
  sap_solver* solver;
  sap_solution solution;
  sap_report report;
  int32_t most_iterations;
} run;

static run start(sap_solver_options options) {
  run r = {0};
  assert_int_equal(sap_problem_create(&r.problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_create("sap", &options, &r.solver, NULL), SAP_STATUS_OK);
  return r;
}

static void end(run* r) {
  sap_problem_destroy(r->problem);
  sap_solver_destroy(r->solver);
  sap_solution_clear(&r->solution);
  sap_report_clear(&r->report);
}

static void steps(run* r, pizza_saver* pizza, int count) {
  for (int i = 0; i < count; ++i) {
    pizza_saver_fill(pizza, r->problem);
    sap_error error = {0};
    if (sap_solver_solve(r->solver, r->problem, &r->solution, &r->report, &error) !=
        SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    assert_in_range(r->report.outcome, SAP_OUTCOME_CONVERGED, SAP_OUTCOME_ROUNDOFF);
    if (r->report.iterations > r->most_iterations) {
      r->most_iterations = r->report.iterations;
    }
    pizza_saver_advance(pizza, r->solution.v);
  }
}

// J' gamma of the solution, by the problem's own Jacobians.
static void generalized_impulse(const run* r, double j[4]) {
  memset(j, 0, 4 * sizeof *j);
  for (int32_t b = 0; b < 3; ++b) {
    sap_block block;
    assert_int_equal(sap_problem_block(r->problem, b, &block, NULL, NULL), SAP_STATUS_OK);
    for (int i = 0; i < 12; ++i) {
      j[i / 3] += block.jacobians[0][i] * r->solution.gamma[3 * b + i % 3];
    }
  }
}

static pizza_saver make(double mu, double tau_d, double beta, double Mz) {
  return (pizza_saver){.dt = 0.01,
                       .mu = mu,
                       .stiffness = 1e4,
                       .relaxation_time = tau_d,
                       .beta = beta,
                       .Mz = Mz,
                       .theta = acos(-1.0) / 5.0};
}

static double tangent(const double* gamma) {
  return sqrt(gamma[0] * gamma[0] + gamma[1] * gamma[1]);
}

static void check_stiction(sap_solver_options options) {
  run r = start(options);
  pizza_saver pizza = make(2.0 / 3.0, 0.02, 1.0, 20.0);
  steps(&r, &pizza, 40);
  double j[4];
  generalized_impulse(&r, j);
  for (int i = 0; i < 3; ++i) {
    assert_true(fabs(pizza.v[i]) < 1e-10);
    const double* gamma = r.solution.gamma + 3 * i;
    ASSERT_NEAR(gamma[2], 0.1, 1e-7);
    ASSERT_NEAR(tangent(gamma), 0.01 * 20.0 / (3.0 * 1.5), 1e-7);
    // slip at most sigma mu dt g
    assert_true(tangent(r.solution.vc + 3 * i) <= 1e-3 * (2.0 / 3.0) * 0.01 * 10.0);
  }
  ASSERT_NEAR(j[0], 0.0, 1e-7);
  ASSERT_NEAR(j[1], 0.0, 1e-7);
  ASSERT_NEAR(j[2], 0.3, 3e-7);
  ASSERT_NEAR(j[3], -0.2, 3e-7);
  ASSERT_NEAR(pizza.v[3], 8.06416376e-6, 1e-13);
  if (options.relative_tolerance > 0.0) {
    assert_in_range(r.most_iterations, 1, 7);  // 5 with another solver; two more allowed
  }
  end(&r);
}

static void check_sliding(sap_solver_options options) {
  // The impulses of a step are as exact as its momentum: ask for more than is looked at.
  options.relative_tolerance = fmin(options.relative_tolerance, 1e-9);
  run r = start(options);
  pizza_saver pizza = make(2.0 / 3.0, 0.01, 0.0, 40.0);
  steps(&r, &pizza, 10);
  for (int i = 0; i < 3; ++i) {
    const double* gamma = r.solution.gamma + 3 * i;
    ASSERT_NEAR(tangent(gamma), 2.0 / 3.0 * gamma[2], 4 * DBL_EPSILON * gamma[2]);
    ASSERT_NEAR(gamma[2], 0.100433801056, 1e-7);
  }
  // 1e-6: the solver's relative tolerance, summed over ten steps
  ASSERT_NEAR(pizza.v[3], 0.135171354538, 1e-6);
  ASSERT_NEAR(pizza.v[2], 0.0291977848539, 1e-6);
  ASSERT_NEAR(pizza.z, 1.40686825727e-3, 1e-7);
  end(&r);
}

static void check_no_friction(sap_solver_options options) {
  run r = start(options);
  pizza_saver pizza = make(0.0, 0.02, 1.0, 0.0);
  pizza.fx = 1.0;
  steps(&r, &pizza, 30);
  ASSERT_NEAR(pizza.v[0], 0.1, 1e-7);
  assert_true(fabs(pizza.v[1]) < 1e-10);
  for (int i = 0; i < 9; ++i) {
    assert_true(i % 3 == 2 || r.solution.gamma[i] == 0.0);
  }
  end(&r);
}

static void check_near_rigid(sap_solver_options options) {
  run r = start(options);
  pizza_saver pizza = make(2.0 / 3.0, 0.01, 1.0, 20.0);
  pizza.stiffness = 1e20;
  steps(&r, &pizza, 30);
  ASSERT_NEAR(pizza.z, -1.37880666594e-5, 1e-10);
  end(&r);
}

static void check_all(sap_solver_options options) {
  check_stiction(options);
  check_sliding(options);
  check_no_friction(options);
  check_near_rigid(options);
}

static void test_exact(void** state) {
  (void)state;
  check_all(sap_solver_options_default());
}

static void test_backtracking(void** state) {
  (void)state;
  sap_solver_options options = sap_solver_options_default();
  options.line_search = SAP_LINE_SEARCH_BACKTRACKING;
  check_all(options);
}

// Tolerances (0, 0): the round-off test ends every step.
static void test_tight(void** state) {
  (void)state;
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 0.0;
  options.absolute_tolerance = 0.0;
  options.max_iterations = 30;
  check_all(options);
  options.line_search = SAP_LINE_SEARCH_BACKTRACKING;
  check_all(options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),
      cmocka_unit_test(test_backtracking),
      cmocka_unit_test(test_tight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
