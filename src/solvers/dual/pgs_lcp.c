// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel on the friction pyramid that touches the cone, see pyramid.h.         lelidec Alg. 1
// Of four facets, |gamma_t1| <= mu gamma_n, |gamma_t2| <= mu gamma_n, each row is solved exactly;
// with more the tangents take a projected gradient step. Friction is pulled towards the corners.
// The pyramid's solution solves neither CCP nor NCP, so that it ends at a fixed point.
#include <math.h>

#include "solvers/dual/gauss_seidel.h"
#include "solvers/dual/pyramid.h"

static double step(double z, double g, double diagonal) {
  return diagonal > 0.0 ? z - g / diagonal : z;
}

static void pyramid_rule(const sap_dual* d, const sap_delassus_item* item, const double z[3],
                         const double g[3], double next[3]) {
  const double* D = item->diagonal;
  next[2] = fmax(0.0, step(z[2], g[2], D[8]));
  const double limit = item->mu * next[2];
  double change[3] = {0.0, 0.0, next[2] - z[2]};
  if (d->options->friction_directions != 4) {
    const double top = 0.5 * (D[0] + D[4]) + hypot(0.5 * (D[0] - D[4]), D[1]);
    const double x[2] = {step(z[0], g[0] + D[2] * change[2], top),
                         step(z[1], g[1] + D[5] * change[2], top)};
    sap_polygon_project(limit, d->options->friction_directions, x, next);
    return;
  }
  for (int t = 0; t < 2; ++t) {
    const double gt =
        g[t] + D[3 * t] * change[0] + D[3 * t + 1] * change[1] + D[3 * t + 2] * change[2];
    next[t] = fmin(limit, fmax(-limit, step(z[t], gt, D[4 * t])));
    change[t] = next[t] - z[t];
  }
}

static sap_status pgs_lcp(sap_dual* d, sap_error* error) {
  d->fixed_point = true;
  return sap_gauss_seidel(d, pyramid_rule, error);
}

SAP_DUAL_ROW(sap_pgs_lcp_solve, true, pgs_lcp)
