// SPDX-License-Identifier: BSD-3-Clause
// Every field of a step's report against its own number, and what is kept from step to step against
// fresh objects: a change that only one cache would miss.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "integrators/momentum_factor.h"
#include "support/near.h"
#include "support/simulation.h"
#include "support/toy_system.h"

// Three trees of two velocities, four blocks of five rows; its functions take their time.
typedef struct slow_system {
  toy_linear toy;
  int32_t forces_ms, constraints_ms;  // of each call
  int32_t force_calls, constraint_calls;
} slow_system;

static void wait_ms(int32_t ms) {
  const struct timespec pause = {.tv_nsec = 1000000L * ms};
  (void)nanosleep(&pause, NULL);
}

static int slow_forces(void* context, double t, const double* q, const double* v, double* k1,
                       double* k2) {
  slow_system* s = context;
  wait_ms(s->forces_ms);
  s->force_calls += 1;
  return s->toy.system.forces(&s->toy, t, q, v, k1, k2);
}

static int slow_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                            sap_error* error) {
  slow_system* s = context;
  (void)step;
  wait_ms(s->constraints_ms);
  s->constraint_calls += 1;
  static const double one[2] = {1.0, 0.0}, two[4] = {1.0, 0.0, 0.0, 1.0};
  static const double R[2] = {1e-3, 1e-3}, v_hat[2] = {0.5, 0.25};
  for (int32_t b = 0; b < 4; ++b) {
    const int32_t tree = b % 3;
    const double* const rows = b == 3 ? two : one;
    const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                             .nrows = b == 3 ? 2 : 1,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = &rows,
                             .R = R,
                             .v_hat = v_hat,
                             .key = (uint64_t)b + 1};
    const sap_status status = sap_problem_add_block(problem, &block, error);
    if (status != SAP_STATUS_OK) {
      return (int)status;
    }
  }
  return 0;
}

static int slow_mass(void* context, const double* q, const sap_tree_matrix* M) {
  slow_system* s = context;
  return s->toy.system.mass_matrix(&s->toy, q, M);
}

static int slow_positions(void* context, const double* q0, const double* v, double dt, double* q) {
  slow_system* s = context;
  return s->toy.system.integrate_positions(&s->toy, q0, v, dt, q);
}

static sap_system make_slow(slow_system* s) {
  toy_linear_init(&s->toy, 3, 2);
  s->toy.f[0] = -1.0;
  return (sap_system){.context = s,
                      .nq = 6,
                      .nv = 6,
                      .ntrees = 3,
                      .tree_sizes = s->toy.tree_sizes,
                      .mass_matrix = slow_mass,
                      .forces = slow_forces,
                      .integrate_positions = slow_positions,
                      .constraints = slow_constraints};
}

static void test_fields(void** unused) {
  (void)unused;
  slow_system slow = {.forces_ms = 20, .constraints_ms = 5};
  const sap_system system = make_slow(&slow);
  sap_state state = toy_state(&system);
  sap_stepper* stepper = NULL;
  sap_step_report report;
  memset(&report, 0x5a, sizeof report);
  assert_int_equal(sap_stepper_create(&system, NULL, &stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.velocities, 6);
  assert_int_equal(report.trees, 3);
  assert_int_equal(report.blocks, 4);
  assert_int_equal(report.rows, 5);
  assert_int_equal(report.free_motion_substeps, 0);
  assert_int_equal(report.free_motion_linearized, 0);
  assert_int_equal(report.relinearizations, 0);
  assert_false(report.relinearizations_withdrawn);
  assert_true(report.free_motion_residual <= 1e-13 && report.balance_error <= 1e-10);
  // constant forces: the first step with A is exact, the check at the end sees them once more
  assert_int_equal(report.free_motion_iterations, 1);
  // trees that no step held before are linearized at v0 once their blocks are known
  assert_int_equal(slow.constraint_calls, 2);
  assert_true(report.time_free_motion >= 20e-3 * 2);
  assert_true(report.time_constraints >= 5e-3 && report.time_solver > 0.0);
  assert_true(report.time_total >=
              report.time_free_motion + report.time_constraints + report.time_solver);
  assert_int_equal(report.solver->islands, 3);
  assert_int_equal(sap_problem_block_count(report.problem), 4);
  assert_int_equal(report.solution->nrows, 5);
  for (int32_t i = 0; i < 6; ++i) {
    assert_true(report.solution->v[i] == state.v[i]);
  }
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

static int no_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                          sap_error* error) {
  (void)context, (void)step, (void)problem, (void)error;
  return 0;
}

// Without blocks there is no solver's report; the problem is there, and empty.
static void test_fields_of_a_free_step(void** unused) {
  (void)unused;
  slow_system slow = {0};
  sap_system system = make_slow(&slow);
  system.constraints = no_constraints;
  sap_state state = toy_state(&system);
  sap_stepper* stepper = NULL;
  sap_step_report report;
  assert_int_equal(sap_stepper_create(&system, NULL, &stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
  assert_true(report.solver == NULL && report.solution == NULL && report.blocks == 0);
  assert_int_equal(sap_problem_row_count(report.problem), 0);
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

// An unconverged solve makes a step up to its island_error, and not below.
static void test_accepted_error(void** unused) {
  (void)unused;
  slow_system slow = {0};
  const sap_system system = make_slow(&slow);
  static const char* const solvers[] = {"sap", "pgs-ccp"};
  for (int k = 0; k < 2; ++k) {
    double found = 0.0;
    for (int round = 0; round < 3; ++round) {
      sap_stepper_options options = sap_stepper_options_default();
      options.solver = solvers[k];
      options.contact_law = SAP_LAW_COMPLIANT;
      options.solver_options.max_iterations = options.solver_options.max_sweeps = 0;
      options.accepted_error =
          round == 0 ? (double)INFINITY : found * (round == 1 ? 1.0 + 1e-9 : 1.0 - 1e-9);
      sap_state state = toy_state(&system);
      sap_stepper* stepper = NULL;
      sap_step_report report;
      assert_int_equal(sap_stepper_create(&system, &options, &stepper, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL),
                       round == 2 ? SAP_STATUS_STEP_FAILED : SAP_STATUS_OK);
      found = round == 0 ? report.solver->island_error : found;
      assert_true(found > 1e-3);
      sap_stepper_destroy(stepper);
      sap_state_clear(&state);
    }
  }
}

// Factors follow A wherever it changes: each entry of the lower triangle alone, in every column.
static void test_factors_follow_the_matrix(void** unused) {
  (void)unused;
  enum { N = 4 };
  toy_linear toy;
  toy_linear_init(&toy, 1, N);
  sap_pool pool = {.owner = "test"};
  sap_momentum_factor factor = {0};
  sap_tree_store A = {0};
  assert_int_equal(sap_momentum_factor_create(&toy.system, &pool, &factor, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_tree_store_create(&toy.system, &pool, &A, NULL), SAP_STATUS_OK);
  double M[N][N] = {{0}};
  for (int i = 0; i < N; ++i) {
    M[i][i] = 2.0 + i;
  }
  for (int column = 0; column < N; ++column) {
    for (int row = column; row < N; ++row) {
      M[row][column] = M[column][row] += 0.125;
      sap_tree_store_zero(&A);
      for (int j = 0; j < N; ++j) {
        for (int i = j; i < N; ++i) {
          A.view.diagonal[0][j * N + i] = M[i][j];
        }
      }
      double x[N] = {1.0, -2.0, 3.0, -4.0};
      assert_int_equal(sap_momentum_factor_group(&factor, 0, &A, NULL), SAP_STATUS_OK);
      sap_momentum_factor_solve(&factor, 0, x);
      for (int i = 0; i < N; ++i) {
        double product = 0.0;
        for (int j = 0; j < N; ++j) {
          product += M[i][j] * x[j];
        }
        ASSERT_NEAR(product, (i % 2 == 0 ? 1.0 : -1.0) * (i + 1), 1e-13);
      }
    }
  }
  sap_momentum_factor_clear(&factor);
  sap_pool_free(&pool);
}

static simulation swinging_arm(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  int32_t body = 0;
  for (int i = 0; i < 3; ++i) {
    const double p[3] = {0.4, 0.05, -0.1};
    body = simulation_body(builder, body, 1.0 + i, 0.02, p);
    simulation_joint(builder, body, SAP_JOINT_HINGE, i == 1, i != 1, 0.0);
  }
  return simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.005);
}

// The caller changes q alone, v alone, dt alone, one entry at a time: the next step is that of a
// fresh simulation.
static void test_changes_between_steps(void** unused) {
  (void)unused;
  for (int change = 0; change < 7; ++change) {
    simulation used = swinging_arm(), fresh = swinging_arm();
    for (int i = 0; i < 3; ++i) {
      used.state.v[i] = 3.0 - i;
    }
    simulation_step(&used, 20);
    if (change < 3) {
      used.state.q[change] += 0.3;
    } else if (change < 6) {
      used.state.v[change - 3] += 2.0;
    } else {
      assert_int_equal(sap_stepper_set_dt(used.stepper, 0.008, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_stepper_set_dt(fresh.stepper, 0.008, NULL), SAP_STATUS_OK);
    }
    fresh.state.t = used.state.t;
    memcpy(fresh.state.q, used.state.q, 3 * sizeof(double));
    memcpy(fresh.state.v, used.state.v, 3 * sizeof(double));
    simulation_step(&used, 1);
    simulation_step(&fresh, 1);
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(used.state.v[i], fresh.state.v[i], 1e-10);
      ASSERT_NEAR(used.state.q[i], fresh.state.q[i], 1e-12);
    }
    simulation_end(&used);
    simulation_end(&fresh);
  }
}

// Solves of a step that are repeated, here for the normal impulses of lagged friction, add up: with
// one island the iterations of the longest island are those of all.
static void test_repeated_solves(void** state) {
  (void)state;
  simulation s;
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01;
  options.contact_model = SAP_CONTACT_LAGGED;
  options.solver_options.islands = false;
  assert_true(simulation_read(&s, SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml",
                              SAP_SCHEME_IMPLICIT_EULER, 0.01, NULL));
  sap_stepper_destroy(s.stepper);
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(s.multibody), &options, &s.stepper, NULL),
      SAP_STATUS_OK);
  int repeated = 0;
  int64_t evaluations = 0, of_last = 0, iterations = 0, factorizations = 0;
  for (int step = 0; step < 60; ++step) {
    simulation_step(&s, 1);
    const sap_report* report = s.report.solver;
    if (report != NULL) {
      evaluations += report->evaluations;
      for (int32_t i = 0; i < report->history_count; ++i) {
        of_last += report->history[i].evaluations;
      }
      assert_int_equal(report->total_iterations, report->iterations);
      iterations += report->iterations;
      factorizations += report->factorizations;
      repeated += report->history_count < report->iterations + 1 ? 1 : 0;  // of the last solve
    }
  }
  assert_true(repeated > 10);
  assert_true(evaluations > of_last + 10);
  assert_true(4 * factorizations > 3 * iterations);  // few steps reuse factors
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_fields_of_a_free_step),
      cmocka_unit_test(test_accepted_error),
      cmocka_unit_test(test_factors_follow_the_matrix),
      cmocka_unit_test(test_changes_between_steps),
      cmocka_unit_test(test_repeated_solves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
