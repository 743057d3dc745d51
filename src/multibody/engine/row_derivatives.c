// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses of single rows: limits, dry friction and servos. The effect of a
// change of J is in moving_rows.c.
#include <math.h>

#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"

// The law of a row as a function of x = {g0 or length, w, rate at the start}.
typedef struct row_source {
  int kind;            // of its key
  bool moves, within;  // J varies, and is that of q^theta
  double stiffness, relaxation_time, damper;
  sap_law_servo servo;
  double x[3];
} row_source;

// R and v_hat.
static sap_status evaluate_row(const sap_slopes_call* call, const row_source* of, double out[2],
                               sap_error* error) {
  const double* x = of->x;
  const sap_compliant_row row = {.stiffness = of->stiffness,
                                 .relaxation_time = of->relaxation_time,
                                 .g0 = x[0],
                                 .rate0 = x[2],
                                 .w = x[1],
                                 .damper = of->damper,
                                 .recovery_speed = isinf(of->stiffness) ? SAP_RECOVERY_SPEED : 0.0,
                                 .unilateral = true};
  sap_law_servo servo = of->servo;
  servo.length0 = x[0];
  servo.w = x[1];
  servo.rate0 = x[2];
  out[0] = call->law.regularization->sigma * x[1];
  out[1] = 0.0;
  if (of->kind == SAP_KEY_SERVO || of->kind == SAP_KEY_BOUND_SERVOS) {
    sap_law_servo_row(&call->law, &servo, &out[0], &out[1]);
  } else if (of->kind != SAP_KEY_FRICTION && of->kind != SAP_KEY_TENDON_FRICTION) {
    return sap_law_row(&call->law, &row, &out[0], &out[1], error);
  }
  return SAP_STATUS_OK;
}

// The summed law of a servo, or of those of a bound, in terms of the length of the row.
static void find_servo(const sap_slopes_call* call, const sap_block* block, sap_law_servo* out) {
  const sap_dynamics* d = call->multibody->dynamics;
  const sap_model* model = call->multibody->model;
  const double* input = call->multibody->start.input;
  const int32_t of = sap_assembly_key_id(block->key, 0);
  const bool single = sap_assembly_key_kind(block->key) == SAP_KEY_SERVO;
  sap_actuator_line sum = {0};
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t id = d->other_actuators[n];
    const sap_actuator_line line = sap_dynamics_actuator_line(model, id, input);
    if (single && id == of) {
      sum = line;
    } else if (!single && sap_model_effort_bound(model, id) == of && d->actuator_active[id] &&
               sap_dynamics_actuator_is_servo(model, id, input) &&
               !sap_dynamics_servo_is_linear(d, id)) {
      sap_actuator_line_add(&sum, &line, model->actuators[id].gear);
    }
  }
  *out = (sap_law_servo){.offset = sum.offset, .kp = sum.kp, .kd = sum.kd};
}

// Length of the joint or tendon of a row.
static double find_length(const sap_slopes_call* call, const sap_kinematics* kin, int32_t id,
                          bool tendon) {
  double r[3];
  if (tendon) {
    return sap_tendon_length(kin, id);
  }
  const sap_model_joint_data* joint = &call->multibody->model->joints[id];
  if (joint->type == SAP_JOINT_BALL) {
    sap_quaternion_log(r, kin->q + joint->q_start);
    return sap_v3_norm(r);
  }
  return joint->type == SAP_JOINT_FREE ? 0.0 : kin->q[joint->q_start];
}

static sap_status find_source(const sap_slopes_call* call, const sap_block* block, row_source* out,
                              sap_error* error) {
  const sap_model* model = call->multibody->model;
  const int kind = sap_assembly_key_kind(block->key);
  int32_t id = sap_assembly_key_id(block->key, 0);
  const bool within = call->step->stage_theta_vq < 1.0;
  *out = (row_source){.kind = kind};
  if (kind == SAP_KEY_SERVO) {
    out->moves = !sap_transmission_is_fixed(model, &model->actuators[id]);
    out->within = out->moves && within;
    out->x[0] = model->actuators[id].gear *
                sap_transmission_length(out->within ? call->kin_theta : call->kin, id);
    find_servo(call, block, &out->servo);
  } else {
    const bool bound = kind == SAP_KEY_BOUND_SERVOS && id >= model->sizes.joints;
    const bool tendon = bound || kind == SAP_KEY_TENDON_LOWER || kind == SAP_KEY_TENDON_UPPER ||
                        kind == SAP_KEY_TENDON_FRICTION;
    id -= bound ? model->sizes.joints : 0;
    const sap_model_joint_data* joint = tendon ? NULL : &model->joints[id];
    const sap_model_tendon* of = tendon ? &model->tendons[id] : NULL;
    const bool upper = kind == SAP_KEY_UPPER || kind == SAP_KEY_TENDON_UPPER;
    out->stiffness = tendon ? of->limit_stiffness : joint->limit_stiffness;
    out->relaxation_time = tendon ? of->limit_relaxation_time : joint->limit_relaxation_time;
    out->damper = call->step->theta * call->step->dt * (tendon ? of->damping : joint->damping);
    out->moves = tendon ? of->npoints > 0 : joint->type == SAP_JOINT_BALL && upper;
    out->within = out->moves && within;
    const double length = find_length(call, out->within ? call->kin_theta : call->kin, id, tendon);
    out->x[0] = upper ? (tendon ? of->upper : joint->upper) - length
                      : length - (tendon ? of->lower : joint->lower);
    if (kind == SAP_KEY_BOUND_SERVOS) {
      out->x[0] = length;
      find_servo(call, block, &out->servo);
    }
  }
  if (out->within) {  // x is less what the way there has, to first order
    double way;
    sap_slopes_multiply_rows(call, call->multibody->point.moved, &way);
    out->x[0] -= way;
  }
  sap_slopes_multiply_rows(call, call->step->v0_free, &out->x[2]);
  SAP_TRY(sap_slopes_solve_rows(call, block, 0, error));
  sap_slopes_multiply_rows(call, call->w->X[0], &out->x[1]);
  return SAP_STATUS_OK;
}

// Adds the gradient to kp or kd of an actuator, if it is of this row.
static sap_status add_servo_parameter(const sap_slopes_call* call, const sap_block* block,
                                      const row_source* source, double gamma, double G,
                                      const sap_parameter* p, double* out, sap_error* error) {
  const sap_model* model = call->multibody->model;
  const int32_t of = sap_assembly_key_id(block->key, 0);
  const bool single = source->kind == SAP_KEY_SERVO;
  double law[2][2];
  if (!SAP_IS_OF_SERVO(p->kind) || of != (single ? p->id : sap_model_effort_bound(model, p->id))) {
    return SAP_STATUS_OK;
  }
  const sap_actuator_line line = sap_slopes_servo_line(call->multibody, p);
  const double gear = single ? 1.0 : model->actuators[p->id].gear;
  const double step =
      SAP_LAW_STEP * fmax(line.kp * source->servo.kp + line.kd * source->servo.kd, SAP_LAW_LEAST);
  for (int side = 0; side < 2; ++side) {
    const double h = side == 0 ? -step : step;
    row_source moved = *source;
    moved.servo.offset += h * gear * line.offset;
    moved.servo.kp += h * gear * gear * line.kp;
    moved.servo.kd += h * gear * gear * line.kd;
    SAP_TRY(evaluate_row(call, &moved, law[side], error));
  }
  *out +=
      call->w->u[0] * G * (law[1][1] - law[0][1] - gamma * (law[1][0] - law[0][0])) / (2.0 * step);
  return SAP_STATUS_OK;
}

// dgamma = G (dv_hat - d(J v) - gamma dR), of x, then of inputs, which change a servo's whole law.
sap_status sap_slopes_add_row(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                              int bound, sap_error* error) {
  const sap_model_sizes* sizes = &call->multibody->model->sizes;
  double g[3] = {0.0};
  row_source source;
  if (G == 0.0 && gamma == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(find_source(call, block, &source, error));
  const sap_parameter_gradient* p = call->out->parameters;
  for (int32_t i = 0; p != NULL && source.kind == SAP_KEY_FRICTION && i < p->count; ++i) {
    if (p->parameters[i].kind == SAP_PARAMETER_FRICTION_LOSS &&
        p->parameters[i].id == sap_assembly_key_id(block->key, 0)) {
      p->out[i] += bound * call->step->dt * call->w->u[0];
    }
  }
  const bool servo = source.kind == SAP_KEY_SERVO || source.kind == SAP_KEY_BOUND_SERVOS;
  for (int32_t i = 0; G != 0.0 && i < 3 + (servo ? sizes->nu : 0); ++i) {
    row_source moved = source;
    double law[2][2], *at = i < 3 ? &moved.x[i] : &call->multibody->start.input[i - 3];
    const double before = *at, least = i < 3 ? SAP_LAW_LEAST : 1.0;
    const double step = SAP_LAW_STEP * (i == 1 ? before : fmax(fabs(before), least));
    for (int side = 0; side < 2; ++side) {
      *at = before + (side == 0 ? -step : step);
      if (i >= 3) {
        find_servo(call, block, &moved.servo);
      }
      const sap_status status = evaluate_row(call, &moved, law[side], error);
      *at = before;
      SAP_TRY(status);
    }
    const double slope =
        G * (law[1][1] - law[0][1] - gamma * (law[1][0] - law[0][0])) / (2.0 * step);
    if (i < 3) {
      g[i] = slope;
    } else {
      sap_slopes_add_rows(call, &slope, call->out->du, i - 3);
    }
  }
  for (int32_t i = 0; p != NULL && servo && G != 0.0 && i < p->count; ++i) {
    SAP_TRY(
        add_servo_parameter(call, block, &source, gamma, G, &p->parameters[i], &p->out[i], error));
  }
  if (g[1] != 0.0) {
    const sap_mass_pull pull = {.W = {g[1] * (call->out->lambda != NULL ? call->w->u[0] : 1.0)}};
    sap_slopes_add_mass(call, block, &pull, NULL);
  }
  if (!source.within) {
    sap_slopes_add_square(call, &g[0], 1, call->out->dq0);
  }
  sap_slopes_add_square(call, &g[2], 1, call->out->dv0);
  if (source.moves) {
    sap_slopes_add_moving(call, block, gamma, G, g);
  }
  return SAP_STATUS_OK;
}
