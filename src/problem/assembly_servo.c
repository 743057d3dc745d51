// SPDX-License-Identifier: BSD-3-Clause
// Servos: the force follows its law at the end of the step, up to its bounds.
//   gamma/dt = clamp(offset - kp (l0 + dt J v) - kd J v, lower, upper),  l the transmission's
//   length is a box block with  R = 1/(dt (dt kp + kd)),  v_hat = (offset - kp l0)/(dt kp + kd),
//   bounds dt lower, dt upper.
// Gains beyond what the near-rigid limit R >= beta^2/(4 pi^2) w allows are scaled down together
// with the offset: v_hat, and with it the place where the servo is at rest, stays; the bounds do
// too. The servos of a joint with an effort range act as one, whose bounds are the sums of theirs,
// cut to what the joint's motors leave of the range.
#include <math.h>

#include "dynamics/actuators.h"
#include "dynamics/transmission.h"
#include "problem/assembly_data.h"

// Adds the block of the row in assembly->rows.
static sap_status add_servo(const sap_assembly_call* call, const sap_servo_law* law, double length,
                            uint64_t key) {
  double w = 0.0;
  const sap_status status = sap_assembly_rows_scale(call, 0, 1, &w);
  if (status != SAP_STATUS_OK || !(w > 0.0)) {
    return status;
  }
  const double gain = call->dt * law->kp + law->kd;
  const sap_row_law row = {.set = SAP_SET_BOX,
                           .R = {fmax(1.0 / (call->dt * gain), sap_assembly_near_rigid(call, w))},
                           .v_hat = {(law->offset - law->kp * length) / gain},
                           .lower = {call->dt * law->lower},
                           .upper = {call->dt * law->upper},
                           .key = key};
  return sap_assembly_add_rows(call, &row);
}

static sap_servo_law law_of(const sap_assembly_call* call, int32_t id) {
  const sap_model* model = call->assembly->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  return (sap_servo_law){
      .offset = sap_dynamics_actuator_offset(model, id, call->start->control),
      .kp = -actuator->bias[1],
      .kd = -actuator->bias[2],
      .lower = actuator->force_lower,
      .upper = actuator->force_upper,
  };
}

static sap_status add_single(const sap_assembly_call* call, int32_t id) {
  const sap_model_actuator* actuator = &call->assembly->model->actuators[id];
  const sap_assembly_start* start = call->start;
  sap_rows* rows = &call->assembly->rows;
  sap_rows_begin(rows, 1);
  sap_dynamics_add_transmission_row(start->dynamics, id, actuator->gear, rows, 0);
  const double length = sap_dynamics_transmission_length(start->dynamics, start->q0, id);
  const sap_servo_law law = law_of(call, id);
  return add_servo(call, &law, actuator->gear * length, sap_assembly_key(SAP_KEY_SERVO, id, 0, 0));
}

// Adds a servo to those of its joint, in terms of the joint's coordinate and effort.
static void join(const sap_assembly_call* call, int32_t id) {
  const sap_model_actuator* actuator = &call->assembly->model->actuators[id];
  sap_servo_law* sum = &call->assembly->joint_servos[actuator->target];
  const sap_servo_law law = law_of(call, id);
  const double gear = actuator->gear;
  if (!sum->used) {
    *sum = (sap_servo_law){.used = true};
  }
  sum->offset += gear * law.offset;
  sum->kp += gear * gear * law.kp;
  sum->kd += gear * gear * law.kd;
  sum->lower += gear * (gear > 0.0 ? law.lower : law.upper);
  sum->upper += gear * (gear > 0.0 ? law.upper : law.lower);
}

static double clamp(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

static sap_status add_joined(const sap_assembly_call* call, int32_t joint, double motors) {
  sap_assembly* assembly = call->assembly;
  const sap_model_joint_data* data = &assembly->model->joints[joint];
  sap_servo_law law = assembly->joint_servos[joint];
  assembly->joint_servos[joint].used = false;
  law.lower = clamp(law.lower, data->effort_lower - motors, data->effort_upper - motors);
  law.upper = clamp(law.upper, data->effort_lower - motors, data->effort_upper - motors);
  sap_rows_begin(&assembly->rows, 1);
  sap_dynamics_add_joint_row(call->start->dynamics, joint, 1.0, &assembly->rows, 0);
  return add_servo(call, &law, call->start->q0[data->q_start],
                   sap_assembly_key(SAP_KEY_JOINT_SERVOS, joint, 0, 0));
}

static bool is_joined(const sap_model* model, int32_t id) {
  const sap_model_actuator* actuator = &model->actuators[id];
  return actuator->transmission == SAP_TRANSMISSION_JOINT &&
         sap_model_has_effort_range(model, actuator->target);
}

static sap_status add_all_joined(const sap_assembly_call* call) {
  const sap_model* model = call->assembly->model;
  const double* motors = sap_dynamics_motor_efforts(call->start->dynamics, call->start->control);
  for (int32_t joint = 0; joint < model->sizes.joints; ++joint) {
    const sap_status status = call->assembly->joint_servos[joint].used
                                  ? add_joined(call, joint, motors[joint])
                                  : SAP_STATUS_OK;
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(call->error, "servos of joint %d '%s'", joint,
                       sap_model_name(model, SAP_ELEMENT_JOINT, joint));
      return status;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_assembly_add_servos(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  bool joined = false;
  for (int32_t id = 0; id < model->sizes.actuators; ++id) {
    if (!model->actuators[id].servo || !sap_dynamics_actuator_is_on(start->dynamics, id)) {
      continue;
    }
    if (is_joined(model, id)) {
      join(&call, id);
      joined = true;
      continue;
    }
    const sap_status status = add_single(&call, id);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "actuator %d '%s'", id,
                       sap_model_name(model, SAP_ELEMENT_ACTUATOR, id));
      return status;
    }
  }
  return joined ? add_all_joined(&call) : SAP_STATUS_OK;
}
