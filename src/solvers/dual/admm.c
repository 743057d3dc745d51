// SPDX-License-Identifier: BSD-3-Clause
// Proximal ADMM in scaled impulses.                                            tsounis Alg. 6
//   x = -(D + (eta + rho) I)^-1 (q + s - eta x- - rho y- - w-),   s = mu |w-_t| n for the NCP
//   y = P(x^ - w-/rho),  w = w- + rho (y - x^),   x^ = omega x + (1 - omega) y-
// rho fixed, or changed where |x - y| and |eta (x - x-) + rho (y - y-)| differ tenfold, by 1.5
// (171) or by a power of the condition number (172).
// cost: two triangular solves with a dense factor per iteration, a factorization per change of rho.
// An unsymmetric D (only of a problem that gives A^-1) has its symmetric part factorized.
#include "solvers/dual/admm.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "linalg/dense.h"

static const double ETA = 1e-6;            // proximal weight; the smallest eigenvalue may be 0
static const double IMBALANCE = 10.0;      // ratio of residuals that changes rho
static const double LINEAR_FACTOR = 1.5;   // (171)
static const double SPECTRAL_START = 0.2;  // exponents of (172)
static const double SPECTRAL_POWER = 0.05;
enum { ADAPT_EVERY = 10 };  // iterations: a change costs a factorization

typedef struct admm {
  double *D, *factor;                   // (n n)
  double *x, *y, *w, *x_last, *y_last;  // (n)
  double rho, change;
} admm;

static sap_status factorize(sap_dual* d, admm* a, sap_error* error) {
  const size_t n = (size_t)d->op.n;
  memcpy(a->factor, a->D, n * n * sizeof(double));
  for (size_t j = 0; j < n && d->op.mobility; ++j) {
    for (size_t i = j + 1; i < n; ++i) {
      a->factor[j * n + i] = 0.5 * (a->D[j * n + i] + a->D[i * n + j]);
    }
  }
  d->factorizations += 1;
  return sap_delassus_factorize(a->factor, d->op.n, a->rho + ETA)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_NOT_SPD, "D + %g I is not positive definite",
                        a->rho + ETA);
}

static sap_status start(sap_dual* d, admm* a, sap_error* error) {
  const int64_t n = d->op.n;
  sap_status status = sap_dual_reals(d, 2 * n * n + 5 * n, &a->D, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  a->factor = a->D + n * n;
  a->x = a->factor + n * n;
  a->y = a->x + n;
  a->w = a->y + n;
  a->x_last = a->w + n;
  a->y_last = a->x_last + n;
  const double L = fmax(sap_delassus_largest_eigenvalue(&d->op, a->x), ETA);
  const double kappa = L / ETA;
  const bool spectral = d->options->penalty == SAP_PENALTY_SPECTRAL;
  a->rho = d->options->penalty_value > 0.0 ? d->options->penalty_value
           : spectral                      ? sqrt(L * ETA) * pow(kappa, SPECTRAL_START)
                                           : 1.0;
  a->change = spectral ? pow(kappa, SPECTRAL_POWER) : LINEAR_FACTOR;
  sap_delassus_dense(&d->op, a->D);
  memcpy(a->x, d->z, (size_t)n * sizeof(double));
  memcpy(a->y, d->z, (size_t)n * sizeof(double));
  return factorize(d, a, error);
}

// Multipliers of the guess: g where it lets go, the part that the set holds back.
static void start_multipliers(sap_dual* d, admm* a) {
  sap_dual_project_all(d, d->z, a->w);
  for (int32_t i = 0; i < d->op.n; ++i) {
    a->w[i] = d->z[i] - d->g[i];
  }
  sap_dual_project_all(d, a->w, a->x_last);
  for (int32_t i = 0; i < d->op.n; ++i) {
    a->w[i] = a->x_last[i] - a->w[i];
  }
}

static void iterate(sap_dual* d, admm* a) {
  const int32_t n = d->op.n;
  const double omega = d->options->over_relaxation;
  memcpy(a->x_last, a->x, (size_t)n * sizeof(double));
  memcpy(a->y_last, a->y, (size_t)n * sizeof(double));
  for (int32_t i = 0; i < n; ++i) {
    a->x[i] = ETA * a->x_last[i] + a->rho * a->y[i] + a->w[i] - d->op.q[i];
  }
  if (d->op.mobility) {  // what the factor of the symmetric part leaves out, one iteration late
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, -0.5, a->D, n, a->x_last, 1, 1.0, a->x, 1);
    cblas_dgemv(CblasColMajor, CblasTrans, n, n, 0.5, a->D, n, a->x_last, 1, 1.0, a->x, 1);
  }
  for (int32_t k = 0; d->ncp && k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    if (item->is_cone) {
      const double* w = a->w + item->first;
      a->x[item->first + SAP_NORMAL_ROW] -= item->mu * sqrt(sap_cone_n_dot(item->nrows, w, w));
    }
  }
  sap_dense_factor_solve(n, a->factor, a->x);
  for (int32_t i = 0; i < n; ++i) {
    const double relaxed = omega * a->x[i] + (1.0 - omega) * a->y_last[i];
    a->w[i] -= a->rho * relaxed;
    a->y[i] = -a->w[i] / a->rho;
  }
  sap_dual_project_all(d, a->y, a->y);
  cblas_daxpy(n, a->rho, a->y, 1, a->w, 1);
  memcpy(d->z, a->y, (size_t)n * sizeof(double));
}

static sap_status adapt(sap_dual* d, admm* a, sap_error* error) {
  double primal_2 = 0.0, dual_2 = 0.0;
  if (d->options->penalty == SAP_PENALTY_FIXED || d->iterations % ADAPT_EVERY != 0) {
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < d->op.n; ++i) {
    const double primal = a->x[i] - a->y[i];
    const double dual = ETA * (a->x[i] - a->x_last[i]) + a->rho * (a->y[i] - a->y_last[i]);
    primal_2 += primal * primal;
    dual_2 += dual * dual;
  }
  const double threshold = IMBALANCE * IMBALANCE;
  if (primal_2 > threshold * dual_2) {
    a->rho *= a->change;
  } else if (dual_2 > threshold * primal_2) {
    a->rho /= a->change;
  } else {
    return SAP_STATUS_OK;
  }
  return factorize(d, a, error);
}

static sap_status run_admm(sap_dual* d, sap_error* error) {
  admm a;
  sap_status status = start(d, &a, error);
  while (status == SAP_STATUS_OK) {
    bool done = false;
    status = sap_dual_check(d, d->options->max_sweeps, d->iterations > 0 ? 1.0 : 0.0, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    if (d->iterations == 0) {
      start_multipliers(d, &a);
    }
    iterate(d, &a);
    d->iterations += 1;
    status = adapt(d, &a, error);
  }
  return status;
}

SAP_DUAL_ROW(sap_admm_ccp_solve, false, run_admm)
SAP_DUAL_ROW(sap_admm_ncp_solve, true, run_admm)
