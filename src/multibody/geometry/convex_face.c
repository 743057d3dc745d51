// SPDX-License-Identifier: BSD-3-Clause
// Least overlap along a normal of a polytope's face, without GJK and EPA: the face whose f (see
// convex.h) is least, and a proof that no other direction has less.
//
// Let P be the polytope, m the outward normal of the face m . x <= d, and y the point of the other
// core that lies deepest under it, with the overlap f = d - m . y.
//   f >= 0: the ball of radius f about y lies in P when all faces are at least f away from y. So
//           every direction has at least this overlap.
//   f < 0:  the foot of y on the face's plane lies in P when no face leaves it outside. So the two
//           are not farther apart than -f, and along m not nearer.
// Resting and colliding bodies mostly have their vertices over the other's faces.
//
// Every point of the other core bounds the f of all faces from below, by how deep it lies under
// them. Few vertices are the deepest under most faces: of those found before, one mostly shows that
// a face is not the least, without a search for its own.
#include "multibody/geometry/convex.h"

enum { KNOWN_POINTS = 8 };

// What "lies in" may be off by, of the pair's size: the depth is then off by no more.
static const double tolerance = 1e-10;
// Of two faces that are equal but for this much, of the pair's size, A's counts.
static const double tie = 1e-9;

// The other core seen from the polytope's centre.
typedef struct view {
  const sap_placed_shape *polytope, *other;
  int32_t* hint;  // of the other
  double q[3];    // the other's centre, in the polytope's axes
  double inner;   // radius of a ball about q that the other holds
  int32_t count, next;
  double known[KNOWN_POINTS][3];  // points of the other, in the polytope's axes   (count)
} view;

typedef struct candidate {
  int32_t face;
  double f;
  double m[3];  // outward normal, in world axes
  double y[3];  // the other's deepest point from its own centre, in world axes
} candidate;

static bool has_faces(const sap_placed_shape* s) {
  return s->type == SAP_SHAPE_BOX || s->type == SAP_SHAPE_MESH;
}

static int32_t face_count(const sap_placed_shape* s) {
  return s->type == SAP_SHAPE_BOX ? 6 : s->hull->nfaces;
}

// d - m . x of a face, for x in the polytope's axes: how deep x lies under it.
static double depth_under(const sap_placed_shape* s, int32_t face, const double x[3]) {
  if (s->type == SAP_SHAPE_BOX) {
    return s->size[face >> 1] - (face & 1 ? -x[face >> 1] : x[face >> 1]);
  }
  return s->hull->offsets[face] - sap_v3_dot(s->hull->normals + 3 * (size_t)face, x);
}

static void face_normal(const sap_placed_shape* s, int32_t face, double m[3]) {
  if (s->type == SAP_SHAPE_BOX) {
    sap_v3_scale(m, s->R + 3 * (face >> 1), face & 1 ? -1.0 : 1.0);
  } else {
    sap_m3_mul_v3(m, s->R, s->hull->normals + 3 * (size_t)face);
  }
}

static double inner_radius(const sap_placed_shape* s) {
  switch (s->type) {
    case SAP_SHAPE_CYLINDER:
      return sap_least(s->size[0], s->size[1]);
    case SAP_SHAPE_BOX:
    case SAP_SHAPE_ELLIPSOID:
      return sap_least(s->size[0], sap_least(s->size[1], s->size[2]));
    case SAP_SHAPE_MESH:
      return sap_most(0.0, s->hull->inner);
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_SPHERE:
    case SAP_SHAPE_CAPSULE:
      break;
  }
  return 0.0;
}

// Keeps the deepest point under a face; beyond the room for them, the oldest one goes.
static void keep_point(view* v, const double y[3]) {
  double x[3];
  sap_m3_tmul_v3(x, v->polytope->R, y);
  sap_v3_add(x, x, v->q);
  for (int32_t i = 0; i < v->count; ++i) {
    const double* k = v->known[i];
    if (x[0] == k[0] && x[1] == k[1] && x[2] == k[2]) {
      return;
    }
  }
  sap_v3_copy(v->known[v->next], x);
  v->count = v->count < KNOWN_POINTS ? v->count + 1 : KNOWN_POINTS;
  v->next = (v->next + 1) % KNOWN_POINTS;
}

// May a face's f be below a bound, for all that the known points say?
static bool may_be_below(const view* v, int32_t face, double bound) {
  for (int32_t i = 0; i < v->count; ++i) {
    if (depth_under(v->polytope, face, v->known[i]) >= bound) {
      return false;
    }
  }
  return true;
}

static void measure(view* v, int32_t face, candidate* out) {
  out->face = face;
  face_normal(v->polytope, face, out->m);
  const double back[3] = {-out->m[0], -out->m[1], -out->m[2]};
  sap_shape_support_from(v->other, back, v->hint, out->y);
  out->f = depth_under(v->polytope, face, v->q) - sap_v3_dot(out->m, out->y);
  keep_point(v, out->y);
}

// The face of least overlap; false when one of them has -margin or less, which is then `best`. The
// overlap is at least the inner ball's: few faces need the other's support.
static bool search(view* v, double margin, double slack, candidate* best) {
  const int32_t count = face_count(v->polytope);
  int32_t first = 0;
  double least = HUGE_VAL;
  for (int32_t i = 0; i < count; ++i) {
    const double depth = depth_under(v->polytope, i, v->q);
    first = depth < least ? i : first;
    least = depth < least ? depth : least;
  }
  measure(v, first, best);
  for (int32_t i = 0; i < count && best->f > -margin; ++i) {
    if (i != first && depth_under(v->polytope, i, v->q) + v->inner < best->f &&
        may_be_below(v, i, best->f + slack)) {
      candidate other;
      measure(v, i, &other);
      if (other.f < best->f) {
        *best = other;
      }
    }
  }
  return best->f > -margin;
}

static bool prove(const view* v, const candidate* c, double slack) {
  double x[3], y[3];
  sap_m3_tmul_v3(y, v->polytope->R, c->y);
  sap_v3_add(x, v->q, y);
  if (c->f < 0.0) {
    double m[3];
    sap_m3_tmul_v3(m, v->polytope->R, c->m);
    sap_v3_add_scaled(x, m, c->f);
  }
  const double least = sap_most(c->f, 0.0) - slack;
  const int32_t count = face_count(v->polytope);
  for (int32_t i = 0; i < count; ++i) {
    if (i != c->face && !(depth_under(v->polytope, i, x) >= least)) {
      return false;
    }
  }
  return true;
}

static view look(const sap_placed_shape* polytope, const sap_placed_shape* other,
                 const double offset[3], int32_t* hint) {
  view v = {.polytope = polytope, .other = other, .hint = hint, .inner = inner_radius(other)};
  sap_m3_tmul_v3(v.q, polytope->R, offset);
  return v;
}

sap_face_result sap_convex_by_face(const sap_convex_pair* pair, double margin, double n[3],
                                   double p[3], double* f) {
  const double ba[3] = {-pair->ab[0], -pair->ab[1], -pair->ab[2]};
  const double slack = tolerance * pair->scale;
  const bool has[2] = {has_faces(pair->a), has_faces(pair->b)};
  view views[2];
  candidate best[2];
  for (int k = 0; k < 2; ++k) {
    if (!has[k]) {
      continue;
    }
    views[k] = k == 0 ? look(pair->a, pair->b, pair->ab, &pair->hints[1])
                      : look(pair->b, pair->a, ba, &pair->hints[0]);
    if (!search(&views[k], margin, slack, &best[k])) {
      sap_v3_scale(n, best[k].m, k == 0 ? 1.0 : -1.0);
      return SAP_FACE_APART;
    }
  }
  // The lesser one first; the other is as good where it is equal.
  const int lesser = !has[0] || (has[1] && best[1].f < best[0].f - tie * pair->scale) ? 1 : 0;
  for (int turn = 0; turn < 2; ++turn) {
    const int k = turn == 0 ? lesser : 1 - lesser;
    if (!has[k] || best[k].f > best[lesser].f + slack || !prove(&views[k], &best[k], slack)) {
      continue;
    }
    *f = best[k].f;
    sap_v3_copy(p, best[k].y);
    if (k == 0) {
      sap_v3_copy(n, best[k].m);
      sap_v3_add(p, p, pair->ab);
      sap_v3_add_scaled(p, n, *f);
    } else {
      sap_v3_scale(n, best[k].m, -1.0);
    }
    return SAP_FACE_FOUND;
  }
  return SAP_FACE_UNKNOWN;
}
