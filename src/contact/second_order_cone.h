// SPDX-License-Identifier: BSD-3-Clause
// Algebra of the second-order cone in n <= 6 dimensions, x_0 >= |(x_1, ..., x_n-1)|, and the
// scaling of Nesterov and Todd: W s = W^-1 x = lambda.
// Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010
#ifndef SAP_CONTACT_SECOND_ORDER_CONE_H
#define SAP_CONTACT_SECOND_ORDER_CONE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "contact/cone.h"

typedef struct sap_soc_scaling {
  double w[SAP_CONE_ROWS_MAX];  // W = beta (2 v v' - J) with v of w; W^2 = beta^2 (2 w w' - J),
                                // J = diag(1, -1, ..., -1)
  double v[SAP_CONE_ROWS_MAX];
  double beta;
  double lambda[SAP_CONE_ROWS_MAX];
} sap_soc_scaling;

static inline double sap_soc_tail(int32_t n, const double* x, const double* y) {
  double sum = x[1] * y[1] + x[2] * y[2];
  for (int32_t i = 3; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

// x_0^2 - |x_1|^2, without cancellation
static inline double sap_soc_determinant(int32_t n, const double* x) {
  const double length = sqrt(sap_soc_tail(n, x, x));
  return (x[0] - length) * (x[0] + length);
}

// y = W x, or W^-1 x.
static inline void sap_soc_scale(const sap_soc_scaling* s, int32_t n, bool inverse, const double* x,
                                 double* y) {
  const double sign = inverse ? -1.0 : 1.0;  // W^-1 = (2 Jv (Jv)' - J)/beta
  const double factor = inverse ? 1.0 / s->beta : s->beta;
  const double dot = 2.0 * (s->v[0] * x[0] + sign * sap_soc_tail(n, s->v, x));
  y[0] = factor * (dot * s->v[0] - x[0]);
  for (int32_t i = 1; i < n; ++i) {
    y[i] = factor * (dot * sign * s->v[i] + x[i]);
  }
}

// Computes the scaling of x and s, both inside the cone.
static inline void sap_soc_make(sap_soc_scaling* out, int32_t n, const double* x, const double* s) {
  const double det_x = sqrt(sap_soc_determinant(n, x)), det_s = sqrt(sap_soc_determinant(n, s));
  double dot = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    dot += x[i] / det_x * (s[i] / det_s);
  }
  const double gamma = sqrt(0.5 * (1.0 + dot));
  for (int32_t i = 0; i < n; ++i) {
    const double reflected = i == 0 ? s[0] / det_s : -s[i] / det_s;
    out->w[i] = (x[i] / det_x + reflected) / (2.0 * gamma);
  }
  const double scale = 1.0 / sqrt(2.0 * (out->w[0] + 1.0));
  out->v[0] = (out->w[0] + 1.0) * scale;
  for (int32_t i = 1; i < n; ++i) {
    out->v[i] = out->w[i] * scale;
  }
  out->beta = sqrt(det_x / det_s);
  sap_soc_scale(out, n, false, s, out->lambda);
}

// x o y = (x . y, x_0 y_1 + y_0 x_1)
static inline void sap_soc_product(int32_t n, const double* x, const double* y, double* out) {
  out[0] = x[0] * y[0] + sap_soc_tail(n, x, y);
  for (int32_t i = 1; i < n; ++i) {
    out[i] = x[0] * y[i] + y[0] * x[i];
  }
}

// Solves x o y = r for y.
static inline void sap_soc_divide(int32_t n, const double* x, const double* r, double* y) {
  y[0] = (x[0] * r[0] - sap_soc_tail(n, x, r)) / sap_soc_determinant(n, x);
  for (int32_t i = 1; i < n; ++i) {
    y[i] = (r[i] - y[0] * x[i]) / x[0];
  }
}

// Returns the largest alpha <= 1 with x + alpha d in the cone; x inside.
static inline double sap_soc_step(int32_t n, const double* x, const double* d) {
  const double a = d[0] * d[0] - sap_soc_tail(n, d, d);
  const double b = x[0] * d[0] - sap_soc_tail(n, x, d);
  const double c = sap_soc_determinant(n, x);
  double alpha = 1.0;
  const double root = b * b - a * c;
  if (root >= 0.0) {  // a alpha^2 + 2 b alpha + c = 0
    const double t = -(b + (b >= 0.0 ? sqrt(root) : -sqrt(root)));
    const double first = a != 0.0 ? t / a : -1.0, second = t != 0.0 ? c / t : -1.0;
    alpha = first > 0.0 && first < alpha ? first : alpha;
    alpha = second > 0.0 && second < alpha ? second : alpha;
  }
  if (d[0] < 0.0 && -x[0] / d[0] < alpha) {
    alpha = -x[0] / d[0];
  }
  return alpha;
}

#endif
