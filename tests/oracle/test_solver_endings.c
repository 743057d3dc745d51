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

#include "support/convex_oracle.h"
#include "support/point_masses.h"
#include "support/solve.h"

static const double I3[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                    MINUS_I3[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
static const double ZERO[3] = {0, 0, 0};
enum { MASSES = 3 };

static bool says_solved(sap_outcome outcome) {
  return outcome == SAP_OUTCOME_CONVERGED || outcome == SAP_OUTCOME_ROUNDOFF;
}

static double draw(uint64_t* seed, double low, double high) {
  return low + (high - low) * oracle_random(seed);
}

// Similar contacts at speeds far above the slip speed, many on few trees: sticking ends at a sphere
// in the space of velocities, along which Newton's steps must turn. l's gradient is judged.
static void test_kinks(void** state) {
  (void)state;
  enum { TREES = 8, SIZE = 6, BLOCKS = 60 };
  int32_t iterations = 0;
  for (uint64_t k = 1; k <= 60; ++k) {
    uint64_t seed = k;
    int32_t sizes[TREES];
    double v[TREES * SIZE], A[SIZE * SIZE], J[2][3 * SIZE];
    const double* jacobians[2] = {J[0], J[1]};
    sap_problem* p;
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    for (int t = 0; t < TREES; ++t) {
      sizes[t] = SIZE;
    }
    assert_int_equal(sap_problem_reset(p, 1e-3, TREES, sizes, NULL), SAP_STATUS_OK);
    for (int t = 0; t < TREES; ++t) {
      const double mass = exp(draw(&seed, -10.0, 10.0));
      for (int i = 0; i < SIZE * SIZE; ++i) {
        A[i] = i % (SIZE + 1) == 0 ? mass * draw(&seed, 0.5, 2.0) : 0.0;
      }
      assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, SIZE, NULL), SAP_STATUS_OK);
    }
    for (int i = 0; i < TREES * SIZE; ++i) {
      v[i] = draw(&seed, -10.0, 10.0);
    }
    assert_int_equal(sap_problem_set_v_star(p, v, NULL), SAP_STATUS_OK);
    for (int b = 0; b < BLOCKS; ++b) {
      const int32_t first = (int32_t)draw(&seed, 0.0, TREES);
      const int32_t trees[2] = {first, (first + 1 + (int32_t)draw(&seed, 0.0, TREES - 1)) % TREES};
      for (int t = 0; t < 2; ++t) {
        for (int i = 0; i < 3 * SIZE; ++i) {
          J[t][i] = draw(&seed, -1.0, 1.0);
        }
      }
      sap_contact_block contact = {.ntrees = 1 + b % 2,
                                   .trees = trees,
                                   .jacobians = jacobians,
                                   .material = sap_material_default(),
                                   .phi0 = draw(&seed, -0.01, 0.01)};
      const sap_regularization regularization = {1.0, 1e-3, 0.0};
      contact.material.model = SAP_CONTACT_SIMILAR;
      contact.material.friction = exp(draw(&seed, -4.0, 2.0));
      contact.material.stiction_tolerance = 1e-6;
      contact.material.stiffness = exp(draw(&seed, 5.0, 30.0));
      assert_int_equal(sap_problem_add_contact(p, &contact, &regularization, NULL), SAP_STATUS_OK);
    }
    sap_solution s = {0};
    sap_report report = {0};
    sap_residual residual;
    if (!says_solved(solve_problem("sap", NULL, p, &s, &report))) {
      fail_msg("seed %d: %s", (int)k, sap_outcome_text(report.outcome));
    }
    assert_int_equal(sap_residuals(p, s.v, s.gamma, &residual, NULL), SAP_STATUS_OK);
    assert_true(residual.momentum <= 1e-5);  // the most of a solve that ends in round-off
    iterations += report.iterations;
    sap_solution_clear(&s);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
  print_message("%d iterations\n", iterations);
}

// Three masses on one another that fall and drift a little: friction holds them all, v = 0. The
// solvers that need R > 0 are in test_beside.
static void check_stack(const sap_solver_info* info, const double* mass, double tolerance,
                        int32_t* solved) {
  static const double V[MASSES][3] = {{1e-3, 0, -0.01}, {0, 1e-3, -0.01}, {-1e-3, 0, -0.01}};
  sap_problem* p = point_masses_create(mass, V, MASSES);
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = tolerance;
  options.max_sweeps = 3000;
  for (int32_t i = 0; i < MASSES; ++i) {
    point_masses_add_contact(p, i, i - 1, 0.5, 0.0, 0);
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
    sap_problem* p = point_masses_create(mass, V, MASSES);
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

// The velocities of a mass that falls on the ground and slides, with R in all rows: the impulse is
// on the cone where friction does not hold it.
static void slide(double mass, double mu, double R, const double v_star[3], double v[3]) {
  const double w = 1.0 / mass, gamma = v_star[2] < 0.0 ? -v_star[2] / (w + R) : 0.0;
  const double rest = fmax(0.0, fabs(v_star[0]) - mu * gamma * (w + R));
  v[0] = v_star[0] - w * (rest > 0.0 ? mu * gamma : fabs(v_star[0]) / (w + R));
  v[1] = 0.0;
  v[2] = v_star[2] + w * gamma;
}

// A light mass that slides beside heavy ones, on no contact with them: islands of their own. Exact
// Coulomb friction, R so small that the contact is rigid to 1e-9.
static void test_beside(void** state) {
  (void)state;
  static const double V[MASSES][3] = {{0, 0, -0.01}, {1, 0, -0.01}, {0.001, 0, -0.01}};
  static const double mu = 0.5, mass[MASSES] = {1e3, 1e-4, 1e4};
  for (int32_t k = 0; k < sap_solver_count(); ++k) {
    const sap_solver_info* info = sap_solver_get_info(k);
    if (!info->signorini || strcmp(info->name, "raisim-ds-es") == 0) {
      continue;
    }
    for (int merged = 0; merged < 2; ++merged) {
      sap_problem* p = point_masses_create(mass, V, MASSES);
      sap_solver_options options = sap_solver_options_default();
      options.islands = merged == 0;
      for (int32_t i = 0; i < MASSES; ++i) {
        point_masses_add_contact(p, i, -1, mu, 1e-9 / mass[i], 0);
      }
      sap_solution s = {0};
      const sap_outcome outcome = solve_problem(info->name, &options, p, &s, NULL);
      if (outcome != SAP_OUTCOME_CONVERGED) {
        fail_msg("%s: %s", info->name, sap_outcome_text(outcome));
      }
      for (int32_t i = 0; i < MASSES; ++i) {
        double truth[3];
        slide(mass[i], mu, 1e-9 / mass[i], V[i], truth);
        for (int r = 0; r < 3; ++r) {
          // the natural map of 1e-6 of the fall, on slanted cones
          if (!(fabs(s.v[3 * i + r] - truth[r]) <= 4e-8)) {
            fail_msg("%s: mass %g has v[%d] = %.9g, not %.9g", info->name, mass[i], r,
                     s.v[3 * i + r], truth[r]);
          }
        }
      }
      sap_solution_clear(&s);
      sap_problem_destroy(p);
    }
  }
}

// A light mass between heavy ones that slide, one island, whose sums the heavy ones make. SAP and
// its NCP at their defaults against the same to 1e-13.
static void test_light_in_island(void** state) {
  (void)state;
  static const char* const names[] = {"sap", "sap-ncp"};
  double worst = 0.0;
  uint32_t seed = 7;
  for (int k = 0; k < 200; ++k) {
    double V[MASSES][3];
    for (int i = 0; i < 3 * MASSES; ++i) {
      seed = seed * 1664525u + 1013904223u;
      V[i / 3][i % 3] = (double)(seed >> 8) / (1u << 24) - (i % 3 == 2 ? 1.0 : 0.5);
    }
    const double mass[MASSES] = {1e3, 1e-5, 1e4};
    sap_problem* p = point_masses_create(mass, (const double(*)[3])V, MASSES);
    point_masses_add_contact(p, 0, -1, 0.4, 1e-6, 0);
    point_masses_add_contact(p, 1, 0, 0.3, 1e2, 0);
    point_masses_add_contact(p, 1, 2, 0.6, 1e2, 0);
    sap_solver_options options = sap_solver_options_default(), tight = options;
    tight.relative_tolerance = 1e-12;
    sap_solution s = {0}, truth = {0};
    const char* name = names[k % 2];
    assert_int_equal(solve_problem(name, &options, p, &s, NULL), SAP_OUTCOME_CONVERGED);
    assert_true(says_solved(solve_problem(name, &tight, p, &truth, NULL)));
    for (int i = 0; i < 3 * MASSES; ++i) {
      worst = fmax(worst, fabs(s.v[i] - truth.v[i]));
    }
    sap_solution_clear(&s);
    sap_solution_clear(&truth);
    sap_problem_destroy(p);
  }
  print_message("largest error of a velocity: %g m/s\n", worst);
  assert_true(worst <= 1e-5);  // 1e-6 of speeds about 1 m/s, three masses, slanted cones
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_beside),   cmocka_unit_test(test_light_in_island),
      cmocka_unit_test(test_kinks),    cmocka_unit_test(test_stacks),
      cmocka_unit_test(test_squeezed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
