// SPDX-License-Identifier: BSD-3-Clause
// Convex pairs (see convex.h): overlap along the normal of a face, local minima proved to be global,
// and the search that combines them with GJK, EPA and polish.
#include "multibody/geometry/convex.h"

#include "multibody/geometry/collide.h"

// --- least overlap along a normal of a polytope's face, without GJK and EPA ---
// Finds the face with the least f and proves that no other direction has less. Let P be the
// polytope, m the outward normal of the face m . x <= d, and y the point of the other core deepest
// under it, with the overlap f = d - m . y.
//   f >= 0  the ball of radius f about y lies in P if all faces are at least f away from y; every
//           direction then has at least this overlap
//   f < 0   the foot of y on the face's plane lies in P if no face leaves it outside; the distance
//           of the two is then at most -f, and along m at least -f
// The vertices of resting and colliding bodies are mostly over the other's faces.
// Every point of the other core bounds the f of all faces from below by its depth under them. Few
// vertices are the deepest under most faces: one found before mostly proves that a face does not
// have the least f, without a search for its own deepest point.

// Beyond MOST_FACES GJK and EPA are faster, and few faces are the answer.
enum { MEMORY_POINTS = 8, MOST_FACES = 400 };

// Error of "lies in", relative to the pair's size; bounds the error of the depth.
static const double face_tolerance = 1e-10;
// A's face wins if the faces differ by less than this, relative to the pair's size.
static const double tie = 1e-9;

// The other core seen from the polytope's centre.
typedef struct view {
  const sap_placed_shape *polytope, *other;
  int32_t* hint;  // of the other
  double q[3];    // the other's centre, in the polytope's axes
  double inner;   // radius of a ball about q that the other holds
  int32_t count, next;
  double memory[MEMORY_POINTS][3];  // points of the other, in the polytope's axes   (count)
} view;

typedef struct candidate {
  int32_t face;
  double f;
  double m[3];  // outward normal, in world axes
  double y[3];  // the other's deepest point from its own centre, in world axes
} candidate;

static int32_t face_count(const sap_placed_shape* s) {
  return s->type == SAP_SHAPE_BOX ? 6 : s->type == SAP_SHAPE_MESH ? s->hull->nfaces : 0;
}

// Returns the depth d - m . x of x, in the polytope's axes, under a face.
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

// Remembers the deepest point under a face; it replaces the oldest one if the memory is full.
static void keep_point(view* v, const double y[3]) {
  double x[3];
  sap_m3_tmul_v3(x, v->polytope->R, y);
  sap_v3_add(x, x, v->q);
  for (int32_t i = 0; i < v->count; ++i) {
    const double* k = v->memory[i];
    if (x[0] == k[0] && x[1] == k[1] && x[2] == k[2]) {
      return;
    }
  }
  sap_v3_copy(v->memory[v->next], x);
  v->count = v->count < MEMORY_POINTS ? v->count + 1 : MEMORY_POINTS;
  v->next = (v->next + 1) % MEMORY_POINTS;
}

// Returns false if a remembered point proves that the f of a face is at least `bound`.
static bool may_be_below(const view* v, int32_t face, double bound) {
  for (int32_t i = 0; i < v->count; ++i) {
    if (depth_under(v->polytope, face, v->memory[i]) >= bound) {
      return false;
    }
  }
  return true;
}

static void measure_face(view* v, int32_t face, candidate* out) {
  out->face = face;
  face_normal(v->polytope, face, out->m);
  const double back[3] = {-out->m[0], -out->m[1], -out->m[2]};
  sap_shape_support_from(v->other, back, v->hint, out->y);
  out->f = depth_under(v->polytope, face, v->q) - sap_v3_dot(out->m, out->y);
  keep_point(v, out->y);
}

// Finds the face of least overlap; returns false if `best` has -margin or less. The overlap is at
// least that of the inner ball: few faces need a support of the other core.
static bool find_least_face(view* v, double margin, double slack, candidate* best) {
  const int32_t count = face_count(v->polytope);
  int32_t first = 0;
  double least = HUGE_VAL;
  for (int32_t i = 0; i < count; ++i) {
    const double depth = depth_under(v->polytope, i, v->q);
    first = depth < least ? i : first;
    least = depth < least ? depth : least;
  }
  measure_face(v, first, best);
  for (int32_t i = 0; i < count && best->f > -margin; ++i) {
    if (i != first && depth_under(v->polytope, i, v->q) + v->inner < best->f &&
        may_be_below(v, i, best->f + slack)) {
      candidate other;
      measure_face(v, i, &other);
      if (other.f < best->f) {
        *best = other;
      }
    }
  }
  return best->f > -margin;
}

// Returns true if x, in the polytope's axes, lies deeper than `depth` under all faces but one.
static bool lies_under(const sap_placed_shape* s, const double x[3], double depth, int32_t but) {
  for (int32_t i = 0; i < face_count(s); ++i) {
    if (i != but && !(depth_under(s, i, x) >= depth)) {
      return false;
    }
  }
  return true;
}

static bool is_least(const view* v, const candidate* c, double slack) {
  double x[3], y[3];
  sap_m3_tmul_v3(y, v->polytope->R, c->y);
  sap_v3_add(x, v->q, y);
  if (c->f < 0.0) {
    double m[3];
    sap_m3_tmul_v3(m, v->polytope->R, c->m);
    sap_v3_add_scaled(x, m, c->f);
  }
  return lies_under(v->polytope, x, sap_most(c->f, 0.0) - slack, c->face);
}

static view make_view(const sap_placed_shape* polytope, const sap_placed_shape* other,
                      const double offset[3], int32_t* hint) {
  view v = {.polytope = polytope,
            .other = other,
            .hint = hint,
            .inner = other->radius > 0.0 ? 0.0 : sap_most(0.0, other->inner)};
  sap_m3_tmul_v3(v.q, polytope->R, offset);
  return v;
}

sap_face_result sap_convex_by_face(const sap_convex_pair* pair, double margin, double n[3],
                                   double p[3], double* f) {
  const double ba[3] = {-pair->ab[0], -pair->ab[1], -pair->ab[2]};
  const double slack = face_tolerance * pair->scale;
  const bool has[2] = {face_count(pair->a) > 0, face_count(pair->b) > 0};
  SAP_RETURN_IF(face_count(pair->a) + face_count(pair->b) > MOST_FACES, SAP_FACE_UNKNOWN);
  view views[2];
  candidate best[2];
  for (int k = 0; k < 2; ++k) {
    if (!has[k]) {
      continue;
    }
    views[k] = k == 0 ? make_view(pair->a, pair->b, pair->ab, &pair->hints[1])
                      : make_view(pair->b, pair->a, ba, &pair->hints[0]);
    if (!find_least_face(&views[k], margin, slack, &best[k])) {
      sap_v3_scale(n, best[k].m, k == 0 ? 1.0 : -1.0);
      return SAP_FACE_APART;
    }
  }
  // The face with the lesser f first; the other one if it is equal.
  const int lesser = !has[0] || (has[1] && best[1].f < best[0].f - tie * pair->scale) ? 1 : 0;
  for (int turn = 0; turn < 2; ++turn) {
    const int k = turn == 0 ? lesser : 1 - lesser;
    if (!has[k] || best[k].f > best[lesser].f + slack || !is_least(&views[k], &best[k], slack)) {
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

// --- curved shapes without GJK and EPA: a local minimum proved to be global ---
// Let n be a local minimum of f with the point x = f n, which the support points of A and B prove to
// lie in D.
//   f <= 0  the distance is at most -f, as x is in D, and along n at least -f
//   f > 0   an ellipsoid with semi-axes e contains the ball of radius rho = min(e)^2/max(e) that
//           touches it from inside at any of its points (Blaschke), and so does D = A - B. For n' at
//           the angle t to n the ball's support is
//             h(n') >= f cos t + rho (1 - cos t) = f + (rho - f)(1 - cos t) >= f   where f <= rho

static double rolling_radius(const sap_placed_shape* s) {
  if (s->type != SAP_SHAPE_ELLIPSOID) {
    return 0.0;
  }
  const double* e = s->size;
  const double least = sap_least(e[0], sap_least(e[1], e[2]));
  return least * least / s->bound;
}

// Returns true if x, from the shape's centre, lies in its core.
static bool core_holds(const sap_placed_shape* s, const double x[3], double slack) {
  double m[3];
  sap_m3_tmul_v3(m, s->R, x);
  switch (s->type) {
    case SAP_SHAPE_CAPSULE:
      return hypot(m[0], m[1]) <= slack && fabs(m[2]) <= s->size[1] + slack;
    case SAP_SHAPE_CYLINDER:
      return hypot(m[0], m[1]) <= s->size[0] + slack && fabs(m[2]) <= s->size[1] + slack;
    case SAP_SHAPE_ELLIPSOID: {
      const double u[3] = {m[0] / s->size[0], m[1] / s->size[1], m[2] / s->size[2]};
      return sap_v3_norm(u) <= 1.0 + slack / s->bound;
    }
    case SAP_SHAPE_SPHERE:
      return sap_v3_norm(m) <= slack;
    case SAP_SHAPE_PLANE:
      return false;
    case SAP_SHAPE_BOX:
    case SAP_SHAPE_MESH:
      break;
  }
  return lies_under(s, m, -slack, -1);
}

// --- any two convex shapes ---

// Returns the sine to the plane of the nearest edge at the hull's vertex farthest along m.
static double vertex_distinctness(const sap_polytope* hull, const double m[3]) {
  int32_t vertex = 0;
  const double* x = sap_polytope_support(hull, m, &vertex);
  double least = 1.0;
  for (int32_t k = hull->neighbor_start[vertex]; k < hull->neighbor_start[vertex + 1]; ++k) {
    double edge[3];
    sap_v3_sub(edge, x, hull->vertices + 3 * (size_t)hull->neighbors[k]);
    least = sap_least(least, sap_v3_dot(edge, m) / sap_v3_norm(edge));
  }
  return least;
}

// Returns the sine to the nearest direction with more than one support point (edge or face).
static double distinctness(const sap_placed_shape* s, const double n[3]) {
  double m[3];
  sap_m3_tmul_v3(m, s->R, n);
  switch (s->type) {
    case SAP_SHAPE_CAPSULE:
      return fabs(m[2]);
    case SAP_SHAPE_CYLINDER:
      return sap_least(fabs(m[2]), hypot(m[0], m[1]));
    case SAP_SHAPE_BOX:
      return sap_least(fabs(m[0]), sap_least(fabs(m[1]), fabs(m[2])));
    case SAP_SHAPE_PLANE:
      return 0.0;
    case SAP_SHAPE_SPHERE:
    case SAP_SHAPE_ELLIPSOID:
      break;
    case SAP_SHAPE_MESH:
      return vertex_distinctness(s->hull, m);
  }
  return 1.0;
}

// Moves the witness p to where two edges cross, seen along n; returns false if that is beyond their
// ends.
static bool cross_edges(const sap_convex_pair* pair, const double n[3], double f,
                        const double edges[6], double p[3], double x[3]) {
  const double slack = face_tolerance * pair->scale;
  double across[3], w[3], on_a[3];
  sap_convex_vertex vertex;
  (void)sap_convex_support(pair, n, &vertex);
  sap_v3_cross(across, edges + 3, n);
  sap_v3_scale(w, n, f);
  sap_v3_sub(w, w, vertex.w);
  sap_v3_copy(on_a, vertex.a);
  sap_v3_add_scaled(on_a, edges, sap_v3_dot(w, across) / sap_v3_dot(edges, across));
  sap_v3_sub(x, on_a, pair->ab);
  sap_v3_add_scaled(x, n, -f);
  if (!core_holds(pair->a, on_a, slack) || !core_holds(pair->b, x, slack)) {
    return false;
  }
  sap_v3_copy(p, on_a);
  return true;
}

// Moves the witness p to the support point of the shape whose is unique, or to where the edges
// cross; returns the other's core, where the point x, from its centre, must be, or NULL.
static const sap_placed_shape* refine_witness(const sap_convex_pair* pair, const double n[3],
                                              double f, const double edges[6], double p[3],
                                              double x[3]) {
  static const double distinct = 0.01;
  const double back[3] = {-n[0], -n[1], -n[2]};
  const double of_a = distinctness(pair->a, n), of_b = distinctness(pair->b, back);
  if (!(sap_most(of_a, of_b) > distinct)) {
    const bool crossing = sap_v3_dot(edges, edges) > 0.0;
    return crossing && cross_edges(pair, n, f, edges, p, x) ? pair->b : NULL;
  }
  if (of_a >= of_b) {
    sap_shape_support(pair->a, n, p);
    sap_v3_sub(x, p, pair->ab);
    sap_v3_add_scaled(x, n, -f);
    return pair->b;
  }
  sap_shape_support(pair->b, back, p);
  sap_v3_add(p, p, pair->ab);
  sap_v3_add_scaled(p, n, f);
  sap_v3_copy(x, p);
  return pair->a;
}

// Finds n of the least overlap f near the line of centres, and p; UNKNOWN: not proved.
static sap_face_result find_local(const sap_convex_pair* pair, double margin, double n[3],
                                  double p[3], double* f) {
  const double distance = sap_v3_norm(pair->ab), slack = face_tolerance * pair->scale;
  if (sap_convex_is_polytope(pair) || !(distance > slack)) {
    return SAP_FACE_UNKNOWN;
  }
  sap_v3_scale(n, pair->ab, 1.0 / distance);
  double x[3], edges[6];
  *f = sap_convex_polish(pair, false, n, edges);
  SAP_RETURN_IF(*f <= -margin, SAP_FACE_APART);
  const sap_placed_shape* other =
      *f <= sap_most(0.0, rolling_radius(pair->a) + rolling_radius(pair->b))
          ? refine_witness(pair, n, *f, edges, p, x)
          : NULL;
  return other != NULL && core_holds(other, x, slack) ? SAP_FACE_FOUND : SAP_FACE_UNKNOWN;
}

// Finds the direction n of the least overlap f; false if they are apart by the margin along n.
static bool find_overlap(const sap_convex_pair* pair, double margin, double n[3], double p[3],
                         double* f) {
  sap_face_result found = sap_convex_by_face(pair, margin, n, p, f);
  found = found == SAP_FACE_UNKNOWN ? find_local(pair, margin, n, p, f) : found;
  if (found != SAP_FACE_UNKNOWN) {
    return found == SAP_FACE_FOUND;
  }
  double x[3], edges[6];
  sap_simplex simplex;
  bool exact = false;
  const sap_gjk_result result = sap_gjk(pair, margin, &simplex, n);
  if (result == SAP_GJK_APART) {
    return false;
  }
  if (result == SAP_GJK_NEAR) {
    sap_v3_set(p, 0.0, 0.0, 0.0);
    for (int32_t i = 0; i < simplex.count; ++i) {
      sap_v3_add_scaled(p, simplex.vertices[i].a, simplex.weights[i]);
    }
  } else {
    exact = sap_epa(pair, &simplex, n, p) && sap_convex_is_polytope(pair);
  }
  *f = sap_convex_polish(pair, exact, n, edges);
  (void)refine_witness(pair, n, *f, edges, p, x);
  return true;
}

void sap_collide_convex(const sap_placed_shape* a, const sap_placed_shape* b, const double ab[3],
                        double reach, sap_manifold* out) {
  const double radii = a->radius + b->radius;
  int32_t hints[2] = {0, 0};
  const sap_convex_pair pair = {
      .a = a, .b = b, .ab = ab, .scale = sap_least(a->bound, b->bound), .hints = hints};
  sap_manifold_point witness;
  double f = 0.0;
  if (!find_overlap(&pair, radii + reach, witness.n, witness.p, &f)) {
    sap_v3_copy(out->apart, witness.n);
    return;
  }
  witness.phi = -f - radii;
  if (!(witness.phi < reach)) {
    return;
  }
  sap_v3_add_scaled(witness.p, witness.n, a->radius);
  sap_collide_features(&(sap_facing){a, b, ab, reach}, &witness, out);
}
