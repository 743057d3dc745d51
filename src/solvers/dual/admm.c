// SPDX-License-Identifier: BSD-3-Clause
// Methods with a fixed factor of D + shift I: ADMM for CCP and NCP, proximal point for bilateral
// rows.
#include "solvers/dual/dual.h"

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

// Factorizes the symmetric part of D + (rho + eta) I. Only the D of a problem that stores A^-1 is
// unsymmetric.
static sap_status factorize(sap_admm* a, sap_dual* d) {
  const size_t n = (size_t)a->n;
  memcpy(a->factor, a->D, n * n * sizeof(double));
  for (size_t j = 0; j < n && d->op.mobility; ++j) {
    for (size_t i = j + 1; i < n; ++i) {
      a->factor[j * n + i] = 0.5 * (a->D[j * n + i] + a->D[i * n + j]);
    }
  }
  d->factorizations += 1;
  return sap_delassus_factorize(a->factor, a->n, a->rho + ETA)
             ? SAP_STATUS_OK
             : sap_fail(d->error, SAP_STATUS_NOT_SPD, "D + %g I is not positive definite",
                        a->rho + ETA);
}

sap_status sap_admm_begin(sap_admm* a, sap_dual* d, double largest) {
  const double L = fmax(largest, ETA), kappa = L / ETA;
  const bool spectral = d->options->penalty == SAP_PENALTY_SPECTRAL;
  a->rho = d->options->penalty_value > 0.0 ? d->options->penalty_value
           : spectral                      ? sqrt(L * ETA) * pow(kappa, SPECTRAL_START)
                                           : 1.0;
  a->change = spectral ? pow(kappa, SPECTRAL_POWER) : LINEAR_FACTOR;
  return a->n > 0 ? factorize(a, d) : SAP_STATUS_OK;
}

void sap_admm_iterate(sap_admm* a, double omega, const sap_admm_set* set) {
  const size_t size = (size_t)a->n * sizeof(double);
  a->primal_2 = a->dual_2 = 0.0;
  memcpy(a->x_last, a->x, size);
  memcpy(a->y_last, a->y, size);
  for (int32_t i = 0; i < a->n; ++i) {
    a->x[i] = ETA * a->x_last[i] + a->rho * a->y[i] + a->w[i] - a->q[i];
  }
  if (set->add_terms != NULL) {
    set->add_terms(set->context, a);
  }
  sap_dense_factor_solve(a->n, a->factor, a->x);
  for (int32_t i = 0; i < a->n; ++i) {
    const double relaxed = omega * a->x[i] + (1.0 - omega) * a->y_last[i];
    a->w[i] -= a->rho * relaxed;
    a->y[i] = -a->w[i] / a->rho;
  }
  set->project(set->context, a->y);
  cblas_daxpy(a->n, a->rho, a->y, 1, a->w, 1);
  for (int32_t i = 0; i < a->n; ++i) {
    const double primal = a->x[i] - a->y[i];
    const double dual = ETA * (a->x[i] - a->x_last[i]) + a->rho * (a->y[i] - a->y_last[i]);
    a->primal_2 += primal * primal;
    a->dual_2 += dual * dual;
  }
}

sap_status sap_admm_adapt(sap_admm* a, sap_dual* d, int32_t iteration) {
  const double threshold = IMBALANCE * IMBALANCE;
  const bool rises = a->primal_2 > threshold * a->dual_2;
  const bool falls = a->dual_2 > threshold * a->primal_2;
  if (d->options->penalty == SAP_PENALTY_FIXED || iteration % ADAPT_EVERY != 0 ||
      !(rises || falls)) {
    return SAP_STATUS_OK;
  }
  a->rho = rises ? a->rho * a->change : a->rho / a->change;
  return factorize(a, d);
}

static void project_items(const void* context, double* y) {
  sap_dual_project_all(context, y, y);
}

// Multipliers of the guess: w = P(z - g) - (z - g), the part of z - g outside the set.
static void start_multipliers(const sap_dual* d, sap_admm* a) {
  for (int32_t i = 0; i < a->n; ++i) {
    a->w[i] = d->z[i] - d->g[i];
  }
  sap_dual_project_all(d, a->w, a->x_last);
  for (int32_t i = 0; i < a->n; ++i) {
    a->w[i] = a->x_last[i] - a->w[i];
  }
}

// Adds to the right-hand side: D's skew part, one iteration late, and for the NCP De Saxce's shift,
//   -(mu |w_t|) n
static void add_explicit_terms(const void* context, sap_admm* a) {
  const sap_dual* d = context;
  const int32_t n = a->n;
  if (d->op.mobility) {
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
}

sap_status sap_admm_solve(sap_dual* d) {
  const size_t size = (size_t)d->op.n * sizeof(double);
  const sap_admm_set set = {project_items, add_explicit_terms, d};
  sap_admm a = {.n = d->op.n};
  SAP_TRY(SAP_CARVE(&d->pool, &d->work, d->error, SAP_ADMM_ARRAYS(&a)));
  sap_delassus_dense(&d->op, a.D);
  memcpy(a.q, d->op.q, size);
  const double largest = sap_delassus_largest_eigenvalue(&d->op, a.x);
  memcpy(a.x, d->z, size);
  memcpy(a.y, d->z, size);
  SAP_TRY(sap_admm_begin(&a, d, largest));
  while (sap_dual_continues(d, d->options->max_sweeps, 1.0)) {
    if (d->iterations == 0) {
      start_multipliers(d, &a);
    }
    sap_admm_iterate(&a, d->options->over_relaxation, &set);
    memcpy(d->z, a.y, size);
    d->iterations += 1;
    SAP_TRY(sap_admm_adapt(&a, d, d->iterations));
  }
  return d->status;
}

// Proximal point on bilateral rows.                          carpentier; tsounis Sec. VI-B
//   (D + eps I) z+ = eps z - q,  as  z+ = z - (D + eps I)^-1 g
// With redundant rows D is singular: finds the least change of z that satisfies the rows as well as
// possible.
// cost: one sparse factorization; a product with D and two triangular solves per iteration.
sap_status sap_proximal(sap_dual* d) {
  static const double EPSILON = 1e-6;  // relative to the largest eigenvalue of a row, 1
  SAP_TRY(sap_delassus_sparse_assemble(&d->sparse, &d->op, d->error));
  d->factorizations += 1;
  SAP_TRY(sap_delassus_sparse_factorize(&d->sparse, EPSILON, d->error));
  while (sap_dual_continues(d, d->options->max_iterations, 1.0)) {
    sap_cholesky_solve(d->sparse.cholesky, d->g);
    cblas_daxpy(d->op.n, -1.0, d->g, 1, d->z, 1);
    d->iterations += 1;
  }
  return d->status;
}
