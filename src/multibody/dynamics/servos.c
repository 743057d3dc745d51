// SPDX-License-Identifier: BSD-3-Clause
// Servos within their bounds, as linear forces of the momentum balance. Along the length x of their
// transmission, x0 + dt J v with x0 and J at the start of the step, those of one bound act as
//   f = offset - kp x - kd dx/dt,   K = kp J' J,   D = kd J' J
// A step takes them so if f at v0 is within the bounds; where f leaves them by the end of the step,
// it is solved again with a block in the contact problem instead
// (multibody/assembly/assembly_servo.c), which has the same law. So have all servos of other
// schemes, those that move more than one tree, those with gains that depend on the input, and those
// far beyond the near-rigid limit, 4 pi^2 here, which would take digits from A:
//   dt (dt kp + kd) J diag(I)^-1 J' > STIFFEST,  I the inertia on each dof in the default pose
#include <math.h>

#include "math/scalar.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

// Finds x0 and J of a servo; false: it moves nothing, or more than one tree.
static bool place_servo(sap_dynamics* d, const sap_kinematics* kin, sap_servo* servo) {
  const sap_model* model = d->model;
  const sap_model_actuator* a = &model->actuators[servo->id];
  const sap_model_joint_data* joint = &model->joints[a->target];
  if (a->transmission == SAP_TRANSMISSION_JOINT && sap_joint_is_scalar(joint->type)) {
    servo->x0 = kin->q[joint->q_start];
    servo->dofs[0] = joint->v_start;
    servo->J[0] = 1.0;
    servo->count = 1;
    return !d->locked[joint->v_start];
  }
  servo->count = 0;
  sap_rows_begin(&d->rows, 1);
  servo->x0 = sap_transmission_add_row(kin, servo->id, 1.0, &d->rows, 0);
  if (d->rows.ntrees != 1) {
    return false;
  }
  const double* row = sap_rows_at(&d->rows, 0);
  const int32_t first = model->tree_dofs[d->rows.trees[0]];
  for (int32_t i = first; i < first + model->tree_sizes[d->rows.trees[0]]; ++i) {
    if (row[i] != 0.0) {
      servo->dofs[servo->count] = i;
      servo->J[servo->count++] = row[i];
    }
  }
  return servo->count > 0;
}

// True if the actuator is a servo of the kind above.
static bool is_candidate(const sap_dynamics* d, int32_t id, const double* input) {
  const sap_model_actuator* a = &d->model->actuators[id];
  const bool on_joint = a->transmission == SAP_TRANSMISSION_JOINT;
  return d->actuator_active[id] && !sap_dynamics_actuator_is_elastic(d->model, id) &&
         sap_dynamics_actuator_is_servo(d->model, id, input) &&
         a->transmission != SAP_TRANSMISSION_ADHESION &&
         (!on_joint || !isfinite(d->model->joints[a->target].motor_speed)) &&
         (on_joint || sap_model_effort_bound(d->model, id) < 0);
}

// Returns the servo that others of this bound have joined, or a new one; NULL: it has no place.
static sap_servo* find_servo(sap_dynamics* d, const sap_kinematics* kin, int32_t id) {
  const int32_t bound = sap_model_effort_bound(d->model, id);
  for (int32_t s = 0; bound >= 0 && s < d->nservos; ++s) {
    if (d->servos[s].bound == bound) {
      return &d->servos[s];
    }
  }
  sap_servo* servo = &d->servos[d->nservos];
  *servo = (sap_servo){.id = id, .bound = bound, .dofs = servo->dofs, .J = servo->J};
  if (!place_servo(d, kin, servo)) {
    return NULL;
  }
  ++d->nservos;
  return servo;
}

void sap_actuator_line_add(sap_actuator_line* sum, const sap_actuator_line* line, double gear) {
  sum->offset += gear * line->offset;
  sum->kp += gear * gear * line->kp;
  sum->kd += gear * gear * line->kd;
  sum->lower += gear * (gear > 0.0 ? line->lower : line->upper);
  sum->upper += gear * (gear > 0.0 ? line->upper : line->lower);
}

// The force along x after a step of dt, at v.
static double force_at(const sap_servo* servo, const double* v, double dt) {
  double rate = 0.0;
  for (int32_t i = 0; i < servo->count; ++i) {
    rate += servo->J[i] * v[servo->dofs[i]];
  }
  return servo->law.offset - servo->law.kp * (servo->x0 + dt * rate) - servo->law.kd * rate;
}

#define STIFFEST 1e4

static bool is_too_stiff(const sap_dynamics* d, const sap_servo* servo, double dt) {
  double mobility = 0.0;
  for (int32_t i = 0; i < servo->count; ++i) {
    mobility += servo->J[i] * servo->J[i] / d->model->dof_inertia[servo->dofs[i]];
  }
  return !(dt * (dt * servo->law.kp + servo->law.kd) * mobility <= STIFFEST);
}

// Takes the servo out of the linear ones if its force is not within its bounds. Returns true if it
// has been one of them.
static bool drop_servo(sap_servo* servo, const double* v, double dt) {
  const double force = force_at(servo, v, dt);
  const bool within = force >= servo->law.lower && force <= servo->law.upper;
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
    d->servo_of[id] = -1;
    sap_servo* servo = is_candidate(d, id, at->input) ? find_servo(d, at->kin, id) : NULL;
    if (servo == NULL) {
      continue;
    }
    const sap_actuator_line line = sap_dynamics_actuator_line(model, id, at->input);
    d->servo_of[id] = (int32_t)(servo - d->servos);
    sap_actuator_line_add(&servo->law, &line, model->actuators[id].gear);
  }
  SAP_EACH(sap_servo, servo, d->servos, d->nservos) {
    if (servo->bound >= 0) {
      double lower, upper;
      motors = motors == NULL ? sap_dynamics_motor_efforts(d, at) : motors;
      sap_model_effort_range(model, servo->bound, &lower, &upper);
      lower -= motors[servo->bound];
      upper -= motors[servo->bound];
      servo->law.lower = sap_clamp(servo->law.lower, lower, upper);
      servo->law.upper = sap_clamp(servo->law.upper, lower, upper);
    }
    servo->linear = !is_too_stiff(d, servo, dt);
    (void)drop_servo(servo, at->v, dt);
  }
}

bool sap_dynamics_servo_is_linear(const sap_dynamics* d, int32_t actuator) {
  return d->nservos > 0 && d->servo_of[actuator] >= 0 && d->servos[d->servo_of[actuator]].linear;
}

void sap_dynamics_place_servos(sap_dynamics* d, const sap_kinematics* kin) {
  for (int32_t s = 0; s < d->nservos; ++s) {
    (void)place_servo(d, kin, &d->servos[s]);
  }
}

int32_t sap_dynamics_check_servos(sap_dynamics* d, const double* v, double dt) {
  int32_t dropped = 0;
  for (int32_t s = 0; s < d->nservos; ++s) {
    dropped += drop_servo(&d->servos[s], v, dt);
  }
  return dropped;
}

void sap_dynamics_add_servos(const sap_dynamics* d, const double* v, double dt, double sign,
                             double* k) {
  SAP_EACH(const sap_servo, servo, d->servos, d->nservos) {
    const double force = servo->linear ? sign * force_at(servo, v, dt) : 0.0;
    for (int32_t i = 0; servo->linear && i < servo->count; ++i) {
      k[servo->dofs[i]] += servo->J[i] * force;
    }
  }
}

void sap_dynamics_add_servo_matrices(const sap_dynamics* d, double K_scale, double D_scale,
                                     double* const* diagonal) {
  const sap_model* model = d->model;
  SAP_EACH(const sap_servo, servo, d->servos, d->nservos) {
    const double scale = K_scale * servo->law.kp + D_scale * servo->law.kd;
    for (int32_t j = 0; servo->linear && j < servo->count; ++j) {
      const int32_t tree = model->dof_tree[servo->dofs[j]], first = model->tree_dofs[tree];
      double* column =
          diagonal[tree] + (size_t)model->tree_sizes[tree] * (size_t)(servo->dofs[j] - first);
      for (int32_t i = j; i < servo->count; ++i) {
        column[servo->dofs[i] - first] += scale * servo->J[i] * servo->J[j];
      }
    }
  }
}

sap_status sap_dynamics_create_servos(sap_dynamics* d, sap_error* error) {
  const sap_model* model = d->model;
  const int32_t count = d->nother_actuators;
  int32_t* dofs = NULL;
  double* J = NULL;
  int32_t largest = 1;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    largest = model->tree_sizes[t] > largest ? model->tree_sizes[t] : largest;
  }
  SAP_TRY(SAP_POOL_ADD(&d->pool, &d->servos, count, error));
  SAP_TRY(SAP_POOL_ADD(&d->pool, &d->servo_of, model->sizes.actuators, error));
  SAP_TRY(SAP_POOL_ADD(&d->pool, &dofs, (size_t)count * (size_t)largest, error));
  SAP_TRY(SAP_POOL_ADD(&d->pool, &J, (size_t)count * (size_t)largest, error));
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    d->servo_of[i] = -1;
  }
  for (int32_t s = 0; s < count; ++s) {
    d->servos[s].dofs = dofs + (size_t)s * (size_t)largest;
    d->servos[s].J = J + (size_t)s * (size_t)largest;
  }
  return SAP_STATUS_OK;
}
