// SPDX-License-Identifier: BSD-3-Clause
// Right-looking supernodal LU: a supernode's panels are factorized,
//   A_11 = P' L_11 U_11,  L_21 = A_21 U_11^-1,  U_12 = L_11^-1 P A_12,
// and L_21 U_12 is subtracted from the panels of the supernodes that its rows belong to.
// cost: dense products of the panels' sizes.
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "linalg/block_lu.h"

static int32_t first_scalar(const sap_block_lu* lu, int32_t s) {
  return lu->scalar_start[lu->super_first[s]];
}

static int32_t width_of(const sap_block_lu* lu, int32_t s) {
  return lu->scalar_start[lu->super_first[s + 1]] - first_scalar(lu, s);
}

static int32_t below_of(const sap_block_lu* lu, int32_t s) {
  return lu->row_start[s + 1] - lu->row_start[s];
}

// place[i] of the scalars that the panel of s has rows for.
static void mark_rows(sap_block_lu* lu, int32_t s) {
  const int32_t first = first_scalar(lu, s), width = width_of(lu, s), below = below_of(lu, s);
  const int32_t* row = lu->row + lu->row_start[s];
  for (int32_t i = 0; i < width; ++i) {
    lu->place[first + i] = i;
  }
  for (int32_t i = 0; i < below; ++i) {
    lu->place[row[i]] = width + i;
  }
}

// Entry (row, column) of A, in positions, with row >= column; both blocks of the pair. Blocks that
// the order has swapped come from the other triangle.
static void load_entry(sap_block_lu* lu, const sap_block_matrix* a, int32_t entry, int32_t column) {
  const sap_block_pattern* p = &lu->pattern.view;
  const int32_t i = p->row[entry];
  const int32_t at_i = lu->order.position_of[i], at_j = lu->order.position_of[column];
  const bool swapped = at_i < at_j;
  const int32_t rows = p->sizes[i], columns = p->sizes[column];
  const int32_t s = lu->super_of[swapped ? at_i : at_j];
  const int32_t first = first_scalar(lu, s), width = width_of(lu, s), below = below_of(lu, s);
  const int32_t scalar_i = lu->scalar_start[at_i], scalar_j = lu->scalar_start[at_j];
  double* L = lu->lower + lu->lower_start[s];
  double* U = lu->upper + lu->upper_start[s];
  const size_t height = (size_t)(width + below);
  const double* lower = a->lower + p->value_start[entry];
  const double* upper = a->upper + p->value_start[entry];
  for (int32_t c = 0; c < columns; ++c) {
    for (int32_t r = 0; r < rows; ++r, ++lower, ++upper) {
      // a_ij = *lower, a_ji = *upper
      const int32_t low = swapped ? scalar_j + c : scalar_i + r;
      const int32_t high = swapped ? scalar_i + r : scalar_j + c;
      const int32_t place = lu->place[low];
      const size_t at = (size_t)(high - first);
      const double under = swapped ? *upper : *lower, over = swapped ? *lower : *upper;
      L[at * height + (size_t)place] = under;
      if (i != column && place < width) {
        L[(size_t)place * height + at] = over;
      } else if (i != column) {
        U[at * (size_t)below + (size_t)(place - width)] = over;
      }
    }
  }
}

static void load(sap_block_lu* lu, const sap_block_matrix* a) {
  const sap_block_pattern* p = &lu->pattern.view;
  for (int32_t s = 0; s < lu->nsuper; ++s) {
    const size_t width = (size_t)width_of(lu, s), below = (size_t)below_of(lu, s);
    memset(lu->lower + lu->lower_start[s], 0, (width + below) * width * sizeof(double));
    memset(lu->upper + lu->upper_start[s], 0, below * width * sizeof(double));
    mark_rows(lu, s);
    if (lu->whole) {
      for (int32_t j = 0; j < p->nblocks; ++j) {
        for (int32_t k = p->column_start[j]; k < p->column_start[j + 1]; ++k) {
          load_entry(lu, a, k, j);
        }
      }
      return;
    }
    const sap_block_order* order = &lu->order;
    for (int32_t at = lu->super_first[s]; at < lu->super_first[s + 1]; ++at) {
      for (int32_t k = order->column_start[at]; k < order->column_start[at + 1]; ++k) {
        const int32_t entry = order->entry[k], other = order->block_at[order->row[k]];
        const int32_t mine = order->block_at[at];
        load_entry(lu, a, entry, p->row[entry] == other ? mine : other);
      }
    }
  }
}

static bool factor_panel(sap_block_lu* lu, int32_t s) {
  const int32_t width = width_of(lu, s), below = below_of(lu, s), height = width + below;
  double* L = lu->lower + lu->lower_start[s];
  double* U = lu->upper + lu->upper_start[s];
  int32_t* pivot = lu->pivot + first_scalar(lu, s);
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, width, width, L, height, pivot) != 0) {
    return false;
  }
  if (below == 0) {
    return true;
  }
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, below, width, 1.0,
              L, height, L + width, height);
  for (int32_t j = 0; j < width; ++j) {
    const int32_t other = pivot[j] - 1;
    if (other != j) {
      cblas_dswap(below, U + (size_t)j * (size_t)below, 1, U + (size_t)other * (size_t)below, 1);
    }
  }
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, below, width, 1.0, L,
              height, U, below);
  return true;
}

// product = L_21 U_12 leaves the panels of supernode t, whose rows among those of s are
// [first, end).
static void subtract(sap_block_lu* lu, int32_t s, int32_t t, int32_t first, int32_t end) {
  const size_t below = (size_t)below_of(lu, s);
  const int32_t* row = lu->row + lu->row_start[s];
  const int32_t width = width_of(lu, t), start = first_scalar(lu, t);
  const size_t below_t = (size_t)below_of(lu, t), height = (size_t)width + below_t;
  double* L = lu->lower + lu->lower_start[t];
  double* U = lu->upper + lu->upper_start[t];
  mark_rows(lu, t);
  for (int32_t c = first; c < end; ++c) {
    const size_t column = (size_t)(row[c] - start);
    const double* from = lu->product + (size_t)c * below;
    double* to = L + column * height;
    for (size_t r = (size_t)first; r < below; ++r) {
      to[lu->place[row[r]]] -= from[r];
    }
    double* transposed = U + column * below_t;
    for (size_t r = (size_t)end; r < below; ++r) {
      transposed[lu->place[row[r]] - width] -= lu->product[r * below + (size_t)c];
    }
  }
}

static void update(sap_block_lu* lu, int32_t s) {
  const int32_t width = width_of(lu, s), below = below_of(lu, s);
  const int32_t* row = lu->row + lu->row_start[s];
  if (below == 0) {
    return;
  }
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, below, below, width, 1.0,
              lu->lower + lu->lower_start[s] + width, width + below, lu->upper + lu->upper_start[s],
              below, 0.0, lu->product, below);
  for (int32_t first = 0, t = s + 1; first < below; ++t) {
    const int32_t next = lu->scalar_start[lu->super_first[t + 1]];
    int32_t end = first;
    while (end < below && row[end] < next) {
      ++end;
    }
    if (end > first) {
      subtract(lu, s, t, first, end);
    }
    first = end;
  }
}

bool sap_block_lu_factorize(sap_block_lu* lu, const sap_block_matrix* matrix) {
  load(lu, matrix);
  for (int32_t s = 0; s < lu->nsuper; ++s) {
    if (!factor_panel(lu, s)) {
      return false;
    }
    update(lu, s);
  }
  return true;
}

// x <- A^-1 x in elimination order.
static void solve_permuted(sap_block_lu* lu, double* x) {
  for (int32_t s = 0; s < lu->nsuper; ++s) {
    const int32_t width = width_of(lu, s), below = below_of(lu, s), height = width + below;
    const double* L = lu->lower + lu->lower_start[s];
    const int32_t* row = lu->row + lu->row_start[s];
    double* own = x + first_scalar(lu, s);
    LAPACKE_dlaswp_work(LAPACK_COL_MAJOR, 1, own, width, 1, width, lu->pivot + first_scalar(lu, s),
                        1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, width, L, height, own, 1);
    if (below > 0) {
      cblas_dgemv(CblasColMajor, CblasNoTrans, below, width, 1.0, L + width, height, own, 1, 0.0,
                  lu->part, 1);
    }
    for (int32_t r = 0; r < below; ++r) {
      x[row[r]] -= lu->part[r];
    }
  }
  for (int32_t s = lu->nsuper; s-- > 0;) {
    const int32_t width = width_of(lu, s), below = below_of(lu, s), height = width + below;
    const double* L = lu->lower + lu->lower_start[s];
    const int32_t* row = lu->row + lu->row_start[s];
    double* own = x + first_scalar(lu, s);
    for (int32_t r = 0; r < below; ++r) {
      lu->part[r] = x[row[r]];
    }
    if (below > 0) {
      cblas_dgemv(CblasColMajor, CblasTrans, below, width, -1.0, lu->upper + lu->upper_start[s],
                  below, lu->part, 1, 1.0, own, 1);
    }
    cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, width, L, height, own, 1);
  }
}

// out = b - A x; the square of its length.
static double find_residual(const sap_block_lu* lu, const sap_block_matrix* a, const double* b,
                            const double* x, double* out) {
  const sap_block_pattern* p = &lu->pattern.view;
  memcpy(out, b, (size_t)lu->pattern.n * sizeof(double));
  for (int32_t j = 0; j < p->nblocks; ++j) {
    for (int32_t k = p->column_start[j]; k < p->column_start[j + 1]; ++k) {
      const int32_t i = p->row[k];
      const double* lower = a->lower + p->value_start[k];
      const double* upper = a->upper + p->value_start[k];
      const double* xi = x + lu->pattern.offset[i];
      const double* xj = x + lu->pattern.offset[j];
      double* to_i = out + lu->pattern.offset[i];
      double* to_j = out + lu->pattern.offset[j];
      for (int32_t c = 0; c < p->sizes[j]; ++c) {
        double sum = 0.0;
        for (int32_t r = 0; r < p->sizes[i]; ++r, ++lower, ++upper) {
          to_i[r] -= *lower * xj[c];
          sum += i != j ? *upper * xi[r] : 0.0;
        }
        to_j[c] -= sum;
      }
    }
  }
  return cblas_ddot(lu->pattern.n, out, 1, out, 1);
}

static void apply_inverse(sap_block_lu* lu, const double* b, double* x) {
  double* permuted = lu->x;
  for (int32_t k = 0; k < lu->order.nblocks; ++k) {
    const int32_t block = lu->order.block_at[k];
    memcpy(permuted + lu->scalar_start[k], b + lu->pattern.offset[block],
           (size_t)lu->pattern.sizes[block] * sizeof(double));
  }
  solve_permuted(lu, permuted);
  for (int32_t k = 0; k < lu->order.nblocks; ++k) {
    const int32_t block = lu->order.block_at[k];
    memcpy(x + lu->pattern.offset[block], permuted + lu->scalar_start[k],
           (size_t)lu->pattern.sizes[block] * sizeof(double));
  }
}

double sap_block_lu_solve(sap_block_lu* lu, const sap_block_matrix* matrix, double* x) {
  enum { REFINEMENTS = 3 };
  const int32_t n = lu->pattern.n;
  double *b = lu->residual, *r = lu->residual + n, *step = lu->x + n;
  memcpy(b, x, (size_t)n * sizeof(double));
  const double size = cblas_ddot(n, b, 1, b, 1), enough = DBL_EPSILON * DBL_EPSILON * size;
  apply_inverse(lu, b, x);
  double left = find_residual(lu, matrix, b, x, r);
  for (int i = 0; i < REFINEMENTS && left > enough; ++i) {
    apply_inverse(lu, r, step);
    cblas_daxpy(n, 1.0, step, 1, x, 1);
    const double now = find_residual(lu, matrix, b, x, r);
    if (!(now < left)) {
      cblas_daxpy(n, -1.0, step, 1, x, 1);
      break;
    }
    left = now;
  }
  const double relative = size > 0.0 ? sqrt(left / size) : sqrt(left);
  return relative <= DBL_MAX ? relative : (double)INFINITY;
}
