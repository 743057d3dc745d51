// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of a flat and a curved shape, facet by facet of the flat one.
//
// Over a facet with the outward normal m the surface is, at the points q of the facet's plane,
//   x = q + z v,  w_f z = w_c d_c(x),  w_f, w_c: alpha and beta of the flat and of the curved shape
// with m . v = -1. v lies as far as possible in the planes of equal depth of the facet and of its
// neighbours at edges in the curved shape, so that the surface ends on the edges of the face.
// The left side less the right one is convex in z: Newton's method finds z from one side. Its
// domain is where d_c(q) > 0 and where the facet is the nearest one. Its border has the corners
//   edges of the face at d_c = 0, on which p = 0
//   on the line of equal depth from each vertex of the face in the curved shape
#include "multibody/geometry/patch_fan.h"

enum { NEWTON = 60 };
// Relative to the size.
static const double ROUND_OFF = 1e-14;

typedef struct facet {
  sap_fan fan;  // first
  int flat;     // its shape
  int32_t number;
  const double (*planes)[4];
  double weight[2];  // of the flat and of the curved shape
  double origin[3], v[3];
  double size;  // of the smaller shape
  sap_patch_polygon face;
} facet;

// A point of the surface before it is one of the fan.
typedef struct spot {
  double x[3];
  double z, fall;      // fall: slope of w_f z - w_c d_c by z
  sap_patch_depth at;  // of the curved shape
} spot;

static void find_depth(const facet* f, const double x[3], sap_patch_depth* at) {
  sap_patch_find_depth_at(f->fan.s, 1 - f->flat, x, at);
}

// Finds the root of w_f z - w_c d_c on the line x + z v; v falls off from the facet at unit rate.
static double find_level(const facet* f, const double x[3], const double v[3], spot* at) {
  const double beyond = 4.0 * f->fan.s->shape[1 - f->flat]->bound;  // all roots
  double z = 0.0;
  for (int k = 0; k < NEWTON; ++k) {
    sap_v3_copy(at->x, x);
    sap_v3_add_scaled(at->x, v, z);
    find_depth(f, at->x, &at->at);
    at->fall = f->weight[0] + f->weight[1] * sap_v3_dot(at->at.m, v);
    if (f->weight[1] == 0.0) {
      break;
    }
    const double way = (f->weight[0] * z - f->weight[1] * at->at.d) / at->fall;
    if (!(at->fall > 0.0)) {  // over the far side: begins beyond it
      if (z > 0.0) {
        break;
      }
      z = beyond;
    } else if (fabs(way) <= ROUND_OFF * f->size || (k > 1 && way < 0.0)) {
      break;
    } else {
      z = sap_least(z - way, beyond);
    }
  }
  return z;
}

static void find_point(const facet* f, const double way[2], double t, spot* at) {
  double q[3];
  sap_v3_copy(q, f->origin);
  for (int k = 0; k < 2; ++k) {
    sap_v3_add_scaled(q, f->fan.e[k], f->fan.c[k] + t * way[k]);
  }
  at->z = find_level(f, q, f->v, at);
}

static void find_spot(sap_fan* fan, const double way[2], double t, sap_fan_spot* out) {
  const facet* f = (const facet*)fan;
  spot found, *at = &found;
  double n[3];
  find_point(f, way, t, at);
  out->at[f->flat] = (sap_patch_depth){.d = at->z, .side = f->number};
  sap_v3_copy(out->at[f->flat].m, f->planes[f->number]);
  out->at[1 - f->flat] = at->at;
  sap_v3_copy(out->x, at->x);
  out->p = f->fan.s->series * (at->z + at->at.d);
  f->fan.s->deepest = sap_most(f->fan.s->deepest, at->z + at->at.d);
  sap_v3_scale(n, f->planes[f->number], f->weight[0]);
  sap_v3_add_scaled(n, at->at.m, -f->weight[1]);
  out->slant = sap_v3_norm(n) / at->fall;
}

// Returns d_c on the plane.
static double measure(sap_fan* fan, const double way[2], double t, double* slope) {
  const facet* f = (const facet*)fan;
  double x[3];
  sap_patch_depth at;
  sap_v3_copy(x, f->origin);
  *slope = 0.0;
  for (int k = 0; k < 2; ++k) {
    sap_v3_add_scaled(x, fan->e[k], fan->c[k] + t * way[k]);
  }
  find_depth(f, x, &at);
  for (int k = 0; k < 2; ++k) {
    *slope -= way[k] * sap_v3_dot(at.m, fan->e[k]);
  }
  return at.d;
}

// Returns the part of the way from c at which the facet ceases to be the nearest one, by Newton's
// method on its edges from `end`.
static double limit(sap_fan* fan, const double way[2], double end, bool* on_edge) {
  const facet* f = (const facet*)fan;
  const double* own = f->planes[f->number];
  double dir[3], t = end;
  spot at;
  sap_v3_scale(dir, fan->e[0], way[0]);
  sap_v3_add_scaled(dir, fan->e[1], way[1]);
  int32_t edge = -1;
  for (int k = 0; k < NEWTON; ++k) {
    find_point(f, way, t, &at);
    // dx/dt = dir + dz/dt v
    const double dz = -f->weight[1] * sap_v3_dot(at.at.m, dir) / at.fall;
    double best = HUGE_VAL;
    const int32_t last = edge;
    for (int32_t j = 0; j < f->face.count; ++j) {
      if (f->face.label[j] < 0) {
        continue;
      }
      const double* other = f->planes[f->face.label[j]];
      double m[3];
      sap_v3_sub(m, other, own);
      const double gap = other[3] - own[3] - sap_v3_dot(m, at.x);
      if (gap < 0.0 || j == last) {
        const double slope = -sap_v3_dot(m, dir) - dz * sap_v3_dot(m, f->v);
        const double next = slope < 0.0 ? t - gap / slope : 0.0;
        edge = next < best ? j : edge;
        best = next < best ? next : best;
      }
    }
    best = sap_most(best, 0.0);
    if (f->weight[1] == 0.0 && edge >= 0) {  // the surface lies in the plane
      t = best;
      break;
    }
    if (edge < 0 || !(fabs(best - t) > ROUND_OFF * (t + best))) {
      break;
    }
    t = best;
  }
  *on_edge = edge >= 0;
  return t;
}

// Adds the corner that the vertex j of the face, in the curved shape, has on the surface.
static void add_vertex(facet* f, int32_t j) {
  const double *own = f->planes[f->number], *x = f->face.x[j];
  const int32_t before = f->face.label[j > 0 ? j - 1 : f->face.count - 1], after = f->face.label[j];
  double m[2][3], v[3], q[3];
  if (f->weight[1] == 0.0 || before < 0 || after < 0) {
    sap_fan_add_corner(&f->fan, f->origin, x);
    return;
  }
  sap_v3_sub(m[0], f->planes[before], own);
  sap_v3_sub(m[1], f->planes[after], own);
  sap_v3_cross(v, m[0], m[1]);
  const double rate = -sap_v3_dot(v, own);
  spot at;
  sap_v3_scale(v, v, 1.0 / rate);
  const double z = fabs(rate) > 0.0 ? find_level(f, x, v, &at) : 0.0;
  sap_v3_copy(q, x);
  sap_v3_add_scaled(q, v, z);
  sap_v3_add_scaled(q, f->v, -z);
  sap_fan_add_corner(&f->fan, f->origin, q);
}

// A point of an edge, at the part t of it.
typedef struct mark {
  double t, d, slope;
} mark;

static mark find_mark(const sap_patch_surface* s, int shape, const double a[3], const double way[3],
                      double t) {
  double x[3];
  sap_patch_depth at;
  sap_v3_copy(x, a);
  sap_v3_add_scaled(x, way, t);
  sap_patch_find_depth_at(s, shape, x, &at);
  return (mark){t, at.d, -sap_v3_dot(at.m, way)};
}

bool sap_patch_cut(const sap_patch_surface* s, int shape, const double a[3], const double way[3],
                   double t[2]) {
  mark m[2] = {find_mark(s, shape, a, way, 0.0), find_mark(s, shape, a, way, 1.0)};
  mark at = m[m[1].d > m[0].d];
  for (int k = 0; k < NEWTON && !(at.d > 0.0); ++k) {
    // The top lies below where both tangents meet.
    const double top =
        (m[1].d - m[0].d + m[0].slope * m[0].t - m[1].slope * m[1].t) / (m[0].slope - m[1].slope);
    if (!(m[0].slope > 0.0 && m[1].slope < 0.0 && m[0].d + m[0].slope * (top - m[0].t) > 0.0)) {
      return false;
    }
    at = find_mark(s, shape, a, way, top);
    m[at.slope > 0.0 ? 0 : 1] = at;
  }
  for (int side = 0; side < 2 && at.d > 0.0; ++side) {
    mark end = m[side].t == at.t ? find_mark(s, shape, a, way, side) : m[side];
    for (int k = 0; k < NEWTON && end.d < 0.0; ++k) {
      const double next = end.t - end.d / end.slope;
      if (next == end.t) {
        break;
      }
      end = find_mark(s, shape, a, way, next);
    }
    t[side] = end.t;
  }
  return at.d > 0.0;
}

// Adds the corners of the edge from a to b at d_c = 0. Returns true if a part of the edge lies in
// the curved shape.
static bool add_edge(facet* f, const double a[3], const double b[3]) {
  double way[3], x[3], t[2];
  sap_v3_sub(way, b, a);
  const bool inside = sap_patch_cut(f->fan.s, 1 - f->flat, a, way, t);
  for (int end = 0; end < 2 && inside; ++end) {
    if (t[end] > 0.0 && t[end] < 1.0) {
      sap_v3_copy(x, a);
      sap_v3_add_scaled(x, way, t[end]);
      sap_fan_add_corner(&f->fan, f->origin, x);
    }
  }
  return inside;
}

bool sap_patch_meet(const sap_patch_surface* s, int shape, const double plane[4], double x[3]) {
  const sap_placed_shape* curved = s->shape[shape];
  const double height = sap_v3_dot(plane, s->centre[shape]) - plane[3];
  double down[3], far[3];
  sap_v3_scale(down, plane, height > 0.0 ? -1.0 : 1.0);
  sap_shape_support(curved, down, far);
  const double extent = sap_v3_dot(far, down), rest = fabs(height) - extent;
  sap_v3_copy(x, s->centre[shape]);
  sap_v3_add_scaled(x, far, rest < 0.0 ? fabs(height) / extent : 1.0);
  sap_v3_add_scaled(x, down, sap_most(rest, 0.0));
  return rest < curved->radius;
}

// Returns true if the facet is the nearest one at c.
static bool is_inside(const facet* f) {
  static const double here[2] = {0.0, 0.0};
  spot at;
  sap_patch_depth own;
  find_point(f, here, 0.0, &at);
  sap_patch_find_depth_at(f->fan.s, f->flat, at.x, &own);
  return own.side == f->number;
}

// Adds the corners. Sets v by least squares: (m_k - m) . v = 0 of the edges in the curved shape.
static void add_corners(facet* f) {
  static const double DAMPING = 1e-9;
  const double* own = f->planes[f->number];
  double A[3] = {DAMPING, DAMPING, 0.0}, b[2] = {0.0, 0.0};
  for (int32_t j = 0; j < f->face.count; ++j) {
    const int32_t k = f->face.label[j];
    if (add_edge(f, f->face.x[j], f->face.x[j + 1 < f->face.count ? j + 1 : 0]) && k >= 0) {
      const double* m = f->planes[k];
      const double g[2] = {sap_v3_dot(m, f->fan.e[0]), sap_v3_dot(m, f->fan.e[1])};
      const double rest = sap_v3_dot(m, own) - 1.0;
      A[0] += g[0] * g[0];
      A[1] += g[1] * g[1];
      A[2] += g[0] * g[1];
      b[0] += g[0] * rest;
      b[1] += g[1] * rest;
    }
  }
  const double det = A[0] * A[1] - A[2] * A[2];
  sap_v3_scale(f->v, own, -1.0);
  sap_v3_add_scaled(f->v, f->fan.e[0], (A[1] * b[0] - A[2] * b[1]) / det);
  sap_v3_add_scaled(f->v, f->fan.e[1], (A[0] * b[1] - A[2] * b[0]) / det);
  for (int32_t j = 0; j < f->face.count; ++j) {
    sap_patch_depth at;
    find_depth(f, f->face.x[j], &at);
    if (at.d > 0.0) {
      f->fan.s->deepest = sap_most(f->fan.s->deepest, at.d);
      add_vertex(f, j);
    }
  }
}

static bool add_facet(facet* f, int32_t number) {
  f->number = number;
  f->fan.nborder = 0;
  f->fan.c[0] = f->fan.c[1] = 0.0;
  if (!sap_patch_meet(f->fan.s, 1 - f->flat, f->planes[number], f->origin) ||
      !sap_patch_set_face(f->fan.s, f->flat, f->number, 4.0 * f->size, &f->face)) {
    return true;
  }
  sap_fan_set_axes(&f->fan, f->planes[f->number]);
  add_corners(f);
  f->fan.edges = f->fan.nborder > 0;
  return (f->fan.nborder == 0 && !is_inside(f)) || sap_fan_add(&f->fan);
}

static void begin(sap_patch_surface* s, int flat, facet* f) {
  f->fan.s = s;
  f->fan.changes = false;
  f->fan.reach = sqrt(s->shape[1 - flat]->bound * s->depth);
  f->fan.find_spot = find_spot;
  f->fan.measure = measure;
  f->fan.limit = limit;
  f->flat = flat;
  f->planes = (const double(*)[4])s->planes[flat];
  f->weight[0] = flat == 0 ? s->alpha : s->beta;
  f->weight[1] = flat == 0 ? s->beta : s->alpha;
  f->size = sap_least(s->shape[0]->bound, s->shape[1]->bound);
}

bool sap_patch_add_facet(sap_patch_surface* s, int flat) {
  facet f;
  begin(s, flat, &f);
  return add_facet(&f, 0);
}

bool sap_patch_add_facets(sap_patch_surface* s) {
  const int flat = sap_patch_is_flat(s->shape[1]);
  bool found = false;
  for (s->coarse = 0; !found && s->coarse < SAP_PATCH_COARSEST; ++s->coarse) {
    facet f;
    begin(s, flat, &f);
    s->npieces = s->ncorners = 0;
    found = true;
    for (int32_t i = 0; i < s->nplanes[flat] && found; ++i) {
      found = add_facet(&f, i);
    }
  }
  return found && s->npieces > 0;
}
