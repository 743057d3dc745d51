// SPDX-License-Identifier: BSD-3-Clause
// Blocks of one row: limits and dry friction of joints.
//   limit     J v >= 0 as the distance g to the limit closes:  R = max(beta^2/(4 pi^2) w,
//             1/(dt k (dt + tau_d))),  v_hat = -g/(dt + tau_d): the normal row of a contact
//   friction  |gamma| <= dt tau_f on one velocity, R = sigma w, v_hat = 0: below break-away it
//             creeps by at most sigma w dt tau_f
// w = J A^-1 J' of the block from the diagonal blocks of A.
// A limit pushes only if J v < v_hat at the end of the step. It is left out when it is far: g above
// a tenth of the range, and the larger of |v0| and |v*| times four (dt + tau_d) does not bridge it.
// Only a blow within this very step could then have made it act, at a distance; the joint itself
// stays inside and the next step sees the limit. Limits on one side only are always there.
#include <math.h>

#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"

// What all blocks of one call share.
typedef struct blocks {
  sap_assembly* assembly;
  const sap_regularization* regularization;
  sap_problem* problem;
  double dt;
  const double* v0;
  sap_error* error;
} blocks;

// A block of one row whose entries stand in assembly->row on trees assembly->trees[0 ... ntrees).
typedef struct row_block {
  int32_t ntrees;
  uint64_t key;
} row_block;

static void point_at_parts(const blocks* to, int32_t ntrees) {
  sap_assembly* assembly = to->assembly;
  for (int32_t i = 0; i < ntrees; ++i) {
    assembly->parts[i] = assembly->row + assembly->model->tree_dofs[assembly->trees[i]];
  }
}

typedef struct limit {
  double g;  // distance to the limit [rad, m], < 0 beyond it
  double stiffness, relaxation_time;
} limit;

// The row times v0.
static double row_rate(const blocks* to, const row_block* row) {
  const sap_model* model = to->assembly->model;
  double rate = 0.0;
  for (int32_t i = 0; i < row->ntrees; ++i) {
    const int32_t tree = to->assembly->trees[i];
    for (int32_t j = 0; j < model->tree_sizes[tree]; ++j) {
      rate += to->assembly->parts[i][j] * to->v0[model->tree_dofs[tree] + j];
    }
  }
  return rate;
}

static sap_status add_limit(const blocks* to, const row_block* row, const limit* l) {
  sap_assembly* assembly = to->assembly;
  point_at_parts(to, row->ntrees);
  double w = 0.0;
  sap_status status = sap_problem_delassus_scale(to->problem, 1, row->ntrees, assembly->trees,
                                                 assembly->parts, &w, to->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_soft_row soft = {.stiffness = l->stiffness,
                             .relaxation_time = l->relaxation_time,
                             .g0 = l->g,
                             .rate0 = row_rate(to, row),
                             .w = w,
                             .recovery_speed = isinf(l->stiffness) ? SAP_RECOVERY_SPEED : 0.0,
                             .unilateral = true};
  double R, v_hat;
  status = sap_problem_soften_row(to->problem, to->regularization, &soft, &R, &v_hat, to->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                           .nrows = 1,
                           .ntrees = row->ntrees,
                           .trees = assembly->trees,
                           .jacobians = assembly->parts,
                           .R = &R,
                           .v_hat = &v_hat,
                           .key = row->key};
  return sap_problem_add_block(to->problem, &block, to->error);
}

static bool may_act(const blocks* to, double g, double range, double speed, double tau_d) {
  return g <= SAP_LIMIT_RANGE_SHARE * range || g <= SAP_LIMIT_HORIZONS * (to->dt + tau_d) * speed;
}

// Hinge and slide: one row of +-1 per side.
static sap_status add_scalar_limits(const blocks* to, int32_t id, const double* q0,
                                    const double* v0) {
  sap_assembly* assembly = to->assembly;
  const sap_model_joint_data* joint = &assembly->model->joints[id];
  const double q = q0[joint->q_start];
  const double v_star = sap_problem_v_star(to->problem)[joint->v_start];
  const double speed = fmax(fabs(v0[joint->v_start]), fabs(v_star));
  const double range = joint->upper - joint->lower;
  sap_status status = SAP_STATUS_OK;
  for (int32_t side = 0; status == SAP_STATUS_OK && side < 2; ++side) {
    const double bound = side == 0 ? joint->lower : joint->upper;
    const double sign = side == 0 ? 1.0 : -1.0;
    const double g = sign * (q - bound);
    if (isinf(bound) || !may_act(to, g, range, speed, joint->limit_relaxation_time)) {
      continue;
    }
    const row_block row = {1,
                           sap_assembly_key(side == 0 ? SAP_KEY_LOWER : SAP_KEY_UPPER, id, 0, 0)};
    const limit l = {g, joint->limit_stiffness, joint->limit_relaxation_time};
    assembly->trees[0] = joint->tree;
    assembly->row[joint->v_start] = sign;
    status = add_limit(to, &row, &l);
    assembly->row[joint->v_start] = 0.0;
  }
  return status;
}

// Ball: the rotation angle a = |r|, r = log(quaternion), has da/dt = (r/a) . omega_body.
static sap_status add_ball_limit(const blocks* to, int32_t id, const double* q0, const double* v0) {
  sap_assembly* assembly = to->assembly;
  const sap_model_joint_data* joint = &assembly->model->joints[id];
  const double* q = assembly->q_point != NULL ? assembly->q_point : q0;
  double r[3];
  sap_quaternion_log(r, q + joint->q_start);
  const double angle = sap_v3_norm(r);
  const double* v_star = sap_problem_v_star(to->problem) + joint->v_start;
  const double speed = fmax(sap_v3_norm(v0 + joint->v_start), sap_v3_norm(v_star));
  const double g = joint->upper - angle;
  if (isinf(joint->upper) || !(angle > 0.0) ||
      !may_act(to, g, joint->upper, speed, joint->limit_relaxation_time)) {
    return SAP_STATUS_OK;  // at angle 0 every direction leads away from it alike
  }
  const row_block row = {1, sap_assembly_key(SAP_KEY_UPPER, id, 0, 0)};
  assembly->trees[0] = joint->tree;
  double* row_v = assembly->row + joint->v_start;
  sap_v3_scale(row_v, r, -1.0 / angle);
  const double* moved = assembly->moved;
  const double g0 = moved != NULL ? g - sap_v3_dot(row_v, moved + joint->v_start) : g;
  const limit l = {g0, joint->limit_stiffness, joint->limit_relaxation_time};
  const sap_status status = add_limit(to, &row, &l);
  sap_v3_set(row_v, 0.0, 0.0, 0.0);
  return status;
}

static sap_status add_friction(const blocks* to, int32_t id) {
  sap_assembly* assembly = to->assembly;
  const sap_model_joint_data* joint = &assembly->model->joints[id];
  const double upper = to->dt * joint->friction_loss;
  const double lower = -upper;
  const double v_hat = 0.0;
  sap_status status = SAP_STATUS_OK;
  assembly->trees[0] = joint->tree;
  point_at_parts(to, 1);
  for (int32_t d = 0; status == SAP_STATUS_OK && d < joint->nv; ++d) {
    double w = 0.0;
    assembly->row[joint->v_start + d] = 1.0;
    status = sap_problem_delassus_scale(to->problem, 1, 1, assembly->trees, assembly->parts, &w,
                                        to->error);
    const double R = to->regularization->sigma * w;
    const sap_block block = {.set = SAP_SET_BOX,
                             .nrows = 1,
                             .ntrees = 1,
                             .trees = assembly->trees,
                             .jacobians = assembly->parts,
                             .R = &R,
                             .v_hat = &v_hat,
                             .lower = &lower,
                             .upper = &upper,
                             .key = sap_assembly_key(SAP_KEY_FRICTION, id, d, 0)};
    if (status == SAP_STATUS_OK) {
      status = sap_problem_add_block(to->problem, &block, to->error);
    }
    assembly->row[joint->v_start + d] = 0.0;
  }
  return status;
}

// Are both limits out of reach? Not where a number is NaN.
static bool is_far(const blocks* to, const sap_limit_test* l, const double* q0) {
  const double speed0 = fabs(to->v0[l->v_start]);
  const double speed_star = fabs(sap_problem_v_star(to->problem)[l->v_start]);
  const double speed = speed0 > speed_star ? speed0 : speed_star;
  const double reach = SAP_LIMIT_HORIZONS * (to->dt + l->relaxation_time) * speed;
  const double below = q0[l->q_start] - l->lower, above = l->upper - q0[l->q_start];
  return l->scalar && below > l->near && below > reach && above > l->near && above > reach;
}

static sap_status add_joint_limits(const blocks* to, int32_t id, const double* q0,
                                   const double* v0) {
  switch (to->assembly->model->joints[id].type) {
    case SAP_JOINT_HINGE:
    case SAP_JOINT_SLIDE:
      return add_scalar_limits(to, id, q0, v0);
    case SAP_JOINT_BALL:
      return add_ball_limit(to, id, q0, v0);
    case SAP_JOINT_FREE:
      break;
  }
  return SAP_STATUS_OK;
}

static bool is_locked(const sap_assembly* assembly, int32_t id) {
  return assembly->locked != NULL && assembly->locked[assembly->model->joints[id].v_start];
}

sap_status sap_assembly_add_joints(sap_assembly* assembly, const double* q0, const double* v0,
                                   const sap_regularization* regularization, sap_problem* problem,
                                   sap_error* error) {
  const sap_model* model = assembly->model;
  const blocks to = {assembly, regularization, problem, sap_problem_dt(problem), v0, error};
  sap_status status = SAP_STATUS_OK;
  for (int32_t n = 0; status == SAP_STATUS_OK && n < assembly->nlimits; ++n) {
    const int32_t id = assembly->limits[n].joint;
    if (is_far(&to, &assembly->limits[n], q0) || is_locked(assembly, id) ||
        !assembly->on[SAP_ASSEMBLY_JOINT_LIMIT][id]) {
      continue;
    }
    status = add_joint_limits(&to, id, q0, v0);
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "limit of joint %d '%s'", id,
                       sap_model_get_name(model, SAP_ELEMENT_JOINT, id));
    }
  }
  for (int32_t id = 0; status == SAP_STATUS_OK && id < model->sizes.joints; ++id) {
    if (model->joints[id].friction_loss > 0.0 && !is_locked(assembly, id) &&
        assembly->on[SAP_ASSEMBLY_JOINT_FRICTION][id]) {
      status = add_friction(&to, id);
      if (status != SAP_STATUS_OK) {
        sap_error_prefix(error, "friction of joint %d '%s'", id,
                         sap_model_get_name(model, SAP_ELEMENT_JOINT, id));
      }
    }
  }
  return status;
}
