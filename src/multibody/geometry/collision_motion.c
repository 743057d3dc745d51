// SPDX-License-Identifier: BSD-3-Clause
// Shapes in the motion of a step: bodies whose velocity and angular velocity are constant. Bounds of
// their ways, and the time of first touch.
//
// The way of a point of a body is that of the shape's centre plus its rotation about the centre. The
// centre's own way, on a circle about the body's origin, leaves its tangent by at most
// (|w| t)^2 |r|/2.
#include "multibody/geometry/collision_data.h"

#include "math/quaternion.h"
#include "multibody/geometry/ahead_gap.h"

// Advances of one pair: where two rods turn past each other, each closes only part of the gap.
enum { ADVANCES_MAX = 48 };

// Velocity of the centre less that of the body's origin at the start; returns the centre's distance
// from the origin.
static double centre_velocity(const sap_collision_shape* shape, const sap_collision_query* query,
                              const double p[3], const double ahead[3], double velocity[3]) {
  const int32_t body = shape->filter.body;
  const double* V = query->V_WB + 6 * body;
  double arm[3];
  sap_v3_sub(arm, p, query->p_WB + 3 * body);
  sap_v3_sub(arm, arm, ahead);
  sap_v3_cross(velocity, V, arm);
  sap_v3_add(velocity, velocity, V + 3);
  return sap_v3_norm(arm);
}

void sap_motion_set(sap_collision_shape* shape, const sap_collision_query* query) {
  static const double origin[3] = {0.0, 0.0, 0.0};
  sap_v3_set(shape->move, 0.0, 0.0, 0.0);
  shape->turn = 0.0;
  if (query->V_WB == NULL || sap_collision_shape_is_static(shape)) {
    return;
  }
  double velocity[3];
  const double arm = centre_velocity(shape, query, shape->placed.p, origin, velocity);
  const double angle = query->dt * sap_v3_norm(query->V_WB + 6 * shape->filter.body);
  const double about = shape->placed.type == SAP_SHAPE_SPHERE ? 0.0 : shape->placed.bound;
  const double turn = sap_least(angle, 2.0) * about + 0.5 * angle * angle * arm;
  if (isfinite(turn) && isfinite(sap_v3_norm(velocity))) {
    sap_v3_scale(shape->move, velocity, query->dt);
    shape->turn = turn;
  }
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
    const double arm = centre_velocity(shapes[side], query, placed[side].p, ahead, velocity);
    const double rate = sap_v3_norm(query->V_WB + 6 * body);
    const double about =
        rate > 0.0 && placed[side].type != SAP_SHAPE_SPHERE ? placed[side].bound : 0.0;
    speed += (side == 0 ? 1.0 : -1.0) * sap_v3_dot(n, velocity) + rate * about +
             (query->dt - time) * rate * rate * arm;
  }
  return speed;
}

double sap_motion_slack(const sap_collision_shape* a, const sap_collision_shape* b, double way) {
  return sap_ahead_slack(sap_least(a->placed.bound, b->placed.bound), way);
}

bool sap_motion_first_touch(const sap_collision_shape* a, const sap_collision_shape* b,
                            const sap_collision_query* query, const sap_pair_reach* reach,
                            double* time, sap_manifold* manifold) {
  const sap_collision_shape* const shapes[2] = {a, b};
  const double near = sap_ahead_gap(sap_least(a->placed.bound, b->placed.bound), reach->way);
  sap_placed_shape placed[2] = {a->placed, b->placed};
  sap_manifold at = *manifold;
  double t = 0.0;
  for (int k = 0; k < ADVANCES_MAX; ++k) {
    const sap_manifold_point* deepest = sap_manifold_deepest(&at);
    const double gap = deepest->phi - reach->rest;
    const double speed = closing_speed(shapes, placed, query, t, deepest->n);
    if (!(speed * (query->dt - t) > gap - reach->slack)) {
      return false;
    }
    if (gap <= (t > 0.0 ? SAP_AHEAD_LATE : 1.0) * near) {
      break;
    }
    t += (gap - near) / speed;
    sap_motion_place(a, query, t, &placed[0]);
    sap_motion_place(b, query, t, &placed[1]);
    const double left = reach->rest + near + reach->slack + reach->way * (1.0 - t / query->dt);
    sap_collide(&placed[0], &placed[1], sap_most(0.0, sap_most(left, reach->points)), &at);
    if (at.count == 0) {
      return false;
    }
  }
  *time = t;
  *manifold = at;
  return true;
}
