// SPDX-License-Identifier: BSD-3-Clause
// FCLIB files: every storage of a matrix gives the same problem; local and global forms of one
// problem have the same solution, which is known.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/hdf5_write.h"
#include "support/near.h"
#include "support/problem_files.h"
#include "support/scratch.h"

enum { N = 6 };

// Two contacts with known answers: coupled through nothing, so that each keeps its own.
static const double W[N * N] = {15, -1, -2, 0, 0, 0, -1, 14, 1, 0, 0, 0, -2, 1, 16, 0, 0, 0,
                                0,  0,  0,  2, 0, 0, 0,  0,  0, 0, 2, 0, 0,  0, 0,  0, 0, 2};
static const double q[N] = {-1, 2, 3, -2, -4, -6};
static const double mu[2] = {0.1, 0.1};
// r of the NCP, N T1 T2, to the digits known
static const double r[N] = {6.569568289774e-2, -3.678614906807e-3, -5.443070813559e-3, 1.0,
                            0.05547001962252,  0.08320502943378};

static void write_local(const char* path, hdf5_write_form form) {
  hdf5_write_close(hdf5_write_local(path, N, W, q, mu, form));
}

// M = W^-1 block by block would do; H = L with W = L L' does as well: M = 1.
static void write_global(const char* path, hdf5_write_form form) {
  double L[N * N] = {0};
  for (int j = 0; j < N; ++j) {
    for (int i = j; i < N; ++i) {
      double sum = W[i * N + j];
      for (int k = 0; k < j; ++k) {
        sum -= L[i * N + k] * L[j * N + k];
      }
      L[i * N + j] = i == j ? sqrt(sum) : sum / L[j * N + j];
    }
  }
  double H[N * N], M[N * N] = {0}, f[N], w[N];
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      H[i * N + j] = L[j * N + i];  // W = H' H
    }
    M[i * N + i] = 1.0;
    f[i] = 0.1 * i;
    w[i] = q[i];
  }
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < N; ++i) {
      w[j] -= H[i * N + j] * f[i];  // q = H' M^-1 f + w
    }
  }
  const hid_t file = hdf5_write_create(path);
  hdf5_write_integer(file, "fclib_global/spacedim", 3);
  hdf5_write_matrix(file, "fclib_global/M", N, N, M, form);
  hdf5_write_matrix(file, "fclib_global/H", N, N, H, form);
  hdf5_write_reals(file, "fclib_global/vectors/f", N, f);
  hdf5_write_reals(file, "fclib_global/vectors/w", N, w);
  hdf5_write_reals(file, "fclib_global/vectors/mu", 2, mu);
  hdf5_write_close(file);
}

static void check_solution(const sap_problem* problem, const char* name) {
  sap_error error = {0};
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-13;
  assert_int_equal(sap_solver_create(name, &options, &solver, &error), SAP_STATUS_OK);
  if (sap_solver_solve(solver, problem, &solution, NULL, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  assert_int_equal(solution.nrows, N);
  for (int c = 0; c < 2; ++c) {
    for (int k = 0; k < 3; ++k) {
      // the known digits
      ASSERT_NEAR(solution.gamma[3 * c + (k + 2) % 3], r[3 * c + k], 1e-12);
    }
  }
  sap_residual residual;
  assert_int_equal(sap_residuals(problem, solution.v, solution.gamma, &residual, &error),
                   SAP_STATUS_OK);
  assert_true(residual.momentum < 1e-14);
  assert_true(residual.ncp_natural_map_scaled < 1e-12);
  sap_solution_clear(&solution);
  sap_solver_destroy(solver);
}

static void test_every_form_has_the_known_solution(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "forms.hdf5", name);
  for (int form = 0; form < 3; ++form) {
    for (int global = 0; global < 2; ++global) {
      (global ? write_global : write_local)(path, (hdf5_write_form)form);
      sap_problem* problem = problem_file_new(path);
      assert_int_equal(sap_problem_has_mobility(problem), !global);
      static const char* const solvers[] = {"nbgs", "newton-ncp", "proximal-newton"};
      for (int i = 0; i < 3; ++i) {
        check_solution(problem, solvers[i]);
      }
      sap_problem_destroy(problem);
    }
  }
  scratch_end(&s);
}

// nzmax and the arrays may be longer than nz, and duplicates add up.
static void test_triplets_with_duplicates_and_room(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "triplets.hdf5", name);
  write_local(path, HDF5_WRITE_TRIPLETS);
  enum { COUNT = 14 };
  const int32_t column[COUNT + 2] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 0, 2, 5, 5};
  const int32_t row[COUNT + 2] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5, 0, 2, 0, 99};
  const double x[COUNT + 2] = {10, -1, -2, -1, 14, 1, -2, 1, 20, 2, 2, 2, 5, -4, 7, 7};
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hdf5_write_integers(file, "fclib_local/W/p", COUNT + 2, column);
  hdf5_write_integers(file, "fclib_local/W/i", COUNT + 2, row);
  hdf5_write_reals(file, "fclib_local/W/x", COUNT + 2, x);
  hdf5_write_integer(file, "fclib_local/W/nz", COUNT);
  hdf5_write_integer(file, "fclib_local/W/nzmax", COUNT + 2);
  hdf5_write_close(file);
  sap_problem* problem = problem_file_new(path);
  check_solution(problem, "nbgs");
  sap_problem_destroy(problem);
  scratch_end(&s);
}

// An unsymmetric W is kept as it is, also where (j, i) is not stored.
static void test_unsymmetric_stays(void** state) {
  (void)state;
  double dense[N * N];
  memcpy(dense, W, sizeof dense);
  dense[0 * N + 4] = 0.25;  // N of the first contact by T1 of the second
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "unsymmetric.hdf5", name);
  write_local(path, HDF5_WRITE_COLUMNS);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hdf5_write_matrix(file, "fclib_local/W", N, N, dense, HDF5_WRITE_COLUMNS);
  hdf5_write_close(file);
  sap_problem* problem = problem_file_new(path);
  const double* there = sap_problem_mobility_block(problem, 0, 1);
  const double* back = sap_problem_mobility_block(problem, 1, 0);
  assert_non_null(there);
  assert_non_null(back);
  for (int i = 0; i < 9; ++i) {
    assert_true(there[i] == (i == 2 ? 0.25 : 0.0));  // row n, column t1
    assert_true(back[i] == 0.0);
  }
  static const char* const solvers[] = {"nbgs", "newton-ncp", "proximal-newton", "admm-ncp"};
  for (int i = 0; i < 4; ++i) {
    sap_error error = {0};
    sap_solver* solver = NULL;
    sap_solution solution = {0};
    sap_residual residual;
    sap_solver_options options = sap_solver_options_default();
    options.relative_tolerance = 1e-11;
    assert_int_equal(sap_solver_create(solvers[i], &options, &solver, &error), SAP_STATUS_OK);
    assert_int_equal(sap_solver_solve(solver, problem, &solution, NULL, &error), SAP_STATUS_OK);
    assert_int_equal(sap_residuals(problem, solution.v, solution.gamma, &residual, &error),
                     SAP_STATUS_OK);
    // u by hand: u_N of the first contact has 0.25 r_T1 of the second
    const double* g = solution.gamma;
    ASSERT_NEAR(solution.vc[2], 15 * g[2] - g[0] - 2 * g[1] + 0.25 * g[3] - 1, 1e-13);
    assert_true(residual.ncp_natural_map_scaled < 1e-10);
    sap_solution_clear(&solution);
    sap_solver_destroy(solver);
  }
  sap_problem_destroy(problem);
  scratch_end(&s);
}

static void test_solvers_that_need_A_say_so(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "needs.hdf5", name);
  write_local(path, HDF5_WRITE_COLUMNS);
  sap_problem* problem = problem_file_new(path);
  sap_error error = {0};
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  assert_int_equal(sap_solver_create("sap", NULL, &solver, &error), SAP_STATUS_OK);
  assert_int_equal(sap_solver_solve(solver, problem, &solution, NULL, &error),
                   SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "inverse of A"));
  sap_solver_destroy(solver);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

static void test_mobility_and_momentum_exclude_each_other(void** state) {
  (void)state;
  sap_error error = {0};
  sap_problem* problem = NULL;
  const int32_t sizes[2] = {1, 1};
  const double one = 1.0, bad = (double)NAN;
  assert_int_equal(sap_problem_create(&problem, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.1, 2, sizes, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_mobility_block(problem, 0, 1, &bad, 1, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_false(sap_problem_has_mobility(problem));
  assert_int_equal(sap_problem_set_mobility_block(problem, 0, 0, &one, 1, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 1, 1, &one, 1, &error),
                   SAP_STATUS_ARGUMENT);
  assert_null(sap_problem_momentum_block(problem, 0, 0));
  assert_int_equal(sap_problem_reset(problem, 0.1, 2, sizes, &error), SAP_STATUS_OK);
  assert_false(sap_problem_has_mobility(problem));
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, &one, 1, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_mobility_block(problem, 1, 1, &one, 1, &error),
                   SAP_STATUS_ARGUMENT);
  assert_null(sap_problem_mobility_block(problem, 0, 0));
  sap_problem_destroy(problem);
}

// M that is not symmetric, of two trees: a mobility M^-1 and v* = M^-1 f of each.
static void test_unsymmetric_M(void** state) {
  (void)state;
  static const double M[N * N] = {2, 1, 0, 0, 0, 0, -1, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0,  0,
                                  0, 0, 0, 5, 0, 0, 0,  0, 0, 0, 2, 1, 0, 0, 0, 0, -1, 3};
  static const double inverse[9] = {0.4, 0.2, 0, -0.2, 0.4, 0, 0, 0, 0.25};  // by columns
  static const double f[N] = {5, 10, 8, 10, 14, 7}, expected[N] = {0, 5, 2, 2, 5, 4};
  double one[N * N] = {0};
  for (int i = 0; i < N; ++i) {
    one[(N + 1) * i] = 1.0;
  }
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "unsymmetric.hdf5", name);
  const hid_t file = hdf5_write_create(path);
  hdf5_write_integer(file, "fclib_global/spacedim", 3);
  hdf5_write_matrix(file, "fclib_global/M", N, N, M, HDF5_WRITE_TRIPLETS);
  hdf5_write_matrix(file, "fclib_global/H", N, N, one, HDF5_WRITE_TRIPLETS);
  hdf5_write_reals(file, "fclib_global/vectors/f", N, f);
  hdf5_write_reals(file, "fclib_global/vectors/w", N, q);
  hdf5_write_reals(file, "fclib_global/vectors/mu", 2, mu);
  hdf5_write_close(file);
  sap_problem* problem = problem_file_new(path);
  assert_true(sap_problem_has_mobility(problem));
  const double* A = sap_problem_mobility_block(problem, 0, 0);
  const double* v_star = sap_problem_v_star(problem);
  for (int i = 0; i < 9; ++i) {
    ASSERT_NEAR(A[i], inverse[i], 1e-15);
  }
  for (int i = 0; i < N; ++i) {
    ASSERT_NEAR(v_star[i], expected[i], 1e-14);
  }
  sap_problem_destroy(problem);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form_has_the_known_solution),
      cmocka_unit_test(test_triplets_with_duplicates_and_room),
      cmocka_unit_test(test_unsymmetric_stays),
      cmocka_unit_test(test_unsymmetric_M),
      cmocka_unit_test(test_solvers_that_need_A_say_so),
      cmocka_unit_test(test_mobility_and_momentum_exclude_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
