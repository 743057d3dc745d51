// SPDX-License-Identifier: BSD-3-Clause
// The block-sparse Delassus operator against the dense one: entries, products, which blocks are
// stored, and its damped Cholesky.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "problem/delassus_sparse.h"
#include "support/near.h"
#include "support/pile.h"

// All trees and blocks as one island.
typedef struct fixture {
  sap_problem* problem;
  sap_delassus d;
  int32_t ids[256];
  double* dense;
} fixture;

static void begin(fixture* f, bool mixed, int32_t contacts) {
  pile_options pile = pile_options_default();
  pile.mixed = mixed;
  pile.contacts = contacts;
  assert_int_equal(sap_problem_create(&f->problem, NULL), SAP_STATUS_OK);
  assert_int_equal(pile_fill(&pile, f->problem, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < 256; ++i) {
    f->ids[i] = i;
  }
  const sap_delassus_island island = {f->ids, f->ids, f->ids, sap_problem_tree_count(f->problem),
                                      sap_problem_block_count(f->problem)};
  assert_true(island.nblocks <= 256 && island.ntrees <= 256);
  f->d = (sap_delassus){0};
  assert_int_equal(sap_delassus_gather(&f->d, f->problem, &island, NULL), SAP_STATUS_OK);
  f->dense = calloc((size_t)f->d.n * (size_t)f->d.n, sizeof *f->dense);
  assert_non_null(f->dense);
  sap_delassus_dense(&f->d, f->dense);
}

static void end(fixture* f) {
  free(f->dense);
  sap_delassus_clear(&f->d);
  sap_problem_destroy(f->problem);
}

// Every stored entry is the dense one, and what is not stored is zero.
static void check_entries(const fixture* f, const sap_delassus_sparse* s) {
  const size_t n = (size_t)f->d.n;
  double* left = calloc(n * n, sizeof *left);
  assert_non_null(left);
  for (size_t i = 0; i < n * n; ++i) {
    left[i] = f->dense[i];
  }
  assert_int_equal(s->pattern.nblocks, f->d.nitems);
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    const sap_delassus_item* column = &f->d.items[k];
    for (int32_t e = s->pattern.column_start[k]; e < s->pattern.column_start[k + 1]; ++e) {
      const int32_t l = s->pattern.row[e];
      assert_true(e == s->pattern.column_start[k] ? l == k : l > s->pattern.row[e - 1]);
      const sap_delassus_item* row = &f->d.items[l];
      for (int32_t c = 0; c < column->nrows; ++c) {
        for (int32_t r = 0; r < row->nrows; ++r) {
          const size_t i = (size_t)(row->first + r), j = (size_t)(column->first + c);
          ASSERT_NEAR(s->values[s->pattern.value_start[e] + (size_t)(c * row->nrows + r)],
                      f->dense[j * n + i], 1e-14);
          left[j * n + i] = left[i * n + j] = 0.0;
        }
      }
    }
  }
  for (size_t i = 0; i < n * n; ++i) {
    ASSERT_NEAR(left[i], 0.0, 1e-15);
  }
  free(left);
}

static void check(bool mixed, int32_t contacts) {
  static const double SHIFT = 1e-3;
  fixture f;
  sap_delassus_sparse s = {0};
  begin(&f, mixed, contacts);
  const size_t n = (size_t)f.d.n;
  assert_int_equal(sap_delassus_sparse_assemble(&s, &f.d, NULL), SAP_STATUS_OK);
  check_entries(&f, &s);
  double *x = calloc(3 * n, sizeof *x), *y = x + n, *b = y + n;
  assert_non_null(x);
  for (size_t i = 0; i < n; ++i) {
    x[i] = sin(1.7 * (double)i + 0.3);
  }
  sap_delassus_sparse_apply(&s, &f.d, x, y);
  for (size_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (size_t j = 0; j < n; ++j) {
      sum += f.dense[j * n + i] * x[j];
    }
    ASSERT_NEAR(y[i], sum, 1e-12);
    b[i] = sum + SHIFT * x[i];
  }
  assert_int_equal(sap_delassus_sparse_factorize(&s, SHIFT, NULL), SAP_STATUS_OK);
  sap_cholesky_solve(s.cholesky, b);
  for (size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(b[i], x[i], 1e-9);  // the condition number is at most some 1e4
  }
  // without the shift an indefinite matrix is reported
  assert_int_equal(sap_delassus_sparse_factorize(&s, -2.0, NULL), SAP_STATUS_NOT_SPD);
  free(x);
  sap_delassus_sparse_clear(&s);
  end(&f);
}

static void test_against_dense(void** state) {
  (void)state;
  check(false, 6);
  check(false, 30);
  check(true, 24);
}

// A chain of contacts in local form, u = B r + q with an unsymmetric B: both triangles are kept.
static void test_unsymmetric(void** state) {
  (void)state;
  enum { NC = 9, N = 3 * NC };
  const int32_t sizes[NC] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
  const double v_star[N] = {0.0}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  int32_t ids[NC];
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 1.0, NC, sizes, NULL), SAP_STATUS_OK);
  for (int32_t a = 0; a < NC; ++a) {
    ids[a] = a;
    for (int32_t b = 0; b < NC; ++b) {
      double block[9];
      for (int32_t i = 0; i < 9; ++i) {
        block[i] = (a == b && i % 4 == 0 ? 4.0 : 0.0) + 0.4 * sin(3.0 * a + 5.0 * b + 7.0 * i);
      }
      if (abs(a - b) <= 1) {
        assert_int_equal(sap_problem_set_mobility_block(problem, a, b, block, 3, NULL),
                         SAP_STATUS_OK);
      }
    }
  }
  assert_int_equal(sap_problem_set_v_star(problem, v_star, NULL), SAP_STATUS_OK);
  for (int32_t c = 0; c < NC; ++c) {
    const double* const jacobian[1] = {identity};
    const double R[3] = {0.1, 0.1, 0.2}, v_hat[3] = {0.0, 0.0, -1.0};
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &ids[c],
                             .jacobians = jacobian,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = 0.5};
    assert_int_equal(sap_problem_add_block(problem, &block, NULL), SAP_STATUS_OK);
  }
  sap_delassus d;
  sap_delassus_sparse s = {0};
  const sap_delassus_island island = {ids, ids, ids, NC, NC};
  d = (sap_delassus){0};
  assert_int_equal(sap_delassus_gather(&d, problem, &island, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_delassus_sparse_assemble(&s, &d, NULL), SAP_STATUS_OK);
  assert_int_equal(s.pattern.column_start[NC], NC + NC - 1);
  double dense[N * N], x[N], y[N], expected[N], difference = 0.0;
  sap_delassus_dense(&d, dense);
  for (int32_t i = 0; i < N; ++i) {
    x[i] = cos(1.0 + 2.0 * i);
  }
  sap_delassus_sparse_apply(&s, &d, x, y);
  sap_delassus_apply(&d, x, expected);
  for (int32_t i = 0; i < N; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < N; ++j) {
      sum += dense[j * N + i] * x[j];
      difference = fmax(difference, fabs(dense[j * N + i] - dense[i * N + j]));
    }
    ASSERT_NEAR(y[i], sum, 1e-14);
    ASSERT_NEAR(y[i], expected[i], 1e-14);
  }
  assert_true(difference > 0.05);
  sap_delassus_sparse_clear(&s);
  sap_delassus_clear(&d);
  sap_problem_destroy(problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_dense),
                                     cmocka_unit_test(test_unsymmetric)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
