// SPDX-License-Identifier: BSD-3-Clause
// Once a pattern is analysed and factorized, nothing of ours asks for memory; nor does a smaller
// pattern.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/block_matrix.h"
#include "support/heap_count.h"

enum { NBLOCKS = 30, N_MAX = 600 };

static bool ring_link(int32_t i, int32_t j, const void* context) {
  const int32_t step = *(const int32_t*)context;
  return i - j == 1 || i - j == step || i - j == 2 * step;
}

static block_matrix make_matrix(int32_t nblocks) {
  int32_t sizes[NBLOCKS];
  const int32_t step = 5;
  for (int32_t k = 0; k < nblocks; ++k) {
    sizes[k] = k % 7 == 0 ? 19 : 6;
  }
  block_matrix matrix = block_matrix_create(nblocks, sizes, ring_link, &step);
  block_matrix_fill_spd(&matrix, NULL, 3);
  return matrix;
}

static void work(sap_cholesky* cholesky, const block_matrix* matrix, sap_linear_solver choice) {
  double x[N_MAX] = {1};
  assert_int_equal(sap_cholesky_analyze(cholesky, &matrix->pattern, choice, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  sap_cholesky_solve(cholesky, x);
  sap_cholesky_solve(cholesky, x);
}

static void test_no_heap_calls(void** unused) {
  (void)unused;
  block_matrix large = make_matrix(NBLOCKS);
  block_matrix small = make_matrix(NBLOCKS / 2);
  assert_true(large.n <= N_MAX);
  for (sap_linear_solver choice = SAP_LINEAR_AUTO; choice <= SAP_LINEAR_SPARSE; ++choice) {
    sap_cholesky* cholesky;
    const int64_t before = heap_calls();
    assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
    work(cholesky, &large, choice);
    assert_true(heap_calls() > before);  // the counter works
    const int64_t warm = heap_calls();
    work(cholesky, &large, choice);
    work(cholesky, &small, choice);
    work(cholesky, &large, choice);
    assert_int_equal(heap_calls(), warm);
    sap_cholesky_destroy(cholesky);
  }
  block_matrix_destroy(&large);
  block_matrix_destroy(&small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_heap_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
