// SPDX-License-Identifier: BSD-3-Clause
// Values of sensors at a state, as MuJoCo defines them; rays through the shapes.
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/forces.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/geometry/shape.h"

// A state whose sensors are read.
typedef struct reading {
  sap_multibody* multibody;
  const sap_model* model;
  const sap_kinematics* kin;
  const sap_state* state;
  const sap_step_report* report;  // NULL: no step
  sap_diagnostics totals;
} reading;

typedef struct frame {
  int32_t body;
  double p[3], q[4], R[9];  // in the world
} frame;

static frame place_frame(const reading* r, int32_t body, const double p[3], const double q[4]) {
  frame f = {.body = body};
  sap_kinematics_point(r->kin, body, p, f.p);
  sap_quaternion_multiply(f.q, r->kin->q_WB + 4 * (size_t)body, q);
  sap_quaternion_to_matrix(f.R, f.q);
  return f;
}

// --- rays ---

// Distance along the unit vector d from p, passing the shapes of `body`.
static double find_ray(const sap_model* model, const sap_kinematics* kin, const double p[3],
                       const double d[3], int32_t body, int32_t* shape) {
  double least = -1.0;
  *shape = -1;
  for (int32_t i = 0; i < model->sizes.shapes; ++i) {
    const sap_shape_def* s = &model->shapes[i];
    if (s->body == body || s->color[3] == 0.0) {
      continue;
    }
    double q[4], back[4], at[3], from[3], along[3];
    sap_kinematics_point(kin, s->body, s->p_BS, at);
    sap_quaternion_multiply(q, kin->q_WB + 4 * (size_t)s->body, s->q_BS);
    sap_quaternion_conjugate(back, q);
    sap_v3_sub(from, p, at);
    sap_quaternion_rotate(from, back, from);
    sap_quaternion_rotate(along, back, d);
    const sap_hull* hull = s->mesh >= 0 ? &model->meshes[s->mesh] : NULL;
    const double t = sap_ray_meets(s->type, s->size, hull, from, along);
    if (t >= 0.0 && (least < 0.0 || t < least)) {
      least = t;
      *shape = i;
    }
  }
  return least;
}

sap_status sap_multibody_ray(sap_multibody* multibody, const double* q, const double origin[3],
                             const double direction[3], int32_t body, double* distance,
                             int32_t* shape, sap_error* error) {
  SAP_NOT_NULL(error, multibody, origin, direction, distance, shape);
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  SAP_TRY(sap_check_numbers("origin", origin, 3, error));
  SAP_TRY(sap_check_numbers("direction", direction, 3, error));
  double d[3];
  const double length = sap_v3_norm(direction);
  SAP_FAIL_IF(!(length > 0.0), error, SAP_STATUS_ARGUMENT, "direction must not be zero");
  sap_v3_scale(d, direction, 1.0 / length);
  *distance = find_ray(multibody->model, sap_multibody_start_kinematics(multibody, q), origin, d,
                       body, shape);
  return SAP_STATUS_OK;
}

// --- frames ---

// Sum of the normal forces of the body's contacts whose line, out of the body, meets the zone.
static double find_touch(const reading* r, const sap_sensor_def* s, const frame* f) {
  double sum = 0.0;
  SAP_EACH(const sap_contact, c, r->multibody->contacts, r->multibody->contact_count) {
    if ((c->body_A != f->body && c->body_B != f->body) || !(c->gamma[2] > 0.0)) {
      continue;
    }
    double from[3], along[3];
    sap_v3_sub(from, c->point, f->p);
    sap_m3_tmul_v3(from, f->R, from);
    sap_m3_tmul_v3(along, f->R, c->R_WC + 6);
    sap_v3_scale(along, along, c->body_B == f->body ? -1.0 : 1.0);
    const bool meets = sap_ray_meets(s->zone, s->zone_size, NULL, from, along) >= 0.0;
    sum += meets ? c->gamma[2] / sap_problem_dt(r->report->problem) : 0.0;
  }
  return sum;
}

// Sensors in the axes of their frame.
static void read_local(const reading* r, const sap_sensor_def* s, const frame* f, double* out) {
  double velocity[3], acceleration[3], force[3], moment[3];
  const sap_body_motion* motions = r->multibody->motions;
  const double* const vectors[] = {[SAP_SENSOR_ACCELEROMETER] = acceleration,
                                   [SAP_SENSOR_VELOCIMETER] = velocity,
                                   [SAP_SENSOR_GYRO] = motions[f->body].V,
                                   [SAP_SENSOR_FORCE] = force,
                                   [SAP_SENSOR_TORQUE] = moment,
                                   [SAP_SENSOR_MAGNETOMETER] = r->model->options.magnetic_field};
  int32_t shape;
  if (s->type == SAP_SENSOR_RANGEFINDER) {
    out[0] = find_ray(r->model, r->kin, f->p, f->R + 6, f->body, &shape);
    return;
  }
  if (s->type == SAP_SENSOR_TOUCH) {
    out[0] = find_touch(r, s, f);
    return;
  }
  sap_motion_of_point(r->kin, motions, f->body, f->p, velocity, acceleration);
  if (s->type == SAP_SENSOR_FORCE || s->type == SAP_SENSOR_TORQUE) {
    sap_multibody_reaction(r->multibody, r->report, r->kin, f->body, f->p, force, moment);
  }
  sap_m3_tmul_v3(out, f->R, vectors[s->type]);
}

// Velocity of a frame relative to another one, in the axes of that: of its origin or angular.
static void read_velocity(const reading* r, const sap_sensor_def* s, const frame* f,
                          const frame* to, double* out) {
  const sap_body_motion* motions = r->multibody->motions;
  double here[3], there[3], arm[3], turning[3];
  if (s->type == SAP_SENSOR_FRAME_ANGULAR_VELOCITY) {
    sap_v3_sub(out, motions[f->body].V, motions[to->body].V);
  } else {
    sap_motion_of_point(r->kin, motions, f->body, f->p, here, NULL);
    sap_motion_of_point(r->kin, motions, to->body, to->p, there, NULL);
    sap_v3_sub(arm, f->p, to->p);
    sap_v3_cross(turning, motions[to->body].V, arm);
    sap_v3_sub(out, here, there);
    sap_v3_sub(out, out, turning);
  }
  sap_m3_tmul_v3(out, to->R, out);
}

// Sensors relative to a frame of reference.
static void read_frame(const reading* r, const sap_sensor_def* s, const frame* f, const frame* to,
                       double* out) {
  double v[3], back[4];
  switch (s->type) {
    case SAP_SENSOR_FRAME_POSITION:
      sap_v3_sub(out, f->p, to->p);
      sap_m3_tmul_v3(out, to->R, out);
      break;
    case SAP_SENSOR_FRAME_QUATERNION:
      sap_quaternion_conjugate(back, to->q);
      sap_quaternion_multiply(out, back, f->q);
      break;
    case SAP_SENSOR_FRAME_X_AXIS:
    case SAP_SENSOR_FRAME_Y_AXIS:
    case SAP_SENSOR_FRAME_Z_AXIS:
      sap_m3_tmul_v3(out, to->R, f->R + 3 * (s->type - SAP_SENSOR_FRAME_X_AXIS));
      break;
    case SAP_SENSOR_FRAME_ACCELERATION:
      sap_motion_of_point(r->kin, r->multibody->motions, f->body, f->p, v, out);
      break;
    case SAP_SENSOR_FRAME_ANGULAR_ACCELERATION:
      sap_v3_copy(out, r->multibody->motions[f->body].A);
      break;
    default:
      read_velocity(r, s, f, to, out);
      break;
  }
}

static void read_framed(const reading* r, const sap_sensor_def* s, double* out) {
  static const double origin[3] = {0.0, 0.0, 0.0}, identity[4] = {1.0, 0.0, 0.0, 0.0};
  const frame f = place_frame(r, s->object, s->p_BX, s->q_BX);
  if (s->type <= SAP_SENSOR_TOUCH) {
    read_local(r, s, &f, out);
    return;
  }
  const bool world = s->reference < 0;
  const frame to = place_frame(r, world ? 0 : s->reference, world ? origin : s->p_BR,
                               world ? identity : s->q_BR);
  read_frame(r, s, &f, &to, out);
}

// --- joints, tendons, actuators ---

// A position with limits: of a joint or a tendon.
typedef struct coordinate {
  double x, rate, effort, lower, upper;
  int32_t limit_key;  // of its limits' rows
} coordinate;

// quantity: in the order of the sensors of joints, which is that of tendons.
static double read_coordinate(const reading* r, int quantity, const coordinate* c, int32_t id) {
  const double sign = c->x < c->lower   ? 1.0
                      : c->x > c->upper ? -1.0
                                        : 0.0;  // of the distance's rate
  const double beyond = sign > 0.0 ? c->x - c->lower : sign < 0.0 ? c->upper - c->x : 0.0;
  const double values[] = {c->x, c->rate, c->effort, beyond, sign * c->rate};
  return quantity == SAP_SENSOR_JOINT_LIMIT_FORCE - SAP_SENSOR_JOINT_POSITION
             ? fabs(sap_multibody_force_of_limits(r->multibody, r->report, c->limit_key, id))
             : values[quantity];
}

// Adds the generalized forces of the actuators, whose forces are known, to zeros.
static double joint_effort(const reading* r, int32_t dof) {
  double* tau = r->multibody->effort;
  memset(tau, 0, (size_t)r->model->sizes.nv * sizeof *tau);
  for (int32_t i = 0; i < r->model->sizes.actuators; ++i) {
    const sap_model_actuator* a = &r->model->actuators[i];
    if (a->transmission != SAP_TRANSMISSION_ADHESION) {
      sap_transmission_add_force(r->kin, i, a->gear * r->multibody->actuator_force[i], tau);
    }
  }
  return tau[dof];
}

static void read_joint(const reading* r, const sap_sensor_def* s, double* out) {
  const sap_model_joint_data* joint = &r->model->joints[s->object];
  const double *q = r->state->q + joint->q_start, *v = r->state->v + joint->v_start;
  if (s->type == SAP_SENSOR_BALL_QUATERNION) {
    memcpy(out, q, 4 * sizeof *q);
    (void)sap_quaternion_normalize(out);
  } else if (s->type == SAP_SENSOR_BALL_ANGULAR_VELOCITY) {
    sap_v3_copy(out, v);
  } else {
    const bool efforts = s->type == SAP_SENSOR_JOINT_EFFORT;
    const coordinate c = {
        q[0],         v[0],         efforts ? joint_effort(r, joint->v_start) : 0.0,
        joint->lower, joint->upper, SAP_KEY_LOWER};
    out[0] = read_coordinate(r, (int)s->type - SAP_SENSOR_JOINT_POSITION, &c, s->object);
  }
}

static void read_tendon(const reading* r, const sap_sensor_def* s, double* out) {
  const sap_model_tendon* tendon = &r->model->tendons[s->object];
  coordinate c = {.x = sap_tendon_length(r->kin, s->object),
                  .lower = tendon->lower,
                  .upper = tendon->upper,
                  .limit_key = SAP_KEY_TENDON_LOWER};
  const sap_dynamics_state at = {.kin = r->kin, .v = r->state->v};
  (void)sap_dynamics_tendon_force(r->multibody->dynamics, &at, s->object, &c.rate);
  for (int32_t i = 0; i < r->model->sizes.actuators && r->report != NULL; ++i) {
    const sap_model_actuator* a = &r->model->actuators[i];
    const bool pulls = a->transmission == SAP_TRANSMISSION_TENDON && a->target == s->object;
    c.effort += pulls ? r->multibody->actuator_force[i] : 0.0;
  }
  out[0] = read_coordinate(r, (int)s->type - SAP_SENSOR_TENDON_LENGTH, &c, s->object);
}

static void read_actuator(const reading* r, const sap_sensor_def* s, double* out) {
  const double gear = r->model->actuators[s->object].gear;
  out[0] =
      s->type == SAP_SENSOR_ACTUATOR_FORCE ? r->multibody->actuator_force[s->object]
      : s->type == SAP_SENSOR_ACTUATOR_LENGTH
          ? gear * sap_transmission_length(r->kin, s->object)
          : gear * sap_transmission_rate(r->multibody->dynamics, r->kin, r->state->v, s->object);
}

// --- subtrees and totals ---

static void read_subtree(const reading* r, const sap_sensor_def* s, double* out) {
  const sap_kinematics* kin = r->kin;
  double mass = 0.0, center[3] = {0.0}, velocity[3] = {0.0}, momentum[3] = {0.0};
  for (int32_t b = s->object; b < r->model->sizes.bodies; ++b) {
    const sap_model_body* body = &r->model->bodies[b];
    const double* omega = r->multibody->motions[b].V;
    double p[3], v[3], I[6], arm[3];
    if (!sap_model_is_below(r->model, b, s->object)) {
      continue;
    }
    sap_kinematics_point(kin, b, body->p_BCo, p);
    sap_motion_of_point(kin, r->multibody->motions, b, p, v, NULL);
    mass += body->mass;
    sap_v3_add_scaled(center, p, body->mass);
    sap_v3_add_scaled(velocity, v, body->mass);
    sap_m3_rotate_packed(I, kin->R_WB + 9 * (size_t)b, body->I_BCo_B);
    sap_symmetric_mul(arm, I, omega);
    sap_v3_add(momentum, momentum, arm);
    sap_v3_cross(arm, p, v);
    sap_v3_add_scaled(momentum, arm, body->mass);
  }
  const double per_mass = mass > 0.0 ? 1.0 / mass : 0.0;
  sap_v3_scale(center, center, per_mass);
  if (s->type == SAP_SENSOR_SUBTREE_MOMENTUM) {  // about the centre, from that about the origin
    sap_v3_cross(out, center, velocity);
    sap_v3_sub(out, momentum, out);
  } else if (s->type == SAP_SENSOR_SUBTREE_VELOCITY) {
    sap_v3_scale(out, velocity, per_mass);
  } else {
    sap_v3_copy(out, mass > 0.0 ? center : kin->p_WB + 3 * (size_t)s->object);
  }
}

static void read_total(const reading* r, const sap_sensor_def* s, double* out) {
  const double values[] = {r->state->t, r->totals.potential_gravity + r->totals.potential_springs,
                           r->totals.kinetic};
  out[0] = values[s->type - SAP_SENSOR_CLOCK];
}

// --- all ---

static void read_sensor(const reading* r, const sap_sensor_def* s, double* out) {
  static void (*const readers[])(const reading*, const sap_sensor_def*, double*) = {
      [SAP_SENSES_FRAME] = read_framed,      [SAP_SENSES_SCALAR_JOINT] = read_joint,
      [SAP_SENSES_BALL_JOINT] = read_joint,  [SAP_SENSES_TENDON] = read_tendon,
      [SAP_SENSES_ACTUATOR] = read_actuator, [SAP_SENSES_BODY] = read_subtree,
      [SAP_SENSES_NOTHING] = read_total};
  const sap_sensor_traits traits = sap_sensor_find_traits((int)s->type);
  const bool is_direction =
      s->type == SAP_SENSOR_BALL_QUATERNION ||
      (s->type >= SAP_SENSOR_FRAME_QUATERNION && s->type <= SAP_SENSOR_FRAME_Z_AXIS);
  memset(out, 0, (size_t)traits.values * sizeof *out);
  if (traits.of_step && r->report == NULL) {
    return;
  }
  readers[traits.object](r, s, out);
  for (int32_t i = 0; i < traits.values && s->cutoff > 0.0 && !is_direction; ++i) {
    out[i] = fmax(-s->cutoff, fmin(out[i], s->cutoff));
  }
}

// Sets the motions and the forces that sensors use.
static sap_status prepare(reading* r, sap_error* error) {
  sap_multibody* m = r->multibody;
  memset(m->acceleration, 0, (size_t)r->model->sizes.nv * sizeof *m->acceleration);
  if (r->report != NULL) {
    SAP_TRY(sap_multibody_collect(m, r->report, error));
    SAP_TRY(sap_multibody_accelerations(m, r->report, r->state->v, m->acceleration, error));
    SAP_TRY(sap_multibody_actuator_forces(m, r->report, m->actuator_force, error));
  }
  r->kin = sap_multibody_start_kinematics(m, r->state->q);
  const sap_dynamics_state at = {.kin = r->kin, .v = r->state->v};
  sap_dynamics_motions(m->dynamics, &at, m->acceleration, m->motions);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_sensors(sap_multibody* multibody, const sap_step_report* report,
                                 const sap_state* state, double* values, sap_error* error) {
  reading r = {.multibody = multibody, .state = state, .report = report};
  SAP_TRY(sap_multibody_diagnose(multibody, state, &r.totals, error));  // checks the state
  r.model = multibody->model;
  if (r.model->sizes.sensors == 0) {
    return SAP_STATUS_OK;
  }
  SAP_NOT_NULL(error, values);
  SAP_TRY(prepare(&r, error));
  for (int32_t i = 0; i < r.model->sizes.sensors; ++i) {
    read_sensor(&r, &r.model->sensors[i], values);
    values += sap_sensor_find_traits((int)r.model->sensors[i].type).values;
  }
  return SAP_STATUS_OK;
}
