// SPDX-License-Identifier: BSD-3-Clause
// Sparse Cholesky P A P^T = L L^T by CHOLMOD; the only file that includes cholmod.h.
// P is the block order expanded to scalars. The permutation is applied here, so that CHOLMOD gets a
// lower triangle in natural order: no copy and few heap calls of its own per factorization.
// SAPSTEP_SUPERNODAL not defined: simplicial L L^T; the GPL-2+ module is not called.
#include "linalg/cholesky_sparse.h"

#include <cholmod.h>

#include "core/memory.h"

struct sap_cholesky_sparse {
  cholmod_common common;
  cholmod_factor* L;
  cholmod_dense *X, *Y, *E;  // workspace of cholmod_solve2, reused
  cholmod_sparse A;          // permuted lower triangle in the arrays below
  cholmod_dense b;
  int32_t* column_start;  // (n + 1)
  int32_t* row;           // (entries)
  size_t* source;         // index of a value in the caller's array     (entries)
  double* value;          // (entries)
  double* rhs;            // (n)
  int32_t* scalar_at;     // caller's scalar row at an eliminated position  (n)
  int32_t* scalar_start;  // first scalar of an eliminated block            (nblocks)
  int32_t column_capacity, row_capacity, source_capacity, value_capacity;
  int32_t rhs_capacity, scalar_capacity, start_capacity;
};

sap_cholesky_sparse* sap_cholesky_sparse_create(void) {
  sap_cholesky_sparse* sparse = sap_allocate(1, sizeof *sparse);
  if (sparse == NULL) {
    return NULL;
  }
  if (!cholmod_start(&sparse->common)) {
    sap_free(sparse);
    return NULL;
  }
  cholmod_common* common = &sparse->common;
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
  return sparse;
}

static void drop_factor(sap_cholesky_sparse* sparse) {
  cholmod_free_factor(&sparse->L, &sparse->common);
  cholmod_free_dense(&sparse->X, &sparse->common);
  cholmod_free_dense(&sparse->Y, &sparse->common);
  cholmod_free_dense(&sparse->E, &sparse->common);
}

void sap_cholesky_sparse_destroy(sap_cholesky_sparse* sparse) {
  if (sparse == NULL) {
    return;
  }
  drop_factor(sparse);
  cholmod_finish(&sparse->common);
  sap_free(sparse->column_start);
  sap_free(sparse->row);
  sap_free(sparse->source);
  sap_free(sparse->value);
  sap_free(sparse->rhs);
  sap_free(sparse->scalar_at);
  sap_free(sparse->scalar_start);
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

static sap_status reserve(sap_cholesky_sparse* sparse, int32_t n, int32_t entries,
                          sap_error* error) {
  sap_status status;
  if ((status = SAP_GROW(&sparse->column_start, &sparse->column_capacity, n + 1, error)) ||
      (status = SAP_GROW(&sparse->row, &sparse->row_capacity, entries, error)) ||
      (status = SAP_GROW(&sparse->source, &sparse->source_capacity, entries, error)) ||
      (status = SAP_GROW(&sparse->value, &sparse->value_capacity, entries, error)) ||
      (status = SAP_GROW(&sparse->rhs, &sparse->rhs_capacity, n, error)) ||
      (status = SAP_GROW(&sparse->scalar_at, &sparse->scalar_capacity, n, error)) ||
      (status = SAP_GROW(&sparse->scalar_start, &sparse->start_capacity, n, error))) {
    return status;
  }
  return SAP_STATUS_OK;
}

// Appends the scalars of permuted block entry k in scalar column c of the block column.
static int32_t append_block(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
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

static void fill_pattern(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
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

static void wrap_arrays(sap_cholesky_sparse* sparse, int32_t n, int32_t entries) {
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

sap_status sap_cholesky_sparse_analyze(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
                                       const sap_block_order* order, sap_error* error) {
  drop_factor(sparse);
  const int64_t entries = count_entries(pattern);
  if (entries > INT32_MAX / 2) {
    return sap_fail(error, SAP_STATUS_MEMORY, "sparse factorization: %lld entries are too many",
                    (long long)entries);
  }
  const sap_status status = reserve(sparse, pattern->n, (int32_t)entries, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  fill_pattern(sparse, pattern, order);
  wrap_arrays(sparse, pattern->n, (int32_t)entries);
  sparse->L = cholmod_analyze(&sparse->A, &sparse->common);
  if (sparse->L == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY,
                    "symbolic factorization of %d rows failed (CHOLMOD status %d)", (int)pattern->n,
                    sparse->common.status);
  }
  return SAP_STATUS_OK;
}

// Makes X, Y and E at the first call for a pattern; later calls need no memory and cannot fail.
static bool solve_rhs(sap_cholesky_sparse* sparse) {
  return cholmod_solve2(CHOLMOD_A, sparse->L, &sparse->b, NULL, &sparse->X, NULL, &sparse->Y,
                        &sparse->E, &sparse->common) != 0;
}

sap_status sap_cholesky_sparse_factorize(sap_cholesky_sparse* sparse,
                                         const sap_pattern_copy* pattern, const double* values,
                                         int32_t* broken, sap_error* error) {
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
  if (!done || sparse->common.status != CHOLMOD_OK || (sparse->X == NULL && !solve_rhs(sparse))) {
    return sap_fail(error, SAP_STATUS_MEMORY,
                    "sparse factorization of %d rows failed (CHOLMOD status %d)", (int)pattern->n,
                    sparse->common.status);
  }
  *broken = -1;
  return SAP_STATUS_OK;
}

void sap_cholesky_sparse_solve(sap_cholesky_sparse* sparse, const sap_pattern_copy* pattern,
                               double* x) {
  for (int32_t k = 0; k < pattern->n; ++k) {
    sparse->rhs[k] = x[sparse->scalar_at[k]];
  }
  (void)solve_rhs(sparse);
  const double* solution = sparse->X->x;
  for (int32_t k = 0; k < pattern->n; ++k) {
    x[sparse->scalar_at[k]] = solution[k];
  }
}
