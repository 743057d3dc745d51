// SPDX-License-Identifier: BSD-3-Clause
// Shapes in the motion of a step: bodies whose velocity and angular velocity are constant. Bounds
// of their ways, and the time of first touch.
//
// The way of a point of a body is that of the shape's centre plus its rotation about the centre.
// The centre's own way, on a circle about the body's origin, leaves its tangent by at most
// (|w| t)^2 |r|/2.
#include "multibody/geometry/collision_data.h"

#include "math/quaternion.h"
#include "multibody/geometry/ahead_gap.h"

// Gap at which shapes that come near with a long way surely touch, relative to the smaller one.
static const double sure_gap = 1e-6;
// Advances of one pair: where two rods turn past each other, each closes only part of the gap.
enum { ADVANCES_MAX = 48 };

// Overlaps of turning shapes that closure looks for, relative to the thinner shape: the law of
// contact keeps those that it knows below a quarter, and beyond one half normals point the other
// way.
static const double DEEP = 0.375, KNOWN = 0.25;
// Cosine of the most that the normal of a gap may turn in an interval that follows the gap.
static const double SAME_NORMAL = 0.9;
enum { INTERVALS_MAX = 400 };
// Gaps that hardly any solution closes, where v* leaves them: falls from rest, and shares of the way.
// Measured over piles that fall: 4 to 7 % of the contacts are left out, of planks a third; in 2 of
// 100 steps some of them act.
static const double FALLS_OPEN = 4.0, WAYS_OPEN = 0.1;

void sap_motion_velocity(const sap_collision_query* query, int32_t body, const double p[3],
                         const double ahead[3], double velocity[3]) {
  const double* V = query->V_WB + 6 * body;
  double arm[3];
  sap_v3_sub(arm, p, query->p_WB + 3 * body);
  sap_v3_sub(arm, arm, ahead);
  sap_v3_cross(velocity, V, arm);
  sap_v3_add(velocity, velocity, V + 3);
}

double sap_motion_normal_speed(const sap_collision_query* query, const sap_contact* contact) {
  double speed = 0.0;
  for (int32_t side = 0; side < 2; ++side) {
    const int32_t body = side == 0 ? contact->body_A : contact->body_B;
    double v[3];
    sap_motion_velocity(query, body, contact->point,
                        side == 0 ? contact->ahead_A : contact->ahead_B, v);
    speed += (side == 0 ? -1.0 : 1.0) * sap_v3_dot(contact->R_WC + 6, v);
  }
  return speed;
}

double sap_collision_end_gap(const sap_collision_query* query, const sap_contact* contact) {
  return contact->phi + query->dt * sap_motion_normal_speed(query, contact);
}

bool sap_collision_leaves_open(const sap_collision* c, const sap_collision_query* query,
                               const sap_contact* contact) {
  const sap_collision_shape *a = &c->shapes[contact->shape_A], *b = &c->shapes[contact->shape_B];
  return contact->phi > sap_most(a->reach, b->reach) && contact->patch == 0 &&
         sap_collision_end_gap(query, contact) >
             sap_most(FALLS_OPEN * c->fall, WAYS_OPEN * sap_motion_bound(a, b));
}

double sap_motion_bound(const sap_collision_shape* a, const sap_collision_shape* b) {
  double d[3];
  sap_v3_sub(d, b->move, a->move);
  return sap_v3_norm(d) + a->turn + b->turn;
}

double sap_motion_along(const sap_collision_shape* a, const sap_collision_shape* b,
                        const double n[3]) {
  double d[3];
  sap_v3_sub(d, b->move, a->move);
  return sap_v3_dot(n, d) - a->turn - b->turn;
}

void sap_motion_place(const sap_collision_shape* shape, const sap_collision_query* query,
                      double time, sap_placed_shape* placed) {
  const int32_t body = shape->filter.body;
  const double *V = query->V_WB + 6 * body, *p_WB = query->p_WB + 3 * body;
  *placed = shape->placed;
  if (V[0] != 0.0 || V[1] != 0.0 || V[2] != 0.0) {
    double r[3], q[4], R[9], arm[3];
    sap_v3_scale(r, V, time);
    sap_quaternion_exp(q, r);
    sap_quaternion_to_matrix(R, q);
    sap_v3_sub(arm, shape->placed.p, p_WB);
    sap_v3_place(placed->p, p_WB, R, arm);
    sap_m3_mul(placed->R, R, shape->placed.R);
  }
  sap_v3_add_scaled(placed->p, V + 3, time);
}

// Bound of the speed at which the shapes, placed at `time`, close along n until the end [m/s].
static double closing_speed(const sap_collision_shape* const shapes[2],
                            const sap_placed_shape placed[2], const sap_collision_query* query,
                            double time, const double n[3]) {
  double speed = 0.0;
  for (int side = 0; side < 2; ++side) {
    const int32_t body = shapes[side]->filter.body;
    double ahead[3], velocity[3];
    sap_v3_scale(ahead, query->V_WB + 6 * body + 3, time);
    sap_motion_velocity(query, body, placed[side].p, ahead, velocity);
    const double rate = sap_v3_norm(query->V_WB + 6 * body);
    const double about =
        rate > 0.0 && placed[side].type != SAP_SHAPE_SPHERE ? placed[side].bound : 0.0;
    speed += (side == 0 ? 1.0 : -1.0) * sap_v3_dot(n, velocity) + rate * about +
             (query->dt - time) * rate * rate * shapes[side]->arm;
  }
  return speed;
}

// Places and collides the shapes at `time`; near as in sap_collide_above.
static void collide_at(const sap_collision_shape* const shapes[2], const sap_collision_query* query,
                       double time, double reach, double near, sap_placed_shape placed[2],
                       sap_manifold* manifold) {
  sap_motion_place(shapes[0], query, time, &placed[0]);
  sap_motion_place(shapes[1], query, time, &placed[1]);
  sap_collide_above(&placed[0], &placed[1], near, reach, manifold);
}

// Distance of the shapes along a unit direction from A to B, negative where they overlap.
static double distance_along(const sap_placed_shape* a, const sap_placed_shape* b,
                             const double n[3]) {
  const double back[3] = {-n[0], -n[1], -n[2]};
  double ab[3];
  sap_v3_sub(ab, b->p, a->p);
  return sap_v3_dot(n, ab) - (a->type == SAP_SHAPE_PLANE ? 0.0 : sap_shape_extent(a, n)) -
         (b->type == SAP_SHAPE_PLANE ? 0.0 : sap_shape_extent(b, back));
}

// Returns the rate at which a body's rotation moves points of its shape on the shape's axis, which
// is all that matters of capsules and cylinders, over their distance from the centre [rad/s].
static double turning_rate(const sap_collision_shape* shape, const sap_collision_query* query) {
  const double* w = query->V_WB + 6 * shape->filter.body;
  double across[3];
  sap_v3_cross(across, w, shape->placed.R + 6);
  return shape->placed.type == SAP_SHAPE_CAPSULE || shape->placed.type == SAP_SHAPE_CYLINDER
             ? sap_v3_norm(across)
             : sap_v3_norm(w);
}

// Bounds by how much the distance along a direction leaves its chord within a length [s]: that of
// two points by at most |w| |w x r| length^2/8.
static double find_bend(const sap_collision_shape* const shapes[2],
                        const sap_collision_query* query, double length) {
  double bend = 0.0;
  for (int side = 0; side < 2; ++side) {
    const double rate = sap_v3_norm(query->V_WB + 6 * shapes[side]->filter.body);
    const double speed = rate > 0.0 ? rate * shapes[side]->arm + turning_rate(shapes[side], query) *
                                                                     shapes[side]->placed.bound
                                    : 0.0;
    bend += rate * speed * length * length / 8.0;
  }
  return bend;
}

// Bounds the distance along n from below from `time` on, where it is `start`, for a `length` [s].
static double least_along(const sap_collision_shape* const shapes[2],
                          const sap_collision_query* query, double time, double length,
                          double start, const double n[3]) {
  sap_placed_shape end[2];
  sap_motion_place(shapes[0], query, time + length, &end[0]);
  sap_motion_place(shapes[1], query, time + length, &end[1]);
  return sap_least(start, distance_along(&end[0], &end[1], n)) - find_bend(shapes, query, length);
}

bool sap_motion_first_touch(const sap_collision_shape* a, const sap_collision_shape* b,
                            const sap_collision_query* query, const sap_pair_reach* reach,
                            double* time, sap_manifold* manifold) {
  const sap_collision_shape* const shapes[2] = {a, b};
  const double size = sap_least(a->placed.bound, b->placed.bound);
  const bool may_miss = reach->way > size;
  double near = sap_ahead_gap(size, reach->way), slack = reach->slack, t = 0.0;
  double left = 0.0, taken = 0.0;  // reaches: the gaps that may close until the end
  sap_placed_shape placed[2] = {a->placed, b->placed};
  sap_manifold at = *manifold;
  bool sure = false, is_near = false;
  for (int k = 0; k < ADVANCES_MAX && !sure; ++k) {
    const sap_manifold_point* deepest = sap_manifold_deepest(&at);
    const double gap = deepest->phi - reach->rest;
    const double speed = closing_speed(shapes, placed, query, t, deepest->n);
    if (!(speed * (query->dt - t) > gap - slack)) {
      return false;
    }
    if (gap <= (t > 0.0 ? SAP_AHEAD_LATE : 1.0) * near && !is_near) {
      is_near = true;
      *time = t;
      taken = left;
      near = sure_gap * size;
      slack = may_miss ? 0.0 : slack;
    }
    sure = is_near && (!may_miss || gap <= SAP_AHEAD_LATE * near);
    if (!sure) {
      if (least_along(shapes, query, t, query->dt - t, deepest->phi, deepest->n) - reach->rest >
          sap_most(slack, SAP_AHEAD_LATE * near)) {
        return false;
      }
      t += (gap - near) / speed;
      left = reach->rest + near + slack + reach->way * (1.0 - t / query->dt);
      left = sap_most(0.0, sap_most(left, reach->points));
      collide_at(shapes, query, t, left, SAP_DEEPEST_ONLY, placed, &at);
      if (at.count == 0) {
        return false;
      }
    }
  }
  *time = is_near ? *time : t;
  if (*time > 0.0) {
    collide_at(shapes, query, *time, is_near ? taken : left, HUGE_VAL, placed, manifold);
  }
  return true;
}

bool sap_motion_stays_shallow(const sap_collision_shape* a, const sap_collision_shape* b,
                              const sap_collision_query* query, const double along[3]) {
  const sap_collision_shape* const shapes[2] = {a, b};
  const double thin = 2.0 * sap_least(a->placed.inner, b->placed.inner);
  const double step = (DEEP - KNOWN) * thin;
  if (a->turn + b->turn <= step || !(sap_v3_dot(along, along) > 0.0)) {
    return a->turn + b->turn <= step;
  }
  double n[3];
  sap_v3_scale(n, b->placed.type == SAP_SHAPE_PLANE ? b->placed.R + 6 : along,
               b->placed.type == SAP_SHAPE_PLANE ? -1.0 : 1.0);
  const double start = distance_along(&a->placed, &b->placed, n);
  return least_along(shapes, query, 0.0, query->dt, start, n) >
         sap_least(-DEEP * thin, start - step) + 0.5 * step;
}

// Passes intervals in which the shapes stay far enough apart along the normal at the interval's
// start, and halves the others. Along no direction do they overlap less than along that of the gap.
// Where a rod slides round an edge and the normal turns, the chord of the gap will do, which the true
// one leaves by `slip` t^2 more than the bend.
bool sap_motion_first_overlap(const sap_collision_shape* a, const sap_collision_shape* b,
                              const sap_collision_query* query, const sap_pair_reach* reach,
                              double* time, sap_manifold* manifold) {
  const sap_collision_shape* const shapes[2] = {a, b};
  const double thin = 2.0 * sap_least(a->placed.inner, b->placed.inner);
  const double step = (DEEP - KNOWN) * thin, shortest = query->dt / 8192.0;
  const double rates = turning_rate(a, query) + turning_rate(b, query);
  double least = 0.0, length = query->dt, way[3];
  sap_v3_sub(way, b->move, a->move);
  const double slip = 0.25 * rates * sap_v3_norm(way) / query->dt;
  const double points = 2.0 * sap_most(reach->points, 0.0);
  sap_placed_shape placed[2];
  collide_at(shapes, query, 0.0, points, SAP_DEEPEST_ONLY, placed, manifold);
  *time = 0.0;
  for (int k = 0; k < INTERVALS_MAX && *time < query->dt && manifold->count > 0; ++k) {
    const sap_manifold_point* deepest = sap_manifold_deepest(manifold);
    const double gap = deepest->phi - reach->rest;
    least = k == 0 ? sap_least(-DEEP * thin, gap - step) : least;
    length = sap_least(length, query->dt - *time);
    const bool deep = !(gap > least + 0.25 * step);
    const double left = gap - find_bend(shapes, query, length) - slip * length * length;
    bool passes =
        least_along(shapes, query, *time, length, deepest->phi, deepest->n) - reach->rest > least ||
        (!deep && length <= shortest);
    if (!passes && !deep && left > least) {
      sap_manifold next;
      collide_at(shapes, query, *time + length, points, SAP_DEEPEST_ONLY, placed, &next);
      const sap_manifold_point* at_end = sap_manifold_deepest(&next);
      passes = next.count > 0 && sap_v3_dot(at_end->n, deepest->n) > SAME_NORMAL &&
               left + sap_least(0.0, at_end->phi - deepest->phi) > least;
    }
    if (passes) {
      *time += length;
      length *= 2.0;
      if (*time < query->dt) {
        collide_at(shapes, query, *time, points, SAP_DEEPEST_ONLY, placed, manifold);
      }
    } else if (!deep) {
      length *= 0.5;
    } else {
      collide_at(shapes, query, *time, points, HUGE_VAL, placed, manifold);
      return true;
    }
  }
  return false;
}
