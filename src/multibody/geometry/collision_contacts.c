// SPDX-License-Identifier: BSD-3-Clause
// Contacts of a call: manifolds of the pairs by jobs, features kept from call to call, materials
// and frames.
#include "multibody/geometry/collision_data.h"

#include <math.h>
#include <string.h>

#include "contact/material.h"
#include "math/quaternion.h"
#include "multibody/geometry/ahead_gap.h"
#include "multibody/geometry/collision.h"

// --- identity of contact points (see collision_data.h) ---

typedef double distance_table[SAP_MANIFOLD_POINTS][SAP_MANIFOLD_POINTS];

// Hot path: mostly the new points have different nearest old points. Returns false and sets nothing
// if they have not, or if one has none nearer than the square root of `limit2`.
static bool match_nearest(const sap_identity* old, int32_t old_count, double limit2,
                          distance_table apart2, sap_identity* points, int32_t count) {
  int32_t nearest[SAP_MANIFOLD_POINTS];
  uint32_t taken = 0;
  for (int32_t i = 0; i < count; ++i) {
    int32_t best = -1;
    double least = limit2;
    for (int32_t j = 0; j < old_count; ++j) {
      best = apart2[i][j] < least ? j : best;
      least = apart2[i][j] < least ? apart2[i][j] : least;
    }
    if (best < 0 || (taken >> best & 1U) != 0) {
      return false;
    }
    taken |= 1U << best;
    nearest[i] = best;
  }
  for (int32_t i = 0; i < count; ++i) {
    points[i].feature = old[nearest[i]].feature;
  }
  return true;
}

void sap_identity_match(const sap_identity* old, int32_t old_count, double tolerance,
                        sap_identity* points, int32_t count) {
  bool matched[SAP_MANIFOLD_POINTS] = {false}, taken[SAP_MANIFOLD_POINTS] = {false};
  const double limit2 = tolerance * tolerance;
  distance_table apart2;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < old_count; ++j) {
      double d_A[3], d_B[3];
      sap_v3_sub(d_A, points[i].p_A, old[j].p_A);
      sap_v3_sub(d_B, points[i].p_B, old[j].p_B);
      apart2[i][j] = sap_least(sap_v3_dot(d_A, d_A), sap_v3_dot(d_B, d_B));
    }
  }
  if (match_nearest(old, old_count, limit2, apart2, points, count)) {
    return;
  }
  for (int32_t match = 0; match < count && match < old_count; ++match) {
    double best = limit2;
    int32_t best_point = -1, best_old = -1;
    for (int32_t i = 0; i < count; ++i) {
      for (int32_t j = 0; j < old_count && !matched[i]; ++j) {
        if (!taken[j] && apart2[i][j] < best) {
          best = apart2[i][j];
          best_point = i;
          best_old = j;
        }
      }
    }
    if (best_point < 0) {
      break;
    }
    matched[best_point] = taken[best_old] = true;
    points[best_point].feature = old[best_old].feature;
  }
  int32_t fresh = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (matched[i]) {
      continue;
    }
    for (int32_t j = 0; j < old_count; ++j) {
      if (old[j].feature == fresh) {
        ++fresh;
        j = -1;
      }
    }
    points[i].feature = fresh++;
  }
}

// --- contacts of a pair ---

// Parameters of a pair: those of its contact pair, or of both shapes combined.
typedef struct pair_rule {
  sap_material material;
  int32_t condim;
  double rest_distance;
  double friction[5];  // as sap_contact has it
  bool anisotropic;    // t1 is fixed in the world
} pair_rule;

// Sets mu of the rows of condim: sliding, spin and rolling, isotropic.
static void spread_friction(double sliding, double torsional, double rolling, pair_rule* rule) {
  const double all[5] = {sliding, sliding, torsional, rolling, rolling};
  for (int32_t i = 0; i < 5; ++i) {
    rule->friction[i] = i < rule->condim - 1 ? all[i] : 0.0;
  }
}

static void set_pair_rule(const sap_pair_def* pair, pair_rule* rule) {
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

// of_patch: weighs times and dissipation of the shapes by their fields.
static sap_status find_rule(const sap_collision* c, int32_t a, int32_t b,
                            const sap_shape_def* const shapes[2], bool of_patch, pair_rule* rule,
                            sap_error* error) {
  const sap_pair_def* pair =
      sap_filter_find_pair(c->model, &c->shapes[a].filter, &c->shapes[b].filter);
  if (pair != NULL) {
    set_pair_rule(pair, rule);
    return SAP_STATUS_OK;
  }
  const sap_shape_def *shape_a = shapes[0], *shape_b = shapes[1];
  const sap_friction_rule combine = c->model->options.friction_rule;
  if (of_patch) {
    sap_material of_a = shape_a->material, of_b = shape_b->material;
    of_a.stiffness = sap_collision_kappa(&c->shapes[a], &c->shapes[b]);
    of_b.stiffness = sap_collision_kappa(&c->shapes[b], &c->shapes[a]);
    SAP_TRY(sap_material_combine(&of_a, &of_b, combine, &rule->material, error));
  } else {
    sap_material_mix(&shape_a->material, &shape_b->material, combine, &rule->material);
  }
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

sap_status sap_collision_change(const sap_collision* c, const sap_shape_def* changed, int32_t shape,
                                sap_contact* contact, sap_error* error) {
  const int32_t ids[2] = {contact->shape_A, contact->shape_B};
  const sap_shape_def* defs[2];
  double share[2];
  pair_rule rule;
  for (int i = 0; i < 2; ++i) {
    defs[i] = &c->model->shapes[ids[i]];
  }
  share[0] = sap_collision_share_of_A(defs[0]->material.stiffness, defs[1]->material.stiffness);
  defs[shape == ids[0] ? 0 : 1] = changed;
  share[1] = sap_collision_share_of_A(defs[0]->material.stiffness, defs[1]->material.stiffness);
  SAP_TRY(find_rule(c, ids[0], ids[1], defs, false, &rule, error));
  contact->material = rule.material;
  memcpy(contact->friction, rule.friction, sizeof rule.friction);
  sap_v3_add_scaled(contact->point, contact->R_WC + 6, (share[1] - share[0]) * contact->phi);
  return SAP_STATUS_OK;
}

// Sets t1 of anisotropic friction: the world's y, or z if the normal is nearer y, across the
// normal.
static void fix_tangents(double R_WC[9]) {
  const double* n = R_WC + 6;
  double axis[3] = {0.0, 0.0, 0.0};
  axis[fabs(n[1]) < 0.5 ? 1 : 2] = 1.0;
  sap_v3_add_scaled(axis, n, -sap_v3_dot(n, axis));
  sap_v3_scale(R_WC, axis, 1.0 / sap_v3_norm(axis));
  sap_v3_cross(R_WC + 3, n, R_WC);
}

// Computes velocity and angular velocity of a shape's belt at a point, in the world's axes; false:
// no belt.
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

// Sets surface_velocity of a contact with frame and point.
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

static void to_body(const sap_collision_query* at, int32_t body, const double p[3],
                    const double ahead[3], double p_B[3]) {
  double d[3];
  sap_v3_sub(d, p, at->p_WB + 3 * body);
  sap_v3_sub(d, d, ahead);
  sap_m3_tmul_v3(p_B, at->R_WB + 9 * body, d);
}

// Returns the pair's points of the last call, whose identities ascend by pairs; NULL: none.
static const sap_identity* find_known(const sap_collision* c, uint64_t pair, int32_t* count) {
  const sap_identity* known = c->identities[c->last];
  int32_t low = 0, high = c->last_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (known[middle].pair < pair) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (*count = 0; low + *count < c->last_count && known[low + *count].pair == pair;) {
    ++*count;
  }
  return *count > 0 ? known + low : NULL;
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

typedef struct contact_place {
  const sap_collision_query* at;
  uint64_t pair;
  int32_t first;  // of `contacts` and of the identities of this call, which have room
  double time;    // at which the manifold was found [s]
  const sap_patch_cluster* patch;  // NULL: points
} contact_place;

// Shares the ways of two moving bodies, see sap_ahead_own_ways.
static void share_ahead(const sap_collision_shape* a, const sap_collision_shape* b,
                        sap_contact* contact) {
  if (sap_collision_shape_is_static(a) || sap_collision_shape_is_static(b)) {
    return;
  }
  double half[3];
  sap_v3_sub(half, contact->ahead_B, contact->ahead_A);
  const double own =
      sap_ahead_own_ways(sap_least(a->placed.bound, b->placed.bound), sap_v3_norm(half));
  sap_v3_scale(half, half, 0.5 * (1.0 - own));
  sap_v3_add(contact->ahead_A, contact->ahead_A, half);
  sap_v3_sub(contact->ahead_B, contact->ahead_B, half);
}

// Sets `ahead` of both bodies, the thickness of the thinner shape along n, and the centre of shape
// A at the manifold's time.
static void place_ahead(const sap_collision* c, const contact_place* place, const double n[3],
                        sap_contact* contact, double p_A[3]) {
  const sap_collision_query* at = place->at;
  const sap_collision_shape *a = &c->shapes[contact->shape_A], *b = &c->shapes[contact->shape_B];
  sap_placed_shape moved[2];
  const sap_placed_shape *placed_a = &a->placed, *placed_b = &b->placed;
  if (place->time > 0.0) {
    sap_motion_place(a, at, place->time, &moved[0]);
    sap_motion_place(b, at, place->time, &moved[1]);
    placed_a = &moved[0];
    placed_b = &moved[1];
  }
  sap_v3_copy(p_A, placed_a->p);
  if (at->V_WB != NULL) {
    contact->thickness =
        sap_least(sap_shape_thickness(placed_a, n), sap_shape_thickness(placed_b, n));
  }
  if (place->time > 0.0) {
    sap_v3_scale(contact->ahead_A, at->V_WB + 6 * contact->body_A + 3, place->time);
    sap_v3_scale(contact->ahead_B, at->V_WB + 6 * contact->body_B + 3, place->time);
    share_ahead(a, b, contact);
    sap_v3_scale(contact->turn_A, at->V_WB + 6 * contact->body_A, place->time);
    sap_v3_scale(contact->turn_B, at->V_WB + 6 * contact->body_B, place->time);
  }
}

// Makes a contact one of the points of a patch.
static void set_patch_point(const sap_patch_cluster* patch, int32_t i, sap_contact* contact) {
  const double spin = patch->torsion * contact->friction[0];
  contact->material.stiffness = patch->stiffness[i];
  contact->patch = patch->points.count;
  contact->area = patch->area;
  if (spin > contact->friction[2]) {
    contact->condim = contact->condim > 4 ? contact->condim : 4;
    contact->friction[2] = spin;
  }
}

// Sets the contacts of a pair, or of one of its patches.
static sap_status set_contacts(sap_collision* c, const contact_place* place,
                               const sap_manifold* manifold, sap_error* error) {
  const sap_collision_query* at = place->at;
  const uint64_t pair = place->pair;
  const int32_t a = (int32_t)(pair >> 32), b = (int32_t)(pair & UINT32_MAX);
  const int32_t next = 1 - c->last, first = place->first;
  const sap_shape_def* const defs[2] = {&c->model->shapes[a], &c->model->shapes[b]};
  pair_rule rule;
  const sap_patch_cluster* patch = place->patch;
  SAP_TRY(find_rule(c, a, b, defs, patch != NULL, &rule, error));
  const sap_placed_shape *shape_a = &c->shapes[a].placed, *shape_b = &c->shapes[b].placed;
  const double share = patch != NULL ? 0.0
                                     : sap_collision_share_of_A(defs[0]->material.stiffness,
                                                                defs[1]->material.stiffness);
  sap_contact contact = {.body_A = c->model->shapes[a].body,
                         .body_B = c->model->shapes[b].body,
                         .shape_A = a,
                         .shape_B = b,
                         .material = rule.material,
                         .condim = rule.condim};
  memcpy(contact.friction, rule.friction, sizeof rule.friction);
  double p_A[3];
  place_ahead(c, place, manifold->points[0].n, &contact, p_A);
  sap_identity* points = c->identities[next] + first;
  for (int32_t i = 0; i < manifold->count; ++i) {
    const sap_manifold_point* point = &manifold->points[i];
    const double phi = point->phi - rule.rest_distance;
    if (i == 0 || memcmp(point->n, contact.R_WC + 6, sizeof point->n) != 0) {
      sap_m3_from_normal(contact.R_WC, point->n);
      if (rule.anisotropic) {
        fix_tangents(contact.R_WC);
      }
    }
    sap_v3_add(contact.point, p_A, point->p);
    sap_v3_add_scaled(contact.point, point->n, 0.5 * rule.rest_distance + share * phi);
    if (patch != NULL) {
      set_patch_point(patch, i, &contact);
    }
    add_belts(c, at, &contact);
    // Shapes that overlap where they part again are pushed apart by no more than that.
    const double change =
        place->time > 0.0
            ? sap_most(-place->time * sap_motion_normal_speed(at, &contact), sap_least(0.0, -phi))
            : 0.0;
    contact.law_phi = phi + change;
    contact.phi = patch == NULL       ? contact.law_phi
                  : place->time > 0.0 ? sap_most(0.0, change - c->surface->depth)
                                      : -c->surface->depth;
    contact.solutions = at->solutions;
    c->contacts[first + i] = contact;
    points[i].pair = pair;
    points[i].solutions = at->solutions;
    to_body(at, contact.body_A, contact.point, contact.ahead_A, points[i].p_A);
    to_body(at, contact.body_B, contact.point, contact.ahead_B, points[i].p_B);
  }
  int32_t old_count;
  const sap_identity* old = find_known(c, pair, &old_count);
  sap_patch_extent extent = {0.0, 0.0};
  if (patch != NULL) {
    extent = (sap_patch_extent){sap_patch_area(c->surface), c->surface->found_depth};
  }
  for (int32_t i = 0; i < manifold->count; ++i) {
    points[i].extent = extent;
    points[i].feature = patch != NULL ? patch->features[i] : 0;
  }
  if (patch != NULL) {
    // The points of a patch have numbers of their own.
  } else if (at->more) {  // beside the contacts that the pair has in this step
    for (int32_t i = 0; i < manifold->count; ++i) {
      points[i].feature = i;
      for (int32_t j = 0; j < old_count; ++j) {
        points[i].feature =
            old[j].feature >= points[i].feature ? old[j].feature + 1 + i : points[i].feature;
      }
      // Friction about a thin rod's axis spins it up, which opens the next overlap.
      if (points[i].feature > SAP_MANIFOLD_POINTS) {
        sap_contact* late = &c->contacts[first + i];
        memset(late->friction, 0, sizeof late->friction);
        late->material.friction = late->material.static_friction = 0.0;
      }
    }
  } else {
    sap_identity_match(old,
                       old_count < SAP_MANIFOLD_POINTS ? old_count : (int32_t)SAP_MANIFOLD_POINTS,
                       sap_least(shape_a->bound, shape_b->bound), points, manifold->count);
  }
  sort_by_feature(c->contacts + first, points, manifold->count);
  return SAP_STATUS_OK;
}

// --- pairs of a call ---

// Returns the slack of a pair with that relative way; fall: as in sap_ahead_slack. The motion of a
// solution leaves none.
static double slack_of(const sap_collision_shape* a, const sap_collision_shape* b,
                       const sap_collision_query* query, double way, double fall) {
  const double size = sap_least(a->placed.bound, b->placed.bound);
  return query->more ? 0.0 : sap_ahead_slack(size, way, fall);
}

static sap_pair_reach reach_of(const sap_collision* c, const sap_shape_pair* shapes,
                               const sap_collision_query* query) {
  const uint64_t pair = shapes->pair;
  const sap_collision_shape *a = &c->shapes[pair >> 32], *b = &c->shapes[pair & UINT32_MAX];
  sap_near_pair made;
  const sap_near_pair* near = &made;
  if (shapes->near >= 0) {
    near = &c->near[c->near_now][shapes->near];
  } else {
    made = sap_collision_near_pair(c, pair);
  }
  sap_pair_reach reach = {.rest = near->rest, .margin = near->margin};
  reach.way = query->V_WB != NULL ? sap_motion_bound(a, b) : 0.0;
  reach.slack = slack_of(a, b, query, reach.way, c->fall);
  reach.points = reach.rest + sap_most(reach.margin, reach.way + reach.slack);
  // Shapes that rest on each other get no more: their choice would turn with the smallest motion.
  const double held = slack_of(a, b, query, reach.way, 0.0);
  reach.held = reach.rest + sap_most(reach.margin, reach.way + held);
  return reach;
}

// Decides about a pair with points: true if it touches, or will in the motion, then at *time. Pairs
// that the motion leaves nearly touching are contacts too, as impulses change the motion: that
// saves most further solves for contacts that are found missing. A fall closes what lies below,
// and part of it what lies beside.
static bool touches(const sap_collision* c, const sap_collision_shape* a,
                    const sap_collision_shape* b, const sap_collision_query* query,
                    const sap_pair_reach* reach, sap_manifold* manifold, double* time) {
  const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
  const double gap = deepest->phi - reach->rest;
  *time = 0.0;
  sap_v3_copy(manifold->apart, deepest->n);
  if (!(gap > 0.0) || query->V_WB == NULL) {
    return true;
  }
  const double along = query->dt * query->dt * sap_v3_dot(deepest->n, c->model->options.gravity);
  sap_pair_reach near = *reach;
  near.slack = slack_of(a, b, query, reach->way, sap_most(fabs(along), SAP_AHEAD_BESIDE * c->fall));
  const bool closes = gap + sap_motion_along(a, b, deepest->n) < near.slack;
  return (closes && sap_motion_first_touch(a, b, query, &near, time, manifold)) ||
         gap < reach->margin;
}

// Drops points above `reach`, for surfaces that may sink into each other.
static void drop_shallow(double reach, sap_manifold* manifold) {
  int32_t kept = 0;
  for (int32_t i = 0; i < manifold->count; ++i) {
    if (manifold->points[i].phi < reach) {
      manifold->points[kept++] = manifold->points[i];
    }
  }
  manifold->count = kept;
}

// Keeps the distance of a near pair.
static void keep_gap(const sap_collision* c, double gap, sap_near_pair* near) {
  static const double round_off = 1e-14;  // of the travels
  const double travel = sap_collision_travel(c, &c->shapes[near->pair >> 32]) +
                        sap_collision_travel(c, &c->shapes[near->pair & UINT32_MAX]);
  near->gap = gap;
  near->clear =
      c->travels ? gap - near->rest - near->margin + (1.0 - round_off) * travel : -HUGE_VAL;
}

// Collides a pair; true if it touches, or will at *time. The gap is kept with the near pair.
static bool collide_pair(const sap_collision* c, const sap_shape_pair* of,
                         const sap_pair_reach* reach, const sap_collision_query* query,
                         sap_manifold* manifold, double* time) {
  const sap_collision_shape* a = &c->shapes[of->pair >> 32];
  const sap_collision_shape* b = &c->shapes[of->pair & UINT32_MAX];
  const double most = sap_most(reach->points, 0.0);
  sap_collide_above(&a->placed, &b->placed, sap_most(reach->rest + reach->margin, 0.0), most,
                    manifold);
  const double gap = manifold->count > 0 ? sap_manifold_deepest(manifold)->phi : most;
  const double kept = gap < reach->rest ? reach->held : reach->points;
  if (kept < most) {
    drop_shallow(kept, manifold);
  }
  const bool found = manifold->count > 0 && touches(c, a, b, query, reach, manifold, time);
  if (of->near >= 0) {
    sap_near_pair* near = &c->near[c->near_now][of->near];
    sap_v3_copy(near->along, manifold->apart);
    keep_gap(c, sap_v3_dot(near->along, near->along) > 0.0 ? gap : -HUGE_VAL, near);
  }
  return found;
}

// Collides a pair; true if it touches, or will at *time. Most pairs are apart, many along the
// direction found last.
static bool find_points(const sap_collision* c, const sap_shape_pair* of,
                        const sap_collision_query* query, sap_manifold* manifold, double* time) {
  const sap_collision_shape* a = &c->shapes[of->pair >> 32];
  const sap_collision_shape* b = &c->shapes[of->pair & UINT32_MAX];
  sap_near_pair* near = of->near >= 0 ? &c->near[c->near_now][of->near] : NULL;
  int32_t nknown;
  const bool known = query->more && find_known(c, of->pair, &nknown) != NULL;
  if (known &&
      sap_motion_stays_shallow(a, b, query, near != NULL ? near->along : a->placed.R + 6)) {
    return false;
  }
  const sap_pair_reach reach = reach_of(c, of, query);
  double gap;
  if (near != NULL && sap_collide_are_apart(&a->placed, &b->placed, sap_most(reach.points, 0.0),
                                            near->along, &gap)) {
    keep_gap(c, gap, near);
    return false;
  }
  return known ? sap_motion_first_overlap(a, b, query, &reach, time, manifold)
               : collide_pair(c, of, &reach, query, manifold, time);
}

// Finds where a pair touches, or will at *time, in points or in patches. Returns false if it does
// not.
static bool find_touch(const sap_collision* c, const sap_shape_pair* of,
                       const sap_collision_query* query, sap_manifold* manifold, double* time,
                       int32_t* npatches) {
  *npatches = 0;
  if (!sap_collision_has_patch(c, of->pair)) {
    return find_points(c, of, query, manifold, time);
  }
  int32_t nknown;
  const sap_identity* known = query->more ? find_known(c, of->pair, &nknown) : NULL;
  const sap_patch_extent had = known != NULL ? known->extent : (sap_patch_extent){0.0, 0.0};
  const bool points = known == NULL && !sap_collision_has_triangles(c, of->pair);
  const bool found =
      points ? find_points(c, of, query, manifold, time) : known == NULL || had.area > 0.0;
  const bool patches = found &&
                       sap_collision_find_patches(c, of->pair, query, &had, manifold, time) &&
                       (known == NULL || sap_collision_has_known(c, known));
  *npatches = patches ? c->surface->npatches : 0;
  return points ? found : patches;
}

sap_status sap_collision_collide(sap_collision* c, const sap_collision_query* query,
                                 sap_error* error) {
  const int32_t next = 1 - c->last;
  c->contact_count = 0;
  for (int32_t i = 0; i < c->pair_count; ++i) {
    sap_manifold manifold;
    int32_t npatches;
    double time = 0.0;
    if (!find_touch(c, &c->pairs[i], query, &manifold, &time, &npatches)) {
      continue;
    }
    for (int32_t k = 0; k < (npatches > 0 ? npatches : 1); ++k) {
      const sap_patch_cluster* patch = npatches > 0 ? &c->surface->patches[k] : NULL;
      const sap_manifold* points = patch != NULL ? &patch->points : &manifold;
      SAP_FAIL_IF(c->contact_count > INT32_MAX - points->count, error, SAP_STATUS_MEMORY,
                  "out of memory: contacts");
      const int32_t count = c->contact_count + points->count;
      SAP_TRY(SAP_ROOM(&c->pool, &c->contacts, count, error));
      SAP_TRY(SAP_GROW(&c->identities[next], &c->identity_capacity[next], count, error));
      const contact_place place = {query, c->pairs[i].pair, c->contact_count, time, patch};
      SAP_TRY(set_contacts(c, &place, points, error));
      c->contact_count = count;
    }
  }
  return SAP_STATUS_OK;
}
