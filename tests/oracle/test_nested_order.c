// SPDX-License-Identifier: BSD-3-Clause
// Where much fills, the order of elimination is nested dissection's if that is less work than
// AMD's: the work of both beside each other, the answer of the factorization by its residual, and
// the same bits again.
#include <amd.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/block_factor.h"
#include "support/block_matrix.h"

static bool box_link(int32_t i, int32_t j, const void* context) {
  const int32_t side = *(const int32_t*)context;
  const int32_t layer = i / (side * side), other = j / (side * side);
  return abs(i % side - j % side) <= 1 && abs(i / side % side - j / side % side) <= 1 &&
         abs(layer - other) <= 1;
}

static block_matrix make_box(int32_t side, int32_t size) {
  const int32_t count = side * side * side;
  int32_t* sizes = calloc((size_t)count, sizeof *sizes);
  assert_non_null(sizes);
  for (int32_t k = 0; k < count; ++k) {
    sizes[k] = size;
  }
  block_matrix matrix = block_matrix_create(count, sizes, box_link, &side);
  block_matrix_fill_spd(&matrix, NULL, 7);
  free(sizes);
  return matrix;
}

static double work_of(const block_matrix* matrix, const sap_block_order* order) {
  sap_pattern_copy copy = {0};
  sap_block_factor factor = {0};
  assert_int_equal(sap_pattern_assign(&copy, &matrix->pattern, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_block_factor_analyze(&factor, &copy, order, NULL), SAP_STATUS_OK);
  const double work = factor.lane_work;
  sap_block_factor_clear(&factor);
  sap_pattern_clear(&copy);
  return work;
}

// Work in our order over that in AMD's.
static double compare_with_amd(const block_matrix* matrix) {
  const sap_block_pattern* p = &matrix->pattern;
  sap_block_order ours = {0}, amd = {0};
  int32_t* block_at = calloc((size_t)p->nblocks, sizeof *block_at);
  bool* seen = calloc((size_t)p->nblocks, sizeof *seen);
  assert_true(block_at != NULL && seen != NULL);
  assert_int_equal(amd_order(p->nblocks, p->column_start, p->row, block_at, NULL, NULL), AMD_OK);
  assert_int_equal(sap_block_order_assign(&amd, p, block_at, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_block_order_compute(&ours, p, NULL), SAP_STATUS_OK);
  for (int32_t k = 0; k < p->nblocks; ++k) {
    assert_in_range(ours.block_at[k], 0, p->nblocks - 1);
    assert_false(seen[ours.block_at[k]]);
    seen[ours.block_at[k]] = true;
    assert_int_equal(ours.position_of[ours.block_at[k]], k);
  }
  const double ratio = work_of(matrix, &ours) / work_of(matrix, &amd);
  sap_block_order_clear(&ours);
  sap_block_order_clear(&amd);
  free(block_at);
  free(seen);
  return ratio;
}

static void test_work(void** state) {
  (void)state;
  block_matrix small = make_box(6, 6), large = make_box(10, 6);
  assert_true(compare_with_amd(&small) == 1.0);  // too little fills: AMD's order
  assert_true(compare_with_amd(&large) < 0.85);  // measured: 0.75
  block_matrix_destroy(&small);
  block_matrix_destroy(&large);
}

static void solve(const block_matrix* matrix, double* x) {
  sap_cholesky* cholesky = NULL;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_analyze(cholesky, &matrix->pattern, SAP_LINEAR_BLOCK, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  for (int32_t k = 0; k < matrix->n; ++k) {
    x[k] = 1.0;
  }
  sap_cholesky_solve(cholesky, x);
  sap_cholesky_destroy(cholesky);
}

static void test_answer(void** state) {
  (void)state;
  block_matrix matrix = make_box(10, 6);
  const size_t n = (size_t)matrix.n;
  double* x = calloc(n, sizeof *x);
  double* y = calloc(n, sizeof *y);
  assert_true(x != NULL && y != NULL);
  solve(&matrix, x);
  block_matrix_multiply(&matrix, x, y);
  for (size_t k = 0; k < n; ++k) {
    assert_true(fabs(y[k] - 1.0) < 1e-11);  // condition number below 1e3, some 1e3 terms a row
  }
  solve(&matrix, y);
  assert_memory_equal(x, y, n * sizeof *x);
  free(x);
  free(y);
  block_matrix_destroy(&matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_work),
      cmocka_unit_test(test_answer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
