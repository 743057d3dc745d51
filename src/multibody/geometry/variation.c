// SPDX-License-Identifier: BSD-3-Clause
// With A's share s of the gap, rest distance r0, feet x and y on A and B, radii r of round shapes:
//   p = x + (r0/2 + s phi) n,  c_B - c_A = D n,  c_A = x - r_A n,  c_B = y + r_B n
// A foot is free to move along a line or within a face of its shape, by d z on A and -d z on B:
//   dc_B = D dn + dD n + sum d z,  dc_B = way + rotation x (c_B - p)
//   dp = (r_A + r0/2 + s phi) dn + s dD n + sum d z of A
// n turns with a face that it is normal to; else it is normal to a line of each, or follows
// c_B - c_A.
#include "multibody/geometry/collision.h"

#include <string.h>

#include "math/quaternion.h"
#include "multibody/geometry/collision_data.h"

// Size of the motions for differences [rad], relative to the smaller shape [m].
static const double STEP = 1e-6;
// Points of a manifold that move by more than this many motions are others.
static const double FAR = 1e3;

// A contact and where its surfaces are.
typedef struct placed_contact {
  const sap_contact* contact;
  const sap_placed_shape *a, *b;
  double rest, share, reach;
  double lift;  // of the point over x along n
} placed_contact;

// How a foot may move on its shape; flat: within a face with the normal +-n; else line: an edge or
// axis to which n is normal, or NULL.
typedef struct free_foot {
  int dims;
  double d[3][3];
  bool flat;
  const double* line;
} free_foot;

// Finds it for a foot; c: of a round shape, its centre. on_plane: the other shape is a plane.
// Returns false if it is not known.
static bool find_foot(const sap_placed_shape* shape, bool on_plane, const double c[3],
                      const double n[3], free_foot* out) {
  static const double same_point = 1e-8, same_axis = 1e-9;  // the first relative to the size
  const bool box = shape->type == SAP_SHAPE_BOX, capsule = shape->type == SAP_SHAPE_CAPSULE;
  double x[3], local[3], axis[3];
  *out = (free_foot){.flat = shape->type == SAP_SHAPE_PLANE};
  if (shape->type == SAP_SHAPE_SPHERE ||
      (on_plane && (box || capsule || shape->type == SAP_SHAPE_MESH))) {
    return true;
  }
  sap_v3_sub(x, c, shape->p);
  sap_m3_tmul_v3(local, shape->R, x);
  sap_m3_tmul_v3(axis, shape->R, n);
  for (int i = 0; i < 3; ++i) {
    const double half = box ? shape->size[i] : i == 2 ? shape->size[1] : 0.0;  // of a capsule
    const bool at_end = fabs(fabs(local[i]) - half) <= same_point * shape->bound;
    if (shape->type == SAP_SHAPE_PLANE ? i < 2 : !at_end) {
      sap_v3_copy(out->d[out->dims++], shape->R + 3 * i);
    } else if (box && fabs(axis[(i + 1) % 3]) < same_axis && fabs(axis[(i + 2) % 3]) < same_axis) {
      out->flat = true;
    }
    if ((box || (capsule && i == 2)) && fabs(axis[i]) < same_axis) {
      out->line = shape->R + 3 * i;
    }
  }
  return capsule || box || shape->type == SAP_SHAPE_PLANE;
}

// Directions in which the feet move, those of A first, and the lines.
typedef struct free_feet {
  double d[2][3];
  int of_a, dims;
  bool flat_a, flat_b;
  const double *line_a, *line_b;
} free_feet;

// Returns false if there is no closed form.
static bool find_feet(const placed_contact* of, free_feet* out) {
  const sap_placed_shape *a = of->a, *b = of->b;
  const double *R = of->contact->R_WC, *n = R + 6;
  double c[3];
  free_foot on_a, on_b;
  sap_v3_copy(c, of->contact->point);
  sap_v3_add_scaled(c, n, -of->lift - a->radius);
  const bool known = find_foot(a, b->type == SAP_SHAPE_PLANE, c, n, &on_a);
  sap_v3_copy(c, of->contact->point);
  sap_v3_add_scaled(c, n, of->contact->phi + of->rest - of->lift + b->radius);
  if (!known || !find_foot(b, a->type == SAP_SHAPE_PLANE, c, n, &on_b)) {
    return false;
  }
  const bool flat = on_a.flat || on_b.flat;
  *out = (free_feet){.of_a = on_a.dims,
                     .dims = on_a.dims + on_b.dims,
                     .flat_a = on_a.flat,
                     .flat_b = on_b.flat && !on_a.flat,
                     .line_a = on_a.line,
                     .line_b = on_b.line};
  if (out->dims > 2 || (flat && out->dims < 2) ||
      (!flat && out->dims == 2 && (on_a.line == NULL || on_b.line == NULL))) {
    return false;
  }
  for (int i = 0; i < out->dims; ++i) {
    sap_v3_copy(out->d[i], i < on_a.dims ? on_a.d[i] : on_b.d[i - on_a.dims]);
  }
  if (out->dims == 1) {
    sap_v3_cross(out->d[1], n, out->d[0]);
  } else if (out->dims == 0) {
    memcpy(out->d, R, sizeof out->d);
  }
  sap_v3_cross(c, out->d[0], out->d[1]);
  return fabs(sap_v3_dot(n, c)) > 1e-3;  // the feet would move far
}

// dn of a relative motion, in which c_B moves by dc.
static void turn_normal(const placed_contact* of, const free_feet* feet, const double turn[3],
                        const double dc[3], double dn[3]) {
  const double *n = of->contact->R_WC + 6, *d = feet->d[0];
  double x[3], e[3];
  sap_v3_set(dn, 0.0, 0.0, 0.0);
  if (feet->flat_b) {
    sap_v3_cross(dn, turn, n);
  } else if (!feet->flat_a && feet->dims == 2) {
    sap_v3_cross(x, turn, feet->line_b);
    sap_v3_cross(e, n, feet->line_a);
    sap_v3_add_scaled(dn, e, -sap_v3_dot(n, x) / sap_v3_dot(e, feet->line_b));
  } else if (!feet->flat_a) {
    const double D = of->contact->phi + of->rest + of->a->radius + of->b->radius;
    sap_v3_add_scaled(dn, dc, 1.0 / D);
    sap_v3_add_scaled(dn, n, -sap_v3_dot(n, dn));
    if (feet->dims == 1) {
      sap_v3_cross(x, turn, d);
      const double along = feet->of_a == 1 ? 0.0 : -sap_v3_dot(n, x);
      sap_v3_add_scaled(dn, d, along - sap_v3_dot(dn, d));
    }
  }
}

// Sets dn and dp of a relative motion; returns d phi.
static double vary_exactly(const placed_contact* of, const free_feet* feet, const double turn[3],
                           const double way[3], double dn[3], double dp[3]) {
  const double* n = of->contact->R_WC + 6;
  const double D = of->contact->phi + of->rest + of->a->radius + of->b->radius;
  double x[3], dc[3], across[3];
  sap_v3_scale(x, n, D - of->a->radius - of->lift);
  sap_v3_cross(dc, turn, x);
  sap_v3_add(dc, dc, way);
  turn_normal(of, feet, turn, dc, dn);
  sap_v3_add_scaled(dc, dn, -D);
  sap_v3_cross(across, feet->d[0], feet->d[1]);
  const double per = 1.0 / sap_v3_dot(n, across), gap = per * sap_v3_dot(across, dc);
  sap_v3_scale(dp, dn, of->a->radius + of->lift);
  sap_v3_add_scaled(dp, n, of->share * gap);
  for (int i = 0; i < feet->of_a; ++i) {
    sap_v3_cross(x, feet->d[1 - i], n);
    sap_v3_add_scaled(dp, feet->d[i], (i == 0 ? per : -per) * sap_v3_dot(x, dc));
  }
  return gap;
}

// Collides with B turned about its centre and moved, unless that has been done for this pair.
static void collide_moved(const placed_contact* of, double size, sap_moved_pair* moved) {
  double key[SAP_MOVED_KEY] = {of->contact->shape_A, of->contact->shape_B, of->reach};
  sap_v3_copy(key + 3, of->a->p);
  sap_v3_copy(key + 6, of->b->p);
  memcpy(key + 9, of->a->R, sizeof of->a->R);
  memcpy(key + 18, of->b->R, sizeof of->b->R);
  if (memcmp(moved->key, key, sizeof key) == 0) {
    return;
  }
  memcpy(moved->key, key, sizeof key);
  for (int k = 0; k < 12; ++k) {
    sap_placed_shape b = *of->b;
    double turn[3] = {0.0}, q[4], R[9];
    const double side = k % 2 == 0 ? -STEP : STEP;
    if (k < 6) {
      turn[k / 2] = side;
      sap_quaternion_exp(q, turn);
      sap_quaternion_to_matrix(R, q);
      sap_m3_mul(b.R, R, of->b->R);
    } else {
      b.p[k / 2 - 3] += side * size;
    }
    sap_collide(of->a, &b, of->reach, &moved->at[k]);
  }
}

// Finds the point of a manifold nearest to the contact's. Returns false if there is none near.
static bool find_nearest(const placed_contact* of, const sap_manifold* manifold, double most,
                         double n[3], double p[3], double* phi) {
  double least = most * most;
  bool found = false;
  SAP_EACH(const sap_manifold_point, point, manifold->points, manifold->count) {
    double x[3], d[3];
    sap_v3_add(x, of->a->p, point->p);
    sap_v3_add_scaled(x, point->n, 0.5 * of->rest + of->share * (point->phi - of->rest));
    sap_v3_sub(d, x, of->contact->point);
    const double distance = sap_v3_dot(d, d);
    if (distance < least) {
      least = distance;
      found = true;
      sap_v3_copy(n, point->n);
      sap_v3_copy(p, x);
      *phi = point->phi - of->rest;
    }
  }
  return found;
}

// A turn about the contact is one about the centre of B, r from it, with the way turn x r.
// One-sided where the point is not chosen on the other side.
static bool vary_by_differences(const placed_contact* of, sap_moved_pair* moved,
                                sap_contact_variation* out) {
  const double size = sap_least(of->a->bound, of->b->bound);
  double r[3];
  collide_moved(of, size, moved);
  for (int k = 0; k < 6; ++k) {
    double n[2][3], p[2][3], phi[2], width = 0.0;
    const double step = k < 3 ? STEP : STEP * size;
    for (int side = 0; side < 2; ++side) {
      if (find_nearest(of, &moved->at[2 * k + side], FAR * STEP * size, n[side], p[side],
                       &phi[side])) {
        width += step;
      } else {
        phi[side] = of->contact->phi;
        sap_v3_copy(n[side], of->contact->R_WC + 6);
        sap_v3_copy(p[side], of->contact->point);
      }
    }
    if (!(width > 0.0)) {
      return false;
    }
    out->gap[k] = (phi[1] - phi[0]) / width;
    for (int i = 0; i < 3; ++i) {
      out->normal[3 * k + i] = (n[1][i] - n[0][i]) / width;
      out->point[3 * k + i] = (p[1][i] - p[0][i]) / width;
    }
  }
  sap_v3_sub(r, of->b->p, of->contact->point);
  for (int k = 0; k < 3; ++k) {
    double e[3] = {0.0}, way[3];
    e[k] = 1.0;
    sap_v3_cross(way, e, r);
    out->gap[k] += sap_v3_dot(out->gap + 3, way);
    for (int i = 0; i < 3; ++i) {
      sap_v3_add_scaled(out->normal + 3 * k, out->normal + 9 + 3 * i, way[i]);
      sap_v3_add_scaled(out->point + 3 * k, out->point + 9 + 3 * i, way[i]);
    }
  }
  return true;
}

bool sap_collision_vary(const sap_collision* c, const sap_contact* contact, const double* p_WB,
                        const double* R_WB, sap_moved_pair* moved, sap_contact_variation* out) {
  const uint64_t pair = (uint64_t)contact->shape_A << 32 | (uint64_t)contact->shape_B;
  const sap_shape_def* shapes = c->model->shapes;
  sap_placed_shape a = c->shapes[contact->shape_A].placed;
  sap_placed_shape b = c->shapes[contact->shape_B].placed;
  sap_collision_place(&c->shapes[contact->shape_A], p_WB, R_WB, &a);
  sap_collision_place(&c->shapes[contact->shape_B], p_WB, R_WB, &b);
  sap_v3_add(a.p, a.p, contact->ahead_A);  // where the surfaces meet
  sap_v3_add(b.p, b.p, contact->ahead_B);
  placed_contact of = {
      .contact = contact,
      .a = &a,
      .b = &b,
      .rest = sap_collision_near_pair(c, pair).rest,
      .share = sap_collision_share_of_A(shapes[contact->shape_A].material.stiffness,
                                        shapes[contact->shape_B].material.stiffness)};
  of.lift = 0.5 * of.rest + of.share * contact->phi;
  of.reach = sap_most(0.0, contact->phi + of.rest) + sap_least(of.a->bound, of.b->bound);
  free_feet feet;
  out->exact = find_feet(&of, &feet);
  if (!out->exact && !vary_by_differences(&of, moved, out)) {
    memset(out, 0, sizeof *out);  // held where the bodies turn on their way
    sap_v3_copy(out->gap + 3, contact->R_WC + 6);
    return sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
           sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0;
  }
  for (int k = 0; k < 6 && out->exact; ++k) {
    double turn[3] = {0.0}, way[3] = {0.0};
    (k < 3 ? turn : way)[k % 3] = 1.0;
    out->gap[k] = vary_exactly(&of, &feet, turn, way, out->normal + 3 * k, out->point + 3 * k);
  }
  return true;
}
