// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/patch_fan.h"

#include "math/scalar.h"

enum { DIRECTIONS = 8, PARTS = 4, CHORDS = 16, NEWTON = 60, RAYS = 5, COARSE = 2, ROUND = 16 };
// Rays of a sector.
static const double gauss_5[RAYS][2] = {{0.046910077030668004, 0.118463442528094544},
                                        {0.230765344947158454, 0.239314335249683234},
                                        {0.5, 0.284444444444444444},
                                        {0.769234655052841546, 0.239314335249683234},
                                        {0.953089922969331996, 0.118463442528094544}};
static const double gauss_2[COARSE][2] = {{0.211324865405187118, 0.5}, {0.788675134594812882, 0.5}};
// A change of sides is found to RESOLVED of a path, and looked for beyond BEYOND of it.
static const double RESOLVED = 1e-12, BEYOND = 1e-9;
// Relative to a length.
static const double ROUND_OFF = 1e-14;
// Where the search for the border begins, over its last distance.
static const double FARTHER = 1.03;
// How far c may be off the middle of two chords, over these.
static const double CENTRED = 0.1;
// Largest slant of a sample.
static const double SLANT = 50.0;

// Where a sample acts in the second moments: curved sides roll without changing the pressure, so
// they act in the middle of their curvature. With two curved sides the one with less arm counts.
static void find_arm(const sap_patch_surface* s, const double (*e)[3], const sap_fan_spot* at,
                     double y[3]) {
  double arm[2] = {HUGE_VAL, HUGE_VAL};
  for (int k = 0; k < 2; ++k) {
    for (int side = 0; side < 2; ++side) {
      double d[3];
      if (at->at[side].curved) {
        sap_v3_add(d, s->centre[side], at->at[side].foot);
        sap_v3_sub(d, d, s->x0);
        const double along = sap_v3_dot(d, e[k]);
        arm[k] = fabs(along) < fabs(arm[k]) ? along : arm[k];
      }
    }
  }
  if (isinf(arm[0])) {
    sap_v3_copy(y, at->x);
    return;
  }
  sap_v3_copy(y, s->x0);
  sap_v3_add_scaled(y, e[0], arm[0]);
  sap_v3_add_scaled(y, e[1], arm[1]);
}

bool sap_fan_add_spot(sap_patch_surface* s, const double (*e)[3], const sap_fan_spot* at,
                      double area) {
  if (!(at->p > 0.0) || !(area > 0.0)) {
    return true;
  }
  if (s->npieces >= SAP_PATCH_PIECES || s->ncorners >= SAP_PATCH_CORNERS) {
    return false;
  }
  sap_patch_piece* piece = &s->pieces[s->npieces++];
  *piece = (sap_patch_piece){.first = s->ncorners, .count = 1};
  sap_patch_set_normals(s, at->at[0].m, at->at[1].m, piece);
  piece->area = area * (at->slant > 0.0 ? sap_least(at->slant, SLANT) : SLANT);
  piece->force = at->p * piece->area;
  find_arm(s, e, at, piece->y);
  sap_v3_copy(s->corners[s->ncorners].x, at->x);
  s->corners[s->ncorners++].p = at->p;
  return true;
}

static bool add_sample(sap_fan* f, const double way[2], double r, double area) {
  sap_fan_spot at;
  f->find_spot(f, way, r, &at);
  return sap_fan_add_spot(f->s, (const double(*)[3])f->e, &at, area);
}

void sap_fan_set_axes(sap_fan* f, const double N[3]) {
  const sap_patch_surface* s = f->s;
  double R[9];
  sap_m3_from_normal(R, N);
  sap_v3_copy(f->e[0], R);
  const int small = s->shape[1]->bound < s->shape[0]->bound;
  for (int k = 0; k < 2; ++k) {  // the smaller one last
    const sap_placed_shape* shape = s->shape[k == 0 ? 1 - small : small];
    if (shape->type == SAP_SHAPE_CAPSULE || shape->type == SAP_SHAPE_CYLINDER) {
      double e[3];
      sap_v3_copy(e, shape->R + 6);
      sap_v3_add_scaled(e, N, -sap_v3_dot(e, N));
      const double norm = sap_v3_norm(e);
      if (norm > 1e-2) {
        sap_v3_scale(f->e[0], e, 1.0 / norm);
      }
    }
  }
  sap_v3_cross(f->e[1], N, f->e[0]);
}

void sap_fan_add_corner(sap_fan* f, const double origin[3], const double x[3]) {
  double d[3];
  sap_v3_sub(d, x, origin);
  if (f->nborder < SAP_FAN_BORDER) {
    f->border[f->nborder][0] = sap_v3_dot(d, f->e[0]);
    f->border[f->nborder++][1] = sap_v3_dot(d, f->e[1]);
  }
}

double sap_fan_leave(sap_fan* f, const double way[2]) {
  const double norm = sqrt(way[0] * way[0] + way[1] * way[1]);
  double t = FARTHER * f->reach / norm, inside = 0.0;
  bool outside = false;
  for (int k = 0; k < NEWTON; ++k) {
    double slope;
    const double value = f->measure(f, way, t, &slope);
    if (value >= 0.0) {
      if (outside) {
        break;
      }
      inside = t;
      t *= 1.5;
      continue;
    }
    outside = true;
    // From outside, Newton's method stays there.
    double next = slope < 0.0 ? t - value / slope : inside;
    next = next > inside ? next : 0.5 * (inside + t);
    if (!(t - next > ROUND_OFF * t)) {
      break;
    }
    t = next;
  }
  f->reach = sap_most(t * norm, 1e-3 * f->reach);
  return t;
}

// Returns the part t of the way from c at which the part of the surface ends, and the point there.
static double find_exit(sap_fan* f, const double way[2], bool* on_edge, sap_fan_spot* at) {
  double t = sap_fan_leave(f, way);
  *on_edge = false;
  if (f->edges) {
    t = f->limit(f, way, t, on_edge);
  }
  f->find_spot(f, way, t, at);
  return t;
}

// A path of points: of the border between P and Q; along P, without Q.
typedef struct path {
  const double *P, *Q;
} path;

static void follow(sap_fan* f, const path* p, double t, sap_fan_spot* at) {
  bool on_edge;
  if (p->Q == NULL) {
    f->find_spot(f, p->P, t, at);
  } else {
    const double way[2] = {p->P[0] + t * (p->Q[0] - p->P[0]), p->P[1] + t * (p->Q[1] - p->P[1])};
    (void)find_exit(f, way, &on_edge, at);
  }
}

static bool same_sides(const sap_fan_spot* a, const sap_fan_spot* b) {
  return a->at[0].side == b->at[0].side && a->at[1].side == b->at[1].side;
}

// Returns where a shape's side changes between low and high, where the point is *far. Illinois.
static double find_root(sap_fan* f, const path* p, double low, double high, const sap_fan_spot* far,
                        int shape, const int32_t sides[2]) {
  const sap_placed_shape* of = f->s->shape[shape];
  double t[2] = {low, high}, g[2], root = high;
  sap_fan_spot at;
  follow(f, p, low, &at);
  for (int k = 0; k < 2; ++k) {
    const double* x = k == 0 ? at.x : far->x;
    g[k] = sap_patch_side_gap(of, sides[0], sides[1], f->s->centre[shape], x);
  }
  int last = -1;
  for (int k = 0; k < NEWTON && t[1] - t[0] > RESOLVED * high; ++k) {
    root = (t[0] * g[1] - t[1] * g[0]) / (g[1] - g[0]);
    root = root > t[0] && root < t[1] ? root : 0.5 * (t[0] + t[1]);
    follow(f, p, root, &at);
    const double gap = sap_patch_side_gap(of, sides[0], sides[1], f->s->centre[shape], at.x);
    const int end = gap < 0.0;
    if (fabs(gap) <= RESOLVED * fabs(g[end])) {
      break;
    }
    t[end] = root;
    g[end] = gap;
    g[1 - end] *= last == end ? 0.5 : 1.0;
    last = end;
  }
  return root;
}

// Returns where the sides first change between t = start, where they are those of *at, and end,
// where they are those of *last; or end. Sets *at to the point just beyond.
static double find_change(sap_fan* f, const path* p, double start, double end,
                          const sap_fan_spot* last, sap_fan_spot* at) {
  const sap_fan_spot first = *at;
  double high = end;
  *at = *last;
  for (int k = 0; k < PARTS; ++k) {
    const int shape = at->at[0].side == first.at[0].side;
    if (same_sides(at, &first)) {
      return high;
    }
    const int32_t sides[2] = {first.at[shape].side, at->at[shape].side};
    const double root = find_root(f, p, start, high, at, shape, sides);
    double more = BEYOND * (end - start);
    sap_fan_spot before;
    follow(f, p, root - more, &before);
    if (root - more <= start || same_sides(&before, &first)) {
      for (*at = first; same_sides(at, &first) && root + more < high; more *= 10.0) {
        follow(f, p, root + more, at);
      }
      return root;
    }
    high = root - more;
    *at = before;
  }
  return high;
}

// Adds the samples of a ray; weight: of r dr.
static bool add_ray(sap_fan* f, const double way[2], double weight, const sap_fan_spot* middle) {
  sap_fan_spot at = *middle, last;
  bool on_edge;
  const double end = find_exit(f, way, &on_edge, &last);
  const path ray = {way, NULL};
  double start = 0.0;
  f->changes = f->changes || !same_sides(middle, &last);
  for (int part = 0; part < PARTS && start < end; ++part) {
    const double next = part + 1 == PARTS ? end : find_change(f, &ray, start, end, &last, &at);
    for (int k = 0; k < (f->s->coarse > 0 ? COARSE : SAP_PATCH_GAUSS); ++k) {
      const double* node = f->s->coarse > 0 ? gauss_2[k] : sap_patch_gauss[k];
      const double r = start + node[0] * (next - start);
      if (!add_sample(f, way, r, weight * node[1] * (next - start) * r)) {
        return false;
      }
    }
    start = next;
  }
  return true;
}

static bool add_sector(sap_fan* f, const double P[2], const double Q[2],
                       const sap_fan_spot* middle) {
  const double cross = P[0] * Q[1] - P[1] * Q[0];
  for (int k = 0; k < (f->s->coarse > 0 ? COARSE : RAYS) && cross > 0.0; ++k) {
    const double* node = f->s->coarse > 0 ? gauss_2[k] : gauss_5[k];
    const double t = node[0];
    const double way[2] = {P[0] + t * (Q[0] - P[0]), P[1] + t * (Q[1] - P[1])};
    if (!add_ray(f, way, cross * node[1], middle)) {
      return false;
    }
  }
  return true;
}

// Adds the sectors between neighbouring points of the border, cut where the sides change.
static bool add_sectors(sap_fan* f) {
  static const double here[2] = {0.0, 0.0};
  sap_fan_spot middle, at, last;
  f->find_spot(f, here, 0.0, &middle);
  for (int32_t i = 0; i < f->nborder; ++i) {
    const path p = {f->border[i], f->border[i + 1 < f->nborder ? i + 1 : 0]};
    double from[2] = {p.P[0], p.P[1]}, t = 0.0;
    if (i == 0) {
      follow(f, &p, 0.0, &at);
    }
    follow(f, &p, 1.0, &last);
    for (int part = 0; part < PARTS && t < 1.0; ++part) {
      t = part + 1 == PARTS ? 1.0 : find_change(f, &p, t, 1.0, &last, &at);
      const double to[2] = {p.P[0] + t * (p.Q[0] - p.P[0]), p.P[1] + t * (p.Q[1] - p.P[1])};
      if (!add_sector(f, from, to, &middle)) {
        return false;
      }
      from[0] = to[0];
      from[1] = to[1];
    }
    at = last;
  }
  return true;
}

// Moves c to the middle of chords, and sets the half chords: the second one lies along the border
// at the end of the first, if that is not on an edge. False: there is no chord.
static bool centre(sap_fan* f, double half[2][2]) {
  double way[2] = {1.0, 0.0}, before = HUGE_VAL, off = HUGE_VAL;
  for (int k = 0; k < CHORDS && (k < 4 || k % 2 != 0 || before + off > CENTRED); ++k) {
    sap_fan_spot at;
    bool on_edge;
    const double back[2] = {-way[0], -way[1]};
    const double down = find_exit(f, back, &on_edge, &at), up = find_exit(f, way, &on_edge, &at);
    for (int i = 0; i < 2; ++i) {
      f->c[i] += 0.5 * (up - down) * way[i];
      half[k % 2][i] = 0.5 * (up + down) * way[i];
    }
    before = off;
    off = fabs(up - down) / (up + down);
    double border[3];
    sap_v3_cross(border, at.at[0].m, at.at[1].m);
    const double along[2] = {sap_v3_dot(border, f->e[0]), sap_v3_dot(border, f->e[1])};
    const double norm = hypot(along[0], along[1]);
    sap_v3_set(border, k % 2 == 0 ? 0.0 : 1.0, k % 2 == 0 ? 1.0 : 0.0, 0.0);
    if (k % 2 == 0 && !on_edge && fabs(along[1]) > 0.3 * norm) {
      border[0] = along[0] / norm;
      border[1] = along[1] / norm;
    }
    way[0] = border[0];
    way[1] = border[1];
  }
  return hypot(half[0][0], half[0][1]) > 0.0 && hypot(half[1][0], half[1][1]) > 0.0;
}

// Adds directions of the border where it lies on no edge.
static void add_directions(sap_fan* f, double half[2][2]) {
  static const double root = 0.70710678118654752;
  static const double turn[DIRECTIONS][2] = {{1.0, 0.0},    {root, root}, {0.0, 1.0},
                                             {-root, root}, {-1.0, 0.0},  {-root, -root},
                                             {0.0, -1.0},   {root, -root}};
  for (int k = 0; k < DIRECTIONS; ++k) {
    const double way[2] = {turn[k][0] * half[0][0] + turn[k][1] * half[1][0],
                           turn[k][0] * half[0][1] + turn[k][1] * half[1][1]};
    bool on_edge;
    sap_fan_spot at;
    const double t = find_exit(f, way, &on_edge, &at);
    if (!on_edge && f->nborder < SAP_FAN_BORDER) {
      f->border[f->nborder][0] = t * way[0];
      f->border[f->nborder++][1] = t * way[1];
    }
  }
}

static void sort_border(sap_fan* f) {
  double angle[SAP_FAN_BORDER];
  for (int32_t i = 0; i < f->nborder; ++i) {
    const double b[2] = {f->border[i][0], f->border[i][1]}, a = atan2(b[1], b[0]);
    int32_t k = i;
    for (; k > 0 && angle[k - 1] > a; --k) {
      angle[k] = angle[k - 1];
      f->border[k][0] = f->border[k - 1][0];
      f->border[k][1] = f->border[k - 1][1];
    }
    angle[k] = a;
    f->border[k][0] = b[0];
    f->border[k][1] = b[1];
  }
}

// Adds rays about an ellipse of the half chords. If no side changes the border is smooth and nearly
// that: equal angles converge faster than any power. Else returns false.
static bool add_round(sap_fan* f, double half[2][2]) {
  static const double here[2] = {0.0, 0.0}, angle = 2.0 * SAP_PI / ROUND;
  const double cross = half[0][0] * half[1][1] - half[0][1] * half[1][0];
  sap_fan_spot middle;
  f->find_spot(f, here, 0.0, &middle);
  f->changes = false;
  for (int k = 0; k < ROUND; ++k) {
    const double c = cos(angle * k), s = sin(angle * k);
    const double way[2] = {c * half[0][0] + s * half[1][0], c * half[0][1] + s * half[1][1]};
    if (!add_ray(f, way, angle * fabs(cross), &middle) || f->changes) {
      return false;
    }
  }
  return true;
}

// Moves c to the middle of the border's corners.
static void set_middle(sap_fan* f) {
  if (f->nborder > 0) {
    f->c[0] = f->c[1] = 0.0;
  }
  for (int32_t i = 0; i < f->nborder; ++i) {
    f->c[0] += f->border[i][0] / f->nborder;
    f->c[1] += f->border[i][1] / f->nborder;
  }
}

// Moves c from below the mantle of a cylinder to just below its end, where that is near. The part
// below the end is convex: rays from there leave it once, others may cross it and come back.
static void move_to_end(sap_fan* f, double half[2][2]) {
  static const double here[2] = {0.0, 0.0}, angle = 2.0 * SAP_PI / DIRECTIONS;
  static const double NEAR = 0.6, INSIDE = 0.02;  // of the way to the border, of that below the end
  sap_fan_spot middle, last;
  f->find_spot(f, here, 0.0, &middle);
  int can = 0;
  while (can < 2 && (f->s->shape[can]->type != SAP_SHAPE_CYLINDER || !middle.at[can].curved)) {
    ++can;
  }
  for (int k = 0; k < DIRECTIONS && can < 2; ++k) {
    const double c = cos(angle * k), s = sin(angle * k);
    const double way[2] = {c * half[0][0] + s * half[1][0], c * half[0][1] + s * half[1][1]};
    bool on_edge;
    const double end = find_exit(f, way, &on_edge, &last);
    if (!last.at[can].curved) {
      sap_fan_spot at = middle;
      const double t = find_change(f, &(path){way, NULL}, 0.0, end, &last, &at);
      const double to = t < NEAR * end ? t + INSIDE * (end - t) : 0.0;
      f->c[0] += to * way[0];
      f->c[1] += to * way[1];
      return;
    }
  }
}

bool sap_fan_add(sap_fan* f) {
  double half[2][2];
  set_middle(f);
  if (!centre(f, half)) {
    return true;
  }
  const int32_t npieces = f->s->npieces, ncorners = f->s->ncorners;
  if (f->nborder == 0 && add_round(f, half)) {
    return true;
  }
  f->s->npieces = npieces;
  f->s->ncorners = ncorners;
  move_to_end(f, half);
  for (int32_t i = 0; i < f->nborder; ++i) {
    f->border[i][0] -= f->c[0];
    f->border[i][1] -= f->c[1];
  }
  add_directions(f, half);
  sort_border(f);
  return add_sectors(f);
}
