// SPDX-License-Identifier: BSD-3-Clause
// From manifolds to contacts: materials, points, frames, identities.
#include <string.h>

#include "geometry/collision_data.h"

sap_status sap_collision_pair_rule(const sap_collision* c, int32_t a, int32_t b,
                                   sap_pair_rule* rule, sap_error* error) {
  const sap_pair_def* pair =
      sap_filter_find_pair(c->model, &c->shapes[a].filter, &c->shapes[b].filter);
  if (pair != NULL) {
    *rule = (sap_pair_rule){pair->material, pair->condim};
    return SAP_STATUS_OK;
  }
  const sap_shape_def *shape_a = &c->model->shapes[a], *shape_b = &c->model->shapes[b];
  const sap_status status =
      sap_material_combine(&shape_a->material, &shape_b->material, c->model->options.friction_rule,
                           &rule->material, error);
  rule->condim = shape_a->condim > shape_b->condim ? shape_a->condim : shape_b->condim;
  if (shape_a->priority != shape_b->priority) {
    const sap_shape_def* ruler = shape_a->priority > shape_b->priority ? shape_a : shape_b;
    rule->condim = ruler->condim;
    rule->material.friction = ruler->material.friction;
  }
  return status;
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

sap_status sap_collision_add_manifold(sap_collision* c, const sap_collision_query* at,
                                      uint64_t pair, const sap_manifold* manifold, int32_t* cursor,
                                      sap_error* error) {
  const int32_t a = (int32_t)(pair >> 32), b = (int32_t)(pair & UINT32_MAX);
  const int32_t next = 1 - c->last, first = c->contact_count;
  const int32_t needed = first <= INT32_MAX - manifold->count ? first + manifold->count : -1;
  sap_pair_rule rule;
  sap_status status = sap_collision_pair_rule(c, a, b, &rule, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&c->contacts, &c->contact_capacity, needed, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&c->identities[next], &c->identity_capacity[next], needed, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_placed_shape *shape_a = &c->shapes[a].placed, *shape_b = &c->shapes[b].placed;
  const double share =
      share_of_A(c->model->shapes[a].material.stiffness, c->model->shapes[b].material.stiffness);
  sap_contact contact = {.body_A = c->model->shapes[a].body,
                         .body_B = c->model->shapes[b].body,
                         .shape_A = a,
                         .shape_B = b,
                         .material = rule.material,
                         .condim = rule.condim};
  sap_identity* points = c->identities[next] + first;
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
    contact.phi = point->phi;
    if (i == 0 || memcmp(point->n, contact.R_WC + 6, sizeof point->n) != 0) {
      sap_m3_from_normal(contact.R_WC, point->n);
    }
    sap_v3_add(contact.point, shape_a->p, point->p);
    sap_v3_add_scaled(contact.point, point->n, share * point->phi);
    c->contacts[first + i] = contact;
    points[i].pair = pair;
    points[i].friction = contact.condim == 1 ? 0.0 : contact.material.friction;
    points[i].relaxation_time = contact.material.relaxation_time;
    sap_m3_tmul_v3(points[i].n, at->R_WB + 9 * contact.body_A, point->n);
    to_body(at, contact.body_A, contact.point, points[i].p_A);
    to_body(at, contact.body_B, contact.point, points[i].p_B);
  }
  const int32_t old_count = last_points(c, pair, cursor);
  sap_identity_match(old_count > 0 ? c->identities[c->last] + *cursor : NULL, old_count,
                     sap_least(shape_a->bound, shape_b->bound), points, manifold->count);
  sort_by_feature(c->contacts + first, points, manifold->count);
  c->contact_count += manifold->count;
  return SAP_STATUS_OK;
}
