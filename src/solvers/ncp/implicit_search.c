// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/ncp/implicit_search.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

double sap_implicit_evaluate(sap_dual* d, sap_implicit* m, double* p, double* r) {
  const int32_t n = d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    if (m->edge[k] != SAP_EDGE_NONE) {
      (void)sap_edge_project(item, (sap_edge)m->edge[k], p + item->first);
    }
    sap_implicit_impulse(item, p + item->first, m->z + item->first);
  }
  for (int32_t i = 0; i < n; ++i) {
    r[i] = d->op.q[i] + p[i] - m->z[i];
  }
  cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1.0, m->D, n, m->z, 1, 1.0, r, 1);
  return 0.5 * cblas_ddot(n, r, 1, r, 1);
}

void sap_implicit_find_h(const sap_dual* d, const sap_implicit* m, const double* r, double* h) {
  memcpy(h, r, (size_t)d->op.n * sizeof(double));
  cblas_dgemv(CblasColMajor, CblasTrans, d->op.n, d->op.n, 1.0, m->D, d->op.n, r, 1, -1.0, h, 1);
}

double sap_implicit_slope(const sap_delassus_item* item, const double* T, const double* h,
                          const double* r, const double* u) {
  const int32_t n = item->nrows;
  double sum = 0.0;
  for (int32_t c = 0; c < n; ++c) {
    double column = r[c];
    for (int32_t i = 0; i < n; ++i) {
      column += h[i] * T[c * n + i];
    }
    sum += column * u[c];
  }
  return sum;
}

static void consider(sap_implicit* m, int32_t n, double value, int32_t item, sap_edge edge) {
  if (value < m->best_value) {
    m->best_value = value;
    m->best_item = item;
    m->best_edge = edge;
    memcpy(m->best, m->trial, (size_t)n * sizeof(double));
  }
}

// m->trial = from + alpha (to - from), l there.
static double at(sap_dual* d, sap_implicit* m, const double* from, double alpha) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->trial[i] = from[i] + alpha * m->direction[i];
  }
  d->evaluations += 1;
  return sap_implicit_evaluate(d, m, m->trial, m->r_trial);
}

// l' along the direction at m->trial, whose r is there, in the smooth piece that `inside` lies in.
static double derivative(sap_dual* d, sap_implicit* m, const double* from, double inside) {
  double T[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX], x[SAP_CONE_ROWS_MAX], sum = 0.0;
  sap_implicit_find_h(d, m, m->r_trial, m->z);
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t f = item->first;
    for (int32_t r = 0; r < item->nrows; ++r) {
      x[r] = from[f + r] + inside * m->direction[f + r];
    }
    sap_implicit_jacobian(item, m->trial + f, sap_implicit_region(item, x), T);
    sum += sap_implicit_slope(item, T, m->z + f, m->r_trial + f, m->direction + f);
  }
  return sum;
}

// Minimum of the cubic through two values with slopes, as a place between; NaN where there is none.
static double cubic_minimum(double a, double b, const double value[2], const double rise[2]) {
  const double d1 = rise[0] + rise[1] - 3.0 * (value[0] - value[1]) / (a - b);
  const double d2 = sqrt(d1 * d1 - rise[0] * rise[1]);
  return b - (b - a) * (rise[1] + d2 - d1) / (rise[1] - rise[0] + 2.0 * d2);
}

// The first crossing after `alpha`, 1 and no item where there is none. Items that lie on an edge
// move along it.
static double next_crossing(const sap_dual* d, const sap_implicit* m, const double* from,
                            double alpha, int32_t* item, sap_edge* edge) {
  double next = 1.0;
  *item = -1;
  *edge = SAP_EDGE_NONE;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const int32_t f = d->op.items[k].first;
    double crossings[3];
    sap_edge kinds[3];
    const int32_t count =
        m->edge[k] != SAP_EDGE_NONE
            ? 0
            : sap_edge_crossings(&d->op.items[k], from + f, m->direction + f, crossings, kinds);
    for (int32_t i = 0; i < count; ++i) {
      if (crossings[i] > alpha && crossings[i] < next) {
        next = crossings[i];
        *item = k;
        *edge = kinds[i];
      }
    }
  }
  return next;
}

void sap_implicit_search(sap_dual* d, sap_implicit* m, const double* from, const double* to) {
  static const double SHORT = 1e-12;  // pieces that are not searched inside
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->direction[i] = to[i] - from[i];
  }
  double a = 0.0, value[2], rise[2];
  value[0] = at(d, m, from, a);
  while (a < 1.0) {
    int32_t item;
    sap_edge edge;
    const double b = next_crossing(d, m, from, a, &item, &edge), middle = 0.5 * (a + b);
    const bool search = b - a > SHORT;
    if (search) {
      value[0] = at(d, m, from, a);
      rise[0] = derivative(d, m, from, middle);
    }
    value[1] = at(d, m, from, b);
    consider(m, d->op.n, value[1], item, edge);
    if (search) {
      rise[1] = derivative(d, m, from, middle);
      const double least = cubic_minimum(a, b, value, rise);
      if (least > a && least < b) {
        consider(m, d->op.n, at(d, m, from, least), -1, SAP_EDGE_NONE);
      }
    }
    a = b;
  }
}
