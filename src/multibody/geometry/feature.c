// SPDX-License-Identifier: BSD-3-Clause
// Flat features of shapes, and the corners of the overlap of two (see manifold.h).
#include "multibody/geometry/manifold.h"

static const double half_sqrt2 = 0.70710678118654752;
// A cylinder's cap faces n within 45 degrees, its side beyond.
static const double cap_cosine = 0.70710678118654752;
// Sine below which a cap counts as flat: otherwise the lowest point of the rim would run around it
// as a body rocks at rest. The eight points miss the depth by less than 1e-5 of the radius.
static const double flat_sine = 1e-4;
// A later axis of a box must be better by this factor.
static const double clearly = 1.0 + 1e-9;

static void box_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3];
  sap_m3_tmul_v3(local, shape->R, n);
  int i = 0;
  for (int k = 1; k < 3; ++k) {
    // Prefer the lower axis among equals: 45 degree poses do not flip by round-off.
    if (fabs(local[k]) > fabs(local[i]) * clearly) {
      i = k;
    }
  }
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  out->kind = SAP_FEATURE_QUAD;
  sap_v3_add_scaled(out->c, shape->R + 3 * i, copysign(shape->size[i], local[i]));
  sap_v3_scale(out->u, shape->R + 3 * j, shape->size[j]);
  sap_v3_scale(out->v, shape->R + 3 * k, shape->size[k]);
}

static void cylinder_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3];
  sap_m3_tmul_v3(local, shape->R, n);
  const double sine = hypot(local[0], local[1]);
  if (fabs(local[2]) > cap_cosine) {
    out->kind = SAP_FEATURE_DISC;
    sap_v3_add_scaled(out->c, shape->R + 6, copysign(shape->size[1], local[2]));
    sap_v3_scale(out->u, shape->R, shape->size[0]);
    sap_v3_scale(out->v, shape->R + 3, shape->size[0]);
    out->tilted = sine > flat_sine;
    if (out->tilted) {
      out->deepest[0] = local[0] / sine;
      out->deepest[1] = local[1] / sine;
    }
    return;
  }
  out->kind = SAP_FEATURE_SEGMENT;
  out->radius = shape->size[0];
  sap_v3_scale(out->u, shape->R + 6, shape->size[1]);
  sap_v3_add_scaled(out->c, shape->R, out->radius * local[0] / sine);
  sap_v3_add_scaled(out->c, shape->R + 3, out->radius * local[1] / sine);
}

static void mesh_feature(const sap_placed_shape* shape, const double n[3], sap_feature* out) {
  double local[3], c[3];
  sap_m3_tmul_v3(local, shape->R, n);
  out->face = sap_polytope_facing(shape->hull, local);
  const sap_polytope_face* face = &shape->hull->faces[out->face];
  out->kind = SAP_FEATURE_POLYGON;
  sap_m3_mul_v3(c, shape->R, face->c);
  sap_v3_add(out->c, out->c, c);
  sap_m3_mul_v3(out->u, shape->R, face->u);
  sap_m3_mul_v3(out->v, shape->R, face->v);
  out->ncorners = face->count;
  out->inner = face->inner;
  out->corners = (const double(*)[2])shape->hull->corners + face->first;
  out->sides = shape->hull->sides + 3 * (size_t)face->first;
}

void sap_feature_facing(const sap_placed_shape* shape, const double centre[3], const double n[3],
                        sap_feature* out) {
  *out = (sap_feature){.kind = SAP_FEATURE_POINT};
  sap_v3_copy(out->c, centre);
  sap_v3_copy(out->axis, centre);
  if (shape->type == SAP_SHAPE_BOX) {
    box_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_CYLINDER) {
    cylinder_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_MESH) {
    mesh_feature(shape, n, out);
  } else if (shape->type == SAP_SHAPE_CAPSULE) {
    out->kind = SAP_FEATURE_SEGMENT;
    out->round_ends = true;
    out->radius = shape->size[0];
    sap_v3_scale(out->u, shape->R + 6, shape->size[1]);
    sap_v3_add_scaled(out->c, n, out->radius);
  }
}

int sap_feature_corners(const sap_feature* f, double corners[][2]) {
  switch (f->kind) {
    case SAP_FEATURE_QUAD: {
      static const double quad[4][2] = {{1.0, 1.0}, {-1.0, 1.0}, {-1.0, -1.0}, {1.0, -1.0}};
      for (int i = 0; i < 4; ++i) {
        corners[i][0] = quad[i][0];
        corners[i][1] = quad[i][1];
      }
      return 4;
    }
    case SAP_FEATURE_DISC: {
      static const double octant[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                          {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
      int nearest = 0;
      double best = -1.0;
      for (int i = 0; i < 8; ++i) {
        const double scale = i % 2 == 0 ? 1.0 : half_sqrt2;
        corners[i][0] = scale * octant[i][0];
        corners[i][1] = scale * octant[i][1];
        const double along = corners[i][0] * f->deepest[0] + corners[i][1] * f->deepest[1];
        if (along > best) {
          best = along;
          nearest = i;
        }
      }
      if (f->tilted) {
        corners[nearest][0] = f->deepest[0];
        corners[nearest][1] = f->deepest[1];
      }
      return 8;
    }
    case SAP_FEATURE_SEGMENT:
      corners[0][0] = -1.0;
      corners[1][0] = 1.0;
      corners[0][1] = corners[1][1] = 0.0;
      return 2;
    case SAP_FEATURE_POLYGON:
      for (int i = 0; i < f->ncorners; ++i) {
        corners[i][0] = f->corners[i][0];
        corners[i][1] = f->corners[i][1];
      }
      return f->ncorners;
    case SAP_FEATURE_POINT:
      break;
  }
  return 0;
}

void sap_feature_point(const sap_feature* f, const double ab[2], double x[3]) {
  sap_v3_copy(x, f->c);
  sap_v3_add_scaled(x, f->u, ab[0]);
  sap_v3_add_scaled(x, f->v, ab[1]);
}

// --- overlap of two features ---
// With P planar, the foot of x in P along n has the coordinates of sap_foot_map. The corners of the
// overlap of P and Q are the ends of Q's edges clipped to P, and P's own corners that lie in Q. A
// disc's edges are the chords of eight rim points; clipping to a disc is exact.

static const double slack = SAP_INSIDE_SLACK;
// Two side lines closer to parallel than this touch along a line.
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

static void find_foot(const sap_foot_map* map, const double x[3], double ab[2]) {
  double d[3];
  sap_v3_sub(d, x, map->feature->c);
  ab[0] = sap_v3_dot(d, map->a);
  ab[1] = sap_v3_dot(d, map->b);
}

// Returns the polygon's function of its edge k at ab: >= 0 inside.
static double polygon_side(const sap_feature* f, int32_t k, const double ab[2]) {
  const double* x = f->sides + k;
  return x[0] * ab[1] - x[f->ncorners] * ab[0] + x[2 * f->ncorners];
}

// Returns the polygon's edges that have ab outside: bit k for edge k.
static uint32_t find_outside(const sap_feature* f, const double ab[2]) {
  double side[SAP_FEATURE_CORNERS];
  uint32_t outside = 0;
  for (int32_t k = 0; k < f->ncorners; ++k) {
    side[k] = polygon_side(f, k, ab);
  }
  for (int32_t k = 0; k < f->ncorners; ++k) {
    if (!(side[k] >= 0.0)) {
      outside |= (uint32_t)1 << k;
    }
  }
  return outside;
}

bool sap_feature_holds(const sap_feature* f, const double ab[2]) {
  const double one = 1.0 + slack, radius2 = ab[0] * ab[0] + ab[1] * ab[1];
  if (f->kind == SAP_FEATURE_DISC || radius2 <= f->inner * f->inner) {
    return radius2 <= one * one;
  }
  return fabs(ab[0]) <= one && fabs(ab[1]) <= one && find_outside(f, ab) == 0;
}

// A corner of Q: the point, its foot in P, and the edges of a polygon P that have it outside.
typedef struct corner {
  double x[3], foot[2];
  uint32_t outside;
} corner;

// Clips the edge e + t d, t in [t0, t1], to the quad; false if nothing is left.
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

// An edge crosses few of a polygon's lines: those that have one end outside.
static bool clip_polygon(const sap_feature* f, const corner* from, const corner* to, double t[2]) {
  uint32_t crossed = from->outside ^ to->outside;
  if ((from->outside & to->outside) != 0) {
    return false;
  }
  for (int32_t k = 0; crossed != 0; ++k, crossed >>= 1) {
    if ((crossed & 1) != 0) {
      const double side = polygon_side(f, k, from->foot);
      const double way = side / (side - polygon_side(f, k, to->foot));
      t[0] = side < 0.0 ? sap_most(t[0], way) : t[0];
      t[1] = side < 0.0 ? t[1] : sap_least(t[1], way);
    }
  }
  return t[0] <= t[1];
}

// Clips the edge to the planar feature; d: between the feet of its ends.
static bool clip_to_feature(const sap_feature* f, const corner* from, const corner* to,
                            const double d[2], double t[2]) {
  if (f->kind == SAP_FEATURE_POLYGON) {
    return clip_polygon(f, from, to, t);
  }
  return f->kind == SAP_FEATURE_DISC ? clip_disc(from->foot, d, t) : clip_quad(from->foot, d, t);
}

// Both features, the planar one first; sign: +1 if that is A.
typedef struct overlap {
  const sap_feature *p, *q;
  const double* n;
  double sign;
  sap_foot_map map;  // of p
  sap_candidates* list;
} overlap;

// Adds the point with x_p and x_q over each other on the two surfaces.
static void add_over(const overlap* o, const double x_p[3], const double x_q[3]) {
  double d[3];
  sap_v3_sub(d, x_q, x_p);
  sap_candidates_add(o->list, o->sign > 0.0 ? x_p : x_q, o->n, o->sign * sap_v3_dot(o->n, d));
}

static void clip_edge(const overlap* o, const corner* from, const corner* to, bool closed) {
  double t[2] = {0.0, 1.0};
  const double *e = from->foot, d[2] = {to->foot[0] - e[0], to->foot[1] - e[1]};
  if (!clip_to_feature(o->p, from, to, d, t)) {
    return;
  }
  for (int i = 0; i < 2; ++i) {
    if (i == 1 && ((closed && t[1] >= 1.0) || t[1] - t[0] < slack)) {
      return;  // the next edge starts there, or both ends are the same point
    }
    const double ab[2] = {e[0] + t[i] * d[0], e[1] + t[i] * d[1]};
    double x_p[3], x_q[3];
    sap_feature_point(o->p, ab, x_p);
    for (int k = 0; k < 3; ++k) {
      x_q[k] = from->x[k] + t[i] * (to->x[k] - from->x[k]);
    }
    add_over(o, x_p, x_q);
  }
}

static void clip_boundary(const overlap* o) {
  double ab[SAP_FEATURE_CORNERS][2];
  corner corners[SAP_FEATURE_CORNERS];
  const int count = sap_feature_corners(o->q, ab);
  for (int i = 0; i < count; ++i) {
    sap_feature_point(o->q, ab[i], corners[i].x);
    find_foot(&o->map, corners[i].x, corners[i].foot);
    corners[i].outside = find_outside(o->p, corners[i].foot);
  }
  if (o->q->kind == SAP_FEATURE_SEGMENT) {
    clip_edge(o, &corners[0], &corners[1], false);
    return;
  }
  for (int i = 0; i < count; ++i) {
    clip_edge(o, &corners[i], &corners[(i + 1) % count], true);
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
    find_foot(&map, x_p, ab);
    if (sap_feature_holds(o->q, ab)) {
      sap_feature_point(o->q, ab, x_q);
      add_over(o, x_p, x_q);
    }
  }
}

// Adds the ends of one axis over the other: each is a sphere on a rounded line with its own normal.
// Lines that cross have those that overlap, else the one contact of capsules deep in each other
// would jump from end to end.
static void add_line_ends(const sap_feature* ends, const sap_feature* line, double sign,
                          const double n[3], bool parallel, sap_candidates* list) {
  const double most = parallel ? (double)INFINITY : ends->round_ends ? 0.0 : -(double)INFINITY;
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
    const double gap = distance - line->radius - ends->radius;
    if (!(side > half_sqrt2 * distance) || !(gap < most)) {
      continue;  // crossed lines, or lines through each other
    }
    double own[3], p[3];
    sap_v3_scale(own, d, sign / distance);
    sap_v3_copy(p, sign > 0.0 ? foot_point : x);
    sap_v3_add_scaled(p, own, sign > 0.0 ? line->radius : ends->radius);
    sap_candidates_add(list, p, own, gap);
  }
}

static void overlap_lines(const sap_feature* a, const sap_feature* b, const double n[3],
                          sap_candidates* list) {
  double cross[3];
  sap_v3_cross(cross, a->u, b->u);
  const double sine = sap_v3_norm(cross);
  const bool parallel = sine <= parallel_sine * sap_v3_norm(a->u) * sap_v3_norm(b->u);
  add_line_ends(b, a, 1.0, n, parallel, list);
  add_line_ends(a, b, -1.0, n, parallel, list);
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
  find_foot(map, x, ab);
  sap_feature_point(map->feature, ab, over);
  sap_v3_sub(d, over, x);
  const double gap = sap_v3_dot(map->n, d) * (is_on_a ? 1.0 : -1.0);
  sap_candidates_add(list, is_on_a ? x : over, map->n, gap);
}
