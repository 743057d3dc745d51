// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/cholesky.h"

#include <string.h>

#include "core/memory.h"
#include "linalg/block_factor.h"
#include "linalg/block_pattern.h"
#include "linalg/cholesky_sparse.h"
#include "linalg/dense.h"

// The whole lower triangle, through LAPACK.
typedef struct dense_factor {
  double* factor;  // L, column-major, ld n   (n n)
  size_t capacity;
} dense_factor;

struct sap_cholesky {
  sap_pattern_copy pattern;     // analysed last; empty: none
  sap_linear_solver requested;  // choice of that analysis
  sap_linear_solver choice;     // never AUTO
  sap_block_order order;
  sap_block_factor block;
  const sap_block_kernels* kernels;
  dense_factor dense;
  sap_cholesky_sparse* sparse;  // made at first use
};

static void clear_dense(dense_factor* dense) {
  sap_free(dense->factor);
  *dense = (dense_factor){0};
}

static sap_status analyze_dense(dense_factor* dense, const sap_pattern_copy* pattern,
                                sap_error* error) {
  const size_t n = (size_t)pattern->n;
  const size_t needed = n * n;  // n < 2^27: no overflow
  if (needed <= dense->capacity) {
    return SAP_STATUS_OK;
  }
  double* factor = sap_allocate(needed, sizeof *factor);
  if (factor == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: dense %zu x %zu factor", n, n);
  }
  sap_free(dense->factor);
  dense->factor = factor;
  dense->capacity = needed;
  return SAP_STATUS_OK;
}

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
static int32_t factorize_dense(dense_factor* dense, const sap_pattern_copy* pattern,
                               const double* values) {
  const int32_t n = pattern->n;
  gather_dense(dense->factor, pattern, values);
  const int32_t broken = sap_dense_factorize(n, dense->factor);
  return broken < 0 ? -1 : sap_pattern_block_of(pattern, broken);
}

sap_status sap_cholesky_create(sap_cholesky** out, sap_error* error) {
  *out = sap_allocate(1, sizeof **out);
  if (*out == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: Cholesky factorization");
  }
  return SAP_STATUS_OK;
}

void sap_cholesky_destroy(sap_cholesky* cholesky) {
  if (cholesky == NULL) {
    return;
  }
  sap_pattern_clear(&cholesky->pattern);
  sap_block_order_clear(&cholesky->order);
  sap_block_factor_clear(&cholesky->block);
  clear_dense(&cholesky->dense);
  sap_cholesky_sparse_destroy(cholesky->sparse);
  sap_free(cholesky);
}

static sap_status analyze_sparse(sap_cholesky* cholesky, sap_error* error) {
  if (cholesky->sparse == NULL) {
    cholesky->sparse = sap_cholesky_sparse_create();
    if (cholesky->sparse == NULL) {
      return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: sparse factorization");
    }
  }
  return sap_cholesky_sparse_analyze(cholesky->sparse, &cholesky->pattern, &cholesky->order, error);
}

// Predicts the faster back-end, from sapstep_bench_cholesky on one core of a 2.5 GHz server
// processor.
//   block  lane_work / rate + 0.1 us per chunk (its pivots)
//   dense  0.2 us + (n^3 / 3) / (45e9 n / (n + 500)): dpotrf's rate rises with n towards 45 GF/s
// Dense wins where almost everything fills and n is above about 800 (100 for the baseline set).
// CHOLMOD was slower than the better of the two in all measurements and is used on request only.
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
  sap_status status = SAP_STATUS_OK;
  if (cholesky->choice != SAP_LINEAR_DENSE) {
    status = sap_block_order_compute(&cholesky->order, &pattern->view, error);
  }
  if (status == SAP_STATUS_OK &&
      (cholesky->choice == SAP_LINEAR_AUTO || cholesky->choice == SAP_LINEAR_BLOCK)) {
    status = sap_block_factor_analyze(&cholesky->block, pattern, &cholesky->order, error);
    cholesky->kernels = sap_block_kernels_for(cholesky->block.lane_work);
  }
  if (status == SAP_STATUS_OK && cholesky->choice == SAP_LINEAR_AUTO) {
    cholesky->choice = predict_faster(cholesky);
  }
  if (status == SAP_STATUS_OK && cholesky->choice == SAP_LINEAR_DENSE) {
    status = analyze_dense(&cholesky->dense, pattern, error);
  }
  if (status == SAP_STATUS_OK && cholesky->choice == SAP_LINEAR_SPARSE) {
    status = analyze_sparse(cholesky, error);
  }
  return status;
}

sap_status sap_cholesky_analyze(sap_cholesky* cholesky, const sap_block_pattern* pattern,
                                sap_linear_solver choice, bool* analysed, sap_error* error) {
  if (analysed != NULL) {
    *analysed = false;
  }
  if (choice == cholesky->requested && sap_pattern_equal(&cholesky->pattern, pattern)) {
    return SAP_STATUS_OK;
  }
  sap_status status = sap_pattern_assign(&cholesky->pattern, pattern, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  cholesky->requested = choice;
  status = analyze_choice(cholesky, error);
  if (status != SAP_STATUS_OK) {
    cholesky->pattern.view.nblocks = 0;
    return status;
  }
  if (analysed != NULL) {
    *analysed = true;
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
  const sap_status status =
      sap_pattern_check_finite(&cholesky->pattern, values, failed_block, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (failed_block != NULL) {
    *failed_block = broken;
  }
  return sap_fail(error, SAP_STATUS_NOT_SPD, "matrix is not positive definite at block row %d",
                  (int)broken);
}

sap_status sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                  int32_t* failed_block, sap_error* error) {
  int32_t broken = -1;
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    broken = cholesky->kernels->factorize(&cholesky->block, values);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    broken = factorize_dense(&cholesky->dense, &cholesky->pattern, values);
  } else {
    // CHOLMOD may answer OK for a NaN on the diagonal.
    sap_status status = sap_pattern_check_finite(&cholesky->pattern, values, failed_block, error);
    if (status == SAP_STATUS_OK) {
      status = sap_cholesky_sparse_factorize(cholesky->sparse, &cholesky->pattern, values, &broken,
                                             error);
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return broken < 0 ? SAP_STATUS_OK : report_failure(cholesky, values, broken, failed_block, error);
}

void sap_cholesky_solve(sap_cholesky* cholesky, double* x) {
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    cholesky->kernels->solve(&cholesky->block, x);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    sap_dense_factor_solve(cholesky->pattern.n, cholesky->dense.factor, x);
  } else {
    sap_cholesky_sparse_solve(cholesky->sparse, &cholesky->pattern, x);
  }
}
