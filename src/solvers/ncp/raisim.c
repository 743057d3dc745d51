// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel with RaiSim's rule for one contact.
//                              Hwangbo, Lee, Hutter 2018; lelidec Alg. 5; tsounis Alg. 4-5, Table I
//   open      b_n > 0: gamma = 0
//   sticking  gamma = -D^-1 b inside the cone
//   sliding   the least energy 1/2 gamma' D gamma + b' gamma on the curve
//             g_n = 0, |gamma_t| = mu gamma_n, by bisection over the angle of gamma_t
// Where D couples normal and tangents, friction does not oppose slip exactly: Signorini and Coulomb
// hold, maximum dissipation does not, lelidec (24). The rule itself is the law of the stopping
// test. raisim-ds adds De Saxce's s gamma_n, s = mu |g_t|, to the energy. Along the curve
//   slope    = g_t . gamma_t' + s gamma_n'
//   gamma_n' = gamma_t . gamma_t'/(mu |gamma_t|)
// The slope is zero for g_t = -(s/(mu^2 gamma_n)) gamma_t: friction opposes slip, and the fixed
// point solves the NCP. s is found by successive approximation.
// raisim-ds-es ends when a sweep changes the dual cost by too little, solved or not. tsounis (160)
#include <math.h>

#include "math/scalar.h"
#include "problem/problem_data.h"
#include "solvers/dual/dual.h"

// One sliding contact: energy 1/2 gamma' D gamma + b' gamma + shift gamma_n.
typedef struct ellipse {
  const double *D, *b;
  double mu, shift;
} ellipse;

// Computes gamma on the curve at an angle, the slope of the energy there, and the tangential
// velocities g (2). Returns false if the curve has no point: gamma_n would not be positive.
static bool on_curve(const ellipse* e, double angle, double gamma[3], double* slope, double g[2]) {
  const double *D = e->D, mu = e->mu;
  const double c = cos(angle), s = sin(angle);
  const double along = D[8] + mu * (D[2] * c + D[5] * s);
  const double normal = -e->b[2] / along;
  if (!(along > 0.0)) {
    return false;
  }
  const double turn = -normal * mu * (D[5] * c - D[2] * s) / along;  // d normal/d angle
  gamma[0] = mu * normal * c;
  gamma[1] = mu * normal * s;
  gamma[2] = normal;
  g[0] = D[0] * gamma[0] + D[3] * gamma[1] + D[6] * normal + e->b[0];
  g[1] = D[1] * gamma[0] + D[4] * gamma[1] + D[7] * normal + e->b[1];
  *slope = mu * (g[0] * (turn * c - normal * s) + g[1] * (turn * s + normal * c)) + e->shift * turn;
  return true;
}

// Finds the least energy downhill from the angle `start`; returns its angle and sets gamma and g.
// gamma is 0 if the curve has no point at `start`.
static double find_slide(const ellipse* e, double start, double gamma[3], double g[2]) {
  enum { MAXIMUM = 60 };
  static const double FIRST = 0.05;
  double low = start, slope = 0.0, other[3], other_g[2], other_slope = 0.0;
  gamma[0] = gamma[1] = gamma[2] = 0.0;
  if (!on_curve(e, low, gamma, &slope, g) || slope == 0.0) {
    return low;
  }
  const double way = slope > 0.0 ? -1.0 : 1.0;
  double width = FIRST;
  while (width < SAP_PI && on_curve(e, start + way * width, other, &other_slope, other_g) &&
         way * other_slope < 0.0) {
    low = start + way * width;
    width *= 2.0;
  }
  double high = start + way * width;
  for (int i = 0; i < MAXIMUM; ++i) {
    const double middle = 0.5 * (low + high);
    if (on_curve(e, middle, other, &other_slope, other_g) && way * other_slope < 0.0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  (void)on_curve(e, low, gamma, &slope, g);
  return low;
}

// Computes x = -D^-1 b by cofactors; false if D is singular.
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

// Solves an open or sticking contact. Returns false if the contact slides: then b is the velocity
// without its impulse and *start the angle to begin at.
static bool open_or_stick(const sap_delassus_item* item, const double z[3], const double g[3],
                          double next[3], double b[3], double* start) {
  const double* D = item->diagonal;
  double sticking[3];
  for (int i = 0; i < 3; ++i) {
    b[i] = g[i] - D[i] * z[0] - D[3 + i] * z[1] - D[6 + i] * z[2];
    next[i] = 0.0;
  }
  if (b[2] >= 0.0 || !(D[8] > 0.0)) {
    return true;
  }
  if (item->mu == 0.0) {
    next[2] = -b[2] / D[8];
    return true;
  }
  const bool can_stick = stick(D, b, sticking);
  if (can_stick && hypot(sticking[0], sticking[1]) <= item->mu * sticking[2]) {
    for (int i = 0; i < 3; ++i) {
      next[i] = sticking[i];
    }
    return true;
  }
  *start = can_stick ? atan2(sticking[1], sticking[0]) : atan2(-b[1], -b[0]);
  return false;
}

static void bisection_rule(const sap_dual* d, const sap_delassus_item* item, const double z[3],
                           const double g[3], double next[3]) {
  (void)d;
  double b[3], slip[2], start;
  if (!open_or_stick(item, z, g, next, b, &start)) {
    (void)find_slide(&(ellipse){item->diagonal, b, item->mu, 0.0}, start, next, slip);
  }
}

// Approximates s successively, starting with the current impulses. Steps that turn back are halved:
// with strong coupling full steps overshoot.
static void corrected_rule(const sap_dual* d, const sap_delassus_item* item, const double z[3],
                           const double g[3], double next[3]) {
  (void)d;
  enum { MAXIMUM = 3 };
  static const double SMALL = 1e-14;  // relative change of s that ends
  double b[3], slip[2] = {0.0, 0.0}, angle;
  if (open_or_stick(item, z, g, next, b, &angle)) {
    return;
  }
  ellipse e = {item->diagonal, b, item->mu, item->mu * hypot(g[0], g[1])};
  double step = 1.0, last = 0.0;
  for (int i = 0; i < MAXIMUM; ++i) {
    angle = find_slide(&e, angle, next, slip);
    const double change = item->mu * hypot(slip[0], slip[1]) - e.shift;
    if (next[2] == 0.0 || !(fabs(change) > SMALL * e.shift)) {
      return;
    }
    step = change * last < 0.0 ? 0.5 * step : step;
    last = change;
    e.shift += step * change;
  }
}

sap_status sap_raisim(sap_dual* d) {
  sap_dual_set_law(d, bisection_rule);
  return sap_gauss_seidel(d, bisection_rule, 0.0);
}

sap_status sap_raisim_ds(sap_dual* d) {
  return sap_gauss_seidel(d, corrected_rule, 0.0);
}

// Ends on the rise of the dual cost over the island's total inertia, the trace of A; of a problem
// that stores B = A^-1 the sum of 1/B_ii.                                          tsounis (160)
sap_status sap_raisim_ds_es(sap_dual* d) {
  double inertia = 0.0;
  for (int32_t t = 0; t < d->op.ntrees; ++t) {
    const sap_problem* p = d->op.problem;
    const int32_t tree = d->op.trees[t], n = p->tree_size[tree];
    for (int32_t i = 0; i < n; ++i) {
      const double entry = p->diagonal[p->diagonal_start[tree] + i * (n + 1)];
      inertia += !p->has_mobility ? entry : entry > 0.0 ? 1.0 / entry : 0.0;  // 0: immovable
    }
  }
  return sap_gauss_seidel(d, corrected_rule, inertia);
}
