// SPDX-License-Identifier: BSD-3-Clause
// The sparse LU on made-up unsymmetric matrices: it must give back the solution that a right-hand
// side was made from by a dense product.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "linalg/sparse_lu.h"
#include "support/block_matrix.h"
#include "support/near.h"

enum { MOST = 70 };

typedef struct link_rule {
  int32_t width;   // of a band
  int32_t one_in;  // and one in so many elsewhere
  bool arrow;      // the last ten meet all
} link_rule;

static bool linked(int32_t i, int32_t j, const void* context) {
  const link_rule* rule = context;
  return i - j <= rule->width || (i * 31 + j * 17) % rule->one_in == 0 ||
         (rule->arrow && i >= MOST - 10);
}

typedef struct unsymmetric {
  block_matrix shape;
  double *lower, *upper, *dense;
} unsymmetric;

// Random blocks and `diagonal` on the diagonal; 0 makes pivoting necessary within blocks.
static unsymmetric make(int32_t nblocks, const link_rule* rule, double diagonal, uint64_t seed) {
  static const int32_t kinds[] = {3, 1, 4, 3, 6};
  int32_t sizes[MOST];
  for (int32_t k = 0; k < nblocks; ++k) {
    sizes[k] = kinds[(k * k + k / 3) % 5];
  }
  unsymmetric m = {block_matrix_create(nblocks, sizes, linked, rule), NULL, NULL, NULL};
  const size_t n = (size_t)m.shape.n;
  m.lower = calloc(m.shape.nvalues, sizeof *m.lower);
  m.upper = calloc(m.shape.nvalues, sizeof *m.upper);
  m.dense = calloc(n * n, sizeof *m.dense);
  assert_true(m.lower != NULL && m.upper != NULL && m.dense != NULL);
  uint64_t state = seed;
  for (int32_t j = 0; j < nblocks; ++j) {
    for (int32_t k = m.shape.column_start[j]; k < m.shape.column_start[j + 1]; ++k) {
      const int32_t i = m.shape.row[k];
      for (int32_t c = 0; c < sizes[j]; ++c) {
        for (int32_t r = 0; r < sizes[i]; ++r) {
          const size_t at = m.shape.value_start[k] + (size_t)(c * sizes[i] + r);
          const size_t row = (size_t)(m.shape.offset[i] + r),
                       column = (size_t)(m.shape.offset[j] + c);
          m.lower[at] = test_random(&state) + (i == j && r == c ? diagonal : 0.0);
          m.upper[at] = i == j ? (double)NAN : test_random(&state);  // nobody may read the former
          m.dense[column * n + row] = m.lower[at];
          if (i != j) {
            m.dense[row * n + column] = m.upper[at];
          }
        }
      }
    }
  }
  return m;
}

static void release(unsymmetric* m) {
  free(m->lower);
  free(m->upper);
  free(m->dense);
  block_matrix_destroy(&m->shape);
}

static void check(sap_sparse_lu* lu, const unsymmetric* m, sap_lu_pivots pivots, double tolerance) {
  const size_t n = (size_t)m->shape.n;
  const sap_block_matrix matrix = {m->lower, m->upper};
  double *x = calloc(2 * n, sizeof *x), *b = x + n;
  assert_non_null(x);
  for (size_t i = 0; i < n; ++i) {
    x[i] = sin(1.0 + (double)i);
  }
  bool done = false;
  assert_int_equal(sap_sparse_lu_analyze(lu, &m->shape.pattern, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_sparse_lu_factorize(lu, &matrix, pivots, &done, NULL), SAP_STATUS_OK);
  assert_true(done);
  for (int transposed = 0; transposed < 2; ++transposed) {
    for (size_t i = 0; i < n; ++i) {
      b[i] = 0.0;
      for (size_t j = 0; j < n; ++j) {
        b[i] += m->dense[transposed == 1 ? i * n + j : j * n + i] * x[j];
      }
    }
    const double residual = sap_sparse_lu_solve(lu, b, transposed == 1);
    assert_true(residual <= 1e-14);
    for (size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(b[i], x[i], tolerance);  // condition number times eps, refined
    }
  }
  free(x);
}

static void test_solves(void** unused) {
  (void)unused;
  const link_rule rules[] = {
      {0, 1000, false}, {1, 1000, false}, {2, 40, false}, {1, 90, true}, {70, 1, false}};
  sap_sparse_lu lu = {0};  // one object for all: memory grows, analyses change
  for (size_t k = 0; k < sizeof rules / sizeof *rules; ++k) {
    for (int32_t nblocks = 1; nblocks <= MOST; nblocks = 2 * nblocks + 5) {
      unsymmetric m = make(nblocks, &rules[k], 8.0, 11 * k + (uint64_t)nblocks);
      check(&lu, &m, SAP_LU_DIAGONAL_PIVOTS, 1e-11);
      check(&lu, &m, SAP_LU_LARGEST_PIVOTS, 1e-11);
      release(&m);
    }
  }
  sap_sparse_lu_clear(&lu);
}

// One analysis serves all matrices of a pattern, and one choice of pivots those that differ little.
static void test_keeps_analysis_and_pivots(void** unused) {
  (void)unused;
  const link_rule rule = {1, 40, false};
  unsymmetric m = make(MOST, &rule, 8.0, 3);
  const sap_block_matrix matrix = {m.lower, m.upper};
  sap_sparse_lu lu = {0};
  check(&lu, &m, SAP_LU_DIAGONAL_PIVOTS, 1e-11);
  const void* symbolic = lu.symbolic;
  for (size_t k = 0; k < m.shape.nvalues; ++k) {
    m.lower[k] *= 1.5;
    m.upper[k] *= 1.5;
  }
  for (size_t k = 0; k < (size_t)m.shape.n * (size_t)m.shape.n; ++k) {
    m.dense[k] *= 1.5;
  }
  check(&lu, &m, SAP_LU_LAST_PIVOTS, 1e-11);
  assert_ptr_equal(lu.symbolic, symbolic);
  sap_sparse_lu_forget(&lu);
  bool done = true;
  assert_int_equal(sap_sparse_lu_factorize(&lu, &matrix, SAP_LU_LAST_PIVOTS, &done, NULL),
                   SAP_STATUS_OK);
  assert_false(done);
  sap_sparse_lu_clear(&lu);
  release(&m);
}

// Without a strong diagonal, partial pivoting still solves.
static void test_pivots(void** unused) {
  (void)unused;
  const link_rule rule = {1, 30, false};
  unsymmetric m = make(40, &rule, 0.0, 5);
  sap_sparse_lu lu = {0};
  check(&lu, &m, SAP_LU_LARGEST_PIVOTS, 1e-9);
  sap_sparse_lu_clear(&lu);
  release(&m);
}

static void test_singular_and_not_finite(void** unused) {
  (void)unused;
  const link_rule rule = {1, 30, false};
  unsymmetric m = make(20, &rule, 6.0, 7);
  const sap_block_matrix matrix = {m.lower, m.upper};
  sap_sparse_lu lu = {0};
  check(&lu, &m, SAP_LU_DIAGONAL_PIVOTS, 1e-11);
  const double value = m.lower[0];
  m.lower[0] = (double)NAN;
  bool done = false;
  for (int pivots = SAP_LU_LAST_PIVOTS; pivots <= SAP_LU_LARGEST_PIVOTS; ++pivots) {
    assert_int_equal(sap_sparse_lu_factorize(&lu, &matrix, (sap_lu_pivots)pivots, &done, NULL),
                     SAP_STATUS_OK);
    assert_false(done);
  }
  m.lower[0] = value;
  check(&lu, &m, SAP_LU_DIAGONAL_PIVOTS, 1e-11);
  for (size_t k = 0; k < m.shape.nvalues; ++k) {
    m.lower[k] = m.upper[k] = 0.0;
  }
  for (int pivots = SAP_LU_LAST_PIVOTS; pivots <= SAP_LU_LARGEST_PIVOTS; ++pivots) {
    assert_int_equal(sap_sparse_lu_factorize(&lu, &matrix, (sap_lu_pivots)pivots, &done, NULL),
                     SAP_STATUS_OK);
    assert_false(done);
  }
  // a pattern that is none
  int32_t row[] = {1, 1};
  const int32_t sizes[] = {1, 1}, column_start[] = {0, 1, 2};
  const size_t value_start[] = {0, 1};
  const sap_block_pattern bad = {2, sizes, column_start, row, value_start};
  assert_int_equal(sap_sparse_lu_analyze(&lu, &bad, NULL), SAP_STATUS_ARGUMENT);
  sap_sparse_lu_clear(&lu);
  release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_solves),
      cmocka_unit_test(test_keeps_analysis_and_pivots),
      cmocka_unit_test(test_pivots),
      cmocka_unit_test(test_singular_and_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
