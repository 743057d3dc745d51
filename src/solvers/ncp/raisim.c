// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel with RaiSim's rule for one contact.            Hwangbo, Lee, Hutter 2018; lelidec
// Alg. 5
//   open      b_n > 0: 0;   sticking  -D^-1 b inside the cone
//   sliding   the least energy 1/2 gamma' D gamma + b' gamma on the curve g_n = 0, |gamma_t| = mu
//             gamma_n, by bisection over the angle of gamma_t
// Where D couples normal and tangents, friction does not oppose slip exactly: Signorini and Coulomb
// hold, maximum dissipation does not. So the natural map is no test: it ends at a fixed point.
#include "solvers/ncp/raisim.h"

#include <math.h>

#include "solvers/dual/gauss_seidel.h"

// gamma on the curve at an angle, and the slope of the energy along it. False where the curve has
// no point: the normal that would be needed is not positive.
static bool on_curve(const double D[9], const double b[3], double mu, double angle, double gamma[3],
                     double* slope) {
  const double c = cos(angle), s = sin(angle);
  const double along = D[8] + mu * (D[2] * c + D[5] * s);
  const double normal = -b[2] / along;
  if (!(along > 0.0)) {
    return false;
  }
  const double turn = -normal * mu * (D[5] * c - D[2] * s) / along;  // d normal/d angle
  gamma[0] = mu * normal * c;
  gamma[1] = mu * normal * s;
  gamma[2] = normal;
  const double g0 = D[0] * gamma[0] + D[3] * gamma[1] + D[6] * normal + b[0];
  const double g1 = D[1] * gamma[0] + D[4] * gamma[1] + D[7] * normal + b[1];
  *slope = mu * (g0 * (turn * c - normal * s) + g1 * (turn * s + normal * c));
  return true;
}

static void slide(const double D[9], const double b[3], double mu, double start, double gamma[3]) {
  enum { MAXIMUM = 60 };
  static const double FIRST = 0.05, PI = 3.14159265358979323846;
  double low = start, slope = 0.0, other[3], other_slope = 0.0;
  gamma[0] = gamma[1] = gamma[2] = 0.0;
  if (!on_curve(D, b, mu, low, gamma, &slope) || slope == 0.0) {
    return;
  }
  const double way = slope > 0.0 ? -1.0 : 1.0;
  double width = FIRST;
  while (width < PI && on_curve(D, b, mu, start + way * width, other, &other_slope) &&
         way * other_slope < 0.0) {
    low = start + way * width;
    width *= 2.0;
  }
  double high = start + way * width;
  for (int i = 0; i < MAXIMUM; ++i) {
    const double middle = 0.5 * (low + high);
    if (on_curve(D, b, mu, middle, other, &other_slope) && way * other_slope < 0.0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  (void)on_curve(D, b, mu, low, gamma, &slope);
}

// x = -D^-1 b by cofactors; false when D is singular.
static bool stick(const double D[9], const double b[3], double x[3]) {
  double cofactor[9];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int k = (i + 1) % 3, l = (i + 2) % 3, m = (j + 1) % 3, n = (j + 2) % 3;
      cofactor[3 * i + j] = D[3 * k + m] * D[3 * l + n] - D[3 * k + n] * D[3 * l + m];
    }
  }
  const double determinant = D[0] * cofactor[0] + D[1] * cofactor[1] + D[2] * cofactor[2];
  for (int i = 0; i < 3; ++i) {
    x[i] = -(cofactor[3 * i] * b[0] + cofactor[3 * i + 1] * b[1] + cofactor[3 * i + 2] * b[2]) /
           determinant;
  }
  return determinant > 0.0;
}

static void bisection_rule(const sap_delassus_item* item, const double z[3], const double g[3],
                           double next[3]) {
  const double* D = item->diagonal;
  double b[3], sticking[3];
  for (int i = 0; i < 3; ++i) {
    b[i] = g[i] - D[i] * z[0] - D[3 + i] * z[1] - D[6 + i] * z[2];
    next[i] = 0.0;
  }
  if (b[2] >= 0.0 || !(D[8] > 0.0)) {
    return;
  }
  if (item->mu == 0.0) {
    next[2] = -b[2] / D[8];
    return;
  }
  const bool can_stick = stick(D, b, sticking);
  if (can_stick && hypot(sticking[0], sticking[1]) <= item->mu * sticking[2]) {
    for (int i = 0; i < 3; ++i) {
      next[i] = sticking[i];
    }
    return;
  }
  slide(D, b, item->mu, can_stick ? atan2(sticking[1], sticking[0]) : atan2(-b[1], -b[0]), next);
}

static sap_status raisim(sap_dual* d, sap_error* error) {
  d->fixed_point = true;
  return sap_gauss_seidel(d, bisection_rule, error);
}

SAP_DUAL_ROW(sap_raisim_solve, true, raisim)
