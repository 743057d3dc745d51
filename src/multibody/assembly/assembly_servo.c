// SPDX-License-Identifier: BSD-3-Clause
// Servos that are not linear forces of the step (multibody/dynamics/servos.c): the force follows
// its law at the end of the step, up to its bounds.
//   gamma/dt = clamp(offset - kp (l0 + dt J v) - kd J v, lower, upper)   l: transmission length
// is a box block with
//   R     = 1/(dt (dt kp + kd))
//   v_hat = (offset - kp l0)/(dt kp + kd)
//   bounds  dt lower, dt upper
// At the theta point of a step that resolves it (contact/contact_law.c), with length and speed
// there:
//   c     = dt theta theta_vq kp + theta kd
//   R     = 1/(dt c)
//   v_hat = (offset - kp (l0 + dt theta (1 - theta_vq) dl0/dt) - kd (1 - theta) dl0/dt)/c
// Gains beyond the near-rigid limit R >= beta^2/(4 pi^2) w are scaled down together with the
// offset: v_hat, and with it the rest position of the servo, and the bounds stay the same. The
// servos of a joint or tendon with an effort range act as one, whose bounds are the sums of theirs,
// clamped to the part of the range that its motors leave.
//
// Adhesion: a force f pulls a body and the bodies it touches together, shared evenly by the
// contacts of the body along their normals, independent of the contacts' own forces:
//   J v = mean of the normal velocities,  gamma = -dt f
// is a box block of one impulse, which R and v_hat do not change.
#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "math/vector3.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "problem/law.h"

// Adds the block of the row in assembly->rows.
static sap_status add_servo(const sap_assembly_call* call, const sap_actuator_line* law,
                            double length, uint64_t key) {
  double w = 0.0;
  SAP_TRY(sap_assembly_rows_scale(call, 0, 1, &w));
  if (!(w > 0.0)) {
    return SAP_STATUS_OK;
  }
  const sap_law_servo servo = {.offset = law->offset,
                               .kp = law->kp,
                               .kd = law->kd,
                               .length0 = sap_assembly_gap0(call, 0, length),
                               .rate0 = sap_rows_times(&call->assembly->rows, 0, call->start->v0),
                               .w = w};
  const sap_law_settings settings =
      sap_problem_law_settings(call->problem, call->start->regularization);
  double R, v_hat;
  sap_law_servo_row(&settings, &servo, &R, &v_hat);
  const sap_row_law row = {.set = SAP_SET_BOX,
                           .R = {R},
                           .v_hat = {v_hat},
                           .lower = {call->dt * law->lower},
                           .upper = {call->dt * law->upper},
                           .key = key};
  SAP_TRY(sap_assembly_add_rows(call, &row));
  sap_problem_set_start(call->problem,
                        &(sap_contact_start){.force = servo.offset - servo.kp * servo.length0,
                                             .stiffness = servo.kp,
                                             .damping = servo.kd,
                                             .wn = w});
  return SAP_STATUS_OK;
}

static sap_status add_single(const sap_assembly_call* call, int32_t id) {
  const sap_model_actuator* actuator = &call->assembly->model->actuators[id];
  const sap_assembly_start* start = call->start;
  sap_rows* rows = &call->assembly->rows;
  sap_rows_begin(rows, 1);
  const double length = sap_transmission_add_row(start->kin, id, actuator->gear, rows, 0);
  const sap_actuator_line law = sap_dynamics_actuator_line(call->assembly->model, id, start->input);
  return add_servo(call, &law, actuator->gear * length, sap_assembly_key(SAP_KEY_SERVO, id, 0, 0));
}

// Adds a servo to the sum of its bound, in terms of the joint's coordinate and effort, or of the
// tendon's length and tension.
static void join_servo(const sap_assembly_call* call, int32_t id, int32_t bound) {
  const sap_model* model = call->assembly->model;
  sap_servo_sum* sum = &call->assembly->bound_servos[bound];
  const sap_actuator_line law = sap_dynamics_actuator_line(model, id, call->start->input);
  sap_actuator_line_add(&sum->law, &law, model->actuators[id].gear);
  sum->gears += model->actuators[id].gear;
  ++sum->count;
}

static sap_status add_joined(const sap_assembly_call* call, int32_t bound, double motors) {
  sap_assembly* assembly = call->assembly;
  const int32_t tendon = bound - assembly->model->sizes.joints;
  const sap_kinematics* kin = call->start->kin;
  const sap_servo_sum* sum = &assembly->bound_servos[bound];
  sap_actuator_line law = sum->law;
  double lower, upper, length;
  sap_model_effort_range(assembly->model, bound, &lower, &upper);
  sap_rows_begin(&assembly->rows, 1);
  if (tendon < 0) {
    sap_kinematics_add_joint_row(kin, bound, 1.0, &assembly->rows, 0);
    length = kin->q[assembly->model->joints[bound].q_start];
  } else {
    // The range is that of forces before the gear: the mean of the gears, if they differ.
    const double gear = sum->gears / (double)sum->count;
    const double ends[2] = {gear * lower, gear * upper};
    lower = fmin(ends[0], ends[1]);
    upper = fmax(ends[0], ends[1]);
    length = sap_tendon_add_row(kin, tendon, 1.0, &assembly->rows, 0);
  }
  law.lower = sap_clamp(law.lower, lower - motors, upper - motors);
  law.upper = sap_clamp(law.upper, lower - motors, upper - motors);
  return add_servo(call, &law, length, sap_assembly_key(SAP_KEY_BOUND_SERVOS, bound, 0, 0));
}

static sap_status add_all_joined(const sap_assembly_call* call) {
  const sap_model* model = call->assembly->model;
  const sap_assembly_start* start = call->start;
  const sap_dynamics_state at = {start->kin, start->v0, start->input};
  const double* motors = sap_dynamics_motor_efforts(start->dynamics, &at);
  const int32_t joints = model->sizes.joints;
  for (int32_t bound = 0; bound < joints + model->sizes.tendons; ++bound) {
    if (call->assembly->bound_servos[bound].count > 0) {
      const bool on_joint = bound < joints;
      SAP_TRY_OR(add_joined(call, bound, motors[bound]),
                 sap_assembly_add_prefix(call, on_joint ? "servos of joint" : "servos of tendon",
                                         on_joint ? SAP_ELEMENT_JOINT : SAP_ELEMENT_TENDON,
                                         on_joint ? bound : bound - joints));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_assembly_add_servos(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  const int32_t first = sap_problem_block_count(problem);
  bool joined = false;
  const sap_dynamics* d = start->dynamics;
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t id = d->other_actuators[n];
    if (!d->actuator_active[id] || !sap_dynamics_actuator_is_servo(model, id, start->input) ||
        sap_dynamics_servo_is_linear(d, id)) {
      continue;
    }
    const int32_t bound = sap_model_effort_bound(model, id);
    if (bound >= 0) {
      if (!joined) {
        memset(assembly->bound_servos, 0,
               ((size_t)model->sizes.joints + (size_t)model->sizes.tendons) *
                   sizeof *assembly->bound_servos);
      }
      join_servo(&call, id, bound);
      joined = true;
      continue;
    }
    SAP_TRY_OR(add_single(&call, id),
               sap_assembly_add_prefix(&call, "actuator", SAP_ELEMENT_ACTUATOR, id));
  }
  if (joined) {
    SAP_TRY(add_all_joined(&call));
  }
  sap_assembly_record(assembly, SAP_BLOCKS_SERVO, first, problem);
  return SAP_STATUS_OK;
}

// Returns true if a contact touches at the start of the step, by its margin, and is one of the
// body's. Contacts ahead do not pull.
static bool pulls(const sap_model* model, const sap_contact* contact, int32_t body) {
  static const double touch = 1e-7;  // above the round-off of poses [m]
  if (contact->body_A != body && contact->body_B != body) {
    return false;
  }
  const sap_pair_def* pair = sap_model_find_pair(model, contact->shape_A, contact->shape_B);
  const double margin = pair != NULL ? pair->margin
                                     : fmax(model->shapes[contact->shape_A].margin,
                                            model->shapes[contact->shape_B].margin);
  return contact->phi <= margin + touch;
}

static sap_status add_pull(const sap_assembly_call* call, int32_t id, double force,
                           const sap_contact_list* contacts) {
  const sap_kinematics* kin = call->start->kin;
  const sap_model* model = call->assembly->model;
  const int32_t body = model->actuators[id].target;
  sap_rows* rows = &call->assembly->rows;
  int32_t touching = 0;
  for (int32_t i = 0; i < contacts->count; ++i) {
    touching += pulls(model, &contacts->contacts[i], body) ? 1 : 0;
  }
  sap_rows_begin(rows, 1);
  SAP_EACH(const sap_contact, contact, contacts->contacts, contacts->count) {
    if (pulls(model, contact, body)) {
      const int32_t bodies[2] = {contact->body_A, contact->body_B};
      double n[3], p[2][3];
      sap_v3_copy(p[0], contact->point);
      sap_v3_copy(p[1], contact->point);
      sap_v3_scale(n, contact->R_WC + 6, 1.0 / (double)touching);
      sap_kinematics_add_relative_row(kin, bodies, p, n, rows, 0);
    }
  }
  double w = 0.0;
  SAP_TRY(sap_assembly_rows_scale(call, 0, 1, &w));
  if (!(w > 0.0)) {
    return SAP_STATUS_OK;
  }
  const sap_row_law row = {.set = SAP_SET_BOX,
                           .R = {w},
                           .lower = {-call->dt * force},
                           .upper = {-call->dt * force},
                           .key = sap_assembly_key(SAP_KEY_ADHESION, id, 0, 0)};
  return sap_assembly_add_rows(call, &row);
}

sap_status sap_assembly_add_adhesion(sap_assembly* assembly, const sap_assembly_start* start,
                                     const sap_contact_list* contacts, sap_problem* problem,
                                     sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  const int32_t first = sap_problem_block_count(problem);
  const sap_dynamics* d = start->dynamics;
  for (int32_t n = 0; n < d->nother_actuators && contacts->count > 0; ++n) {
    const int32_t id = d->other_actuators[n];
    const sap_model_actuator* a = &model->actuators[id];
    if (a->transmission != SAP_TRANSMISSION_ADHESION || !d->actuator_active[id]) {
      continue;
    }
    const double force =
        a->gear * sap_dynamics_actuator_force(model, id, start->input, 0.0, 0.0).force;
    if (force != 0.0) {
      SAP_TRY_OR(add_pull(&call, id, force, contacts),
                 sap_assembly_add_prefix(&call, "actuator", SAP_ELEMENT_ACTUATOR, id));
    }
  }
  sap_assembly_record(assembly, SAP_BLOCKS_ADHESION, first, problem);
  return SAP_STATUS_OK;
}
