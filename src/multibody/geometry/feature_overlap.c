// SPDX-License-Identifier: BSD-3-Clause
// The corners of the overlap of two flat features along a normal (see manifold.h).
//
// With P planar, the foot of x in P along n has the coordinates that sap_foot_map gives. The
// corners of the overlap of P and Q are the ends of Q's edges clipped to P, and P's own corners
// that lie in Q. A disc's edges are the chords of eight rim points; clipping to a disc is exact.
#include "multibody/geometry/manifold.h"

static const double half_sqrt2 = 0.70710678118654752;
// Relative slack of "inside": points on an edge stay, whatever round-off says.
static const double slack = 1e-9;
// Two side lines closer than this to parallel touch along a line.
static const double parallel_sine = 0.1;

bool sap_foot_map_make(const sap_feature* f, const double n[3], sap_foot_map* map) {
  map->feature = f;
  map->n = n;
  sap_v3_cross(map->a, f->v, n);
  sap_v3_cross(map->b, n, f->u);
  const double det = sap_v3_dot(map->a, f->u);
  if (!(fabs(det) > slack * sap_v3_norm(f->u) * sap_v3_norm(f->v))) {
    return false;
  }
  sap_v3_scale(map->a, map->a, 1.0 / det);
  sap_v3_scale(map->b, map->b, 1.0 / det);
  return true;
}

static void foot(const sap_foot_map* map, const double x[3], double ab[2]) {
  double d[3];
  sap_v3_sub(d, x, map->feature->c);
  ab[0] = sap_v3_dot(d, map->a);
  ab[1] = sap_v3_dot(d, map->b);
}

// Twice the signed area between the polygon's edge k and ab, >= 0 inside; with its slack.
static double polygon_side(const sap_feature* f, int32_t k, const double ab[2], double edge[2]) {
  const double* from = f->corners[k];
  const double* to = f->corners[k + 1 < f->ncorners ? k + 1 : 0];
  edge[0] = to[0] - from[0];
  edge[1] = to[1] - from[1];
  return edge[0] * (ab[1] - from[1]) - edge[1] * (ab[0] - from[0]) +
         slack * (fabs(edge[0]) + fabs(edge[1]));
}

static bool inside(const sap_feature* f, const double ab[2]) {
  const double one = 1.0 + slack;
  if (f->kind == SAP_FEATURE_DISC) {
    return ab[0] * ab[0] + ab[1] * ab[1] <= one * one;
  }
  double edge[2];
  for (int32_t k = 0; k < f->ncorners; ++k) {
    if (!(polygon_side(f, k, ab, edge) >= 0.0)) {
      return false;
    }
  }
  return fabs(ab[0]) <= one && fabs(ab[1]) <= one;
}

// Part [t0, t1] of the edge e + t d, 0 <= t <= 1, that lies in the feature's region.
static bool clip_quad(const double e[2], const double d[2], double t[2]) {
  const double one = 1.0 + slack;
  for (int i = 0; i < 2; ++i) {
    if (fabs(d[i]) < 1e-14) {
      if (fabs(e[i]) > one) {
        return false;
      }
      continue;
    }
    const double ta = (-one - e[i]) / d[i], tb = (one - e[i]) / d[i];
    t[0] = sap_most(t[0], sap_least(ta, tb));
    t[1] = sap_least(t[1], sap_most(ta, tb));
  }
  return t[0] <= t[1];
}

static bool clip_disc(const double e[2], const double d[2], double t[2]) {
  const double one = 1.0 + slack;
  const double a = d[0] * d[0] + d[1] * d[1], b = e[0] * d[0] + e[1] * d[1];
  const double c = e[0] * e[0] + e[1] * e[1] - one * one;
  if (a < 1e-28) {
    return c <= 0.0;
  }
  const double root = b * b - a * c;
  if (!(root >= 0.0)) {
    return false;
  }
  t[0] = sap_most(t[0], (-b - sqrt(root)) / a);
  t[1] = sap_least(t[1], (-b + sqrt(root)) / a);
  return t[0] <= t[1];
}

static bool clip_polygon(const sap_feature* f, const double e[2], const double d[2], double t[2]) {
  for (int32_t k = 0; k < f->ncorners; ++k) {
    double edge[2];
    const double side = polygon_side(f, k, e, edge);
    const double slope = edge[0] * d[1] - edge[1] * d[0];
    if (fabs(slope) < 1e-14) {
      if (side < 0.0) {
        return false;
      }
    } else if (slope > 0.0) {
      t[0] = sap_most(t[0], -side / slope);
    } else {
      t[1] = sap_least(t[1], -side / slope);
    }
  }
  return t[0] <= t[1];
}

static bool clip(const sap_feature* f, const double e[2], const double d[2], double t[2]) {
  switch (f->kind) {
    case SAP_FEATURE_DISC:
      return clip_disc(e, d, t);
    case SAP_FEATURE_POLYGON:
      return clip_polygon(f, e, d, t);
    case SAP_FEATURE_QUAD:
      return clip_quad(e, d, t);
    case SAP_FEATURE_POINT:
    case SAP_FEATURE_SEGMENT:
      break;
  }
  return false;
}

// Both features with the planar one first; sign: +1 when it is A.
typedef struct overlap {
  const sap_feature *p, *q;
  const double* n;
  double sign;
  sap_foot_map map;  // of p
  sap_candidates* list;
} overlap;

// x_p, x_q on the two surfaces over each other.
static void emit(const overlap* o, const double x_p[3], const double x_q[3]) {
  double d[3];
  sap_v3_sub(d, x_q, x_p);
  sap_candidates_add(o->list, o->sign > 0.0 ? x_p : x_q, o->n, o->sign * sap_v3_dot(o->n, d));
}

static void clip_edge(const overlap* o, const double x0[3], const double x1[3], bool closed) {
  double e[2], end[2], t[2] = {0.0, 1.0};
  foot(&o->map, x0, e);
  foot(&o->map, x1, end);
  const double d[2] = {end[0] - e[0], end[1] - e[1]};
  if (!clip(o->p, e, d, t)) {
    return;
  }
  for (int i = 0; i < 2; ++i) {
    if (i == 1 && ((closed && t[1] >= 1.0) || t[1] - t[0] < slack)) {
      return;  // the next edge starts there, or it is the same point
    }
    const double ab[2] = {e[0] + t[i] * d[0], e[1] + t[i] * d[1]};
    double x_p[3], x_q[3];
    sap_feature_point(o->p, ab, x_p);
    for (int k = 0; k < 3; ++k) {
      x_q[k] = x0[k] + t[i] * (x1[k] - x0[k]);
    }
    emit(o, x_p, x_q);
  }
}

static void clip_boundary(const overlap* o) {
  double corners[SAP_FEATURE_CORNERS][2], x[SAP_FEATURE_CORNERS][3];
  const int count = sap_feature_corners(o->q, corners);
  for (int i = 0; i < count; ++i) {
    sap_feature_point(o->q, corners[i], x[i]);
  }
  if (o->q->kind == SAP_FEATURE_SEGMENT) {
    clip_edge(o, x[0], x[1], false);
    return;
  }
  for (int i = 0; i < count; ++i) {
    clip_edge(o, x[i], x[(i + 1) % count], true);
  }
}

static void add_own_corners(const overlap* o) {
  sap_foot_map map;
  if (o->q->kind == SAP_FEATURE_SEGMENT || !sap_foot_map_make(o->q, o->n, &map)) {
    return;
  }
  double corners[SAP_FEATURE_CORNERS][2];
  const int count = sap_feature_corners(o->p, corners);
  for (int i = 0; i < count; ++i) {
    double x_p[3], x_q[3], ab[2];
    sap_feature_point(o->p, corners[i], x_p);
    foot(&map, x_p, ab);
    if (inside(o->q, ab)) {
      sap_feature_point(o->q, ab, x_q);
      emit(o, x_p, x_q);
    }
  }
}

// Ends of one axis over the other: each is a sphere on a rounded line, with its own normal.
static void add_line_ends(const sap_feature* ends, const sap_feature* line, double sign,
                          const double n[3], sap_candidates* list) {
  const double length2 = sap_v3_dot(line->u, line->u);
  for (int i = -1; i <= 1; i += 2) {
    double x[3], d[3], foot_point[3];
    sap_v3_copy(x, ends->axis);
    sap_v3_add_scaled(x, ends->u, i);
    sap_v3_sub(d, x, line->axis);
    const double t = sap_v3_dot(d, line->u) / length2;
    if (!(fabs(t) <= 1.0 + slack)) {
      continue;
    }
    sap_v3_copy(foot_point, line->axis);
    sap_v3_add_scaled(foot_point, line->u, t);
    sap_v3_sub(d, x, foot_point);
    const double distance = sap_v3_norm(d);
    const double side = sign * sap_v3_dot(d, n);
    if (!(side > half_sqrt2 * distance)) {
      continue;  // crossed lines, or lines through each other
    }
    double own[3], p[3];
    sap_v3_scale(own, d, sign / distance);
    sap_v3_copy(p, sign > 0.0 ? foot_point : x);
    sap_v3_add_scaled(p, own, sign > 0.0 ? line->radius : ends->radius);
    sap_candidates_add(list, p, own, distance - line->radius - ends->radius);
  }
}

static void overlap_lines(const sap_feature* a, const sap_feature* b, const double n[3],
                          sap_candidates* list) {
  double cross[3];
  sap_v3_cross(cross, a->u, b->u);
  const double sine = sap_v3_norm(cross);
  if (sine <= parallel_sine * sap_v3_norm(a->u) * sap_v3_norm(b->u)) {
    add_line_ends(b, a, 1.0, n, list);
    add_line_ends(a, b, -1.0, n, list);
  }
}

void sap_feature_overlap(const sap_feature* a, const sap_feature* b, const double n[3],
                         sap_candidates* list) {
  if (a->kind == SAP_FEATURE_POINT || b->kind == SAP_FEATURE_POINT) {
    return;
  }
  const bool flat_a = a->kind != SAP_FEATURE_SEGMENT, flat_b = b->kind != SAP_FEATURE_SEGMENT;
  if (!flat_a && !flat_b) {
    overlap_lines(a, b, n, list);
    return;
  }
  overlap o = {.p = a, .q = b, .n = n, .sign = 1.0, .list = list};
  // Clip to a disc rather than to its chords.
  if (!flat_a || (b->kind == SAP_FEATURE_DISC && a->kind != SAP_FEATURE_DISC)) {
    o.p = b;
    o.q = a;
    o.sign = -1.0;
  }
  if (sap_foot_map_make(o.p, n, &o.map)) {
    clip_boundary(&o);
    add_own_corners(&o);
  }
}

void sap_foot_map_add_point(const sap_foot_map* map, const double x[3], bool is_on_a,
                            sap_candidates* list) {
  double ab[2], over[3], d[3];
  foot(map, x, ab);
  if (inside(map->feature, ab)) {
    sap_feature_point(map->feature, ab, over);
    sap_v3_sub(d, over, x);
    const double gap = sap_v3_dot(map->n, d) * (is_on_a ? 1.0 : -1.0);
    sap_candidates_add(list, is_on_a ? x : over, map->n, gap);
  }
}
