// SPDX-License-Identifier: BSD-3-Clause
// GJK: finds the point of D nearest to the origin (Gilbert, Johnson, Keerthi 1988); the nearest
// point of a simplex by its Voronoi regions.
#include "multibody/geometry/convex.h"

enum { MAX_ITERATIONS = 64 };
// The search ends at this relative gap between the bounds of the squared distance.
static const double gap_tolerance = 1e-12;
// Distance, relative to the pair's size, below which its direction would be round-off.
static const double touching = 1e-9;
// Sine of a point's height over a triangle below which they are coplanar.
static const double flat = 1e-12;

static void keep_vertices(sap_simplex* s, int32_t count, const int32_t* which,
                          const double* weights) {
  sap_convex_vertex kept[4];
  for (int32_t i = 0; i < count; ++i) {
    kept[i] = s->vertices[which[i]];
  }
  for (int32_t i = 0; i < count; ++i) {
    s->vertices[i] = kept[i];
    s->weights[i] = weights[i];
  }
  s->count = count;
}

typedef struct nearest {
  int32_t count, which[3];
  double weights[3], distance2;
} nearest;

static void measure_nearest(const sap_simplex* s, nearest* out) {
  double v[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < out->count; ++i) {
    sap_v3_add_scaled(v, s->vertices[out->which[i]].w, out->weights[i]);
  }
  out->distance2 = sap_v3_dot(v, v);
}

static void nearest_on_edge(const sap_simplex* s, int32_t i, int32_t j, nearest* out) {
  double e[3];
  sap_v3_sub(e, s->vertices[j].w, s->vertices[i].w);
  const double length2 = sap_v3_dot(e, e);
  const double t = length2 > 0.0 ? -sap_v3_dot(s->vertices[i].w, e) / length2 : 0.0;
  if (t <= 0.0) {
    *out = (nearest){.count = 1, .which = {i}, .weights = {1.0}};
  } else if (t >= 1.0) {
    *out = (nearest){.count = 1, .which = {j}, .weights = {1.0}};
  } else {
    *out = (nearest){.count = 2, .which = {i, j}, .weights = {1.0 - t, t}};
  }
  measure_nearest(s, out);
}

static void nearest_on_triangle(const sap_simplex* s, const int32_t abc[3], nearest* out) {
  const double *a = s->vertices[abc[0]].w, *b = s->vertices[abc[1]].w, *c = s->vertices[abc[2]].w;
  double e[3], f[3], n[3], pa[3], pb[3], pc[3];
  sap_v3_sub(e, b, a);
  sap_v3_sub(f, c, a);
  sap_v3_cross(n, e, f);
  const double area2 = sap_v3_dot(n, n);
  if (area2 > 1e-24 * sap_v3_dot(e, e) * sap_v3_dot(f, f)) {
    sap_v3_cross(pa, b, c);
    sap_v3_cross(pb, c, a);
    sap_v3_cross(pc, a, b);
    const double wa = sap_v3_dot(pa, n) / area2, wb = sap_v3_dot(pb, n) / area2;
    const double wc = sap_v3_dot(pc, n) / area2;
    if (wa > 0.0 && wb > 0.0 && wc > 0.0) {
      *out = (nearest){.count = 3, .which = {abc[0], abc[1], abc[2]}, .weights = {wa, wb, wc}};
      // The plane's distance is more accurate than the length of the weighted sum.
      const double h = sap_v3_dot(a, n);
      out->distance2 = h * h / area2;
      return;
    }
  }
  nearest other;
  nearest_on_edge(s, abc[0], abc[1], out);
  for (int k = 1; k < 3; ++k) {
    nearest_on_edge(s, abc[k], abc[(k + 1) % 3], &other);
    if (other.distance2 < out->distance2) {
      *out = other;
    }
  }
}

// Returns false when the origin lies inside.
static bool nearest_on_tetrahedron(const sap_simplex* s, nearest* out) {
  static const int32_t faces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
  bool is_outside = false;
  for (int k = 0; k < 4; ++k) {
    const double *a = s->vertices[faces[k][0]].w, *b = s->vertices[faces[k][1]].w;
    const double *c = s->vertices[faces[k][2]].w, *d = s->vertices[faces[k][3]].w;
    double e[3], f[3], g[3], n[3];
    sap_v3_sub(e, b, a);
    sap_v3_sub(f, c, a);
    sap_v3_sub(g, d, a);
    sap_v3_cross(n, e, f);
    const double opposite = sap_v3_dot(n, g), origin = -sap_v3_dot(n, a);
    // The signs of a flat tetrahedron are round-off: it has no inside.
    const double span = flat * flat * sap_v3_dot(n, n) * sap_v3_dot(g, g);
    if (opposite * opposite > span && opposite * origin > 0.0) {
      continue;
    }
    nearest face;
    nearest_on_triangle(s, faces[k], &face);
    if (!is_outside || face.distance2 < out->distance2) {
      *out = face;
    }
    is_outside = true;
  }
  return is_outside;
}

// Reduces the simplex to the vertices of its nearest point v; false if it contains the origin.
static bool reduce_simplex(sap_simplex* s, double v[3]) {
  static const int32_t all[3] = {0, 1, 2};
  nearest best = {.count = 1, .which = {0}, .weights = {1.0}};
  if (s->count == 2) {
    nearest_on_edge(s, 0, 1, &best);
  } else if (s->count == 3) {
    nearest_on_triangle(s, all, &best);
  } else if (s->count == 4 && !nearest_on_tetrahedron(s, &best)) {
    return false;
  }
  keep_vertices(s, best.count, best.which, best.weights);
  sap_v3_set(v, 0.0, 0.0, 0.0);
  for (int32_t i = 0; i < s->count; ++i) {
    sap_v3_add_scaled(v, s->vertices[i].w, s->weights[i]);
  }
  return true;
}

static bool has_vertex(const sap_simplex* s, const double w[3]) {
  for (int32_t i = 0; i < s->count; ++i) {
    const double* o = s->vertices[i].w;
    if (o[0] == w[0] && o[1] == w[1] && o[2] == w[2]) {
      return true;
    }
  }
  return false;
}

sap_gjk_result sap_gjk(const sap_convex_pair* pair, double margin, sap_simplex* simplex,
                       double n[3]) {
  double v[3];
  // Any direction is valid where the centres coincide.
  sap_v3_scale(v, pair->ab, -1.0);
  if (sap_v3_norm(v) <= touching * pair->scale) {
    sap_v3_copy(v, pair->a->R);
  }
  const double small = touching * pair->scale;
  simplex->count = 0;
  for (int iteration = 0; iteration < MAX_ITERATIONS; ++iteration) {
    const double v2 = sap_v3_dot(v, v);
    const double d[3] = {-v[0], -v[1], -v[2]};
    sap_convex_vertex vertex;
    const double vw = -sap_convex_support(pair, d, &vertex);
    // v . w/|v| is a lower bound of the distance.
    if (vw > 0.0 && vw * vw >= margin * margin * v2) {
      sap_v3_scale(n, d, 1.0 / sqrt(v2));
      return SAP_GJK_APART;
    }
    if (simplex->count > 0 && (v2 - vw <= gap_tolerance * v2 || has_vertex(simplex, vertex.w))) {
      break;
    }
    const sap_simplex last = *simplex;
    const double last_v[3] = {v[0], v[1], v[2]};
    simplex->vertices[simplex->count++] = vertex;
    if (!reduce_simplex(simplex, v) || sap_v3_norm(v) <= small) {
      return SAP_GJK_OVERLAP;
    }
    // Near the end round-off may choose a worse simplex.
    if (last.count > 0 && !(sap_v3_dot(v, v) < v2)) {
      *simplex = last;
      sap_v3_copy(v, last_v);
      break;
    }
  }
  const double distance = sap_v3_norm(v);
  sap_v3_scale(n, v, -1.0 / distance);
  return distance < margin ? SAP_GJK_NEAR : SAP_GJK_APART;
}
