// SPDX-License-Identifier: BSD-3-Clause
// Limits and dry friction of joints and tendons as blocks.
#include <math.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

// The recovery speed bounds v_hat = -g0/(h + tau_d) as sap_problem_compliant_law does: here through
// g0, which nothing else depends on at the end of the step, where the adapter evaluates all laws.
sap_status sap_mj_add_compliant_row(sap_mj* a, int32_t ntrees, const sap_compliant_row* row,
                                    uint64_t key, sap_error* error) {
  const double time = a->model->opt.timestep + row->relaxation_time;
  const double furthest = -row->recovery_speed * time;  // what is made up for in a step
  const double g0 = row->recovery_speed > 0.0 && row->g0 < furthest ? furthest : row->g0;
  const sap_compliant_block block = {.nrows = 1,
                                     .ntrees = ntrees,
                                     .trees = a->block_trees,
                                     .jacobians = a->block_parts,
                                     .g0 = &g0,
                                     .stiffness = row->stiffness,
                                     .relaxation_time = row->relaxation_time,
                                     .unilateral = row->unilateral,
                                     .key = key};
  const int32_t before = sap_problem_block_count(a->problem);
  const sap_status status =
      sap_problem_add_compliant(a->problem, &block, &a->regularization, error);
  if (sap_problem_block_count(a->problem) == before) {
    --a->slot_count;  // nothing of it can move
  }
  return status;
}

sap_status sap_mj_add_box(sap_mj* a, int32_t ntrees, const sap_mj_box* box, uint64_t key,
                          sap_error* error) {
  const sap_block block = {.set = SAP_SET_BOX,
                           .nrows = 1,
                           .ntrees = ntrees,
                           .trees = a->block_trees,
                           .jacobians = a->block_parts,
                           .R = &box->R,
                           .v_hat = &box->v_hat,
                           .lower = &box->lower,
                           .upper = &box->upper,
                           .key = key};
  return sap_problem_add_block(a->problem, &block, error);
}

// The row of limits and friction; of one velocity it is not searched for.
static sap_mj_row simple_row(const sap_mj* a, const mjData* d, int32_t row) {
  const mjModel* m = a->model;
  const sap_mj_row whole = sap_mj_constraint_row(&a->shadow, d, row);
  const int32_t id = d->efc_id[row], type = d->efc_type[row];
  const bool joint = type == mjCNSTR_LIMIT_JOINT && m->jnt_type[id] != mjJNT_BALL;
  if (whole.columns != NULL || (!joint && type != mjCNSTR_FRICTION_DOF)) {
    return whole;
  }
  const int32_t dof = joint ? m->jnt_dofadr[id] : id;
  return (sap_mj_row){1, a->unit_columns + dof, whole.values + dof};
}

// A limit has no impulse while J v >= v_hat = -g0/(h + tau_d). Rows that neither v0 nor v* brings
// near that are left out, as a tenth of the range puts many into MuJoCo's list; the solution is
// looked at afterwards, so that it is the same as with them.
static bool is_far(sap_mj* a, const mjData* d, const sap_mj_row* row, const sap_compliant_row* soft,
                   double* bound) {
  static const double share = 0.5;  // of the speed that reaches the limit
  *bound = -soft->g0 / (a->model->opt.timestep + soft->relaxation_time);
  const double near = share * *bound;
  return !a->all_limits && soft->g0 > 0.0 && sap_mj_row_times(row, d->qvel) > near &&
         sap_mj_row_times(row, a->v_star) > near;
}

static sap_status leave_out(sap_mj* a, int32_t row, double bound, sap_error* error) {
  SAP_TRY(SAP_GROW(&a->far_limits, &a->far_limit_capacity, a->far_limit_count + 1, error));
  a->far_limits[a->far_limit_count++] = (sap_mj_far_limit){row, bound};
  return SAP_STATUS_OK;
}

bool sap_mj_check_limits(sap_mj* a, const mjData* d, const double* v) {
  for (int32_t i = 0; i < a->far_limit_count; ++i) {
    const sap_mj_row row = simple_row(a, d, a->far_limits[i].row);
    if (!(sap_mj_row_times(&row, v) >= a->far_limits[i].bound)) {
      a->all_limits = true;
      return true;
    }
  }
  return false;
}

sap_status sap_mj_add_limit(sap_mj* a, const mjData* d, int32_t row, sap_error* error) {
  const bool tendon = d->efc_type[row] == mjCNSTR_LIMIT_TENDON;
  const int32_t id = d->efc_id[row];
  const double* law = (tendon ? a->tendon_limit : a->joint_limit) + 2 * id;
  const sap_mj_row source = simple_row(a, d, row);
  sap_compliant_row soft = {.stiffness = law[0],
                            .relaxation_time = law[1],
                            .g0 = d->efc_pos[row] - d->efc_margin[row],
                            .recovery_speed = isinf(law[0]) ? SAP_RECOVERY_SPEED : 0.0,
                            .unilateral = true};
  double bound;
  if (is_far(a, d, &source, &soft, &bound)) {
    return leave_out(a, row, bound, error);
  }
  const int32_t ntrees = sap_mj_gather(a, &source, 1, error);
  if (ntrees < 1) {
    return ntrees < 0 ? SAP_STATUS_MEMORY : SAP_STATUS_OK;
  }
  SAP_TRY(sap_mj_add_slot(a, -1, row, 1, error));
  // Both limits of one joint: told apart by the sign of the row.
  int32_t side = 0;
  for (int32_t i = 0; i < source.count && side == 0; ++i) {
    side = source.values[i] > 0.0 ? 1 : source.values[i] < 0.0 ? 2 : 0;
  }
  return sap_mj_add_compliant_row(a, ntrees, &soft,
                                  sap_mj_key(a, SAP_MJ_KEY_LIMIT, id, tendon, side), error);
}

sap_status sap_mj_add_friction(sap_mj* a, const mjData* d, int32_t row, sap_error* error) {
  const sap_mj_row source = simple_row(a, d, row);
  const int32_t ntrees = sap_mj_gather(a, &source, 1, error);
  if (ntrees < 1) {
    return ntrees < 0 ? SAP_STATUS_MEMORY : SAP_STATUS_OK;
  }
  double w = 0.0;
  SAP_TRY(sap_mj_add_slot(a, -1, row, 1, error));
  SAP_TRY(
      sap_problem_delassus_scale(a->problem, 1, ntrees, a->block_trees, a->block_parts, &w, error));
  const double most = a->model->opt.timestep * d->efc_frictionloss[row];
  const int32_t tendon = d->efc_type[row] == mjCNSTR_FRICTION_TENDON;
  const sap_mj_box box = {.R = a->regularization.sigma * w, .lower = -most, .upper = most};
  return sap_mj_add_box(a, ntrees, &box,
                        sap_mj_key(a, SAP_MJ_KEY_FRICTION, d->efc_id[row], tendon, 0), error);
}
