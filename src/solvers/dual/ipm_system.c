// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/dual/ipm_system.h"

#include <float.h>
#include <string.h>

#include "linalg/dense.h"

// Row of the i-th component of the second-order cone.
static int32_t row_of(int32_t i) {
  return i == 0 ? SAP_NORMAL_ROW : i <= SAP_NORMAL_ROW ? i - 1 : i;
}
// x^ = T z
static void to_cone(const sap_delassus_item* item, const double* z, double* out) {
  for (int32_t i = 0; i < item->nrows; ++i) {
    out[i] = z[item->first + row_of(i)] * (i == 0 ? item->mu : 1.0);
  }
}

// out += T' s^
static void add_from_cone(const sap_delassus_item* item, const double* s, double sign,
                          double* out) {
  for (int32_t i = 0; i < item->nrows; ++i) {
    out[item->first + row_of(i)] += sign * s[i] * (i == 0 ? item->mu : 1.0);
  }
}

void sap_ipm_evaluate(sap_dual* d, sap_ipm* m) {
  double sum = 0.0;
  memcpy(m->rd, d->g, (size_t)d->op.n * sizeof(double));
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item), f = item->first;
    if (sap_ipm_is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX];
      to_cone(item, m->x, x);
      sap_soc_make(&m->cones[k], item->nrows, x, m->s + f);
      add_from_cone(item, m->s + f, -1.0, m->rd);
      sum += x[0] * m->s[f] + sap_soc_tail(item->nrows, x, m->s + f);
      continue;
    }
    if (sap_ipm_has_lower(item)) {
      m->rd[row] -= m->s[row];
      sum += m->s[row] * (m->x[row] - sap_ipm_lower(item));
    }
    if (sap_ipm_has_upper(item)) {
      m->rd[row] += m->b[row];
      sum += m->b[row] * (item->upper - m->x[row]);
    }
  }
  m->mu = m->rank > 0.0 ? sum / m->rank : 0.0;
}

static void fix_row(sap_ipm* m, size_t n, int32_t row) {
  for (size_t i = 0; i < n; ++i) {
    m->K[(size_t)row * n + i] = m->K[i * n + (size_t)row] = 0.0;
  }
  m->K[(size_t)row * (n + 1)] = 1.0;
}

// A shift at round-off keeps a singular D definite.
bool sap_ipm_factorize(sap_dual* d, sap_ipm* m) {
  const size_t n = (size_t)d->op.n;
  memcpy(m->K, m->D, n * n * sizeof(double));
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const size_t f = (size_t)item->first, row = (size_t)sap_ipm_bounded_row(item);
    if (sap_ipm_is_soc(item)) {
      const sap_soc_scaling* c = &m->cones[k];
      const double factor = 1.0 / (c->beta * c->beta);
      for (int32_t b = 0; b < item->nrows; ++b) {  // 2 T J w (T J w)' - T J T
        const size_t j = f + (size_t)row_of(b);
        const double wj = b == 0 ? c->w[0] * item->mu : -c->w[b];
        for (int32_t a = 0; a < item->nrows; ++a) {
          const double wi = a == 0 ? c->w[0] * item->mu : -c->w[a];
          m->K[j * n + f + (size_t)row_of(a)] += factor * 2.0 * wi * wj;
        }
        m->K[j * (n + 1)] += b > 0 ? factor : -factor * item->mu * item->mu;
      }
      continue;
    }
    if (sap_ipm_has_lower(item)) {
      m->K[row * (n + 1)] += m->s[row] / (m->x[row] - sap_ipm_lower(item));
    }
    if (sap_ipm_has_upper(item)) {
      m->K[row * (n + 1)] += m->b[row] / (item->upper - m->x[row]);
    }
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    if (sap_ipm_is_fixed(item)) {
      fix_row(m, n, item->first);
    } else if (item->is_cone && !sap_ipm_is_soc(item)) {
      for (int32_t i = 1; i < item->nrows; ++i) {
        fix_row(m, n, item->first + row_of(i));
      }
    }
  }
  d->factorizations += 1;
  return sap_delassus_factorize(m->K, d->op.n, 16.0 * DBL_EPSILON);
}

void sap_ipm_aim(sap_dual* d, sap_ipm* m, double sigma, bool corrector) {
  const double target = sigma * m->mu;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item), f = item->first;
    if (sap_ipm_is_soc(item)) {
      const sap_soc_scaling* c = &m->cones[k];
      const int32_t n = item->nrows;
      double r[SAP_CONE_ROWS_MAX], second[SAP_CONE_ROWS_MAX] = {0.0};
      if (corrector) {
        double dx[SAP_CONE_ROWS_MAX], scaled_x[SAP_CONE_ROWS_MAX], scaled_s[SAP_CONE_ROWS_MAX];
        to_cone(item, m->dx, dx);
        sap_soc_scale(c, n, true, dx, scaled_x);
        sap_soc_scale(c, n, false, m->ds + f, scaled_s);
        sap_soc_product(n, scaled_x, scaled_s, second);
      }
      sap_soc_product(n, c->lambda, c->lambda, r);
      for (int32_t i = 0; i < n; ++i) {
        r[i] = (i == 0 ? target : 0.0) - r[i] - second[i];
      }
      sap_soc_divide(n, c->lambda, r, m->r + f);
      continue;
    }
    const double lower = corrector ? m->dx[row] * m->ds[row] : 0.0;
    const double upper = corrector ? -m->dx[row] * m->db[row] : 0.0;
    m->r[row] = target - m->s[row] * (m->x[row] - sap_ipm_lower(item)) - lower;
    m->rb[row] = target - m->b[row] * (item->upper - m->x[row]) - upper;
  }
}

void sap_ipm_find_step(sap_dual* d, sap_ipm* m) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    m->dx[i] = -m->rd[i];
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item), f = item->first;
    if (sap_ipm_is_soc(item)) {
      sap_soc_scale(&m->cones[k], item->nrows, true, m->r + f, m->ds + f);  // W^-1 (lambda \ r)
      add_from_cone(item, m->ds + f, 1.0, m->dx);
      continue;
    }
    m->dx[row] += sap_ipm_has_lower(item) ? m->r[row] / (m->x[row] - sap_ipm_lower(item)) : 0.0;
    m->dx[row] -= sap_ipm_has_upper(item) ? m->rb[row] / (item->upper - m->x[row]) : 0.0;
    if (sap_ipm_is_fixed(item)) {
      m->dx[f] = 0.0;
    }
    for (int32_t i = 1; item->is_cone && i < item->nrows; ++i) {
      m->dx[f + row_of(i)] = 0.0;
    }
  }
  sap_dense_factor_solve(d->op.n, m->K, m->dx);
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item), f = item->first;
    if (sap_ipm_is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX] = {0.0}, half[SAP_CONE_ROWS_MAX] = {0.0},
             change[SAP_CONE_ROWS_MAX];
      to_cone(item, m->dx, x);
      sap_soc_scale(&m->cones[k], item->nrows, true, x, half);
      sap_soc_scale(&m->cones[k], item->nrows, true, half, change);
      for (int32_t i = 0; i < item->nrows; ++i) {
        m->ds[f + i] -= change[i];
      }
      continue;
    }
    m->ds[row] = sap_ipm_has_lower(item)
                     ? (m->r[row] - m->s[row] * m->dx[row]) / (m->x[row] - sap_ipm_lower(item))
                     : 0.0;
    m->db[row] = sap_ipm_has_upper(item)
                     ? (m->rb[row] + m->b[row] * m->dx[row]) / (item->upper - m->x[row])
                     : 0.0;
  }
}

static double shorten(double alpha, double value, double change) {
  return value + alpha * change < 0.0 ? -value / change : alpha;
}

double sap_ipm_longest_step(const sap_dual* d, const sap_ipm* m) {
  double alpha = 1.0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const int32_t row = sap_ipm_bounded_row(item), f = item->first;
    if (sap_ipm_is_soc(item)) {
      double x[SAP_CONE_ROWS_MAX], dx[SAP_CONE_ROWS_MAX];
      to_cone(item, m->x, x);
      to_cone(item, m->dx, dx);
      alpha = fmin(alpha, fmin(sap_soc_step(item->nrows, x, dx),
                               sap_soc_step(item->nrows, m->s + f, m->ds + f)));
      continue;
    }
    if (sap_ipm_has_lower(item)) {
      alpha = shorten(alpha, m->x[row] - sap_ipm_lower(item), m->dx[row]);
      alpha = shorten(alpha, m->s[row], m->ds[row]);
    }
    if (sap_ipm_has_upper(item)) {
      alpha = shorten(alpha, item->upper - m->x[row], -m->dx[row]);
      alpha = shorten(alpha, m->b[row], m->db[row]);
    }
  }
  return alpha;
}
