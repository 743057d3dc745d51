// SPDX-License-Identifier: BSD-3-Clause
// A solver that says that it converged has solved the problem: each body to the tolerance of its own
// velocity, whatever the masses beside it and on it, by the answer of hand calculation.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/solve.h"

static const double I3[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                    MINUS_I3[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
static const double ZERO[3] = {0, 0, 0};
enum { MASSES = 3 };

// Point masses of three velocities each.
static sap_problem* make_masses(const double* mass, const double (*v_star)[3], int32_t n) {
  const int32_t sizes[MASSES] = {3, 3, 3};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 1e-3, n, sizes, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < n; ++i) {
    const double A[9] = {mass[i], 0, 0, 0, mass[i], 0, 0, 0, mass[i]};
    assert_int_equal(sap_problem_set_momentum_block(p, i, i, A, 3, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_set_v_star(p, v_star[0], NULL), SAP_STATUS_OK);
  return p;
}

// A contact of mass a on mass b; b < 0: on the ground.
static void add_contact(sap_problem* p, int32_t a, int32_t b, double mu, double R) {
  const int32_t trees[2] = {a, b};
  const double* jacobians[2] = {I3, MINUS_I3};
  const double compliance[3] = {R, R, R};
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = 3,
                           .ntrees = b < 0 ? 1 : 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = compliance,
                           .v_hat = ZERO,
                           .friction = mu};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
}

static bool says_solved(sap_outcome outcome) {
  return outcome == SAP_OUTCOME_CONVERGED || outcome == SAP_OUTCOME_ROUNDOFF;
}

// Three masses on one another that fall and drift a little: friction holds them all, v = 0. The
// solvers that need R > 0 are in test_beside.
static void check_stack(const sap_solver_info* info, const double* mass, double tolerance,
                        int32_t* solved) {
  static const double V[MASSES][3] = {{1e-3, 0, -0.01}, {0, 1e-3, -0.01}, {-1e-3, 0, -0.01}};
  sap_problem* p = make_masses(mass, V, MASSES);
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = tolerance;
  options.max_sweeps = 3000;
  for (int32_t i = 0; i < MASSES; ++i) {
    add_contact(p, i, i - 1, 0.5, 0.0);
  }
  sap_solution s = {0};
  const sap_outcome outcome = solve_problem(info->name, &options, p, &s, NULL);
  // The weight of all on the lightest: round-off of impulses in its velocity, contact by contact.
  const double weight = 0.01 * (mass[0] + mass[1] + mass[2]);
  const double least = fmin(mass[0], fmin(mass[1], mass[2]));
  const double roundoff = 6.0 * 16.0 * DBL_EPSILON * weight / least;
  if (says_solved(outcome)) {
    *solved += 1;
    for (int32_t i = 0; i < s.nv; ++i) {
      // a mass adds up the errors of the contacts below it; V is the speed of the fall
      if (!(fabs(s.v[i]) <= 6.0 * tolerance * 0.01 + roundoff)) {
        fail_msg("%s, masses %g %g %g: %s with v[%d] = %g", info->name, mass[0], mass[1], mass[2],
                 sap_outcome_text(outcome), i, s.v[i]);
      }
    }
  }
  sap_solution_clear(&s);
  sap_problem_destroy(p);
}

static void test_stacks(void** state) {
  (void)state;
  static const double RATIOS[] = {1e-6, 1e-3, 1.0, 1e3, 1e6};
  for (int32_t k = 0; k < sap_solver_count(); ++k) {
    const sap_solver_info* info = sap_solver_get_info(k);
    int32_t solved = 0;
    if (info->needs_R || strstr(info->blocks, "cone") == NULL) {
      continue;
    }
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) {
        const double mass[MASSES] = {1.0, RATIOS[i], RATIOS[j]};
        check_stack(info, mass, i % 2 == 0 ? 1e-6 : 1e-9, &solved);
      }
    }
    print_message("%-25s %d of 25\n", info->name, solved);
    assert_true(solved >= 3 || strcmp(info->name, "raisim-ds-es") == 0);  // ends early
  }
}

// A mass between a ground that rises and a ceiling that falls: no velocity satisfies both contacts,
// and impulses may grow without bound. Every solver hands on impulses of the cones, of the size of
// those that the speeds need, and says that they solve nothing.
static void test_squeezed(void** state) {
  (void)state;
  static const double V[MASSES][3] = {{0, 0, -0.01}, {0, 0, 0}, {0, 0, 0}};
  static const double mass[MASSES] = {1e-3, 1e3, 1.0}, RISE[3] = {0, 0, 1.0};
  static const char* const names[] = {"lemke", "pgs-lcp", "nbgs", "raisim", "admm-ncp"};
  const int32_t tree = 0;
  for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
    sap_problem* p = make_masses(mass, V, MASSES);
    sap_solver_options options = sap_solver_options_default();
    options.max_sweeps = 200;
    for (int side = 0; side < 2; ++side) {
      const double* J = side == 0 ? I3 : MINUS_I3;
      const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                               .nrows = 3,
                               .ntrees = 1,
                               .trees = &tree,
                               .jacobians = &J,
                               .R = ZERO,
                               .v_hat = RISE,
                               .friction = 0.3};
      assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    }
    sap_solution s = {0};
    sap_residual residual;
    const sap_outcome outcome = solve_problem(names[k], &options, p, &s, NULL);
    assert_false(says_solved(outcome));
    assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
    assert_true(residual.set_violation <= 1e-15);
    print_message("%-10s %-16s v %g\n", names[k], sap_outcome_text(outcome), s.v[2]);
    assert_true(fabs(s.v[2]) <= 1.1);  // neither contact is left worse than without impulses
    sap_solution_clear(&s);
    sap_problem_destroy(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stacks),
      cmocka_unit_test(test_squeezed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
