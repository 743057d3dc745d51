// SPDX-License-Identifier: BSD-3-Clause
// Algebra of the second-order cone in three dimensions, x_0 >= |(x_1, x_2)|, and the scaling of
// Nesterov and Todd: W s = W^-1 x = lambda.              Vandenberghe, The CVXOPT linear and
//                                                        quadratic cone program solvers, 2010
#ifndef SAP_SOLVERS_DUAL_SECOND_ORDER_CONE_H
#define SAP_SOLVERS_DUAL_SECOND_ORDER_CONE_H

#include <math.h>
#include <stdbool.h>

typedef struct sap_soc_scaling {
  double w[3];  // W = beta (2 v v' - J) with v of w; W^2 = beta^2 (2 w w' - J), J = diag(1, -1, -1)
  double v[3];
  double beta;
  double lambda[3];
} sap_soc_scaling;

// x_0^2 - |x_1|^2, without cancellation
static inline double sap_soc_determinant(const double x[3]) {
  const double length = sqrt(x[1] * x[1] + x[2] * x[2]);
  return (x[0] - length) * (x[0] + length);
}

// y = W x, or W^-1 x.
static inline void sap_soc_scale(const sap_soc_scaling* s, bool inverse, const double x[3],
                                 double y[3]) {
  const double sign = inverse ? -1.0 : 1.0;  // W^-1 = (2 Jv (Jv)' - J)/beta
  const double v[3] = {s->v[0], sign * s->v[1], sign * s->v[2]};
  const double factor = inverse ? 1.0 / s->beta : s->beta;
  const double dot = 2.0 * (v[0] * x[0] + v[1] * x[1] + v[2] * x[2]);
  y[0] = factor * (dot * v[0] - x[0]);
  y[1] = factor * (dot * v[1] + x[1]);
  y[2] = factor * (dot * v[2] + x[2]);
}

// x, s inside the cone.
static inline void sap_soc_make(sap_soc_scaling* out, const double x[3], const double s[3]) {
  const double det_x = sqrt(sap_soc_determinant(x)), det_s = sqrt(sap_soc_determinant(s));
  double dot = 0.0;
  for (int i = 0; i < 3; ++i) {
    dot += x[i] / det_x * (s[i] / det_s);
  }
  const double gamma = sqrt(0.5 * (1.0 + dot));
  for (int i = 0; i < 3; ++i) {
    const double reflected = i == 0 ? s[0] / det_s : -s[i] / det_s;
    out->w[i] = (x[i] / det_x + reflected) / (2.0 * gamma);
  }
  const double scale = 1.0 / sqrt(2.0 * (out->w[0] + 1.0));
  out->v[0] = (out->w[0] + 1.0) * scale;
  out->v[1] = out->w[1] * scale;
  out->v[2] = out->w[2] * scale;
  out->beta = sqrt(det_x / det_s);
  sap_soc_scale(out, false, s, out->lambda);
}

// x o y = (x . y, x_0 y_1 + y_0 x_1)
static inline void sap_soc_product(const double x[3], const double y[3], double out[3]) {
  out[0] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  out[1] = x[0] * y[1] + y[0] * x[1];
  out[2] = x[0] * y[2] + y[0] * x[2];
}

// The y with x o y = r.
static inline void sap_soc_divide(const double x[3], const double r[3], double y[3]) {
  y[0] = (x[0] * r[0] - x[1] * r[1] - x[2] * r[2]) / sap_soc_determinant(x);
  y[1] = (r[1] - y[0] * x[1]) / x[0];
  y[2] = (r[2] - y[0] * x[2]) / x[0];
}

// Largest alpha <= 1 with x + alpha d in the cone; x inside.
static inline double sap_soc_step(const double x[3], const double d[3]) {
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
  const double b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
  const double c = sap_soc_determinant(x);
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
