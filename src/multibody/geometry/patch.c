// SPDX-License-Identifier: BSD-3-Clause
// Moments of a contact surface, and the points that have the same.
//
// With y in the contact plane, over the pieces with n . N near 1:
//   K = int k,  c = int k y/K,  S = int k (y - c)(y - c)'/K,  k dA = g (n . N)^2 dA
//   F = int f,  c_f = int f y/F,  T = int f |y - c_f|/F,      f dA = p (n . N) dA
// The points are at c and at c + s S^(1/2) u_j with u_j = (+-1, +-1), of a line at c +- s L e:
//   k_0 = K (1 - 1/s^2),  k_j = K/(m s^2)           keep K, c and S
//   f_j = k_j (a + b_j),  f_0 = F - a K/s^2,  b_j = s u_j . z F/K,  z = S^(-1/2) (c_f - c)
//                                                   keep F and F c_f; a is chosen to keep F T
// All f are positive for s (|z_1| + |z_2|) F/K <= a <= s^2 F/K.
#include "multibody/geometry/patch.h"

// s of four points on a disc and of two on a line, for which k alone has the torsion of a uniform
// pressure.
static const double RING = 1.06, ENDS = 1.1547005383792515;
// Extents of S, relative to the smaller shape, below which a patch is a line or round.
static const double THIN = 1e-4;
static const double TINY = 1e-300;
// n . N of a piece: below WALL the piece does not count, above FACE it counts fully, between them
// its weight grows smoothly. Walls of two overlapping shapes are no part of the face they rest on.
static const double WALL = 0.75, FACE = 0.9;

double sap_patch_slope(const sap_patch_surface* s, const double n[3], const double m_A[3],
                       const double m_B[3]) {
  const double a = sap_v3_dot(m_A, n), b = -sap_v3_dot(m_B, n);
  if (!(a > 0.0 || s->alpha == 1.0) || !(b > 0.0 || s->alpha == 0.0)) {
    return 0.0;
  }
  return 1.0 / ((s->alpha < 1.0 ? 1.0 / (s->kappa[0] * a) : 0.0) +
                (s->alpha > 0.0 ? 1.0 / (s->kappa[1] * b) : 0.0));
}

typedef struct moments {
  double N[3], t[2][3];     // t: fixed to a body as far as N is
  double level;             // mean of n . N
  double K, k1[2];          // int k, int k x of x from x0
  double x2[3];             // int k xx yy xy
  double y1[2], y2[3];      // the same of the arms
  double F, f1[2], height;  // int f, int f x, int f N . x
  double area;
} moments;

// Weight of a piece in the patch; level: see find_normal.
static double find_weight(const sap_patch_surface* s, const sap_patch_piece* piece,
                          const double N[3], double level) {
  const double t = (sap_v3_dot(piece->n, N) - WALL * level) / ((FACE - WALL) * level);
  return sap_patch_keeps_walls(s) || t >= 1.0 ? 1.0 : t <= 0.0 ? 0.0 : t * t * (3.0 - 2.0 * t);
}

// Sets N to the direction of the force of all pieces, then to that of those that count, and the
// level to the mean of n . N: 1 for a face, less for a corner.
static bool find_normal(const sap_patch_surface* s, double N[3], double* level) {
  for (int pass = 0; pass < 2; ++pass) {
    double sum[3] = {0.0, 0.0, 0.0}, force = 0.0;
    for (int32_t i = 0; i < s->npieces; ++i) {
      const sap_patch_piece* piece = &s->pieces[i];
      const double f = piece->force * (pass == 0 ? 1.0 : find_weight(s, piece, N, *level));
      sap_v3_add_scaled(sum, piece->n, f);
      force += f;
    }
    const double norm = sap_v3_norm(sum);
    if (!(norm > 0.0)) {
      return false;
    }
    sap_v3_scale(N, sum, 1.0 / norm);
    *level = norm / force;
  }
  return true;
}

// Sets the tangents from an axis of the smaller shape that is not along N.
static void set_tangents(const sap_patch_surface* s, moments* m) {
  const sap_placed_shape* shape = s->shape[s->shape[1]->bound < s->shape[0]->bound];
  double frame[9];
  if (shape->type == SAP_SHAPE_SPHERE) {
    sap_m3_from_normal(frame, m->N);
    sap_v3_copy(m->t[0], frame);
  } else {
    const double* axis = shape->R + (fabs(sap_v3_dot(shape->R, m->N)) < 0.8 ? 0 : 3);
    sap_v3_copy(m->t[0], axis);
    sap_v3_add_scaled(m->t[0], m->N, -sap_v3_dot(axis, m->N));
    sap_v3_scale(m->t[0], m->t[0], 1.0 / sap_v3_norm(m->t[0]));
  }
  sap_v3_cross(m->t[1], m->N, m->t[0]);
}

static void project(const sap_patch_surface* s, const moments* m, const double x[3],
                    double out[3]) {
  double d[3];
  sap_v3_sub(d, x, s->x0);
  out[0] = sap_v3_dot(m->t[0], d);
  out[1] = sap_v3_dot(m->t[1], d);
  out[2] = sap_v3_dot(m->N, d);
}

static void add_square(double k, const double x[3], double sum[3]) {
  sum[0] += k * x[0] * x[0];
  sum[1] += k * x[1] * x[1];
  sum[2] += k * x[0] * x[1];
}

// Sets S {xx, yy, xy} from its sums.
static void set_spread(double K, const double first[2], const double second[3], double S[3]) {
  const double c[2] = {first[0] / K, first[1] / K};
  S[0] = sap_most(0.0, second[0] / K - c[0] * c[0]);
  S[1] = sap_most(0.0, second[1] / K - c[1] * c[1]);
  S[2] = second[2] / K - c[0] * c[1];
}

// S of the arms; where these spread farther than the patch, as on the rim of a cylinder, S of the
// patch.
static void find_spread(const moments* m, double S[3]) {
  double of_x[3];
  set_spread(m->K, m->k1, m->x2, of_x);
  set_spread(m->K, m->y1, m->y2, S);
  const double more = S[0] + S[1] - of_x[0] - of_x[1];
  const double share = sap_least(1.0, sap_most(0.0, more) / (of_x[0] + of_x[1] + TINY));
  for (int i = 0; i < 3; ++i) {
    S[i] += share * (of_x[i] - S[i]);
  }
}

// Adds a part of the surface at x with its force and stiffness.
static void add_part(double k, double f, const double x[3], const double y[3], moments* m) {
  m->K += k;
  m->F += f;
  m->height += f * x[2];
  add_square(k, x, m->x2);
  add_square(k, y, m->y2);
  for (int i = 0; i < 2; ++i) {
    m->k1[i] += k * x[i];
    m->y1[i] += k * y[i];
    m->f1[i] += f * x[i];
  }
}

// Adds a polygon by the midpoints of triangles: exact for a linear p.
static void add_polygon(const sap_patch_surface* s, const sap_patch_piece* piece, double weight,
                        moments* m) {
  const sap_patch_corner* corners = &s->corners[piece->first];
  const double cosine = sap_v3_dot(piece->n, m->N);
  double x[3][3], p[3] = {corners[0].p, corners[1].p};
  project(s, m, corners[0].x, x[0]);
  project(s, m, corners[1].x, x[1]);
  for (int32_t i = 2; i < piece->count; ++i) {
    project(s, m, corners[i].x, x[2]);
    p[2] = corners[i].p;
    const double u[2] = {x[1][0] - x[0][0], x[1][1] - x[0][1]};
    const double v[2] = {x[2][0] - x[0][0], x[2][1] - x[0][1]};
    const double third = weight * fabs(u[0] * v[1] - u[1] * v[0]) / 6.0;  // of the projected area
    for (int k = 0; k < 3; ++k) {
      const int next = k < 2 ? k + 1 : 0;
      double middle[3];
      sap_v3_add(middle, x[k], x[next]);
      sap_v3_scale(middle, middle, 0.5);
      add_part(third * piece->g * fabs(cosine), third * 0.5 * (p[k] + p[next]), middle, middle, m);
    }
    sap_v3_copy(x[1], x[2]);
    p[1] = p[2];
  }
}

static bool find_moments(const sap_patch_surface* s, moments* m) {
  *m = (moments){.K = 0.0};
  if (!find_normal(s, m->N, &m->level)) {
    return false;
  }
  set_tangents(s, m);
  for (int32_t i = 0; i < s->npieces; ++i) {
    const sap_patch_piece* piece = &s->pieces[i];
    const double weight = find_weight(s, piece, m->N, m->level),
                 cosine = sap_v3_dot(piece->n, m->N);
    m->area += weight * piece->area;
    if (piece->count > 1) {
      add_polygon(s, piece, weight, m);
    } else {
      double x[3], y[3];
      project(s, m, s->corners[piece->first].x, x);
      project(s, m, piece->y, y);
      add_part(weight * piece->g * piece->area * cosine * cosine, weight * piece->force * cosine, x,
               y, m);
    }
  }
  return m->K > 0.0 && m->F > 0.0 && isfinite(m->K + m->F);
}

// int p r dA over the triangle of `centre` and an edge, r from the centre: exact along r, by Gauss
// along the edge.
static double edge_torsion(const double a[3], const double b[3], const double p[3]) {
  static const double gauss_4[4][2] = {{0.069431844202973712, 0.173927422568726929},
                                       {0.330009478207571868, 0.326072577431273071},
                                       {0.669990521792428132, 0.326072577431273071},
                                       {0.930568155797026288, 0.173927422568726929}};
  double sum = 0.0;
  for (int k = 0; k < 4; ++k) {
    const double t = gauss_4[k][0];
    const double x = a[0] + t * (b[0] - a[0]), y = a[1] + t * (b[1] - a[1]),
                 r = sqrt(x * x + y * y);
    sum += gauss_4[k][1] * r * (p[2] / 12.0 + 0.25 * (p[0] + t * (p[1] - p[0])));
  }
  return sum * (a[0] * b[1] - a[1] * b[0]);
}

// Pressure of a polygon, continued to the centre, from three corners of which two are far apart.
static double pressure_at_centre(const double (*x)[3], const sap_patch_corner* corners,
                                 int32_t count) {
  double best = 0.0, p = corners[0].p;
  for (int32_t i = 1; i + 1 < count; ++i) {
    const double u[2] = {x[i][0] - x[0][0], x[i][1] - x[0][1]};
    const double v[2] = {x[i + 1][0] - x[0][0], x[i + 1][1] - x[0][1]};
    const double det = u[0] * v[1] - u[1] * v[0];
    if (fabs(det) > best) {
      best = fabs(det);
      const double a = (-x[0][0] * v[1] + x[0][1] * v[0]) / det;
      const double b = (-u[0] * x[0][1] + u[1] * x[0][0]) / det;
      p = corners[0].p + a * (corners[i].p - corners[0].p) + b * (corners[i + 1].p - corners[0].p);
    }
  }
  return p;
}

// F T about the centre (in the plane, from x0).
static double find_torsion(const sap_patch_surface* s, const moments* m, const double centre[2]) {
  double sum = 0.0;
  for (int32_t i = 0; i < s->npieces; ++i) {
    const sap_patch_piece* piece = &s->pieces[i];
    const sap_patch_corner* corners = &s->corners[piece->first];
    double x[SAP_PATCH_SIDES][3], own = 0.0;
    for (int32_t k = 0; k < piece->count; ++k) {
      project(s, m, corners[k].x, x[k]);
      x[k][0] -= centre[0];
      x[k][1] -= centre[1];
    }
    if (piece->count == 1) {
      own = piece->force * sap_v3_dot(piece->n, m->N) * hypot(x[0][0], x[0][1]);
    } else {
      const double p_centre = pressure_at_centre((const double(*)[3])x, corners, piece->count);
      for (int32_t k = 0; k < piece->count; ++k) {
        const int32_t next = k + 1 < piece->count ? k + 1 : 0;
        own += edge_torsion(x[k], x[next], (double[3]){corners[k].p, corners[next].p, p_centre});
      }
    }
    sum += find_weight(s, piece, m->N, m->level) * fabs(own);
  }
  return sum;
}

// Points about `centre` before they get places: offsets, and b_j of the head of the file in F/K.
typedef struct ring {
  int32_t count;
  double s, centre[2], offset[4][2], b[4], lift;  // lift: sum |z_i|
} ring;

static void add_offset(ring* r, double x, double y, double b) {
  r->offset[r->count][0] = x;
  r->offset[r->count][1] = y;
  r->b[r->count++] = b;
}

// Limits z, and moves the centre by the rest along the axes of S^(1/2).
static double limit_z(ring* r, double z[2], const double axis[2][2]) {
  const double sum = fabs(z[0]) + fabs(z[1]);
  const double kept = sum > r->s ? r->s / sum : 1.0;
  for (int i = 0; i < 2; ++i) {
    r->centre[0] += (1.0 - kept) * z[i] * axis[i][0];
    r->centre[1] += (1.0 - kept) * z[i] * axis[i][1];
    z[i] *= kept;
  }
  return kept * sum;
}

// Four points, two or none by the extents of S = {xx, yy, xy}; d = c_f - c.
static void set_ring(const double S[3], const double d[2], double thin, ring* r) {
  const double mean = 0.5 * (S[0] + S[1]), half = 0.5 * (S[0] - S[1]);
  const double spread = sqrt(half * half + S[2] * S[2]);
  const double most = mean + spread, least = mean - spread;
  r->count = 0;
  r->lift = 0.0;
  if (!(most > thin * thin)) {  // round
    r->centre[0] += d[0];
    r->centre[1] += d[1];
    return;
  }
  if (!(least > thin * thin)) {  // a line
    double e[2] = {half + spread, S[2]};
    if (half < 0.0) {
      e[0] = S[2];
      e[1] = spread - half;
    }
    const double norm = hypot(e[0], e[1]), length = sqrt(most);
    const double axis[2][2] = {{length * e[0] / norm, length * e[1] / norm}, {0.0, 0.0}};
    const double along = (d[0] * e[0] + d[1] * e[1]) / norm;
    double z[2] = {along / length, 0.0};
    r->s = ENDS;
    r->centre[0] += d[0] - along * e[0] / norm;
    r->centre[1] += d[1] - along * e[1] / norm;
    r->lift = limit_z(r, z, axis);
    for (int u = -1; u <= 1; u += 2) {
      add_offset(r, r->s * u * axis[0][0], r->s * u * axis[0][1], r->s * u * z[0]);
    }
    return;
  }
  const double root = sqrt(most * least), trace = sqrt(S[0] + S[1] + 2.0 * root);
  const double axis[2][2] = {{(S[0] + root) / trace, S[2] / trace},
                             {S[2] / trace, (S[1] + root) / trace}};
  double z[2] = {(axis[1][1] * d[0] - axis[0][1] * d[1]) / root,
                 (axis[0][0] * d[1] - axis[1][0] * d[0]) / root};
  r->s = RING;
  r->lift = limit_z(r, z, axis);
  for (int k = 0; k < 4; ++k) {
    const double u = k == 0 || k == 3 ? 1.0 : -1.0, v = k < 2 ? 1.0 : -1.0;
    add_offset(r, r->s * (u * axis[0][0] + v * axis[1][0]),
               r->s * (u * axis[0][1] + v * axis[1][1]), r->s * (u * z[0] + v * z[1]));
  }
}

// Returns a/(F/K) of the ring whose torsion about c_f is T.
static double find_level(const ring* r, const double c_f[2], double T) {
  const double s2 = r->s * r->s, dx = r->centre[0] - c_f[0], dy = r->centre[1] - c_f[1];
  const double r_0 = hypot(dx, dy);
  double arms = -r_0 / s2, given = r_0;
  for (int32_t j = 0; j < r->count; ++j) {
    const double r_j = hypot(dx + r->offset[j][0], dy + r->offset[j][1]);
    arms += r_j / (r->count * s2);
    given += r->b[j] * r_j / (r->count * s2);
  }
  const double level = arms > 0.0 ? (T - given) / arms : 1.0;
  return sap_most(r->s * r->lift, sap_least(s2, level));
}

static void add_point(const sap_patch_surface* s, const moments* m, const double at[2], double k,
                      double f, int32_t feature, sap_manifold* manifold, sap_patch* out) {
  sap_manifold_point* point = &manifold->points[out->count];
  sap_v3_copy(point->p, s->x0);
  sap_v3_add_scaled(point->p, m->t[0], at[0]);
  sap_v3_add_scaled(point->p, m->t[1], at[1]);
  sap_v3_add_scaled(point->p, m->N, m->height / m->F);
  sap_v3_copy(point->n, m->N);
  point->phi = -sap_most(f, 0.0) / k;
  out->stiffness[out->count] = k;
  out->features[out->count++] = feature;
}

static void set_points(const sap_patch_surface* s, const moments* m, sap_manifold* manifold,
                       sap_patch* out) {
  double S[3];
  find_spread(m, S);
  const double c_f[2] = {m->f1[0] / m->F, m->f1[1] / m->F};
  ring r = {.centre = {m->k1[0] / m->K, m->k1[1] / m->K}};
  const double d[2] = {c_f[0] - r.centre[0], c_f[1] - r.centre[1]};
  const double thin = THIN * sap_least(s->shape[0]->bound, s->shape[1]->bound);
  set_ring(S, d, thin, &r);
  const double T = find_torsion(s, m, c_f) / m->F;
  *out = (sap_patch){.area = m->area, .force = m->F};
  if (r.count == 0) {
    out->torsion = T;
    add_point(s, m, r.centre, m->K, m->F, 0, manifold, out);
  } else {
    const double s2 = r.s * r.s, level = find_level(&r, c_f, T);
    add_point(s, m, r.centre, m->K * (1.0 - 1.0 / s2), m->F * (1.0 - level / s2), 0, manifold, out);
    for (int32_t j = 0; j < r.count; ++j) {
      const double at[2] = {r.centre[0] + r.offset[j][0], r.centre[1] + r.offset[j][1]};
      const double share = 1.0 / (r.count * s2);
      add_point(s, m, at, m->K * share, m->F * share * (level + r.b[j]), 1 + j, manifold, out);
    }
  }
  manifold->count = out->count;
}

// The middle of the overlap at the manifold's points, and the normal and depth of the deepest.
static void set_middle(sap_patch_surface* s, const sap_manifold* manifold) {
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  int32_t count = 0;
  sap_v3_set(s->x0, 0.0, 0.0, 0.0);
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
    if (point->phi <= 0.0) {
      sap_v3_add(s->x0, s->x0, point->p);
      sap_v3_add_scaled(s->x0, point->n, 0.5 * point->phi);
      ++count;
    }
  }
  sap_v3_scale(s->x0, s->x0, count > 0 ? 1.0 / count : 0.0);
  for (int side = 0; side < 2; ++side) {  // the points of two rounded sides may lie outside of them
    double x[3];
    sap_patch_depth at;
    sap_v3_sub(x, s->x0, s->centre[side]);
    sap_patch_find_depth(s->shape[side], x, &at);
    if (at.d < deepest->phi) {
      sap_v3_copy(s->x0, deepest->p);
      sap_v3_add_scaled(s->x0, deepest->n, 0.5 * deepest->phi);
    }
  }
  sap_v3_copy(s->N, deepest->n);
  s->depth = -deepest->phi;
}

bool sap_patch_find(sap_patch_surface* s, const sap_placed_shape* a, const sap_placed_shape* b,
                    const double kappa[2], sap_manifold* manifold, sap_patch* out) {
  s->shape[0] = a;
  s->shape[1] = b;
  sap_v3_set(s->centre[0], 0.0, 0.0, 0.0);
  sap_v3_sub(s->centre[1], b->p, a->p);
  s->kappa[0] = kappa[0];
  s->kappa[1] = kappa[1];
  s->alpha = isinf(kappa[0]) ? 1.0 : isinf(kappa[1]) ? 0.0 : 1.0 / (1.0 + kappa[1] / kappa[0]);
  s->beta = 1.0 - s->alpha;
  s->series = isinf(kappa[1]) ? kappa[0] : kappa[1] * s->alpha;
  s->npieces = s->ncorners = 0;
  set_middle(s, manifold);
  moments m;
  if (!(s->depth > 0.0) ||
      !(sap_patch_is_flat(a) && sap_patch_is_flat(b) ? sap_patch_add_polygons(s)
                                                     : sap_patch_add_samples(s))) {
    return false;
  }
  if (!find_moments(s, &m)) {
    return false;
  }
  set_points(s, &m, manifold, out);
  return true;
}
