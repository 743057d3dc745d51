// SPDX-License-Identifier: BSD-3-Clause
// The same bits run to run, whatever the object has factorized before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/block_matrix.h"

enum { NBLOCKS = 50, N_MAX = 1000 };

static bool grid_link(int32_t i, int32_t j, const void* context) {
  const int32_t width = *(const int32_t*)context;
  return i - j == 1 || i - j == width || i - j == 3 * width;
}

static block_matrix make_matrix(int32_t nblocks, int32_t width, uint64_t seed) {
  int32_t sizes[NBLOCKS];
  for (int32_t k = 0; k < nblocks; ++k) {
    sizes[k] = k % 5 == 0 ? 13 : 6;
  }
  block_matrix matrix = block_matrix_create(nblocks, sizes, grid_link, &width);
  block_matrix_fill_spd(&matrix, NULL, seed);
  return matrix;
}

static void solve(sap_cholesky* cholesky, const block_matrix* matrix, sap_linear_solver choice,
                  double* x) {
  for (int32_t k = 0; k < matrix->n; ++k) {
    x[k] = 1.0 / (1 + k);
  }
  assert_int_equal(sap_cholesky_analyze(cholesky, &matrix->pattern, choice, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  sap_cholesky_solve(cholesky, x);
}

static void test_same_bits(void** unused) {
  (void)unused;
  block_matrix small = make_matrix(NBLOCKS / 2, 4, 1);
  block_matrix large = make_matrix(NBLOCKS, 7, 2);
  static double first[N_MAX];
  static double second[N_MAX];
  static double other[N_MAX];
  assert_true(large.n <= N_MAX);
  for (sap_linear_solver choice = SAP_LINEAR_AUTO; choice <= SAP_LINEAR_SPARSE; ++choice) {
    sap_cholesky* fresh = NULL;
    sap_cholesky* used = NULL;
    assert_int_equal(sap_cholesky_create(&fresh, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_cholesky_create(&used, NULL), SAP_STATUS_OK);
    solve(fresh, &small, choice, first);
    solve(used, &large, choice, other);
    solve(used, &small, choice, second);
    assert_memory_equal(first, second, (size_t)small.n * sizeof *first);
    solve(used, &small, choice, second);
    assert_memory_equal(first, second, (size_t)small.n * sizeof *first);
    sap_cholesky_destroy(fresh);
    sap_cholesky_destroy(used);
  }
  block_matrix_destroy(&small);
  block_matrix_destroy(&large);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
