// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses of rows whose J does not vary: limits, dry friction and servos of
// hinges, slides and fixed tendons.
#include <math.h>

#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"

// The law of a row as a function of x = {g0 or length, w, rate at the start}.
typedef struct row_source {
  int kind;  // of its key
  double stiffness, relaxation_time;
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

// The joint or the fixed tendon of a row: id of the joint, or joints + tendon; -1: none of these.
static int32_t find_length(const sap_slopes_call* call, uint64_t key) {
  const sap_model* model = call->multibody->model;
  const int32_t joints = model->sizes.joints, kind = sap_assembly_key_kind(key);
  int32_t id = sap_assembly_key_id(key, 0);
  if (kind == SAP_KEY_SERVO) {
    const sap_model_actuator* a = &model->actuators[id];
    id = a->transmission == SAP_TRANSMISSION_JOINT    ? a->target
         : a->transmission == SAP_TRANSMISSION_TENDON ? joints + a->target
                                                      : -1;
  } else if (kind == SAP_KEY_TENDON_LOWER || kind == SAP_KEY_TENDON_UPPER ||
             kind == SAP_KEY_TENDON_FRICTION) {
    id += joints;
  }
  const bool fixed = id >= joints ? model->tendons[id - joints].npoints == 0
                                  : id >= 0 && (sap_joint_is_scalar(model->joints[id].type) ||
                                                kind == SAP_KEY_FRICTION);
  return fixed ? id : -1;
}

static sap_status find_source(const sap_slopes_call* call, const sap_block* block, row_source* out,
                              sap_error* error) {
  const sap_model* model = call->multibody->model;
  const int32_t id = find_length(call, block->key), joints = model->sizes.joints;
  *out = (row_source){.kind = sap_assembly_key_kind(block->key)};
  SAP_FAIL_IF(id < 0, error, SAP_STATUS_UNSUPPORTED,
              "derivatives of a limit, of friction or of a servo whose lever arms move");
  const double length = id >= joints ? sap_tendon_length(call->kin, id - joints)
                        : sap_joint_is_scalar(model->joints[id].type)
                            ? call->step->q0[model->joints[id].q_start]
                            : 0.0;
  const sap_model_joint_data* joint = id < joints ? &model->joints[id] : NULL;
  const sap_model_tendon* tendon = id < joints ? NULL : &model->tendons[id - joints];
  out->stiffness = joint != NULL ? joint->limit_stiffness : tendon->limit_stiffness;
  out->relaxation_time =
      joint != NULL ? joint->limit_relaxation_time : tendon->limit_relaxation_time;
  const bool upper = out->kind == SAP_KEY_UPPER || out->kind == SAP_KEY_TENDON_UPPER;
  const double lower_bound = joint != NULL ? joint->lower : tendon->lower;
  const double upper_bound = joint != NULL ? joint->upper : tendon->upper;
  out->x[0] = upper ? upper_bound - length : length - lower_bound;
  if (out->kind == SAP_KEY_SERVO || out->kind == SAP_KEY_BOUND_SERVOS) {
    const bool single = out->kind == SAP_KEY_SERVO;
    out->x[0] = length * (single ? model->actuators[sap_assembly_key_id(block->key, 0)].gear : 1.0);
    find_servo(call, block, &out->servo);
  }
  sap_slopes_multiply_rows(call, call->step->v0_free, &out->x[2]);
  SAP_TRY(sap_slopes_solve_rows(call, block, error));
  sap_slopes_multiply_rows(call, call->w->X[0], &out->x[1]);
  return SAP_STATUS_OK;
}

// Adds what a change of w gives to dq_A.
static void add_mass_changes(const sap_slopes_call* call, const sap_block* block, double by_w) {
  const sap_model* model = call->multibody->model;
  sap_slopes_find_mass_gradients(call, block);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      const double x = -by_w * call->w->gradients[k][0];
      sap_slopes_add_rows(call, &x, call->out->dq_A, k);
    }
  }
}

// dgamma = G (dv_hat - d(J v) - gamma dR), of x and then of inputs, which change a servo's whole law.
sap_status sap_slopes_add_row(const sap_slopes_call* call, const sap_block* block, double gamma,
                              double G, sap_error* error) {
  const sap_model_sizes* sizes = &call->multibody->model->sizes;
  double g[3];
  row_source source;
  if (G == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(find_source(call, block, &source, error));
  const bool servo = source.kind == SAP_KEY_SERVO || source.kind == SAP_KEY_BOUND_SERVOS;
  for (int32_t i = 0; i < 3 + (servo ? sizes->nu : 0); ++i) {
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
  if (g[1] != 0.0) {
    add_mass_changes(call, block, g[1]);
  }
  sap_slopes_add_square(call, 1.0, &g[0], call->out->dq0);
  sap_slopes_add_square(call, 1.0, &g[2], call->out->dv0);
  return SAP_STATUS_OK;
}
