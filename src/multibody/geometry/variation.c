// SPDX-License-Identifier: BSD-3-Clause
// With A's share s of the gap, rest distance r0, feet x and y on A and B, y - x = (phi + r0) n:
//   p = x + (r0/2 + s phi) n,  dphi = n . d(way)
//   plane A, point or round end of radius r of B about c = y + r n:
//     dn = 0,  dp = (1 - n n') dc + s n n' dc,  dc = way + rotation x (c - p)
//   point or round end of A about c = x - r n, plane B:
//     dn = rotation x n,  dp = (r + r0/2 + s phi) dn + s dphi n
//   spheres about c_A, c_B, L = |c_B - c_A|:
//     dn = (1 - n n') dc_B/L,  dp = (r_A + r0/2 + s phi) dn + s dphi n
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

// dn and dp of a relative motion in closed form.
static void vary_exactly(const placed_contact* of, const double turn[3], const double way[3],
                         double dn[3], double dp[3]) {
  const double* n = of->contact->R_WC + 6;
  double x[3], dc[3];
  sap_v3_scale(x, n, of->contact->phi + of->rest - of->lift + of->b->radius);
  sap_v3_cross(dc, turn, x);
  sap_v3_add(dc, dc, way);
  if (of->a->type == SAP_SHAPE_PLANE) {
    sap_v3_set(dn, 0.0, 0.0, 0.0);
    sap_v3_copy(dp, dc);
    sap_v3_add_scaled(dp, n, (of->share - 1.0) * sap_v3_dot(n, dc));
    return;
  }
  if (of->b->type == SAP_SHAPE_PLANE) {
    sap_v3_cross(dn, turn, n);
  } else {
    sap_v3_sub(x, of->b->p, of->a->p);
    sap_v3_add_scaled(dc, n, -sap_v3_dot(n, dc));
    sap_v3_scale(dn, dc, 1.0 / sap_v3_norm(x));
  }
  sap_v3_scale(dp, dn, of->a->radius + of->lift);
  sap_v3_add_scaled(dp, n, of->share * sap_v3_dot(n, way));
}

static bool has_points(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_SPHERE || shape->type == SAP_SHAPE_CAPSULE ||
         shape->type == SAP_SHAPE_BOX || shape->type == SAP_SHAPE_MESH;
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
                         double n[3], double p[3]) {
  double least = most * most;
  bool found = false;
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
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
    double n[2][3], p[2][3], width = 0.0;
    const double step = k < 3 ? STEP : STEP * size;
    for (int side = 0; side < 2; ++side) {
      if (find_nearest(of, &moved->at[2 * k + side], FAR * STEP * size, n[side], p[side])) {
        width += step;
      } else {
        sap_v3_copy(n[side], of->contact->R_WC + 6);
        sap_v3_copy(p[side], of->contact->point);
      }
    }
    if (!(width > 0.0)) {
      return false;
    }
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
  out->exact = (a.type == SAP_SHAPE_PLANE && has_points(&b)) ||
               (b.type == SAP_SHAPE_PLANE && has_points(&a)) ||
               (a.type == SAP_SHAPE_SPHERE && b.type == SAP_SHAPE_SPHERE);
  if (!out->exact && !vary_by_differences(&of, moved, out)) {
    memset(out, 0, sizeof *out);  // held where the bodies turn on their way
    return sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
           sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0;
  }
  for (int k = 0; k < 6 && out->exact; ++k) {
    double turn[3] = {0.0}, way[3] = {0.0};
    (k < 3 ? turn : way)[k % 3] = 1.0;
    vary_exactly(&of, turn, way, out->normal + 3 * k, out->point + 3 * k);
  }
  return true;
}
