// SPDX-License-Identifier: BSD-3-Clause
// Least overlap f(n) = h_A(n) + h_B(-n) near a given n (see convex.h).
//
// f is smooth except for kinks where a support set is an edge or a face. Minima are often there: on
// a face's normal, on the common normal of two edges, on the great circle n . k = 0 of an edge k.
// All are tried. On the sphere, with w = grad f and P = I - n n':
//   gradient  P w
//   Hessian   P (H - (n . w) I) P,  H the sum of the shapes' Hessians of h:
//     cylinder's side  r (P_z - m m')/|n_xy|,  m = n_xy/|n_xy|
//     ellipsoid        E/h - E n n' E/h^3,     h^2 = n' E n
//     vertices         0
#include <string.h>

#include "multibody/geometry/convex.h"

enum { SHAPE_KINKS = 3, NEWTON_STEPS = 16, HALVINGS = 3 };
// A kink is tried below this sine of the angle to it; an edge pair below this 1 - cosine.
static const double near_kink = 0.1;
// The same for an exact n: far above round-off, which the flattest of EPA's faces multiply.
static const double at_kink = 1e-4;
// A kink wins unless f differs by more than this, relative to the pair's size.
static const double tie = 1e-11;

// Directions of a shape's edges and normals of its faces that may matter near n.
typedef struct kinks {
  int32_t nedges, nfaces;
  double edges[SHAPE_KINKS][3], faces[SHAPE_KINKS][3];
} kinks;

// Finds the edges at the hull's vertex farthest along n that are most nearly normal to n.
static void find_hull_kinks(const sap_placed_shape* s, const double n[3], int32_t* hint,
                            kinks* out) {
  double m[3], sines[SHAPE_KINKS];
  sap_m3_tmul_v3(m, s->R, n);
  const sap_polytope* hull = s->hull;
  sap_m3_mul_v3(out->faces[out->nfaces++], s->R,
                hull->normals + 3 * (size_t)sap_polytope_facing(hull, m));
  const double* x = sap_polytope_support(hull, m, hint);
  for (int32_t k = hull->neighbor_start[*hint]; k < hull->neighbor_start[*hint + 1]; ++k) {
    double edge[3];
    sap_v3_sub(edge, hull->vertices + 3 * (size_t)hull->neighbors[k], x);
    const double length = sap_v3_norm(edge), sine = fabs(sap_v3_dot(edge, m)) / length;
    if (!(sine < near_kink) || (out->nedges == SHAPE_KINKS && !(sine < sines[SHAPE_KINKS - 1]))) {
      continue;
    }
    int32_t at = out->nedges < SHAPE_KINKS ? out->nedges++ : SHAPE_KINKS - 1;
    for (; at > 0 && sines[at - 1] > sine; --at) {
      sines[at] = sines[at - 1];
      sap_v3_copy(out->edges[at], out->edges[at - 1]);
    }
    sines[at] = sine;
    sap_m3_mul_v3(out->edges[at], s->R, edge);
    sap_v3_scale(out->edges[at], out->edges[at], 1.0 / length);
  }
}

static void find_kinks(const sap_placed_shape* s, const double n[3], int32_t* hint, kinks* out) {
  out->nedges = out->nfaces = 0;
  switch (s->type) {
    case SAP_SHAPE_BOX:
      for (int i = 0; i < 3; ++i) {
        sap_v3_copy(out->edges[out->nedges++], s->R + 3 * i);
        sap_v3_copy(out->faces[out->nfaces++], s->R + 3 * i);
      }
      return;
    case SAP_SHAPE_CYLINDER:
      sap_v3_copy(out->faces[out->nfaces++], s->R + 6);
      sap_v3_copy(out->edges[out->nedges++], s->R + 6);
      return;
    case SAP_SHAPE_CAPSULE:
      sap_v3_copy(out->edges[out->nedges++], s->R + 6);
      return;
    case SAP_SHAPE_MESH:
      find_hull_kinks(s, n, hint, out);
      return;
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_SPHERE:
    case SAP_SHAPE_ELLIPSOID:
      return;
  }
}

static void add_hessian(const sap_placed_shape* s, const double n[3], double H[9]) {
  const double* R = s->R;
  if (s->type == SAP_SHAPE_CYLINDER) {
    const double x = sap_v3_dot(n, R), y = sap_v3_dot(n, R + 3);
    const double rho = sqrt(x * x + y * y);
    if (rho > 0.0) {
      for (int k = 0; k < 9; ++k) {
        const int i = k % 3, j = k / 3;
        const double across_i = (x * R[3 + i] - y * R[i]) / rho;
        const double across_j = (x * R[3 + j] - y * R[j]) / rho;
        H[k] += s->size[0] / rho * across_i * across_j;
      }
    }
  } else if (s->type == SAP_SHAPE_ELLIPSOID) {
    double local[3], En[3];
    sap_m3_tmul_v3(local, R, n);
    double h2 = 0.0;
    for (int i = 0; i < 3; ++i) {
      h2 += s->size[i] * s->size[i] * local[i] * local[i];
      local[i] *= s->size[i] * s->size[i];
    }
    sap_m3_mul_v3(En, R, local);
    const double h = sqrt(h2);
    for (int k = 0; k < 9 && h > 0.0; ++k) {
      const int i = k % 3, j = k / 3;
      double E = 0.0;
      for (int l = 0; l < 3; ++l) {
        E += s->size[l] * s->size[l] * R[3 * l + i] * R[3 * l + j];
      }
      H[k] += E / h - En[i] * En[j] / (h * h2);
    }
  }
}

static double overlap(const sap_convex_pair* pair, const double n[3]) {
  sap_convex_vertex vertex;
  return sap_convex_support(pair, n, &vertex);
}

static bool normalize(double n[3]) {
  const double norm = sap_v3_norm(n);
  if (!(norm > 1e-6)) {
    return false;
  }
  sap_v3_scale(n, n, 1.0 / norm);
  return true;
}

// Replaces n by `trial`, where f is `value`, unless it is more than f + allowance.
static bool accept(double value, const double trial[3], double allowance, double n[3], double* f) {
  if (!(value <= *f + allowance)) {
    return false;
  }
  *f = value;
  sap_v3_copy(n, trial);
  return true;
}

// Computes the Newton step in the span of one or two tangents; false if the Hessian is not SPD.
// w: gradient of f.
static bool newton_step(const sap_convex_pair* pair, const double n[3], double f, const double w[3],
                        const double* const t[2], double step[3]) {
  const int count = t[1] == NULL ? 1 : 2;
  double H[9] = {0.0};
  add_hessian(pair->a, n, H);
  add_hessian(pair->b, n, H);
  double g[2] = {0.0, 0.0}, h[2][2] = {{0.0, 0.0}, {0.0, 0.0}};
  for (int i = 0; i < count; ++i) {
    g[i] = sap_v3_dot(t[i], w);
    double Ht[3];
    sap_m3_mul_v3(Ht, H, t[i]);
    for (int j = 0; j < count; ++j) {
      h[i][j] = sap_v3_dot(t[j], Ht) - (i == j ? f : 0.0);
    }
  }
  sap_v3_set(step, 0.0, 0.0, 0.0);
  if (count == 1) {
    if (!(h[0][0] > 0.0)) {
      return false;
    }
    sap_v3_add_scaled(step, t[0], -g[0] / h[0][0]);
    return true;
  }
  const double det = h[0][0] * h[1][1] - h[0][1] * h[0][1];
  if (!(det > 0.0) || !(h[0][0] > 0.0)) {
    return false;
  }
  sap_v3_add_scaled(step, t[0], -(h[1][1] * g[0] - h[0][1] * g[1]) / det);
  sap_v3_add_scaled(step, t[1], -(h[0][0] * g[1] - h[0][1] * g[0]) / det);
  return true;
}

// Runs Newton's method on the sphere, or for k != NULL on the great circle n . k = 0; returns f(n).
static double run_newton(const sap_convex_pair* pair, const double* k, double n[3]) {
  sap_convex_vertex here, there;
  double f = sap_convex_support(pair, n, &here);
  for (int iteration = 0; iteration < NEWTON_STEPS; ++iteration) {
    double frame[9], across[3], step[3], trial[3];
    const double* t[2] = {frame, frame + 3};
    sap_m3_from_normal(frame, n);
    if (k != NULL) {
      sap_v3_cross(across, k, n);
      t[0] = across;
      t[1] = NULL;
    }
    if (!newton_step(pair, n, f, here.w, t, step)) {
      return f;
    }
    bool accepted = false;
    for (int halving = 0; !accepted && halving < HALVINGS; ++halving) {
      sap_v3_copy(trial, n);
      sap_v3_add_scaled(trial, step, 1.0 / (1 << 2 * halving));
      accepted = normalize(trial) && sap_convex_support(pair, trial, &there) <= f;
    }
    if (accepted) {
      f = sap_v3_dot(trial, there.w);
      here = there;
      sap_v3_copy(n, trial);
    }
    if (!accepted || sap_v3_norm(step) < 1e-12) {
      return f;
    }
  }
  return f;
}

static bool try_faces(const sap_convex_pair* pair, const kinks* k, double near, double n[3],
                      double* f) {
  bool accepted = false;
  for (int32_t i = 0; i < k->nfaces; ++i) {
    const double c = sap_v3_dot(k->faces[i], n);
    if (c * c > 1.0 - near * near) {
      double trial[3];
      sap_v3_scale(trial, k->faces[i], copysign(1.0, c));
      accepted = accept(overlap(pair, trial), trial, tie * pair->scale, n, f) || accepted;
    }
  }
  return accepted;
}

// Tries the great circle n . k = 0 of an edge k, from `start`.
static void try_edge(const sap_convex_pair* pair, const double* k, const double start[3],
                     double n[3], double* f) {
  const double c = sap_v3_dot(k, start);
  double trial[3] = {start[0], start[1], start[2]};
  sap_v3_add_scaled(trial, k, -c);
  if (fabs(c) <= near_kink && normalize(trial)) {
    (void)accept(run_newton(pair, k, trial), trial, tie * pair->scale, n, f);
  }
}

typedef struct edge_pairs {
  const kinks *a, *b;
  double start[3];
  double least;  // cosine to `start`
} edge_pairs;

// Tries the common normals of two edges; sets `edges` to those whose normal n is, else leaves them.
static void try_edge_pairs(const sap_convex_pair* pair, const edge_pairs* e, double n[3], double* f,
                           double edges[6]) {
  const kinks *a = e->a, *b = e->b;
  for (int32_t i = 0; i < a->nedges; ++i) {
    for (int32_t j = 0; j < b->nedges; ++j) {
      double cross[3];
      sap_v3_cross(cross, a->edges[i], b->edges[j]);
      if (!normalize(cross)) {
        continue;
      }
      const double side = sap_v3_dot(cross, e->start);
      sap_v3_scale(cross, cross, copysign(1.0, side));
      if (fabs(side) > e->least && accept(overlap(pair, cross), cross, tie * pair->scale, n, f)) {
        sap_v3_copy(edges, a->edges[i]);
        sap_v3_copy(edges + 3, b->edges[j]);
      }
    }
  }
}

double sap_convex_polish(const sap_convex_pair* pair, bool exact, double n[3], double edges[6]) {
  const double start[3] = {n[0], n[1], n[2]}, back[3] = {-n[0], -n[1], -n[2]};
  const double near = exact ? at_kink : near_kink;
  kinks a, b;
  find_kinks(pair->a, n, &pair->hints[0], &a);
  find_kinks(pair->b, back, &pair->hints[1], &b);
  double f = overlap(pair, n);
  if (!exact) {
    double smooth[3] = {n[0], n[1], n[2]};
    (void)accept(run_newton(pair, NULL, smooth), smooth, 0.0, n, &f);
    for (int32_t i = 0; i < a.nedges; ++i) {
      try_edge(pair, a.edges[i], start, n, &f);
    }
    for (int32_t i = 0; i < b.nedges; ++i) {
      try_edge(pair, b.edges[i], start, n, &f);
    }
  }
  const double turned = exact ? at_kink * at_kink : near_kink;
  memset(edges, 0, 6 * sizeof(double));
  try_edge_pairs(pair, &(edge_pairs){&a, &b, {start[0], start[1], start[2]}, 1.0 - turned}, n, &f,
                 edges);
  const bool on_face[2] = {try_faces(pair, &a, near, n, &f), try_faces(pair, &b, near, n, &f)};
  if (on_face[0] || on_face[1]) {
    memset(edges, 0, 6 * sizeof(double));
  }
  return f;
}
