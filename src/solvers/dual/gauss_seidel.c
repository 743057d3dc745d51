// SPDX-License-Identifier: BSD-3-Clause
// Projected Gauss-Seidel, matrix-free.                          lelidec Alg. 2; tsounis Alg. 5
// v = v* + Y z is kept up to date, so that an item costs two products with its own rows.
// fails: with R = 0 and redundant contacts, or large mass ratios, convergence is slow or missing.
#include "solvers/dual/dual.h"

#include <math.h>

// Takes a projected gradient step: the block's largest eigenvalue is 1, or 0.  tsounis Alg. 2
// It solves a scalar row exactly.
static void convex_rule(const sap_dual* d, const sap_delassus_item* item, const double* z,
                        const double* g, double* next) {
  double x[SAP_EIGEN_MAX] = {0.0};
  (void)d;
  for (int32_t r = 0; r < item->nrows; ++r) {
    x[r] = z[r] - g[r];
  }
  sap_dual_project(item, x, next);
}

// Returns g . change + 1/2 change' D_ii change.
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
  double rise = 0.0;
  SAP_EACH(const sap_delassus_item, item, op->items, op->nitems) {
    double* z = d->z + item->first;
    double g[SAP_EIGEN_MAX], next[SAP_EIGEN_MAX], change[SAP_EIGEN_MAX];
    sap_delassus_item_velocity(op, item, d->v, g);
    for (int32_t r = 0; r < item->nrows; ++r) {
      g[r] += op->R[item->first + r] * z[r] - op->v_hat[item->first + r];
    }
    (item->is_cone ? rule : convex_rule)(d, item, z, g, next);
    for (int32_t r = 0; r < item->nrows; ++r) {
      next[r] = z[r] + omega * (next[r] - z[r]);
    }
    if (omega > 1.0) {  // may have left the set
      sap_dual_project(item, next, next);
    }
    for (int32_t r = 0; r < item->nrows; ++r) {
      change[r] = next[r] - z[r];
      z[r] = next[r];
    }
    rise += cost_change(item, g, change);
    sap_delassus_add_item(op, item, change, d->v);
  }
  return rise;
}

sap_status sap_gauss_seidel(sap_dual* d, sap_local_rule rule, double inertia) {
  while (sap_dual_continues(d, d->options->max_sweeps, d->options->over_relaxation)) {
    const double rise = sap_gauss_seidel_sweep(d, rule);  // from v anew: no drift
    d->saving = inertia > 0.0 ? fabs(rise) / inertia : d->saving;
    d->iterations += 1;
  }
  return d->status;
}

sap_status sap_pgs_ccp(sap_dual* d) {
  return sap_gauss_seidel(d, convex_rule, 0.0);
}

// A gradient step of a scalar row.
static double step_row(double z, double g, double diagonal) {
  return diagonal > 0.0 ? z - g / diagonal : z;
}

// Friction pyramid that touches the cone.                                       lelidec Alg. 1
// With four facets, |gamma_t1| <= mu gamma_n and |gamma_t2| <= mu gamma_n, each row is solved
// exactly; with more the tangents take a projected gradient step. The pyramid pulls friction
// towards its corners.
static void pyramid_rule(const sap_dual* d, const sap_delassus_item* item, const double z[3],
                         const double g[3], double next[3]) {
  const double* D = item->diagonal;
  next[2] = fmax(0.0, step_row(z[2], g[2], D[8]));
  const double limit = item->mu * next[2];
  double change[3] = {0.0, 0.0, next[2] - z[2]};
  if (d->options->friction_directions != 4) {
    const double top = sap_tangent_eigenvalue(D, 3);
    const double x[2] = {step_row(z[0], g[0] + D[2] * change[2], top),
                         step_row(z[1], g[1] + D[5] * change[2], top)};
    sap_dual_project_polygon(limit, d->options->friction_directions, x, next);
    return;
  }
  for (int t = 0; t < 2; ++t) {
    const double gt =
        g[t] + D[3 * t] * change[0] + D[3 * t + 1] * change[1] + D[3 * t + 2] * change[2];
    next[t] = fmin(limit, fmax(-limit, step_row(z[t], gt, D[4 * t])));
    change[t] = next[t] - z[t];
  }
}

sap_status sap_pgs_lcp(sap_dual* d) {
  sap_dual_set_law(d, sap_dual_facets_law);
  return sap_gauss_seidel(d, pyramid_rule, 0.0);
}
