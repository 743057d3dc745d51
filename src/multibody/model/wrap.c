// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/wrap.h"

#include <math.h>
#include <stddef.h>

#include "math/vector3.h"

// Lengths below are none [m]; MuJoCo's.
static const double TINY = 1e-15;
static const double HALF_PI = 1.57079632679489661923;

static double dot(const double a[2], const double b[2]) {
  return a[0] * b[0] + a[1] * b[1];
}

static double cross(const double a[2], const double b[2]) {
  return a[0] * b[1] - a[1] * b[0];
}

// The point of the segment nearest to the origin; false: the points coincide.
static bool nearest(const double a[2], const double b[2], double out[2]) {
  const double d[2] = {b[0] - a[0], b[1] - a[1]};
  const double square = dot(d, d);
  if (!(square >= TINY)) {
    return false;
  }
  const double at = fmin(fmax(-dot(a, d) / square, 0.0), 1.0);
  out[0] = a[0] + at * d[0];
  out[1] = a[1] + at * d[1];
  return true;
}

// Where the tangent from a touches the circle; turn = 1: the one to whose right the circle lies.
static void tangent_point(const double a[2], double r, double turn, double out[2]) {
  const double square = dot(a, a), reach = turn * r * sqrt(fmax(square - r * r, 0.0));
  out[0] = (r * r * a[0] + reach * a[1]) / square;
  out[1] = (r * r * a[1] - reach * a[0]) / square;
}

// Round the outside of the circle: the shorter way, the one inside the angle between a and b, if
// the straight line is obstructed. With a side point s, if one turns the same way (sense) from a to
// s and from s to b, the string goes that way; it then goes the longer way even unobstructed.
static double wrap_outside(const double a[2], const double b[2], double r, const double* side,
                           double touch[2][2]) {
  double near[2];
  if (dot(a, a) < r * r || dot(b, b) < r * r || !nearest(a, b, near)) {
    return -1.0;
  }
  const double across = cross(a, b);
  double sense = across > 0.0 ? 1.0 : -1.0;  // 1: counter-clockwise
  const double shorter = sense;
  if (side != NULL && cross(a, side) * cross(side, b) > 0.0) {
    sense = cross(a, side) > 0.0 ? 1.0 : -1.0;
  }
  const bool longer = sense != shorter && across != 0.0;
  if (!longer && dot(near, near) > r * r) {
    return -1.0;
  }
  tangent_point(a, r, -sense, touch[0]);
  tangent_point(b, r, sense, touch[1]);
  const double turned = sense * cross(touch[0], touch[1]);
  const double angle = atan2(turned, dot(touch[0], touch[1]));
  // Of a string that only just touches, round-off may turn the angle.
  return r * (angle >= 0.0 ? angle : longer ? angle + 4.0 * HALF_PI : 0.0);
}

// Half the angle by which the string turns is pi/2 - w, sin(w) the sine of the angle of incidence:
//   asin(A sin w) + asin(B sin w) - 2 w + G = 0,  A = r/|a|, B = r/|b|, G the angle between a and b
// The left side falls with w, from G > 0 to what is < 0 unless the string goes through freely.
static double incidence(double A, double B, double G) {
  double low = 0.0, high = HALF_PI, w = HALF_PI;
  for (int i = 0; i < 200 && high - low > 0.0; ++i) {
    const double s = sin(w), c = cos(w);
    const double f = asin(A * s) + asin(B * s) - 2.0 * w + G;
    const double slope =
        A * c / sqrt(1.0 - A * A * s * s) + B * c / sqrt(1.0 - B * B * s * s) - 2.0;
    if (f > 0.0) {
      low = w;
    } else {
      high = w;
    }
    double next = w - f / slope;
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
    }
    if (next == w) {
      break;
    }
    w = next;
  }
  return w;
}

// Through the circle, bent over its edge.
static double wrap_inside(const double a[2], const double b[2], double r, double touch[2][2]) {
  const double len_a = sqrt(dot(a, a)), len_b = sqrt(dot(b, b));
  double near[2];
  if (len_a <= r || len_b <= r || (nearest(a, b, near) && sqrt(dot(near, near)) <= r)) {
    return -1.0;
  }
  const double across = cross(a, b);
  const double G = atan2(fabs(across), dot(a, b));
  if (!(G < 2.0 * HALF_PI - 1e-7)) {
    return -1.0;
  }
  const double A = r / len_a, w = incidence(A, r / len_b, G);
  const double angle = copysign(w - asin(A * sin(w)), across);
  const double c = cos(angle) * r / len_a, s = sin(angle) * r / len_a;
  for (int k = 0; k < 2; ++k) {
    touch[k][0] = c * a[0] - s * a[1];
    touch[k][1] = s * a[0] + c * a[1];
  }
  return 0.0;
}

// Two axes that with the third, unit, make a right-handed frame.
static void complete_frame(const double n[3], double e[2][3]) {
  int least = fabs(n[0]) <= fabs(n[1]) ? 0 : 1;
  least = fabs(n[2]) < fabs(n[least]) ? 2 : least;
  double unit[3] = {0.0, 0.0, 0.0};
  unit[least] = 1.0;
  sap_v3_cross(e[0], n, unit);
  sap_v3_scale(e[0], e[0], 1.0 / sap_v3_norm(e[0]));
  sap_v3_cross(e[1], n, e[0]);
}

// Axes of the plane in which the string is bent; false: an end is the centre.
static bool plane_axes(const sap_obstacle* o, double p[2][3], double e[2][3]) {
  const double len = sap_v3_norm(p[0]);
  if (!(len >= TINY && sap_v3_norm(p[1]) >= TINY)) {
    return false;
  }
  if (o->cylinder) {
    complete_frame(o->axis, e);
    return true;
  }
  double normal[3], first[3];
  sap_v3_scale(first, p[0], 1.0 / len);
  sap_v3_cross(normal, p[0], p[1]);
  const double area = sap_v3_norm(normal);
  if (area < TINY) {
    complete_frame(first, e);
    sap_v3_copy(e[1], e[0]);
  } else {
    sap_v3_scale(normal, normal, 1.0 / area);
    sap_v3_cross(e[1], normal, first);
  }
  sap_v3_copy(e[0], first);
  return true;
}

static void project(const double x[3], double e[2][3], double out[2]) {
  out[0] = sap_v3_dot(x, e[0]);
  out[1] = sap_v3_dot(x, e[1]);
}

static double distance(const double a[2], const double b[2]) {
  const double d[2] = {a[0] - b[0], a[1] - b[1]};
  return sqrt(dot(d, d));
}

double sap_wrap(const sap_obstacle* o, double ends[2][3], double touch[2][3]) {
  double p[2][3], e[2][3], flat[2][2], edge[2][2];
  sap_v3_sub(p[0], ends[0], o->center);
  sap_v3_sub(p[1], ends[1], o->center);
  if (!(o->radius >= TINY) || !plane_axes(o, p, e)) {
    return -1.0;
  }
  project(p[0], e, flat[0]);
  project(p[1], e, flat[1]);
  double side[2] = {0.0, 0.0};
  bool inside = false;
  if (o->has_side) {
    double s[3];
    sap_v3_sub(s, o->side, o->center);
    project(s, e, side);
    inside = !(sqrt(dot(side, side)) >= o->radius);
  }
  double arc = inside ? wrap_inside(flat[0], flat[1], o->radius, edge)
                      : wrap_outside(flat[0], flat[1], o->radius, o->has_side ? side : NULL, edge);
  if (arc < 0.0) {
    return -1.0;
  }
  double height[2] = {0.0, 0.0};
  if (o->cylinder) {
    const double z0 = sap_v3_dot(p[0], o->axis), z1 = sap_v3_dot(p[1], o->axis);
    const double l0 = distance(flat[0], edge[0]), l1 = distance(flat[1], edge[1]);
    const double whole = l0 + arc + l1;
    const double slope = whole > 0.0 ? (z1 - z0) / whole : 0.0;
    height[0] = z0 + slope * l0;
    height[1] = z0 + slope * (l0 + arc);
    arc = hypot(arc, height[1] - height[0]);
  }
  for (int k = 0; k < 2; ++k) {
    sap_v3_copy(touch[k], o->center);
    sap_v3_add_scaled(touch[k], e[0], edge[k][0]);
    sap_v3_add_scaled(touch[k], e[1], edge[k][1]);
    if (o->cylinder) {
      sap_v3_add_scaled(touch[k], o->axis, height[k]);
    }
  }
  return arc;
}
