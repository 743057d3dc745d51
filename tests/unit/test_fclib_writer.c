// SPDX-License-Identifier: BSD-3-Clause
// Problems written as FCLIB are restored bit by bit, blocks of every set, couplings and keys
// included.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/problem_files.h"
#include "support/scratch.h"

static void check(sap_status status, const sap_error* error) {
  if (status != SAP_STATUS_OK) {
    fail_msg("%s", error->message);
  }
}

// Three trees of 2, 3 and 1 velocities, the first two coupled; a block of each set.
static sap_problem* mixed_problem(void) {
  sap_error error = {0};
  sap_problem* p = NULL;
  const int32_t sizes[3] = {2, 3, 1};
  const double A0[4] = {2.0, 0.5, 0.5, 3.0}, A2[1] = {0.7};
  const double A1[9] = {4.0, -0.25, 0.0, -0.25, 5.0, 0.125, 0.0, 0.125, 6.0};
  const double C[6] = {0.1, 0.0, -0.0, 0.2, 0.3, 1.0 / 3.0};
  const double v_star[6] = {0.1, -0.2, 0.3, -0.0, 0.5, 1.0 / 3.0}, guess[6] = {1, 2, 3, 4, 5, 6};
  check(sap_problem_create(&p, &error), &error);
  check(sap_problem_reset(p, 0.005, 3, sizes, &error), &error);
  check(sap_problem_set_momentum_block(p, 0, 0, A0, 2, &error), &error);
  check(sap_problem_set_momentum_block(p, 1, 1, A1, 3, &error), &error);
  check(sap_problem_set_momentum_block(p, 2, 2, A2, 1, &error), &error);
  check(sap_problem_set_momentum_block(p, 1, 0, C, 3, &error), &error);
  check(sap_problem_set_v_star(p, v_star, &error), &error);
  check(sap_problem_set_v_guess(p, guess, &error), &error);
  const double J0[6] = {1, 0, 0.5, -0.0, 0.25, 0}, J1[9] = {0, 1, 2, 3, 4, 5, 6, 7, 0.1};
  const double* jacobians[2] = {J1, J0};
  const int32_t trees[2] = {1, 0}, last = 2;
  const double R[3] = {1e-3, 1e-3, 0.1}, zero[3] = {0}, v_hat[3] = {0.0, -0.0, 0.37};
  sap_block block = {.set = SAP_SET_BOX, .nrows = 1, .ntrees = 1, .trees = &last};
  const double one = 1.0, lower = -0.25, upper = (double)INFINITY;
  const double* unit = &one;
  block.jacobians = &unit;
  block.R = R;
  block.v_hat = v_hat;
  block.lower = &lower;
  block.upper = &upper;
  block.key = UINT64_MAX - 5;
  check(sap_problem_add_block(p, &block, &error), &error);
  block = (sap_block){.set = SAP_SET_FRICTION_CONE,
                      .nrows = 3,
                      .ntrees = 2,
                      .trees = trees,
                      .jacobians = jacobians,
                      .R = R,
                      .v_hat = v_hat,
                      .friction = 0.6,
                      .key = 7};
  check(sap_problem_add_block(p, &block, &error), &error);
  block.set = SAP_SET_FREE;
  block.R = zero;
  check(sap_problem_add_block(p, &block, &error), &error);
  block.set = SAP_SET_NONNEGATIVE;
  block.R = R;
  block.key = 0;
  check(sap_problem_add_block(p, &block, &error), &error);
  return p;
}

static void write_file(const char* path, const sap_problem* problem, const sap_solution* solution) {
  sap_error error = {0};
  check(sap_problem_file_write(path, problem, solution, &error), &error);
}

static void same(const double* a, const double* b, int32_t count) {
  if (a == NULL || b == NULL) {
    assert_true(a == NULL && b == NULL);
  } else if (count > 0) {
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
  }
}

static void compare(const sap_problem* a, const sap_problem* b) {
  assert_true(sap_problem_dt(a) == sap_problem_dt(b));
  const int32_t ntrees = sap_problem_tree_count(a);
  assert_int_equal(ntrees, sap_problem_tree_count(b));
  for (int32_t i = 0; i < ntrees; ++i) {
    assert_int_equal(sap_problem_tree_size(a, i), sap_problem_tree_size(b, i));
    for (int32_t j = 0; j < ntrees; ++j) {
      const int32_t count = sap_problem_tree_size(a, i) * sap_problem_tree_size(a, j);
      same(sap_problem_momentum_block(a, i, j), sap_problem_momentum_block(b, i, j), count);
      same(sap_problem_mobility_block(a, i, j), sap_problem_mobility_block(b, i, j), count);
    }
  }
  same(sap_problem_v_star(a), sap_problem_v_star(b), sap_problem_velocity_count(a));
  same(sap_problem_v_guess(a), sap_problem_v_guess(b), sap_problem_velocity_count(a));
  assert_int_equal(sap_problem_block_count(a), sap_problem_block_count(b));
  for (int32_t i = 0; i < sap_problem_block_count(a); ++i) {
    sap_block x, y;
    assert_int_equal(sap_problem_block(a, i, &x, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_block(b, i, &y, NULL, NULL), SAP_STATUS_OK);
    assert_true(x.set == y.set && x.nrows == y.nrows && x.ntrees == y.ntrees && x.key == y.key);
    assert_true(x.friction == y.friction);
    same(x.R, y.R, x.nrows);
    same(x.v_hat, y.v_hat, x.nrows);
    same(x.lower, y.lower, x.nrows);
    same(x.upper, y.upper, x.nrows);
    for (int32_t t = 0; t < x.ntrees; ++t) {
      assert_int_equal(x.trees[t], y.trees[t]);
      same(x.jacobians[t], y.jacobians[t], x.nrows * sap_problem_tree_size(a, x.trees[t]));
    }
  }
}

static void test_every_block_comes_back(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "mixed.h5", name);
  sap_problem* problem = mixed_problem();
  write_file(path, problem, NULL);
  sap_problem* back = problem_file_new(path);
  compare(problem, back);
  sap_problem_destroy(back);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

// Files have A: a problem with a mobility is refused, and no file is left.
static void test_mobility_is_refused(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  sap_error error = {0};
  sap_problem* p = NULL;
  const int32_t size = 1;
  const double B = 2.0;
  check(sap_problem_create(&p, &error), &error);
  check(sap_problem_reset(p, 0.01, 1, &size, &error), &error);
  check(sap_problem_set_mobility_block(p, 0, 0, &B, 1, &error), &error);
  assert_int_equal(sap_problem_file_write(scratch_path(&s, "b.hdf5", name), p, NULL, &error),
                   SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "mobility"));
  assert_int_equal(scratch_count(&s), 0);
  sap_problem_destroy(p);
  scratch_end(&s);
}

// A solution of every kind of block, beside its problem.
static void test_solution_comes_back(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "solved.h5", name);
  sap_problem* problem = mixed_problem();
  sap_error error = {0};
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  check(sap_solver_create("proximal-newton", NULL, &solver, &error), &error);
  check(sap_solver_solve(solver, problem, &solution, NULL, &error), &error);
  write_file(path, problem, &solution);
  sap_problem* read = problem_file_new(path);
  compare(problem, read);
  double numbers[8];
  assert_int_equal(problem_file_numbers(path, "solution/v", 8, numbers), solution.nv);
  same(numbers, solution.v, solution.nv);
  assert_int_equal(problem_file_numbers(path, "sapstep/solution_cost", 8, numbers), 1);
  assert_true(numbers[0] == solution.cost);
  // rows: the box, the cone's T1 T2 N, three free rows, three limits
  const double *g = solution.gamma, r[3] = {g[3], g[1], g[2]};
  const double others[4] = {g[0], g[7], g[8], g[9]};
  assert_int_equal(problem_file_numbers(path, "solution/r", 8, numbers), 3);
  same(numbers, r, 3);
  assert_int_equal(problem_file_numbers(path, "solution/u", 8, numbers), 3);
  assert_true(numbers[0] == solution.vc[3] - 0.37 && numbers[1] == solution.vc[1]);
  assert_int_equal(problem_file_numbers(path, "solution/l", 8, numbers), 3);
  same(numbers, g + 4, 3);
  assert_int_equal(problem_file_numbers(path, "sapstep/solution_K", 8, numbers), 4);
  same(numbers, others, 4);
  sap_solution_clear(&solution);
  sap_solver_destroy(solver);
  sap_problem_destroy(read);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

// Contacts with spin (4 rows) and rolling friction (6) beside one of 3.
static void test_wide_cones_come_back(void** state) {
  (void)state;
  scratch s;
  char name[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const char* path = scratch_path(&s, "wide.h5", name);
  sap_problem* problem = mixed_problem();
  sap_error error = {0};
  double J[18], R[6] = {1e-3, 1e-3, 0.25, 1e-3, 1e-3, 1e-3}, v_hat[6] = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 18; ++i) {
    J[i] = 1.0 / (1.0 + i);
  }
  const double* jacobians = J;
  const int32_t tree = 1;
  for (int32_t nrows = 6; nrows >= 4; nrows -= 2) {
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = nrows,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = &jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = nrows / 7.0,
                             .key = 12};
    check(sap_problem_add_block(problem, &block, &error), &error);
  }
  write_file(path, problem, NULL);
  sap_problem* back = problem_file_new(path);
  compare(problem, back);
  sap_problem_destroy(back);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

// The same problem gives the same bytes; a problem that is refused leaves no file.
static void test_bytes_and_failures(void** state) {
  (void)state;
  scratch s;
  char first[SCRATCH_PATH_SIZE], second[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  sap_problem* problem = mixed_problem();
  write_file(scratch_path(&s, "a.hdf5", first), problem, NULL);
  write_file(scratch_path(&s, "b.hdf5", second), problem, NULL);
  size_t na = 0, nb = 0;
  char* a = scratch_read(first, &na);
  char* b = scratch_read(second, &nb);
  assert_true(na > 0 && na == nb && memcmp(a, b, na) == 0);
  free(a);
  free(b);
  sap_error error = {0};
  const sap_solution other = {.nv = 1};
  scratch_path(&s, "c.hdf5", first);
  assert_int_equal(sap_problem_file_write(first, problem, &other, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "does not match the problem"));
  const int32_t size = 2;
  check(sap_problem_reset(problem, 0.01, 1, &size, &error), &error);
  assert_int_equal(sap_problem_file_write(first, problem, NULL, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "A of tree 0 is not set"));
  assert_int_equal(scratch_count(&s), 2);
  sap_problem_destroy(problem);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_block_comes_back), cmocka_unit_test(test_mobility_is_refused),
      cmocka_unit_test(test_solution_comes_back),    cmocka_unit_test(test_wide_cones_come_back),
      cmocka_unit_test(test_bytes_and_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
