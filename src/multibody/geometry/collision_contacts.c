// SPDX-License-Identifier: BSD-3-Clause
// From manifolds to contacts: materials, points, frames, identities.
#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "multibody/geometry/collision_data.h"

// What the points of a pair share: its contact pair's, or both shapes' combined.
typedef struct pair_rule {
  sap_material material;
  int32_t condim;
  double rest_distance;
  double friction[5];  // as sap_contact has it
  bool anisotropic;    // t1 is fixed in the world
} pair_rule;

// mu of the rows that condim has: sliding, spin and rolling friction, each the same in its plane.
static void spread_friction(double sliding, double torsional, double rolling, pair_rule* rule) {
  const double all[5] = {sliding, sliding, torsional, rolling, rolling};
  for (int32_t i = 0; i < 5; ++i) {
    rule->friction[i] = i < rule->condim - 1 ? all[i] : 0.0;
  }
}

static void take_pair(const sap_pair_def* pair, pair_rule* rule) {
  *rule = (pair_rule){
      .material = pair->material, .condim = pair->condim, .rest_distance = pair->rest_distance};
  spread_friction(pair->material.friction, pair->friction_torsional, pair->friction_rolling, rule);
  if (pair->friction_t2 >= 0.0 && rule->condim >= 3) {
    rule->friction[1] = pair->friction_t2;
  }
  if (pair->friction_rolling_2 >= 0.0 && rule->condim == 6) {
    rule->friction[4] = pair->friction_rolling_2;
  }
  rule->anisotropic =
      rule->friction[0] != rule->friction[1] || rule->friction[3] != rule->friction[4];
}

static sap_status find_rule(const sap_collision* c, int32_t a, int32_t b, pair_rule* rule,
                            sap_error* error) {
  const sap_pair_def* pair =
      sap_filter_find_pair(c->model, &c->shapes[a].filter, &c->shapes[b].filter);
  if (pair != NULL) {
    take_pair(pair, rule);
    return SAP_STATUS_OK;
  }
  const sap_shape_def *shape_a = &c->model->shapes[a], *shape_b = &c->model->shapes[b];
  const sap_friction_rule combine = c->model->options.friction_rule;
  SAP_TRY(sap_material_combine(&shape_a->material, &shape_b->material, combine, &rule->material,
                               error));
  rule->anisotropic = false;
  rule->rest_distance = shape_a->rest_distance + shape_b->rest_distance;
  if (shape_a->priority != shape_b->priority) {
    const sap_shape_def* ruler = shape_a->priority > shape_b->priority ? shape_a : shape_b;
    rule->condim = ruler->condim;
    rule->material.friction = ruler->material.friction;
    rule->material.static_friction = ruler->material.static_friction;
    spread_friction(ruler->material.friction, ruler->friction_torsional, ruler->friction_rolling,
                    rule);
    return SAP_STATUS_OK;
  }
  rule->condim = shape_a->condim > shape_b->condim ? shape_a->condim : shape_b->condim;
  spread_friction(
      rule->material.friction,
      sap_friction_combine(shape_a->friction_torsional, shape_b->friction_torsional, combine),
      sap_friction_combine(shape_a->friction_rolling, shape_b->friction_rolling, combine), rule);
  return SAP_STATUS_OK;
}

// t1 of anisotropic friction: the world's y, or z if the normal is nearer y, across the normal.
static void fix_tangents(double R_WC[9]) {
  const double* n = R_WC + 6;
  double axis[3] = {0.0, 0.0, 0.0};
  axis[fabs(n[1]) < 0.5 ? 1 : 2] = 1.0;
  sap_v3_add_scaled(axis, n, -sap_v3_dot(n, axis));
  sap_v3_scale(R_WC, axis, 1.0 / sap_v3_norm(axis));
  sap_v3_cross(R_WC + 3, n, R_WC);
}

// Velocity that a shape's belt adds to its surface at a point, and its turning; world's axes.
static bool belt_velocity(const sap_collision* c, const sap_collision_query* at, int32_t shape,
                          const double p_WC[3], double velocity[3], double rotation[3]) {
  const sap_shape_def* def = &c->model->shapes[shape];
  const double *v = def->surface_velocity, *w = def->surface_rotation;
  if (v[0] == 0.0 && v[1] == 0.0 && v[2] == 0.0 && w[0] == 0.0 && w[1] == 0.0 && w[2] == 0.0) {
    return false;
  }
  double R_BS[9], p_WS[3], arm[3], turned[3], in_B[3];
  sap_quaternion_to_matrix(R_BS, def->q_BS);
  sap_m3_mul_v3(in_B, R_BS, w);
  sap_m3_mul_v3(rotation, at->R_WB + 9 * def->body, in_B);
  sap_m3_mul_v3(in_B, R_BS, v);
  sap_m3_mul_v3(velocity, at->R_WB + 9 * def->body, in_B);
  sap_v3_place(p_WS, at->p_WB + 3 * def->body, at->R_WB + 9 * def->body, def->p_BS);
  sap_v3_sub(arm, p_WC, p_WS);
  sap_v3_cross(turned, rotation, arm);
  sap_v3_add(velocity, velocity, turned);
  return true;
}

// surface_velocity of a contact whose frame and point are set.
static void add_belts(const sap_collision* c, const sap_collision_query* at, sap_contact* contact) {
  sap_v3_set(contact->surface_velocity, 0.0, 0.0, 0.0);
  for (int32_t side = 0; side < 2; ++side) {
    double velocity[3], rotation[3];
    const double sign = side == 0 ? -1.0 : 1.0;
    if (belt_velocity(c, at, side == 0 ? contact->shape_A : contact->shape_B, contact->point,
                      velocity, rotation)) {
      contact->surface_velocity[0] += sign * sap_v3_dot(contact->R_WC, velocity);
      contact->surface_velocity[1] += sign * sap_v3_dot(contact->R_WC + 3, velocity);
      contact->surface_velocity[2] += sign * sap_v3_dot(contact->R_WC + 6, rotation);
    }
  }
}

// Share of the penetration that A's surface gives way: A's compliance over that of both.
static double share_of_A(double stiffness_a, double stiffness_b) {
  const double share = 1.0 / (1.0 + stiffness_a / stiffness_b);
  return isfinite(share) ? share : 0.5;  // both rigid
}

static void to_body(const sap_collision_query* at, int32_t body, const double p[3], double p_B[3]) {
  double d[3];
  sap_v3_sub(d, p, at->p_WB + 3 * body);
  sap_m3_tmul_v3(p_B, at->R_WB + 9 * body, d);
}

// The last call's points of the pair; `cursor` moves along its sorted list.
static int32_t last_points(const sap_collision* c, uint64_t pair, int32_t* cursor) {
  const sap_identity* old = c->identities[c->last];
  while (*cursor < c->last_count && old[*cursor].pair < pair) {
    ++*cursor;
  }
  int32_t count = 0;
  while (*cursor + count < c->last_count && old[*cursor + count].pair == pair) {
    ++count;
  }
  return count;
}

static void sort_by_feature(sap_contact* contacts, sap_identity* points, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    contacts[i].feature = points[i].feature;
  }
  for (int32_t i = 1; i < count; ++i) {
    for (int32_t j = i; j > 0 && contacts[j - 1].feature > contacts[j].feature; --j) {
      const sap_contact contact = contacts[j];
      const sap_identity point = points[j];
      contacts[j] = contacts[j - 1];
      points[j] = points[j - 1];
      contacts[j - 1] = contact;
      points[j - 1] = point;
    }
  }
}

sap_status sap_collision_set_contacts(sap_collision* c, const sap_contact_place* place,
                                      const sap_manifold* manifold, int32_t* cursor,
                                      sap_error* error) {
  const sap_collision_query* at = place->at;
  const uint64_t pair = place->pair;
  const int32_t a = (int32_t)(pair >> 32), b = (int32_t)(pair & UINT32_MAX);
  const int32_t next = 1 - c->last, first = place->first;
  pair_rule rule;
  SAP_TRY(find_rule(c, a, b, &rule, error));
  const sap_placed_shape *shape_a = &c->shapes[a].placed, *shape_b = &c->shapes[b].placed;
  const double share =
      share_of_A(c->model->shapes[a].material.stiffness, c->model->shapes[b].material.stiffness);
  sap_contact contact = {.body_A = c->model->shapes[a].body,
                         .body_B = c->model->shapes[b].body,
                         .shape_A = a,
                         .shape_B = b,
                         .material = rule.material,
                         .condim = rule.condim};
  memcpy(contact.friction, rule.friction, sizeof rule.friction);
  sap_identity* points = c->identities[next] + first;
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
    contact.phi = point->phi - rule.rest_distance;
    if (i == 0 || memcmp(point->n, contact.R_WC + 6, sizeof point->n) != 0) {
      sap_m3_from_normal(contact.R_WC, point->n);
      if (rule.anisotropic) {
        fix_tangents(contact.R_WC);
      }
    }
    sap_v3_add(contact.point, shape_a->p, point->p);
    sap_v3_add_scaled(contact.point, point->n, 0.5 * rule.rest_distance + share * contact.phi);
    add_belts(c, at, &contact);
    c->contacts[first + i] = contact;
    points[i].pair = pair;
    points[i].friction = fmax(contact.friction[0], contact.friction[1]);
    points[i].relaxation_time = contact.material.relaxation_time;
    sap_m3_tmul_v3(points[i].n, at->R_WB + 9 * contact.body_A, point->n);
    to_body(at, contact.body_A, contact.point, points[i].p_A);
    to_body(at, contact.body_B, contact.point, points[i].p_B);
  }
  const int32_t old_count = last_points(c, pair, cursor);
  sap_identity_match(old_count > 0 ? c->identities[c->last] + *cursor : NULL, old_count,
                     sap_least(shape_a->bound, shape_b->bound), points, manifold->count);
  sort_by_feature(c->contacts + first, points, manifold->count);
  return SAP_STATUS_OK;
}
