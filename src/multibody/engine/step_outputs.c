// SPDX-License-Identifier: BSD-3-Clause
// Forces and accelerations of the last step, from the blocks of its problem, which their keys tell
// apart; Jacobians of points.
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/transmission.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static sap_status check_report(const sap_multibody* multibody, const sap_step_report* report,
                               const double* out, sap_error* error) {
  if (multibody == NULL || report == NULL || out == NULL || report->problem == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL",
                    multibody == NULL ? "multibody"
                    : report == NULL  ? "report"
                    : out == NULL     ? "the output"
                                      : "the report's problem");
  }
  const int32_t nv = multibody->model->sizes.nv;
  if (sap_problem_velocity_count(report->problem) != nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "the report is of a problem with %d velocities, not %d",
                    sap_problem_velocity_count(report->problem), nv);
  }
  return SAP_STATUS_OK;
}

static sap_status check_id(const char* what, int32_t id, int32_t count, sap_error* error) {
  return id >= 0 && id < count
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %d must be 0 to %d", what, id, count - 1);
}

// Block i and its impulses; false when there is none.
static bool block_at(const sap_step_report* report, int32_t i, sap_block* block,
                     const double** gamma) {
  int32_t row = 0;
  if (report->solution == NULL || i >= sap_problem_block_count(report->problem) ||
      sap_problem_block(report->problem, i, block, &row, NULL) != SAP_STATUS_OK) {
    return false;
  }
  *gamma = report->solution->gamma + row;
  return true;
}

// The impulses of the block with this key, NULL when there is none.
static const double* find(const sap_step_report* report, uint64_t key, sap_block* block) {
  const double* gamma = NULL;
  for (int32_t i = 0; block_at(report, i, block, &gamma); ++i) {
    if (block->key == key) {
      return gamma;
    }
  }
  return NULL;
}

static void add_generalized(const sap_model* model, const sap_block* block, const double* gamma,
                            double scale, double* tau) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    for (int32_t j = 0; j < model->tree_sizes[block->trees[t]]; ++j) {
      double sum = 0.0;
      for (int32_t r = 0; r < block->nrows; ++r) {
        sum += J[(size_t)j * (size_t)block->nrows + (size_t)r] * gamma[r];
      }
      tau[model->tree_dofs[block->trees[t]] + j] += scale * sum;
    }
  }
}

static sap_status generalized(sap_multibody* multibody, const sap_step_report* report, int32_t end,
                              double* tau, sap_error* error) {
  const sap_status status = check_report(multibody, report, tau, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_model* model = multibody->model;
  const double scale = 1.0 / sap_problem_dt(report->problem);
  sap_block block;
  const double* gamma = NULL;
  memset(tau, 0, (size_t)model->sizes.nv * sizeof *tau);
  for (int32_t i = 0; i < end && block_at(report, i, &block, &gamma); ++i) {
    add_generalized(model, &block, gamma, scale, tau);
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_constraint_forces(sap_multibody* multibody, const sap_step_report* report,
                                           double* tau, sap_error* error) {
  return generalized(multibody, report, INT32_MAX, tau, error);
}

// Contacts are the first blocks.
sap_status sap_multibody_contact_forces(sap_multibody* multibody, const sap_step_report* report,
                                        double* tau, sap_error* error) {
  return generalized(multibody, report, sap_multibody_contact_count(multibody), tau, error);
}

sap_status sap_multibody_limit_force(sap_multibody* multibody, const sap_step_report* report,
                                     int32_t joint, double* force, sap_error* error) {
  sap_status status = check_report(multibody, report, force, error);
  if (status == SAP_STATUS_OK) {
    status = check_id("joint", joint, multibody->model->sizes.joints, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_block block;
  const double* lower = find(report, sap_assembly_key(SAP_KEY_LOWER, joint, 0, 0), &block);
  const double* upper = find(report, sap_assembly_key(SAP_KEY_UPPER, joint, 0, 0), &block);
  const double impulse = (lower != NULL ? lower[0] : 0.0) - (upper != NULL ? upper[0] : 0.0);
  *force = impulse / sap_problem_dt(report->problem);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_equality_force(sap_multibody* multibody, const sap_step_report* report,
                                        int32_t equality, double force[6], sap_error* error) {
  sap_status status = check_report(multibody, report, force, error);
  if (status == SAP_STATUS_OK) {
    status = check_id("equality", equality, multibody->model->sizes.equalities, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_block block;
  const double* gamma = find(report, sap_assembly_key(SAP_KEY_EQUALITY, equality, 0, 0), &block);
  for (int32_t r = 0; r < 6; ++r) {
    force[r] = gamma != NULL && r < block.nrows ? gamma[r] / sap_problem_dt(report->problem) : 0.0;
  }
  return SAP_STATUS_OK;
}

// The law of an actuator at the end of the step, in its own bounds. Kinematics, which stand at the
// end of the step when several ask one after the other, are brought back only for laws of a length.
static double law_at_end(sap_multibody* multibody, double dt, const double* v, int32_t id) {
  const sap_model* model = multibody->model;
  const sap_model_actuator* a = &model->actuators[id];
  const sap_step_start* start = &multibody->start;
  double length = 0.0, rate = 0.0;
  if (sap_dynamics_actuator_is_elastic(model, id) || a->bias[1] != 0.0 || a->bias[2] != 0.0) {
    sap_dynamics* dynamics = sap_multibody_at(multibody, start->q0);
    rate = a->gear * sap_dynamics_transmission_rate(dynamics, v, id);
    length = a->gear * sap_dynamics_transmission_length(dynamics, start->q0, id) + dt * rate;
  }
  return sap_dynamics_actuator_force(model, id, start->input, length, rate).force;
}

// Divides `total`, the effort that a bound's servos or motors gave together, in proportion to what
// each alone would have given (in force[]).
static void divide(const sap_model* model, const double* input, int32_t bound, bool servos,
                   double total, double* force) {
  double sum = 0.0;
  int32_t count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t i = 0; i < model->sizes.actuators; ++i) {
      const sap_model_actuator* a = &model->actuators[i];
      if (sap_model_effort_bound(model, i) != bound ||
          sap_dynamics_actuator_is_servo(model, i, input) != servos) {
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

// What the blocks of servos gave, zero elsewhere.
static void by_servos(const sap_multibody* multibody, const sap_step_report* report,
                      double* force) {
  const double dt = sap_problem_dt(report->problem);
  sap_block block;
  const double* gamma = NULL;
  memset(force, 0, (size_t)multibody->model->sizes.actuators * sizeof *force);
  for (int32_t i = 0; block_at(report, i, &block, &gamma); ++i) {
    if (sap_assembly_key_kind(block.key) == SAP_KEY_SERVO) {
      force[sap_assembly_key_id(block.key, 0)] = gamma[0] / dt;
    }
  }
}

// Forces as if no sum had a range; is there one?
static bool unshared(sap_multibody* multibody, const sap_step_report* report, double* force) {
  const sap_model* model = multibody->model;
  const double* input = multibody->start.input;
  const double dt = sap_problem_dt(report->problem);
  // Without blocks the free motion is what happened.
  const double* v =
      report->solution != NULL ? report->solution->v : sap_problem_v_star(report->problem);
  bool any = false;
  int32_t count = 0;
  by_servos(multibody, report, force);
  const int32_t* others = sap_dynamics_simple_forces(multibody->dynamics, input, force, &count);
  for (int32_t n = 0; n < count; ++n) {
    const int32_t i = others[n];
    const bool shared = sap_model_effort_bound(model, i) >= 0;
    const bool servo = sap_dynamics_actuator_is_servo(model, i, input);
    any = any || shared;
    if (!sap_dynamics_actuator_is_on(multibody->dynamics, i)) {
      force[i] = 0.0;
    } else if (!servo || (report->solution != NULL && shared)) {
      force[i] = law_at_end(multibody, dt, v, i);
    }
  }
  return any;
}

// Divides the sums that have a range.
static void share(sap_multibody* multibody, const sap_step_report* report, double* force) {
  const sap_model* model = multibody->model;
  const sap_step_start* start = &multibody->start;
  const double* motors = sap_dynamics_motor_efforts(sap_multibody_at(multibody, start->q0),
                                                    start->q0, start->v0, start->input);
  for (int32_t bound = 0; bound < model->sizes.joints + model->sizes.tendons; ++bound) {
    double lower, upper;
    sap_model_effort_range(model, bound, &lower, &upper);
    if (isfinite(lower) || isfinite(upper)) {
      sap_block block;
      const double* gamma =
          find(report, sap_assembly_key(SAP_KEY_BOUND_SERVOS, bound, 0, 0), &block);
      const double servos = gamma != NULL ? gamma[0] / sap_problem_dt(report->problem) : 0.0;
      divide(model, start->input, bound, false, motors[bound], force);
      divide(model, start->input, bound, true, servos, force);
    }
  }
}

sap_status sap_multibody_actuator_forces(sap_multibody* multibody, const sap_step_report* report,
                                         double* force, sap_error* error) {
  const sap_status status = check_report(multibody, report, force, error);
  if (status == SAP_STATUS_OK && unshared(multibody, report, force)) {
    share(multibody, report, force);
  }
  return status;
}

sap_status sap_multibody_accelerations(sap_multibody* multibody, const sap_step_report* report,
                                       const double* v, double* acceleration, sap_error* error) {
  sap_status status = check_report(multibody, report, acceleration, error);
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("v", v, multibody->model->sizes.nv, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const double* v0 = multibody->start.v0;
  for (int32_t i = 0; i < multibody->model->sizes.nv; ++i) {
    acceleration[i] = (v[i] - v0[i]) / sap_problem_dt(report->problem);
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_point_jacobian(sap_multibody* multibody, const double* q, int32_t body,
                                        const double p_BP[3], double* J, sap_error* error) {
  if (multibody == NULL || J == NULL || p_BP == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody, p_BP or J is NULL");
  }
  const sap_model* model = multibody->model;
  sap_status status = check_id("body", body, model->sizes.bodies, error);
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("q", q, model->sizes.nq, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("p_BP", p_BP, 3, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_dynamics_point_jacobian(sap_multibody_at(multibody, q), body, p_BP, J);
  }
  return status;
}
