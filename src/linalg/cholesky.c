// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes cholmod.h.
#include "linalg/cholesky.h"

#include <math.h>
#include <string.h>

#include <cholmod.h>

#include "core/memory.h"
#include "linalg/block_factor.h"
#include "linalg/dense.h"
#include "linalg/square.h"

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

// CHOLMOD, on the lower triangle by scalars, in an order of its own (AMD).
// SAPSTEP_SUPERNODAL not defined: simplicial L L^T; the GPL-2+ module is not called.
typedef struct sparse_factor {
  cholmod_common common;
  cholmod_sparse* A;
  cholmod_factor* L;         // NULL: not analysed
  cholmod_dense *X, *Y, *E;  // workspace of cholmod_solve2, reused
} sparse_factor;

static sap_status create_sparse(sparse_factor** out, sap_error* error) {
  SAP_TRY(SAP_NEW(out, 1, "sparse factorization", error));
  cholmod_common* common = &(*out)->common;
  (void)cholmod_start(common);  // sets numbers only
  common->print = 0;
  common->error_handler = NULL;
  common->nmethods = 1;
  common->method[0].ordering = CHOLMOD_AMD;
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
  cholmod_free_sparse(&sparse->A, &sparse->common);
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
  sap_free(sparse);
}

// Drops what the last pattern left and makes room for the entries of this one.
static sap_status reserve_sparse(sparse_factor* sparse, const sap_pattern_copy* pattern,
                                 sap_error* error) {
  const sap_block_pattern* blocks = &pattern->view;
  size_t entries = 0;
  for (int32_t j = 0; j < blocks->nblocks; ++j) {
    for (int32_t k = blocks->column_start[j]; k < blocks->column_start[j + 1]; ++k) {
      entries += (size_t)blocks->sizes[j] * (size_t)blocks->sizes[blocks->row[k]];
    }
  }
  drop_factor(sparse);
  const size_t n = (size_t)pattern->n;
  sparse->A = cholmod_allocate_sparse(n, n, entries, 1, 1, -1, CHOLMOD_REAL, &sparse->common);
  SAP_FAIL_IF(sparse->A == NULL, error, SAP_STATUS_MEMORY,
              "no memory for a sparse matrix of %zu rows and %zu entries", n, entries);
  return SAP_STATUS_OK;
}

static void fill_sparse(cholmod_sparse* A, const sap_pattern_copy* pattern, const double* values) {
  int32_t *start = A->p, *row = A->i;
  double* value = A->x;
  int32_t count = 0;
  for (int32_t column = 0, j = 0; column < pattern->n; ++column) {
    j += column == pattern->offset[j + 1];
    const size_t c = (size_t)(column - pattern->offset[j]);
    start[column] = count;
    for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
      const int32_t i = pattern->row[k], rows = pattern->sizes[i];
      const double* source = values + pattern->value_start[k] + c * (size_t)rows;
      for (int32_t r = i == j ? (int32_t)c : 0; r < rows; ++r) {
        row[count] = pattern->offset[i] + r;
        value[count++] = source[r];
      }
    }
  }
  start[pattern->n] = count;
}

// Makes X, Y and E at the first call for a pattern; later calls need no memory and cannot fail.
static bool solve_rhs(sparse_factor* sparse, double* rhs) {
  cholmod_dense b = {.nrow = sparse->A->nrow,
                     .ncol = 1,
                     .nzmax = sparse->A->nrow,
                     .d = sparse->A->nrow,
                     .x = rhs,
                     .xtype = CHOLMOD_REAL,
                     .dtype = CHOLMOD_DOUBLE};
  return cholmod_solve2(CHOLMOD_A, sparse->L, &b, NULL, &sparse->X, NULL, &sparse->Y, &sparse->E,
                        &sparse->common) != 0;
}

static sap_status factorize_sparse(sparse_factor* sparse, const sap_pattern_copy* pattern,
                                   const double* values, int32_t* broken, sap_error* error) {
  fill_sparse(sparse->A, pattern, values);
  if (sparse->L == NULL) {
    sparse->L = cholmod_analyze(sparse->A, &sparse->common);
  }
  const bool done =
      sparse->L != NULL && cholmod_factorize(sparse->A, sparse->L, &sparse->common) != 0;
  // CHOLMOD returns TRUE for an indefinite matrix; L->minor is then < n.
  if (done && sparse->L->minor < sparse->L->n) {
    const int32_t* scalar_at = sparse->L->Perm;
    *broken = sap_pattern_block_of(pattern, scalar_at[sparse->L->minor]);
    return SAP_STATUS_OK;
  }
  // Any right-hand side of n numbers makes the workspace; A has no fewer entries.
  SAP_FAIL_IF(!done || sparse->common.status != CHOLMOD_OK ||
                  (sparse->X == NULL && !solve_rhs(sparse, sparse->A->x)),
              error, SAP_STATUS_MEMORY,
              "sparse factorization of %d rows failed (CHOLMOD status %d)", (int)pattern->n,
              sparse->common.status);
  *broken = -1;
  return SAP_STATUS_OK;
}

static void solve_sparse(sparse_factor* sparse, double* x) {
  (void)solve_rhs(sparse, x);
  memcpy(x, sparse->X->x, sparse->L->n * sizeof *x);
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

  bool allows_single;    // precision
  bool single;           // the factors are
  const double* weight;  // of residuals of single precision       (n)
  const double* values;  // of the last factorization by blocks
  double* refined;       // work of conjugate gradients            (5 n)
};

sap_status sap_cholesky_create(sap_cholesky** out, sap_error* error) {
  return SAP_NEW(out, 1, "Cholesky factorization", error);
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
  return reserve_sparse(cholesky->sparse, &cholesky->pattern, error);
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
  if (cholesky->choice == SAP_LINEAR_AUTO || cholesky->choice == SAP_LINEAR_BLOCK) {
    SAP_TRY(sap_block_order_compute(&cholesky->order, &pattern->view, error));
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

// Single precision pays for itself where a factorization takes longer than this [s]; it halves
// registers and memory, and 1 to 3 iterations of conjugate gradients follow.
static const double SINGLE_TIME = 0.3e-3;
enum { REFINEMENTS_MAX = 8 };

sap_status sap_cholesky_allow_single(sap_cholesky* cholesky, const double* weight,
                                     sap_error* error) {
  cholesky->allows_single = false;
  if (weight != NULL && cholesky->choice == SAP_LINEAR_BLOCK &&
      cholesky->requested == SAP_LINEAR_AUTO &&
      cholesky->block.lane_work / cholesky->kernels->rate > SINGLE_TIME) {
    SAP_TRY(SAP_ROOM(&cholesky->pool, &cholesky->refined, 5 * (int64_t)cholesky->pattern.n, error));
    cholesky->allows_single = true;
    cholesky->weight = weight;
  }
  return SAP_STATUS_OK;
}

// Returns the block row where the factorization broke, or -1.
static int32_t factorize_blocks(sap_cholesky* cholesky, const double* values) {
  cholesky->values = values;
  cholesky->single = cholesky->allows_single &&
                     sap_block_kernels_single_get(0)->factorize(&cholesky->block, values) < 0;
  cholesky->allows_single = cholesky->single;
  return cholesky->single ? -1 : cholesky->kernels->factorize(&cholesky->block, values);
}

// y = A x
static void multiply(const sap_cholesky* cholesky, const double* x, double* y) {
  const sap_pattern_copy* pattern = &cholesky->pattern;
  memset(y, 0, (size_t)pattern->n * sizeof *y);
  for (int32_t j = 0; j < pattern->view.nblocks; ++j) {
    const int32_t a = pattern->offset[j], columns = pattern->sizes[j];
    int32_t k = pattern->column_start[j];
    sap_square_add_lower(columns, cholesky->values + pattern->value_start[k], x + a, y + a);
    for (++k; k < pattern->column_start[j + 1]; ++k) {
      const int32_t i = pattern->row[k], b = pattern->offset[i];
      sap_square_add_coupling(pattern->sizes[i], columns,
                              cholesky->values + pattern->value_start[k], x + b, x + a, y + b,
                              y + a);
    }
  }
}

static double dot(int32_t n, const double* x, const double* y) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

static double weighted_square(int32_t n, const double* r, const double* weight) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += r[i] * r[i] / weight[i];
  }
  return sum;
}

// Solves A x = b by conjugate gradients, preconditioned by the factors; x holds b at first. Returns
// false if the residual has not fallen enough; x is then lost.
static bool refine(sap_cholesky* cholesky, double* x) {
  const int32_t n = cholesky->pattern.n;
  const size_t size = (size_t)n * sizeof *x;
  double *p = cholesky->refined, *q = p + n, *sum = q + n, *z = sum + n, *r = x;
  const double goal =
      SAP_CHOLESKY_RESIDUAL * SAP_CHOLESKY_RESIDUAL * weighted_square(n, r, cholesky->weight);
  double before = 1.0;
  memset(p, 0, size);
  memset(sum, 0, size);
  for (int k = 0; k < REFINEMENTS_MAX; ++k) {
    memcpy(z, r, size);
    sap_block_kernels_single_get(0)->solve(&cholesky->block, z);
    const double now = dot(n, r, z);
    for (int32_t i = 0; i < n; ++i) {
      p[i] = z[i] + now / before * p[i];
    }
    before = now;
    multiply(cholesky, p, q);
    const double length = now / dot(n, p, q);
    for (int32_t i = 0; i < n; ++i) {
      sum[i] += length * p[i];
      r[i] -= length * q[i];
    }
    if (weighted_square(n, r, cholesky->weight) <= goal) {
      memcpy(x, sum, size);
      return true;
    }
  }
  return false;
}

static void solve_blocks(sap_cholesky* cholesky, double* x) {
  const int32_t n = cholesky->pattern.n;
  if (!cholesky->single) {
    cholesky->kernels->solve(&cholesky->block, x);
    return;
  }
  double* b = cholesky->refined + 4 * (size_t)n;
  memcpy(b, x, (size_t)n * sizeof *x);
  if (!refine(cholesky, x)) {
    cholesky->allows_single = false;
    const bool done = factorize_blocks(cholesky, cholesky->values) < 0;
    memcpy(x, b, (size_t)n * sizeof *x);
    if (done) {
      cholesky->kernels->solve(&cholesky->block, x);
    } else {
      memset(x, 0, (size_t)n * sizeof *x);
    }
  }
}

sap_status sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                  int32_t* failed_block, sap_error* error) {
  int32_t broken = -1;
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    broken = factorize_blocks(cholesky, values);
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
    solve_blocks(cholesky, x);
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    sap_dense_factor_solve(cholesky->pattern.n, cholesky->dense, x);
  } else {
    solve_sparse(cholesky->sparse, x);
  }
}
