// SPDX-License-Identifier: BSD-3-Clause
// Pairs of shapes with closed forms: spheres, capsules and boxes among each other, and planes
// against every shape.
#include "math/scalar.h"
#include "multibody/geometry/collide.h"

// --- capsule or sphere against capsule and box: nearest points of the segment ---

// Finds the parameters [m] of the nearest points of the segments s u, |s| <= length_a, and
// ab + t w, |t| <= length_b; u, w unit. For parallel segments: any nearest pair.
static void nearest_on_segments(const double u[3], double length_a, const double w[3],
                                double length_b, const double ab[3], double* s, double* t) {
  const double uw = sap_v3_dot(u, w);
  const double p = sap_v3_dot(u, ab), q = -sap_v3_dot(w, ab);
  const double det = 1.0 - uw * uw;
  *s = det > 1e-14 ? sap_clamp((p + uw * q) / det, -length_a, length_a)
                   : sap_clamp(p, -length_a, length_a);
  *t = *s * uw + q;
  if (fabs(*t) > length_b) {
    *t = sap_clamp(*t, -length_b, length_b);
    *s = sap_clamp(*t * uw + p, -length_a, length_a);
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
  // Axes that intersect: d is round-off; use the common perpendicular, towards b's centre.
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

// Segment c + t d, |t| <= 1, and a box about the origin, all in the box's axes.
typedef struct segment_box {
  double c[3], d[3];
  const double* h;  // half extents
} segment_box;

// Sets e from the box's nearest point to c + t d; returns half the slope of its squared length.
static double excess(const segment_box* p, double t, double e[3]) {
  for (int i = 0; i < 3; ++i) {
    const double x = p->c[i] + t * p->d[i];
    e[i] = x - sap_clamp(x, -p->h[i], p->h[i]);
  }
  return sap_v3_dot(e, p->d);
}

// Returns t where the slope, piecewise linear and not decreasing, is zero; of a flat part its
// middle.
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

// Finds the outward normal m of the box along which the segment leaves it soonest; returns the way
// [m].
// Box plus segment is a zonotope: its faces are those of the box and of edge times segment.
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

// --- box against box: separating axes, then the overlap of the two facing sides ---
// The difference of two boxes is a zonotope whose faces have 3 + 3 + 9 normals, so the least
// overlap over these axes is exactly the penetration depth. All in a's axes:
//   C = R_A' R_B,  c = R_A' (p_B - p_A)
// Boxes apart by less than the reach go to GJK: their nearest points need not lie along these axes.

typedef struct box_pair {
  double C[9];  // column-major: columns are b's axes in a
  double absC[9];
  double c[3];
  const double *ha, *hb;
  double depth, n[3];  // least overlap so far and its axis in a, from a to b
  double reach;
  bool apart;
} box_pair;

// Returns false when the axis (of squared length `norm2`) separates them by the reach. `gain` < 1
// makes an edge axis beat the faces clearly: round-off must not decide between a face's four points
// and an edge's one.
static bool test_axis(box_pair* p, const double axis[3], double norm2, double reach, double gain) {
  const double along = sap_v3_dot(axis, p->c);
  const double overlap = reach - fabs(along);
  if (!(overlap > 0.0)) {
    p->apart = true;
    const double norm = sqrt(norm2);
    if (!(overlap > -p->reach * norm)) {
      sap_v3_scale(p->n, axis, (along < 0.0 ? -1.0 : 1.0) / norm);
      return false;
    }
    return true;
  }
  const double limit = gain * p->depth;
  if (overlap * overlap < limit * limit * norm2) {
    const double norm = sqrt(norm2);
    p->depth = overlap / norm;
    sap_v3_scale(p->n, axis, (along < 0.0 ? -1.0 : 1.0) / norm);
  }
  return true;
}

static bool test_faces(box_pair* p) {
  for (int i = 0; i < 3; ++i) {
    double axis[3] = {0.0, 0.0, 0.0};
    axis[i] = 1.0;
    const double reach =
        p->ha[i] + p->absC[i] * p->hb[0] + p->absC[3 + i] * p->hb[1] + p->absC[6 + i] * p->hb[2];
    if (!test_axis(p, axis, 1.0, reach, 1.0)) {
      return false;
    }
  }
  for (int j = 0; j < 3; ++j) {
    if (!test_axis(p, p->C + 3 * j, 1.0, p->hb[j] + sap_v3_dot(p->absC + 3 * j, p->ha),
                   1.0 - 1e-9)) {
      return false;
    }
  }
  return true;
}

static bool test_edges(box_pair* p) {
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      // axis = e_i x b_j
      double axis[3];
      axis[i] = 0.0;
      axis[i1] = -p->C[3 * j + i2];
      axis[i2] = p->C[3 * j + i1];
      const double norm2 = axis[i1] * axis[i1] + axis[i2] * axis[i2];
      if (norm2 < 1e-12) {
        continue;  // parallel edges: a face axis gives the same
      }
      const double reach = p->ha[i1] * fabs(axis[i1]) + p->ha[i2] * fabs(axis[i2]) +
                           p->hb[j1] * p->absC[3 * j2 + i] + p->hb[j2] * p->absC[3 * j1 + i];
      if (!test_axis(p, axis, norm2, reach, 1.0 - 1e-6)) {
        return false;
      }
    }
  }
  return true;
}

void sap_collide_box_box(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                         double reach, sap_manifold* out) {
  box_pair p = {.ha = a->size, .hb = b->size, .depth = HUGE_VAL, .reach = reach};
  sap_m3_tmul_v3(p.c, a->R, ab);
  for (int j = 0; j < 3; ++j) {
    sap_m3_tmul_v3(p.C + 3 * j, a->R, b->R + 3 * j);
  }
  for (int k = 0; k < 9; ++k) {
    p.absC[k] = fabs(p.C[k]);
  }
  if (!test_faces(&p) || !test_edges(&p)) {
    sap_m3_mul_v3(out->apart, a->R, p.n);
    return;
  }
  if (p.apart) {
    sap_collide_convex(a, b, ab, reach, out);
    return;
  }
  sap_manifold_point witness = {.phi = -p.depth};
  sap_m3_mul_v3(witness.n, a->R, p.n);
  // b's deepest point, if the features miss it by round-off
  const double back[3] = {-witness.n[0], -witness.n[1], -witness.n[2]};
  sap_shape_support(b, back, witness.p);
  sap_v3_add(witness.p, witness.p, ab);
  sap_v3_add_scaled(witness.p, witness.n, p.depth);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}

// --- half space of a plane (a) against every other shape (b) ---
// n is the plane's z axis; phi of a point of b is its height over the plane.
//   sphere, ellipsoid 1 point; capsule 2; cylinder 4 of the facing rim or 2 of its lowest line;
//   box the 4 corners of the facing side; mesh 4 of its vertices

static void add_point(const double n[3], const double on_b[3], double reach, sap_manifold* out) {
  const double phi = sap_v3_dot(n, on_b);
  if (!(phi < reach) || out->count >= SAP_MANIFOLD_POINTS) {
    return;
  }
  sap_manifold_point* point = &out->points[out->count++];
  point->phi = phi;
  sap_v3_copy(point->n, n);
  sap_v3_copy(point->p, on_b);
  sap_v3_add_scaled(point->p, n, -phi);
}

static void add_corners(const sap_placed_shape* b, const double ab[3], const double n[3],
                        double reach, sap_manifold* out) {
  const double down[3] = {-n[0], -n[1], -n[2]};
  sap_feature feature;
  sap_feature_facing(b, ab, down, &feature);
  double corners[SAP_FEATURE_CORNERS][2];
  const int count = sap_feature_corners(&feature, corners);
  // For a disc, every second of its eight rim points, from the lowest.
  int first = 0;
  const int step = feature.kind == SAP_FEATURE_DISC ? 2 : 1;
  double lowest = HUGE_VAL;
  for (int i = 0; i < count && step == 2; ++i) {
    double x[3];
    sap_feature_point(&feature, corners[i], x);
    const double height = sap_v3_dot(n, x);
    if (height < lowest - 1e-9 * b->bound) {
      lowest = height;
      first = i % step;
    }
  }
  for (int i = first; i < count; i += step) {
    double x[3];
    sap_feature_point(&feature, corners[i], x);
    add_point(n, x, reach, out);
  }
}

// Adds vertices below the reach, reduced to the deepest and three more that spread widest.
static void add_vertices(const sap_placed_shape* b, const double ab[3], const double n[3],
                         double reach, sap_manifold* out) {
  double local[3];
  sap_m3_tmul_v3(local, b->R, n);
  const double height = sap_v3_dot(n, ab);
  const double down[3] = {-local[0], -local[1], -local[2]};
  int32_t hint = 0;
  if (!(height + sap_v3_dot(local, sap_polytope_support(b->hull, down, &hint)) < reach)) {
    return;
  }
  sap_candidates list;
  sap_candidates_start(&list, reach);
  for (int32_t i = 0; i < b->hull->nvertices; ++i) {
    const double* vertex = b->hull->vertices + 3 * (size_t)i;
    const double phi = height + sap_v3_dot(local, vertex);
    if (phi < reach) {
      double x[3];
      sap_v3_place(x, ab, b->R, vertex);
      sap_v3_add_scaled(x, n, -phi);
      sap_candidates_add(&list, x, n, phi);
    }
  }
  sap_candidates_reduce(&list, b->bound, out);
}

void sap_collide_plane_any(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                           double reach, sap_manifold* out) {
  const double* n = a->R + 6;
  if (sap_v3_dot(n, ab) >= b->bound + reach) {
    return;
  }
  if (b->type == SAP_SHAPE_MESH) {
    add_vertices(b, ab, n, reach, out);
    return;
  }
  if (b->type == SAP_SHAPE_CAPSULE || b->type == SAP_SHAPE_CYLINDER || b->type == SAP_SHAPE_BOX) {
    add_corners(b, ab, n, reach, out);
    return;
  }
  const double down[3] = {-n[0], -n[1], -n[2]};
  double x[3];
  sap_shape_support(b, down, x);
  sap_v3_add(x, x, ab);
  sap_v3_add_scaled(x, n, -b->radius);
  add_point(n, x, reach, out);
}
