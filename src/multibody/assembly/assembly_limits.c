// SPDX-License-Identifier: BSD-3-Clause
// Limits and dry friction of joints and tendons: blocks of one row.
//   limit     J v >= 0 as the distance g to the limit closes, as the normal row of a contact:
//             R     = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))
//             v_hat = -g/(dt + tau_d)
//   friction  |gamma| <= dt tau_f on one velocity, R = sigma w, v_hat = 0; below break-away it
//             creeps by at most sigma w dt tau_f
// w = J A^-1 J' from the diagonal blocks of A. J is one velocity of a joint or dl/dq of a tendon.
//
// A limit pushes only if J v < v_hat at the end of the step, which is no sooner than at
//   g + (dt + tau_d) J v < 0
// It is left out when it is far: when neither v0 nor v* reaches it within some times dt + tau_d.
// Limits of hinges and slides that act at the end of the step are looked at again where it ends:
// if one that was left out may have acted, the step is solved again with it. All others must be
// above a tenth of the range too, and those with one side are never left out.
#include <math.h>

#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "problem/law.h"
#include "problem/problem_data.h"

typedef struct limit {
  double g;      // distance to the limit [rad, m], < 0 beyond it
  double rate0;  // J v0
  double stiffness, relaxation_time;
  uint64_t key;
  double damping;  // of the joint's own damper
  bool is_band;    // the end of a spring's dead band, which gives no impulse
  double g0;       // g at the start of the step
} limit;

// Adds the limit of the row in assembly->rows; adds nothing if nothing can move along the row.
// Rigid limits act at the end of the step. Under error control their rate there is J v + (J - J0) v,
// (J - J0) v = 4 (g0 - g + J moved)/dt, J of the middle: where J turns, they are of second order.
static sap_status add_limit(const sap_assembly_call* call, const limit* l) {
  double w = 0.0;
  SAP_TRY(sap_assembly_rows_scale(call, 0, 1, &w));
  if (w == 0.0) {
    return SAP_STATUS_OK;
  }
  const sap_law_settings s = sap_problem_law_settings(call->problem, call->start->regularization);
  const bool turns = isinf(l->stiffness) && s.scheme->settled > 0.0;
  const sap_compliant_row soft = {.stiffness = l->stiffness,
                                  .relaxation_time = l->relaxation_time,
                                  .g0 = l->g,
                                  .rate0 = l->rate0,
                                  .w = w,
                                  .curvature = turns ? 4.0 * (l->g0 - l->g) : 0.0,
                                  .damper = call->start->damper_time * l->damping,
                                  .recovery_speed = isinf(l->stiffness) ? SAP_RECOVERY_SPEED : 0.0,
                                  .unilateral = true};
  sap_row_law law = {
      .set = l->is_band ? SAP_SET_BOX : SAP_SET_NONNEGATIVE, .key = l->key, .R = {w}};
  if (!l->is_band) {
    SAP_TRY(sap_problem_compliant_law(call->problem, call->start->regularization, &soft, law.R,
                                      law.v_hat, call->error));
  }
  SAP_TRY(sap_assembly_add_rows(call, &law));
  if (!l->is_band && sap_law_limit_is_wrong(&s, l->g, l->relaxation_time)) {
    call->problem->blocks[call->problem->nblocks - 1].wrong_depth = -l->g;
  }
  sap_problem_set_start(call->problem,
                        &(sap_contact_start){.force = -l->stiffness * l->g,
                                             .stiffness = l->stiffness,
                                             .damping = l->stiffness * l->relaxation_time,
                                             .phi0 = l->g,
                                             .wn = w});
  return SAP_STATUS_OK;
}

// Adds the dry friction of the row in assembly->rows, likewise; force: tau_f.
static sap_status add_friction(const sap_assembly_call* call, double force, uint64_t key) {
  const double bound = call->dt * force;
  double w = 0.0;
  SAP_TRY(sap_assembly_rows_scale(call, 0, 1, &w));
  if (w == 0.0) {
    return SAP_STATUS_OK;
  }
  const sap_row_law law = {.set = SAP_SET_BOX,
                           .R = {call->start->regularization->sigma * w},
                           .lower = {-bound},
                           .upper = {bound},
                           .key = key};
  SAP_TRY(sap_assembly_add_rows(call, &law));
  sap_problem_set_start(call->problem, &(sap_contact_start){.wn = w});
  return SAP_STATUS_OK;
}

static bool may_act(const sap_assembly_call* call, double g, double range, double speed,
                    double tau_d) {
  return g <= SAP_LIMIT_RANGE_SHARE * range || g <= SAP_LIMIT_HORIZONS * (call->dt + tau_d) * speed;
}

static limit limit_of(const sap_model_joint_data* joint, uint64_t key) {
  const double k = joint->limit_stiffness, tau_d = joint->limit_relaxation_time;
  return (limit){0.0, 0.0, k, tau_d, key, joint->damping, false, 0.0};
}

// The distance of a scalar joint from its lower (side 0) or upper limit.
static double scalar_distance(const sap_model_joint_data* joint, int side, double q) {
  return side == 0 ? q - joint->lower : joint->upper - q;
}

// The same of a scalar joint; by the approach where a limit left out is looked at after the step.
static inline bool scalar_may_act(const sap_assembly_call* call, const sap_model_joint_data* joint,
                                  int side, double g, const double* v_star) {
  const double v0 = call->start->v0[joint->v_start], v1 = v_star[joint->v_start];
  const double tau_d = joint->limit_relaxation_time;
  if (call->start->moved != NULL) {
    return may_act(call, g, joint->upper - joint->lower, fmax(fabs(v0), fabs(v1)), tau_d);
  }
  const double approach = side == 0 ? -(v0 < v1 ? v0 : v1) : v0 > v1 ? v0 : v1;
  return g <= SAP_CHECKED_HORIZONS * (call->dt + tau_d) * approach;
}

// Hinge and slide: one row of +-1 per side. g is linear in q, so that q0 serves at any point.
static sap_status add_scalar_limits(const sap_assembly_call* call, int32_t id) {
  const sap_model_joint_data* joint = &call->assembly->model->joints[id];
  const double q0 = call->start->q0[joint->q_start], *v_star = sap_problem_v_star(call->problem);
  for (int side = 0; side < 2; ++side) {
    const double g = scalar_distance(joint, side, q0);
    sap_limit_state* state = &call->assembly->limits[2 * (size_t)id + (size_t)side];
    state->has_block =
        isfinite(g) && (g <= 0.0 || state->needed || scalar_may_act(call, joint, side, g, v_star));
    if (state->has_block) {
      const double v0 = call->start->v0[joint->v_start];
      limit l =
          limit_of(joint, sap_assembly_key(side == 0 ? SAP_KEY_LOWER : SAP_KEY_UPPER, id, 0, 0));
      l.g = l.g0 = g;
      l.rate0 = side == 0 ? v0 : -v0;
      sap_rows_unit(&call->assembly->rows, joint->v_start, side == 0 ? 1.0 : -1.0);
      SAP_TRY(add_limit(call, &l));
    }
  }
  return SAP_STATUS_OK;
}

// Ball: the rotation angle a = |r|, r = log(quaternion), has da/dt = (r/a) . omega_body.
static sap_status add_ball_limit(const sap_assembly_call* call, int32_t id) {
  const sap_assembly_start* start = call->start;
  sap_rows* rows = &call->assembly->rows;
  const sap_model_joint_data* joint = &call->assembly->model->joints[id];
  double r[3], r0[3];
  sap_quaternion_log(r, start->kin->q + joint->q_start);
  const double angle = sap_v3_norm(r);
  const double* v_star = sap_problem_v_star(call->problem) + joint->v_start;
  const double speed = fmax(sap_v3_norm(start->v0 + joint->v_start), sap_v3_norm(v_star));
  const double g = joint->upper - angle;
  if (isinf(joint->upper) || !(angle > 0.0) ||
      !may_act(call, g, joint->upper, speed, joint->limit_relaxation_time)) {
    return SAP_STATUS_OK;  // at angle 0 all directions lead away from it alike
  }
  sap_rows_begin(rows, 1);
  sap_rows_touch(rows, joint->tree);
  sap_v3_scale(sap_rows_at(rows, 0) + joint->v_start, r, -1.0 / angle);
  limit l = limit_of(joint, sap_assembly_key(SAP_KEY_UPPER, id, 0, 0));
  l.g = sap_assembly_gap0(call, 0, g);
  sap_quaternion_log(r0, start->kin0->q + joint->q_start);
  l.g0 = joint->upper - sap_v3_norm(r0);
  l.rate0 = sap_rows_times(rows, 0, start->v0);
  return add_limit(call, &l);
}

static inline bool is_locked(const sap_assembly* assembly, const sap_model_joint_data* joint) {
  return assembly->locked != NULL && assembly->locked[joint->v_start];
}

static inline bool has_limits(const sap_assembly* assembly, const sap_model_joint_data* joint) {
  return joint->type != SAP_JOINT_FREE && (isfinite(joint->lower) || isfinite(joint->upper)) &&
         !is_locked(assembly, joint);
}

// Hot path, with add_joint_friction: most joints have no limit and no friction.
static inline sap_status add_joint_limits(const sap_assembly_call* call, int32_t id) {
  const sap_model_joint_data* joint = &call->assembly->model->joints[id];
  if (!has_limits(call->assembly, joint)) {
    return SAP_STATUS_OK;
  }
  return joint->type == SAP_JOINT_BALL ? add_ball_limit(call, id) : add_scalar_limits(call, id);
}

static sap_status add_friction_rows(const sap_assembly_call* call, int32_t id) {
  sap_rows* rows = &call->assembly->rows;
  const sap_model_joint_data* joint = &call->assembly->model->joints[id];
  for (int32_t k = 0; k < joint->nv; ++k) {
    sap_rows_unit(rows, joint->v_start + k, 1.0);
    SAP_TRY(add_friction(call, joint->friction_loss, sap_assembly_key(SAP_KEY_FRICTION, id, k, 0)));
  }
  return SAP_STATUS_OK;
}

static inline sap_status add_joint_friction(const sap_assembly_call* call, int32_t id) {
  const sap_model_joint_data* joint = &call->assembly->model->joints[id];
  return joint->friction_loss > 0.0 && !is_locked(call->assembly, joint)
             ? add_friction_rows(call, id)
             : SAP_STATUS_OK;
}

int32_t sap_assembly_check_limits(sap_assembly* assembly, const double* q0, const double* v,
                                  double dt) {
  int32_t count = 0;
  for (int32_t id = 0; assembly->limits_checked && id < assembly->model->sizes.joints; ++id) {
    const sap_model_joint_data* joint = &assembly->model->joints[id];
    if (!sap_joint_is_scalar(joint->type) || !has_limits(assembly, joint) ||
        !assembly->on[SAP_ASSEMBLY_JOINT_LIMIT][id]) {
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      sap_limit_state* state = &assembly->limits[2 * (size_t)id + (size_t)side];
      const double approach = side == 0 ? -v[joint->v_start] : v[joint->v_start];
      if (!state->has_block && !state->needed &&
          scalar_distance(joint, side, q0[joint->q_start]) <
              (dt + joint->limit_relaxation_time) * approach) {
        state->needed = true;
        ++count;
      }
    }
  }
  return count;
}

// Makes the row dl/dq; returns l.
static double make_tendon_row(const sap_assembly_call* call, int32_t id) {
  sap_rows* rows = &call->assembly->rows;
  sap_rows_begin(rows, 1);
  return sap_tendon_add_row(call->start->kin, id, 1.0, rows, 0);
}

// Adds a limit at each end of a range of the tendon's length. `l` has all but g and key.
static sap_status add_tendon_ends(const sap_assembly_call* call, int32_t id, const double* ends,
                                  limit l) {
  const sap_assembly_start* start = call->start;
  const sap_rows* rows = &call->assembly->rows;
  const double length = make_tendon_row(call, id);
  const double length0 = start->kin0 == start->kin ? length : sap_tendon_length(start->kin0, id);
  const double rate = sap_rows_times(rows, 0, start->v0);
  const double speed =
      fmax(fabs(rate), fabs(sap_rows_times(rows, 0, sap_problem_v_star(call->problem))));
  for (int32_t side = 0; side < 2; ++side) {
    const double g = side == 0 ? length - ends[0] : ends[1] - length;
    if (isfinite(ends[side]) && may_act(call, g, ends[1] - ends[0], speed, l.relaxation_time)) {
      if (side == 1) {
        sap_rows_add_scaled(rows, 0, -2.0, sap_rows_at(rows, 0));  // the row's negative, exactly
      }
      l.g = sap_assembly_gap0(call, 0, g);
      l.g0 = side == 0 ? length0 - ends[0] : ends[1] - length0;
      l.rate0 = side == 0 ? rate : -rate;
      l.key = l.is_band ? sap_assembly_key(SAP_KEY_TENDON_FRICTION, id, 1 + side, 0)
                        : sap_assembly_key(side == 0 ? SAP_KEY_TENDON_LOWER : SAP_KEY_TENDON_UPPER,
                                           id, 0, 0);
      SAP_TRY(add_limit(call, &l));
    }
  }
  return SAP_STATUS_OK;
}

// Adds limits, and for error control boxes without impulse at the ends of the spring's dead band.
static sap_status add_tendon_limits(const sap_assembly_call* call, int32_t id) {
  const sap_model_tendon* t = &call->assembly->model->tendons[id];
  const double ends[] = {t->lower, t->upper}, band[] = {t->spring_lower, t->spring_upper};
  const sap_law_settings s = sap_problem_law_settings(call->problem, call->start->regularization);
  if (isfinite(ends[0]) || isfinite(ends[1])) {
    const limit l = {.stiffness = t->limit_stiffness,
                     .relaxation_time = t->limit_relaxation_time,
                     .damping = t->damping};
    SAP_TRY(add_tendon_ends(call, id, ends, l));
  }
  return s.scheme->settled > 0.0 && t->stiffness > 0.0 && band[0] < band[1]
             ? add_tendon_ends(call, id, band, (limit){.stiffness = t->stiffness, .is_band = true})
             : SAP_STATUS_OK;
}

static sap_status add_tendon_friction(const sap_assembly_call* call, int32_t id) {
  const double force = call->assembly->model->tendons[id].friction_loss;
  if (!(force > 0.0)) {
    return SAP_STATUS_OK;
  }
  (void)make_tendon_row(call, id);
  return add_friction(call, force, sap_assembly_key(SAP_KEY_TENDON_FRICTION, id, 0, 0));
}

typedef struct limit_kind {
  sap_block_kind kind;
  sap_assembly_switch on;
  const char* text;
  sap_element element;
  sap_status (*add)(const sap_assembly_call* call, int32_t id);
} limit_kind;

// Adds the blocks of a kind that are switched on; inlined, so that `add` is no call by address.
static inline sap_status add_kind(const sap_assembly_call* call, const limit_kind k) {
  sap_assembly* assembly = call->assembly;
  const sap_model_sizes* sizes = &assembly->model->sizes;
  const int32_t count = k.element == SAP_ELEMENT_JOINT ? sizes->joints : sizes->tendons;
  const int32_t first = sap_problem_block_count(call->problem);
  for (int32_t id = 0; id < count; ++id) {
    if (assembly->on[k.on][id]) {
      SAP_TRY_OR(k.add(call, id), sap_assembly_add_prefix(call, k.text, k.element, id));
    }
  }
  sap_assembly_record(assembly, k.kind, first, call->problem);
  return SAP_STATUS_OK;
}

sap_status sap_assembly_add_limits(sap_assembly* assembly, const sap_assembly_start* start,
                                   sap_problem* problem, sap_error* error) {
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  assembly->limits_checked = start->moved == NULL;
  SAP_TRY(add_kind(&call, (limit_kind){SAP_BLOCKS_JOINT_LIMIT, SAP_ASSEMBLY_JOINT_LIMIT,
                                       "limit of joint", SAP_ELEMENT_JOINT, add_joint_limits}));
  SAP_TRY(
      add_kind(&call, (limit_kind){SAP_BLOCKS_JOINT_FRICTION, SAP_ASSEMBLY_JOINT_FRICTION,
                                   "friction of joint", SAP_ELEMENT_JOINT, add_joint_friction}));
  SAP_TRY(add_kind(&call, (limit_kind){SAP_BLOCKS_TENDON_LIMIT, SAP_ASSEMBLY_TENDON_LIMIT,
                                       "limit of tendon", SAP_ELEMENT_TENDON, add_tendon_limits}));
  return add_kind(&call,
                  (limit_kind){SAP_BLOCKS_TENDON_FRICTION, SAP_ASSEMBLY_TENDON_FRICTION,
                               "friction of tendon", SAP_ELEMENT_TENDON, add_tendon_friction});
}
