// SPDX-License-Identifier: BSD-3-Clause
// Moments of a contact surface, and the points that have the same.
//
// N is the direction of the force int p n dA. With y in the contact plane, normal to N:
//   K = int k,  c = int k y/K,  S = int k (y - c)(y - c)'/K,  k as in find_stiffness
//   F = int f,  c_f = int f y/F,  T = int f |y - c_f|/F,      f = p (n . N)
// The force is minus the gradient of an energy, and K its exact slope along N. c_f also has the
// moments of the parts of p n that lie in the contact plane.
// The points are at c and at c + s S^(1/2) u_j with u_j = (+-1, +-1), of a line at c +- s L e:
//   k_0 = K (1 - 1/s^2),  k_j = K/(m s^2)           keep K, c and S
//   f_j = k_j (a + b_j),  f_0 = F - a K/s^2,  b_j = s u_j . z F/K,  z = S^(-1/2) (c_f - c)
//                                                   keep F and F c_f; a is chosen to keep F T
// A twisted surface also has a moment about N, of which the points' normals get the slopes.
// All f are positive for s (|z_1| + |z_2|) F/K <= a <= s^2 F/K. Torsion beyond that, as of curved
// sides, whose S is less than that of their surface, is left to spin friction of the points.
#include "multibody/geometry/patch.h"

// s of four points on a disc and of two on a line, for which k alone has the torsion of a uniform
// pressure.
static const double RING = 1.06, ENDS = 1.1547005383792515;
// Extents of S, relative to the smaller shape, below which a patch is a line or round.
static const double THIN = 1e-4;
static const double TINY = 1e-300;
// The force over the sum of all forces, at and above which the surface is one cluster, and below
// which its facets alone are. A pad that holds a handle at a quarter of its depth is one cluster;
// faces at a right angle are two.
static const double PLANE = 0.86, SPREAD = 0.72;
// A cluster with less than this share of the force is one point.
static const double WEAK = 0.03;
// Largest slope of the normals for the moment about N, and the least beside it.
static const double TWIST = 0.3, ROUND_OFF = 1e-13;
// Cosine to the contact's normal below which a piece is seen from its side.
static const double STEEP = 0.1;
enum { ALL = -1 };  // pieces of all directions

// Stiffness of a piece per area [Pa/m]: how its pressure, in columns along N, grows as B moves
// along -N, times n . N. Exact, also of walls that lean over, where it is negative.
static double find_stiffness(const sap_patch_surface* s, const sap_patch_piece* piece,
                             const double N[3]) {
  return -s->series * sap_v3_dot(piece->m[0], N) * sap_v3_dot(piece->m[1], N) / piece->steep;
}

typedef struct moments {
  int32_t direction;        // of the pieces, or ALL
  double N[3], t[2][3];     // t: fixed to a body as far as N is
  double K, k1[2];          // int k, int k x of x from x0
  double x2[3];             // int k xx yy xy
  double y1[2], y2[3];      // the same of the arms
  double F, f1[2], height;  // int f, int f x with the moment of lateral parts, int f N . x
  double twist;             // int of the moment about N
  double area;
} moments;

// Returns 0 below `low`, 1 above `high`, with continuous slopes.
static double ramp(double value, double low, double high) {
  const double x = sap_most(0.0, sap_least(1.0, (value - low) / (high - low)));
  return x * x * (3.0 - 2.0 * x);
}

static bool is_in(const sap_patch_piece* piece, int32_t direction) {
  return direction == ALL || piece->direction == direction;
}

// Sets N to the direction of the force; returns its part of the sum of all forces, 0: no force.
static double find_normal(const sap_patch_surface* s, int32_t direction, double N[3]) {
  double sum[3] = {0.0, 0.0, 0.0}, all = 0.0;
  for (int32_t i = 0; i < s->npieces; ++i) {
    if (is_in(&s->pieces[i], direction)) {
      sap_v3_add_scaled(sum, s->pieces[i].n, s->pieces[i].force);
      all += s->pieces[i].force;
    }
  }
  const double norm = sap_v3_norm(sum);
  sap_v3_scale(N, sum, norm > 0.0 ? 1.0 / norm : 0.0);
  return norm > 0.0 ? norm / all : 0.0;
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

// Adds a part of the surface at x with its stiffness and force f along n (in the tangents and N);
// y: where it acts in the second moments. Lateral parts of the forces cancel, not their moments.
static void add_part(double k, double f, const double n[3], const double x[3], const double y[3],
                     moments* m) {
  m->K += k;
  m->F += f * n[2];
  m->height += f * n[2] * x[2];
  m->twist += f * (x[0] * n[1] - x[1] * n[0]);
  add_square(k, x, m->x2);
  add_square(k, y, m->y2);
  for (int i = 0; i < 2; ++i) {
    m->k1[i] += k * x[i];
    m->y1[i] += k * y[i];
    m->f1[i] += f * (n[2] * x[i] - n[i] * x[2]);
  }
}

// Adds a polygon by the midpoints of triangles: exact for a linear p.
static void add_polygon(const sap_patch_surface* s, const sap_patch_piece* piece, const double n[3],
                        moments* m) {
  const sap_patch_corner* c = &s->corners[piece->first];
  const double k = find_stiffness(s, piece, m->N);
  for (int32_t i = 1; i + 1 < piece->count; ++i) {
    const sap_patch_corner* corners[3] = {&c[0], &c[i], &c[i + 1]};
    double x[3][3], u[3], v[3], cross[3];
    for (int j = 0; j < 3; ++j) {
      project(s, m, corners[j]->x, x[j]);
    }
    sap_v3_sub(u, x[1], x[0]);
    sap_v3_sub(v, x[2], x[0]);
    sap_v3_cross(cross, u, v);
    const double third = sap_v3_norm(cross) / 6.0;  // of the area
    for (int j = 0; j < 3; ++j) {
      const int next = j < 2 ? j + 1 : 0;
      double middle[3];
      sap_v3_add(middle, x[j], x[next]);
      sap_v3_scale(middle, middle, 0.5);
      add_part(third * k, third * 0.5 * (corners[j]->p + corners[next]->p), n, middle, middle, m);
    }
  }
}

static bool find_moments(const sap_patch_surface* s, int32_t direction, moments* m) {
  *m = (moments){.direction = direction};
  if (!(find_normal(s, direction, m->N) > 0.0)) {
    return false;
  }
  set_tangents(s, m);
  for (int32_t i = 0; i < s->npieces; ++i) {
    const sap_patch_piece* piece = &s->pieces[i];
    if (!is_in(piece, direction)) {
      continue;
    }
    const double n[3] = {sap_v3_dot(piece->n, m->t[0]), sap_v3_dot(piece->n, m->t[1]),
                         sap_v3_dot(piece->n, m->N)};
    m->area += piece->area;
    if (piece->count > 1) {
      add_polygon(s, piece, n, m);
    } else {
      double x[3], y[3];
      project(s, m, s->corners[piece->first].x, x);
      project(s, m, piece->y, y);
      add_part(find_stiffness(s, piece, m->N) * piece->area, piece->force, n, x, y, m);
    }
  }
  return m->F > 0.0 && isfinite(m->K + m->F);
}

// int p r dA over the triangle of `centre` and an edge, r from the centre: exact along r, by Gauss
// along the edge.
static double edge_torsion(const double a[3], const double b[3], const double p[3]) {
  double sum = 0.0;
  for (int k = 0; k < SAP_PATCH_GAUSS; ++k) {
    const double t = sap_patch_gauss[k][0];
    const double x = a[0] + t * (b[0] - a[0]), y = a[1] + t * (b[1] - a[1]),
                 r = sqrt(x * x + y * y);
    sum += sap_patch_gauss[k][1] * r * (p[2] / 12.0 + 0.25 * (p[0] + t * (p[1] - p[0])));
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
    if (!is_in(piece, m->direction)) {
      continue;
    }
    for (int32_t k = 0; k < piece->count; ++k) {
      project(s, m, corners[k].x, x[k]);
      x[k][0] -= centre[0];
      x[k][1] -= centre[1];
    }
    // Seen from its side, a polygon does not tell p at the centre: its force acts at its middle.
    const double facing = sap_v3_dot(piece->n, m->N);
    const double exact = piece->count > 1 ? ramp(fabs(facing), STEEP, 2.0 * STEEP) : 0.0;
    if (exact > 0.0) {
      const double p_centre = pressure_at_centre((const double(*)[3])x, corners, piece->count);
      for (int32_t k = 0; k < piece->count; ++k) {
        const int32_t next = k + 1 < piece->count ? k + 1 : 0;
        own += edge_torsion(x[k], x[next], (double[3]){corners[k].p, corners[next].p, p_centre});
      }
    }
    double middle[2] = {0.0, 0.0};
    for (int32_t k = 0; k < piece->count; ++k) {
      middle[0] += x[k][0] / piece->count;
      middle[1] += x[k][1] / piece->count;
    }
    sum += exact * fabs(own) +
           (1.0 - exact) * piece->force * fabs(facing) * hypot(middle[0], middle[1]);
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

// Returns a/(F/K) of the ring whose torsion about c_f is *T; sets *T to what it lacks.
static double find_level(const ring* r, const double c_f[2], double* T) {
  const double s2 = r->s * r->s, dx = r->centre[0] - c_f[0], dy = r->centre[1] - c_f[1];
  const double r_0 = hypot(dx, dy);
  double arms = -r_0 / s2, given = r_0;
  for (int32_t j = 0; j < r->count; ++j) {
    const double r_j = hypot(dx + r->offset[j][0], dy + r->offset[j][1]);
    arms += r_j / (r->count * s2);
    given += r->b[j] * r_j / (r->count * s2);
  }
  const double wanted = arms > 0.0 ? (*T - given) / arms : 1.0;
  const double level = sap_most(r->s * r->lift, sap_least(s2, wanted));
  *T = arms > 0.0 && wanted <= s2 ? 0.0 : sap_most(0.0, *T - given - level * arms);
  return level;
}

// Where a cluster's points go, and its weight.
typedef struct cluster {
  const sap_patch_surface* s;
  const moments* m;
  double weight, share;  // share: of the sum of all forces
  sap_patch_cluster* out;
} cluster;

static void add_point(const cluster* c, const double at[2], double k, double f) {
  const moments* m = c->m;
  const int32_t count = c->out->points.count++;
  sap_manifold_point* point = &c->out->points.points[count];
  sap_v3_copy(point->p, c->s->x0);
  sap_v3_add_scaled(point->p, m->t[0], at[0]);
  sap_v3_add_scaled(point->p, m->t[1], at[1]);
  sap_v3_add_scaled(point->p, m->N, m->height / m->F);
  sap_v3_copy(point->n, m->N);
  point->phi = -sap_most(f, 0.0) / k;
  c->out->stiffness[count] = c->weight * k;
  c->out->features[count] = SAP_PATCH_POINTS * (1 + m->direction) + count;
}

// Turns the normals of the points about c_f so that they have the moment about N: by w N x r, whose
// forces have no sum.
static void add_twist(const cluster* to, const double c_f[2]) {
  const moments* m = to->m;
  sap_manifold* points = &to->out->points;
  double r[SAP_PATCH_POINTS][3], centre[3], sum = 0.0, far = 0.0;
  sap_v3_copy(centre, to->s->x0);
  sap_v3_add_scaled(centre, m->t[0], c_f[0]);
  sap_v3_add_scaled(centre, m->t[1], c_f[1]);
  sap_v3_add_scaled(centre, m->N, m->height / m->F);
  for (int32_t i = 0; i < points->count; ++i) {
    const double f = -points->points[i].phi * to->out->stiffness[i];
    sap_v3_sub(r[i], points->points[i].p, centre);
    sum += f * sap_v3_dot(r[i], r[i]);
    far = sap_most(far, sap_v3_norm(r[i]));
  }
  // Where a round patch has points near its centre, these carry no moment.
  const double most = far > 0.0 ? TWIST * sap_least(1.0 / far, far / m->area) : 0.0;
  const double wanted = sum > 0.0 ? to->weight * m->twist / sum : 0.0;
  const double w = sap_most(-most, sap_least(most, wanted));
  for (int32_t i = 0; i < points->count && fabs(w) > ROUND_OFF * most; ++i) {
    double* n = points->points[i].n;
    double turn[3];
    sap_v3_cross(turn, m->N, r[i]);
    sap_v3_add_scaled(n, turn, w);
    const double norm = sap_v3_norm(n);
    sap_v3_scale(n, n, 1.0 / norm);
    to->out->stiffness[i] *= norm * norm;
    points->points[i].phi /= norm;
  }
}

static void set_points(const cluster* to) {
  const moments* m = to->m;
  const double size = sap_least(to->s->shape[0]->bound, to->s->shape[1]->bound);
  const double K = sap_most(m->K, m->F / size);
  const double c_f[2] = {m->f1[0] / m->F, m->f1[1] / m->F};
  double S[3] = {0.0, 0.0, 0.0};
  ring r = {.centre = {c_f[0], c_f[1]}};
  if (m->K > 0.0) {
    const double part = sap_least(m->K / K, ramp(to->share, WEAK, 3.0 * WEAK));
    const double kept = part * part * part;
    find_spread(m, S);
    for (int i = 0; i < 3; ++i) {
      S[i] *= kept;
    }
    for (int i = 0; i < 2; ++i) {
      const double c = m->k1[i] / m->K;
      r.centre[i] = kept < 1.0 ? c_f[i] + kept * (c - c_f[i]) : c;
    }
  }
  const double d[2] = {c_f[0] - r.centre[0], c_f[1] - r.centre[1]};
  set_ring(S, d, THIN * size, &r);
  double T = find_torsion(to->s, m, c_f) / m->F;
  *to->out = (sap_patch_cluster){.area = to->weight * m->area, .force = to->weight * m->F};
  if (r.count == 0) {
    to->out->torsion = T;
    add_point(to, r.centre, K, m->F);
    return;
  }
  const double s2 = r.s * r.s, level = find_level(&r, c_f, &T);
  to->out->torsion = T;
  add_point(to, r.centre, K * (1.0 - 1.0 / s2), m->F * (1.0 - level / s2));
  for (int32_t j = 0; j < r.count; ++j) {
    const double at[2] = {r.centre[0] + r.offset[j][0], r.centre[1] + r.offset[j][1]};
    const double share = 1.0 / (r.count * s2);
    add_point(to, at, K * share, m->F * share * (level + r.b[j]));
  }
  add_twist(to, c_f);
}

static void add_cluster(sap_patch_surface* s, int32_t direction, double weight, double all) {
  moments m;
  if (weight > 0.0 && find_moments(s, direction, &m)) {
    const cluster to = {s, &m, weight, direction == ALL ? 1.0 : m.F / all,
                        &s->patches[s->npatches]};
    ++s->npatches;
    set_points(&to);
  }
}

// Returns the direction of the piece's facet, in the axes of the ruler: for each component its
// sign, or 0 if it is small. The limit is not one of a prism with regular sides.
static int32_t find_direction(const sap_patch_surface* s, const sap_patch_piece* piece) {
  static const double SMALL = 0.437;
  double m[3];
  sap_m3_tmul_v3(m, s->shape[s->ruler]->R, piece->m[s->ruler]);
  const double least = SMALL * sap_most(fabs(m[0]), sap_most(fabs(m[1]), fabs(m[2])));
  int32_t out = 0;
  for (int k = 0; k < 3; ++k) {
    out = 3 * out + (m[k] > least ? 2 : m[k] < -least ? 0 : 1);
  }
  return out;
}

bool sap_patch_set_clusters(sap_patch_surface* s) {
  double N[3], all = 0.0;
  const double plane = find_normal(s, ALL, N);
  const double weight = s->one_plane || s->ruler < 0 ? 1.0 : ramp(plane, SPREAD, PLANE);
  bool used[SAP_PATCH_DIRECTIONS] = {false};
  s->npatches = 0;
  for (int32_t i = 0; i < s->npieces && weight < 1.0; ++i) {
    s->pieces[i].direction = find_direction(s, &s->pieces[i]);
    used[s->pieces[i].direction] = true;
    all += s->pieces[i].force;
  }
  add_cluster(s, ALL, weight, all);
  for (int32_t k = 0; k < SAP_PATCH_DIRECTIONS; ++k) {
    add_cluster(s, k, used[k] ? 1.0 - weight : 0.0, all);
  }
  return s->npatches > 0;
}
