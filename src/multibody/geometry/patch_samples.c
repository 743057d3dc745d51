// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of two shapes that are not both flat, by samples over the contact plane
//   x = x0 + u e1 + w e2 + z N
// For each (u, w) the surface is at the z where alpha d_A = beta d_B. The pressure p(u, w) there is
// concave, as both depths are, so its zeros are found by Newton's method from outside, where it
// converges monotonically. Slices u = constant lie across e1, along the axis of a capsule or
// cylinder, and begin on a ridge from x0 to the points of the patch farthest along e1 and -e1, all
// of it inside as the patch is convex. Slices and their halves are cut where the facets change, and
// integrated by Gauss; the ends of the range of u by u = end - length s^2, as the width of a round
// patch ends with a root.
#include "multibody/geometry/patch.h"

#include "math/scalar.h"

enum {
  GAUSS_U = 6,
  GAUSS_W = 3,
  NEWTON_Z = 16,
  NEWTON_ROOT = 60,
  BISECTIONS = 22,
  SEARCH = 40,
  FARTHEST = 40
};
static const double gauss_6[GAUSS_U][2] = {
    {0.033765242898423989, 0.085662246189585178}, {0.169395306766867731, 0.180380786524069303},
    {0.380690406958401562, 0.233956967286345519}, {0.619309593041598494, 0.233956967286345519},
    {0.830604693233132241, 0.180380786524069303}, {0.966234757101576025, 0.085662246189585178}};
static const double gauss_3[GAUSS_W][2] = {{0.112701665379258311, 0.277777777777777778},
                                           {0.5, 0.444444444444444444},
                                           {0.887298334620741689, 0.277777777777777778}};
// Slope of alpha d_A - beta d_B along z below which the surface is taken as parallel to N.
static const double STEEP = 0.05;
// Slope of p along the border, relative to that across it, below which they are at right angles.
static const double RIGHT = 1e-6;

typedef struct slices {
  sap_patch_surface* s;
  double e[2][3];  // of u and w
  double size;     // beyond which there is no patch [m]
  double found;    // way by which a point on the surface may miss it [m]
} slices;

typedef struct place {
  double x[3], p;   // p < 0: outside
  double slope[2];  // dp/du, dp/dw [Pa/m]
  sap_patch_depth at[2];
  bool found;  // on the surface
} place;

static void find_depths(const sap_patch_surface* s, const double x[3], sap_patch_depth at[2]) {
  for (int side = 0; side < 2; ++side) {
    double local[3];
    sap_v3_sub(local, x, s->centre[side]);
    sap_patch_find_depth(s->shape[side], local, &at[side]);
  }
}

// Evaluates the pressure at (u, w). A rigid shape is approached from its outside.
static void evaluate(const slices* c, double u, double w, place* at) {
  const sap_patch_surface* s = c->s;
  const double* N = s->N;
  const double outside = s->alpha == 0.0 ? -2.0 : s->beta == 0.0 ? 2.0 : 0.0;
  const double start = sap_patch_keeps_walls(s) ? 0.0 : outside;
  sap_v3_copy(at->x, s->x0);
  sap_v3_add_scaled(at->x, c->e[0], u);
  sap_v3_add_scaled(at->x, c->e[1], w);
  sap_v3_add_scaled(at->x, N, start * s->depth);
  at->found = false;
  const double *m_A = at->at[0].m, *m_B = at->at[1].m;
  double steep = 0.0;
  for (int k = 0; k < NEWTON_Z && !at->found; ++k) {
    find_depths(s, at->x, at->at);
    steep = s->alpha * sap_v3_dot(m_A, N) - s->beta * sap_v3_dot(m_B, N);
    if (!(steep > STEEP)) {
      break;
    }
    const double way = (s->alpha * at->at[0].d - s->beta * at->at[1].d) / steep;
    sap_v3_add_scaled(at->x, N, way);
    at->found = fabs(way) <= c->found;
  }
  if (!at->found) {  // beside a rigid shape: falls with the distance from it
    const sap_patch_depth* least = at->at[0].d < at->at[1].d ? &at->at[0] : &at->at[1];
    at->p = sap_least(s->series * least->d, 0.0);
    at->slope[0] = -s->series * sap_v3_dot(least->m, c->e[0]);
    at->slope[1] = -s->series * sap_v3_dot(least->m, c->e[1]);
    return;
  }
  at->p = s->series * (at->at[0].d + at->at[1].d);
  for (int k = 0; k < 2; ++k) {
    const double a = sap_v3_dot(m_A, c->e[k]), b = sap_v3_dot(m_B, c->e[k]);
    const double rise = (s->beta * b - s->alpha * a) / steep;
    at->slope[k] = -s->series * (a + b + rise * (sap_v3_dot(m_A, N) + sap_v3_dot(m_B, N)));
  }
}

// A line in the contact plane: (u, w) = start + t way.
typedef struct line {
  const slices* c;
  double start[2], way[2];
} line;

static void evaluate_line(const line* l, double t, place* at) {
  evaluate(l->c, l->start[0] + t * l->way[0], l->start[1] + t * l->way[1], at);
}

// Returns the end of p > 0 beyond t = 0, where p > 0, in the direction `sign`.
static double find_end(const line* l, double sign) {
  double t = sign * l->c->size;
  place at;
  for (int k = 0; k < NEWTON_ROOT; ++k) {
    evaluate_line(l, t, &at);
    if (at.p >= -1e-12 * l->c->s->series * l->c->s->depth) {
      break;
    }
    const double slope = at.slope[0] * l->way[0] + at.slope[1] * l->way[1];
    const double next = sign * slope < 0.0 ? t - at.p / slope : 0.5 * t;
    if (next == t) {  // p < 0 by round-off
      break;
    }
    t = sign * next > 0.0 && fabs(next) < fabs(t) ? next : 0.5 * t;
  }
  return t;
}

static bool same_sides(const place* a, const place* b) {
  return a->at[0].side == b->at[0].side && a->at[1].side == b->at[1].side;
}

// Returns where the facets of t = 0 end, or `end`.
static double find_change(const line* l, double end) {
  static const double inside = 1.0 - 1e-9;
  place first, at;
  double low = 0.0, high = end;
  evaluate_line(l, 0.0, &first);
  evaluate_line(l, inside * end, &at);
  if (same_sides(&first, &at)) {
    return end;
  }
  for (int k = 0; k < BISECTIONS; ++k) {
    const double middle = 0.5 * (low + high);
    evaluate_line(l, middle, &at);
    if (same_sides(&first, &at)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Finds the largest p on the line by golden sections; returns its t.
static double find_top(const line* l, double reach) {
  static const double golden = 0.61803398874989484820;
  double low = -reach, high = reach;
  place at[2];
  for (int k = 0; k < SEARCH; ++k) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    evaluate_line(l, a, &at[0]);
    evaluate_line(l, b, &at[1]);
    if (at[0].p > at[1].p) {
      high = b;
    } else {
      low = a;
    }
  }
  return 0.5 * (low + high);
}

// Where a sample acts in the second moments: curved sides roll without changing the pressure, so
// they act in the middle of their curvature. With two curved sides the one with less arm counts.
static void find_arm(const slices* c, const place* at, double y[3]) {
  const sap_patch_surface* s = c->s;
  double arm[2] = {HUGE_VAL, HUGE_VAL};
  for (int k = 0; k < 2; ++k) {
    for (int side = 0; side < 2; ++side) {
      double d[3];
      if (at->at[side].curved) {
        sap_v3_add(d, s->centre[side], at->at[side].foot);
        sap_v3_sub(d, d, s->x0);
        const double along = sap_v3_dot(d, c->e[k]);
        arm[k] = fabs(along) < fabs(arm[k]) ? along : arm[k];
      }
    }
  }
  if (isinf(arm[0])) {
    sap_v3_copy(y, at->x);
    return;
  }
  sap_v3_copy(y, s->x0);
  sap_v3_add_scaled(y, c->e[0], arm[0]);
  sap_v3_add_scaled(y, c->e[1], arm[1]);
}

static bool add_sample(const slices* c, double u, double w, double area) {
  sap_patch_surface* s = c->s;
  place at;
  if (!(area > 0.0)) {
    return true;
  }
  evaluate(c, u, w, &at);
  if (!at.found || !(at.p > 0.0)) {
    return true;
  }
  if (s->npieces >= SAP_PATCH_PIECES || s->ncorners >= SAP_PATCH_CORNERS) {
    return false;
  }
  sap_patch_piece* piece = &s->pieces[s->npieces];
  *piece = (sap_patch_piece){.first = s->ncorners, .count = 1};
  sap_v3_scale(piece->n, at.at[0].m, s->alpha);
  sap_v3_add_scaled(piece->n, at.at[1].m, -s->beta);
  sap_v3_scale(piece->n, piece->n, 1.0 / sap_v3_norm(piece->n));
  piece->g = sap_patch_slope(s, piece->n, at.at[0].m, at.at[1].m);
  piece->area = area / sap_v3_dot(piece->n, s->N);
  piece->force = at.p * piece->area;
  find_arm(c, &at, piece->y);
  sap_v3_copy(s->corners[s->ncorners].x, at.x);
  s->corners[s->ncorners].p = at.p;
  ++s->npieces;
  ++s->ncorners;
  return true;
}

// Adds the slice through (u, w), of the width `du`.
static bool add_slice(const slices* c, double u, double w, double du) {
  const line across = {c, {u, w}, {0.0, 1.0}};
  place at;
  evaluate_line(&across, 0.0, &at);
  if (!(at.p > 0.0)) {
    return true;
  }
  for (int half = -1; half <= 1; half += 2) {
    const double end = find_end(&across, half);
    const double cuts[3] = {0.0, find_change(&across, end), end};
    for (int part = 0; part < 2; ++part) {
      const double length = cuts[part + 1] - cuts[part];
      for (int k = 0; k < GAUSS_W; ++k) {
        if (!add_sample(c, u, w + cuts[part] + gauss_3[k][0] * length,
                        du * fabs(length) * gauss_3[k][1])) {
          return false;
        }
      }
    }
  }
  return true;
}

// Along the axis of a capsule or cylinder, the smaller of two, projected onto the contact plane.
static void set_frame(slices* c) {
  double R[9];
  const double* N = c->s->N;
  sap_m3_from_normal(R, N);
  sap_v3_copy(c->e[0], R);
  const int small = c->s->shape[1]->bound < c->s->shape[0]->bound;
  for (int k = 0; k < 2; ++k) {  // the smaller one last
    const sap_placed_shape* shape = c->s->shape[k == 0 ? 1 - small : small];
    if (shape->type == SAP_SHAPE_CAPSULE || shape->type == SAP_SHAPE_CYLINDER) {
      double e[3];
      sap_v3_copy(e, shape->R + 6);
      sap_v3_add_scaled(e, N, -sap_v3_dot(e, N));
      const double norm = sap_v3_norm(e);
      if (norm > 1e-9) {
        sap_v3_scale(c->e[0], e, 1.0 / norm);
      }
    }
  }
  sap_v3_cross(c->e[1], N, c->e[0]);
}

// Moves x0 into the patch. False: there is none.
static bool move_inside(slices* c) {
  sap_patch_surface* s = c->s;
  place at;
  evaluate(c, 0.0, 0.0, &at);
  for (int along = 0; along < 2 && !(at.p > 0.0); ++along) {
    const line l = {c, {0.0, 0.0}, {along == 0 ? 1.0 : 0.0, along == 0 ? 0.0 : 1.0}};
    const double t = find_top(&l, c->size);
    sap_v3_add_scaled(s->x0, c->e[along], t);
    evaluate(c, 0.0, 0.0, &at);
  }
  if (at.p > 0.0 && at.found) {
    sap_v3_copy(s->x0, at.x);
    return true;
  }
  return false;
}

// Returns the u of the point of the patch farthest along sign e1, and w/u there: the border is at
// right angles to e1. Bisects the direction from x0.
static double find_farthest(const slices* c, double sign, double* lean) {
  double low = -0.5 * SAP_PI, high = 0.5 * SAP_PI, u = 0.0;
  for (int k = 0; k < FARTHEST; ++k) {
    const double angle = 0.5 * (low + high);
    const line ray = {c, {0.0, 0.0}, {cos(angle), sin(angle)}};
    const double end = find_end(&ray, sign);
    place at;
    evaluate_line(&ray, (1.0 - 1e-9) * end, &at);
    u = end * ray.way[0];
    *lean = ray.way[1] / ray.way[0];
    if (fabs(at.slope[1]) <= RIGHT * fabs(at.slope[0])) {
      break;
    }
    if ((at.slope[1] > 0.0) == (sign > 0.0)) {
      low = angle;
    } else {
      high = angle;
    }
  }
  return u;
}

bool sap_patch_add_samples(sap_patch_surface* s) {
  slices c = {.s = s, .size = 2.0 * sap_least(s->shape[0]->bound, s->shape[1]->bound)};
  // Depths below a large shape, or far from the centre of a plane, have the round-off of that size.
  double from_b[3];
  sap_v3_sub(from_b, s->x0, s->centre[1]);
  c.found = 1e-11 * c.size + 1e-15 * (sap_v3_norm(s->x0) + sap_v3_norm(from_b));
  set_frame(&c);
  if (!move_inside(&c)) {
    return false;
  }
  for (int half = -1; half <= 1; half += 2) {
    line ridge = {&c, {0.0, 0.0}, {1.0, 0.0}};
    const double end = find_farthest(&c, half, &ridge.way[1]);
    const double cuts[3] = {0.0, find_change(&ridge, end), end};
    for (int part = 0; part < 2; ++part) {
      const double length = cuts[part + 1] - cuts[part];
      const bool last = part == 1 && cuts[1] != 0.0;  // a narrow rim
      const double(*nodes)[2] = last ? gauss_3 : gauss_6;
      for (int k = 0; k < (last ? GAUSS_W : GAUSS_U) && length != 0.0; ++k) {
        const double t = nodes[k][0];
        const double u = cuts[part + 1] - length * t * t;
        if (!add_slice(&c, u, ridge.way[1] * u, 2.0 * t * fabs(length) * nodes[k][1])) {
          return false;
        }
      }
    }
  }
  return s->npieces > 0;
}
