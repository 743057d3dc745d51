// SPDX-License-Identifier: BSD-3-Clause
// Every allocation fails once: MEMORY comes back, nothing leaks, and the object still works.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "linalg/schwarz.h"
#include "support/block_matrix.h"
#include "support/heap_count.h"

enum { NBLOCKS = 12, N = 6 * NBLOCKS };

static bool near_link(int32_t i, int32_t j, const void* context) {
  (void)context;
  return i - j < 4;
}

static void check_solution(sap_cholesky* cholesky, const block_matrix* matrix) {
  double x[N];
  double y[N];
  for (int32_t k = 0; k < N; ++k) {
    x[k] = k;
  }
  sap_cholesky_solve(cholesky, x);
  block_matrix_multiply(matrix, x, y);
  for (int32_t k = 0; k < N; ++k) {
    assert_true(fabs(y[k] - k) < 1e-9);  // condition below 1e3, right-hand side below 1e2
  }
}

// False when the failing allocation was never reached: all have been tried.
static bool try_failing_at(int64_t count, const block_matrix* matrix, sap_linear_solver choice) {
  const int64_t live = heap_live();
  sap_cholesky* cholesky = NULL;
  sap_error error = {0};
  heap_fail_at(count);
  sap_status status = sap_cholesky_create(&cholesky, &error);
  if (status == SAP_STATUS_OK) {
    status = sap_cholesky_analyze(cholesky, &matrix->pattern, choice, NULL, &error);
  } else {
    assert_null(cholesky);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_cholesky_factorize(cholesky, matrix->values, NULL, &error);
  }
  const bool reached = heap_failed();
  heap_fail_at(-1);
  assert_int_equal(status, reached ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
  assert_true(!reached || (error.status == SAP_STATUS_MEMORY && error.message[0] != '\0'));
  if (cholesky != NULL) {
    bool analysed = false;
    assert_int_equal(sap_cholesky_analyze(cholesky, &matrix->pattern, choice, &analysed, &error),
                     SAP_STATUS_OK);
    assert_int_equal(analysed, reached);  // what failed does not count as analysed
    assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, &error), SAP_STATUS_OK);
    check_solution(cholesky, matrix);
  }
  sap_cholesky_destroy(cholesky);
  assert_int_equal(heap_live(), live);
  return reached;
}

static void test_every_allocation(void** unused) {
  (void)unused;
  int32_t sizes[NBLOCKS];
  for (int32_t k = 0; k < NBLOCKS; ++k) {
    sizes[k] = 6;
  }
  block_matrix matrix = block_matrix_create(NBLOCKS, sizes, near_link, NULL);
  block_matrix_fill_spd(&matrix, NULL, 5);
  for (sap_linear_solver choice = SAP_LINEAR_AUTO; choice <= SAP_LINEAR_SPARSE; ++choice) {
    int64_t count = 0;
    while (try_failing_at(count, &matrix, choice)) {
      ++count;
    }
    assert_true(count >= 6);  // the object, five arrays of the pattern, ...
  }
  block_matrix_destroy(&matrix);
}

static bool try_parts_failing_at(int64_t count, const sap_pattern_copy* pattern) {
  const int64_t live = heap_live();
  sap_schwarz parts = {0};
  sap_error error = {0};
  heap_fail_at(count);
  const sap_status status = sap_schwarz_analyze(&parts, pattern, &error);
  const bool reached = heap_failed();
  heap_fail_at(-1);
  assert_int_equal(status, reached ? SAP_STATUS_MEMORY : SAP_STATUS_OK);
  assert_true(!reached || error.message[0] != '\0');
  assert_int_equal(sap_schwarz_analyze(&parts, pattern, &error), SAP_STATUS_OK);
  sap_schwarz_clear(&parts);
  assert_int_equal(heap_live(), live);
  return reached;
}

// Parts of a chain of blocks.
static void test_parts(void** unused) {
  (void)unused;
  enum { BLOCKS = 400 };
  int32_t sizes[BLOCKS];
  for (int32_t k = 0; k < BLOCKS; ++k) {
    sizes[k] = 6;
  }
  block_matrix matrix = block_matrix_create(BLOCKS, sizes, near_link, NULL);
  sap_pattern_copy copy = {0};
  assert_int_equal(sap_pattern_assign(&copy, &matrix.pattern, NULL), SAP_STATUS_OK);
  int64_t count = 0;
  while (try_parts_failing_at(count, &copy)) {
    ++count;
  }
  assert_true(count >= 20);  // arrays of the parts, and of each factor
  sap_pattern_clear(&copy);
  block_matrix_destroy(&matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_allocation),
      cmocka_unit_test(test_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
