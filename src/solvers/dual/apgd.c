// SPDX-License-Identifier: BSD-3-Clause
// Accelerated projected gradient descent (APGD) on 1/2 z' D z + q' z over the cones.
//   z+ = P(y - g(y)/L)
//   y+ = z+ + beta (z+ - z)                                                          Nesterov
//   beta = 0 where g(y) . (z+ - z) > 0   O'Donoghue, Candes 2015; Mazhar et al. 2015
// L starts at the estimate of the power iteration, which is a lower bound, and grows where the
// quadratic upper bound of a step fails.
// cost: one product with D per iteration.
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/dual/dual.h"

// Sets next = z+ from y and g(y), product = D z+. Returns false if L is too small for the step:
//   (z+ - y)' D (z+ - y) > L |z+ - y|^2
static bool try_step(sap_dual* d, const double* y, const double* g, double L, double* next,
                     double* product, double* scratch) {
  const int32_t n = d->op.n;
  for (int32_t i = 0; i < n; ++i) {
    next[i] = y[i] - g[i] / L;
  }
  sap_dual_project_all(d, next, next);
  sap_delassus_apply(&d->op, next, product);
  double curvature = 0.0, length_2 = 0.0, noise = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    scratch[i] = next[i] - y[i];
    const double bend = product[i] + d->op.q[i] - g[i];
    curvature += scratch[i] * bend;
    noise += fabs(scratch[i]) * (fabs(product[i]) + fabs(d->op.q[i]));
    length_2 += scratch[i] * scratch[i];
  }
  return curvature <= L * length_2 * (1.0 + 1e-9) + 1e-14 * noise;  // round-off of the sums
}

// Moves to z+ and extrapolates y and g(y), or restarts the acceleration.
static void extrapolate(sap_dual* d, double* theta, double* next, double* product, double* y,
                        double* g, double* last_product) {
  const int32_t n = d->op.n;
  double turn = 0.0, noise = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    turn += g[i] * (next[i] - d->z[i]);
    noise += DBL_EPSILON * fabs(g[i] * next[i]);
  }
  const double t = *theta;
  double t_next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t)), beta = (t - 1.0) / t_next;
  if (turn > noise) {  // round-off must not restart
    t_next = 1.0;
    beta = 0.0;
  }
  *theta = t_next;
  for (int32_t i = 0; i < n; ++i) {
    y[i] = next[i] + beta * (next[i] - d->z[i]);
    g[i] = product[i] + beta * (product[i] - last_product[i]) + d->op.q[i];
  }
  memcpy(d->z, next, (size_t)n * sizeof(double));
  memcpy(last_product, product, (size_t)n * sizeof(double));
}

sap_status sap_apgd(sap_dual* d) {
  enum { MAXIMUM_RAISES = 100 };
  static const double RAISE = 1.1;
  const size_t n = (size_t)d->op.n;
  double *y, *g, *next, *product, *last, *scratch;  // next and product: work of the eigenvalue
  SAP_TRY(SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&y, n), SAP_ARRAY(&g, n),
                    SAP_ARRAY(&next, n), SAP_ARRAY(&product, n), SAP_ARRAY(&last, n),
                    SAP_ARRAY(&scratch, n)));
  double L = sap_delassus_largest_eigenvalue(&d->op, next), theta = 1.0;
  L = L > 0.0 ? L : 1.0;
  memcpy(y, d->z, n * sizeof(double));
  sap_delassus_apply(&d->op, d->z, last);
  for (size_t i = 0; i < n; ++i) {
    g[i] = last[i] + d->op.q[i];
  }
  while (sap_dual_continues(d, d->options->max_sweeps, 1.0 / L)) {
    for (int i = 0; i < MAXIMUM_RAISES && !try_step(d, y, g, L, next, product, scratch); ++i) {
      L *= RAISE;
      d->evaluations += 1;
    }
    extrapolate(d, &theta, next, product, y, g, last);
    d->iterations += 1;
  }
  return d->status;
}
