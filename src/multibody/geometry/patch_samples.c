// SPDX-License-Identifier: BSD-3-Clause
// Contact surface of two curved shapes, by samples over the contact plane
//   x = x0 + u e1 + w e2 + z N
// For each (u, w) the surface is at the z where alpha d_A = beta d_B. There
//   p(u, w) ~ max over z of min(alpha d_A, beta d_B)
// p is concave, as both depths are, so that its zeros are found by Newton's method from outside. A
// rigid shape is one with a partner of a tiny weight. Where rims of cylinders enter the other shape
// the border has corners.
#include "multibody/geometry/patch_fan.h"

#include "math/scalar.h"

enum { NEWTON_Z = 12, COLUMN = 60, SECTIONS = 30 };
// Slope of w_A d_A - w_B d_B along z above which Newton's method is tried; of a depth below which
// its side is parallel to N.
static const double STEEP = 1e-3, FLAT = 1e-9;

typedef struct columns {
  sap_fan fan;       // first
  double weight[2];  // of d_A and d_B
  double found;      // way by which a point on the surface may miss it [m]
  double last;       // z of the last column
} columns;

// A side of the top of min(w_A d_A, w_B d_B) along N, by the lesser one there.
typedef struct bound {
  double z, f, fall;  // z infinite: unknown; fall = -df/dz
  double m[3];        // -grad f
} bound;

static void set_bound(double z, double weight, const sap_fan_spot* at, int of, double fall,
                      bound* b) {
  *b = (bound){.z = z, .f = weight * at->at[of].d, .fall = weight * fall};
  sap_v3_scale(b->m, at->at[of].m, weight);
}

// Moves x along N to where w_A d_A = w_B d_B, from the last one, by Newton's method: true, at the
// way `over` from x. Else near to the top of min(w_A d_A, w_B d_B). b: both sides there. Where a side
// is parallel to N its depth is constant, and the top may be a plateau.
static bool climb(columns* c, sap_fan_spot* at, double* over, bound b[2]) {
  const double *N = c->fan.s->N, *m_A = at->at[0].m, *m_B = at->at[1].m, *w = c->weight;
  double wide = c->fan.s->depth, z = c->last, base[3];
  sap_v3_copy(base, at->x);
  *over = 0.0;
  b[0] = (bound){.z = -HUGE_VAL};
  b[1] = (bound){.z = HUGE_VAL};
  for (int k = 0; k < COLUMN && b[1].z - b[0].z > c->found; ++k) {
    sap_v3_copy(at->x, base);
    sap_v3_add_scaled(at->x, N, z);
    sap_patch_find_depth_at(c->fan.s, 0, at->x, &at->at[0]);
    sap_patch_find_depth_at(c->fan.s, 1, at->x, &at->at[1]);
    const double h = w[0] * at->at[0].d - w[1] * at->at[1].d;
    const double fall[2] = {sap_v3_dot(m_A, N), sap_v3_dot(m_B, N)};
    const double steep = w[0] * fall[0] - w[1] * fall[1];
    const int least = h > 0.0;
    const double next = steep > STEEP ? z + h / steep : HUGE_VAL;
    if (fabs(next - z) <= c->found) {
      set_bound(z, w[1], at, 1, fall[1], &b[0]);
      set_bound(z, w[0], at, 0, fall[0], &b[1]);
      *over = next - z;
      c->last = next;
      return true;
    }
    if (steep > STEEP && k < NEWTON_Z) {
      z = next;
      continue;
    }
    if (fabs(fall[least]) < FLAT && k < NEWTON_Z) {  // to where the other one falls below that
      z += h > 0.0 ? wide : -wide;
      wide *= 2.0;
      continue;
    }
    set_bound(z, w[least], at, least, fall[least], &b[fall[least] > 0.0]);
    if (fabs(fall[least]) < FLAT) {
      b[fall[least] <= 0.0].z = fall[least] > 0.0 ? -HUGE_VAL : HUGE_VAL;
      break;
    }
    if (isinf(b[0].z) || isinf(b[1].z)) {
      z += isinf(b[1].z) ? wide : -wide;
      wide *= 2.0;
    } else {
      z = 0.5 * (b[0].z + b[1].z);
    }
  }
  c->last = z;
  return false;
}

// Evaluates the column at c + t way. The slope of p along the way is the mean of those of both
// sides of the top that is 0 along N.
static void evaluate(columns* c, const double way[2], double t, sap_fan_spot* at, double* slope) {
  const sap_patch_surface* s = c->fan.s;
  bound b[2];
  double dir[3], over;
  sap_v3_scale(dir, c->fan.e[0], way[0]);
  sap_v3_add_scaled(dir, c->fan.e[1], way[1]);
  sap_v3_copy(at->x, s->x0);
  sap_v3_add_scaled(at->x, c->fan.e[0], c->fan.c[0]);
  sap_v3_add_scaled(at->x, c->fan.e[1], c->fan.c[1]);
  sap_v3_add_scaled(at->x, dir, t);
  const bool equal = climb(c, at, &over, b);
  sap_v3_add_scaled(at->x, s->N, over);
  const bool known[2] = {!isinf(b[0].z), !isinf(b[1].z)};
  const bool both = known[0] && known[1];
  const double share = both ? b[1].fall / (b[1].fall - b[0].fall) : known[0] ? 1.0 : 0.0;
  const double scale = s->series / (c->weight[0] * c->weight[1]);
  at->p = scale * b[known[0] ? 0 : 1].f;
  if (equal) {
    at->p = s->series * (at->at[0].d + at->at[1].d -
                         over * (sap_v3_dot(at->at[0].m, s->N) + sap_v3_dot(at->at[1].m, s->N)));
  } else if (both) {  // where the tangents meet
    at->p = scale *
            (share * (b[0].f + b[0].fall * b[0].z) + (1.0 - share) * (b[1].f + b[1].fall * b[1].z));
  }
  *slope = -scale * (share * sap_v3_dot(b[0].m, dir) + (1.0 - share) * sap_v3_dot(b[1].m, dir));
}

static void find_spot(sap_fan* fan, const double way[2], double t, sap_fan_spot* out) {
  const sap_patch_surface* s = fan->s;
  double n[3], slope;
  evaluate((columns*)fan, way, t, out, &slope);
  sap_v3_scale(n, out->at[0].m, s->alpha);
  sap_v3_add_scaled(n, out->at[1].m, -s->beta);
  out->slant = sap_v3_norm(n) / sap_v3_dot(n, s->N);
}

static double measure(sap_fan* fan, const double way[2], double t, double* slope) {
  sap_fan_spot at;
  evaluate((columns*)fan, way, t, &at, slope);
  return at.p;
}

// Moves c from x0, which may lie on the border, to the middle of a chord towards the centre of the
// shape on whose border it is.
static void move_inside(columns* c) {
  static const double here[2] = {0.0, 0.0};
  const sap_patch_surface* s = c->fan.s;
  sap_fan_spot at;
  double to[3];
  find_spot(&c->fan, here, 0.0, &at);
  sap_v3_sub(to, s->centre[at.at[1].d < at.at[0].d], at.x);
  const double way[2] = {sap_v3_dot(to, c->fan.e[0]), sap_v3_dot(to, c->fan.e[1])};
  if (hypot(way[0], way[1]) > c->found) {
    const double t = 0.5 * sap_fan_leave(&c->fan, way);
    c->fan.c[0] = t * way[0];
    c->fan.c[1] = t * way[1];
  }
}

// The rim of a cylinder, in the other shape's field.
typedef struct rim {
  const sap_patch_surface* s;
  int side;
  double height;
} rim;

static double find_rim(const rim* r, double angle, double x[3]) {
  const sap_placed_shape* shape = r->s->shape[r->side];
  const double local[3] = {shape->size[0] * cos(angle), shape->size[0] * sin(angle), r->height};
  sap_patch_depth at;
  sap_m3_mul_v3(x, shape->R, local);
  sap_v3_add(x, x, r->s->centre[r->side]);
  sap_patch_find_depth_at(r->s, 1 - r->side, x, &at);
  return at.d;
}

// Adds the corner between two angles, the second one inside. Illinois.
static void add_corner(columns* c, const rim* r, double out, double in) {
  double t[2] = {out, in}, x[3];
  double g[2] = {find_rim(r, out, x), find_rim(r, in, x)};
  int last = -1;
  for (int k = 0; k < COLUMN && g[0] < 0.0 && fabs(t[1] - t[0]) > 1e-14; ++k) {
    const double middle = (t[0] * g[1] - t[1] * g[0]) / (g[1] - g[0]), at = find_rim(r, middle, x);
    const int end = at > 0.0;
    t[end] = middle;
    g[end] = at;
    g[1 - end] *= last == end ? 0.5 : 1.0;
    last = end;
  }
  if (g[0] <= 0.0) {
    sap_fan_add_corner(&c->fan, c->fan.s->x0, x);
  }
}

// Adds the corners that the patch has where a rim enters the other shape: about the angle of the
// most depth, by golden section from that of x0.
static void add_rim(columns* c, const rim* r) {
  static const double GOLDEN = 0.6180339887498949;
  const sap_placed_shape* shape = r->s->shape[r->side];
  double x[3], local[3];
  sap_v3_sub(x, r->s->x0, r->s->centre[r->side]);
  sap_m3_tmul_v3(local, shape->R, x);
  const double middle = atan2(local[1], local[0]);
  double low = middle - 0.5 * SAP_PI, high = middle + 0.5 * SAP_PI, top = middle;
  for (int k = 0; k < SECTIONS && !(find_rim(r, top, x) > 0.0); ++k) {
    const double a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low);
    const bool left = find_rim(r, a, x) > find_rim(r, b, x);
    *(left ? &high : &low) = left ? b : a;
    top = left ? a : b;
  }
  if (find_rim(r, top, x) > 0.0) {
    add_corner(c, r, top - SAP_PI, top);
    add_corner(c, r, top + SAP_PI, top);
  }
}

bool sap_patch_add_samples(sap_patch_surface* s) {
  static const double SOFT = 1e-12;  // weight of a rigid shape's partner
  const double size = 2.0 * sap_least(s->shape[0]->bound, s->shape[1]->bound);
  columns c = {.fan = {.s = s, .find_spot = find_spot, .measure = measure},
               .weight = {sap_most(s->alpha, SOFT), sap_most(s->beta, SOFT)}};
  // Depths below a large shape have the round-off of that size.
  double from_b[3];
  sap_v3_sub(from_b, s->x0, s->centre[1]);
  c.found =
      sap_most(1e-6 * s->depth, 1e-13 * size + 1e-15 * (sap_v3_norm(s->x0) + sap_v3_norm(from_b)));
  c.fan.reach = sqrt(size * s->depth);
  s->coarse = 0;
  sap_fan_set_axes(&c.fan, s->N);
  move_inside(&c);
  for (int k = 0; k < 4; ++k) {
    const sap_placed_shape* shape = s->shape[k / 2];
    if (shape->type == SAP_SHAPE_CYLINDER) {
      add_rim(&c, &(rim){s, k / 2, k % 2 == 0 ? shape->size[1] : -shape->size[1]});
    }
  }
  return sap_fan_add(&c.fan) && s->npieces > 0;
}
