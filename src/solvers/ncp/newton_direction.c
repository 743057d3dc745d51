// SPDX-License-Identifier: BSD-3-Clause
// The direction of a Newton step: J of the items whose T is not zero, block by block, and its LU.
// cost: one sparse LU.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "solvers/ncp/newton_system.h"

// T of all items, and the pattern of those whose T is not zero.
static void reduce(const sap_dual* d, sap_newton_system* s) {
  const sap_block_pattern* all = &d->sparse.pattern;
  int32_t count = 0, entries = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    double unused[SAP_CONE_ROWS_MAX];
    double* T = s->T + SAP_CONE_ROWS_MAX * (size_t)item->first;
    sap_newton_item(item, d->z + item->first, s->g + item->first, unused, T);
    bool open = true;
    for (int32_t i = 0; i < item->nrows * item->nrows; ++i) {
      open = open && T[i] == 0.0;
    }
    s->reduced[k] = open ? -1 : count;
    if (!open) {
      s->sizes[count++] = item->nrows;
    }
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    if (s->reduced[k] < 0) {
      continue;
    }
    s->column_start[s->reduced[k]] = entries;
    for (int32_t e = all->column_start[k]; e < all->column_start[k + 1]; ++e) {
      if (s->reduced[all->row[e]] >= 0) {
        s->row[entries] = s->reduced[all->row[e]];
        d->reduced_start[entries++] = all->value_start[e];
      }
    }
  }
  s->column_start[count] = entries;
  s->pattern = (sap_block_pattern){count, s->sizes, s->column_start, s->row, d->reduced_start};
}

// to = T_i B, or of a transposed block (columns of T_i's rows) to = (T_i B')': B is rows x columns.
static void multiply(const double* T, int32_t rows, int32_t columns, bool transposed,
                     const double* B, double* to) {
  const int32_t inner = transposed ? columns : rows, outer = transposed ? rows : columns;
  const int32_t step = transposed ? rows : 1, next = transposed ? 1 : rows;
  for (int32_t j = 0; j < outer; ++j) {
    for (int32_t i = 0; i < inner; ++i) {
      double sum = 0.0;
      for (int32_t c = 0; c < inner; ++c) {
        sum += T[c * inner + i] * B[c * step + j * next];
      }
      to[i * step + j * next] = sum;
    }
  }
}

// J = (I - T) + T (D + sigma I) of the reduced system, block by block.
static void assemble(const sap_dual* d, sap_newton_system* s) {
  const sap_delassus_sparse* D = &d->sparse;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* column = &d->op.items[k];
    const double* T_k = s->T + SAP_CONE_ROWS_MAX * (size_t)column->first;
    for (int32_t e = D->pattern.column_start[k];
         s->reduced[k] >= 0 && e < D->pattern.column_start[k + 1]; ++e) {
      const int32_t l = D->pattern.row[e];
      const sap_delassus_item* row = &d->op.items[l];
      const size_t at = D->value_start[e];
      if (s->reduced[l] < 0) {
        continue;
      }
      multiply(s->T + SAP_CONE_ROWS_MAX * (size_t)row->first, row->nrows, column->nrows, false,
               D->values + at, s->lower + at);
      if (l != k) {
        multiply(T_k, row->nrows, column->nrows, true, D->upper + at, s->upper + at);
      }
    }
    if (s->reduced[k] >= 0) {
      const int32_t n = column->nrows;
      double* block = s->lower + D->value_start[D->pattern.column_start[k]];
      for (int32_t i = 0; i < n * n; ++i) {
        const double unit = i % (n + 1) == 0 ? 1.0 : 0.0;
        block[i] += unit - (1.0 - s->sigma) * T_k[i];
      }
    }
  }
}

// right = -F - T D dz of the items whose T is not zero; dz = -F of the others.
static void find_right(sap_dual* d, sap_newton_system* s) {
  const int32_t n = d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t i = item->first; i < item->first + item->nrows; ++i) {
      s->dz[i] = s->reduced[k] < 0 ? -s->F[i] : 0.0;
    }
  }
  if (s->pattern.nblocks < d->op.nitems && cblas_dasum(n, s->dz, 1) > 0.0) {
    sap_delassus_sparse_apply(&d->sparse, &d->op, s->dz, s->dg);
  } else {
    memset(s->dg, 0, (size_t)n * sizeof(double));
  }
  double* right = s->right;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const double* T = s->T + SAP_CONE_ROWS_MAX * (size_t)item->first;
    if (s->reduced[k] < 0) {
      continue;
    }
    for (int32_t i = 0; i < item->nrows; ++i) {
      double sum = s->F[item->first + i];
      for (int32_t c = 0; c < item->nrows; ++c) {
        sum += T[c * item->nrows + i] * s->dg[item->first + c];
      }
      *right++ = -sum;
    }
  }
}

// By a sparse factor; where its pivots were too small, by one that may choose among all rows.
static sap_status solve_reduced(sap_dual* d, sap_newton_system* s, bool* solved, sap_error* error) {
  static const double ENOUGH = 1e-8;  // relative residual
  enum { SMALL = 32, ATTEMPTS = 2 };  // items below which sparsity brings nothing
  const sap_block_matrix matrix = {s->lower, s->upper};
  int32_t n = 0;
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    n += s->sizes[k];
  }
  memcpy(s->trial, s->right, (size_t)n * sizeof(double));
  *solved = n == 0;
  for (int i = s->pattern.nblocks <= SMALL ? 1 : 0; i < ATTEMPTS && !*solved; ++i) {
    const sap_status status = sap_block_lu_analyze(&d->lu, &s->pattern, i > 0, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    d->factorizations += 1;
    if (sap_block_lu_factorize(&d->lu, &matrix)) {
      memcpy(s->right, s->trial, (size_t)n * sizeof(double));
      const double left = sap_block_lu_solve(&d->lu, &matrix, s->right);
      *solved = left <= ENOUGH || (i > 0 && isfinite(left));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_newton_direction(sap_dual* d, sap_newton_system* s, bool* found, sap_error* error) {
  reduce(d, s);
  assemble(d, s);
  find_right(d, s);
  const sap_status status = solve_reduced(d, s, found, error);
  const double* from = s->right;
  for (int32_t k = 0; *found && k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t i = 0; s->reduced[k] >= 0 && i < item->nrows; ++i) {
      s->dz[item->first + i] = *from++;
    }
  }
  *found = *found && isfinite(cblas_dasum(d->op.n, s->dz, 1)) != 0;
  return status;
}
