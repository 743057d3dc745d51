// SPDX-License-Identifier: BSD-3-Clause
// EPA: grows a polytope inside D until the face nearest to the origin lies on D's boundary (van den
// Bergen 2001). All memory is on the stack.
#include "multibody/geometry/convex.h"

enum { MAX_VERTICES = 68, MAX_FACES = 2 * MAX_VERTICES, MAX_EDGES = 3 * MAX_VERTICES };
// The search ends at this gap between the bounds of the depth, relative to the pair's size; the
// polish does the rest. D of two polytopes is a polytope: the search finds its faces to round-off.
static const double gap_tolerance = 1e-6, polytope_tolerance = 1e-13;
// Least distance of a point from a line, plane or face, relative to the pair's size.
static const double flat = 1e-10;

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
  double best = flat * p->pair->scale, normal[3] = {0.0, 0.0, 0.0};
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
    if (i == 0 || span_height(p, p->nvertices, vertex->w, unused) > flat * p->pair->scale) {
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
    } else {
      p->faces[kept++] = p->faces[k];
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

// Finds the point of A's core over the origin's foot on the face. Of several triangles in the plane
// of the face, the one that contains the foot is used.
static void find_witness(const polytope* p, const face* nearest, double out[3]) {
  const face* holder = nearest;
  double weight[3], other[3];
  double least = foot_weights(p, nearest, weight);
  for (int32_t k = 0; k < p->nfaces && least < 0.0; ++k) {
    const face* f = &p->faces[k];
    if (f->d <= nearest->d + flat * p->pair->scale && foot_weights(p, f, other) > least) {
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
      pair->scale * (sap_convex_is_polytope(pair) ? polytope_tolerance : gap_tolerance);
  double best = HUGE_VAL;
  for (;;) {
    int32_t nearest = 0;
    for (int32_t k = 1; k < p.nfaces; ++k) {
      if (p.faces[k].d < p.faces[nearest].d) {
        nearest = k;
      }
    }
    const face* f = &p.faces[nearest];
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
    if (!add_vertex(&p, &vertex, nearest)) {
      return false;
    }
  }
}
