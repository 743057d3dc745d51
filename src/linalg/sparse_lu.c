// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes klu.h.
#include "linalg/sparse_lu.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <klu.h>

#include "math/scalar.h"

// Options of KLU; what it reports per call is not kept.
static klu_common options(void) {
  klu_common common;
  (void)klu_defaults(&common);
  common.btf = 0;  // a symmetric pattern with a full diagonal has no block triangular form
  return common;
}

void sap_sparse_lu_forget(sap_sparse_lu* lu) {
  klu_common common = options();
  klu_numeric* numeric = lu->numeric;
  (void)klu_free_numeric(&numeric, &common);
  lu->numeric = NULL;
}

static void free_analysis(sap_sparse_lu* lu) {
  sap_sparse_lu_forget(lu);
  klu_common common = options();
  klu_symbolic* symbolic = lu->symbolic;
  (void)klu_free_symbolic(&symbolic, &common);
  lu->symbolic = NULL;
}

void sap_sparse_lu_clear(sap_sparse_lu* lu) {
  free_analysis(lu);
  sap_pattern_clear(&lu->pattern);
  sap_pool_free(&lu->pool);
  *lu = (sap_sparse_lu){0};
}

// Visits all entries, rows of a column ascending: stores values or, where matrix is NULL, rows;
// counting: only moves `filled`, the next place of each scalar column.
static void visit_entries(sap_sparse_lu* lu, const sap_block_matrix* matrix, bool counting) {
  const sap_block_pattern* p = &lu->pattern.view;
  for (int32_t j = 0; j < p->nblocks; ++j) {
    for (int32_t e = p->column_start[j]; e < p->column_start[j + 1]; ++e) {
      const int32_t i = p->row[e], rows = p->sizes[i], sides = i == j ? 1 : 2;
      for (int32_t k = 0; k < rows * p->sizes[j]; ++k) {
        const size_t source = p->value_start[e] + (size_t)k;
        const int32_t ends[2] = {lu->pattern.offset[j] + k / rows,
                                 lu->pattern.offset[i] + k % rows};
        for (int32_t side = 0; side < sides;
             ++side) {  // below the diagonal and, by symmetry, above
          const int32_t at = lu->filled[ends[side]]++;
          if (!counting && matrix == NULL) {
            lu->row[at] = ends[1 - side];
          } else if (!counting) {
            lu->value[at] = (side == 0 ? matrix->lower : matrix->upper)[source];
          }
        }
      }
    }
  }
}

static void fill(sap_sparse_lu* lu, const sap_block_matrix* matrix) {
  memcpy(lu->filled, lu->start, (size_t)lu->pattern.n * sizeof *lu->filled);
  visit_entries(lu, matrix, false);
}

static sap_status count_entries(sap_sparse_lu* lu, sap_error* error) {
  const int32_t n = lu->pattern.n;
  int64_t entries = 0;
  SAP_TRY(SAP_ROOM(&lu->pool, &lu->start, n + 1, error));
  SAP_TRY(SAP_ROOM(&lu->pool, &lu->filled, n, error));
  memset(lu->filled, 0, (size_t)n * sizeof *lu->filled);
  visit_entries(lu, NULL, true);
  for (int32_t k = 0; k < n; ++k) {
    lu->start[k] = (int32_t)entries;
    entries += lu->filled[k];
    SAP_FAIL_IF(entries > INT32_MAX / 2, error, SAP_STATUS_MEMORY,
                "matrix of %d blocks is too large", lu->pattern.view.nblocks);
  }
  lu->start[n] = (int32_t)entries;
  return SAP_STATUS_OK;
}

static sap_status analyze(sap_sparse_lu* lu, sap_error* error) {
  SAP_TRY(count_entries(lu, error));
  const int32_t n = lu->pattern.n, entries = lu->start[n];
  SAP_TRY(SAP_ROOM(&lu->pool, &lu->row, entries, error));
  SAP_TRY(SAP_ROOM(&lu->pool, &lu->value, entries, error));
  SAP_TRY(SAP_ROOM(&lu->pool, &lu->work, 3 * n, error));
  fill(lu, NULL);
  klu_common common = options();
  lu->symbolic = klu_analyze(n, lu->start, lu->row, &common);
  return lu->symbolic != NULL
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: LU of %d rows", n);
}

sap_status sap_sparse_lu_analyze(sap_sparse_lu* lu, const sap_block_pattern* pattern,
                                 sap_error* error) {
  if (sap_pattern_equal(&lu->pattern, pattern)) {
    return SAP_STATUS_OK;
  }
  free_analysis(lu);
  SAP_TRY(sap_pattern_assign(&lu->pattern, pattern, error));
  SAP_TRY_OR(analyze(lu, error), lu->pattern.view.nblocks = 0);
  return SAP_STATUS_OK;
}

sap_status sap_sparse_lu_factorize(sap_sparse_lu* lu, const sap_block_matrix* matrix,
                                   sap_lu_pivots pivots, bool* done, sap_error* error) {
  *done = false;
  if (pivots == SAP_LU_LAST_PIVOTS && lu->numeric == NULL) {
    return SAP_STATUS_OK;
  }
  fill(lu, matrix);
  if (!sap_all_finite(lu->value, (size_t)lu->start[lu->pattern.n])) {
    return SAP_STATUS_OK;
  }
  klu_common common = options();
  common.tol = pivots == SAP_LU_LARGEST_PIVOTS ? 1.0 : common.tol;
  if (pivots == SAP_LU_LAST_PIVOTS) {
    *done = klu_refactor(lu->start, lu->row, lu->value, lu->symbolic, lu->numeric, &common) != 0;
    return SAP_STATUS_OK;
  }
  sap_sparse_lu_forget(lu);
  lu->numeric = klu_factor(lu->start, lu->row, lu->value, lu->symbolic, &common);
  *done = lu->numeric != NULL;
  return common.status < KLU_OK
             ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory: LU of %d rows", lu->pattern.n)
             : SAP_STATUS_OK;
}

static void apply_inverse(sap_sparse_lu* lu, bool transposed, double* x) {
  klu_common common = options();
  const int32_t n = lu->pattern.n;
  (void)(transposed ? klu_tsolve(lu->symbolic, lu->numeric, n, 1, x, &common)
                    : klu_solve(lu->symbolic, lu->numeric, n, 1, x, &common));
}

// Computes r = b - A x, or b - A' x. Returns |r|^2.
static double find_residual(const sap_sparse_lu* lu, bool transposed, const double* b,
                            const double* x, double* r) {
  const int32_t n = lu->pattern.n;
  memcpy(r, b, (size_t)n * sizeof(double));
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = lu->start[j]; k < lu->start[j + 1]; ++k) {
      const int32_t i = lu->row[k];
      r[transposed ? j : i] -= lu->value[k] * x[transposed ? i : j];
    }
  }
  return cblas_ddot(n, r, 1, r, 1);
}

double sap_sparse_lu_solve(sap_sparse_lu* lu, double* x, bool transposed) {
  enum { REFINEMENTS = 3 };
  const int32_t n = lu->pattern.n;
  double *b = lu->work, *r = b + n, *step = r + n;
  memcpy(b, x, (size_t)n * sizeof(double));
  const double size = cblas_ddot(n, b, 1, b, 1), enough = DBL_EPSILON * DBL_EPSILON * size;
  apply_inverse(lu, transposed, x);
  double left = find_residual(lu, transposed, b, x, r);
  for (int i = 0; i < REFINEMENTS && left > enough; ++i) {
    memcpy(step, r, (size_t)n * sizeof(double));
    apply_inverse(lu, transposed, step);
    cblas_daxpy(n, 1.0, step, 1, x, 1);
    const double now = find_residual(lu, transposed, b, x, r);
    if (!(now < left)) {
      cblas_daxpy(n, -1.0, step, 1, x, 1);
      break;
    }
    left = now;
  }
  const double relative = size > 0.0 ? sqrt(left / size) : sqrt(left);
  return relative <= DBL_MAX ? relative : (double)INFINITY;
}
