// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes cholmod.h.
#include "linalg/cholesky.h"

#include <string.h>

#include <cholmod.h>

#include "core/memory.h"
#include "linalg/block_factor.h"
#include "linalg/conjugate.h"
#include "linalg/dense.h"
#include "linalg/schwarz.h"

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

// How factors of our blocks are made; each is more exact than the next.
enum { IN_DOUBLE, IN_SINGLE, IN_PARTS };

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

  int allowed, made;     // precision of the next factorization, and of the last one
  const double* values;  // of the last factorization by blocks
  const double* weight;  // of residuals                             (n)
  double* work;          // of conjugate gradients
  sap_schwarz parts;
  int32_t parts_iterations;  // most with them; 0: they do not pay
  bool parts_known;          // for the pattern
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
  sap_schwarz_clear(&cholesky->parts);
  sap_pool_free(&cholesky->pool);
  destroy_sparse(cholesky->sparse);
  sap_free(cholesky);
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

// Single precision pays for itself where a factorization takes longer than this [s]; it halves
// registers and memory, and 1 to 3 iterations of conjugate gradients follow.
static const double SINGLE_TIME = 0.3e-3;
static const int32_t SINGLE_ITERATIONS = 8;
// Rates of a factorization in single precision, and of the preconditioner of parts [1/s]. Parts are
// tried where PARTS_COST factorizations buy at least PARTS_LEAST iterations, and are given so many;
// measured on heaps, stacks and pyramids of up to 10 000 bodies.
static const double SINGLE_RATE = 5.2e9, TOUCH_RATE = 3e9;
static const double PARTS_COST = 1.5, PARTS_LEAST = 15.0, PARTS_TIME = 5e-3;
// Least factor by which parts overlap and fill; measured: 3.4 to 4.8.
static const double PARTS_FILL = 2.0;

// Returns true if parts may pay: the memory of the whole factor is then made when it is needed.
static bool may_fill(const sap_cholesky* c) {
  return c->requested == SAP_LINEAR_AUTO && c->block.lane_work / SINGLE_RATE > PARTS_TIME;
}

static sap_status analyze_choice(sap_cholesky* cholesky, sap_error* error) {
  const sap_pattern_copy* pattern = &cholesky->pattern;
  cholesky->choice = cholesky->requested;
  cholesky->made = IN_DOUBLE;
  cholesky->parts_known = false;
  if (cholesky->choice == SAP_LINEAR_AUTO || cholesky->choice == SAP_LINEAR_BLOCK) {
    SAP_TRY(sap_block_order_compute(&cholesky->order, &pattern->view, error));
    SAP_TRY(sap_block_factor_analyze(&cholesky->block, pattern, &cholesky->order, error));
    cholesky->kernels = sap_block_kernels_for(cholesky->block.lane_work);
  }
  if (cholesky->choice == SAP_LINEAR_AUTO) {
    cholesky->choice = predict_faster(cholesky);
  }
  if (cholesky->choice == SAP_LINEAR_BLOCK && !may_fill(cholesky)) {
    SAP_TRY(sap_block_factor_reserve(&cholesky->block, error));
  }
  if (cholesky->choice == SAP_LINEAR_SPARSE) {
    SAP_TRY(cholesky->sparse == NULL ? create_sparse(&cholesky->sparse, error) : SAP_STATUS_OK);
    return reserve_sparse(cholesky->sparse, pattern, error);
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

// Chooses the parts of a large matrix; parts_iterations is 0 where they do not pay.
static sap_status choose_parts(sap_cholesky* c, sap_error* error) {
  const double bought = PARTS_COST * TOUCH_RATE * c->block.lane_work / SINGLE_RATE;  // numbers
  const double entries = c->pattern.column_start[c->pattern.view.nblocks];
  const double columns = entries * c->pattern.n / c->pattern.view.nblocks;
  c->parts_known = true;
  c->parts_iterations = 0;
  if (!may_fill(c) || bought < PARTS_LEAST * PARTS_FILL * 4.0 * SAP_CHUNK * columns) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_schwarz_analyze(&c->parts, &c->pattern, error));
  const double most = bought / c->parts.touched;
  c->parts_iterations = most >= PARTS_LEAST ? (int32_t)most : 0;
  return SAP_STATUS_OK;
}

sap_status sap_cholesky_allow_inexact(sap_cholesky* cholesky, const double* weight,
                                      sap_error* error) {
  cholesky->allowed = IN_DOUBLE;
  if (weight == NULL || cholesky->choice != SAP_LINEAR_BLOCK ||
      cholesky->requested != SAP_LINEAR_AUTO ||
      !(cholesky->block.lane_work / cholesky->kernels->rate > SINGLE_TIME)) {
    return SAP_STATUS_OK;
  }
  if (!cholesky->parts_known) {
    SAP_TRY(choose_parts(cholesky, error));
  }
  SAP_TRY(SAP_ROOM(&cholesky->pool, &cholesky->work,
                   SAP_CONJUGATE_WORK * (int64_t)cholesky->pattern.n, error));
  cholesky->allowed = cholesky->parts_iterations > 0 ? IN_PARTS : IN_SINGLE;
  cholesky->weight = weight;
  return SAP_STATUS_OK;
}

// Sets *broken to the block row where the factorization broke, or -1.
static sap_status factorize_blocks(sap_cholesky* c, const double* values, int32_t* broken,
                                   sap_error* error) {
  c->values = values;
  *broken = -1;
  for (c->made = c->allowed; c->made != IN_DOUBLE; --c->made) {
    if (c->made == IN_SINGLE) {
      SAP_TRY(sap_block_factor_reserve(&c->block, error));
    }
    if (c->made == IN_PARTS ? sap_schwarz_factorize(&c->parts, values)
                            : sap_block_kernels_single_get(0)->factorize(&c->block, values) < 0) {
      c->allowed = c->made;
      return SAP_STATUS_OK;
    }
  }
  c->allowed = IN_DOUBLE;
  SAP_TRY(sap_block_factor_reserve(&c->block, error));
  *broken = c->kernels->factorize(&c->block, values);
  return SAP_STATUS_OK;
}

static void precondition_single(void* context, double* r, double* z) {
  const sap_cholesky* c = context;
  memcpy(z, r, (size_t)c->pattern.n * sizeof *z);
  sap_block_kernels_single_get(0)->solve(&c->block, z);
}

static void precondition_parts(void* context, double* r, double* z) {
  const sap_cholesky* c = context;
  sap_schwarz_apply(&c->parts, &c->pattern, c->values, r, z);
}

double sap_cholesky_residual(const sap_cholesky* c) {
  return c->choice != SAP_LINEAR_BLOCK || c->made == IN_DOUBLE ? 0.0
         : c->made == IN_SINGLE                                ? SAP_CHOLESKY_RESIDUAL
                                                               : SAP_CHOLESKY_PARTS_RESIDUAL;
}

static bool solve_blocks(sap_cholesky* c, double* x) {
  if (c->made == IN_DOUBLE) {
    c->kernels->solve(&c->block, x);
    return true;
  }
  const bool in_parts = c->made == IN_PARTS;
  const sap_conjugate gradients = {
      .pattern = &c->pattern,
      .values = c->values,
      .weight = c->weight,
      .residual = sap_cholesky_residual(c),
      .iterations = in_parts ? c->parts_iterations : SINGLE_ITERATIONS,
      .work = c->work,
      .precondition = in_parts ? precondition_parts : precondition_single,
      .context = c};
  const bool solved = sap_conjugate_solve(&gradients, x);
  c->allowed = solved ? c->allowed : c->made - 1;
  return solved;
}

sap_status sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                  int32_t* failed_block, sap_error* error) {
  int32_t broken = -1;
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    SAP_TRY(factorize_blocks(cholesky, values, &broken, error));
  } else if (cholesky->choice == SAP_LINEAR_DENSE) {
    gather_dense(cholesky->dense, &cholesky->pattern, values);
    const int32_t row = sap_dense_factorize(cholesky->pattern.n, cholesky->dense);
    broken = row < 0 ? -1 : sap_pattern_block_of(&cholesky->pattern, row);
  } else {
    // CHOLMOD may answer OK for a NaN on the diagonal.
    SAP_TRY(sap_pattern_check_finite(&cholesky->pattern, values, failed_block, error));
    SAP_TRY(factorize_sparse(cholesky->sparse, &cholesky->pattern, values, &broken, error));
  }
  return broken < 0 ? SAP_STATUS_OK : report_failure(cholesky, values, broken, failed_block, error);
}

bool sap_cholesky_solve(sap_cholesky* cholesky, double* x) {
  if (cholesky->choice == SAP_LINEAR_BLOCK) {
    return solve_blocks(cholesky, x);
  }
  if (cholesky->choice == SAP_LINEAR_DENSE) {
    sap_dense_factor_solve(cholesky->pattern.n, cholesky->dense, x);
  } else {
    (void)solve_rhs(cholesky->sparse, x);
    memcpy(x, cholesky->sparse->X->x, cholesky->sparse->L->n * sizeof *x);
  }
  return true;
}
