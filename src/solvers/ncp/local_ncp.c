// SPDX-License-Identifier: BSD-3-Clause
// One contact of the NCP exactly, and the Gauss-Seidel solvers built on single contacts.
//   open      b_n >= 0: gamma = 0
//   sticking  gamma = -D^-1 b inside the cone
//   sliding   g_n = 0, g_t = -lambda gamma_t, |gamma_t| = mu gamma_n. With the Schur complement
//               S = D_tt - D_tn D_nt/D_nn
//               c = b_t - D_tn b_n/D_nn:
//               gamma_t(lambda) = -(S + lambda I)^-1 c
//               gamma_n(lambda) = (-b_n - D_nt gamma_t)/D_nn
//               h(lambda)       = |gamma_t| - mu gamma_n = 0
// h > 0 at lambda = 0 (not sticking) and h < 0 at infinity: a root can be bracketed. Cleared of
// roots and denominators h = 0 is the quartic of Bonnefon, Daviet (2011). In the eigenvectors of S
// gamma_t costs one division per row.
#include "solvers/dual/dual.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"

enum { TANGENTS = SAP_CONE_ROWS_MAX - 1 };

// A sliding contact in the eigenvectors of S.
typedef struct slide {
  int32_t m;                                            // tangential rows
  double c[TANGENTS], coupling[TANGENTS], s[TANGENTS];  // c, D_nt and eigenvalues
  double V[TANGENTS * TANGENTS];                        // eigenvectors, columns
  double D_nn, b_n, mu;
} slide;

// Returns the row of the i-th tangent.
static int32_t tangent(int32_t i) {
  return i < SAP_NORMAL_ROW ? i : i + 1;
}

static void make_slide(const double* D, const double* b, int32_t n, double mu, slide* f) {
  const int32_t m = n - 1;
  double S[TANGENTS * TANGENTS], c[TANGENTS], D_nt[TANGENTS];
  *f = (slide){.m = m, .D_nn = D[SAP_NORMAL_ROW * (n + 1)], .b_n = b[SAP_NORMAL_ROW], .mu = mu};
  const double inverse = 1.0 / f->D_nn;
  for (int32_t j = 0; j < m; ++j) {
    D_nt[j] = D[tangent(j) * n + SAP_NORMAL_ROW];
    c[j] = b[tangent(j)] - D_nt[j] * f->b_n * inverse;
  }
  for (int32_t j = 0; j < m; ++j) {
    for (int32_t i = 0; i < m; ++i) {
      S[j * m + i] = D[tangent(j) * n + tangent(i)] - D_nt[j] * D_nt[i] * inverse;
    }
  }
  sap_eigen_small(S, m, f->V);
  for (int32_t k = 0; k < m; ++k) {
    f->s[k] = fmax(S[k * (m + 1)], 0.0);
    for (int32_t i = 0; i < m; ++i) {
      f->c[k] += f->V[k * m + i] * c[i];
      f->coupling[k] += f->V[k * m + i] * D_nt[i];
    }
  }
}

// Computes gamma_t(lambda) along the eigenvectors and gamma_n; returns h.
static double evaluate_slide(const slide* f, double lambda, double* local, double* normal) {
  double size_2 = 0.0, push = -f->b_n;
  for (int32_t k = 0; k < f->m; ++k) {
    local[k] = f->s[k] + lambda > 0.0 ? -f->c[k] / (f->s[k] + lambda) : 0.0;
    size_2 += local[k] * local[k];
    push -= f->coupling[k] * local[k];
  }
  *normal = push / f->D_nn;
  return sqrt(size_2) - f->mu * *normal;
}

// Finds the root of h by false position (Illinois) and bisection, to the precision of lambda.
static void solve_slide(const slide* f, double* local, double* normal) {
  enum { MAXIMUM = 200, BISECT_EVERY = 8 };
  double low = 0.0, high = 0.0;
  for (int32_t k = 0; k < f->m; ++k) {
    high = fmax(high, f->s[k]);
  }
  high = high > 0.0 ? high : 1.0;
  double h_low = evaluate_slide(f, low, local, normal);
  double h_high = evaluate_slide(f, high, local, normal);
  for (int i = 0; i < MAXIMUM && h_high > 0.0; ++i) {
    low = high;
    h_low = h_high;
    high *= 4.0;
    h_high = evaluate_slide(f, high, local, normal);
  }
  int side = 0;
  for (int i = 0; i < MAXIMUM && high - low > 2.0 * DBL_EPSILON * high; ++i) {
    double middle = (low * h_high - high * h_low) / (h_high - h_low);
    if (!(middle > low && middle < high) || i % BISECT_EVERY == BISECT_EVERY - 1) {
      middle = 0.5 * (low + high);
    }
    const double h = evaluate_slide(f, middle, local, normal);
    if (h == 0.0) {
      break;
    }
    if (h > 0.0) {
      low = middle;
      h_low = h;
      h_high = side == 1 ? 0.5 * h_high : h_high;
      side = 1;
    } else {
      high = middle;
      h_high = h;
      h_low = side == -1 ? 0.5 * h_low : h_low;
      side = -1;
    }
  }
}

void sap_local_ncp_solve(const double* D, const double* b, int32_t n, double mu, double* gamma) {
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
  slide f;
  make_slide(D, b, n, mu, &f);
  double local[TANGENTS], normal = 0.0, least = f.s[0];
  for (int32_t k = 1; k < f.m; ++k) {
    least = fmin(least, f.s[k] > 0.0 || f.c[k] != 0.0 ? f.s[k] : least);
  }
  if (!(least > 0.0) || evaluate_slide(&f, 0.0, local, &normal) > 0.0) {
    solve_slide(&f, local, &normal);
  }
  gamma[SAP_NORMAL_ROW] = fmax(normal, 0.0);
  for (int32_t i = 0; i < f.m; ++i) {
    for (int32_t k = 0; k < f.m; ++k) {
      gamma[tangent(i)] += f.V[k * f.m + i] * local[k];
    }
  }
}

// The smallest entry, as in Alg. 6, cycles when D_tt is anisotropic.
double sap_tangent_eigenvalue(const double* D, int32_t n) {
  if (n == 3) {
    return 0.5 * (D[0] + D[4]) + hypot(0.5 * (D[0] - D[4]), D[1]);
  }
  double tangents[TANGENTS * TANGENTS] = {0.0};
  for (int32_t j = 0; j < n - 1; ++j) {
    for (int32_t i = 0; i < n - 1; ++i) {
      tangents[j * (n - 1) + i] = D[tangent(j) * n + tangent(i)];
    }
  }
  return sap_largest_eigenvalue(tangents, n - 1);
}

void sap_local_ncp_project(const sap_dual* d, const sap_delassus_item* item, const double* z,
                           const double* g, double* next) {
  (void)d;
  const int32_t n = item->nrows;
  const double* D = item->diagonal;
  const double D_nn = D[SAP_NORMAL_ROW * (n + 1)], zn = z[SAP_NORMAL_ROW];
  const double normal = D_nn > 0.0 ? fmax(0.0, zn - g[SAP_NORMAL_ROW] / D_nn) : zn;
  const double top = sap_tangent_eigenvalue(D, n);
  const double step = top > 0.0 ? 1.0 / top : 1.0, change = normal - zn;
  double x[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    x[i] = z[i] - step * (g[i] + D[i * n + SAP_NORMAL_ROW] * change);
  }
  sap_dual_project_disk(n, item->mu * normal, x, next);
  next[SAP_NORMAL_ROW] = normal;
}

void sap_split_project(const sap_delassus_item* item, const double* p, double* z) {
  if (!item->is_cone) {
    sap_dual_project(item, p, z);
    return;
  }
  const double normal = p[SAP_NORMAL_ROW] > 0.0 ? p[SAP_NORMAL_ROW] : 0.0;
  sap_dual_project_disk(item->nrows, item->mu * normal, p, z);
  z[SAP_NORMAL_ROW] = normal;
}

sap_region sap_split_region(const sap_delassus_item* item, const double* p) {
  if (!item->is_cone) {
    return p[0] > item->lower && p[0] < item->upper ? SAP_REGION_STICK : SAP_REGION_OFF;
  }
  const double normal = p[SAP_NORMAL_ROW];
  const bool slips = sqrt(sap_cone_n_dot(item->nrows, p, p)) >= item->mu * normal;
  return !(normal > 0.0) ? SAP_REGION_OFF : slips ? SAP_REGION_SLIP : SAP_REGION_STICK;
}

// Slipping: z_t = mu p_n t,  dz_t/dp_t = mu p_n/|p_t| (I - t t'),  dz_t/dp_n = mu t.
void sap_split_jacobian(const sap_delassus_item* item, const double* p, sap_region region,
                        double* T) {
  const int32_t n = item->nrows;
  double t[SAP_CONE_ROWS_MAX] = {0.0};
  sap_cone_n_parts parts = {.along = 1.0, .across = 1.0, .nn = 1.0};
  if (region == SAP_REGION_OFF || !item->is_cone) {
    memset(T, 0, (size_t)(n * n) * sizeof(double));
    T[0] = region == SAP_REGION_OFF ? 0.0 : 1.0;
    return;
  }
  const double length = sqrt(sap_cone_n_dot(n, p, p));
  const bool slips = region == SAP_REGION_SLIP && length > 0.0;
  if (slips) {
    parts.along = 0.0;
    parts.across = item->mu * fmax(p[SAP_NORMAL_ROW], 0.0) / length;
  }
  for (int32_t i = 0; slips && i < n; ++i) {
    t[i] = p[i] / length;
  }
  sap_cone_n_fill(n, &parts, t, T);
  for (int32_t i = 0; i < n; ++i) {  // unsymmetric: z_n does not depend on the tangents
    T[SAP_NORMAL_ROW * n + i] = i == SAP_NORMAL_ROW ? 1.0 : item->mu * t[i];
  }
}

static void exact_rule(const sap_dual* d, const sap_delassus_item* item, const double* z,
                       const double* g, double* next) {
  (void)d;
  const int32_t n = item->nrows;
  double b[SAP_CONE_ROWS_MAX];
  for (int32_t i = 0; i < n; ++i) {
    b[i] = g[i];
    for (int32_t j = 0; j < n; ++j) {
      b[i] -= item->diagonal[n * j + i] * z[j];
    }
  }
  sap_local_ncp_solve(item->diagonal, b, n, item->mu, next);
}

sap_status sap_nbgs(sap_dual* d) {
  return sap_gauss_seidel(d, exact_rule, 0.0);
}

sap_status sap_pgs_ncp(sap_dual* d) {
  return sap_gauss_seidel(d, sap_local_ncp_project, 0.0);
}

void sap_nbgs_sweeps(sap_dual* d, int32_t count) {
  sap_delassus_velocity(&d->op, d->z, d->v);
  for (int32_t i = 0; i < count; ++i) {
    (void)sap_gauss_seidel_sweep(d, exact_rule);
  }
  sap_dual_evaluate(d);
}
