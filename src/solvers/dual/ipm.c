// SPDX-License-Identifier: BSD-3-Clause
// Primal-dual interior point method, min 1/2 z' D z + q' z over the cones and intervals, with the
// scaling of Nesterov and Todd and Mehrotra's predictor and corrector.
//   D z + q = g;  cones x^ = T z, g = T s^ with T = (mu normal, tangents): both second-order cones
//   (D + T W^-2 T + a/(z - l) + b/(u - z)) dz = ...
// A cone of mu = 0 keeps z_t = 0; a row with equal bounds keeps its value.
// cost: a dense Cholesky of the island's rows per iteration, 5 to 20 iterations. Cold start only.
// W^-2 spans the square of the distance to the cones' boundary, so that relative natural maps below
// 1e-9 are often out of its reach: where it stalls, Newton on the natural map goes on.
#include "solvers/dual/ipm.h"

#include <string.h>

#include "solvers/dual/ccp_polish.h"
#include "solvers/dual/ipm_system.h"

static const double BOUNDARY = 0.99;  // of the way to the boundary

static sap_status reserve(sap_dual* d, sap_ipm* m, sap_error* error) {
  const int64_t n = d->op.n;
  const int64_t cones = (int64_t)(sizeof(sap_soc_scaling) / sizeof(double)) * d->op.nitems;
  sap_status status = sap_dual_reals(d, 2 * n * n + 9 * n + cones, &m->D, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_integers(d, n, &m->pivots, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  m->K = m->D + n * n;
  double** vectors[] = {&m->x, &m->dx, &m->rd, &m->s, &m->ds, &m->b, &m->db, &m->r, &m->rb};
  double* next = m->K + n * n;
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i, next += n) {
    *vectors[i] = next;
  }
  m->cones = (sap_soc_scaling*)(void*)next;
  return SAP_STATUS_OK;
}

// Every item in the middle of its set, at the size of the impulse that stops it.
static void start(sap_dual* d, sap_ipm* m) {
  double largest = 0.0;
  for (int32_t i = 0; i < d->op.n; ++i) {
    largest = fmax(largest, fabs(d->op.q[i]));
  }
  memset(m->x, 0, (size_t)d->op.n * sizeof(double));
  m->rank = 0.0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item);
    double size = 1e-3 * largest;
    for (int32_t r = 0; r < item->nrows; ++r) {
      size = fmax(size, fabs(d->op.q[item->first + r]));
    }
    size = size > 0.0 ? size : 1.0;
    if (sap_ipm_is_soc(item)) {
      m->x[row] = size / fmin(item->mu, 1.0);
      m->s[item->first] = size;
      for (int32_t i = 1; i < item->nrows; ++i) {
        m->s[item->first + i] = 0.0;
      }
      m->rank += 1.0;
      continue;
    }
    const bool lower = sap_ipm_has_lower(item), upper = sap_ipm_has_upper(item);
    m->s[row] = m->b[row] = size;
    m->x[row] = sap_ipm_is_fixed(item) ? item->lower
                : lower && upper       ? 0.5 * (item->lower + item->upper)
                : lower                ? sap_ipm_lower(item) + size
                : upper                ? item->upper - size
                                       : 0.0;
    m->rank += (lower ? 1.0 : 0.0) + (upper ? 1.0 : 0.0);
  }
}

static sap_status run_ipm(sap_dual* d, sap_error* error) {
  static const double LEAST_STEP = 1e-8;
  const size_t n = (size_t)d->op.n;
  sap_ipm m;
  sap_status status = reserve(d, &m, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memset(m.s, 0, 4 * n * sizeof(double));
  sap_delassus_dense(&d->op, m.D);
  start(d, &m);
  const sap_ccp_polish polish = {m.D, m.K, m.dx, m.pivots};
  double alpha = 0.0;
  for (;;) {
    bool done = false;
    memcpy(d->z, m.x, n * sizeof(double));
    status = sap_dual_check(d, d->options->max_iterations, alpha, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    sap_ipm_evaluate(d, &m);
    if (!sap_ipm_factorize(d, &m)) {
      return sap_ccp_polish_run(&polish, d, error);
    }
    sap_ipm_aim(d, &m, 0.0, false);
    sap_ipm_find_step(d, &m);
    const double affine = sap_ipm_longest_step(d, &m);
    sap_ipm_aim(d, &m, (1.0 - affine) * (1.0 - affine) * (1.0 - affine), true);
    sap_ipm_find_step(d, &m);
    const double longest = sap_ipm_longest_step(d, &m);
    alpha = longest < 1.0 ? BOUNDARY * longest : 1.0;
    if (!(alpha >= LEAST_STEP)) {
      return sap_ccp_polish_run(&polish, d, error);
    }
    for (size_t i = 0; i < n; ++i) {
      m.x[i] += alpha * m.dx[i];
      m.s[i] += alpha * m.ds[i];
      m.b[i] += alpha * m.db[i];
    }
    d->iterations += 1;
  }
}

SAP_DUAL_ROW(sap_ipm_solve, false, run_ipm)
