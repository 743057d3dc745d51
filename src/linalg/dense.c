// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/dense.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "math/scalar.h"

int32_t sap_dense_factorize(int32_t n, double* A) {
  const lapack_int info = n > 0 ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, A, n) : 0;
  if (info != 0) {
    return info > 0 ? info - 1 : 0;
  }
  // Not every LAPACK stops at a NaN or an infinite pivot.
  for (int32_t i = 0; i < n; ++i) {
    const double pivot = A[(size_t)i * (size_t)n + (size_t)i];
    if (!(pivot > 0.0 && isfinite(pivot))) {
      return i;
    }
  }
  return -1;
}

void sap_dense_factor_solve(int32_t n, const double* L, double* x) {
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, n, x, 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, n, x, 1);
}

// Factorizes B with partial pivoting; false if it is singular or not finite.
static bool factorize_lu(int32_t n, double* B, int32_t* pivots) {
  return sap_all_finite(B, (size_t)n * (size_t)n) &&
         LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, B, n, pivots) == 0;
}

static void apply_lu(int32_t n, const double* LU, const int32_t* pivots, char transposed,
                     int32_t count, double* X) {
  if (n > 0 && count > 0) {
    (void)LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, transposed, n, count, LU, n, pivots, X, n);
  }
}

sap_status sap_near_spd_create(int32_t n, sap_pool* pool, sap_near_spd* out, sap_error* error) {
  const size_t size = (size_t)n;
  out->n = n;
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&out->B, size * size), SAP_ARRAY(&out->L, SAP_BRANCH_SIZE(size)),
      SAP_ARRAY(&out->U, SAP_BRANCH_SIZE(size)),
      SAP_ARRAY(&out->runs, size * SAP_BRANCH_BLOCK_RUNS(size)), SAP_ARRAY(&out->pivots, size),
      SAP_ARRAY(&out->pivoted, size), SAP_ARRAY(&out->columns, SAP_QUAD * size),
      SAP_ARRAY(&out->work, SAP_QUAD * SAP_BRANCH_ROW(size)));
}

// The factors of a part, and its rows.
typedef struct near_part {
  int32_t n;
  const int32_t* at;
  sap_branch_factor factors[2];
} near_part;

static near_part get_part(const sap_near_spd* m, int32_t p) {
  const size_t first = (size_t)m->parts->start[p], n = (size_t)m->n;
  const size_t factor = first * (SAP_BRANCH_ROW(n) + 1);
  int32_t *runs = m->runs + first * SAP_BRANCH_BLOCK_RUNS(n), size = m->parts->start[p + 1];
  size -= m->parts->start[p];
  return (near_part){
      size, m->parts->at + first, {{size, m->L + factor, runs}, {size, m->U + factor, runs}}};
}

void sap_near_spd_clear(sap_near_spd* m, const sap_matrix_parts* parts) {
  for (int32_t p = 0; p < parts->count; ++p) {
    const int32_t *at = parts->at + parts->start[p], n = parts->start[p + 1] - parts->start[p];
    for (int32_t k = 0; k < n; ++k) {
      memset(m->B + (size_t)m->n * (size_t)at[k] + at[0], 0,
             (size_t)(at[n - 1] - at[0] + 1) * sizeof(double));
    }
  }
}

bool sap_near_spd_factorize(sap_near_spd* m, const sap_matrix_parts* parts) {
  bool regular = true;
  m->parts = parts;
  for (int32_t p = 0; p < parts->count && regular; ++p) {
    const near_part part = get_part(m, p);
    const size_t n = (size_t)part.n;
    double* LU = part.factors->L;
    m->pivoted[p] =
        !sap_branch_kernels_get(0)->factorize_lu(m->B, (size_t)m->n, part.at, part.factors);
    for (size_t k = 0; k < n * n && m->pivoted[p]; ++k) {
      LU[k] = m->B[(size_t)m->n * (size_t)part.at[k / n] + (size_t)part.at[k % n]];
    }
    regular = !m->pivoted[p] || factorize_lu(part.n, LU, m->pivots + parts->start[p]);
  }
  return regular;
}

// Copies up to four columns that have entries in a part, the next from *next on; returns their number.
static int32_t take_columns(const sap_near_spd* m, const near_part* part, int32_t count,
                            const double* X, int32_t* next, int32_t columns[SAP_QUAD]) {
  int32_t taken = 0;
  for (; *next < count && taken < SAP_QUAD; ++*next) {
    const double* x = X + (size_t)m->n * (size_t)*next;
    double* y = m->columns + part->n * taken;
    bool any = false;
    for (int32_t i = 0; i < part->n; ++i) {
      y[i] = x[part->at[i]];
      any |= y[i] != 0.0;
    }
    columns[taken] = *next;
    taken += any ? 1 : 0;
  }
  return taken;
}

static void solve_part(const sap_near_spd* m, int32_t p, bool transposed, int32_t count,
                       double* X) {
  const near_part part = get_part(m, p);
  const sap_branch_kernels* kernels = sap_branch_kernels_get(0);
  const sap_branch_factor *left = &part.factors[!transposed], *right = &part.factors[transposed];
  if (m->pivoted[p]) {
    apply_lu(part.n, part.factors->L, m->pivots + m->parts->start[p], transposed ? 'T' : 'N', count,
             X);
  } else if (count == 1) {
    kernels->solve(left, right, X, m->work);
  } else {
    kernels->solve_four(left, right, count, X, (size_t)part.n, m->work);
  }
}

void sap_near_spd_solve(const sap_near_spd* m, bool transposed, int32_t count, double* X) {
  for (int32_t p = 0; p < m->parts->count; ++p) {
    const near_part part = get_part(m, p);
    int32_t columns[SAP_QUAD], next = 0, taken;
    for (; part.n == m->n && next < count; next += SAP_QUAD) {
      solve_part(m, p, transposed, count - next < SAP_QUAD ? count - next : SAP_QUAD,
                 X + (size_t)m->n * (size_t)next);
    }
    while ((taken = take_columns(m, &part, count, X, &next, columns)) > 0) {
      solve_part(m, p, transposed, taken, m->columns);
      for (int32_t c = 0; c < taken; ++c) {
        double* x = X + (size_t)m->n * (size_t)columns[c];
        for (int32_t i = 0; i < part.n; ++i) {
          x[part.at[i]] = m->columns[part.n * c + i];
        }
      }
    }
  }
}

bool sap_dense_lu_solve(int32_t n, double* B, int32_t* pivots, double* x) {
  const bool regular = factorize_lu(n, B, pivots);
  if (regular) {
    apply_lu(n, B, pivots, 'N', 1, x);
  }
  return regular;
}

// Rotates rows and columns p, q so that a_pq becomes zero, and columns of V, if given.
static void rotate_pair(double* a, double* V, int32_t n, int32_t p, int32_t q) {
  const double apq = a[q * n + p];
  const double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / apq;
  const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + hypot(theta, 1.0));
  const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  for (int32_t k = 0; k < n; ++k) {
    const double x = a[p * n + k], y = a[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
  }
  for (int32_t k = 0; k < n; ++k) {
    const double x = a[k * n + p], y = a[k * n + q];
    a[k * n + p] = c * x - s * y;
    a[k * n + q] = s * x + c * y;
  }
  for (int32_t k = 0; V != NULL && k < n; ++k) {
    const double x = V[p * n + k], y = V[q * n + k];
    V[p * n + k] = c * x - s * y;
    V[q * n + k] = s * x + c * y;
  }
}

void sap_eigen_small(double* a, int32_t n, double* V) {
  enum { SWEEPS = 30 };
  for (int32_t i = 0; V != NULL && i < n * n; ++i) {
    V[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  }
  bool done = false;
  for (int sweep = 0; sweep < SWEEPS && !done; ++sweep) {
    done = true;
    for (int32_t p = 0; p < n; ++p) {
      for (int32_t q = p + 1; q < n; ++q) {
        const double limit = DBL_EPSILON * sqrt(fabs(a[p * n + p]) * fabs(a[q * n + q]));
        if (fabs(a[q * n + p]) > limit && fabs(a[q * n + p]) > DBL_MIN) {
          rotate_pair(a, V, n, p, q);
          done = false;
        }
      }
    }
  }
}

// By the trigonometric solution of the characteristic cubic.
static double largest_of_3(const double a[9]) {
  const double m = (a[0] + a[4] + a[8]) / 3.0;
  const double b0 = a[0] - m, b1 = a[4] - m, b2 = a[8] - m;
  const double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
  const double p = sqrt((b0 * b0 + b1 * b1 + b2 * b2 + 2.0 * off) / 6.0);
  if (!(p > 0.0)) {
    return m;
  }
  const double determinant = b0 * (b1 * b2 - a[5] * a[5]) - a[1] * (a[1] * b2 - a[5] * a[2]) +
                             a[2] * (a[1] * a[5] - b1 * a[2]);
  const double half = fmin(1.0, fmax(-1.0, 0.5 * determinant / (p * p * p)));
  return m + 2.0 * p * cos(acos(half) / 3.0);
}

double sap_largest_eigenvalue(const double* a, int32_t n) {
  if (n == 1) {
    return a[0];
  }
  double copy[SAP_EIGEN_MAX * SAP_EIGEN_MAX];
  if (!sap_all_finite(a, (size_t)(n * n))) {
    return (double)NAN;
  }
  if (n == 3) {
    return largest_of_3(a);
  }
  memcpy(copy, a, (size_t)(n * n) * sizeof *copy);
  sap_eigen_small(copy, n, NULL);
  double largest = copy[0];
  for (int32_t i = 1; i < n; ++i) {
    largest = fmax(largest, copy[i * (n + 1)]);
  }
  return largest;
}

void sap_symmetric3_eigen(const double S[6], double eigenvalues[3], double V[9]) {
  double a[9] = {S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]};
  double v[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  enum { ROTATIONS = 36 };               // convergence is quadratic: 18 are enough for doubles
  for (int i = 0; i < ROTATIONS; ++i) {  // of the largest entry
    const double xy = fabs(a[1]), xz = fabs(a[2]), yz = fabs(a[5]);
    const int p = (xy > xz && xy > yz) || xz > yz ? 0 : 1, q = xy > xz && xy > yz ? 1 : 2;
    if (a[3 * q + p] != 0.0) {
      rotate_pair(a, v, 3, p, q);
    }
  }
  int order[3] = {0, 1, 2};  // ascending
  for (int i = 0; i < 3; ++i) {
    const int k = i % 2, first = order[k];
    if (a[4 * first] > a[4 * order[k + 1]]) {
      order[k] = order[k + 1];
      order[k + 1] = first;
    }
  }
  for (int i = 0; i < 3; ++i) {
    eigenvalues[i] = a[4 * order[i]];
    if (V != NULL) {
      memcpy(V + 3 * i, v + 3 * order[i], 3 * sizeof *V);
    }
  }
}
