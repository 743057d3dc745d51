// SPDX-License-Identifier: BSD-3-Clause
// /solution and /guesses of FCLIB files: read in our order of components,
// refused where it is malformed, and of use as a start.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/hdf5_write.h"
#include "support/near.h"
#include "support/problem_files.h"
#include "support/scratch.h"

// Sliding along -T1: W = diag(1, 3.5, 3.5), q = (-.00981, 1, 0), mu = .9; its exact NCP solution.
static const double R_NCP[3] = {0.00981, -0.008829, 0.0}, U_NCP[3] = {0.0, 0.9690985, 0.0};
static const double GUESS[3] = {0.5, 0.25, -0.125}, U_GUESS[3] = {1, 2, 3};

static void write_file(const char* path) {
  static const double W[9] = {1, 0, 0, 0, 3.5, 0, 0, 0, 3.5}, q[3] = {-0.00981, 1, 0}, mu = 0.9;
  const hid_t file = hdf5_write_local(path, 3, W, q, &mu, HDF5_WRITE_COLUMNS);
  hdf5_write_reals(file, "solution/r", 3, R_NCP);
  hdf5_write_reals(file, "solution/u", 3, U_NCP);
  hdf5_write_integer(file, "guesses/number_of_guesses", 1);
  hdf5_write_reals(file, "guesses/1/r", 3, GUESS);
  hdf5_write_reals(file, "guesses/1/u", 3, U_GUESS);
  hdf5_write_close(file);
}

// A file with its problem, and memory for its solutions.
typedef struct fixture {
  scratch files;
  char name[SCRATCH_PATH_SIZE];
  const char* path;
  sap_problem* problem;
  sap_solution solution;
} fixture;

static void begin(fixture* f) {
  *f = (fixture){.path = NULL};
  scratch_begin(&f->files);
  f->path = scratch_path(&f->files, "one.hdf5", f->name);
  write_file(f->path);
  f->problem = problem_file_new(f->path);
}

static void end(fixture* f) {
  sap_solution_clear(&f->solution);
  sap_problem_destroy(f->problem);
  scratch_end(&f->files);
}

static void test_order_of_components(void** state) {
  (void)state;
  fixture f;
  begin(&f);
  sap_residual residual;
  sap_error error = {0};
  bool found = false;
  assert_int_equal(sap_problem_file_solution(f.path, f.problem, 0, &f.solution, &found, &error),
                   SAP_STATUS_OK);
  assert_true(found && f.solution.nv == 3 && f.solution.nrows == 3 && isnan(f.solution.cost));
  for (int i = 0; i < 3; ++i) {  // N T1 T2 there, T1 T2 N here
    assert_true(f.solution.gamma[(i + 2) % 3] == R_NCP[i]);
    assert_true(f.solution.v[(i + 2) % 3] == U_NCP[i]);
    assert_true(f.solution.vc[(i + 2) % 3] == U_NCP[i]);
  }
  assert_int_equal(sap_residuals(f.problem, f.solution.v, f.solution.gamma, &residual, &error),
                   SAP_STATUS_OK);
  assert_true(residual.ncp_natural_map_scaled <= 1e-7);  // digits of the table
  found = false;
  assert_int_equal(sap_problem_file_solution(f.path, f.problem, 1, &f.solution, &found, &error),
                   SAP_STATUS_OK);
  assert_true(found && f.solution.gamma[2] == GUESS[0] && f.solution.gamma[0] == GUESS[1]);
  const double kept = f.solution.gamma[2];
  assert_int_equal(sap_problem_file_solution(f.path, f.problem, 2, &f.solution, &found, &error),
                   SAP_STATUS_OK);
  assert_true(!found && f.solution.gamma[2] == kept);
  assert_int_equal(sap_problem_file_solution(f.path, f.problem, -1, &f.solution, &found, &error),
                   SAP_STATUS_ARGUMENT);
  end(&f);
}

static int32_t iterations(const char* name, const sap_problem* problem) {
  sap_solver_options options = sap_solver_options_default();
  sap_solver* solver;
  sap_solution solution = {0};
  sap_report report = {0};
  sap_error error;
  assert_int_equal(sap_solver_create(name, &options, &solver, NULL), SAP_STATUS_OK);
  if (sap_solver_solve(solver, problem, &solution, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  assert_int_equal(report.outcome, SAP_OUTCOME_CONVERGED);
  const int32_t count = report.iterations;
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  return count;
}

// The solution as a start leaves nothing to do; a block that is added drops it.
static void test_start(void** state) {
  (void)state;
  static const char* const names[] = {"pgs-ncp", "nbgs", "admm-ncp", "newton-ncp",
                                      "proximal-newton"};
  fixture f;
  begin(&f);
  sap_error error = {0};
  bool found = false;
  assert_int_equal(sap_problem_file_solution(f.path, f.problem, 0, &f.solution, &found, &error),
                   SAP_STATUS_OK);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    sap_problem* cold = problem_file_new(f.path);
    assert_true(iterations(names[i], cold) > 0);
    sap_problem_destroy(cold);
  }
  assert_int_equal(sap_problem_set_gamma_guess(f.problem, f.solution.gamma, &error), SAP_STATUS_OK);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    assert_int_equal(iterations(names[i], f.problem), 0);
  }
  f.solution.gamma[1] = (double)NAN;
  assert_int_equal(sap_problem_set_gamma_guess(f.problem, f.solution.gamma, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_non_null(strstr(error.message, "gamma_guess[1]"));
  assert_int_equal(iterations("nbgs", f.problem), 0);  // what was set stays
  assert_int_equal(sap_problem_set_gamma_guess(f.problem, NULL, &error), SAP_STATUS_ARGUMENT);
  const double row[3] = {0, 0, 1}, zero[1] = {0};
  const double* jacobian = row;
  const int32_t tree = 0;
  const sap_block more = {.set = SAP_SET_NONNEGATIVE,
                          .nrows = 1,
                          .ntrees = 1,
                          .trees = &tree,
                          .jacobians = &jacobian,
                          .R = zero,
                          .v_hat = zero};
  assert_int_equal(sap_problem_add_block(f.problem, &more, &error), SAP_STATUS_OK);
  assert_true(iterations("nbgs", f.problem) > 0);
  end(&f);
}

static void test_malformed(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int count;  // 0: removed, -1: text, -2: a group
    double values[3];
    sap_status status;
  } cases[] = {
      {"solution/r", 0, {0}, SAP_STATUS_SYNTAX},
      {"solution/u", 0, {0}, SAP_STATUS_SYNTAX},
      {"solution/r", 2, {1, 2}, SAP_STATUS_SYNTAX},
      {"solution/r", 3, {1, (double)NAN, 0}, SAP_STATUS_NOT_FINITE},
      {"solution/u", 3, {(double)INFINITY, 0, 0}, SAP_STATUS_NOT_FINITE},
      {"solution/r", -1, {0}, SAP_STATUS_SYNTAX},
      {"solution/r", -2, {0}, SAP_STATUS_SYNTAX},
      {"solution", 1, {0}, SAP_STATUS_SYNTAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    fixture f;
    begin(&f);
    const hid_t file = H5Fopen(f.path, H5F_ACC_RDWR, H5P_DEFAULT);
    hdf5_write_remove(file, cases[i].name);
    if (cases[i].count == -1) {
      hdf5_write_text(file, cases[i].name, "text");
    } else if (cases[i].count == -2) {
      hdf5_write_reals(file, "solution/r/inside", 3, R_NCP);
    } else if (cases[i].count > 0) {
      hdf5_write_reals(file, cases[i].name, cases[i].count, cases[i].values);
    }
    hdf5_write_close(file);
    sap_error error = {0};
    bool found = true;
    const sap_status status =
        sap_problem_file_solution(f.path, f.problem, 0, &f.solution, &found, &error);
    if (status != cases[i].status || strstr(error.message, f.path) == NULL ||
        strstr(error.message, "solution") == NULL) {
      fail_msg("%zu, %s: status %d, %s", i, cases[i].name, (int)status, error.message);
    }
    assert_true(!found && f.solution.gamma == NULL);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_of_components),
      cmocka_unit_test(test_start),
      cmocka_unit_test(test_malformed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
