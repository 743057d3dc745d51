// SPDX-License-Identifier: BSD-3-Clause
// SAP gives the same bits run to run: with a fresh solver, with one that has seen other problems,
// and wherever memory lies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reproducible)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
