// SPDX-License-Identifier: BSD-3-Clause
// Islands: their trees and the order of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solvers/islands.h"

static void add(sap_problem* p, int32_t ntrees, const int32_t* trees) {
  const double one[1] = {1}, v_hat[1] = {0};
  const double* jacobians[3] = {one, one, one};
  const sap_block block = {.set = SAP_SET_FREE,
                           .nrows = 1,
                           .ntrees = ntrees,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = one,
                           .v_hat = v_hat};
  assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
}

// Trees 0 .. 9: blocks (7, 2), (5), (2, 9, 1), (5); couplings 8-5, 0-3 (the latter in no island).
static void test_islands(void** state) {
  (void)state;
  const int32_t sizes[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const int32_t pair[2] = {7, 2}, single[1] = {5}, three[3] = {2, 9, 1};
  const double C[1] = {0.1};
  sap_problem* p;
  sap_islands islands = {0};
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, 0.01, 10, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 8, 5, C, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 3, C, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_islands_find(&islands, p, false, NULL), SAP_STATUS_OK);
  assert_int_equal(islands.count, 0);
  add(p, 2, pair);
  add(p, 1, single);
  add(p, 3, three);
  add(p, 1, single);
  assert_int_equal(sap_islands_find(&islands, p, false, NULL), SAP_STATUS_OK);
  assert_int_equal(islands.count, 2);
  const int32_t trees[6] = {1, 2, 7, 9, 5, 8}, blocks[4] = {0, 2, 1, 3};
  const int32_t local[10] = {-1, 0, 1, -1, -1, 0, -1, 2, 1, 3};
  assert_int_equal(islands.tree_start[1], 4);
  assert_int_equal(islands.tree_start[2], 6);
  assert_memory_equal(islands.trees, trees, sizeof trees);
  assert_int_equal(islands.block_start[1], 2);
  assert_int_equal(islands.block_start[2], 4);
  assert_memory_equal(islands.blocks, blocks, sizeof blocks);
  assert_memory_equal(islands.local, local, sizeof local);

  assert_int_equal(sap_islands_find(&islands, p, true, NULL), SAP_STATUS_OK);
  const int32_t merged[6] = {1, 2, 5, 7, 8, 9};
  assert_int_equal(islands.count, 1);
  assert_int_equal(islands.tree_start[1], 6);
  assert_memory_equal(islands.trees, merged, sizeof merged);
  assert_int_equal(islands.block_start[1], 4);
  sap_islands_clear(&islands);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_islands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
