// SPDX-License-Identifier: BSD-3-Clause
// Factors of A are kept while A is bitwise the same, and no longer: each entry is changed alone.
// Expected impulses are those of the same scheme and step length.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integrators/momentum_factor.h"
#include "support/near.h"

enum { LARGEST = 16 };

// Sets A to n I + 1 with entry (row, column) of the lower triangle of tree 0 raised by 1/2; a coupling
// is 1/4 all over.
static void fill(const sap_system* system, sap_tree_store* A, int32_t row, int32_t column) {
  sap_tree_store_zero(A);
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t n = system->tree_sizes[t];
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = j; i < n; ++i) {
        A->view.diagonal[t][j * n + i] =
            (i == j ? n + 1.0 : 1.0) + (t == 0 && i == row && j == column ? 0.5 : 0.0);
      }
    }
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t *pair = system->couplings[c], *sizes = system->tree_sizes;
    for (int32_t i = 0; i < sizes[pair[0]] * sizes[pair[1]]; ++i) {
      A->view.coupling[c][i] = 0.25;
    }
  }
}

static void check(const int32_t* sizes, int32_t ntrees, const int32_t (*couplings)[2],
                  int32_t ncouplings) {
  const sap_system system = {.ntrees = ntrees,
                             .tree_sizes = sizes,
                             .couplings = couplings,
                             .ncouplings = ncouplings,
                             .nv = sizes[0] + (ntrees > 1 ? sizes[1] : 0)};
  sap_pool pool = {.owner = "test"};
  sap_momentum_factor factor = {0};
  sap_tree_store A = {0};
  assert_int_equal(sap_tree_store_create(&system, &pool, &A, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_momentum_factor_create(&system, &pool, &factor, NULL), SAP_STATUS_OK);
  assert_int_equal(factor.ngroups, ncouplings > 0 ? 1 : ntrees);
  for (int32_t column = 0; column < sizes[0]; ++column) {
    for (int32_t row = column; row < sizes[0]; ++row) {
      double x[LARGEST], b[LARGEST];
      fill(&system, &A, row, column);
      for (int32_t i = 0; i < system.nv; ++i) {
        x[i] = 1.0 + i;
      }
      for (int32_t g = 0; g < factor.ngroups; ++g) {
        assert_int_equal(sap_momentum_factor_group(&factor, g, &A, NULL), SAP_STATUS_OK);
        sap_momentum_factor_solve(&factor, g, x);
      }
      sap_tree_store_multiply(&system, &A, x, b);
      for (int32_t i = 0; i < system.nv; ++i) {
        ASSERT_NEAR(b[i], 1.0 + i, 1e-12);
      }
    }
  }
  sap_momentum_factor_clear(&factor);
  sap_pool_free(&pool);
}

static void test_each_entry(void** state) {
  (void)state;
  const int32_t coupled[1][2] = {{1, 0}};
  check((const int32_t[]){3}, 1, NULL, 0);
  check((const int32_t[]){8}, 1, NULL, 0);  // along branches
  check((const int32_t[]){3, 2}, 2, NULL, 0);
  check((const int32_t[]){3, 2}, 2, coupled, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_entry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
