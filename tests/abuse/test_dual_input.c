// SPDX-License-Identifier: BSD-3-Clause
// Solvers refuse unsupported input by name without side effects; problems without a solution or
// with overflow end.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/solver.h>

static const double ONE[1] = {1};

static sap_problem* make(double v_star) {
  const int32_t size = 1;
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, ONE, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, &v_star, NULL), SAP_STATUS_OK);
  return p;
}

static void add_row(sap_problem* p, sap_set set, double J, double R, double v_hat) {
  const int32_t tree = 0;
  const double* jacobians[1] = {&J};
  const sap_block block = {.set = set,
                           .nrows = 1,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = jacobians,
                           .R = &R,
                           .v_hat = &v_hat};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
}

static void test_refused(void** state) {
  (void)state;
  sap_problem* p = make(-1.0);
  sap_solver* solver;
  sap_error error;
  add_row(p, SAP_SET_FREE, 1.0, 0.1, 0.0);
  add_row(p, SAP_SET_NONNEGATIVE, 1.0, 0.0, 0.0);
  double kept[1] = {42.0};
  sap_solution solution = {.nv = 1, .v = kept};
  sap_report report = {.iterations = 7};
  assert_int_equal(sap_solver_create("sap", NULL, &solver, &error), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "block 1, row 0: R = 0"));
  assert_non_null(strstr(error.message, "'sap'"));
  sap_solver_destroy(solver);
  assert_int_equal(sap_solver_create("proximal", NULL, &solver, &error), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "block 1: solver 'proximal' takes free, not nonnegative"));
  sap_solver_destroy(solver);
  assert_true(kept[0] == 42.0 && solution.nv == 1 && report.iterations == 7);
  sap_problem_destroy(p);
}

// Block 0 is one that most take; block 1 has `nrows` rows of `set`.
static sap_problem* make_pair(sap_set set, int32_t nrows, double R_last) {
  const int32_t size = 6, tree = 0;
  double unit[36] = {0}, R[6], zero[6] = {0}, v_star[6] = {0.1, 0.2, -1, 0.3, -0.2, 0.1};
  const double lower[6] = {-1, -1, -1, -1, -1, -1}, upper[6] = {1, 1, 1, 1, 1, 1};
  double J[36] = {0};
  sap_problem* p;
  for (int i = 0; i < 6; ++i) {
    unit[7 * i] = 1.0;
    R[i] = i == (set == SAP_SET_FRICTION_CONE ? 2 : nrows - 1) ? R_last : 0.1;
  }
  for (int i = 0; i < nrows; ++i) {
    J[i * nrows + i] = 1.0;
  }
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, unit, 6, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  const double* jacobians = J;
  sap_block block = {.set = SAP_SET_FREE,
                     .nrows = 1,
                     .ntrees = 1,
                     .trees = &tree,
                     .jacobians = &jacobians,
                     .R = R,
                     .v_hat = zero,
                     .friction = 0.5,
                     .lower = lower,
                     .upper = upper};
  double first[6] = {0, 0, 0, 0, 0, 1};
  const double* first_jacobian = first;
  sap_block other = block;
  const double R_first = 0.1;
  other.jacobians = &first_jacobian;
  other.R = &R_first;
  assert_int_equal(sap_problem_add_block(p, &other, NULL), SAP_STATUS_OK);
  block.set = set;
  block.nrows = nrows;
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  return p;
}

// Checks the registry's rows: unsupported blocks, cones of n rows and R = 0 are refused. Solution
// and report stay unchanged.
static void test_every_solver_and_block(void** state) {
  (void)state;
  static const struct {
    sap_set set;
    int32_t nrows;
    const char* word;
  } kinds[] = {{SAP_SET_FRICTION_CONE, 3, "cone"},
               {SAP_SET_FRICTION_CONE, 4, "cone"},
               {SAP_SET_FRICTION_CONE, 6, "cone"},
               {SAP_SET_NONNEGATIVE, 2, "nonnegative"},
               {SAP_SET_BOX, 2, "box"},
               {SAP_SET_FREE, 2, "free"}};
  int refused = 0;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    for (size_t k = 0; k < 2 * sizeof kinds / sizeof *kinds; ++k) {
      const size_t kind = k / 2;
      const double R = k % 2 == 0 ? 0.1 : 0.0;
      sap_problem* p = make_pair(kinds[kind].set, kinds[kind].nrows, R);
      double kept[1] = {42.0};
      sap_solution solution = {.nv = 1, .v = kept}, fresh = {0};
      sap_report report = {.iterations = 7};
      sap_solver* solver;
      sap_error error = {0};
      assert_int_equal(sap_solver_create(info->name, NULL, &solver, NULL), SAP_STATUS_OK);
      const bool takes_free = strstr(info->blocks, "free") != NULL;
      const bool takes = takes_free && strstr(info->blocks, kinds[kind].word) != NULL &&
                         (kinds[kind].nrows < 4 || strstr(info->blocks, "3 rows") == NULL) &&
                         (R > 0.0 || !info->needs_R);
      if (takes) {
        if (sap_solver_solve(solver, p, &fresh, NULL, &error) != SAP_STATUS_OK) {
          fail_msg("%s, %s: %s", info->name, kinds[kind].word, error.message);
        }
      } else {
        refused += 1;
        assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error),
                         SAP_STATUS_UNSUPPORTED);
        if (strstr(error.message, info->name) == NULL ||
            strstr(error.message, takes_free ? "block 1" : "block 0") == NULL) {
          fail_msg("%s, %s: %s", info->name, kinds[kind].word, error.message);
        }
        assert_true(kept[0] == 42.0 && solution.nv == 1 && report.iterations == 7);
      }
      sap_solution_clear(&fresh);
      sap_solver_destroy(solver);
      sap_problem_destroy(p);
    }
  }
  print_message("%d refusals\n", refused);
  assert_true(refused > 20);
}

static void test_names(void** state) {
  (void)state;
  sap_solver* solver;
  sap_error error;
  assert_int_equal(sap_solver_create("sapp", NULL, &solver, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "sap, "));
  assert_non_null(strstr(error.message, "admm-ncp"));
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const sap_solver_info* info = sap_solver_get_info(i);
    assert_int_equal(sap_solver_create(info->name, NULL, &solver, &error), SAP_STATUS_OK);
    sap_solver_destroy(solver);
    assert_true(info->model[0] != '\0' && info->reference[0] != '\0' && info->blocks[0] != '\0');
    assert_non_null(info->principles);
  }
}

// Two rigid limits that contradict each other: no solution; every solver ends and says so.
static void test_infeasible(void** state) {
  (void)state;
  for (int32_t i = 1; i < sap_solver_count(); ++i) {
    const char* name = sap_solver_get_info(i)->name;
    sap_problem* p = make(0.0);
    sap_solution solution = {0};
    sap_report report = {0};
    sap_solver* solver;
    sap_error error;
    sap_solver_options options = sap_solver_options_default();
    options.max_sweeps = 200;
    options.max_iterations = 50;
    add_row(p, SAP_SET_FREE, 1.0, 0.0, 1.0);
    add_row(p, SAP_SET_FREE, -1.0, 0.0, 1.0);
    assert_int_equal(sap_solver_create(name, &options, &solver, NULL), SAP_STATUS_OK);
    const sap_status status = sap_solver_solve(solver, p, &solution, &report, &error);
    if (status == SAP_STATUS_OK) {
      if (report.outcome == SAP_OUTCOME_CONVERGED) {
        fail_msg("%s says that it converged", name);
      }
      assert_true(isfinite(solution.v[0]));
      sap_residual residual;
      assert_int_equal(sap_residuals(p, solution.v, solution.gamma, &residual, NULL),
                       SAP_STATUS_OK);
      assert_true(residual.ccp_dual >= 0.999);  // the rows cannot both be satisfied
    } else {
      assert_int_equal(status, SAP_STATUS_UNSUPPORTED);  // needs R > 0
    }
    sap_solver_destroy(solver);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

static void test_overflow(void** state) {
  (void)state;
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    if (strstr(sap_solver_get_info(i)->blocks, "free") == NULL) {
      continue;
    }
    sap_problem* p = make(-1e308);
    sap_solution solution = {0};
    sap_report report = {0};
    sap_solver* solver;
    sap_error error = {0};
    add_row(p, SAP_SET_FREE, 1e10, 1e-3, 0.0);
    assert_int_equal(sap_solver_create(sap_solver_get_info(i)->name, NULL, &solver, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, &error),
                     SAP_STATUS_NOT_FINITE);
    assert_true(error.message[0] != '\0' && solution.nv == 0 && report.history_count == 0);
    sap_solver_destroy(solver);
    sap_solution_clear(&solution);
    sap_report_clear(&report);
    sap_problem_destroy(p);
  }
}

// A time limit of next to nothing: the outcome says so, the guess comes back.
static void test_time_limit(void** state) {
  (void)state;
  sap_problem* p = make(-1.0);
  add_row(p, SAP_SET_NONNEGATIVE, 1.0, 0.1, 0.0);
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver* solver;
  sap_solver_options options = sap_solver_options_default();
  options.time_limit = 1e-12;
  assert_int_equal(sap_solver_create("pgs-ccp", &options, &solver, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.outcome, SAP_OUTCOME_TIME_LIMIT);
  assert_true(solution.v[0] == -1.0 && solution.gamma[0] == 0.0);
  sap_solver_destroy(solver);
  // The same, set and taken back later.
  assert_int_equal(sap_solver_create("pgs-ccp", NULL, &solver, NULL), SAP_STATUS_OK);
  for (int k = 0; k < 2; ++k) {
    assert_int_equal(sap_solver_set_time_limit(solver, k == 0 ? 1e-12 : 0.0, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, p, &solution, &report, NULL), SAP_STATUS_OK);
    assert_int_equal(report.outcome, k == 0 ? SAP_OUTCOME_TIME_LIMIT : SAP_OUTCOME_CONVERGED);
  }
  sap_solver_destroy(solver);
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),  cmocka_unit_test(test_every_solver_and_block),
      cmocka_unit_test(test_names),    cmocka_unit_test(test_infeasible),
      cmocka_unit_test(test_overflow), cmocka_unit_test(test_time_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
