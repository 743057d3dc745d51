// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes cholmod.h.
#include "linalg/cholesky.h"

#include <string.h>

#include <cholmod.h>

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

// CHOLMOD. The permutation (the block order expanded to scalars) is applied here, so that CHOLMOD
// gets a lower triangle in natural order: no copy and few heap calls of its own per factorization.
// SAPSTEP_SUPERNODAL not defined: simplicial L L^T; the GPL-2+ module is not called.
typedef struct sparse_factor {
  cholmod_common common;
  cholmod_factor* L;
  cholmod_dense *X, *Y, *E;  // workspace of cholmod_solve2, reused
  cholmod_sparse A;          // permuted lower triangle in the arrays below
  cholmod_dense b;
  sap_pool pool;          // of the arrays below
  int32_t* column_start;  // (n + 1)
  int32_t* row;           // (entries)
  size_t* source;         // index of a value in the caller's array     (entries)
  double* value;          // (entries)
  double* rhs;            // (n)
  int32_t* scalar_at;     // caller's scalar row at an eliminated position  (n)
  int32_t* scalar_start;  // first scalar of an eliminated block            (nblocks)
} sparse_factor;

static sap_status create_sparse(sparse_factor** out, sap_error* error) {
  SAP_TRY(SAP_NEW(out, 1, "sparse factorization", error));
  cholmod_common* common = &(*out)->common;
  (void)cholmod_start(common);  // sets numbers only
  common->print = 0;
  common->error_handler = NULL;
  common->nmethods = 1;
  common->method[0].ordering = CHOLMOD_NATURAL;
  common->postorder = 0;  // AMD's order is a postorder; a second permutation would cost copies
  common->quick_return_if_not_posdef = 1;
#ifdef SAPSTEP_SUPERNODAL
  common->supernodal = CHOLMOD_SUPERNODAL;
#else
  common->supernodal = CHOLMOD_SIMPLICIAL;
  common->final_ll = 1;
#endif
  return SAP_STATUS_OK;
}

static void drop_factor(sparse_factor* sparse) {
  cholmod_free_factor(&sparse->L, &sparse->common);
  cholmod_free_dense(&sparse->X, &sparse->common);
  cholmod_free_dense(&sparse->Y, &sparse->common);
  cholmod_free_dense(&sparse->E, &sparse->common);
}

static void destroy_sparse(sparse_factor* sparse) {
  if (sparse == NULL) {
    return;
  }
  drop_factor(sparse);
  cholmod_finish(&sparse->common);
  sap_pool_free(&sparse->pool);
  sap_free(sparse);
}

static int64_t count_entries(const sap_pattern_copy* pattern) {
  const sap_block_pattern* blocks = &pattern->view;
  int64_t entries = 0;
  for (int32_t j = 0; j < blocks->nblocks; ++j) {
    const int64_t columns = blocks->sizes[j];
    entries += columns * (columns + 1) / 2;
    for (int32_t k = blocks->column_start[j] + 1; k < blocks->column_start[j + 1]; ++k) {
      entries += columns * blocks->sizes[blocks->row[k]];
    }
  }
  return entries;
}

static sap_status reserve(sparse_factor* sparse, int32_t n, int32_t entries, sap_error* error) {
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->column_start, n + 1, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->row, entries, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->source, entries, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->value, entries, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->rhs, n, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->scalar_at, n, error));
  SAP_TRY(SAP_ROOM(&sparse->pool, &sparse->scalar_start, n, error));
  return SAP_STATUS_OK;
}

// Appends the scalars of permuted block entry k in scalar column c of the block column.
static int32_t append_block(sparse_factor* sparse, const sap_pattern_copy* pattern,
                            const sap_block_order* order, int32_t k, int32_t c, int32_t count) {
  const int32_t entry = order->entry[k];
  const int32_t block = order->block_at[order->row[k]];
  const int32_t original_row = pattern->row[entry];
  const size_t ld = (size_t)pattern->sizes[original_row];
  const bool transposed = block != original_row;
  const bool diagonal = entry == pattern->column_start[original_row];
  for (int32_t r = diagonal ? c : 0; r < pattern->sizes[block]; ++r) {
    const size_t at = transposed ? (size_t)r * ld + (size_t)c : (size_t)c * ld + (size_t)r;
    sparse->row[count] = sparse->scalar_start[order->row[k]] + r;
    sparse->source[count] = pattern->view.value_start[entry] + at;
    ++count;
  }
  return count;
}

static void fill_pattern(sparse_factor* sparse, const sap_pattern_copy* pattern,
                         const sap_block_order* order) {
  int32_t position = 0;
  for (int32_t k = 0; k < order->nblocks; ++k) {
    const int32_t block = order->block_at[k];
    sparse->scalar_start[k] = position;
    for (int32_t r = 0; r < pattern->sizes[block]; ++r) {
      sparse->scalar_at[position++] = pattern->offset[block] + r;
    }
  }
  int32_t count = 0;
  for (int32_t j = 0; j < order->nblocks; ++j) {
    for (int32_t c = 0; c < pattern->sizes[order->block_at[j]]; ++c) {
      sparse->column_start[sparse->scalar_start[j] + c] = count;
      for (int32_t k = order->column_start[j]; k < order->column_start[j + 1]; ++k) {
        count = append_block(sparse, pattern, order, k, c, count);
      }
    }
  }
  sparse->column_start[pattern->n] = count;
}

static void wrap_arrays(sparse_factor* sparse, int32_t n, int32_t entries) {
  sparse->A = (cholmod_sparse){.nrow = (size_t)n,
                               .ncol = (size_t)n,
                               .nzmax = (size_t)entries,
                               .p = sparse->column_start,
                               .i = sparse->row,
                               .x = sparse->value,
                               .stype = -1,
                               .itype = CHOLMOD_INT,
                               .xtype = CHOLMOD_REAL,
                               .dtype = CHOLMOD_DOUBLE,
                               .sorted = 1,
                               .packed = 1};
  sparse->b = (cholmod_dense){.nrow = (size_t)n,
                              .ncol = 1,
                              .nzmax = (size_t)n,
                              .d = (size_t)n,
                              .x = sparse->rhs,
                              .xtype = CHOLMOD_REAL,
                              .dtype = CHOLMOD_DOUBLE};
}

static sap_status order_sparse(sparse_factor* sparse, const sap_pattern_copy* pattern,
                               const sap_block_order* order, sap_error* error) {
  drop_factor(sparse);
  const int64_t entries = count_entries(pattern);
  SAP_FAIL_IF(entries > INT32_MAX / 2, error, SAP_STATUS_MEMORY,
              "sparse factorization: %lld entries are too many", (long long)entries);
  SAP_TRY(reserve(sparse, pattern->n, (int32_t)entries, error));
  fill_pattern(sparse, pattern, order);
  wrap_arrays(sparse, pattern->n, (int32_t)entries);
  sparse->L = cholmod_analyze(&sparse->A, &sparse->common);
  SAP_FAIL_IF(sparse->L == NULL, error, SAP_STATUS_MEMORY,
              "symbolic factorization of %d rows failed (CHOLMOD status %d)", (int)pattern->n,
              sparse->common.status);
  return SAP_STATUS_OK;
}

// Makes X, Y and E at the first call for a pattern; later calls need no memory and cannot fail.
static bool solve_rhs(sparse_factor* sparse) {
  return cholmod_solve2(CHOLMOD_A, sparse->L, &sparse->b, NULL, &sparse->X, NULL, &sparse->Y,
                        &sparse->E, &sparse->common) != 0;
}

static sap_status factorize_sparse(sparse_factor* sparse, const sap_pattern_copy* pattern,
                                   const double* values, int32_t* broken, sap_error* error) {
  const int32_t entries = sparse->column_start[pattern->n];
  for (int32_t k = 0; k < entries; ++k) {
    sparse->value[k] = values[sparse->source[k]];
  }
  sparse->common.status = CHOLMOD_OK;
  const bool done = cholmod_factorize(&sparse->A, sparse->L, &sparse->common) != 0;
  // CHOLMOD returns TRUE for an indefinite matrix; L->minor is then < n.
  if (done && sparse->L->minor < (size_t)pattern->n) {
    *broken = sap_pattern_block_of(pattern, sparse->scalar_at[sparse->L->minor]);
    return SAP_STATUS_OK;
  }
  SAP_FAIL_IF(
      !done || sparse->common.status != CHOLMOD_OK || (sparse->X == NULL && !solve_rhs(sparse)),
      error, SAP_STATUS_MEMORY, "sparse factorization of %d rows failed (CHOLMOD status %d)",
      (int)pattern->n, sparse->common.status);
  *broken = -1;
  return SAP_STATUS_OK;
}

static void solve_sparse(sparse_factor* sparse, const sap_pattern_copy* pattern, double* x) {
  for (int32_t k = 0; k < pattern->n; ++k) {
    sparse->rhs[k] = x[sparse->scalar_at[k]];
  }
  (void)solve_rhs(sparse);
  const double* solution = sparse->X->x;
  for (int32_t k = 0; k < pattern->n; ++k) {
    x[sparse->scalar_at[k]] = solution[k];
  }
}

struct sap_cholesky {
  sap_pattern_copy pattern;     // analysed last; empty: none
  sap_linear_solver requested;  // choice of that analysis
  sap_linear_solver choice;     // never AUTO
  sap_block_order order;
  sap_block_factor block;
  const sap_block_kernels* kernels;
  sap_pool pool;
  double* dense;          // L through LAPACK, column-major, in `pool`                      (n n)
  sparse_factor* sparse;  // made at first use
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
  destroy_sparse(cholesky->sparse);
  sap_free(cholesky);
}

static sap_status analyze_sparse(sap_cholesky* cholesky, sap_error* error) {
  if (cholesky->sparse == NULL) {
    SAP_TRY(create_sparse(&cholesky->sparse, error));
  }
  return order_sparse(cholesky->sparse, &cholesky->pattern, &cholesky->order, error);
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
  if (cholesky->choice != SAP_LINEAR_DENSE) {
    SAP_TRY(sap_block_order_compute(&cholesky->order, &pattern->view, error));
  }
  if (cholesky->choice == SAP_LINEAR_AUTO || cholesky->choice == SAP_LINEAR_BLOCK) {
    SAP_TRY(sap_block_factor_analyze(&cholesky->block, pattern, &cholesky->order, error));
    cholesky->kernels = sap_block_kernels_for(cholesky->block.lane_work);
  }
  if (cholesky->choice == SAP_LINEAR_AUTO) {
    cholesky->choice = predict_faster(cholesky);
  }
  return cholesky->choice == SAP_LINEAR_SPARSE ? analyze_sparse(cholesky, error)
         : cholesky->choice == SAP_LINEAR_DENSE
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
  int32_t broken = -1;
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    broken = cholesky->kernels->factorize(&cholesky->block, values);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    broken = factorize_dense(cholesky->dense, &cholesky->pattern, values);
  } else {
    // CHOLMOD may answer OK for a NaN on the diagonal.
    SAP_TRY(sap_pattern_check_finite(&cholesky->pattern, values, failed_block, error));
    SAP_TRY(factorize_sparse(cholesky->sparse, &cholesky->pattern, values, &broken, error));
  }
  return broken < 0 ? SAP_STATUS_OK : report_failure(cholesky, values, broken, failed_block, error);
}

void sap_cholesky_solve(sap_cholesky* cholesky, double* x) {
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    cholesky->kernels->solve(&cholesky->block, x);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    sap_dense_factor_solve(cholesky->pattern.n, cholesky->dense, x);
  } else {
    solve_sparse(cholesky->sparse, &cholesky->pattern, x);
  }
}
