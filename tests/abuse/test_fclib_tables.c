// SPDX-License-Identifier: BSD-3-Clause
// The tables of trees and blocks in problem files: damaged ones are refused by name, and files
// without them, from elsewhere, are divided into trees of six velocities at most.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/hdf5_write.h"
#include "support/scratch.h"

enum { TREES = 8 };

// Trees of one velocity each; a contact moves them all.
static void write_problem(const char* path) {
  sap_problem* p = NULL;
  int32_t sizes[TREES], trees[TREES];
  double J[TREES][3], v_star[TREES];
  const double* jacobians[TREES];
  const double R[3] = {0.1, 0.1, 0.1}, v_hat[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < TREES; ++i) {
    sizes[i] = 1;
    trees[i] = i;
    jacobians[i] = J[i];
    v_star[i] = J[i][0] = 1.0 + i;
    J[i][1] = J[i][2] = 2.0;
  }
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = 3,
                           .ntrees = TREES,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = v_hat,
                           .friction = 0.5};
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, TREES, sizes, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < TREES; ++i) {
    assert_int_equal(sap_problem_set_momentum_block(p, i, i, &v_star[i], 1, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_set_v_star(p, v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_file_write(path, p, NULL, NULL), SAP_STATUS_OK);
  sap_problem_destroy(p);
}

static void test_damaged(void** state) {
  static const struct {
    const char* name;
    int count;
    int32_t values[TREES + 1];
  } cases[] = {{"sapstep/block_trees", TREES, {0, 1, 2, 3, 4, 5, 6, -1}},
               {"sapstep/block_trees", TREES, {0, 1, 2, 3, 4, 5, 6, TREES}},
               {"sapstep/block_trees", TREES + 1, {0, 1, 2, 3, 4, 5, 6, 7, 0}},
               {"sapstep/block_trees", TREES - 1, {0, 1, 2, 3, 4, 5, 6}},
               {"sapstep/tree_sizes", TREES - 1, {1, 1, 1, 1, 1, 1, 1}},
               {"sapstep/tree_sizes", TREES + 1, {1, 1, 1, 1, 1, 1, 1, 1, 0}}};
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "bad.hdf5", path);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_problem* p = NULL;
    sap_error error = {0};
    write_problem(path);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hdf5_write_integers(file, cases[i].name, cases[i].count, cases[i].values);
    hdf5_write_close(file);
    assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_file_read(path, p, &error), SAP_STATUS_SYNTAX);
    assert_non_null(strstr(error.message, cases[i].name));
    assert_true(i > 1 || strstr(error.message, "[7]") != NULL);  // the value itself
    sap_problem_destroy(p);
  }
}

// The second contact moves a tree that only the first one lists.
static void test_tree_of_another_block(void** state) {
  char path[SCRATCH_PATH_SIZE];
  const int32_t sizes[2] = {1, 1}, trees[2] = {0, 1}, listed[3] = {0, 1, 1};
  const double J[3] = {1.0, 2.0, 3.0}, R[3] = {0.1, 0.1, 0.1}, v_hat[3] = {0.0}, mass = 1.0;
  const double* jacobians[2] = {J, J};
  sap_block block = {.set = SAP_SET_FRICTION_CONE,
                     .nrows = 3,
                     .ntrees = 2,
                     .trees = trees,
                     .jacobians = jacobians,
                     .R = R,
                     .v_hat = v_hat,
                     .friction = 0.5};
  sap_problem* p = NULL;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 2; ++t) {
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, &mass, 1, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  block.ntrees = 1;
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  (void)scratch_path(*state, "other.hdf5", path);
  assert_int_equal(sap_problem_file_write(path, p, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_file_read(path, p, &error), SAP_STATUS_OK);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hdf5_write_integers(file, "sapstep/block_trees", 3, listed);
  hdf5_write_close(file);
  assert_int_equal(sap_problem_file_read(path, p, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "acts on tree 0, which is not listed"));
  sap_problem_destroy(p);
}

static void test_trees_from_elsewhere(void** state) {
  char path[SCRATCH_PATH_SIZE];
  sap_problem* p = NULL;
  (void)scratch_path(*state, "plain.hdf5", path);
  write_problem(path);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hdf5_write_remove(file, "sapstep/blocks");
  hdf5_write_close(file);
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_file_read(path, p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_tree_count(p), 2);
  assert_int_equal(sap_problem_tree_size(p, 0), 6);
  assert_int_equal(sap_problem_tree_size(p, 1), 2);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_damaged, hdf5_silent_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_tree_of_another_block, hdf5_silent_setup,
                                      scratch_teardown),
      cmocka_unit_test_setup_teardown(test_trees_from_elsewhere, hdf5_silent_setup,
                                      scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
