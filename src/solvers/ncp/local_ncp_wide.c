// SPDX-License-Identifier: BSD-3-Clause
// One contact of 4 or 6 rows: the formulas of local_ncp.c with all tangential rows in the
// eigenvectors of the Schur complement S = D_tt - D_tn D_nt/D_nn.
#include <float.h>
#include <math.h>

#include "contact/cone.h"
#include "solvers/ncp/local_ncp.h"

enum { TANGENTS = SAP_CONE_ROWS_MAX - 1 };

typedef struct wide_slide {
  int32_t m;  // tangential rows
  double c[TANGENTS], coupling[TANGENTS], s[TANGENTS];
  double V[TANGENTS * TANGENTS];  // eigenvectors, columns
  double D_nn, b_n, mu;
} wide_slide;

static int32_t tangent(int32_t i) {
  return i < SAP_NORMAL_ROW ? i : i + 1;
}

static void make_slide(const double* D, const double* b, int32_t n, double mu, wide_slide* f) {
  const int32_t m = n - 1;
  double S[TANGENTS * TANGENTS], c[TANGENTS];
  const double* column = D + SAP_NORMAL_ROW * n;
  *f = (wide_slide){.m = m, .D_nn = column[SAP_NORMAL_ROW], .b_n = b[SAP_NORMAL_ROW], .mu = mu};
  for (int32_t j = 0; j < m; ++j) {
    const double ratio = column[tangent(j)] / f->D_nn;
    c[j] = b[tangent(j)] - ratio * f->b_n;
    for (int32_t i = 0; i < m; ++i) {
      S[j * m + i] = D[tangent(j) * n + tangent(i)] - ratio * column[tangent(i)];
    }
  }
  sap_eigen_small(S, m, f->V);
  for (int32_t k = 0; k < m; ++k) {
    f->s[k] = fmax(S[k * (m + 1)], 0.0);
    for (int32_t i = 0; i < m; ++i) {
      f->c[k] += f->V[k * m + i] * c[i];
      f->coupling[k] += f->V[k * m + i] * column[tangent(i)];
    }
  }
}

// gamma_t(lambda) along the eigenvectors, gamma_n; returns h = |gamma_t| - mu gamma_n.
static double evaluate(const wide_slide* f, double lambda, double* local, double* normal) {
  double size_2 = 0.0, push = -f->b_n;
  for (int32_t k = 0; k < f->m; ++k) {
    local[k] = f->s[k] + lambda > 0.0 ? -f->c[k] / (f->s[k] + lambda) : 0.0;
    size_2 += local[k] * local[k];
    push -= f->coupling[k] * local[k];
  }
  *normal = push / f->D_nn;
  return sqrt(size_2) - f->mu * *normal;
}

// Root of h by bisection, to the precision of lambda.
static void solve_slide(const wide_slide* f, double* local, double* normal) {
  enum { MAXIMUM = 200 };
  double low = 0.0, high = 1.0;
  for (int32_t k = 0; k < f->m; ++k) {
    high = fmax(high, f->s[k]);
  }
  double h = evaluate(f, high, local, normal);
  for (int i = 0; i < MAXIMUM && h > 0.0; ++i) {
    low = high;
    high *= 4.0;
    h = evaluate(f, high, local, normal);
  }
  for (int i = 0; i < MAXIMUM && high - low > 2.0 * DBL_EPSILON * high; ++i) {
    const double middle = 0.5 * (low + high);
    h = evaluate(f, middle, local, normal);
    if (h == 0.0) {
      break;
    }
    low = h > 0.0 ? middle : low;
    high = h > 0.0 ? high : middle;
  }
}

void sap_local_ncp_wide(const double* D, const double* b, int32_t n, double mu, double* gamma) {
  const double D_nn = D[SAP_NORMAL_ROW * (n + 1)];
  for (int32_t i = 0; i < n; ++i) {
    gamma[i] = 0.0;
  }
  if (b[SAP_NORMAL_ROW] >= 0.0 || !(D_nn > 0.0)) {
    return;
  }
  if (mu == 0.0) {
    gamma[SAP_NORMAL_ROW] = -b[SAP_NORMAL_ROW] / D_nn;
    return;
  }
  wide_slide f;
  make_slide(D, b, n, mu, &f);
  double local[TANGENTS], normal, least = f.s[0];
  for (int32_t k = 1; k < f.m; ++k) {
    least = fmin(least, f.s[k] > 0.0 || f.c[k] != 0.0 ? f.s[k] : least);
  }
  if (!(least > 0.0) || evaluate(&f, 0.0, local, &normal) > 0.0) {
    solve_slide(&f, local, &normal);
  }
  gamma[SAP_NORMAL_ROW] = fmax(normal, 0.0);
  for (int32_t i = 0; i < f.m; ++i) {
    for (int32_t k = 0; k < f.m; ++k) {
      gamma[tangent(i)] += f.V[k * f.m + i] * local[k];
    }
  }
}

void sap_project_ncp_wide(const sap_delassus_item* item, const double* z, const double* g,
                          double* next) {
  const int32_t n = item->nrows;
  const double* D = item->diagonal;
  const double D_nn = D[SAP_NORMAL_ROW * (n + 1)];
  const double normal =
      D_nn > 0.0 ? fmax(0.0, z[SAP_NORMAL_ROW] - g[SAP_NORMAL_ROW] / D_nn) : z[SAP_NORMAL_ROW];
  const double change = normal - z[SAP_NORMAL_ROW];
  double tangents[TANGENTS * TANGENTS] = {0.0}, x[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t j = 0; j < n - 1; ++j) {
    for (int32_t i = 0; i < n - 1; ++i) {
      tangents[j * (n - 1) + i] = D[tangent(j) * n + tangent(i)];
    }
  }
  const double top = sap_largest_eigenvalue(tangents, n - 1);
  for (int32_t i = 0; i < n; ++i) {
    const double slip = g[i] + D[SAP_NORMAL_ROW * n + i] * change;
    x[i] = z[i] - (top > 0.0 ? slip / top : slip);
  }
  const double length = sqrt(sap_cone_n_dot(n, x, x)), limit = item->mu * normal;
  const double shrink = length > limit ? limit / length : 1.0;
  for (int32_t i = 0; i < n; ++i) {
    next[i] = shrink * x[i];
  }
  next[SAP_NORMAL_ROW] = normal;
}
