// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of two shapes that are not both flat, by samples over the contact plane
//   x = x0 + u e1 + w e2 + z N
// For each (u, w) the surface is at the z where alpha d_A = beta d_B. The patch is where
//   D(u, w) = max over z of min(d_A, d_B) > 0
// D is concave, as both depths are, so its zeros are found by Newton's method from outside, where
// it converges monotonically. Slices u = constant lie across e1, along the axis of a capsule or
// cylinder. They begin on a ridge from x0 to the points of the patch farthest along e1 and -e1, all
// of it inside as the patch is convex. Slices are cut where the facets change, and integrated by
// Gauss; the ends of the range of u by u = end - length s^2, as the width of a round patch ends
// with a root.
#include "multibody/geometry/patch.h"

#include "math/scalar.h"

enum {
  GAUSS_U = 6,
  GAUSS_W = 3,
  PARTS = 3,  // of half a slice
  NEWTON_Z = 12,
  COLUMN = 60,
  NEWTON_ROOT = 60,
  BISECTIONS = 22,
  FARTHEST = 40,
  CENTRE = 4
};
static const double gauss_6[GAUSS_U][2] = {
    {0.033765242898423989, 0.085662246189585178}, {0.169395306766867731, 0.180380786524069303},
    {0.380690406958401562, 0.233956967286345519}, {0.619309593041598494, 0.233956967286345519},
    {0.830604693233132241, 0.180380786524069303}, {0.966234757101576025, 0.085662246189585178}};
static const double gauss_3[GAUSS_W][2] = {{0.112701665379258311, 0.277777777777777778},
                                           {0.5, 0.444444444444444444},
                                           {0.887298334620741689, 0.277777777777777778}};
// Slope of w_A d_A - w_B d_B along z above which Newton's method is tried; of a depth below which
// its side is parallel to N.
static const double STEEP = 1e-3, FLAT = 1e-9;
// Slope of a depth along z by which a wall may lean over the surface.
static const double SLANT = 0.05;
// Where the search for the end of a slice begins, over the last one.
static const double FARTHER = 1.3;
// D at x0, relative to the depth, at least.
static const double INSIDE = 1e-2;
// n . N of a sample of the force along N, at least.
static const double LEVEL = 0.05;
// Slope of D along the border, relative to that across it, below which they are at right angles,
// and the least change of the direction that is searched for that.
static const double RIGHT = 1e-5, ANGLE = 1e-7;

typedef struct slices {
  sap_patch_surface* s;
  double e[2][3];  // of u and w
  double size;     // beyond which there is no patch [m]
  double found;    // way by which a point on the surface may miss it [m]
  double* reach;   // of the last slice [m]
  double* last;    // z of the last two columns: of D and of the pressure
} slices;

typedef struct place {
  double x[3], value;  // D [m], or the pressure [Pa]
  double slope[2];     // of D by u and w
  double way;          // from x to the top along N, by the tangents
  sap_patch_depth at[2];
} place;

static void find_depths(const sap_patch_surface* s, const double x[3], sap_patch_depth at[2]) {
  for (int side = 0; side < 2; ++side) {
    double local[3];
    sap_v3_sub(local, x, s->centre[side]);
    sap_patch_find_depth(s->shape[side], local, &at[side]);
  }
}

// A side of the top of min(w_A d_A, w_B d_B) along N, by the lesser one there.
typedef struct bound {
  double z, f, fall;  // z infinite: unknown; fall = -df/dz
  double m[3];        // -grad d
  int of;             // side, 0 or 1
} bound;

static void set_bound(double z, double weight, const place* at, int of, double fall, bound* b) {
  *b = (bound){.z = z, .f = weight * at->at[of].d, .fall = weight * fall, .of = of};
  sap_v3_copy(b->m, at->at[of].m);
}

// Where the tangents of both bounds meet, if that is between them; else the middle.
static double meet(const bound b[2]) {
  const double z =
      (b[0].f - b[1].f + b[0].fall * b[0].z - b[1].fall * b[1].z) / (b[0].fall - b[1].fall);
  return z > b[0].z && z < b[1].z ? z : 0.5 * (b[0].z + b[1].z);
}

// Moves x along N near to the top of min(w_A d_A, w_B d_B), from *from, which is set to the top; or
// to where both are equal, if the top lies no steeper than `slant` above it. b: its sides.
static void climb(const slices* c, const double w[2], double slant, double* from, place* at,
                  bound b[2]) {
  const double *N = c->s->N, *m_A = at->at[0].m, *m_B = at->at[1].m;
  double wide = c->s->depth, z = *from, base[3];
  sap_v3_copy(base, at->x);
  at->way = 0.0;
  b[0] = (bound){.z = -HUGE_VAL};
  b[1] = (bound){.z = HUGE_VAL};
  for (int k = 0; k < COLUMN && b[1].z - b[0].z > c->found; ++k) {
    sap_v3_copy(at->x, base);
    sap_v3_add_scaled(at->x, N, z);
    find_depths(c->s, at->x, at->at);
    const double h = w[0] * at->at[0].d - w[1] * at->at[1].d;
    double fall[2] = {sap_v3_dot(m_A, N), sap_v3_dot(m_B, N)};
    const double steep = w[0] * fall[0] - w[1] * fall[1];
    const int least = h > 0.0;
    double next = steep > STEEP ? z + h / steep : HUGE_VAL;
    if (fabs(next - z) <= c->found && fall[0] >= -slant && fall[1] <= slant) {
      set_bound(z, w[1], at, 1, fall[1], &b[0]);
      set_bound(z, w[0], at, 0, fall[0], &b[1]);
      at->way = next - z;
      z = next;
      break;
    }
    if (w[least] == 0.0) {  // to the surface of the rigid one
      fall[least] = least == 1 ? -1.0 : 1.0;
    }
    set_bound(z, w[least], at, least, fall[least], &b[fall[least] > 0.0]);
    if (fabs(fall[least]) < FLAT) {
      b[fall[least] <= 0.0].z = fall[least] > 0.0 ? -HUGE_VAL : HUGE_VAL;
      break;
    }
    if (!(next > b[0].z && next < b[1].z && k < NEWTON_Z)) {
      if (isinf(b[0].z) || isinf(b[1].z)) {
        next = isinf(b[1].z) ? z + wide : z - wide;
        wide *= 2.0;
      } else {
        next = k % 4 == 3 ? 0.5 * (b[0].z + b[1].z) : meet(b);
      }
    }
    z = next;
  }
  *from = z;
}

static void set_column(const slices* c, double u, double w, double x[3]) {
  sap_v3_copy(x, c->s->x0);
  sap_v3_add_scaled(x, c->e[0], u);
  sap_v3_add_scaled(x, c->e[1], w);
}

// Evaluates D. Its slope is the mean of those of both sides of the top that is 0 along N.
static void evaluate(const slices* c, double u, double w, place* at) {
  const sap_patch_surface* s = c->s;
  const bool flat =
      sap_patch_keeps_walls(s);  // D of a rigid plane: the depth of the other shape on it
  const double weights[2] = {flat ? s->alpha : 1.0, flat ? s->beta : 1.0};
  bound b[2];
  set_column(c, u, w, at->x);
  climb(c, weights, flat ? 1.0 : 0.0, &c->last[0], at, b);
  const bool known[2] = {!isinf(b[0].z), !isinf(b[1].z)};
  const bool both = known[0] && known[1];
  const double share = both ? b[1].fall / (b[1].fall - b[0].fall) : known[0] ? 1.0 : 0.0;
  at->value = b[known[0] ? 0 : 1].f;
  if (flat) {
    const int of = s->alpha == 1.0;
    at->value = at->at[of].d - at->way * sap_v3_dot(at->at[of].m, s->N);
  } else if (both) {  // where the tangents meet
    at->value =
        share * (b[0].f + b[0].fall * b[0].z) + (1.0 - share) * (b[1].f + b[1].fall * b[1].z);
  }
  for (int k = 0; k < 2; ++k) {
    at->slope[k] =
        -(share * sap_v3_dot(b[0].m, c->e[k]) + (1.0 - share) * sap_v3_dot(b[1].m, c->e[k]));
  }
}

// Evaluates the pressure of a column in the patch. A rigid shape is approached from its outside.
// Returns false where one field has its top below the pressure of the other.
static bool find_pressure(const slices* c, double u, double w, place* at) {
  const sap_patch_surface* s = c->s;
  const bool rigid = s->alpha == 0.0 || s->beta == 0.0;
  const double weights[2] = {s->alpha, s->beta};
  bound b[2];
  set_column(c, u, w, at->x);
  climb(c, weights, rigid ? 1.0 : SLANT, &c->last[1], at, b);  // a rigid shape keeps its surface
  const bool crosses = b[0].of == 1 && b[1].of == 0 && !isinf(b[0].z) && !isinf(b[1].z);
  double d[2];
  for (int k = 0; k < 2; ++k) {
    d[k] = at->at[k].d - at->way * sap_v3_dot(at->at[k].m, s->N);
  }
  sap_v3_add_scaled(at->x, s->N, at->way);
  if (rigid) {
    at->value = s->series * d[s->alpha == 1.0];
  } else {
    at->value = s->series * (crosses ? d[0] + d[1] : sap_least(d[0] / s->beta, d[1] / s->alpha));
  }
  return crosses;
}

// A line in the contact plane: (u, w) = start + t way.
typedef struct line {
  const slices* c;
  double start[2], way[2];
} line;

static void evaluate_line(const line* l, double t, place* at) {
  evaluate(l->c, l->start[0] + t * l->way[0], l->start[1] + t * l->way[1], at);
}

// Returns the end of D > 0 beyond t = 0, where D > 0, in the direction `sign`. Begins a little
// beyond the last end that was found.
static double find_end(const line* l, double sign, place* at) {
  const double size = l->c->size;
  double t = sap_least(FARTHER * *l->c->reach, size), inside = 0.0;
  for (int k = 0; k < NEWTON_ROOT; ++k) {
    evaluate_line(l, sign * t, at);
    const double slope = sign * (at->slope[0] * l->way[0] + at->slope[1] * l->way[1]);
    if (at->value > 0.0 && k == 0 && t < size && inside < t) {
      inside = t;
      t = sap_least(4.0 * t, size);
      k = -1;
      continue;
    }
    if (at->value >= -1e-12 * l->c->s->depth) {
      break;
    }
    const double next = slope < 0.0 ? t - at->value / slope : inside;
    if (next == t) {  // D < 0 by round-off
      break;
    }
    t = next > inside && next < t ? next : 0.5 * (inside + t);
  }
  *l->c->reach = sap_most(t, 1e-3 * *l->c->reach);
  return sign * t;
}

static bool same_sides(const place* a, const place* b) {
  return a->at[0].side == b->at[0].side && a->at[1].side == b->at[1].side;
}

// Returns where the facets just beyond t = start end, or `end`.
static double find_change(const slices* c, const line* l, double start, double end) {
  const double way = end - start;
  double low = 1e-6, high = 1.0 - 1e-6;
  place first, at;
  const double *a = l->start, *e = l->way;
  const double from = start + low * way, to = start + high * way;
  find_pressure(c, a[0] + from * e[0], a[1] + from * e[1], &first);
  find_pressure(c, a[0] + to * e[0], a[1] + to * e[1], &at);
  if (same_sides(&first, &at)) {
    return end;
  }
  for (int k = 0; k < BISECTIONS; ++k) {
    const double middle = 0.5 * (low + high), t = start + middle * way;
    find_pressure(c, a[0] + t * e[0], a[1] + t * e[1], &at);
    *(same_sides(&first, &at) ? &low : &high) = middle;
  }
  return start + high * way;
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
  const bool on_surface = find_pressure(c, u, w, &at);
  if (!(at.value > 0.0)) {
    return true;
  }
  if (s->npieces >= SAP_PATCH_PIECES || s->ncorners >= SAP_PATCH_CORNERS) {
    return false;
  }
  sap_patch_piece* piece = &s->pieces[s->npieces];
  *piece = (sap_patch_piece){.first = s->ncorners, .count = 1};
  sap_v3_copy(piece->n, s->N);
  if (on_surface) {
    sap_v3_scale(piece->n, at.at[0].m, s->alpha);
    sap_v3_add_scaled(piece->n, at.at[1].m, -s->beta);
    sap_v3_scale(piece->n, piece->n, 1.0 / sap_v3_norm(piece->n));
  }
  piece->g = sap_patch_slope(s, piece->n, at.at[0].m, at.at[1].m);
  piece->area = area / sap_most(sap_v3_dot(piece->n, s->N), LEVEL);
  piece->force = at.value * piece->area;
  find_arm(c, &at, piece->y);
  sap_v3_copy(s->corners[s->ncorners].x, at.x);
  s->corners[s->ncorners].p = at.value;
  ++s->npieces;
  ++s->ncorners;
  return true;
}

// Adds the slice through (u, w), of the width `du`.
static bool add_slice(const slices* c, double u, double w, double du) {
  const line across = {c, {u, w}, {0.0, 1.0}};
  place middle, at;
  evaluate_line(&across, 0.0, &middle);
  if (!(middle.value > 0.0)) {
    return true;
  }
  find_pressure(c, u, w, &middle);
  for (int half = -1; half <= 1; half += 2) {
    const double end = find_end(&across, half, &at);
    const bool one = same_sides(&middle, &at);
    double start = 0.0;
    for (int part = 0; part < PARTS && start != end; ++part) {
      const double next = one || part + 1 == PARTS ? end : find_change(c, &across, start, end);
      for (int k = 0; k < GAUSS_W; ++k) {
        if (!add_sample(c, u, w + start + gauss_3[k][0] * (next - start),
                        du * fabs(next - start) * gauss_3[k][1])) {
          return false;
        }
      }
      start = next;
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

// Moves x0 from the border of the patch to the middle of a chord: towards the centre of the shape
// on whose border it is, else along the slope of D.
static void move_inside(slices* c) {
  sap_patch_surface* s = c->s;
  for (int k = 0; k < CENTRE; ++k) {
    place at;
    evaluate(c, 0.0, 0.0, &at);
    const int least = at.at[1].d < at.at[0].d;
    double way[2] = {at.slope[0], at.slope[1]}, to[3];
    if (k % 2 == 0 && s->shape[least]->type != SAP_SHAPE_PLANE) {
      sap_v3_sub(to, s->centre[least], at.x);
      way[0] = sap_v3_dot(to, c->e[0]);
      way[1] = sap_v3_dot(to, c->e[1]);
    }
    const double norm = hypot(way[0], way[1]);
    if (at.value > INSIDE * s->depth || !(norm > 0.0)) {
      return;
    }
    const line l = {c, {0.0, 0.0}, {way[0] / norm, way[1] / norm}};
    const double t = 0.5 * find_end(&l, 1.0, &at);
    evaluate_line(&l, t, &at);
    sap_v3_copy(s->x0, at.x);
  }
}

// Returns the u of the point of the patch farthest along sign e1, and w/u there: the border is at
// right angles to e1. Searches the direction from x0 by false position, Illinois.
static double find_farthest(const slices* c, double sign, double* lean) {
  double low = -0.5 * SAP_PI, high = 0.5 * SAP_PI, u = 0.0, angle = 0.0, g_low = -1.0, g_high = 1.0;
  int last = 0;
  for (int k = 0; k < FARTHEST; ++k) {
    const line ray = {c, {0.0, 0.0}, {cos(angle), sin(angle)}};
    place at;
    u = find_end(&ray, sign, &at) * ray.way[0];
    *lean = ray.way[1] / ray.way[0];
    const double g = -sign * at.slope[1], across = fabs(at.slope[0]);
    if (fabs(g) <= RIGHT * across || high - low < ANGLE) {
      break;
    }
    // tan of the direction in which the border falls off, limited.
    const double bend = g / (across + fabs(g));
    if (bend < 0.0) {
      low = angle;
      g_low = bend;
      g_high *= last < 0 ? 0.5 : 1.0;
    } else {
      high = angle;
      g_high = bend;
      g_low *= last > 0 ? 0.5 : 1.0;
    }
    last = bend < 0.0 ? -1 : 1;
    angle = (low * g_high - high * g_low) / (g_high - g_low);
  }
  return u;
}

static bool add_slices(const slices* c) {
  for (int half = -1; half <= 1; half += 2) {
    line ridge = {c, {0.0, 0.0}, {1.0, 0.0}};
    const double end = find_farthest(c, half, &ridge.way[1]);
    const double cuts[3] = {0.0, find_change(c, &ridge, 0.0, end), end};
    for (int part = 0; part < 2; ++part) {
      const double length = cuts[part + 1] - cuts[part];
      const bool last = part == 1;  // a narrow rim
      const double(*nodes)[2] = last ? gauss_3 : gauss_6;
      for (int k = 0; k < (last ? GAUSS_W : GAUSS_U) && length != 0.0; ++k) {
        const double t = nodes[k][0];
        const double u = cuts[part + 1] - length * t * t;
        if (!add_slice(c, u, ridge.way[1] * u, 2.0 * t * fabs(length) * nodes[k][1])) {
          return false;
        }
      }
    }
  }
  return c->s->npieces > 0;
}

bool sap_patch_add_samples(sap_patch_surface* s) {
  slices c = {.s = s, .size = 2.0 * sap_least(s->shape[0]->bound, s->shape[1]->bound)};
  // Depths below a large shape, or far from the centre of a plane, have the round-off of that size.
  double from_b[3];
  sap_v3_sub(from_b, s->x0, s->centre[1]);
  c.found = sap_most(1e-6 * s->depth,
                     1e-13 * c.size + 1e-15 * (sap_v3_norm(s->x0) + sap_v3_norm(from_b)));
  const double outside = s->alpha == 0.0 ? -2.0 : s->beta == 0.0 ? 2.0 : 0.0;
  double last[2] = {0.0, sap_patch_keeps_walls(s) ? 0.0 : outside * s->depth};
  double reach = sqrt(c.size * s->depth);
  c.last = last;
  c.reach = &reach;
  set_frame(&c);
  move_inside(&c);
  return add_slices(&c);
}
