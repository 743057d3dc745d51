// SPDX-License-Identifier: BSD-3-Clause
// The block LU on made-up unsymmetric matrices, with and without supernodes: it must give back the
// solution that a right-hand side was made from by a dense product.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "linalg/block_lu.h"
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

static void check(sap_block_lu* lu, const unsymmetric* m, bool whole, double tolerance) {
  const size_t n = (size_t)m->shape.n;
  const sap_block_matrix matrix = {m->lower, m->upper};
  double *x = calloc(2 * n, sizeof *x), *b = x + n;
  assert_non_null(x);
  for (size_t i = 0; i < n; ++i) {
    x[i] = sin(1.0 + (double)i);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      b[i] += m->dense[j * n + i] * x[j];
    }
  }
  assert_int_equal(sap_block_lu_analyze(lu, &m->shape.pattern, whole, NULL), SAP_STATUS_OK);
  assert_true(sap_block_lu_factorize(lu, &matrix));
  const double residual = sap_block_lu_solve(lu, &matrix, b);
  assert_true(residual <= 1e-14);
  for (size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(b[i], x[i], tolerance);  // condition number times eps, refined
  }
  free(x);
}

static void test_solves(void** unused) {
  (void)unused;
  const link_rule rules[] = {
      {0, 1000, false}, {1, 1000, false}, {2, 40, false}, {1, 90, true}, {70, 1, false}};
  sap_block_lu lu = {0};  // one object for all: memory grows, analyses change
  for (size_t k = 0; k < sizeof rules / sizeof *rules; ++k) {
    for (int32_t nblocks = 1; nblocks <= MOST; nblocks = 2 * nblocks + 5) {
      unsymmetric m = make(nblocks, &rules[k], 8.0, 11 * k + (uint64_t)nblocks);
      check(&lu, &m, false, 1e-11);
      check(&lu, &m, true, 1e-11);
      release(&m);
    }
  }
  sap_block_lu_clear(&lu);
}

// Sparse panels take part: fewer operations than dense ones.
static void test_sparsity_pays(void** unused) {
  (void)unused;
  const link_rule rule = {1, 1000, false};
  unsymmetric m = make(MOST, &rule, 8.0, 3);
  sap_block_lu lu = {0};
  assert_int_equal(sap_block_lu_analyze(&lu, &m.shape.pattern, true, NULL), SAP_STATUS_OK);
  const double dense = lu.work_estimate;
  assert_int_equal(sap_block_lu_analyze(&lu, &m.shape.pattern, false, NULL), SAP_STATUS_OK);
  assert_true(lu.nsuper > 1 && lu.work_estimate < 0.05 * dense);
  sap_block_lu_clear(&lu);
  release(&m);
}

// Without a strong diagonal the whole matrix with partial pivoting still solves.
static void test_pivots(void** unused) {
  (void)unused;
  const link_rule rule = {1, 30, false};
  unsymmetric m = make(40, &rule, 0.0, 5);
  sap_block_lu lu = {0};
  check(&lu, &m, true, 1e-9);
  sap_block_lu_clear(&lu);
  release(&m);
}

static void test_singular_and_not_finite(void** unused) {
  (void)unused;
  const link_rule rule = {1, 30, false};
  unsymmetric m = make(20, &rule, 6.0, 7);
  const sap_block_matrix matrix = {m.lower, m.upper};
  sap_block_lu lu = {0};
  assert_int_equal(sap_block_lu_analyze(&lu, &m.shape.pattern, false, NULL), SAP_STATUS_OK);
  double* x = calloc((size_t)m.shape.n, sizeof *x);
  assert_non_null(x);
  x[0] = 1.0;
  m.lower[0] = (double)NAN;
  assert_true(!sap_block_lu_factorize(&lu, &matrix) ||
              !(sap_block_lu_solve(&lu, &matrix, x) < 1.0));
  for (size_t k = 0; k < m.shape.nvalues; ++k) {
    m.lower[k] = m.upper[k] = 0.0;
  }
  assert_false(sap_block_lu_factorize(&lu, &matrix));
  // a pattern that is none
  int32_t row[] = {1, 1};
  const int32_t sizes[] = {1, 1}, column_start[] = {0, 1, 2};
  const size_t value_start[] = {0, 1};
  const sap_block_pattern bad = {2, sizes, column_start, row, value_start};
  assert_int_equal(sap_block_lu_analyze(&lu, &bad, false, NULL), SAP_STATUS_ARGUMENT);
  free(x);
  sap_block_lu_clear(&lu);
  release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_solves),
      cmocka_unit_test(test_sparsity_pays),
      cmocka_unit_test(test_pivots),
      cmocka_unit_test(test_singular_and_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
