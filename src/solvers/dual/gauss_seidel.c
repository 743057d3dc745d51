// SPDX-License-Identifier: BSD-3-Clause
// Projected Gauss-Seidel, matrix-free: v = v* + Y z is kept up to date, so that an item costs two
// products with its own rows.                                            lelidec Alg. 2, tsounis
// Alg. 5 fails: with R = 0 and redundant contacts, or large mass ratios, it converges slowly or not
// at all.
#include "solvers/dual/gauss_seidel.h"

#include <float.h>
#include <math.h>

// Exact minimum of a scalar row, then the interval. D_ii is 1 after scaling, or 0.
static void solve_row(const sap_delassus_item* item, const double* z, const double* g,
                      double* next) {
  const double x = z[0] - g[0];
  sap_dual_project(item, &x, next);
}

// g . change + 1/2 change' D_ii change
static double cost_change(const sap_delassus_item* item, const double* g, const double* change) {
  const int32_t n = item->nrows;
  double sum = 0.0;
  for (int32_t c = 0; c < n; ++c) {
    double slope = g[c];
    for (int32_t r = 0; r < n; ++r) {
      slope += 0.5 * item->diagonal[c * n + r] * change[r];
    }
    sum += slope * change[c];
  }
  return sum;
}

double sap_gauss_seidel_sweep(sap_dual* d, sap_local_rule rule) {
  const sap_delassus* op = &d->op;
  const double omega = d->options->over_relaxation;
  double change_2 = 0.0, gamma_2 = 0.0, rise = 0.0;
  for (int32_t k = 0; k < op->nitems; ++k) {
    const sap_delassus_item* item = &op->items[k];
    double* z = d->z + item->first;
    double g[SAP_EIGEN_MAX], next[SAP_EIGEN_MAX], change[SAP_EIGEN_MAX];
    sap_delassus_item_velocity(op, item, d->v, g);
    for (int32_t r = 0; r < item->nrows; ++r) {
      g[r] += op->R[item->first + r] * z[r] - op->v_hat[item->first + r];
    }
    if (item->is_cone) {
      rule(d, item, z, g, next);
    } else {
      solve_row(item, z, g, next);
    }
    for (int32_t r = 0; r < item->nrows; ++r) {
      next[r] = z[r] + omega * (next[r] - z[r]);
    }
    if (omega > 1.0) {  // outside the set, maybe
      sap_dual_project(item, next, next);
    }
    for (int32_t r = 0; r < item->nrows; ++r) {
      change[r] = next[r] - z[r];
      z[r] = next[r];
      change_2 += item->scale * item->scale * change[r] * change[r];
      gamma_2 += item->scale * item->scale * z[r] * z[r];
    }
    rise += cost_change(item, g, change);
    sap_delassus_add_item(op, item, change, d->v);
  }
  d->change = change_2 > 0.0 ? sqrt(change_2) / sqrt(fmax(gamma_2, DBL_MIN)) : 0.0;
  return rise;
}

sap_status sap_gauss_seidel(sap_dual* d, sap_local_rule rule, sap_error* error) {
  bool done = false;
  double step = 0.0;
  for (;;) {
    const sap_status status =
        sap_dual_check(d, d->options->max_sweeps, step, &done, error);  // v anew: no drift
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    (void)sap_gauss_seidel_sweep(d, rule);
    step = d->options->over_relaxation;
    d->iterations += 1;
  }
}

// A projected gradient step with the block's largest eigenvalue, which is 1.   tsounis Alg. 2
static void convex_rule(const sap_dual* d, const sap_delassus_item* item, const double* z,
                        const double* g, double* next) {
  double x[SAP_EIGEN_MAX] = {0.0};
  (void)d;
  for (int32_t r = 0; r < item->nrows; ++r) {
    x[r] = z[r] - g[r];
  }
  sap_dual_project(item, x, next);
}

static sap_status pgs_ccp(sap_dual* d, sap_error* error) {
  return sap_gauss_seidel(d, convex_rule, error);
}

SAP_DUAL_ROW(sap_pgs_ccp_solve, false, pgs_ccp)
