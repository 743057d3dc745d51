// SPDX-License-Identifier: BSD-3-Clause
// SAP gives the same bits run to run: with a fresh solver, with one that has seen other problems,
// and wherever memory lies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "support/pile.h"

static void fill(sap_problem* problem, uint32_t seed, int32_t contacts) {
  pile_options pile = pile_options_default();
  pile.seed = seed;
  pile.contacts = contacts;
  assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);
}

static sap_solver* make_solver(sap_linear_solver linear_solver) {
  sap_solver* solver;
  sap_solver_options options = sap_solver_options_default();
  options.linear_solver = linear_solver;
  assert_int_equal(sap_solver_create("sap", &options, &solver, NULL), SAP_STATUS_OK);
  return solver;
}

static void assert_same(const sap_solution* a, const sap_solution* b) {
  assert_int_equal(a->nv, b->nv);
  assert_memory_equal(a->v, b->v, (size_t)a->nv * sizeof(double));
  assert_memory_equal(a->gamma, b->gamma, (size_t)a->nrows * sizeof(double));
  assert_memory_equal(a->vc, b->vc, (size_t)a->nrows * sizeof(double));
  assert_memory_equal(&a->cost, &b->cost, sizeof a->cost);
}

static void check(sap_linear_solver linear_solver) {
  sap_problem *first, *second;
  assert_int_equal(sap_problem_create(&first, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_create(&second, NULL), SAP_STATUS_OK);
  sap_solver* used = make_solver(linear_solver);
  sap_solution a = {0}, b = {0}, other = {0};
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    fill(first, seed, 10);
    sap_solver* fresh = make_solver(linear_solver);
    assert_int_equal(sap_solver_solve(fresh, first, &a, NULL, NULL), SAP_STATUS_OK);
    sap_solver_destroy(fresh);
    fill(second, seed + 100, 30);
    assert_int_equal(sap_solver_solve(used, second, &other, NULL, NULL), SAP_STATUS_OK);
    fill(second, seed, 10);
    sap_report report = {0};
    assert_int_equal(sap_solver_solve(used, second, &b, &report, NULL), SAP_STATUS_OK);
    assert_same(&a, &b);
    assert_true(report.iterations > 0);
    sap_report_clear(&report);
  }
  sap_solver_destroy(used);
  sap_solution_clear(&a);
  sap_solution_clear(&b);
  sap_solution_clear(&other);
  sap_problem_destroy(first);
  sap_problem_destroy(second);
}

static void test_reproducible(void** state) {
  (void)state;
  check(SAP_LINEAR_AUTO);
  check(SAP_LINEAR_DENSE);
  check(SAP_LINEAR_BLOCK);
  check(SAP_LINEAR_SPARSE);
}

// guess (NULL allowed): velocities to start near.
static void fill_keyed(sap_problem* problem, uint32_t seed, const sap_solution* guess) {
  pile_options pile = pile_options_default();
  pile.keyed = true;
  pile.seed = seed;
  pile.contacts = 30 - (int32_t)(seed % 3) * 7;
  pile.regularization.sigma = 1e-6;
  assert_int_equal(pile_fill(&pile, problem, NULL), SAP_STATUS_OK);
  if (guess != NULL) {
    double v[128];
    assert_in_range(guess->nv, 1, 128);
    for (int32_t i = 0; i < guess->nv; ++i) {
      v[i] = guess->v[i] + 1e-3 * (i % 5 - 2);
    }
    assert_int_equal(sap_problem_set_v_guess(problem, v, NULL), SAP_STATUS_OK);
  }
}

// Impulses kept by key: two solvers with the same history agree to the bit, also when blocks come,
// go and change their rows in between; from near the solution the same problem again takes
// fewer steps than with a fresh solver, which knows nothing of it.
static void test_kept_impulses(void** state) {
  (void)state;
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  sap_solver* solvers[2] = {make_solver(SAP_LINEAR_AUTO), make_solver(SAP_LINEAR_AUTO)};
  sap_solution solutions[2] = {{0}, {0}}, fresh_solution = {0};
  sap_report reports[2] = {{0}, {0}}, fresh_report = {0};
  int32_t cold = 0, warm = 0;
  for (uint32_t step = 0; step < 12; ++step) {
    const uint32_t seed = 1 + step / 2;
    fill_keyed(problem, seed, step % 2 == 1 ? &solutions[0] : NULL);
    for (int s = 0; s < 2; ++s) {
      assert_int_equal(sap_solver_solve(solvers[s], problem, &solutions[s], &reports[s], NULL),
                       SAP_STATUS_OK);
    }
    assert_same(&solutions[0], &solutions[1]);
    assert_int_equal(reports[0].total_iterations, reports[1].total_iterations);
    sap_solver* fresh = make_solver(SAP_LINEAR_AUTO);
    assert_int_equal(sap_solver_solve(fresh, problem, &fresh_solution, &fresh_report, NULL),
                     SAP_STATUS_OK);
    sap_solver_destroy(fresh);
    if (step == 0) {
      assert_same(&solutions[0], &fresh_solution);
    }
    cold += step % 2 == 1 ? fresh_report.iterations : 0;
    warm += step % 2 == 1 ? reports[0].iterations : 0;
  }
  print_message("iterations: cold %d, warm %d\n", cold, warm);
  assert_true(2 * warm <= cold);
  for (int s = 0; s < 2; ++s) {
    sap_solver_destroy(solvers[s]);
    sap_solution_clear(&solutions[s]);
    sap_report_clear(&reports[s]);
  }
  sap_solution_clear(&fresh_solution);
  sap_report_clear(&fresh_report);
  sap_problem_destroy(problem);
}

// A solver's memory is loaded into another one from its bytes; invalid bytes change nothing.
static void test_memory_as_bytes(void** state) {
  (void)state;
  enum { ROOM = 1 << 16 };
  static unsigned char bytes[ROOM];
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  sap_solver* solvers[3];
  sap_solution solutions[3] = {{0}, {0}, {0}};
  sap_report report = {0};
  for (int s = 0; s < 3; ++s) {
    solvers[s] = make_solver(SAP_LINEAR_AUTO);
  }
  fill_keyed(problem, 3, NULL);
  assert_int_equal(sap_solver_solve(solvers[0], problem, &solutions[0], NULL, NULL), SAP_STATUS_OK);
  size_t size = 0, again = 0;
  assert_int_equal(sap_solver_save_memory(solvers[0], NULL, 0, &size, NULL), SAP_STATUS_OK);
  assert_in_range(size, 30 * 8, ROOM - 1);
  assert_int_equal(sap_solver_save_memory(solvers[0], bytes, size - 1, &again, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_solver_save_memory(solvers[0], bytes, size, &again, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_load_memory(solvers[1], bytes, size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_load_memory(solvers[1], bytes, size - 1, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_solver_load_memory(solvers[1], bytes, size + 1, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_solver_load_memory(solvers[1], NULL, size, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_solver_load_memory(NULL, bytes, size, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_solver_save_memory(NULL, NULL, 0, &size, NULL), SAP_STATUS_ARGUMENT);
  const sap_solution before = solutions[0];
  fill_keyed(problem, 3, &before);
  int32_t iterations[3];
  for (int s = 0; s < 3; ++s) {
    assert_int_equal(sap_solver_solve(solvers[s], problem, &solutions[s], &report, NULL),
                     SAP_STATUS_OK);
    iterations[s] = report.iterations;
  }
  assert_same(&solutions[0], &solutions[1]);
  assert_int_equal(iterations[0], iterations[1]);
  assert_true(iterations[0] < iterations[2]);  // the third remembers nothing
  for (int s = 0; s < 3; ++s) {
    sap_solver_destroy(solvers[s]);
    sap_solution_clear(&solutions[s]);
  }
  sap_report_clear(&report);
  sap_problem_destroy(problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reproducible),
                                     cmocka_unit_test(test_kept_impulses),
                                     cmocka_unit_test(test_memory_as_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
