// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/drive.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/vector3.h"
#include "multibody/dynamics/dynamics_data.h"

// --- paths of tendons ---

// Lengths below this count as 0 [m], as in MuJoCo.
static const double TINY = 1e-15;
static const double HALF_PI = 1.57079632679489661923;

static double dot(const double a[2], const double b[2]) {
  return a[0] * b[0] + a[1] * b[1];
}

static double cross(const double a[2], const double b[2]) {
  return a[0] * b[1] - a[1] * b[0];
}

// Finds the point of the segment nearest to the origin; false: the points coincide.
static bool nearest(const double a[2], const double b[2], double out[2]) {
  const double d[2] = {b[0] - a[0], b[1] - a[1]};
  const double square = dot(d, d);
  if (!(square >= TINY)) {
    return false;
  }
  const double at = fmin(fmax(-dot(a, d) / square, 0.0), 1.0);
  out[0] = a[0] + at * d[0];
  out[1] = a[1] + at * d[1];
  return true;
}

// Finds where the tangent from a touches the circle; turn = 1: the tangent with the circle to its
// right.
static void tangent_point(const double a[2], double r, double turn, double out[2]) {
  const double square = dot(a, a), reach = turn * r * sqrt(fmax(square - r * r, 0.0));
  out[0] = (r * r * a[0] + reach * a[1]) / square;
  out[1] = (r * r * a[1] - reach * a[0]) / square;
}

// Wraps the outside of the circle, the shorter way, inside the angle between a and b, if the
// straight line is obstructed. With a side point s, if a to s and s to b turn in the same sense,
// the string goes that way; it then takes the longer way even if unobstructed. Returns the length
// of the arc, < 0: no contact.
static double wrap_outside(const double a[2], const double b[2], double r, const double* side,
                           double touch[2][2]) {
  double near[2];
  if (dot(a, a) < r * r || dot(b, b) < r * r || !nearest(a, b, near)) {
    return -1.0;
  }
  const double across = cross(a, b);
  double sense = across > 0.0 ? 1.0 : -1.0;  // 1: counter-clockwise
  const double shorter = sense;
  if (side != NULL && cross(a, side) * cross(side, b) > 0.0) {
    sense = cross(a, side) > 0.0 ? 1.0 : -1.0;
  }
  const bool longer = sense != shorter && across != 0.0;
  if (!longer && dot(near, near) > r * r) {
    return -1.0;
  }
  tangent_point(a, r, -sense, touch[0]);
  tangent_point(b, r, sense, touch[1]);
  const double turned = sense * cross(touch[0], touch[1]);
  const double angle = atan2(turned, dot(touch[0], touch[1]));
  // Round-off may change the sign of the angle of a string that just touches.
  return r * (angle >= 0.0 ? angle : longer ? angle + 4.0 * HALF_PI : 0.0);
}

// Solves for w, the angle of incidence; the string turns by 2 (pi/2 - w):
//   asin(A sin w) + asin(B sin w) - 2 w + G = 0,  A = r/|a|, B = r/|b|, G the angle between a and b
// The left side decreases with w, from G > 0 to a value < 0 unless the string passes freely.
static double incidence(double A, double B, double G) {
  double low = 0.0, high = HALF_PI, w = HALF_PI;
  for (int i = 0; i < 200 && high - low > 0.0; ++i) {
    const double s = sin(w), c = cos(w);
    const double f = asin(A * s) + asin(B * s) - 2.0 * w + G;
    const double slope =
        A * c / sqrt(1.0 - A * A * s * s) + B * c / sqrt(1.0 - B * B * s * s) - 2.0;
    if (f > 0.0) {
      low = w;
    } else {
      high = w;
    }
    double next = w - f / slope;
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
    }
    if (next == w) {
      break;
    }
    w = next;
  }
  return w;
}

// Passes through the circle, bent over its edge.
static double wrap_inside(const double a[2], const double b[2], double r, double touch[2][2]) {
  const double len_a = sqrt(dot(a, a)), len_b = sqrt(dot(b, b));
  double near[2];
  if (len_a <= r || len_b <= r || (nearest(a, b, near) && sqrt(dot(near, near)) <= r)) {
    return -1.0;
  }
  const double across = cross(a, b);
  const double G = atan2(fabs(across), dot(a, b));
  if (!(G < 2.0 * HALF_PI - 1e-7)) {
    return -1.0;
  }
  const double A = r / len_a, w = incidence(A, r / len_b, G);
  const double angle = copysign(w - asin(A * sin(w)), across);
  const double c = cos(angle) * r / len_a, s = sin(angle) * r / len_a;
  for (int k = 0; k < 2; ++k) {
    touch[k][0] = c * a[0] - s * a[1];
    touch[k][1] = s * a[0] + c * a[1];
  }
  return 0.0;
}

// Finds the axes of the plane of the arc; false: an end is the centre.
static bool plane_axes(const sap_obstacle* o, double p[2][3], double e[2][3]) {
  const double len = sap_v3_norm(p[0]);
  if (!(len >= TINY && sap_v3_norm(p[1]) >= TINY)) {
    return false;
  }
  double frame[9];
  if (o->cylinder) {
    sap_m3_from_normal(frame, o->axis);
    memcpy(e, frame, 6 * sizeof *frame);
    return true;
  }
  double normal[3], first[3];
  sap_v3_scale(first, p[0], 1.0 / len);
  sap_v3_cross(normal, p[0], p[1]);
  const double area = sap_v3_norm(normal);
  if (area < TINY) {
    sap_m3_from_normal(frame, first);
    sap_v3_copy(e[1], frame);
  } else {
    sap_v3_scale(normal, normal, 1.0 / area);
    sap_v3_cross(e[1], normal, first);
  }
  sap_v3_copy(e[0], first);
  return true;
}

static void project(const double x[3], double e[2][3], double out[2]) {
  out[0] = sap_v3_dot(x, e[0]);
  out[1] = sap_v3_dot(x, e[1]);
}

static double distance(const double a[2], const double b[2]) {
  const double d[2] = {a[0] - b[0], a[1] - b[1]};
  return sqrt(dot(d, d));
}

double sap_wrap(const sap_obstacle* o, double ends[2][3], double touch[2][3]) {
  double p[2][3], e[2][3], flat[2][2], edge[2][2];
  sap_v3_sub(p[0], ends[0], o->center);
  sap_v3_sub(p[1], ends[1], o->center);
  if (!(o->radius >= TINY) || !plane_axes(o, p, e)) {
    return -1.0;
  }
  project(p[0], e, flat[0]);
  project(p[1], e, flat[1]);
  double side[2] = {0.0, 0.0};
  bool inside = false;
  if (o->has_side) {
    double s[3];
    sap_v3_sub(s, o->side, o->center);
    project(s, e, side);
    inside = !(sqrt(dot(side, side)) >= o->radius);
  }
  double arc = inside ? wrap_inside(flat[0], flat[1], o->radius, edge)
                      : wrap_outside(flat[0], flat[1], o->radius, o->has_side ? side : NULL, edge);
  if (arc < 0.0) {
    return -1.0;
  }
  double height[2] = {0.0, 0.0};
  if (o->cylinder) {
    const double z0 = sap_v3_dot(p[0], o->axis), z1 = sap_v3_dot(p[1], o->axis);
    const double l0 = distance(flat[0], edge[0]), l1 = distance(flat[1], edge[1]);
    const double whole = l0 + arc + l1;
    const double slope = whole > 0.0 ? (z1 - z0) / whole : 0.0;
    height[0] = z0 + slope * l0;
    height[1] = z0 + slope * (l0 + arc);
    arc = hypot(arc, height[1] - height[0]);
  }
  for (int k = 0; k < 2; ++k) {
    sap_v3_copy(touch[k], o->center);
    sap_v3_add_scaled(touch[k], e[0], edge[k][0]);
    sap_v3_add_scaled(touch[k], e[1], edge[k][1]);
    if (o->cylinder) {
      sap_v3_add_scaled(touch[k], o->axis, height[k]);
    }
  }
  return arc;
}

// A straight piece between material points of two bodies. The length of a tendon changes by
//   sum share u . (pdot[1] - pdot[0])
// over its pieces: the arc on an obstacle moves with the obstacle, and the pieces are tangent to
// it.
typedef struct piece {
  int32_t body[2];
  double p[2][3];  // in the world [m]
  double u[3];     // unit, from the first to the second; 0 where they coincide
  double length;   // [m]
  double share;    // 1/divisor
} piece;

typedef struct path {
  const sap_kinematics* kin;
  const sap_model* model;
  int32_t at, end;  // element at which the next piece begins
  double share;
  double on_obstacles;  // length of arcs so far, times its share [m]
  piece behind;         // the piece after an obstacle
  bool has_behind;
} path;

static void place_element(const path* way, int32_t element, double out[3]) {
  sap_kinematics_point(way->kin, way->model->tendon_point_bodies[element],
                       way->model->tendon_points + 3 * (size_t)element, out);
}

static path begin_path(const sap_kinematics* kin, int32_t tendon) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* t = &model->tendons[tendon];
  return (path){.kin = kin,
                .model = model,
                .at = t->first_point,
                .end = t->first_point + t->npoints,
                .share = 1.0};
}

static void make_piece(piece* out) {
  sap_v3_sub(out->u, out->p[1], out->p[0]);
  out->length = sap_v3_norm(out->u);
  sap_v3_scale(out->u, out->u, out->length > 0.0 ? 1.0 / out->length : 0.0);
}

// Finds where the piece touches the obstacle; returns the length of the arc, < 0: no contact.
static double wrap_piece(const path* way, int32_t element, const piece* out, double touch[2][3]) {
  const sap_tendon_wrap* wrap = &way->model->tendon_wraps[element];
  const int32_t body = way->model->tendon_point_bodies[element];
  sap_obstacle obstacle = {.cylinder = wrap->way == SAP_TENDON_CYLINDER,
                           .radius = wrap->radius,
                           .has_side = wrap->side_body >= 0};
  place_element(way, element, obstacle.center);
  if (obstacle.cylinder) {
    sap_m3_mul_v3(obstacle.axis, way->kin->R_WB + 9 * (size_t)body, wrap->axis);
  }
  if (obstacle.has_side) {
    sap_kinematics_point(way->kin, wrap->side_body, wrap->side_point, obstacle.side);
  }
  double ends[2][3];
  sap_v3_copy(ends[0], out->p[0]);
  sap_v3_copy(ends[1], out->p[1]);
  return sap_wrap(&obstacle, ends, touch);
}

// Sets the next piece; false: there is none, and way->on_obstacles is complete.
static bool next_piece(path* way, piece* out) {
  const sap_model* model = way->model;
  const int32_t* bodies = model->tendon_point_bodies;
  if (way->has_behind) {
    way->has_behind = false;
    *out = way->behind;
    return true;
  }
  for (int32_t i = way->at; i < way->end && i < way->at + 2; ++i) {
    if (model->tendon_wraps[i].way == SAP_TENDON_PULLEY) {
      way->share = 1.0 / model->tendon_wraps[i].divisor;
      way->at = i + 1;
    }
  }
  if (way->at + 1 >= way->end) {
    return false;
  }
  const int32_t first = way->at, middle = first + 1;
  const bool obstructed = model->tendon_wraps[middle].way != SAP_TENDON_POINT;
  const int32_t last = obstructed ? middle + 1 : middle;
  *out = (piece){.body = {bodies[first], bodies[last]}, .share = way->share};
  place_element(way, first, out->p[0]);
  place_element(way, last, out->p[1]);
  way->at = last;
  double touch[2][3];
  const double length = obstructed ? wrap_piece(way, middle, out, touch) : -1.0;
  if (length >= 0.0) {
    way->on_obstacles += way->share * length;
    way->behind = *out;
    way->behind.body[0] = out->body[1] = bodies[middle];
    sap_v3_copy(way->behind.p[0], touch[1]);
    sap_v3_copy(out->p[1], touch[0]);
    make_piece(&way->behind);
    way->has_behind = true;
  }
  make_piece(out);
  return true;
}

// --- transmissions ---

// A generalized force, or a row of which the trees are touched.
typedef struct pull {
  const sap_kinematics* kin;
  double* tau;
  sap_rows* rows;  // NULL: tau is no row
} pull;

static void push_dof(const pull* to, int32_t dof, double force) {
  const sap_dynamics* d = to->kin->dynamics;
  if (to->rows != NULL) {
    sap_rows_touch(to->rows, d->model->dof_tree[dof]);
  }
  to->tau[dof] += d->locked[dof] ? 0.0 : force;
}

static void touch_tree_of(const sap_kinematics* kin, int32_t body, sap_rows* rows) {
  const int32_t tree = kin->dynamics->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
  }
}

// Pushes with a force at p_W and a moment (NULL: none) on a body in world axes, for the dofs after
// `stop` only.
static void push_body(const pull* to, int32_t body, int32_t stop, const double p_W[3],
                      const double force[3], const double moment[3]) {
  if (to->rows != NULL) {
    touch_tree_of(to->kin, body, to->rows);
  }
  sap_kinematics_add_wrench(to->kin, body, stop, p_W, force, moment, to->tau);
}

static double joint_length(const sap_model* model, const sap_model_actuator* actuator,
                           const double* q) {
  const sap_model_joint_data* joint = &model->joints[actuator->target];
  const double* x = q + joint->q_start;
  if (joint->type == SAP_JOINT_BALL) {
    double r[3];
    sap_quaternion_log(r, x);  // the same in the body's axes and in the parent's
    return sap_v3_dot(r, actuator->direction);
  }
  return joint->type == SAP_JOINT_FREE ? 0.0 : x[0];
}

// Rotates v to the body's axes from the axes that the body has without its joint's rotation. The
// joint is alone on its body.
static void from_parent(const sap_model* model, const sap_model_joint_data* joint,
                        const double* q_WB, double v[3]) {
  const sap_model_body* body = &model->bodies[joint->body];
  double back[4];
  if (joint->type == SAP_JOINT_BALL) {
    sap_quaternion_rotate(v, body->q_PB, v);
    sap_quaternion_rotate(v, q_WB + 4 * (size_t)body->parent, v);
  }
  sap_quaternion_conjugate(back, q_WB + 4 * (size_t)joint->body);
  sap_quaternion_rotate(v, back, v);
}

static double push_joint(const pull* to, const sap_model_actuator* actuator, double s) {
  const sap_model* model = to->kin->dynamics->model;
  const sap_model_joint_data* joint = &model->joints[actuator->target];
  double g[6] = {1.0};
  if (!sap_joint_is_scalar(joint->type)) {
    memcpy(g, actuator->direction, (size_t)joint->nv * sizeof *g);
    if (actuator->in_parent) {
      from_parent(model, joint, to->kin->q_WB, g + joint->nv - 3);
    }
  }
  for (int32_t i = 0; i < joint->nv; ++i) {
    push_dof(to, joint->v_start + i, s * g[i]);
  }
  return joint_length(model, actuator, to->kin->q);
}

// Returns the last dof that moves both bodies, -1: none.
static int32_t shared_dof(const sap_model* model, int32_t a, int32_t b) {
  int32_t i = model->bodies[a].last_dof, k = model->bodies[b].last_dof;
  while (i != k) {  // a dof has a larger number than its parent
    if (i > k) {
      i = model->dof_parent[i];
    } else {
      k = model->dof_parent[k];
    }
  }
  return i;
}

// A site, and the reference that it may have.
typedef struct site_drive {
  double length;
  double p[2][3];              // points of the site and the reference
  double force[3], moment[3];  // on the site; minus these on the reference; world axes
} site_drive;

static site_drive find_site(const sap_kinematics* at, const sap_model_actuator* a) {
  double q_S[4], q_R[4], back[4], turn[4], arm[3], r[3];
  site_drive out = {0};
  sap_kinematics_point(at, a->site_body, a->site_point, out.p[0]);
  sap_quaternion_multiply(q_S, at->q_WB + 4 * (size_t)a->site_body, a->site_q);
  if (a->reference_body < 0) {
    sap_quaternion_rotate(out.force, q_S, a->direction);
    sap_quaternion_rotate(out.moment, q_S, a->direction + 3);
    return out;
  }
  sap_kinematics_point(at, a->reference_body, a->reference_point, out.p[1]);
  sap_quaternion_multiply(q_R, at->q_WB + 4 * (size_t)a->reference_body, a->reference_q);
  sap_quaternion_rotate(out.force, q_R, a->direction);
  sap_quaternion_rotate(out.moment, q_R, a->direction + 3);
  sap_quaternion_conjugate(back, q_R);
  sap_quaternion_multiply(turn, back, q_S);
  sap_quaternion_log(r, turn);
  sap_v3_sub(arm, out.p[0], out.p[1]);
  out.length = sap_v3_dot(arm, out.force) + sap_v3_dot(r, a->direction + 3);
  return out;
}

static double push_site(const pull* to, const sap_model_actuator* a, double s) {
  const sap_model* model = to->kin->dynamics->model;
  const site_drive drive = find_site(to->kin, a);
  const int32_t bodies[2] = {a->site_body, a->reference_body};
  const int32_t stop = bodies[1] < 0 ? -1 : shared_dof(model, bodies[0], bodies[1]);
  for (int32_t i = 0; i < 2 && bodies[i] >= 0; ++i) {
    double force[3], moment[3];
    sap_v3_scale(force, drive.force, i == 0 ? s : -s);
    sap_v3_scale(moment, drive.moment, i == 0 ? s : -s);
    push_body(to, bodies[i], stop, drive.p[i], force, moment);
  }
  return drive.length;
}

// In the world's axes.
typedef struct crank_drive {
  double p_C[3], p_P[3];  // crank's and slider's points
  double g_d[3];          // force on C, minus that on P
  double moment[3];       // a x g_a on the slider's body
  double length;
} crank_drive;

static crank_drive find_crank(const sap_kinematics* at, const sap_model_actuator* actuator) {
  double a[3], arm[3], g_a[3];
  crank_drive out;
  sap_kinematics_point(at, actuator->crank_body, actuator->crank_point, out.p_C);
  sap_kinematics_point(at, actuator->slider_body, actuator->slider_point, out.p_P);
  sap_m3_mul_v3(a, at->R_WB + 9 * (size_t)actuator->slider_body, actuator->slider_axis);
  sap_v3_sub(arm, out.p_C, out.p_P);
  const double s = sap_v3_dot(a, arm), r = actuator->crank_length;
  const double e_2 = s * s + r * r - sap_v3_dot(arm, arm);
  const bool closed = e_2 > 0.0;
  const double e = closed ? sqrt(e_2) : 0.0;
  const double share = closed ? 1.0 - s / e : 1.0;
  sap_v3_scale(out.g_d, a, share);
  sap_v3_scale(g_a, arm, share);
  if (closed) {
    sap_v3_add_scaled(out.g_d, arm, 1.0 / e);
  }
  sap_v3_cross(out.moment, a, g_a);
  out.length = s - e;
  return out;
}

static double push_crank(const pull* to, const sap_model_actuator* a, double s) {
  const crank_drive c = find_crank(to->kin, a);
  double force[3], moment[3];
  sap_v3_scale(force, c.g_d, s);
  push_body(to, a->crank_body, -1, c.p_C, force, NULL);
  sap_v3_scale(force, c.g_d, -s);
  sap_v3_scale(moment, c.moment, s);
  push_body(to, a->slider_body, -1, c.p_P, force, moment);
  return c.length;
}

double sap_tendon_find_forces(const sap_kinematics* kin, int32_t id, double s,
                              sap_tendon_force* found, void* context) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  path way = begin_path(kin, id);
  piece part;
  double length = 0.0;
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    const int32_t joint = model->tendon_joints[k];
    length += model->tendon_coefficients[k] * kin->q[model->joints[joint].q_start];
  }
  while (next_piece(&way, &part)) {
    double force[3];
    length += part.share * part.length;
    if (found != NULL && part.body[0] != part.body[1]) {
      sap_v3_scale(force, part.u, s * part.share);
      found(context, part.body[1], part.p[1], force);
      sap_v3_scale(force, force, -1.0);
      found(context, part.body[0], part.p[0], force);
    }
  }
  return length + way.on_obstacles;
}

static void push_end(void* context, int32_t body, const double p_W[3], const double force[3]) {
  push_body(context, body, -1, p_W, force, NULL);
}

static double push_tendon(pull* to, int32_t id, double s) {
  const sap_model* model = to->kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  for (int32_t k = tendon->first; k < tendon->first + tendon->count; ++k) {
    push_dof(to, model->joints[model->tendon_joints[k]].v_start, s * model->tendon_coefficients[k]);
  }
  return sap_tendon_find_forces(to->kin, id, s, push_end, to);
}

double sap_transmission_length(const sap_kinematics* at, int32_t id) {
  const sap_model* model = at->dynamics->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return joint_length(model, actuator, at->q);
    case SAP_TRANSMISSION_TENDON:
      return sap_tendon_length(at, actuator->target);
    case SAP_TRANSMISSION_SITE:
      return find_site(at, actuator).length;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      return find_crank(at, actuator).length;
    case SAP_TRANSMISSION_ADHESION:  // its forces are added with the contacts
      break;
  }
  return 0.0;
}

// Returns the length.
static double push_actuator(pull* to, int32_t id, double s) {
  const sap_model_actuator* actuator = &to->kin->dynamics->model->actuators[id];
  switch (actuator->transmission) {
    case SAP_TRANSMISSION_JOINT:
      return push_joint(to, actuator, s);
    case SAP_TRANSMISSION_TENDON:
      return push_tendon(to, actuator->target, s);
    case SAP_TRANSMISSION_SLIDER_CRANK:
      return push_crank(to, actuator, s);
    case SAP_TRANSMISSION_SITE:
      return push_site(to, actuator, s);
    case SAP_TRANSMISSION_ADHESION:
      break;
  }
  return 0.0;
}

void sap_tendon_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  (void)push_tendon(&(pull){kin, tau, NULL}, id, s);
}

double sap_tendon_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                          int32_t r) {
  const sap_model* model = kin->dynamics->model;
  const sap_model_tendon* tendon = &model->tendons[id];
  // Trees of obstacles that are not in the way now are touched too: the pattern is constant.
  for (int32_t i = tendon->first_point; i < tendon->first_point + tendon->npoints; ++i) {
    if (model->tendon_wraps[i].way != SAP_TENDON_PULLEY) {
      touch_tree_of(kin, model->tendon_point_bodies[i], rows);
    }
  }
  return push_tendon(&(pull){kin, sap_rows_at(rows, r), rows}, id, s);
}

void sap_transmission_add_force(const sap_kinematics* kin, int32_t id, double s, double* tau) {
  (void)push_actuator(&(pull){kin, tau, NULL}, id, s);
}

double sap_transmission_add_row(const sap_kinematics* kin, int32_t id, double s, sap_rows* rows,
                                int32_t r) {
  const sap_model_actuator* actuator = &kin->dynamics->model->actuators[id];
  return actuator->transmission == SAP_TRANSMISSION_TENDON
             ? sap_tendon_add_row(kin, actuator->target, s, rows, r)
             : push_actuator(&(pull){kin, sap_rows_at(rows, r), rows}, id, s);
}
