// SPDX-License-Identifier: BSD-3-Clause
// One contact of the NCP exactly, and the Gauss-Seidel solvers built on single contacts.
//   open      b_n >= 0: gamma = 0
//   sticking  gamma = -D^-1 b inside the cone
//   sliding   g_n = 0, g_t = -lambda gamma_t, |gamma_t| = mu gamma_n: with the Schur complement
//             S = D_tt - D_tn D_nt/D_nn,  c = b_t - D_tn b_n/D_nn:
//             gamma_t(lambda) = -(S + lambda I)^-1 c,  gamma_n = (-b_n - D_nt gamma_t)/D_nn
//   h(lambda) = |gamma_t| - mu gamma_n is > 0 at 0 (not sticking) and < 0 at infinity, so that a
//   root can be bracketed; cleared of roots and denominators it is the quartic of Bonnefon, Daviet
//   (2011). In the eigenvectors of S, gamma_t costs two divisions.
#include "solvers/ncp/local_ncp.h"

#include <float.h>
#include <math.h>

#include "contact/cone.h"
#include "solvers/dual/gauss_seidel.h"

// Eigenvectors of the 2x2 Schur complement, and b's parts in them.
typedef struct slide {
  double c[2], coupling[2], s[2];  // c, D_nt and eigenvalues along the eigenvectors
  double cosine, sine;
  double D_nn, b_n, mu;
} slide;

static slide make_slide(const double D[9], const double b[3], double mu) {
  const double inverse = 1.0 / D[8];
  const double a00 = D[0] - D[2] * D[2] * inverse, a11 = D[4] - D[5] * D[5] * inverse;
  const double a01 = D[1] - D[2] * D[5] * inverse;
  const double c0 = b[0] - D[2] * b[2] * inverse, c1 = b[1] - D[5] * b[2] * inverse;
  const double angle = 0.5 * atan2(2.0 * a01, a00 - a11);
  const double cosine = cos(angle), sine = sin(angle);
  const double mean = 0.5 * (a00 + a11);
  const double radius = hypot(0.5 * (a00 - a11), a01);
  return (slide){.c = {cosine * c0 + sine * c1, cosine * c1 - sine * c0},
                 .coupling = {cosine * D[2] + sine * D[5], cosine * D[5] - sine * D[2]},
                 .s = {mean + radius, fmax(mean - radius, 0.0)},
                 .cosine = cosine,
                 .sine = sine,
                 .D_nn = D[8],
                 .b_n = b[2],
                 .mu = mu};
}

// gamma_t along the eigenvectors and gamma_n; returns h. lambda = mean scale times t/(1 - t).
static double evaluate(const slide* f, double lambda, double gamma[3]) {
  gamma[0] = -f->c[0] / (f->s[0] + lambda);
  gamma[1] = f->s[1] + lambda > 0.0 ? -f->c[1] / (f->s[1] + lambda) : 0.0;
  gamma[2] = (-f->b_n - f->coupling[0] * gamma[0] - f->coupling[1] * gamma[1]) / f->D_nn;
  return sqrt(gamma[0] * gamma[0] + gamma[1] * gamma[1]) - f->mu * gamma[2];
}

// Root of h by bisection with the false position of Illinois, to the precision of lambda.
static void solve_slide(const slide* f, double gamma[3]) {
  enum { MAXIMUM = 200 };
  double low = 0.0, high = f->s[0] > 0.0 ? f->s[0] : 1.0;
  double h_low = evaluate(f, low, gamma), h_high = evaluate(f, high, gamma);
  for (int i = 0; i < MAXIMUM && h_high > 0.0; ++i) {
    low = high;
    h_low = h_high;
    high *= 4.0;
    h_high = evaluate(f, high, gamma);
  }
  int side = 0;
  for (int i = 0; i < MAXIMUM && high - low > 2.0 * DBL_EPSILON * high; ++i) {
    double middle = (low * h_high - high * h_low) / (h_high - h_low);
    if (!(middle > low && middle < high) || i % 8 == 7) {
      middle = 0.5 * (low + high);
    }
    const double h = evaluate(f, middle, gamma);
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

// Exact Coulomb contact alone, of 3 rows. Sticking is tried first: -D^-1 b by elimination of the
// normal, then of the first eigenvector.
static void solve_three(const double D[9], const double b[3], double mu, double gamma[3]) {
  gamma[0] = gamma[1] = gamma[2] = 0.0;
  if (b[2] >= 0.0 || !(D[8] > 0.0)) {
    return;
  }
  if (mu == 0.0) {
    gamma[2] = -b[2] / D[8];
    return;
  }
  const slide f = make_slide(D, b, mu);
  double local[3];
  if (f.s[1] > 0.0 && evaluate(&f, 0.0, local) <= 0.0) {
    gamma[2] = local[2];
  } else {
    solve_slide(&f, local);
    gamma[2] = fmax(local[2], 0.0);
  }
  gamma[0] = f.cosine * local[0] - f.sine * local[1];
  gamma[1] = f.sine * local[0] + f.cosine * local[1];
}

static void exact_rule(const sap_dual* d, const sap_delassus_item* item, const double* z,
                       const double* g, double* next) {
  (void)d;
  const double* D = item->diagonal;
  const int32_t n = item->nrows;
  double b[SAP_CONE_ROWS_MAX];
  for (int32_t i = 0; i < n; ++i) {
    b[i] = g[i];
    for (int32_t j = 0; j < n; ++j) {
      b[i] -= D[n * j + i] * z[j];
    }
  }
  if (n == 3) {
    solve_three(D, b, item->mu, next);
  } else {
    sap_local_ncp_wide(D, b, n, item->mu, next);
  }
}

// Normal first, then the tangents against the new disk.                           lelidec Alg. 6
static void projection_rule(const sap_dual* d, const sap_delassus_item* item, const double* z,
                            const double* g, double* next) {
  (void)d;
  const double* D = item->diagonal;
  if (item->nrows > 3) {
    sap_project_ncp_wide(item, z, g, next);
    return;
  }
  const double normal = D[8] > 0.0 ? fmax(0.0, z[2] - g[2] / D[8]) : z[2];
  const double change = normal - z[2];
  const double g0 = g[0] + D[2] * change, g1 = g[1] + D[5] * change;
  // the largest eigenvalue: the smallest entry, as in Alg. 6, cycles when D_tt is anisotropic
  const double top = 0.5 * (D[0] + D[4]) + hypot(0.5 * (D[0] - D[4]), D[1]);
  const double step = top > 0.0 ? 1.0 / top : 1.0;
  const double x0 = z[0] - step * g0, x1 = z[1] - step * g1;
  const double length = sqrt(x0 * x0 + x1 * x1), limit = item->mu * normal;
  const double shrink = length > limit ? limit / length : 1.0;
  next[0] = shrink * x0;
  next[1] = shrink * x1;
  next[2] = normal;
}

static sap_status nbgs(sap_dual* d, sap_error* error) {
  return sap_gauss_seidel(d, exact_rule, error);
}

static sap_status pgs_ncp(sap_dual* d, sap_error* error) {
  return sap_gauss_seidel(d, projection_rule, error);
}

void sap_nbgs_sweeps(sap_dual* d, int32_t count) {
  sap_delassus_velocity(&d->op, d->z, d->v);
  for (int32_t i = 0; i < count; ++i) {
    (void)sap_gauss_seidel_sweep(d, exact_rule);
  }
  sap_delassus_velocity(&d->op, d->z, d->v);
  sap_delassus_gradient(&d->op, d->v, d->z, d->g);
}

SAP_DUAL_ROW(sap_nbgs_solve, true, nbgs)
SAP_DUAL_ROW(sap_pgs_ncp_solve, true, pgs_ncp)
