// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/cholesky.h"

#include <string.h>

#include "core/memory.h"
#include "linalg/block_factor.h"
#include "linalg/dense.h"

static void gather_dense(double* a, const sap_pattern_copy* pattern, const double* values) {
  const sap_block_pattern* blocks = &pattern->view;
  const size_t n = (size_t)pattern->n;
  for (int32_t j = 0; j < blocks->nblocks; ++j) {
    const size_t column = (size_t)pattern->offset[j];
    for (size_t c = 0; c < (size_t)blocks->sizes[j]; ++c) {
      memset(a + (column + c) * n + column, 0, (n - column) * sizeof *a);
    }
    for (int32_t k = blocks->column_start[j]; k < blocks->column_start[j + 1]; ++k) {
      const size_t rows = (size_t)blocks->sizes[blocks->row[k]];
      const double* source = values + blocks->value_start[k];
      double* target = a + column * n + (size_t)pattern->offset[blocks->row[k]];
      for (size_t c = 0; c < (size_t)blocks->sizes[j]; ++c) {
        memcpy(target + c * n, source + c * rows, rows * sizeof *a);
      }
    }
  }
}

// Returns the block row where the factorization broke, or -1.
static int32_t factorize_dense(double* L, const sap_pattern_copy* pattern, const double* values) {
  gather_dense(L, pattern, values);
  const int32_t broken = sap_dense_factorize(pattern->n, L);
  return broken < 0 ? -1 : sap_pattern_block_of(pattern, broken);
}

struct sap_cholesky {
  sap_pattern_copy pattern;     // analysed last; empty: none
  sap_linear_solver requested;  // choice of that analysis
  sap_linear_solver choice;     // never AUTO
  sap_block_order order;
  sap_block_factor block;
  const sap_block_kernels* kernels;
  sap_pool pool;
  double* dense;  // L through LAPACK, column-major, in `pool`                      (n n)
};

sap_status sap_cholesky_create(sap_cholesky** out, sap_error* error) {
  SAP_TRY(SAP_NEW(out, 1, "Cholesky factorization", error));
  return SAP_STATUS_OK;
}

void sap_cholesky_destroy(sap_cholesky* cholesky) {
  if (cholesky == NULL) {
    return;
  }
  sap_pattern_clear(&cholesky->pattern);
  sap_block_order_clear(&cholesky->order);
  sap_block_factor_clear(&cholesky->block);
  sap_pool_free(&cholesky->pool);
  sap_free(cholesky);
}

// Predicts the faster back-end, from sapstep_bench_cholesky on one core of a 2.5 GHz server
// processor.
//   block  lane_work / rate + 0.1 us per chunk (its pivots)
//   dense  0.2 us + (n^3 / 3) / (45e9 n / (n + 500)): dpotrf's rate rises with n towards 45 GF/s
// Dense wins where almost everything fills and n is above about 800 (100 for the baseline set).
static sap_linear_solver predict_faster(const sap_cholesky* cholesky) {
  const double n = cholesky->pattern.n;
  const double block =
      cholesky->block.lane_work / cholesky->kernels->rate + 1e-7 * cholesky->block.nchunks;
  const double dense = 2e-7 + n * n * (n + 500) / (3 * 45e9);
  return dense < block ? SAP_LINEAR_DENSE : SAP_LINEAR_BLOCK;
}

static sap_status analyze_choice(sap_cholesky* cholesky, sap_error* error) {
  const sap_pattern_copy* pattern = &cholesky->pattern;
  cholesky->choice = cholesky->requested;
  if (cholesky->choice != SAP_LINEAR_DENSE) {
    SAP_TRY(sap_block_order_compute(&cholesky->order, &pattern->view, error));
    SAP_TRY(sap_block_factor_analyze(&cholesky->block, pattern, &cholesky->order, error));
    cholesky->kernels = sap_block_kernels_for(cholesky->block.lane_work);
  }
  if (cholesky->choice == SAP_LINEAR_AUTO) {
    cholesky->choice = predict_faster(cholesky);
  }
  return cholesky->choice == SAP_LINEAR_DENSE
             ? SAP_ROOM(&cholesky->pool, &cholesky->dense, (int64_t)pattern->n * pattern->n, error)
             : SAP_STATUS_OK;
}

sap_status sap_cholesky_analyze(sap_cholesky* cholesky, const sap_block_pattern* pattern,
                                sap_linear_solver choice, bool* analysed, sap_error* error) {
  const bool same = choice == cholesky->requested && sap_pattern_equal(&cholesky->pattern, pattern);
  if (analysed != NULL) {
    *analysed = false;
  }
  if (!same) {
    SAP_TRY(sap_pattern_assign(&cholesky->pattern, pattern, error));
    cholesky->requested = choice;
    SAP_TRY_OR(analyze_choice(cholesky, error), cholesky->pattern.view.nblocks = 0);
  }
  if (analysed != NULL) {
    *analysed = !same;
  }
  return SAP_STATUS_OK;
}

sap_linear_solver sap_cholesky_choice(const sap_cholesky* cholesky) {
  return cholesky->choice;
}

// Reports why a factorization failed. A NaN or an infinity always ends in a bad pivot, so that the
// values are checked only then.
static sap_status report_failure(const sap_cholesky* cholesky, const double* values, int32_t broken,
                                 int32_t* failed_block, sap_error* error) {
  SAP_TRY(sap_pattern_check_finite(&cholesky->pattern, values, failed_block, error));
  if (failed_block != NULL) {
    *failed_block = broken;
  }
  return sap_fail(error, SAP_STATUS_NOT_SPD, "matrix is not positive definite at block row %d",
                  (int)broken);
}

sap_status sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                  int32_t* failed_block, sap_error* error) {
  const int32_t broken = cholesky->choice == SAP_LINEAR_BLOCK
                             ? cholesky->kernels->factorize(&cholesky->block, values)
                             : factorize_dense(cholesky->dense, &cholesky->pattern, values);
  return broken < 0 ? SAP_STATUS_OK : report_failure(cholesky, values, broken, failed_block, error);
}

void sap_cholesky_solve(sap_cholesky* cholesky, double* x) {
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    cholesky->kernels->solve(&cholesky->block, x);
  } else {
    sap_dense_factor_solve(cholesky->pattern.n, cholesky->dense, x);
  }
}
