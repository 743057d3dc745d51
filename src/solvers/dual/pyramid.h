// SPDX-License-Identifier: BSD-3-Clause
// The friction pyramid whose facets touch the cone: e_k . x_t <= mu x_n along m directions e_k that
// start with the first tangent. m = 4: |x_t1| <= mu x_n, |x_t2| <= mu x_n.              lelidec III
#ifndef SAP_SOLVERS_DUAL_PYRAMID_H
#define SAP_SOLVERS_DUAL_PYRAMID_H

#include <math.h>
#include <stdint.h>

// Euclidean projection on the polygon with `sides` >= 3 facets at the distance `radius` >= 0.
static inline void sap_polygon_project(double radius, int32_t sides, const double x[2],
                                       double out[2]) {
  const double half = 3.14159265358979323846 / sides;
  const double angle = 2.0 * half * floor(atan2(x[1], x[0]) / (2.0 * half) + 0.5);
  const double c = cos(angle), s = sin(angle);  // of the facet whose sector x is in
  const double along = c * x[0] + s * x[1], across = c * x[1] - s * x[0];
  out[0] = x[0];
  out[1] = x[1];
  if (along > radius) {
    const double corner = radius * tan(half);
    const double t = fmax(-corner, fmin(corner, across));
    out[0] = c * radius - s * t;
    out[1] = s * radius + c * t;
  }
}

#endif
