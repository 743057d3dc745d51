// SPDX-License-Identifier: BSD-3-Clause
// Least overlap with an ellipsoid, without EPA: a local minimum that is proved to be the global
// one.
//
// Let n be a local minimum of f (see convex.h) with the point x = f n of D's boundary. An ellipsoid
// with semi-axes e holds the ball of radius rho = min(e)^2/max(e) that touches it from inside at
// any of its points (Blaschke), and so does D = A - B. For n' at the angle t to n this ball's
// support is
//   h(n') >= f cos t + rho (1 - cos t) = f + (rho - f)(1 - cos t) >= f   where f <= rho:
// nothing is less. That x lies in D is shown by the two points of A and B which it comes from.
#include "multibody/geometry/convex.h"

// What "lies in" may be off by, of the pair's size: the depth is then off by no more.
static const double tolerance = 1e-9;

static double rolling_radius(const sap_placed_shape* s) {
  if (s->type != SAP_SHAPE_ELLIPSOID) {
    return 0.0;
  }
  const double* e = s->size;
  const double least = sap_least(e[0], sap_least(e[1], e[2]));
  return least * least / s->bound;
}

// Whether x, from the shape's centre, lies in its core, which is not a mesh.
static bool holds(const sap_placed_shape* s, const double x[3], double slack) {
  double m[3];
  sap_m3_tmul_v3(m, s->R, x);
  switch (s->type) {
    case SAP_SHAPE_CAPSULE:
      return hypot(m[0], m[1]) <= slack && fabs(m[2]) <= s->size[1] + slack;
    case SAP_SHAPE_CYLINDER:
      return hypot(m[0], m[1]) <= s->size[0] + slack && fabs(m[2]) <= s->size[1] + slack;
    case SAP_SHAPE_BOX:
      return fabs(m[0]) <= s->size[0] + slack && fabs(m[1]) <= s->size[1] + slack &&
             fabs(m[2]) <= s->size[2] + slack;
    case SAP_SHAPE_ELLIPSOID: {
      const double u[3] = {m[0] / s->size[0], m[1] / s->size[1], m[2] / s->size[2]};
      return sap_v3_norm(u) <= 1.0 + slack / s->bound;
    }
    case SAP_SHAPE_SPHERE:
      return sap_v3_norm(m) <= slack;
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_MESH:
      break;
  }
  return false;
}

bool sap_convex_shallow(const sap_convex_pair* pair, double n[3], double p[3]) {
  const double rho_a = rolling_radius(pair->a), rho_b = rolling_radius(pair->b);
  const double distance = sap_v3_norm(pair->ab);
  if (!(rho_a + rho_b > 0.0) || !(distance > tolerance * pair->scale)) {
    return false;
  }
  sap_v3_scale(n, pair->ab, 1.0 / distance);
  const double f = sap_convex_polish(pair, n);
  if (!(f > 0.0) || !(f <= rho_a + rho_b)) {
    return false;
  }
  // The ellipsoid's point is the only one of its kind; the other's follows.
  const double slack = tolerance * pair->scale, back[3] = {-n[0], -n[1], -n[2]};
  double other[3];
  if (rho_a > 0.0) {
    sap_shape_support(pair->a, n, p);
    sap_v3_sub(other, p, pair->ab);
    sap_v3_add_scaled(other, n, -f);
    return holds(pair->b, other, slack);
  }
  sap_shape_support(pair->b, back, p);
  sap_v3_add(p, p, pair->ab);
  sap_v3_add_scaled(p, n, f);
  return holds(pair->a, p, slack);
}
