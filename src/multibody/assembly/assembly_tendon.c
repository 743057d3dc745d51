// SPDX-License-Identifier: BSD-3-Clause
// Blocks of one row on the length l of a tendon:
//   limits        +-(dl/dt) >= 0 as the length closes to a bound, R and v_hat as of joint limits
//   dry friction  |gamma| <= dt tau_f, R = sigma w, v_hat = 0
#include <math.h>

#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/tendon.h"

// Makes the row s dl/dq; w is its scale.
static sap_status make_row(const sap_assembly_call* call, int32_t id, double s, double* w) {
  sap_rows* rows = &call->assembly->rows;
  sap_rows_begin(rows, 1);
  sap_dynamics_add_tendon_row(call->start->dynamics, id, s, rows, 0);
  return sap_assembly_rows_scale(call, 0, 1, w);
}

static sap_status add_side(const sap_assembly_call* call, int32_t id, int32_t side, double gap) {
  const sap_model_tendon* tendon = &call->assembly->model->tendons[id];
  double w = 0.0;
  sap_status status = make_row(call, id, side == 0 ? 1.0 : -1.0, &w);
  if (status != SAP_STATUS_OK || !(w > 0.0)) {
    return status;
  }
  const double g = sap_assembly_gap0(call, 0, gap);
  const sap_soft_row soft = {
      .stiffness = tendon->limit_stiffness,
      .relaxation_time = tendon->limit_relaxation_time,
      .g0 = g,
      .rate0 = sap_rows_times(&call->assembly->rows, 0, call->start->v0),
      .w = w,
      .recovery_speed = isinf(tendon->limit_stiffness) ? SAP_RECOVERY_SPEED : 0.0,
      .unilateral = true};
  sap_row_law law = {
      .set = SAP_SET_NONNEGATIVE,
      .key = sap_assembly_key(side == 0 ? SAP_KEY_TENDON_LOWER : SAP_KEY_TENDON_UPPER, id, 0, 0)};
  status = sap_problem_soften_row(call->problem, call->start->regularization, &soft, law.R,
                                  law.v_hat, call->error);
  return status == SAP_STATUS_OK ? sap_assembly_add_rows(call, &law) : status;
}

static sap_status add_limits(const sap_assembly_call* call, int32_t id) {
  const sap_model_tendon* tendon = &call->assembly->model->tendons[id];
  if ((isinf(tendon->lower) && isinf(tendon->upper)) ||
      !call->assembly->on[SAP_ASSEMBLY_TENDON_LIMIT][id]) {
    return SAP_STATUS_OK;
  }
  const sap_assembly_start* start = call->start;
  sap_rows* rows = &call->assembly->rows;
  const double length =
      sap_dynamics_tendon_length(start->dynamics, sap_assembly_positions(call), id);
  const double range = tendon->upper - tendon->lower;
  sap_rows_begin(rows, 1);
  sap_dynamics_add_tendon_row(start->dynamics, id, 1.0, rows, 0);
  const double speed = fmax(fabs(sap_rows_times(rows, 0, start->v0)),
                            fabs(sap_rows_times(rows, 0, sap_problem_v_star(call->problem))));
  const double reach = SAP_LIMIT_HORIZONS * (call->dt + tendon->limit_relaxation_time) * speed;
  sap_status status = SAP_STATUS_OK;
  for (int32_t side = 0; status == SAP_STATUS_OK && side < 2; ++side) {
    const double bound = side == 0 ? tendon->lower : tendon->upper;
    const double g = side == 0 ? length - bound : bound - length;
    if (isfinite(bound) && (g <= SAP_LIMIT_RANGE_SHARE * range || g <= reach)) {
      status = add_side(call, id, side, g);
    }
  }
  return status;
}

static sap_status add_friction(const sap_assembly_call* call, int32_t id) {
  const double bound = call->dt * call->assembly->model->tendons[id].friction_loss;
  double w = 0.0;
  const sap_status status = make_row(call, id, 1.0, &w);
  if (status != SAP_STATUS_OK || !(w > 0.0)) {
    return status;
  }
  const sap_row_law law = {.set = SAP_SET_BOX,
                           .R = {call->start->regularization->sigma * w},
                           .lower = {-bound},
                           .upper = {bound},
                           .key = sap_assembly_key(SAP_KEY_TENDON_FRICTION, id, 0, 0)};
  return sap_assembly_add_rows(call, &law);
}

sap_status sap_assembly_add_tendons(sap_assembly* assembly, const sap_assembly_start* start,
                                    sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  for (int32_t id = 0; id < model->sizes.tendons; ++id) {
    const sap_status status = add_limits(&call, id);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "limit of tendon %d '%s'", id,
                       sap_model_get_name(model, SAP_ELEMENT_TENDON, id));
      return status;
    }
  }
  for (int32_t id = 0; id < model->sizes.tendons; ++id) {
    const bool on = assembly->on[SAP_ASSEMBLY_TENDON_FRICTION][id];
    const sap_status status =
        on && model->tendons[id].friction_loss > 0.0 ? add_friction(&call, id) : SAP_STATUS_OK;
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "friction of tendon %d '%s'", id,
                       sap_model_get_name(model, SAP_ELEMENT_TENDON, id));
      return status;
    }
  }
  return SAP_STATUS_OK;
}
