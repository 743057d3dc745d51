// SPDX-License-Identifier: BSD-3-Clause
// Servos within their bounds, as linear forces of the momentum balance. Along x = sum_i c_i q_i, a
// joint's coordinate or the length of a fixed tendon, those of one length and one bound act as
//   f = offset - kp x - kd dx/dt,   K = kp c c',   D = kd c c'
// A step takes them so if f at (q0 (+) dt v0, v0) is within the bounds; where f leaves them by the
// end of the step, it is solved again with a block in the contact problem instead
// (multibody/assembly/assembly_servo.c), as are all servos of other lengths and schemes, those with
// gains that depend on the input, and those far beyond the near-rigid limit, 4 pi^2 here, which
// would take digits from A:
//   dt (dt kp + kd) c' diag(I)^-1 c > STIFFEST,  I the inertia on each dof in the default pose
#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

// Finds the terms of a servo's length; false: it is not linear, or moves more than one tree.
static bool find_length(const sap_dynamics* d, int32_t id, sap_servo* servo) {
  static const double one = 1.0;
  const sap_model* model = d->model;
  const sap_model_actuator* a = &model->actuators[id];
  servo->bound = sap_model_effort_bound(model, id);
  if (a->transmission == SAP_TRANSMISSION_JOINT) {
    const sap_model_joint_data* joint = &model->joints[a->target];
    servo->joints = &a->target;
    servo->coefficients = &one;
    servo->count = 1;
    return sap_joint_is_scalar(joint->type) && !isfinite(joint->motor_speed) &&
           !d->locked[joint->v_start];
  }
  if (a->transmission != SAP_TRANSMISSION_TENDON || servo->bound >= 0) {
    return false;
  }
  const sap_model_tendon* tendon = &model->tendons[a->target];
  servo->joints = model->tendon_joints + tendon->first;
  servo->coefficients = model->tendon_coefficients + tendon->first;
  servo->count = tendon->count;
  bool one_tree = tendon->npoints == 0 && tendon->count > 0;
  for (int32_t i = 1; i < tendon->count; ++i) {
    one_tree =
        one_tree && model->joints[servo->joints[i]].tree == model->joints[servo->joints[0]].tree;
  }
  return one_tree;
}

// Returns the servo that others of this bound have joined, or a new one.
static sap_servo* find_servo(sap_dynamics* d, const sap_servo* length) {
  for (int32_t s = 0; length->bound >= 0 && s < d->nservos; ++s) {
    if (d->servos[s].bound == length->bound) {
      return &d->servos[s];
    }
  }
  d->servos[d->nservos] = *length;
  return &d->servos[d->nservos++];
}

// The force along x at q (+) dt v and v.
static double force_at(const sap_dynamics* d, const sap_servo* servo, const double* q,
                       const double* v, double dt) {
  double x = 0.0, rate = 0.0;
  for (int32_t i = 0; i < servo->count; ++i) {
    const sap_model_joint_data* joint = &d->model->joints[servo->joints[i]];
    x += servo->coefficients[i] * (q[joint->q_start] + dt * v[joint->v_start]);
    rate += servo->coefficients[i] * v[joint->v_start];
  }
  return servo->offset - servo->kp * x - servo->kd * rate;
}

#define STIFFEST 1e4

static bool is_too_stiff(const sap_dynamics* d, const sap_servo* servo, double dt) {
  double mobility = 0.0;
  for (int32_t i = 0; i < servo->count; ++i) {
    const double c = servo->coefficients[i];
    mobility += c * c / d->model->dof_inertia[d->model->joints[servo->joints[i]].v_start];
  }
  return !(dt * (dt * servo->kp + servo->kd) * mobility <= STIFFEST);
}

// Takes the servo out of the linear ones if its force is not within its bounds. Returns true if it
// has been one of them.
static bool drop_servo(const sap_dynamics* d, sap_servo* servo, const double* q, const double* v,
                       double dt) {
  const double force = force_at(d, servo, q, v, dt);
  const bool within = force >= servo->lower && force <= servo->upper;
  const bool dropped = servo->linear && !within;
  servo->linear = servo->linear && within;
  return dropped;
}

void sap_dynamics_choose_servos(sap_dynamics* d, const sap_dynamics_state* at, double dt) {
  const sap_model* model = d->model;
  const double* motors = NULL;
  d->nservos = 0;
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t id = d->other_actuators[n];
    sap_servo length = {0};
    d->servo_of[id] = -1;
    if (!d->actuator_active[id] || !sap_dynamics_actuator_is_servo(model, id, at->input) ||
        sap_dynamics_actuator_is_elastic(model, id) || !find_length(d, id, &length)) {
      continue;
    }
    const sap_actuator_line line = sap_dynamics_actuator_line(model, id, at->input);
    const double gear = model->actuators[id].gear;
    sap_servo* servo = find_servo(d, &length);
    d->servo_of[id] = (int32_t)(servo - d->servos);
    servo->offset += gear * line.offset;
    servo->kp += gear * gear * line.kp;
    servo->kd += gear * gear * line.kd;
    servo->lower += gear * (gear > 0.0 ? line.lower : line.upper);
    servo->upper += gear * (gear > 0.0 ? line.upper : line.lower);
  }
  for (int32_t s = 0; s < d->nservos; ++s) {
    sap_servo* servo = &d->servos[s];
    if (servo->bound >= 0) {
      double lower, upper;
      motors = motors == NULL ? sap_dynamics_motor_efforts(d, at) : motors;
      sap_model_effort_range(model, servo->bound, &lower, &upper);
      lower -= motors[servo->bound];
      upper -= motors[servo->bound];
      servo->lower = sap_clamp(servo->lower, lower, upper);
      servo->upper = sap_clamp(servo->upper, lower, upper);
    }
    servo->linear = !is_too_stiff(d, servo, dt);
    (void)drop_servo(d, servo, at->kin->q, at->v, dt);
  }
}

void sap_dynamics_forget_servos(sap_dynamics* d) {
  d->nservos = 0;
}

bool sap_dynamics_servo_is_linear(const sap_dynamics* d, int32_t actuator) {
  return d->nservos > 0 && d->servo_of[actuator] >= 0 && d->servos[d->servo_of[actuator]].linear;
}

int32_t sap_dynamics_check_servos(sap_dynamics* d, const double* q0, const double* v, double dt) {
  int32_t dropped = 0;
  for (int32_t s = 0; s < d->nservos; ++s) {
    dropped += drop_servo(d, &d->servos[s], q0, v, dt);
  }
  return dropped;
}

void sap_dynamics_add_servos(const sap_dynamics* d, const double* q, const double* v, double dt,
                             double sign, double* k) {
  for (int32_t s = 0; s < d->nservos; ++s) {
    const sap_servo* servo = &d->servos[s];
    const double force = servo->linear ? sign * force_at(d, servo, q, v, dt) : 0.0;
    for (int32_t i = 0; servo->linear && i < servo->count; ++i) {
      k[d->model->joints[servo->joints[i]].v_start] += servo->coefficients[i] * force;
    }
  }
}

// diagonal += s c c' of its tree: lower triangle.
static void add_square(const sap_model* model, const sap_servo* servo, double s, double* diagonal) {
  const int32_t tree = model->joints[servo->joints[0]].tree;
  const int32_t first = model->tree_dofs[tree], n = model->tree_sizes[tree];
  for (int32_t a = 0; a < servo->count; ++a) {
    for (int32_t b = 0; b < servo->count; ++b) {
      const int32_t i = model->joints[servo->joints[a]].v_start - first;
      const int32_t j = model->joints[servo->joints[b]].v_start - first;
      if (i >= j) {
        diagonal[(size_t)n * (size_t)j + (size_t)i] +=
            s * servo->coefficients[a] * servo->coefficients[b];
      }
    }
  }
}

void sap_dynamics_add_servo_matrices(const sap_dynamics* d, double K_scale, double D_scale,
                                     double* const* diagonal) {
  for (int32_t s = 0; s < d->nservos; ++s) {
    const sap_servo* servo = &d->servos[s];
    if (servo->linear) {
      add_square(d->model, servo, K_scale * servo->kp + D_scale * servo->kd,
                 diagonal[d->model->joints[servo->joints[0]].tree]);
    }
  }
}

bool sap_dynamics_may_have_servos(const sap_dynamics* d) {
  bool may = false;
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const sap_transmission way = d->model->actuators[d->other_actuators[n]].transmission;
    may = may || way == SAP_TRANSMISSION_JOINT || way == SAP_TRANSMISSION_TENDON;
  }
  return may;
}
