// SPDX-License-Identifier: BSD-3-Clause
// The Alart-Curnier equations, their merit |F|^2/2, and Newton steps.
// cost of a step: one sparse LU of the items whose T is not zero.
#include "solvers/ncp/alart_curnier.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "problem/problem_data.h"

sap_status sap_alart_curnier_start(sap_dual* d, sap_alart_curnier* s, sap_error* error) {
  *s = (sap_alart_curnier){0};
  sap_sparse_lu_forget(&d->lu);
  SAP_TRY(sap_delassus_sparse_assemble(&d->sparse, &d->op, error));
  const int64_t n = d->op.n, nitems = d->op.nitems, values = (int64_t)d->sparse.nvalues;
  const int64_t entries = d->sparse.pattern.column_start[nitems];
  SAP_TRY(sap_dual_reals(d, (9 + SAP_CONE_ROWS_MAX) * n + 2 * values, &s->F, error));
  SAP_TRY(sap_dual_integers(d, 3 * nitems + 1 + entries, &s->sizes, error));
  SAP_TRY(SAP_RESERVE(&d->reduced_start, &d->reduced_start_capacity, entries, error));
  double** const vectors[] = {&s->dz,      &s->g,      &s->dg,    &s->z_ref, &s->trial,
                              &s->g_trial, &s->z_mark, &s->right, &s->T};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    *vectors[i] = s->F + (size_t)(i + 1) * (size_t)n;
  }
  s->lower = s->T + SAP_CONE_ROWS_MAX * n;
  s->upper = s->lower + values;
  s->reduced = s->sizes + nitems;
  s->column_start = s->reduced + nitems;
  s->row = s->column_start + nitems + 1;
  memcpy(s->z_ref, d->z, (size_t)n * sizeof(double));
  return SAP_STATUS_OK;
}

// Sets F of one item and, if T is not NULL, T = dP/dp (nrows x nrows, column-major).
static void item_equations(const sap_delassus_item* item, const double* z, const double* g,
                           double* F, double* T) {
  if (!item->is_cone) {
    const double p = z[0] - g[0];
    sap_dual_project(item, &p, F);
    F[0] = z[0] - F[0];
    if (T != NULL) {
      T[0] = p >= item->lower && p <= item->upper ? 1.0 : 0.0;
    }
    return;
  }
  const int32_t n = item->nrows, normal = SAP_NORMAL_ROW;
  double p[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    p[i] = z[i] - g[i];
  }
  const double pn = p[normal];
  const double radius = pn > 0.0 ? item->mu * pn : 0.0;
  const double length = sqrt(sap_cone_n_dot(n, p, p));
  const bool slides = length > radius;
  const double shrink = slides ? radius / length : 1.0;
  for (int32_t i = 0; i < n; ++i) {
    F[i] = z[i] - shrink * p[i];
  }
  F[normal] = z[normal] - (pn > 0.0 ? pn : 0.0);
  if (T == NULL) {
    return;
  }
  double t[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; slides && i < n; ++i) {
    t[i] = p[i] / length;
  }
  const sap_cone_n_parts parts = {.along = slides ? 0.0 : shrink, .across = shrink};
  sap_cone_n_fill(n, &parts, t, T);
  for (int32_t i = 0; i < n; ++i) {  // unsymmetric: the normal row does not depend on the tangents
    T[normal * n + i] = pn > 0.0 ? item->mu * t[i] : 0.0;
  }
  T[normal * (n + 1)] = pn > 0.0 ? 1.0 : 0.0;
}

// Sets F; returns |F|^2/2.
static double find_equations(const sap_dual* d, const double* z, const double* g, double* F) {
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    item_equations(item, z + item->first, g + item->first, F + item->first, NULL);
  }
  return 0.5 * cblas_ddot(d->op.n, F, 1, F, 1);
}

double sap_alart_curnier_merit(const sap_dual* d, sap_alart_curnier* s) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->g[i] = d->g[i] + s->sigma * (d->z[i] - s->z_ref[i]);
  }
  return find_equations(d, d->z, s->g, s->F);
}

// Sets T of all items, and the pattern of the reduced system: items whose T is not zero.
static void reduce_system(const sap_dual* d, sap_alart_curnier* s) {
  const sap_block_pattern* all = &d->sparse.pattern;
  int32_t count = 0, entries = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    double unused[SAP_CONE_ROWS_MAX];
    double* T = s->T + SAP_CONE_ROWS_MAX * (size_t)item->first;
    item_equations(item, d->z + item->first, s->g + item->first, unused, T);
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

// to = T B with B rows x columns; transposed: to = (T B')'.
static void multiply_block(const double* T, int32_t rows, int32_t columns, bool transposed,
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
static void assemble(const sap_dual* d, sap_alart_curnier* s) {
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
      multiply_block(s->T + SAP_CONE_ROWS_MAX * (size_t)row->first, row->nrows, column->nrows,
                     false, D->values + at, s->lower + at);
      if (l != k) {
        multiply_block(T_k, row->nrows, column->nrows, true, D->upper + at, s->upper + at);
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

// Sets right = -F - T D dz of the reduced items and dz = -F of the others.
static void find_right(sap_dual* d, sap_alart_curnier* s) {
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

// Solves the reduced system. Tries the pivots of the last factors of the same pattern first, then
// new ones.
static sap_status solve_reduced(sap_dual* d, sap_alart_curnier* s, bool* solved, sap_error* error) {
  static const double ENOUGH = 1e-8;  // relative residual
  const sap_block_matrix matrix = {s->lower, s->upper};
  int32_t n = 0;
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    n += s->sizes[k];
  }
  *solved = n == 0;
  if (*solved) {
    return SAP_STATUS_OK;
  }
  memcpy(s->trial, s->right, (size_t)n * sizeof(double));
  SAP_TRY(sap_sparse_lu_analyze(&d->lu, &s->pattern, error));
  for (int pivots = SAP_LU_LAST_PIVOTS; pivots <= SAP_LU_LARGEST_PIVOTS && !*solved; ++pivots) {
    bool done = false;
    SAP_TRY(sap_sparse_lu_factorize(&d->lu, &matrix, (sap_lu_pivots)pivots, &done, error));
    if (done) {
      d->factorizations += 1;
      memcpy(s->right, s->trial, (size_t)n * sizeof(double));
      const double left = sap_sparse_lu_solve(&d->lu, s->right);
      *solved = left <= ENOUGH || (pivots == SAP_LU_LARGEST_PIVOTS && isfinite(left));
    }
  }
  return SAP_STATUS_OK;
}

// Computes s->dz for s->F and s->g; *found = false if the matrix is singular.
static sap_status find_direction(sap_dual* d, sap_alart_curnier* s, bool* found, sap_error* error) {
  reduce_system(d, s);
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

// Moves d->z along s->dz; returns the step length.
static double move_along(sap_dual* d, sap_alart_curnier* s, double merit, bool whole) {
  static const double ARMIJO = 1e-4, SHRINK = 0.5;
  enum { MAXIMUM = 20 };
  const int32_t n = d->op.n;
  if (whole) {
    cblas_daxpy(n, 1.0, s->dz, 1, d->z, 1);
    return 1.0;
  }
  double highest = merit, alpha = 1.0;
  for (int32_t i = 0; i < s->nmerits; ++i) {
    highest = fmax(highest, s->merits[i]);
  }
  sap_delassus_apply(&d->op, s->dz, s->dg);
  cblas_daxpy(n, s->sigma, s->dz, 1, s->dg, 1);
  for (int i = 0; i < MAXIMUM; ++i, alpha *= SHRINK) {
    for (int32_t j = 0; j < n; ++j) {
      s->trial[j] = d->z[j] + alpha * s->dz[j];
      s->g_trial[j] = s->g[j] + alpha * s->dg[j];
    }
    d->evaluations += 1;
    if (find_equations(d, s->trial, s->g_trial, s->F) <= highest - 2.0 * ARMIJO * alpha * merit) {
      break;
    }
  }
  memcpy(d->z, s->trial, (size_t)n * sizeof(double));
  return alpha;
}

static void add_merit(sap_alart_curnier* s, double merit) {
  if (s->nmerits == SAP_ALART_CURNIER_MERITS) {
    memmove(s->merits, s->merits + 1, (SAP_ALART_CURNIER_MERITS - 1) * sizeof(double));
    s->nmerits -= 1;
  }
  s->merits[s->nmerits++] = merit;
}

static sap_status try_step(sap_dual* d, sap_alart_curnier* s, bool whole, double* alpha,
                           sap_error* error) {
  const double merit = sap_alart_curnier_merit(d, s);
  bool found = false;
  add_merit(s, merit);
  const sap_status status = find_direction(d, s, &found, error);
  *alpha = status == SAP_STATUS_OK && found ? move_along(d, s, merit, whole) : 0.0;
  return status;
}

sap_status sap_alart_curnier_step(sap_dual* d, sap_alart_curnier* s, bool whole, double* alpha,
                                  sap_error* error) {
  static const double FIRST = 1e-10, FACTOR = 100.0;
  enum { MAXIMUM = 5 };
  const double sigma = s->sigma;
  double shift = FIRST;
  sap_status status = try_step(d, s, whole, alpha, error);
  for (int i = 0; i < MAXIMUM && *alpha == 0.0 && status == SAP_STATUS_OK; ++i, shift *= FACTOR) {
    s->sigma = sigma + shift;
    s->nmerits = 0;
    status = try_step(d, s, whole, alpha, error);
  }
  s->sigma = sigma;
  return status;
}
