// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/cholesky.h"

#include "core/memory.h"
#include "linalg/block_factor.h"
#include "linalg/block_pattern.h"
#include "linalg/cholesky_dense.h"
#include "linalg/cholesky_sparse.h"

struct sap_cholesky {
  sap_pattern_copy pattern;     // what was analysed last; empty when nothing is
  sap_linear_solver requested;  // the choice it was analysed for
  sap_linear_solver choice;     // never AUTO
  sap_block_order order;
  sap_block_factor block;
  const sap_block_kernels* kernels;
  sap_cholesky_dense dense;
  sap_cholesky_sparse* sparse;  // made when first needed
};

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
  sap_cholesky_dense_clear(&cholesky->dense);
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

// AUTO: predicted times, from sapstep_bench_cholesky on one core of a 2.5 GHz server processor.
//   block  lane_work / rate + 0.1 us per chunk (its pivots)
//   dense  0.2 us + (n^3 / 3) / (45e9 n / (n + 500)): dpotrf's rate rises with n towards 45 GF/s
// So dense wins where almost everything fills and n is above about 800 (100 for the baseline set).
// CHOLMOD lost to the better of the two everywhere; it is there for whoever asks for it.
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
    status = sap_cholesky_dense_analyze(&cholesky->dense, pattern, error);
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

// A NaN or an infinity always ends in a bad pivot, so the values are looked at only afterwards.
static sap_status explain(const sap_cholesky* cholesky, const double* values, int32_t broken,
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
    broken = sap_cholesky_dense_factorize(&cholesky->dense, &cholesky->pattern, values);
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
  return broken < 0 ? SAP_STATUS_OK : explain(cholesky, values, broken, failed_block, error);
}

void sap_cholesky_solve(sap_cholesky* cholesky, double* x) {
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    cholesky->kernels->solve(&cholesky->block, x);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    sap_cholesky_dense_solve(&cholesky->dense, &cholesky->pattern, x);
  } else {
    sap_cholesky_sparse_solve(cholesky->sparse, &cholesky->pattern, x);
  }
}
