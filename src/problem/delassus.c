// SPDX-License-Identifier: BSD-3-Clause
// Products with D = J A^-1 J' + R, matrix-free and dense, its factors and eigenvalues.
// cost: apply O(rows times velocities of a row's trees); dense rows times that; Cholesky n^3/3.
#include "problem/delassus.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "problem/problem_data.h"

void sap_delassus_add_item(const sap_delassus* d, const sap_delassus_item* item, const double* x,
                           double* v) {
  for (int32_t r = 0; r < item->nrows; ++r) {
    const double* Y = d->lift + item->lift + (size_t)r * (size_t)item->nlift;
    for (int32_t t = 0; x[r] != 0.0 && t < item->nlift_trees; ++t) {
      const int32_t tree = d->lift_trees[item->first_lift + t];
      const int32_t size = d->start[tree + 1] - d->start[tree];
      double* to = v + d->start[tree];
      for (int32_t i = 0; i < size; ++i) {
        to[i] += x[r] * Y[i];
      }
      Y += size;
    }
  }
}

void sap_delassus_clear_velocity(const sap_delassus* d, const sap_delassus_item* item, double* v) {
  for (int32_t i = 0; i < item->nlift_trees; ++i) {
    const int32_t tree = d->lift_trees[item->first_lift + i];
    memset(v + d->start[tree], 0, (size_t)(d->start[tree + 1] - d->start[tree]) * sizeof(double));
  }
}

void sap_delassus_item_velocity(const sap_delassus* d, const sap_delassus_item* item,
                                const double* v, double* out) {
  const double* J = d->jacobian + item->jacobian;
  for (int32_t r = 0; r < item->nrows; ++r) {
    double sum = 0.0;
    for (int32_t t = 0; t < item->ntrees; ++t) {
      const int32_t tree = d->item_trees[item->first_tree + t];
      const int32_t size = d->start[tree + 1] - d->start[tree];
      const double* x = v + d->start[tree];
      for (int32_t i = 0; i < size; ++i) {
        sum += J[i] * x[i];
      }
      J += size;
    }
    out[r] = sum;
  }
}

void sap_delassus_velocity(const sap_delassus* d, const double* z, double* v) {
  memcpy(v, d->v_star, (size_t)d->nv * sizeof(double));
  for (int32_t k = 0; k < d->nitems; ++k) {
    sap_delassus_add_item(d, &d->items[k], z + d->items[k].first, v);
  }
}

void sap_delassus_gradient(const sap_delassus* d, const double* v, const double* z, double* g) {
  for (int32_t k = 0; k < d->nitems; ++k) {
    sap_delassus_item_velocity(d, &d->items[k], v, g + d->items[k].first);
  }
  for (int32_t i = 0; i < d->n; ++i) {
    g[i] += d->R[i] * z[i] - d->v_hat[i];
  }
}

void sap_delassus_apply(const sap_delassus* d, const double* x, double* y) {
  double* v = d->scratch;
  memset(v, 0, (size_t)d->nv * sizeof(double));
  for (int32_t k = 0; k < d->nitems; ++k) {
    sap_delassus_add_item(d, &d->items[k], x + d->items[k].first, v);
  }
  for (int32_t k = 0; k < d->nitems; ++k) {
    sap_delassus_item_velocity(d, &d->items[k], v, y + d->items[k].first);
  }
  for (int32_t i = 0; i < d->n; ++i) {
    y[i] += d->R[i] * x[i];
  }
}

void sap_delassus_dense(const sap_delassus* d, double* D) {
  const size_t n = (size_t)d->n;
  double* v = d->scratch;
  for (int32_t k = 0; k < d->nitems; ++k) {
    const sap_delassus_item* item = &d->items[k];
    for (int32_t r = 0; r < item->nrows; ++r) {
      double unit[SAP_EIGEN_MAX] = {0.0};
      const size_t column = (size_t)(item->first + r);
      unit[r] = 1.0;
      memset(v, 0, (size_t)d->nv * sizeof(double));
      sap_delassus_add_item(d, item, unit, v);
      for (int32_t j = d->mobility ? 0 : k; j < d->nitems; ++j) {
        sap_delassus_item_velocity(d, &d->items[j], v, D + column * n + d->items[j].first);
      }
    }
  }
  for (size_t j = 0; j < n; ++j) {
    D[j * n + j] += d->R[j];
    for (size_t i = j + 1; i < n && !d->mobility; ++i) {
      D[i * n + j] = D[j * n + i];
    }
  }
}

double sap_delassus_largest_eigenvalue(const sap_delassus* d, double* work) {
  enum { ITERATIONS = 60 };
  static const double ENOUGH = 1e-3;  // relative change that ends
  double *x = work, *y = work + d->n;
  for (int32_t i = 0; i < d->n; ++i) {
    x[i] = 1.0 + 0.3 * cos(2.4 * (double)i);  // no symmetry that a scene might have
  }
  double value = 0.0;
  for (int i = 0; i < ITERATIONS; ++i) {
    const double norm = cblas_dnrm2(d->n, x, 1);
    if (!(norm > 0.0)) {
      break;
    }
    cblas_dscal(d->n, 1.0 / norm, x, 1);
    sap_delassus_apply(d, x, y);
    const double before = value;
    value = cblas_dnrm2(d->n, y, 1);
    double* swap = x;
    x = y;
    y = swap;
    if (fabs(value - before) <= ENOUGH * value) {
      break;
    }
  }
  return value;
}

bool sap_delassus_factorize(double* D, int32_t n, double shift) {
  for (int32_t i = 0; i < n; ++i) {
    D[(size_t)i * (size_t)(n + 1)] += shift;
  }
  return sap_dense_factorize(n, D) < 0;
}
