// SPDX-License-Identifier: BSD-3-Clause
// Capsule against capsule and box: nearest points of the segment by closed forms.
#include "multibody/geometry/collide.h"

static double clamp(double x, double limit) {
  return sap_most(-limit, sap_least(limit, x));
}

// Parameters [m] of the nearest points of the segments s u, |s| <= length_a, and ab + t w,
// |t| <= length_b; u, w unit. Parallel ones: any nearest pair.
static void nearest_on_segments(const double u[3], double length_a, const double w[3],
                                double length_b, const double ab[3], double* s, double* t) {
  const double uw = sap_v3_dot(u, w);
  const double p = sap_v3_dot(u, ab), q = -sap_v3_dot(w, ab);
  const double det = 1.0 - uw * uw;
  *s = det > 1e-14 ? clamp((p + uw * q) / det, length_a) : clamp(p, length_a);
  *t = *s * uw + q;
  if (fabs(*t) > length_b) {
    *t = clamp(*t, length_b);
    *s = clamp(*t * uw + p, length_a);
  }
}

void sap_collide_capsule_capsule(const sap_placed_shape* a, const sap_placed_shape* b,
                                 const double ab[3], double reach, sap_manifold* out) {
  const double *u = a->R + 6, *w = b->R + 6;
  double s, t, d[3];
  nearest_on_segments(u, a->size[1], w, b->size[1], ab, &s, &t);
  for (int i = 0; i < 3; ++i) {
    d[i] = ab[i] + t * w[i] - s * u[i];
  }
  const double distance = sap_v3_norm(d);
  sap_manifold_point witness = {.phi = distance - a->size[0] - b->size[0]};
  if (!(witness.phi < reach)) {
    return;
  }
  sap_v3_scale(witness.n, d, 1.0 / distance);
  // Axes that meet: their common perpendicular, towards b's centre; d is round-off there.
  if (!(distance > 1e-12 * (a->bound + b->bound))) {
    sap_v3_cross(witness.n, u, w);
    const double norm = sap_v3_norm(witness.n);
    if (norm > 1e-7) {
      const double side = sap_v3_dot(witness.n, ab) < 0.0 ? -1.0 : 1.0;
      sap_v3_scale(witness.n, witness.n, side / norm);
    } else {
      sap_v3_copy(witness.n, a->R);
    }
  }
  sap_v3_scale(witness.p, u, s);
  sap_v3_add_scaled(witness.p, witness.n, a->size[0]);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}

// The segment c + t d, |t| <= 1, and a box about the origin, all in the box's axes.
typedef struct segment_box {
  double c[3], d[3];
  const double* h;  // half extents
} segment_box;

// Vector from the box's nearest point to c + t d; returns half the slope of its squared length.
static double excess(const segment_box* p, double t, double e[3]) {
  for (int i = 0; i < 3; ++i) {
    const double x = p->c[i] + t * p->d[i];
    e[i] = x - clamp(x, p->h[i]);
  }
  return sap_v3_dot(e, p->d);
}

// The slope is piecewise linear and does not fall: where it is zero; the middle of a flat stretch.
static double nearest_on_segment(const segment_box* p) {
  double low = -1.0, high = 1.0, e[3];
  double slope_low = excess(p, low, e), slope_high = excess(p, high, e);
  if (slope_low >= 0.0 && slope_high <= 0.0) {
    return 0.0;
  }
  for (int i = 0; i < 3; ++i) {
    for (int side = -1; side <= 1 && fabs(p->d[i]) > 0.0; side += 2) {
      const double t = (side * p->h[i] - p->c[i]) / p->d[i];
      if (!(t > low && t < high)) {
        continue;
      }
      const double slope = excess(p, t, e);
      if (slope < 0.0) {
        low = t;
        slope_low = slope;
      } else if (slope > 0.0) {
        high = t;
        slope_high = slope;
      } else {
        return t;
      }
    }
  }
  if (slope_low >= 0.0) {
    return low;
  }
  return slope_high <= 0.0 ? high : low - slope_low * (high - low) / (slope_high - slope_low);
}

// Outward normal m of the box along which the segment leaves it soonest; returns the way [m].
// Box plus segment is a zonotope: its faces are the box's and those of edge times segment.
static double leave_box(const segment_box* p, double m[3]) {
  double best = HUGE_VAL;
  for (int k = 0; k < 6; ++k) {
    double axis[3] = {0.0, 0.0, 0.0};
    if (k < 3) {
      axis[k] = 1.0;
    } else {
      axis[(k + 1) % 3] = p->d[(k + 2) % 3];
      axis[(k + 2) % 3] = -p->d[(k + 1) % 3];
      const double norm = sap_v3_norm(axis);
      if (!(norm > 1e-9 * sap_v3_norm(p->d))) {
        continue;
      }
      sap_v3_scale(axis, axis, 1.0 / norm);
    }
    const double c = sap_v3_dot(axis, p->c);
    const double way = p->h[0] * fabs(axis[0]) + p->h[1] * fabs(axis[1]) + p->h[2] * fabs(axis[2]) +
                       fabs(sap_v3_dot(axis, p->d)) - fabs(c);
    if (way < best * (1.0 - 1e-9)) {
      best = way;
      sap_v3_scale(m, axis, c < 0.0 ? -1.0 : 1.0);
    }
  }
  return best;
}

void sap_collide_capsule_box(const sap_placed_shape* a, const sap_placed_shape* b,
                             const double ab[3], double reach, sap_manifold* out) {
  segment_box p = {.h = b->size};
  double m[3];
  sap_m3_tmul_v3(p.c, b->R, ab);
  sap_v3_scale(p.c, p.c, -1.0);
  sap_m3_tmul_v3(p.d, b->R, a->R + 6);
  sap_v3_scale(p.d, p.d, a->size[1]);
  double t = nearest_on_segment(&p);
  (void)excess(&p, t, m);
  double distance = sap_v3_norm(m);
  if (distance >= a->size[0] + reach) {
    return;
  }
  if (distance > 1e-9 * (a->bound + b->bound)) {
    sap_v3_scale(m, m, 1.0 / distance);
  } else {
    distance = -leave_box(&p, m);
    const double along = sap_v3_dot(m, p.d);
    t = fabs(along) > 1e-9 * a->size[1] ? -copysign(1.0, along) : t;
  }
  sap_manifold_point witness = {.phi = distance - a->size[0]};
  sap_m3_mul_v3(witness.n, b->R, m);
  sap_v3_scale(witness.n, witness.n, -1.0);
  sap_v3_scale(witness.p, a->R + 6, t * a->size[1]);
  sap_v3_add_scaled(witness.p, witness.n, a->size[0]);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}
