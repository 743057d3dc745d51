// SPDX-License-Identifier: BSD-3-Clause
// A problem that was created and never reset is empty: every function answers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/problem.h>
#include <sapstep/solver.h>

static sap_problem* make(void) {
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  return p;
}

static const int32_t TREE = 0;
static const double ONE = 1.0;
static const double* const J = &ONE;

static void test_getters(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_block block;
  assert_true(sap_problem_dt(p) == 0.0);
  assert_int_equal(sap_problem_tree_count(p), 0);
  assert_int_equal(sap_problem_tree_size(p, 0), 0);
  assert_int_equal(sap_problem_velocity_count(p), 0);
  assert_int_equal(sap_problem_row_count(p), 0);
  assert_int_equal(sap_problem_block_count(p), 0);
  assert_null(sap_problem_momentum_block(p, 0, 0));
  assert_null(sap_problem_momentum_block(p, 0, 1));
  assert_null(sap_problem_mobility_block(p, 0, 0));
  assert_false(sap_problem_has_mobility(p));
  assert_int_equal(sap_problem_block(p, 0, &block, NULL, NULL), SAP_STATUS_ARGUMENT);
  (void)sap_problem_v_star(p);
  (void)sap_problem_v_guess(p);
  sap_problem_destroy(p);
}

static void test_setters(void** state) {
  (void)state;
  sap_problem* p = make();
  double x = 0.0, w;
  const sap_contact_scheme scheme = sap_contact_scheme_default();
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, &ONE, 1, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_set_mobility_block(p, 0, 0, &ONE, 1, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_set_v_star(p, &x, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_guess(p, &x, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_gamma_guess(p, &x, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_solve_momentum(p, &x, &x, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_keep_impulses(p, &x, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_delassus_scale(p, 1, 1, &TREE, &J, &w, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_check(p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_condition(p, &x, &w, NULL), SAP_STATUS_ARGUMENT);
  sap_problem_destroy(p);
}

static void test_blocks(void** state) {
  (void)state;
  sap_problem* p = make();
  const sap_regularization regularization = sap_regularization_default();
  const sap_block block = {.set = SAP_SET_FREE,
                           .nrows = 1,
                           .ntrees = 1,
                           .trees = &TREE,
                           .jacobians = &J,
                           .R = &ONE,
                           .v_hat = &ONE};
  const sap_contact_block contact = {
      .ntrees = 1, .trees = &TREE, .jacobians = &J, .material = sap_material_default()};
  const sap_compliant_block compliant = {
      .nrows = 1, .ntrees = 1, .trees = &TREE, .jacobians = &J, .g0 = &ONE, .stiffness = 1.0};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_contact(p, &contact, &regularization, NULL),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_compliant(p, &compliant, &regularization, NULL),
                   SAP_STATUS_ARGUMENT);
  sap_problem_destroy(p);
}

static void test_residuals(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_residual r = {.momentum = 1.0, .ccp_row = 1.0, .tree = 1.0};
  assert_int_equal(sap_residuals(p, NULL, NULL, &r, NULL), SAP_STATUS_OK);
  assert_true(r.momentum == 0.0 && r.cost == 0.0 && r.ccp_row == 0.0 && r.tree == 0.0);
  sap_problem_destroy(p);
}

static void test_solvers(void** state) {
  (void)state;
  sap_problem* p = make();
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    sap_solver* solver;
    sap_solution solution = {0};
    sap_report report = {0};
    assert_int_equal(sap_solver_create(sap_solver_get_info(i)->name, NULL, &solver, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.outcome, SAP_OUTCOME_CONVERGED);
    assert_int_equal(solution.nv, 0);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_solver_destroy(solver);
  }
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_getters), cmocka_unit_test(test_setters),
      cmocka_unit_test(test_blocks),  cmocka_unit_test(test_residuals),
      cmocka_unit_test(test_solvers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
