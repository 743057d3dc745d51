// SPDX-License-Identifier: BSD-3-Clause
// A line o + t d is inside a convex shape in an interval of t. Shapes are intersections of half
// spaces n . x <= c and of quadrics sum (x_i/r_i)^2 <= 1; a capsule is the hull of two spheres,
// which is their union with a cylinder.
#include "multibody/geometry/shape.h"

#include <math.h>

#include "math/vector3.h"

typedef struct span {
  double first, last;  // empty if first > last
} span;

static const span everywhere = {-HUGE_VAL, HUGE_VAL};
static const span nowhere = {HUGE_VAL, -HUGE_VAL};

static span cut(span s, double first, double last) {
  return (span){fmax(s.first, first), fmin(s.last, last)};
}

static span cut_half_space(span s, const double n[3], double c, const double o[3],
                           const double d[3]) {
  const double rate = sap_v3_dot(n, d), room = c - sap_v3_dot(n, o);
  if (rate == 0.0) {
    return room >= 0.0 ? s : nowhere;
  }
  return rate > 0.0 ? cut(s, s.first, room / rate) : cut(s, room / rate, s.last);
}

// The slab |x_axis| <= half.
static span cut_slab(span s, int axis, double half, const double o[3], const double d[3]) {
  double n[3] = {0.0, 0.0, 0.0};
  n[axis] = 1.0;
  s = cut_half_space(s, n, half, o, d);
  n[axis] = -1.0;
  return cut_half_space(s, n, half, o, d);
}

// A quadric of the first `count` coordinates: a t^2 + 2 b t + c <= 0.
static span cut_quadric(span s, int count, const double r[3], const double o[3],
                        const double d[3]) {
  double a = 0.0, b = 0.0, c = -1.0;
  for (int i = 0; i < count; ++i) {
    a += d[i] / r[i] * (d[i] / r[i]);
    b += d[i] / r[i] * (o[i] / r[i]);
    c += o[i] / r[i] * (o[i] / r[i]);
  }
  if (a == 0.0) {
    return c <= 0.0 ? s : nowhere;
  }
  const double square = b * b - a * c;
  if (!(square >= 0.0)) {
    return nowhere;
  }
  return cut(s, (-b - sqrt(square)) / a, (-b + sqrt(square)) / a);
}

// The smallest interval that contains both.
static span join(span a, span b) {
  return a.first > a.last   ? b
         : b.first > b.last ? a
                            : (span){fmin(a.first, b.first), fmax(a.last, b.last)};
}

static span through_capsule(const double r[3], double half, const double o[3], const double d[3]) {
  span s = cut_slab(cut_quadric(everywhere, 2, r, o, d), 2, half, o, d);
  for (int end = -1; end <= 1; end += 2) {
    const double from[3] = {o[0], o[1], o[2] - end * half};
    s = join(s, cut_quadric(everywhere, 3, r, from, d));
  }
  return s;
}

double sap_ray_meets(sap_shape_type type, const double size[3], const sap_hull* hull,
                     const double o[3], const double d[3]) {
  static const double up[3] = {0.0, 0.0, 1.0};
  const double round[3] = {size[0], size[0], size[0]};
  span s = everywhere;
  switch (type) {
    case SAP_SHAPE_PLANE:
      s = cut_half_space(s, up, 0.0, o, d);
      return s.first >= 0.0 && s.first < HUGE_VAL ? s.first : -1.0;
    case SAP_SHAPE_SPHERE:
      s = cut_quadric(s, 3, round, o, d);
      break;
    case SAP_SHAPE_CAPSULE:
      s = through_capsule(round, size[1], o, d);
      break;
    case SAP_SHAPE_CYLINDER:
      s = cut_slab(cut_quadric(s, 2, round, o, d), 2, size[1], o, d);
      break;
    case SAP_SHAPE_BOX:
      for (int i = 0; i < 3; ++i) {
        s = cut_slab(s, i, size[i], o, d);
      }
      break;
    case SAP_SHAPE_ELLIPSOID:
      s = cut_quadric(s, 3, size, o, d);
      break;
    case SAP_SHAPE_MESH:
      for (int32_t f = 0; f < hull->nfaces; ++f) {
        const double* plane = hull->planes + 4 * (size_t)f;
        s = cut_half_space(s, plane, plane[3], o, d);
      }
      break;
  }
  return s.first > s.last || s.last < 0.0 ? -1.0 : s.first >= 0.0 ? s.first : s.last;
}
