// SPDX-License-Identifier: BSD-3-Clause
// Similar and lagged contacts: the impulse against the law as sapstep/contact.h states it, the cost
// against its integral, G against differences; and problems that mix them with all other blocks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "contact/cone.h"
#include "support/near.h"
#include "support/one_contact.h"
#include "support/pile.h"
#include "support/solve.h"

static double roll(uint32_t* seed) {  // in [0, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 16777216.0;
}

static double between(uint32_t* seed, double low, double high) {
  return low + (high - low) * roll(seed);
}

typedef struct sample {
  sap_block block;
  double R[3], v_hat[3], vc[3];
} sample;

// Speeds around v_s and 1/d, contacts open and closed.
static void draw(sample* s, uint32_t* seed, sap_set set) {
  const double Rn = pow(10.0, between(seed, -3.0, 3.0));
  const double v_s = pow(10.0, between(seed, -3.0, 0.0));
  const double speed = pow(10.0, between(seed, -3.0, 0.0));
  const double angle = between(seed, 0.0, 6.3);
  s->R[0] = s->R[1] = s->R[2] = Rn;
  for (int i = 0; i < 3; ++i) {
    s->v_hat[i] = between(seed, -0.3, 0.3);
  }
  s->vc[0] = s->v_hat[0] + speed * cos(angle);
  s->vc[1] = s->v_hat[1] + speed * sin(angle);
  s->vc[2] = between(seed, -1.0, 0.4);
  s->block = (sap_block){.set = set,
                         .nrows = 3,
                         .R = s->R,
                         .v_hat = s->v_hat,
                         .friction = roll(seed) < 0.1 ? 0.0 : between(seed, 0.0, 1.5),
                         .dissipation = roll(seed) < 0.2 ? 0.0 : between(seed, 0.0, 30.0),
                         .slip_speed = v_s,
                         .lagged_impulse = roll(seed) < 0.1 ? 0.0 : between(seed, 0.0, 2.0) / Rn};
}

static double positive(double x) {
  return x > 0.0 ? x : 0.0;
}

// The law as the header has it, in v and phi rather than u.
static void law(const sample* s, double gamma[3]) {
  const sap_block* b = &s->block;
  const double x = s->vc[0] - s->v_hat[0], y = s->vc[1] - s->v_hat[1];
  const double slip = hypot(x, y), v_s = b->slip_speed;
  const double h = slip < v_s ? slip * slip / (2.0 * v_s) : slip - 0.5 * v_s;
  const double h1 = fmin(slip / v_s, 1.0);
  const double z = s->vc[2] - (b->set == SAP_SET_SIMILAR ? b->friction * h : 0.0);
  gamma[2] = positive(s->v_hat[2] - z) * positive(1.0 - b->dissipation * z) / s->R[2];
  const double bound =
      b->friction * (b->set == SAP_SET_SIMILAR ? gamma[2] : b->lagged_impulse) * h1;
  gamma[0] = slip > 0.0 ? -bound * x / slip : 0.0;
  gamma[1] = slip > 0.0 ? -bound * y / slip : 0.0;
}

static void test_law(void** state) {
  (void)state;
  uint32_t seed = 7;
  for (int i = 0; i < 20000; ++i) {
    sample s;
    draw(&s, &seed, i % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED);
    double gamma[3], expected[3];
    law(&s, expected);
    const double cost = sap_set_impulse(&s.block, s.vc, gamma);
    assert_true(cost >= 0.0);
    const double scale = 1.0 / s.R[2] * (1.0 + s.block.dissipation) + s.block.lagged_impulse;
    for (int r = 0; r < 3; ++r) {
      ASSERT_NEAR(gamma[r], expected[r], 1e-14 * scale);
    }
  }
}

// Symmetric and x' G x >= 0: Cholesky of G + eps trace.
static void check_semidefinite(const double G[9]) {
  const double trace = G[0] + G[4] + G[8];
  double L[9];
  memcpy(L, G, sizeof L);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      assert_true(G[3 * j + i] == G[3 * i + j]);
    }
    L[4 * j] += 1e-14 * trace;
  }
  for (int j = 0; trace > 0.0 && j < 3; ++j) {
    for (int k = 0; k < j; ++k) {
      for (int i = j; i < 3; ++i) {
        L[3 * j + i] -= L[3 * k + i] * L[3 * k + j];
      }
    }
    assert_true(L[4 * j] > 0.0);
    const double pivot = sqrt(L[4 * j]);
    for (int i = j; i < 3; ++i) {
      L[3 * j + i] /= pivot;
    }
  }
}

// Central differences with a step far below v_s, |vc| and the distance to where the law bends.
static void test_differences(void** state) {
  (void)state;
  uint32_t seed = 11;
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    sample s;
    draw(&s, &seed, i % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED);
    double gamma[3], G[9];
    (void)sap_set_impulse(&s.block, s.vc, gamma);
    sap_set_hessian(&s.block, s.vc, G);
    check_semidefinite(G);
    const double h = 1e-7;
    double G_scale = 1e-30;
    for (int k = 0; k < 9; ++k) {
      G_scale = fmax(G_scale, fabs(G[k]));
    }
    for (int j = 0; j < 3; ++j) {
      double plus[3], minus[3], gamma_plus[3], gamma_minus[3], G_plus[9], G_minus[9];
      memcpy(plus, s.vc, sizeof plus);
      memcpy(minus, s.vc, sizeof minus);
      plus[j] += h;
      minus[j] -= h;
      const double cost_plus = sap_set_impulse(&s.block, plus, gamma_plus);
      const double cost_minus = sap_set_impulse(&s.block, minus, gamma_minus);
      sap_set_hessian(&s.block, plus, G_plus);
      sap_set_hessian(&s.block, minus, G_minus);
      double jump = 0.0;
      for (int k = 0; k < 9; ++k) {
        jump = fmax(jump, fabs(G_plus[k] - G_minus[k]));
      }
      // C1 everywhere; round-off of the cost over h
      ASSERT_NEAR((cost_plus - cost_minus) / (2.0 * h), -gamma[j],
                  2.0 * h * (G_scale + jump) + 1e-16 * cost_plus / h + 1e-8 * fabs(gamma[j]));
      if (jump > 1e-3 * G_scale) {
        continue;  // a border of regions
      }
      ++compared;
      for (int k = 0; k < 3; ++k) {
        ASSERT_NEAR(-(gamma_plus[k] - gamma_minus[k]) / (2.0 * h), G[3 * j + k],
                    2e-3 * G_scale + 1e-16 * fabs(gamma[k]) / h);
      }
    }
  }
  assert_true(compared > 11000);
}

// Spin and rolling rows join the slip: G of 4 and 6 rows against differences.
static void test_wide_differences(void** state) {
  (void)state;
  uint32_t seed = 17;
  for (int i = 0; i < 1000; ++i) {
    const int32_t n = i % 4 < 2 ? 4 : 6;
    sample s;
    draw(&s, &seed, i % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED);
    double R[6], v_hat[6], vc[6], G[36], G_scale = 0.0;
    for (int32_t r = 0; r < n; ++r) {
      R[r] = s.R[0];
      v_hat[r] = r < 3 ? s.v_hat[r] : 0.0;
      vc[r] = r < 3 ? s.vc[r] : between(&seed, -0.2, 0.2);
    }
    s.block.nrows = n;
    s.block.R = R;
    s.block.v_hat = v_hat;
    sap_set_hessian(&s.block, vc, G);
    for (int32_t k = 0; k < n * n; ++k) {
      G_scale = fmax(G_scale, fabs(G[k]));
    }
    for (int32_t j = 0; j < n; ++j) {
      double plus[6], minus[6], gamma[6], gamma_plus[6], gamma_minus[6];
      memcpy(plus, vc, sizeof plus);
      memcpy(minus, vc, sizeof minus);
      plus[j] += 1e-7;
      minus[j] -= 1e-7;
      const double rise = sap_set_impulse(&s.block, plus, gamma_plus) -
                          sap_set_impulse(&s.block, minus, gamma_minus);
      (void)sap_set_impulse(&s.block, vc, gamma);
      ASSERT_NEAR(rise / 2e-7, -gamma[j], 1e-6 * (1.0 + fabs(gamma[j]) + G_scale));
      for (int32_t k = 0; k < n; ++k) {
        const double slope = -(gamma_plus[k] - gamma_minus[k]) / 2e-7;
        ASSERT_NEAR(slope, G[n * j + k], 2e-3 * G_scale + 1e-6 * fabs(gamma[k]));
        assert_true(G[n * j + k] == G[n * k + j]);
      }
    }
  }
}

// gamma . d and d' G d of the line search.
static void test_slope(void** state) {
  (void)state;
  uint32_t seed = 13;
  for (int i = 0; i < 2000; ++i) {
    sample s;
    draw(&s, &seed, i % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED);
    const sap_potential potential = sap_potential_make(&s.block);
    double u[3], d[3], gamma[3], G[9], curvature = 1.0;
    for (int r = 0; r < 3; ++r) {
      u[r] = s.v_hat[r] - s.vc[r];
      d[r] = between(&seed, -1.0, 1.0);
    }
    (void)sap_set_impulse(&s.block, s.vc, gamma);
    sap_set_hessian(&s.block, s.vc, G);
    double dGd = 0.0, slope = 0.0, scale = 0.0;
    for (int r = 0; r < 3; ++r) {
      slope += gamma[r] * d[r];
      for (int c = 0; c < 3; ++c) {
        dGd += d[r] * G[3 * c + r] * d[c];
        scale += fabs(G[3 * c + r]);
      }
    }
    ASSERT_NEAR(sap_potential_slope(&potential, 3, u, d, &curvature), slope,
                1e-14 * (fabs(gamma[0]) + fabs(gamma[1]) + gamma[2]));
    ASSERT_NEAR(curvature, 1.0 + dGd, 1e-13 * (1.0 + scale));
  }
}

static double relative_difference(const double* a, const double* b, int32_t n) {
  double sum = 0.0, scale = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    scale += b[i] * b[i];
  }
  return sqrt(sum / scale);
}

static const sap_contact_model mixes[][3] = {
    {SAP_CONTACT_SIMILAR, SAP_CONTACT_SIMILAR, SAP_CONTACT_SIMILAR},
    {SAP_CONTACT_LAGGED, SAP_CONTACT_LAGGED, SAP_CONTACT_LAGGED},
    {SAP_CONTACT_SAP, SAP_CONTACT_SIMILAR, SAP_CONTACT_LAGGED},
};

static pile_options pile_of(uint32_t seed) {
  pile_options pile = pile_options_default();
  memcpy(pile.models, mixes[seed % 3], sizeof pile.models);
  pile.seed = seed;
  pile.dissipation = seed % 4 == 0 ? 0.0 : 20.0;
  pile.stiction_tolerance = seed % 5 == 0 ? 1e-7 : 1e-4;
  pile.stiffness = (const double[]){1e3, 1e5, 1e8, 1e12}[seed % 4];
  pile.mass_ratio = seed % 7 == 0 ? 1e6 : 10.0;
  return pile;
}

// Every way to the minimum ends there, from any guess, and never goes up on the way.
static void test_convergence(void** state) {
  (void)state;
  int32_t iterations[2] = {0, 0}, worst[2] = {0, 0};
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const pile_options pile = pile_of(seed);
    sap_problem* problem = pile_problem(&pile);
    sap_solution base = {0};
    for (int variant = 0; variant < 4; ++variant) {
      sap_solver_options options = sap_solver_options_default();
      options.relative_tolerance = 1e-11;
      options.newton = variant == 1 ? SAP_NEWTON_PRIMAL : SAP_NEWTON_PRIMAL_DUAL;
      options.line_search = variant == 2 ? SAP_LINE_SEARCH_BACKTRACKING : SAP_LINE_SEARCH_EXACT;
      options.linear_solver = variant == 3 ? SAP_LINEAR_DENSE : SAP_LINEAR_BLOCK;
      sap_solution solution = {0};
      sap_report report = {0};
      (void)solve_problem("sap", &options, problem, variant == 0 ? &base : &solution, &report);
      assert_true(report.outcome == SAP_OUTCOME_CONVERGED ||
                  report.outcome == SAP_OUTCOME_ROUNDOFF);
      for (int32_t i = 1; i < report.history_count; ++i) {
        // 1e-12: round-off of the last steps
        assert_true(report.history[i].cost <= report.history[i - 1].cost * (1.0 + 1e-12));
      }
      const sap_solution* s = variant == 0 ? &base : &solution;
      sap_residual residual;
      assert_int_equal(sap_residuals(problem, s->v, s->gamma, &residual, NULL), SAP_STATUS_OK);
      // the tolerance; round-off of J v over v_s = 1e-7
      assert_true(residual.momentum <= 1e-8);
      assert_true(residual.projection <= 1e-8);
      assert_true(residual.set_violation <= 1e-10 * pile.mass_ratio);
      ASSERT_NEAR(residual.cost, s->cost, 1e-11 * s->cost);
      if (variant < 2) {
        iterations[variant] += report.iterations;
        worst[variant] = report.iterations > worst[variant] ? report.iterations : worst[variant];
      } else {
        assert_true(relative_difference(s->v, base.v, base.nv) <= 1e-7);
      }
      sap_solution_clear(&solution);
      sap_report_clear(&report);
    }
    sap_solution_clear(&base);
    sap_problem_destroy(problem);
  }
  print_message("iterations to 1e-11 of 60 problems: primal-dual %d (max %d), primal %d (max %d)\n",
                (int)iterations[0], (int)worst[0], (int)iterations[1], (int)worst[1]);
}

// Solvers in impulse space say what they cannot take.
static void test_refusal(void** state) {
  (void)state;
  const pile_options pile = pile_of(5);
  sap_problem* problem = pile_problem(&pile);
  int taken = 0;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    sap_solver* solver;
    sap_solution solution = {0};
    sap_error error = {0};
    assert_int_equal(sap_solver_create(info->name, NULL, &solver, &error), SAP_STATUS_OK);
    const sap_status status = sap_solver_solve(solver, problem, &solution, NULL, &error);
    if (strstr(info->blocks, "lagged") != NULL) {
      assert_int_equal(status, SAP_STATUS_OK);
      ++taken;
    } else {
      assert_int_equal(status, SAP_STATUS_UNSUPPORTED);
      assert_non_null(strstr(error.message, info->name));
    }
    sap_solution_clear(&solution);
    sap_solver_destroy(solver);
  }
  assert_int_equal(taken, 1);
  sap_problem_destroy(problem);
}

static void test_bad_blocks(void** state) {
  (void)state;
  const pile_options pile = pile_of(5);
  sap_problem* problem = pile_problem(&pile);
  const int32_t before = sap_problem_block_count(problem);
  const struct {
    double R, dissipation, slip_speed, lagged;
    sap_status status;
    const char* word;
  } cases[] = {
      {0.0, 1.0, 1e-4, 1.0, SAP_STATUS_ARGUMENT, "R ="},
      {1.0, -1.0, 1e-4, 1.0, SAP_STATUS_ARGUMENT, "dissipation"},
      {1.0, (double)NAN, 1e-4, 1.0, SAP_STATUS_NOT_FINITE, "dissipation"},
      {1.0, 1.0, 0.0, 1.0, SAP_STATUS_ARGUMENT, "slip_speed"},
      {1.0, 1.0, (double)INFINITY, 1.0, SAP_STATUS_NOT_FINITE, "slip_speed"},
      {1.0, 1.0, 1e-4, -1.0, SAP_STATUS_ARGUMENT, "lagged_impulse"},
  };
  const double J[18] = {1.0}, v_hat[3] = {0.0};
  const double* const jacobians[1] = {J};
  const int32_t tree = 0;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const double R[3] = {cases[i].R, cases[i].R, cases[i].R};
    const sap_block block = {.set = SAP_SET_LAGGED,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = 1.0,
                             .dissipation = cases[i].dissipation,
                             .slip_speed = cases[i].slip_speed,
                             .lagged_impulse = cases[i].lagged};
    sap_error error = {0};
    assert_int_equal(sap_problem_add_block(problem, &block, &error), cases[i].status);
    assert_non_null(strstr(error.message, cases[i].word));
    assert_int_equal(sap_problem_block_count(problem), before);
  }
  sap_problem_destroy(problem);
}

// The judge's maps of a potential, R times the distance from the law, of both models and scaled by
// 1/(W + R), and its dissipation, at v and gamma that do not solve.
static void test_judged(void** state) {
  (void)state;
  static const double A[9] = {4, 0, 0, 0, 4, 0, 0, 0, 4}, gamma[3] = {0.2, -0.3, 0.6};
  uint32_t seed = 11;
  for (int i = 0; i < 200; ++i) {
    sample s;
    draw(&s, &seed, i % 2 == 0 ? SAP_SET_SIMILAR : SAP_SET_LAGGED);
    sap_problem* p = one_contact_problem_of(&s.block, A, s.R, s.v_hat);
    double expected[3], distance_2 = 0.0, product = 0.0;
    law(&s, expected);
    for (int r = 0; r < 3; ++r) {
      distance_2 += (gamma[r] - expected[r]) * (gamma[r] - expected[r]);
      product += r < 2 ? gamma[r] * s.vc[r] : 0.0;  // of friction
    }
    sap_residual out;
    assert_int_equal(sap_residuals(p, s.vc, gamma, &out, NULL), SAP_STATUS_OK);
    const double map = s.R[0] * sqrt(distance_2) / sqrt(0.04 + 0.09 + 0.36);
    const double scaled = map / (0.25 + s.R[0]), slack = 1e-12 * fmax(1.0, map + scaled);
    ASSERT_NEAR(out.ccp_natural_map, map, slack);
    ASSERT_NEAR(out.ncp_natural_map, map, slack);
    ASSERT_NEAR(out.ccp_natural_map_scaled, scaled, slack);
    ASSERT_NEAR(out.ncp_natural_map_scaled, scaled, slack);
    ASSERT_NEAR(out.dissipation, -product, 1e-14);
    sap_problem_destroy(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_judged),           cmocka_unit_test(test_law),
      cmocka_unit_test(test_differences),      cmocka_unit_test(test_slope),
      cmocka_unit_test(test_wide_differences), cmocka_unit_test(test_convergence),
      cmocka_unit_test(test_refusal),          cmocka_unit_test(test_bad_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
