// SPDX-License-Identifier: BSD-3-Clause
// Memory of solvers between solves is found by key and size of a block. A report of several islands
// has their worst or their sum, in any order.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

#include "problem/problem_data.h"
#include "problem/warm_start.h"
#include "solvers/islands.h"
#include "solvers/report.h"

typedef struct block_kind {
  uint64_t key;
  int32_t nrows;
} block_kind;

static void fill(sap_problem* p, const block_kind* kinds, int32_t count) {
  const double J[3] = {1.0, 2.0, 3.0}, R[3] = {1.0, 1.0, 1.0}, v_hat[3] = {0.0};
  const double* jacobians[1] = {J};
  const int32_t size = 1, tree = 0;
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  for (int32_t b = 0; b < count; ++b) {
    const sap_block block = {.set = SAP_SET_FREE,
                             .nrows = kinds[b].nrows,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .key = kinds[b].key};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
}

static void expect(const sap_warm_start* m, const sap_problem* p, const double* expected) {
  double values[8];
  sap_warm_start_recall(m, p, values);
  for (int32_t i = 0; i < p->nrows; ++i) {
    assert_true(isnan(expected[i]) ? isnan(values[i]) : values[i] == expected[i]);
  }
}

static void store(sap_warm_start* m, const sap_problem* p, const double* values) {
  assert_int_equal(sap_warm_start_reserve(m, p, NULL), SAP_STATUS_OK);
  sap_warm_start_store(m, p, values);
}

static void test_values_by_key(void** state) {
  (void)state;
  const double none = (double)NAN;
  sap_warm_start m = {0};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  fill(p, (const block_kind[]){{11, 2}, {12, 1}, {0, 1}}, 3);
  store(&m, p, (const double[]){1.0, 2.0, 3.0, 4.0});
  expect(&m, p, (const double[]){1.0, 2.0, 3.0, none});
  // in another order, and of another size at the same place
  fill(p, (const block_kind[]){{12, 1}, {11, 2}}, 2);
  expect(&m, p, (const double[]){3.0, 1.0, 2.0});
  fill(p, (const block_kind[]){{11, 1}, {12, 2}}, 2);
  expect(&m, p, (const double[]){none, none, none});
  // the same number of blocks with other keys: the old values are gone
  fill(p, (const block_kind[]){{21, 1}, {22, 1}, {23, 1}}, 3);
  expect(&m, p, (const double[]){none, none, none});
  store(&m, p, (const double[]){5.0, 6.0, 7.0});
  expect(&m, p, (const double[]){5.0, 6.0, 7.0});
  fill(p, (const block_kind[]){{31, 1}, {22, 1}, {32, 1}}, 3);
  store(&m, p, (const double[]){8.0, 9.0, 10.0});
  fill(p, (const block_kind[]){{21, 1}, {22, 1}, {31, 1}, {32, 1}}, 4);
  expect(&m, p, (const double[]){none, 9.0, 8.0, 10.0});
  // the same keys with other sizes: the values are read where they now are
  fill(p, (const block_kind[]){{31, 2}, {22, 1}, {32, 3}}, 3);
  store(&m, p, (const double[]){1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  expect(&m, p, (const double[]){1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  // of two blocks with one key the first counts
  fill(p, (const block_kind[]){{41, 1}, {41, 1}, {42, 1}}, 3);
  store(&m, p, (const double[]){1.0, 2.0, 3.0});
  fill(p, (const block_kind[]){{42, 1}, {41, 1}}, 2);
  expect(&m, p, (const double[]){3.0, 1.0});
  sap_warm_start_clear(&m);
  sap_problem_destroy(p);
}

static void test_sums_of_islands(void** state) {
  (void)state;
  const sap_report islands[2] = {
      {.outcome = SAP_OUTCOME_ITERATION_LIMIT,
       .iterations = 7,
       .total_iterations = 8,
       .factorizations = 9,
       .symbolic_analyses = 10,
       .evaluations = 11,
       .islands = 1,
       .largest_island = 12,
       .cost = 13.0,
       .island_error = 14.0},
      {.outcome = SAP_OUTCOME_ROUNDOFF,
       .iterations = 1,
       .total_iterations = 2,
       .factorizations = 3,
       .symbolic_analyses = 4,
       .evaluations = 5,
       .islands = 1,
       .largest_island = 6,
       .cost = 7.0,
       .island_error = 8.0},
  };
  for (int first = 0; first < 2; ++first) {
    sap_report sum = {0};
    sap_report_add(&sum, &islands[first]);
    sap_report_add(&sum, &islands[1 - first]);
    assert_int_equal(sum.outcome, SAP_OUTCOME_ITERATION_LIMIT);
    assert_int_equal(sum.iterations, 7);
    assert_int_equal(sum.total_iterations, 10);
    assert_int_equal(sum.factorizations, 12);
    assert_int_equal(sum.symbolic_analyses, 14);
    assert_int_equal(sum.evaluations, 16);
    assert_int_equal(sum.islands, 2);
    assert_int_equal(sum.largest_island, 12);
    assert_true(sum.cost == 20.0 && sum.island_error == 14.0);
  }
}

// Row 1 has the iterates of both islands, row 2 the last values of the one that ended and the step
// and evaluations of the other alone.
static void test_history_of_islands(void** state) {
  (void)state;
  const sap_history_row rows[5] = {{1, 2, 3, 4, 0.0, 0},
                                   {10, 20, 30, 40, 0.5, 3},
                                   {5, 6, 7, 8, 0.0, 0},
                                   {50, 60, 70, 80, 0.25, 2},
                                   {500, 600, 700, 800, 0.125, 4}};
  for (int order = 0; order < 2; ++order) {
    sap_history h = {0};
    assert_int_equal(sap_history_begin(&h, 1, 1000.0, NULL), SAP_STATUS_OK);
    for (int part = 0; part < 2; ++part) {
      const bool small = part == order;
      for (int i = small ? 0 : 2; i < (small ? 2 : 5); ++i) {
        assert_int_equal(sap_history_add(&h, &rows[i], NULL), SAP_STATUS_OK);
      }
      sap_history_end_island(&h);
    }
    assert_int_equal(h.count, 3);
    const sap_history_row expected[3] = {
        {6, 8, 1010, 12, 0.0, 0}, {60, 80, 1100, 120, 0.5, 5}, {510, 620, 1730, 840, 0.125, 4}};
    for (int i = 0; i < 3; ++i) {
      const sap_history_row *a = &h.rows[i], *b = &expected[i];
      assert_true(a->cost == b->cost && a->gradient_2 == b->gradient_2);
      assert_true(a->momentum_2 == b->momentum_2 && a->impulse_2 == b->impulse_2);
      assert_true(a->step_length == b->step_length && a->evaluations == b->evaluations);
    }
    sap_history_clear(&h);
  }
}

// A coupling of zeros joins its trees as any other does.
static void test_zero_coupling(void** state) {
  (void)state;
  const int32_t sizes[3] = {1, 1, 1}, trees[2] = {0, 2};
  const double zero[1] = {0.0}, one[1] = {1.0};
  const double* jacobians[1] = {one};
  for (int coupled = 0; coupled < 2; ++coupled) {
    sap_islands islands = {0};
    sap_problem* p;
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_reset(p, 0.01, 3, sizes, NULL), SAP_STATUS_OK);
    if (coupled == 1) {
      assert_int_equal(sap_problem_set_momentum_block(p, 2, 0, zero, 1, NULL), SAP_STATUS_OK);
    }
    for (int b = 0; b < 2; ++b) {
      const sap_block block = {.set = SAP_SET_FREE,
                               .nrows = 1,
                               .ntrees = 1,
                               .trees = &trees[b],
                               .jacobians = jacobians,
                               .R = one,
                               .v_hat = zero};
      assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
    }
    assert_int_equal(sap_islands_find(&islands, p, false, NULL), SAP_STATUS_OK);
    assert_int_equal(islands.count, 2 - coupled);
    sap_islands_clear(&islands);
    sap_problem_destroy(p);
  }
}

// v of a tree of mass m with a row J = 1, R = 0.5: m (v - v*) = (v_hat - v)/R.
static double balanced(double m, double v_star, double v_hat) {
  return (m * v_star + v_hat / 0.5) / (m + 1.0 / 0.5);
}

// A problem solved again with another v* of one island and another v_hat of a second keeps the
// answers of the others, bit for bit.
static void test_solved_again(void** state) {
  (void)state;
  enum { TREES = 4 };
  const int32_t sizes[TREES] = {1, 1, 1, 1};
  const double J = 1.0, R = 0.5, *jacobian = &J;
  double v_star[TREES] = {1.0, -2.0, 3.0, 0.7}, v_hat[TREES] = {0.3, 0.2, -0.1, 2.0};
  sap_problem* p;
  sap_solver* solver;
  sap_solution solution = {0};
  sap_report report = {0};
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_create("sap", NULL, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, TREES, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < TREES; ++t) {
    const double mass = 1.0 + t;
    const sap_block block = {.set = SAP_SET_FREE,
                             .nrows = 1,
                             .ntrees = 1,
                             .trees = &t,
                             .jacobians = &jacobian,
                             .R = &R,
                             .v_hat = &v_hat[t]};
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, &mass, 1, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
  double before[TREES];
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
    memcpy(p->v_hat_shifted, v_hat, sizeof v_hat);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.outcome, SAP_OUTCOME_CONVERGED);
    assert_int_equal(report.islands, TREES);
    assert_int_equal(report.total_iterations, round == 0 ? TREES : 2);
    for (int32_t t = 0; t < TREES; ++t) {
      const double expected = balanced(1.0 + t, v_star[t], v_hat[t]);
      assert_true(fabs(solution.v[t] - expected) <= 1e-6);  // the solver's tolerance
      assert_true(fabs(solution.gamma[t] - (1.0 + t) * (expected - v_star[t])) <= 1e-5);
      assert_true(round == 0 || t == 1 || t == 2 || solution.v[t] == before[t]);
      before[t] = solution.v[t];
    }
    p->solved = true;
    v_star[1] = 5.0;
    v_hat[2] = 4.0;
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_by_key),      cmocka_unit_test(test_sums_of_islands),
      cmocka_unit_test(test_history_of_islands), cmocka_unit_test(test_zero_coupling),
      cmocka_unit_test(test_solved_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
