// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/dual/ccp_polish.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

// T = dP/dx of an item at x, symmetric. On the cone's surface, with t the tangents' direction and
// n = (x_n + mu |x_t|)/(1 + mu^2):  (mu t, 1)(mu t, 1)'/(1 + mu^2) + mu n/|x_t| (I - t t')
static void projection_jacobian(const sap_delassus_item* item, const double* x, double* T) {
  const size_t rows = (size_t)item->nrows;
  memset(T, 0, rows * rows * sizeof(double));
  if (!item->is_cone) {
    T[0] = x[0] >= item->lower && x[0] <= item->upper ? 1.0 : 0.0;
    return;
  }
  double length_2 = 0.0;
  for (size_t r = 0; r < rows; ++r) {
    length_2 += r == SAP_NORMAL_ROW ? 0.0 : x[r] * x[r];
  }
  const double length = sqrt(length_2), mu = item->mu, scale = 1.0 / (1.0 + mu * mu);
  if (sap_cone_holds(mu, length, x[SAP_NORMAL_ROW])) {
    for (size_t r = 0; r < rows; ++r) {
      T[r * (rows + 1)] = 1.0;
    }
    return;
  }
  if (mu * length <= -x[SAP_NORMAL_ROW]) {
    return;
  }
  const double across = mu * (x[SAP_NORMAL_ROW] + mu * length) * scale / length;
  for (size_t c = 0; c < rows; ++c) {
    const double tc = c == SAP_NORMAL_ROW ? 1.0 : mu * x[c] / length;
    for (size_t r = 0; r < rows; ++r) {
      const double tr = r == SAP_NORMAL_ROW ? 1.0 : mu * x[r] / length;
      T[c * rows + r] = scale * tr * tc;
      if (r != SAP_NORMAL_ROW && c != SAP_NORMAL_ROW) {
        T[c * rows + r] += across * ((r == c ? 1.0 : 0.0) - x[r] * x[c] / (length * length));
      }
    }
  }
}

// J = I - T + T D, row block by row block, at d->z with d->g.
static void assemble(const sap_ccp_polish* s, const sap_dual* d) {
  const size_t n = (size_t)d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const size_t first = (size_t)item->first, rows = (size_t)item->nrows;
    double T[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX], x[SAP_CONE_ROWS_MAX] = {0.0};
    for (size_t r = 0; r < rows; ++r) {
      x[r] = d->z[first + r] - d->g[first + r];
    }
    projection_jacobian(item, x, T);
    for (size_t j = 0; j < n; ++j) {
      const double* from = s->D + j * n + first;
      double* to = s->J + j * n + first;
      for (size_t r = 0; r < rows; ++r) {
        double sum = 0.0;
        for (size_t c = 0; c < rows; ++c) {
          sum += T[c * rows + r] * from[c];
        }
        to[r] = sum;
      }
    }
    for (size_t c = 0; c < rows; ++c) {
      for (size_t r = 0; r < rows; ++r) {
        s->J[(first + c) * n + first + r] += (r == c ? 1.0 : 0.0) - T[c * rows + r];
      }
    }
  }
}

// d->z += dz, J dz = -F with F = d->map; false when J is singular.
static bool step(const sap_ccp_polish* s, sap_dual* d) {
  const int32_t n = d->op.n;
  assemble(s, d);
  d->factorizations += 1;
  memcpy(s->dz, d->map, (size_t)n * sizeof(double));
  if (!sap_dense_lu_solve(n, s->J, s->pivots, s->dz)) {
    return false;
  }
  for (int32_t i = 0; i < n; ++i) {
    d->z[i] -= s->dz[i];
  }
  return true;
}

// Steps from d->z until the test holds (*done), the natural map grows, or J is singular.
static sap_status descend(const sap_ccp_polish* s, sap_dual* d, bool* done, sap_error* error) {
  enum { MAXIMUM = 20 };
  double last = (double)INFINITY;
  for (int i = 0; i < MAXIMUM; ++i) {
    const sap_status status =
        sap_dual_check(d, d->options->max_iterations, i > 0 ? 1.0 : 0.0, done, error);
    if (status != SAP_STATUS_OK || *done) {
      return status;
    }
    if (!(d->residual <= last) || !step(s, d)) {
      break;
    }
    last = d->residual;
    d->iterations += 1;
  }
  return SAP_STATUS_OK;
}

sap_status sap_ccp_polish_run(const sap_ccp_polish* s, sap_dual* d, sap_error* error) {
  bool done = false;
  sap_status status = descend(s, d, &done, error);
  if (status != SAP_STATUS_OK || done) {
    return status;
  }
  memcpy(d->z, d->z_best, (size_t)d->op.n * sizeof(double));
  status = descend(s, d, &done, error);
  if (status == SAP_STATUS_OK && !done) {
    d->outcome = SAP_OUTCOME_STALLED;
  }
  return status;
}
