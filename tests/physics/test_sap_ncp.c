// SPDX-License-Identifier: BSD-3-Clause
// Exact Coulomb friction with compliance: slides without the glide gap of the convex model, and the
// iteration that finds it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/problem_files.h"
#include "support/simulation.h"

static const double MASS = 2.0, GRAVITY = 10.0, MU = 0.5, STIFFNESS = 1e4, TAU = 0.02;

// A point mass on the plane z = 0; its height and velocity.
typedef struct slider {
  double z, v[3], dt;
  sap_solver* solver;
  sap_problem* problem;
  sap_solution solution;
  sap_report report;
} slider;

static void begin(slider* s, const char* name, double dt, double vx) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-12;
  *s = (slider){.z = -MASS * GRAVITY / STIFFNESS, .v = {vx, 0, 0}, .dt = dt};
  assert_int_equal(sap_solver_create(name, &options, &s->solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_create(&s->problem, NULL), SAP_STATUS_OK);
}

static void step(slider* s) {
  const int32_t size = 3, tree = 0;
  const double A[9] = {MASS, 0, 0, 0, MASS, 0, 0, 0, MASS};
  const double I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double* jacobians[1] = {I};
  const double v_star[3] = {s->v[0], s->v[1], s->v[2] - s->dt * GRAVITY};
  const sap_contact_block contact = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = jacobians,
      .material = {.stiffness = STIFFNESS, .relaxation_time = TAU, .friction = MU},
      .phi0 = s->z,
      .key = 17};
  const sap_regularization regularization = sap_regularization_default();
  sap_error error = {0};
  assert_int_equal(sap_problem_reset(s->problem, s->dt, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(s->problem, 0, 0, A, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(s->problem, v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_contact(s->problem, &contact, &regularization, NULL),
                   SAP_STATUS_OK);
  if (sap_solver_solve(s->solver, s->problem, &s->solution, &s->report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  for (int i = 0; i < 3; ++i) {
    s->v[i] = s->solution.v[i];
  }
  s->z += s->dt * s->v[2];
}

static void end(slider* s) {
  sap_problem_destroy(s->problem);
  sap_solver_destroy(s->solver);
  sap_solution_clear(&s->solution);
  sap_report_clear(&s->report);
}

// v_k = v0 - mu g dt k until rest, at the static penetration all the while; SAP glides at
// (dt + tau_d) mu |v| above it.
static void test_coulomb_deceleration(void** state) {
  (void)state;
  const double dt = 0.01, v0 = 1.0, rest = -MASS * GRAVITY / STIFFNESS;
  slider exact, convex;
  double gap = 0.0;
  begin(&exact, "sap-ncp", dt, v0);
  begin(&convex, "sap", dt, v0);
  for (int k = 1; k <= 30; ++k) {
    step(&exact);
    step(&convex);
    const double v = v0 - MU * GRAVITY * dt * k;
    // at rest R_t creeps by at most sigma times the velocity that a step of friction changes
    ASSERT_NEAR(exact.v[0], v > 0.0 ? v : 0.0, 1e-3 * dt * GRAVITY);
    if (v > 0.0) {
      ASSERT_NEAR(exact.v[0], v, 1e-10);
    }
    ASSERT_NEAR(exact.z, rest, 1e-11);
    gap = convex.z - rest > gap ? convex.z - rest : gap;
  }
  print_message("glide gap at 1 m/s: sap %.3g m, sap-ncp %.3g m\n", gap, exact.z - rest);
  assert_true(gap > 0.5 * (dt + TAU) * MU * 0.8);  // what the exact model does away with
  end(&exact);
  end(&convex);
}

// A slide that starts at 3 m/s: SAP throws the body up.
static void test_sudden_slide(void** state) {
  (void)state;
  slider exact, convex;
  begin(&exact, "sap-ncp", 2e-3, 3.0);
  begin(&convex, "sap", 2e-3, 3.0);
  step(&exact);
  step(&convex);
  print_message("normal velocity after a start at 3 m/s: sap %.3g m/s, sap-ncp %.3g m/s\n",
                convex.v[2], exact.v[2]);
  assert_true(convex.v[2] > 0.1);
  ASSERT_NEAR(exact.v[2], 0.0, 1e-11);

  ASSERT_NEAR(exact.v[0], 3.0 - MU * GRAVITY * 2e-3, 1e-10);
  ASSERT_NEAR(exact.solution.gamma[0], -MU * exact.solution.gamma[2], 1e-12);
  end(&exact);
  end(&convex);
}

// The shift is kept by the block's key: the same state again costs fewer iterations.
static void test_warm_start(void** state) {
  (void)state;
  slider s;
  begin(&s, "sap-ncp", 0.01, 1.0);
  step(&s);
  const int32_t cold = s.report.history_count;  // one row per convex solve
  s.z = -MASS * GRAVITY / STIFFNESS;
  s.v[0] = 1.0;
  s.v[2] = 0.0;
  step(&s);
  assert_true(s.report.history_count < cold);
  assert_int_equal(s.report.outcome, SAP_OUTCOME_CONVERGED);
  end(&s);
}

static void check_problem(const char* name, const sap_problem* p) {
  static const char* const solvers[2] = {"sap-ncp", "proximal-newton"};
  sap_solution s[2] = {{0}, {0}};
  sap_residual residual[2];
  sap_report report = {0};
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-10;
  for (int i = 0; i < 2; ++i) {
    sap_solver* solver;
    sap_error error;
    assert_int_equal(sap_solver_create(solvers[i], &options, &solver, NULL), SAP_STATUS_OK);
    if (sap_solver_solve(solver, p, &s[i], &report, &error) != SAP_STATUS_OK) {
      fail_msg("%s: %s", solvers[i], error.message);
    }
    assert_int_equal(sap_residuals(p, s[i].v, s[i].gamma, &residual[i], NULL), SAP_STATUS_OK);
    if (i == 0) {
      assert_true(report.outcome == SAP_OUTCOME_CONVERGED ||
                  report.outcome == SAP_OUTCOME_ROUNDOFF);
      print_message("%-16s %3d iterations in %2d solves, natural map %.1e, momentum %.1e\n", name,
                    report.iterations, report.history_count, residual[0].ncp_natural_map_scaled,
                    residual[0].momentum);
    }
    sap_solver_destroy(solver);
  }
  assert_true(residual[0].ncp_natural_map_scaled <= 1.0001e-10);
  assert_true(residual[0].momentum <= 1e-8);
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < s[0].nv; ++i) {
    sum += (s[0].v[i] - s[1].v[i]) * (s[0].v[i] - s[1].v[i]);
    norm += s[1].v[i] * s[1].v[i];
  }
  // an independent method finds the same velocities (light bodies on heavy trees: cond 1e4)
  if (residual[1].ncp_natural_map_scaled <= 1e-9) {
    assert_true(sqrt(sum) <= 1e-4 * sqrt(norm));
  }
  sap_report_clear(&report);
  sap_solution_clear(&s[0]);
  sap_solution_clear(&s[1]);
}

static void test_contact_problems(void** state) {
  (void)state;
  static const char* const names[] = {"pizza_sliding", "stack_10_push", "rnd_8_24",
                                      "rnd_40_160",    "clutter40_a",   "articulated",
                                      "hard_sigma1e-6"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    FILE* file = problem_text_open(SAPSTEP_SHARED, names[i], "problem");
    sap_problem* p;
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    while (problem_text_next(file, p)) {
      check_problem(names[i], p);
    }
    sap_problem_destroy(p);
    (void)fclose(file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_coulomb_deceleration),
      cmocka_unit_test(test_sudden_slide),
      cmocka_unit_test(test_warm_start),
      cmocka_unit_test(test_contact_problems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
