// SPDX-License-Identifier: BSD-3-Clause
// Matrices that cannot be factorized and patterns that are none.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/block_matrix.h"

static const sap_linear_solver choices[] = {SAP_LINEAR_AUTO, SAP_LINEAR_DENSE, SAP_LINEAR_BLOCK,
                                            SAP_LINEAR_SPARSE};
enum { NCHOICES = 4, NBLOCKS = 9, N_MAX = 200 };

static const int32_t mixed_sizes[NBLOCKS] = {6, 1, 27, 3, 6, 8, 9, 2, 6};

static bool some_link(int32_t i, int32_t j, const void* context) {
  (void)context;
  return i - j == 2 || i + j == 9;
}

static bool no_link(int32_t i, int32_t j, const void* context) {
  (void)i;
  (void)j;
  (void)context;
  return false;
}

static sap_cholesky* make(const block_matrix* matrix, sap_linear_solver choice) {
  sap_cholesky* cholesky = NULL;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_analyze(cholesky, &matrix->pattern, choice, NULL, NULL),
                   SAP_STATUS_OK);
  return cholesky;
}

static void expect_failure(sap_cholesky* cholesky, const block_matrix* matrix, sap_status status,
                           int32_t block) {
  sap_error error = {0};
  int32_t failed = -7;
  char name[16];
  (void)snprintf(name, sizeof name, "%d", (int)block);
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, &failed, &error), status);
  assert_int_equal(failed, block);
  assert_int_equal(error.status, status);
  assert_non_null(strstr(error.message, name));
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), status);
}

static void expect_success(sap_cholesky* cholesky, const block_matrix* matrix) {
  double x[N_MAX];
  double y[N_MAX];
  for (int32_t k = 0; k < matrix->n; ++k) {
    x[k] = 1 + k;
  }
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  sap_cholesky_solve(cholesky, x);
  block_matrix_multiply(matrix, x, y);
  for (int32_t k = 0; k < matrix->n; ++k) {
    assert_true(fabs(y[k] - (1 + k)) < 1e-9);  // condition below 1e3, right-hand side below 2e2
  }
}

// All principal minors without the broken block are positive, so whatever the order of elimination,
// the pivot that breaks is that block's.
static void test_indefinite(void** unused) {
  (void)unused;
  block_matrix matrix = block_matrix_create(NBLOCKS, mixed_sizes, some_link, NULL);
  block_matrix_fill_spd(&matrix, NULL, 1);
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky* cholesky = make(&matrix, choices[c]);
    for (int32_t b = 0; b < NBLOCKS; ++b) {
      const int32_t last = mixed_sizes[b] - 1;
      double* entry = block_matrix_entry(&matrix, b, b) + last * mixed_sizes[b] + last;
      const double kept = *entry;
      *entry = -1e-3;
      expect_failure(cholesky, &matrix, SAP_STATUS_NOT_SPD, b);
      *entry = kept;
      expect_success(cholesky, &matrix);
    }
    sap_cholesky_destroy(cholesky);
  }
  block_matrix_destroy(&matrix);
}

static void test_zero_block(void** unused) {
  (void)unused;
  block_matrix matrix = block_matrix_create(NBLOCKS, mixed_sizes, no_link, NULL);
  block_matrix_fill_spd(&matrix, NULL, 2);
  double* block = block_matrix_entry(&matrix, 5, 5);
  memset(block, 0, sizeof(double) * (size_t)(mixed_sizes[5] * mixed_sizes[5]));
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky* cholesky = make(&matrix, choices[c]);
    expect_failure(cholesky, &matrix, SAP_STATUS_NOT_SPD, 5);
    sap_cholesky_destroy(cholesky);
  }
  block_matrix_destroy(&matrix);
}

// Every entry that counts, one after the other, by each of the values that are no numbers.
static void test_not_finite(void** unused) {
  (void)unused;
  static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  block_matrix matrix = block_matrix_create(NBLOCKS, mixed_sizes, some_link, NULL);
  block_matrix_fill_spd(&matrix, NULL, 3);
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky* cholesky = make(&matrix, choices[c]);
    for (int32_t j = 0; j < NBLOCKS; ++j) {
      for (int32_t k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
        const int32_t i = matrix.row[k];
        for (int32_t e = 0; e < mixed_sizes[i] * mixed_sizes[j]; e += 1 + e % 5) {
          if (i == j && e % mixed_sizes[i] < e / mixed_sizes[i]) {
            continue;  // upper triangle: ignored, and NaN in these matrices
          }
          double* entry = matrix.values + matrix.value_start[k] + e;
          const double kept = *entry;
          *entry = bad[e % 3];
          expect_failure(cholesky, &matrix, SAP_STATUS_NOT_FINITE, i);
          *entry = kept;
        }
      }
    }
    expect_success(cholesky, &matrix);
    sap_cholesky_destroy(cholesky);
  }
  block_matrix_destroy(&matrix);
}

// Finite, yet its factor overflows.
static void test_overflow(void** unused) {
  (void)unused;
  const int32_t sizes[] = {1, 1};
  const double values[] = {1e-300, 1e300, 1};
  const int32_t column_start[] = {0, 2, 3};
  const int32_t row[] = {0, 1, 1};
  const size_t value_start[] = {0, 1, 2};
  const sap_block_pattern pattern = {2, sizes, column_start, row, value_start};
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky* cholesky = NULL;
    assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_cholesky_analyze(cholesky, &pattern, choices[c], NULL, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_cholesky_factorize(cholesky, values, NULL, NULL), SAP_STATUS_NOT_SPD);
    sap_cholesky_destroy(cholesky);
  }
}

static void test_one_block_and_no_links(void** unused) {
  (void)unused;
  for (int32_t size = 1; size <= 40; ++size) {
    block_matrix matrix = block_matrix_create(1, &size, no_link, NULL);
    block_matrix_fill_spd(&matrix, NULL, (uint64_t)size);
    for (int32_t c = 0; c < NCHOICES; ++c) {
      sap_cholesky* cholesky = make(&matrix, choices[c]);
      expect_success(cholesky, &matrix);
      sap_cholesky_destroy(cholesky);
    }
    block_matrix_destroy(&matrix);
  }
  block_matrix matrix = block_matrix_create(NBLOCKS, mixed_sizes, no_link, NULL);
  block_matrix_fill_spd(&matrix, NULL, 4);
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky* cholesky = make(&matrix, choices[c]);
    expect_success(cholesky, &matrix);
    sap_cholesky_destroy(cholesky);
  }
  block_matrix_destroy(&matrix);
}

static void expect_refused(const sap_block_pattern* pattern, const char* word) {
  sap_cholesky* cholesky = NULL;
  sap_error error = {0};
  bool analysed = true;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_analyze(cholesky, pattern, SAP_LINEAR_AUTO, &analysed, &error),
                   SAP_STATUS_ARGUMENT);
  assert_false(analysed);
  assert_non_null(strstr(error.message, word));
  sap_cholesky_destroy(cholesky);
}

static void test_malformed_patterns(void** unused) {
  (void)unused;
  const int32_t sizes[] = {2, 3, 1};
  const int32_t start[] = {0, 3, 4, 5};
  const size_t values[] = {0, 4, 10, 12, 21};
  const int32_t not_ascending[] = {0, 2, 1, 1, 2};
  const int32_t not_diagonal[] = {0, 1, 2, 2, 2};
  const int32_t out_of_range[] = {0, 1, 3, 1, 2};
  const int32_t good[] = {0, 1, 2, 1, 2};
  const int32_t bad_sizes[] = {2, 0, 1};
  const int32_t huge_sizes[] = {INT32_MAX, INT32_MAX, 1};
  expect_refused(&(sap_block_pattern){3, sizes, start, not_ascending, values}, "column 0");
  expect_refused(&(sap_block_pattern){3, sizes, start, not_diagonal, values}, "column 1");
  expect_refused(&(sap_block_pattern){3, sizes, start, out_of_range, values}, "row 3");
  expect_refused(&(sap_block_pattern){3, bad_sizes, start, good, values}, "block 1");
  expect_refused(&(sap_block_pattern){3, huge_sizes, start, good, values}, "too many");
  expect_refused(&(sap_block_pattern){0, sizes, start, good, values}, "at least one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_indefinite),
      cmocka_unit_test(test_zero_block),
      cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_one_block_and_no_links),
      cmocka_unit_test(test_malformed_patterns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
