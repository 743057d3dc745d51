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
  bool separated = false;
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
    separated = vw > 0.0;
    if (separated && vw * vw >= margin * margin * v2) {
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
  if (!separated) {  // round shapes that overlap by less than the simplices resolve
    return SAP_GJK_OVERLAP;
  }
  const double distance = sap_v3_norm(v);
  sap_v3_scale(n, v, -1.0 / distance);
  return distance < margin ? SAP_GJK_NEAR : SAP_GJK_APART;
}

// --- EPA ---
// Grows a polytope inside D until the face nearest to the origin lies on D's boundary (van den
// Bergen 2001). All memory is on the stack.

enum { MAX_VERTICES = 68, MAX_FACES = 2 * MAX_VERTICES, MAX_EDGES = 3 * MAX_VERTICES };
// The search ends at this gap between the bounds of the depth, relative to the pair's size; the
// polish does the rest. D of two polytopes is a polytope: the search finds its faces to round-off.
static const double depth_tolerance = 1e-6, polytope_tolerance = 1e-13;
// Least distance of a point from a line, plane or face, relative to the pair's size.
static const double flat_face = 1e-10;

typedef struct face {
  int32_t v[3];    // counter-clockwise seen from outside
  double n[3], d;  // outward unit normal, distance of its plane
} face;

typedef struct polytope {
  const sap_convex_pair* pair;
  int32_t nvertices, nfaces, nedges;
  sap_convex_vertex vertices[MAX_VERTICES];
  face faces[MAX_FACES];
  int32_t edges[MAX_EDGES][2];
} polytope;

// Adds a face; returns false if it has no area or there is no room.
static bool add_face(polytope* p, int32_t i, int32_t j, int32_t k) {
  if (p->nfaces >= MAX_FACES) {
    return false;
  }
  face* f = &p->faces[p->nfaces];
  double e[3], g[3];
  sap_v3_sub(e, p->vertices[j].w, p->vertices[i].w);
  sap_v3_sub(g, p->vertices[k].w, p->vertices[i].w);
  sap_v3_cross(f->n, e, g);
  const double area = sap_v3_norm(f->n);
  if (!(area > 1e-12 * sap_v3_norm(e) * sap_v3_norm(g)) || !(area > 0.0)) {
    return false;
  }
  sap_v3_scale(f->n, f->n, 1.0 / area);
  f->d = sap_v3_dot(f->n, p->vertices[i].w);
  f->v[0] = i;
  f->v[1] = j;
  f->v[2] = k;
  ++p->nfaces;
  return true;
}

// Returns the distance of w from the span of the first `count` vertices.
static double span_height(const polytope* p, int32_t count, const double w[3], double normal[3]) {
  double e[3], g[3];
  sap_v3_sub(g, w, p->vertices[0].w);
  if (count == 1) {
    return sap_v3_norm(g);
  }
  sap_v3_sub(e, p->vertices[1].w, p->vertices[0].w);
  if (count == 2) {
    double c[3];
    sap_v3_cross(c, e, g);
    return sap_v3_norm(c) / sap_v3_norm(e);
  }
  double f[3];
  sap_v3_sub(f, p->vertices[2].w, p->vertices[0].w);
  sap_v3_cross(normal, e, f);
  return fabs(sap_v3_dot(normal, g)) / sap_v3_norm(normal);
}

// Adds the support point along axes and normal that is farthest from the present span.
static bool widen_span(polytope* p) {
  static const double axes[6][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},
                                    {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
  double best = flat_face * p->pair->scale, normal[3] = {0.0, 0.0, 0.0};
  (void)span_height(p, p->nvertices, p->vertices[0].w, normal);
  bool found = false;
  for (int k = 0; k < 8; ++k) {
    double d[3], unused[3];
    if (k < 6) {
      sap_v3_copy(d, axes[k]);
    } else if (p->nvertices == 3) {
      sap_v3_scale(d, normal, k == 6 ? 1.0 : -1.0);
    } else {
      break;
    }
    sap_convex_vertex vertex;
    (void)sap_convex_support(p->pair, d, &vertex);
    const double height = span_height(p, p->nvertices, vertex.w, unused);
    if (height > best) {
      best = height;
      p->vertices[p->nvertices] = vertex;
      found = true;
    }
  }
  p->nvertices += found ? 1 : 0;
  return found;
}

static bool start_polytope(polytope* p, const sap_simplex* simplex) {
  p->nfaces = 0;
  p->nvertices = 0;
  double unused[3];
  for (int32_t i = 0; i < simplex->count; ++i) {
    const sap_convex_vertex* vertex = &simplex->vertices[i];
    if (i == 0 || span_height(p, p->nvertices, vertex->w, unused) > flat_face * p->pair->scale) {
      p->vertices[p->nvertices++] = *vertex;
    }
  }
  while (p->nvertices < 4) {
    if (!widen_span(p)) {
      return false;
    }
  }
  double e[3], f[3], g[3], n[3];
  sap_v3_sub(e, p->vertices[1].w, p->vertices[0].w);
  sap_v3_sub(f, p->vertices[2].w, p->vertices[0].w);
  sap_v3_sub(g, p->vertices[3].w, p->vertices[0].w);
  sap_v3_cross(n, e, f);
  if (sap_v3_dot(n, g) > 0.0) {
    const sap_convex_vertex swap = p->vertices[1];
    p->vertices[1] = p->vertices[2];
    p->vertices[2] = swap;
  }
  return add_face(p, 0, 1, 2) && add_face(p, 0, 3, 1) && add_face(p, 1, 3, 2) &&
         add_face(p, 0, 2, 3);
}

// Adds an edge of a removed face; edges that two removed faces share cancel. The rest is the
// horizon.
static void toggle_edge(polytope* p, int32_t i, int32_t j) {
  for (int32_t k = 0; k < p->nedges; ++k) {
    if (p->edges[k][0] == j && p->edges[k][1] == i) {
      --p->nedges;
      p->edges[k][0] = p->edges[p->nedges][0];
      p->edges[k][1] = p->edges[p->nedges][1];
      return;
    }
  }
  if (p->nedges < MAX_EDGES) {
    p->edges[p->nedges][0] = i;
    p->edges[p->nedges][1] = j;
    ++p->nedges;
  }
}

// Adds a vertex; returns false if a face would be flat or there is no room.
static bool add_vertex(polytope* p, const sap_convex_vertex* vertex, int32_t seen) {
  if (p->nvertices >= MAX_VERTICES) {
    return false;
  }
  const int32_t index = p->nvertices++;
  p->vertices[index] = *vertex;
  p->nedges = 0;
  int32_t kept = 0;
  for (int32_t k = 0; k < p->nfaces; ++k) {
    const face* f = &p->faces[k];
    if (k == seen || sap_v3_dot(f->n, vertex->w) - f->d > 1e-14 * p->pair->scale) {
      for (int e = 0; e < 3; ++e) {
        toggle_edge(p, f->v[e], f->v[(e + 1) % 3]);
      }
    } else if (kept++ < k) {
      p->faces[kept - 1] = p->faces[k];
    }
  }
  p->nfaces = kept;
  for (int32_t k = 0; k < p->nedges; ++k) {
    if (!add_face(p, p->edges[k][0], p->edges[k][1], index)) {
      return false;
    }
  }
  return p->nfaces >= 4;
}

// Computes barycentric weights of the origin's foot on the face's plane, times the area; returns
// the least.
static double foot_weights(const polytope* p, const face* f, double weight[3]) {
  double foot[3], r[3][3], n[3];
  sap_v3_scale(foot, f->n, f->d);
  for (int i = 0; i < 3; ++i) {
    sap_v3_sub(r[i], p->vertices[f->v[i]].w, foot);
  }
  for (int i = 0; i < 3; ++i) {
    sap_v3_cross(n, r[(i + 1) % 3], r[(i + 2) % 3]);
    weight[i] = sap_v3_dot(n, f->n);
  }
  return sap_least(weight[0], sap_least(weight[1], weight[2]));
}

// Finds the point of A's core over the origin's foot on the face. Among triangles in the plane
// of the face, the one that contains the foot is used.
static void find_witness(const polytope* p, const face* lowest, double out[3]) {
  const face* holder = lowest;
  double weight[3], other[3];
  double least = foot_weights(p, lowest, weight);
  for (int32_t k = 0; k < p->nfaces && least < 0.0; ++k) {
    const face* f = &p->faces[k];
    if (f->d <= lowest->d + flat_face * p->pair->scale && foot_weights(p, f, other) > least) {
      holder = f;
      least = foot_weights(p, f, weight);
    }
  }
  double total = 0.0;
  for (int i = 0; i < 3; ++i) {
    weight[i] = sap_most(0.0, weight[i]);
    total += weight[i];
  }
  sap_v3_set(out, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    const double share = total > 0.0 ? weight[i] / total : 1.0 / 3.0;
    sap_v3_add_scaled(out, p->vertices[holder->v[i]].a, share);
  }
}

bool sap_epa(const sap_convex_pair* pair, const sap_simplex* simplex, double n[3],
             double point[3]) {
  polytope p;
  p.pair = pair;
  sap_v3_copy(n, pair->a->R + 6);
  sap_v3_copy(point, simplex->vertices[0].a);
  if (!start_polytope(&p, simplex)) {
    return false;  // both cores are flat, and in one plane
  }
  const double tolerance =
      pair->scale * (sap_convex_is_polytope(pair) ? polytope_tolerance : depth_tolerance);
  double best = HUGE_VAL;
  for (;;) {
    int32_t lowest = 0;
    for (int32_t k = 1; k < p.nfaces; ++k) {
      if (p.faces[k].d < p.faces[lowest].d) {
        lowest = k;
      }
    }
    const face* f = &p.faces[lowest];
    sap_convex_vertex vertex;
    const double depth = sap_convex_support(pair, f->n, &vertex);
    if (depth < best) {
      best = depth;
      sap_v3_copy(n, f->n);
      find_witness(&p, f, point);
    }
    if (depth - f->d <= tolerance) {
      return true;
    }
    if (!add_vertex(&p, &vertex, lowest)) {
      return false;
    }
  }
}
