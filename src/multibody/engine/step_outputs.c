// SPDX-License-Identifier: BSD-3-Clause
// Forces and accelerations of the last step, from the blocks of its problem, and joint reactions.
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static sap_status check_report(const sap_multibody* multibody, const sap_step_report* report,
                               const double* out, sap_error* error) {
  SAP_FAIL_IF(multibody == NULL || report == NULL || out == NULL || report->problem == NULL, error,
              SAP_STATUS_ARGUMENT, "%s is NULL",
              multibody == NULL ? "multibody"
              : report == NULL  ? "report"
              : out == NULL     ? "the output"
                                : "the report's problem");
  const int32_t nv = multibody->model->sizes.nv;
  SAP_FAIL_IF(sap_problem_velocity_count(report->problem) != nv, error, SAP_STATUS_ARGUMENT,
              "the report's problem has %d velocities, not %d",
              sap_problem_velocity_count(report->problem), nv);
  return SAP_STATUS_OK;
}

// Gets block i and its impulses; false if there is none.
static bool get_block(const sap_step_report* report, int32_t i, sap_block* block,
                      const double** gamma) {
  int32_t row = 0;
  if (report->solution == NULL || i >= sap_problem_block_count(report->problem) ||
      sap_problem_block(report->problem, i, block, &row, NULL) != SAP_STATUS_OK) {
    return false;
  }
  *gamma = report->solution->gamma + row;
  return true;
}

// Returns the impulses of the block of a kind with this key, NULL if there is none.
static const double* find_impulses(const sap_multibody* multibody, const sap_step_report* report,
                                   sap_block_kind kind, uint64_t key, sap_block* block) {
  const sap_block_range range = multibody->assembly->ranges[kind];
  const double* gamma = NULL;
  for (int32_t i = range.first; i < range.end && get_block(report, i, block, &gamma); ++i) {
    if (block->key == key) {
      return gamma;
    }
  }
  return NULL;
}

// Returns the force of a block of one row, zero if there is none.
static double find_force(const sap_multibody* multibody, const sap_step_report* report,
                         sap_block_kind kind, uint64_t key) {
  sap_block block;
  const double* gamma = find_impulses(multibody, report, kind, key, &block);
  return gamma != NULL ? gamma[0] / sap_problem_dt(report->problem) : 0.0;
}

static void add_generalized(const sap_model* model, const sap_block* block, const double* gamma,
                            double scale, double* tau) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    for (int32_t j = 0; j < model->tree_sizes[block->trees[t]]; ++j) {
      tau[model->tree_dofs[block->trees[t]] + j] +=
          scale * sap_dot(block->nrows, J + (size_t)j * (size_t)block->nrows, gamma);
    }
  }
}

static sap_status find_generalized(const sap_multibody* multibody, const sap_step_report* report,
                                   sap_block_range range, double* tau, sap_error* error) {
  SAP_TRY(check_report(multibody, report, tau, error));
  const sap_model* model = multibody->model;
  const double scale = 1.0 / sap_problem_dt(report->problem);
  sap_block block;
  const double* gamma = NULL;
  memset(tau, 0, (size_t)model->sizes.nv * sizeof *tau);
  for (int32_t i = range.first; i < range.end && get_block(report, i, &block, &gamma); ++i) {
    add_generalized(model, &block, gamma, scale, tau);
  }
  return SAP_STATUS_OK;
}

// Velocities at the end of the step; without blocks the free motion is the solution.
static const double* end_velocities(const sap_step_report* report) {
  return report->solution != NULL ? report->solution->v : sap_problem_v_star(report->problem);
}

sap_status sap_multibody_constraint_forces(sap_multibody* multibody, const sap_step_report* report,
                                           double* tau, sap_error* error) {
  SAP_TRY(find_generalized(multibody, report, (sap_block_range){0, INT32_MAX}, tau, error));
  sap_dynamics_add_servos(multibody->dynamics, end_velocities(report),
                          sap_problem_dt(report->problem), 1.0, tau);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_contact_forces(sap_multibody* multibody, const sap_step_report* report,
                                        double* tau, sap_error* error) {
  const sap_block_range none = {0, 0};
  return find_generalized(
      multibody, report, multibody != NULL ? multibody->assembly->ranges[SAP_BLOCKS_CONTACT] : none,
      tau, error);
}

double sap_multibody_force_of_limits(const sap_multibody* multibody, const sap_step_report* report,
                                     int kind, int32_t id) {
  const sap_block_kind blocks =
      kind == SAP_KEY_LOWER ? SAP_BLOCKS_JOINT_LIMIT : SAP_BLOCKS_TENDON_LIMIT;
  return find_force(multibody, report, blocks, sap_assembly_key(kind, id, 0, 0)) -
         find_force(multibody, report, blocks, sap_assembly_key(kind + 1, id, 0, 0));
}

sap_status sap_multibody_limit_force(sap_multibody* multibody, const sap_step_report* report,
                                     int32_t joint, double* force, sap_error* error) {
  SAP_TRY(check_report(multibody, report, force, error));
  SAP_TRY(sap_multibody_check_id("joint", joint, multibody->model->sizes.joints, error));
  *force = sap_multibody_force_of_limits(multibody, report, SAP_KEY_LOWER, joint);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_equality_force(sap_multibody* multibody, const sap_step_report* report,
                                        int32_t equality, double force[6], sap_error* error) {
  SAP_TRY(check_report(multibody, report, force, error));
  SAP_TRY(sap_multibody_check_id("equality", equality, multibody->model->sizes.equalities, error));
  sap_block block;
  const double* gamma = find_impulses(multibody, report, SAP_BLOCKS_EQUALITY,
                                      sap_assembly_key(SAP_KEY_EQUALITY, equality, 0, 0), &block);
  for (int32_t r = 0; r < 6; ++r) {
    force[r] = gamma != NULL && r < block.nrows ? gamma[r] / sap_problem_dt(report->problem) : 0.0;
  }
  return SAP_STATUS_OK;
}

// Force of an actuator's law at the end of the step, within its own bounds. Uses the kinematics at
// q0 only for laws that depend on length or rate.
static double law_at_end(sap_multibody* multibody, double dt, const double* v, int32_t id) {
  const sap_model* model = multibody->model;
  const sap_model_actuator* a = &model->actuators[id];
  const sap_step_start* start = &multibody->start;
  double length = 0.0, rate = 0.0;
  if (sap_dynamics_actuator_is_elastic(model, id) || a->bias[1] != 0.0 || a->bias[2] != 0.0) {
    const sap_kinematics* kin = sap_multibody_kinematics(multibody, start->q0);
    rate = a->gear * sap_transmission_rate(multibody->dynamics, kin, v, id);
    length = a->gear * sap_transmission_length(kin, id) + dt * rate;
  }
  return sap_dynamics_actuator_force(model, id, start->input, length, rate).force;
}

// Divides `total`, the effort of a bound's servos or motors together, in proportion to the force
// that each alone would have (in force[]). Forces of linear servos are known.
static void divide_effort(const sap_multibody* multibody, int32_t bound, bool servos, double total,
                          double* force) {
  const sap_model* model = multibody->model;
  const sap_dynamics* d = multibody->dynamics;
  double sum = 0.0;
  int32_t count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t n = 0; n < d->nother_actuators; ++n) {
      const int32_t i = d->other_actuators[n];
      const sap_model_actuator* a = &model->actuators[i];
      if (sap_model_effort_bound(model, i) != bound ||
          sap_dynamics_actuator_is_servo(model, i, multibody->start.input) != servos ||
          sap_dynamics_servo_is_linear(d, i)) {
        continue;
      }
      if (pass == 0) {
        sum += a->gear * force[i];
        ++count;
      } else {
        force[i] = sum != 0.0 ? force[i] * (total / sum) : total / (a->gear * count);
      }
    }
  }
}

// Sets the forces of servos with a block of their own, zero elsewhere.
static void find_servo_forces(const sap_multibody* multibody, const sap_step_report* report,
                              double* force) {
  const double dt = sap_problem_dt(report->problem);
  sap_block block;
  const double* gamma = NULL;
  memset(force, 0, (size_t)multibody->model->sizes.actuators * sizeof *force);
  const sap_block_range range = multibody->assembly->ranges[SAP_BLOCKS_SERVO];
  for (int32_t i = range.first; i < range.end && get_block(report, i, &block, &gamma); ++i) {
    if (sap_assembly_key_kind(block.key) == SAP_KEY_SERVO) {
      force[sap_assembly_key_id(block.key, 0)] = gamma[0] / dt;
    }
  }
}

// Sets the forces as if there were no effort ranges; returns true if there are some.
static bool find_unbounded(sap_multibody* multibody, const sap_step_report* report, double* force) {
  const sap_model* model = multibody->model;
  const double* input = multibody->start.input;
  const double dt = sap_problem_dt(report->problem);
  const double* v = end_velocities(report);
  bool any = false;
  const sap_dynamics* d = multibody->dynamics;
  find_servo_forces(multibody, report, force);
  sap_dynamics_simple_forces(d, input, force);
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t i = d->other_actuators[n];
    const bool shared = sap_model_effort_bound(model, i) >= 0;
    const bool servo = sap_dynamics_actuator_is_servo(model, i, input);
    any = any || shared;
    if (!d->actuator_active[i]) {
      force[i] = 0.0;
    } else if (!servo || (report->solution != NULL && shared) ||
               sap_dynamics_servo_is_linear(d, i)) {
      force[i] = law_at_end(multibody, dt, v, i);
    }
  }
  return any;
}

// Divides the sums that have an effort range.
static void divide_efforts(sap_multibody* multibody, const sap_step_report* report, double* force) {
  const sap_model* model = multibody->model;
  const sap_step_start* start = &multibody->start;
  const sap_dynamics_state at = {sap_multibody_kinematics(multibody, start->q0), start->v0,
                                 start->input};
  const double* motors = sap_dynamics_motor_efforts(multibody->dynamics, &at);
  for (int32_t bound = 0; bound < model->sizes.joints + model->sizes.tendons; ++bound) {
    double lower, upper;
    sap_model_effort_range(model, bound, &lower, &upper);
    if (isfinite(lower) || isfinite(upper)) {
      const double servos = find_force(multibody, report, SAP_BLOCKS_SERVO,
                                       sap_assembly_key(SAP_KEY_BOUND_SERVOS, bound, 0, 0));
      divide_effort(multibody, bound, false, motors[bound], force);
      divide_effort(multibody, bound, true, servos, force);
    }
  }
}

sap_status sap_multibody_actuator_forces(sap_multibody* multibody, const sap_step_report* report,
                                         double* force, sap_error* error) {
  SAP_TRY(check_report(multibody, report, force, error));
  if (find_unbounded(multibody, report, force)) {
    divide_efforts(multibody, report, force);
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_accelerations(sap_multibody* multibody, const sap_step_report* report,
                                       const double* v, double* acceleration, sap_error* error) {
  SAP_TRY(check_report(multibody, report, acceleration, error));
  SAP_TRY(sap_check_numbers("v", v, multibody->model->sizes.nv, error));
  const double* v0 = multibody->start.v0;
  for (int32_t i = 0; i < multibody->model->sizes.nv; ++i) {
    acceleration[i] = (v[i] - v0[i]) / sap_problem_dt(report->problem);
  }
  return SAP_STATUS_OK;
}

typedef struct reaction {
  const sap_model* model;
  const sap_kinematics* kin;  // at the end of the step
  int32_t top;                // the joint's body
  double p_W[3];              // the joint's anchor
  double *force, *moment;
} reaction;

// Returns a feature of the model whose forces on bodies are not supported, else NULL.
static const char* find_unsupported(const sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  if (model->sizes.springs > 0 || model->sizes.bushings > 0) {
    return "springs between bodies";
  }
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_transmission transmission = model->actuators[i].transmission;
    if (transmission == SAP_TRANSMISSION_SLIDER_CRANK || transmission == SAP_TRANSMISSION_SITE) {
      return "actuators on sites";
    }
    if (transmission == SAP_TRANSMISSION_ADHESION) {
      return "adhesion";
    }
  }
  return multibody->dynamics->fluid.count > 0 ? "a medium" : NULL;
}

// Subtracts sign times a force at a point of `body` and a moment, if the body is in the subtree.
static void subtract_force(reaction* r, int32_t body, const double at[3], const double force[3],
                           const double moment[3], double sign) {
  double arm[3], turning[3];
  if (!sap_model_is_below(r->model, body, r->top)) {
    return;
  }
  sap_v3_sub(arm, at, r->p_W);
  sap_v3_cross(turning, arm, force);
  sap_v3_add_scaled(r->force, force, -sign);
  sap_v3_add_scaled(r->moment, turning, -sign);
  sap_v3_add_scaled(r->moment, moment, -sign);
}

static void subtract_contact(reaction* r, const sap_contact* contact, double dt) {
  const double* g = contact->gamma;
  const double rows[2][3] = {{g[0] / dt, g[1] / dt, g[2] / dt}, {g[4] / dt, g[5] / dt, g[3] / dt}};
  double force[3], moment[3];
  sap_m3_mul_v3(force, contact->R_WC, rows[0]);
  sap_m3_mul_v3(moment, contact->R_WC, rows[1]);
  subtract_force(r, contact->body_B, contact->point, force, moment, 1.0);
  subtract_force(r, contact->body_A, contact->point, force, moment, -1.0);
}

static void subtract_equality(reaction* r, const sap_equality_def* e, const double rows[6]) {
  double p[2][3], force[3], moment[3] = {0.0, 0.0, 0.0};
  if (e->type == SAP_EQUALITY_JOINT || e->type == SAP_EQUALITY_TENDON) {
    return;  // efforts on joints, which transmit them; tendons through points: subtract_pull
  }
  sap_kinematics_point(r->kin, e->a, e->anchor_A, p[0]);
  sap_kinematics_point(r->kin, e->b, e->anchor_B, p[1]);
  sap_v3_copy(force, rows);
  if (e->type == SAP_EQUALITY_DISTANCE) {
    double u[3];
    sap_v3_sub(u, p[1], p[0]);
    const double length = sap_v3_norm(u);
    sap_v3_scale(force, u, length > 0.0 ? rows[0] / length : 0.0);
  }
  if (e->type == SAP_EQUALITY_WELD) {
    double q_WD[4];
    sap_quaternion_multiply(q_WD, r->kin->q_WB + 4 * (size_t)e->a, e->q_AB);
    sap_quaternion_rotate(moment, q_WD, rows + 3);
    sap_v3_scale(moment, moment, e->torque_scale);
  }
  subtract_force(r, e->b, p[1], force, moment, 1.0);
  subtract_force(r, e->a, p[0], force, moment, -1.0);
}

// Returns the force [N] of the step that lengthens a tendon through points.
static double tendon_force(sap_multibody* multibody, const sap_step_report* report,
                           const sap_kinematics* kin, int32_t tendon) {
  const sap_model* model = multibody->model;
  const sap_dynamics_state at = {.kin = kin, .v = end_velocities(report)};
  const uint64_t friction = sap_assembly_key(SAP_KEY_TENDON_FRICTION, tendon, 0, 0);
  double rate;
  double force = sap_dynamics_tendon_force(multibody->dynamics, &at, tendon, &rate) +
                 sap_multibody_force_of_limits(multibody, report, SAP_KEY_TENDON_LOWER, tendon) +
                 find_force(multibody, report, SAP_BLOCKS_TENDON_FRICTION, friction);
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_model_actuator* a = &model->actuators[i];
    const bool pulls = a->transmission == SAP_TRANSMISSION_TENDON && a->target == tendon;
    force += pulls ? a->gear * multibody->actuator_force[i] : 0.0;
  }
  for (int32_t i = 0; i < model->sizes.equalities; ++i) {
    const sap_equality_def* e = &model->equalities[i];
    if (e->type == SAP_EQUALITY_TENDON && (e->a == tendon || e->b == tendon)) {
      force += (e->a == tendon ? 1.0 : -sap_assembly_equality_slope(kin, model, e)) *
               find_force(multibody, report, SAP_BLOCKS_EQUALITY,
                          sap_assembly_key(SAP_KEY_EQUALITY, i, 0, 0));
    }
  }
  return force;
}

static void subtract_pull(void* context, int32_t body, const double p_W[3], const double force[3]) {
  static const double none[3] = {0.0, 0.0, 0.0};
  subtract_force(context, body, p_W, force, none, 1.0);
}

static sap_status check_reaction(const sap_multibody* multibody, const sap_state* end,
                                 int32_t joint, sap_error* error) {
  const sap_model* model = multibody->model;
  SAP_TRY(sap_multibody_check_id("joint", joint, model->sizes.joints, error));
  SAP_FAIL_IF(end->nq != model->sizes.nq || end->nv != model->sizes.nv, error, SAP_STATUS_ARGUMENT,
              "the state has nq = %d, nv = %d, the model %d, %d", end->nq, end->nv, model->sizes.nq,
              model->sizes.nv);
  const char* other = find_unsupported(multibody);
  return other == NULL ? SAP_STATUS_OK
                       : sap_fail(error, SAP_STATUS_UNSUPPORTED,
                                  "reactions of joints in models with %s are not supported", other);
}

void sap_multibody_reaction(sap_multibody* multibody, const sap_step_report* report,
                            const sap_kinematics* kin, int32_t body, const double p_W[3],
                            double force[3], double moment[3]) {
  const sap_model* model = multibody->model;
  reaction r = {.model = model, .kin = kin, .top = body, .force = force, .moment = moment};
  sap_v3_copy(r.p_W, p_W);
  sap_dynamics_subtree_needs(multibody->dynamics, kin, multibody->motions, body, p_W, force,
                             moment);
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    subtract_contact(&r, &multibody->contacts[i], sap_problem_dt(report->problem));
  }
  for (int32_t e = 0; e < model->sizes.equalities; ++e) {
    double rows[6];
    if (sap_multibody_equality_force(multibody, report, e, rows, NULL) == SAP_STATUS_OK) {
      subtract_equality(&r, &model->equalities[e], rows);
    }
  }
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    if (model->tendons[t].npoints > 0) {
      (void)sap_tendon_find_forces(kin, t, tendon_force(multibody, report, kin, t), subtract_pull,
                                   &r);
    }
  }
}

sap_status sap_multibody_joint_reaction(sap_multibody* multibody, const sap_step_report* report,
                                        const sap_state* end, int32_t joint, double force[3],
                                        double moment[3], sap_error* error) {
  SAP_NOT_NULL(error, multibody, report, end, force, moment);
  SAP_TRY(check_reaction(multibody, end, joint, error));
  SAP_TRY(sap_multibody_collect(multibody, report, error));
  const sap_model_joint_data* data = &multibody->model->joints[joint];
  memset(force, 0, 3 * sizeof *force);
  memset(moment, 0, 3 * sizeof *moment);
  if (data->type == SAP_JOINT_FREE) {
    return SAP_STATUS_OK;  // transmits nothing
  }
  SAP_TRY(sap_multibody_accelerations(multibody, report, end->v, multibody->acceleration, error));
  SAP_TRY(sap_multibody_actuator_forces(multibody, report, multibody->actuator_force, error));
  const sap_kinematics* kin = sap_multibody_kinematics(multibody, end->q);
  const sap_dynamics_state at = {.kin = kin, .v = end->v};
  double p_W[3];
  sap_dynamics_motions(multibody->dynamics, &at, multibody->acceleration, multibody->motions);
  sap_kinematics_point(kin, data->body, data->p_BJ, p_W);
  sap_multibody_reaction(multibody, report, kin, data->body, p_W, force, moment);
  return SAP_STATUS_OK;
}
